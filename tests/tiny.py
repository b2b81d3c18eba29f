"""Two tiny collections as tasks in memory, and tasks and runs made from a few lines.

`chunk_task()` is prose cut into chunks with fragments as gold; `dated_task()` is dated answers under an as-of
rule; `task_of` makes any other. All texts are made up. Tests import this module as `tiny`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from assay.fragment import Fragments
from assay.ids import Ids
from assay.passage import Passages
from assay.qrels import Qrels
from assay.query import Queries
from assay.span import Spans
from assay.task import Task
from assay.texts import Texts


def days(dates: Iterable[str | None]) -> np.ndarray:
    """datetime64[D], NaT for None."""
    return np.array([d or "NaT" for d in dates], "datetime64[D]")


def task_of(
    judgements: Iterable[tuple[str, str, int]],
    passages: Iterable[str] | Mapping[str, str | None],
    *,
    asked: Mapping[str, str] | None = None,
    queries: Iterable[str] | None = None,
    **rest: Any,
) -> Task:
    """A task over passages given as ids, or as ids with dates; `asked` gives queries their as-of day.

    The pool is `queries`, or else the judged queries in order. An id is its own text.
    """
    qrels = Qrels.of(judgements)
    dates = days(passages.values()) if isinstance(passages, Mapping) else None
    listed, pool = list(passages), list(queries if queries is not None else qrels.queries)
    cutoffs = None if asked is None else days(asked.get(q) for q in pool)
    return Task(
        name=rest.pop("name", "tiny"),
        split=rest.pop("split", "test"),
        pool=Queries(Ids.of(pool), {"plain": Texts.of(pool)}, cutoffs, rest.pop("columns", {})),
        passages=Passages(
            Ids.of(listed), {"plain": Texts.of(listed)}, dates=dates, candidate=rest.pop("candidate", None)
        ),
        qrels=qrels,
        asked=cutoffs,
        **rest,
    )


DOCUMENTS = {
    "ferry": (
        "Ferries to the islands",
        [
            "The ferry leaves at eight from the east quay.",
            "It carries forty cars and two hundred passengers.",
            "Residents pay half the fare on weekdays.",
            "Dogs travel free on the open deck.",
        ],
    ),
    "school": (
        "School meals",
        [
            "Every pupil gets a hot lunch at noon.",
            "Parents apply for free meals before the term starts.",
            "The kitchen avoids nuts and lists every ingredient.",
            "A meal costs three pounds for those who pay.",
        ],
    ),
    "garden": (
        "The botanic garden",
        [
            "The garden opens at nine and closes at dusk.",
            "Its oldest tree is a mulberry from 1720.",
            "Members enter free and bring one guest.",
            "The glass house holds orchids and a giant lily.",
        ],
    ),
    "library": (
        "Borrowing books",
        [
            "A library card is free for residents.",
            "Books may be kept for three weeks.",
            "Late books cost ten pence a day.",
            "The reading room closes at eight.",
        ],
    ),
    "bridge": (
        "The swing bridge",
        [
            "The bridge swings open for tall ships twice a day.",
            "Cars wait about ten minutes each time.",
            "It was built in 1898 by local smiths.",
            "Repairs close it every February.",
        ],
    ),
}

CHUNK_QUERIES = {
    "f1": "What do residents pay for the ferry?",
    "f2": "How much is a school meal and who gets it free?",
    "f3": "When does the garden open?",
    "f4": "How long may I keep a book?",
    "f5": "When was the bridge built?",
    "f6": "Is there a cinema?",
}

# (query, document, words of the document that answer it, grade)
QUOTES = [
    ("f1", "ferry", "Residents pay half the fare", 2),
    ("f2", "school", "A meal costs three pounds", 2),
    ("f2", "school", "apply for free meals before the term starts. The kitchen", 1),
    ("f3", "garden", "opens at nine", 1),
    ("f4", "library", "three weeks", 1),
    ("f5", "bridge", "built in 1898", 1),
]


def chunk_task(**changes: Any) -> Task:
    """Twenty chunks of five documents (a sentence each, ids like `ferry-0`), six queries, no dates.

    Gold is projected from `QUOTES` by overlap of one character; the second fragment of `f2` lies over two
    chunks; `f6` is judged (grade 0) and has no relevant passage.
    """
    names = list(DOCUMENTS)
    ids, texts, rows = [], [], []
    for code, (name, (_, sentences)) in enumerate(DOCUMENTS.items()):
        start = 0
        for number, sentence in enumerate(sentences):
            ids.append(f"{name}-{number}")
            texts.append(sentence)
            rows.append((code, start, start + len(sentence)))
            start += len(sentence) + 1
    whole = {name: " ".join(sentences) for name, (_, sentences) in DOCUMENTS.items()}
    queries = Ids.of(CHUNK_QUERIES)
    gold = [(names.index(d), whole[d].index(quote), whole[d].index(quote) + len(quote)) for _, d, quote, _ in QUOTES]
    grades: dict[tuple[str, str], int] = {}
    for (query, _, _, grade), (document, start, end) in zip(QUOTES, gold):
        for id_, (other, low, high) in zip(ids, rows):
            if document == other and min(end, high) - max(start, low) >= 1:
                grades[query, id_] = max(grade, grades.get((query, id_), 0))
    given: dict[str, Any] = {
        "name": "chunks",
        "split": "test",
        "pool": Queries(
            queries,
            {"plain": Texts.of(CHUNK_QUERIES.values())},
            columns={"topic": Texts.of(["travel", "school", "leisure", "leisure", "travel", "leisure"])},
        ),
        "passages": Passages(
            Ids.of(ids),
            {"plain": Texts.of(texts), "coref": Texts.of(texts)},
            parents=Ids.of(names),
            spans=Spans.of(*rows),
            position=np.tile(np.arange(4, dtype=np.int32), len(names)),
            titles=Texts.of(title for title, _ in DOCUMENTS.values()),
        ),
        "qrels": Qrels.of([(q, p, g) for (q, p), g in grades.items()] + [("f6", "garden-0", 0)]),
        "views": ("text:plain", "text:coref", "title", "parent", "position", "span"),
        "fragments": Fragments(
            queries,
            Ids.of(names),
            np.array([queries.code(q) for q, *_ in QUOTES], np.int32),
            Spans.of(*gold),
            np.array([grade for *_, grade in QUOTES], np.int32),
            Texts.of(quote for _, _, quote, _ in QUOTES),
        ),
    }
    return Task(**(given | changes))


# id, day of publication, text, the question that it replied to
ANSWERS: list[tuple[str, str | None, str, str | None]] = [
    ("a01", "2021-01-11", "The grant for rural buses was doubled in the autumn budget.", "q01"),
    ("a02", "2021-02-15", "Sewage spills are recorded by monitors at every outfall.", "q02"),
    ("a03", "2021-03-08", "The dental contract is under review.", "q03"),
    ("a04", "2021-03-08", "I refer to the answer on dental care given today.", "q04"),
    ("a05", "2021-06-21", "Rural bus routes are for councils to decide.", "q05"),
    ("a06", "2021-09-13", "Monitors now cover nine in ten outfalls.", "q06"),
    ("a07", "2022-01-17", "The dental contract was changed in January.", "q07"),
    ("a08", "2022-02-14", "Fares on rural buses are capped at two pounds.", "q08"),
    ("a09", "2022-05-09", "Fines for sewage spills rose to thirty million pounds.", "q09"),
    ("a10", "2022-10-03", "The fare cap was extended to the spring.", "q10"),
    ("a11", "2023-01-23", "Dentists receive a higher payment for new patients.", "q11"),
    ("a12", "2023-03-06", "The fare cap ends in October.", "q12"),
    ("b01", "2020-11-02", "Flood barriers were inspected in October.", None),
    ("b02", "2020-12-07", "Flood barriers  were inspected in October.", None),
    ("b03", "2021-07-05", "Broadband reaches most villages.", None),
    ("b04", "2022-07-04", "Heat pumps are eligible for a grant.", None),
    ("b05", "2022-07-04", "Heat pumps are eligible for a grant. ", None),
    ("b06", "2023-05-15", "The review of flood barriers is complete.", None),
    ("u01", None, "Fares on rural buses were discussed with the councils.", None),
    ("u02", None, "Outfalls are listed on a map.", None),
]

# id, day asked, text, subject
QUESTIONS = [
    ("q01", "2021-01-04", "What support is there for rural buses?", "transport"),
    ("q02", "2021-02-08", "How are sewage spills recorded?", "water"),
    ("q03", "2021-03-01", "When will the dental contract change?", "health"),
    ("q04", "2021-03-01", "When will the dental contract be changed?", "health"),
    ("q05", "2021-06-14", "Who decides on rural bus routes?", "transport"),
    ("q06", "2021-09-06", "How many outfalls have monitors for sewage spills?", "water"),
    ("q07", "2022-01-10", "Has the dental contract changed?", "health"),
    ("q08", "2022-02-07", "What do rural buses cost?", "transport"),
    ("q09", "2022-05-02", "What are the fines for sewage spills?", "water"),
    ("q10", "2022-09-26", "Will the fare cap on buses go on?", "transport"),
    ("q11", "2023-01-16", "How are dentists paid for new patients?", "health"),
    ("q12", "2023-02-27", "When does the fare cap on buses end?", "transport"),
]

CITED = [
    ("q05", "a01", 1),
    ("q06", "a02", 1),
    ("q07", "a03", 1),
    ("q08", "a01", 1),
    ("q08", "a05", 1),
    ("q09", "a02", 1),
    ("q09", "a06", 1),
    ("q10", "a08", 1),
    ("q11", "a03", 1),
    ("q11", "a07", 1),
    ("q12", "a08", 1),
    ("q12", "a10", 1),
]


def dated_task(**changes: Any) -> Task:
    """Twenty answers (two of them undated), twelve questions, eight of them judged; cited earlier answers are gold.

    Answers must be dated before the day of the question. `b01`/`b02` and `b04`/`b05` are equivalent texts;
    `q03`/`q04` and `q10`/`q12` are declared ties. Answers `a01` to `a12` link to their questions.
    """
    asked = days(day for _, day, _, _ in QUESTIONS)
    queries = Ids.of(q for q, *_ in QUESTIONS)
    linked = [-1 if q is None else queries.code(q) for *_, q in ANSWERS]
    classes = np.arange(len(ANSWERS))
    classes[13], classes[16] = 12, 15
    given: dict[str, Any] = {
        "name": "questions/precedent",
        "split": "test",
        "pool": Queries(
            queries,
            {"plain": Texts.of(text for _, _, text, _ in QUESTIONS)},
            asked,
            {"subject": Texts.of(subject for *_, subject in QUESTIONS)},
        ),
        "passages": Passages(
            Ids.of(a for a, *_ in ANSWERS),
            {"plain": Texts.of(text for _, _, text, _ in ANSWERS)},
            dates=days(day for _, day, _, _ in ANSWERS),
            link_offsets=np.concatenate([[0], np.cumsum([row >= 0 for row in linked])]).astype(np.int64),
            link_query=np.array([row for row in linked if row >= 0], np.int32),
        ),
        "qrels": Qrels.of(CITED),
        "views": ("text:plain", "link:question"),
        "asked": asked,
        "rule": "passage date < question date",
        "ties": np.array([0, 1, 2, 2, 4, 5, 6, 7, 8, 9, 10, 9], np.int64),
        "classes": classes.astype(np.int64),
    }
    return Task(**(given | changes))
