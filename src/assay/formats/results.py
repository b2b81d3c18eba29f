"""Results on disk: one folder a system, `spec.json`, `run.parquet` and `scores.parquet`, replaced as a whole."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from assay.errors import DataError, FormatError
from assay.formats.files import refused
from assay.ids import Ids
from assay.run import Run
from assay.scores import Counts, Interval, Scores
from assay.texts import Texts, arrow_of, numbers_of

SPEC, RUN, SCORES = "spec.json", "run.parquet", "scores.parquet"
VALUES = ("value", "best", "worst", "expected")


def write_result(folder: Path, *, spec: Mapping[str, Any], run: Run, scores: Sequence[Scores]) -> None:
    """Writes a result folder beside its place and swaps it in; an earlier one stays whole until then.

    Two processes that write below one folder take turns: the later one is what stays. What a process that was
    killed left unfinished is never read as a result, and goes with the next writing of the same place.

    Raises:
        FileError: The folder cannot be written; what stood there before is intact.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _turn(folder.parent):
            # The turn is this process's, so whatever lies there under these names belongs to none that still runs.
            draft, old = (folder.with_name(f".{folder.name}.{kind}") for kind in ("part", "old"))
            _restored(folder, old)
            _removed(draft)
            try:
                _write_draft(draft, spec=spec, run=run, scores=scores)
                _swapped_in(draft, folder, old)
            finally:
                shutil.rmtree(draft, ignore_errors=True)
    except OSError as err:
        named = err.filename if isinstance(err, _PATH_FAULTS) else None
        raise refused(err, named or folder, "write") from None


_PATH_FAULTS = (FileExistsError, NotADirectoryError)


def _write_draft(draft: Path, *, spec: Mapping[str, Any], run: Run, scores: Sequence[Scores]) -> None:
    from pyarrow import parquet

    draft.mkdir()
    parquet.write_table(run_table(run), draft / RUN, compression="zstd")
    parquet.write_table(_scores_table(scores), draft / SCORES, compression="zstd")
    whole = {**spec, "asked": [s.measure for s in scores], "measures": {s.measure: _qualified(s) for s in scores}}
    text = json.dumps(whole, indent=2, sort_keys=True, ensure_ascii=False)
    (draft / SPEC).write_text(text + "\n", encoding="utf-8")
    for name in (RUN, SCORES, SPEC):
        with open(draft / name, "rb") as file:
            os.fsync(file.fileno())


def _swapped_in(draft: Path, folder: Path, old: Path) -> None:
    """Puts the draft in its place: at once where the system can exchange two folders, else in two steps."""
    if folder.is_symlink() or not folder.is_dir():
        draft.rename(folder)
    elif not _exchanged(draft, folder):
        folder.rename(old)
        draft.rename(folder)
        shutil.rmtree(old, ignore_errors=True)


def _exchanged(one: Path, other: Path) -> bool:
    """Whether two folders have changed places in one step; Linux can, most of its file systems too."""
    import ctypes

    call = getattr(ctypes.CDLL(None), "renameat2", None)
    here, exchange = -100, 2
    return call is not None and call(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0


def _restored(folder: Path, old: Path) -> None:
    """Brings back what a process put aside that was killed between the two steps of a swap."""
    if old.is_dir() and not folder.exists():
        old.rename(folder)
    _removed(old)


def _removed(folder: Path) -> None:
    if folder.is_dir():
        shutil.rmtree(folder)


@contextmanager
def _turn(folder: Path) -> Iterator[None]:
    """Holds a folder's lock file, so that two processes do not write below it at once."""
    import fcntl

    with open(folder / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(lock, fcntl.LOCK_UN)


def run_table(run: Run) -> Any:
    """A run as an Arrow table: query_id, passage_id, rank (from 1), score, one row a result.

    Queries answered with an empty list, which have no row, and the depth stand in the metadata.
    """
    import pyarrow as pa

    length = np.diff(run.offsets)
    rank = np.arange(len(run)) - np.repeat(run.offsets[:-1], length) + 1
    owner = np.repeat(np.arange(len(length), dtype=np.int32), length)
    used, passage = np.unique(run.passage, return_inverse=True)
    columns = {
        "query_id": pa.DictionaryArray.from_arrays(arrow_of(owner), run.queries.texts.to_arrow()),
        "passage_id": pa.DictionaryArray.from_arrays(
            arrow_of(passage.astype(np.int32)), run.passages.texts.take(used).to_arrow()
        ),
        "rank": arrow_of(rank.astype(np.int32)),
        "score": arrow_of(run.score),
    }
    empty = [run.queries[int(i)] for i in np.flatnonzero(length == 0)]
    about = {"empty": json.dumps(empty), "depth": json.dumps(run.depth)}
    return pa.table(columns).replace_schema_metadata(about)


def run_of_table(table: Any, **rest: Any) -> Run:
    """The run that `run_table` made a table of."""
    about = {k.decode(): json.loads(v) for k, v in (table.schema.metadata or {}).items() if k in (b"empty", b"depth")}
    query = table["query_id"].combine_chunks().dictionary_encode()
    passage = table["passage_id"].combine_chunks().dictionary_encode()
    rows = numbers_of(query.indices).astype(np.int64)
    # The file may or may not have kept the names of queries without a row.
    names = list(dict.fromkeys([*query.dictionary.to_pylist(), *about.get("empty", ())]))
    order = np.argsort(rows, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(names)))]).astype(np.int64)
    return Run.ranked(
        Ids.of(names, what="query id"),
        Ids(Texts.from_arrow(passage.dictionary)),
        offsets=offsets,
        passage=numbers_of(passage.indices).astype(np.int32)[order],
        score=numbers_of(table["score"]).astype(np.float64)[order],
        depth=about.get("depth"),
        **rest,
    )


