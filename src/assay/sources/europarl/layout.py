"""Layout: headers, subject lines, supporters and footers of questions and answers apart from their bodies.

What a house prints is in `assay.building.houses`; what is here knows how a document of the European Parliament is put
together: header, subject line, body, day of submission, supporters, footnotes. A body is never empty in silence, and
how its header was found is told by name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from assay.building.citations import Anchor, footnotes
from assay.building.houses import EUROPEAN_PARLIAMENT
from assay.building.identifiers import identifiers
from assay.building.masking import reply_start, subject_line
from assay.sources.europarl.extracted import Extracted

BY_SUBJECT = "subject line"
BY_TITLE = "title of the portal"
BY_REPLY = "header of a reply"
BY_ID = "lines of language and ids"
NO_HEADER = "no header"
EMPTY = "nothing below the header"
SUBMITTED = "day of submission"
SUPPORTERS = "supporters"
FOOTER = "footer"

_GROUP = (
    r"\((?:PPE(?:-DE)?|EPP|S&D|PSE|Renew|ALDE|ID|ECR|EFDD?|ENF|ENL|Verts/ALE|Greens/EFA|The Left|GUE/NGL|NI|PfE|ESN|"
    r"UEN|IND/DEM)\)"
)
"""A Member's group, as it stands behind the name."""
_NAMED = re.compile(_GROUP)
_NAMES = re.compile(rf"(?:[^\n(),;:]{{3,60}}{_GROUP}[,; ]*)+")
_LABEL = re.compile(r"[^\W\d_][\w’' -]{2,38}(?:\[\d{1,3}\])?:?")
_SUPPORTED = re.compile(r"(?i)\bsupported by\b")
_SUPPORTER = re.compile(r"(?i)supporters?")
_LABELLED = re.compile(
    r"(?P<label>[^\W\d_][^\n:\[\]()]{2,40}?)[ \t]?(?:\[(?P<mark>\d{1,3})\])?[ \t]*(?::[ \t]*(?P<names>[^\n]*))?"
)
_SUBMITTED = re.compile(r"[^\W\d_][^\n:\[\]()]{2,40}:[ \t\u00a0]*\d{1,2}[./]\d{1,2}[./]\d{4}")
_OWN_LINE = re.compile(r"[A-Z]{2}|(?i:question reference)[ \t]*:.*")
_MARK_AT_THE_END = re.compile(r"(?:\s*\[\d{1,3}\])+$")
_MARK = re.compile(r"\[(\d{1,3})\]")


@dataclass(frozen=True)
class Layout:
    """A document in its parts.

    Attributes:
        text: The body, with its footnotes; empty where there is nothing below the header.
        anchors: Links within `text`.
        header: What stood above, the subject line left out.
        subject: The subject line without its label; empty for answers.
        how: By what the header was found.
        cut: What was cut behind or within the body, by kind, each as often as it was met.
    """

    text: str
    anchors: tuple[Anchor, ...]
    header: str
    subject: str
    how: str
    cut: tuple[str, ...] = ()


def question_parts(found: Extracted, *, title: str = "") -> Layout:
    r"""A question without header, subject line, day of submission, supporters and footer.

    The cut is behind the subject line, by its label in any official language; where no label is known, behind the line
    that is the portal's own title.

    Args:
        found: The document.
        title: Its title on the portal: a subject that runs over two lines is told by it.

    Example:
        >>> text = "to the Council\n\nSubject: Fees\n\nWhy?[1]\n\nSubmitted: 3.1.2022\n\n[1] See E-1/20."
        >>> parts = question_parts(Extracted(text))
        >>> parts.subject, parts.text, parts.cut
        ('Fees', 'Why?[1]\n\n[1] See E-1/20.', ('day of submission',))
    """
    text = found.text
    line = subject_line(text, EUROPEAN_PARLIAMENT)
    start, end, subject, how = (line.start, line.end, line.subject, BY_SUBJECT) if line else (0, 0, "", NO_HEADER)
    if line is None and title:
        start, end = _title_line(text, title)
        how = BY_TITLE if end else NO_HEADER
    if end and title:
        rest = _rest_of(title, subject)
        more = re.match(rf"\s*{_loosely(rest)}[ \t]*(?:\n|$)", text[end:]) if rest else None
        if more:
            end, subject = end + more.end(), title
    # A note may belong to the subject.
    return _parted(found, text[:start], end, (_MARK_AT_THE_END.sub("", " ".join(subject.split())), how))


def answer_parts(found: Extracted) -> Layout:
    r"""An answer without its header and footer.

    Example:
        >>> parts = answer_parts(Extracted("EN\nE-1/2022\nAnswer given by Ms Low\n(3.1.2022)\n\nIt acts."))
        >>> parts.header, parts.text, parts.how
        ('EN\nE-1/2022\nAnswer given by Ms Low\n(3.1.2022)', 'It acts.', 'header of a reply')
    """
    end = reply_start(found.text, EUROPEAN_PARLIAMENT)
    how = BY_REPLY if end else NO_HEADER
    if not end:
        end = _own_lines(found.text)
        how = BY_ID if end else NO_HEADER
    return _parted(found, found.text[:end], end, ("", how))


