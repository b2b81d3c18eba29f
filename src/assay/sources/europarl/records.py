"""Records: a folder of fetched files as questions and answers, each text in the best format that can be read."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

from assay.building.funnel import Funnel
from assay.building.houses import EUROPEAN_PARLIAMENT
from assay.building.records import AnswerRecord, QuestionRecord, Records, Version
from assay.errors import FormatError, UsageError
from assay.formats.digest import digest_of
from assay.formats.jsonl import read_object
from assay.sources.europarl.docx import docx_text
from assay.sources.europarl.extracted import Extracted, UnreadableError
from assay.sources.europarl.filled import answer_record, origin, question_record, source_url
from assay.sources.europarl.folder import Held, held_in
from assay.sources.europarl.layout import BY_REPLY, BY_SUBJECT, EMPTY, Layout, answer_parts, question_parts
from assay.sources.europarl.metadata import (
    LANGUAGES,
    OTHER_QUESTIONS,
    PRIORITY,
    WRITTEN,
    AnswerFacts,
    Oddities,
    QuestionFacts,
    answer_facts,
    id_parts,
    question_facts,
    works,
)
from assay.sources.europarl.pdf import pdf_text
from assay.sources.europarl.xhtml import xhtml_text

READERS: Mapping[str, Callable[[bytes, str], Extracted]] = {"docx": docx_text, "xhtml": xhtml_text, "pdf": pdf_text}
"""Formats in the order in which they are tried."""
QUESTIONS, ANSWERS = "questions of the source", "answers of the source"
_FILE = re.compile(r"files/(?P<id>.+)_(?P<lang>[A-Za-z]{2})\.(?P<ending>[A-Za-z]+)")
_NUMBERS = re.compile(r"\d+")
_OFTEN = 5_000


def records(
    folder: Path,
    *,
    first: date,
    last: date,
    context_from: date | None = None,
    told: Callable[[str], None] = lambda _: None,
) -> Records:
    """Written questions of a span of time with their answers, from a folder that was filled from the interface.

    Questions tabled from `first` to `last` are queries. Questions tabled before and answered from `context_from` on are
    there for their answers, where these can be read. Texts are English; of a query the other official languages that
    were fetched are its versions. A document that cannot be read is counted with its reason, and the next format is
    tried: DOCX, XHTML, PDF.

    Args:
        folder: What was fetched; nothing is written there.
        first: The first day of the queries.
        last: Their last day.
        context_from: The first day of answers to earlier questions; None for no such ones.
        told: Called with a line now and then.

    Raises:
        UsageError: The days are in the wrong order.
        FileError: There is no such folder, or nothing in it was fetched.
        DigestError: A file is missing or not what came.
        UnavailableError: A package that reads a format is missing.
    """
    if last < first:
        raise UsageError(f"the last day {last} lies before the first, {first}; swap them")
    if context_from is not None and context_from >= first:
        raise UsageError(f"answers for context from {context_from} on: name a day before {first} or leave it out")
    source = _Source(held_in(folder))
    chosen = dict(_chosen(source, first, last, context_from))
    questions = source.read_questions(chosen, told)
    answers = source.read_answers([chosen[one.id][0] for one in questions], told)
    replied = {id_ for answer in answers for id_ in answer.answers}
    alone = {one.id: None for one in questions if one.context and one.id not in replied}
    if context_from is not None:
        source.funnel.drop("context", "its answer cannot be read", alone)
        source.funnel.keep("context", sum(one.context for one in questions) - len(alone))
    days = {"first": first, "last": last, "context_from": context_from}
    return Records(
        EUROPEAN_PARLIAMENT,
        origin(
            f"European Parliament written questions, {first} to {last}",
            f"sha256:{digest_of(source.digests)}",
            first=first,
            last=last,
            parameters={name: str(day) for name, day in days.items() if day is not None},
        ),
        [one for one in questions if one.id not in alone],
        answers,
        source.funnel,
    )


def _chosen(
    source: _Source, first: date, last: date, context_from: date | None
) -> Iterator[tuple[str, tuple[QuestionFacts, bool]]]:
    """Questions that are wanted, with whether they are there for their answers alone."""
    funnel = source.funnel
    for facts in source.facts():
        why = ""
        answered = [answer.date for answer in facts.answers if answer.date is not None]
        context = facts.date is not None and facts.date < first
        if facts.date is None:
            why = "undated"
        elif facts.date > last:
            why = "tabled after the last day"
        elif context and (context_from is None or not any(day >= context_from for day in answered)):
            why = "tabled before the first day, not answered in the context"
        if why:
            funnel.drop(QUESTIONS, why, facts.id)
        else:
            funnel.keep(QUESTIONS)
            yield facts.id, (facts, context)


@dataclass
class _Source:
    """A folder being read: its files by record and language, and what was met."""

    held: Held
    funnel: Funnel = field(default_factory=Funnel)
    digests: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.odd = Oddities(self.funnel)
        self.texts: dict[tuple[str, str], dict[str, str]] = {}
        for file in sorted(self.held.files):
            match = _FILE.fullmatch(file)
            if match and "-ANN" in match["id"]:
                self.odd.odd("names of files", "annex", file)
            elif match and match["ending"].lower() in READERS:
                self.texts.setdefault((match["id"], match["lang"].lower()), {})[match["ending"].lower()] = file
            elif file.startswith("files/"):
                self.odd.odd("names of files", "no text of a record", file)

    def facts(self) -> Iterator[QuestionFacts]:
        """Questions of all responses, each once, their answers complete."""
        seen: dict[str, Mapping[str, Any]] = {}
        for file in self._responses("questions/"):
            for work in self._works(file):
                facts = question_facts(work, Oddities(Funnel()))
                if not self._is_written(facts):
                    continue
                if facts.id in seen:
                    same = seen[facts.id] == work
                    self.odd.odd("id", "the same record once more" if same else "another record once more", facts.id)
                    continue
                seen[facts.id] = work
        for work in seen.values():
            facts = question_facts(work, self.odd)
            whole = (self._whole(answer) for answer in facts.answers)
            yield replace(facts, answers=tuple(answer for answer in whole if answer is not None))

    def _responses(self, folder: str) -> list[str]:
        files = [file for file in self.held.files if file.startswith(folder)]
        return sorted(files, key=lambda file: (list(map(int, _NUMBERS.findall(file))), file))

    def _works(self, file: str) -> list[Mapping[str, Any]]:
        self._noted(file, self.held.read(file))
        try:
            found = works(read_object(self.held.place / file), file)
        except FormatError as err:
            self.funnel.drop("responses", f"no records: {str(err).partition(':')[2].strip()[:80]}", file)
            return []
        self.funnel.keep("responses")
        return found

    def _noted(self, file: str, data: bytes) -> bytes:
        self.digests[file] = hashlib.sha256(data).hexdigest()
        return data

    def _is_written(self, facts: QuestionFacts) -> bool:
        parts = id_parts(facts.id)
        if parts is None or parts["rest"]:
            self.funnel.drop(QUESTIONS, "no id of a question", facts.id or "(none)")
            return False
        known = facts.type in (WRITTEN, PRIORITY)
        if facts.type in OTHER_QUESTIONS or (not known and parts["letter"] not in "EP"):
            self.funnel.drop(QUESTIONS, f"no written question: {facts.type or 'without a type'}", facts.id)
            return False
        if not known:
            self.odd.odd("work_type", f"unknown: {facts.type}" if facts.type else "missing", facts.id)
        return True

    def _whole(self, facts: AnswerFacts) -> AnswerFacts | None:
        """An answer with what its own document says, where a question names its id alone."""
        if not facts.bare:
            return facts
        file = f"documents/{facts.id}.json"
        found = self._works(file) if self.held.holds(file) else []
        for work in found:
            whole = answer_facts(work, self.odd)
            if whole is not None and whole.id == facts.id and not whole.bare:
                return whole
        self.funnel.drop(ANSWERS, "named by its id alone, without a document", facts.id)
        return None

    def read_questions(
        self, chosen: Mapping[str, tuple[QuestionFacts, bool]], told: Callable[[str], None]
    ) -> list[QuestionRecord]:
        """Questions whose English text can be read."""
        found = []
        for number, (id_, (facts, context)) in enumerate(chosen.items(), 1):
            if number % _OFTEN == 0:
                told(f"{number:,} of {len(chosen):,} questions read")
            parts = self._text(id_, "en", "texts of questions", facts.titles.get("en"))
            if parts is not None:
                versions = [] if context else list(self._versions(facts))
                found.append(question_record(facts, parts, odd=self.odd, context=context, versions=versions))
        return found

    def _versions(self, facts: QuestionFacts) -> Iterator[Version]:
        for lang in sorted(LANGUAGES.values()):
            if lang != "en" and (facts.id, lang) in self.texts:
                title = facts.titles.get(lang, "")
                parts = self._text(facts.id, lang, "texts of versions", title)
                if parts is not None:
                    url = source_url(facts.files, facts.id, language=lang)
                    yield Version(lang, parts.text, parts.subject or title, url)

    def read_answers(self, questions: list[QuestionFacts], told: Callable[[str], None]) -> list[AnswerRecord]:
        """Answers to questions, each once, whose English text can be read."""
        asked: dict[str, AnswerFacts] = {}
        for question in questions:
            for answer in question.answers:
                named = self._asked(answer, question.id)
                known = asked.setdefault(answer.id, replace(answer, answers=named))
                if known.answers != named:
                    asked[answer.id] = replace(known, answers=tuple(dict.fromkeys((*known.answers, *named))))
        found = []
        for number, (id_, facts) in enumerate(asked.items(), 1):
            if number % _OFTEN == 0:
                told(f"{number:,} of {len(asked):,} answers read")
            parts = self._text(id_, "en", "texts of answers", None)
            if parts is not None:
                found.append(answer_record(facts, parts, odd=self.odd))
        return found

    def _asked(self, answer: AnswerFacts, question: str) -> tuple[str, ...]:
        if question in answer.answers:
            self.odd.as_expected("answers_to")
            return answer.answers
        why = (
            "leaves out a question that names it" if answer.answers else "missing, linked by the question that names it"
        )
        self.odd.odd("answers_to", why, answer.id)
        return (*answer.answers, question)

    def _text(self, id_: str, lang: str, step: str, title: str | None) -> Layout | None:
        """The parts of a text in the first format that can be read; None is counted. `title` is None for answers."""
        files = self.texts.get((id_, lang), {})
        name = f"{id_}_{lang}"
        why = "no text in English" if lang == "en" else "no text"
        for ending, reader in READERS.items():
            if ending not in files:
                continue
            data = self._noted(files[ending], self.held.read(files[ending]))
            try:
                found = reader(data, files[ending])
            except UnreadableError as err:
                self.funnel.drop(f"read as {ending}", err.reason, name)
                why = "no readable text"
                continue
            self.funnel.keep(f"read as {ending}")
            for met in found.counts:
                self.odd.odd("text of files", met, name)
            parts = answer_parts(found) if title is None else question_parts(found, title=title)
            self._header(parts, step, name)
            if parts.text:
                self.funnel.keep(step)
                return parts
            why = EMPTY
        self.funnel.drop(step, why, name)
        return None

    def _header(self, parts: Layout, step: str, name: str) -> None:
        which = f"header of {step.removeprefix('texts of ')}"
        if parts.how in (BY_SUBJECT, BY_REPLY):
            self.odd.as_expected(which)
        else:
            self.odd.odd(which, parts.how, name)
        for kind in sorted(set(parts.cut)):
            self.funnel.keep(f"cut from {step}: {kind}")
