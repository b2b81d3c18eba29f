"""Reproduction on real collections: the reference values of their pages, as a publication."""

from __future__ import annotations

from pathlib import Path

from assay.reproduction import Publication, Published, Verdict, reproduce

UK = "uk_written_questions/session_2023-24"
CQA = "conditionalqa/seed_schema"


def test_reference_values(shared_data: Path) -> None:
    uk, cqa = str(shared_data / UK), str(shared_data / CQA)
    numbers = (
        Published(uk, "answer", "dev", "RR@10", 0.3893, ("bm25",)),
        Published(uk, "answer", "test", "RR@10", 0.4063, ("bm25",)),
        Published(uk, "followup", "all", "R@10", 0.755, ("bm25",)),
        Published(uk, "followup", "test", "R@10", 0.745, ("bm25",)),
        Published(cqa, "passages", "test", "nDCG@10", 0.2174, ("bm25",), queries=271),
        Published(cqa, "passages", "test", "RR@10", 0.2999, ("bm25",), queries=271),
        Published(cqa, "passages", "test", "R@100", 0.5081, ("bm25",), queries=271),
        # The page says "near 0.293", with other stop words; these two are this version's own.
        Published(cqa, "passages", "test", "nDCG@10", 0.2992, ("bm25('english')",), queries=271),
        Published(cqa, "passages", "test", "nDCG@10", 0.3008, ("titled(bm25)",), queries=271),
    )
    found = reproduce(Publication("reference", "Reference values", numbers, tolerance=0.0005))
    assert [c.verdict for c in found.checked] == [Verdict.INSIDE] * len(numbers), [
        (c.number.measure, c.number.value, a.interval and a.interval.mean) for c in found.checked for a in c.attempts
    ]
