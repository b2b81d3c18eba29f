"""ConditionalQA, made into a chunk-level collection as DAPR makes it.

Read are the original `documents.json`, `train.json` and `dev.json`; or, in their place, a partial corpus in which only
passages that are evidence of something are present (`passages.jsonl`, `dev.json`, `queries.train.jsonl`,
`qrels.train.tsv`). Documents, ids, cleaning, gold and splits follow DAPR to the letter; docs/sources.md says how.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.building.columns import document_columns, query_columns
from assay.building.splits import fragment_tasks
from assay.building.tags import CLEANERS
from assay.collection import Collection
from assay.errors import DuplicateIdError, FormatError, UnknownNameError, UsageError
from assay.formats import jsonl, parquet
from assay.formats.beir import read_qrels
from assay.formats.digest import digest_of, file_digests
from assay.formats.files import opened
from assay.formats.folders import MANIFEST, replacing_folder
from assay.formats.table import Field, quoted
from assay.fragment import Fragments
from assay.ids import Ids
from assay.passage import Passages
from assay.query import Queries
from assay.span import Spans
from assay.texts import Texts

LOOKS_FOR = (
    "documents.json, train.json and dev.json of ConditionalQA (or a partial corpus of it: passages.jsonl, dev.json, …)"
)
TASK = "passages"
SOURCE = "https://github.com/haitian-sun/ConditionalQA"
REVISION = "77bd295952daf415548b3244db10880d3d55cfe0"
LICENCE = "BSD-2-Clause AND OGL-UK-3.0"
ATTRIBUTION = "Contains public sector information licensed under the Open Government Licence v3.0"
DEV_DIGEST = "a06cfe3e8b3ffe04f2652a2dbd912b647eb4448b724585c891539344b02fb7c7"
"""SHA-256 of `dev.json` at `REVISION`."""

SEED = 42

_RAW = ("documents.json", "train.json", "dev.json")
_PARTIAL = ("passages.jsonl", "queries.train.jsonl", "qrels.train.tsv", "dev.json")


@dataclass(frozen=True)
class _Document:
    id: str
    url: str
    title: str
    contents: list[str]


@dataclass(frozen=True)
class _Example:
    id: str
    place: str
    text: str
    url: str
    evidences: list[str]


@dataclass(frozen=True)
class _Read:
    """What the files hold: documents, and examples of the labelled train file and of the dev file, in file order."""

    documents: list[_Document]
    train: list[_Example]
    test: list[_Example]
    files: tuple[str, ...]


def recognises(path: Path) -> bool:
    """Whether a folder holds the original files, or a partial corpus."""
    return any(all((path / name).is_file() for name in names) for names in (_RAW, _PARTIAL))


def load(path: Path, *, cleaner: str = "dapr") -> Collection:
    """The collection in a folder of original files; its task is `passages`, with the splits train, dev and test.

    Args:
        path: The folder.
        cleaner: A name in `CLEANERS`.

    Raises:
        UsageError: The folder lacks a file, or there is no such cleaner.
        FormatError: A file or field cannot be read, an example's document is missing, or an evidence is not in it.
        DuplicateIdError: An example id stands twice, or two documents of one url are asked for.
    """
    if cleaner not in CLEANERS:
        raise UnknownNameError.of("cleaner", cleaner, CLEANERS)
    if not recognises(path):
        missing = ", ".join(name for name in _RAW if not (path / name).is_file())
        raise UsageError(f"{path} lacks {missing}; looked for: {LOOKS_FOR}")
    read = _read_raw(path) if all((path / name).is_file() for name in _RAW) else _read_partial(path)
    counts: dict[str, int] = {}
    passages, differing = _passages(read.documents, cleaner, counts)
    train, test = ([example for example in found if example.evidences] for found in (read.train, read.test))
    counts["examples without evidence, left out"] = len(read.train) + len(read.test) - len(train) - len(test)
    gold = _gold([*train, *test], read.documents, counts)
    queries = _queries(train, test, gold=gold, texts=passages.texts["plain"])
    fragments = _fragments(queries.ids, passages, gold=gold)
    counts["queries"] = len(queries)
    counts["gold fragments empty after cleaning, which nothing can find"] = len(fragments.spans.empty)
    tasks = {TASK: fragment_tasks(TASK, fragments, passages=passages, queries=queries)}
    files = file_digests(path, [path / name for name in read.files])
    revision = REVISION if files["dev.json"] == DEV_DIGEST else ""
    return Collection(
        name="conditionalqa",
        layout="conditionalqa",
        digest=digest_of(files),
        files=files,
        passages=passages,
        queries=queries,
        tasks=tasks,
        manifest=_manifest(cleaner, revision, files) | {"built": counts, "cleaners_differ": differing},
        licence=LICENCE,
        source=SOURCE,
        revision=revision,
        counts={**counts, **next(iter(tasks[TASK].values())).notes},
    )


def _manifest(cleaner: str, revision: str, files: Mapping[str, str]) -> dict[str, Any]:
    return {
        "name": "conditionalqa",
        "source": SOURCE,
        "revision": revision,
        "licence": LICENCE,
        "attribution": ATTRIBUTION,
        "cleaner": cleaner,
        "answer": "quote",
        "splits": f"test: dev.json; dev: random.Random({SEED}).sample of the labelled train.json; train: the rest",
        "upstream": files,
    }


def save(collection: Collection, path: Path) -> None:
    """Writes `documents.parquet`, `queries.parquet` and, where it has that view, `documents_coref.parquet`.

    The columns are the published ones; `queries` has besides `query_id` and `split`, without which three splits in one
    table could not be told apart. `build_manifest.json` says what was built from what. Equal collections give equal
    bytes; the folder is replaced whole or not at all.

    Raises:
        UsageError: The collection has no spans or no gold fragments.
        FileError: The folder holds other things, or cannot be written.
    """
    passages = collection.passages
    gold = [task.fragments for tasks in collection.tasks.values() for task in tasks.values() if task.fragments]
    if passages.spans is None or passages.parents is None or passages.titles is None or not gold:
        raise UsageError(f"{collection.name}: saving needs passages with titles and spans, and gold fragments")
    tables = {"documents": document_columns(passages), "queries": query_columns(collection.queries, max(gold, key=len))}
    if "coref" in passages.texts:
        tables["documents_coref"] = document_columns(passages, view="coref")
    with replacing_folder(path) as part:
        for name, columns in tables.items():
            parquet.write_table(columns, part / f"{name}.parquet")
        files = file_digests(part, part.iterdir())
        jsonl.write_object({**collection.manifest, "files": files}, part / MANIFEST)


def _passages(documents: list[_Document], cleaner: str, counts: dict[str, int]) -> tuple[Passages, list[str]]:
    """The passages, and the ids of those that the two cleaners read differently."""
    clean, other = CLEANERS[cleaner], CLEANERS["careful" if cleaner == "dapr" else "dapr"]
    ids, texts, differing, places = [], [], [], []
    starts: list[int] = []
    for code, document in enumerate(documents):
        cleaned = [clean(raw) for raw in document.contents]
        ids += [f"{document.id}-{place}" for place in range(len(cleaned))]
        differing += [
            f"{document.id}-{place}" for place, raw in enumerate(document.contents) if other(raw) != cleaned[place]
        ]
        starts += accumulate((len(text) + 1 for text in cleaned[:-1]), initial=0) if cleaned else []
        places += [(code, place) for place in range(len(cleaned))]
        texts += cleaned
    plain = Texts.of(texts)
    at, start = np.asarray(places, np.int64).reshape(-1, 2), np.asarray(starts, np.int64)
    counts |= {
        "documents": len(documents),
        "documents without a passage": sum(not document.contents for document in documents),
        "chunks": len(texts),
        "chunks with an empty text": int((plain.byte_lengths == 0).sum()),
        "chunks that the two cleaners read differently": len(differing),
    }
    made = Passages(
        Ids.of(ids, what="passage id"),
        {"plain": plain},
        parents=Ids.of((document.id for document in documents), what="document id"),
        spans=Spans(at[:, 0].copy(), start, start + plain.lengths),
        position=at[:, 1].astype(np.int32),
        titles=Texts.of(document.title for document in documents),
    )
    return made, differing


def _gold(examples: list[_Example], documents: list[_Document], counts: dict[str, int]) -> list[list[int]]:
    """The rows of the passages that answer each example, in the order of the document.

    An evidence is found by its raw text, at its first place; several evidences of one place are one.
    """
    by_url: dict[str, list[int]] = {}
    for code, document in enumerate(documents):
        by_url.setdefault(document.url, []).append(code)
    before = list(accumulate((len(document.contents) for document in documents), initial=0))
    lost, absent, gold, named, again = [], [], [], 0, 0
    for example in examples:
        codes = by_url.get(example.url, [])
        if len(codes) > 1:
            ids = ", ".join(documents[code].id for code in codes)
            raise DuplicateIdError(f"{example.place}.url: {example.url} is the url of documents {ids}; one is meant")
        if not codes:
            lost.append(example)
            continue
        contents = documents[codes[0]].contents
        evidences = dict.fromkeys(example.evidences)
        there = [evidence for evidence in evidences if evidence in contents]
        absent += [(example, evidence) for evidence in evidences if evidence not in contents]
        named += len(example.evidences)
        again += sum(contents.count(evidence) > 1 for evidence in there)
        gold.append(sorted(before[codes[0]] + contents.index(evidence) for evidence in there))
    _refuse_lost(lost, absent)
    counts |= {
        "evidences": named,
        "evidences of a passage that another evidence names too": named - sum(map(len, gold)),
        "gold passages whose text stands again in their document, first copy taken": again,
    }
    return gold


def _refuse_lost(lost: list[_Example], absent: list[tuple[_Example, str]]) -> None:
    if lost:
        raise FormatError(
            f"{lost[0].place}.url: there is no document {lost[0].url} for example {lost[0].id} ({len(lost)} such"
            " examples); the documents and the questions must be of one release"
        )
    if absent:
        example, evidence = absent[0]
        raise FormatError(
            f"{example.place}.evidences: {quoted(evidence)} of example {example.id} is no paragraph of {example.url}"
            f" ({len(absent)} such evidences); the documents and the questions must be of one release"
        )


def _queries(train: list[_Example], test: list[_Example], *, gold: list[list[int]], texts: Texts) -> Queries:
    """The queries of the train file and then of the dev file, each in file order, with their splits."""
    if len(test) > len(train):
        raise FormatError(
            f"{len(test)} test queries and {len(train)} labelled train queries: the dev split needs as many queries as"
            " the test split"
        )
    examples = [*train, *test]
    dev = set(random.Random(SEED).sample(range(len(train)), len(test)))
    split = ["dev" if row in dev else "train" for row in range(len(train))] + ["test"] * len(test)
    words = texts.to_list()
    plain = Texts.of(example.text for example in examples)
    columns = {
        "original_query": plain,
        "n_gold": Texts.of(str(len(rows)) for rows in gold),
        "split": Texts.of(split),
        "answer": Texts.of(json.dumps([words[row] for row in rows], ensure_ascii=False) for rows in gold),
    }
    return Queries(_query_ids(examples), {"plain": plain}, columns=columns)


def _query_ids(examples: list[_Example]) -> Ids:
    seen: dict[str, _Example] = {}
    for example in examples:
        one = seen.setdefault(example.id, example)
        if one is not example:
            same = "the same" if one.text == example.text else "different"
            raise DuplicateIdError(
                f"query id {example.id} appears at {one.place} and {example.place} with {same} text; every query id"
                " must be unique"
            )
    return Ids.of(seen)


def _fragments(queries: Ids, passages: Passages, *, gold: list[list[int]]) -> Fragments:
    """The gold passages as spans of their documents, grade 1, with the words that stand there."""
    query = np.repeat(np.arange(len(gold), dtype=np.int32), [len(rows) for rows in gold])
    rows: npt.NDArray[np.int64] = np.asarray([row for found in gold for row in found], np.int64)
    spans, parents = passages.spans, passages.parents
    if spans is None or parents is None:
        raise UsageError("gold needs passages with documents and spans")
    quotes = passages.texts["plain"].take(rows)
    return Fragments(queries, parents, query, spans.take(rows), np.ones(len(rows), np.int32), quotes)


def _read_raw(path: Path) -> _Read:
    """The original files."""
    documents = [
        _Document(str(row), _text(found, "url", place), _text(found, "title", place), _texts(found, "contents", place))
        for row, (place, found) in enumerate(_objects(path / "documents.json"))
    ]
    train, test = (list(_examples(path / name)) for name in _RAW[1:])
    return _Read(documents, train, test, _RAW)


def _read_partial(path: Path) -> _Read:
    """The partial corpus: passages instead of documents, and the evidences of train as judgements."""
    kinds = {"_id": str, "doc_id": str, "paragraph_no": int, "raw": str, "url": str}
    table = jsonl.read_table(path / _PARTIAL[0], {name: Field(kind) for name, kind in kinds.items()})
    documents: dict[str, _Document] = {}
    raws: dict[str, str] = {}
    columns = [table.text(name).to_list() for name in ("_id", "doc_id", "raw", "url")]
    rows = zip(*columns, table.array("paragraph_no").tolist(), strict=True)
    for row, (id_, document, raw, url, place) in enumerate(rows):
        found = documents.setdefault(document, _Document(document, url, document, []))
        if place != len(found.contents) or id_ != f"{document}-{place}":
            raise FormatError(f"{table.where(row, 'paragraph_no')}: {place}, but passage {len(found.contents)} is next")
        found.contents.append(raw)
        raws[id_] = raw
    judged: dict[str, list[str]] = {}
    for query, passage, _ in read_qrels(path / _PARTIAL[2]).triples():
        if passage not in raws:
            raise FormatError(f"{_PARTIAL[2]}: there is no passage {passage!r}, which query {query!r} names")
        judged.setdefault(query, []).append(raws[passage])
    asked = jsonl.read_table(path / _PARTIAL[1], {name: Field(str) for name in ("_id", "text", "url")})
    named = zip(*(asked.text(name).to_list() for name in ("_id", "text", "url")), strict=True)
    train = [
        _Example(id_, asked.where(row), text, url, judged.get(id_, [])) for row, (id_, text, url) in enumerate(named)
    ]
    return _Read(list(documents.values()), train, list(_examples(path / "dev.json")), _PARTIAL)


def _examples(path: Path) -> Iterator[_Example]:
    for place, found in _objects(path):
        scenario, question = _text(found, "scenario", place), _text(found, "question", place)
        evidences = _texts(found, "evidences", place)
        yield _Example(
            _text(found, "id", place), place, f"{scenario} {question}", _text(found, "url", place), evidences
        )


def _objects(path: Path) -> Iterable[tuple[str, dict[str, Any]]]:
    """The objects of a JSON list, each with its place."""
    with opened(path) as stream:
        data = stream.read()
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as err:
        raise FormatError(f"{path.name}: not JSON ({err}); fetch the file again") from None
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise FormatError(f"{path.name}: expected a list of objects")
    return [(f"{path.name} $[{place}]", item) for place, item in enumerate(found)]


def _text(found: dict[str, Any], name: str, place: str) -> str:
    value = found.get(name)
    if not isinstance(value, str):
        raise FormatError(f"{place}.{name}: expected text, got {'nothing' if value is None else quoted(value)}")
    return _whole(value, f"{place}.{name}")


def _texts(found: dict[str, Any], name: str, place: str) -> list[str]:
    value = found.get(name)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise FormatError(f"{place}.{name}: expected a list of texts, got {quoted(value)}")
    return [_whole(item, f"{place}.{name}[{number}]") for number, item in enumerate(value)]


def _whole(text: str, place: str) -> str:
    """The text, unless half a character stands in it, which JSON can say and UTF-8 cannot."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as err:
        character = ord(text[err.start])
        raise FormatError(
            f"{place}: a lone surrogate (U+{character:04X}) at character {err.start}; repair the text"
        ) from None
    return text
