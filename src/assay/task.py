"""Tasks: what is asked, what may be used, and what counts as an answer, for one split."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from assay.edges import Edges
from assay.eligibility import Eligibility
from assay.errors import EligibilityError
from assay.fragment import Fragments
from assay.passage import Passages
from assay.qrels import Qrels
from assay.query import Queries

WITHOUT_AS_OF = "-without-as-of"
"""End of the name of a task whose as-of rule is switched off."""

MASK_KEPT = "-mask-kept"
"""End of the name of a task whose mask tokens are read as words."""


@dataclass(frozen=True, eq=False)
class Task:
    """Judged queries over passages, under one eligibility rule, seen through allowed views.

    Attributes:
        name, split: What it is called, as in `questions/precedent` with `--split test`.
        pool: All queries that the qrels may speak of; the task asks the judged ones of them.
        passages: What is searched.
        qrels: The judgements of this split.
        views: Views that systems may read.
        measures: Headline measures, the first one first.
        depth: How deep runs are made.
        asked: Per query of `pool` the day before which passages must be dated, datetime64[D]; None:
            no as-of rule.
        rule: The as-of rule in words.
        excluded: Whether a query's own passage (equal id) is kept from it.
        query_view: The text view of queries that systems get.
        question: Per query of `pool` the row of the question that it asks, in another language perhaps, int64;
            None: each asks its own.
        edges: Citations behind the judgements, where the collection has them.
        ties: Per query of `pool` the cluster to resample by, int64; None: queries are independent.
        gold_rule: Name of the rule by which a passage is gold for a fragment; empty without fragments.
        fragments: Gold spans behind the qrels, where the collection has them.
        classes: Per passage its class of equivalent passages, int64; None: no equivalents known.
        mask: Tokens that stand for masked identifiers.
    """

    name: str
    split: str
    pool: Queries
    passages: Passages
    qrels: Qrels
    views: tuple[str, ...] = ("text:plain",)
    measures: tuple[str, ...] = ("RR@10", "nDCG@10", "R@100")
    depth: int = 100
    asked: npt.NDArray[np.datetime64] | None = None
    rule: str = ""
    excluded: bool = False
    query_view: str = "plain"
    question: npt.NDArray[np.int64] | None = None
    edges: Edges | None = None
    ties: npt.NDArray[np.int64] | None = None
    gold_rule: str = ""
    fragments: Fragments | None = None
    classes: npt.NDArray[np.int64] | None = None
    mask: tuple[str, ...] = ()
    notes: Mapping[str, int] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Task {self.name}, split {self.split}: {len(self.qrels.queries)} judged queries>"

    def without_as_of(self) -> Task:
        """The same task without its as-of rule, under a name that says so: it shows what the rule does."""
        return replace(self, name=self.name + WITHOUT_AS_OF, asked=None, rule="all: the as-of rule is switched off")

    def mask_kept(self) -> Task:
        """The same task with mask tokens read as words, under a name that says so."""
        return replace(self, name=self.name + MASK_KEPT, mask=())

    @cached_property
    def rows(self) -> npt.NDArray[np.int32]:
        """Rows of `pool` that are asked: the judged queries that exist, in the order of the qrels."""
        codes = self.pool.ids.codes(self.qrels.queries)
        return codes[codes >= 0]

    @cached_property
    def queries(self) -> Queries:
        """The queries that are asked, in the order of the qrels."""
        return self.pool.take(self.rows)

    @cached_property
    def questions(self) -> npt.NDArray[np.int64]:
        """Per query of `pool` the row of the question that it asks, itself where nothing else is said, int64."""
        return np.arange(len(self.pool)) if self.question is None else self.question

    @cached_property
    def clusters(self) -> npt.NDArray[np.int64] | None:
        """Per query of the qrels its cluster, int64; None where queries are independent.

        A judged query that the collection does not hold is a cluster of its own.
        """
        if self.ties is None:
            return None
        codes = self.pool.ids.codes(self.qrels.queries)
        own = int(self.ties.max(initial=0)) + 1 + np.arange(len(codes))
        return np.where(codes >= 0, self.ties[codes], own)

    def _asked(self) -> npt.NDArray[np.datetime64]:
        """The as-of day of every query of `queries`."""
        asked = np.zeros(0, "datetime64[D]") if self.asked is None else self.asked[self.rows]
        undated = np.flatnonzero(np.isnat(asked))
        if len(undated):
            first, rule = self.queries.ids[int(undated[0])], f" ({self.rule})" if self.rule else ""
            raise EligibilityError(
                f"{self.name}, split {self.split}: {len(undated)} of {len(asked)} judged queries have no date, which an"
                f" as-of rule needs{rule}, first: {first!r}; date them, take them out of the judgements, or switch the"
                " rule off (--without-as-of)"
            )
        return asked

    @cached_property
    def eligibility(self) -> Eligibility:
        """Which passages each query of `queries` may be answered with; made once, decided here alone.

        Raises:
            EligibilityError: An as-of rule meets an undated query.
        """
        n_passages, n_queries = len(self.passages), len(self.rows)
        rule = Eligibility.everything(n_passages, n_queries)
        if self.asked is not None:
            published = self.passages.dates
            if published is None:
                published = np.full(n_passages, "NaT", "datetime64[D]")
            rule = Eligibility.as_of(published, self._asked())
        if self.passages.candidate is not None:
            rule = rule.only(self.passages.candidate)
        if self.excluded:
            own = self.passages.ids.codes(self.queries.ids)
            offsets = np.concatenate([[0], np.cumsum(own >= 0)]).astype(np.int64)
            rule = rule.without(offsets, own[own >= 0])
        return rule
