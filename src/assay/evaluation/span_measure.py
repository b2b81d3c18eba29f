"""Span measures: scores for chunkings by name, such as `recall@4000chars` and `DFR(t=1)@10chunks`.

A name is a measure, what tells it from its relatives in brackets, and behind an at sign the budget with its
unit. Names print and parse back. A budget always says its unit, which keeps `recall@10chunks` (characters of
gold) apart from `R@10` (relevant passages).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from assay.errors import UnknownNameError, UsageError
from assay.measure import Measure
from assay.measures import parse

UNITS = ("chunks", "chars", "words")
"""What a budget counts: ranks, characters read, words read (words as `assay.words` cuts them)."""

FORMS: Mapping[str, tuple[str, ...]] = {
    "recall": ("", "sum", "reachable", "ceiling"),
    "precision": ("union", "read", "sum", "omega"),
    "IoU": ("", "sum"),
    "DFR": ("t=1", "t>0"),
    "fragment_recall": ("t=1", "t>0"),
}
"""What may stand in the brackets of each measure; the empty form is written without brackets."""

WITHOUT_BUDGET = (("precision", "omega"), ("recall", "reachable"))
RETRIEVERLESS = (*WITHOUT_BUDGET, ("recall", "ceiling"))
"""Measures of a chunking alone, whatever a run returned."""

_NAME = re.compile(r"\s*(?P<head>[A-Za-z_]+)\s*(?:\((?P<form>.*)\))?\s*(?:@\s*(?P<budget>.*?))?\s*", re.S)
_BUDGET = re.compile(r"(\d+)\s*([a-z]+)")
_SPELLINGS = {"chunk": "chunks", "char": "chars", "characters": "chars", "word": "words"}


@dataclass(frozen=True)
class Budget:
    """How much is read of each list: a number of `chunks`, `chars` or `words`.

    Example:
        >>> str(Budget(4000, "chars"))
        '4000chars'
    """

    amount: int
    unit: str

    def __str__(self) -> str:
        return f"{self.amount}{self.unit}"


@dataclass(frozen=True)
class SpanMeasure:
    """A measure over characters or fragments of gold, the same for every chunking of a document.

    Attributes:
        name: One of `FORMS`.
        form: What stands in the brackets: `union`, `read`, `sum`, `omega`, `reachable`, `ceiling`, `t=0.5`, `t>0`.
        budget: How much is read; None: the whole list, or nothing is read at all (`RETRIEVERLESS`).

    Example:
        >>> str(SpanMeasure("precision", "read", Budget(4000, "chars")))
        'precision(read)@4000chars'
    """

    name: str
    form: str = ""
    budget: Budget | None = None

    def __post_init__(self) -> None:
        if self.name not in FORMS:
            raise UnknownNameError.of("span measure", self.name, FORMS)
        if self.form not in FORMS[self.name] and not (self.of_fragments and _share(self.form)):
            known = ", ".join(_written(self.name, form) for form in FORMS[self.name])
            raise UsageError(f"there is no span measure {_written(self.name, self.form)}; write one of {known}")
        if (self.name, self.form) in WITHOUT_BUDGET and self.budget is not None:
            raise UsageError(f"{self}: nothing is read for this measure; leave the budget out")
        if self.budget is None and self.reads and not self.of_fragments:
            asked = _written(self.name, self.form)
            raise UsageError(
                f"{asked} needs a budget with its unit, as in {asked}@4000chars, {asked}@500words or {asked}@5chunks"
            )
        if self.form == "ceiling" and (self.budget is None or self.budget.unit == "words"):
            raise UsageError("recall(ceiling) needs a budget of chunks or chars, as in recall(ceiling)@4000chars")

    @property
    def reads(self) -> bool:
        """Whether the value depends on a run."""
        return (self.name, self.form) not in RETRIEVERLESS

    @property
    def of_fragments(self) -> bool:
        """Whether whole fragments are counted, found once the share `t` of them is read."""
        return self.name in ("DFR", "fragment_recall")

    @property
    def share(self) -> float:
        """The share t of a fragment that must be read; 0 means at least one character."""
        return _share(self.form) or 0.0

    def __str__(self) -> str:
        return _written(self.name, self.form) + ("" if self.budget is None else f"@{self.budget}")


@dataclass(frozen=True)
class DocumentMeasure:
    """A passage measure over documents: chunks are grouped first, and cut then.

    Example:
        >>> str(DocumentMeasure(parse("MRR@10")))
        'documents(RR@10)'
    """

    measure: Measure

    def __str__(self) -> str:
        return f"documents({self.measure})"


def chunking_measure(text: str) -> SpanMeasure | DocumentMeasure | None:
    """The span or document measure of that name; None where the name is that of another kind of measure.

    Raises:
        UnknownNameError: A budget stands behind a name that is no span measure.
        UsageError: The form or the budget cannot be read, or one is missing.

    Example:
        >>> [str(chunking_measure(name)) for name in ("recall@4000 characters", "DFR@10chunks", "RR@10")]
        ['recall@4000chars', 'DFR(t=1)@10chunks', 'None']
    """
    found = _NAME.fullmatch(text)
    if found is None:
        return None
    head, form, budget = found["head"], (found["form"] or "").strip(), found["budget"]
    if head == "documents":
        if not form or budget is not None:
            raise UsageError(f"measure {text!r}: write the passage measure in the brackets, as in documents(RR@10)")
        return DocumentMeasure(parse(form))
    if head not in FORMS:
        if budget is not None and (unit := _BUDGET.fullmatch(budget)) and _SPELLINGS.get(unit[2], unit[2]) in UNITS:
            raise UnknownNameError.of("span measure", head, FORMS)
        return None
    if head in ("DFR", "fragment_recall"):
        share = _share(form.replace(" ", "")) if form else 1.0
        form = form if share is None else "t>0" if share == 0 else f"t={share:g}"
    return SpanMeasure(head, form, None if budget is None else _budget(text, head, budget))


def _budget(text: str, head: str, budget: str) -> Budget:
    found = _BUDGET.fullmatch(budget)
    unit = _SPELLINGS.get(found[2], found[2]) if found else ""
    if found is None or unit not in UNITS or int(found[1]) < 1:
        other = " (relevant passages down to a rank are R@10 and P@10)" if head in ("recall", "precision") else ""
        raise UsageError(
            f"measure {text!r}: a budget is a whole number of at least 1 with its unit, as in {head}@5chunks,"
            f" {head}@4000chars or {head}@500words{other}"
        )
    return Budget(int(found[1]), unit)


def _share(form: str) -> float | None:
    """The share that `t=1`, `t=0.5` or `t>0` (0) stands for; None for anything else."""
    found = re.fullmatch(r"t=(1(?:\.0*)?|0?\.\d+)|(t>0)", form)
    if found is None:
        return None
    share = 0.0 if found[2] else float(found[1])
    return share if found[2] or share > 0 else None


def _written(name: str, form: str) -> str:
    return f"{name}({form})" if form else name
