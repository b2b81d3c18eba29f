"""Views: which of them a system reads on a task, whether it may, and how they are kept from being changed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from assay.errors import UsageError, ViewError
from assay.system import VIEWS, Composite, Lens, PassageView, System
from assay.task import Task
from assay.texts import Texts


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
        if view == "link:question":
            _refuse_links(system.name, task, held=view in held)
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


def _refuse_links(name: str, task: Task, *, held: bool) -> None:
    """Raises ViewError where passages do not say which questions they replied to, or may not."""
    if task.asked is None:
        raise ViewError(
            f"{name} reads the view 'link:question', which is there under an as-of rule alone: without one, as in task"
            f" {task.name}, a query's own question leads to its answer; take a task that asks for earlier answers"
        )
    if not held:
        raise ViewError(
            f"{name} reads the view 'link:question', but the passages of {task.name} are not linked to the questions"
            " that they replied to (a text-only export never is); take the whole collection, or another system"
        )


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


def sealed(array: npt.NDArray[np.generic]) -> npt.NDArray[Any]:
    """The array itself, read-only from now on."""
    array.setflags(write=False)
    return array


def sealed_texts(texts: Texts) -> Texts:
    """The same texts, read-only from now on."""
    return Texts(sealed(texts.buffer), sealed(texts.offsets))


def sealed_view(view: PassageView) -> PassageView:
    """The view itself, its arrays and texts read-only from now on."""
    links = () if view.links is None else (view.links.offsets, view.links.target)
    for array in (view.parent, view.position, view.span, *links):
        if array is not None:
            sealed(array)
    for texts in (*view.texts.values(), *(() if view.links is None else (view.links.texts,))):
        sealed_texts(texts)
    return view
