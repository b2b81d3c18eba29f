"""Experiments: which systems were run on which task, and what came out."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

import assay
from assay import evaluation, measures
from assay.call import short_call
from assay.collection import Collection
from assay.errors import DataError, FileError, UnknownNameError, UsageError
from assay.evaluation import Comparison, DocumentMeasure, Family, SpanMeasure
from assay.executor import Work
from assay.formats import results as result_files
from assay.formats import runs as run_files
from assay.formats.digest import file_digest
from assay.harness import retrieve
from assay.measure import Measure
from assay.qrels import Qrels
from assay.run import Run
from assay.scores import Scores
from assay.system import System, spec_hash
from assay.task import Task

AnyMeasure = Measure | SpanMeasure | DocumentMeasure


@dataclass(frozen=True, eq=False)
class Result:
    """What one system got on one task and split.

    Attributes:
        system: The system written as a call, or a run's name.
        collection, digest, task, split: What it was run on; `digest` is empty for bare files.
        run: The run as it was returned or read; rows that no system may return are still in it.
        scores: One per measure, in the order asked for.
        spec: The recipe: system with all its fields, views read, depth, seed, version.
        place: Where the collection was opened from.
        gold_rule: By which rule a passage is gold for a fragment; empty where gold is not made of fragments.
    """

    system: str
    collection: str
    task: str
    split: str
    run: Run
    scores: tuple[Scores, ...]
    digest: str = ""
    spec: dict[str, Any] = field(default_factory=dict)
    place: str = ""
    gold_rule: str = ""

    @property
    def folder(self) -> Path:
        """Where the result lies below a results folder."""
        parts = (
            f"{_as_name(self.collection)}@{self.digest[:12]}",
            f"{_as_name(self.task)}.{_as_name(self.split)}",
            f"{_as_name(self.run.name)}-{spec_hash(self.spec)}",
        )
        return Path(*parts)

    def scores_of(self, measure: str) -> Scores:
        """The scores under one measure, by its printed name."""
        for scores in self.scores:
            if scores.measure == measure:
                return scores
        raise UsageError(
            f"{self.system} was not scored by {measure}; it has {', '.join(s.measure for s in self.scores)}"
        )


def _as_name(text: str) -> str:
    """Text as a part of a folder's name: not hidden, and within what file systems take."""
    return "".join(c if c.isalnum() or c in "-_.+@" else "-" for c in text[:48]).lstrip(".")


@dataclass(frozen=True)
class Judging:
    """How runs are judged: which measures, which interval.

    Attributes:
        measures: Measures by name or as values; empty: the task's headline measures. A name such as
            `lenient(RR@10)` asks for the score in which equivalent passages count as one; names such as
            `recall@4000chars` and `documents(RR@10)` are scores for chunkings (see `evaluation.span_measure`).
        method: `bca` or `percentile`.
        resamples, seed: Of the bootstrap and the tests.
    """

    measures: tuple[str | AnyMeasure, ...] = ()
    method: str = "bca"
    resamples: int = 10_000
    seed: int = 0

    def of(self, headline: Sequence[str]) -> list[tuple[AnyMeasure, bool]]:
        """The measures as values, each with whether it is asked for leniently."""
        return list(dict.fromkeys(_measure(m) for m in (self.measures or tuple(headline))))

    def names(self, headline: Sequence[str]) -> list[str]:
        """The names under which the scores stand, in the order asked for."""
        return [f"lenient({m})" if lenient else str(m) for m, lenient in self.of(headline)]


def _measure(asked: str | AnyMeasure) -> tuple[AnyMeasure, bool]:
    if not isinstance(asked, str):
        return asked, False
    text = asked.strip()
    of_chunking = evaluation.chunking_measure(text)
    if of_chunking is not None:
        return of_chunking, False
    lenient = text.startswith("lenient(") and text.endswith(")")
    return measures.parse(text[8:-1] if lenient else text), lenient


