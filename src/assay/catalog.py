"""Catalog: the plug-in that a name stands for, written as a call.

A plug-in is a public class with a class variable `name`, in a module of the kind's package; its
module is found by importing that package. Packages of strangers register theirs as entry points in
the groups `assay.systems`, `assay.measures`, `assay.audits`, `assay.chunkers`,
`assay.resolvers` and `assay.encoders`.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import pkgutil
from functools import cache
from typing import Any

from assay.errors import UnknownNameError, UsageError

KINDS = {
    "system": ("assay.retrieval", "assay.systems"),
    "measure": ("assay.measures", "assay.measures"),
    "audit": ("assay.audits", "assay.audits"),
    "chunker": ("assay.chunkers", "assay.chunkers"),
    "resolver": ("assay.building.resolvers", "assay.resolvers"),
    "executor": ("assay.executors", "assay.executors"),
    "encoder": ("assay.encoders", "assay.encoders"),
    "pair_encoder": ("assay.pair_encoders", "assay.pair_encoders"),
    "term_encoder": ("assay.term_encoders", "assay.term_encoders"),
}
EXAMPLES = {
    "system": "bm25 or bm25('english', k1=0.9)",
    "measure": "nDCG or RBP(p=0.8)",
    "audit": "ids-unique",
    "chunker": "native or window(words=120, overlap=20)",
    "resolver": "command('python my_resolver.py')",
    "executor": "local(workers=4) or dask('tcp://10.0.0.5:8786')",
    "encoder": "sentence_transformers or onnx(threads=2)",
    "pair_encoder": "sentence_transformers or onnx(threads=2)",
    "term_encoder": "bge_m3 or sentence_transformers",
}
"""How a plug-in of each kind is written, for messages."""


@cache
def known(kind: str) -> dict[str, type[Any]]:
    """Names and aliases of every plug-in of a kind, sorted, each with its class.

    Example:
        >>> "bm25" in known("system"), "MRR" in known("measure")
        (True, True)
    """
    package_name, group = KINDS[kind]
    package = importlib.import_module(package_name)
    found: dict[str, type[Any]] = {}
    for module_info in pkgutil.iter_modules(package.__path__, f"{package_name}."):
        module = importlib.import_module(module_info.name)
        for thing in vars(module).values():
            if isinstance(thing, type) and thing.__module__ == module.__name__:
                _add(found, thing)
    from importlib.metadata import entry_points

    for entry in entry_points(group=group):
        _add(found, entry.load())
    return dict(sorted(found.items()))


def _add(found: dict[str, type[Any]], thing: type[Any]) -> None:
    name = vars(thing).get("name")
    if isinstance(name, str) and not thing.__name__.startswith("_") and dataclasses.is_dataclass(thing):
        for alias in (name, *vars(thing).get("aliases", ())):
            found[alias] = thing


def system(text: str) -> Any:
    """The system written as a call: `bm25`, `bm25('english', k1=0.9)`, `rerank(bm25, model='…')`.

    Raises:
        UsageError: The text is not a call with plain values.
        UnknownNameError: No system of that name, or no such parameter.

    Example:
        >>> system("bm25(k1=0.9)").k1
        0.9
    """
    return made("system", text)


def made(kind: str, text: str) -> Any:
    """The plug-in of a kind written as a call with plain values or other plug-ins of its kind."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise UsageError(f"{kind} {text!r} cannot be read; write it as a call, as in {EXAMPLES[kind]}") from None
    return _value(kind, tree, text, outermost=True)


def _value(kind: str, node: ast.expr, text: str, *, outermost: bool = False) -> Any:
    if isinstance(node, ast.Name) and (outermost or node.id in known(kind)):
        return _build(kind, node.id, [], {})
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        positional = [_value(kind, arg, text) for arg in node.args]
        given = [k.arg for k in node.keywords]
        for name in given:
            if name is None or given.count(name) > 1:
                raise UsageError(f"{kind} {text!r}: {'**' if name is None else name} stands where one name=value may")
        named = {str(k.arg): _value(kind, k.value, text) for k in node.keywords}
        return _build(kind, node.func.id, positional, named)
    if isinstance(node, ast.Tuple | ast.List) and not outermost:
        return tuple(_value(kind, item, text) for item in node.elts)
    try:
        if outermost:
            raise ValueError
        return ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError, MemoryError):
        raise UsageError(
            f"{kind} {text!r}: {ast.unparse(node)!r} is not a plain value; write numbers, quoted texts or calls"
        ) from None


def _build(kind: str, name: str, positional: list[Any], named: dict[str, Any]) -> Any:
    classes = known(kind)
    if name not in classes:
        raise UnknownNameError.of(kind, name, classes)
    cls = classes[name]
    fields = [f.name for f in dataclasses.fields(cls) if f.init]
    for given in named:
        if given not in fields:
            raise UnknownNameError.of(f"parameter of {name}", given, fields)
    try:
        return cls(*positional, **named)
    except TypeError as err:
        # Python speaks of `Titled.__init__()`, a name that nobody wrote.
        reason = str(err).replace(f"{cls.__init__.__qualname__}() ", "")
        raise UsageError(f"{name}: {reason}; its parameters are {', '.join(fields) or 'none'}") from None
