"""Fusion: the lists of several systems, on one scale and added up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from assay.errors import UnknownNameError, UsageError
from assay.kernels.fusing import METHODS, checked_weights, fused, normalised
from assay.system import PassageView, QueryView, RankedRows, System, refuse_no_count, refuse_no_system


@dataclass(frozen=True, init=False)
class Fusion:
    """Weighted sums of what passages have in the lists of several systems; a composite.

    What a list lacks adds 0, and every passage that it has adds more than 0 (but for the last one under
    `minmax(dapr)`): another system that finds a passage never lowers its sum. A system with weight 0 adds nothing,
    not even its passages. `assay.kernels.fusing.normalised` says what each method does.

    Args:
        *systems: Two systems or more, of any kind.
        parts: The same as one list, in their place.
        method: One of `METHODS`: `rrf`, `minmax`, `zscore`, `minmax(dapr)`.
        weights: One number a system, 0 or more; None for 1 each.
        k: What reciprocal ranks add to a rank; read by `rrf` alone.
        depth: How deep the systems are run at least; None: as deep as the run.

    Raises:
        UsageError: Fewer than two systems, or a parameter is out of its range.
        UnknownNameError: There is no such method.

    Example:
        >>> from assay.catalog import system
        >>> system("fusion(bm25, bm25('english'), method='minmax', weights=(0.3, 0.7))").weights
        (0.3, 0.7)
    """

    name: ClassVar[str] = "fusion"
    reads: ClassVar[tuple[str, ...]] = ()

    parts: tuple[System, ...]
    method: str = "rrf"
    weights: tuple[float, ...] | None = None
    k: float = 60
    depth: int | None = None

    def __init__(
        self,
        *systems: Any,
        parts: Sequence[System] = (),
        method: str = "rrf",
        weights: Sequence[float] | None = None,
        k: float = 60,
        depth: int | None = None,
    ) -> None:
        if len(systems) == 1 and isinstance(systems[0], list | tuple):
            systems = tuple(systems[0])
        held = (*systems, *parts)
        refuse_no_system(self.name, *held)
        if len(held) < 2:
            raise UsageError(f"fusion: give two systems or more, as in fusion(bm25, titled(bm25)); found {len(held)}")
        if method not in METHODS:
            raise UnknownNameError.of("method of fusion", str(method), METHODS)
        ranks_from: Any = k
        if not isinstance(ranks_from, int | float) or isinstance(ranks_from, bool) or not 0 <= k < 1e9:
            raise UsageError(f"fusion: k must be a number, 0 or more; found {k!r}")
        if depth is not None:
            refuse_no_count(self.name, 1, depth=depth)
        checked = None if weights is None else checked_weights(weights, parts=len(held), name=self.name)
        values = {"parts": held, "method": method, "weights": checked, "k": k, "depth": depth}
        for field, value in values.items():
            object.__setattr__(self, field, value)

    def part_depths(self, depth: int, passages: int) -> list[int]:  # noqa: ARG002
        """As deep as the run, or deeper where `depth` says so."""
        return [max(depth, self.depth or 1)] * len(self.parts)

    def combine(
        self,
        lists: Sequence[RankedRows],
        passages: PassageView,
        queries: QueryView,  # noqa: ARG002
        *,
        depth: int,  # noqa: ARG002
    ) -> RankedRows:
        """Every passage of every list with its sum."""
        scaled = [
            (part.offsets, part.row, normalised(part.offsets, part.score, method=self.method, k=self.k))
            for part in lists
        ]
        offsets, row, score = fused(scaled, self.weights or (1.0,) * len(scaled), rows=len(passages))
        return RankedRows(offsets, row, score, whole_ties=all(part.whole_ties for part in lists))
