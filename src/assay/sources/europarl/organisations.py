"""Organisations: the codes of those who are asked and who answer, as names."""

from __future__ import annotations

import re

COMMISSION = "Commission"
COUNCIL = "Council"
HIGH_REPRESENTATIVE = "High Representative"

_CODES = {
    COMMISSION: ("COM", "CE", "EU_COMMISSION"),
    COUNCIL: ("CS", "CONSIL", "EU_COUNCIL"),
    HIGH_REPRESENTATIVE: (
        "VP",
        "VPHR",
        "HRVP",
        "HRUFASP",
        "EU_VPHR",
        "EEAS",
        "EU_REPRESENT_HIGH_PRESIDENT_COMMISSION_VICE",
    ),
}
_SEPARATORS = re.compile(r"[-_/\s]")


def _plain(code: str) -> str:
    return _SEPARATORS.sub("", code).upper()


_NAMES = {_plain(code): name for name, codes in _CODES.items() for code in codes}


def code_of(reference: str) -> str:
    """The code at the end of a reference.

    Example:
        >>> code_of("org/EU_COUNCIL"), code_of("http://publications.europa.eu/resource/authority/corporate-body/COM")
        ('EU_COUNCIL', 'COM')
    """
    return reference.strip().rstrip("/").rpartition("/")[2]


def organisation(reference: str) -> str | None:
    """The name of an organisation by its code, with `-`, `_` or nothing between words; None for an unknown one.

    The portal has no stable list of codes; nothing is guessed from what a code looks like.

    Example:
        >>> [organisation(code) for code in ("org/EU_COUNCIL", "eu-commission", "VP/HR", "EU_PARLIAMENT")]
        ['Council', 'Commission', 'High Representative', None]
    """
    return _NAMES.get(_plain(code_of(reference))) or _NAMES.get(_plain(reference))
