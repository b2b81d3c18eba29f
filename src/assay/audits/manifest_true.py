"""A manifest that says what is there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from assay.audit import Finding, own_splits
from assay.collection import Collection

READ_AS = {
    "queries_xling": "cross-lingual queries",
    "citations": "citations in precedent_meta",
    "no_split": "queries without a split, in no task",
}
"""Names in manifests, and the names under which readers count the same."""


@dataclass(frozen=True)
class ManifestTrue:
    """The manifest's row counts and digests are those of the files as read.

    Checks:
        Each number under `counts` of the manifest equals what was read: `passages`, `queries`, `documents`,
        `candidates`, `<task>` and `<task>/<split>` or `qrels/<task>_<split>` (judgements, or `queries` and
        `pairs` below it), or a count that the reader kept under the same name. Each SHA-256 under `files` of
        the manifest (`{"corpus.jsonl": "9f86…"}`, or a mapping with the key `sha256`) is that of the file read.

    Why it matters:
        Loaders refuse a data set whose card promises other row counts than its files have; and a file that
        was cut short or changed is seen here first.

    Known limits:
        Counts and files under names that were not read are noted and not compared.

    Example:
        The manifest says 5 rows for `passages`, the files have 1.

    What to do:
        Make the manifest and the card from the files, never by hand; fetch a changed file again.
    """

    name: ClassVar[str] = "manifest-true"

    def inspect(self, collection: Collection) -> Iterator[Finding]:
        """Findings on counts and on digests."""
        counts, digests = collection.manifest.get("counts"), collection.manifest.get("files")
        if isinstance(counts, Mapping) and counts:
            yield from self._counts(collection, counts)
        else:
            why = "the manifest has no counts"
            yield Finding.skipped(f"{self.name}/counts", why, expected="row counts as in the manifest")
        if isinstance(digests, Mapping) and digests:
            yield from self._digests(collection, digests)
        else:
            why = "the manifest has no digests of files"
            yield Finding.skipped(f"{self.name}/files", why, expected="files as in the manifest")

    def _digests(self, collection: Collection, digests: Mapping[str, Any]) -> Iterator[Finding]:
        flat = {name: said.get("sha256") if isinstance(said, Mapping) else said for name, said in digests.items()}
        read = {name: said for name, said in flat.items() if name in collection.files}
        wrong = [name for name, said in read.items() if said is not None and said != collection.files[name]]
        yield Finding.of(
            f"{self.name}/files",
            len(wrong),
            verdict="error",
            expected="files as in the manifest",
            found=f"{len(read) - len(wrong)} of {len(read)} files have the manifest's SHA-256; {len(flat) - len(read)} "
            "of its files were not read",
            offenders=(f"{name}: {collection.files[name][:12]}…, manifest {str(flat[name])[:12]}…" for name in wrong),
            advice="these are not the files that the manifest describes: fetch or build them again",
        )

    def _counts(self, collection: Collection, promised: Mapping[str, Any]) -> Iterator[Finding]:
        there = _there(collection)
        flat = dict(_flat("", promised))
        wrong = {name: n for name, n in flat.items() if name in there and there[name] != n}
        known = sum(name in there for name in flat)
        yield Finding.of(
            f"{self.name}/counts",
            len(wrong),
            verdict="error",
            expected="row counts as in the manifest",
            found=f"{known - len(wrong)} of {known} counts agree",
            offenders=(f"manifest says {n} rows for {name}, files have {there[name]}" for name, n in wrong.items()),
            advice="make the manifest from the files",
        )
        # None of a thing that is not there is true: a task without judgements is no task.
        unknown = [name for name, n in flat.items() if name not in there and n != 0]
        if unknown:
            yield Finding.of(
                f"{self.name}/unknown",
                len(unknown),
                verdict="note",
                expected="counts of things that were read",
                found=f"{len(unknown)} counts have names that nothing here bears, and were not compared",
                offenders=(repr(name) for name in unknown),
                advice="name counts passages, queries, documents, candidates, <task> or <task>/<split>",
            )


def _flat(prefix: str, counts: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in counts.items():
        if isinstance(value, Mapping):
            yield from _flat(f"{prefix}{name}/", value)
        else:
            yield f"{prefix}{name}", value


def _there(collection: Collection) -> dict[str, int]:
    """What there is, under every name that a manifest may use; what the reader counted goes first."""
    passages, read = collection.passages, collection.counts
    rows, asked = len(passages), read.get("queries", len(collection.queries))
    there = dict.fromkeys(("passages", "corpus", "chunks", "replies", "answers"), rows)
    there |= {"queries": asked, "questions": asked}
    there |= {name: read[counted] for name, counted in READ_AS.items() if counted in read}
    if passages.parents is not None:
        there["documents"] = len(passages.parents)
    if passages.candidate is not None:
        there["candidates"] = int(passages.candidate.sum())
    for name, splits in collection.tasks.items():
        there[name] = sum(len(task.qrels) for task in own_splits(splits).values())
        for split, task in splits.items():
            pairs = len(task.qrels)
            there |= {f"{name}/{split}": pairs, f"qrels/{name}_{split}": pairs, f"qrels/{name}_{split}/pairs": pairs}
            there[f"qrels/{name}_{split}/queries"] = len(task.qrels.queries)
    return there | dict(read)
