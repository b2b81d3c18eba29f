"""What a response of the interface says is still to be fetched: answers by id, texts by path.

Nothing of a response becomes part of a path or an address unless it has the form of an id, a language or a distributed
file; what has not is handed on, to be counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from assay.building.funnel import Funnel
from assay.sources.europarl.metadata import AnswerFacts, Oddities, answer_facts, id_of, question_facts

_QUESTION = re.compile(r"[A-Z]-\d{1,2}-\d{4}-\d{1,6}", re.ASCII)
_ANSWER = re.compile(r"[A-Z]-\d{1,2}-\d{4}-\d{1,6}-ASW", re.ASCII)
_PATH = re.compile(r"distribution(?:/(?!\.)[A-Za-z0-9_.-]+)+\.(docx|xhtml|pdf)", re.ASCII)
_LONGEST = 120


@dataclass(frozen=True)
class Text:
    """A text of a record in one language: `paths` by ending, relative to the portal."""

    id: str
    language: str
    paths: Mapping[str, str]


@dataclass(frozen=True)
class Answer:
    """An answer as a question names it; without a day or texts its details are elsewhere."""

    id: str
    day: date | None
    texts: tuple[Text, ...]


@dataclass(frozen=True)
class Question:
    """A question; `day` is None where the response does not say when it was tabled."""

    id: str
    day: date | None
    texts: tuple[Text, ...]
    answers: tuple[Answer, ...]


class Reading:
    """Reads responses; `strange` lists what was named and has no known form: why, and what."""

    def __init__(self) -> None:
        self.strange: list[tuple[str, str]] = []

    def ids(self, stubs: Sequence[Any]) -> list[str]:
        """Ids of questions in a list.

        Example:
            >>> reading = Reading()
            >>> reading.ids([{"id": "eli/dl/doc/E-9-2022-000001"}, {"id": "E-9-2022-000002/../.."}])
            ['E-9-2022-000001']
            >>> reading.strange
            [('no id of a question', 'E-9-2022-000002/../..')]
        """
        found = []
        for stub in stubs:
            id_ = id_of(stub)
            if self._fits(id_, _QUESTION, "no id of a question", named=stub):
                found.append(id_)
        return found

    def questions(self, works: Sequence[Any]) -> list[Question]:
        """Questions with what they name."""
        found = []
        for work in works:
            if not isinstance(work, Mapping):
                self._fits("", _QUESTION, "no id of a question", named=work)
                continue
            facts = question_facts(work, Oddities(Funnel()))
            if self._fits(facts.id, _QUESTION, "no id of a question"):
                answers = [self._answer(answer) for answer in facts.answers]
                known = tuple(answer for answer in answers if answer is not None)
                found.append(Question(facts.id, facts.date, self._texts(facts.id, facts.files), known))
        return found

    def answer(self, id_: str, works: Sequence[Any]) -> Answer | None:
        """The answer of that id among details of documents."""
        facts = (answer_facts(work, Oddities(Funnel())) for work in works)
        return next((self._answer(one) for one in facts if one is not None and one.id == id_), None)

    def _answer(self, facts: AnswerFacts) -> Answer | None:
        if not self._fits(facts.id, _ANSWER, "no id of an answer"):
            return None
        return Answer(facts.id, facts.date, self._texts(facts.id, facts.files))

    def _texts(self, id_: str, files: Mapping[str, Iterable[str]]) -> tuple[Text, ...]:
        found: dict[str, dict[str, str]] = {}
        for language, paths in sorted(files.items()):
            for path in paths:
                match = _PATH.fullmatch(path)
                if match is None:
                    self.strange.append(("no path of a distributed text", path[:_LONGEST]))
                else:
                    found.setdefault(language, {}).setdefault(match[1], path)
        return tuple(Text(id_, language, paths) for language, paths in found.items())

    def _fits(self, id_: str, form: re.Pattern[str], why: str, *, named: Any = None) -> bool:
        if form.fullmatch(id_):
            return True
        shown = (named.get("id") or named.get("identifier")) if isinstance(named, Mapping) else named
        self.strange.append((why, str(shown or id_)[:_LONGEST]))
        return False
