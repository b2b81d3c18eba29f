"""Every audit, found by the catalogue: documented, silent on healthy collections, fires on its planted fault."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tiny
from assay.audit import SHOWN, Audit, Finding
from assay.audits import HEADINGS, sections, verify
from assay.catalog import known
from assay.collection import Collection
from assay.ids import Ids
from assay.passage import Passages
from assay.qrels import Qrels
from assay.query import Queries
from assay.span import Spans
from assay.task import Task
from assay.texts import Texts

AUDITS = sorted(known("audit"))


def collection_of(*tasks: Task, **rest: Any) -> Collection:
    """A collection of tasks over the passages and queries of the first."""
    named: dict[str, dict[str, Task]] = {}
    for task in tasks:
        named.setdefault(task.name, {})[task.split] = task
    return Collection(
        name="tiny",
        layout="memory",
        digest="0" * 64,
        passages=tasks[0].passages,
        queries=tasks[0].pool,
        tasks=named,
        **rest,
    )


def chunks(**changes: Any) -> Collection:
    return collection_of(tiny.chunk_task(**changes))


def passages(task: Task, **changes: Any) -> Task:
    return replace(task, passages=replace(task.passages, **changes))


def texts_with(texts: Texts, row: int, text: str) -> Texts:
    rows = texts.to_list()
    rows[row] = text
    return Texts.of(rows)


HEALTHY = {
    "chunks": lambda: chunks(),
    "dated": lambda: collection_of(tiny.dated_task()),
    "two splits": lambda: collection_of(
        tiny.task_of([("q1", "a", 1)], ["a", "b"], queries=["q1", "q2"], split="train"),
        tiny.task_of([("q2", "b", 1)], ["a", "b"], queries=["q1", "q2"], split="test"),
        manifest={"counts": {"passages": 2, "queries": 2, "tiny": {"train": 1, "test": 1}}, "files": {"c": "ab"}},
        files={"c": "ab"},
    ),
    "masked": lambda: collection_of(masked("When will she reply to Question [MASKED] of 2023 for 5,477 pounds?")),
    "candidates": lambda: collection_of(
        tiny.task_of([("q", "a", 1)], ["a", "b"], candidate=np.array([True, False])),
    ),
    "nothing at all": lambda: Collection("none", "memory", "0" * 64, *no_rows(), tasks={}),
}


def no_rows() -> tuple[Passages, Queries]:
    return Passages(Ids.of([]), {"plain": Texts.of([])}), Queries(Ids.of([]), {"plain": Texts.of([])})


def masked(question: str) -> Task:
    texts = {"plain": Texts.of([question, "Who pays?"]), "raw": Texts.of([question, "Who pays?"])}
    queries = Queries(Ids.of(["wq-2023-12-18-7292", "wq-2023-12-06-5477"]), texts)
    answers = Passages(
        Ids.of(["wq-2023-12-18-7292-ASW", "wq-2023-12-06-5477-ASW"]),
        {"plain": Texts.of(["Soon.", "The council pays."])},
        columns={"source_url": Texts.of(f"https://questions.example/detail/{n}" for n in ("18/7292", "06/5477"))},
    )
    qrels = Qrels.of([("wq-2023-12-18-7292", "wq-2023-12-18-7292-ASW", 1)])
    return Task("answer", "test", queries, answers, qrels, mask=("[MASKED]",))


def two_ids() -> Collection:
    task = tiny.task_of([("q", "a", 1)], ["a", "b", "c"])
    twice = replace(task.passages, ids=Ids(Texts.of(["a", "b", "a"])))
    return replace(collection_of(task), passages=twice)


def dated_year_one() -> Collection:
    task = tiny.task_of([("q", "a", 1)], {"a": "0001-01-01", "b": "2020-01-01"}, asked={"q": "2021-01-01"})
    return collection_of(task)


def fragments_with(**columns: Any) -> Collection:
    fragments = tiny.chunk_task().fragments
    assert fragments is not None
    return chunks(fragments=replace(fragments, **columns))


def fragments_at(start: int, end: int) -> Spans:
    fragments = tiny.chunk_task().fragments
    assert fragments is not None
    spans = fragments.spans
    return Spans(spans.document, np.append(start, spans.start[1:]), np.append(end, spans.end[1:]))


def shifted_text() -> Collection:
    task = tiny.chunk_task()
    plain = texts_with(task.passages.texts["plain"], 3, "Dogs travel free on the open deck. ")
    return collection_of(passages(task, texts={"plain": plain}))


def split_tasks(train: str, test: str) -> Collection:
    queries, texts = ["q1", "q2"], {"plain": Texts.of([train, test])}
    tasks = [
        tiny.task_of([(q, p, 1)], ["a", "b"], queries=queries, split=split)
        for q, p, split in (("q1", "a", "train"), ("q2", "b", "test"))
    ]
    pool = replace(tasks[0].pool, texts=texts)
    return collection_of(*(replace(task, pool=pool) for task in tasks))


# Each audit's name, a collection with its fault, the verdict, and words that the finding must say.
FAULTS: dict[str, tuple[Callable[[], Collection], str, str]] = {
    "ids-unique": (two_ids, "error", "passage id 'a' appears at rows 1 and 3 with different text"),
    "ids-silent": (
        lambda: collection_of(
            tiny.task_of([(f"E-{i}", f"E-{i}-ASW", 1) for i in range(3)], [f"E-{i}-ASW" for i in range(3)])
        ),
        "note",
        "id alone has RR@10 1.0000, chance 0.6111, over 3 queries",
    ),
    "judged-exist": (
        lambda: collection_of(tiny.task_of([("q", "a", 1), ("q", "ghost", 1)], ["a", "b"])),
        "error",
        "1 dangling judgement of 2: no such passage; R@10 can reach 0.5000 at most",
    ),
    "fragments-in-documents": (
        lambda: fragments_with(spans=fragments_at(88, 999)),
        "error",
        "query 'f1': [88, 999) of document 'ferry'",
    ),
    "offsets-true": (shifted_text, "error", "passage 'ferry-3' [137, 171) of 'ferry' has 35 characters, its span 34"),
    "quotes-true": (
        lambda: fragments_with(spans=fragments_at(97, 124)),
        "error",
        "holds 'esidents pay half the fare ', the quote is 'Residents pay half the fare'",
    ),
    "gold-in-chunks": (
        lambda: fragments_with(spans=fragments_at(45, 46)),
        "error",
        "1 in no passage, 4 in exactly one, 1 in several",
    ),
    "gold-elsewhere": (
        lambda: collection_of(tiny.task_of([("q", "a", 1)], ["a", " a", "b"])),
        "note",
        "query 'q': passage 'a' stands in 1 more",
    ),
    "half-judged": (
        lambda: collection_of(tiny.task_of([("q", "a", 1)], ["a", " a", "b"])),
        "warning",
        "query 'q': 'a' relevant, ' a' not",
    ),
    "texts-filled": (
        lambda: collection_of(tiny.task_of([("q", "a", 1)], ["a", " \u00a0"])),
        "warning",
        "1 of 2 are empty or blank",
    ),
    "texts-distinct": (
        lambda: collection_of(tiny.task_of([("q", "a", 1)], ["a", "b  c", "b c"])),
        "note",
        "1 texts stand in several rows (2 of 3 rows)",
    ),
    "splits-disjoint": (
        lambda: collection_of(*(tiny.task_of([("q", "a", 1)], ["a"], split=s) for s in ("train", "test"))),
        "error",
        "1 of 1 queries of test are in train too",
    ),
    "splits-twins": (lambda: split_tasks("Who pays?", "who pays"), "warning", "(share 1.0000)"),
    "joint-answers": (
        lambda: collection_of(
            *(tiny.task_of([(q, "a", 1)], ["a"], queries=["q1", "q2"], split=q) for q in ("q1", "q2"))
        ),
        "note",
        "1 passages are relevant in q1 and in q2",
    ),
    "dates-present": (dated_year_one, "warning", "'a': 0001-01-01"),
    "gold-eligible": (
        lambda: collection_of(
            tiny.task_of([("q", "g", 1)], {"g": "2020-06-01", "b": "2019-01-01"}, asked={"q": "2020-01-01"})
        ),
        "error",
        "(q, g): dated 2020-06-01, not before 2020-01-01",
    ),
    "passage-dominates": (
        lambda: collection_of(tiny.task_of([(f"q{i}", "a", 1) for i in range(5)], ["a", "b"])),
        "warning",
        "passage 'a': 5 of 5 queries",
    ),
    "masking-leaks": (
        lambda: collection_of(masked("When will she reply to Question (a) [MASKED] and (b) 5477?")),
        "warning",
        "'wq-2023-12-18-7292': '5477' in",
    ),
    "manifest-true": (
        lambda: collection_of(tiny.task_of([("q", "a", 1)], ["a"]), manifest={"counts": {"passages": 5}}),
        "error",
        "manifest says 5 rows for passages, files have 1",
    ),
    "candidates-present": (
        lambda: collection_of(tiny.task_of([("q", "a", 1)], ["a", "b"], candidate=np.zeros(2, np.bool_))),
        "error",
        "0 of 2 passages are candidates",
    ),
    "tasks-filled": (
        lambda: collection_of(tiny.task_of([], ["a"], queries=["q"])),
        "warning",
        "0 of 1 tasks have judgements",
    ),
    "queries-answered": (
        lambda: collection_of(tiny.task_of([("q", "a", 0)], ["a"])),
        "note",
        "1 of 1 judged queries have none",
    ),
    "grades-plain": (
        lambda: collection_of(tiny.task_of([("q", "a", 1), ("q", "b", -2)], ["a", "b"])),
        "note",
        "query 'q': grade -2",
    ),
    "self-retrieval": (
        lambda: collection_of(tiny.task_of([("a", "b", 1)], ["a", "b"])),
        "note",
        "1 of 1 queries have the id of a passage",
    ),
}


def said(finding: Finding) -> str:
    return " | ".join((finding.check, finding.expected, finding.found, *finding.offenders))


@pytest.mark.parametrize("name", AUDITS)
def test_documented_named_and_frozen(name: str) -> None:
    cls = known("audit")[name]
    assert isinstance(cls(), Audit)
    assert cls.__dataclass_params__.frozen
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", name)
    assert cls.__module__ == f"assay.audits.{name.replace('-', '_')}"
    written = sections(cls)
    assert list(written) == ["", *HEADINGS]
    assert all(text.endswith((".", "?")) and len(text) > 20 for text in written.values()), written


@pytest.mark.parametrize("collection", HEALTHY)
@pytest.mark.parametrize("name", AUDITS)
def test_silent_on_a_healthy_collection(name: str, collection: str) -> None:
    findings = verify(HEALTHY[collection](), only=[name])
    assert findings, "an audit says something, also when all is well"
    for finding in findings:
        assert finding.verdict in {"ok", "note", "skipped"}, said(finding)
        assert finding.check.split("/")[0] == name
        assert finding.expected
        assert finding.found, "ok and skipped findings say what was found too"
        assert (finding.count == 0) == (finding.verdict in {"ok", "skipped"}), said(finding)


def test_every_audit_has_a_planted_fault() -> None:
    assert sorted(FAULTS) == AUDITS


@pytest.mark.parametrize("name", FAULTS)
def test_fires_on_its_planted_fault(name: str) -> None:
    build, verdict, words = FAULTS[name]
    fired = [f for f in verify(build(), only=[name]) if f.verdict == verdict]
    assert any(words in said(f) for f in fired), [said(f) for f in verify(build(), only=[name])]
    for finding in fired:
        assert finding.count >= 1
        assert finding.advice
        assert len(finding.offenders) == min(finding.count, SHOWN) or not finding.offenders


@pytest.mark.parametrize("name", FAULTS)
def test_no_audit_breaks_on_another_ones_fault(name: str) -> None:
    checks = [f.check.split("/")[0] for f in verify(FAULTS[name][0]())]
    assert sorted(set(checks)) == AUDITS
    assert checks == sorted(checks)


def test_parameters_are_fields_with_defaults() -> None:
    for name in AUDITS:
        assert all(f.default is not dataclasses.MISSING for f in dataclasses.fields(known("audit")[name])), name
