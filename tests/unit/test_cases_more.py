"""What the cases ask for besides a value: what is said, counted, refused, and shown beside."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import assay
import tiny
from assay import experiment
from assay.errors import EligibilityError, FormatError, UsageError
from assay.evaluation import evaluate, floors, lenient_scores, mean_interval, random_expectation, reach_of
from assay.evaluation.evaluate import unjudged_queries
from assay.experiment import Judging, judged_run, judged_run_files
from assay.formats.runs import read_qrels, read_run
from assay.measures import parse
from assay.qrels import Qrels
from assay.reports.notices import notices
from assay.reports.tables import results_table
from assay.run import Run


def judged(tmp_path: Path, qrels: str, run: str, *measures: str) -> experiment.Result:
    """The result of two files with that content."""
    (tmp_path / "q").write_text(qrels)
    (tmp_path / "r").write_text(run)
    [result] = judged_run_files([tmp_path / "r"], judging=Judging(measures, resamples=50), qrels=tmp_path / "q")
    return result


def said(result: experiment.Result, words: str) -> bool:
    """Whether a note below the table has these words."""
    return any(words in note for table in results_table([result]) for note in table.notes)


def test_case_T05_float32_tools_see_a_tie_and_it_is_said(tmp_path: Path) -> None:
    result = judged(tmp_path, "q 0 rel 1\n", "q Q0 rel 1 0.900000001 r\nq Q0 zzz 2 0.9 r\n", "RR")
    assert result.scores_of("RR").mean == 1.0
    assert result.run.counts["float32_ties"] == 1
    assert said(result, "float32")
    far = judged(tmp_path, "q 0 rel 1\n", "q Q0 rel 1 0.91 r\nq Q0 zzz 2 0.9 r\n", "RR")
    assert "float32_ties" not in far.run.counts


@pytest.mark.parametrize("name", ["run.json", "run.jsonl", "run.parquet", "run.trec.gz"])
def test_case_T05_in_every_format(tmp_path: Path, name: str) -> None:
    assay.write_run(Run.of({"q": {"rel": 0.900000001, "zzz": 0.9}}), tmp_path / name)
    assert read_run(tmp_path / name).counts["float32_ties"] == 1


def test_case_I09_a_tag_with_a_blank_is_said(tmp_path: Path) -> None:
    result = judged(tmp_path, "q 0 b 1\n", "q Q0 b 2 2 my run\n", "RR")
    assert result.scores_of("RR").mean == 1.0
    assert said(result, "more than six fields")


def test_case_I01_a_mark_is_said(tmp_path: Path) -> None:
    result = judged(tmp_path, "\ufeffq1 0 a 1\nq2 0 b 1\n", "\ufeffq1 Q0 a 1 1 r\nq2 Q0 b 1 1 r\n", "P@1")
    assert result.scores_of("P@1").mean == 1.0
    assert said(result, "byte-order mark")


def test_case_I04_an_id_with_a_blank_in_a_run_does_not_pass_in_silence(tmp_path: Path) -> None:
    result = judged(tmp_path, "q 0 a 1\n", "q Q0 New York 1 2.0 r\n", "RR")
    assert said(result, "more than six fields")


def test_case_Q02_passages_of_another_form_are_no_silent_zero(tmp_path: Path) -> None:
    result = judged(tmp_path, "q 0 doc-1 1\n", "q Q0 1 1 2.0 r\n", "RR@10")
    assert result.scores_of("RR@10").mean == 0.0
    assert "no passage of the lists is judged: are the ids of one form?" in notices(result)
    found = judged(tmp_path, "q 0 doc-1 0\n", "q Q0 doc-1 1 2.0 r\n", "RR@10")
    assert not any("no passage" in line for line in notices(found))


def test_case_Q06_counted_and_listed() -> None:
    run = Run.of([("q1", "a", 1.0), ("q2", "b", 1.0), ("q3", "b", 1.0)])
    qrels = Qrels.of([("q1", "a", 1)])
    [scores] = evaluate(run, qrels, "nDCG", resamples=10)
    assert (scores.mean, scores.counts.extra) == (1.0, 2)
    assert unjudged_queries(run, qrels) == ["q2", "q3"]


def test_case_Q04_the_mean_without_it_is_offered(tmp_path: Path) -> None:
    result = judged(tmp_path, "q1 0 a 1\nq2 0 b 0\n", "q1 Q0 a 1 1 r\nq2 Q0 b 1 1 r\n", "nDCG")
    assert result.scores_of("nDCG").extras["mean_with_relevant"] == 1.0
    assert "mean over queries with a relevant passage alone: nDCG 1.0000" in notices(result)


def test_case_Q07_the_reachable_maximum_stands_beside() -> None:
    task = tiny.task_of([("q", "a", 1), ("q", "ghost", 1)], ["a", "b"])
    found = evaluate(Run.of({"q": {"a": 1.0}}), task.qrels, ["nDCG@10", "R@10"], reach=reach_of(task), resamples=10)
    assert [round(s.mean, 4) for s in found] == [0.6131, 0.5]
    assert [round(s.extras["reachable"], 4) for s in found] == [0.6131, 0.5]
    assert [s.counts.gold_ineligible for s in found] == [1, 1]


def test_case_D04_strict_and_lenient() -> None:
    task = tiny.task_of([("q", "ans", 1)], ["ans", "twin"], classes=np.array([0, 0]))
    run = Run.of({"q": {"twin": 2.0, "ans": 1.0}})
    [strict] = evaluate(run, task.qrels, ["RR@10"], resamples=10)
    [lenient] = lenient_scores(run, task, [parse("RR@10")], resamples=10)
    assert (strict.mean, lenient.mean, lenient.measure) == (0.5, 1.0, "lenient(RR@10)")


def test_case_S04_none_of_twenty() -> None:
    interval = mean_interval([0] * 20)
    assert (interval.low, round(interval.high, 4), interval.method) == (0.0, 0.1684, "exact")
    assert interval.note == "all values 0: upper bound; too few to conclude: 20 units"


def test_case_A04_an_undated_query_is_named_with_what_to_do() -> None:
    task = tiny.task_of([("q1", "a", 1), ("q2", "a", 1)], {"a": "2024-01-01"}, asked={"q1": "2024-02-01"})
    with pytest.raises(EligibilityError, match=r"1 of 2 judged queries have no date.*first: 'q2'.*--without-as-of"):
        assay.retrieve(task, "bm25")
    assert task.without_as_of().eligibility.unrestricted


def test_lists_cut_off_have_no_bound_under_bpref_judged_and_rbp() -> None:
    run = Run.of({"q": {"x": 3.0}, "r": {"a": 1.0}}, depth=1)
    qrels = Qrels.of([("q", "a", 1), ("r", "a", 1)])
    for scores in evaluate(run, qrels, ["bpref", "Judged@10", "RBP@10"], resamples=10):
        assert scores.extras["not_bounded"] == 1
    for scores in evaluate(run, qrels, ["Judged@1", "RR@10"], resamples=10):
        assert "not_bounded" not in scores.extras
    result = experiment.judged_files(run, qrels, name="qrels", judging=Judging(("bpref",), resamples=10))
    assert "bpref is not bounded: 1 lists were cut off before the cutoff" in notices(result)


def test_random_floor_stands_beside_its_exact_expectation() -> None:
    collection = assay.open("demo:chunks")
    task = collection.task()
    result = judged_run(
        floors.named("random(seed=4)")(task), collection, task, judging=Judging(("RR@10",), resamples=10)
    )
    expected = random_expectation(task, parse("RR@10")).mean()
    assert result.scores_of("RR@10").extras["expected_over_seeds"] == pytest.approx(expected, abs=1e-15)
    assert f"expected over all seeds: RR@10 {expected:.4f}" in notices(result)
    oracle = judged_run(floors.named("oracle")(task), collection, task, judging=Judging(("RR@10",), resamples=10))
    assert "expected_over_seeds" not in oracle.scores_of("RR@10").extras


def test_a_task_with_its_mask_kept_searches_the_mask_as_a_word(tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    texts = [("a", "the fee [MASKED]"), ("b", "[MASKED] [MASKED] ferry")]
    rows = [json.dumps({"_id": id_, "text": text}) for id_, text in texts]
    (tmp_path / "corpus.jsonl").write_text("\n".join(rows) + "\n")
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "what fee [MASKED]"}\n')
    (tmp_path / "qrels" / "answer_test.tsv").write_text("q 0 a 1\n")
    (tmp_path / "build_manifest.json").write_text('{"mask_token": "[MASKED]"}')
    task = assay.open(tmp_path).task()
    assert task.mask == ("[MASKED]",)
    assert [p for _, p, _ in assay.retrieve(task, "bm25").triples()] == ["a"]
    kept = task.mask_kept()
    assert (kept.mask, kept.name) == ((), "answer-mask-kept")
    assert len(assay.retrieve(kept, "bm25")) == 2


@pytest.mark.parametrize(
    ("name", "text", "reader", "says"),
    [
        (
            "qrels",
            "q Q0 a 1 2.5 r\n",
            read_qrels,
            "looks like a run where judgements are meant; are the two files swapped",
        ),
        ("run", "q 0 a 1\n", read_run, "looks like judgements where a run is meant; are the two files swapped"),
        ("qrels", "q,a,1\n", read_qrels, "commas stand between the fields; write blanks or tabs"),
        ("run", "query_id,doc_id,score\nq,a,2\n", read_run, "commas stand between the fields; write blanks or tabs"),
        ("run", "q\ta\t2.0\n", read_run, "three columns are no TREC run"),
        ("run", '[{"q": {"a": 1}}]\n', read_run, "looks like JSON"),
        ("qrels", "q 0 a 0.5\n", read_qrels, "not an integer; map the values to whole grades"),
        ("qrels", "q\ta\t0.5\n", read_qrels, "not a whole number; map the values to whole grades"),
        ("qrels", '{"q1": {"a": 0.5}}', read_qrels, "grade of .q1, a. is 0.5, not a whole number"),
        ("qrels", "q 0 New York 1\n", read_qrels, "an id may hold a blank"),
    ],
)
def test_a_mistake_in_a_file_is_told_with_what_to_do(tmp_path: Path, name: str, text: str, reader, says: str) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / name).write_text(text)
    with pytest.raises(FormatError, match=says) as caught:
        reader(tmp_path / name)
    assert name in str(caught.value)
    assert "1" in str(caught.value)


RUN, QRELS = Run.of({"q": {"a": 1.0}}), Qrels.of({"q": {"a": 1}})


@pytest.mark.parametrize(
    ("call", "kind", "says"),
    [
        (lambda: evaluate(QRELS, RUN, ["RR"]), UsageError, "swapped"),
        (
            lambda: evaluate({"q": {"a": 1.0}}, QRELS, ["RR"]),
            UsageError,
            "found dict; make one with read_run or Run.of",
        ),
        (lambda: evaluate(RUN, tiny.chunk_task(), ["RR"]), UsageError, "found Task; take task.qrels"),
        (lambda: assay.verify("demo:chunks"), UsageError, "found str; open a path with assay.open"),
        (lambda: Qrels.of([("q", "a", 0.5)]), FormatError, r"grade of \(q, a\) is 0.5, not a whole number"),
        (lambda: Qrels.of([("q", "a", 2**31)]), FormatError, r"not a whole number below 2\*\*31"),
        (lambda: Qrels.of([("q", "a")]), FormatError, "is not .query id, passage id, whole grade"),
        (lambda: Qrels.of({"q": ["a"]}), FormatError, "query 'q' maps to list"),
        (lambda: Qrels.of([(1, "a", 1)]), FormatError, "strings, found 1 in row 1; write numbers as text"),
        (lambda: Run.of([("q", "a", "high")]), FormatError, "score as a number"),
        (lambda: Run.of([("q", "a")]), FormatError, "is not .query id, passage id, score as a number"),
        (lambda: Run.of({"q": ["a"]}), FormatError, "query 'q' maps to list"),
    ],
)
def test_a_mistake_in_python_is_told_with_what_to_do(call, kind: type[Exception], says: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(kind, match=says):
        call()


def test_qrels_from_a_mapping_are_those_of_triples() -> None:
    given = {"q1": {"a": 1, "b": 0}, "q2": {"a": 2.0}}
    assert Qrels.of(given).triples() == [("q1", "a", 1), ("q1", "b", 0), ("q2", "a", 2)]
    assert list(Qrels.of({"q1": {}, "q2": {"a": 1}}).queries) == ["q1", "q2"]


def test_a_single_measure_may_be_a_name() -> None:
    assert [s.measure for s in evaluate(RUN, QRELS, "RR@10", resamples=10)] == ["RR@10"]


def test_a_file_given_as_a_collection_is_told_where_files_go(tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_text("q 0 a 1\n")
    with pytest.raises(UsageError, match="judgements in a file are given with --qrels"):
        assay.open(tmp_path / "qrels.txt")


def test_case_S01_a_result_that_is_given_twice_is_one_member_of_the_family(tmp_path: Path) -> None:
    collection = assay.open("demo:chunks")
    judging = Judging(("RR@10",), resamples=50)
    for name, folders in (("bm25", ("one", "two")), ("bm25('english')", ("one",))):
        result = experiment.run_system(collection, collection.task(), assay.system_of(name), judging=judging)
        for folder in folders:
            experiment.store(result, tmp_path / folder)
    found = experiment.gathered([tmp_path / "one", tmp_path / "two", tmp_path / "one"], judging=judging)
    assert sorted(r.system for r in found) == ["bm25", "bm25('english')"]
    [compared] = experiment.comparisons(found, judging=judging)
    assert len(compared.family.comparisons) == 1


@pytest.mark.parametrize("name", ["q.txt", "q.tsv", "q.json", "q.jsonl", "q.parquet", "q.tsv.gz", "q.jsonl.zst"])
def test_judgements_are_read_back_from_every_format(tmp_path: Path, name: str) -> None:
    given = {"001": {"a": 1, "b": -1}, "1": {"a": 0, "é": 2}}
    assert assay.write_qrels(Qrels.of(given), tmp_path / name) == 0
    assert assay.read_qrels(tmp_path / name).triples() == Qrels.of(given).triples()


def test_case_T07_the_linter_names_the_lines(tmp_path: Path) -> None:
    (tmp_path / "r").write_text("q Q0 a 1 0.1 r\nq Q0 b 2 0.9 r\n")
    [note] = assay.lint_run(tmp_path / "r")
    assert (note.kind, note.count, note.lines) == ("rank_disagrees", 1, (1, 2))
