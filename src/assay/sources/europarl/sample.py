"""Sample: the open data sample of 2022 as records: metadata from the older RDF, texts where there are any.

The folder holds `questions.jsonl`, a question a line with the fields `id`, `work_type`, `date_raw`, `titles`,
`title_alternative`, `languages`, `docx`, `term`, `participation`, `original_language` and `answers`; and folders
`texts_*`, if any, with JSON Lines of texts: `id`, `date`, `subject`, `text`, `addressee`, `original_language`,
`source_url` and `answer` with `id`, `date` and `text`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

from assay.building.funnel import Funnel
from assay.building.houses import EUROPEAN_PARLIAMENT
from assay.building.records import AnswerRecord, QuestionRecord, Records
from assay.errors import FormatError
from assay.formats.digest import digest_of, file_digests
from assay.formats.files import opened
from assay.sources.europarl.extracted import Extracted
from assay.sources.europarl.filled import answer_record, origin, question_record
from assay.sources.europarl.layout import Layout, answer_parts, question_parts
from assay.sources.europarl.metadata import AnswerFacts, Oddities, QuestionFacts, day_of_brussels, rdf_facts, type_of

NO_TEXT = "metadata alone"
"""How a header was found where there is no text."""


def from_sample(folder: Path) -> Records:
    """Records of the open data sample.

    A question of which only metadata is there has its English title for a text, and its answer an empty text that
    counts as cut short; both are counted under `texts of questions` and `texts of answers`. A question that only the
    texts folders have is a record too.

    Raises:
        FileError: A file cannot be read.
        FormatError: A line is no record; the message names the file, the line and the field.
    """
    tables = [folder / "questions.jsonl", *sorted(folder.glob("texts_*/*.jsonl"))]
    reading = _Reading()
    texts = {str(row["id"]): row for path in tables[1:] for row in _rows(path, ("id", "text"))}
    for row in _rows(tables[0], ("id", "answers")):
        facts = rdf_facts(row, reading.odd)
        reading.add(facts, texts.pop(facts.id, None))
    for row in texts.values():
        reading.add(_facts_of(row), row)
    days = [one.date for one in reading.questions if one.date is not None] or [date(2022, 1, 1)]
    return Records(
        EUROPEAN_PARLIAMENT,
        origin(
            "European Parliament written questions, open data sample",
            f"sha256:{digest_of(file_digests(folder, tables))}",
            first=min(days),
            last=max(days),
            parameters={},
        ),
        reading.questions,
        list(reading.answers.values()),
        reading.funnel,
    )


@dataclass
class _Reading:
    """What was read so far."""

    funnel: Funnel = field(default_factory=Funnel)
    questions: list[QuestionRecord] = field(default_factory=list)
    answers: dict[str, AnswerRecord] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.odd = Oddities(self.funnel)

    def add(self, facts: QuestionFacts, texts: Mapping[str, Any] | None) -> None:
        """Adds a question and its answers."""
        title = facts.titles.get("en", "")
        if texts is None:
            parts = Layout(title, (), facts.headers.get("en", ""), title, NO_TEXT)
            self.funnel.drop("texts of questions", "metadata alone, the title stands in", facts.id)
        else:
            parts = question_parts(Extracted(str(texts["text"])), title=str(texts.get("subject") or title))
            self.funnel.keep("texts of questions")
        record = question_record(facts, parts, odd=self.odd)
        if texts is not None and texts.get("source_url"):
            record = replace(record, source_url=str(texts["source_url"]))
        self.questions.append(record)
        own = texts.get("answer") if texts is not None else None
        for answer in facts.answers:
            self._answer(answer, own if isinstance(own, Mapping) and own.get("id") == answer.id else None)

    def _answer(self, facts: AnswerFacts, text: Mapping[str, Any] | None) -> None:
        if facts.id in self.answers:
            return
        if text is None:
            self.funnel.drop("texts of answers", "metadata alone", facts.id)
            parts = Layout("", (), "", "", NO_TEXT)
        else:
            parts = answer_parts(Extracted(str(text.get("text") or "")))
            self.funnel.keep("texts of answers")
        self.answers[facts.id] = answer_record(facts, parts, odd=self.odd, cut=text is None)


def _facts_of(row: Mapping[str, Any]) -> QuestionFacts:
    """What a text says of a question of which there is no metadata: the days are those of the portal."""
    id_, subject = str(row["id"]), str(row.get("subject") or "")
    said = row.get("answer")
    addressee = (str(row["addressee"]),) if row.get("addressee") else ()
    answers: tuple[AnswerFacts, ...] = ()
    if isinstance(said, Mapping) and said.get("id"):
        answers = (AnswerFacts(str(said["id"]), day_of_brussels(said.get("date")), (id_,), addressee),)
    term = id_.split("-")[1] if id_.count("-") == 3 else ""
    return QuestionFacts(
        id_,
        day_of_brussels(row.get("date")),
        type_of("QUEST_WRITTEN", id_),
        term,
        {str(row.get("text_lang") or "en"): subject} if subject else {},
        addressees=addressee,
        originals=(str(row["original_language"]),) if row.get("original_language") else (),
        answers=answers,
    )


def _rows(path: Path, needed: tuple[str, ...]) -> Iterator[Mapping[str, Any]]:
    """Objects of a JSON Lines file whose values may be objects."""
    with opened(path) as stream:
        for number, line in enumerate(stream, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as err:
                raise FormatError(f"{path.name}:{number}: no JSON ({err}); write the line again") from None
            if not isinstance(row, dict):
                raise FormatError(f"{path.name}:{number}: expected a JSON object, got {str(row)[:40]!r}")
            missing = [name for name in needed if name not in row]
            if missing:
                raise FormatError(f"{path.name}:{number} $.{missing[0]}: missing; every row needs it")
            yield row
