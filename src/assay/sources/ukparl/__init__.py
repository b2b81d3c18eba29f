"""UK Parliament: written questions and answers from the files of its questions interface, month by month.

What is read is a folder with `commons-YYYY-MM.json.gz` (or `lords-…`, or plain `.json`), each a list of
`{"value": {…}}` as the interface gives it, and beside them `longform-YYYY-MM.sqlite` with the texts that lists cut
short. Members' names and numbers are not kept.

Choices:

* **One answer a question.** The interface repeats the one answer to questions asked together under each of them, so
  each question keeps an answer of its own, as the published session has it: a query has one relevant passage, and every
  passage one source address. What belongs together is said by `QuestionRecord.together`: such questions are twins, tie
  in intervals, and their equal answers are duplicates of each other.
* **A text and its day belong together.** An answer that was corrected later is either its first text on its first day
  (`corrections="original"`, the default: it is what a reader of that day could read) or the corrected text on the day
  of the correction (`"corrected"`). Where the source no longer gives the first text, it is always the latter; where it
  does not say when it was corrected, the answer is undated.
* **A long text takes the place of a cut one** if it begins as that does; otherwise it is another version, counted and
  left alone. Lists cut answers at 255 characters with `...` and questions without a sign. Texts that stay cut are
  flagged (answers) or counted (questions).
* **A holding reply** is flagged where the source calls it one. `holding_date` is the day of an earlier holding reply,
  whose text the source no longer gives.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Literal, cast, get_args

from assay.building.funnel import Funnel
from assay.building.houses import UK_PARLIAMENT, uin_of
from assay.building.records import AnswerRecord, Origin, QuestionRecord, Records
from assay.errors import DuplicateIdError, FormatError, UnknownNameError
from assay.formats.digest import digest_of, file_digests
from assay.formats.table import quoted
from assay.sources.ukparl.plain import Plain, plain_text
from assay.sources.ukparl.raw import Long, Value, long_texts, month_values, raw_files

Corrections = Literal["original", "corrected"]

SOURCE = "https://github.com/mysociety/uk-parl-written-questions"
LICENCE = "CC-BY-4.0"
ATTRIBUTION = (
    "Written questions of the UK Parliament, collected by mySociety, CC BY 4.0. Contains Parliamentary information"
    " licensed under the Open Parliament Licence v3.0."
)
MODIFIED = (
    "HTML turned into plain text; long texts put in the place of cut ones; identifiers of questions, addresses and"
    " links masked; withdrawn and unanswered questions and the names of Members left out."
)
ADDRESS = "https://questions-statements.parliament.uk/written-questions/detail"
CUT = 255
"""How many characters of a text the interface's lists give; a cut answer has `...` behind them."""
_UIN = re.compile(r"(?:HL)?\d{1,7}")
_SIGNS = re.compile(r"\W+")


def records(raw: Path, *, corrections: Corrections = "original") -> Records:
    """The questions and answers in a folder of raw files; what was left out is in the funnel.

    Args:
        raw: The folder. It may be one that cannot be written.
        corrections: Which text of an answer that was corrected later, each with its own day.

    Raises:
        FileError: The folder or its files are missing or cannot be read.
        FormatError: A file or a field is not what it should be, or no file holds a record.
        DuplicateIdError: A question stands twice with different fields.
        UnknownNameError: There is no such rule for corrections.
    """
    corrections = corrections_of(corrections)
    months, longs = raw_files(raw)
    digests = file_digests(raw, [*months, *longs])
    reading = _Reading(corrections)
    for path in months:
        reading.month(path.name, month_values(path))
    if not reading.seen:
        raise FormatError(f"{raw}: {len(months)} files, none of which holds a record; fetch them again")
    reading.take(_joined(longs))
    first, last = (path.name.split("-", 1)[1][:7] for path in (min(months, key=_month), max(months, key=_month)))
    origin = Origin(
        name="UK Parliament written questions, " + (first if first == last else f"{first} to {last}"),
        source=SOURCE,
        revision=digest_of(digests),
        licence=LICENCE,
        attribution=ATTRIBUTION,
        modified=MODIFIED,
        parameters={"corrections": corrections, "files": ", ".join(sorted(digests))},
        languages=("en",),
    )
    return Records(UK_PARLIAMENT, origin, reading.questions, reading.answers, reading.funnel)