def run_system(
    collection: Collection,
    task: Task,
    system: System,
    *,
    judging: Judging | None = None,
    depth: int | None = None,
    seed: int = 0,
    indexes: Path | None = None,
    work: Work | None = None,
) -> Result:
    """The result of running a system on a task: retrieved by the harness, judged by the evaluator.

    Args:
        collection: What the task belongs to.
        task: One of its tasks, with a split.
        system: Any of the five kinds.
        judging: Measures and interval; the task's headline measures by default.
        depth: Passages per query; the task's depth by default.
        seed: Seed of the order in which rows are handed out.
        indexes: Folder of kept indexes.
        work: Where and by whom representers are run in shards; the result is the same.

    Raises:
        DataError: There is no passage to search.
    """
    if len(task.passages) == 0:
        raise DataError(f"{collection.name} holds no passages: there is nothing to search; check its files")
    run = retrieve(task, system, depth=depth, seed=seed, indexes=indexes, work=work)
    return judged_run(run, collection, task, judging=judging, label=short_call(system))


def judged_run(
    run: Run, collection: Collection, task: Task, *, judging: Judging | None = None, label: str = ""
) -> Result:
    """The result of a given run on a task: ineligible rows removed before the cut, then judged."""
    judging = judging or Judging()
    options: dict[str, Any] = {"seed": judging.seed, "resamples": judging.resamples, "method": judging.method}
    asked = judging.of(task.measures)
    # A file says nothing of its depth: it is judged as deep as it goes.
    deepest = run.depth or int(np.diff(run.offsets).max(initial=1))
    eligible = evaluation.only_eligible(run, task, depth=max(1, deepest))
    of_chunking = [m for m, _ in asked if isinstance(m, SpanMeasure | DocumentMeasure)]
    strict = [m for m, lenient in asked if not lenient and not isinstance(m, SpanMeasure | DocumentMeasure)]
    folded = [m for m, lenient in asked if lenient and not isinstance(m, SpanMeasure | DocumentMeasure)]
    scores: list[Scores] = evaluation.chunking_scores(eligible, task, of_chunking, **options)
    if strict:
        reach = evaluation.reach_of(task)
        plain = evaluation.evaluate(eligible, task.qrels, strict, clusters=task.clusters, reach=reach, **options)
        plain = evaluation.with_ceiling(plain, eligible, task.qrels, strict)
        over_seeds = evaluation.drawn_expectations(run, task, strict)
        scores += [
            replace(s, extras={**s.extras, "expected_over_seeds": over_seeds[s.measure]}) if over_seeds else s
            for s in plain
        ]
    if folded:
        scores += evaluation.lenient_scores(eligible, task, folded, **options)
    names = judging.names(task.measures)
    scores.sort(key=lambda one: names.index(one.measure))
    spec = {**run.spec, "version": assay.__version__} if run.spec else {"run": run.name, "version": assay.__version__}
    return Result(
        label or run.name,
        collection.name,
        task.name,
        task.split,
        run,
        tuple(scores),
        collection.digest,
        dict(spec),
        collection.place,
        task.gold_rule,
    )


def judged_files(run: Run, qrels: Qrels, *, name: str, judging: Judging, digest: str = "") -> Result:
    """The result of a run against bare qrels of that name, without a collection: nothing is filtered."""
    asked = judging.of(("nDCG@10", "RR@10", "R@100"))
    if any(lenient for _, lenient in asked):
        raise UsageError("lenient scores need a collection that knows which passages are equivalent")
    of_chunking = [str(m) for m, _ in asked if isinstance(m, SpanMeasure | DocumentMeasure)]
    if of_chunking:
        raise UsageError(f"{of_chunking[0]} needs a collection with documents and spans; a file of judgements has none")
    if len(run) and not (run.passages.codes(qrels.passages) >= 0).any():
        run = replace(run, counts={**run.counts, "none_judged": len(run)})
    scores = evaluation.evaluate(
        run,
        qrels,
        [m for m, _ in asked if not isinstance(m, SpanMeasure | DocumentMeasure)],
        seed=judging.seed,
        resamples=judging.resamples,
        method=judging.method,
    )
    spec = {"run": run.name, "version": assay.__version__}
    return Result(run.name, name, name, "", run, tuple(scores), digest, spec)


