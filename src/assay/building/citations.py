"""Citations: where a text names other records, whether it sends its reader to them, and in which sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from assay.building.house import House, folded
from assay.building.identifiers import Identifier, day_of, identifiers, identifiers_in, url_ids
from assay.texts import Texts

SOURCES = ("hyperlink", "url", "text")
"""Where an id was found: the target of a link, a printed address, a printed id."""


class Anchor(NamedTuple):
    """A link of the source: the span of its words in the text, half-open, and where it leads."""

    start: int
    end: int
    target: str


class Note(NamedTuple):
    """A footnote: the place of its mark in the body, and its own span in the text."""

    mark: int
    start: int
    end: int


class Citation(NamedTuple):
    """One record named by a text.

    Attributes:
        start, end: The span of its words, half-open, in code points.
        ids: Canonical ids that it can mean, the likeliest first.
        source: `hyperlink`, `url` or `text`.
        form: The printed form, `url` or `inherited`.
        answer: Whether it names the answer itself.
        referral: Whether the sentence sends the reader there; otherwise the record is only mentioned.
        phrase: The words that decided; empty for a mention without any.
        sentence: The span of the sentence; for a footnote, of the sentence that carries its mark.
        note: Whether it stands in a footnote.
    """

    start: int
    end: int
    ids: tuple[str, ...]
    source: str
    form: str
    answer: bool
    referral: bool
    phrase: str
    sentence: tuple[int, int]
    note: bool = False


@dataclass(frozen=True)
class CitationRules:
    """What may be switched.

    Attributes:
        already_stated: Whether "as already stated in its answer to …" sends the reader there.
        footnotes: Whether footnotes are told apart from the body by their marks (`[1]`, `(1)`, `¹`).
    """

    already_stated: bool = False
    footnotes: bool = True


_MEMBER = (
    r"(?:(?:the|my|our)\s+)?(?:(?:right\s+|rt\.?\s+)?(?:honou?rable|hon)\.?\s+)?(?:and\s+(?:gallant|learned)\s+)?"
    r"(?:Members?|MEPs?|Lad(?:y|ies)|Gentlem[ae]n|Friends?|Baroness|Lord|Parliamentarians?|questioners?|authors?|"
    r"you|him|her|them)\b(?:'s?|’s?)?(?:\s+\((?:s|[^)]{1,30})\))?"
)
_AUX = (
    r"(?:(?:would|should|could|can|may|must|will|wish(?:es)?\s+to|would\s+like\s+to|has\s+to|have\s+to|begs?\s+to|am|is|are)"
    r"\s+)"
)
_ADVERB = r"(?:(?:also|again|therefore|kindly|respectfully|further|hereby|once\s+more|please|back|simply)\s+){0,2}"
_OWN = r"(?:its|his|her|their|my|our|the)\s+(?:\w+\s+){0,3}?(?:answers?|repl(?:y|ies)|responses?)\b"
_SENDING = re.compile(
    # All that begins with a word is tried at the beginning of words alone: this is most of the time that a scan takes.
    rf"\b(?=\w)(?:{_AUX}?{_ADVERB}\b(?:refer(?:s|ring)?|direct(?:s|ing)?|point(?:s|ing)?|redirects?)\s+{_MEMBER}"
    r"[^.;]{0,80}?\bto\b"
    rf"|\b{_MEMBER}\s+(?:is|are|may|might|should|can|could|will)\s+(?:be\s+)?{_ADVERB}(?:also\s+)?"
    r"(?:(?:invited|requested|asked|advised|encouraged|referred|directed|kindly\s+referred)\s*(?:to\s+)?)?"
    r"(?:(?:refer|consult|see|read|look)\b\s*(?:back\s+)?(?:at|to)?|(?<=referred\sto\s)|(?<=directed\sto\s))"
    rf"|{_AUX}{_ADVERB}refer\s+{_ADVERB}to\b"
    rf"|\b(?:I|we|Commission|Council|Vice-President|Representative|HR/VP|Minister|Board)\s+{_ADVERB}refers?\s+{_ADVERB}to"
    rf"(?=\s+{_OWN})"
    r"|\b(?:please|kindly)\s+(?:see|refer\s+to|consult)\b"
    rf"|\bdraws?\s+(?:the\s+)?attention\s+of\s+{_MEMBER}[^.;]{{0,80}}?\bto\b"
    rf"|\b(?:draw(?:s|ing)?|call(?:s)?)\s+{_MEMBER}\s+attention\s+to\b|\bdraw(?:s|ing)?\s+attention\s+to\b)"
    r"|(?:^|[.;:(\[]\s?|(?<=\n))\s*(?:(?:\[\d{1,2}\]|\(\d{1,2}\)|[¹²³⁴-⁹])\s*)?(?:for\s[^.;:]{3,60},\s+)?(?:see|cf\.)\s+(?:also\s+)?"
    r"|,\s+(?:please\s+)?see\s+(?:also\s+)?|\bsee\s+also\b",
    re.IGNORECASE,
)
_SENT_BACK = re.compile(
    rf"\bto\s+which\s+(?:{_AUX}?{_ADVERB}refers?\s+{_MEMBER}|{_MEMBER}\s+(?:is|are)\s+{_ADVERB}referred|[^.;,]{{0,40}}\brefers?\s+"
    rf"{_MEMBER})|,?\s*to\s+which\s+I\s+(?:would\s+)?refer\s+{_MEMBER}",
    re.IGNORECASE,
)
_STATED = re.compile(
    r"\bas\s+(?:was\s+|it\s+has\s+)?(?:already\s+|previously\s+)(?:been\s+)?(?:stated|said|mentioned|explained|indicated|"
    r"pointed\s+out|set\s+out|noted)\s+(?:by\s+[^.;,]{3,40}\s+)?in\b",
    re.IGNORECASE,
)
_MENTION = re.compile(
    r"\b(?:as\s+(?:already\s+|previously\s+)?(?:stated|said|mentioned|explained|indicated|set\s+out|noted|outlined)\s+in|further\s+to|"
    r"following\s+up|follow-up\s+to|pursuant\s+to|with\s+reference\s+to|in\s+(?:its|his|her|their|my)\s+(?:\w+\s+){0,2}?"
    r"(?:answer|reply|response)\s+to|refers?\s+to|referred\s+to|mentioned\s+in|in\s+(?:response|reply|answer)\s+to)",
    re.IGNORECASE,
)
_OBJECT = re.compile(
    r"(?:answers?|answered|repl(?:y|ies|ied)|respon(?:ses?|ded)|questions?|inquir(?:y|ies)|quer(?:y|ies)|WQs?|PQs?|UINs?|odpověď|otázk)\b",
    re.IGNORECASE,
)
_OTHER_OBJECT = re.compile(
    r"\b(?:directives?|regulations?|communications?|websites?|web\s?pages?|pages?|reports?|articles?|guidelines?|statements?|"
    r"decisions?|strateg(?:y|ies)|press|letter|proposals?|stud(?:y|ies)|data|figures|authorit(?:y|ies))\b",
    re.IGNORECASE,
)
_MARK = re.compile(r"\[(\d{1,3})\]|\((\d{1,2})\)|([¹²³⁴-⁹⁰]+)")
_NOTE = re.compile(r"(?:^|\n)[ \t]*(?:\[(\d{1,3})\]|\((\d{1,2})\)|([¹²³⁴-⁹⁰]+))")
_SUPERSCRIPTS = str.maketrans("¹²³⁴⁵⁶⁷⁸⁹⁰", "1234567890")
_BORDER = re.compile(
    r"[.!?]+[)\]’”\"'»]*(?:[^\S\n]*(?:\[\d{1,3}\]|\(\d{1,2}\)|[¹²³⁴-⁹⁰]+))*(?=\s+[(\[“‘«\"']*[^\W\d_a-z]|\s+\d{1,2}[.)]\s|\s*\n|$)"
    r"|\n\s*\n|\n(?=\s*(?:[-–•]|\d{1,2}[.)])\s)"
)
_SHORT = re.compile(
    r"(?:\b(?:[Nn]os?|[Nn]r|[Aa]rts?|[Hh]on|[Rr]t|Mr|Mrs|Ms|Dr|Prof|St|pp?|[Pp]ar|[Cc]f|e\.g|i\.e|[Vv]ol|[Ff]ig|čl|odst|č|tzv|"
    r"resp|Úř|věst|vs|approx|incl|Reg|Dir|rev|[A-Z])\.)$"
)


_LONGEST = 1500
"""No sentence is looked for beyond this many characters."""
_SENDS = re.compile(
    r"refer|direct|point|invit|request|ask|advis|encourag|see|consult|attention|cf\.|look|read", re.IGNORECASE
)


def sentence_around(text: str, start: int, end: int) -> tuple[int, int]:
    """The span of the sentence (or of the sentences) that a span lies in, without blanks at its ends.

    A sentence ends with a full stop, a question or exclamation mark that a capital letter or an end of line follows,
    unless an abbreviation stands there, or with an empty line. Marks of footnotes after it still belong to it.

    Example:
        >>> text = "It is so. See Written Question No. 5 of Mr. Low. It ends."
        >>> "{}|{}".format(*sentence_around(text, 34, 35)), text[10:48]
        ('10|48', 'See Written Question No. 5 of Mr. Low.')
    """
    low = max(0, start - _LONGEST)
    first, at = low, start
    while at > low:
        at = max(text.rfind(sign, low, at) for sign in ".!?\n")
        border = _BORDER.match(text, at, start) if at >= 0 else None
        # The match ends at `start` at the latest, and a border there is none of the text's: the text goes on.
        if border and border.end() < start and not _shortened(text, border):
            first = border.end()
            break
    last = min(len(text), end + _LONGEST)
    for border in _BORDER.finditer(text, max(first, end - 1), last):
        if border.end() >= end and not _shortened(text, border):
            last = border.end()
            break
    while first < start and text[first].isspace():
        first += 1
    while last > end and text[last - 1].isspace():
        last -= 1
    return first, last


def _shortened(text: str, border: re.Match[str]) -> bool:
    return border[0] == "." and _SHORT.search(text, max(0, border.start() - 6), border.end()) is not None


def footnotes(text: str) -> list[Note]:
    r"""Footnotes at the end of a text: lines that begin with a mark which stands earlier, within the body.

    Example:
        >>> text = "It was answered[1]. And so on.\n\n[1] See E-1/20."
        >>> [(note.mark, text[note.start:note.end]) for note in footnotes(text)]
        [(15, '[1] See E-1/20.')]
    """
    # A note stands on a line of its own, below its mark.
    lines = [(match, _number(match)) for match in _NOTE.finditer(text)] if "\n" in text else []
    if not lines:
        return []
    found: list[Note] = []
    first = lines[0][0].start()
    marks: dict[str, int] = {}
    starts = {match.end() for match, _ in lines}
    for mark in _MARK.finditer(text):
        if mark.end() not in starts:
            marks.setdefault(_number(mark), mark.start())
    for at, (match, number) in enumerate(lines):
        end = lines[at + 1][0].start() if at + 1 < len(lines) else len(text)
        mark_at = marks.get(number, -1)
        if 0 <= mark_at < match.start():
            start = match.start() + (text[match.start()] == "\n")
            found.append(Note(mark_at, start, len(text[:end].rstrip())))
    return [note for note in found if note.start >= first]


def _number(match: re.Match[str]) -> str:
    return "{}{}{}".format(*(group or "" for group in match.groups())).translate(_SUPERSCRIPTS)


def citations(
    text: str,
    house: House,
    *,
    anchors: Iterable[Anchor] = (),
    day: date | None = None,
    rules: CitationRules | None = None,
) -> list[Citation]:
    """Every record that a text names, in order.

    The target of a link, a printed address and a printed id are told apart. A printed id within the words of a link to
    the same record is that link. Nothing is dropped here: citations of the record itself and ids that name no record
    are the caller's to count.

    Args:
        text: The text before masking.
        house: Whose ids are looked for.
        anchors: Links of the source.
        day: The day of the text.
        rules: What is switched.

    Example:
        >>> from assay.building.houses import EUROPEAN_PARLIAMENT
        >>> said = "The Commission would refer the Honourable Member to its answer to Written Question E-004819/2020."
        >>> for one in citations(said, EUROPEAN_PARLIAMENT):
        ...     print(one.ids[0], one.source, one.referral, "|", one.phrase)
        E-9-2020-004819 text True | would refer the Honourable Member to
    """
    return _cited(text, house, identifiers(text, house, day=day), anchors, (day, rules or CitationRules()))


def _cited(
    text: str,
    house: House,
    printed: list[Identifier],
    anchors: Iterable[Anchor],
    how: tuple[date | None, CitationRules],
) -> list[Citation]:
    """The citations of a text whose printed ids are known."""
    day, rules = how
    found = [(one, "url" if one.form == "url" else "text") for one in printed]
    for anchor in anchors:
        ids, answer = url_ids(anchor.target, house, day=day)
        if ids:
            within = {one for one, _ in found if one.start < anchor.end and anchor.start < one.end}
            found = [row for row in found if row[0] not in within or not set(row[0].ids) & set(ids)]
            found.append((Identifier(anchor.start, anchor.end, ids, "url", answer), "hyperlink"))
    if not found:
        return []
    notes = footnotes(text) if rules.footnotes else []
    found.sort(key=lambda row: (row[0].start, row[0].end, row[1]))
    return [_judged(text, one, source, notes, rules) for one, source in found]


def _judged(text: str, one: Identifier, source: str, notes: list[Note], rules: CitationRules) -> Citation:
    own = next((note for note in notes if note.start <= one.start < note.end), None)
    sentence = sentence_around(text, one.start, one.end)
    referral, phrase = decided(text[sentence[0] : one.start], text[one.end : sentence[1]], rules)
    if own is not None:
        sentence = sentence_around(text, own.mark, own.mark + 1)
        if not referral:
            # The note names the record for the words that carry its mark.
            referral, own_phrase = decided(
                text[sentence[0] : own.mark], text[own.mark : sentence[1]], rules, noted=True
            )
            phrase = own_phrase or phrase
    return Citation(
        one.start, one.end, one.ids, source, one.form, one.answer, referral, phrase, sentence, own is not None
    )


def decided(before: str, after: str, rules: CitationRules | None = None, *, noted: bool = False) -> tuple[bool, str]:
    """Whether the words around an id send the reader there, and the phrase that decided.

    A referral is a sending verb whose object is an answer, a reply, a question or the id itself. The nearest phrase
    decides.

    Args:
        before: The sentence up to the id.
        after: The sentence behind it.
        rules: What is switched.
        noted: The id stands in a footnote of this sentence: then the object must be there in words.

    Example:
        >>> decided("The Member is invited to refer to the reply to ", ".")
        (True, 'The Member is invited to refer to')
        >>> decided("As stated in its answer to ", ", the Commission acts.")
        (False, 'As stated in')
    """
    rules = rules or CitationRules()
    before, after = folded(before)[0], folded(after)[0]
    stated = list(_STATED.finditer(before))
    if stated:
        return rules.already_stated, _plain(stated[-1][0])
    back = _SENT_BACK.search(after) if "to which" in after.lower() else None
    if back:
        return True, _plain(back[0])
    for match in reversed(list(_SENDING.finditer(before)) if _SENDS.search(before) else []):
        gap = before[match.end() :]
        named = _OBJECT.search(gap)
        other = _OTHER_OBJECT.search(gap, 0, named.start() if named else len(gap))
        words = len(gap[: named.start()].split()) if named else 0
        bare = named is None and not noted and len(gap.split()) <= 6
        if other is None and words <= 12 and (named is not None or bare):
            return True, _plain(match[0])
    mentions = list(_MENTION.finditer(before))
    return False, _plain(mentions[-1][0]) if mentions else ""


def _plain(phrase: str) -> str:
    return " ".join(_NOTE.sub("", phrase).strip(" \n\t.,;:([").split())


def printed_in(
    texts: Texts, house: House, *, days: npt.NDArray[np.datetime64] | None = None
) -> dict[int, tuple[str, list[Identifier]]]:
    """Row to its text and its ids, for rows that print any: one scan for citations and masking alike.

    Example:
        >>> from assay.building.houses import EUROPEAN_PARLIAMENT
        >>> sorted(printed_in(Texts.of(["nothing", "see E-000001/2020"]), EUROPEAN_PARLIAMENT))
        [1]
    """
    return {row: (text, found) for row, text, found in identifiers_in(texts, house, days=days)}


def citations_in(
    texts: Texts,
    house: House,
    *,
    anchors: Mapping[int, Sequence[Anchor]] | None = None,
    days: npt.NDArray[np.datetime64] | None = None,
    rules: CitationRules | None = None,
    printed: Mapping[int, tuple[str, list[Identifier]]] | None = None,
) -> Iterator[tuple[int, list[Citation]]]:
    """Rows that name a record, in order, each with its citations; as `citations` finds them, but fast.

    Args:
        texts: Texts before masking.
        house: Whose ids are looked for.
        anchors: Links of the source by row.
        days: The day of each text, datetime64[D], NaT where unknown.
        rules: What is switched.
        printed: What `printed_in` found in the texts, where that is known already.
    """
    linked = anchors or {}
    rules = rules or CitationRules()
    printed = printed_in(texts, house, days=days) if printed is None else printed
    for row in sorted({*printed, *linked}):
        text, found = printed.get(row) or (texts[row], [])
        cited = _cited(text, house, found, linked.get(row, ()), (day_of(days, row), rules))
        if cited:
            yield row, cited
