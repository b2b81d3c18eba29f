"""Sharded search: what one machine does over all passages, done over shards of them, with the same bits.

Passages are cut into runs of rows, in the shuffled order in which systems see them. Each shard gives every query its
best rows and all that tie with the last; the best of these lists together are the best of all, for a row that is not
among the best of its shard cannot be among the best of all. A representer with sums over all passages
(`indexes.Counting`, as BM25 is) counts first and is told the sums then; a dense one works row by row.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from assay.eligibility import Eligibility
from assay.errors import ContractError, DataError, DigestError, UsageError
from assay.executor import Work
from assay.indexes import Counting, fingerprint, index_of
from assay.plan import Arrays, Plan, Shard, digest_of_arrays, even_borders
from assay.searching import best_rows
from assay.system import DenseRows, Keeper, PassageView, QueryView, RankedRows, Representer, spec_hash
from assay.texts import Texts
from assay.weights import identities_of

_ALONE = ("parent", "position", "span")
_RULE = ("candidate", "rank", "cutoff", "excluded_offsets", "excluded")


def sharded_rows(
    system: Representer, passages: PassageView, queries: QueryView, rule: Eligibility, *, depth: int, work: Work
) -> RankedRows:
    """For each query the `depth` best eligible rows, and every row equal to the last: as `best_rows` over one index.

    Args:
        system: A representer with sums (`Counting`), or one that makes each row from its own text alone: one of dense
            rows, or a `Keeper`.
        passages: What it sees, row by row.
        queries: What it sees of the queries.
        rule: Which rows each query may be answered with.
        depth: Rows a query.
        work: Where shards are kept, how many there are, who runs them.

    Raises:
        UsageError: The system needs more than single rows, cannot be made again from plain values, or the folder
            holds another plan.
        AssayError: A shard failed, or a file of a shard is torn.
    """
    _refuse_neighbours(system)
    recipe, where = plain_of(system, placed=False), {"system": plain_of(system)}
    seen = _seen_by(system, passages)
    folder = work.folder / f"{system.name}-{spec_hash({'of': seen})}"
    borders = even_borders(len(passages), work.shards)
    sums: Arrays = {}
    if isinstance(system, Counting):
        call, only = f"{__name__}:counts_of", {"system": recipe}
        counts = Plan(folder / "counts", f"{system.name}, counts", call, seen, borders, only, where)
        sums = system.merged(work.done(counts, lambda number: view_arrays(passages, *_ends(borders, number))))
    asked = digest_of_arrays(*(getattr(rule, name) for name in _RULE), text=f"{seen} {queries.texts.digest} {depth}")
    lists = Plan(
        folder / f"lists-{asked[:12]}",
        f"{system.name}, lists",
        f"{__name__}:{'lists_of_counts' if sums else 'lists_of'}",
        asked,
        borders,
        {"system": recipe, "depth": depth, "mask": list(queries.mask)},
        where,
    )

    def given(number: int) -> Arrays:
        low, high = _ends(borders, number)
        own = {} if sums else view_arrays(passages, low, high)
        return {**own, **_rule_arrays(rule.between(low, high))}

    def shared() -> Arrays:
        cutoff = {} if rule.cutoff is None else {"cutoff": rule.cutoff}
        return {**_text_arrays("queries", queries.texts), **{f"sums/{n}": a for n, a in sums.items()}, **cutoff}

    return _gathered(work.done(lists, given, shared), depth=depth)


def _gathered(results: Iterable[Arrays], *, depth: int) -> RankedRows:
    """The lists of all shards merged, with what was noted.

    Raises:
        DataError: Workers found other weights under the name of one model.
    """
    said: list[_Said] = []

    def taken(result: Arrays) -> RankedRows:
        said.append(_Said.of_bytes(result["said"]))
        return RankedRows(result["offsets"], result["row"], result["score"], whole_ties=True)

    found = merged(map(taken, results), depth=depth)
    return dataclasses.replace(found, notes=_notes(said), record=one_record([one.record for one in said]))


def merged(parts: Iterable[RankedRows], *, depth: int) -> RankedRows:
    """Per query the `depth` best rows of all parts and every row equal to the last; parts share no row.

    Rows that cannot be among the best are dropped part by part, so that little more than the result is held.

    Example:
        >>> one = RankedRows.joined([(np.array([0, 1]), np.array([3.0, 1.0]))], whole_ties=True)
        >>> two = RankedRows.joined([(np.array([2, 3]), np.array([1.0, 0.5]))], whole_ties=True)
        >>> merged([one, two], depth=2).row.tolist()
        [0, 1, 2]
    """
    held: list[RankedRows] = []
    least: npt.NDArray[np.float64] | None = None
    full = 0
    for part in parts:
        held.append(part if least is None else part.only(part.score >= np.repeat(least, np.diff(part.offsets))))
        # Cutting takes longer than dropping, so several parts are cut at a time.
        if sum(len(one.row) for one in held) > 2 * full:
            held = [_side_by_side(held).best(depth)]
            full, least = len(held[0].row), _least(held[0], depth)
    if not held:
        raise ContractError("there are no lists to merge; a plan has at least 1 shard")
    return _side_by_side(held).best(depth)


def _least(lists: RankedRows, depth: int) -> npt.NDArray[np.float64]:
    """The score below which a row is not among the best of a list; minus infinity where it has fewer than `depth`."""
    length = np.diff(lists.offsets)
    least = np.full(len(lists), -np.inf)
    filled = np.flatnonzero(length)
    if len(filled):
        least[filled] = np.minimum.reduceat(lists.score, lists.offsets[filled])
    return np.where(length < depth, -np.inf, least)


def _side_by_side(parts: Sequence[RankedRows]) -> RankedRows:
    """List by list, the rows of the first part, then those of the second, and so on."""
    if len(parts) == 1:
        return parts[0]
    offsets = np.sum([part.offsets for part in parts], axis=0)
    rows, scores = np.empty(offsets[-1], np.int32), np.empty(offsets[-1])
    free = offsets[:-1].copy()
    for part in parts:
        length = np.diff(part.offsets)
        at = np.arange(len(part.row)) + np.repeat(free - part.offsets[:-1], length)
        rows[at], scores[at] = part.row, part.score
        free += length
    return RankedRows(offsets, rows, scores, all(part.whole_ties for part in parts))


def counts_of(shard: Shard) -> Arrays:
    """What a shard of passages holds; the first pass over a system with sums."""
    system = cast(Counting, placed_system(shard.plan))
    return system.counted(view_of(shard.own, shard.high - shard.low), threads=1)


def lists_of_counts(shard: Shard) -> Arrays:
    """The best rows of a shard for every query, by its counts and the sums; the second pass."""
    system = cast(Counting, placed_system(shard.plan))
    shared = shard.shared
    sums = {name[5:]: shared[name] for name in shared if name.startswith("sums/")}
    return _found(shard, system, system.weighted(shard.before("counts"), sums, threads=1))


def lists_of(shard: Shard) -> Arrays:
    """The best rows of a shard for every query, by what a model made of each text, which is kept beside the results."""
    system = placed_system(shard.plan)
    view = view_of(shard.own, shard.high - shard.low)
    index = index_of(system, view, shard.plan.folder.parent / "made" / f"{shard.number:05d}")
    # A keeper makes what it keeps text by text.
    if not isinstance(index.rows, DenseRows) and not isinstance(system, Keeper):
        raise UsageError(
            f"{system.name} makes sparse weights and no sums over shards (assay.indexes.Counting): whether a weight"
            " depends on other passages cannot be told; run it without shards, or give it counted, merged and weighted,"
            " or index_in where it does not"
        )
    return _found(shard, system, index)


def _found(shard: Shard, system: Representer, index: Any) -> Arrays:
    shared, own = shard.shared, shard.own
    asked = QueryView(_texts(shared, "queries"), tuple(shard.plan.parameters["mask"]))
    held = {**{name: own[name] for name in own if name in _RULE}}
    if "cutoff" in shared:
        held["cutoff"] = shared["cutoff"]
    rule = Eligibility(shard.high - shard.low, len(asked), **held)
    depth = shard.plan.parameters["depth"]
    before = dict(getattr(index, "notes", {}))
    found = best_rows(index.rows, index.encode(asked), rule, depth=depth, name=system.name, threads=1)
    said = _Said(before, dict(getattr(index, "notes", {})), dict(getattr(index, "record", {})))
    rows = {"offsets": found.offsets, "row": found.row + np.int32(shard.low), "score": found.score}
    return {**rows, "said": said.to_bytes()}


@dataclass(frozen=True)
class _Said:
    """What an index noted of a shard: of its passages, then also of the queries; and what its model says of itself."""

    passages: Mapping[str, int]
    both: Mapping[str, int]
    record: Mapping[str, str]

    def to_bytes(self) -> npt.NDArray[np.uint8]:
        return np.frombuffer(json.dumps(dataclasses.asdict(self), sort_keys=True).encode(), np.uint8)

    @classmethod
    def of_bytes(cls, stored: npt.NDArray[Any]) -> _Said:
        return cls(**json.loads(stored.tobytes()))


def _notes(said: Sequence[_Said]) -> Mapping[str, int]:
    """Notes of passages added up, in which shards differ; those of queries as each shard has them."""
    notes = {name: count for one in said for name, count in one.both.items()}
    return {**notes, **sum((Counter(one.passages) for one in said), Counter())}


def one_record(records: Sequence[Mapping[str, str]]) -> Mapping[str, str]:
    """What models said of themselves; where shards were made on several devices, all of them.

    Raises:
        DataError: Workers found other weights under the name of one model.

    Example:
        >>> one_record([{"device": "cuda"}, {"device": "cpu"}])
        {'device': 'cpu, cuda'}
    """
    found: dict[str, str] = {}
    for name in dict.fromkeys(name for record in records for name in record):
        values = sorted({record[name] for record in records if name in record})
        if len(values) > 1 and name.endswith("identity"):
            raise DataError(
                f"workers hold {len(values)} different models under one name ({name} {', '.join(values)});"
                " put the same files on all of them, delete the work folder and run the command again"
            )
        found[name] = ", ".join(values)
    return found


def _seen_by(system: Representer, passages: PassageView) -> str:
    """A digest of all that the rows of a system depend on, the weights of its models among them."""
    pinned = identities_of(system)
    seen = fingerprint(system, passages)
    return digest_of_arrays(text=json.dumps([seen, pinned])) if pinned else seen


def placed_system(plan: Plan) -> Any:
    """The system of a plan, which computes where the plan was last asked to.

    Raises:
        DigestError: The plan says two things.
    """
    system = made_of(plan.where.get("system", plan.parameters["system"]))
    if plain_of(system, placed=False) != plan.parameters["system"]:
        raise DigestError(f"{plan.folder}: where.json is of another system; run the command again, it is made again")
    return system


def _ends(borders: tuple[int, ...], number: int) -> tuple[int, int]:
    return borders[number], borders[number + 1]


def _rule_arrays(rule: Eligibility) -> dict[str, npt.NDArray[Any]]:
    """The parts of a rule that belong to its passages."""
    parts = {name: getattr(rule, name) for name in _RULE if name != "cutoff"}
    return {name: part for name, part in parts.items() if part is not None}


def _text_arrays(name: str, texts: Texts) -> dict[str, npt.NDArray[Any]]:
    return {f"{name}/bytes": texts.buffer, f"{name}/offsets": texts.offsets}


def _texts(arrays: Arrays, name: str) -> Texts:
    return Texts(arrays[f"{name}/bytes"], arrays[f"{name}/offsets"])


def view_arrays(view: PassageView, low: int, high: int) -> Arrays:
    """The rows `low` to `high` of what a system sees, as arrays by name.

    Example:
        >>> view = PassageView(2, {"text:plain": Texts.of(["fee", "tax"])}, mask=("[X]",))
        >>> again = view_of(view_arrays(view, 1, 2), 1)
        >>> again.texts["text:plain"].to_list(), again.mask
        (['tax'], ('[X]',))
    """
    arrays: dict[str, npt.NDArray[Any]] = _text_arrays("mask", Texts.of(view.mask))
    for name, texts in view.texts.items():
        cuts = texts.offsets[low : high + 1]
        arrays |= _text_arrays(name, Texts(texts.buffer[cuts[0] : cuts[-1]], cuts - cuts[0]))
    return arrays


def view_of(arrays: Arrays, size: int) -> PassageView:
    """The rows that `view_arrays` put into arrays."""
    names = [name.removesuffix("/bytes") for name in arrays if name.endswith("/bytes")]
    texts = {name: _texts(arrays, name) for name in names}
    return PassageView(size, {name: texts[name] for name in names if name != "mask"}, mask=tuple(texts["mask"]))


def _refuse_neighbours(system: Representer) -> None:
    more = [view for view in system.reads if view in (*_ALONE, "link:question")]
    if more:
        raise UsageError(
            f"{system.name} reads {', '.join(more)}, which lead to other passages, and shards hold single ones;"
            " run it without shards"
        )


def plain_of(value: Any, *, placed: bool = True) -> Any:
    """A plug-in with its fields as plain JSON values, from which `made_of` makes it again.

    Args:
        value: The plug-in.
        placed: Whether to keep fields that are no part of the recipe, such as the device.

    Raises:
        UsageError: A field is neither plain nor such a plug-in, or making it again gives something else.

    Example:
        >>> from assay.retrieval.bm25 import BM25
        >>> plain_of(BM25(k1=0.9))["of"], made_of(plain_of(BM25(k1=0.9))) == BM25(k1=0.9)
        ('assay.retrieval.bm25:BM25', True)
    """
    plain = _plain(value, placed=placed)
    if placed and made_of(plain) != value:
        raise UsageError(f"{value!r} cannot be made again from its fields, which a worker has to do")
    return plain


def _plain(value: Any, *, placed: bool) -> Any:
    if isinstance(value, str | int | float | bool | type(None)):
        return value
    if isinstance(value, tuple):
        return [_plain(one, placed=placed) for one in value]
    cls = type(value)
    module = importlib.import_module(cls.__module__)
    if not dataclasses.is_dataclass(value) or getattr(module, cls.__qualname__, None) is not cls:
        raise UsageError(f"{value!r} is no plain value, which a worker needs; use numbers, texts or named plug-ins")
    given = (one for one in dataclasses.fields(value) if one.init and (placed or one.metadata.get("recipe", True)))
    return {
        "of": f"{cls.__module__}:{cls.__qualname__}",
        **{one.name: _plain(getattr(value, one.name), placed=placed) for one in given},
    }


def made_of(plain: Any) -> Any:
    """The plug-in that `plain_of` described."""
    if isinstance(plain, list):
        return tuple(made_of(one) for one in plain)
    if not isinstance(plain, Mapping):
        return plain
    module, _, name = plain["of"].partition(":")
    return getattr(importlib.import_module(module), name)(**{k: made_of(v) for k, v in plain.items() if k != "of"})