def judged_run_files(
    paths: Sequence[Path],
    *,
    judging: Judging,
    task: tuple[Collection, Task] | None = None,
    qrels: Path | None = None,
    keep_first: bool = False,
) -> list[Result]:
    """The results of run files on a task or against judgements; runs of one name also bear that of their file.

    Raises:
        UsageError: There is neither a task nor judgements, or there are both.
        DataError: A file holds no results at all.
    """
    if task is not None and qrels is not None:
        raise UsageError("give a task or --qrels, not both: a run is judged by one or the other")
    if task is None and qrels is None:
        raise UsageError(f"{paths[0]} is a run file: say what it answers, with --task COLLECTION/TASK or --qrels FILE")
    judgements, digest = (run_files.read_qrels(qrels), file_digest(qrels)) if qrels is not None else (None, "")
    results = []
    for path in paths:
        run = run_files.read_run(path, keep_first=keep_first)
        if len(run.queries) == 0:
            raise DataError(f"{path} holds no results: there is nothing to judge; write the run again")
        if task is not None:
            results.append(judged_run(run, *task, judging=judging))
        elif judgements is not None and qrels is not None:
            results.append(judged_files(run, judgements, name=qrels.name, judging=judging, digest=digest))
    names, files = [r.system for r in results], [path.name for path in paths]
    for at, (name, path) in enumerate(zip(names, paths, strict=True)):
        if names.count(name) > 1:
            told = path.name if files.count(path.name) == 1 else str(path)
            results[at] = replace(results[at], system=f"{name} ({told})")
    return results


def store(result: Result, folder: Path) -> Path:
    """Writes a result below `folder` and returns its own folder; an earlier one is replaced as a whole.

    A run that was given, not made from a recipe, is told from others of its name by its rows.
    """
    if not result.run.spec:
        result = replace(result, spec={**result.spec, "rows": _rows_digest(result.run)})
    place = folder / result.folder
    spec = {
        "system": result.system,
        "collection": result.collection,
        "digest": result.digest,
        "task": result.task,
        "split": result.split,
        "source": result.place,
        "gold_rule": result.gold_rule,
        "run": result.spec,
        "run_name": result.run.name,
        "counts": dict(result.run.counts),
        "models": [dict(model) for model in result.run.models],
        "version": assay.__version__,
    }
    result_files.write_result(place, spec=spec, run=result.run, scores=result.scores)
    return place


def _rows_digest(run: Run) -> str:
    found = hashlib.sha256(f"{run.queries.texts.digest} {run.passages.texts.digest}".encode())
    for column in (run.offsets, run.passage, run.score):
        found.update(column.tobytes())
    return found.hexdigest()


def stored(folder: Path) -> list[Result]:
    """Every result at or below a folder, by path.

    Raises:
        DataError: There is none, or no such folder.
    """
    if not folder.is_dir():
        what = f"{folder} is a file" if folder.exists() else f"there is no folder {folder}"
        raise FileError(f"{what}; name a folder of results, as `assay run --out FOLDER` writes it")
    found = (p.relative_to(folder).parent for p in folder.rglob(result_files.SPEC))
    places = sorted(folder / place for place in found if not any(part.startswith(".") for part in place.parts))
    if not places:
        raise DataError(f"{folder} holds no results; `assay run … --out {folder}` writes them")
    return [_stored(place) for place in places]


def _stored(place: Path) -> Result:
    spec, run, scores = result_files.read_result(place)
    missing = {"system", "collection", "task", "split", "run_name", "digest", "run", "source"} - spec.keys()
    if missing:
        raise DataError(f"{place / result_files.SPEC} lacks {', '.join(sorted(missing))}; run the system again")
    return Result(
        spec["system"],
        spec["collection"],
        spec["task"],
        spec["split"],
        replace(run, name=spec["run_name"]),
        tuple(scores),
        spec["digest"],
        spec["run"],
        spec["source"],
        spec["gold_rule"],
    )


@dataclass(frozen=True)
class Compared:
    """A family of paired tests: one task, split and measure (or several measures, where asked for).

    Attributes:
        collection, task, split: What was asked.
        measures: One measure per comparison, in the order of `family.comparisons`.
        family: The tests, corrected together.
    """

    collection: str
    task: str
    split: str
    measures: tuple[str, ...]
    family: Family


