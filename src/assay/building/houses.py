"""Houses: the European and the United Kingdom Parliament, as values.

Sources of the European forms: the portal's own ids, doceo and older addresses, CELEX numbers, and printed answers of
terms 4 to 10. Sources of the British ones: the questions interface, and answers as printed.
"""

from __future__ import annotations

import re
from datetime import date

from assay.building.house import Form, House, OwnText, Parts, Period, full_year
from assay.building.suspects import british_places, european_places

_YEARS = range(1958, 2100)
_JOINER = re.compile(
    r"\s{0,3}(?:[,;&+]|\b(?:and|or|to|und|et|ou|y|e|i|och|og|en|ja|ir|a|și|és)\b|και|и)"
    r"(?:\s{1,3}(?:and|also|und|et|sowie|as well as)\b)?\s{0,3}|\s{0,3},?\s{0,3}as well as\s{0,3}"
)


def _european(house: House, parts: Parts, day: date | None) -> tuple[str, ...]:
    if not 1 <= parts.number <= 999_999 or parts.year not in _YEARS:
        return ()
    terms: tuple[str, ...] = (parts.period,) if parts.period else house.periods_of(parts.year, until=parts.day or day)
    known = [period.name for period in house.periods]
    # Written and priority questions share one series of numbers: without a letter it may be either.
    letters = (parts.letter,) if parts.letter else ("E", "P")
    return tuple(
        f"{letter}-{term}-{parts.year}-{parts.number:06d}"
        for letter in letters
        for term in terms[::-1]
        if term in known and (not parts.period or term in house.periods_of(parts.year))
    )


def _portal(match: re.Match[str]) -> Parts:
    found = match.groupdict()
    return Parts(
        int(found["number"]), int(found["year"]), found["letter"].upper(), found.get("term") or "", None, _asw(match)
    )


def _asw(match: re.Match[str]) -> bool:
    return bool(match.groupdict().get("asw"))


def _printed(match: re.Match[str]) -> Parts | None:
    """`E-003604/2026`, `E-003205-15`, and the order of older addresses, `E-2012-007390`."""
    letter, first, second = match["letter"], match["first"], match["second"]
    answer = _asw(match)
    short = len(second) in (2, 4) and full_year(second) in _YEARS
    if match["sign"] == "/" or short:
        if not short or (letter in "GHO" and len(first) < 3):
            return None
        return Parts(int(first), full_year(second), letter, answer=answer)
    if len(first) == 4 and int(first) in _YEARS and len(second) >= 3:
        return Parts(int(second), int(first), letter, answer=answer)
    return None


def _numbered(match: re.Match[str]) -> Parts | None:
    """`No 1649/91`: only where the words before speak of a question or an answer."""
    before = match.string[max(0, match.start() - 60) : match.start()]
    if full_year(match["year"]) not in _YEARS or not _NUMBERED.search(before):
        return None
    return Parts(int(match["number"]), full_year(match["year"]), answer=_asw(match))


_NUMBERED = re.compile(
    r"(?:\bquestions?|\bw\.?q\.?|\banswers?|\brepl(?:y|ies)|\banfragen?|\bquestions? écrites?)\b[^.;:/]{0,30}"
    r"(?:\b[Nn]os?\.?|[Nn][°º]s?\.?|\b[Nn]rs?\.|№)\s{0,2}$",
    re.IGNORECASE,
)


def _celex(match: re.Match[str]) -> Parts:
    return Parts(int(match["number"]), int(match["year"]), match["letter"])


def _scanned(match: re.Match[str]) -> Parts | None:
    """`E-2 8 9/95`, `E-l 762/94`: blanks and look-alike letters within the number, in the years of scanned prints."""
    digits = re.sub(r"\s", "", match["number"]).translate(str.maketrans("lIO", "110"))
    year = full_year(re.sub(r"\s", "", match["year"]))
    if not 1979 <= year <= 1999 or len(digits) > 6 or not re.search(r"\d", match["number"]):
        return None
    return Parts(int(digits), year, match["letter"])


