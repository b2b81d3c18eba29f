"""Small DOCX, XHTML and PDF files with given paragraphs, as bytes; equal paragraphs give equal bytes."""

from __future__ import annotations

import io
import textwrap
import zipfile
from collections.abc import Sequence
from html import escape

_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_TYPES = (
    '<?xml version="1.0" encoding="UTF-8"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml"'
    ' ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
)


def docx_bytes(paragraphs: Sequence[str], *, link: tuple[str, str] | None = None) -> bytes:
    """A Word document; `link` is words of a paragraph and where they lead."""
    body = []
    for paragraph in paragraphs:
        if link and link[0] in paragraph:
            before, _, after = paragraph.partition(link[0])
            inner = f'{_run(before)}<w:hyperlink r:id="rId9">{_run(link[0])}</w:hyperlink>{_run(after)}'
        else:
            inner = _run(paragraph)
        body.append(f"<w:p>{inner}</w:p>")
    document = f'<w:document xmlns:w="{_WORD}" xmlns:r="{_LINKS}"><w:body>{"".join(body)}</w:body></w:document>'
    relations = [("rId9", "hyperlink", link[1], ' TargetMode="External"')] if link else []
    parts = {
        "[Content_Types].xml": _TYPES,
        "_rels/.rels": _relations([("rId1", "officeDocument", "word/document.xml", "")]),
        "word/document.xml": f'<?xml version="1.0" encoding="UTF-8"?>{document}',
        "word/_rels/document.xml.rels": _relations(relations),
    }
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, text in parts.items():
            archive.writestr(zipfile.ZipInfo(name, (2024, 1, 1, 0, 0, 0)), text)
    return made.getvalue()


def _run(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{escape(text)}</w:t></w:r>' if text else ""


def _relations(rows: Sequence[tuple[str, str, str, str]]) -> str:
    inner = "".join(
        f'<Relationship Id="{name}" Type="{_LINKS}/{kind}" Target="{escape(target)}"{more}/>'
        for name, kind, target, more in rows
    )
    space = "http://schemas.openxmlformats.org/package/2006/relationships"
    return f'<?xml version="1.0" encoding="UTF-8"?><Relationships xmlns="{space}">{inner}</Relationships>'


def xhtml_bytes(paragraphs: Sequence[str], *, link: tuple[str, str] | None = None) -> bytes:
    """A page of XHTML; `link` is words of a paragraph and where they lead."""
    inner = "\n".join(f"<p>{escape(paragraph)}</p>" for paragraph in paragraphs)
    if link:
        inner = inner.replace(escape(link[0]), f'<a href="{escape(link[1])}">{escape(link[0])}</a>', 1)
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<html xmlns="http://www.w3.org/1999/xhtml"><head><title>-</title></head>'
    return f"{head}<body>\n{inner}\n</body></html>\n".encode()


def pdf_bytes(paragraphs: Sequence[str]) -> bytes:
    """One page of PDF with a text layer; characters of Latin-1 alone."""
    shown = []
    for paragraph in paragraphs:
        for line in textwrap.wrap(paragraph, 95):
            told = line.encode("latin-1").replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")
            shown.append(b"(" + told + b") Tj T*")
        shown.append(b"T*")
    stream = b"BT /F1 9 Tf 11 TL 50 800 Td\n" + b"\n".join(shown) + b"\nET"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n" % len(stream) + stream + b"\nendstream",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    made = bytearray(b"%PDF-1.4\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(made))
        made += b"%d 0 obj\n" % number + body + b"\nendobj\n"
    table = len(made)
    made += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    made += b"".join(b"%010d 00000 n \n" % place for place in places)
    made += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, table)
    return bytes(made)
