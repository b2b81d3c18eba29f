"""Links between questions and answers: by the source's relation, every drop counted."""

from __future__ import annotations

from datetime import date

import pytest

from assay.building.funnel import Funnel
from assay.building.houses import EUROPEAN_PARLIAMENT
from assay.building.links import LINK_ANSWERS, LINK_QUESTIONS, READ_ANSWERS, READ_QUESTIONS, Links, linked
from assay.building.records import AnswerRecord, Origin, QuestionRecord, Records
from assay.errors import DuplicateIdError

ORIGIN = Origin("made up", "nowhere", "1", "CC0-1.0", "Nobody.", "Nothing.")


def asked(id_: str, day: str | None = "2020-01-01", text: str = "Why?", *, cited_as: str = "") -> QuestionRecord:
    return QuestionRecord(id_, day and date.fromisoformat(day), text, cited_as=cited_as)  # type: ignore[arg-type]


def said(
    id_: str, to: tuple[str, ...], day: str | None = "2020-02-01", text: str = "So.", *, holding: bool = False
) -> AnswerRecord:
    return AnswerRecord(id_, day and date.fromisoformat(day), text, to, holding=holding)  # type: ignore[arg-type]


def links_of(
    questions: list[QuestionRecord], answers: list[AnswerRecord], *, today: date | None = None
) -> tuple[Links, Funnel]:
    funnel = Funnel()
    return linked(Records(EUROPEAN_PARLIAMENT, ORIGIN, questions, answers), funnel, today=today), funnel


def ids(links: Links) -> tuple[list[str], list[str]]:
    return [one.id for one in links.questions], [one.id for one in links.answers]


def test_an_id_that_looks_like_the_questions_links_nothing() -> None:
    links, funnel = links_of([asked("E-1"), asked("E-2")], [said("E-1-ASW", ("E-2",))])
    assert ids(links) == (["E-2"], ["E-1-ASW"])
    assert funnel.record()[LINK_QUESTIONS]["dropped"] == {"no answer": {"count": 1, "examples": ["E-1"]}}
    assert links.dropped == {"E-1"}


def test_a_joint_answer_is_the_own_answer_of_each_of_its_questions() -> None:
    links, _ = links_of([asked("q"), asked("r"), asked("s")], [said("b", ("s", "q", "gone", "q")), said("a", ("r",))])
    assert ids(links) == (["q", "r", "s"], ["a", "b"])
    assert links.asked == [(1,), (2, 0)]
    assert links.answered == [(1,), (0,), (1,)]
    assert [links.joint_size(row) for row in range(3)] == [2, 1, 2]
    assert links.noted == {"links to questions that are not there": ["b > gone"]}


def test_the_own_answer_is_the_earliest_that_is_no_holding_reply() -> None:
    answers = [
        said("late", ("q",), "2020-05-01"),
        said("held", ("q", "r"), "2020-01-05", holding=True),
        said("z", ("q",), "2020-03-01"),
        said("y", ("q",), "2020-03-01"),
    ]
    links, _ = links_of([asked("q"), asked("r")], answers)
    by_question = [[links.answers[row].id for row in rows] for rows in links.answered]
    assert by_question == [["y", "z", "late", "held"], ["held"]]
    assert links.noted["questions with several answers"] == ["q"]
    assert links.noted["questions with nothing but holding replies"] == ["r"]


def test_every_answer_that_cannot_be_used_is_counted_under_its_reason() -> None:
    questions = [asked("q"), asked("r", "2020-02-02"), asked("undated", None)]
    answers = [
        said("good", ("q",)),
        said("same day", ("r",), "2020-02-02"),
        said("to nothing", ()),
        said("to nobody", ("x", "y")),
        said("to a dropped one", ("undated", "x")),
        said("too early", ("q", "r"), "2020-02-01"),
        said("no day", ("q",), None),
        said("to come", ("q",), "2031-01-01"),
    ]
    links, funnel = links_of(questions, answers, today=date(2030, 1, 1))
    assert ids(links) == (["q", "r"], ["good", "same day"])
    record = funnel.record()
    assert {step: record[step]["kept"] for step in record} == {
        READ_QUESTIONS: 2,
        READ_ANSWERS: 6,
        LINK_ANSWERS: 2,
        LINK_QUESTIONS: 2,
    }
    assert {
        (step, reason): drop["examples"] for step, one in record.items() for reason, drop in one["dropped"].items()
    } == {
        (READ_QUESTIONS, "undated"): ["undated"],
        (READ_ANSWERS, "undated"): ["no day"],
        (READ_ANSWERS, "dated in the future"): ["to come"],
        (LINK_ANSWERS, "answers nothing"): ["to nothing"],
        (LINK_ANSWERS, "answers unknown questions only"): ["to nobody"],
        (LINK_ANSWERS, "answers only questions that were dropped"): ["to a dropped one"],
        (LINK_ANSWERS, "dated before a question of it"): ["too early"],
    }


def test_without_a_today_no_day_is_too_late() -> None:
    links, _ = links_of([asked("q", "2999-01-01")], [said("a", ("q",), "2999-01-01")])
    assert ids(links) == (["q"], ["a"])


def test_a_record_given_twice_is_there_once() -> None:
    links, funnel = links_of([asked("q"), asked("q")], [said("a", ("q",))] * 3)
    assert ids(links) == (["q"], ["a"])
    assert funnel.dropped(READ_QUESTIONS, "the same record once more") == 1
    assert funnel.dropped(READ_ANSWERS, "the same record once more") == 2


@pytest.mark.parametrize(
    ("questions", "answers", "what"),
    [
        ([asked("q"), asked("q", text="How?")], [], r"'Why\?'.*'How\?'.*differ in text"),
        ([asked("q"), asked("q", "2020-01-02")], [], "2020-01-01.*2020-01-02.*differ in date"),
        ([asked("q"), asked("q", None)], [], "'q', one of None.*one of 2020-01-01.*differ in date"),
        ([asked("q")], [said("a", ("q",)), said("a", ("r",))], "'a'.*differ in answers"),
    ],
)
def test_two_different_records_with_one_id_are_an_error(
    questions: list[QuestionRecord], answers: list[AnswerRecord], what: str
) -> None:
    with pytest.raises(DuplicateIdError, match=what):
        links_of(questions, answers)


def test_ids_that_texts_cannot_tell_apart_are_noted() -> None:
    questions = [asked("c", cited_as="7"), asked("b", cited_as="7"), asked("a")]
    links, _ = links_of(questions, [said("x", ("a", "b", "c"))])
    assert links.named() == {"a": 0, "7": 1}
    assert links.noted == {"ids in texts that several questions bear, the first is meant": ["7"]}


def test_no_records_make_no_links() -> None:
    links, funnel = links_of([], [])
    assert (links.questions, links.answers, links.noted) == ([], [], {})
    assert funnel.record()[LINK_ANSWERS]["in"] == 0