def corrections_of(name: str) -> Corrections:
    """The rule for corrections of that name.

    Example:
        >>> corrections_of("corrected")
        'corrected'
    """
    found = next((rule for rule in get_args(Corrections) if rule == name), None)
    if found is None:
        raise UnknownNameError.of("rule for corrections", name, get_args(Corrections))
    return cast(Corrections, found)


def _month(path: Path) -> str:
    return path.name.split("-", 1)[1]


def _joined(paths: Iterable[Path]) -> dict[str, Long]:
    found: dict[str, Long] = {}
    for path in paths:
        for id_, long in long_texts(path):
            if found.setdefault(id_, long) != long:
                raise DuplicateIdError(f"{path.name} Dict[{id_}]: an earlier file has other texts for this record")
    return found


@dataclass
class _Reading:
    """Records as they are read: first all values, so that one that stands twice is known, then their texts."""

    corrections: Corrections
    seen: dict[str, Value] = field(default_factory=dict)
    questions: list[QuestionRecord] = field(default_factory=list)
    answers: list[AnswerRecord] = field(default_factory=list)
    funnel: Funnel = field(default_factory=Funnel)

    def month(self, name: str, values: list[Value]) -> None:
        """Takes the records of a file."""
        if values:
            self.funnel.keep("files")
        else:
            self.funnel.drop("files", "holds no record", name)
        for value in values:
            tabled, uin = value.day("dateTabled"), value.text("uin").strip().upper()
            if tabled is None or not _UIN.fullmatch(uin):
                where, what = ("dateTabled", "an ISO date") if tabled is None else ("uin", "digits, perhaps after HL")
                raise FormatError(f"{value.place}.{where}: expected {what}, got {quoted(value.fields.get(where))}")
            id_ = f"wq-{tabled.isoformat()}-{uin}"
            earlier = self.seen.setdefault(id_, value)
            if earlier is not value:
                if earlier.fields != value.fields:
                    raise DuplicateIdError(_differing(uin, tabled, earlier, value))
                self.funnel.drop("records", "the same record again", id_)

    def take(self, longs: Mapping[str, Long]) -> None:
        """Turns all values into questions and answers."""
        left = dict(longs)
        usable: list[tuple[str, Value, _Texts]] = []
        for id_, value in self.seen.items():
            long = left.pop(str(value.fields.get("id") or ""), None)
            texts = None if value.mark("isWithdrawn") else _Texts(value, self.corrections, long)
            reason = "withdrawn" if texts is None else _unusable(texts)
            if texts is None or reason:
                self.funnel.drop("records", reason, id_)
                self.funnel.drop("long texts", "of a record left out", [id_] if long else [])
            else:
                usable.append((id_, value, texts))
        self.funnel.keep("records", len(usable))
        self.funnel.drop("long texts", "of no record in these files", sorted(left))
        names = Counter(_cited_as(id_) for id_, _, _ in usable)
        for id_, value, texts in usable:
            name = _cited_as(id_)
            if names[name] > 1:
                self.funnel.drop("numbers", "two questions of a session have it: citations of it are not resolved", id_)
            self._count(id_, value, texts)
            self._pair(id_, value, texts, cited_as=name if names[name] == 1 else "")

    def _count(self, id_: str, value: Value, texts: _Texts) -> None:
        if texts.long is not None and False in (texts.long_question, texts.long_answer):
            self.funnel.drop("long texts", "begins otherwise than the text that it should go on with", id_)
        elif texts.long is not None:
            self.funnel.keep("long texts")
        for what, said in (
            ("questions cut short by the source", texts.question_cut),
            ("answers cut short by the source", texts.cut),
            ("answers corrected later", texts.was_corrected),
            ("answers with the corrected text", texts.correction),
            ("answers called holding replies", value.mark("answerIsHolding")),
        ):
            self.funnel.keep(what, int(said))

    def _pair(self, id_: str, value: Value, texts: _Texts, *, cited_as: str) -> None:
        question, answer = texts.question, texts.answer
        tabled = date.fromisoformat(id_[3:13])
        uin = id_[14:]
        body = value.maybe("answeringBodyName").strip()
        address = f"{ADDRESS}/{tabled.isoformat()}/{uin}"
        self.questions.append(
            QuestionRecord(
                id=id_,
                date=tabled,
                text=question.text,
                subject=" ".join(value.maybe("heading").split()),
                source_url=address,
                type="named day" if value.mark("isNamedDay") else "ordinary",
                term=UK_PARLIAMENT.period_of(tabled),
                addressee=body,
                anchors=question.anchors,
                cited_as=cited_as,
                together=_together(uin, tabled, value),
                other={"uin": uin},
            )
        )
        holding = value.day("dateHoldingAnswer")
        self.answers.append(
            AnswerRecord(
                id=f"{id_}-ASW",
                date=texts.day,
                text=answer.text,
                answers=(id_,),
                institution=body,
                source_url=address,
                cut=texts.cut,
                holding=value.mark("answerIsHolding"),
                correction=texts.correction,
                anchors=answer.anchors,
                other={
                    "truncated": texts.cut,
                    "is_correction": texts.correction,
                    "holding_date": holding.isoformat() if holding else "",
                },
            )
        )