def _own_lines(text: str) -> int:
    """The end of the first lines that hold a language or ids and nothing else."""
    at = end = 0
    for line in text.splitlines(keepends=True):
        plain = line.strip()
        ids = identifiers(plain, EUROPEAN_PARLIAMENT)
        of_ids = sum(one.end - one.start for one in ids)
        if plain and not _OWN_LINE.fullmatch(plain) and (not ids or len(plain) - of_ids > 6 * len(ids)):
            break
        at += len(line)
        end = at if plain else end
    return end


def _title_line(text: str, title: str) -> tuple[int, int]:
    """The line near the top that is the title, perhaps behind a short label; `(0, 0)` where there is none."""
    found = re.search(
        rf"(?m)^[ \t]*(?:[^\W\d_]{{2,20}}[ \t\u00a0]*:[ \t\u00a0]*)?{_loosely(title)}[ \t]*(?:\n|$)", text
    )
    if found and sum(bool(line.strip()) for line in text[: found.start()].splitlines()) <= 12:
        return found.start(), found.end()
    return 0, 0


def _loosely(title: str) -> str:
    return r"\s+".join(map(re.escape, title.split()))


def _rest_of(title: str, subject: str) -> str:
    title, subject = " ".join(title.split()), " ".join(subject.split())
    return title[len(subject) :].strip() if title.startswith(subject) else ""


def _parted(found: Extracted, header: str, start: int, told: tuple[str, str]) -> Layout:
    """The parts, with what stands behind or within the body cut out."""
    subject, how = told
    body = found.kept([(start, len(found.text))])
    spans, cut = _left(body.text)
    left = body.kept(spans)
    return Layout(left.text, left.anchors, header.strip(), subject, how if left.text else EMPTY, cut)


def _left(text: str) -> tuple[list[tuple[int, int]], tuple[str, ...]]:
    """The spans of a body that stay, and what was cut: footers anywhere, the rest at the end of the main text."""
    notes = _notes(text)
    border = notes[0][1] if notes else len(text)
    gone: list[tuple[int, int]] = []
    kinds: list[str] = []
    for footer in EUROPEAN_PARLIAMENT.footer.finditer(text) if EUROPEAN_PARLIAMENT.footer else ():
        gone.append(footer.span())
        kinds.append(SUBMITTED if _SUBMITTED.fullmatch(footer[0].strip()) else FOOTER)
    said = {number: text[start:end] for number, start, end in notes}
    marks: set[str] = set()
    # Such lines stand before the footnotes, or behind them.
    for end in sorted({border, len(text)}):
        names: list[tuple[int, int]] = []
        for line in _from_the_end(text[:end]):
            plain = line[0].strip()
            if any(start <= line.start() < stop for start, stop in gone):
                continue
            if _NAMES.fullmatch(plain):
                names.append(line.span())
                continue
            kind, mark = _closing(plain, said)
            if names and not kind and _LABEL.fullmatch(plain):
                kind = SUPPORTERS
            if not kind:
                break
            gone += [line.span(), *(names if kind == SUPPORTERS else [])]
            names = []
            kinds.append(kind)
            marks.add(mark)
    for number, start, end in notes:
        if number in marks or (_SUPPORTED.search(said[number]) and _NAMED.search(said[number])):
            gone.append((start, end))
            kinds.append(SUPPORTERS)
    return _without(len(text), gone), tuple(kinds)


def _from_the_end(text: str) -> list[re.Match[str]]:
    """Lines that are not empty, the last one first; without the first one, which is the body's, whatever it says."""
    return [line for line in re.finditer(r"[^\n]+", text) if line[0].strip()][:0:-1]


def _notes(text: str) -> list[tuple[str, int, int]]:
    """Footnotes with their numbers and spans, in order, those included whose mark stood in the header."""
    starts = {note.start: note.end for note in footnotes(text)}
    for line in _from_the_end(text):
        if line.start() not in starts:
            if not _MARK.match(line[0].strip()):
                break
            starts[line.start()] = line.end()
    found = []
    for start, end in sorted(starts.items()):
        mark = _MARK.match(text[start:end].strip())
        if mark:
            found.append((mark[1], start, end))
    return found


def _closing(line: str, notes: dict[str, str]) -> tuple[str, str]:
    """What a line at the end of the main text is, empty for a line of the body, and the mark of the note it carries."""
    if _SUBMITTED.fullmatch(line):
        return SUBMITTED, ""
    found = _LABELLED.fullmatch(line)
    if found is None:
        return "", ""
    mark = found["mark"] or ""
    # Names with their groups are what supporters look like in any language.
    names = f"{found['names'] or ''} {notes.get(mark, '')}"
    return (SUPPORTERS, mark) if _NAMED.search(names) or _SUPPORTER.fullmatch(found["label"]) else ("", "")


def _without(length: int, gone: list[tuple[int, int]]) -> list[tuple[int, int]]:
    spans, at = [], 0
    for start, end in sorted(gone):
        spans.append((at, max(at, start)))
        at = max(at, end)
    return [*spans, (at, length)]
