"""Publishing: a collection as a folder to upload, with a card that its files prove.

`publish` writes one of chunks, `write_build` and `publish_questions` one of questions and replies; `check` compares a
card, written here or by hand, with the files beside it; `agreement` compares a result over a collection with one over
its text-only export.
"""

from __future__ import annotations

from assay.publishing.about import About, read_about
from assay.publishing.agree import Agreement, Difference, agreement
from assay.publishing.check import check
from assay.publishing.chunk_level import Report, publish
from assay.publishing.question_level import QuestionReport, publish_questions, write_build

__all__ = [
    "About",
    "Agreement",
    "Difference",
    "QuestionReport",
    "Report",
    "agreement",
    "check",
    "publish",
    "publish_questions",
    "read_about",
    "write_build",
]
