"""Leaks: how many masked texts still lead to a record, and which planted ids masking removes.

Nothing here knows a pattern of the masking: the count goes out from the ids of the collection and looks for their
numbers, so that a form that masking overlooks is not overlooked twice.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import NamedTuple

from assay.building.house import House, Parts, printed_forms
from assay.building.masking import masked
from assay.errors import UsageError

NEAR = 60
"""How many characters may lie between a string and a cue word for it to count as a leak."""


class Leak(NamedTuple):
    """A string of a masked text that leads to a record: its row, the string, and the id or address it leads to."""

    row: int
    text: str
    record: str


@dataclass(frozen=True)
class LeakRate:
    """How many masked texts still name a record.

    `rate` is the share of texts with a leak; NaN for no texts. `leaks` holds all of them, by row.
    """

    texts: int
    leaking: int
    leaks: tuple[Leak, ...] = field(repr=False, default=())

    @property
    def rate(self) -> float:
        """Leaking texts over texts."""
        return self.leaking / self.texts if self.texts else float("nan")


_CUE = re.compile(
    r"question|\bpqs?(?![a-z])|\buins?(?![a-z])|answer|\brepl(?:y|ies|ied)|\brefer|\brespon[sd]|\bwritten\b|otázk|odpově|anfrage|"
    r"antwort|réponse",
    re.IGNORECASE,
)
_RUN = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+")
_STRETCH = re.compile(r"[0-9][0-9,]*")
_APART = re.compile(r"(?<=[0-9]),(?=[0-9]{3}(?![0-9]))")
_PAIR = re.compile(r"[0-9][^0-9]{0,2}[/_+-][^0-9]{0,2}[0-9]")
_NO_RECORD = re.compile(
    r"(?:directive|regulation|decision|\(e[cu]\)|\(eec\)|com|case|petition|£|€|\$|oj\s[lc])[\s(),no.°]{0,8}$",
    re.IGNORECASE,
)
_PLAIN_URL = re.compile(r"(?:https?://|www\.)\S+", re.IGNORECASE)


def leak_rate(
    texts: Iterable[str], ids: Iterable[str], *, record_urls: Iterable[str] = (), alone: bool = False, near: int = NEAR
) -> LeakRate:
    """How many masked texts hold a string that leads to a record of the collection.

    After NFKC, dashes made plain, invisible characters dropped and blanks folded: an id as it is written; its number
    and its year side by side with up to three other characters between them, in either order and with two or four
    digits of the year; with `alone` also the number by itself, where one record alone bears it. All within `near`
    characters of a cue word. And, anywhere, an address of a record, or any address with an id in it.

    Args:
        texts: Masked texts.
        ids: Ids of the collection; their last number is the record's, a number from 1950 to 2099 before it the year.
        record_urls: Addresses of records.
        alone: Whether numbers stand for records without a year, as UINs do.
        near: How far a cue may be.

    Example:
        >>> masks = ["I refer to my answer to Question [MASKED].", "I refer to the answer to E-4819 / 20."]
        >>> found = leak_rate(masks, ["E-9-2020-004819"])
        >>> found.rate, found.leaks[0].text
        (0.5, '4819 / 20')
    """
    known = _Records.of(ids, record_urls, alone=alone)
    leaks: list[Leak] = []
    count = 0
    rows = set()
    for row, text in enumerate(texts):
        count += 1
        for string, record in known.leaks(_plain(text), near):
            leaks.append(Leak(row, string, record))
            rows.add(row)
    return LeakRate(count, len(rows), tuple(leaks))


@dataclass(frozen=True)
class _Records:
    """Numbers, numbers with a year, whole ids and addresses, each to the record that it leads to."""

    whole: dict[str, str]
    dated: dict[tuple[int, int], str]
    alone: dict[int, str]
    urls: dict[str, str]

    @classmethod
    def of(cls, ids: Iterable[str], record_urls: Iterable[str], *, alone: bool) -> _Records:
        whole, dated = {}, {}
        bearers: dict[int, set[str]] = defaultdict(set)
        for id_ in ids:
            runs = re.findall(r"\d+", id_)
            if not runs:
                continue
            whole[_plain(id_).casefold()] = id_
            number = int(runs[-1])
            years = [int(run) for run in runs[:-1] if len(run) == 4 and 1950 <= int(run) < 2100]
            for year in years:
                dated[number, year] = id_
            # A question and its answer are one record here.
            bearers[number].add(re.sub(r"\D*$", "", id_))
        single = {number: min(stems) for number, stems in bearers.items() if len(stems) == 1} if alone else {}
        return cls(whole, dated, single, {_bare(url): url for url in record_urls})

    def leaks(self, text: str, near: int) -> Iterator[tuple[str, str]]:
        """Strings of one folded text, and the record that each leads to."""
        addresses = _PLAIN_URL.finditer(text) if "://" in text or "www." in text.lower() else ()
        linked = []
        for match in addresses:
            linked.append(match.span())
            bare = _bare(match[0])
            record = self.urls.get(bare) or next(
                (self.whole[part] for part in re.split(r"[/?#=&_.+]", bare) if part in self.whole), None
            )
            if record:
                yield match[0], record
        if not self.alone and not _PAIR.search(text):
            return
        cues: list[tuple[int, int]] | None = None
        for start, end, record in self._numbers(text):
            # Few numbers lead to a record: cues are looked for only where one does.
            cues = [match.span() for match in _CUE.finditer(text)] if cues is None else cues
            cued = any(a - near <= end and start <= b + near for a, b in cues)
            other = any(a <= start < b for a, b in linked) or _NO_RECORD.search(text[max(0, start - 24) : start])
            if cued and not other:
                yield text[start:end], record

    def _numbers(self, text: str) -> Iterator[tuple[int, int, str]]:
        runs = _runs(text)
        for at, (start, end) in enumerate(runs):
            if end - start > 9:
                continue
            record = ""
            if at + 1 < len(runs) and runs[at + 1][0] - end <= 3:
                low, high = runs[at + 1]
                record = self._dated(text, (start, end), (low, high)) if _tied(text[end:low]) else ""
                if record:
                    yield start, high, record
            if self.alone and not record:
                found = self.alone.get(int(text[start:end].replace(",", "")))
                if found and _stands_free(text, start, end):
                    yield start, end, found

    def _dated(self, text: str, first: tuple[int, int], second: tuple[int, int]) -> str:
        one, two = (text[slice(*run)].replace(",", "") for run in (first, second))
        for number, year in ((one, two), (two, one)):
            # The year first is the order of the portal, which writes it in full and has a letter before it.
            portal = (
                len(year) == 4 and len(number) >= 4 and re.search(r"[A-Z]\W", text[max(0, first[0] - 5) : first[0]])
            )
            if number is two and not portal:
                continue
            if len(year) in (2, 4) and len(number) <= 6:
                full = int(year) if len(year) == 4 else int(year) + (1900 if int(year) >= 58 else 2000)
                if (int(number), full) in self.dated:
                    return self.dated[int(number), full]
        return ""


def _runs(text: str) -> list[tuple[int, int]]:
    """Spans of the numbers of a text, those with thousands apart by commas whole."""
    found: list[tuple[int, int]] = []
    for stretch in _STRETCH.finditer(text):
        # Most have no comma, and the pattern that knows about commas is slow.
        if "," in stretch[0]:
            found += [match.span() for match in _RUN.finditer(text, *stretch.span())]
        else:
            found.append(stretch.span())
    return found


def _tied(between: str) -> bool:
    return "/" in between or "-" in between or "_" in between or "+" in between


def _stands_free(text: str, start: int, end: int) -> bool:
    """Whether a number is no part of an amount, a date, a year span or a word."""
    before, after = text[max(0, start - 2) : start], text[end : end + 12]
    if re.search(r"[\d][.,/-]$|[£$€.,/-]$", before) or re.match(
        r"[\w%]|[.,/-]\d|\s?(?:st|nd|rd|th)?\s?(?:Jan|Feb|Mar|Apr|May|June|July|Aug|Sep|Oct|Nov|Dec)", after
    ):
        return False
    # What could be a year or an amount counts only with the name of a question right before it.
    apart = "," in text[start:end]
    if apart or (end - start == 4 and 1900 <= int(text[start:end]) < 2100):
        return re.search(r"(?:question|pq|uin)s?\s?$", text[max(0, start - 12) : start], re.IGNORECASE) is not None
    return True


_DASHES = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"), "-")
_NOTHING = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))


def _plain(text: str) -> str:
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).translate(_DASHES | _NOTHING)
    return " ".join(text.split())


def _bare(url: str) -> str:
    return url.strip().casefold().rpartition("://")[2].removeprefix("www.").rstrip("/.,;:)]}'\"")


@dataclass(frozen=True)
class PlantedRecall:
    """How many of the planted ids no longer stand in the masked text: in all, and by printed form (found, planted)."""

    found: int
    planted: int
    forms: dict[str, tuple[int, int]]
    missed: tuple[tuple[str, str], ...] = ()

    @property
    def recall(self) -> float:
        """Found over planted; NaN where nothing was planted."""
        return self.found / self.planted if self.planted else float("nan")


_CARRIERS = (
    "The Commission would refer the Honourable Member to its answer to Written Question {}.",
    "I refer the hon. Member to the answer I gave to {}, which remains accurate.",
    "Further to {}, when does the Minister plan to act?",
    "See the reply to {} and the answer given there ({}).",
    "This was said before[1].\n\n[1] {}",
)


def planted_recall(house: House, *, seed: int, n: int = 1000, forms: Iterable[str] | None = None) -> PlantedRecall:
    """The share of ids planted in sentences, in every printed form, that masking removes.

    Forms take turns, so that each is planted as often as the others. An id counts as found where none of its number's
    digits stand in the masked text any more: sentences have no other digits than the mark of a footnote.

    Args:
        house: Whose forms are printed.
        seed: Decides on ids and sentences.
        n: How many ids.
        forms: Names of the forms; None for all of `house.printed`.

    Raises:
        UsageError: The house has no form to print.

    Example:
        >>> from assay.building.houses import UK_PARLIAMENT
        >>> planted_recall(UK_PARLIAMENT, seed=1, n=50).recall
        1.0
    """
    names = list(house.printed if forms is None else forms)
    if not names:
        raise UsageError(f"{house.name}: there is no printed form to plant; give the house templates in `printed`")
    random = Random(seed)
    found: dict[str, list[int]] = {name: [0, 0] for name in names}
    missed = []
    for turn in range(n):
        name = names[turn % len(names)]
        parts = _drawn(house, random)
        printed = printed_forms(house, parts, names=[name])[name]
        text = random.choice(_CARRIERS).replace("{}", printed)
        left = masked(text, house).text
        good = str(parts.number) not in _APART.sub("", re.sub(r"\[1\]", "", left))
        found[name][0] += good
        found[name][1] += 1
        if not good:
            missed.append((name, left))
    counts = {name: (good, planted) for name, (good, planted) in found.items()}
    return PlantedRecall(sum(g for g, _ in counts.values()), n, counts, tuple(missed[:20]))


def _drawn(house: House, random: Random) -> Parts:
    """A random id of a house, its day within its periods."""
    first = house.periods[0].first
    days = (house.periods[-1].first - first).days + 365
    day = first + timedelta(days=random.randrange(days))
    return Parts(random.randrange(100, 10_000), day.year, random.choice(house.letters), house.period_of(day), day)
