"""Calls: systems written as the calls that make them, the parts that they have, and where those are computed."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from assay.errors import UsageError
from assay.system import System, plain


def parts_within(system: Any) -> list[Any]:
    """A system and all plug-ins that are its fields, or fields of those, each once, outermost first.

    Example:
        >>> from typing import ClassVar
        >>> @dataclasses.dataclass(frozen=True)
        ... class Around:
        ...     part: Any = None
        ...     name: ClassVar[str] = "around"
        >>> len(parts_within(Around((Around(), Around()))))
        3
    """
    if isinstance(system, tuple):
        return [part for one in system for part in parts_within(one)]
    if not dataclasses.is_dataclass(system) or not hasattr(system, "name"):
        return []
    fields = (getattr(system, part.name) for part in dataclasses.fields(system))
    found = [system, *(part for value in fields for part in parts_within(value))]
    return list({id(part): part for part in found}.values())


def placed(system: Any, **where: Any) -> Any:
    """The system with fields set that say where and by how many it is computed, in all parts that have them.

    Args:
        system: What is to be run; it stays as it is.
        **where: Values by the names of fields that are no part of a recipe, such as `device`, `workers`, `store`. A
            part that says one itself keeps it.

    Example:
        >>> from typing import ClassVar
        >>> @dataclasses.dataclass(frozen=True)
        ... class Net:
        ...     device: str = dataclasses.field(default="", metadata={"recipe": False})
        ...     name: ClassVar[str] = "net"
        >>> [net.device for net in placed((Net(), Net("cpu")), device="cuda")]
        ['cuda', 'cpu']
    """
    if isinstance(system, tuple):
        return tuple(placed(one, **where) for one in system)
    if not dataclasses.is_dataclass(system) or isinstance(system, type) or not hasattr(system, "name"):
        return system
    changes: dict[str, Any] = {}
    for part in dataclasses.fields(system):
        value = getattr(system, part.name)
        if part.name in where and not part.metadata.get("recipe", True) and value == part.default:
            changes[part.name] = where[part.name]
        elif part.init and (inner := placed(value, **where)) is not value and inner != value:
            changes[part.name] = inner
    return dataclasses.replace(system, **changes) if changes else system


def call_of(spec: Mapping[str, Any], defaults: Mapping[str, Any] | None = None) -> str:
    """A spec written as a call, without the fields that equal `defaults`.

    Example:
        >>> call_of({"name": "bm25", "language": "english", "k1": 0.9}, {"language": "", "k1": 1.2})
        "bm25('english', k1=0.9)"
    """
    fields = [key for key in spec if key != "name"]
    shown = [
        _written(spec[key]) if place == 0 else f"{key}={_written(spec[key])}"
        for place, key in enumerate(fields)
        if defaults is None or key not in defaults or defaults[key] != spec[key]
    ]
    return f"{spec['name']}({', '.join(shown)})" if shown else str(spec["name"])


def short_call(system: Any) -> str:
    """A system as the shortest call that makes it: without what it fills in by itself, at every depth.

    What is no part of a recipe, such as the device, is left out too. Where the first field is a tuple of systems, they
    are written one by one.

    Example:
        >>> from typing import ClassVar
        >>> @dataclasses.dataclass(frozen=True)
        ... class Twice:
        ...     system: Any
        ...     name: ClassVar[str] = "twice"
        ...     reads: ClassVar[tuple[str, ...]] = ()
        ...     times: int = 2
        >>> short_call(Twice(Twice("bm25", times=3)))
        "twice(twice('bm25', times=3))"
    """
    if isinstance(system, list | tuple):
        return f"[{', '.join(map(short_call, system))}]"
    made: Any = system
    if not dataclasses.is_dataclass(made) or not isinstance(system, System):
        return str(system.name) if isinstance(system, System) else _written(plain(system))
    shown: list[str] = []
    for place, part in enumerate(dataclasses.fields(made)):
        value = getattr(made, part.name)
        if not part.init or not part.metadata.get("recipe", True) or _goes_without(made, part, value):
            continue
        if place == 0 and isinstance(value, tuple) and value and all(isinstance(v, System) for v in value):
            shown += map(short_call, value)
        else:
            shown.append(short_call(value) if place == 0 else f"{part.name}={short_call(value)}")
    return f"{system.name}({', '.join(shown)})" if shown else str(system.name)


def _goes_without(system: Any, part: dataclasses.Field[Any], value: Any) -> bool:
    """Whether a field may be left out of a call: it has its default, or the one that a preset fills in."""
    if part.default is dataclasses.MISSING or value == part.default:
        return part.default is not dataclasses.MISSING
    try:
        return bool(dataclasses.replace(system, **{part.name: part.default}) == system)
    except UsageError:
        return False


def _written(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_written, value))}]"
    return call_of(value) if isinstance(value, Mapping) and "name" in value else repr(value)
