"""The tables of docs/citations-and-masking.md: every row is run, and every form that is planted has one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

import pytest

from assay.building.citations import citations
from assay.building.house import House, Parts, printed_forms
from assay.building.houses import EUROPEAN_PARLIAMENT, UK_PARLIAMENT
from assay.building.identifiers import identifiers
from assay.building.masking import masked
from conftest import ROOT

PAGE = (ROOT / "docs" / "citations-and-masking.md").read_text("utf-8")
HOUSES = {"EP": EUROPEAN_PARLIAMENT, "UK": UK_PARLIAMENT}
DAYS = {"EP": None, "UK": date(2024, 1, 10)}


def table(section: str, heading: str) -> list[list[str]]:
    """The cells of the table with a heading in a section, code marks and notations of characters undone."""
    body = re.search(rf"^### {re.escape(section)}$(.*?)(?=^##|\Z)", PAGE, re.M | re.S)
    assert body, section
    rows = re.search(rf"^\| {re.escape(heading)} \|\n\|[-|]+\|\n((?:\|.*\|\n)+)", body[1], re.M)
    assert rows, heading
    return [[plain(cell) for cell in line.strip("|").split("|")] for line in rows[1].splitlines()]


def plain(cell: str) -> str:
    cell = re.sub(r"⟨U\+([0-9A-F]{4})⟩", lambda found: chr(int(found[1], 16)), cell.strip(" "))
    return cell[1:-1] if re.fullmatch(r"`[^`]*`", cell) else cell


def named(text: str, house: str) -> list[str]:
    return [one.ids[0] for one in identifiers(text, HOUSES[house], day=DAYS[house])]


def printed(house: House, parts: Parts) -> Iterator[tuple[str, str]]:
    yield from printed_forms(house, parts).items()


@pytest.mark.parametrize(
    ("name", "section", "parts", "id_"),
    [
        ("EP", "Printed forms of the European Parliament", Parts(4819, 2020, "E", "9"), "E-9-2020-004819"),
        (
            "UK",
            "Printed forms of the UK Parliament",
            Parts(7292, 2023, day=date(2023, 12, 18)),
            "2023-24/7292",
        ),
    ],
)
def test_every_planted_form_has_a_row_and_reads_as_the_page_says(
    name: str, section: str, parts: Parts, id_: str
) -> None:
    rows = table(section, "form | as in")
    assert [tuple(row) for row in rows] == list(printed(HOUSES[name], parts))
    for _, text in rows:
        assert named(text, name) == [id_], text
        assert masked(f"see {text}", HOUSES[name]).text.startswith("see "), text
        assert not re.search(r"4819|7292|7,292", masked(f"see {text}", HOUSES[name]).text), text


@pytest.mark.parametrize(
    ("name", "section"),
    [("EP", "Printed forms of the European Parliament"), ("UK", "Printed forms of the UK Parliament")],
)
def test_further_forms_read_as_the_page_says(name: str, section: str) -> None:
    for _, text, id_ in table(section, "form | as in | reads as"):
        assert named(text, name)[0] == id_, text


def test_lists_hold_the_ids_of_the_page() -> None:
    rows = table("Lists", "house | list | ids")
    assert len(rows) > 8
    for house, text, ids in rows:
        assert named(text, house) == re.findall(r"[\w/-]+", ids), text


def test_what_the_page_says_is_passed_over_is() -> None:
    rows = table("What is passed over", "house | text | why")
    assert len(rows) > 10
    for house, text, _ in rows:
        assert named(text, house) == [], text
        assert named(f"As said, {text}.", house) == [], text


@pytest.mark.parametrize("row", table("Referral or mention", "sentence | referral | phrase"), ids=lambda row: row[0])
def test_phrases_decide_as_the_page_says(row: list[str]) -> None:
    sentence, referral, phrase = row
    for house, id_ in (("EP", "E-000001/2020"), ("UK", "Question 7292")):
        text = f"Fees were raised. {sentence.replace('ID', id_)} It ends."
        [found] = citations(text, HOUSES[house], day=DAYS[house])
        assert ("yes" if found.referral else "no", found.phrase) == (referral, phrase)
        assert text[slice(*found.sentence)] == sentence.replace("ID", id_)


def test_kinds_of_masked_text_are_all_told() -> None:
    section = PAGE.partition("\n## Masking\n")[2].partition("\n## ")[0]
    told = set(re.findall(r"^\| `([^`]+)` \|", section, re.M))
    assert told == {"ids", "urls", "links", *(own.kind for own in EUROPEAN_PARLIAMENT.own_text)}
