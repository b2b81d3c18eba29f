"""Documents of the European Parliament: text, links and notes of DOCX, XHTML and PDF; headers apart from bodies."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from datetime import date
from typing import Any

import docx
import pytest
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from hypothesis import given
from hypothesis import strategies as st

from assay.building.citations import Anchor, citations, footnotes
from assay.building.houses import EUROPEAN_PARLIAMENT
from assay.errors import DataError
from assay.sources.europarl import docx as docx_module
from assay.sources.europarl.docx import docx_text
from assay.sources.europarl.extracted import Extracted, TextWriter, UnreadableError
from assay.sources.europarl.layout import answer_parts, question_parts
from assay.sources.europarl.pdf import pdf_text
from assay.sources.europarl.xhtml import decoded, xhtml_text
from europarl_files import docx_bytes, pdf_bytes, xhtml_bytes

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def zipped(parts: dict[str, str | bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", compression) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return made.getvalue()


def document(body: str, **more: str) -> bytes:
    """A DOCX of one main part with that body; further parts by name, `__` for `/` and `_xml` for the ending."""
    parts: dict[str, str | bytes] = {
        "word/document.xml": f'<w:document xmlns:w="{W}" xmlns:r="{R}"><w:body>{body}</w:body></w:document>'
    }
    parts |= {f"word/{name.replace('__', '/').replace('_xml', '.xml')}": text for name, text in more.items()}
    return zipped(parts)


def run(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def saved(made: Any) -> bytes:
    stream = io.BytesIO()
    made.save(stream)
    return stream.getvalue()


# DOCX


def test_a_docx_of_python_docx_is_read() -> None:
    made = docx.Document()
    header = made.add_paragraph("Question for written answer E-001357/2024")
    header.runs[0]._r.append(OxmlElement("w:cr"))
    header.add_run("to the Council")
    header.runs[-1].add_break()
    header.add_run("Rule\t144")
    made.add_paragraph("Subject:\tFees")
    cited = made.add_paragraph("As ")
    link = OxmlElement("w:hyperlink")
    target = "https://www.europarl.europa.eu/doceo/document/E-9-2020-004819-ASW_EN.html"
    link.set(qn("r:id"), made.part.relate_to(target, RELATIONSHIP_TYPE.HYPERLINK, is_external=True))
    inner = OxmlElement("w:r")
    text = OxmlElement("w:t")
    text.text = "said"
    inner.append(text)
    link.append(inner)
    cited._p.append(link)
    cited.add_run(" before.")
    table = made.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "one", "two"
    found = docx_text(saved(made), "a.docx")
    assert found.text == (
        "Question for written answer E-001357/2024\nto the Council\nRule 144\n\nSubject: Fees\n\nAs said before.\n\n"
        "one\n\ntwo"
    )
    [anchor] = found.anchors
    assert (found.text[anchor.start : anchor.end], anchor.target) == ("said", target)


def test_words_of_a_header_are_not_glued() -> None:
    body = f"<w:p><w:r><w:t>E-1/2022</w:t><w:cr/><w:t>to the Council</w:t><w:br/><w:t>A</w:t><w:tab/><w:t>B</w:t></w:r></w:p>{run('x')}"
    assert docx_text(document(body), "a").text == "E-1/2022\nto the Council\nA B\n\nx"


FOOTNOTES = (
    f'<w:footnotes xmlns:w="{W}" xmlns:r="{R}">'
    '<w:footnote w:type="separator" w:id="-1"><w:p><w:r><w:separator/></w:r></w:p></w:footnote>'
    f'<w:footnote w:id="7"><w:p><w:r><w:footnoteRef/></w:r>{run(" See ")}'
    f'<w:hyperlink r:id="rId1">{run("E-000001/2020")}</w:hyperlink>{run(".")}</w:p><w:p>{run("More.")}</w:p></w:footnote>'
    f'<w:footnote w:id="3"><w:p>{run("Second.")}</w:p></w:footnote></w:footnotes>'
)
NOTE_LINKS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1"'
    f' Type="{R}/hyperlink" Target="https://data.europarl.europa.eu/eli/dl/doc/E-9-2020-000001" TargetMode="External"/>'
    "</Relationships>"
)


def test_footnotes_stand_at_the_end_in_the_order_of_their_marks() -> None:
    body = (
        f'<w:p>{run("It said so")}<w:r><w:footnoteReference w:id="7"/></w:r>{run(". It acts")}'
        f'<w:r><w:footnoteReference w:id="3"/><w:t>.</w:t></w:r></w:p><w:p>{run("End.")}</w:p>'
    )
    data = document(body, footnotes_xml=FOOTNOTES, **{"_rels__footnotes_xml.rels": NOTE_LINKS})
    found = docx_text(data, "a")
    assert found.text == "It said so[1]. It acts[2].\n\nEnd.\n\n[1] See E-000001/2020. More.\n\n[2] Second."
    assert [found.text[note.start : note.end] for note in footnotes(found.text)] == [
        "[1] See E-000001/2020. More.",
        "[2] Second.",
    ]
    [cited] = citations(found.text, EUROPEAN_PARLIAMENT, anchors=found.anchors)
    assert (cited.ids, cited.source, cited.note) == (("E-9-2020-000001",), "hyperlink", True)


def test_a_footnote_that_is_missing_is_counted() -> None:
    found = docx_text(document('<w:p><w:r><w:t>So</w:t><w:footnoteReference w:id="9"/></w:r></w:p>'), "a")
    assert (found.text, found.counts) == ("So[1]\n\n[1]", {"footnotes that are missing": 1})


def field(code: str, shown: str) -> str:
    return (
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r>'
        f"<w:r><w:instrText>{code[:9]}</w:instrText></w:r><w:r><w:instrText>{code[9:]}</w:instrText></w:r>"
        f'<w:r><w:fldChar w:fldCharType="separate"/></w:r>{run(shown)}<w:r><w:fldChar w:fldCharType="end"/></w:r>'
    )


def test_links_in_field_codes_are_links() -> None:
    shown = [
        run("See "),
        field(" HYPERLINK &quot;https://a.eu/x&quot; \\o &quot;tip&quot; ", "here"),
        run(", page "),
        field(" PAGE ", "3"),
        run(" and "),
        field(" HYPERLINK \\l &quot;_ftn1&quot; ", "below"),
        f'<w:fldSimple w:instr=" HYPERLINK &quot;https://b.eu&quot; ">{run(" there")}</w:fldSimple>',
    ]
    body = f"<w:p>{''.join(shown)}</w:p>"
    found = docx_text(document(body), "a")
    assert found.text == "See here, page 3 and below there"
    assert [(found.text[one.start : one.end], one.target) for one in found.anchors] == [
        ("here", "https://a.eu/x"),
        ("there", "https://b.eu"),
    ]


def test_deleted_and_hidden_words_are_left_out_and_alternatives_read_once() -> None:
    body = (
        f"<w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:ins>{run('kept')}</w:ins>"
        "<w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r><w:r><w:rPr><w:vanish w:val='0'/></w:rPr><w:t>‑seen</w:t></w:r>"
        "<w:r><w:t>E</w:t><w:noBreakHyphen/><w:t>1</w:t></w:r></w:p>"
        '<mc:AlternateContent xmlns:mc="m"><mc:Choice><w:p><w:r><w:t>once</w:t></w:r></w:p></mc:Choice>'
        "<mc:Fallback><w:p><w:r><w:t>twice</w:t></w:r></w:p></mc:Fallback></mc:AlternateContent>"
        f"<w:p><w:pPr><w:numPr/></w:pPr>{run('Listed')}</w:p>"
    )
    found = docx_text(document(body), "a")
    assert found.text == "kept‑seenE‑1\n\nonce\n\nListed"
    assert found.counts == {"hidden stretches left out": 1, "list paragraphs without their numbers": 1}


def locked(data: bytes) -> bytes:
    """An archive whose members say that they are encrypted."""
    return data.replace(b"PK\x01\x02\x14\x03\x14\x00\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01\x00")


def lying() -> bytes:
    """An archive that declares far less than it unpacks to."""
    whole = zipped({"word/document.xml": b"<a>" + b" " * (40 << 20) + b"</a>"})
    return whole


ENTITY = f'<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/hostname">]><w:document xmlns:w="{W}"><w:body><w:p><w:r><w:t>&x;</w:t></w:r></w:p></w:body></w:document>'
LAUGHS = '<!DOCTYPE d [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><d>&b;</d>'
BAD_DOCX: list[tuple[str, Callable[[], bytes], str]] = [
    ("empty", lambda: b"", "empty file"),
    ("no archive", lambda: b"<html>gone</html>", "not a ZIP archive"),
    ("ole", lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "encrypted or of the old Word format"),
    ("truncated", lambda: docx_bytes(["x"])[:-40], "truncated or damaged"),
    ("head alone", lambda: docx_bytes(["x"])[:200], "truncated or damaged"),
    ("damaged part", lambda: docx_bytes(["Fees are set."]).replace(b"Fees are", b"Feed ore"), "truncated or damaged"),
    ("no main part", lambda: zipped({"a.txt": "x"}), "no word/document.xml"),
    ("nested", lambda: zipped({"in.docx": docx_bytes(["x"])}), "an archive within an archive"),
    ("locked", lambda: locked(zipped({"word/document.xml": "<a/>"})), "encrypted"),
    ("entity", lambda: zipped({"word/document.xml": ENTITY}), "document type declaration"),
    ("entities", lambda: zipped({"word/document.xml": LAUGHS}), "document type declaration"),
    ("utf-16 entities", lambda: zipped({"word/document.xml": LAUGHS.encode("utf-16")}), "document type declaration"),
    ("no xml", lambda: zipped({"word/document.xml": "Fees & <"}), "no well-formed XML"),
    ("deep", lambda: zipped({"word/document.xml": "<a>" * 300 + "</a>" * 300}), "nested too deeply"),
    ("members", lambda: zipped({f"{n}.xml": "" for n in range(1200)}), "too many members"),
    ("bomb in one part", lying, "unpacks to too much"),
    ("bomb in all", lambda: zipped({f"{n}.bin": bytes(40 << 20) for n in range(7)}), "unpacks to too much"),
]


@pytest.mark.parametrize(("make", "reason"), [row[1:] for row in BAD_DOCX], ids=[row[0] for row in BAD_DOCX])
def test_a_docx_that_cannot_be_read_says_which_and_why(make: Callable[[], bytes], reason: str) -> None:
    with pytest.raises(DataError, match=reason) as caught:
        docx_text(make(), "files/E-9-2022-000001_en.docx")
    assert "files/E-9-2022-000001_en.docx: " in str(caught.value)
    assert isinstance(caught.value, UnreadableError)


def test_a_size_that_is_declared_wrongly_bounds_nothing_open() -> None:
    whole = zipped({"word/document.xml": b"<a>" + b" " * 5000 + b"</a>"})
    size = (5007).to_bytes(4, "little")
    assert whole.count(size) == 2
    with pytest.raises(UnreadableError, match=r"truncated or damaged|well-formed"):
        docx_text(whole.replace(size, (20).to_bytes(4, "little")), "a")


def test_a_bomb_is_refused_before_it_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docx_module, "_LARGEST_PART", 100)
    with pytest.raises(UnreadableError, match="unpacks to too much"):
        docx_text(docx_bytes(["x"]), "a")


@given(st.binary(max_size=400), st.integers(0, 600))
def test_damage_anywhere_is_an_error_or_a_text(noise: bytes, at: int) -> None:
    whole = docx_bytes(["Fees are set.", "Why?"])
    for read, data in ((docx_text, whole), (xhtml_text, xhtml_bytes(["Fees."])), (pdf_text, pdf_bytes(["Fees."]))):
        told = "a: "
        try:
            read(data[:at] + noise + data[at + len(noise) :], "a")
        except UnreadableError as err:
            told = str(err)
        assert told.startswith("a: ")


# XHTML


def test_a_page_is_read_in_blocks() -> None:
    page = (
        '<?xml version="1.0" encoding="UTF-8"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/><script src="x"/>'
        "<style>p {}</style></head><body><!-- no --><p>Question<br/>to the\n Council</p><script>no()</script>"
        '<div><p>A&amp;B <a href="https://a.eu/x?a=1&amp;b=2">here </a>.</p><a name="x"/>loose</div>'
        "<table><tr><td>one</td><td>two</td></tr></table><ul><li>item</li></ul></body></html>"
    )
    found = xhtml_text(page.encode(), "a.xhtml")
    assert found.text == "Question\nto the Council\n\nA&B here .\n\nloose\n\none two\n\nitem"
    assert found.anchors == (Anchor(29, 33, "https://a.eu/x?a=1&b=2"),)


@pytest.mark.parametrize(
    "notes",
    [
        '<p><a href="#_ftnref1" name="_ftn1">[1]</a> See E-1/20.</p>',
        '<p><a href="#ref1">(1)</a> See E-1/20.</p>',
        '<div id="ftn1"><p><a href="#_ftnref1"><sup>1</sup></a> See\n E-1/20.</p></div>',
        '<ol><li id="fn1">See E-1/20.</li></ol>',
    ],
)
def test_footnotes_of_a_page(notes: str) -> None:
    page = f'<html><body><p>It said so<sup><a href="#_ftn1" name="_ftnref1">1</a></sup>. 10 m<sup>2</sup>.</p>{notes}</body></html>'
    assert xhtml_text(page.encode(), "a").text == "It said so[1]. 10 m2.\n\n[1] See E-1/20."


def test_a_note_that_stands_in_the_middle_is_put_at_the_end() -> None:
    page = '<html><body><p>So<a href="#fn1">1</a>.</p><div id="fn1">See <a href="https://a.eu">it</a>.</div><p>End.</p></body></html>'
    found = xhtml_text(page.encode(), "a")
    assert found.text == "So[1].\n\nEnd.\n\n[1] See it."
    assert [(found.text[one.start : one.end], one.target) for one in found.anchors] == [("it", "https://a.eu")]


@pytest.mark.parametrize(
    ("data", "text", "encoding", "counts"),
    [
        ("<p>Důl</p>".encode(), "<p>Důl</p>", "utf-8", {}),
        (b"\xef\xbb\xbf<p>\xc5\xaf</p>", "<p>ů</p>", "utf-8", {}),
        (b"\xff\xfe" + "<p>ů</p>".encode("utf-16-le"), "<p>ů</p>", "utf-16-le", {}),
        (b"\xfe\xff" + "<p>ů</p>".encode("utf-16-be"), "<p>ů</p>", "utf-16-be", {}),
        (b'<?xml version="1.0" encoding="ISO-8859-2"?>\xf9', '<?xml version="1.0" encoding="ISO-8859-2"?>ů', "iso8859-2", {}),
        (b'<meta charset="windows-1253">\xe1', '<meta charset="windows-1253">α', "cp1253", {}),
        (b'<meta http-equiv="a" content="text/html; charset=ISO-8859-1">\x80', '<meta http-equiv="a" content="text/html; charset=ISO-8859-1">€', "cp1252", {}),
        (b"<p>caf\xe9</p>", "<p>café</p>", "cp1252", {"no UTF-8, read as cp1252": 1}),
        (b"<p>caf\xe9 \xc5\xaf</p>", "<p>café ů</p>", "cp1252", {"mixed encodings, UTF-8 and cp1252": 1}),
        (b'<meta charset="latin1">\xc5\xaf', '<meta charset="latin1">ů', "utf-8", {"declared cp1252, is UTF-8": 1}),
        (b'<meta charset="klingon">x', '<meta charset="klingon">x', "utf-8", {"encoding declared that nobody knows": 1}),
        (b'<meta charset="utf-16">x', '<meta charset="utf-16">x', "utf-8", {}),
    ],
)  # fmt: skip
def test_encodings(data: bytes, text: str, encoding: str, counts: dict[str, int]) -> None:
    assert decoded(data) == (text, encoding, counts)


def test_what_was_odd_about_an_encoding_goes_with_the_text() -> None:
    assert xhtml_text(b"<body><p>caf\xe9</p></body>", "a").counts == {"no UTF-8, read as cp1252": 1}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty file"),
        (b" \n", "empty file"),
        (b"<html><body><script>x</script></body></html>", "page without text"),
        (b"PK\x03\x04rest", "another format"),
        (b"%PDF-1.4", "another format"),
        (b"no markup at all", "no XHTML"),
        (b"<div>" * 2000 + b"x", "nested too deeply"),
    ],
)
def test_a_page_that_cannot_be_read_says_why(data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableError, match=reason):
        xhtml_text(data, "files/a_en.xhtml")


# PDF


def pages_pdf(pages: list[list[str]]) -> bytes:
    """A PDF of several pages, a line a line."""
    from pypdf import PdfWriter
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer = PdfWriter()
    for lines in pages:
        page = writer.add_blank_page(595, 842)
        font = DictionaryObject(
            {
                NameObject("/Type"): NameObject("/Font"),
                NameObject("/Subtype"): NameObject("/Type1"),
                NameObject("/BaseFont"): NameObject("/Helvetica"),
                NameObject("/Encoding"): NameObject("/WinAnsiEncoding"),
            }
        )
        page[NameObject("/Resources")] = DictionaryObject(
            {NameObject("/Font"): DictionaryObject({NameObject("/F1"): font})}
        )
        stream = DecodedStreamObject()
        shown = b"".join(
            b"("
            + line.encode("cp1252").replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")
            + b") Tj T*\n"
            for line in lines
        )
        stream.set_data(b"BT /F1 9 Tf 11 TL 50 800 Td\n" + shown + b"ET")
        page[NameObject("/Contents")] = writer._add_object(stream)
    made = io.BytesIO()
    writer.write(made)
    return made.getvalue()


LONG = "The Commission is aware of the matter and follows it closely together with the"


def test_a_pdf_is_read_without_edges_and_lines_are_joined() -> None:
    data = pages_pdf(
        [
            ["EN", "E-001357/2024", "Answer given by Ms Low", "(3.1.2025)", f"{LONG} infor-", "mation of the long-", "term plan.", "RQ\\1309123EN.docx PE763.351v01-00", "1/2"],
            ["PE763.351v01-00", "1. The information of E-", "004819/2024 stands.", f"2. {LONG}", "Member States.", "PE763.351v01-00", "2/2"],
        ]
    )  # fmt: skip
    found = pdf_text(data, "a.pdf")
    assert found.text == (
        "E-001357/2024\n\nAnswer given by Ms Low\n\n(3.1.2025)\n\n"
        f"{LONG} information of the long-term plan.\n\n1. The information of E-004819/2024 stands.\n\n"
        f"2. {LONG} Member States."
    )
    assert answer_parts(found).text.startswith(LONG)


def test_a_pdf_that_needs_a_password_and_one_that_does_not() -> None:
    from pypdf import PdfReader, PdfWriter

    for password, readable in (("secret", False), ("", True)):
        writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf_bytes(["Fees are set."]))))
        writer.encrypt(password, "owner", algorithm="RC4-128")
        made = io.BytesIO()
        writer.write(made)
        if readable:
            assert pdf_text(made.getvalue(), "a").text == "Fees are set."
        else:
            with pytest.raises(UnreadableError, match="encrypted"):
                pdf_text(made.getvalue(), "a")


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: b"", "empty file"),
        (lambda: b"<html>", "not a PDF"),
        (lambda: pages_pdf([[]]), "pdf without text"),
        (lambda: pdf_bytes(["Fees."])[:300], "truncated or damaged"),
        (lambda: pdf_bytes(["Fees."])[:-10], "truncated or damaged"),
        (lambda: b"%PDF-1.7\n" + bytes(500), "truncated or damaged"),
        (lambda: pages_pdf([["x"]] * 501), "too many pages"),
    ],
)
def test_a_pdf_that_cannot_be_read_says_why(make: Callable[[], bytes], reason: str) -> None:
    with pytest.raises(UnreadableError, match=reason):
        pdf_text(make(), "files/a_en.pdf")


# Layout

NAMES = ", ".join(f"Member Number{n} (Verts/ALE)" for n in range(40))
SUBJECTS = [
    ("bg", "Относно"), ("cs", "Předmět"), ("da", "Om"), ("de", "Betrifft"), ("el", "Θέμα"), ("en", "Subject"),
    ("es", "Asunto"), ("et", "Teema"), ("fi", "Aihe"), ("fr", "Objet"), ("ga", "Ábhar"), ("hr", "Predmet"),
    ("hu", "Tárgy"), ("it", "Oggetto"), ("lt", "Tema"), ("lv", "Temats"), ("mt", "Suġġett"), ("nl", "Betreft"),
    ("pl", "Przedmiot"), ("pt", "Assunto"), ("ro", "Subiect"), ("sk", "Vec"), ("sl", "Zadeva"), ("sv", "Angående"),
]  # fmt: skip


@pytest.mark.parametrize(("lang", "label"), SUBJECTS)
def test_the_cut_is_behind_the_subject_line_in_every_language(lang: str, label: str) -> None:
    text = f"E-000001/2022/rev.1\nRule 138\n{NAMES}\n\n{label}\u00a0: Fees: a title\n\nWhy?\n\nLabel: 22.2.2023"
    parts = question_parts(Extracted(text))
    assert (parts.subject, parts.text, parts.how) == ("Fees: a title", "Why?", "subject line")
    assert parts.header == f"E-000001/2022/rev.1\nRule 138\n{NAMES}"
    assert parts.cut == ("day of submission",)


def test_a_note_on_the_subject_stays_with_the_body() -> None:
    parts = question_parts(Extracted("Subject: Fees [1]\n\nWhy?\n\n[1] See E-1/20."), title="Fees")
    assert (parts.subject, parts.text) == ("Fees", "Why?\n\n[1] See E-1/20.")


def test_a_label_that_nobody_knows_is_told_by_the_title() -> None:
    parts = question_parts(Extracted("E-1/2022\n\nWovon: Fees for  all\n\nWhy?"), title="Fees for all")
    assert (parts.text, parts.how, parts.header) == ("Why?", "title of the portal", "E-1/2022")


def test_a_subject_over_two_lines_is_told_by_the_title() -> None:
    for text in ("Subject: Fees for\n\nall and sundry\n\nWhy?", "Subject:\n\nFees for all and sundry\nWhy?"):
        parts = question_parts(Extracted(text), title="Fees for all and sundry")
        assert (parts.subject, parts.text) == ("Fees for all and sundry", "Why?")


@pytest.mark.parametrize(
    ("text", "body", "cut"),
    [
        ("Why?\n\nSupporter: A. Low (PPE)\n\nPE681.203v01-00", "Why?", ("footer", "supporters")),
        ("Why?\n\nSupporters[1]\n\n[1] This question is supported by Members other than the authors: A. Low (S&D)", "Why?", ("supporters", "supporters")),
        ("Why?[1]\n\nPodpora[2]\n\n[1] See E-1/20.\n\n[2] Otázku podporují: A. Low (NI)", "Why?[1]\n\n[1] See E-1/20.", ("supporters", "supporters")),
        ("Why?\n\n[1] This question is supported by a Member other than the authors: A. Low (S&D)", "Why?", ("supporters",)),
        ("Why?[1]\n\n[1] See E-1/20.\n\nPředložení: 22.2.2023", "Why?[1]\n\n[1] See E-1/20.", ("day of submission",)),
        ("Why?[1]\n\nSubmitted: 3.1.2022\n\n[1] See E-1/20.", "Why?[1]\n\n[1] See E-1/20.", ("day of submission",)),
        ("Why?\n\nPodporovatelé\n\nA. Low (PPE), B. High (Verts/ALE)\nC. Mid (The Left)", "Why?", ("supporters",)),
        ("Why?\n\nWho acts?\n\nA. Low (PPE), B. High (S&D)", "Why?\n\nWho acts?\n\nA. Low (PPE), B. High (S&D)", ()),
        ("The deadline was:\n\nDeadline: 31.12.2024\n\nWhy?", "The deadline was:\n\nDeadline: 31.12.2024\n\nWhy?", ()),
        ("Why?\n\nIs it supported by Members? Thank you.", "Why?\n\nIs it supported by Members? Thank you.", ()),
    ],
)  # fmt: skip
def test_what_stands_behind_the_body_is_cut(text: str, body: str, cut: tuple[str, ...]) -> None:
    parts = question_parts(Extracted(f"Subject: Fees\n\n{text}"))
    assert (parts.text, tuple(sorted(parts.cut))) == (body, cut)


@pytest.mark.parametrize(
    ("header", "how"),
    [
        ("EN\nE-001357/2024\nAnswer given by Mr Low\non behalf of the European Commission\n(2.12.2024)", "header of a reply"),
        ("EN\n\nE-001357/2024\n\nAnswer given by High Representative/Vice-President Low\n\non behalf of the Commission", "header of a reply"),
        ("E-000082/22\n" * 14 + "Joint answer given by Ms Low\non behalf of the Commission\n(25 February 2022)", "header of a reply"),
        ("EN\nE-000082/2022, E-000095/2022 and E-000185/2022\nAnswer given by Ms Low\n(25.2.2022)", "header of a reply"),
        ("EN\nE-1/2022\nReply\n(8 June 2022)", "header of a reply"),
        ("Antwort\n\n(8. Juni 2022)", "header of a reply"),
        ("Respuesta\n\n(8 de junio de 2022)", "header of a reply"),
        ("Réponse\n\n(1er juin 2022)", "header of a reply"),
        ("Απάντηση\n\n(8 Ιουνίου 2022)", "header of a reply"),
        ("EN\nE-1/2022\nQuestion reference: E-000001/2022", "lines of language and ids"),
    ],
)  # fmt: skip
def test_headers_of_answers(header: str, how: str) -> None:
    body = "The Council acts on behalf of the Union.\n\nReply will follow on behalf of the Union"
    parts = answer_parts(Extracted(f"{header}\n\n{body}"))
    assert (parts.header, parts.text, parts.how) == (header.strip(), body, how)


def test_an_answer_without_a_header_is_its_body_and_says_so() -> None:
    text = "The Commission replies on behalf of the Union.\n\nNo."
    assert answer_parts(Extracted(text)).how == "no header"
    assert answer_parts(Extracted(text)).text == text


def test_nothing_below_a_header_is_told() -> None:
    for parts in (
        question_parts(Extracted("to the Council\n\nSubject: Fees\n\n")),
        answer_parts(Extracted("EN\nE-1/2022\nReply\n(8.6.2022)")),
        answer_parts(Extracted("")),
    ):
        assert (parts.text, parts.how) == ("", "nothing below the header")


def test_links_move_with_the_body() -> None:
    text = "Subject: Fees\n\nSee here and there.\n\nSubmitted: 3.1.2022"
    anchors = (Anchor(0, 7, "https://a.eu"), Anchor(19, 23, "https://b.eu"), Anchor(28, 33, "https://c.eu"))
    parts = question_parts(Extracted(text, anchors))
    assert [(parts.text[one.start : one.end], one.target) for one in parts.anchors] == [
        ("here", "https://b.eu"),
        ("there", "https://c.eu"),
    ]


@given(
    st.lists(st.sampled_from([" a", "b ", "\n", "c d", "  ", "\t"]), max_size=12),
    st.integers(0, 11),
    st.integers(0, 11),
)
def test_a_link_spans_what_was_written_in_it(words: list[str], begin: int, end: int) -> None:
    writer = TextWriter()
    inside = ""
    for place, word in enumerate(words):
        if place == begin:
            writer.link("https://a.eu")
        writer.words(word)
        inside += word if place >= begin and (end <= begin or place < end) else ""
        if place + 1 == end > begin:
            writer.unlink()
    found = writer.written()
    assert "  " not in found.text
    assert found.text == found.text.strip()
    if begin < len(words) and inside.strip():
        [anchor] = found.anchors
        assert found.text[anchor.start : anchor.end].split() == inside.split()
    else:
        assert not found.anchors


def test_formats_say_the_same() -> None:
    paragraphs = ["Question for written answer E-1/2022", "Subject: Fees", "Why is it so?", "Submitted: 3.1.2022"]
    texts = {
        question_parts(read(data, "a")).text
        for read, data in (
            (docx_text, docx_bytes(paragraphs)),
            (xhtml_text, xhtml_bytes(paragraphs)),
            (pdf_text, pdf_bytes(paragraphs)),
        )
    }
    assert texts == {"Why is it so?"}
    assert date(2022, 1, 3).isoformat() not in texts
