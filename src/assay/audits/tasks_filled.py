"""Tasks and splits that have judgements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from assay.audit import Finding, labelled_tasks
from assay.collection import Collection

EMPTY_FILES = "judgement files without a line"


@dataclass(frozen=True)
class TasksFilled:
    """Every task has judgements; splits without any are named.

    Checks:
        A task has at least one judgement in some split. Splits without judgements are listed, and files of
        judgements that the reader found empty are counted.

    Why it matters:
        Nothing can be measured on an empty split. A file that is empty by accident looks the same as one
        that is empty on purpose.

    Known limits:
        Cannot tell an accident from purpose.

    Example:
        The task `precedent` has four judgements, all in `test`; its files for `train` and `dev` are empty.

    What to do:
        Leave the file out, or say in the manifest that it is empty on purpose.
    """

    name: ClassVar[str] = "tasks-filled"

    def inspect(self, collection: Collection) -> Iterator[Finding]:
        """One finding on tasks, one on splits."""
        expected = "judgements in every task and split"
        if not collection.tasks:
            yield Finding.skipped(self.name, "the collection has no tasks", expected=expected)
            return
        empty = [label for label, task in labelled_tasks(collection) if not len(task.qrels)]
        bare = [name for name, splits in collection.tasks.items() if not any(len(t.qrels) for t in splits.values())]
        splits = sum(1 for _ in labelled_tasks(collection))
        yield Finding.of(
            f"{self.name}/tasks",
            len(bare),
            verdict="warning",
            expected="judgements in every task",
            found=f"{len(collection.tasks) - len(bare)} of {len(collection.tasks)} tasks have judgements",
            offenders=bare,
            advice="leave the task out, or add its judgements",
        )
        yield Finding.of(
            f"{self.name}/splits",
            len(empty),
            verdict="note",
            expected="judgements in every split",
            found=f"{splits - len(empty)} of {splits} splits have judgements",
            offenders=empty,
            advice="leave empty files out, or say that they are empty on purpose",
        )
        files = collection.counts.get(EMPTY_FILES, 0)
        if files:
            yield Finding.of(
                f"{self.name}/files",
                files,
                verdict="note",
                expected="a judgement in every file of judgements",
                found=f"{files} files have none and make no split",
                advice="leave empty files out, or say that they are empty on purpose",
            )
