"""Agreement of a text-only export with the collection that was exported: equal values whatever the ids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from assay.errors import UnknownIdError, UsageError
from assay.experiment import Result
from assay.scores import Scores

SAME = 1e-9
"""Values that differ by less are equal: sums were made in another order."""


@dataclass(frozen=True)
class Difference:
    """A query, by its id in the full collection, with its value there and over the export."""

    query: str
    full: float
    text_only: float


@dataclass(frozen=True)
class Agreement:
    """Whether a result over a text-only export is the one over the full collection.

    Attributes:
        measure: What was compared.
        queries: Queries that both results have.
        missing: Queries that only one of them has, by their ids in the full collection.
        differing: Queries whose expectation over tie orders differs; there is none where the contract holds.
        reordered: Queries whose value under the order of ids differs, for ids break ties; to be expected.
    """

    measure: str
    queries: int
    missing: tuple[str, ...]
    differing: tuple[Difference, ...]
    reordered: tuple[Difference, ...]

    @property
    def holds(self) -> bool:
        """Whether every query has the same expectation over tie orders."""
        return not self.differing and not self.missing


def agreement(full: Result, text_only: Result, mapping: Mapping[str, Mapping[str, str]]) -> list[Agreement]:
    """How two results of one text-only system agree, a measure each: over the full collection and over its export.

    Args:
        full: The result over the full collection.
        text_only: The result over the export, with the export's ids.
        mapping: New id to the original one, for `query` and `passage`, as `read_mapping` gives it.

    Raises:
        UsageError: The results are of different tasks, splits or systems, or share no measure.
        UnknownIdError: The export has a query that the mapping lacks.
    """
    for name in ("task", "split", "system"):
        one, other = getattr(full, name), getattr(text_only, name)
        if one != other:
            raise UsageError(f"the results are of different {name}s ({one!r} and {other!r}); compare like with like")
    shared = [s.measure for s in full.scores if any(s.measure == other.measure for other in text_only.scores)]
    if not shared:
        raise UsageError("the results share no measure; score both with the same --measure")
    return [_agreement(full.scores_of(name), text_only.scores_of(name), mapping["query"]) for name in shared]


def _agreement(full: Scores, text_only: Scores, original: Mapping[str, str]) -> Agreement:
    unknown = [query for query in text_only.queries if query not in original]
    if unknown:
        raise UnknownIdError(
            f"the mapping has no query {unknown[0]!r} ({len(unknown)} such queries); use that of the export that was"
            " searched"
        )
    there = {original[query]: row for row, query in enumerate(text_only.queries)}
    ids = list(full.queries)
    both = [(row, there[query]) for row, query in enumerate(ids) if query in there]
    missing = sorted(set(ids) ^ set(there))
    rows, others = np.asarray(both, np.int64).reshape(-1, 2).T

    def differing(name: str) -> tuple[Difference, ...]:
        one, other = getattr(full, name)[rows], getattr(text_only, name)[others]
        found = np.flatnonzero(~(np.abs(one - other) <= SAME))
        return tuple(Difference(ids[int(rows[at])], float(one[at]), float(other[at])) for at in found.tolist())

    return Agreement(full.measure, len(both), tuple(missing), differing("expected"), differing("value"))
