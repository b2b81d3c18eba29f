"""JSON Lines behind a card: what readers that guess types would take for something else, found in every row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from assay.formats.json_types import DAY, EMPTY, Held

_ALLOWED: Mapping[str, frozenset[str]] = {
    "string": frozenset(("string", DAY)),
    "bool": frozenset(("bool",)),
}
_WORDS = {
    "int": "a number",
    "float": "a number",
    "bool": "true or false",
    "null": "null",
    "object": "an object",
    EMPTY: "a list",
}


def is_id_or_day(name: str) -> bool:
    """Whether a column holds ids or days by its name, which are text in any file.

    Example:
        >>> [is_id_or_day(name) for name in ("_id", "doc_id", "date", "query_date", "text")]
        [True, True, True, True, False]
    """
    return name == "_id" or name.endswith(("_id", "date"))


def wrong_types(place: str, held: Held, said: Mapping[str, str]) -> Iterator[str]:
    """What of a file's rows is not as the card declares it, in words.

    Args:
        place: What the file is called in messages.
        held: What it holds.
        said: Column to declared type (`string`, `int64`, `list<string>`); empty where the card declares none.
    """
    for name, kinds in held.columns.items():
        number = min((line for kind, line in kinds.items() if kind not in ("string", DAY, "null")), default=0)
        if is_id_or_day(name) and number:
            kind = next(kind for kind, line in kinds.items() if line == number)
            yield f"{place}: {name} must be text: line {number} has {_WORDS.get(kind, 'a list')}"
        elif not said:
            yield from _guessed(place, name, kinds)
        elif name not in said:
            yield f"{place}: column {name} holds {_shown(kinds)}, the card says nothing of it"
        else:
            bad = {kind: line for kind, line in kinds.items() if not _fits(kind, said[name])}
            if bad:
                kind, line = min(bad.items(), key=lambda item: item[1])
                yield f"{place}: column {name} holds {kind} in line {line}, the card says {said[name]}"
    if held.rows:
        yield from (f"{place}: no column {name}" for name in said if name not in held.columns)


def read_as_times(place: str, held: Held, said: Mapping[str, str]) -> Iterator[str]:
    """Columns whose every text reads as a point in time: `datasets` gives `2024-01-02 00:00:00` for `2024-01-02`."""
    for name, kinds in held.columns.items():
        if said.get(name) == "string" and set(kinds) - {"null"} == {DAY}:
            yield f"{place}: every text of {name} reads as a day"


def _guessed(place: str, name: str, kinds: Mapping[str, int]) -> Iterator[str]:
    """What a reader gets wrong in a column whose type nobody declares."""
    filled = set(kinds) - {"null"}
    if filled == {DAY}:
        yield f"{place}: {name} reads as a timestamp, for the card declares no type; declare string"
    elif filled <= {EMPTY}:
        what = "a list that is empty" if filled else "null"
        yield f"{place}: {name} is {what} in every row, for which readers make up a type; declare it"
    elif len(_bases(filled)) > 1:
        yield f"{place}: {name} holds {_shown(kinds)}; give every value one type"


def _bases(kinds: set[str]) -> set[str]:
    """Kinds that a reader cannot take for one type."""
    same = {DAY: "string", "int": "number", "float": "number"}
    lists = any(kind.startswith("list<") for kind in kinds)
    return {same.get(kind, kind) for kind in kinds if not (lists and kind == EMPTY)}


def _shown(kinds: Mapping[str, int]) -> str:
    return " and ".join(sorted({"string" if kind == DAY else kind for kind in kinds}))


def _fits(kind: str, declared: str) -> bool:
    if kind == "null":
        return True
    if declared.startswith("list<"):
        inner = kind.removeprefix("list<").removesuffix(">")
        return kind == EMPTY or (kind != inner and all(_fits(one, declared[5:-1]) for one in inner.split("|")))
    if declared.startswith(("int", "uint")):
        return kind == "int"
    if declared.startswith("float"):
        return kind in ("int", "float")
    return kind in _ALLOWED.get(declared, {kind})


def declared_types(features: list[dict[str, Any]]) -> dict[str, str]:
    """Column to type as a card's features declare it, in either way of writing lists.

    Example:
        >>> declared_types([{"name": "a", "dtype": "string"}, {"name": "b", "sequence": "int64"}])
        {'a': 'string', 'b': 'list<int64>'}
    """
    found = {}
    for one in features:
        inner = one.get("list", one.get("sequence"))
        listed = inner.get("dtype") if isinstance(inner, Mapping) else inner
        found[str(one["name"])] = f"list<{listed}>" if inner is not None else str(one.get("dtype"))
    return found
