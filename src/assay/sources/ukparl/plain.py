"""Plain text of what the questions interface gives as HTML, with its links as spans."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import NamedTuple

from assay.building.citations import Anchor

_BLOCK_TAGS = (
    "address|article|aside|blockquote|body|br|caption|center|dd|div|dl|dt|figure|footer|form|h[1-6]|header|hr|html|li|"
    "main|nav|ol|p|pre|section|table|tbody|tfoot|thead|ul"
)
_BLOCK = re.compile(_BLOCK_TAGS)
_CELLS = frozenset(("td", "th"))
_HIDDEN = frozenset(("script", "style", "template", "title"))
_INLINE_TAGS = "a|abbr|b|em|font|i|img|s|small|span|strong|sub|sup|td|th|tr|u|script|style|template|title"
_MARKUP = re.compile(
    rf"</?(?:{_BLOCK_TAGS}|{_INLINE_TAGS})(?:[\s/][^<>]*)?>|<!--|&(?:#\d+|#x[0-9a-f]+|[a-z][a-z0-9]*);", re.IGNORECASE
)
# Word leaves `<![if …]>` behind, which is neither a tag nor a comment.
_DECLARATIONS = re.compile(r"<(?:!(?!--)|\?)[^>]*>?")


class Plain(NamedTuple):
    """A plain text and its links, their spans in its code points."""

    text: str
    anchors: tuple[Anchor, ...] = ()


def plain_text(source: str) -> Plain:
    r"""The text of some HTML: a line a block or table row, blanks collapsed, cells apart by ` | `, empty lines gone.

    Cells that are empty keep their place, so that columns stay columns; a row of nothing else goes. Blocks within a
    cell, and tables within one, become blanks. Scripts and styles go. A text without any markup is read as it stands:
    a `<` or `&` in it is a sign like others.

    Example:
        >>> plain_text('<p>See&nbsp; <a href="/x">this</a>.</p><table><tr><td>a<td><p>1</p></tr></table>').text
        'See this.\na | 1'
        >>> plain_text("<p>See <a href='/x'>this</a></p>").anchors
        (Anchor(start=4, end=8, target='/x'),)
        >>> plain_text("R&D  <5 %").text
        'R&D <5 %'
    """
    if not _MARKUP.search(source):
        lines = (" ".join(line.split()) for line in source.splitlines())
        return Plain("\n".join(line for line in lines if line))
    reader = _Reader()
    reader.feed(_DECLARATIONS.sub("", source))
    reader.close()
    reader.end_link()
    reader.end_row()
    return Plain("".join(reader.pieces), tuple(reader.anchors))


class _Reader(HTMLParser):
    """A text as it grows: its pieces, and the gap due before the next one."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self.anchors: list[Anchor] = []
        self.length = 0
        self.gap = ""
        self.hidden = 0
        self.tables = 0
        self.cell = 0
        self.in_cell = False
        self.row: tuple[int, int] | None = None
        self.row_filled = False
        self.link: tuple[str, int] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _HIDDEN:
            self.hidden += 1
        elif tag == "a":
            self.end_link()
            target = (dict(attrs).get("href") or "").strip()
            self.link = (target, -1) if target else None
        elif tag in _CELLS:
            self.begin_cell()
        elif tag == "tr":
            self.begin_row()
        elif _BLOCK.fullmatch(tag):
            self.tables += tag == "table"
            self.widen("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in _HIDDEN:
            self.hidden = max(0, self.hidden - 1)
        elif tag == "a":
            self.end_link()
        elif tag in _CELLS and self.tables <= 1:
            self.in_cell = False
        elif tag == "tr" and self.tables <= 1:
            self.end_row()
        elif _BLOCK.fullmatch(tag) or tag in _CELLS or tag == "tr":
            if tag == "table":
                if self.tables <= 1:
                    self.end_row()
                self.tables = max(0, self.tables - 1)
            self.widen("\n")

    def handle_data(self, data: str) -> None:
        words = "" if self.hidden else " ".join(data.split())
        if not words:
            if data and not self.hidden:
                self.widen(" ")
            return
        if data[0].isspace():
            self.widen(" ")
        start = self.add(words)
        self.row_filled = True
        if self.link and self.link[1] < 0:
            self.link = self.link[0], start
        if data[-1].isspace():
            self.widen(" ")

    def widen(self, gap: str) -> None:
        """Asks for at least this gap before what comes next; within a cell a line does not end."""
        gap = " " if self.in_cell else gap
        if gap == "\n" or not self.gap:
            self.gap = gap

    def add(self, words: str) -> int:
        """Appends words behind the gap that is due; returns where they start."""
        if self.length and self.gap:
            self.pieces.append(self.gap)
            self.length += 1
        self.gap = ""
        self.pieces.append(words)
        self.length += len(words)
        return self.length - len(words)

    def begin_row(self) -> None:
        if self.tables > 1:
            self.widen(" ")
            return
        self.end_row()
        self.row = len(self.pieces), self.length
        self.row_filled = False

    def begin_cell(self) -> None:
        if self.tables > 1:
            self.widen(" ")
            return
        if self.row is None:
            self.begin_row()
        if self.cell:
            self.in_cell = True
            self.widen(" ")
            self.add("|")
            self.gap = " "
        self.cell += 1
        self.in_cell = True

    def end_row(self) -> None:
        """Ends a line; takes back the bars of a row without words."""
        if self.row is not None and not self.row_filled:
            del self.pieces[self.row[0] :]
            self.length = self.row[1]
        self.row, self.cell, self.in_cell = None, 0, False
        self.widen("\n")

    def end_link(self) -> None:
        if self.link and 0 <= self.link[1] < self.length:
            self.anchors.append(Anchor(self.link[1], self.length, self.link[0]))
        self.link = None
