"""Views: which of them a system reads on a task, and whether it may."""

from __future__ import annotations

from typing import Any

from assay.errors import UsageError, ViewError
from assay.system import VIEWS, Composite, Lens, System
from assay.task import Task


def views_read(task: Task, system: System) -> tuple[str, ...]:
    """The views that a system and its parts read on a task, sorted.

    Raises:
        UsageError: This is no system.
        ViewError: The task does not allow a view, or its collection does not hold it.
    """
    reads: Any = getattr(system, "reads", None)
    if not isinstance(reads, tuple | list) or not isinstance(system, System):
        raise UsageError(f"{type(system).__name__} is no system: `name` is a text, `reads` a tuple of views")
    held = _views_held(task)
    for view in system.reads:
        if view not in VIEWS:
            raise ViewError(f"{system.name} reads {view!r}, which is no view; views are {', '.join(VIEWS)}")
        if view not in task.views:
            raise ViewError(
                f"{system.name} reads the view {view!r}, which task {task.name} does not allow; "
                f"allowed: {', '.join(task.views)}"
            )
        if view not in held:
            raise ViewError(f"{system.name} reads the view {view!r}, which the passages of {task.name} do not have")
    parts = system.parts if isinstance(system, Composite) else ()
    parts = (system.system,) if isinstance(system, Lens) else parts
    return tuple(sorted({*system.reads, *(view for part in parts for view in views_read(task, part))}))


def _views_held(task: Task) -> set[str]:
    columns = task.passages
    held = {f"text:{view}" for view in columns.texts}
    if columns.spans is not None:
        held |= {"parent", "span"} if columns.titles is None else {"parent", "span", "title"}
    if columns.position is not None:
        held.add("position")
    if columns.link_offsets is not None and columns.link_query is not None:
        held.add("link:question")
    return held
