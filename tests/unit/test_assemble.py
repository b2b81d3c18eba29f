"""Whole builds of made-up records: every task, every drop, and what is read back from files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.audits.dates_present import DatesPresent
from assay.audits.gold_eligible import GoldEligible
from assay.audits.manifest_true import ManifestTrue
from assay.building.assemble import BuildRules, assemble
from assay.building.built import CORPUS, EQUIVALENTS, META, QUERIES, TASKS, XLING, Built
from assay.building.citations import Anchor
from assay.building.funnel import Funnel
from assay.building.houses import EUROPEAN_PARLIAMENT, UK_PARLIAMENT
from assay.building.links import linked
from assay.building.question_rows import answered_together
from assay.building.records import AnswerRecord, Origin, QuestionRecord, Records, Version
from assay.errors import DuplicateIdError, FormatError, UsageError
from assay.formats import jsonl
from assay.sources import parlir

ORIGIN = Origin("made up", "nowhere", "1", "CC0-1.0", "Nobody.", "Nothing.", {"asked": "all"})
RULES = BuildRules(planted=20)
FEES = "The fees for small vessels are set each year by the port authority after a hearing of all its users."


def qid(number: int, year: int = 2020) -> str:
    return f"E-{9 if year < 2024 else 10}-{year}-{number:06d}"


def printed(number: int, year: int = 2020) -> str:
    return f"E-{number:06d}/{year}"


def refers(*numbers: int, year: int = 2020) -> str:
    to = ", ".join(printed(number, year) for number in numbers)
    return f"The Commission would refer the Honourable Member to its answer to Written Question {to}."


def asked(number: int, day: str, text: str | None = None, **more: Any) -> QuestionRecord:
    when = date.fromisoformat(day)
    text = f"What is planned for port {'x' * number} in the coming winter, and who will pay?" if text is None else text
    return QuestionRecord(qid(number, when.year), when, text, **more)


def said(number: int, day: str, text: str | None = None, *, to: Sequence[str] = (), **more: Any) -> AnswerRecord:
    when = date.fromisoformat(day)
    text = f"Port {'y' * number} gets what was promised to it by the council of ministers." if text is None else text
    return AnswerRecord(f"{qid(number)}-ASW", when, text, tuple(to) or (qid(number),), **more)


def built(
    questions: list[QuestionRecord], answers: list[AnswerRecord], rules: BuildRules = RULES, **more: Any
) -> Built:
    return assemble(Records(EUROPEAN_PARLIAMENT, ORIGIN, questions, answers), rules=rules, **more)


def drops(of: Built) -> dict[str, list[str]]:
    return {
        f"{step}: {reason}": drop["examples"]
        for step, one in of.manifest["funnel"].items()
        for reason, drop in one["dropped"].items()
    }


def judged(of: Built, task: str, split: str = "train") -> list[tuple[str, str]]:
    return [(query, doc) for query, doc, grade in (of.tables.qrels or {})[f"{task}_{split}"] if grade == 1]


def answer(number: int) -> str:
    return f"{qid(number)}-ASW"


def test_one_question_and_its_answer_row_by_row() -> None:
    question = asked(
        1,
        "2020-01-02",
        "See E-000007/2019.",
        subject="Follow-up to E-000007/2019",
        header="Question for written answer E-000001/2020",
        type="written",
        orig_lang="de",
        versions=(
            Version("en", "See."),
            Version("de", "Siehe E-000007/2019.", "Zu E-000007/2019", "u"),
            Version("fr", " "),
        ),
        other={"uin": "1"},
    )
    made = built([question], [said(1, "2020-02-03", "It is E-000001/2020.", institution="COM", other={"cut": False})])
    [reply], [row], [german] = made.tables.corpus, made.tables.queries, made.tables.queries_xling
    assert tuple(reply) == (*CORPUS, "cut")
    assert tuple(row) == (*QUERIES, "uin")
    assert tuple(german) == XLING
    assert list(reply.values()) == [
        answer(1),
        "It is [MASKED].",
        "It is E-000001/2020.",
        "2020-02-03",
        "COM",
        [qid(1)],
        None,
        None,
        False,
    ]
    assert {name: row[name] for name in ("subject", "text", "raw_text", "author", "answer", "split", "joint_size")} == {
        "subject": "Follow-up to [MASKED]",
        "text": "See [MASKED].",
        "raw_text": "See E-000007/2019.",
        "author": None,
        "answer": answer(1),
        "split": "train",
        "joint_size": 1,
    }
    assert list(german.values()) == [
        f"{qid(1)}-de",
        qid(1),
        "de",
        "Zu [MASKED]",
        "Siehe [MASKED].",
        "Siehe E-000007/2019.",
        "u",
    ]
    assert drops(made)["versions in other languages: in the language of the collection"] == [f"{qid(1)}-en"]
    assert drops(made)["versions in other languages: without a text"] == [f"{qid(1)}-fr"]
    assert made.manifest["languages"] == {"queries": {"de": 1}, "queries_xling": {"de": 1}}
    assert made.manifest["institutions"] == {"COM": 1}
    assert made.manifest["masking"]["masked"]["queries"] == {"ids": 1, "texts": 1}
    assert made.manifest["masking"]["planted"] == {"planted": 20, "found": 20}


def test_every_task_has_a_list_for_every_split() -> None:
    made = built([], [])
    assert made.tables.qrels == {f"{task}_{split}": [] for task in TASKS for split in ("train", "dev", "test")}
    assert made.manifest["masking"]["leaks"]["rate"] is None


def test_the_day_of_a_question_decides_on_its_split() -> None:
    days = ["2021-12-31", "2022-01-01", "2023-12-31", "2024-01-01"]
    questions = [asked(number, day) for number, day in enumerate(days, 1)]
    answers = [said(number, "2024-03-01", to=[one.id]) for number, one in enumerate(questions, 1)]
    made = built(questions, answers)
    assert [row["split"] for row in made.tables.queries] == ["train", "dev", "dev", "test"]
    assert made.manifest["splits"]["dev"] == {"after": "2021-12-31", "to": "2023-12-31"}
    other = built(questions, answers, replace(RULES, train_until=date(2022, 6, 1), dev_until=date(2022, 6, 1)))
    assert [row["split"] for row in other.tables.queries] == ["train", "train", "test", "test"]
    with pytest.raises(UsageError, match="train ends 2025-01-01, dev 2023-12-31"):
        BuildRules(train_until=date(2025, 1, 1))


def chain() -> tuple[list[QuestionRecord], list[AnswerRecord]]:
    """Questions 1 to 4, and a reply to 3 and 4 together that cites 1 (a referral) and 2 (a mention)."""
    questions = [asked(1, "2020-01-01"), asked(2, "2020-01-02"), asked(3, "2020-03-01"), asked(4, "2020-04-15")]
    text = f"{refers(1)} As stated in its answer to E-000002/2020, it acts."
    answers = [said(1, "2020-02-01"), said(2, "2020-04-01"), said(3, "2020-05-01", text, to=(qid(3), qid(4)))]
    return questions, answers


def test_a_joint_reply_gives_its_edges_to_each_question() -> None:
    made = built(*chain())
    assert judged(made, "precedent") == [(qid(3), answer(1)), (qid(4), answer(1)), (qid(4), answer(2))]
    assert judged(made, "precedenthc") == [(qid(3), answer(1)), (qid(4), answer(1))]
    both = [(qid(3), answer(1)), (qid(3), answer(2)), (qid(4), answer(1)), (qid(4), answer(2))]
    assert judged(made, "cite") == both
    assert judged(made, "citehc") == [both[0], both[2]]
    assert judged(made, "followup") == []
    assert judged(made, "answer") == [(qid(n), answer(min(n, 3))) for n in (1, 2, 3, 4)]
    assert [row["joint_size"] for row in made.tables.queries] == [1, 1, 2, 2]
    assert drops(made)["edges of precedent: not older than the question"] == [f"{qid(3)} > {answer(2)}"]
    mention = next(row for row in made.tables.precedent_meta if row["query_id"] == qid(3) and not row["referral"])
    assert tuple(mention) == META
    assert list(mention.values()) == [
        qid(3),
        answer(2),
        answer(3),
        "text",
        "slash",
        False,
        "As stated in",
        False,
        "As stated in its answer to E-000002/2020, it acts.",
        "2020-03-01",
        "2020-05-01",
        "2020-04-01",
        ["cite"],
    ]


def test_a_question_follows_up_on_what_its_body_or_its_subject_names() -> None:
    questions = [
        asked(1, "2020-01-01"),
        asked(2, "2020-01-02"),
        asked(3, "2020-03-01", "Further to E-000001/2020, why?", subject="Answer to E-000002/2020 and E-000001/2020"),
    ]
    made = built(questions, [said(1, "2020-02-01"), said(2, "2020-02-29"), said(3, "2020-05-01")])
    assert judged(made, "followup") == [(qid(3), answer(1)), (qid(3), answer(2))]
    assert judged(made, "cite") == judged(made, "precedent") == []
    first = made.tables.precedent_meta[0]
    assert (first["citing_id"], first["citing_date"], first["sentence"], first["tasks"]) == (
        qid(3),
        "2020-03-01",
        "Further to E-000001/2020, why?",
        ["followup"],
    )
    assert list(drops(made)) == ["edges from questions: repeat of an edge"]


def test_citations_that_make_no_edge_are_counted_by_reason() -> None:
    questions = [asked(n, "2020-01-01") for n in (1, 2, 3)]
    questions += [asked(4, "2020-03-01", f"Why does {printed(4)} differ from {printed(1)} and {printed(2)}?")]
    questions += [asked(5, "2020-01-01"), asked(6, "2020-01-05", context=True)]
    answers = [
        said(1, "2020-02-01"),
        said(2, "2020-03-01"),
        said(3, "2020-02-01", refers(3, 4, 1, 99, 5), to=(qid(3),)),
        said(4, "2020-06-01", refers(1, 2, 3, 4), to=(qid(4), qid(3))),
        said(6, "2020-06-01", refers(1)),
    ]
    made = built(questions, answers)
    assert drops(made) == {
        "questions linked: no answer": [qid(5)],
        "citations in replies: names itself or its joint group": [
            f"{answer(3)} > {qid(3)}",
            f"{answer(4)} > {qid(3)}",
            f"{answer(4)} > {qid(4)}",
        ],
        "citations in replies: names an answer that is not older": [
            f"{answer(3)} > {qid(4)}",
            f"{answer(3)} > {qid(1)}",
        ],
        "citations in replies: names no record": [f"{answer(3)} > {qid(99)}"],
        "citations in replies: names a question without an answer": [f"{answer(3)} > {qid(5)}"],
        "edges from replies: asked by a question of no task": [f"{answer(6)} > {answer(1)} for {qid(6)}"],
        "edges from replies: in no task": [f"{qid(3)} > {answer(1)}", f"{qid(3)} > {answer(2)}"],
        # A further reply is later than the question's own answer, which is of 1 February.
        "edges of precedent: not older than the question": [
            f"{qid(3)} > {answer(1)}",
            f"{qid(4)} > {answer(2)}",
            f"{qid(3)} > {answer(2)}",
        ],
        "edges of cite: not older than the question's own answer": [
            f"{qid(3)} > {answer(1)}",
            f"{qid(3)} > {answer(2)}",
        ],
        "citations in questions: names itself or its joint group": [f"{qid(4)} > {qid(4)}"],
        "citations in questions: names an answer that is not older": [f"{qid(4)} > {qid(2)}"],
    }
    assert made.unresolved == [
        {"citing_id": answer(3), "cited": qid(99), "source": "text", "reason": "names no record"},
        {"citing_id": answer(3), "cited": qid(5), "source": "text", "reason": "names a question without an answer"},
    ]


def test_a_repeated_edge_is_one_row_with_the_strongest_source_and_any_referral() -> None:
    text = (
        f"As stated in its answer to {printed(1)}, it acts. {refers(1)} "
        "See https://www.europarl.europa.eu/doceo/document/E-9-2020-000001_EN.html for all. Here."
    )
    link = Anchor(
        text.index("Here"), len(text) - 1, "https://www.europarl.europa.eu/doceo/document/E-9-2020-000001-ASW_EN.html"
    )
    made = built(
        [asked(1, "2020-01-01"), asked(2, "2020-03-01")],
        [said(1, "2020-02-01"), said(2, "2020-04-01", text, anchors=(link,))],
    )
    [row] = made.tables.precedent_meta
    assert (row["source"], row["referral"], row["phrase"]) == ("hyperlink", True, "See")
    assert drops(made) == {"edges from replies: repeat of an edge": [f"{answer(2)} > {answer(1)} for {qid(2)}"] * 3}
    assert made.tables.corpus[1]["text"].count("[MASKED]") == 4


def test_of_several_readings_of_an_id_the_first_that_exists_counts() -> None:
    # 2019 lies in two terms, and a number without a letter may be a written or a priority question.
    day = date(2019, 3, 1)
    older, newer, prior = (
        QuestionRecord(id_, day, "Why?") for id_ in ("E-8-2019-000007", "E-9-2019-000008", "P-8-2019-000009")
    )
    citing = QuestionRecord(
        qid(1), date(2020, 3, 1), "Further to Questions E-000007/2019, E-000008/2019 and to Question No 9/2019: why?"
    )
    answers = [AnswerRecord(f"a{n}", date(2019, 8, 1), "So.", (one.id,)) for n, one in enumerate((older, newer, prior))]
    made = built([older, newer, prior, citing], [*answers, said(1, "2020-04-01")])
    assert judged(made, "followup") == [(qid(1), "a0"), (qid(1), "a1"), (qid(1), "a2")]


def test_what_is_there_unanswered_is_what_an_id_means() -> None:
    asked_in = QuestionRecord("E-8-2019-000007", date(2019, 3, 1), "Why?")
    unanswered = QuestionRecord("E-9-2019-000007", date(2019, 10, 1), "Why?")
    citing = QuestionRecord(qid(1), date(2020, 3, 1), "Further to E-000007/2019: why?")
    made = built(
        [asked_in, unanswered, citing],
        [AnswerRecord("a", date(2019, 4, 1), "So.", (asked_in.id,)), said(1, "2020-04-01")],
    )
    assert judged(made, "followup") == []
    assert [row["cited"] for row in made.unresolved] == [unanswered.id]


def test_a_cycle_of_citations_does_not_survive_strict_days() -> None:
    questions = [asked(n, "2020-01-01") for n in (1, 2, 3)]
    days = ("2020-02-01", "2020-02-02", "2020-02-02")
    made = built(questions, [said(n, day, refers(n % 3 + 1)) for n, day in enumerate(days, 1)])
    # 1 names 2, 2 names 3 of its own day, 3 names 1: only the last is older.
    assert judged(made, "cite") == [(qid(3), answer(1))]
    assert made.manifest["funnel"]["citations in replies"]["dropped"]["names an answer that is not older"]["count"] == 2


def test_bad_records_are_left_out_whole() -> None:
    """An answer before its question, one to nothing, a question answered twice, a term that is none, a day to come."""
    questions = [asked(n, "2020-01-10") for n in (1, 2, 3, 4)]
    answers = [
        said(1, "2020-01-09"),
        said(2, "2020-02-01", "See E-77-2020-000001 and E-000001/3020, of no term."),
        said(3, "2020-02-01"),
        replace(said(3, "2020-03-01", f"{FEES} {FEES} {FEES} {refers(2)}"), id="second"),
        replace(said(3, "2020-03-01"), id="to nothing", answers=("E-9-2020-000777",)),
        said(4, "2040-01-01"),
    ]
    made = built(questions, answers, today=date(2026, 1, 1))
    assert [row["_id"] for row in made.tables.corpus] == [answer(2), answer(3), "second"]
    assert judged(made, "answer") == [(qid(2), answer(2)), (qid(3), answer(3))]
    assert judged(made, "answerlenient") == [(qid(2), answer(2)), (qid(3), answer(3)), (qid(3), "second")]
    assert made.manifest["noted"] == {"questions with several answers": {"count": 1, "examples": [qid(3)]}}
    # The second reply is later than the first one, whose day is the cut-off of `cite`: 2020-02-01, the day of the target.
    assert drops(made) == {
        "answers read: dated in the future": [answer(4)],
        "answers linked: dated before a question of it": [answer(1)],
        "answers linked: answers unknown questions only": ["to nothing"],
        "questions linked: no answer": [qid(1), qid(4)],
        "edges of precedent: not older than the question": [f"{qid(3)} > {answer(2)}"],
        "edges of cite: not older than the question's own answer": [f"{qid(3)} > {answer(2)}"],
        "edges from replies: in no task": [f"{qid(3)} > {answer(2)}"],
    }
    assert made.unresolved == []


def test_lenient_takes_equal_replies_but_never_one_that_says_nothing() -> None:
    questions = [asked(n, "2020-01-01") for n in range(1, 8)]
    answers = [
        said(1, "2020-02-01", FEES),
        said(2, "2020-02-02", FEES.replace(" ", "  ")),
        said(3, "2020-02-03", FEES, cut=True),
        said(4, "2020-02-04", refers(1)),
        said(5, "2020-02-05", refers(1)),
        said(6, "2020-02-06", FEES, holding=True),
        said(7, "2020-02-07"),
        replace(said(7, "2020-02-08", refers(1)), id="further, empty"),
        replace(said(7, "2020-02-09"), id="further"),
    ]
    made = built(questions, answers)
    lenient: dict[str, list[str]] = {}
    for query, doc in judged(made, "answerlenient"):
        lenient.setdefault(query, []).append(doc)
    own = {qid(n): [answer(n)] for n in range(1, 8)}
    assert lenient == own | {
        qid(1): [answer(1), answer(2)],
        qid(2): [answer(2), answer(1)],
        qid(7): [answer(7), "further"],
    }
    rows = {row["_id"]: row for row in made.tables.equivalents}
    assert tuple(rows[qid(1)]) == EQUIVALENTS
    assert rows[qid(1)]["duplicate_answer"] == [answer(2)]
    assert {query: row["boilerplate"] for query, row in rows.items() if row["boilerplate"]} == {
        qid(4): [answer(4)],
        qid(5): [answer(5)],
        qid(6): [answer(6)],
    }
    assert made.manifest["equivalents"]["answers cut short, nobody's equivalents"] == 1


def test_twins_and_joint_answers_across_splits_are_reported() -> None:
    same = "Who pays for the dredging of the inner harbour in the years to come, and on what legal ground?"
    questions = [
        asked(1, "2021-12-31", same),
        asked(2, "2022-01-01", same),
        asked(3, "2021-12-30"),
        asked(4, "2022-01-02"),
        asked(5, "2020-01-01", together="g"),
        asked(6, "2020-01-01", "And the outer one?", together="g"),
    ]
    answers = [said(n, "2022-03-01", to=[questions[n - 1].id]) for n in (1, 2, 5, 6)]
    answers += [said(3, "2022-03-01", to=(questions[2].id, questions[3].id))]
    made = built(questions, answers)
    ids = {one.id: one for one in questions}
    assert made.manifest["apart"] == {
        "joint answers": {"count": 1, "examples": [f"{questions[2].id} {questions[3].id}"]},
        "twin questions": {
            "count": 2,
            "examples": [f"{questions[2].id} {questions[3].id}", f"{questions[0].id} {questions[1].id}"],
        },
    }
    twins = {row["_id"]: row["twin_question"] for row in made.tables.equivalents}
    assert twins == {
        a.id: [b.id] for pair in zip(questions[::2], questions[1::2], strict=True) for a, b in (pair, pair[::-1])
    }
    assert set(twins) == set(ids)


def test_groups_of_a_source_and_joint_answers_hang_together() -> None:
    questions = [
        asked(1, "2020-01-01", together="g"),
        asked(2, "2020-01-01", together="g"),
        asked(3, "2020-01-01"),
        asked(4, "2020-01-01"),
    ]
    answers = [said(1, "2020-02-01"), said(2, "2020-02-01", to=(qid(2), qid(3))), said(4, "2020-02-01")]
    links = linked(Records(EUROPEAN_PARLIAMENT, ORIGIN, questions, answers), Funnel())
    labels = answered_together(links).tolist()
    assert labels[0] == labels[1] == labels[2] >= 0 > labels[3]


def test_a_context_question_is_there_for_its_answer_alone() -> None:
    questions = [asked(1, "2020-01-01", context=True, versions=(Version("de", "Warum?"),)), asked(2, "2020-03-01")]
    made = built(questions, [said(1, "2020-02-01"), said(2, "2020-04-01", refers(1))])
    assert [(row["_id"], row["split"]) for row in made.tables.queries] == [(qid(1), None), (qid(2), "train")]
    assert judged(made, "answer") == [(qid(2), answer(2))]
    assert judged(made, "cite") == [(qid(2), answer(1))]
    assert made.tables.queries_xling == []
    assert made.manifest["counts"]["no_split"] == 1


def test_versions_of_one_language_must_be_one() -> None:
    one = asked(1, "2020-01-01", versions=(Version("de", "Warum?"), Version("de", "Warum?"), Version("cs", "Proč?")))
    made = built([one], [said(1, "2020-02-01")])
    assert [row["_id"] for row in made.tables.queries_xling] == [f"{qid(1)}-cs", f"{qid(1)}-de"]
    with pytest.raises(DuplicateIdError, match="'E-9-2020-000001' has two versions in the language 'de'"):
        built([replace(one, versions=(Version("de", "Warum?"), Version("de", "Wie?")))], [said(1, "2020-02-01")])
    taken = replace(one, id=f"{qid(1)}-de", versions=())
    with pytest.raises(DuplicateIdError, match="is the id of a question"):
        built([one, taken], [said(1, "2020-02-01", to=(one.id, taken.id))])


@pytest.mark.parametrize(
    ("others", "what"),
    [
        (({"uin": "1"}, {}), r"its other columns are not uin"),
        (({"text": "1"}, {"text": "2"}), "'text' has the name of a fixed"),
    ],
)
def test_further_columns_are_the_same_in_each_record(others: tuple[dict[str, str], ...], what: str) -> None:
    questions = [asked(n, "2020-01-01", other=other) for n, other in enumerate(others, 1)]
    with pytest.raises(FormatError, match=what):
        built(questions, [said(1, "2020-02-01"), said(2, "2020-02-01")])


def test_another_token_is_masked_with_and_recorded() -> None:
    made = built(*chain(), replace(RULES, token="<id>"))
    assert "<id>" in made.tables.corpus[2]["text"]
    assert made.manifest["mask_token"] == made.manifest["parameters"]["build"]["token"] == "<id>"
    with pytest.raises(UsageError, match="mask token"):
        built(*chain(), replace(RULES, token="E-000001/2020"))


def test_what_a_text_still_gives_away_is_counted() -> None:
    made = built([asked(1, "2020-01-01", "Why was question 000001 - 2020 put?")], [said(1, "2020-02-01")])
    [leak] = made.manifest["masking"]["leaks"]["examples"]
    assert leak == {"in": qid(1), "text": "000001 - 2020", "record": qid(1)}
    assert made.manifest["masking"]["leaks"]["rate"] == 0.5


def test_a_british_number_is_found_under_what_texts_call_it() -> None:
    first = QuestionRecord("q1", date(2023, 12, 1), "Why?", cited_as="2023-24/5477")
    second = QuestionRecord("q2", date(2024, 1, 10), "Further to Question 5477, why?", cited_as="2023-24/9000")
    answers = [
        AnswerRecord("a1", date(2023, 12, 5), "So.", ("q1",)),
        AnswerRecord("a2", date(2024, 2, 1), "No.", ("q2",)),
    ]
    made = assemble(Records(UK_PARLIAMENT, ORIGIN, [first, second], answers), rules=RULES)
    assert judged(made, "followup", "test") == [("q2", "a1")]


def test_removed_records_leave_nothing_that_hangs_on_them() -> None:
    questions, answers = chain()
    made = built(questions, answers, removals={qid(4): "asked for", answer(2): "withdrawn"})
    assert [row["_id"] for row in made.tables.corpus] == [answer(1), answer(3)]
    rows = {row["_id"]: row for row in made.tables.queries}
    assert (rows[qid(2)]["answer"], rows[qid(3)]["joint_size"]) == (None, 1)
    assert judged(made, "cite") == [(qid(3), answer(1))]
    assert made.manifest["counts"]["qrels"]["answer_train"] == {"queries": 2, "pairs": 2}
    assert drops(made)["removals: queries: asked for"] == [qid(4)]


def test_what_a_removed_reply_cites_is_no_judgement() -> None:
    questions, answers = chain()
    answers[2] = replace(answers[2], text=f"{answers[2].text} {refers(99)}")
    questions[2] = replace(questions[2], text=f"Further to {printed(1)}: why?")
    made = built(questions, answers, removals={answer(3): "withdrawn"})
    assert judged(made, "followup") == [(qid(3), answer(1))]
    assert [judged(made, task) for task in ("cite", "citehc", "precedent", "precedenthc")] == [[]] * 4
    assert [row["citing_id"] for row in made.tables.precedent_meta] == [qid(3)]
    assert made.unresolved == []
    assert drops(made)["removals: precedent_meta: the reply that cites is removed"] == [answer(3)] * 4


def test_the_next_answer_takes_the_place_of_a_removed_one() -> None:
    """With its own text, its own equals, and its own day, before which `cite` may find nothing later."""
    other = "Nothing was decided about the port so far, for its council will meet again when the ice has gone."
    questions = [asked(n, "2020-01-10") for n in (1, 2, 3, 4)]
    answers = [
        said(1, "2020-02-01"),
        said(2, "2020-02-05", f"{FEES} {FEES} {FEES} {refers(1)}"),
        replace(said(2, "2020-01-20", other, holding=True), id="held"),
        replace(said(2, "2020-02-09", f"{refers(1)} {FEES} {other} {FEES}"), id="later"),
        said(3, "2020-02-05", FEES),
        replace(said(3, "2020-02-07", f"{other} {FEES}"), id="again"),
        said(4, "2020-02-05", FEES),
    ]
    whole = built(questions, answers)
    lenient = {qid(2): [answer(2), "later"], qid(3): [answer(3), answer(4), "again"], qid(4): [answer(4), answer(3)]}
    assert judged(whole, "answerlenient")[1:] == [(query, one) for query, found in lenient.items() for one in found]
    made = built(questions, answers, removals={answer(2): "asked for", answer(3): "asked for"})
    rows = {row["_id"]: row for row in made.tables.queries}
    assert [rows[qid(n)]["answer"] for n in (1, 2, 3, 4)] == [answer(1), "later", "again", answer(4)]
    assert judged(made, "answer") == [(qid(n), rows[qid(n)]["answer"]) for n in (1, 2, 3, 4)]
    assert judged(made, "answerlenient") == judged(made, "answer")
    assert [row["_id"] for row in made.tables.equivalents if row["duplicate_answer"]] == []
    assert drops(made)["removals: qrels answerlenient_train: equal to a removed reply alone"] == [
        f"{qid(3)} {answer(4)}"
    ]
    assert judged(made, "cite") == [(qid(2), answer(1))]


def test_the_next_answer_may_be_older_than_what_replies_cite() -> None:
    """A holding reply is the own answer where nothing else is left; its day is the cut-off of `cite` then."""
    questions = [asked(1, "2020-01-10"), asked(2, "2020-01-10")]
    answers = [
        said(1, "2020-02-01"),
        said(2, "2020-03-01", FEES),
        replace(said(2, "2020-01-20", "We are waiting.", holding=True), id="held"),
        replace(said(2, "2020-02-20", refers(1), holding=True), id="held again"),
    ]
    assert judged(built(questions, answers), "cite") == [(qid(2), answer(1))]
    made = built(questions, answers, removals={answer(2): "asked for"})
    assert {row["_id"]: row["answer"] for row in made.tables.queries}[qid(2)] == "held"
    assert (judged(made, "cite"), made.tables.precedent_meta) == ([], [])
    late = "removals: qrels cite_train: not older than the question's own answer"
    assert drops(made)[late] == [f"{qid(2)} {answer(1)}"]


def test_the_funnel_of_the_source_goes_on_and_is_left_as_it_was() -> None:
    funnel = Funnel()
    funnel.drop("pages", "empty", "x")
    records = Records(EUROPEAN_PARLIAMENT, ORIGIN, *chain(), funnel)
    made = assemble(records, rules=RULES)
    assert next(iter(made.manifest["funnel"])) == "pages"
    assert list(funnel.steps) == ["pages"]


@st.composite
def some_records(draw: st.DrawFn) -> tuple[list[QuestionRecord], list[AnswerRecord]]:
    """Up to eight questions and replies that cite, repeat and answer at random."""
    n = draw(st.integers(1, 8))
    number = st.integers(1, n)
    day = st.dates(date(2020, 1, 1), date(2020, 3, 31)).map(str)
    questions = [
        asked(one, draw(day), draw(st.sampled_from([None, FEES, f"Further to {printed(draw(number))}: why?"])))
        for one in range(1, n + 1)
    ]
    answers = [
        said(
            one,
            draw(st.dates(date(2020, 2, 1), date(2020, 6, 1)).map(str)),
            draw(st.sampled_from([FEES, refers(draw(number), draw(number)), None])),
            to=[qid(draw(number)) for _ in range(draw(st.integers(1, 3)))],
            holding=draw(st.booleans()),
        )
        for one in range(1, n + 3)
    ]
    return questions, answers


@settings(deadline=None, max_examples=25)
@given(some_records(), st.randoms(use_true_random=False))
def test_the_order_of_records_and_a_second_build_change_nothing(
    records: tuple[list[QuestionRecord], list[AnswerRecord]], random: Any
) -> None:
    first = built(*records)
    again, shuffled = built(*records), built(*(random.sample(part, len(part)) for part in records))
    assert vars(again) == vars(first) == vars(shuffled)
    assert json.dumps(again.manifest) == json.dumps(first.manifest)


@settings(deadline=None, max_examples=25)
@given(some_records())
def test_gold_is_always_older_than_its_cut_off(records: tuple[list[QuestionRecord], list[AnswerRecord]]) -> None:
    made = built(*records)
    dated = {row["_id"]: row["date"] for row in made.tables.corpus}
    asks = {row["_id"]: row for row in made.tables.queries}
    for task in ("precedent", "precedenthc", "followup"):
        assert all(dated[doc] < asks[query]["date"] for query, doc in judged(made, task))
    for task in ("cite", "citehc"):
        assert all(dated[doc] < dated[asks[query]["answer"]] for query, doc in judged(made, task))
    assert len(judged(made, "answer")) == len(asks)
    links = made.manifest["funnel"]["answers linked"]
    assert links["kept"] == len(dated)


def stored(made: Built, folder: Path) -> None:
    """The files that the layout reads."""
    tables = made.tables
    for name in ("corpus", "queries", "queries_xling", "equivalents", "precedent_meta"):
        if getattr(tables, name):
            jsonl.write_rows(getattr(tables, name), folder / f"{name}.jsonl")
    (folder / "qrels").mkdir()
    for name, pairs in (tables.qrels or {}).items():
        lines = "".join(f"{query}\t0\t{doc}\t{grade}\n" for query, doc, grade in pairs)
        (folder / "qrels" / f"{name}.tsv").write_text(lines, "utf-8")
    jsonl.write_object(made.manifest, folder / "build_manifest.json")


def test_what_is_built_is_what_is_loaded(tmp_path: Path) -> None:
    questions, answers = chain()
    questions[3] = replace(questions[3], text=f"Further to {printed(1)}: why?", versions=(Version("de", "Warum?"),))
    questions += [asked(5, "2024-02-01", context=True), asked(6, "2023-01-01", FEES), asked(7, "2023-01-02", FEES)]
    answers += [said(n, "2024-03-01", FEES, to=[question.id]) for n, question in enumerate(questions[4:], 5)]
    made = built(questions, answers)
    stored(made, tmp_path)
    collection = parlir.load(tmp_path)
    for name, pairs in (made.tables.qrels or {}).items():
        task, _, split = name.rpartition("_")
        if pairs:
            assert sorted(collection.tasks[task][split].qrels.triples()) == sorted(pairs)
        else:
            assert split not in collection.tasks.get(task, {})
    assert (collection.name, collection.licence, collection.revision) == ("made up", "CC0-1.0", "1")
    assert [len(collection.passages), collection.counts["queries"]] == [6, 7]
    assert collection.counts["queries without a split, in no task"] == made.manifest["counts"]["no_split"] == 1
    assert collection.counts["citations in precedent_meta"] == made.manifest["counts"]["citations"] == 5
    assert len(collection.tied["twin_question"]) == 4
    ties = collection.tasks["answer"]["dev"].ties
    assert ties is not None
    assert len(np.unique(ties[[4, 5]])) == 1
    findings = [
        finding for audit in (GoldEligible(), DatesPresent(), ManifestTrue()) for finding in audit.inspect(collection)
    ]
    assert [finding for finding in findings if finding.verdict not in ("ok", "skipped")] == []
