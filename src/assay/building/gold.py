"""Gold: from fragments to passages. The one rule that says which passage answers a query."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from assay.errors import UsageError
from assay.fragment import Fragments
from assay.ids import Ids
from assay.passage import Passages
from assay.qrels import Qrels
from assay.span import Spans

Rows = npt.NDArray[np.int64]

_NAME = re.compile(
    r"(?P<any>any)|(?:characters>=(?P<characters>\d+))?(?:(?:(?<=\d),|^)"
    r"(?:(?P<whole>whole)|share>=(?P<share>0?\.\d+|[01](?:\.0*)?)))?"
)


@dataclass(frozen=True)
class Rule:
    """When a passage that lies in a fragment's document counts as gold for it.

    It must share at least `characters` characters with the fragment, and at least `share` of the fragment.

    Example:
        >>> str(Rule()), str(Rule(share=0.5)), str(Rule.named("whole"))
        ('any', 'share>=0.5', 'whole')
    """

    characters: int = 1
    share: float = 0.0

    def __post_init__(self) -> None:
        if self.characters < 1 or not 0 <= self.share <= 1:
            raise UsageError(f"a gold rule needs at least 1 character and a share from 0 to 1, not {self!r}")

    @classmethod
    def named(cls, name: str) -> Rule:
        """The rule of that name: `any`, `characters>=20`, `share>=0.5`, `whole`, `characters>=20,whole`.

        Raises:
            UsageError: There is no such rule.
        """
        found = _NAME.fullmatch(name.replace(" ", ""))
        if found is None or not any(found.groups()):
            raise UsageError(
                f"there is no gold rule {name!r}; rules are any, characters>=20, share>=0.5, whole, and both kinds"
                " with a comma between, as in characters>=20,whole"
            )
        share = 1.0 if found["whole"] else float(found["share"] or 0)
        return cls(characters=int(found["characters"] or 1), share=share)

    def __str__(self) -> str:
        parts = [f"characters>={self.characters}"] if self.characters > 1 else []
        parts += ["whole" if self.share == 1 else f"share>={self.share:g}"] if self.share else []
        return ",".join(parts) or "any"


@dataclass(frozen=True, eq=False)
class Projection:
    """Qrels made from fragments, and what became of each fragment.

    Attributes:
        qrels: Every query with a fragment, also where no passage is gold; a passage's grade is the highest score of
            the fragments that it answers.
        rule: When a passage counts.
        chunks: Per fragment, how many passages are gold for it, int64.
        unknown: Rows of fragments whose document the passages do not have.
        empty: Rows of fragments of zero length, which overlap nothing.
    """

    qrels: Qrels
    rule: Rule
    chunks: Rows
    unknown: Rows
    empty: Rows

    @cached_property
    def missed(self) -> Rows:
        """Rows of fragments without a passage, for whatever reason."""
        return np.flatnonzero(self.chunks == 0)

    @property
    def counts(self) -> dict[str, int]:
        """How many fragments there are, and how many met no, one or several passages."""
        return {
            "gold fragments": len(self.chunks),
            "gold fragments in no chunk": len(self.missed),
            "gold fragments in one chunk": int((self.chunks == 1).sum()),
            "gold fragments in several chunks": int((self.chunks > 1).sum()),
            "gold fragments of an unknown document": len(self.unknown),
            "gold fragments of zero length": len(self.empty),
        }


def project(fragments: Fragments, passages: Passages, *, rule: Rule | str = "any") -> Projection:
    """Qrels that name the passages in which fragments lie.

    A passage is gold for a fragment when both lie in one document and share as many characters as `rule` asks for
    (by default one; spans that touch share none). Nested and overlapping passages are each gold.

    Args:
        fragments: Gold spans.
        passages: Passages with spans; 12 million take a few seconds, for only documents with gold are searched.
        rule: A rule or its name.

    Raises:
        UsageError: The passages have no spans, or there is no rule of that name.

    Example:
        A fragment over the border of two passages makes both gold.

        >>> from assay.texts import Texts
        >>> one = Ids.of(["d"])
        >>> passages = Passages(Ids.of(["d-0", "d-1"]), {"plain": Texts.of(["four", "five!"])}, one,
        ...                     Spans.of((0, 0, 4), (0, 5, 10)))
        >>> gold = Fragments(Ids.of(["q"]), one, np.zeros(1, np.int32), Spans.of((0, 3, 6)), np.ones(1, np.int32))
        >>> project(gold, passages).qrels.triples()
        [('q', 'd-0', 1), ('q', 'd-1', 1)]
        >>> project(gold, passages, rule="characters>=2").qrels.triples()
        []
    """
    rule = Rule.named(rule) if isinstance(rule, str) else rule
    spans, chunks, rows = located(fragments, passages)
    fragment, at = gold_pairs(spans, chunks, rule)
    return projection_of(fragments, passages, spans, rule=rule, fragment=fragment, passage=rows[at])


def located(fragments: Fragments, passages: Passages) -> tuple[Spans, Spans, Rows]:
    """Where fragments lie, by the passages' documents (-1 where they have none); spans and rows of passages there.

    Raises:
        UsageError: The passages have no spans.
    """
    if passages.spans is None or passages.parents is None:
        raise UsageError("gold fragments need passages with documents and spans; these passages have none")
    document = passages.parents.codes(fragments.documents)[fragments.spans.document].astype(np.int64)
    wanted = np.zeros(len(passages.parents) + 1, np.bool_)
    wanted[document] = True
    wanted[-1] = False
    rows = np.flatnonzero(wanted[passages.spans.document])
    return Spans(document, fragments.spans.start, fragments.spans.end), passages.spans.take(rows), rows


def gold_pairs(fragments: Spans, passages: Spans, rule: Rule) -> tuple[Rows, Rows]:
    """Every pair of a fragment and a passage that is gold for it, as aligned rows.

    Example:
        >>> [rows.tolist() for rows in gold_pairs(Spans.of((0, 3, 6)), Spans.of((0, 0, 4), (0, 5, 10)), Rule())]
        [[0, 0], [0, 1]]
    """
    fragment, passage = fragments.overlaps(passages, min_characters=rule.characters)
    if rule.share:
        inside = np.minimum(passages.end[passage], fragments.end[fragment])
        inside = inside - np.maximum(passages.start[passage], fragments.start[fragment])
        enough = inside >= rule.share * fragments.lengths[fragment] - 1e-9
        fragment, passage = fragment[enough], passage[enough]
    return fragment, passage


def projection_of(
    fragments: Fragments, passages: Passages, spans: Spans, *, rule: Rule, fragment: Rows, passage: Rows
) -> Projection:
    """The projection that aligned pairs of fragments and passages make, in any order of pairs."""
    return Projection(
        _qrels(fragments, passages.ids, fragment=fragment, passage=passage),
        rule,
        np.bincount(fragment, minlength=len(fragments)).astype(np.int64),
        np.flatnonzero(spans.document < 0),
        spans.empty,
    )


def _qrels(fragments: Fragments, ids: Ids, *, fragment: Rows, passage: Rows) -> Qrels:
    """One judgement a pair of query and passage, with the highest score; by query, then by passage row."""
    asked, place = np.unique(fragments.query, return_inverse=True)
    query, grade = place.reshape(-1)[fragment].astype(np.int64), fragments.grade[fragment]
    order = np.lexsort((-grade.astype(np.int64), passage, query))
    query, passage, grade = query[order], passage[order], grade[order]
    first = np.ones(len(query), np.bool_)
    first[1:] = (query[1:] != query[:-1]) | (passage[1:] != passage[:-1])
    return Qrels.from_columns(
        fragments.queries.take(asked), ids, query=query[first], passage=passage[first], grade=grade[first]
    )
