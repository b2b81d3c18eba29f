"""Commands as tests run them: in this process, with how they ended; and what their JSON is documented to hold."""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from unittest import mock

from assay.__main__ import main
from conftest import ROOT


@dataclass(frozen=True)
class Ended:
    """How a command ended: exit code and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def assay(*arguments: object) -> Ended:
    """The command line run in this process."""
    out, err = io.StringIO(), io.StringIO()
    words = ["assay", *map(str, arguments)]
    with mock.patch.object(sys, "argv", words), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            return Ended(int(end.code or 0), out.getvalue(), err.getvalue())
    raise AssertionError("the program did not exit")


def ok(*arguments: object) -> Ended:
    ended = assay(*arguments)
    assert (ended.code, ended.err) == (0, ""), ended
    return ended


def refused(*arguments: object, code: int, says: str) -> str:
    """The message of a command that must fail: one clear error, with and without `--json`."""
    ended = assay(*arguments)
    assert ended.code == code, ended
    assert ended.out == ""
    assert ended.err.startswith("error: ")
    assert "Traceback" not in ended.err
    message = ended.err.removeprefix("error: ").rstrip("\n")
    assert re.search(says, message), message
    told = assay(*arguments, "--json")
    assert told.code == code
    assert told.json == {"error": {"kind": mock.ANY, "message": message, "exit_code": code}}
    return message


def keys_of(value: Any, path: str = "") -> Iterator[str]:
    """Paths of the keys of a JSON value, as docs/cli.md writes them."""
    if isinstance(value, dict) and not path.endswith((".spec", ".extras", ".noticed")):
        free = re.fullmatch(r"(results\[\]\.(measures|slices(\{\})?))|counts|verify_errors|left_out", path)
        for key, inner in value.items():
            yield from keys_of(inner, f"{path}{{}}" if free else f"{path}.{key}".lstrip("."))
    elif isinstance(value, list) and not path.endswith(".models"):
        for inner in value:
            yield from keys_of(inner, f"{path}[]")
    else:
        yield path


def documented(section: str) -> set[str]:
    """Keys that a section of docs/cli.md names, at the start of its list items."""
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    body = re.search(rf"^##+ {re.escape(section)}$(.*?)(?=^##|\Z)", text, re.M | re.S)
    assert body, section
    # What follows "JSON:" is keys; the items before it are options.
    listed = body[1] if section[0] == "A" or section == "What commands share" else body[1].partition("\nJSON:")[2]
    items = re.findall(r"^\* (.*?)(?=^\* |^$|\Z)", listed, re.M | re.S)
    heads = [item.split(":")[0] for item in items]
    return {key for head in heads for key in re.findall(r"`([^`]+)`", head) if re.fullmatch(r"[\w.\[\]{}]+", key)}
