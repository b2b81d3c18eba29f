"""A program as a resolver: it reads documents as JSON Lines and writes them with rewritten passages."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from assay.errors import FormatError
from assay.programs import Program, refuse_no_timeout, words_of

_EMPTY = "; write it as in command('python my_resolver.py')"
_LONGER = "give a longer timeout, as in command('…', timeout=7200)"


@dataclass(frozen=True)
class Command:
    """A program that rewrites passages, started once, without a shell.

    On its standard input stands a line a document, `{"id": "d1", "passages": ["Ann sings.", "She is loud."]}`, in which
    the passages are all those of the document in order. It writes the same lines, in any order, with as many
    passages, to standard output. What it writes to standard error is shown when it fails.

    Args:
        command: The command line; quoted as in a shell, but neither variables nor wildcards are filled in.
        timeout: Seconds after which the program is stopped.

    Raises:
        UsageError: The command line is empty or cannot be read, or the timeout is no number above 0.

    Example:
        >>> Command("python my_resolver.py").timeout
        3600.0
    """

    name: ClassVar[str] = "command"

    command: str
    timeout: float = 3600.0

    def __post_init__(self) -> None:
        words_of(self.command, advice=_EMPTY)
        refuse_no_timeout(self.timeout)

    def resolved(self, documents: Iterable[tuple[str, Sequence[str]]]) -> Iterator[tuple[str, Sequence[str]]]:
        """The documents that the program wrote, as it wrote them.

        Raises:
            UnavailableError: There is no such program.
            ContractError: It failed, or took too long.
            FormatError: A line is not an object with `id`, a text, and `passages`, a list of texts.
        """
        with tempfile.TemporaryDirectory(prefix="assay-") as folder:
            given, made, said = (Path(folder) / name for name in ("in.jsonl", "out.jsonl", "errors"))
            with given.open("w", encoding="utf-8", newline="\n") as file:
                for id_, passages in documents:
                    file.write(json.dumps({"id": id_, "passages": list(passages)}, ensure_ascii=False) + "\n")
            program = Program(words_of(self.command), self.timeout, who="resolver", longer=_LONGER)
            program.run(said=said, given=given, made=made)
            with made.open("rb") as file:
                for number, line in enumerate(file, 1):
                    if line.strip():
                        yield _document(line, number)


def _document(line: bytes, number: int) -> tuple[str, list[str]]:
    place = f"resolver: line {number} of its output"
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as err:
        reason = err.msg if isinstance(err, json.JSONDecodeError) else "not UTF-8, or nested too deeply"
        raise FormatError(
            f"{place}: not JSON ({reason}); write one object a line, and messages to standard error"
        ) from None
    passages = found.get("passages") if isinstance(found, dict) else None
    if not isinstance(passages, list) or not all(isinstance(text, str) for text in passages):
        raise FormatError(f'{place}: expected {{"id": …, "passages": [texts]}}')
    if not isinstance(found.get("id"), str):
        raise FormatError(f"{place}: expected the document's id as text, got {found.get('id')!r}")
    return found["id"], passages
