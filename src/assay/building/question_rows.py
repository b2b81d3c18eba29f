"""Rows: the tables of a question-level collection, from linked records and masked texts."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.building.built import CORPUS, EQUIVALENTS, QUERIES, XLING
from assay.building.equivalents import Equivalents
from assay.building.funnel import Funnel
from assay.building.links import Links
from assay.building.records import AnswerRecord, QuestionRecord, Version
from assay.building.removals import Judgement, Row
from assay.building.ties import chains
from assay.errors import DuplicateIdError, FormatError
from assay.kernels.components import component_labels

LANGUAGE = "en"
"""The language of the texts in `corpus` and `queries`."""
XLING_STEP = "versions in other languages"


def corpus_rows(links: Links, masked: Sequence[str]) -> list[Row]:
    """The rows of `corpus`: the columns of a reply in order, those of its house behind them."""
    names = _others(links.answers, CORPUS)
    ids = [question.id for question in links.questions]
    return [
        {
            "_id": one.id,
            "text": text,
            "raw_text": one.text,
            "date": _iso(one),
            "institution": one.institution or None,
            "answers": [ids[row] for row in asked],
            "header": one.header or None,
            "source_url": one.source_url or None,
            **{name: one.other[name] for name in names},
        }
        for one, text, asked in zip(links.answers, masked, links.asked, strict=True)
    ]


def query_rows(
    links: Links, *, masked: Sequence[str], subjects: Sequence[str], splits: Sequence[str | None]
) -> list[Row]:
    """The rows of `queries`: the columns of a question in order, those of its house behind them."""
    names = _others(links.questions, QUERIES)
    return [
        {
            "_id": one.id,
            "subject": subjects[row] or None,
            "text": masked[row],
            "raw_text": one.text,
            "date": _iso(one),
            "source_url": one.source_url or None,
            "type": one.type or None,
            "term": one.term or None,
            "addressee": one.addressee or None,
            "author": one.author or None,
            "orig_lang": one.orig_lang or None,
            "orig_lang_src": one.orig_lang_src or None,
            "answer": links.answers[links.answered[row][0]].id,
            "header": one.header or None,
            "split": splits[row],
            "joint_size": links.joint_size(row),
            **{name: one.other[name] for name in names},
        }
        for row, one in enumerate(links.questions)
    ]


def versions_of(links: Links, funnel: Funnel) -> list[tuple[int, Version]]:
    """Versions of questions that become cross-lingual queries, with the rows of these, by question and language.

    A version in English, an empty one, and one of a question that is in no task are dropped.

    Raises:
        DuplicateIdError: A question has two different versions in one language.
    """
    kept: list[tuple[int, Version]] = []
    for row, one in enumerate(links.questions):
        for version in sorted(one.versions, key=lambda version: (version.language, version.text)):
            name = f"{one.id}-{version.language}"
            if version.language == LANGUAGE:
                funnel.drop(XLING_STEP, "in the language of the collection", name)
            elif not version.text.strip():
                funnel.drop(XLING_STEP, "without a text", name)
            elif one.context:
                funnel.drop(XLING_STEP, "of a question of no task", name)
            elif kept and kept[-1] == (row, version):
                funnel.drop(XLING_STEP, "the same version once more", name)
            elif kept and kept[-1][0] == row and kept[-1][1].language == version.language:
                raise DuplicateIdError(
                    f"question {one.id!r} has two versions in the language {version.language!r}, one begins"
                    f" {kept[-1][1].text[:40]!r} and one {version.text[:40]!r}; keep one"
                )
            else:
                kept.append((row, version))
    if kept:
        funnel.keep(XLING_STEP, len(kept))
    return kept


def xling_rows(
    links: Links, versions: Sequence[tuple[int, Version]], *, masked: Sequence[str], subjects: Sequence[str]
) -> list[Row]:
    """The rows of `queries_xling`: `QUESTION-LANGUAGE` for each version.

    Raises:
        DuplicateIdError: A question bears the id that a version gets.
    """
    taken = {question.id for question in links.questions}
    rows: list[Row] = []
    for (question, version), text, subject in zip(versions, masked, subjects, strict=True):
        of = links.questions[question].id
        name = f"{of}-{version.language}"
        if name in taken:
            raise DuplicateIdError(f"{name!r} is the id of a question and that of {of!r} in {version.language!r}")
        values = (name, of, version.language, subject or None, text, version.text, version.source_url or None)
        rows.append(dict(zip(XLING, values, strict=True)))
    return rows


def equivalent_rows(links: Links, found: Equivalents) -> list[Row]:
    """The rows of `equivalents`: questions that have a twin, or whose answer has an equal or says nothing."""
    empty = set(found.boilerplate.tolist())
    rows = (equivalent_row(links, found, row, own=own[0], empty=empty) for row, own in enumerate(links.answered))
    return [row for row in rows if any(row[name] for name in EQUIVALENTS[1:])]


def equivalent_row(links: Links, found: Equivalents, question: int, *, own: int, empty: Container[int]) -> Row:
    """The row of `equivalents` of a question, be it all empty; `own` is the row of its own answer, -1 for none."""
    answers = links.answers
    lists = (
        [links.questions[other].id for other in found.twin_question.get(question, ())],
        [answers[other].id for other in found.duplicate_answer.get(own, ())],
        [answers[other].id for other in found.near_duplicate_answer.get(own, ())],
        [answers[own].id] if own in empty else [],
    )
    return dict(zip(EQUIVALENTS, (links.questions[question].id, *lists), strict=True))


def answer_judgements(links: Links, found: Equivalents, splits: Sequence[str | None]) -> dict[str, list[Judgement]]:
    """Judgements of `answer` and `answerlenient` by `TASK_SPLIT`.

    `answer` has the own answer of every question that is in a split. `answerlenient` has its further answers too, and
    all replies with the text of one of these; of those, none that says nothing.
    """
    empty = set(found.boilerplate.tolist())
    judged: dict[str, list[Judgement]] = {}
    for row, split in enumerate(splits):
        if split is None:
            continue
        answered, query = links.answered[row], links.questions[row].id
        for task, docs in (("answer", answered[:1]), ("answerlenient", lenient(answered, found, empty=empty))):
            judged.setdefault(f"{task}_{split}", []).extend((query, links.answers[doc].id, 1) for doc in docs)
    return judged


def lenient(answered: Sequence[int], found: Equivalents, *, empty: Container[int]) -> list[int]:
    """A question's own answer, then further ones and all with the text of one of these; none of `empty`."""
    said = {*answered, *(other for one in answered for other in found.duplicate_answer.get(one, ()))}
    return [*answered[:1], *sorted(one for one in said.difference(answered[:1]) if one not in empty)]


