"""Assay builds, checks, runs, judges and publishes retrieval test collections.

What is where: the nouns are modules of the same name (`passage`, `query`, `qrels`, `run`, `task`, …), the
stages are packages (`sources`, `retrieval`, `measures`, `evaluation`, `audits`, `reports`, `cli`). The names below
are public; each is loaded when first used.

Example:
    >>> import assay
    >>> collection = assay.open("demo:chunks")
    >>> task = collection.task("passages")
    >>> run = assay.retrieve(task, "bm25('english')")
    >>> scores = assay.evaluate(run, task.qrels, ["RR@10"])
    >>> 0 < scores[0].mean < 1
    True
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "AssayError": "assay.errors",
    "Collection": "assay.collection",
    "DataError": "assay.errors",
    "Eligibility": "assay.eligibility",
    "Finding": "assay.audit",
    "Fragments": "assay.fragment",
    "Ids": "assay.ids",
    "Interval": "assay.scores",
    "Judged": "assay.judged",
    "Measure": "assay.measure",
    "Passages": "assay.passage",
    "Qrels": "assay.qrels",
    "Queries": "assay.query",
    "Result": "assay.experiment",
    "Run": "assay.run",
    "Scores": "assay.scores",
    "Span": "assay.span",
    "Spans": "assay.span",
    "System": "assay.system",
    "Task": "assay.task",
    "Texts": "assay.texts",
    "UnavailableError": "assay.errors",
    "UsageError": "assay.errors",
    "compare_family": "assay.evaluation",
    "evaluate": "assay.evaluation",
    "judge": "assay.evaluation",
    "lint_run": "assay.formats.trec",
    "mean_interval": "assay.evaluation",
    "only_eligible": "assay.evaluation",
    "read_experiment": "assay.experiment_file",
    "read_qrels": "assay.formats.runs",
    "read_run": "assay.formats.runs",
    "reproduce": "assay.reproduction",
    "retrieve": "assay.harness",
    "run_experiment": "assay.outcome",
    "run_system": "assay.experiment",
    "verify": "assay.audits",
    "write_qrels": "assay.formats.runs",
    "write_run": "assay.formats.runs",
}
_RENAMED = {
    "measure_of": ("assay.measures", "parse"),
    "open": ("assay.sources", "open_collection"),
    "system_of": ("assay.catalog", "system"),
}

__all__ = sorted([*_HOMES, "measure_of", "system_of"])


def __getattr__(name: str) -> Any:
    home, inner = _RENAMED.get(name, (_HOMES.get(name, ""), name))
    if not home:
        raise AttributeError(f"module 'assay' has no attribute {name!r}")
    return getattr(import_module(home), inner)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES, *_RENAMED])
