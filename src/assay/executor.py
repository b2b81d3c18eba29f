"""Executors: where the shards of a plan are run, and the work folder that plans are kept in.

An executor is a frozen dataclass with `name` and `run`; its fields are its parameters. It decides where `run_shard`
is called, and how often again where a worker is lost; nothing that it does shows in a result.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Protocol, runtime_checkable

from assay.errors import UnavailableError
from assay.plan import Arrays, Given, Plan

Told = Callable[[str], None]
"""Called with a line of progress."""


@runtime_checkable
class Executor(Protocol):
    """Runs shards; a frozen dataclass, written as a call such as `local(workers=4)`."""

    name: ClassVar[str]

    def run(self, plan: Plan, numbers: Sequence[int], told: Told) -> None:
        """Returns when `run_shard` has returned for each of the shards; a lost worker costs another attempt.

        Raises:
            AssayError: A shard failed for a reason that another attempt would not change, or too often.
        """
        ...


@dataclass(frozen=True, eq=False)
class Work:
    """Where plans are kept, into how many shards rows are cut, and who runs them.

    Attributes:
        folder: One folder a plan is made in it; those of an earlier, broken-off run are taken up.
        executor: Who runs shards.
        shards: How many.
        told: Called with a line whenever something is done.
        notes: What was done, a line a plan; filled as it happens.
    """

    folder: Path
    executor: Executor
    shards: int = 8
    told: Told = lambda _: None
    notes: list[str] = field(default_factory=list)

    def done(self, plan: Plan, given: Given, shared: Callable[[], Arrays] = dict) -> Iterator[Arrays]:
        """The result of every shard in order; what is not done yet is run first.

        Raises:
            AssayError: The folder holds another plan, a shard failed, or a result is torn.
        """
        plan = plan.written(given, shared)
        due = plan.due()
        self.told(f"{plan.what}: {len(plan) - len(due)} of {len(plan)} shards are done")
        if due:
            self.executor.run(plan, due, lambda line: self.told(f"{plan.what}: {line}"))
            plan.tidy()
        self.notes.append(_note_of(plan, self.executor, len(due)))
        return map(plan.result, range(len(plan)))


def _note_of(plan: Plan, executor: Executor, ran: int) -> str:
    attempts = plan.attempts().values()
    again = sum(len(tries) - 1 for tries in attempts if tries)
    workers = len({who for tries in attempts for who in tries})
    now = f"{ran} of them run now by {executor.name}"
    return f"{plan.what}: {len(plan)} shards, {now}; attempts repeated: {again}, workers in all: {workers}"


@contextmanager
def kept_stdout() -> Iterator[None]:
    """A block in which what workers and their cluster print goes to standard error: standard output is for results."""
    sys.stdout.flush()
    own = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(own, 1)
        os.close(own)


def lost_shard(plan: Plan, number: int, tries: int, reason: str) -> UnavailableError:
    """The error for a shard that failed as often as was allowed."""
    return UnavailableError(
        f"{plan.what}: shard {number + 1} of {len(plan)} failed {tries} times, the last time with: {reason};"
        f" the others are kept in {plan.folder}; see to the cause and run the command again"
    )
