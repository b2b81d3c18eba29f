"""Audits: looks at a collection from the side, one check a file.

`verify` runs them all and returns what they found; `page` is their documentation, made from their docstrings.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from typing import Any

from assay.audit import Audit, Finding
from assay.catalog import known
from assay.collection import Collection
from assay.errors import UnknownNameError, UsageError

__all__ = ["HEADINGS", "page", "verify"]

HEADINGS = ("Checks", "Why it matters", "Known limits", "Example", "What to do")


def verify(collection: Collection, *, only: Iterable[str] = ()) -> list[Finding]:
    """What every audit found, by the audits' names in alphabetical order; every audit says something.

    Args:
        collection: Any collection, read or made in memory.
        only: Names of audits; all of them where none is named.

    Raises:
        UnknownNameError: There is no audit of that name.
        UsageError: This is no collection.
    """
    if not isinstance(collection, Collection):
        raise UsageError(f"verify needs a collection, found {type(collection).__name__}; open a path with assay.open")
    audits = known("audit")
    wanted = list(only) or list(audits)
    for name in wanted:
        if name not in audits:
            raise UnknownNameError.of("audit", name, audits)
    findings: list[Finding] = []
    for name in sorted(set(wanted)):
        audit: Audit = audits[name]()
        findings += audit.inspect(collection)
    return findings


def page() -> str:
    """The audits as one Markdown page, a section each, in the order of `verify`."""
    audits = {cls.name: cls for cls in known("audit").values()}
    parts = [
        "# What `assay verify` checks",
        "",
        "Each section is the documentation of one audit. `assay verify COLLECTION` runs them all; `--only NAME` runs"
        " one. A finding is `ok`, a `note` (worth knowing), a `warning` (a score may mislead), an `error` (the"
        " collection is wrong) or `skipped` (there was nothing to look at). The page is made from the audits'"
        " docstrings: `python -c 'from assay.audits import page; print(page(), end=\"\")' > docs/verify.md`.",
        "",
        "| audit | says |",
        "|---|---|",
        *(f"| [`{name}`](#{name}) | {sections(cls)['']} |" for name, cls in sorted(audits.items())),
    ]
    for name, cls in sorted(audits.items()):
        said = sections(cls)
        parts += ["", f"## {name}", "", said[""]]
        for heading in HEADINGS:
            parts += ["", f"**{heading}.** {said[heading]}"]
    return "\n".join(parts) + "\n"


def sections(audit: type[Any]) -> dict[str, str]:
    """The summary of an audit's docstring (under the empty text) and the text under each heading.

    Example:
        >>> sorted(sections(known("audit")["ids-unique"]))
        ['', 'Checks', 'Example', 'Known limits', 'What to do', 'Why it matters']
    """
    pieces = re.split(r"^([A-Z][a-z ]+):$", inspect.getdoc(audit) or "", flags=re.MULTILINE)
    names = ["", *pieces[1::2]]
    return {name: " ".join(text.split()) for name, text in zip(names, pieces[::2], strict=True)}
