"""Terminal: tables and progress as a person sees them, JSON as a program does."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.reports.tables import Table


def show_json(record: dict[str, Any]) -> None:
    """Prints one JSON document."""
    print(json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False))


def show_tables(tables: Sequence[Table]) -> None:
    """Prints tables with their notes; as wide as the terminal, or whole where there is none."""
    from rich import box
    from rich.console import Console
    from rich.table import Table as Drawn
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=False, width=None if sys.stdout.isatty() else 160)
    for table in tables:
        drawn = Drawn(title=Text(table.title), title_justify="left", box=box.SIMPLE_HEAD, title_style="bold")
        for heading in table.headings:
            drawn.add_column(Text(heading), overflow="fold")
        for row in table.rows:
            drawn.add_row(*(Text(cell) for cell in row))
        console.print(drawn)
        for note in table.notes:
            console.print(Text(f"· {note}", style="dim"), soft_wrap=True)
        console.print()


@contextmanager
def working(what: str) -> Iterator[None]:
    """Shows on a terminal that something is under way, once it takes over two seconds."""
    if not sys.stderr.isatty():
        yield
        return
    import threading

    done = threading.Event()

    def spin() -> None:
        if done.wait(2.0):
            return
        from rich.console import Console

        with Console(stderr=True).status(f"{what} …"):
            done.wait()

    thread = threading.Thread(target=spin, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
