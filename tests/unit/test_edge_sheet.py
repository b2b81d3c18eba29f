"""Citations drawn as a sheet, and the sheet read back whatever a spreadsheet made of it."""

from __future__ import annotations

import csv
import io
import json
import random
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.__main__ import main
from assay.building.edge_sheet import COLUMNS, Sample, read_sample, read_verdicts, sidecar_of, write_sample
from assay.building.meta_edges import Stratum, meta_edges
from assay.building.sampling import allocated, drawn
from assay.errors import FileError, FormatError, UsageError
from assay.formats import jsonl
from assay.formats.sheet import folded_cell, guarded, read_sheet, unguarded, write_sheet
from assay.sources import folder_of, open_collection

# ---------------------------------------------------------------- drawing


@given(st.lists(st.integers(1, 500), min_size=1, max_size=12), st.integers(0, 600), st.integers(1, 5))
def test_what_is_allocated_is_in_proportion_and_within_its_bounds(sizes: list[int], more: int, minimum: int) -> None:
    n = len(sizes) + more
    found = allocated(sizes, n, minimum=minimum)
    assert found.sum() == min(n, sum(sizes))
    least = min(minimum, min(n, sum(sizes)) // len(sizes))
    assert all(min(size, least) <= count <= size for size, count in zip(sizes, found.tolist()))
    # Above the minimum, a larger stratum never gets less, and all get the same share but for rounding.
    above = [(size, count) for size, count in zip(sizes, found.tolist()) if count > least + 1]
    assert all(b - a >= -1 for (s, a), (t, b) in pairwise(above) if s <= t)
    shares = [((count - 1) / size, (count + 1) / size) for size, count in above]
    assert not shares or max(low for low, _ in shares) <= min(high for _, high in shares)


def test_allocation_by_hand() -> None:
    assert allocated([50, 30, 20], 10, minimum=1).tolist() == [5, 3, 2]
    assert allocated([1000, 1, 2], 10, minimum=3).tolist() == [7, 1, 2]
    assert allocated([5, 5, 5], 100).tolist() == [5, 5, 5]
    assert allocated([10, 10, 10], 4, minimum=3).tolist() == [2, 1, 1]
    assert allocated([], 5).tolist() == []
    with pytest.raises(UsageError, match="at least 3 in all"):
        allocated([4, 4, 4], 2)
    with pytest.raises(UsageError, match="minimum of 1"):
        allocated([4, 4, 4], 20, minimum=0)


@given(
    st.lists(st.tuples(st.text(max_size=5), st.integers(0, 2)), unique_by=lambda one: one[0], max_size=40), st.randoms()
)
def test_a_draw_does_not_depend_on_the_order(rows: list[tuple[str, int]], order: random.Random) -> None:
    def draw(rows: list[tuple[str, int]], share: float) -> list[str]:
        strata = np.asarray([stratum for _, stratum in rows], np.int64)
        counts = (np.bincount(strata, minlength=3) * share).astype(np.int64)
        keys = [key for key, _ in rows]
        found = [keys[row] for row in drawn(keys, strata, counts=counts, seed=4).tolist()]
        assert Counter(dict(rows)[key] for key in found) == Counter(dict(enumerate(counts.tolist())))
        return found

    shuffled = order.sample(rows, len(rows))
    assert draw(shuffled, 0.5) == draw(rows, 0.5)
    assert set(draw(rows, 0.5)) <= set(draw(rows, 0.8))


def test_every_row_is_drawn_equally_often() -> None:
    keys, strata = list("abcdef"), np.zeros(6, np.int64)
    times = Counter(
        keys[row] for seed in range(3000) for row in drawn(keys, strata, counts=np.array([2]), seed=seed).tolist()
    )
    # Each about 1000 times, with a standard deviation of 26.
    assert min(times.values()) > 880
    assert max(times.values()) < 1120


# ---------------------------------------------------------------- sheets

CELLS = st.text(max_size=40) | st.sampled_from(
    ["=1+1", "'=x", "''", "-5", "@a", "a\tb", 'say "no"', "a;b,c", "\r\n", "\u2028", "＝1"]
)


@pytest.mark.parametrize("suffix", [".tsv", ".csv"])
@given(rows=st.lists(st.tuples(CELLS, CELLS), max_size=6))
def test_any_text_comes_back_on_one_line(
    suffix: str, rows: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.mktemp("sheet") / f"s{suffix}"
    write_sheet(["key", "verdict"], rows, place)
    found = read_sheet(place, needs=["verdict", "key"])
    folded = [(folded_cell(a), folded_cell(b)) for a, b in rows]
    assert list(found.rows) == [row for row in folded if any(cell.strip() for cell in row)]
    assert not any(cell[:1] in ("=", "+", "-", "@") for row in csv.reader(io.StringIO(place.read_text("utf-8-sig"), newline=""), delimiter="\t" if suffix == ".tsv" else ",") for cell in row)  # fmt: skip


@given(st.text())
def test_guards_are_taken_off_again(text: str) -> None:
    assert unguarded(guarded(text)) == text


def test_a_sheet_has_a_mark_and_the_line_ends_of_spreadsheets(tmp_path: Path) -> None:
    place = tmp_path / "s.tsv"
    write_sheet(["key", "verdict"], [["é", "a\nb"]], place)
    assert place.read_bytes() == b"\xef\xbb\xbfkey\tverdict\r\n\xc3\xa9\ta b\r\n"
    with pytest.raises(UsageError, match=r"\.tsv or \.csv"):
        write_sheet(["key"], [], tmp_path / "s.xlsx")


SAVED: dict[str, Callable[[str], bytes]] = {
    "as it was": lambda text: text.encode(),
    "with a mark": lambda text: text.encode("utf-8-sig"),
    "line ends": lambda text: text.replace("\n", "\r\n").encode(),
    "UTF-16": lambda text: text.encode("utf-16"),
    "semicolons": lambda text: text.replace("\t", ";").encode(),
    "commas": lambda text: text.replace("\t", ",").encode(),
    "sep": lambda text: b"sep=;\r\n" + text.replace("\t", ";").encode(),
    "quoted": lambda text: "\n".join(
        "\t".join(f'"{c}"' for c in line.split("\t")) for line in text.split("\n")[:-1]
    ).encode(),
    "blank rows": lambda text: (text + "\t\t\n\t\t\n").encode(),
    "no last line end": lambda text: text.rstrip("\n").encode(),
}


@pytest.mark.parametrize("saved", SAVED)
def test_a_sheet_is_read_whatever_a_spreadsheet_made_of_it(saved: str, tmp_path: Path) -> None:
    place = tmp_path / "s.csv"
    place.write_bytes(SAVED[saved]("key\tnote\tverdict\na\t\tYes\nb > c #1\t'=é\tno\n"))
    found = read_sheet(place, needs=["key", "verdict"])
    assert found.rows == (("a", "", "Yes"), ("b > c #1", "=é", "no"))
    assert found.where(1, "verdict") == f"s.csv:{4 if saved == 'sep' else 3} verdict"


def test_cells_over_several_lines_keep_the_lines_of_the_file(tmp_path: Path) -> None:
    place = tmp_path / "s.csv"
    place.write_bytes(b'key,note,verdict\n1,"a\n\nb",yes\n\n2,,no\n')
    found = read_sheet(place, needs=["key", "verdict"])
    assert found.lines == (2, 6)
    with pytest.raises(FormatError, match=r"s\.csv:1: no column 'other' among key, note, verdict"):
        found.column("other")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "s.csv:1: no columns key, verdict under any separator"),
        (b"key|verdict\n", r"first line is 'key\|verdict'"),
        (b"PK\x03\x04....", "is a workbook; save it as text"),
        (b"\xd0\xcf\x11\xe0....", "is a workbook"),
        (b"key,verdict\n\xe9,yes\n", "s.csv:2: byte 0xE9 is not UTF-8; save the sheet as CSV UTF-8"),
        (b"key,verdict\na,yes,more\n", "s.csv:2: 3 cells under 2 headings"),
        (b'key,verdict\na,yes\nb,"no\n', "s.csv:3: .*a double quote is open"),
    ],
)
def test_what_is_no_sheet_is_refused(content: bytes, says: str, tmp_path: Path) -> None:
    place = tmp_path / "s.csv"
    place.write_bytes(content)
    with pytest.raises(FormatError, match=says):
        read_sheet(place, needs=["key", "verdict"])