def edge_judgements(meta: Iterable[Row], split_of: Mapping[str, str | None]) -> dict[str, list[Judgement]]:
    """Judgements of the tasks that the edges name, each pair once.

    Args:
        meta: Rows of `precedent_meta`.
        split_of: The split of each question.

    Example:
        >>> row = {"query_id": "q", "doc_id": "a", "tasks": ["cite"]}
        >>> edge_judgements([row, row], {"q": "test"})
        {'cite_test': [('q', 'a', 1)]}
    """
    judged: dict[str, dict[Judgement, None]] = {}
    for row in meta:
        split = split_of[row["query_id"]]
        for task in row["tasks"] if split else ():
            judged.setdefault(f"{task}_{split}", {})[row["query_id"], row["doc_id"], 1] = None
    return {name: list(pairs) for name, pairs in judged.items()}


def crossings(groups: Iterable[Sequence[int]], splits: Sequence[str | None], ids: Sequence[str]) -> list[list[str]]:
    """Groups of questions that lie in more than one split, each once, by id.

    Args:
        groups: Rows of each group.
        splits: The split of each row; a row of none does not count.
        ids: The id of each row.

    Example:
        >>> crossings([[0, 1], [1, 0], [2, 3]], ["dev", "test", "dev", "dev"], ["a", "b", "c", "d"])
        [['a', 'b']]
    """
    apart = {tuple(sorted(group)) for group in groups if len({splits[row] for row in group} - {None}) > 1}
    return [[ids[row] for row in group] for group in sorted(apart)]


def answered_together(links: Links) -> npt.NDArray[np.int64]:
    """Per question its group where others were answered with it, by one reply or as the source says; else -1."""
    groups: dict[str, list[int]] = {}
    for row, one in enumerate(links.questions):
        if one.together:
            groups.setdefault(one.together, []).append(row)
    members = [*links.asked, *groups.values()]
    owner = np.repeat(np.arange(len(members)), [len(rows) for rows in members])
    pairs = chains(owner, np.asarray([row for rows in members for row in rows], np.int64))
    labels = component_labels(len(links.questions), pairs[:, 0], pairs[:, 1])
    return np.where(np.bincount(labels, minlength=1)[labels] > 1, labels, -1).astype(np.int64)


def _iso(record: QuestionRecord | AnswerRecord) -> str | None:
    return None if record.date is None else record.date.isoformat()


def _others(records: Sequence[QuestionRecord] | Sequence[AnswerRecord], own: Sequence[str]) -> list[str]:
    """The further columns of a house, which are the same in each record.

    Raises:
        FormatError: A record has others, or one has the name of a column that every house has.
    """
    names = list(records[0].other) if records else []
    taken = sorted(set(names) & set(own))
    if taken:
        raise FormatError(f"record {records[0].id!r}: other column {taken[0]!r} has the name of a fixed one; rename it")
    odd: list[Any] = [one.id for one in records if set(one.other) != set(names)]
    if odd:
        raise FormatError(
            f"record {odd[0]!r}: its other columns are not {', '.join(names) or 'none'}, those of"
            f" {records[0].id!r} ({len(odd)} such records); give every record the same ones"
        )
    return names
