"""Measures: what a judged run is worth, query by query. One file each; none knows another.

A measure is a value. `parse("nDCG@10")` makes one from its name, `str` writes the name back; names are
the field's own, with parameters in brackets and the cutoff behind an at sign: `R(rel=2)@100`,
`nDCG(gain=exp)@10`, `RBP(p=0.8)`, `R(capped)@10`. Measures see a `Judged` alone, so that none can rank,
and ties are broken for all of them in one place.
"""

from __future__ import annotations

import ast
import dataclasses

from assay import catalog
from assay.errors import UnknownNameError, UsageError
from assay.measure import Measure

__all__ = ["parse"]


def parse(text: str) -> Measure:
    """The measure of that name.

    Raises:
        UnknownNameError: There is no such measure or parameter; near names are offered.
        UsageError: The text cannot be read, the cutoff is not a whole number of at least 1, or the
            measure has no cutoff or needs one.

    Example:
        >>> str(parse("MRR@10")), str(parse("Recall(rel=2)@100")), parse("R(capped)@10").capped
        ('RR@10', 'R(rel=2)@100', True)
    """
    head, at, depth = text.strip().rpartition("@")
    call = _call(head if at else depth, text)
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    known = catalog.known("measure")
    if name not in known:
        raise UnknownNameError.of("measure", name, known)
    fields = {field.name: field for field in dataclasses.fields(known[name])}
    switches = [arg.id for arg in call.args if isinstance(arg, ast.Name) and fields.get(arg.id)]
    if len(switches) != len(call.args) or any(fields[switch].default is not False for switch in switches):
        raise UsageError(
            f"measure {text!r}: parameters are written as name=value; {name} takes {_listed(list(fields)) or 'none'}"
        )
    call.args = []
    call.keywords += [ast.keyword(switch, ast.Constant(True)) for switch in switches]
    given = [keyword.arg for keyword in call.keywords]
    if len(set(given)) < len(given):
        raise UsageError(f"measure {text!r}: a parameter is given twice")
    if at:
        if "cutoff" not in fields:
            raise UsageError(f"measure {text!r}: {name} has no cutoff; write {head}")
        call.keywords.append(ast.keyword("cutoff", ast.Constant(_cutoff(depth, text))))
    measure: Measure = catalog.made("measure", ast.unparse(call))
    return measure


def _call(head: str, text: str) -> ast.Call:
    try:
        tree = ast.parse(head.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        tree = ast.Constant(None)
    if isinstance(tree, ast.Name):
        return ast.Call(tree, [], [])
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name):
        if any(keyword.arg in (None, "cutoff") for keyword in tree.keywords):
            raise UsageError(f"measure {text!r}: write the cutoff behind an at sign, as in {tree.func.id}@10")
        return tree
    raise UsageError(f"measure {text!r} cannot be read; write it as in nDCG@10, R(rel=2)@100 or RBP(p=0.8)")


def _cutoff(depth: str, text: str) -> int:
    digits = depth.strip()
    if not (digits.isascii() and digits.isdigit()) or int(digits) < 1:
        raise UsageError(f"measure {text!r}: the cutoff must be a whole number of at least 1, found {depth!r}")
    return int(digits)


def _listed(fields: list[str]) -> str:
    return ", ".join(field for field in fields if field != "cutoff")
