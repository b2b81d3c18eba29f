"""Made-up records in the way of the European Parliament: questions, replies, and what makes a build hard.

Words are those of `load.py`. About a tenth of the replies cite earlier ones in printed forms of the house, a few
questions do; some questions are twins, some replies are copies, joint, or holding replies. The same size and seed give
the same records everywhere.
"""

from __future__ import annotations

from datetime import date, timedelta
from random import Random

from assay.building.house import Parts, printed_forms
from assay.building.houses import EUROPEAN_PARLIAMENT as HOUSE
from assay.building.records import AnswerRecord, Origin, QuestionRecord, Records, Version
from load import made

FIRST, DAYS = date(2014, 7, 1), 3830
CARRIERS = (
    "The Commission would refer the Honourable Member to its answer to Written Question {}.",
    "As stated in its reply to {}, the Commission acts.",
    "See the answers to Written Questions {}.",
)
NUMBERED = (
    "Directive 2014/53/EU applies.",
    "This costs EUR 5.4 million from 2021 to 2027.",
    "Regulation (EU) 2016/679 says so.",
    "It was 15.3 % in 2018, see https://ec.europa.eu/info/law_en for more.",
)
HOLDING = "The Commission is collecting the information it needs and will communicate its findings as soon as possible."
ORIGIN = Origin("made up", "made up", "1", "CC0-1.0", "Nobody.", "Made up.")


def records(n: int, seed: int = 1) -> Records:
    """About `n` records, half of them questions of 130 words, half replies of 200 words."""
    random = Random(seed)
    size = n // 2
    load = made(size, size, seed=seed)
    days = sorted(random.randrange(DAYS) for _ in range(size))
    questions: list[QuestionRecord] = []
    answers: list[AnswerRecord] = []
    joint: list[str] = []
    for row, offset in enumerate(days):
        day = FIRST + timedelta(days=offset)
        parts = Parts(row % 900_000 + 1, day.year, random.choice("EEEP"), HOUSE.period_of(day), day)
        id_ = f"{parts.letter}-{parts.period}-{parts.year}-{parts.number:06d}"
        # A twin is a question of one of the last few hundred, sent to another institution.
        twin = questions[-random.randint(1, min(300, row))] if row and random.random() < 0.05 else None
        text = twin.text if twin else _with(load.queries[row], random, questions, (row, 0.03))
        questions.append(_question(id_, day, text, twin.subject if twin else load.queries[row][:60], random))
        joint.append(id_)
        if random.random() < 0.02 and len(joint) < 4:
            continue
        reply = _with(load.passages[row], random, questions, (row, 0.1))
        if answers and random.random() < 0.03:
            reply = random.choice(answers).text
        elif random.random() < 0.01:
            reply = HOLDING
        said = day + timedelta(days=random.randint(33, 170))
        answers.append(_answer(f"{joint[0]}-ASW", said, reply, tuple(joint), random))
        joint = []
    return Records(HOUSE, ORIGIN, questions, answers)


def _with(text: str, random: Random, questions: list[QuestionRecord], cites: tuple[int, float]) -> str:
    """A text with a few numbers in it; a share of them cite one to three of the earlier questions."""
    sentences = [text, random.choice(NUMBERED)]
    earlier, share = cites
    if earlier and random.random() < share:
        for _ in range(random.randint(1, 3)):
            letter, term, year, number = questions[random.randrange(earlier)].id.split("-")
            parts = Parts(int(number), int(year), letter, term, FIRST)
            printed = printed_forms(HOUSE, parts, names=[random.choice(("slash", "two-digit year", "doceo"))])
            sentences.append(random.choice(CARRIERS).format(*printed.values()))
    return " ".join(sentences)


def _question(id_: str, day: date, text: str, subject: str, random: Random) -> QuestionRecord:
    version = (Version("de", text[:600], subject),) if random.random() < 0.1 else ()
    return QuestionRecord(
        id_,
        day,
        text,
        subject=subject,
        header=f"Question for written answer {id_} to the Commission",
        source_url=f"https://www.europarl.europa.eu/doceo/document/{id_}_EN.html",
        type="QUESTION_WRITTEN",
        term=id_.split("-")[1],
        addressee="Commission",
        orig_lang=random.choice(("en", "de", "fr", "it")),
        orig_lang_src="declared",
        versions=version,
    )


def _answer(id_: str, day: date, text: str, answers: tuple[str, ...], random: Random) -> AnswerRecord:
    return AnswerRecord(
        id_,
        day,
        text,
        answers,
        institution=random.choice(("Commission", "Commission", "Commission", "Council")),
        header="Answer given by the Commission",
        source_url=f"https://www.europarl.europa.eu/doceo/document/{id_}_EN.html",
        holding=text == HOLDING,
    )