_ASW = r"(?:\s?/\s?rev\.?\s?\d{1,2})?(?P<asw>\s?\(ASW\)|-ASW)?"
_PORTAL = r"(?P<letter>[EPOHG])-(?P<term>\d{1,2})-(?P<year>(?:19|20)\d\d)-(?P<number>\d{4,6})(?P<asw>-ASW)?"
_EP_FORMS = (
    Form("portal", re.compile(_PORTAL.replace("[EPOHG])", r"[EPOHG])(?<![\w-].)") + r"(?!\d)"), _portal),
    Form(
        "slash",
        re.compile(
            r"(?P<letter>[EPOHG])(?<![\w-].)\s?-\s?(?P<first>\d{1,6})\s?(?P<sign>[/-])\s?(?P<second>\d{2,6})"
            rf"(?![\d%]|-\d|[.,]\d){_ASW}"
        ),
        _printed,
    ),
    Form(
        "blank",
        re.compile(
            r"(?P<letter>[EPOHG])(?<![\w-].)\s{1,2}(?P<number>\d{3,6})/(?P<year>(?:19|20)\d\d|(?<=\d{4}/)\d\d)"
            rf"(?![\d%]|-\d|[.,]\d){_ASW}"
        ),
        lambda match: Parts(int(match["number"]), full_year(match["year"]), match["letter"], answer=_asw(match)),
    ),
    Form(
        "numbered",
        re.compile(rf"(?P<number>[0-9](?<![\w/.,-].)\d{{0,5}})/(?P<year>\d{{4}}|\d\d)(?![\w/]){_ASW}"),
        _numbered,
    ),
    Form("celex", re.compile(r"9(?<!\w.)(?P<year>(?:19|20)\d\d)(?P<letter>[EPOHG])(?P<number>\d{4})(?!\w)"), _celex),
    Form(
        "lower case",
        re.compile(r"(?P<letter>[epohg])(?<![\w-].)-(?P<number>\d{6})/(?P<year>(?:19|20)\d\d)(?!\d)"),
        _portal,
    ),
    Form(
        "scanned",
        re.compile(
            r"(?P<letter>[EPOHG])(?<![\w-].)\s?-\s?(?P<number>[\dlIO](?:\s?[\dlIO]){0,5})\s?/\s?(?P<year>[89]\s?\d)(?!\d)"
        ),
        _scanned,
    ),
)
_WITHOUT_YEAR = tuple(f"{letter}{dash}" for letter in "EPOHG" for dash in "-\u2010\u2011")
_EP_ADDRESSES = (
    Form("portal", re.compile(_PORTAL, re.IGNORECASE), _portal),
    Form(
        "reference",
        re.compile(
            r"(?:WQ|OQ|QT|WQA|reference=|ref=|/)\W?(?P<letter>[EPOHG])-(?P<year>(?:19|20)\d\d)-(?P<number>\d{1,6})(?!\d)"
            r"(?P<asw>-ASW)?",
            re.IGNORECASE,
        ),
        lambda match: _portal(match)._replace(answer=_asw(match) or "getallanswers" in match.string.lower()),
    ),
    Form("celex", re.compile(r"9(?P<year>(?:19|20)\d\d)(?P<letter>[EPOHG])(?P<number>\d{4})(?!\d)", re.I), _celex),
)
_EP_LOOKALIKE = re.compile(
    r"(?:\b(?:directives?|regulations?|decisions?|recommendations?|resolutions?|petitions?|proposals?|cases?|judge?ments?|"
    r"orders?|appeals?|OJ|COM|SEC|SWD|framework|act|law|règlement|verordnung|richtlinie|směrnice|nařízení|patents?|"
    r"standards?|dossiers?|procedures?)\b[^.;\n]{0,24}|[A-Z]\)\s+[Nn]os?\.?\s*|\bOJ\s+[LC]\s*\d*[^;\n]{0,12}|\b[CTF]-|ECLI:\S*|\w\.)$",
    re.IGNORECASE,
)
# A list of names goes on while a line ends with a comma or a colon, or the next one with a group in brackets.
_SUPPORTER = re.compile(
    r"(?m)^[ \t]*(?:Supporters?[ \t]?(?:\[?\d{1,2}\]?)?[ \t]*(?::|(?=\n))|"
    r"(?:\[?\d{1,2}\]?[ \t]*)?This question is supported by)"
    r"[^\n]*(?:(?<=[,;:\]])[ \t]*\n[^\n]+|(?<=Supporter)\n[^\n]+|(?<=Supporters)\n[^\n]+|"
    r"\n[^\n]{3,200}\([A-Z][\w&/. -]{1,24}\)[ \t]*[,;]?[ \t]*(?=\n|\Z))*"
)
_SUBJECTS = {
    "bg": "Относно",
    "cs": "Předmět",
    "da": "Om|Emne|Vedrørende",
    "de": "Betreff?|Betrifft",
    "el": "Θέμα",
    "en": "Subject",
    "es": "Asunto",
    "et": "Teema",
    "fi": "Aihe",
    "fr": "Objet",
    "ga": "Ábhar",
    "hr": "Predmet",
    "hu": "Tárgy",
    "it": "Oggetto",
    "lt": "Tema",
    "lv": "Temats",
    "mt": "Suġġett",
    "nl": "Betreft|Onderwerp",
    "pl": "Przedmiot|Dotyczy|Temat",
    "pt": "Assunto",
    "ro": "Subiect",
    "sk": "Vec",
    "sl": "Zadeva",
    "sv": "Angående|Ämne",
}
"""What subject lines begin with, by official language."""
EUROPEAN_PARLIAMENT = House(
    name="European Parliament",
    periods=(
        Period("1", date(1979, 7, 17)),
        Period("2", date(1984, 7, 24)),
        Period("3", date(1989, 7, 25)),
        Period("4", date(1994, 7, 19)),
        Period("5", date(1999, 7, 20)),
        Period("6", date(2004, 7, 20)),
        Period("7", date(2009, 7, 14)),
        Period("8", date(2014, 7, 1)),
        Period("9", date(2019, 7, 2)),
        Period("10", date(2024, 7, 16)),
    ),
    forms=_EP_FORMS,
    canonical=_european,
    joiner=_JOINER,
    item=re.compile(
        r"(?:(?P<letter>[EPOHG])\s?-\s?)?(?P<number>\d{1,6}(?=\s?/\s?\d)|(?!(?:19|20)\d\d(?!\d))\d{4,6})"
        r"(?:\s?/\s?(?P<year>\d{4}|\d\d))?(?![\w%]|/\w|[.,-]\d)(?P<answer>\s?\(ASW\))?"
    ),
    letters=("E", "P", "O", "H", "G"),
    lookalike=_EP_LOOKALIKE,
    # The court of the EFTA numbers its cases E-15/10, with two digits at most; nothing else has such a letter and more.
    unmistakable=re.compile(r"[EPOHG]\s?-\s?(?:\d{1,2}-(?:19|20)\d\d-\d{4,6}|\d{3,6}\s?[/-]\s?\d\d)"),
    hosts=("europarl.europa.eu", "europarl.eu.int", "eur-lex.europa.eu"),
    addresses=_EP_ADDRESSES,
    printed={
        "portal": "{letter}-{period}-{year}-{number:06d}",
        "portal answer": "{letter}-{period}-{year}-{number:06d}-ASW",
        "slash": "{letter}-{number:06d}/{year}",
        "dash, two-digit year": "{letter}-{number:06d}-{yy:02d}",
        "two-digit year": "{letter}-{number:06d}/{yy:02d}",
        "non-breaking hyphen": "{letter}\u2011{number:05d}/{year}",
        "no-break blank": "\u00a0{letter}-{number:06d}/{year}",
        "few digits": "{letter}-{number}/{year}",
        "revised": "{letter}-{number:06d}/{year}/rev.1",
        "answer": "{letter}-{number:06d}/{year}(ASW)",
        "blank": "{letter} {number:06d}/{year}",
        "n°": "n°{letter}-{number:06d}/{year}",
        "number alone": "Written Question No {number}/{yy:02d}",
        "celex": "9{year}{letter}{number:04d}",
        "soft hyphen": "{letter}-\u00ad{number:06d}/{year}",
        "full width": "{letter}－{number:06d}／{year}",
        "doceo": "https://www.europarl.europa.eu/doceo/document/{letter}-{period}-{year}-{number:06d}_EN.html",
        "doceo answer": "http://europarl.europa.eu/doceo/document/{letter}-{period}-{year}-{number:06d}-ASW_EN.pdf?redirect",
        "getDoc": "http://www.europarl.europa.eu/sides/getDoc.do?pubRef=-//EP//TEXT+WQ+{letter}-{year}-{number:06d}+0+DOC+XML"
        "+V0//EN",
        "getDoc, encoded": "http://www.europarl.europa.eu/sides/getDoc.do?pubRef=-%2F%2FEP%2F%2FTEXT%2BWQ%2B{letter}-{year}"
        "-{number:06d}%2B0%2BDOC%2BXML%2BV0%2F%2FEN",
        "getAllAnswers": "http://www.europarl.europa.eu/sides/getAllAnswers.do?reference={letter}-{year}-{number:06d}"
        "&language=EN",
        "eli": "https://data.europarl.europa.eu/eli/dl/doc/{letter}-{period}-{year}-{number:06d}",
        "distribution": "https://data.europarl.europa.eu/distribution/reds_iMaQp/{letter}-{period}-{year}-{number:06d}/"
        "{letter}-{period}-{year}-{number:06d}_en.docx",
    },
    own_text=(
        # The first of "E-000001, E-000002/2020" names no record by itself, but it is half of an id.
        OwnText("id without a year", _WITHOUT_YEAR, re.compile(r"\b[EPOHG]-\d{6}\b(?![/-]\d)")),
        OwnText("PE number", ("PE",), re.compile(r"\bPE\s?\d{3}[.,]\d{3}(?:v\d\d-\d\d)?")),
        OwnText("question reference", ("eference",), re.compile(r"(?m)^[ \t]*[Qq]uestion [Rr]eference[ \t]*:?[^\n]*$")),
        OwnText(
            "OJ reference",
            ("OJ",),
            re.compile(r"\(?\bOJ\s+C\s*\d+\s?E?,\s*\d{1,2}[./]\d{1,2}[./]\d{2,4}(?:,\s*p\.\s*\d+)?\)?"),
        ),
        OwnText("supporter", ("upporter", "supported by"), _SUPPORTER),
    ),
    subject=re.compile(
        rf"(?m)^[ \t\u00a0]*(?:{'|'.join(_SUBJECTS.values())})[ \t\u00a0\u202f]*:[ \t\u00a0]*"
        r"(?P<subject>[^\n]*)(?:\n|$)"
    ),
    places=european_places,
    reply=re.compile(
        # The date stands last, in any language: a day, a month in figures or words, a year.
        r"(?m)^[ \t\u00a0]*(?:(?P<last>\((?=[^()\n]*\b(?:19|20)\d\d\b)(?=[^()\n]*\b\d{1,2}(?:\b|er\b))"
        r"[\w. ,\u00a0]{6,32}\))|on behalf of the [^\n.]{3,80}|(?:Joint )?[Aa]nswer(?: given by[^\n]*)?|"
        r"(?:Joint )?[Rr]eply)[ \t\u00a0]*(?:\n|$)"
    ),
    footer=re.compile(
        r"(?im)^[ \t]*(?:PE\d{3}\.\d{3}v\d\d-\d\d|Last updated:?[^\n]*|Submitted:?\s*\d[^\n]*|"
        r"Legal notice[^\n]*)[ \t]*$"
    ),
    holding=re.compile(
        r"(?:commission|council|vice-president|high representative)\b[^.]{0,80}\b(?:is collecting|"
        r"will (?:communicate|inform|provide)|not (?:yet )?(?:been )?(?:possible|in a position) to)"
        r"\b[^.]{0,160}\b(?:as soon as possible|findings|"
        r"information|reply)",
        re.IGNORECASE,
    ),
)


