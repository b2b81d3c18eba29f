"""Values that a reader can check by hand, and the names of measures."""

from __future__ import annotations

from math import log2
from typing import ClassVar

import numpy as np
import pytest

from assay.errors import DataError, UnknownNameError, UsageError
from assay.evaluation.judge import judge
from assay.evaluation.ties import tie_values
from assay.judged import Judged, Values
from assay.measure import Measure, TieAware
from assay.measures import parse
from assay.qrels import Qrels
from assay.run import Run

# Grades 0, 2, not judged, 1; a passage of grade 1 and one of grade 0 were not found.
ONE = Judged.of([[0, 2, None, 1]], ideal=[[2, 1, 1, 0, 0]])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RR", 1 / 2),
        ("RR@1", 0.0),
        ("RR(rel=2)", 1 / 2),
        ("RR(rel=3)", 0.0),
        ("P@1", 0.0),
        ("P@2", 1 / 2),
        ("P@10", 2 / 10),
        ("P(rel=2)@4", 1 / 4),
        ("R", 2 / 3),
        ("R@2", 1 / 3),
        ("R(rel=2)@2", 1.0),
        ("R(capped)@2", 1 / 2),
        ("R(capped)@4", 2 / 3),
        ("Success", 1.0),
        ("Success@1", 0.0),
        ("AP", (1 / 2 + 2 / 4) / 3),
        ("AP@3", (1 / 2) / 3),
        ("AP(rel=2)", 1 / 2),
        ("Rprec", 1 / 3),
        ("Rprec(rel=2)", 0.0),
        ("bpref", (1 - 1 / 2 + 1 - 1 / 2) / 3),
        ("bpref(rel=2)", 1 - 1 / 1),
        ("nDCG", (2 / log2(3) + 1 / log2(5)) / (2 + 1 / log2(3) + 1 / 2)),
        ("nDCG@2", (2 / log2(3)) / (2 + 1 / log2(3))),
        ("nDCG(gain=exp)@2", (3 / log2(3)) / (3 + 1 / log2(3))),
        ("RBP(p=0.5)", 0.5 * (0.5 + 0.125)),
        ("RBP(p=0.5, rel=2)", 0.5 * 0.5),
        ("RBP(p=0.5)@2", 0.5 * 0.5),
        ("RBP", 0.2 * (0.8 + 0.8**3)),
        ("Judged", 3 / 4),
        ("Judged@3", 2 / 3),
        ("Judged@10", 3 / 4),
        ("NumRet", 4.0),
        ("NumRet(rel=1)", 2.0),
        ("NumRet(rel=2)", 1.0),
    ],
)
def test_value(name, value):
    assert parse(name).score(ONE) == pytest.approx([value], abs=1e-15)


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("MRR@10", "RR@10"),
        ("MAP", "AP"),
        ("Recall(rel=2)@100", "R(rel=2)@100"),
        ("Precision@5", "P@5"),
        ("NDCG@10", "nDCG@10"),
        ("nDCG(gain='exp')@10", "nDCG(gain=exp)@10"),
        ("nDCG(gain=linear)@10", "nDCG@10"),
        ("RBP", "RBP(p=0.8)"),
        ("RBP(p=0.95)@20", "RBP(p=0.95)@20"),
        ("R(capped)@10", "R(capped)@10"),
        ("R(rel=2, capped=True)@10", "R(capped, rel=2)@10"),
        ("R(capped=True)@10", "R(capped)@10"),
        (" RR ( rel = 2 ) @ 10 ", "RR(rel=2)@10"),
        ("RR(rel=1)", "RR"),
        ("Bpref", "bpref"),
        ("NumRet(rel=1)", "NumRet(rel=1)"),
    ],
)
def test_canonical_name(written, canonical):
    assert str(parse(written)) == canonical
    assert parse(canonical) == parse(written)


@pytest.mark.parametrize("cutoff", ["0", "-1", "1.5", "ten", "", "1e3", "²"])
def test_bad_cutoff(cutoff):
    with pytest.raises(UsageError, match="whole number of at least 1"):
        parse(f"RR@{cutoff}")


@pytest.mark.parametrize("name", ["Rprec@10", "bpref@10", "NumRet@10"])
def test_no_cutoff(name):
    with pytest.raises(UsageError, match=f"has no cutoff; write {name[:-3]}$"):
        parse(name)


