"""DOCX: the text of a Word document with its links and footnotes, read from its parts; nothing in it is run or fetched.

The parts are read with an XML parser that refuses document type declarations, so that no entity is ever expanded, and
within bounds on what is unpacked. Headers and footers of pages are parts of their own and are not read.
"""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
import zlib
from collections.abc import Iterator
from xml.etree import ElementTree
from xml.parsers import expat

from assay.sources.europarl.extracted import LARGEST, Extracted, TextWriter, UnreadableError

_MOST_MEMBERS = 1_000
_LARGEST_PART = 32 << 20
_LARGEST_UNPACKED = 256 << 20
_DEEPEST = 100
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_HYPERLINK = re.compile(r"^\s*HYPERLINK\b(?P<rest>.*)$", re.IGNORECASE | re.DOTALL)
_QUOTED = re.compile(r'(?P<switch>\\[a-z]\s*)?"(?P<target>[^"]*)"|(?P<bare>\bhttps?://\S+)', re.IGNORECASE)
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError, ValueError, KeyError)


def docx_text(data: bytes, name: str) -> Extracted:
    """The text of a DOCX: paragraphs, line breaks, links, footnotes.

    Deleted and hidden words are left out; of alternatives the first is read. Numbers that Word gives to the paragraphs
    of a list are not written, and counted.

    Args:
        data: The file.
        name: What the file is called in errors.

    Raises:
        UnreadableError: It is no DOCX, is encrypted, cut short or damaged, unpacks to too much, or has a document type
            declaration; the message names the file and the reason.
    """
    with _opened(data, name) as archive:
        package = _Package(archive, name)
        main = package.main()
        reader = _Reader(package, main)
        reader.body(package.tree(main))
        reader.notes_at_the_end()
    return reader.writer.written()


def _opened(data: bytes, name: str) -> zipfile.ZipFile:
    if data.startswith(_OLE):
        raise UnreadableError(name, "encrypted or of the old Word format (an OLE container)", "use another format")
    if len(data) > LARGEST:
        raise UnreadableError(name, "too large", f"it has {len(data):,} bytes, the bound is {LARGEST:,}")
    if not data:
        raise UnreadableError(name, "empty file")
    if not data.startswith(b"PK"):
        raise UnreadableError(name, "not a ZIP archive")
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except _DAMAGED:
        raise UnreadableError(name, "a truncated or damaged ZIP archive") from None
    members = archive.infolist()
    declared = sum(member.file_size for member in members)
    if len(members) > _MOST_MEMBERS:
        raise UnreadableError(
            name, "too many members", f"it has {len(members):,}, the bound is {_MOST_MEMBERS:,}: a ZIP bomb?"
        )
    if declared > _LARGEST_UNPACKED:
        raise UnreadableError(
            name, "unpacks to too much", f"to {declared:,} bytes, the bound is {_LARGEST_UNPACKED:,}: a ZIP bomb?"
        )
    return archive


class _Package:
    """The parts of an archive, read within bounds."""

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        self.archive = archive
        self.name = name
        self.members = set(archive.namelist())

    def main(self) -> str:
        """The name of the main part."""
        for kind, target, _ in self.relations("").values():
            if kind == "officeDocument" and target in self.members:
                return target
        if "word/document.xml" in self.members:
            return "word/document.xml"
        inner = sorted(one for one in self.members if one.lower().endswith((".zip", ".docx")))
        reason = "an archive within an archive" if inner else "no word/document.xml in the archive"
        raise UnreadableError(self.name, reason, "it is no Word document; fetch it again or use another format")

    def part_of(self, main: str, kind: str) -> str:
        """The part of a kind that the main part names, or the usual one; empty where there is none."""
        named = [target for one, target, _ in self.relations(main).values() if one == kind]
        usual = posixpath.join(posixpath.dirname(main), f"{kind}.xml")
        return next((target for target in (*named, usual) if target in self.members), "")

    def relations(self, part: str) -> dict[str, tuple[str, str, bool]]:
        """Relations of a part by id: the last word of the kind, the target, and whether it lies outside."""
        folder, own = posixpath.split(part)
        place = posixpath.join(folder, "_rels", f"{own}.rels")
        if place not in self.members:
            return {}
        found = {}
        for one in self.tree(place):
            outside = one.get("TargetMode", "") == "External"
            target = one.get("Target", "")
            if not outside:
                target = posixpath.normpath(posixpath.join(folder, target)).lstrip("/")
            found[one.get("Id", "")] = (one.get("Type", "").rpartition("/")[2], target, outside)
        return found

    def tree(self, part: str) -> ElementTree.Element:
        """A part as a tree of elements."""
        try:
            with self.archive.open(part) as stream:
                data = stream.read(_LARGEST_PART + 1)
        except RuntimeError:
            raise UnreadableError(self.name, "encrypted (a password is needed)", "use another format") from None
        except _DAMAGED:
            raise UnreadableError(self.name, f"{part} is truncated or damaged") from None
        if len(data) > _LARGEST_PART:
            raise UnreadableError(self.name, "unpacks to too much", f"{part} has over {_LARGEST_PART:,} bytes")
        return self._parsed(data, part)

    def _parsed(self, data: bytes, part: str) -> ElementTree.Element:
        builder = ElementTree.TreeBuilder()
        parser = expat.ParserCreate(namespace_separator="}")
        depth = 0

        def start(tag: str, attributes: dict[str, str]) -> None:
            nonlocal depth
            depth += 1
            if depth > _DEEPEST:
                raise UnreadableError(self.name, f"{part} is nested too deeply", "use another format")
            # Names without their namespaces: those of Word's two dialects differ in nothing else.
            builder.start(_local(tag), {_local(key): value for key, value in attributes.items()})

        def end(tag: str) -> None:
            nonlocal depth
            depth -= 1
            builder.end(_local(tag))

        def declared(*_: object) -> None:
            raise UnreadableError(
                self.name, "a document type declaration (entities are never expanded)", "use another format"
            )

        parser.StartElementHandler = start
        parser.EndElementHandler = end
        parser.CharacterDataHandler = builder.data
        parser.StartDoctypeDeclHandler = declared
        try:
            parser.Parse(data, True)
            return builder.close()
        except (expat.ExpatError, ValueError, AssertionError):
            raise UnreadableError(self.name, f"{part} is no well-formed XML") from None


