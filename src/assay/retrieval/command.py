"""A program as a system: it reads texts with random ids from files and writes a run.

The program is blind in fact: it sees no id of the collection, no date and no judgement, its working folder is
an empty temporary one, and the variables of the environment that name folders of this process are left out.
It runs with the rights of the user all the same: it is kept from answers, not from the disk.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from assay.errors import ContractError, FormatError, ScoreError, UnknownIdError, UsageError
from assay.programs import KEPT_VARIABLES, Program, found_from_anywhere, refuse_no_timeout, words_of
from assay.system import VIEWS, PassageView, QueryView, RankedRows

_PLACES = ("passages", "queries", "run", "depth")
_TEXTS = ("text:plain", "text:coref", "title")


@dataclass(frozen=True)
class Command:
    """A program that reads passages and queries and writes a run; a searcher.

    The program is started without a shell, in an empty temporary folder, with these places filled in.
    A word that names a file here, such as a script, is handed over as a full path:

    * ``{passages}``, ``{queries}``: JSONL files with ``id`` and ``text``, and ``title`` and other views that
      `views` names. The ids are random.
    * ``{depth}``: how many passages a query may get.
    * ``{run}``: the file to write, six columns as in TREC (query, Q0, passage, rank, score, tag) or JSONL with
      ``query``, ``passage`` and ``score``. A query may be missing; ranks are not read.

    Args:
        command: The command line; quoted as in a shell, but neither variables nor wildcards are filled in.
        views: What the program may see of the passages: one text, and "title", "parent" or "position".
        seed: Chooses the random ids.
        timeout: Seconds after which the program is stopped.
        variables: Names of further variables of the environment to hand over, such as "CUDA_VISIBLE_DEVICES".

    Raises:
        UsageError: The command line is empty or cannot be read, or a parameter is out of its range.

    Example:
        >>> Command("search --in {passages} --queries {queries} --out {run}").reads
        ('text:plain',)
    """

    name: ClassVar[str] = "command"

    command: str
    views: tuple[str, ...] = ("text:plain",)
    seed: int = 0
    timeout: float = 3600.0
    variables: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        words_of(self.command)
        for place in ("{passages}", "{queries}", "{run}"):
            if place not in self.command:
                raise UsageError(f"command: {place} is missing in {self.command!r}; the program needs that file's name")
        known = [view for view in VIEWS if view in (*_TEXTS, "parent", "position")]
        strange = [view for view in self.views if view not in known]
        if strange or sum(view.startswith("text:") for view in self.views) != 1:
            raise UsageError(
                f"command: views must be one text and others of {', '.join(known)}; found {', '.join(self.views)}"
            )
        refuse_no_timeout(self.timeout)

    @property
    def reads(self) -> tuple[str, ...]:
        """The views it reads."""
        return self.views

    def search(self, passages: PassageView, queries: QueryView, *, depth: int) -> RankedRows:
        """The rows that the program ranked; it does not promise every row equal to the last.

        Raises:
            UnavailableError: There is no such program.
            ContractError: It failed, took too long, wrote no run, or ranked a passage twice.
            FormatError: A line of its run cannot be read.
            UnknownIdError: Its run speaks of an id that it was not given.
            ScoreError: A score is not a finite number.
        """
        rng = np.random.default_rng(self.seed)
        passage_ids, query_ids = _random_ids(rng, len(passages)), _random_ids(rng, len(queries))
        with tempfile.TemporaryDirectory(prefix="assay-") as folder:
            files = {place: Path(folder) / f"{place}.jsonl" for place in _PLACES[:2]}
            files["run"] = Path(folder) / "run"
            _write(files["passages"], _passage_records(passages, passage_ids, self.views))
            _write(files["queries"], ({"id": i, "text": t} for i, t in zip(query_ids, queries.texts, strict=True)))
            work = Path(folder) / "work"
            work.mkdir()
            self._started(files, depth, work)
            if not files["run"].is_file():
                raise ContractError(f"command: {words_of(self.command)[0]} ended well but wrote no run to {{run}}")
            return _ranked_rows(_entries(files["run"]), query_ids, passage_ids, depth)

    def _started(self, files: dict[str, Path], depth: int, work: Path) -> None:
        """Runs the program to its end."""
        places = {**files, "depth": depth}
        words = [_filled(word, places, first=number == 0) for number, word in enumerate(words_of(self.command))]
        program = Program(words, self.timeout)
        program.run(said=work.parent / "stderr", work=work, variables=(*KEPT_VARIABLES, *self.variables))


def _filled(word: str, places: dict[str, Any], *, first: bool) -> str:
    """A word of the command line; a file of the present folder by its full path, as the program runs elsewhere."""
    full = found_from_anywhere(word, first=first)
    if full != word or Path(word).is_file():
        return full
    for place in _PLACES:
        word = word.replace(f"{{{place}}}", str(places[place]))
    return word


def _random_ids(rng: np.random.Generator, count: int) -> list[str]:
    """Distinct ids of sixteen hexadecimal digits that say nothing about their rows."""
    ids: dict[str, None] = {}
    while len(ids) < count:
        ids.update(dict.fromkeys(rng.bytes(8).hex() for _ in range(count - len(ids))))
    return list(ids)


def _passage_records(passages: PassageView, ids: list[str], views: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    columns: dict[str, list[Any]] = {}
    for view in views:
        if view in _TEXTS:
            columns[view.partition(":")[0]] = passages.texts[view].to_list()
        else:
            codes: npt.NDArray[np.int32] = getattr(passages, view)
            columns[view] = codes.tolist()
    for row, own in enumerate(ids):
        yield {"id": own, **{name: column[row] for name, column in columns.items()}}


def _write(path: Path, records: Iterator[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for record in records:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


def _entries(path: Path) -> Iterator[tuple[int, str, str, float]]:
    """Line number, query, passage and score of every line of a run."""
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            read = _json_entry if line.lstrip()[0] == "{" else _trec_entry
            query, passage, score = read(line, number)
            try:
                value = float(score)
            except (TypeError, ValueError):
                raise FormatError(f"command: run, line {number}: score {score!r} is not a number") from None
            if not math.isfinite(value):
                raise ScoreError(f"command: run, line {number}: score {value} is not finite")
            yield number, query, passage, value


def _json_entry(line: str, number: int) -> tuple[str, str, Any]:
    try:
        record = json.loads(line)
        return str(record["query"]), str(record["passage"]), record["score"]
    except json.JSONDecodeError as err:
        raise FormatError(f"command: run, line {number}: not JSON: {err.msg}") from None
    except KeyError as err:
        raise FormatError(f"command: run, line {number}: field {err} is missing; write query, passage, score") from None


def _trec_entry(line: str, number: int) -> tuple[str, str, Any]:
    parts = line.split()
    if len(parts) not in (5, 6):
        raise FormatError(
            f"command: run, line {number}: {len(parts)} columns; write query, Q0, passage, rank, score, tag, or JSONL"
        )
    return parts[0], parts[2], parts[4]


def _ranked_rows(
    entries: Iterator[tuple[int, str, str, float]], query_ids: list[str], passage_ids: list[str], depth: int
) -> RankedRows:
    """A run's rows, list by list; a list shorter than `depth` has no further rows."""
    places = [{own: row for row, own in enumerate(ids)} for ids in (query_ids, passage_ids)]
    pairs: dict[tuple[int, int], float] = {}
    for number, *ids, score in entries:
        for kind, own, known in zip(("query", "passage"), ids, places, strict=True):
            if own not in known:
                raise UnknownIdError(f"command: run, line {number}: {kind} {own!r} is no id that it was given")
        pair = places[0][ids[0]], places[1][ids[1]]
        if pair in pairs:
            raise ContractError(f"command: run, line {number}: passage {ids[1]!r} stands twice for query {ids[0]!r}")
        pairs[pair] = score
    at = np.asarray(list(pairs), np.int64).reshape(-1, 2)
    order = np.argsort(at[:, 0], kind="stable")
    offsets = np.searchsorted(at[order, 0], np.arange(len(query_ids) + 1)).astype(np.int64)
    scores = np.fromiter(pairs.values(), np.float64, len(pairs))
    return RankedRows(offsets, at[order, 1].astype(np.int32), scores[order], exhausted=np.diff(offsets) < depth)
