"""Assembling: a source's records to a whole question-level collection, in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from datetime import date
from typing import Any

import numpy as np

from assay.building.after_removals import Linked, after_removals
from assay.building.bodies import Bodies, read_bodies
from assay.building.build_record import manifest_of
from assay.building.built import TASKS, Built
from assay.building.citations import CitationRules
from assay.building.edges import Cited, Edges, citation_edges
from assay.building.equivalents import Equivalents, equivalents
from assay.building.funnel import Funnel
from assay.building.house import House
from assay.building.links import Links, days_of, linked
from assay.building.masking import TOKEN
from assay.building.near import EquivalentRules
from assay.building.question_rows import (
    answer_judgements,
    answered_together,
    corpus_rows,
    crossings,
    edge_judgements,
    equivalent_rows,
    query_rows,
    versions_of,
    xling_rows,
)
from assay.building.records import Records
from assay.building.removals import BuildTables, Row
from assay.errors import UsageError
from assay.texts import Texts

SPLITS = ("train", "dev", "test")


@dataclass(frozen=True)
class BuildRules:
    """What a build decides, as it is recorded in the manifest.

    Attributes:
        train_until: The last day of the split `train`; a question's own date decides.
        dev_until: The last day of `dev`; later questions are `test`.
        token: What stands for what is masked.
        citations: What is a citation that sends its reader away.
        equivalents: What is a twin, a duplicate, a near-duplicate.
        planted: How many ids are planted to measure what masking finds.
        seed: Decides on the planted ids.
    """

    train_until: date = date(2021, 12, 31)
    dev_until: date = date(2023, 12, 31)
    token: str = TOKEN
    citations: CitationRules = field(default_factory=CitationRules)
    equivalents: EquivalentRules = field(default_factory=EquivalentRules)
    planted: int = 1000
    seed: int = 1

    def __post_init__(self) -> None:
        if self.train_until > self.dev_until:
            raise UsageError(f"train ends {self.train_until}, dev {self.dev_until}; train ends first")
        if self.planted < 1:
            raise UsageError(f"{self.planted} ids are planted; plant at least one")

    def split_of(self, day: date) -> str:
        """The split of a question of that day.

        Example:
            >>> [BuildRules().split_of(date(year, 1, 1)) for year in (2021, 2022, 2024)]
            ['train', 'dev', 'test']
        """
        return "train" if day <= self.train_until else "dev" if day <= self.dev_until else "test"

    def record(self) -> dict[str, Any]:
        """The rules by name, for a manifest; days as ISO dates."""
        return {name: str(value) if isinstance(value, date) else value for name, value in asdict(self).items()}


def assemble(
    records: Records, *, rules: BuildRules, removals: Mapping[str, str] | None = None, today: date | None = None
) -> Built:
    """The collection that records make.

    Rows are by date, then id; the same records in another order make the same collection. Context questions are in
    `queries`, without a split and in no task. Every task has a list of judgements for each split, be it empty.

    Args:
        records: What a source read. Its funnel is copied, and goes on in the manifest.
        rules: What the build decides.
        removals: Id to reason, of records that are left out on request.
        today: Records of a later day are dropped and counted; None for no such look. The clock is never read, and the
            day stands in nothing that is made.

    Raises:
        DuplicateIdError: Two different records have one id.
        FormatError: Records have not all the same further columns.
    """
    funnel = deepcopy(records.funnel)
    links = linked(records, funnel, today=today)
    splits = [None if one.context else rules.split_of(one.date or date.min) for one in links.questions]
    texts = _texts_of(links, records.house, rules, funnel)
    edges = citation_edges(links, replies=texts.answers.cited, questions=texts.citing, funnel=funnel)
    found = _equivalents_of(links, texts, records.house, rules)
    tables = _tables(links, texts, edges=edges, found=found, splits=splits)
    linked_all = Linked(links, found)
    left, unresolved = after_removals(tables, edges.unresolved, removals or {}, linked=linked_all, funnel=funnel)
    ids = [one.id for one in links.questions]
    twins = ((row, *others) for row, others in found.twin_question.items())
    manifest = manifest_of(
        records,
        left,
        links=links,
        rules=rules.record(),
        funnel=funnel,
        masked=texts.counts,
        equivalents=found.record,
        apart={
            "joint answers": crossings(links.asked, splits, ids),
            "twin questions": crossings(twins, splits, ids),
        },
    )
    return Built(left, manifest, records.origin, unresolved)


@dataclass(frozen=True, eq=False)
class _Masked:
    """Masked texts of all tables."""

    answers: Bodies
    questions: Bodies
    subjects: Bodies
    versions: Sequence[Row]
    counts: Mapping[str, Mapping[str, int]]

    @property
    def citing(self) -> Iterable[Cited]:
        """What questions name, in their bodies and their subject lines."""
        return [*self.questions.cited, *self.subjects.cited]


def _texts_of(links: Links, house: House, rules: BuildRules, funnel: Funnel) -> _Masked:
    asked_on = days_of(links.questions)

    def read(texts: Sequence[str], days: Any, anchors: Sequence[Any] = ()) -> Bodies:
        return read_bodies(texts, house, anchors=anchors, days=days, rules=rules.citations, token=rules.token)

    answers = read([one.text for one in links.answers], days_of(links.answers), [one.anchors for one in links.answers])
    questions = read([one.text for one in links.questions], asked_on, [one.anchors for one in links.questions])
    subjects = read([one.subject for one in links.questions], asked_on)
    versions = versions_of(links, funnel)
    days = asked_on[[row for row, _ in versions]]
    crossed = read([version.text for _, version in versions], days)
    headed = read([version.subject for _, version in versions], days)
    return _Masked(
        answers,
        questions,
        subjects,
        xling_rows(links, versions, masked=crossed.masked, subjects=headed.masked),
        {
            "corpus": answers.counts,
            "queries": questions.counts,
            "subjects": subjects.counts,
            "queries_xling": crossed.counts,
            "subjects of queries_xling": headed.counts,
        },
    )


def _equivalents_of(links: Links, texts: _Masked, house: House, rules: BuildRules) -> Equivalents:
    return equivalents(
        Texts.of(texts.questions.masked),
        Texts.of([one.text for one in links.answers]),
        house,
        rules=rules.equivalents,
        cut=np.asarray([one.cut for one in links.answers], np.bool_),
        holding=np.asarray([one.holding for one in links.answers], np.bool_),
        answered_together=answered_together(links),
    )


def _tables(
    links: Links, texts: _Masked, *, edges: Edges, found: Equivalents, splits: Sequence[str | None]
) -> BuildTables:
    """All tables, and judgements for every task and split in the order of these."""
    split_of = {one.id: split for one, split in zip(links.questions, splits, strict=True)}
    judged = {**answer_judgements(links, found, splits), **edge_judgements(edges.meta, split_of)}
    return BuildTables(
        corpus=corpus_rows(links, texts.answers.masked),
        queries=query_rows(links, masked=texts.questions.masked, subjects=texts.subjects.masked, splits=splits),
        queries_xling=texts.versions,
        equivalents=equivalent_rows(links, found),
        precedent_meta=edges.meta,
        qrels={f"{task}_{split}": judged.get(f"{task}_{split}", []) for task in TASKS for split in SPLITS},
    )