class _Texts:
    """The question and the answer of a record as plain text, the answer with its own day."""

    def __init__(self, value: Value, corrections: Corrections, long: Long | None) -> None:
        self.long = long
        said = value.text("questionText")
        self.question, self.long_question = _longer(said, long.question if long else "")
        self.question_cut = len(said) >= CUT and self.long_question is not True
        original = value.maybe("originalAnswerText")
        corrected = value.day("dateAnswerCorrected")
        self.was_corrected = value.mark("answerIsCorrection") or corrected is not None
        self.correction = self.was_corrected and not (corrections == "original" and original.strip())
        text = original if self.was_corrected and not self.correction else value.maybe("answerText")
        self.answer, self.long_answer = _longer(text, long.answer if long else "")
        self.cut = _is_cut(text) and self.long_answer is not True
        given = value.day("dateAnswered")
        if given is None and value.mark("answerIsHolding"):
            given = value.day("dateHoldingAnswer")
        self.given = given
        self.day = corrected if self.correction else given


def _unusable(texts: _Texts) -> str:
    """Why a record is left out; empty for one that is kept."""
    if texts.given is None or not texts.answer.text:
        return "unanswered"
    return "" if texts.question.text else "question without a text"


def _cited_as(id_: str) -> str:
    """What the identifiers of the house make of a printed number of the question."""
    return uin_of(id_[14:], date.fromisoformat(id_[3:13]))


def _longer(text: str, long: str) -> tuple[Plain, bool | None]:
    """The plain text, the long one if it begins as the other does; and whether it does, None where there is none."""
    if not long.strip():
        return plain_text(text), None
    short, whole = plain_text(text.strip().removesuffix("...") if _is_cut(text) else text), plain_text(long)
    begins = _SIGNS.sub("", whole.text).startswith(_SIGNS.sub("", short.text))
    return (whole, True) if begins else (plain_text(text), False)


def _is_cut(text: str) -> bool:
    """Whether an answer ends where lists cut: shorter ones that end in `...` were written so."""
    return len(text) >= CUT and text.endswith("...")


def _together(uin: str, tabled: date, value: Value) -> str:
    """What questions answered together share: the first of their numbers, with its session; empty for one alone."""
    others = value.fields.get("groupedQuestions") or []
    if not isinstance(others, list) or not all(isinstance(one, str) for one in others):
        raise FormatError(f"{value.place}.groupedQuestions: expected a list of numbers as text, got {quoted(others)}")
    first = min((uin, *(one.strip().upper() for one in others)), key=lambda one: (len(one), one))
    return uin_of(first, tabled) if others else ""


def _differing(uin: str, tabled: date, earlier: Value, value: Value) -> str:
    names = sorted(
        name for name in {*earlier.fields, *value.fields} if earlier.fields.get(name) != value.fields.get(name)
    )
    return (
        f"{value.place}: question {uin} of {tabled.isoformat()} stands in {earlier.place} too, and differs in"
        f" {', '.join(names[:5])}; keep the newer of the two files"
    )
