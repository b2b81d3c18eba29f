"""Front matter: the YAML between two lines of three hyphens at the top of a Markdown file.

Written is a small part of YAML, in which every text that any reader could take for something else is quoted: `no` is
text and not false, `2176502` and `2024-01-02` are text and neither a number nor a day.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.errors import FormatError
from assay.formats.files import StrPath, opened

Value = str | int | bool | Sequence[Any] | Mapping[str, Any]

_LINE = "---"
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./+*<>-]*")
_SPECIAL = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
# What a reader of YAML refuses or folds where it stands raw.
_RAW = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def written(front: Mapping[str, Value]) -> str:
    """A mapping as front matter, with both lines of hyphens; keys in their order.

    Example:
        >>> print(written({"language": ["no"], "revision": "2176502", "rows": 2}), end="")
        ---
        language:
        - 'no'
        revision: '2176502'
        rows: 2
        ---
    """
    return "\n".join([_LINE, *_lines(front), _LINE, ""])


def scalar(value: str | int) -> str:
    r"""One value as YAML; a text is quoted where a reader of YAML 1.1 or 1.2 could take it for something else.

    Example:
        >>> [scalar(v) for v in ("en", "no", "12:30", "1e3", "it's", "a\nb", "", True, 7)]
        ['en', "'no'", "'12:30'", "'1e3'", "'it''s'", '"a\\nb"', "''", 'true', '7']
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if _RAW.search(value):
        quoted = json.dumps(value, ensure_ascii=False)
        return _RAW.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted)
    if _PLAIN.fullmatch(value) and value.lower() not in _SPECIAL:
        return value
    return "'" + value.replace("'", "''") + "'"


def read(path: StrPath) -> tuple[dict[str, Any], str]:
    """The front matter of a Markdown file as YAML 1.1 reads it, and the text below.

    Raises:
        FileError: The file cannot be read.
        FormatError: It has no front matter, or one that is not a YAML mapping; a key that stands twice is one too.
    """
    import yaml

    place = Path(path)
    with opened(path) as stream:
        data = stream.read()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as err:
        raise FormatError(f"{place.name}: not UTF-8 at byte {err.start}; save the file as UTF-8") from None
    lines = text.splitlines(keepends=True)
    borders = [row for row, line in enumerate(lines) if line.rstrip() == _LINE]
    if len(borders) < 2 or borders[0] != 0:
        raise FormatError(f"{place.name}: no front matter; a card begins with YAML between two lines of ---")
    try:
        node = yaml.compose("".join(lines[1 : borders[1]]), yaml.SafeLoader)
        _refuse_repeated(node, place)
        front = yaml.safe_load("".join(lines[1 : borders[1]]))
    except yaml.YAMLError as err:
        mark = getattr(err, "problem_mark", None)
        where = "" if mark is None else f":{mark.line + 2}"
        raise FormatError(f"{place.name}{where}: not YAML ({getattr(err, 'problem', None) or err})") from None
    if not isinstance(front, dict):
        raise FormatError(f"{place.name}: the front matter is no mapping of names to values")
    return front, "".join(lines[borders[1] + 1 :])


def _refuse_repeated(node: Any, place: Path) -> None:
    """Refuses a key that stands twice in one mapping, where YAML's readers take the last in silence."""
    if type(node).__name__ == "MappingNode":
        seen: set[str] = set()
        for key, value in node.value:
            if key.value in seen:
                raise FormatError(f"{place.name}:{key.start_mark.line + 2}: the key {key.value!r} stands twice")
            seen.add(key.value)
            _refuse_repeated(value, place)
    elif type(node).__name__ == "SequenceNode":
        for value in node.value:
            _refuse_repeated(value, place)


def _lines(value: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    for name, inner in value.items():
        if isinstance(inner, Mapping):
            yield f"{indent}{scalar(name)}:"
            yield from _lines(inner, f"{indent}  ")
        elif isinstance(inner, str | int):
            yield f"{indent}{scalar(name)}: {scalar(inner)}"
        elif not inner:
            yield f"{indent}{scalar(name)}: []"
        else:
            yield f"{indent}{scalar(name)}:"
            for item in inner:
                yield from _item(item, indent)


def _item(item: Any, indent: str) -> Iterator[str]:
    if isinstance(item, Mapping):
        first, *rest = _lines(item, f"{indent}  ")
        yield f"{indent}- {first.removeprefix(f'{indent}  ')}"
        yield from rest
    else:
        yield f"{indent}- {scalar(item)}"
