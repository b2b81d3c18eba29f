"""Records: questions and answers as a source hands them to a question-level build.

A source cuts headers, footers and footnote marks' targets apart and turns dates into days of its house's time zone; it
neither masks nor links. What it could not use it has counted in a funnel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from assay.building.citations import Anchor
from assay.building.funnel import Funnel
from assay.building.house import House


@dataclass(frozen=True, slots=True)
class Version:
    """The official text of a question in another language.

    Attributes:
        language: Two small letters.
        text: The body, unmasked.
        subject: Its subject line.
        source_url: Where it was published.
    """

    language: str
    text: str
    subject: str = ""
    source_url: str = ""


@dataclass(frozen=True, slots=True)
class QuestionRecord:
    """One question.

    Attributes:
        id: The house's own id.
        date: The day it was tabled; None where the source does not say.
        text: The body without header and subject line, unmasked.
        subject: The subject line without its label.
        header: What stood above the subject line.
        source_url: Where it was published.
        type: Kind of question, as the house calls it.
        term: Term or session.
        addressee: Who was asked.
        author: Who asked; empty where no names are kept.
        orig_lang: Language of the original, two small letters; empty where unknown.
        orig_lang_src: What says so (`declared`, `deduced`, …).
        context: Whether it is there for its answer alone and is no query.
        anchors: Links within `text`.
        versions: The same question in other languages, by language.
        cited_as: The canonical id that `assay.building.identifiers` makes of what texts print for it, where that is not
            `id`.
        together: What questions share that the source says were answered together although each has an answer of its
            own, such as the number of the first; empty for others. They are twins.
        other: Further columns of the house, such as `uin`; every question of a source has the same ones.
    """

    id: str
    date: date | None
    text: str
    subject: str = ""
    header: str = ""
    source_url: str = ""
    type: str = ""
    term: str = ""
    addressee: str = ""
    author: str = ""
    orig_lang: str = ""
    orig_lang_src: str = ""
    context: bool = False
    anchors: tuple[Anchor, ...] = ()
    versions: tuple[Version, ...] = ()
    cited_as: str = ""
    together: str = ""
    other: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AnswerRecord:
    """One answer.

    Attributes:
        id: The house's own id.
        date: The day its text, as given here, was published; None where the source does not say.
        text: The body without header, unmasked.
        answers: Ids of the questions it replies to, by the source's own relation, in the source's order.
        institution: Who answered.
        header: What stood above the body.
        source_url: Where it was published.
        cut: Whether the source gives only the beginning of the text.
        holding: Whether the source calls it a holding reply.
        correction: Whether the text is one corrected later; its date is then that of the correction.
        anchors: Links within `text`.
        other: Further columns of the house; every answer of a source has the same ones.
    """

    id: str
    date: date | None
    text: str
    answers: tuple[str, ...] = ()
    institution: str = ""
    header: str = ""
    source_url: str = ""
    cut: bool = False
    holding: bool = False
    correction: bool = False
    anchors: tuple[Anchor, ...] = ()
    other: Mapping[str, str | bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where records come from and what must be said about it.

    Attributes:
        name: What the collection is called.
        source: Where the records were published.
        revision: Which state of them: a commit, a digest of the raw files, a span of time.
        licence: As SPDX writes it.
        attribution: The sentences that the licence asks for.
        modified: What was changed, in a sentence or two.
        parameters: What the source was told, by name.
        languages: Of the questions and answers, two small letters each; versions in other languages say their own.
    """

    name: str
    source: str
    revision: str
    licence: str
    attribution: str
    modified: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    languages: tuple[str, ...] = ()


@dataclass(frozen=True)
class Records:
    """All records of a build.

    Attributes:
        house: Whose records they are.
        origin: Where they come from.
        questions: Questions, in the source's order.
        answers: Answers, in the source's order.
        funnel: What the source kept and dropped so far.
    """

    house: House
    origin: Origin
    questions: Sequence[QuestionRecord]
    answers: Sequence[AnswerRecord]
    funnel: Funnel = field(default_factory=Funnel)