# ---------------------------------------------------------------- edges


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with folder_of(open_collection("demo:questions")) as place:
        shutil.copytree(place, tmp_path / "questions")
    return tmp_path / "questions"


def rows_of(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "precedent_meta.jsonl").read_text("utf-8").splitlines()]


def test_the_draw_does_not_depend_on_the_order_of_the_file(folder: Path) -> None:
    sheets = []
    for name, order in (("a", 1), ("b", -1)):
        jsonl.write_rows(rows_of(folder)[::order], folder / "precedent_meta.jsonl")
        write_sample(open_collection(folder), folder, folder / f"{name}.tsv", n=40, seed=3)
        sheets.append((folder / f"{name}.tsv").read_bytes())
    assert sheets[0] == sheets[1]
    records = [json.loads(sidecar_of(folder / f"{name}.tsv").read_text()) for name in "ab"]
    # The digest is that of the files, whose order did change.
    assert records[0].pop("digest") != records[1].pop("digest")
    assert records[0] == records[1]


def test_newer_and_older_tables_tell_the_same_edges(folder: Path) -> None:
    old = meta_edges(open_collection(folder), folder)
    tasks = {(edge.query_id, edge.doc_id): edge.stratum.tasks for edge in old.edges}
    new = []
    for row in rows_of(folder):
        found = tasks[str(row["query_id"]), str(row["doc_id"])]
        names = [] if found == "none" else [*found.split("+"), "citehc"]
        kept = {name: row[name] for name in ("query_id", "doc_id", "source", "referral")}
        citing = f"{row['query_id']}-R"
        new.append(
            {**kept, "citing_id": citing, "form": "slash", "phrase": "see", "sentence": row["context"], "tasks": names}
        )
    jsonl.write_rows(new, folder / "precedent_meta.jsonl")
    found_new = meta_edges(open_collection(folder), folder)
    assert found_new.strata == old.strata
    assert {edge.phrase for edge in found_new.edges} == {"see"}
    assert sorted(e.sentence for e in found_new.edges) == sorted(e.sentence for e in old.edges)


