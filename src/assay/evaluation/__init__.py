"""Evaluation: runs read against judgements, means with intervals, and comparisons."""

from assay.evaluation.compare import compare
from assay.evaluation.eligible import only_eligible
from assay.evaluation.evaluate import evaluate, unjudged_queries
from assay.evaluation.floors import (
    constant_run,
    oracle_run,
    popularity_run,
    random_expectation,
    random_run,
    recency_run,
)
from assay.evaluation.intervals import mean_interval
from assay.evaluation.judge import judge
from assay.evaluation.lenient import Lenient, lenient, lenient_scores
from assay.evaluation.reach import Reach, reach_of
from assay.evaluation.significance import Comparison, Family, PairedTest, compare_family, holm, paired_test
from assay.evaluation.slices import slices

__all__ = [
    "Comparison",
    "Family",
    "Lenient",
    "PairedTest",
    "Reach",
    "compare",
    "compare_family",
    "constant_run",
    "evaluate",
    "holm",
    "judge",
    "lenient",
    "lenient_scores",
    "mean_interval",
    "only_eligible",
    "oracle_run",
    "paired_test",
    "popularity_run",
    "random_expectation",
    "random_run",
    "reach_of",
    "recency_run",
    "slices",
    "unjudged_queries",
]
