"""Releases of ParlIR as they were published: where each lies, at which commit, and the counts that its card promises.

`figures_of` counts the same of a collection, under the same names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
import numpy.typing as npt

from assay.audit import own_splits
from assay.collection import Collection
from assay.texts import Texts

REPO = "NaiveNeuron/parlir"
LANGUAGE = ("lang", "language", "orig_lang")
"""Columns that may hold the language of a text; the first that does is counted."""


class Kind(Enum):
    """What a release is."""

    COLLECTION = "a collection in the question-level layout"
    TEXTS = "a text-only export, with the mapping of its ids kept apart"
    FILES = "single files, fetched one by one"


@dataclass(frozen=True)
class Release:
    """A release: files of one commit of a dataset repository, below one folder.

    Attributes:
        name: What it is opened by, `FAMILY@VERSION`.
        repo: The dataset repository, `owner/name`.
        tag: The id of the tag object that was published. It is no commit, and no cache can resolve it.
        begins: The first digits of the commit, as they were published; what is stored is the whole of it.
        folder: The folder of the repository.
        kind: What it is.
        counts: What the card promises, under the names of `figures_of`; nothing where it promises nothing.
        mapping: The folder of the mapping of ids, of a text-only export.
    """

    name: str
    repo: str
    tag: str
    begins: str
    folder: str
    kind: Kind
    counts: Mapping[str, int] = field(default_factory=dict)
    mapping: str = ""


def _promised(task: str, *, queries: tuple[int, ...] = (), pairs: tuple[int, ...]) -> dict[str, int]:
    """Counts of a task in train, dev and test."""
    splits = ("train", "dev", "test")
    asked = {f"queries of {task}/{split}": n for split, n in zip(splits, queries, strict=bool(queries))}
    return asked | {f"pairs of {task}/{split}": n for split, n in zip(splits, pairs, strict=True)}


V1_COUNTS: Mapping[str, int] = {
    "answers": 76_536,
    "answers of Commission": 70_397,
    "answers of High Representative": 4_181,
    "answers of Council": 1_892,
    "answers of unknown": 66,
    "questions with a split": 78_309,
    "questions of train": 59_612,
    "questions of dev": 7_735,
    "questions of test": 10_962,
    **_promised("answer", pairs=(59_612, 7_735, 10_962)),
    **_promised("answerlenient", pairs=(70_463, 7_854, 11_239)),
    **_promised("precedent", queries=(2_302, 252, 301), pairs=(3_393, 364, 481)),
    **_promised("precedenthc", queries=(1_788, 159, 192), pairs=(2_462, 208, 269)),
    **_promised("cite", queries=(3_767, 299, 396), pairs=(5_592, 441, 634)),
    **_promised("citehc", queries=(2_991, 186, 256), pairs=(4_199, 245, 352)),
    "cross-lingual texts": 7_683,
    "languages of cross-lingual texts": 22,
}
"""What the card of v1.0 promises."""

RELEASES: dict[str, Release] = {
    release.name: release
    for release in (
        Release(
            "parlir@v1.0",
            REPO,
            tag="2176502d8ed76885c17fc85604be33d2cf429368",
            begins="574ebbdc6c66",
            folder="v1.0",
            kind=Kind.COLLECTION,
            counts=V1_COUNTS,
        ),
        Release(
            "parlir@v1.0-textonly",
            REPO,
            tag="925a8807a3b471beac0dc376826b2e0a086b0bc4",
            begins="b7745dbd9b1b",
            folder="v1.0/textonly",
            kind=Kind.TEXTS,
            mapping="v1.0/textonly-provenance",
        ),
        Release(
            "parlir@v1.0-evidence-r5",
            REPO,
            tag="6b381010ef7b07927b30bd4c35bbb1d416f68baf",
            begins="ddf8c71259e1",
            folder="v1.0/experiments",
            kind=Kind.FILES,
        ),
    )
}
"""Every release by its name."""


def is_release(name: str) -> bool:
    """Whether a name is written as that of a release, known or not.

    Example:
        >>> is_release("parlir@v9"), is_release("parlir@v1.0/answer"), is_release("run@10")
        (True, False, False)
    """
    family, at, _ = name.partition("@")
    return bool(at) and "/" not in name and family.casefold() in {known.partition("@")[0] for known in RELEASES}


_INSTITUTIONS = {
    "High Representative": re.compile(r"represent|\bv[\s./-]*p[\s./-]*hr?\b|\bhr[\s./-]*v?p?\b|\bvphr\b|\beeas\b"),
    "Council": re.compile(r"council|\bconsil\b|\bcs\b"),
    "Commission": re.compile(r"commission|\bcom\b|\bce\b"),
    "unknown": re.compile(r"\s*|unknown|none|null|n/?a|\?"),
}


def institution_of(said: str) -> str:
    """The institution that a text or code names: that of the Council, the Commission, …; else the text itself.

    Example:
        >>> [institution_of(said) for said in ("European Commission", "EU_COUNCIL", "VP/HR", "", "Court")]
        ['Commission', 'Council', 'High Representative', 'unknown', 'Court']
    """
    folded = said.casefold().replace("_", " ")
    for name, pattern in _INSTITUTIONS.items():
        if pattern.fullmatch(folded) if name == "unknown" else pattern.search(folded):
            return name
    return said


def figures_of(collection: Collection) -> dict[str, int]:
    """What a question-level collection holds, under the names of a release's `counts`.

    Answers, and those of each institution; questions of each split; queries and pairs of each task and split;
    cross-lingual texts and their languages. What has no column is not among them.

    Example:
        >>> from assay.sources import open_collection
        >>> found = figures_of(open_collection("demo:questions"))
        >>> found["answers"] == len(open_collection("demo:questions").passages)
        True
    """
    found = {"answers": len(collection.passages)}
    institution = collection.passages.columns.get("institution")
    if institution is not None:
        said: Counter[str] = Counter()
        # Few are named, many times each.
        for name, n in Counter(institution).items():
            said[institution_of(name)] += n
        found |= {f"answers of {name}": said[name] for name in sorted(said)}
    columns = collection.queries.columns
    named = columns.get("question")
    crossing = np.zeros(len(collection.queries), np.bool_) if named is None else named.byte_lengths > 0
    if "split" in columns:
        split = columns["split"].take(np.flatnonzero(~crossing & (columns["split"].byte_lengths > 0)))
        found["questions with a split"] = len(split)
        found |= {f"questions of {name}": n for name, n in sorted(Counter(split).items())}
    for name, splits in collection.tasks.items():
        for part, task in own_splits(splits).items():
            found[f"queries of {name}/{part}"] = len(task.qrels.queries)
            found[f"pairs of {name}/{part}"] = len(task.qrels)
    found["cross-lingual texts"] = int(crossing.sum())
    languages = _languages(collection, np.flatnonzero(crossing), named)
    if languages:
        found["languages of cross-lingual texts"] = len(languages)
    return found


def _languages(collection: Collection, rows: npt.NDArray[np.int64], named: Texts | None) -> set[str]:
    """The languages of cross-lingual texts: as they say, else those in which their questions were asked."""
    asked = collection.queries.ids.codes(named.take(rows)).astype(np.int64) if named is not None else rows
    for column in filter(None, map(collection.queries.columns.get, LANGUAGE)):
        for places in (rows, asked):
            found = {language.casefold() for language in column.take(places) if language}
            if found:
                return found
    return set()
