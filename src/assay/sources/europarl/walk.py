"""The walk over everything that a build needs, from the lists of its years to the texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import urlencode

from assay.errors import UnavailableError
from assay.sources.europarl.bodies import GRAPH, LD_JSON, TEXTS, Kind, graph_of
from assay.sources.europarl.client import root_of
from assay.sources.europarl.folder import Held
from assay.sources.europarl.months import Months
from assay.sources.europarl.wanted import Answer, Question, Reading, Text

WORK_TYPES = ("QUESTION_WRITTEN", "QUESTION_WRITTEN_PRIORITY")
PAGE = 1000
BATCH = 40
"""Ids of one call for details; 30 to 60 work, 100 are refused."""
ENGLISH = "en"

_IDLE = 3
"""Pages in a row without a new id before a list counts as repeating itself."""
_LIST = re.compile(r"lists/(\d{4})-[A-Z_]+-to-(\d{4}-\d\d)-\d+\.json")


@dataclass(frozen=True)
class Step:
    """How far a fetch is: things of one kind that are there, of how many; `total` is 0 where that is not known yet."""

    what: str
    done: int
    total: int
    note: str = ""


@dataclass
class Fetched:
    """What is in the folder for some months.

    Attributes:
        requests: Calls that were made.
        listed: Ids in the lists of the years.
        questions: Questions that become queries, by their dates.
        context: Earlier questions that were answered in the context.
        outside: Further questions of the same years.
        undated: Questions without a date.
        answers: Answers to both.
        documents: Answers that were only named, and asked for alone.
        texts: Files of texts.
        kept: Files of details and texts.
        damaged: Files that were no longer what came, and were fetched again.
        refused: What is not to be had, by reason.
    """

    requests: int = 0
    listed: int = 0
    questions: int = 0
    context: int = 0
    outside: int = 0
    undated: int = 0
    answers: int = 0
    documents: int = 0
    texts: int = 0
    kept: int = 0
    damaged: int = 0
    refused: dict[str, list[str]] = field(default_factory=dict)

    def counts(self) -> dict[str, int]:
        """The counts by name; what was refused as one number."""
        plain = {name: value for name, value in vars(self).items() if isinstance(value, int)}
        return {**plain, "refused": sum(map(len, self.refused.values()))}


class Source(Protocol):
    """Where a walk gets what the folder lacks; `asks_again` for what failed once and may have passed."""

    asks_again: bool

    def bring(self, url: str, file: str, kind: Kind, *, batch: bool) -> bool:
        """Whether a thing is in the folder now; `batch` where it can be asked for in parts."""
        ...


class Walk:
    """One walk over everything that a build needs, from the lists to the texts; `source` brings what is missing."""

    def __init__(self, held: Held, base: str, source: Source, tell: Callable[[Step], None]) -> None:
        self.held = held
        self.base = base
        self.root = root_of(base)
        self.source = source
        self.tell = tell
        self.reading = Reading()
        self.kept = 0
        self.refused: dict[str, dict[str, None]] = {}

    def all(self, months: Months, languages: set[str] | None) -> Fetched:
        """Walks over everything, and counts it; texts of questions in `languages`, None for all."""
        done = Fetched(damaged=len(self.held.damaged))
        batches = [(year, at, ids) for year in months.years() for at, ids in self.batches(year, months)]
        done.listed = sum(len(ids) for _, _, ids in batches)
        questions = [one for one in self.details(batches, done.listed) if _in_time(one, months, done)]
        answers = self.answers([answer for question in questions for answer in question.answers], done)
        wanted = list(_wanted(questions, answers, months, done))
        self.texts(_texts_needed(wanted, answers, languages), done)
        for why, what in self.reading.strange:
            self.refused.setdefault(why, {})[what] = None
        done.kept = self.kept
        done.refused = {why: list(asked) for why, asked in sorted(self.refused.items())}
        return done

    # ------------------------------------------------------------ lists

    def batches(self, year: int, months: Months) -> list[tuple[int, list[str]]]:
        """Ids of a year in batches, each with its place in the year; places stay when a later list adds ids."""
        seen: dict[str, None] = {}
        found = []
        for month in _generations(self.held.files, year, months):
            listed = {id_ for kind in WORK_TYPES for id_ in self.listed(year, kind, month)}
            new = sorted(listed - set(seen))
            found += [(len(seen) + at, new[at : at + BATCH]) for at in range(0, len(new), BATCH)]
            seen.update(dict.fromkeys(new))
        return found

    def listed(self, year: int, kind: str, month: str) -> dict[str, None]:
        """Ids of one list, page by page until nothing more comes; a short page is not taken for the last one."""
        found: dict[str, None] = {}
        offset = idle = 0
        while True:
            query = {"year": year, "work-type": kind, "format": LD_JSON, "offset": offset, "limit": PAGE}
            url = f"{self.base}/parliamentary-questions?{urlencode(query)}"
            file = f"lists/{year}-{kind}-to-{month}-{offset:05d}.json"
            if not self.ask(url, file, GRAPH):
                return found
            body = self.held.read(file)
            envelope = graph_of(body) if body else {"data": []}
            stubs = envelope["data"]
            if not stubs:
                return found
            before = len(found)
            found.update(dict.fromkeys(self.reading.ids(stubs)))
            offset += len(stubs)
            self.tell(Step("lists", offset, 0))
            meta = envelope.get("meta")
            total = meta.get("total") if isinstance(meta, dict) else None
            if isinstance(total, int) and offset >= total:
                return found
            idle = idle + 1 if len(found) == before else 0
            if idle == _IDLE:
                raise UnavailableError(f"the list of {year} repeats itself from offset {offset} on")

    # ------------------------------------------------------------ details

    def details(self, batches: Sequence[tuple[int, int, list[str]]], total: int) -> list[Question]:
        """Questions of all batches, each once."""
        found: dict[str, Question] = {}
        done = 0
        for year, at, ids in batches:
            self.tell(Step("questions", done, total))
            for question in self.batch(year, at, ids):
                found.setdefault(question.id, question)
            done += len(ids)
        self.tell(Step("questions", done, total))
        return list(found.values())

    def batch(self, year: int, at: int, ids: list[str]) -> list[Question]:
        """Questions of one batch; one that is refused is halved, and what a response leaves out is asked for alone."""
        url = self.details_url(ids)
        halves = len(ids) > 1 and self.held.refusal(url) is not None
        file = f"questions/{year}-{at:05d}.json"
        if halves or not self.ask(url, file, GRAPH, batch=len(ids) > 1):
            if len(ids) == 1:
                return []
            middle = (len(ids) + 1) // 2
            return [
                *self.batch(year, at, ids[:middle]),
                *self.batch(year, at + middle, ids[middle:]),
            ]
        found = self.questions_in(file, ids)
        told = {question.id for question in found}
        for place, id_ in enumerate(ids):
            alone = f"questions/{year}-{at + place:05d}-alone.json"
            if id_ not in told and len(ids) > 1 and self.ask(self.details_url([id_]), alone, GRAPH):
                found += self.questions_in(alone, [id_])
        return found

    def details_url(self, ids: list[str]) -> str:
        """The address of details of questions."""
        return f"{self.base}/parliamentary-questions/{','.join(ids)}?{urlencode({'format': LD_JSON})}"

    def questions_in(self, file: str, ids: list[str]) -> list[Question]:
        """Those questions of a file that were asked for."""
        body = self.held.read(file)
        works = graph_of(body)["data"] if body else []
        found = self.reading.questions(works)
        for question in found:
            if question.id not in ids:
                self.reading.strange.append(("a question that was not asked for", question.id))
        held = [question for question in found if question.id in ids]
        if len(ids) == 1 and not held:
            self.reading.strange.append(("listed, but without details", ids[0]))
        return held

    # ------------------------------------------------------------ answers and texts

    def answers(self, named: Sequence[Answer], done: Fetched) -> dict[str, Answer]:
        """Answers by id, with the details of those that are only named."""
        found: dict[str, Answer] = {}
        for answer in named:
            if answer.id not in found or not found[answer.id].texts:
                found[answer.id] = answer
        bare = [id_ for id_, answer in found.items() if not answer.texts or answer.day is None]
        for at, id_ in enumerate(bare):
            self.tell(Step("answers", at, len(bare)))
            file = f"documents/{id_}.json"
            if self.ask(f"{self.base}/documents/{id_}?{urlencode({'format': LD_JSON})}", file, GRAPH):
                body = self.held.read(file)
                told = self.reading.answer(id_, graph_of(body)["data"] if body else [])
                found[id_] = told or found[id_]
                done.documents += 1
        self.tell(Step("answers", len(bare), len(bare)))
        return found

    def texts(self, texts: Sequence[Text], done: Fetched) -> None:
        """Files of texts, one a text and language: the first kind that is to be had."""
        for at, text in enumerate(texts):
            self.tell(Step("texts", at, len(texts)))
            for ending, kind in TEXTS.items():
                path = text.paths.get(ending)
                file = f"files/{text.id}_{text.language}.{ending}"
                if path and self.ask(self.root + path, file, kind):
                    done.texts += 1
                    break
        self.tell(Step("texts", len(texts), len(texts)))

    # ------------------------------------------------------------ one thing

    def ask(self, url: str, file: str, kind: Kind, *, batch: bool = False) -> bool:
        """Whether a thing is in the folder, after asking for it where it is not; what is not to be had is counted."""
        line = self.held.refusal(url)
        spared = line is not None and (line.lasting or batch or not self.source.asks_again)
        if self.held.holds(file) or (not spared and self.source.bring(url, file, kind, batch=batch)):
            self.kept += not file.startswith("lists/")
            return True
        line = self.held.refusal(url)
        if line is not None and not batch:
            self.refused.setdefault(line.why, {})[line.asked] = None
        return False


def _in_time(question: Question, months: Months, done: Fetched) -> bool:
    """Whether a question was asked when it may matter; one without a date does not."""
    if question.day is None:
        done.undated += 1
        return False
    outside = question.day > months.last or (months.context_from is None and question.day < months.first)
    done.outside += outside
    return not outside


def _wanted(
    questions: Iterable[Question], answers: Mapping[str, Answer], months: Months, done: Fetched
) -> Iterator[tuple[Question, bool]]:
    """Questions that are queries, and earlier ones that were answered in the context; each with whether it is one."""
    named: set[str] = set()
    for question in questions:
        context = question.day is not None and question.day < months.first
        days = [day for one in question.answers if (day := answers[one.id].day) is not None]
        if context and (months.context_from is None or not any(day >= months.context_from for day in days)):
            done.outside += 1
            continue
        done.context += context
        done.questions += not context
        named.update(one.id for one in question.answers)
        yield question, context
    done.answers = len(named)


def _texts_needed(
    wanted: Iterable[tuple[Question, bool]], answers: dict[str, Answer], languages: set[str] | None
) -> list[Text]:
    """Texts to fetch, each once: answers in English, questions in their languages, those of context in English."""
    found: dict[tuple[str, str], Text] = {}
    for question, context in wanted:
        mine = {ENGLISH} if context else languages
        for text in question.texts:
            if mine is None or text.language in mine:
                found.setdefault((text.id, text.language), text)
        for answer in question.answers:
            for text in answers[answer.id].texts:
                if text.language == ENGLISH:
                    found.setdefault((text.id, text.language), text)
    return list(found.values())


def _generations(files: Iterable[str], year: int, months: Months) -> list[str]:
    """The lists of a year that some months need, by the month up to which they were asked for, in order.

    A list is complete only up to the time when it was asked for. So each says for which last month that was, and a
    later months asks again; what it adds stands after what was there.
    """
    needed = min(f"{months.last:%Y-%m}", f"{year + 1}-01")
    found = {match[2] for file in files if (match := _LIST.fullmatch(file)) and match[1] == str(year)}
    later = min((month for month in found if month >= needed), default=needed)
    return [*sorted(month for month in found if month < needed), later]
