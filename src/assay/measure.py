"""Measures: what a measure must be, and how its name is written."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Protocol, runtime_checkable

from assay.errors import UsageError
from assay.judged import Judged, Values


@runtime_checkable
class Measure(Protocol):
    """A frozen value that scores every query of a judged run.

    A measure is a frozen dataclass in one file of `assay.measures`; its fields are its parameters,
    `str(measure)` is its name, which parses back. Class variables say what it is:

    * `name`: the field's own name (`nDCG`); `aliases`: others (`MRR` for `RR`).
    * `additive`: the score is a weighted sum over hits, so that `score(judged.spread())` is the
      expectation over tie orders. A measure that is not additive has a method `expected`; without
      one its expectation is sampled, and the result says so.
    * `bounded`: what is unretrieved can only raise the value, so that a query whose list ends
      early has a lower and an upper bound.
    """

    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]]
    additive: ClassVar[bool]
    bounded: ClassVar[bool]

    @property
    def cutoff(self) -> int | None:
        """How deep the measure looks; None: the whole list."""
        ...

    @property
    def min_grade(self) -> int:
        """The lowest grade that counts as relevant."""
        ...

    def score(self, judged: Judged) -> Values:
        """One value per query, float64; 0 for a query without a relevant passage."""
        ...


@runtime_checkable
class TieAware(Measure, Protocol):
    """A measure that knows its expectation over the orders of tied passages."""

    def expected(self, judged: Judged) -> Values:
        """The mean of `score` over all orders of passages with equal scores, per query."""
        ...


def written(measure: Any) -> str:
    """The name of a measure with its parameters, as `assay.measures.parse` reads it.

    Parameters at their default are left out, unless their field's metadata say `{"always": True}`.
    Switches that are on come first, as bare names; the cutoff stands behind an at sign.

    Example:
        >>> from assay.measures import parse
        >>> written(parse("Recall(rel=2)@100")), written(parse("R(capped)@10")), written(parse("RBP"))
        ('R(rel=2)@100', 'R(capped)@10', 'RBP(p=0.8)')
    """
    switches, given = [], []
    for field in dataclasses.fields(measure):
        value = getattr(measure, field.name)
        if value is True and field.default is False:
            switches.append(field.name)
        elif field.name != "cutoff" and (value != field.default or field.metadata.get("always")):
            given.append(f"{field.name}={value}")
    cutoff = getattr(measure, "cutoff", None)
    name: str = measure.name
    call = f"({', '.join(switches + given)})" if switches or given else ""
    return name + call + ("" if cutoff is None else f"@{cutoff}")


def check_parameters(measure: Any, *, needs_cutoff: str = "") -> None:
    """Refuses a cutoff or a lowest relevant grade (`rel`) that no measure can work with.

    Args:
        measure: A measure with its fields set; the check belongs into `__post_init__`.
        needs_cutoff: Why the measure has no meaning without a cutoff; empty where it has one.

    Raises:
        UsageError: The cutoff is not a whole number of at least 1, or is needed and missing; `rel`
            is not a whole number of at least 1.
    """
    cutoff = getattr(measure, "cutoff", None)
    if cutoff is None and needs_cutoff:
        raise UsageError(f"{measure.name} needs a cutoff, as in {measure.name}@10: {needs_cutoff}")
    if cutoff is not None and not _counts(cutoff):
        raise UsageError(f"{measure.name}: the cutoff must be a whole number of at least 1, found {cutoff!r}")
    rel = getattr(measure, "rel", None)
    if rel is not None and not _counts(rel):
        raise UsageError(
            f"{measure.name}: rel, the lowest grade that is relevant, must be a whole number of at least 1,"
            f" found {rel!r}"
        )


def is_chance(value: object) -> bool:
    """Whether a parameter is a number above 0 and below 1."""
    return isinstance(value, float) and 0.0 < value < 1.0


def _counts(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1
