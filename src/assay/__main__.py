"""The program `assay`: commands, with errors as one line and an exit code."""

from __future__ import annotations

import io
import os
import sys
from typing import Any


def main() -> None:
    """Runs the command line; ends with 0, 1 (findings), 2 (usage), 3 (data) or 4 (unavailable)."""
    try:
        _take_any_character()
        code = _run()
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        _let_go()
        code = 0
    except MemoryError:
        fail("MemoryError", "out of memory: take a smaller depth or fewer systems at once", 3)
    except OSError as err:
        fail("FileError", refusal(err), 3)
    if code == 130:
        fail("Interrupted", "stopped; files that were being written are as they were before", 130)
    sys.exit(code)


def _run() -> int:
    from assay.errors import AssayError

    try:
        from assay.cli import app

        return app(prog_name="assay", standalone_mode=False) or 0
    except AssayError as err:
        fail(type(err).__name__, str(err), err.exit_code)
    except Exception as err:
        # What the parser of the command line raises; where its classes live depends on its version.
        if not hasattr(err, "format_message"):
            raise
        wrong_usage(err)
    return 2


def wrong_usage(err: Any) -> None:
    """Ends the program on a command line that cannot be read; one without a command shows the help."""
    if type(err).__name__ == "NoArgsIsHelpError":
        print(err.format_message(), file=sys.stderr)
        sys.exit(2)
    place = err.ctx.command_path if getattr(err, "ctx", None) else "assay"
    fail("UsageError", f"{err.format_message().rstrip('.')}; see {place} --help", 2)


def refusal(err: OSError) -> str:
    """What the operating system refused, as one line: what, where, what to do."""
    if not err.filename:
        return f"cannot write the output: {err.strerror or err}"
    if isinstance(err, FileExistsError | NotADirectoryError):
        return f"{err.filename} is, or lies below, a file where a folder is meant; name a folder"
    return f"{err.filename}: {err.strerror}; check the path, its permissions and the space on its disk"


def fail(kind: str, message: str, code: int) -> None:
    """Ends the program with one clear error; as JSON on standard output where `--json` was given."""
    try:
        if "--json" in sys.argv:
            import json

            print(json.dumps({"error": {"kind": kind, "message": message, "exit_code": code}}, ensure_ascii=False))
        sys.stdout.flush()
    except OSError:
        _let_go()
    print(f"error: {message}", file=sys.stderr)
    sys.exit(code)


def _let_go() -> None:
    """Sends what is still to be printed nowhere: nobody reads it, or it cannot be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _take_any_character() -> None:
    """Lets a terminal that cannot show a character show its number, instead of an end in the middle."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    main()