def _british(house: House, parts: Parts, day: date | None) -> tuple[str, ...]:
    if parts.number < 1:
        return ()
    of = parts.day or day
    sessions = (house.period_of(of),) if of else tuple(period.name for period in house.periods[::-1])
    return tuple(f"{session}/{parts.letter}{parts.number}" for session in sessions if session)


def _uin(match: re.Match[str]) -> Parts | None:
    cue = match.groupdict().get("cue") or ""
    number, letter = int(match["number"].replace(",", "")), "HL" if match["lords"] else ""
    # Questionnaires number their questions too: a small number needs the name that Parliament gives it. So does one
    # with a comma, which may be an amount: `the sum in question, 2,000`.
    if cue.islower() and "," in match["number"]:
        return None
    if number < 100 and not letter and (cue.islower() or len(match["number"]) < 2):
        return None
    return Parts(number, letter=letter)


def _listed_with_subjects(match: re.Match[str]) -> Parts | None:
    """`Questions 102528 on Stoves: Regulation and 102529 on Stoves: Labels`: the second number."""
    before = match.string[max(0, match.start() - 200) : match.start()]
    return _uin(match) if re.search(r"\b(?:Questions|PQs|UINs)\s+\d{3,6}\s+on\s+[A-Z][^.;]*$", before) else None