def _local(name: str) -> str:
    return name.rpartition("}")[2]


_SKIPPED = {"del", "moveFrom", "delText", "instrText", "pPr", "rPr", "sectPr", "tblPr", "trPr", "tcPr", "fldData"}
_BREAKS = {"cr", "br"}
_GAPS = {"tab", "ptab"}


class _Reader:
    """A document being read: open fields and links, and the footnotes in the order of their marks."""

    def __init__(self, package: _Package, main: str) -> None:
        self.package = package
        self.writer = TextWriter()
        self.targets = self._targets(main)
        self.notes: list[tuple[str, str]] = []
        self.fields: list[list[str]] = []
        self.parts = {
            "footnoteReference": package.part_of(main, "footnotes"),
            "endnoteReference": package.part_of(main, "endnotes"),
        }

    def _targets(self, part: str) -> dict[str, str]:
        relations = self.package.relations(part)
        return {id_: target for id_, (kind, target, outside) in relations.items() if kind == "hyperlink" and outside}

    def body(self, root: ElementTree.Element) -> None:
        """Writes the main part."""
        for child in root:
            self._element(child)

    def _element(self, element: ElementTree.Element) -> None:
        tag, writer = element.tag, self.writer
        if tag in _SKIPPED:
            return
        if tag == "t":
            writer.words((element.text or "").replace("\n", " "))
        elif tag in _BREAKS:
            writer.line()
        elif tag in _GAPS:
            writer.words(" ")
        elif tag == "noBreakHyphen":
            writer.words("\u2011")
        elif tag in self.parts:
            self._mark(tag, element.get("id", ""))
        elif tag == "fldChar":
            self._field(element.get("fldCharType", ""))
        elif tag == "AlternateContent":
            for choice in list(element)[:1]:
                self._inside(choice)
        elif tag == "r":
            self._run(element)
        elif tag == "hyperlink":
            self._linked(self.targets.get(element.get("id", ""), ""), element)
        elif tag == "fldSimple":
            self._linked(_field_target(element.get("instr", "")), element)
        else:
            self._block(element)

    def _inside(self, element: ElementTree.Element) -> None:
        for child in element:
            self._element(child)

    def _block(self, element: ElementTree.Element) -> None:
        if element.tag == "p":
            self.writer.paragraph()
            if element.find("pPr/numPr") is not None:
                self.writer.count("list paragraphs without their numbers")
        self._inside(element)
        if element.tag in ("p", "tr", "txbxContent"):
            self.writer.paragraph()
        elif element.tag == "tc":
            self.writer.words(" ")

    def _run(self, element: ElementTree.Element) -> None:
        hidden = element.find("rPr/vanish")
        instruction = "".join(one.text or "" for one in element.iter("instrText"))
        if instruction and self.fields:
            self.fields[-1].append(instruction)
        if hidden is not None and hidden.get("val", "true") not in ("0", "false", "off"):
            self.writer.count("hidden stretches left out")
            for one in element.iter("fldChar"):
                self._element(one)
            return
        self._inside(element)

    def _linked(self, target: str, element: ElementTree.Element) -> None:
        self.writer.link(target)
        self._inside(element)
        self.writer.unlink()

    def _field(self, kind: str) -> None:
        if kind == "begin":
            self.fields.append([])
        elif kind == "separate" and self.fields:
            self.writer.link(_field_target("".join(self.fields[-1])))
            self.fields[-1] = ["shown"]
        elif kind == "end" and self.fields and self.fields.pop() == ["shown"]:
            self.writer.unlink()

    def _mark(self, kind: str, id_: str) -> None:
        self.notes.append((kind, id_))
        self.writer.words(f"[{len(self.notes)}]")

    def notes_at_the_end(self) -> None:
        """Writes the footnotes, each on a line of its own behind its mark."""
        trees = {kind: dict(self._notes_of(part)) for kind, part in self.parts.items() if part}
        # A note may itself carry a mark; the list then grows while it is read.
        for number, (kind, id_) in enumerate(self.notes, 1):
            note = trees.get(kind, {}).get(id_)
            self.writer.paragraph()
            self.writer.words(f"[{number}] ")
            if note is None:
                self.writer.count("footnotes that are missing")
                continue
            self.targets = self._targets(self.parts[kind])
            for paragraph in note.iter("p"):
                self._inside(paragraph)
                self.writer.words(" ")

    def _notes_of(self, part: str) -> Iterator[tuple[str, ElementTree.Element]]:
        for note in self.package.tree(part):
            yield note.get("id", ""), note


def _field_target(instruction: str) -> str:
    r"""Where a field's code leads; empty for other fields and for places within the document.

    Example:
        >>> _field_target(' HYPERLINK "https://a.eu/x" \\o "tip" '), _field_target(' HYPERLINK \\l "_ftn1" ')
        ('https://a.eu/x', '')
    """
    code = _HYPERLINK.match(instruction)
    for found in _QUOTED.finditer(code["rest"] if code else ""):
        if not found["switch"]:
            return found["target"] or found["bare"] or ""
    return ""
