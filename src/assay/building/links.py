"""Links: which reply answers which question, by the source's own relation and never by the look of an id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import date
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from assay.building.funnel import Funnel
from assay.building.records import AnswerRecord, QuestionRecord, Records
from assay.errors import DuplicateIdError

READ_QUESTIONS, READ_ANSWERS = "questions read", "answers read"
LINK_ANSWERS, LINK_QUESTIONS = "answers linked", "questions linked"


@dataclass(frozen=True, eq=False)
class Links:
    """Questions that have an answer, and the replies to them.

    Attributes:
        questions: By date, then id, whatever the order in which the source gave them; all are dated.
        answers: The same of the replies.
        asked: Per answer the rows of its questions, in the source's order.
        answered: Per question the rows of its answers: its own one, then the others by date, holding replies last.
        dropped: Questions that the source has and the collection has not, as texts name them.
        noted: What was kept and is worth a look, with the ids: questions answered twice, links to absent questions.
    """

    questions: Sequence[QuestionRecord]
    answers: Sequence[AnswerRecord]
    asked: Sequence[tuple[int, ...]]
    answered: Sequence[tuple[int, ...]]
    dropped: frozenset[str] = frozenset()
    noted: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def named(self) -> dict[str, int]:
        """The row of each question by the id under which texts cite it; the first one's where several share one."""
        place: dict[str, int] = {}
        for row, one in enumerate(self.questions):
            place.setdefault(one.cited_as or one.id, row)
        return place

    def joint_size(self, question: int) -> int:
        """How many questions the own answer of a question replies to."""
        return len(self.asked[self.answered[question][0]])


def days_of(records: Iterable[QuestionRecord] | Iterable[AnswerRecord]) -> npt.NDArray[np.datetime64]:
    """The days of records, datetime64[D]; NaT where one has none.

    Example:
        >>> days_of([AnswerRecord("a", date(2020, 1, 2), "So.")]).astype(str).tolist()
        ['2020-01-02']
    """
    return np.asarray([record.date for record in records], "datetime64[D]")


def linked(records: Records, funnel: Funnel, *, today: date | None = None) -> Links:
    """The links of a source's records; every record left out is in the funnel under its reason.

    The own answer of a question is the earliest that is no holding reply, or the earliest where all are; of two of one
    day, the one with the lower id.

    Args:
        records: Questions and answers in any order.
        funnel: Where drops are counted.
        today: Records of a later day are dropped as `dated in the future`; None for no such look.

    Raises:
        DuplicateIdError: Two different records have one id.

    Example:
        >>> from assay.building.houses import EUROPEAN_PARLIAMENT
        >>> from assay.building.records import Origin
        >>> asked = [QuestionRecord("q", date(2020, 1, 1), "Why?"), QuestionRecord("r", date(2020, 1, 1), "How?")]
        >>> said = [AnswerRecord("a", date(2020, 2, 1), "So.", ("q",))]
        >>> said += [AnswerRecord("b", date(2019, 1, 1), "No.", ("r",))]
        >>> funnel = Funnel()
        >>> found = linked(Records(EUROPEAN_PARLIAMENT, Origin(*["-"] * 6), asked, said), funnel)
        >>> [one.id for one in found.questions], funnel.dropped("answers linked", "dated before a question of it")
        (['q'], 1)
    """
    questions = _in_order(records.questions, funnel, READ_QUESTIONS, today)
    answers = _in_order(records.answers, funnel, READ_ANSWERS, today)
    asked_on, said_on = days_of(questions), days_of(answers)
    given = {one.id: one.cited_as or one.id for one in records.questions}
    place = {one.id: row for row, one in enumerate(questions)}
    dropped: dict[str, list[str]] = {}
    absent: list[str] = []
    kept: list[tuple[AnswerRecord, tuple[int, ...]]] = []
    for answer, day in zip(answers, said_on, strict=True):
        named = dict.fromkeys(answer.answers)
        rows = tuple(place[id_] for id_ in named if id_ in place)
        if not named:
            dropped.setdefault("answers nothing", []).append(answer.id)
        elif not rows:
            known = any(id_ in given for id_ in named)
            why = "answers only questions that were dropped" if known else "answers unknown questions only"
            dropped.setdefault(why, []).append(answer.id)
        elif day < asked_on[list(rows)].max():
            dropped.setdefault("dated before a question of it", []).append(answer.id)
        else:
            kept.append((answer, rows))
            absent += [f"{answer.id} > {id_}" for id_ in named if id_ not in place]
    _count(funnel, LINK_ANSWERS, len(kept), dropped)
    return _both_ways(questions, kept, funnel, given, absent)


