"""Records: results and comparisons as plain JSON values with stable keys."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from assay import evaluation
from assay.experiment import Compared, Judging, Result
from assay.scores import Scores
from assay.task import Task


def result_record(result: Result) -> dict[str, Any]:
    """A result as plain JSON values with stable keys: among them system, task, split, measures, counts."""
    first = result.scores[0].counts if result.scores else None
    return {
        "system": result.system,
        "collection": result.collection,
        "digest": result.digest,
        "task": result.task,
        "split": result.split,
        "gold_rule": result.gold_rule,
        "measures": {s.measure: _measure_record(s) for s in result.scores},
        "counts": {} if first is None else {k: v for k, v in asdict(first).items() if k not in PER_MEASURE},
        "noticed": dict(result.run.counts),
        "models": [dict(model) for model in result.run.models],
        "spec": result.spec,
    }


PER_MEASURE = ("unjudged", "ties", "open")
"""Counts that belong to one measure and its cut-off, not to the run."""


def _measure_record(scores: Scores) -> dict[str, Any]:
    interval, counts = scores.interval, scores.counts
    record: dict[str, Any] = {
        "mean": interval.mean,
        "low": interval.low,
        "high": interval.high,
        "n": interval.n,
        "ties": counts.ties,
        "best": scores.extras["mean_best"],
        "worst": scores.extras["mean_worst"],
        "expected": scores.extras["mean_expected"],
        "unjudged": counts.unjudged,
        "open": counts.open,
        "upper": scores.extras.get("mean_upper"),
        "interval": {
            "method": interval.method,
            "level": interval.level,
            "seed": interval.seed,
            "resamples": interval.resamples,
            "unit": interval.unit,
            "units": interval.units,
            "note": interval.note,
        },
        "extras": dict(scores.extras),
    }
    return {k: _finite(v) for k, v in record.items()}


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    return None if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))) else value


def comparison_record(compared: Compared) -> dict[str, Any]:
    """A family of tests as plain JSON values with stable keys."""
    return {
        "collection": compared.collection,
        "task": compared.task,
        "split": compared.split,
        "correction": compared.family.correction,
        "pairs": [
            _finite(
                {
                    "measure": measure,
                    "first": c.first,
                    "second": c.second,
                    "difference": c.test.difference,
                    "low": c.test.interval.low,
                    "high": c.test.interval.high,
                    "p": c.test.p,
                    "p_adjusted": c.p_adjusted,
                    "exact": c.test.exact,
                    "wins": c.test.wins,
                    "ties": c.test.ties,
                    "losses": c.test.losses,
                    "n": c.test.n,
                    "units": c.test.units,
                    "unit": c.test.interval.unit,
                    "detectable": c.test.detectable,
                    "smallest_p": c.test.smallest_p,
                    "resamples": c.test.resamples,
                    "seed": c.test.seed,
                }
            )
            for measure, c in zip(compared.measures, compared.family.comparisons, strict=True)
        ],
    }


def slices_record(result: Result, task: Task, column: str, *, judging: Judging) -> dict[str, dict[str, dict[str, Any]]]:
    """Means with intervals for every value of a query column or kind of citation, by measure and value."""
    return {
        s.measure: {
            value: _finite({"mean": i.mean, "low": i.low, "high": i.high, "n": i.n, "units": i.units, "note": i.note})
            for value, i in evaluation.task_slices(
                s,
                task,
                column=column,
                clusters=s.clusters,
                method=judging.method,
                resamples=judging.resamples,
                seed=judging.seed,
            ).items()
        }
        for s in result.scores
    }
