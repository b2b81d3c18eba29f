"""Collections: passages, queries and named tasks, with where they come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.errors import UnknownNameError, UsageError
from assay.passage import Passages
from assay.query import Queries
from assay.task import Task


@dataclass(frozen=True, eq=False)
class Collection:
    """A named, frozen set of tasks over one set of passages.

    Attributes:
        name: What it is called in results.
        layout: The layout it was read from (`chunk-level`, `parlir`, `beir`, `toml`, …).
        digest: SHA-256 over the files read (names and contents), as hexadecimal text.
        passages, queries: All of them.
        tasks: Task name to split to task; the first task and the split named by `task` are the defaults.
        manifest: What the collection says of itself, as read.
        licence, source, revision: Where it comes from; empty where unknown.
        place: The path or name that it was opened by.
        counts: What was read and what was left out, with reasons as keys.
        tied: Pairs of rows of `queries` that are tied, shape (pairs, 2), by kind (`twin_question`, …).
        files: SHA-256 of every file read, by its name in the folder.
    """

    name: str
    layout: str
    digest: str
    passages: Passages
    queries: Queries
    tasks: Mapping[str, Mapping[str, Task]]
    manifest: Mapping[str, Any] = field(default_factory=dict)
    licence: str = ""
    source: str = ""
    revision: str = ""
    place: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    tied: Mapping[str, npt.NDArray[np.int64]] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return (
            f"<Collection {self.name}@{self.digest[:12]}: {len(self.passages)} passages, {len(self.queries)} queries, "
            f"tasks {', '.join(self.tasks)}>"
        )

    def task(self, name: str | None = None, *, split: str | None = None) -> Task:
        """The task of that name and split; by default the only task, and its test split.

        The split `all` holds all together; of a task with a single split it is that one.

        Raises:
            UnknownNameError: No such task or split; near names are offered.
            UsageError: No name was given and there are several tasks.
        """
        if name is None:
            if len(self.tasks) != 1:
                raise UsageError(f"{self.name} has several tasks, name one: {', '.join(self.tasks)}")
            name = next(iter(self.tasks))
        if name not in self.tasks:
            raise UnknownNameError.of(f"task of {self.name}", name, self.tasks)
        splits = self.tasks[name]
        if split is None:
            split = "test" if "test" in splits else next(iter(splits))
        if split == "all" and len(splits) == 1:
            split = next(iter(splits))
        if split not in splits:
            raise UnknownNameError.of(f"split of {self.name}/{name}", split, splits)
        return splits[split]
