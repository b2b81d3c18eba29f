"""Metadata: details of questions and answers, of the interface and of the older RDF, as facts.

What a detail lacks stays empty and is counted in `Oddities`; nothing is guessed. Ids, codes and languages lose what
stands before them; dates become days of Brussels.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from assay.building.funnel import Funnel
from assay.errors import FormatError, UnavailableError
from assay.sources.europarl.organisations import code_of

WRITTEN = "QUESTION_WRITTEN"
PRIORITY = "QUESTION_WRITTEN_PRIORITY"
OTHER_QUESTIONS = ("QUESTION_ORAL", "INTERPELLATION_MAJOR", "INTERPELLATION_MINOR", "QUESTION_TIME")
"""Kinds of questions that nobody answers in writing, or not to one Member."""
ANSWERS = ("QUESTION_WRITTEN_ANSWER", "ANSWER_TO_EP_QUESTION")
ANNEX = "ANNEX"

LANGUAGES = {
    "BUL": "bg", "CES": "cs", "DAN": "da", "DEU": "de", "ELL": "el", "ENG": "en", "EST": "et", "FIN": "fi",
    "FRA": "fr", "GLE": "ga", "HRV": "hr", "HUN": "hu", "ITA": "it", "LAV": "lv", "LIT": "lt", "MLT": "mt",
    "NLD": "nl", "POL": "pl", "POR": "pt", "RON": "ro", "SLK": "sk", "SLV": "sl", "SPA": "es", "SWE": "sv",
}  # fmt: skip
"""The official languages, three letters to two."""
_TWO = set(LANGUAGES.values())
_ID = re.compile(r"(?P<letter>[A-Z])-(?P<term>\d{1,2})-(?P<year>\d{4})-(?P<number>\d{4,6})(?P<rest>-[\w-]+)?")


@dataclass(frozen=True)
class AnswerFacts:
    """What is known of an answer.

    Attributes:
        id: As the portal writes it, `E-9-2022-000001-ASW`.
        date: The day of its publication; None where not told.
        answers: Ids of the questions that it answers, in the source's order; empty where not told.
        organisations: Codes of who answered.
        bare: Whether only its id is told: the rest is in a document of its own.
        files: By language, paths or addresses of its texts.
    """

    id: str
    date: date | None = None
    answers: tuple[str, ...] = ()
    organisations: tuple[str, ...] = ()
    bare: bool = False
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class QuestionFacts:
    """What is known of a question.

    Attributes:
        id: As the portal writes it, `E-9-2022-000001`.
        date: The day on which it was tabled; None where not told.
        type: `QUESTION_WRITTEN` or `QUESTION_WRITTEN_PRIORITY`, or another type as the portal calls it.
        term: The number of the term.
        titles: Subject lines by language.
        headers: What stands above them, by language, lines as lines.
        authors: Numbers of the Members who asked.
        addressees: Codes of who was asked.
        originals: Languages of the original that are declared.
        languages: Languages in which it exists.
        answers: Its answers.
        files: By language, paths or addresses of its texts.
    """

    id: str
    date: date | None = None
    type: str = ""
    term: str = ""
    titles: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    authors: tuple[str, ...] = ()
    addressees: tuple[str, ...] = ()
    originals: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    answers: tuple[AnswerFacts, ...] = ()
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def original(self) -> tuple[str, str]:
        """The language of the original and what says so: `declared`, `deduced`, or nothing for both.

        It is deduced where the question exists in English alone, or in English and one more language: texts are
        translated into English and kept in the language in which they were written.

        Example:
            >>> QuestionFacts("E-9-2022-000001", languages=("en", "es")).original()
            ('es', 'deduced')
        """
        if self.originals:
            return (self.originals[0], "declared") if len(self.originals) == 1 else ("", "")
        others = [one for one in self.languages if one != "en"]
        if "en" in self.languages and len(others) <= 1:
            return (others or ["en"])[0], "deduced"
        return "", ""


class Oddities:
    """Counts what details lack or say unexpectedly, a step a field: records are kept all the same."""

    def __init__(self, funnel: Funnel) -> None:
        self.funnel = funnel

    def as_expected(self, field_: str) -> None:
        """Counts a field that says what it should."""
        self.funnel.keep(f"field {field_}")

    def odd(self, field_: str, reason: str, id_: str) -> None:
        """Counts a field that does not."""
        self.funnel.drop(f"field {field_}", reason, id_)


def listed(value: Any) -> list[Any]:
    """A list of what may be nothing, one thing or a list.

    Example:
        >>> listed(None), listed("one"), listed(["one", "two"])
        ([], ['one'], ['one', 'two'])
    """
    if value is None or value == "":
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def id_of(reference: Any) -> str:
    """The id at the end of a reference, or of an object's `id`; empty where there is none.

    Example:
        >>> id_of("eli/dl/doc/E-9-2022-000001"), id_of({"id": "https://data.europarl.europa.eu/eli/dl/doc/P-1"})
        ('E-9-2022-000001', 'P-1')
    """
    if isinstance(reference, Mapping):
        reference = reference.get("id") or reference.get("identifier") or ""
    return code_of(reference) if isinstance(reference, str) else ""


@cache
def _brussels() -> ZoneInfo:
    try:
        return ZoneInfo("Europe/Brussels")
    except ZoneInfoNotFoundError:
        raise UnavailableError("there are no time zones here, days of Brussels need them: pip install tzdata") from None


def day_of_brussels(value: Any) -> date | None:
    """The day in Brussels of a date or of a moment; None for what is neither.

    Example:
        >>> [str(day_of_brussels(said)) for said in ("2022-01-02T23:00:00.000Z", "2024-07-16", "16.7.2024")]
        ['2022-01-03', '2024-07-16', 'None']
    """
    text = value.strip() if isinstance(value, str) else ""
    try:
        if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
            return date.fromisoformat(text)
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    # A moment without an offset is the house's own.
    return (moment.astimezone(_brussels()) if moment.tzinfo else moment).date()


def works(found: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """The works of a response.

    Raises:
        FormatError: It has no list `data`; the interface puts an error there even where it says that all is well.
    """
    data = found.get("data")
    if isinstance(data, Mapping):
        data = [data]
    if not isinstance(data, list):
        said = found.get("error") or found.get("detail") or ", ".join(found) or "nothing"
        raise FormatError(f"{name} $.data: no list of records, it says {str(said)[:120]!r}; fetch it again")
    return [work for work in data if isinstance(work, Mapping)]


def question_facts(work: Mapping[str, Any], odd: Oddities) -> QuestionFacts:
    """A question's detail of the interface, version 2, as facts.

    Args:
        work: One of the response's `data`.
        odd: Counts what is missing or unexpected.

    Example:
        >>> work = {"id": "eli/dl/doc/E-10-2024-001357", "document_date": "2024-07-16", "creator": ["person/257083"]}
        >>> question_facts(work, Oddities(Funnel())).authors
        ('257083',)
    """
    id_ = str(work.get("identifier") or id_of(work))
    expressions = [one for one in listed(work.get("is_realized_by")) if isinstance(one, Mapping)]
    titles = _by_language(work.get("title_dcterms"))
    headers: dict[str, str] = {}
    for one in expressions:
        titles = {**_by_language(one.get("title")), **titles}
        headers |= {lang: _lines(text) for lang, text in _by_language(one.get("title_alternative")).items()}
    files = dict(_files(expressions))
    authors, addressees = _participants(work)
    creators = [str(one) for one in listed(work.get("creator"))]
    authors = authors or [code_of(one) for one in creators if "person/" in one]
    answers = tuple(
        facts for nested in listed(work.get("inverse_answers_to")) if (facts := answer_facts(nested, odd)) is not None
    )
    return QuestionFacts(
        id_,
        _day(work, id_, odd),
        type_of(work.get("work_type"), id_),
        code_of(str((listed(work.get("parliamentary_term")) or [""])[0])).removeprefix("ep-"),
        titles,
        headers,
        tuple(dict.fromkeys(authors)),
        tuple(dict.fromkeys(addressees)),
        tuple(dict.fromkeys(_languages(work.get("originalLanguage"), id_, odd))),
        tuple(sorted({*titles, *files})),
        answers,
        files,
    )


def answer_facts(work: Any, odd: Oddities) -> AnswerFacts | None:
    """An answer's detail as facts; None for an annex, which is counted.

    Args:
        work: The detail, nested in a question's or of its own, or a bare reference.
        odd: Counts what is missing or unexpected.

    Example:
        >>> answer_facts({"id": "eli/dl/doc/E-9-2022-000001-ASW"}, Oddities(Funnel())).bare
        True
    """
    id_ = id_of(work) if not isinstance(work, Mapping) else str(work.get("identifier") or id_of(work))
    kind = code_of(str((listed(work.get("work_type")) or [""])[0])) if isinstance(work, Mapping) else ""
    if kind == ANNEX or "-ANN" in id_:
        odd.funnel.drop("answers", "annex", id_)
        return None
    if not isinstance(work, Mapping) or not ({"document_date", "answers_to", "creator"} & set(work)):
        return AnswerFacts(id_, bare=True)
    if kind and kind not in ANSWERS:
        odd.odd("work_type of answers", f"unknown type {kind}", id_)
    expressions = [one for one in listed(work.get("is_realized_by")) if isinstance(one, Mapping)]
    organisations = [code_of(str(one)) for one in listed(work.get("creator")) if "person/" not in str(one)]
    return AnswerFacts(
        id_,
        _day(work, id_, odd),
        tuple(dict.fromkeys(filter(None, map(id_of, listed(work.get("answers_to")))))),
        tuple(dict.fromkeys(organisations)),
        files=dict(_files(expressions)),
    )


def rdf_facts(row: Mapping[str, Any], odd: Oddities) -> QuestionFacts:
    """A question of the open data sample of 2022, whose dates are Brussels midnight in UTC, as facts."""
    id_ = str(row["id"])
    roles = [one for one in listed(row.get("participation")) if isinstance(one, list | tuple) and len(one) >= 2]
    answers = []
    for one in listed(row.get("answers")):
        codes = tuple(str(code) for code in listed(one.get("creator")) if not str(code).isdigit())
        day = _day({"document_date": one.get("date_raw") or one.get("date")}, str(one["id"]), odd)
        answers.append(
            AnswerFacts(str(one["id"]), day, tuple(listed(one.get("answers_to"))), codes, files=_addresses(one))
        )
    return QuestionFacts(
        id_,
        _day({"document_date": row.get("date_raw") or row.get("date")}, id_, odd),
        type_of(row.get("work_type"), id_),
        str(row.get("term") or "").removeprefix("ep-"),
        _by_language(row.get("titles")),
        {lang: _lines(text) for lang, text in _by_language(row.get("title_alternative")).items()},
        tuple(str(one[1]) for one in roles if one[0] in ("AUT", "AUTHOR")),
        tuple(str(one[1]) for one in roles if one[0] == "ADDRESSEE"),
        tuple(_languages(row.get("original_language"), id_, odd)),
        tuple(sorted(str(one) for one in listed(row.get("languages")))),
        tuple(answers),
        _addresses(row),
    )


def type_of(reference: Any, id_: str) -> str:
    """The type of a question by its newer name.

    The older RDF has one type for all written questions; the letter of the id then tells those with priority.

    Example:
        >>> type_of("def/ep-document-types/QUEST_WRITTEN", "P-9-2022-000026")
        'QUESTION_WRITTEN_PRIORITY'
    """
    kind = code_of(str((listed(reference) or [""])[0]))
    if kind == "QUEST_WRITTEN":
        return PRIORITY if id_.startswith("P-") else WRITTEN
    return kind


def id_parts(id_: str) -> re.Match[str] | None:
    """The parts of a portal id: groups `letter`, `term`, `year`, `number` and `rest`."""
    return _ID.fullmatch(id_)


def _day(work: Mapping[str, Any], id_: str, odd: Oddities) -> date | None:
    said = (listed(work.get("document_date")) or [None])[0]
    day = day_of_brussels(said)
    if day is None:
        odd.odd("document_date", "missing" if said is None else f"no date: {str(said)[:40]}", id_)
        return None
    parts = id_parts(id_)
    if parts and not 0 <= day.year - int(parts["year"]) <= 3:
        odd.odd("document_date", "years away from the year of the id", id_)
    else:
        odd.as_expected("document_date")
    return day


def _participants(work: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    authors: list[str] = []
    addressees: list[str] = []
    for one in listed(work.get("workHadParticipation")):
        if not isinstance(one, Mapping):
            continue
        roles = {code_of(str(role)) for role in listed(one.get("participation_role"))}
        if "ADDRESSEE" in roles:
            addressees += [code_of(str(code)) for code in listed(one.get("had_participant_organization"))]
        elif {"AUTHOR", "AUT"} & roles:
            authors += [code_of(str(person)) for person in listed(one.get("had_participant_person"))]
    return authors, addressees


def _by_language(value: Any) -> dict[str, str]:
    found = value if isinstance(value, Mapping) else {}
    return {str(lang).lower(): str(text) for lang, text in found.items() if isinstance(text, str) and text.strip()}


def _lines(header: str) -> str:
    """A header of the interface in lines: `<br/>` in older ones, ` - ` in newer ones."""
    lines = re.split(r"\s*<br\s*/?>\s*", header)
    if len(lines) == 1:
        lines = re.split(r"\s+[-–]\s+", header)
    return "\n".join(line.strip() for line in lines if line.strip())


def _files(expressions: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for one in expressions:
        lang = id_of(one).lower()
        if lang not in _TWO:
            lang = LANGUAGES.get(code_of(str(one.get("language") or "")), "")
        paths = [
            str(path)
            for embodied in listed(one.get("is_embodied_by"))
            if isinstance(embodied, Mapping)
            for path in listed(embodied.get("is_exemplified_by"))
        ]
        if lang:
            yield lang, tuple(paths)


def _addresses(row: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    return {lang: (address,) for lang, address in sorted(_by_language(row.get("docx")).items())}


def _languages(value: Any, id_: str, odd: Oddities) -> list[str]:
    found = []
    for one in listed(value):
        code = code_of(str(one))
        lang = LANGUAGES.get(code.upper()) or (code.lower() if code.lower() in _TWO else "")
        if lang:
            found.append(lang)
        else:
            odd.odd("originalLanguage", f"no official language: {code}", id_)
    if len(found) > 1:
        odd.odd("originalLanguage", "several", id_)
    elif found:
        odd.as_expected("originalLanguage")
    return found
