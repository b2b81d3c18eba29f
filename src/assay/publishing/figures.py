"""Figures of a card: how gold meets chunks, and what the audits say, counted in a collection as its files give it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from assay import __version__, audits
from assay.audit import own_splits
from assay.building.gold import project
from assay.catalog import known
from assay.collection import Collection
from assay.passage import Passages
from assay.publishing.card import table

CONFIGS = {"plain": "documents", "coref": "documents_coref"}


@dataclass(frozen=True)
class Figures:
    """How the gold of one split meets the chunks of one text view.

    Attributes:
        split, view: Which.
        queries: Judged queries.
        fragments: Their gold fragments.
        in_none, in_one, in_several: Fragments that meet no chunk with a text, exactly one, or several.
        gold_chunks: Pairs of a query and a gold chunk with a text.
    """

    split: str
    view: str
    queries: int
    fragments: int
    in_none: int
    in_one: int
    in_several: int
    gold_chunks: int

    @property
    def cells(self) -> tuple[str | int, ...]:
        """The row of a table."""
        numbers = (self.queries, self.fragments, self.in_none, self.in_one, self.in_several, self.gold_chunks)
        return (f"`{self.split}`", f"`{CONFIGS[self.view]}`", *numbers)


def figures_of(collection: Collection) -> list[Figures]:
    """The figures of every split and published view, splits in alphabetical order."""
    return list(_figures(collection))


def _figures(collection: Collection) -> Iterator[Figures]:
    for splits in collection.tasks.values():
        for split, task in sorted(own_splits(splits).items()):
            if task.fragments is None:
                continue
            for view in CONFIGS:
                if view not in task.passages.texts:
                    continue
                gold = project(task.fragments, _with_text(task.passages, view), rule=rule_of(collection))
                met = gold.chunks
                yield Figures(
                    split,
                    view,
                    queries=len(task.qrels.queries),
                    fragments=len(task.fragments),
                    in_none=int((met == 0).sum()),
                    in_one=int((met == 1).sum()),
                    in_several=int((met > 1).sum()),
                    gold_chunks=len(gold.qrels),
                )


def rule_of(collection: Collection) -> str:
    """The name of the gold rule, as the reader of the layout takes it."""
    return str(collection.manifest.get("gold_rule", "any"))


def _with_text(passages: Passages, view: str) -> Passages:
    """The passages that have a text in a view: others hold no fragment in it."""
    filled = np.flatnonzero(passages.texts[view].byte_lengths > 0)
    spans = None if passages.spans is None else passages.spans.take(filled)
    texts = {view: passages.texts[view].take(filled)}
    return Passages(passages.ids.take(filled), texts, parents=passages.parents, spans=spans)


def checks_section(collection: Collection, *, without: Iterable[str] = ()) -> str:
    """What `assay verify` says of the files: how many checks, and every error and warning.

    Args:
        collection: What the files hold.
        without: Audits that are not run; the section names them.
    """
    left = sorted(without)
    findings = audits.verify(collection, only=[name for name in known("audit") if name not in left])
    count = Counter(str(finding.verdict) for finding in findings)
    kinds = {"errors": "error", "warnings": "warning", "notes": "note", "ok": "ok", "nothing to look at": "skipped"}
    said = (
        f"`assay verify` of assay {__version__} on these files: {len(findings)} checks ("
        + ", ".join(f"{name}: {count[verdict]}" for name, verdict in kinds.items())
        + ")."
    )
    said += f" Not run here, for they read every text or id: {', '.join(f'`{name}`' for name in left)}." if left else ""
    bad = [(f.verdict, f"`{f.check}`", f.found) for f in findings if f.verdict in ("error", "warning")]
    return said + ("\n\n" + table(("", "check", "found"), bad) if bad else "")
