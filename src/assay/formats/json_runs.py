"""Runs as JSON: `{query id: {passage id: score}}`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from assay.errors import DuplicateIdError, FormatError, ScoreError
from assay.formats.files import StrPath, opened, replacing
from assay.run import Run


def read_run(path: StrPath) -> Run:
    """The run in a JSON file; a query that maps to an empty object is answered with an empty list.

    Raises:
        FormatError: The file is not JSON of that form, or a score is not a number.
        DuplicateIdError: A query stands twice, or a passage twice for a query.
        ScoreError: A score is not finite.
    """
    found = read_object(path)
    name = Path(path).name
    try:
        return Run.of(found, name=name.split(".")[0])
    except (ScoreError, OverflowError) as err:
        raise ScoreError(f"{name}: {err}; scores are finite numbers") from None


def write_run(run: Run, path: StrPath) -> None:
    r"""Writes a run, queries and passages in order, scores with round-trip digits.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     place = Path(folder) / "run.json"
        ...     write_run(Run.of({"q": {"a": 0.1, "b": 2.0}, "r": {}}), place)
        ...     place.read_text()
        '{"q":{"b":2.0,"a":0.1},"r":{}}\n'
    """
    found: dict[str, dict[str, float]] = {query: {} for query in run.queries}
    for query, passage, score in run.triples():
        found[query][passage] = score
    write_object(found, path)


def write_object(found: Mapping[str, Mapping[str, float]], path: StrPath) -> None:
    """Writes `{query: {passage: number}}` as one line of JSON."""
    with replacing(path) as stream:
        stream.write(msgspec.json.encode(found))
        stream.write(b"\n")


def read_object(path: StrPath) -> dict[str, dict[str, float]]:
    """What a file of `{query: {passage: number}}` holds.

    Raises:
        FormatError: The file is not JSON of that form.
        DuplicateIdError: A key stands twice.
    """
    name = Path(path).name
    with opened(path) as stream:
        data = stream.read()
    try:
        text = data.decode("utf-8-sig")
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as err:
        raise FormatError(f"{name}: not JSON ({err}); a run is an object of objects of finite scores") from None
    if not isinstance(found, dict):
        raise FormatError(f"{name}: expected an object, query id to passage id to score")
    keys = len(found) + sum(len(scores) for scores in found.values() if isinstance(scores, dict))
    # Every key has a colon behind it: as many colons as keys that were kept means that no key stood twice.
    if data.count(b":") != keys:
        json.loads(text, object_pairs_hook=lambda pairs: _distinct(pairs, name))
    for query, numbers in found.items():
        if not isinstance(numbers, dict):
            raise FormatError(f"{name} $.{query}: expected an object of scores, got {json.dumps(numbers)[:40]}")
        for passage, number in numbers.items():
            if isinstance(number, bool) or not isinstance(number, int | float):
                raise FormatError(f"{name} $.{query}.{passage}: expected a number, got {json.dumps(number)[:40]}")
    return found


def _distinct(pairs: list[tuple[str, Any]], name: str) -> dict[str, Any]:
    kept = dict(pairs)
    if len(kept) != len(pairs):
        seen: set[str] = set()
        again = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise DuplicateIdError(
            f"{name}: key {again!r} stands twice in one object ({len(pairs) - len(kept)} repeated); keep one of each"
        )
    return kept
