"""Notices: LICENSE.md of a published folder, with what the licences ask to be said and what was changed."""

from __future__ import annotations

import re

from assay.building.records import Origin

TEXTS = {
    "CC-BY-4.0": (
        "Creative Commons Attribution 4.0 International",
        "https://creativecommons.org/licenses/by/4.0/legalcode",
    ),
    "CC-BY-SA-4.0": (
        "Creative Commons Attribution-ShareAlike 4.0 International",
        "https://creativecommons.org/licenses/by-sa/4.0/legalcode",
    ),
    "CC0-1.0": ("CC0 1.0 Universal", "https://creativecommons.org/publicdomain/zero/1.0/legalcode"),
    "OGL-UK-3.0": (
        "Open Government Licence v3.0",
        "https://www.nationalarchives.gov.uk/doc/open-government-licence/version/3/",
    ),
    "LICENSEREF-OPL-3.0": (
        "Open Parliament Licence v3.0",
        "https://www.parliament.uk/site-information/copyright-parliament/open-parliament-licence/",
    ),
    "APACHE-2.0": ("Apache License 2.0", "https://www.apache.org/licenses/LICENSE-2.0"),
    "MIT": ("MIT License", "https://opensource.org/license/mit"),
}
"""Licences by their SPDX name in capitals: what they are called, and where their text is."""

_NOT_ENDORSED = (
    "The publishers of the source have neither checked nor endorsed this collection. It comes without warranty, as the"
    " licence says."
)
_UNSTATED = "The source states none."


def parts_of(licence: str) -> list[str]:
    """The single licences of an SPDX expression.

    Example:
        >>> parts_of("CC-BY-4.0 AND (OGL-UK-3.0 OR MIT)")
        ['CC-BY-4.0', 'OGL-UK-3.0', 'MIT']
    """
    parts = re.split(r"\s+(?:AND|OR|WITH)\s+|,", licence, flags=re.IGNORECASE)
    return list(dict.fromkeys(name for part in parts if (name := part.strip("() "))))


def licence_text(origin: Origin, *, licence: str, attribution: str) -> str:
    """LICENSE.md: each licence with the place of its text, the attribution, the changes, and what nobody promises.

    Args:
        origin: Where the records come from, and what was changed.
        licence: As SPDX writes it.
        attribution: The sentences that the licence asks for.

    Example:
        >>> said = licence_text(Origin("c", "house", "1", "MIT", "", "Masked."), licence="MIT", attribution="(c) A")
        >>> "MIT License" in said, "(c) A" in said, "Masked." in said
        (True, True, True)
    """
    lines = []
    for part in parts_of(licence):
        name, url = TEXTS.get(part.upper(), ("", ""))
        lines.append(f"- `{part}`: {name}, <{url}>" if name else f"- `{part}`")
    named = "\n".join(lines) or "No licence is stated: ask before you use it."
    given = f"This collection is under `{licence}`:\n\n{named}" if lines else named
    facts = [("Source", origin.source), ("Revision", origin.revision)]
    changed = origin.modified.strip()
    parts = (
        f"# Licence of {origin.name}",
        given,
        "## Attribution",
        attribution.strip() or _UNSTATED,
        *(f"{name}: {value}" for name, value in facts if value),
        "## Changes",
        f"The material was changed. {changed}" if changed else "The source states no change.",
        "Whoever passes it on changed must say so too.",
        "## No endorsement, no warranty",
        _NOT_ENDORSED,
    )
    return "\n\n".join(parts) + "\n"
