"""Gold over shards: fragments to passages, document by document, as `gold.project` does in one piece."""

from __future__ import annotations

import numpy as np

import assay
from assay.building.gold import Projection, Rule, gold_pairs, located, projection_of
from assay.executor import Work
from assay.fragment import Fragments
from assay.passage import Passages
from assay.plan import Arrays, Plan, Shard, digest_of_arrays, even_borders
from assay.span import Spans
from assay.system import spec_hash


def project_sharded(fragments: Fragments, passages: Passages, *, work: Work, rule: Rule | str = "any") -> Projection:
    """The projection of `gold.project`, its documents cut into shards; the judgements have the same bytes.

    Args:
        fragments: Gold spans.
        passages: Passages with spans.
        work: Where shards are kept, how many there are, who runs them.
        rule: A rule or its name.

    Raises:
        UsageError: The passages have no spans, there is no rule of that name, or the folder holds another plan.
        AssayError: A shard failed, or a file of a shard is torn.
    """
    rule = Rule.named(rule) if isinstance(rule, str) else rule
    spans, chunks, rows = located(fragments, passages)
    # By document, so that a shard is a run of both; stable, so that shards do not depend on how rows were sorted.
    gold, held = (np.argsort(one.document, kind="stable") for one in (spans, chunks))
    sizes = np.bincount(chunks.document, minlength=0 if passages.parents is None else len(passages.parents))
    borders = _borders(sizes, work.shards)
    columns = (spans.document, spans.start, spans.end, chunks.document, chunks.start, chunks.end)
    of = digest_of_arrays(*columns, text=str(rule))
    folder = work.folder / "gold" / spec_hash({"of": of, "version": assay.__version__})
    plan = Plan(folder, "gold", f"{__name__}:pairs_of", of, borders, {"rule": str(rule)})

    def own(number: int) -> list[tuple[str, Spans, np.ndarray]]:
        found = []
        for name, one, order in (("fragments", spans, gold), ("passages", chunks, held)):
            low, high = np.searchsorted(one.document[order], borders[number : number + 2])
            found.append((name, one, order[low:high]))
        return found

    def given(number: int) -> Arrays:
        return {
            f"{name}/{part}": getattr(one, part)[at]
            for name, one, at in own(number)
            for part in ("document", "start", "end")
        }

    pairs = []
    for number, found in enumerate(work.done(plan, given)):
        (_, _, of_fragments), (_, _, of_passages) = own(number)
        pairs.append((of_fragments[found["fragment"]], rows[of_passages[found["passage"]]]))
    fragment, passage = (np.concatenate(column) for column in zip(*pairs, strict=True))
    return projection_of(fragments, passages, spans, rule=rule, fragment=fragment, passage=passage)


def pairs_of(shard: Shard) -> Arrays:
    """The gold pairs of a shard of documents, as rows within it."""
    own = shard.own
    spans = [
        Spans(*(own[f"{name}/{part}"] for part in ("document", "start", "end"))) for name in ("fragments", "passages")
    ]
    fragment, passage = gold_pairs(spans[0], spans[1], Rule.named(shard.plan.parameters["rule"]))
    return {"fragment": fragment, "passage": passage}


def _borders(sizes: np.ndarray, shards: int) -> tuple[int, ...]:
    """Borders of runs of documents with about as many passages each; documents of no passage count too."""
    ends = np.cumsum(sizes + 1)
    total = int(ends[-1]) if len(ends) else 0
    inner = np.searchsorted(ends, even_borders(total, shards)[1:-1], side="left")
    return (0, *inner.tolist(), len(sizes))
