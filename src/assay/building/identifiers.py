"""Identifiers: every printed form, address and portal id of a record to one canonical id.

What differs between parliaments is in a `House`, a value; what is here works for any of them. The two houses that come
with Assay are in `assay.building.houses`.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from datetime import date
from itertools import accumulate, pairwise, product
from typing import NamedTuple
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt

from assay.building.house import Form, House, Parts, folded, full_year
from assay.texts import Texts

_SCHEME = re.compile(r"(?:https?|ftp)$", re.IGNORECASE)
_TAIL = re.compile(r"[^\s<>\"\u00ab\u00bb\u201c\u201d|]*")
_BEFORE = 48
"""How many characters before an id may show that it is something else."""
_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november")
_DAY = re.compile(
    rf"\b(\d{{1,2}})(?:st|nd|rd|th)?\s+({'|'.join((*_MONTHS, 'december'))})\s+((?:19|20)\d\d)\b", re.IGNORECASE
)


class Identifier(NamedTuple):
    """An id found in a text.

    Attributes:
        start, end: Its span in the text, half-open, in code points.
        ids: Canonical ids that it can mean, the likeliest first; one, unless the text leaves the period open.
        form: The printed form, `url`, or `inherited` for an item of a list that leaves its letter or year out.
        answer: Whether the form names the answer, not the question.
        item: Its place in its list from 0; 0 for an id that stands alone.
    """

    start: int
    end: int
    ids: tuple[str, ...]
    form: str
    answer: bool = False
    item: int = 0


def urls(text: str, house: House | None = None) -> list[tuple[int, int]]:
    """Spans of the addresses in a text, without closing punctuation; those of a house also without `https://`.

    Example:
        >>> text = "See https://a.eu/x(1). Or www.b.eu)."
        >>> [text[start:end] for start, end in urls(text)]
        ['https://a.eu/x(1)', 'www.b.eu']
    """
    found: list[tuple[int, int]] = []
    for mark in ("://", "www.", "WWW.", *(house.hosts if house else ())):
        at = text.find(mark)
        while at >= 0:
            start = at
            if mark == "://":
                scheme = _SCHEME.search(text, max(0, at - 5), at)
                start = scheme.start() if scheme else -1
            elif mark not in ("www.", "WWW."):
                start = _word_start(text, at)
            if start >= 0:
                tail = _TAIL.match(text, start)
                found.append((start, start + len(_trimmed(tail[0] if tail else ""))))
            at = text.find(mark, at + len(mark))
    found.sort(key=lambda span: (span[0], -span[1]))
    ends = accumulate((end for _, end in found), max, initial=0)
    return [span for span, before in zip(found, ends, strict=False) if span[0] >= before]


def _word_start(text: str, at: int) -> int:
    while at and (text[at - 1].isalnum() or text[at - 1] in ".-"):
        at -= 1
    return at


def _trimmed(url: str) -> str:
    """An address without the punctuation of the sentence that it stands in; a bracket opened before it ends it."""
    level = dict.fromkeys(_OPEN.values(), 0)
    for at, sign in enumerate(url if any(sign in url for sign in _OPEN) else ""):
        if sign in level:
            level[sign] += 1
        elif sign in _OPEN:
            level[_OPEN[sign]] -= 1
            if level[_OPEN[sign]] < 0:
                url = url[:at]
                break
    return url.rstrip(".,;:!?'’”»*")


_OPEN = {")": "(", "]": "[", "}": "{"}


def url_ids(url: str, house: House, *, day: date | None = None) -> tuple[tuple[str, ...], bool]:
    """Canonical ids that an address of the house can mean, and whether it names the answer; `((), False)` for others.

    Example:
        >>> from assay.building.houses import EUROPEAN_PARLIAMENT
        >>> url_ids("http://www.europarl.europa.eu/doceo/document/E-9-2020-004819-ASW_EN.html", EUROPEAN_PARLIAMENT)
        (('E-9-2020-004819',), True)
    """
    lower = url.lower()
    if any(host in lower for host in house.hosts):
        plain = folded(unquote(unquote(url)))[0]
        for form in house.addresses:
            match = form.pattern.search(plain)
            said = form.read(match) if match else None
            ids = house.canonical(house, said, day) if said else ()
            if said and ids:
                return ids, said.answer
    return (), False


def identifiers(text: str, house: House, *, day: date | None = None) -> list[Identifier]:
    """Every id printed in a text, and every address of a record, in order and without overlap.

    Args:
        text: Any text; spans are in its own code points.
        house: Whose ids are looked for.
        day: The day of the text: periods that had not begun are then out of the question.

    Example:
        >>> from assay.building.houses import EUROPEAN_PARLIAMENT
        >>> found = identifiers("see E-000001/2020, 2/2020 and P\u20113/20", EUROPEAN_PARLIAMENT)
        >>> [(one.ids[0], one.form) for one in found]
        [('E-9-2020-000001', 'slash'), ('E-9-2020-000002', 'inherited'), ('P-9-2020-000003', 'slash')]
    """
    return _placed(text, house, day, None)


def identifiers_in(
    texts: Texts, house: House, *, days: npt.NDArray[np.datetime64] | None = None
) -> Iterator[tuple[int, str, list[Identifier]]]:
    """Rows that print an id, with their text and what `identifiers` finds in it; other rows are hardly looked at.

    Args:
        texts: Any number of texts.
        house: Whose ids are looked for; the scan is fast where it has `places`.
        days: The day of each text, datetime64[D]; NaT or None where unknown.

    Example:
        >>> from assay.building.houses import EUROPEAN_PARLIAMENT
        >>> texts = Texts.of(["nothing", "see E-000001/2020"])
        >>> [(row, found[0].ids) for row, _, found in identifiers_in(texts, EUROPEAN_PARLIAMENT)]
        [(1, ('E-9-2020-000001',))]
    """
    if house.places is None:
        for row, text in enumerate(texts.to_list()):
            found = identifiers(text, house, day=day_of(days, row))
            if found:
                yield row, text, found
        return
    cuts, raw = texts.offsets.tolist(), np.ascontiguousarray(texts.buffer).data
    # A blank between rows, so that a number never runs from one into the next.
    data = b"\n".join([raw[a:b] for a, b in pairwise(cuts)])
    at = house.places(data)
    starts = texts.offsets + np.arange(len(texts) + 1)
    rows = np.searchsorted(starts, at, "right") - 1
    local = (at - starts[rows]).tolist()
    first = np.flatnonzero(np.concatenate([[True], np.diff(rows) > 0])) if len(at) else at
    borders = [*first.tolist(), len(at)]
    for row, a, b in zip(rows[first].tolist(), borders[:-1], borders[1:], strict=True):
        own = local[a:b]
        encoded = data[cuts[row] + row : cuts[row + 1] + row]
        text = encoded.decode("utf-8")
        if len(text) != len(encoded):
            own = [len(encoded[:place].decode("utf-8", "ignore")) for place in own]
        found = _placed(text, house, day_of(days, row), own)
        if found:
            yield row, text, found


def day_of(days: npt.NDArray[np.datetime64] | None, row: int) -> date | None:
    """The day of a row, None where it has none.

    Example:
        >>> day_of(np.array(["2024-01-02", "NaT"], "datetime64[D]"), 0), day_of(None, 0)
        (datetime.date(2024, 1, 2), None)
    """
    day = None if days is None else days[row].astype("datetime64[D]").item()
    return day if isinstance(day, date) else None


def _windows(places: Iterable[int], size: int) -> list[tuple[int, int]]:
    """What must be read around places: more than the longest printed id on both sides."""
    found: list[tuple[int, int]] = []
    for place in places:
        low, high = max(0, place - 90), min(size, place + 160)
        if found and low <= found[-1][1]:
            found[-1] = found[-1][0], high
        else:
            found.append((low, high))
    return found


def _placed(text: str, house: House, day: date | None, near: list[int] | None) -> list[Identifier]:
    """Ids in a text, read whole or around some places; spans in its own characters."""
    plain, places = folded(text)
    # Where something invisible was taken out, places have moved.
    whole = near is None or not isinstance(places, range)
    found = _found(plain, house, day, [(0, len(plain))] if whole else _windows(near or [], len(plain)))
    if isinstance(places, range):
        return found
    return [one._replace(start=places[one.start], end=places[one.end - 1] + 1) for one in found]


def _found(text: str, house: House, day: date | None, windows: list[tuple[int, int]]) -> list[Identifier]:
    linked = urls(text, house)
    named = []
    for start, end in linked:
        ids, answer = url_ids(text[start:end], house, day=day)
        if ids:
            named.append(Identifier(start, end, ids, "url", answer))
    said = [one for one in _said(text, house, windows) if not any(a <= one.start < b for a, b in linked)]
    if not said:
        return named
    context = _days(text, said) if house.dated else []
    return sorted([*named, *_listed(text, said, house, (day, context))])


class _Said(NamedTuple):
    """What a form found: where its match begins, the span of the id in it, and what it says."""

    begin: int
    start: int
    end: int
    form: Form
    parts: Parts


def _said(text: str, house: House, windows: list[tuple[int, int]]) -> list[_Said]:
    """What the forms find, without overlaps and look-alikes."""
    matches = []
    for (low, high), (rank, form) in product(windows, enumerate(house.forms)):
        for match in form.pattern.finditer(text, low, high):
            parts = form.read(match)
            if parts and not _guarded(text, match.start(), house):
                matches.append(
                    ((match.start(), -match.end(), rank), _Said(match.start(), *_id_span(match), form, parts))
                )
    kept: list[_Said] = []
    for _, one in sorted(matches, key=lambda found: found[0]):
        if not kept or one.begin >= kept[-1].end:
            kept.append(one)
    return kept


def _id_span(match: re.Match[str]) -> tuple[int, int]:
    return match.span("id") if "id" in match.re.groupindex else match.span()


def _guarded(text: str, start: int, house: House) -> bool:
    if house.lookalike is None or house.lookalike.search(text, max(0, start - _BEFORE), start) is None:
        return False
    return house.unmistakable is None or house.unmistakable.match(text, start) is None


def _listed(
    text: str,
    said: list[_Said],
    house: House,
    when: tuple[date | None, list[tuple[int, date]]],
) -> Iterator[Identifier]:
    """Ids with the items of the lists that they open."""
    place, end = 0, -1
    for at, (begin, start, stop, form, parts) in enumerate(said):
        follows = end >= 0 and house.joiner.fullmatch(text, end, begin) is not None
        place = place + 1 if follows else 0
        yield from _named(house, parts, when, Identifier(start, stop, (), form.name, parts.answer, place))
        end = stop
        border = said[at + 1].begin if at + 1 < len(said) else len(text)
        opener = parts
        while form.full:
            joined = house.joiner.match(text, end, border)
            item = house.item.match(text, joined.end(), border) if joined else None
            if item is None:
                break
            groups = item.groupdict()
            year = full_year(groups["year"]) if groups.get("year") else opener.year
            letter = groups.get("letter") or opener.letter
            number = int(groups["number"].replace(",", ""))
            inherited = opener._replace(number=number, year=year, letter=letter, answer=bool(groups.get("answer")))
            opener = opener._replace(year=year, letter=letter)
            place, (start, end) = place + 1, _id_span(item)
            yield from _named(house, inherited, when, Identifier(start, end, (), "inherited", inherited.answer, place))


def _named(
    house: House, parts: Parts, when: tuple[date | None, list[tuple[int, date]]], found: Identifier
) -> Iterator[Identifier]:
    """The found id with its canonical ids, or nothing where it has none."""
    day, context = when
    if house.dated and parts.day is None:
        near = [(abs(at - found.start), printed) for at, printed in context if -160 <= at - found.start <= 60]
        parts = parts._replace(day=min(near)[1] if near else None)
    ids = house.canonical(house, parts, day)
    if ids:
        yield found._replace(ids=ids)


def _days(text: str, said: list[_Said]) -> list[tuple[int, date]]:
    """Days printed near ids, with their places."""
    found = {}
    for match in (match for one in said for match in _DAY.finditer(text, max(0, one.start - 180), one.end + 80)):
        month = (*_MONTHS, "december").index(match[2].lower()) + 1
        try:
            found[match.start()] = date(int(match[3]), month, int(match[1]))
        except ValueError:
            continue
    return sorted(found.items())


def resolved(ids: Iterable[str], known: Container[str]) -> str | None:
    """The first of several possible ids that is known; None where none is.

    Example:
        >>> resolved(("E-8-2019-001234", "E-9-2019-001234"), {"E-9-2019-001234"})
        'E-9-2019-001234'
    """
    return next((id_ for id_ in ids if id_ in known), None)
