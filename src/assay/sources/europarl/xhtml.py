"""XHTML: the text of a page with its links and footnotes, whatever its encoding."""

from __future__ import annotations

import codecs
import re
from typing import Any, NamedTuple

from assay.errors import UnavailableError
from assay.sources.europarl.extracted import LARGEST, Extracted, TextWriter, UnreadableError

_DECLARED = re.compile(rb"^\s*<\?xml[^>]*?encoding\s*=\s*[\"']([\w.:-]+)[\"']")
_META = re.compile(rb"<meta[^>]*?charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_WESTERN = {"iso8859-1", "ascii", "cp1252"}
"""What names cp1252 on the web, by Python's names."""
_EMPTY = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"}
_CLOSED = re.compile(r"<([A-Za-z][\w:-]*)((?:\s+[\w:-]+\s*=\s*(?:\"[^\"]*\"|'[^']*'))*)\s*/>")
_BLOCKS = {
    "address", "article", "aside", "blockquote", "body", "center", "dd", "div", "dl", "dt", "fieldset", "figure",
    "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "pre",
    "section", "table", "tbody", "tfoot", "thead", "tr", "ul",
}  # fmt: skip
_UNSEEN = {"head", "noscript", "script", "style", "template", "title", "iframe", "object", "svg", "math", "-comment"}
_NUMBER = re.compile(r"\s*[\[(]?\s*(\d{1,3})\s*[\])]?\s*")
_NOTE_ID = re.compile(r"_?(?:ftn|fn|footnote|note|sdfootnote)[-_]?(\d+)(?:sym)?", re.IGNORECASE)
_DEEPEST = 150


class Decoded(NamedTuple):
    """A text, the encoding it was read in, and what was odd about it."""

    text: str
    encoding: str
    counts: dict[str, int]


def decoded(data: bytes) -> Decoded:
    r"""The text of bytes whose encoding their byte-order mark, XML declaration or meta element says; else UTF-8.

    Bytes that are no UTF-8 are read as cp1252. Where both stand in one file each stretch is read as what it is, and
    the file is counted as mixed.

    Example:
        >>> decoded("é".encode()).text, decoded(b"caf\xe9")
        ('é', Decoded(text='café', encoding='cp1252', counts={'no UTF-8, read as cp1252': 1}))
    """
    for mark, name in _MARKS:
        if data.startswith(mark):
            return _plainly(data[len(mark) :], name, {})
    said = _DECLARED.search(data[:200]) or _META.search(data[:4096])
    counts: dict[str, int] = {}
    name = "utf-8"
    if said:
        try:
            name = codecs.lookup(said[1].decode("ascii")).name
        except (LookupError, UnicodeDecodeError):
            counts["encoding declared that nobody knows"] = 1
    if name.startswith("utf-16"):
        # What can be read as ASCII so far is not UTF-16, whatever it says.
        name = "utf-8"
    if name == "utf-8":
        return _utf8(data, counts)
    name = "cp1252" if name in _WESTERN else name
    if _is_utf8(data):
        counts[f"declared {name}, is UTF-8"] = 1
        return Decoded(data.decode("utf-8"), "utf-8", counts)
    return _plainly(data, name, counts)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return not data.isascii()


def _plainly(data: bytes, name: str, counts: dict[str, int]) -> Decoded:
    text = data.decode(name, "replace")
    if "\ufffd" in text:
        counts = {**counts, f"bytes that are no {name}": text.count("\ufffd")}
    return Decoded(text, name, counts)


def _utf8(data: bytes, counts: dict[str, int]) -> Decoded:
    try:
        return Decoded(data.decode("utf-8"), "utf-8", counts)
    except UnicodeDecodeError:
        pass
    # What is not UTF-8 comes out as lone surrogates, one a byte.
    pieces = re.split("([\udc80-\udcff]+)", data.decode("utf-8", "surrogateescape"))
    own = [piece.encode("utf-8", "surrogateescape").decode("cp1252", "replace") for piece in pieces[1::2]]
    pieces[1::2] = own
    mixed = any(not piece.isascii() for piece in pieces[::2])
    reason = "mixed encodings, UTF-8 and cp1252" if mixed else "no UTF-8, read as cp1252"
    return Decoded("".join(pieces), "cp1252", {**counts, reason: 1})


def xhtml_text(data: bytes, name: str) -> Extracted:
    """The text of a page: blocks as paragraphs, links, footnotes; no scripts, styles and comments.

    Args:
        data: The file.
        name: What the file is called in errors.

    Raises:
        UnreadableError: It is empty, too large, no page, nested too deeply, or a page without text.
        UnavailableError: The package selectolax is missing.
    """
    try:
        from selectolax.lexbor import LexborHTMLParser
    except ImportError:
        raise UnavailableError("XHTML is read with the package selectolax; install assay[build]") from None
    if not data.strip():
        raise UnreadableError(name, "empty file")
    if len(data) > LARGEST:
        raise UnreadableError(name, "too large", f"it has {len(data):,} bytes, the bound is {LARGEST:,}")
    if data.startswith((b"PK\x03\x04", b"%PDF", b"\xd0\xcf\x11\xe0")):
        raise UnreadableError(name, "no XHTML but another format", "check its name")
    source, _, counts = decoded(data)
    if "<" not in source or "\0" in source:
        raise UnreadableError(name, "no XHTML")
    page = LexborHTMLParser(_CLOSED.sub(_opened, source))
    reader = _Reader(name)
    reader.writer.counts.update(counts)
    if page.body is not None:
        reader.inside(page.body, 0)
    found = reader.written()
    if not found.text:
        raise UnreadableError(name, "page without text")
    return found


def _opened(match: re.Match[str]) -> str:
    """`<title/>` as a reader of HTML understands it: its parser would take all that follows as the title."""
    return match[0] if match[1].lower() in _EMPTY else f"<{match[1]}{match[2]}></{match[1]}>"


class _Reader:
    """A page being read; notes that stand in blocks of their own are put at the end."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.writer = TextWriter()
        self.notes: list[tuple[str, Any, int]] = []

    def inside(self, node: Any, depth: int) -> None:
        """Writes what a node holds."""
        if depth > _DEEPEST:
            raise UnreadableError(self.name, "nested too deeply", "use another format")
        child = node.child
        while child is not None:
            self._node(child, depth + 1)
            child = child.next

    def _node(self, node: Any, depth: int) -> None:
        tag = node.tag
        if tag == "-text":
            # Line ends of the source are blanks; a no-break blank stays what it is.
            self.writer.words(re.sub(r"[ \t\r\n\f]+", " ", node.text_content or ""))
        elif tag in _UNSEEN or tag.startswith("!"):
            return
        elif tag == "br":
            self.writer.line()
        elif tag in ("td", "th"):
            self.inside(node, depth)
            self.writer.words(" ")
        elif tag in _BLOCKS:
            self._block(node, depth)
        elif tag == "a":
            self._link(node, depth)
        else:
            self.inside(node, depth)

    def _block(self, node: Any, depth: int) -> None:
        note = _NOTE_ID.fullmatch(node.attributes.get("id") or "")
        if note:
            self.notes.append((note[1], node, depth))
            return
        self.writer.paragraph()
        self.inside(node, depth)
        self.writer.paragraph()

    def _link(self, node: Any, depth: int) -> None:
        target = (node.attributes.get("href") or "").strip()
        if target.startswith("#"):
            mark = _NUMBER.fullmatch(node.text(deep=True))
            if mark:
                self.writer.words(f"[{mark[1]}]")
                return
            target = ""
        self.writer.link(target)
        self.inside(node, depth)
        self.writer.unlink()

    def written(self) -> Extracted:
        """Everything, notes last, each in one line."""
        for number, node, depth in self.notes:
            self.writer.paragraph()
            inner = _Reader(self.name)
            inner.inside(node, depth)
            note = inner.written()
            if not _NUMBER.match(note.text):
                self.writer.words(f"[{number}] ")
            self._in_one_line(note)
            self.writer.paragraph()
        return self.writer.written()

    def _in_one_line(self, note: Extracted) -> None:
        at = 0
        for anchor in note.anchors:
            self.writer.words(note.text[at : anchor.start].replace("\n", " "))
            self.writer.link(anchor.target)
            self.writer.words(note.text[anchor.start : anchor.end].replace("\n", " "))
            self.writer.unlink()
            at = max(at, anchor.end)
        self.writer.words(note.text[at:].replace("\n", " "))
