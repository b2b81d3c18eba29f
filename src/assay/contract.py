"""Contract: what systems return, checked before anything counts on it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.errors import ContractError
from assay.kernels.ranking import repeated_passage
from assay.system import (
    Composite,
    DenseRows,
    Links,
    Offsets,
    PassageView,
    RankedRows,
    Rows,
    Score,
    Scored,
    SparseRows,
)

_FINITE_ROWS = 1 << 14


def checked_ranked_rows(found: Any, *, name: str, queries: int, passages: int) -> RankedRows:
    """What the system `name` returned for `queries` queries: int32 rows, float64 scores, the contract kept.

    Lists of whole numbers and numbers are taken too; narrower floats are widened, which is exact.

    Raises:
        ContractError: No `RankedRows`, not one list a query and one score a row, or a row that is out of
            range or stands twice in a list, or a score that is not finite.

    Example:
        >>> checked_ranked_rows(RankedRows([0, 1], [4], [2]), name="mine", queries=1, passages=5).score
        array([2.])
    """
    if not isinstance(found, RankedRows):
        raise ContractError(f"{name} returned {type(found).__name__}; RankedRows are due")
    given = _whole_numbers(found.row, what=f"{name}: rows")
    score = checked_scores(found.score, name=name, size=len(given))
    offsets = _borders(found.offsets, name=name, lists=queries, entries=len(given))
    outside = given[(given < 0) | (given >= passages)]
    if len(outside):
        raise ContractError(f"{name} returned row {outside[0]} of {passages} passages ({len(outside)} such rows)")
    row: Rows = given.astype(np.int32, copy=False)
    again = repeated_passage(offsets, row, passages=passages)
    if again is not None:
        raise ContractError(f"{name} returned row {again[1]} twice in the list of query row {again[0]}")
    exhausted = None if found.exhausted is None else np.asarray(found.exhausted, np.bool_)
    if exhausted is not None and exhausted.shape != (queries,):
        raise ContractError(f"{name} returned `exhausted` of shape {exhausted.shape} for {queries} queries")
    told = dict(found.notes), dict(found.record)
    return RankedRows(offsets, row, score, bool(found.whole_ties), exhausted, *told)


def checked_scores(values: Any, *, name: str, size: int) -> Score:
    """Scores as float64, one for each of `size` rows.

    Raises:
        ContractError: Another number of them, not numbers, not finite, or whole numbers past 2**53, which
            float64 would round.

    Example:
        >>> checked_scores(np.array([0.5, 3.0], np.float32), name="mine", size=2).tolist()
        [0.5, 3.0]
    """
    score = _array(values, what=f"{name}: scores")
    if len(score) != size:
        raise ContractError(f"{name} returned {len(score)} scores for {size} rows; one a row is due")
    if size and score.dtype.kind not in "biuf":
        raise ContractError(f"{name} returned scores of type {score.dtype}; numbers are due")
    if size and score.dtype.kind in "iu" and max(-int(score.min()), int(score.max())) > 1 << 53:
        raise ContractError(f"{name} returned whole numbers past 2**53 as scores, which float64 would round")
    wide = score.astype(np.float64, copy=False)
    wrong = int((~np.isfinite(wide)).sum())
    if wrong:
        raise ContractError(f"{name} returned {wrong} scores that are not finite numbers")
    return wide


def checked_scored(found: Any, *, name: str, size: int) -> Scored:
    """What the scorer `name` returned for `size` pairs: float64 scores, and its notes where it has any.

    Raises:
        ContractError: As in `checked_scores`.

    Example:
        >>> checked_scored(Scored([0.5], {"pairs_cut": 1}), name="mine", size=1).notes
        {'pairs_cut': 1}
    """
    given = found if isinstance(found, Scored) else Scored(found)
    return Scored(checked_scores(given.score, name=name, size=size), dict(given.notes), dict(given.record))


def checked_sparse_rows(found: Any, *, name: str, rows: int, terms: int | None = None) -> SparseRows:
    """Sparse rows that kernels may trust: shapes, terms in range, weights finite and multiples of the step.

    `terms` is how many terms there are where another table says so (queries follow the passages).

    Raises:
        ContractError: One of these does not hold.

    Example:
        >>> rows = SparseRows(np.array([0, 1]), np.array([7], np.int32), np.array([0.5], np.float32), 8, step=0.25)
        >>> len(checked_sparse_rows(rows, name="mine", rows=1))
        1
    """
    if not isinstance(found, SparseRows):
        raise ContractError(f"{name} returned {type(found).__name__}; SparseRows are due")
    terms = found.terms if terms is None else terms
    term = _whole_numbers(found.term, what=f"{name}: terms")
    weight = _array(found.weight, what=f"{name}: weights")
    if len(weight) != len(term) or (len(weight) and weight.dtype.kind not in "biuf"):
        raise ContractError(f"{name} returned {len(term)} terms and {len(weight)} weights of type {weight.dtype}")
    offsets = _borders(found.offsets, name=name, lists=rows, entries=len(term))
    if len(term) and (int(term.min()) < 0 or int(term.max()) >= terms):
        raise ContractError(f"{name} returned terms from {term.min()} to {term.max()} of {terms}")
    wide = weight.astype(np.float32, copy=False)
    if not np.array_equal(wide, weight) or not np.isfinite(wide).all():
        raise ContractError(f"{name} returned weights that are not finite float32 numbers")
    if found.step is not None:
        half, _ = math.frexp(found.step)
        if half != 0.5 or not np.array_equal(np.rint(wide / found.step) * found.step, wide):
            raise ContractError(
                f"{name} says step {found.step}, which is no power of 2 or of which a weight is no whole multiple"
            )
    return SparseRows(offsets, term.astype(np.int32, copy=False), wide, terms, found.step)


def checked_dense_rows(found: Any, *, name: str, rows: int, dimensions: int | None = None) -> DenseRows:
    """Dense rows that kernels may trust: float32, C order, finite, one vector a row.

    `dimensions` is how long the vectors are where another table says so (queries follow the passages).

    Raises:
        ContractError: One of these does not hold.

    Example:
        >>> checked_dense_rows(DenseRows(np.ones((2, 3), np.float32)), name="mine", rows=2).matrix.shape
        (2, 3)
    """
    if not isinstance(found, DenseRows):
        raise ContractError(f"{name} returned {type(found).__name__}; DenseRows are due")
    matrix: Any = found.matrix
    if not isinstance(matrix, np.ndarray) or matrix.ndim != 2 or matrix.dtype != np.float32:
        shown = f"{matrix.dtype} of shape {matrix.shape}" if isinstance(matrix, np.ndarray) else type(matrix).__name__
        raise ContractError(f"{name} returned vectors that are {shown}; float32 of shape (rows, dimensions) is due")
    place = None if found.place is None else _whole_numbers(found.place, what=f"{name}: places")
    if len(found) != rows:
        raise ContractError(f"{name} returned {len(found)} vectors for {rows} rows; one a row is due")
    if place is not None and len(place) and (int(place.min()) < 0 or int(place.max()) >= len(matrix)):
        raise ContractError(f"{name} returned places from {place.min()} to {place.max()} of {len(matrix)} vectors")
    if dimensions is not None and matrix.shape[1] != dimensions:
        raise ContractError(
            f"{name} returned queries of {matrix.shape[1]} dimensions for passages of {dimensions}; they need as many"
        )
    # Part by part, so that a memory map is read without being held.
    for low in range(0, len(matrix), _FINITE_ROWS):
        part = matrix[low : low + _FINITE_ROWS]
        if not np.isfinite(part).all():
            wrong = np.flatnonzero(~np.isfinite(part).all(axis=1))
            raise ContractError(
                f"{name} returned vectors with NaN or infinite numbers, the first at {low + int(wrong[0])}"
            )
    kept = None if place is None else place.astype(np.int32)
    return DenseRows(np.ascontiguousarray(matrix), kept)


def checked_shown(
    shown: Any, *, name: str, passages: int, reads: Sequence[str], links: Links | None = None
) -> tuple[PassageView, Rows | Links | None]:
    """What the lens `name` shows of `passages` passages with `links`, and all the views that are read behind it.

    Raises:
        ContractError: No pair of a `PassageView` and rows (or None, or the links), a view that is missing or has
            another number of rows, rows that do not give each passage one of the shown rows, or leave one out,
            or links that lead elsewhere than those given.

    Example:
        >>> from assay.texts import Texts
        >>> view = PassageView(1, {"text:plain": Texts.of(["all of it"])})
        >>> checked_shown((view, [0, 0]), name="mine", passages=2, reads=["text:plain"])[1]
        array([0, 0], dtype=int32)
    """
    if not (isinstance(shown, tuple) and len(shown) == 2 and isinstance(shown[0], PassageView)):
        found = type(shown).__name__
        raise ContractError(f"{name} shows {found}; a pair of PassageView and rows, links or None is due")
    view, rows = shown
    for read in reads:
        plain = view.links if read == "link:question" else getattr(view, read, None)
        held = view.texts.get(read) if read == "title" or read.startswith("text:") else plain
        size = len(held.offsets) - 1 if isinstance(held, Links) else -1 if held is None else len(held)
        if size != len(view):
            does = "does not show" if held is None else f"shows {size} rows of"
            raise ContractError(f"{name} {does} the view {read!r}, which is read behind it; {len(view)} rows are due")
    if "link:question" in reads and (rows is not None or not _same_links(view.links, links)):
        raise ContractError(f"{name} shows links that are not those of the passages; only their texts may change")
    if rows is None:
        if len(view) != passages:
            raise ContractError(f"{name} shows {len(view)} rows for {passages} passages, and not whose they are")
        return view, None
    if links is not None and rows is links:
        if len(view) != len(links.texts):
            raise ContractError(f"{name} shows {len(view)} rows for {len(links.texts)} linked questions")
        return view, links
    given = _whole_numbers(rows, what=f"{name}: rows shown")
    used = np.zeros(len(view), np.bool_)
    if len(given) != passages or (passages and (int(given.min()) < 0 or int(given.max()) >= len(view))):
        raise ContractError(f"{name} gives {len(given)} of {passages} passages a row, of {len(view)} shown")
    used[given] = True
    if not used.all():
        raise ContractError(f"{name} shows {int((~used).sum())} rows that belong to no passage")
    return view, given.astype(np.int32)


def _same_links(shown: Links | None, given: Links | None) -> bool:
    if shown is None or given is None or shown is given:
        return shown is given
    same = np.array_equal(shown.offsets, given.offsets) and np.array_equal(shown.target, given.target)
    return same and len(shown.texts) == len(given.texts)


def part_depths(system: Composite, depth: int, *, passages: int) -> list[int]:
    """How deep each part of a composite is run for a run of `depth`: as deep, unless the composite says more.

    Raises:
        ContractError: It does not say one whole number of at least 1 for every part.
    """
    said = getattr(system, "part_depths", None)
    depths = [depth] * len(system.parts) if said is None else list(said(depth, passages))
    if len(depths) != len(system.parts) or not all(isinstance(d, int) and d >= 1 for d in depths):
        raise ContractError(f"{system.name} says depths {depths} for {len(system.parts)} parts; one each is due")
    return depths


def refuse_repeated_terms(offsets: Offsets, value: npt.NDArray[np.int32], *, name: str) -> None:
    """Raises ContractError where a value follows itself within a list; the values of a list do not fall.

    Example:
        >>> refuse_repeated_terms(np.array([0, 1, 2]), np.array([7, 7], np.int32), name="mine")
    """
    again = value[1:] == value[:-1]
    again[offsets[(offsets > 0) & (offsets < len(value))] - 1] = False
    if again.any():
        raise ContractError(f"{name} returned {int(again.sum())} terms twice in a row; a row holds a term once")


def _whole_numbers(values: Any, *, what: str) -> npt.NDArray[np.integer[Any]]:
    """A list of whole numbers as an array of integers; `what` stands in the message of the ContractError."""
    array = _array(values, what=what)
    if len(array) == 0:
        return np.zeros(0, np.int64)
    if array.dtype.kind not in "iu":
        raise ContractError(f"{what} must be whole numbers, found {array.dtype}")
    return array


def _array(values: Any, *, what: str) -> npt.NDArray[Any]:
    try:
        array = np.asarray(values)
    except (TypeError, ValueError) as err:
        raise ContractError(f"{what} are not an array of numbers: {err}") from None
    if array.ndim != 1:
        raise ContractError(f"{what} must be one-dimensional, found shape {array.shape}")
    return array


def _borders(values: Any, *, name: str, lists: int, entries: int) -> Offsets:
    offsets = _whole_numbers(values, what=f"{name}: offsets").astype(np.int64, copy=False)
    fits = len(offsets) == lists + 1 and offsets[0] == 0 and offsets[-1] == entries
    if not fits or (np.diff(offsets) < 0).any():
        raise ContractError(
            f"{name} returned {len(offsets)} offsets over {entries} rows for {lists} lists; {lists + 1} are due, which"
            " rise from 0 to the number of rows"
        )
    return offsets
