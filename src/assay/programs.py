"""Programs of others: started without a shell, watched, and stopped with all that they started."""

from __future__ import annotations

import math
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import ContractError, UnavailableError, UsageError

KEPT_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "VIRTUAL_ENV")
"""Variables of the environment that a program gets which is to see nothing of this process."""

_SHOWN_LINES = 5
_PATIENCE = 0.05


def words_of(command: str, *, advice: str = "") -> list[str]:
    """The words of a command line; quoted as in a shell, but neither variables nor wildcards are filled in.

    Args:
        command: The command line.
        advice: What follows the message that it is empty.

    Raises:
        UsageError: It is empty or no text, or a quote is not closed.

    Example:
        >>> words_of("python 'my script.py' --fast")
        ['python', 'my script.py', '--fast']
    """
    text: Any = command
    try:
        words = shlex.split(text) if isinstance(text, str) else []
    except ValueError as err:
        raise UsageError(f"command: {command!r} cannot be read: {err}; close the quote") from None
    if not words:
        raise UsageError(f"command: the command line is empty{advice}")
    return words


def refuse_no_timeout(timeout: Any) -> None:
    """Raises UsageError where a timeout is no number of seconds above 0."""
    if isinstance(timeout, bool) or not (isinstance(timeout, int | float) and 0 < timeout < math.inf):
        raise UsageError(f"command: timeout must be a number of seconds above 0; found {timeout!r}")


def found_from_anywhere(word: str, *, first: bool) -> str:
    """A word that names a file of the present folder, such as a script, as a full path; others as they are.

    The first word is a program's name, and one only if it has a folder in it.

    Example:
        >>> found_from_anywhere("--fast", first=False)
        '--fast'
    """
    if Path(word).is_file() and (os.sep in word or not first):
        return str(Path(word).absolute())
    return word


@dataclass(frozen=True)
class Program:
    """A program that is run to its end.

    Args:
        words: The program and its arguments.
        timeout: Seconds after which it is stopped.
        who: What messages begin with.
        longer: What a message advises where it took too long.
    """

    words: Sequence[str]
    timeout: float
    who: str = "command"
    longer: str = "raise timeout"

    def run(
        self,
        *,
        said: Path,
        given: Path | None = None,
        made: Path | None = None,
        work: Path | None = None,
        variables: Sequence[str] | None = None,
        most: int | None = None,
    ) -> None:
        """Runs it; it and what it started are stopped when it takes too long or writes too much, or we are stopped.

        Args:
            said: File for its standard error; the last lines of it are shown if it fails.
            given: File on its standard input; nothing by default.
            made: File for its standard output; dropped by default.
            work: Folder that it runs in; the present one by default.
            variables: Names of the variables of the environment that it gets; all by default.
            most: Bytes that `made` may grow to.

        Raises:
            UnavailableError: There is no such program, or it cannot be started.
            ContractError: It failed, took too long, or wrote too much.
        """
        kept = None if variables is None else {k: v for k, v in os.environ.items() if k in variables}
        with ExitStack() as files:
            into = subprocess.DEVNULL if given is None else files.enter_context(given.open("rb"))
            out = subprocess.DEVNULL if made is None else files.enter_context(made.open("wb"))
            err = files.enter_context(said.open("wb"))
            try:
                started = subprocess.Popen(
                    list(self.words), cwd=work, env=kept, stdin=into, stdout=out, stderr=err, start_new_session=True
                )
            except FileNotFoundError:
                raise UnavailableError(
                    f"{self.who}: there is no program {self.words[0]!r}; install it, or give its full path"
                ) from None
            except OSError as error:
                raise UnavailableError(f"{self.who}: {self.words[0]!r} cannot be started: {error.strerror}") from None
            status = self._ended(started, made, most)
        if status:
            lines = said.read_text("utf-8", "replace").strip().splitlines()[-_SHOWN_LINES:]
            last = "\n  ".join(lines) if lines else "(nothing on standard error)"
            raise ContractError(f"{self.who}: {self.words[0]} ended with status {status}:\n  {last}")

    def _ended(self, started: subprocess.Popen[bytes], made: Path | None, most: int | None) -> int:
        last = time.monotonic() + self.timeout
        try:
            while True:
                left = max(0.001, last - time.monotonic())
                try:
                    return started.wait(left if most is None else min(_PATIENCE, left))
                except subprocess.TimeoutExpired:
                    pass
                if time.monotonic() >= last:
                    raise ContractError(
                        f"{self.who}: {self.words[0]} did not end within {self.timeout:g} seconds and was stopped;"
                        f" {self.longer}"
                    )
                if made is not None and most is not None and made.stat().st_size > most:
                    raise ContractError(
                        f"{self.who}: {self.words[0]} wrote more than {most} bytes and was stopped; it seems to write"
                        " without end"
                    )
        finally:
            if started.returncode is None:
                if hasattr(os, "killpg"):
                    os.killpg(started.pid, signal.SIGKILL)
                started.kill()
                started.wait()
