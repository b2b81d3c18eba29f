"""Masking: bodies of texts without headers, ids and addresses; `assay.building.leaks` counts what still leaks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from assay.building.citations import Anchor, printed_in
from assay.building.house import House, folded
from assay.building.identifiers import Identifier, identifiers, url_ids, urls
from assay.errors import UsageError
from assay.texts import Texts

TOKEN = "[MASKED]"


class Masked(NamedTuple):
    """A masked text, and how many stretches of each kind were replaced (`ids`, `urls`, `links`, and a house's own)."""

    text: str
    counts: dict[str, int]


class Body(NamedTuple):
    """Where the body of a text lies, half-open, and the subject that its header gives; empty where none."""

    start: int
    end: int
    subject: str = ""


def body_of(text: str, house: House) -> Body:
    r"""The body without header and footer: from behind the subject line, or behind the last line of a reply's header.

    A header of a reply ends within the first twelve lines that are not empty, each short. A text without a header, or
    of nothing else, is its own body.

    Example:
        >>> from assay.building.houses import EUROPEAN_PARLIAMENT
        >>> text = "Answer given by Mr Low\non behalf of the Commission\n(2.12.2020)\n\nIt acts."
        >>> body = body_of(text, EUROPEAN_PARLIAMENT)
        >>> text[body.start:body.end]
        'It acts.'
    """
    found = subject_line(text, house)
    start, subject, end = (found.end, found.subject, len(text)) if found else (reply_start(text, house), "", len(text))
    last = house.footer.search(text, start) if house.footer else None
    if last:
        end = last.start()
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start == end:
        return Body(0, len(text))
    return Body(start, end, subject)


def subject_line(text: str, house: House) -> Body | None:
    r"""The subject line within the first twelve lines that are not empty, and its subject; None where there is none.

    A line above it may be long: a hundred Members may ask.

    Example:
        >>> from assay.building.houses import EUROPEAN_PARLIAMENT
        >>> subject_line("to the Council\nSubject: Fees\n\nWhy?", EUROPEAN_PARLIAMENT)
        Body(start=15, end=29, subject='Fees')
    """
    found = house.subject.search(text, 0, _top(text, house)) if house.subject else None
    return Body(found.start(), found.end(), " ".join(found["subject"].split())) if found else None


def reply_start(text: str, house: House) -> int:
    r"""Where the body of a reply begins: behind the date of its header, or behind the header's lines; 0 without one.

    Example:
        >>> from assay.building.houses import EUROPEAN_PARLIAMENT
        >>> reply_start("EN\nE-1/2020\nReply\n\nIt acts\non behalf of the Union.", EUROPEAN_PARLIAMENT)
        18
    """
    lines = list(house.reply.finditer(text, 0, _top(text, house, longest=400))) if house.reply else []
    end = next((line.end() for line in lines if line.groupdict().get("last")), 0)
    if end:
        return end
    for line in lines:
        # The body has begun where another line stands between.
        if end and text[end : line.start()].strip():
            break
        end = line.end()
    return end


def _top(text: str, house: House, *, longest: int | None = None) -> int:
    """The end of the first twelve lines that are neither empty nor an id; a long line ends the top, itself left out."""
    at = seen = 0
    for line in text.splitlines(keepends=True):
        if line.strip():
            # A joint reply lists the ids of all its questions.
            seen += len(line) > 40 or not identifiers(line, house)
            # A subject may be long, a paragraph of the body is longer.
            if (longest is not None and len(line) > longest) or seen > 12:
                break
        at += len(line)
    return at


def masked(
    text: str,
    house: House,
    *,
    anchors: Iterable[Anchor] = (),
    day: date | None = None,
    token: str = TOKEN,
) -> Masked:
    """A text with one token for every id, address and link to a record; a list of them is one token.

    All addresses are masked, not only those of records. Besides, what the house says gives a record away (`own_text`).

    Args:
        text: A body; cut header and footer off first (`body_of`).
        house: Whose ids are masked.
        anchors: Links of the source; the words of one that leads to a record are masked.
        day: The day of the text.
        token: What stands for what is masked.

    Raises:
        UsageError: The token is empty or would itself be masked.

    Example:
        >>> from assay.building.houses import EUROPEAN_PARLIAMENT
        >>> masked("See E-1/2020, 2/2020 and P-3/20 (https://a.eu/x).", EUROPEAN_PARLIAMENT).text
        'See [MASKED] ([MASKED]).'
    """
    _refuse_token(token, house)
    found = identifiers(text, house, day=day)
    spans = _hidden_spans(text, house, [(one.start, one.end) for one in found if one.form != "url"], anchors)
    return _replaced(text, spans, house, token)


def masked_texts(
    texts: Texts,
    house: House,
    *,
    anchors: Mapping[int, Sequence[Anchor]] | None = None,
    days: npt.NDArray[np.datetime64] | None = None,
    token: str = TOKEN,
    printed: Mapping[int, tuple[str, list[Identifier]]] | None = None,
) -> tuple[list[str], dict[str, int]]:
    """Many texts masked, as `masked` does one, and how many stretches of each kind were replaced in all.

    Args:
        texts: Bodies of texts.
        house: Whose ids are masked.
        anchors: Links of the source by row.
        days: The day of each text, datetime64[D], NaT where unknown.
        token: What stands for what is masked.
        printed: What `assay.building.citations.printed_in` found in the texts, where that is known already.
    """
    _refuse_token(token, house)
    linked = anchors or {}
    printed = printed_in(texts, house, days=days) if printed is None else printed
    ids = {row: [(one.start, one.end) for one in found if one.form != "url"] for row, (_, found) in printed.items()}
    counts: dict[str, int] = {}
    done = []
    for row, text in enumerate(texts.to_list()):
        spans = _hidden_spans(text, house, ids.get(row, []), linked.get(row, ()))
        if not spans:
            done.append(text)
            continue
        one = _replaced(text, spans, house, token)
        done.append(one.text)
        for kind, count in one.counts.items():
            counts[kind] = counts.get(kind, 0) + count
    return done, dict(sorted(counts.items()))


def _refuse_token(token: str, house: House) -> None:
    if not token.strip() or identifiers(token, house) or urls(token):
        raise UsageError(f"mask token {token!r} is empty or reads as an id or an address; take one such as {TOKEN!r}")


def _replaced(text: str, spans: Sequence[tuple[int, int, str]], house: House, token: str) -> Masked:
    counts: dict[str, int] = {}
    for _, _, kind in spans:
        counts[kind] = counts.get(kind, 0) + 1
    pieces, at = [], 0
    for start, end in _collapsed(text, spans, house):
        pieces += [text[at:start], token]
        at = end
    return Masked("".join([*pieces, text[at:]]), counts)


def _hidden_spans(
    text: str, house: House, ids: Iterable[tuple[int, int]], anchors: Iterable[Anchor]
) -> list[tuple[int, int, str]]:
    spans = [(start, end, "ids") for start, end in ids]
    spans += [(link.start, link.end, "links") for link in anchors if url_ids(link.target, house)[0]]
    hints = ("://", "www.", "WWW.", *house.hosts, *(cue for own in house.own_text for cue in own.cues))
    if not any(hint in text for hint in hints) and (text.isascii() or not _DISGUISED.search(text)):
        return sorted(spans)
    plain, places = folded(text)
    spans += [(places[a], places[b - 1] + 1, "urls") for a, b in urls(plain, house) if a < b]
    for kind, cues, pattern in house.own_text:
        if any(cue in plain for cue in cues):
            spans += [(places[m.start()], places[m.end() - 1] + 1, kind) for m in pattern.finditer(plain) if m[0]]
    return sorted(spans)


_DISGUISED = re.compile("[\u00ad\u200b-\u200d\u2044\u2060\u2215\ufeff\uff00-\uffef]")
_GLUE = re.compile(r"[\s,;&/-]*(?:\b(?:and|or|to|und|et|also|as well as)\b)?[\s,;&/-]*")


def _collapsed(text: str, spans: Sequence[tuple[int, int, str]], house: House) -> Iterator[tuple[int, int]]:
    """Spans to replace: those that overlap, or have nothing but a joint of a list between them, as one."""
    start = end = -1
    for first, last, _ in spans:
        if start >= 0 and (first <= end or _joins(text[end:first], house)):
            end = max(end, last)
            continue
        if start >= 0:
            yield start, end
        start, end = first, last
    if start >= 0:
        yield start, end


_LABEL = re.compile(r"(?:\b(?:W?PQs?|UINs?|[Qq]uestions?|[Ww]ritten [Qq]uestions?|WQ)\b|\([a-z]\)|[Nn]os?\.?|[Nn]°)")


def _joins(between: str, house: House) -> bool:
    if len(between) > 40 or "\n\n" in between or "." in between.replace("No.", "").replace("no.", ""):
        return False
    between = _LABEL.sub(" ", folded(between)[0])
    return house.joiner.fullmatch(between.strip()) is not None or _GLUE.fullmatch(between) is not None
