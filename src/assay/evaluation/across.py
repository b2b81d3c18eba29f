"""Across chunkings: which scores of different chunkings of the same documents may stand in one table."""

from __future__ import annotations

from collections.abc import Sequence

from assay.errors import DataError, UsageError
from assay.evaluation.span_measure import chunking_measure
from assay.scores import Scores


def comparable_scores(
    results: Sequence[tuple[str, Sequence[Scores]]], *, whole: bool = False
) -> list[tuple[Scores, ...]]:
    """Of each result, the scores that mean the same for every chunking: span measures and document measures.

    A measure that counts passages is left out: two chunkings have different passages, and so different gold.

    Args:
        results: What to call each result in a message, and its scores.
        whole: Refuse a result with a score that would be left out.

    Raises:
        UsageError: A result has no such score, or another one where `whole`.
        DataError: Two results over the same queries have different gold.
    """
    kept = []
    gold: dict[frozenset[str], tuple[float, str]] = {}
    for name, scores in results:
        mine = tuple(s for s in scores if chunking_measure(s.measure) is not None)
        others = [s.measure for s in scores if s not in mine]
        if not mine or (whole and others):
            raise UsageError(
                f"{', '.join(others) or 'no measure'} of {name} cannot be compared across chunkings: it counts"
                " passages, and two chunkings have different passages and different gold; take recall@4000chars,"
                " 'DFR(t=1)' or 'documents(RR@10)' with -m when running and comparing"
            )
        for s in mine:
            characters = s.extras.get("gold_characters")
            if characters is None:
                continue
            first, where = gold.setdefault(frozenset(s.queries), (characters, name))
            if first != characters:
                raise DataError(
                    f"the gold of {where} has {first:.0f} characters, that of {name} {characters:.0f}: chunkings are"
                    " compared over the same documents, queries and fragments only"
                )
        kept.append(mine)
    return kept