@pytest.mark.parametrize("name", ["P", "R(capped)"])
def test_needed_cutoff(name):
    with pytest.raises(UsageError, match="needs a cutoff"):
        parse(name)


@pytest.mark.parametrize("rel", ["0", "-1", "1.0", "'a'", "True"])
def test_bad_lowest_grade(rel):
    with pytest.raises(UsageError, match="rel, the lowest grade that is relevant, must be a whole number"):
        parse(f"RR(rel={rel})")


@pytest.mark.parametrize("p", ["0", "1", "1.5", "-0.5", "'a'", "None"])
def test_bad_persistence(p):
    with pytest.raises(UsageError, match="p, the chance to go on"):
        parse(f"RBP(p={p})")


@pytest.mark.parametrize(
    ("name", "near"),
    [("nDGC@10", "nDCG"), ("ndcg@10", "nDCG"), ("recal@5", "Recall"), ("mrr", "MRR"), ("Judge", "Judged")],
)
def test_unknown_name(name, near):
    with pytest.raises(UnknownNameError, match=f"did you mean '{near}'"):
        parse(name)


@pytest.mark.parametrize("name", ["nDCG(rel=2)", "RR(p=0.5)", "Judged(rel=1)", "bpref(gain=exp)"])
def test_unknown_parameter(name):
    with pytest.raises(UnknownNameError, match="no parameter of"):
        parse(name)


@pytest.mark.parametrize(
    "name",
    ["", "@10", "RR@10@10", "RR(", "RR)", "1", "'RR'", "RR(2)", "R(rel)", "RR(rel=x.y)", "RR(**a)", "RR(rel=1, rel=2)",
     "R(capped, capped)@10", "a.RR", "RR(cutoff=10)", "RR(cutoff=10)@5", "RR@10 RR@20", "RR\x00"],
)  # fmt: skip
def test_unreadable(name):
    with pytest.raises(UsageError):
        parse(name)


def test_bad_gain():
    with pytest.raises(UsageError, match="linear or exp"):
        parse("nDCG(gain=log)")


def test_a_grade_without_a_finite_gain():
    judged = Judged.of([[2000]], ideal=[[2000]])
    assert parse("nDCG").score(judged).tolist() == [1.0]
    with pytest.raises(DataError, match="grade 2000"):
        parse("nDCG(gain=exp)").score(judged)


def test_expected_by_hand():
    """Two of three tied passages are relevant, a tie of two follows, the second relevant again."""
    run = Run.of([("q", "a", 2.0), ("q", "b", 2.0), ("q", "c", 2.0), ("q", "d", 1.0), ("q", "e", 1.0)])
    judged = judge(run, Qrels.of([("q", "a", 1), ("q", "b", 1), ("q", "e", 1), ("q", "c", 0)]))
    values = tie_values(parse("RR"), judged)
    assert values.expected == pytest.approx([2 / 3 * 1 + 1 / 3 * 1 / 2])
    assert (values.best[0], values.worst[0]) == (1.0, 0.5)
    values = tie_values(parse("P@1"), judged)
    assert values.expected == pytest.approx([2 / 3])
    values = tie_values(parse("AP"), judged)
    # Relevant at 1 and 2, 1 and 3, or 2 and 3, each as likely; then at 4 or at 5.
    pairs = [(1 + 1), (1 + 2 / 3), (1 / 2 + 2 / 3)]
    assert values.expected == pytest.approx([(np.mean(pairs) + (3 / 4 + 3 / 5) / 2) / 3])


def test_a_tie_that_goes_on_past_the_depth():
    """One of four tied passages is relevant, two ranks are seen: it is among them half of the time."""
    run = Run.of([("q", passage, 1.0) for passage in "abcd"], depth=2)
    judged = judge(run, Qrels.of([("q", "a", 1)]))
    assert judged.lengths.tolist() == [2]
    assert (len(judged.hits), len(judged.beyond)) == (0, 1)
    for name, best, expected in [
        ("Success", 1.0, 1 / 2),
        ("RR", 1.0, (1 + 1 / 2) / 4),
        ("R", 1.0, 1 / 2),
        ("AP@1", 1.0, 1 / 4),
    ]:
        values = tie_values(parse(name), judged)
        assert (values.value[0], values.worst[0], values.best[0]) == (0.0, 0.0, best)
        assert values.expected == pytest.approx([expected])


