"""Extracted: the text of a document with its links, and the writer that puts both together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from assay.building.citations import Anchor
from assay.errors import FormatError

_BLANKS = re.compile(r"[ \t\r\f\v]+")
LARGEST = 64 << 20
"""Files of more bytes are refused; a question has about ten thousand."""


class UnreadableError(FormatError):
    """A document that gives no text; `reason` says why in a few words, the same for every such file."""

    def __init__(self, name: str, reason: str, advice: str = "fetch it again or use another format") -> None:
        super().__init__(f"{name}: {reason}; {advice}")
        self.reason = reason


@dataclass(frozen=True)
class Extracted:
    """The text of a document.

    Attributes:
        text: Paragraphs with an empty line between them, footnotes at the end: a mark `[1]` where a note belongs, and
            a line that begins with it.
        anchors: Links, by their spans in the text.
        counts: What was met on the way and is worth telling, by name.
    """

    text: str
    anchors: tuple[Anchor, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)

    def kept(self, spans: Iterable[tuple[int, int]]) -> Extracted:
        r"""What lies in some spans, blanks at their ends taken off, joined with an empty line; links move along.

        Example:
            >>> found = Extracted("head\n\nbody here\n\nfoot", (Anchor(11, 15, "https://a.eu"),)).kept([(5, 15)])
            >>> found.text, found.anchors
            ('body here', (Anchor(start=5, end=9, target='https://a.eu'),))
        """
        pieces: list[str] = []
        anchors: list[Anchor] = []
        length = 0
        for first, last in spans:
            piece = self.text[first:last]
            begin = first + len(piece) - len(piece.lstrip())
            piece = piece.strip()
            if not piece:
                continue
            length += 2 if pieces else 0
            for anchor in self.anchors:
                start, end = max(anchor.start, begin), min(anchor.end, begin + len(piece))
                if start < end:
                    anchors.append(Anchor(start - begin + length, end - begin + length, anchor.target))
            pieces.append(piece)
            length += len(piece)
        return Extracted("\n\n".join(pieces), tuple(anchors), self.counts)


class TextWriter:
    """Puts a text together, blanks folded, and remembers where links begin and end.

    Example:
        >>> writer = TextWriter()
        >>> writer.words(" See "), writer.link("https://a.eu"), writer.words("here"), writer.unlink(), writer.words(".")
        (None, None, None, None, None)
        >>> writer.written()
        Extracted(text='See here.', anchors=(Anchor(start=4, end=8, target='https://a.eu'),), counts={})
    """

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._waiting = ""
        self._anchors: list[Anchor] = []
        self._open: list[tuple[int, str]] = []
        self.counts: dict[str, int] = {}

    def count(self, name: str) -> None:
        """Counts what was met."""
        self.counts[name] = self.counts.get(name, 0) + 1

    def words(self, text: str) -> None:
        """Adds text; line ends in it are kept, other blanks are folded."""
        for place, line in enumerate(text.replace("\r\n", "\n").split("\n")):
            if place:
                self.line()
            self._folded(line)

    def _folded(self, line: str) -> None:
        line = _BLANKS.sub(" ", line)
        if line.startswith(" "):
            self._wait(" ")
        if line.strip(" "):
            self._put(line.strip(" "))
            if line.endswith(" "):
                self._wait(" ")

    def line(self) -> None:
        """Ends a line."""
        self._wait("\n")

    def paragraph(self) -> None:
        """Ends a paragraph."""
        self._wait("\n\n")

    def link(self, target: str) -> None:
        """Begins a link, at the next word; an empty target is none."""
        self._open.append((-1, target.strip()))

    def unlink(self) -> None:
        """Ends the link that was begun last."""
        start, target = self._open.pop() if self._open else (-1, "")
        if target and start >= 0:
            self._anchors.append(Anchor(start, self._length, target))

    def written(self) -> Extracted:
        """Everything so far; links still open end here."""
        while self._open:
            self.unlink()
        return Extracted("".join(self._pieces), tuple(sorted(self._anchors)), dict(self.counts))

    def _wait(self, blank: str) -> None:
        # The strongest of several blanks counts: a paragraph's end before a line's end before a blank.
        self._waiting = max(self._waiting, blank, key=lambda one: (one.count("\n"), len(one)))

    def _put(self, text: str) -> None:
        if self._waiting and self._length:
            self._pieces.append(self._waiting)
            self._length += len(self._waiting)
        self._waiting = ""
        self._open = [(self._length if start < 0 else start, target) for start, target in self._open]
        self._pieces.append(text)
        self._length += len(text)
