"""Evaluation: runs read against judgements, means with intervals, and comparisons."""

from assay.evaluation.across import comparable_scores
from assay.evaluation.ceiling import Ceiling, ceiling, with_ceiling
from assay.evaluation.compare import compare
from assay.evaluation.documents import chunking_scores, document_scores
from assay.evaluation.eligible import only_eligible
from assay.evaluation.evaluate import evaluate, unjudged_queries
from assay.evaluation.floors import (
    constant_run,
    drawn_expectations,
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
from assay.evaluation.slices import slices, task_slices
from assay.evaluation.span_measure import DocumentMeasure, SpanMeasure, chunking_measure
from assay.evaluation.span_scores import span_scores

__all__ = [
    "Ceiling",
    "Comparison",
    "DocumentMeasure",
    "Family",
    "Lenient",
    "PairedTest",
    "Reach",
    "SpanMeasure",
    "ceiling",
    "chunking_measure",
    "chunking_scores",
    "comparable_scores",
    "compare",
    "compare_family",
    "constant_run",
    "document_scores",
    "drawn_expectations",
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
    "span_scores",
    "task_slices",
    "unjudged_queries",
    "with_ceiling",
]
