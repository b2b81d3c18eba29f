"""Verdicts: what people say of a sample drawn from strata, as precision of all that was drawn from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from assay.errors import DataError
from assay.evaluation.agreement import Agreement, kappa
from assay.evaluation.proportions import Proportion, stratified

Stratum = TypeVar("Stratum", bound=tuple[str, ...])


@dataclass(frozen=True)
class Precision:
    """What one judge's verdicts say.

    Attributes:
        yes, no, unsure, unjudged: How many rows; the last are those without a verdict.
        overall: The share of yes among yes and no, strata weighted by their size.
        drawn: The same in the sample as it is, without weights.
        if_unsure_no, if_unsure_yes: What `overall.value` would be if every unsure row were no, or yes.
        strata: The share in each stratum.
        groups: The share in each group of strata: by name of a part of the stratum and its value. A value `a+b` belongs
            to the groups `a` and `b`.
    """

    yes: int
    no: int
    unsure: int
    unjudged: int
    overall: Proportion
    drawn: Proportion
    if_unsure_no: float
    if_unsure_yes: float
    strata: Mapping[tuple[str, ...], Proportion]
    groups: Mapping[tuple[str, str], Proportion]


@dataclass(frozen=True)
class Both:
    """Two judges on the same rows.

    Attributes:
        agreement: On the rows that both decided: yes first, then no.
        table: Rows by what the first and the second judge say, counts by `(first, second)`; empty words are rows
            without a verdict.
        undecided: Rows that at least one of them did not decide.
    """

    agreement: Agreement
    table: Mapping[tuple[str, str], int]
    undecided: int


def precision_of(
    verdicts: Mapping[str, str],
    strata: Mapping[str, Stratum],
    *,
    sizes: Mapping[Stratum, int],
    parts: Sequence[str],
    level: float = 0.95,
) -> Precision:
    """The precision that verdicts speak for, over everything that the sample was drawn from.

    Rows that are unsure or without a verdict are left out of the shares; `if_unsure_no` and `if_unsure_yes` say what
    the unsure ones could change.

    Args:
        verdicts: `yes`, `no`, `unsure` or nothing, by key of a row.
        strata: The stratum of each row, by its key.
        sizes: How many things each stratum has in all.
        parts: What the parts of a stratum are called.
        level: Coverage aimed at.

    Example:
        >>> rows = {"a": ("x",), "b": ("x",), "c": ("y",)}
        >>> said = {"a": "yes", "b": "no", "c": "yes"}
        >>> found = precision_of(said, rows, sizes={("x",): 20, ("y",): 60}, parts=["kind"])
        >>> found.overall.value, round(found.drawn.value, 4), found.strata["y",].value
        (0.875, 0.6667, 1.0)
    """
    said = {
        name: Counter(strata[key] for key, word in verdicts.items() if word == name) for name in ("yes", "no", "unsure")
    }

    def share(chosen: Sequence[Stratum], yes: Sequence[str] = ("yes",), no: Sequence[str] = ("no",)) -> Proportion:
        positive = [sum(said[word][stratum] for word in yes) for stratum in chosen]
        asked = [sum(said[word][stratum] for word in (*yes, *no)) for stratum in chosen]
        return stratified(positive, asked, [sizes[stratum] for stratum in chosen], level=level)

    everything = list(sizes)
    grouped: dict[tuple[str, str], list[Stratum]] = {}
    for stratum in everything:
        for name, value in zip(parts, stratum, strict=True):
            for one in value.split("+"):
                grouped.setdefault((name, one), []).append(stratum)
    counts = {name: sum(found.values()) for name, found in said.items()}
    decided = counts["yes"] + counts["no"]
    return Precision(
        counts["yes"],
        counts["no"],
        counts["unsure"],
        len(verdicts) - decided - counts["unsure"],
        share(everything),
        stratified([counts["yes"]], [decided], [len(verdicts)], level=level),
        share(everything, no=("no", "unsure")).value,
        share(everything, yes=("yes", "unsure")).value,
        {stratum: share([stratum]) for stratum in everything},
        {
            group: share(grouped[group])
            for group in sorted(grouped, key=lambda one: (list(parts).index(one[0]), one[1]))
        },
    )


def agreement_of(first: Mapping[str, str], second: Mapping[str, str], *, level: float = 0.95) -> Both:
    """How far two judges of the same rows agree; rows that one of them left undecided are counted apart.

    Raises:
        DataError: They judged different rows.

    Example:
        >>> both = agreement_of({"a": "yes", "b": "no", "c": "unsure"}, {"a": "yes", "b": "yes", "c": "no"})
        >>> both.agreement.n, both.agreement.observed, both.undecided
        (2, 0.5, 1)
    """
    if first.keys() != second.keys():
        raise DataError(f"two judges of {len(first)} and {len(second)} rows that are not the same: score one draw")
    table = Counter((first[key], second[key]) for key in first)
    decided = [[table[a, b] for b in ("yes", "no")] for a in ("yes", "no")]
    found = kappa(decided, level=level)
    return Both(found, dict(sorted(table.items())), len(first) - found.n)