def _scores_table(scores: Sequence[Scores]) -> Any:
    import pyarrow as pa

    columns: dict[str, Any] = {
        "measure": pa.array([s.measure for s in scores for _ in range(len(s))], pa.string()),
        "query_id": pa.array([q for s in scores for q in s.queries], pa.string()),
    }
    for name in VALUES:
        columns[name] = arrow_of(np.concatenate([getattr(s, name) for s in scores]) if scores else np.zeros(0))
    uppers = [np.full(len(s), np.nan) if s.upper is None else s.upper for s in scores]
    columns["upper"] = arrow_of(np.concatenate(uppers) if uppers else np.zeros(0))
    clusters = [np.full(len(s), -1) if s.clusters is None else s.clusters for s in scores]
    columns["cluster"] = arrow_of(np.concatenate(clusters) if clusters else np.zeros(0, np.int64))
    return pa.table(columns)


def _qualified(scores: Scores) -> dict[str, Any]:
    return {
        "interval": {k: _json_number(v) for k, v in asdict(scores.interval).items()},
        "counts": asdict(scores.counts),
        "extras": {k: _json_number(v) for k, v in scores.extras.items()},
        "bounded": scores.upper is not None,
    }


def _json_number(value: Any) -> Any:
    return None if isinstance(value, float) and not np.isfinite(value) else value


def read_result(folder: Path) -> tuple[dict[str, Any], Run, list[Scores]]:
    """The spec, the run and the scores of a result folder.

    Raises:
        FormatError: A part is missing or cannot be read.
    """
    with _unchanged(folder.parent):
        return _read_parts(folder)


@contextmanager
def _unchanged(folder: Path) -> Iterator[None]:
    """Keeps writers waiting, so that the parts read are of one result; where nobody locks, nobody writes."""
    import fcntl

    with ExitStack() as stack:
        with suppress(OSError):
            lock = stack.enter_context(open(folder / ".lock"))
            fcntl.flock(lock, fcntl.LOCK_SH)
        yield


def _read_parts(folder: Path) -> tuple[dict[str, Any], Run, list[Scores]]:
    from pyarrow import ArrowException, parquet

    try:
        spec = json.loads((folder / SPEC).read_text(encoding="utf-8"))
        rest = {"name": spec["system"], "spec": spec.get("run", {}), "counts": spec.get("counts", {})}
        rest["models"] = tuple(spec.get("models", ()))
        run = run_of_table(parquet.read_table(folder / RUN), **rest)
        table = parquet.read_table(folder / SCORES)
        scores = _read_scores(table, {name: spec["measures"][name] for name in spec["asked"]})
    except (OSError, LookupError, TypeError, ValueError, DataError, ArrowException) as err:
        raise FormatError(
            f"{folder} is no whole result folder ({type(err).__name__}: {err}); it needs {SPEC}, {RUN} and {SCORES}, "
            "as `assay run --out` writes them"
        ) from None
    return spec, run, scores


def _read_scores(table: Any, measures: Mapping[str, Any]) -> list[Scores]:
    names = np.asarray(table["measure"].to_pylist(), object)
    ids = table["query_id"].to_pylist()
    columns = {name: numbers_of(table[name]) for name in (*VALUES, "upper", "cluster")}
    made = []
    for measure, about in measures.items():
        rows = np.flatnonzero(names == measure)
        interval: dict[str, Any] = {k: float("nan") if v is None else v for k, v in about["interval"].items()}
        made.append(
            Scores(
                measure,
                Ids.of([ids[i] for i in rows.tolist()]),
                columns["value"][rows],
                columns["best"][rows],
                columns["worst"][rows],
                columns["expected"][rows],
                interval=Interval(**interval),
                counts=Counts(**about["counts"]),
                upper=columns["upper"][rows] if about["bounded"] else None,
                clusters=columns["cluster"][rows] if interval["unit"] == "cluster" else None,
                extras={k: float("nan") if v is None else v for k, v in about["extras"].items()},
            )
        )
    return made