def test_equal_rows_have_names_of_their_own_and_gaps_are_counted(folder: Path) -> None:
    row = {"query_id": "nobody", "doc_id": "nothing"}
    jsonl.write_rows([row, row, {**row, "sentence": "s"}], folder / "precedent_meta.jsonl")
    found = meta_edges(open_collection(folder), folder)
    assert [edge.key.endswith("(2)") for edge in found.edges].count(True) == 1
    assert len({edge.key for edge in found.edges}) == 3
    assert found.strata == {Stratum("none", "none", "none", "none"): 3}
    assert found.counts == {
        "edges": 3,
        "edges whose question is unknown": 3,
        "edges whose reply is unknown": 3,
        "edges without a sentence": 2,
    }
    write_sample(open_collection(folder), folder, folder / "s.tsv", n=3, seed=1)
    assert read_sheet(folder / "s.tsv", needs=["key"]).column("cited text") == [""] * 3


def test_a_collection_without_edges_is_refused(folder: Path) -> None:
    opened = open_collection(folder)
    (folder / "precedent_meta.jsonl").write_text('{"query_id": "", "doc_id": "d"}\n')
    with pytest.raises(FormatError, match=r"precedent_meta\.jsonl:1 \$\.query_id: empty \(1 such rows\)"):
        meta_edges(opened, folder)
    (folder / "precedent_meta.jsonl").write_text("")
    with pytest.raises(UsageError, match="no rows"):
        meta_edges(opened, folder)
    (folder / "precedent_meta.jsonl").unlink()
    with pytest.raises(UsageError, match="has no table precedent_meta"):
        meta_edges(opened, folder)


# ---------------------------------------------------------------- verdicts


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    collection = open_collection("demo:questions")
    with folder_of(collection) as place:
        made, _ = write_sample(collection, place, tmp_path / "sheet.tsv", n=30, seed=1)
    return made


def judged(path: Path, change: Callable[[list[list[str]]], list[list[str]]]) -> Path:
    """The sheet with its rows changed, saved as semicolons."""
    sheet = read_sheet(path, needs=COLUMNS)
    rows = change([list(row) for row in sheet.rows])
    out = path.with_name("judged.csv")
    with open(out, "w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, delimiter=";").writerows([sheet.columns, *rows])
    return out


def test_what_was_drawn_is_read_again(sample: Sample, tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.tsv"
    assert read_sample(sheet) == sample
    assert sum(sample.taken.values()) == len(sample.rows) == 30
    assert read_verdicts(sheet, sample) == dict.fromkeys(sample.rows, "")
    assert read_sheet(sheet, needs=COLUMNS).columns == COLUMNS
    words = ["YES", " no ", "Unsure"]
    found = read_verdicts(
        judged(sheet, lambda rows: [[*row[:8], words[n % 3], "=note"] for n, row in enumerate(rows)][::-1]), sample
    )
    assert list(found) == list(sample.rows)
    assert list(found.values()) == ["yes", "no", "unsure"] * 10


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda rows: rows[:-2], "judged.csv: 2 of 30 rows are missing, the first is 'QW"),
        (lambda rows: [*rows, rows[0]], r"judged.csv:32 key: 'QW.*' stands at line 2 already \(1 repeated rows\)"),
        (lambda rows: [[r[0], "x > y #1", *r[2:]] for r in rows], r"judged.csv:2 key: 'x > y #1' was not drawn \(30 such"),
        (lambda rows: [[*r[:8], "maybe", ""] for r in rows], r"judged.csv:2 verdict: 'maybe' is no verdict \(30 such"),
    ],
)  # fmt: skip
def test_a_sheet_that_is_not_the_one_drawn_is_refused(
    change: Callable[[list[list[str]]], list[list[str]]], says: str, sample: Sample, tmp_path: Path
) -> None:
    with pytest.raises(FormatError, match=says):
        read_verdicts(judged(tmp_path / "sheet.tsv", change), sample)


