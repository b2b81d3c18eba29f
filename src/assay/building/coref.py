"""Coreference: a second text of every passage, with antecedents written in, at the same offsets.

A resolver rewrites the passages of one document at a time; which sentence a passage is stays as it was, and so do its
id, its span and the gold. The rewritten texts become the view `text:coref`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from assay.call import short_call
from assay.catalog import known, made
from assay.collection import Collection
from assay.errors import ContractError, UnavailableError, UsageError
from assay.passage import Passages
from assay.task import Task
from assay.texts import Texts

VIEW = "coref"
NEED_WEIGHTS = ("coreferee", "crosslingual-coreference", "fastcoref", "maverick-coref", "neuralcoref")
"""Libraries that resolve coreference and fetch model weights from elsewhere before they can."""


@runtime_checkable
class Resolver(Protocol):
    """What rewrites passages: a frozen dataclass in a file of `assay.building.resolvers`, or of another package.

    Other packages register theirs in the group `assay.resolvers` of entry points.
    """

    name: ClassVar[str]

    def resolved(self, documents: Iterable[tuple[str, Sequence[str]]]) -> Iterable[tuple[str, Sequence[str]]]:
        """Every document once, in any order, with as many passages as it was given.

        Args:
            documents: Id of each document, and the texts of its passages in order.
        """
        ...


def resolver_of(text: str) -> Resolver:
    """The resolver written as a call: `command('python my_resolver.py')`.

    Raises:
        UnknownNameError: There is no such resolver or parameter.
        UnavailableError: It is a library that needs weights which no package brings along.
        UsageError: The text is not a call with plain values.

    Example:
        >>> resolver_of("command('python my_resolver.py', timeout=60)").timeout
        60
    """
    name = re.match(r"\s*([\w-]*)", text)
    library = name[1].lower().replace("_", "-") if name else ""
    if library in NEED_WEIGHTS and library not in known("resolver"):
        raise UnavailableError(
            f"{library} is no resolver here: it needs model weights that are not part of its package. Install it with"
            " its weights, write a few lines that read documents and print them rewritten, and name these:"
            " command('python my_resolver.py'); docs/coreference.md has an example"
        )
    resolver: Resolver = made("resolver", text)
    return resolver


def with_coref(collection: Collection, resolver: Resolver, *, anew: bool = False) -> Collection:
    """The collection with the view `text:coref`, allowed in every task that allows the plain text.

    Ids, spans, order and gold are untouched. The manifest says which resolver made the texts, and `counts` how many
    passages differ from their plain text.

    Args:
        collection: Passages with documents.
        resolver: What rewrites the plain texts.
        anew: Replace inlined texts that are there already.

    Raises:
        UsageError: There are no documents, or the view is there already and `anew` is not set.
        ContractError: The resolver left a document or passage out, made one up, returned one twice, or blanked one.
    """
    passages = collection.passages
    if passages.parents is None or passages.spans is None:
        raise UsageError(f"{collection.name}: coreference needs passages with documents; these have none")
    if VIEW in passages.texts and not anew:
        raise UsageError(
            f"{collection.name} has the view text:{VIEW} already; ask for it anew (--anew) to replace its texts"
        )
    texts = resolved_texts(passages, resolver)
    new = replace(passages, texts={**passages.texts, VIEW: texts})
    plain = passages.texts["plain"].to_list()
    differing = sum(one != two for one, two in zip(plain, texts.to_list(), strict=True))
    tasks = {
        name: {split: _seen(task, passages, new) for split, task in splits.items()}
        for name, splits in collection.tasks.items()
    }
    manifest = {**collection.manifest, VIEW: {"resolver": short_call(resolver), "passages_that_differ": differing}}
    return replace(
        collection,
        passages=new,
        tasks=tasks,
        manifest=manifest,
        counts={**collection.counts, "chunks that the resolver changed": differing},
    )


def resolved_texts(passages: Passages, resolver: Resolver) -> Texts:
    """The resolver's text of every passage, in the order of the passages.

    Raises:
        ContractError: The resolver left a document or passage out, made one up, returned one twice, or blanked one.
    """
    rows = dict(_documents(passages))
    plain = passages.texts["plain"].to_list()
    texts = list(plain)
    waiting = dict.fromkeys(rows)
    given = ((id_, [plain[row] for row in own]) for id_, own in rows.items())
    for id_, rewritten in resolver.resolved(given):
        if id_ not in rows:
            raise ContractError(f"resolver {resolver.name}: it returned document {id_!r}, which it was not given")
        if id_ not in waiting:
            raise ContractError(f"resolver {resolver.name}: it returned document {id_!r} twice")
        del waiting[id_]
        own = rows[id_]
        if len(rewritten) != len(own):
            raise ContractError(
                f"resolver {resolver.name}: document {id_!r} has {len(own)} passages, it returned {len(rewritten)};"
                " every passage needs its text, changed or not"
            )
        for row, text in zip(own, rewritten, strict=True):
            if plain[row].strip() and not text.strip():
                raise ContractError(
                    f"resolver {resolver.name}: passage {passages.ids[row]!r} of document {id_!r} came back blank;"
                    " return a passage that needs no change as it is"
                )
            texts[row] = text
    if waiting:
        raise ContractError(
            f"resolver {resolver.name}: it left out {len(waiting)} of {len(rows)} documents (first:"
            f" {next(iter(waiting))!r}); every document must come back"
        )
    return Texts.of(texts)


def _documents(passages: Passages) -> Iterator[tuple[str, list[int]]]:
    """Id and rows of every document with passages; rows by position, else by start."""
    if passages.parents is None or passages.spans is None:
        return
    place = passages.spans.start if passages.position is None else passages.position
    order = np.lexsort((np.arange(len(passages)), place, passages.spans.document))
    borders = np.searchsorted(passages.spans.document[order], np.arange(len(passages.parents) + 1))
    for code, id_ in enumerate(passages.parents):
        rows = order[borders[code] : borders[code + 1]].tolist()
        if rows:
            yield id_, rows


def _seen(task: Task, old: Passages, new: Passages) -> Task:
    """A task over the new passages, with the view where it allows the plain one."""
    if task.passages is not old:
        return task
    views: Mapping[str, Any] = dict.fromkeys(task.views)
    if "text:plain" in views and f"text:{VIEW}" not in views:
        at = task.views.index("text:plain") + 1
        return replace(task, passages=new, views=(*task.views[:at], f"text:{VIEW}", *task.views[at:]))
    return replace(task, passages=new)