def comparisons(
    results: Sequence[Result],
    *,
    judging: Judging | None = None,
    baseline: str | None = None,
    all_measures: bool = False,
) -> list[Compared]:
    """One family of paired tests for each task and split with at least two systems.

    The family holds all pairs, or all pairs with `baseline`, under the first measure; with
    `all_measures` those under every measure, corrected together.

    Raises:
        UsageError: There is nothing to compare, or two results bear one name.
        UnknownNameError: `baseline` is none of the systems.
    """
    judging = judging or Judging()
    groups: dict[tuple[str, ...], list[Result]] = {}
    for r in results:
        groups.setdefault((r.collection, r.digest, r.task, r.split), []).append(r)
    several = [group for group in groups.values() if len(group) > 1]
    if not several:
        chunkings = len({(r.task, r.split) for r in results}) < len(groups)
        raise UsageError(
            f"no two systems on one task and split are among the results ({len(results)}); give at least two"
            + (", or compare different chunkings with --across-chunkings" if chunkings else "")
        )
    if baseline is not None:
        named = {name for group in several for name in _distinct_names(group)}
        several = [group for group in several if baseline in _distinct_names(group)]
        if not several:
            raise UnknownNameError.of("system", baseline, named)
    return [_family(group, judging, baseline, all_measures) for group in several]


def across_chunkings(results: Sequence[Result], *, whole: bool = False) -> list[Result]:
    """Results on different chunkings of the same documents and queries, as if they were of one collection.

    Systems are named with the collection that they ran on; only scores that mean the same for every chunking are
    kept (`evaluation.comparable_scores`), or, with `whole`, may be there.

    Raises:
        UsageError: All results are of one collection, or one has no score to be compared, or one that cannot be.
        DataError: The gold of two collections differs.
    """
    places = list(dict.fromkeys((r.collection, r.digest) for r in results))
    if len(places) < 2:
        raise UsageError("all results are of one chunking; compare them without --across-chunkings")
    named = [collection for collection, _ in places]
    chunkings = [r.collection + (f"@{r.digest[:12]}" if named.count(r.collection) > 1 else "") for r in results]
    systems = [f"{r.system} on {chunking}" for r, chunking in zip(results, chunkings, strict=True)]
    scored = [(name, r.scores) for name, r in zip(systems, results, strict=True)]
    kept = evaluation.comparable_scores(scored, whole=whole)
    every = f"{len(places)} chunkings"
    return [
        replace(r, system=name, collection=every, digest="", scores=scores)
        for r, name, scores in zip(results, systems, kept, strict=True)
    ]


def _family(group: list[Result], judging: Judging, baseline: str | None, all_measures: bool) -> Compared:
    names = _distinct_names(group)
    pairs = [(baseline, n) for n in names if n != baseline] if baseline is not None else list(combinations(names, 2))
    shared = [s.measure for s in group[0].scores if all(any(x.measure == s.measure for x in r.scores) for r in group)]
    if not shared:
        raise UsageError("the results share no measure; score them with the same --measure")
    chosen = shared if all_measures else shared[:1]
    tests: list[Comparison] = []
    measured: list[str] = []
    for measure in chosen:
        scores = dict(zip(names, (r.scores_of(measure) for r in group), strict=True))
        part = evaluation.compare(
            scores, pairs=pairs, clusters=scores[names[0]].clusters, resamples=judging.resamples, seed=judging.seed
        )
        tests += part.comparisons
        measured += [measure] * len(pairs)
    adjusted = evaluation.holm([c.test.p for c in tests])
    corrected = tuple(replace(c, p_adjusted=float(p)) for c, p in zip(tests, adjusted, strict=True))
    return Compared(group[0].collection, group[0].task, group[0].split, tuple(measured), Family(corrected, "holm"))


def _distinct_names(group: list[Result]) -> list[str]:
    """The systems' names; runs of equal names get a number, so that each can be told."""
    seen: dict[str, int] = {}
    names = []
    for r in group:
        seen[r.system] = seen.get(r.system, 0) + 1
        names.append(r.system if seen[r.system] == 1 else f"{r.system} #{seen[r.system]}")
    return names


def gathered(
    places: Sequence[Path],
    *,
    judging: Judging,
    task: tuple[Collection, Task] | None = None,
    qrels: Path | None = None,
) -> list[Result]:
    """Results from result folders, with the measures asked for, and from run files, which need a task or judgements.

    Raises:
        UsageError: A run file was given with neither, or a stored result lacks a measure.
    """
    # One result under two folders is one member of the family: a second one would only cost the others power.
    found = list({r.folder: r for place in places if place.is_dir() for r in stored(place)}.values())
    if judging.measures:
        found = [replace(r, scores=tuple(r.scores_of(name) for name in judging.names(()))) for r in found]
    files = [place for place in places if not place.is_dir()]
    return found + (judged_run_files(files, judging=judging, task=task, qrels=qrels) if files else [])
