"""Citations of real British questions drawn as a sheet, and scored."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

from assay.building.edge_sheet import COLUMNS, read_sample, read_verdicts, write_sample
from assay.evaluation.proportions import wilson
from assay.evaluation.verdicts import precision_of
from assay.formats.sheet import read_sheet
from assay.sources import open_collection

UK = "uk_written_questions/session_2023-24"


def test_a_sheet_of_the_british_session(shared_data: Path, tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.tsv"
    sample, edges = write_sample(open_collection(shared_data / UK), shared_data / UK, sheet, n=100, seed=1)
    assert len(edges.edges) == sum(sample.sizes.values()) == 136
    by_source = Counter[str]()
    for stratum, size in sample.sizes.items():
        by_source[stratum.source] += size
        assert min(3, size) <= sample.taken[stratum] <= size
    assert by_source == {"question_text": 72, "text": 61, "hyperlink": 3}
    # 59 judgements of cite and 57 of followup; a pair that two texts name counts twice.
    by_task = Counter(name for edge in edges.edges for name in edge.stratum.tasks.split("+"))
    assert by_task == {"cite": 61, "followup": 58, "precedent": 5, "none": 19}
    assert edges.counts["edges without a sentence"] == 3
    assert len(read_sheet(sheet, needs=COLUMNS).rows) == 100


def test_all_of_them_judged(shared_data: Path, tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    sample, _ = write_sample(open_collection(shared_data / UK), shared_data / UK, sheet, n=500, seed=1)
    read = read_sheet(sheet, needs=COLUMNS)
    with open(sheet, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, delimiter=";")
        writer.writerow(COLUMNS)
        # A rule in the place of a person: a referral has to name a number in its sentence.
        for row in read.rows:
            named = any(c.isdigit() for c in row[COLUMNS.index("sentence")])
            writer.writerow([*row[:8], "yes" if named else "no", ""])
    found = precision_of(
        read_verdicts(sheet, read_sample(sheet)), sample.rows, sizes=sample.sizes, parts=("tasks",) * 4
    )
    # Where all are judged, the weighted share is the plain one.
    assert found.overall.value == pytest.approx(found.drawn.value)
    assert (found.drawn.low, found.drawn.high) == wilson(found.yes, 136)
    assert found.no == 3
