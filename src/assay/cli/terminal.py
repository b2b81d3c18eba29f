"""Terminal: tables and progress as a person sees them, JSON as a program does."""

from __future__ import annotations

import json
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.reports.tables import Table

UNLIMITED = 100_000
GAP = 3
"""Characters between two columns."""


def show_json(record: dict[str, Any]) -> None:
    """Prints one JSON document; with escapes where standard output is not UTF-8."""
    plain = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    show_line(json.dumps(record, indent=2, ensure_ascii=plain, allow_nan=False))


def show_line(text: str) -> None:
    """Prints a line; once nobody reads standard output any more, prints nothing and lets the command go on."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def show_tables(tables: Sequence[Table]) -> None:
    """Prints tables with their notes; as wide as the terminal, or whole where there is none."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=False, width=None if sys.stdout.isatty() else UNLIMITED)
    with console.capture() as captured:
        for table in tables:
            _draw(console, table)
    show_line("\n".join(line.rstrip() for line in captured.get().rstrip().split("\n")))


def _draw(console: Any, table: Table) -> None:
    """Draws a table whole, else with intervals below their means, else as one block a row: no number is ever cut."""
    from rich import box
    from rich.table import Table as Drawn
    from rich.text import Text

    console.print(Text(table.title, style="bold"), soft_wrap=True)
    if _width(table.headings, table.rows, longest_line) > console.width:
        folded = tuple(tuple(map(_folded, row)) for row in table.rows)
        narrow = _width(table.headings, folded, longest_piece) > console.width
    else:
        folded, narrow = table.rows, False
    if narrow:
        _draw_blocks(console, table)
    else:
        drawn = Drawn(box=box.SIMPLE_HEAD)
        for at, heading in enumerate(table.headings):
            least = max(longest_piece(cell) for cell in (heading, *(row[at] for row in folded)))
            drawn.add_column(Text(heading), min_width=least)
        for row in folded:
            drawn.add_row(*(Text(cell) for cell in row))
        console.print(drawn)
    for note in table.notes:
        lines = textwrap.wrap(
            note,
            console.width,
            initial_indent="· ",
            subsequent_indent="  ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        console.print(Text("\n".join(lines), style="dim"), soft_wrap=True)
    console.print()


def _folded(cell: str) -> str:
    """A cell over several lines: an interval below its mean, a pair in two, a long path after its first part."""
    cell = cell.replace(" [", "\n[").replace(" − ", " −\n")
    return re.sub(r"^([^\s/]+/)(?=\S{12,}$)", r"\1\n", cell)


def _draw_blocks(console: Any, table: Table) -> None:
    from rich.text import Text

    wide = max(map(len, table.headings))
    for row in table.rows:
        console.print()
        for heading, cell in zip(table.headings, row, strict=True):
            console.print(Text(f"  {heading:<{wide}}   {cell}"), soft_wrap=True)
    console.print()


def _width(headings: Sequence[str], rows: Sequence[Sequence[str]], least: Callable[[str], int]) -> int:
    return sum(max(map(least, column)) for column in zip(headings, *rows, strict=True)) + GAP * len(headings) + 1


def longest_line(cell: str) -> int:
    r"""Characters of the longest line of a cell.

    Example:
        >>> longest_line("0.5\n[0.4, 0.6]")
        10
    """
    return max(map(len, cell.split("\n")))


def longest_piece(cell: str) -> int:
    r"""Characters of the longest piece that must not be cut: a word, or a whole interval.

    Example:
        >>> longest_piece("wins / ties / losses"), longest_piece("0.5\n[0.4, 0.6]")
        (6, 10)
    """
    lines = cell.split("\n")
    return max(len(piece) for line in lines for piece in ([line] if line.startswith("[") else line.split(" ")))


@contextmanager
def working(what: str) -> Iterator[Callable[[str], None]]:
    """Shows on a terminal that something is under way, once it takes over two seconds.

    Yields:
        What tells more: called with a line, which is shown from then on.
    """
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    import threading

    from assay.progress import listening

    done = threading.Event()
    lines = [what]

    def spin() -> None:
        if done.wait(2.0):
            return
        from rich.console import Console
        from rich.markup import escape

        with Console(stderr=True).status(escape(f"{lines[-1]} …")) as status:
            while not done.wait(0.2):
                status.update(escape(f"{lines[-1]} …"))

    thread = threading.Thread(target=spin, daemon=True)
    thread.start()
    try:
        with listening(lines.append):
            yield lines.append
    finally:
        done.set()
        thread.join()
