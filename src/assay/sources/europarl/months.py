"""Spans of whole months, as a build takes them."""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import date

from assay.errors import UsageError

EARLIEST = (2004, 7)
"""The first month of term 6, before which the interface is not known to hold written questions."""


@dataclass(frozen=True)
class Months:
    """Whole months of questions.

    Attributes:
        first: First day of the questions that become queries.
        last: Their last day.
        context_from: First day of the answers to earlier questions that are there for context; None for none.
    """

    first: date
    last: date
    context_from: date | None = None

    def years(self) -> tuple[int, ...]:
        """Years whose lists are needed.

        Whether the interface takes the year from the id or from the date is not known. So months that begin in January
        or end in December also take the year beside them; dates decide afterwards. What is answered in the context may
        have been asked up to a year earlier.

        Example:
            >>> Months(date(2024, 1, 1), date(2024, 3, 31)).years()
            (2023, 2024)
            >>> Months(date(2024, 3, 1), date(2024, 3, 31), context_from=date(2024, 2, 1)).years()
            (2023, 2024)
        """
        begin = self.first.year - (self.first.month == 1)
        if self.context_from is not None:
            begin = min(begin, self.context_from.year - 1)
        return tuple(range(begin, self.last.year + (self.last.month == 12) + 1))


def months_of(first: str, last: str, *, context_from: str | None = None, today: date) -> Months:
    """The months from the first day of one month to the last day of another, both written as `2024-01`.

    Args:
        first: First month of the queries.
        last: Last month of the queries.
        context_from: First month of the answers to earlier questions.
        today: The day up to which months may lie in the past.

    Raises:
        UsageError: A month is none, is not over, lies before July 2004, or the months are in the wrong order.

    Example:
        >>> months = months_of("2024-01", "2024-02", context_from="2019-07", today=date(2024, 5, 1))
        >>> months.first.isoformat(), months.last.isoformat(), months.context_from.isoformat()
        ('2024-01-01', '2024-02-29', '2019-07-01')
    """
    begin, end = _month("--from", first, today), _month("--to", last, today)
    if end < begin:
        raise UsageError(f"--to {last} lies before --from {first}; swap them")
    context = None if context_from is None else _month("--context-from", context_from, today)
    if context is not None and context >= begin:
        raise UsageError(
            f"--context-from {context_from} does not lie before --from {first}: context is what was answered earlier;"
            " name an earlier month or leave it out"
        )
    return Months(begin, end.replace(day=monthrange(end.year, end.month)[1]), context)


def _month(option: str, text: str, today: date) -> date:
    found = re.fullmatch(r"(\d{4})-(\d\d)", text.strip())
    if not found or not 1 <= int(found[2]) <= 12:
        raise UsageError(f"{option} {text!r} is no month; write one as 2024-01")
    year, month = int(found[1]), int(found[2])
    if (year, month) >= (today.year, today.month):
        raise UsageError(
            f"{option} {text} is not over yet, and months are taken whole; the last one that can be built is"
            f" {_before(today)}"
        )
    if (year, month) < EARLIEST:
        raise UsageError(f"{option} {text}: the interface is not known to hold questions before July 2004; begin there")
    return date(year, month, 1)


def _before(today: date) -> str:
    year, month = (today.year, today.month - 1) if today.month > 1 else (today.year - 1, 12)
    return f"{year:04d}-{month:02d}"