_R = TypeVar("_R", QuestionRecord, AnswerRecord)


def _in_order(records: Sequence[_R], funnel: Funnel, step: str, today: date | None) -> list[_R]:
    """Records by date and id, each once; undated ones and those of the future are dropped."""
    seen: dict[str, _R] = {}
    dropped: dict[str, list[str]] = {}
    for record in sorted(records, key=lambda one: (one.date or date.min, one.id)):
        first = seen.get(record.id)
        if first is not None and first != record:
            other = [one.name for one in fields(first) if getattr(first, one.name) != getattr(record, one.name)]
            raise DuplicateIdError(
                f"{step}: two records have the id {record.id!r}, one of {first.date} that begins {first.text[:40]!r},"
                f" one of {record.date} that begins {record.text[:40]!r}; they differ in {', '.join(other)}: keep one"
            )
        if first is not None:
            dropped.setdefault("the same record once more", []).append(record.id)
        seen[record.id] = record
    kept = []
    for record in seen.values():
        if record.date is None:
            dropped.setdefault("undated", []).append(record.id)
        elif today is not None and record.date > today:
            dropped.setdefault("dated in the future", []).append(record.id)
        else:
            kept.append(record)
    _count(funnel, step, len(kept), dropped)
    return kept


def _both_ways(
    questions: list[QuestionRecord],
    kept: list[tuple[AnswerRecord, tuple[int, ...]]],
    funnel: Funnel,
    given: Mapping[str, str],
    absent: list[str],
) -> Links:
    """The links of kept answers and of the questions that have one."""
    answered: list[list[int]] = [[] for _ in questions]
    for row, (_, rows) in enumerate(kept):
        for question in rows:
            answered[question].append(row)
    left = [row for row, replies in enumerate(answered) if replies]
    bare = [questions[row].id for row, replies in enumerate(answered) if not replies]
    _count(funnel, LINK_QUESTIONS, len(left), {"no answer": bare})
    place = {row: new for new, row in enumerate(left)}
    # Answers are in the order of their days: only holding replies have to step back.
    own_first = [tuple(sorted(answered[row], key=lambda at: kept[at][0].holding)) for row in left]
    answered_twice = [questions[row].id for row in left if len(answered[row]) > 1]
    held = [questions[row].id for row, own in zip(left, own_first, strict=True) if kept[own[0]][0].holding]
    shared = Counter(given[questions[row].id] for row in left)
    noted = {
        "ids in texts that several questions bear, the first is meant": [id_ for id_, n in shared.items() if n > 1],
        "links to questions that are not there": absent,
        "questions with several answers": answered_twice,
        "questions with nothing but holding replies": held,
    }
    return Links(
        [questions[row] for row in left],
        [answer for answer, _ in kept],
        [tuple(place[row] for row in rows) for _, rows in kept],
        own_first,
        frozenset(given.values()).difference(given[questions[row].id] for row in left),
        {name: ids for name, ids in noted.items() if ids},
    )


def _count(funnel: Funnel, step: str, kept: int, dropped: Mapping[str, Sequence[str]]) -> None:
    funnel.keep(step, kept)
    for reason, ids in dropped.items():
        funnel.drop(step, reason, ids)
