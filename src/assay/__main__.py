"""The program `assay`: commands, with errors as one line and an exit code."""

from __future__ import annotations

import sys


def main() -> None:
    """Runs the command line; ends with 0, 1 (findings), 2 (usage), 3 (data) or 4 (unavailable)."""
    from assay.cli import app
    from assay.errors import AssayError

    try:
        app()
    except AssayError as err:
        fail(type(err).__name__, str(err), err.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except KeyboardInterrupt:
        fail("Interrupted", "stopped; files that were being written are as they were before", 130)
    except MemoryError:
        fail("MemoryError", "out of memory: take a smaller depth or fewer systems at once", 3)
    except OSError as err:
        fail("FileError", f"{err.filename}: {err.strerror}" if err.filename else str(err), 3)


def fail(kind: str, message: str, code: int) -> None:
    """Ends the program with one clear error; as JSON on standard output where `--json` was given."""
    if "--json" in sys.argv:
        import json

        print(json.dumps({"error": {"kind": kind, "message": message, "exit_code": code}}, ensure_ascii=False))
    print(f"error: {message}", file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main()
