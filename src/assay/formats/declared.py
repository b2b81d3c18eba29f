"""Declared: TOML files whose every key is known and of its type; a slip of the pen is an error, not a default."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import GenericAlias
from typing import Any, get_args

from assay.errors import FormatError, UnknownNameError
from assay.formats.files import opened

Kind = type[Any] | GenericAlias
Keys = Mapping[str, Kind | tuple[Kind, ...]]
"""Which keys a table may have, each with the types that its value may be of, such as `str` or `list[int]`."""

TABLES = GenericAlias(list, (dict,))
"""A list of tables, as TOML writes it with `[[name]]`."""

_WORDS: dict[Any, str] = {
    str: "a text",
    dict: "a table",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list[str]: "a list of texts",
    list[int]: "a list of whole numbers",
    TABLES: "a list of tables",
}


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file.

    Raises:
        FileError: The file cannot be read.
        FormatError: It is not TOML; the message names line and column.
    """
    with opened(path) as stream:
        data = stream.read()
    try:
        return tomllib.loads(data.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as err:
        raise FormatError(f"{path.name}: not TOML ({err})") from None


def refuse_unknown(table: Mapping[str, Any], keys: Keys, place: str) -> None:
    """Raises an error that names `place` and the key where a key is not known, or its value not of its type.

    Example:
        >>> refuse_unknown({"depth": 10}, {"depth": int}, "a.toml")
        >>> refuse_unknown({"deph": 10}, {"depth": int}, "a.toml")
        Traceback (most recent call last):
        assay.errors.UnknownNameError: a.toml: there is no key 'deph'; did you mean 'depth'? known: depth
    """
    for key, value in table.items():
        if key not in keys:
            raise UnknownNameError(f"{place}: {UnknownNameError.of('key', key, keys)}")
        wanted = keys[key]
        kinds = wanted if isinstance(wanted, tuple) else (wanted,)
        if not any(_fits(value, kind) for kind in kinds):
            words = " or ".join(_WORDS[kind] for kind in kinds)
            raise FormatError(f"{place} {key}: expected {words}, got {value!r}")


def _fits(value: Any, kind: Kind) -> bool:
    if isinstance(kind, GenericAlias):
        return isinstance(value, list) and all(_fits(item, get_args(kind)[0]) for item in value)
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, int | float) if kind is float else isinstance(value, kind)
