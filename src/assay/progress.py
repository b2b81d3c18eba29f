"""Progress: lines on how far long work is, for whoever is listening.

What takes minutes tells how far it is, wherever it lies; a command that shows it listens around its work. Nobody
listens by default, and nothing that is told shows in a result.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

Told = Callable[[str], None]


def nobody(line: str) -> None:
    """Is told how far work is, and tells nobody."""


_LISTENER: ContextVar[Told] = ContextVar("listener", default=nobody)


@contextmanager
def listening(told: Told) -> Iterator[None]:
    """A block in which `told` is called with each line of progress.

    Example:
        >>> with listening(print):
        ...     tell("2 of 3")
        2 of 3
        >>> tell("3 of 3")
    """
    token = _LISTENER.set(told)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def tell(line: str) -> None:
    """Tells a line of progress to whoever is listening."""
    _LISTENER.get()(line)


@dataclass(frozen=True)
class Pace:
    """How far work on many things is, with how many a second.

    Attributes:
        what: What the line begins with.
        of: How many there are.
        things: What they are called.
        began: When the work began, in seconds of a clock that never goes back.
    """

    what: str
    of: int
    things: str
    began: float = field(default_factory=time.monotonic)

    def tell(self, done: int) -> None:
        """Tells that so many are done.

        Example:
            >>> with listening(print):
            ...     Pace("model", 2000, "texts", began=float("inf")).tell(1500)
            model: 1,500 of 2,000 texts
        """
        seconds = time.monotonic() - self.began
        rate = f", {done / seconds:,.0f} a second" if seconds > 0 else ""
        tell(f"{self.what}: {done:,} of {self.of:,} {self.things}{rate}")