def _tabled(match: re.Match[str]) -> Parts | None:
    try:
        day = date.fromisoformat(match["day"])
    except ValueError:
        return None
    return Parts(int(match["number"]), letter="HL" if match["lords"] else "", day=day)


def uin_of(uin: str, tabled: date) -> str:
    """The canonical id of a British question: UINs restart each session.

    Example:
        >>> uin_of("7292", date(2023, 12, 18)), uin_of("HL571", date(2023, 11, 27))
        ('2023-24/7292', '2023-24/HL571')
    """
    return f"{UK_PARLIAMENT.period_of(tabled)}/{uin.strip().upper()}"


_MONTH = r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_NOT_UIN = (
    rf"(?![\w%/]|,\d{{3}}(?!\d)|\.\d|-\d|(?:st|nd|rd|th)?\s+{_MONTH}\b"
    r"|\s+(?:per cent|people|years?|days|months|million)\b"
    r"|\s+(?:of|in|on) (?:the|this|his|her|their) (?:\w+\s){0,4}(?:consultation|survey|questionnaire|inquiry|form)\b)"
)
_MARK = r"(?:\s{0,2}(?:UINs?|[Nn]umbers?|[Nn]os?\.?|\(?[a-z]\)|:))*\s{0,3}"
UK_PARLIAMENT = House(
    name="UK Parliament",
    periods=(
        Period("2014-15", date(2014, 6, 4)),
        Period("2015-16", date(2015, 5, 18)),
        Period("2016-17", date(2016, 5, 18)),
        Period("2017-19", date(2017, 6, 13)),
        Period("2019", date(2019, 10, 14)),
        Period("2019-21", date(2019, 12, 17)),
        Period("2021-22", date(2021, 5, 11)),
        Period("2022-23", date(2022, 5, 10)),
        Period("2023-24", date(2023, 11, 7)),
        Period("2024-26", date(2024, 7, 9)),
        Period("2026-27", date(2026, 5, 13)),
    ),
    forms=(
        Form(
            "question",
            re.compile(
                r"(?P<cue>[QqWPU](?<!\w.)(?:uestions?|UESTIONS?|P?Qs?|INs?|IN)|QUESTIONS?)(?![a-z])"
                rf"{_MARK}(?P<id>(?P<lords>HL\s?)?(?P<number>\d{{1,3}},\d{{3}}|\d{{1,6}})){_NOT_UIN}"
            ),
            _uin,
        ),
        Form("lords", re.compile(rf"(?P<lords>H[Ll])(?<!\w..)\s?(?P<number>\d{{1,5}}){_NOT_UIN}"), _uin),
        Form(
            "before a lords",
            re.compile(rf"(?P<lords>)(?P<number>[1-9](?<!\w.)\d{{2,5}}){_NOT_UIN}(?=(?:,|\s+and|\s+or)\s+HL\s?\d)"),
            _uin,
        ),
        Form(
            "with a subject",
            re.compile(rf"(?P<lords>)(?P<number>[1-9](?<=\band .)\d{{3,5}}){_NOT_UIN}(?=\s+on\s+[A-Z])"),
            _listed_with_subjects,
        ),
        Form(
            "answer to",
            re.compile(rf"(?P<lords>)(?P<number>[1-9](?<=\bto .)\d{{3,5}}){_NOT_UIN}(?=\s+on\s+\d)"),
            _uin,
        ),
    ),
    canonical=_british,
    joiner=re.compile(r"\s{0,3}(?:[,;&]|\b(?:and|or|to)\b)(?:\s{1,3}(?:and|also)\b)?\s{0,3}"),
    item=re.compile(
        # Thousands apart only where they were in the item before: `Question 5477, 1,500 cases` names one.
        r"(?:\([a-z]\)\s*)?(?P<id>(?P<letter>HL)?\s?(?P<number>(?<=HL)\d{1,6}|\d{3,6}|"
        rf"(?:(?<=,\d\d\d, )|(?<=,\d\d\d and )|(?<=,\d\d\d & ))\d{{1,3}},\d{{3}})){_NOT_UIN}"
    ),
    letters=("", "HL"),
    lookalike=re.compile(r"(?:\bHCWS|\bHLWS|£|\bin (?:response|answer) to (?:consultation|survey) )$"),
    hosts=("parliament.uk", "theyworkforyou.com"),
    addresses=(
        Form(
            "detail",
            re.compile(r"/(?P<day>\d{4}-\d\d-\d\d)[/.](?P<lords>HL)?(?P<number>\d{1,6})(?!\d)", re.IGNORECASE),
            _tabled,
        ),
    ),
    dated=True,
    printed={
        "Question": "Question {letter}{number}",
        "Question UIN": "Question UIN {letter}{number}",
        "UIN": "UIN {letter}{number}",
        "UIN:": "UIN: {letter}{number}",
        "PQ": "PQ {letter}{number}",
        "PQ, glued": "PQ{letter}{number}",
        "WPQ": "WPQ {letter}{number}",
        "lower case": "parliamentary question number {letter}{number}",
        "item": "Question (a) {letter}{number}",
        "thousands": "Question {letter}{number:,}",
        "no-break blank": "Question\u00a0{letter}{number}",
        "full width": "ＵＩＮ {letter}{number}",
        "detail": "https://questions-statements.parliament.uk/written-questions/detail/{day}/{letter}{number}",
        "older address": "http://www.parliament.uk/written-questions-answers-statements/written-question/Commons/{day}/{letter}"
        "{number}",
    },
    places=british_places,
    holding=re.compile(
        r"^[^.]{0,40}\b(?:it has not proved possible to (?:respond|reply|answer)|"
        r"(?:I|we) will (?:write to|respond to|reply)|"
        r"(?:is|are) taking (?:longer|time) |it is taking time to|I am unable to (?:answer|reply|respond))",
        re.IGNORECASE,
    ),
)
