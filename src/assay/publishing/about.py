"""About: what a card says that no file can tell, such as the language, the licence and whom to cite."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from assay.errors import FormatError, UnknownNameError, UsageError
from assay.formats.files import opened

# fmt: off
LICENCES = frozenset(
    (
        "afl-3.0", "agpl-3.0", "apache-2.0", "artistic-2.0", "bsd", "bsd-2-clause", "bsd-3-clause",
        "bsd-3-clause-clear", "bsl-1.0", "c-uda", "cc", "cc0-1.0", "cc-by-2.0", "cc-by-2.5", "cc-by-3.0",
        "cc-by-4.0", "cc-by-nc-2.0", "cc-by-nc-3.0", "cc-by-nc-4.0", "cc-by-nc-nd-3.0", "cc-by-nc-nd-4.0",
        "cc-by-nc-sa-2.0", "cc-by-nc-sa-3.0", "cc-by-nc-sa-4.0", "cc-by-nd-4.0", "cc-by-sa-3.0", "cc-by-sa-4.0",
        "cdla-permissive-1.0", "cdla-permissive-2.0", "cdla-sharing-1.0", "ecl-2.0", "epl-1.0", "epl-2.0",
        "etalab-2.0", "eupl-1.1", "eupl-1.2", "gfdl", "gpl", "gpl-2.0", "gpl-3.0", "isc", "lgpl", "lgpl-2.1",
        "lgpl-3.0", "mit", "mpl-2.0", "odbl", "odc-by", "pddl", "unlicense", "wtfpl", "zlib", "unknown", "other",
    )
)
# fmt: on
"""Names of licences that the hub knows; any other is written as `other` with its name beside it."""


QUESTIONS = {
    "purpose": "For what purpose was the collection made, and which gap does it fill?",
    "creators": "Who made it, and on behalf of whom?",
    "funding": "Who paid for making it?",
    "sensitive": "Can people be identified, or do texts hold what may be sensitive or offend?",
    "errors": "Which errors or noise are known besides what the tables here show?",
    "people": "Who took part in gathering the records, and how were they paid?",
    "ethics": "Was there an ethical review, and what came of it?",
    "consent": "Do the people in the records know of the collection, have they consented, and can they withdraw?",
    "used": "What has the collection been used for already?",
    "unsuitable": "What should it not be used for, and what could go wrong?",
    "distribution": "To whom, how and when is it handed on, and do others hold rights in it?",
    "maintainer": "Who looks after it, and how can they be reached?",
    "updates": "Will it be updated or corrected, how often, and how are users told?",
    "contributions": "Can others add to it or build on it, and how?",
}
"""Questions of the datasheet that only a person can answer, by key."""


@dataclass(frozen=True)
class About:
    """What a card says besides what is in the files.

    Attributes:
        title: What people call the collection; the collection's own name where empty.
        summary: What it is, in a paragraph or two of Markdown.
        languages: Codes of two or three letters (`en`, `no`), `code` or `multilingual`.
        licence: As SPDX writes it (`CC-BY-4.0`, `BSD-2-Clause AND OGL-UK-3.0`); the collection's own where empty.
        provenance: Where the texts come from and how they were made, in Markdown.
        attribution: A sentence that the licence asks for.
        citation: How to cite it, as BibTeX.
        tags: Words to find it by.
        task_categories: The hub's names of what it is for.
        datasheet: Answers to the questions of the datasheet that no file can answer, by their keys.
    """

    title: str = ""
    summary: str = ""
    languages: tuple[str, ...] = ()
    licence: str = ""
    provenance: str = ""
    attribution: str = ""
    citation: str = ""
    tags: tuple[str, ...] = ()
    task_categories: tuple[str, ...] = ("text-retrieval",)
    datasheet: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for key in self.datasheet:
            if key not in QUESTIONS:
                raise UnknownNameError.of("question of the datasheet", key, QUESTIONS)
        for name, value in asdict(self).items():
            texts = (value,) if isinstance(value, str) else value.values() if isinstance(value, dict) else value
            if any(0xD800 <= ord(c) <= 0xDFFF for text in texts for c in text):
                raise UsageError(f"{name} holds bytes that are no UTF-8: {value!r}; write it again")
        for code in self.languages:
            if not re.fullmatch(r"[a-z]{2,3}|code|multilingual", code):
                raise UsageError(f"{code!r} is no language code; write two or three small letters, as in en, no or deu")

    @classmethod
    def of(cls, found: Mapping[str, Any], *, place: str = "about") -> About:
        """The same from a mapping, as in a TOML file or a manifest.

        Raises:
            UnknownNameError: A key is not known; near names are offered.
            FormatError: A value is of another type.

        Example:
            >>> About.of({"title": "Harbour guides", "languages": ["en"]}).languages
            ('en',)
        """
        kind: Any = found
        if not isinstance(kind, Mapping):
            raise FormatError(f"{place}: expected a mapping of names to values, got {kind!r}")
        names = [f.name for f in fields(cls)]
        values: dict[str, Any] = {}
        for name, value in found.items():
            if name not in names:
                raise UnknownNameError.of(f"key of {place}", name, names)
            if name == "datasheet":
                values[name] = _answers(value, place)
                continue
            several = isinstance(getattr(cls, name), tuple)
            right = isinstance(value, list | tuple) and all(isinstance(v, str) for v in value)
            if not (right if several else isinstance(value, str)):
                expected = "a list of texts" if several else "text"
                raise FormatError(f"{place} $.{name}: expected {expected}, got {value!r}")
            values[name] = tuple(value) if several else value
        return cls(**values)

    def filled(self, **defaults: str) -> About:
        """The same, with defaults where a text is empty."""
        missing: dict[str, Any] = {name: value for name, value in defaults.items() if not getattr(self, name)}
        return replace(self, **missing)

    def record(self) -> dict[str, Any]:
        """The same as a mapping that JSON can hold."""
        found = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        return found if self.datasheet else {name: value for name, value in found.items() if name != "datasheet"}


def _answers(value: Any, place: str) -> dict[str, str]:
    """The table `[datasheet]`: key to answer."""
    if not isinstance(value, Mapping):
        raise FormatError(f"{place} $.datasheet: expected a table of keys to texts, got {value!r}")
    for key, answer in value.items():
        if not isinstance(answer, str):
            raise FormatError(f"{place} $.datasheet.{key}: expected text, got {answer!r}")
    return dict(value)


def read_about(path: Path) -> About:
    """What a TOML file says about a collection.

    Raises:
        FileError: The file cannot be read.
        FormatError: It is not TOML, or a value is of another type.
        UnknownNameError: A key is not known; near names are offered.
    """
    with opened(path) as stream:
        data = stream.read()
    try:
        found = tomllib.loads(data.decode("utf-8-sig"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as err:
        raise FormatError(f"{path.name}: not TOML ({err})") from None
    return About.of(found, place=path.name)


def licence_fields(licence: str) -> dict[str, Any]:
    """The front matter's fields for a licence: names that the hub knows, else `other` and the name.

    Example:
        >>> licence_fields("CC-BY-4.0")
        {'license': 'cc-by-4.0'}
        >>> licence_fields("BSD-2-Clause AND OGL-UK-3.0")
        {'license': ['bsd-2-clause', 'other'], 'license_name': 'bsd-2-clause-and-ogl-uk-3.0'}
    """
    if not licence:
        return {}
    parts = [part.strip("() ").lower() for part in re.split(r"\s+(?:AND|OR|WITH)\s+|,", licence, flags=re.IGNORECASE)]
    names = list(dict.fromkeys(part if part in LICENCES else "other" for part in parts if part))
    found: dict[str, Any] = {"license": names[0] if len(names) == 1 else names}
    if "other" in names:
        found["license_name"] = re.sub(r"[^a-z0-9.+]+", "-", licence.lower()).strip("-")
    return found