def test_large_ties_stay_exact():
    """A tie of 5,000 passages with one relevant: the mean of 1 / rank is a harmonic number over 5,000."""
    size = 5000
    run = Run.of([("q", f"p{i}", 1.0) for i in range(size)])
    judged = judge(run, Qrels.of([("q", "p7", 1)]))
    mean = sum(1 / rank for rank in range(1, size + 1)) / size
    for name in ("RR", "AP"):
        assert tie_values(parse(name), judged).expected[0] == pytest.approx(mean, rel=1e-12)
    assert tie_values(parse("Success@10"), judged).expected[0] == pytest.approx(10 / size, rel=1e-12)


class Sudden:
    """A stranger's measure, neither a weighted sum nor one that knows its expectation: 1 where rank 2 is relevant."""

    name: ClassVar[str] = "Sudden"
    aliases: ClassVar[tuple[str, ...]] = ()
    additive: ClassVar[bool] = False
    bounded: ClassVar[bool] = False
    cutoff = None
    min_grade = 1

    def score(self, judged: Judged) -> Values:
        wanted = judged.seen(1, None)
        return judged.sum(wanted & (judged.hits.rank == 2) & (judged.running(wanted) == 1))


def test_a_strangers_measure_gets_a_sampled_expectation():
    assert isinstance(Sudden(), Measure)
    assert not isinstance(Sudden(), TieAware)
    run = Run.of([("q", p, 1.0) for p in "abcd"] + [("r", "a", 1.0)] + [("s", p, 1.0) for p in "ab"])
    judged = judge(run, Qrels.of([("q", "a", 1), ("r", "a", 1), ("s", "a", 1), ("s", "b", 1)]))
    values = tie_values(Sudden(), judged)
    # One of four places; no tie; two relevant passages, of which one always comes first.
    assert values.expected == pytest.approx([1 / 4, 0.0, 0.0], abs=0.05)
    assert values.expected[0] not in (0.0, 1.0)
    assert "1,000 random orders, seed 0" in values.note
    again = tie_values(Sudden(), judged)
    assert again.expected.tolist() == values.expected.tolist()
    assert tie_values(Sudden(), judged, seed=1).expected.tolist() != values.expected.tolist()


def test_random_orders_are_all_as_likely():
    run = Run.of([("q", p, 1.0) for p in "abcd"], depth=3)
    judged = judge(run, Qrels.of([("q", "a", 1), ("q", "b", 2)]))
    random = np.random.default_rng(0)
    seen: dict[tuple[tuple[int, int], ...], int] = {}
    for _ in range(6000):
        hits = judged.shuffled(random).hits
        order = tuple(zip(hits.rank.tolist(), hits.grade.tolist(), strict=True))
        seen[order] = seen.get(order, 0) + 1
    # Two passages in three seen ranks of four: six orders with both, three with either one alone.
    assert len(seen) == 12
    assert min(seen.values()) > 500 * 0.8
    assert max(seen.values()) < 500 * 1.2


def test_an_order_asked_of_probabilities_is_refused():
    judged = judge(Run.of([("q", "a", 1.0), ("q", "b", 1.0)]), Qrels.of([("q", "a", 1)])).spread()
    for ask in (judged.first_rank, judged.running):
        with pytest.raises(UsageError, match="additive = False"):
            ask(judged.hits.grade >= 1)


def test_orders_of_orders():
    """The best of the worst order is the best order: what falls past the end is not lost."""
    run = Run.of([("q", p, 1.0) for p in "abcde"], depth=3)
    judged = judge(run, Qrels.of([("q", "a", 1), ("q", "b", 2), ("q", "c", 0)]))
    for one, other in [(judged.worst().best(), judged.best()), (judged.best().worst(), judged.worst())]:
        for column in ("query", "rank", "grade", "first", "last"):
            assert getattr(one.hits, column).tolist() == getattr(other.hits, column).tolist()
    assert judged.worst().spread().weight.tolist() == judged.spread().weight.tolist()
