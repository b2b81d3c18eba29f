"""Filled: records from facts and texts, and what must be said about where they come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date

from assay.building.records import AnswerRecord, Origin, QuestionRecord, Version
from assay.sources.europarl.layout import Layout
from assay.sources.europarl.metadata import AnswerFacts, Oddities, QuestionFacts
from assay.sources.europarl.organisations import organisation

PORTAL = "https://data.europarl.europa.eu/"
LICENCE = "CC-BY-4.0"
MODIFIED = (
    "Texts were taken out of the distributed documents; headers, subject lines, names of supporters, days of submission"
    " and footers were cut from the bodies; footnotes stand at their ends; identifiers of questions, addresses, links"
    " and references to documents of the Parliament were masked; questions without an answer were left out."
)


def question_record(
    facts: QuestionFacts,
    parts: Layout,
    *,
    odd: Oddities,
    context: bool = False,
    versions: Sequence[Version] = (),
) -> QuestionRecord:
    """A question as a build takes it.

    Args:
        facts: Its metadata.
        parts: Its text.
        odd: Counts what is missing or unexpected.
        context: Whether it is there for its answer alone.
        versions: The same question in other languages.

    Example:
        >>> from assay.building.funnel import Funnel
        >>> parts = Layout("Why?", (), "to the Council", "Fees", "subject line")
        >>> one = question_record(QuestionFacts("E-9-2022-000001", addressees=("CS",)), parts, odd=Oddities(Funnel()))
        >>> one.addressee, one.subject, one.text
        ('Council', 'Fees', 'Why?')
    """
    title = facts.titles.get("en", "")
    if parts.subject and title and _plain(parts.subject) != _plain(title):
        odd.odd("subject", "differs from the title of the portal", facts.id)
    codes = facts.addressees
    if not codes:
        codes = tuple(dict.fromkeys(code for answer in facts.answers for code in answer.organisations))
        odd.odd("addressee", "missing, taken from who answered" if codes else "missing", facts.id)
    original, says = facts.original()
    return QuestionRecord(
        facts.id,
        facts.date,
        parts.text,
        subject=parts.subject or title,
        header=parts.header,
        source_url=source_url(facts.files, facts.id),
        type=facts.type,
        term=facts.term,
        addressee=_names(codes, "addressee", facts.id, odd),
        author="; ".join(facts.authors),
        orig_lang=original,
        orig_lang_src=says,
        context=context,
        anchors=parts.anchors,
        versions=tuple(versions),
        other={"addressee_code": "; ".join(codes)},
    )


def answer_record(facts: AnswerFacts, parts: Layout, *, odd: Oddities, cut: bool = False) -> AnswerRecord:
    """An answer as a build takes it."""
    if not facts.organisations:
        odd.odd("institution", "missing", facts.id)
    return AnswerRecord(
        facts.id,
        facts.date,
        parts.text,
        answers=facts.answers,
        institution=_names(facts.organisations, "institution", facts.id, odd),
        header=parts.header,
        source_url=source_url(facts.files, facts.id),
        cut=cut,
        anchors=parts.anchors,
        other={"institution_code": "; ".join(facts.organisations)},
    )


def source_url(files: Mapping[str, Sequence[str]], id_: str, *, language: str = "en") -> str:
    """Where a text was published: its file, or the record's own address where no file is told.

    Example:
        >>> source_url({"en": ("distribution/x/x_en.docx",)}, "x"), source_url({}, "x")
        ('https://data.europarl.europa.eu/distribution/x/x_en.docx', 'https://data.europarl.europa.eu/eli/dl/doc/x')
    """
    path = next(iter(files.get(language, ())), f"eli/dl/doc/{id_}")
    return path if path.startswith("http") else PORTAL + path


def origin(name: str, revision: str, *, first: date, last: date, parameters: Mapping[str, str]) -> Origin:
    """What must be said of records of a span of time."""
    years = str(first.year) if first.year == last.year else f"{first.year}-{last.year}"
    return Origin(
        name=name,
        source=PORTAL,
        revision=revision,
        licence=LICENCE,
        attribution=f"© European Union, {years}, European Parliament Open Data Portal, CC BY 4.0.",
        modified=MODIFIED,
        parameters=parameters,
        languages=("en",),
    )


def _names(codes: Sequence[str], field: str, id_: str, odd: Oddities) -> str:
    names = []
    for code in codes:
        name = organisation(code)
        if name is None:
            odd.odd(field, f"unknown code {code}", id_)
        else:
            odd.as_expected(field)
            names.append(name)
    return "; ".join(dict.fromkeys(names))


def _plain(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())
