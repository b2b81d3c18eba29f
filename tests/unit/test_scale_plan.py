"""The plan of docs/scale.md: what stands there is what its rates multiply to."""

from __future__ import annotations

import importlib
import re
from dataclasses import asdict, replace
from types import ModuleType
from typing import Any

import pytest

from conftest import ROOT

PASSAGES, QUERIES = 138_364_198, 8_184


@pytest.fixture
def plan(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("scale_plan")


def rates(plan: ModuleType) -> Any:
    """One core-hour for each of two passes, three and five for dense; a driver of 1,200 s; ten bytes a passage."""
    hour = 3600 / PASSAGES
    return plan.Rates(
        counts=hour * 1e6,
        lists=hour * 1e6,
        driver=1062 / PASSAGES * 1e6,
        merge=1.0,
        taken=10.0,
        counted=20.0,
        listed=12.0,
        encoded=3 * hour * 1e3,
        searched=5 * hour * 1e9 / QUERIES,
    )


def test_needs_are_rates_multiplied(plan: ModuleType) -> None:
    bm25, dense = plan.needs_of(rates(plan))
    assert (bm25.work, dense.work) == (pytest.approx(2), pytest.approx(8))
    # 1,062 s, and 138 shards of which each takes a second.
    assert bm25.driver == dense.driver == pytest.approx(1200)
    assert (bm25.inputs, bm25.made, dense.made) == (10 * PASSAGES, 20 * PASSAGES, 4 * 384 * PASSAGES)
    assert bm25.lists == 12 * 8184 * 100 * 138
    # 20 minutes and an eighth of an hour; 16 cores for so long, and 2 core-hours elsewhere, at 0.05.
    assert bm25.time(16) == pytest.approx(1200 + 450)
    assert bm25.cost(16, elsewhere=False) == pytest.approx(0.05 * 16 * 1650 / 3600)
    assert bm25.cost(16, elsewhere=True) == pytest.approx(0.05 * (16 * 1650 / 3600 + 2))


def test_tables_say_what_comes_out(plan: ModuleType) -> None:
    lines = plan.tables(rates(plan))
    assert (
        "| work of workers | 1.00 + 1.00 core-hours | 3 core-hours of encoding (or GPUs, see below), 5.0 of search |"
        in lines
    )
    assert "| work of the driver | 20 minutes | 20 minutes |" in lines
    assert "| `local(workers=16)`, the driver's machine | 28 minutes | 0.37 | 50 minutes | 0.67 |" in lines
    more = plan.tables(replace(rates(plan), encoded=3200 * 3600 / PASSAGES * 1e3))
    assert "8.4 days" in "".join(more)


def test_the_page_holds_the_tables_of_its_rates(plan: ModuleType) -> None:
    page = (ROOT / "docs" / "scale.md").read_text("utf-8")
    values = {}
    for name, told in plan.Rates.__dataclass_fields__.items():
        of, unit = (re.escape(told.metadata[key]) for key in ("of", "unit"))
        [values[name]] = map(float, re.findall(rf"^\| {of} \| (\S+) {unit} \|$", page, re.M))
    assert plan.Rates(**values).rounded() == plan.Rates(**values)
    assert "\n".join(plan.tables(plan.Rates(**values))) in page
    assert set(asdict(plan.Rates(**values))) == set(values)
