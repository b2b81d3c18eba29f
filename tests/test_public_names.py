"""The list of public names is the list."""

from __future__ import annotations

import builtins
import importlib.metadata
import subprocess
import sys

import assay

NAMES = [
    "AssayError",
    "Collection",
    "DataError",
    "Eligibility",
    "Finding",
    "Fragments",
    "Ids",
    "Interval",
    "Judged",
    "Measure",
    "Passages",
    "Qrels",
    "Queries",
    "Result",
    "Run",
    "Scores",
    "Span",
    "Spans",
    "System",
    "Task",
    "Texts",
    "UnavailableError",
    "UsageError",
    "compare_family",
    "evaluate",
    "judge",
    "lint_run",
    "mean_interval",
    "measure_of",
    "only_eligible",
    "read_experiment",
    "read_qrels",
    "read_run",
    "reproduce",
    "retrieve",
    "run_experiment",
    "run_system",
    "system_of",
    "verify",
    "write_qrels",
    "write_run",
]


def test_the_public_names_are_these() -> None:
    assert sorted(assay.__all__) == NAMES
    for name in [*NAMES, "open"]:
        assert getattr(assay, name) is not None, name
        assert getattr(assay, name).__doc__, name


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(assay, "nonsense")


def test_case_X02() -> None:
    """A star import replaces neither a built-in nor a package that the caller has imported."""
    packages = {name for names in importlib.metadata.packages_distributions() for name in [names]}
    assert not set(assay.__all__) & (packages | set(dir(builtins)))
    code = (
        "import pytrec_eval\nfrom assay import *\nimport builtins; print(pytrec_eval.__name__, open is builtins.open)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["pytrec_eval", "True"]


def test_case_X04() -> None:
    """Importing the package and evaluating two queries compiles nothing and loads no compiler."""
    code = (
        "import sys, assay\n"
        "qrels = assay.Qrels.of([('q1', 'a', 1), ('q2', 'b', 1)])\n"
        "run = assay.Run.of([('q1', 'a', 2.0), ('q2', 'x', 2.0), ('q2', 'b', 1.0)])\n"
        "scores = assay.evaluate(run, qrels, ['RR@10', 'AP'])\n"
        "print(scores[0].mean, 'numba' in sys.modules, 'scipy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0.75", "False", "False"]
