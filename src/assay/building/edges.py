"""Edges: a question, an earlier answer that its reply (or the question itself) names, and the tasks that ask for it.

Every citation that makes no edge is in the funnel under its reason; one that names no record of the collection is a row
of its own besides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from assay.building.citations import SOURCES, Citation
from assay.building.funnel import Funnel
from assay.building.links import Links, days_of
from assay.building.removals import Row

UNKNOWN, UNANSWERED = "names no record", "names a question without an answer"
OWN, LATE = "names itself or its joint group", "names an answer that is not older"
CONTEXT, ANSWERS_IT, REPEAT = "asked by a question of no task", "names an answer to the question", "repeat of an edge"
NOT_BEFORE_OWN, IN_NONE = "not older than the question's own answer", "in no task"
CITE, PRECEDENT, FOLLOWUP = ("cite", "citehc"), ("precedent", "precedenthc"), ("followup",)


class Cited(NamedTuple):
    """A text and what it names: row of its record, the text, its citations."""

    row: int
    text: str
    citations: Sequence[Citation]


@dataclass(frozen=True)
class Edges:
    """Citation edges, as rows of `precedent_meta`, and citations that name no record of the collection."""

    meta: Sequence[Row]
    unresolved: Sequence[Row]


@dataclass
class _Edge:
    """One edge while citations of the same pair are put together: the strongest source, a referral if any is one."""

    query: int
    doc: int
    found: Citation
    text: str
    best: Citation

    def add(self, one: Citation, text: str) -> None:
        """Takes a further citation of the pair in."""
        if SOURCES.index(one.source) < SOURCES.index(self.best.source):
            self.best = one
        if (one.referral, -SOURCES.index(one.source)) > (self.found.referral, -SOURCES.index(self.found.source)):
            self.found, self.text = one, text


@dataclass(frozen=True, eq=False)
class _Known:
    """The links, and what is looked up in them again and again."""

    links: Links
    funnel: Funnel
    place: Mapping[str, int]
    named: Mapping[str, int]
    asked_on: npt.NDArray[np.datetime64]
    said_on: npt.NDArray[np.datetime64]
    unresolved: list[Row] = field(default_factory=list)

    def target(self, citing: str, one: Citation, step: str) -> int:
        """The row of the question that a citation names, or -1; what names none is counted and kept as a row."""
        # A record that is there but has no answer is what is meant: no other reading of the id takes its place.
        named = next((id_ for id_ in one.ids if id_ in self.named or id_ in self.links.dropped), None)
        row = -1 if named is None else self.named.get(named, -1)
        if row >= 0:
            return row
        why = UNKNOWN if named is None else UNANSWERED
        said = named or one.ids[0]
        self.funnel.drop(step, why, f"{citing} > {said}")
        self.unresolved.append({"citing_id": citing, "cited": said, "source": one.source, "reason": why})
        return -1

    def grouped(self, question: int, others: Iterable[int]) -> bool:
        """Whether a question is one of others, or was answered together with one of them."""
        records = self.links.questions
        together = records[question].together
        return any(question == row or (together and together == records[row].together) for row in others)


def citation_edges(links: Links, *, replies: Iterable[Cited], questions: Iterable[Cited], funnel: Funnel) -> Edges:
    """The edges of all citations: a row for a question, an answer and the text that names it.

    A reply to several questions gives its edges to each. The cited answer is older than the reply and than the
    question's own answer for `cite`, older than the question for `precedent`, and so for `followup`, where the question
    itself names it. `…hc` takes referrals alone.

    Args:
        links: Questions and answers.
        replies: What replies name, by row.
        questions: What questions name, by row; a question may come more than once.
        funnel: Where citations that make no edge are counted.
    """
    known = _Known(
        links,
        funnel,
        {one.id: row for row, one in enumerate(links.questions)},
        links.named(),
        days_of(links.questions),
        days_of(links.answers),
    )
    meta = [*_of_replies(known, replies), *_of_questions(known, questions)]
    meta.sort(key=lambda row: (known.place[row["query_id"]], row["doc_id"], row["citing_id"]))
    return Edges(meta, known.unresolved)


def _of_replies(known: _Known, replies: Iterable[Cited]) -> Iterator[Row]:
    links, step = known.links, "citations in replies"
    answers = [one.id for one in links.answers]
    for reply, text, cited in replies:
        asked, citing = links.asked[reply], links.answers[reply].id
        edges: dict[tuple[int, int], _Edge] = {}
        for one in cited:
            question = known.target(citing, one, step)
            if question < 0:
                continue
            doc = links.answered[question][0]
            why = OWN if doc == reply or known.grouped(question, asked) else ""
            why = why or ("" if known.said_on[doc] < known.said_on[reply] else LATE)
            if why:
                known.funnel.drop(step, why, f"{citing} > {links.questions[question].id}")
                continue
            known.funnel.keep(step)
            for query in asked:
                _put(known, edges, _Edge(query, doc, one, text, one), citing=citing, step="edges from replies")
        for edge in edges.values():
            tasks = _tasks_of_reply(known, edge)
            if tasks:
                known.funnel.keep("edges from replies")
                yield {**_row(known, edge, citing, known.said_on[reply]), "tasks": tasks}
            else:
                known.funnel.drop(
                    "edges from replies", IN_NONE, f"{links.questions[edge.query].id} > {answers[edge.doc]}"
                )


def _tasks_of_reply(known: _Known, edge: _Edge) -> list[str]:
    """The tasks in which an edge from a reply is a judgement, in the order of tasks."""
    funnel, example = known.funnel, f"{known.links.questions[edge.query].id} > {known.links.answers[edge.doc].id}"
    tasks: list[str] = []
    for names, day, why in (
        (PRECEDENT, known.asked_on[edge.query], "not older than the question"),
        # A further reply may be later than the question's own answer, whose day is the cut-off.
        (CITE, known.said_on[known.links.answered[edge.query][0]], NOT_BEFORE_OWN),
    ):
        if known.said_on[edge.doc] < day:
            funnel.keep(f"edges of {names[0]}")
            tasks += names if edge.found.referral else names[:1]
        else:
            funnel.drop(f"edges of {names[0]}", why, example)
    return tasks


def _of_questions(known: _Known, questions: Iterable[Cited]) -> Iterator[Row]:
    links, step = known.links, "citations in questions"
    edges: dict[tuple[int, int], _Edge] = {}
    for query, text, cited in questions:
        citing = links.questions[query].id
        for one in cited:
            question = known.target(citing, one, step)
            if question < 0:
                continue
            doc = links.answered[question][0]
            why = OWN if doc in links.answered[query] or known.grouped(question, (query,)) else ""
            why = why or ("" if known.said_on[doc] < known.asked_on[query] else LATE)
            if why:
                known.funnel.drop(step, why, f"{citing} > {links.questions[question].id}")
                continue
            known.funnel.keep(step)
            _put(known, edges, _Edge(query, doc, one, text, one), citing=citing, step="edges from questions")
    for edge in edges.values():
        known.funnel.keep("edges from questions")
        row = _row(known, edge, links.questions[edge.query].id, None)
        yield {**row, "tasks": list(FOLLOWUP)}


def _put(known: _Known, edges: dict[tuple[int, int], _Edge], edge: _Edge, *, citing: str, step: str) -> None:
    """Adds an edge to those of its text, or takes it in with an earlier one of the pair."""
    links = known.links
    example = f"{citing} > {links.answers[edge.doc].id} for {links.questions[edge.query].id}"
    earlier = edges.get((edge.query, edge.doc))
    if links.questions[edge.query].context:
        known.funnel.drop(step, CONTEXT, example)
    elif edge.doc in links.answered[edge.query]:
        known.funnel.drop(step, ANSWERS_IT, example)
    elif earlier is not None:
        earlier.add(edge.found, edge.text)
        known.funnel.drop(step, REPEAT, example)
    else:
        edges[edge.query, edge.doc] = edge


def _row(known: _Known, edge: _Edge, citing: str, day: np.datetime64 | None) -> dict[str, Any]:
    """The row of `precedent_meta` but for its tasks."""
    links, found = known.links, edge.found
    return {
        "query_id": links.questions[edge.query].id,
        "doc_id": links.answers[edge.doc].id,
        "citing_id": citing,
        "source": edge.best.source,
        "form": edge.best.form,
        "referral": found.referral,
        "phrase": found.phrase,
        "in_footnote": found.note,
        "sentence": edge.text[slice(*found.sentence)],
        "query_date": str(known.asked_on[edge.query]),
        "citing_date": str(known.asked_on[edge.query] if day is None else day),
        "cited_date": str(known.said_on[edge.doc]),
    }
