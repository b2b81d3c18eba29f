"""SQuAD: a JSON file of articles, paragraphs, questions and answer spans, as in XQuAD.

A document is an article: its chunks are the paragraphs, joined by one newline. Every answer is a fragment with the text
that must stand there. Several languages of one set are several files with the same question ids.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from assay.building.splits import fragment_tasks
from assay.collection import Collection
from assay.errors import DuplicateIdError, FormatError
from assay.formats import jsonl
from assay.formats.digest import digest_of, file_digests
from assay.formats.files import opened
from assay.formats.table import quoted
from assay.fragment import Fragments
from assay.ids import Ids
from assay.passage import Passages
from assay.query import Queries
from assay.span import Spans
from assay.texts import Texts

LOOKS_FOR = "a JSON file with data, paragraphs, qas and answers (SQuAD)"
TASK = "passages"


def recognises(path: Path) -> bool:
    """Whether a path is a JSON file that begins as SQuAD's do: an object with `data` or `version`."""
    if not path.is_file() or ".json" not in path.suffixes or ".jsonl" in path.suffixes:
        return False
    with opened(path) as stream:
        start = b"".join(stream.read(400).split())
    return start.removeprefix(b"\xef\xbb\xbf").startswith((b'{"data":[', b'{"version":'))


def load(path: Path) -> Collection:
    """The collection in a SQuAD file; its task is `passages`, split `test`.

    Spans are taken as they are: whether the text stands there is checked by the audits. Questions without an answer
    (`is_impossible`) are loaded, counted, and not judged.

    Raises:
        FormatError: The file is not JSON, or a field is missing or of another type; the message names its path.
        DuplicateIdError: A question id stands twice.
    """
    reading = _Reading()
    for place, article in enumerate(_list(jsonl.read_object(path), "data", f"{path.name} $")):
        reading.article(article, f"{path.name} $.data[{place}]")
    passages = reading.passages()
    queries = Queries(Ids.of(reading.questions), {"plain": Texts.of(reading.questions.values())})
    fragments = reading.fragments(queries.ids, Ids(Texts.of(reading.titles)))
    tasks = {TASK: fragment_tasks(TASK, fragments, passages=passages, queries=queries)}
    counts = {
        "documents": len(reading.titles),
        "chunks": len(passages),
        "queries": len(queries),
        "queries without an answer, not judged": reading.unanswered,
        **tasks[TASK]["test"].notes,
    }
    digests = file_digests(path.parent, [path])
    return Collection(
        name=path.name.split(".json")[0],
        layout="squad",
        digest=digest_of(digests),
        files=digests,
        passages=passages,
        queries=queries,
        tasks=tasks,
        counts=counts,
    )


class _Reading:
    """Rows of chunks, questions and answers as they are read."""

    def __init__(self) -> None:
        self.titles: list[str] = []
        self.chunks: list[tuple[int, int, int, int]] = []
        self.contexts: list[str] = []
        self.questions: dict[str, str] = {}
        self.answers: list[tuple[int, int, int, int]] = []
        self.quotes: list[str] = []
        self.unanswered = 0

    def article(self, article: Any, place: str) -> None:
        document, start = len(self.titles), 0
        self.titles.append(_text(article, "title", place))
        for number, paragraph in enumerate(_list(article, "paragraphs", place)):
            where = f"{place}.paragraphs[{number}]"
            context = _text(paragraph, "context", where)
            self.contexts.append(context)
            self.chunks.append((document, start, start + len(context), number))
            for row, question in enumerate(_list(paragraph, "qas", where)):
                self.question(question, f"{where}.qas[{row}]", document=document, start=start)
            start += len(context) + 1

    def question(self, question: Any, place: str, *, document: int, start: int) -> None:
        id_ = _text(question, "id", place)
        if id_ in self.questions:
            raise DuplicateIdError(f"{place}.id: question id {id_!r} stands twice; every question id must be unique")
        self.questions[id_] = _text(question, "question", place)
        found: set[tuple[int, str]] = set()
        for row, answer in enumerate(_list(question, "answers", place)):
            text = _text(answer, "text", f"{place}.answers[{row}]")
            at = answer.get("answer_start")
            if not isinstance(at, int) or isinstance(at, bool) or at < 0:
                raise FormatError(f"{place}.answers[{row}].answer_start: expected an int from 0, got {quoted(at)}")
            # Annotators who chose the same words are one fragment.
            if (at, text) not in found:
                found.add((at, text))
                self.answers.append((len(self.questions) - 1, document, start + at, start + at + len(text)))
                self.quotes.append(text)
        self.unanswered += not found

    def passages(self) -> Passages:
        parents = Ids.of(self.titles, what="article title")
        table = np.asarray(self.chunks, np.int64).reshape(-1, 4)
        return Passages(
            Ids.of((f"{self.titles[document]}-{number}" for document, _, _, number in self.chunks), what="chunk id"),
            {"plain": Texts.of(self.contexts)},
            parents=parents,
            spans=Spans(table[:, 0].copy(), table[:, 1].copy(), table[:, 2].copy()),
            position=table[:, 3].astype(np.int32),
            titles=Texts.of(title.replace("_", " ") for title in self.titles),
        )

    def fragments(self, queries: Ids, documents: Ids) -> Fragments:
        table = np.asarray(self.answers, np.int64).reshape(-1, 4)
        spans = Spans(table[:, 1].copy(), table[:, 2].copy(), table[:, 3].copy())
        grade = np.ones(len(table), np.int32)
        return Fragments(queries, documents, table[:, 0].astype(np.int32), spans, grade, Texts.of(self.quotes))


def _list(value: Any, name: str, place: str) -> list[Any]:
    """The list in a field of an object."""
    found = value.get(name) if isinstance(value, dict) else None
    if not isinstance(found, list):
        raise FormatError(f"{place}.{name}: expected a list, got {quoted(found)}")
    return found


def _text(value: Any, name: str, place: str) -> str:
    """The text in a field of an object."""
    found = value.get(name) if isinstance(value, dict) else None
    if not isinstance(found, str):
        raise FormatError(f"{place}.{name}: expected text, got {quoted(found)}")
    return found
