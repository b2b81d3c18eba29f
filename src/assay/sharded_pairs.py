"""Sharded scoring of pairs: what a scorer gives the pairs of some queries, done over shards of the queries.

A scorer that keeps scores pair by pair (it has `keeping`) cannot make the score of one depend on another, but for the
batch that both are in; and batches are those of one query. So a shard holds whole queries, equal texts in one shard.
"""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from assay.contract import checked_scored
from assay.executor import Work
from assay.indexes import fingerprint
from assay.plan import Arrays, Plan, Shard, digest_of_arrays, even_borders
from assay.sharded import one_record, placed_system, plain_of, view_arrays, view_of
from assay.system import PassageView, QueryView, Rows, Scored, Scorer, spec_hash
from assay.texts import Texts
from assay.weights import identities_of

Places = npt.NDArray[np.int64]


def spread(scorer: Scorer, work: Work) -> Scorer:
    """The scorer, its pairs in shards where it keeps scores pair by pair and reads texts alone; else as it is."""
    texts = all(view == "title" or view.startswith("text:") for view in scorer.reads)
    return cast(Scorer, Spread(scorer, work)) if texts and hasattr(scorer, "keeping") else scorer


@dataclass(frozen=True, eq=False)
class Spread:
    """A scorer whose pairs are scored in shards.

    Attributes:
        scorer: What scores.
        work: Where shards are kept, how many there are, who runs them.
    """

    scorer: Scorer
    work: Work

    @property
    def name(self) -> str:
        """That of the scorer."""
        return self.scorer.name

    @property
    def reads(self) -> tuple[str, ...]:
        """What the scorer reads."""
        return self.scorer.reads

    def score(self, passages: PassageView, queries: QueryView, *, query: Rows, passage: Rows) -> Scored:
        """The scores of the scorer, with the same bits."""
        return sharded_scores(self.scorer, passages, queries, pairs=(query, passage), work=self.work)


def sharded_scores(
    scorer: Scorer, passages: PassageView, queries: QueryView, *, pairs: tuple[Rows, Rows], work: Work
) -> Scored:
    """One score per pair of rows, as `scorer.score` gives them, and its notes added up.

    Args:
        scorer: One that keeps scores pair by pair, and reads texts alone.
        passages: What it sees of passages.
        queries: What it sees of queries.
        pairs: Rows of queries and of passages, aligned.
        work: Where shards are kept, how many there are, who runs them.

    Raises:
        UsageError: The scorer cannot be made again from plain values, or the folder holds another plan.
        AssayError: A shard failed, or a file of a shard is torn.
    """
    query, passage = pairs
    # Shards keep their results; a store that several workers write at once would not do.
    alone: Any = dataclasses.replace(scorer, store="") if hasattr(scorer, "store") else scorer  # type: ignore[type-var]
    seen = spec_hash({"of": [fingerprint(alone, passages), identities_of(alone)]})
    asked = digest_of_arrays(query, passage, text=f"{seen} {queries.texts.digest}")
    slot, borders = _slots(queries.texts, query, work.shards)
    plan = Plan(
        work.folder / f"{alone.name}-{seen}" / f"scores-{asked[:12]}",
        f"{alone.name}, scores",
        f"{__name__}:scores_of",
        asked,
        borders,
        {"system": plain_of(alone, placed=False), "mask": list(queries.mask)},
        {"system": plain_of(alone)},
    )

    def own(number: int) -> Places:
        return np.flatnonzero((slot >= borders[number]) & (slot < borders[number + 1]))

    def given(number: int) -> Arrays:
        at = own(number)
        asks, query_row = np.unique(query[at], return_inverse=True)
        held, passage_row = np.unique(passage[at], return_inverse=True)
        texts = {view: rows.take(held) for view, rows in passages.texts.items()}
        view = PassageView(len(held), texts, mask=passages.mask)
        asks_texts = queries.texts.take(asks)
        return {
            **view_arrays(view, 0, len(held)),
            "asked/text": asks_texts.buffer,
            "asked/ends": asks_texts.offsets,
            "query": query_row.astype(np.int32),
            "passage": passage_row.astype(np.int32),
            "passages": np.array([len(held)]),
        }

    score, notes, records = np.empty(len(query)), Counter[str](), []
    for number, found in enumerate(work.done(plan, given)):
        score[own(number)] = found["score"]
        said = json.loads(found["said"].tobytes())
        notes.update(said["notes"])
        records.append(said["record"])
    return Scored(score, dict(notes), one_record([record for record in records if record]))


def scores_of(shard: Shard) -> Arrays:
    """The scores of a shard of pairs, and what was noted."""
    held = shard.own
    query, passage = held["query"], held["passage"]
    if len(query) == 0:
        return {"score": np.zeros(0), "said": _said(Scored(np.zeros(0)))}
    scorer = placed_system(shard.plan)
    own = {name: held[name] for name in held if name.endswith(("/bytes", "/offsets"))}
    view = view_of(own, int(held["passages"][0]))
    asked = QueryView(Texts(held["asked/text"], held["asked/ends"]), tuple(shard.plan.parameters["mask"]))
    found = scorer.score(view, asked, query=query, passage=passage)
    scored = checked_scored(found, name=scorer.name, size=len(query))
    return {"score": scored.score, "said": _said(scored)}


def _said(scored: Scored) -> npt.NDArray[np.uint8]:
    told = {"notes": dict(scored.notes), "record": dict(scored.record)}
    return np.frombuffer(json.dumps(told, sort_keys=True).encode(), np.uint8)


def _slots(texts: Texts, query: Rows, shards: int) -> tuple[Places, tuple[int, ...]]:
    """A number for each pair, equal for queries of equal texts, and borders of shards with about as many pairs each."""
    first = texts.first_rows_in(texts)[query]
    distinct, slot, count = np.unique(first, return_inverse=True, return_counts=True)
    ends = np.cumsum(count)
    goals = even_borders(int(ends[-1]) if len(ends) else 0, shards)
    inner = np.searchsorted(ends, goals[1:-1], side="left")
    return slot.astype(np.int64), (0, *inner.tolist(), len(distinct))