def test_verdicts_are_not_written_over(sample: Sample, tmp_path: Path) -> None:
    collection = open_collection("demo:questions")
    with folder_of(collection) as place:
        for name in ("sheet.tsv", "sheet.csv"):
            with pytest.raises(UsageError, match="is there already, perhaps with verdicts"):
                write_sample(collection, place, tmp_path / name, n=30, seed=1)
        with pytest.raises(UsageError, match="strata"):
            write_sample(collection, place, tmp_path / "few.tsv", n=3, seed=1)
        with pytest.raises(FileError, match="does not exist"):
            write_sample(collection, place, tmp_path / "none" / "few.tsv", n=30, seed=1)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["sheet.sample.json", "sheet.tsv"]


@pytest.mark.parametrize(
    "broken", ["{}", '{"sample": "other"}', "[1]", "", '{"sample": "citation edges", "strata": [1], "rows": []}']
)
def test_a_record_that_was_changed_is_refused(broken: str, sample: Sample, tmp_path: Path) -> None:
    sidecar_of(tmp_path / "sheet.tsv").write_text(broken)
    with pytest.raises(FormatError, match=r"sheet\.sample\.json"):
        read_sample(tmp_path / "sheet.tsv")
    sidecar_of(tmp_path / "sheet.tsv").unlink()
    with pytest.raises(FileError, match=r"no sheet\.sample\.json beside"):
        read_sample(tmp_path / "sheet.tsv")


def test_a_long_sentence_is_cut_where_it_can_be_seen(folder: Path) -> None:
    [first, *_] = rows_of(folder)
    jsonl.write_rows([{**first, "context": "word " * 1000}], folder / "precedent_meta.jsonl")
    opened = replace(open_collection(folder), name="long")
    write_sample(opened, folder, folder / "s.csv", n=1, seed=1)
    [sentence] = read_sheet(folder / "s.csv", needs=COLUMNS).column("sentence")
    assert sentence.endswith("…")
    assert len(sentence) <= 2001


# ---------------------------------------------------------------- the command line


def command(
    *words: object, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> tuple[int, str, str]:
    monkeypatch.setattr("sys.argv", ["assay", "sample", *map(str, words)])
    with pytest.raises(SystemExit) as end:
        main()
    printed = capsys.readouterr()
    return int(end.value.code or 0), printed.out, printed.err


def test_two_judges_on_the_command_line(
    sample: Sample, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sheet = tmp_path / "sheet.tsv"
    other = judged(sheet, lambda rows: [[*r[:8], "no" if n == 0 else "yes", ""] for n, r in enumerate(rows)])
    code, out, err = command("score", sheet, other, "--json", capsys=capsys, monkeypatch=monkeypatch)
    assert (code, err) == (0, "")
    found = json.loads(out)
    first, second = found["judges"]
    assert (first["precision"], first["unjudged"], first["unseen"]) == (None, 30, found["edges"])
    assert (second["yes"], second["decided"], second["unjudged"]) == (29, 30, 0)
    [drawn_from] = [size for stratum, size in sample.sizes.items() if stratum == next(iter(sample.rows.values()))]
    [row] = [one for one in second["strata"] if one["yes"] != one["decided"]]
    assert row["edges"] == drawn_from
    assert second["precision"] == pytest.approx(1 - drawn_from / found["edges"] / row["decided"])
    assert found["agreement"] | {"table": []} == {
        "n": 0, "undecided": 30, "observed": None, "expected": None, "kappa": None, "error": None, "low": None,
        "high": None, "prevalence_first": None, "prevalence_second": None, "table": [],
        "note": "too few to conclude: 0 judged by both",
    }  # fmt: skip
    code, out, err = command("score", other, capsys=capsys, monkeypatch=monkeypatch)
    assert (code, out) == (3, "")
    assert err.startswith("error: there is no judged.sample.json beside")
    shutil.copy(sidecar_of(sheet), sidecar_of(other))
    code, out, _ = command("score", other, other, capsys=capsys, monkeypatch=monkeypatch)
    assert code == 0
    assert "29 yes, 1 no, 0 unsure, 0 without a verdict" in out
    assert "the judges agree throughout" in out
