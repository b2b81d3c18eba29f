"""A house: how a parliament prints its ids, and what they mean; and texts with plain signs, to look for ids in."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

INVISIBLE = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
"""Characters that take no room in print and may stand inside an id."""
_FOLDED = {
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe63\uff0d", "-"),
    **dict.fromkeys(map(chr, range(0x2000, 0x200B)), " "),
    **dict.fromkeys("\u00a0\u1680\u202f\u205f\u3000", " "),
    **{chr(0xFF10 + digit): str(digit) for digit in range(10)},
    **{chr(0xFF21 + letter): chr(0x41 + letter) for letter in range(26)},
    "\u2044": "/",
    "\u2215": "/",
    "\uff0f": "/",
}
_ODD = re.compile(f"[{''.join(_FOLDED)}]")
_HIDDEN = re.compile(f"[{INVISIBLE}]")


@dataclass(frozen=True)
class Period:
    """A term or session, from its first day to the day before the next one's.

    A year that lies in two periods does not tell which one is meant; a day does.
    """

    name: str
    first: date


class Parts(NamedTuple):
    """What a printed form says of an id; what it does not say is empty, 0 or None."""

    number: int
    year: int = 0
    letter: str = ""
    period: str = ""
    day: date | None = None
    answer: bool = False


class Form(NamedTuple):
    """One printed form.

    Attributes:
        name: What the form is called in counts and rows.
        pattern: Finds it in a folded text. It should begin with a small set of characters: the scan is then fast. Where
            it reads more than the id (a word before it), its group `id` is the id.
        read: What a match says, or None where it is something else after all.
        full: Whether it may open a list whose later items leave something out.
    """

    name: str
    pattern: re.Pattern[str]
    read: Callable[[re.Match[str]], Parts | None]
    full: bool = True


class OwnText(NamedTuple):
    """A kind of text around a record that gives it away: one of `cues` stands in any text that holds it."""

    kind: str
    cues: tuple[str, ...]
    pattern: re.Pattern[str]


@dataclass(frozen=True, repr=False)
class House:
    """A parliament: how its ids are printed, and what they mean. Another parliament is another value.

    Attributes:
        name: What it is called.
        periods: Terms or sessions in order of time.
        forms: Printed forms; where two overlap, the longer match wins, then the earlier form.
        canonical: Canonical ids for what a form says; the day is that of the text it stands in, where known.
        joiner: What stands between the items of a list.
        item: An item of a list that leaves something out: groups `number` and perhaps `letter`, `year`, `answer`.
        letters: Letters that an id may begin with, the usual one first; an empty one for none.
        lookalike: Matches the text right before something of the same shape that is no id; None for no guard.
        unmistakable: Matches an id that nothing else looks like: no guard holds it back. None for none.
        hosts: Parts of addresses, in lower case, by which the house's own are known.
        addresses: Forms of ids within an address.
        dated: Whether the day printed beside an id tells its period.
        printed: How to print an id, by the name of the form: templates with the fields `letter`, `number`, `year`,
            `yy`, `period` and `day`. Recall on planted ids is measured on these.
        places: Where in UTF-8 text an id may stand (`assay.building.suspects`), so that a scan of many texts is fast;
            None for anywhere.
        own_text: What else of a record's surroundings gives it away and is masked.
        subject: Matches the subject line, after which the body of a question begins; None for none.
        reply: Matches a line with which the header of a reply may end; None for none.
        footer: Matches what follows a body, to its end; None for none.
        holding: Matches a reply that only says that it cannot reply; None for none.
    """

    name: str
    periods: tuple[Period, ...]
    forms: tuple[Form, ...]
    canonical: Callable[[House, Parts, date | None], tuple[str, ...]]
    joiner: re.Pattern[str]
    item: re.Pattern[str]
    letters: tuple[str, ...] = ("",)
    lookalike: re.Pattern[str] | None = None
    unmistakable: re.Pattern[str] | None = None
    hosts: tuple[str, ...] = ()
    addresses: tuple[Form, ...] = ()
    dated: bool = False
    printed: Mapping[str, str] = field(default_factory=dict)
    places: Callable[[bytes], npt.NDArray[np.int64]] | None = None
    own_text: tuple[OwnText, ...] = ()
    subject: re.Pattern[str] | None = None
    reply: re.Pattern[str] | None = None
    footer: re.Pattern[str] | None = None
    holding: re.Pattern[str] | None = None

    def __repr__(self) -> str:
        return f"<House: {self.name}>"

    def period_of(self, day: date) -> str:
        """The term or session that a day lies in, empty before the first.

        Example:
            >>> from assay.building.houses import EUROPEAN_PARLIAMENT
            >>> [EUROPEAN_PARLIAMENT.period_of(date(2024, 7, day)) for day in (15, 16)]
            ['9', '10']
        """
        place = bisect_right([period.first for period in self.periods], day)
        return self.periods[place - 1].name if place else ""

    def periods_of(self, year: int, *, until: date | None = None) -> tuple[str, ...]:
        """The terms or sessions that a year lies in, in order of time; none that begins after `until`.

        Example:
            >>> from assay.building.houses import EUROPEAN_PARLIAMENT as house
            >>> house.periods_of(2023), house.periods_of(2024), house.periods_of(2024, until=date(2024, 3, 1))
            (('9',), ('9', '10'), ('9',))
        """
        first, last = date(year, 1, 1), date(year, 12, 31)
        last = last if until is None else max(first, min(last, until))
        names = [period.name for period in self.periods]
        low, high = self.period_of(first), self.period_of(last)
        if not high:
            return ()
        return tuple(names[names.index(low) if low else 0 : names.index(high) + 1])


def folded(text: str) -> tuple[str, Sequence[int]]:
    """A text with plain dashes, blanks, slashes and digits and nothing invisible; and where each character comes from.

    The second value has one entry more than the folded text; it is a `range` where nothing was taken out.

    Example:
        >>> folded("P\u201110522/2010")[0], folded("E-1\u00ad2")
        ('P-10522/2010', ('E-12', [0, 1, 2, 4, 5]))
    """
    if text.isascii():
        return text, range(len(text) + 1)
    for odd in set(_ODD.findall(text)):
        text = text.replace(odd, _FOLDED[odd])
    if not _HIDDEN.search(text):
        return text, range(len(text) + 1)
    places = [place for place, character in enumerate(text) if character not in INVISIBLE]
    return "".join([text[place] for place in places]), [*places, len(text)]


def full_year(digits: str) -> int:
    """A year of two or four digits in full; two digits from 58 on are of the last century.

    Example:
        >>> full_year("94"), full_year("09"), full_year("2015")
        (1994, 2009, 2015)
    """
    year = int(digits)
    return year if len(digits) == 4 else year + (1900 if year >= 58 else 2000)


def printed_forms(house: House, parts: Parts, *, names: Iterable[str] | None = None) -> dict[str, str]:
    """An id as each form prints it, by the name of the form.

    Example:
        >>> from assay.building.houses import EUROPEAN_PARLIAMENT
        >>> said = Parts(4819, year=2020, letter="E", period="9")
        >>> printed_forms(EUROPEAN_PARLIAMENT, said, names=["slash", "portal"])
        {'slash': 'E-004819/2020', 'portal': 'E-9-2020-004819'}
    """
    fields = parts._asdict() | {"yy": parts.year % 100}
    wanted = house.printed if names is None else {name: house.printed[name] for name in names}
    return {name: template.format(**fields) for name, template in wanted.items()}


def with_forms(house: House, *forms: Form) -> House:
    """The house with further printed forms, looked for before its own."""
    return replace(house, forms=(*forms, *house.forms))
