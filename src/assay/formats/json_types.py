"""JSON types: which kinds of values every column of a JSON Lines file holds, and where each is first met.

Other readers guess types from values; what they would guess wrong is told from this.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from assay.errors import FormatError
from assay.formats.files import StrPath, opened

DAY, EMPTY = "day", "list"
"""Kinds of their own: a text that readers take for a point in time, and a list without an item."""

_DAY = re.compile(
    r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?:[ T]\d\d(?::\d\d(?::\d\d)?)?(?:Z|[+-]\d\d(?::?\d\d)?)?)?"
)
_KINDS: Mapping[type, str] = {bool: "bool", int: "int", float: "float", type(None): "null", dict: "object"}


@dataclass(frozen=True)
class Held:
    """What a JSON Lines file holds.

    Attributes:
        rows: How many.
        columns: Column to kind to the line that has the first value of it. Kinds are `string`, `day`, `int`, `float`,
            `bool`, `null`, `object`, `list` (empty) and `list<…>`.
        present: In how many rows each column stands.
    """

    rows: int
    columns: Mapping[str, Mapping[str, int]]
    present: Mapping[str, int]


def held(path: StrPath) -> Held:
    """The kinds of values in a JSON Lines file; blank lines are passed over.

    Raises:
        FileError: The file cannot be read.
        FormatError: A line is no JSON object.
    """
    decode = msgspec.json.Decoder(dict[str, Any]).decode
    columns: dict[str, dict[str, int]] = {}
    present: dict[str, int] = {}
    rows = 0
    with opened(path) as stream:
        for number, line in enumerate(stream, 1):
            line = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
            if not line.strip():
                continue
            try:
                row = decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as err:
                raise FormatError(f"{Path(path).name}:{number}: not a JSON object ({err}); write it again") from None
            rows += 1
            for name, value in row.items():
                columns.setdefault(name, {}).setdefault(_kind(value), number)
                present[name] = present.get(name, 0) + 1
    return Held(rows, columns, present)


def _kind(value: Any) -> str:
    if type(value) is str:
        return DAY if len(value) < 40 and _DAY.fullmatch(value) else "string"
    if type(value) is list:
        kinds = sorted({"string" if kind == DAY else kind for kind in map(_kind, value)})
        return f"list<{'|'.join(kinds)}>" if kinds else EMPTY
    return _KINDS[type(value)]
