"""`verify` on the cases from the field and on real collections."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tiny
from assay import audits
from assay.audit import Finding
from assay.audits import page, verify
from assay.audits.masking_leaks import fold
from assay.building.documents import Documents
from assay.catalog import known
from assay.collection import Collection
from assay.errors import UnknownNameError
from assay.fragment import Fragments
from assay.ids import Ids
from assay.passage import Passages
from assay.qrels import Qrels
from assay.query import Queries
from assay.sources import open_collection
from assay.span import Spans
from assay.task import Task
from assay.texts import Texts


def collection_of(*tasks: Task, **rest: Any) -> Collection:
    named: dict[str, dict[str, Task]] = {}
    for task in tasks:
        named.setdefault(task.name, {})[task.split] = task
    given = {"passages": tasks[0].passages, "queries": tasks[0].pool, "tasks": named} | rest
    return Collection("tiny", "memory", "0" * 64, **given)


def chunked(*rows: tuple[str, str, int, int], **rest: Any) -> Collection:
    """One document of chunks given as (id, text, start, end); `fragments` are (start, end, quote)."""
    marked = rest.pop("fragments", [])
    views = {"plain": Texts.of(text for _, text, _, _ in rows)} | rest.pop("views", {})
    passages = Passages(
        Ids.of(row[0] for row in rows),
        views,
        parents=Ids.of(["d"]),
        spans=Spans.of(*((0, start, end) for _, _, start, end in rows)),
        position=np.arange(len(rows), dtype=np.int32),
    )
    fragments = Fragments(
        Ids.of(["q"]),
        Ids.of(["d"]),
        np.zeros(len(marked), np.int32),
        Spans.of(*((0, start, end) for start, end, _ in marked)),
        np.ones(len(marked), np.int32),
        Texts.of(quote for *_, quote in marked),
    )
    queries = Queries(Ids.of(["q"]), {"plain": Texts.of(["What?"])})
    task = Task("chunks", "test", queries, passages, Qrels.of([("q", rows[0][0], 1)]), fragments=fragments)
    return collection_of(task, **rest)


def found(collection: Collection, *only: str) -> list[Finding]:
    return [f for f in verify(collection, only=only) if f.verdict not in {"ok", "skipped"}]


def by_check(findings: Iterable[Finding]) -> dict[str, Finding]:
    named = {finding.check: finding for finding in findings}
    return named


def masked(question: str, *, ids: tuple[str, str] = ("wq-2023-12-18-7292", "wq-2023-12-06-5477")) -> Collection:
    texts = Texts.of([question, "Who pays?"])
    answers = Passages(
        Ids.of(f"{id_}-ASW" for id_ in ids),
        {"plain": Texts.of(["Soon.", "The council."])},
        columns={"source_url": Texts.of(f"https://records.example/detail/{id_}" for id_ in ids)},
    )
    queries = Queries(Ids.of(ids), {"plain": texts, "raw": texts})
    return collection_of(Task("answer", "test", queries, answers, Qrels.of([(ids[0], f"{ids[0]}-ASW", 1)])))


# The suite as a whole


def test_every_audit_says_something_in_a_fixed_order() -> None:
    checks = [f.check.split("/")[0] for f in verify(collection_of(tiny.chunk_task()))]
    assert sorted(set(checks)) == sorted(known("audit"))
    assert checks == sorted(checks)
    assert verify(collection_of(tiny.chunk_task())) == verify(collection_of(tiny.chunk_task()))


def test_only_runs_what_is_named() -> None:
    collection = collection_of(tiny.dated_task())
    assert {f.check.split("/")[0] for f in verify(collection, only=["gold-eligible"])} == {"gold-eligible"}
    twice = verify(collection, only=["ids-unique", "grades-plain", "ids-unique"])
    assert [f.check for f in twice] == ["grades-plain", "ids-unique/passages", "ids-unique/queries"]
    with pytest.raises(UnknownNameError, match="did you mean 'gold-eligible'"):
        verify(collection, only=["gold-eligable"])


def test_the_page_is_up_to_date() -> None:
    written = Path(__file__).resolve().parents[2] / "docs" / "verify.md"
    assert written.read_text(encoding="utf-8") == page(), "write it again: see the page's first paragraph"


def test_skipped_says_why() -> None:
    skipped = [f for f in verify(collection_of(tiny.dated_task())) if f.verdict == "skipped"]
    assert {"offsets-true", "quotes-true", "gold-in-chunks", "splits-twins"} <= {f.check for f in skipped}
    assert all(f.found for f in skipped)


# Cases


def test_case_Q07() -> None:
    collection = collection_of(tiny.task_of([("q", "a", 1), ("q", "ghost", 1)], ["a", "b"]))
    (finding,) = found(collection, "judged-exist")
    assert finding.verdict == "error"
    assert finding.count == 1
    assert "1 dangling judgement" in finding.found
    assert "R@10 can reach 0.5000 at most" in finding.found
    assert finding.offenders == ("query 'q': passage 'ghost' (grade 1)",)


def test_a_missing_query_caps_the_mean() -> None:
    task = tiny.task_of([("q", "a", 1), ("lost", "a", 1)], ["a", "b"], queries=["q"])
    (finding,) = found(collection_of(task), "judged-exist")
    assert finding.check.endswith("queries")
    assert "R@10 can reach 0.5000 at most" in finding.found


def test_case_A05() -> None:
    task = tiny.task_of([("q", "g", 1)], {"g": "2020-06-01", "old": "2019-01-01"}, asked={"q": "2020-01-01"})
    (finding,) = found(collection_of(task), "gold-eligible")
    assert finding.verdict == "error"
    assert "1 of 1 relevant judgements points at a passage that is not eligible" in finding.found
    assert finding.offenders == ("(q, g): dated 2020-06-01, not before 2020-01-01",)


def test_gold_of_the_same_day_is_not_eligible() -> None:
    task = tiny.task_of([("q", "g", 1), ("q", "h", 1)], {"g": "2020-01-01", "h": None}, asked={"q": "2020-01-01"})
    (finding,) = found(collection_of(task), "gold-eligible")
    assert finding.offenders == ("(q, g): dated 2020-01-01, not before 2020-01-01", "(q, h): the passage has no date")
    assert by_check(found(collection_of(task), "dates-present"))["dates-present/tiny/test/passages"].count == 1


def test_an_undated_query_under_an_as_of_rule_is_an_error_and_no_traceback() -> None:
    task = tiny.task_of([("q", "g", 1), ("r", "g", 1)], {"g": "2020-01-01"}, asked={"q": "2020-02-01"})
    findings = by_check(found(collection_of(task)))
    assert findings["dates-present/tiny/test/queries"].verdict == "error"
    assert findings["dates-present/tiny/test/queries"].offenders == ("query 'r'",)


def test_own_passage_and_no_candidate_are_told_apart() -> None:
    own = tiny.task_of([("a", "a", 1)], ["a", "b"], excluded=True)
    (finding,) = found(collection_of(own), "gold-eligible")
    assert finding.offenders == ("(a, a): the query's own passage",)
    other = tiny.task_of([("q", "a", 1)], ["a", "b"], candidate=np.array([False, True]))
    (finding,) = found(collection_of(other), "gold-eligible")
    assert finding.offenders == ("(q, a): not a candidate",)


def test_case_D03() -> None:
    texts = Texts.of(["ferry to the island", "rent a boat"])
    task = tiny.task_of([("44", "a", 1)], ["a"])
    collection = replace(collection_of(task), queries=Queries(Ids(Texts.of(["44", "44"])), {"plain": texts}))
    (finding,) = found(collection, "ids-unique")
    assert finding.verdict == "error"
    assert finding.offenders == ("query id '44' appears at rows 1 and 2 with different text",)


def test_case_D04() -> None:
    passages = Passages(Ids.of(["ans", "twin"]), {"plain": Texts.of(["Fees are set yearly.", "Fees are  set yearly."])})
    task = replace(tiny.task_of([("q", "ans", 1)], ["ans", "twin"]), passages=passages)
    findings = by_check(found(collection_of(task)))
    assert findings["half-judged/tiny/test"].offenders == ("query 'q': 'ans' relevant, 'twin' not",)
    assert findings["gold-elsewhere/tiny/test"].count == 1
    assert findings["texts-distinct/passages"].offenders == ("'ans', 'twin': 'Fees are set yearly.'",)


def test_copies_that_are_all_relevant_or_not_eligible_are_not_half_judged() -> None:
    both = tiny.task_of([("q", "a", 1), ("q", " a", 1)], ["a", " a", "b"])
    assert not found(collection_of(both), "half-judged")
    later = tiny.task_of([("q", "a", 1)], {"a": "2020-01-01", " a": "2022-01-01"}, asked={"q": "2021-01-01"})
    assert not found(collection_of(later), "half-judged")


def test_texts_that_only_masking_makes_equal_are_not_half_judged() -> None:
    views = {"plain": Texts.of(["See [MASKED]", "See [MASKED]"]), "raw": Texts.of(["See 1", "See 2"])}
    task = tiny.task_of([("q", "a", 1)], ["a", "b"])
    task = replace(task, passages=Passages(Ids.of(["a", "b"]), views))
    assert not found(collection_of(task), "half-judged")
    assert found(collection_of(task), "gold-elsewhere")


def test_case_C05() -> None:
    collection = chunked(("c0", "Gr", 0, 2), ("c1", "", 2, 2), ("c2", "öße", 2, 5))
    errors = [f for f in verify(collection, only=["offsets-true"]) if f.verdict == "error"]
    assert [f.count for f in errors] == [1]
    assert errors[0].offenders == ("passage 'c1' [2, 2) of 'd'",)
    with_text = chunked(("c0", "Gr", 0, 2), ("c1", "ö", 2, 2))
    assert [f.check for f in found(with_text, "offsets-true")] == ["offsets-true/empty"]


def test_case_C06() -> None:
    whole = "You qualify if income < 100 and savings > 50 pounds."
    collection = chunked(("c0", whole, 0, 52), ("c1", "", 53, 53), fragments=[(15, 31, whole[15:31]), (53, 53, "")])
    findings = by_check(found(collection))
    assert findings["texts-filled/passages/plain"].offenders == ("passage 'c1' (row 2)",)
    assert findings["fragments-in-documents/chunks/test/empty"].offenders == (
        "query 'q': [53, 53) of document 'd' (53 characters)",
    )
    assert "unreachable" in findings["fragments-in-documents/chunks/test/empty"].found
    assert findings["gold-in-chunks/chunks/test/plain/none"].count == 1


def test_case_C07() -> None:
    rows = [("c0", "It is free.", 0, 11)]
    coref = {"coref": Texts.of(["The permit is free."])}
    collection = chunked(*rows, views=coref)
    assert not found(collection, "offsets-true", "fragments-in-documents")
    checks = by_check(verify(collection, only=["offsets-true"]))
    assert checks["offsets-true/coref"].expected == "bounds only"
    assert checks["offsets-true/length"].verdict == "ok"
    inlined = chunked(("c0", "The permit is free.", 0, 11))
    assert found(inlined, "offsets-true")[0].offenders == (
        "passage 'c0' [0, 11) of 'd' has 19 characters, its span 11",
    )
    assert not found(replace(inlined, manifest={"offsets": "locator"}), "offsets-true")


def test_case_L03() -> None:
    pairs = [(f"E-{i}", f"E-{i}-ASW", 1) for i in (1, 2, 3)]
    given = collection_of(tiny.task_of(pairs, [p for _, p, _ in pairs]))
    (finding,) = found(given, "ids-silent")
    assert (finding.check, finding.count) == ("ids-silent/tiny/test/id", 3)
    assert "id alone has RR@10 1.0000" in finding.found
    opaque = tiny.task_of([("x7", "p3", 1), ("k2", "w9", 1), ("m5", "z1", 1)], ["p3", "w9", "z1"])
    assert not found(collection_of(opaque), "ids-silent")
    columns = {"case": Texts.of(["blue-17", "red-35", "green-52"])}
    told = replace(
        opaque,
        pool=replace(opaque.pool, columns=columns),
        passages=replace(opaque.passages, columns=columns),
    )
    assert [f.check for f in found(collection_of(told), "ids-silent")] == ["ids-silent/tiny/test/case"]


def test_case_L04() -> None:
    pool = Queries(
        Ids.of(["t1", "t2", "t3"]), {"plain": Texts.of(["What is the  fee?", "what is the fee", "Who pays?"])}
    )
    train = replace(tiny.task_of([("t1", "a", 1)], ["a", "b"], split="train"), pool=pool)
    test = replace(tiny.task_of([("t2", "b", 1), ("t3", "b", 1)], ["a", "b"]), pool=pool)
    (finding,) = found(collection_of(train, test), "splits-twins")
    assert finding.count == 1
    assert "1 of 2 queries of test (share 0.5000) have the words of a query of train" in finding.found
    assert finding.offenders == ("'t2' as 't1'",)
    apart = [replace(task, pool=pool.take(task.rows)) for task in (train, test)]
    assert found(collection_of(*apart), "splits-twins") == [finding], "the same where splits have pools of their own"


def test_a_query_that_two_splits_share_is_no_twin_of_itself() -> None:
    tasks = [tiny.task_of([("q", "a", 1)], ["a"], split=split) for split in ("train", "test")]
    assert not found(collection_of(*tasks), "splits-twins")
    assert found(collection_of(*tasks), "splits-disjoint")


def test_a_passage_dominates_by_number_and_by_share() -> None:
    for popular, others, dominates in ((5, 45, False), (5, 44, True), (4, 0, False)):
        gold = [(f"q{i}", "a", 1) for i in range(popular)] + [(f"r{i}", f"p{i}", 1) for i in range(others)]
        task = tiny.task_of(gold, ["a", *(f"p{i}" for i in range(others))])
        assert bool(found(collection_of(task), "passage-dominates")) == dominates, (popular, others)


def test_declared_ties_across_splits_are_noted() -> None:
    tasks = [tiny.task_of([(q, "a", 1)], ["a"], queries=["q1", "q2"], split=q) for q in ("q1", "q2")]
    tied = {"joint_answer": np.array([[1, 0], [0, 1]])}
    (finding,) = found(collection_of(*tasks, tied=tied), "splits-twins")
    assert (finding.verdict, finding.count, finding.offenders) == ("note", 1, ("'q1' and 'q2'",))


def test_the_split_of_all_is_no_split_of_its_own() -> None:
    tasks = [tiny.task_of([(q, q, 1)], ["a", "b"], queries=["a", "b"], split=q) for q in ("a", "b")]
    union = tiny.task_of([("a", "a", 1), ("b", "b", 1)], ["a", "b"], split="all")
    findings = verify(collection_of(*tasks, union), only=["splits-disjoint", "splits-twins", "joint-answers"])
    assert {f.verdict for f in findings} == {"ok"}


def test_splits_are_compared_in_the_order_of_their_use_however_they_are_listed() -> None:
    tasks = [tiny.task_of([(split, "a", 1)], ["a"], split=split) for split in ("dev", "test", "train")]
    findings = found(collection_of(*tasks), "joint-answers")
    assert [f.check.rpartition("/")[2] for f in findings] == ["train-dev", "train-test", "dev-test"]
    assert "after fitting on train, report test" in findings[1].advice


def test_case_P05() -> None:
    task = tiny.task_of([("q", "a", 1)], ["a"], name="corpus")
    for counts in ({"corpus": 5}, {"passages": 5, "queries": 1}, {"corpus": {"test": 5}}):
        (finding,) = found(collection_of(task, manifest={"counts": counts}), "manifest-true")
        assert finding.verdict == "error"
        assert finding.count == 1
        assert finding.offenders[0].startswith("manifest says 5 rows for ")
        assert finding.offenders[0].endswith("files have 1")


def test_a_changed_file_is_told() -> None:
    task = tiny.task_of([("q", "a", 1)], ["a"])
    manifest = {"files": {"corpus.jsonl": {"sha256": "aa"}, "extra.jsonl": "cc"}}
    (finding,) = found(collection_of(task, manifest=manifest, files={"corpus.jsonl": "bb"}), "manifest-true")
    assert finding.check == "manifest-true/files"
    assert finding.offenders == ("corpus.jsonl: bb…, manifest aa…",)


# Offsets


@pytest.mark.parametrize(("unit", "words"), [("utf-8", "count bytes"), ("utf-16-le", "count UTF-16")])
def test_offsets_in_another_unit_are_named(unit: str, words: str) -> None:
    size = 1 if unit == "utf-8" else 2
    texts = ["a😀b", "plain", "Γειά 😀"]
    start, rows = 0, []
    for number, text in enumerate(texts):
        end = start + len(text.encode(unit)) // size
        rows.append((f"c{number}", text, start, end))
        start = end + 1
    (finding,) = found(chunked(*rows), "offsets-true")
    assert words in finding.found
    assert finding.count == 2, "the plain passage is as long in any unit"


def test_overlapping_passages_must_agree() -> None:
    same = chunked(("c0", "bread and", 0, 9), ("c1", "and butter", 6, 16))
    assert not found(same, "offsets-true")
    (finding,) = found(chunked(("c0", "bread and", 0, 9), ("c1", "for butter", 6, 16)), "offsets-true")
    assert finding.check == "offsets-true/overlap"


def test_a_repeated_span_and_a_start_that_goes_back_are_told() -> None:
    findings = by_check(
        found(chunked(("c0", "bread", 0, 5), ("c1", "brea", 0, 4), ("c2", "bread", 0, 5)), "offsets-true")
    )
    assert findings["offsets-true/twice"].offenders == ("passage 'c2' [0, 5) of 'd'",)
    back = by_check(found(chunked(("c0", "two", 4, 7), ("c1", "one", 0, 3)), "offsets-true"))
    assert back["offsets-true/order"].offenders == ("passage 'c1' [0, 3) of 'd'",)


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_quotes_are_compared_character_by_character(form: str) -> None:
    text = unicodedata.normalize("NFD", "Café opens")
    rows = [("c0", text, 0, len(text))]
    start = unicodedata.normalize(form, text).index("opens")
    findings = found(chunked(*rows, fragments=[(start, start + 5, "opens")]), "quotes-true")
    assert len(findings) == (0 if form == "NFD" else 1)


def test_a_quote_over_the_gap_between_passages_holds() -> None:
    rows = [("c0", "one", 0, 3), ("c1", "two", 4, 7)]
    assert not found(chunked(*rows, fragments=[(1, 6, "ne\ntw")]), "quotes-true")
    assert found(chunked(*rows, fragments=[(1, 6, "ne\ntx")]), "quotes-true")
    assert found(chunked(*rows, fragments=[(4, 7, "twx")]), "quotes-true"), "up to the end of the document"


def test_fragments_are_counted_per_view() -> None:
    rows = [("c0", "one", 0, 3), ("c1", "two", 4, 7)]
    collection = chunked(*rows, fragments=[(0, 7, "one\ntwo"), (4, 7, "two")], views={"coref": Texts.of(["one", ""])})
    findings = by_check(verify(collection, only=["gold-in-chunks"]))
    assert "0 in no passage, 1 in exactly one, 1 in several" in findings["gold-in-chunks/chunks/test/plain"].found
    assert "1 in no passage, 1 in exactly one, 0 in several" in findings["gold-in-chunks/chunks/test/coref/none"].found


@given(st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=6))
def test_documents_are_put_together_again(texts: list[str]) -> None:
    clean = [text.encode("utf-8", "ignore").decode("utf-8") or "x" for text in texts]
    whole = "\n".join(clean)
    starts = [sum(map(len, clean[:i])) + i for i in range(len(clean))]
    spans = Spans.of(*((0, start, start + len(text)) for start, text in zip(starts, clean)))
    documents = Documents.of(Texts.of(clean), spans, wanted=np.array([True]))
    assert len(documents.conflicts) == 0
    known = "".join(c if p >= 0 else "…" for c, p in zip(whole, documents.characters.tolist()))
    assert documents.text(0, 0, len(whole)) == known
    assert documents.holds(Texts.of([whole]), Spans.of((0, 0, len(whole)))).all()
    if whole[0] != "\ufffd":
        assert not documents.holds(Texts.of(["\ufffd"]), Spans.of((0, 0, 1))).any()


# Masking


@pytest.mark.parametrize(
    "text",
    [
        "When does he plan to respond to Question (a) [MASKED] and (b) 5477?",
        "With reference to PQ5477, what was done?",
        "in his answer of 6 December to UIN\u00a05477 on fees",
        "to Question \uff15\uff14\uff17\uff17 on fees",
        "to Question 54\u200b77 on fees",
        "the reply to wq\u20112023\u201112\u201106\u20115477 was late",
        "the question 5477/23 was answered",
        "see https://records.example/detail/[MASKED] for it",
        "see www.other.example/wq-2023-12-06-5477-ASW for it",
    ],
)
def test_leftovers_of_masking_are_found(text: str) -> None:
    (finding,) = found(masked(text), "masking-leaks")
    assert finding.verdict == "warning"
    assert finding.count == 1
    assert finding.offenders[0].startswith("'wq-2023-12-18-7292': ")


@pytest.mark.parametrize(
    "text",
    [
        "When will she answer the question of 5 December 2023?",
        "The answer cost £5477 and 5477% of it was paid to 5477GT in 2023.",
        "With reference to the Answer to Question HL5477 on prisoners",
        "To ask how many of the 5477 beds were in use.",
        "The answer is 15,477 or 5,477 or 54.77 or 5477.5 or 3/5477.",
        "See https://elsewhere.example/about for the answer.",
        "The answer " + "is long " * 12 + "5477",
    ],
)
def test_numbers_that_name_no_record_are_no_leak(text: str) -> None:
    assert not found(masked(text), "masking-leaks")


def test_a_number_that_several_records_bear_needs_its_year() -> None:
    ids = ("E-9-2021-000123", "E-9-2022-000123")
    assert not found(masked("In its answer to question 123 it said", ids=ids), "masking-leaks")
    for printed in ("E-000123/2022", "E-123/22", "E\u2011000123/2022", "000123 / 2021"):
        assert found(masked(f"In its answer to question {printed} it said", ids=ids), "masking-leaks"), printed
    assert not found(masked("In its answer on regulation 123/2019 it said", ids=ids), "masking-leaks")
    years = ("E-9-2022-002021", "E-9-2021-002021")
    assert not found(masked("The answer is that in 2021-22 and in 2021/2022 it rose", ids=years), "masking-leaks")
    assert found(masked("The answer to question 2021/22 said", ids=years), "masking-leaks")


def test_a_number_that_could_be_a_year_needs_the_cue_before_it() -> None:
    ids = ("wq-2023-12-18-7292", "wq-2023-12-06-2019")
    assert not found(masked("in the answer given in March 2019 on fees", ids=ids), "masking-leaks")
    assert found(masked("in reply to Question 2019 on fees", ids=ids), "masking-leaks")


def test_a_collection_without_masks_is_skipped() -> None:
    (finding,) = verify(collection_of(tiny.dated_task()), only=["masking-leaks"])
    assert finding.verdict == "skipped"


def test_folding() -> None:
    assert fold("E\u2011001234\u00a0/ 22\u200b") == "e-001234 / 22"


# Folding of texts in bulk, against plain Python


@given(
    st.lists(
        st.text(
            alphabet=" \t\n\x1f\x85\xa0\u1680\u2003\u2028\u202f\u205f\u3000aéß中.?B\u0301 \u212a\u0130", max_size=8
        ),
        max_size=30,
    )
)
def test_texts_fold_as_python_does(texts: list[str]) -> None:
    held = Texts.of(texts)
    assert held.with_folded_blanks().to_list() == [" ".join(text.split()) for text in texts]
    assert held.lengths.tolist() == [len(text) for text in texts]
    assert held.utf16_lengths.tolist() == [len(text.encode("utf-16-le")) // 2 for text in texts]
    blanks = [" ".join(text.split()) for text in texts]
    assert held.same_text.tolist() == [blanks.index(text) for text in blanks]
    words = ["".join(c for c in text.casefold() if unicodedata.category(c)[0] in "LMN") for text in texts]
    assert held.same_words.tolist() == [words.index(w) if w else i for i, w in enumerate(words)]


# Real collections


def test_conditionalqa(shared_data: Path) -> None:
    collection = open_collection(shared_data / "conditionalqa" / "seed_schema")
    findings = by_check(verify(collection))
    assert {f.verdict for f in findings.values()} <= {"ok", "skipped", "note", "warning"}
    chunks = findings["gold-in-chunks/passages/test/plain"]
    assert chunks.found == "1165 fragments: 0 in no passage, 1165 in exactly one, 0 in several"
    elsewhere = findings["gold-elsewhere/passages/test"]
    assert elsewhere.found.startswith("44 of 1165 fragments, in 31 queries,")
    assert findings["offsets-true/length"].found == "7506 of 7506 passages are"
    warned = sorted(f.check for f in findings.values() if f.verdict == "warning")
    assert warned == ["half-judged/passages/test"]


def test_uk_written_questions(shared_data: Path) -> None:
    collection = open_collection(shared_data / "uk_written_questions" / "session_2023-24")
    findings = by_check(verify(collection))
    assert not [f for f in findings.values() if f.verdict == "error"]
    assert findings["passage-dominates/cite"].found == (
        "the most frequent, 'wq-2023-12-06-5635-ASW', is gold in 44 of 59 pairs (75.9% of 58 queries)"
    )
    questions, answers = findings["masking-leaks/queries/plain"], findings["masking-leaks/passages/plain"]
    assert [o.split(" in ")[0] for o in questions.offenders] == [
        "'wq-2023-12-18-7292': '5477'",
        "'wq-2023-12-18-7292': '5478'",
    ]
    assert (questions.count, answers.count) == (2, 1)
    assert answers.offenders[0].startswith("'wq-2023-12-07-5891-ASW': 'https://questions-statements.parliament.uk/")
    assert findings["tasks-filled/files"].count == 3
    assert findings["splits-disjoint"].verdict == "ok"
    assert findings["gold-eligible"].verdict == "ok"


@pytest.mark.parametrize("language", ["ar", "de", "el", "en", "es", "ro", "zh"])
def test_xquad(shared_data: Path, language: str) -> None:
    collection = open_collection(shared_data / "xquad" / f"xquad.{language}.json")
    findings = by_check(verify(collection))
    assert not [f for f in findings.values() if f.verdict in {"error", "warning"}]
    assert findings["quotes-true"].found == "all of 1190 quotes"
    assert findings["gold-in-chunks/passages/test/plain"].found == (
        "1190 fragments: 0 in no passage, 1190 in exactly one, 0 in several"
    )


@pytest.mark.parametrize("demo", ["demo:chunks", "demo:questions"])
def test_the_demos_have_no_errors(demo: str) -> None:
    assert not [f for f in verify(open_collection(demo)) if f.verdict == "error"]


def test_public_names() -> None:
    assert audits.__all__ == ["HEADINGS", "page", "verify"]
