"""TREC runs and qrels: the plain reader, the compiled one, the writers, and files that went wrong elsewhere."""

from __future__ import annotations

import gzip
import math
import os
import re
import string
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.errors import AssayError, DuplicateIdError, FormatError, ScoreError
from assay.formats import trec_blocks
from assay.formats.files import replacing
from assay.formats.trec import (
    float32_ties,
    lint_run,
    read_qrels,
    read_run,
    write_qrels,
    write_run,
)
from assay.formats.trec_blocks import SMALL, columns_of_file
from assay.formats.trec_lines import Columns, columns_of_lines
from assay.kernels.trec import QRELS, RANKS, RUN, Layout
from assay.qrels import Qrels
from assay.run import Run

MANY = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def saved(folder: Path, data: str | bytes, name: str = "file.txt") -> Path:
    place = folder / name
    place.write_bytes(data.encode() if isinstance(data, str) else data)
    return place


def run_of(folder: Path, data: str | bytes, **options: bool) -> Run:
    return read_run(saved(folder, data, "run.txt"), **options)


def qrels_of(folder: Path, data: str | bytes) -> Qrels:
    return read_qrels(saved(folder, data, "qrels.txt"))


def ranking(run: Run, query: str) -> list[str]:
    return [p for q, p, _ in run.triples() if q == query]


def reciprocal_rank(run: Run, qrels: Qrels, query: str) -> float:
    good = {p for q, p, g in qrels.triples() if q == query and g >= 1}
    return next((1 / r for r, p in enumerate(ranking(run, query), 1) if p in good), 0.0)


def same_columns(one: Columns, two: Columns) -> bool:
    arrays = ("segment_start", "segment_query", "passage")
    return (
        (one.queries, one.passages) == (two.queries, two.passages)
        and all(getattr(one, a).tolist() == getattr(two, a).tolist() for a in arrays)
        and one.value.view(np.int64).tolist() == two.value.view(np.int64).tolist()
        and (one.lines, one.comments, one.empty, one.extra, one.mark)
        == (two.lines, two.comments, two.empty, two.extra, two.mark)
    )


# Cases from the record of real failures.


def test_case_I01_byte_order_mark(tmp_path: Path) -> None:
    qrels = qrels_of(tmp_path, b"\xef\xbb\xbfq1 0 a 1\nq2 0 b 1\n")
    run = Run.of([("q1", "a", 1.0), ("q2", "b", 1.0)])
    assert list(qrels.queries) == ["q1", "q2"]
    assert [reciprocal_rank(run, qrels, q) for q in ("q1", "q2")] == [1.0, 1.0]
    marked = run_of(tmp_path, b"\xef\xbb\xbfq1 Q0 a 1 1 t\n")
    assert list(marked.queries) == ["q1"]
    assert marked.counts == {"byte_order_mark": 1}
    assert [n.kind for n in lint_run(tmp_path / "run.txt")] == ["byte_order_mark"]


def test_case_I02_line_ends_tabs_and_repeated_blanks(tmp_path: Path) -> None:
    qrels = qrels_of(tmp_path, "q\t0\ta\t1\r\nq  0  b  0\r\n")
    run = run_of(tmp_path, "q Q0 a 1 3 r\r\nq\tQ0\tb\t2\t2\tr\r\n")
    assert qrels.triples() == [("q", "a", 1), ("q", "b", 0)]
    assert run.triples() == [("q", "a", 3.0), ("q", "b", 2.0)]
    assert run.name == "r"


def test_case_I04_id_with_a_blank(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"qrels.txt, line 1: 5 fields, 4 expected.*may hold a blank"):
        qrels_of(tmp_path, "q 0 New York 1\n")
    with pytest.raises(FormatError, match="'New York' holds a blank"):
        write_qrels(Qrels.of([("q", "New York", 1)]), tmp_path / "out")
    with pytest.raises(FormatError, match="'New York' holds a blank"):
        write_run(Run.of([("q", "New York", 1.0)]), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_case_I05_hash_in_an_id(tmp_path: Path) -> None:
    qrels = qrels_of(tmp_path, "# a comment\nq 0 doc#7 1\n")
    run = run_of(tmp_path, "q Q0 doc#7 1 2.0 r\n  # another\n")
    assert reciprocal_rank(run, qrels, "q") == 1.0
    assert run.counts == {"comment_lines": 1}


def test_case_I06_decimal_comma(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"line 1: score '0,9' is not a number.*decimal point.*2 lines with faults"):
        run_of(tmp_path, "q Q0 a 1 0,9 r\nq Q0 b 2 0,1 r\n")
    with pytest.raises(FormatError, match=r"line 1: score 'high' is not a number"):
        run_of(tmp_path, "q Q0 a 1 high r\n")


def test_case_I07_scientific_notation(tmp_path: Path) -> None:
    run = run_of(tmp_path, "q Q0 a 1 2e-7 r\nq Q0 b 2 1E-08 r\n")
    assert run.triples() == [("q", "a", 2e-7), ("q", "b", 1e-8)]


@pytest.mark.parametrize("score", ["NaN", "nan", "inf", "-Infinity", "+INF", "1e999"])
def test_case_I08_score_that_is_not_finite(tmp_path: Path, score: str) -> None:
    with pytest.raises(ScoreError, match=r"line 2: score of \(q, a\) is .*not a finite number"):
        run_of(tmp_path, f"q Q0 b 2 0.5 r\nq Q0 a 1 {score} r\nq Q0 c 3 0.1 r\n")


def test_case_I09_five_fields_or_seven(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"line 1: 5 fields, 6 expected \(query Q0 passage rank score tag\)"):
        run_of(tmp_path, "q Q0 a 1 3\nq Q0 b 2 2 my run\n")
    run = run_of(tmp_path, "q Q0 b 2 2 my run\n")
    assert run.name == "my run"
    assert run.counts == {"extra_fields": 1}


def test_case_I10_ids_are_text(tmp_path: Path) -> None:
    qrels = qrels_of(tmp_path, "001 0 a 1\n1 0 b 1\n1e5 0 c 1\nNA 0 d 1\n")
    assert list(qrels.queries) == ["001", "1", "1e5", "NA"]


def test_case_T05_scores_nearer_than_float32(tmp_path: Path) -> None:
    run = run_of(tmp_path, "q Q0 rel 1 0.900000001 r\nq Q0 zzz 2 0.9 r\n")
    assert reciprocal_rank(run, Qrels.of([("q", "rel", 1)]), "q") == 1.0
    assert float32_ties(run) == 1
    assert [(n.kind, n.count) for n in lint_run(tmp_path / "run.txt")] == [("float32_ties", 1)]


def test_case_T06_tie_order_is_that_of_bytes(tmp_path: Path) -> None:
    run = run_of(tmp_path, "q Q0 zoo 1 1.0 r\nq Q0 été 2 1.0 r\n")
    assert ranking(run, "q") == ["été", "zoo"]


def test_case_T07_rank_column_disagrees_with_scores(tmp_path: Path) -> None:
    run = run_of(tmp_path, "q Q0 a 1 0.1 r\nq Q0 b 2 0.9 r\n")
    assert reciprocal_rank(run, Qrels.of([("q", "a", 1)]), "q") == 0.5
    (note,) = lint_run(tmp_path / "run.txt")
    assert (note.kind, note.count, note.lines) == ("rank_disagrees", 1, (1, 2))


def test_case_D01_passage_twice_in_a_list(tmp_path: Path) -> None:
    lines = "q Q0 a 1 3 r\nq Q0 a 2 2 r\n"
    with pytest.raises(DuplicateIdError, match="passage a is a duplicate for query q, lines 1 and 2"):
        run_of(tmp_path, lines)
    run = run_of(tmp_path, lines, keep_first=True)
    assert run.triples() == [("q", "a", 3.0)]
    assert run.counts == {"repeated_dropped": 1}
    assert [(n.kind, n.lines) for n in lint_run(tmp_path / "run.txt")] == [("repeated_passages", (2,))]


# What a file may hold.


def test_passage_judged_twice_names_both_lines(tmp_path: Path) -> None:
    with pytest.raises(DuplicateIdError, match="passage a is judged twice for query q, lines 2 and 5"):
        qrels_of(tmp_path, "# c\nq 0 a 1\np 0 a 1\n\nq 0 a 0\n")


def test_keep_first_keeps_the_first_line_not_the_best_score(tmp_path: Path) -> None:
    run = run_of(tmp_path, "q Q0 a 1 1 r\np Q0 b 1 1 r\nq Q0 b 2 2 r\nq Q0 a 2 9 r\n", keep_first=True)
    assert run.triples() == [("q", "b", 2.0), ("q", "a", 1.0), ("p", "b", 1.0)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("q 0 a 1.0", r"grade '1.0' is not written as an integer; write 1$"),
        ("q 0 a high", r"grade 'high' is not an integer"),
        ("q 0 a 0.5", r"grade '0.5' is not an integer"),
        ("q 0 a 2147483648", r"grade '2147483648' is too large"),
        ("query-id\tcorpus-id\tscore", r"3 fields, 4 expected .*table with a header"),
        ("q 0 a", r"3 fields, 4 expected .*; the file ends within this line"),
        ("q", r"1 field, 4 expected"),
    ],
)
def test_faults_of_qrels(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(FormatError, match=r"qrels.txt, line 2: " + message):
        qrels_of(tmp_path, "p 0 a 1\n" + line)


def test_grades_may_be_negative_or_signed(tmp_path: Path) -> None:
    assert qrels_of(tmp_path, "q 0 a -2\nq 0 b +1\nq 0 c 007\n").grade.tolist() == [-2, 1, 7]


def test_empty_files(tmp_path: Path) -> None:
    assert len(qrels_of(tmp_path, "")) == 0
    run = run_of(tmp_path, "")
    assert (len(run), len(run.queries), run.name) == (0, 0, "run")
    assert len(qrels_of(tmp_path, "\n# nothing\n")) == 0


def test_last_line_without_line_feed_is_whole_or_an_error(tmp_path: Path) -> None:
    assert len(run_of(tmp_path, "q Q0 a 1 1 r\nq Q0 b 1 1 r")) == 2
    with pytest.raises(FormatError, match=r"line 2: 4 fields, 6 expected .*ends within this line"):
        run_of(tmp_path, "q Q0 a 1 1 r\nq Q0 b 1")
    with pytest.raises(FormatError, match=r"line 2: 4 fields, 6 expected [^;]*$"):
        run_of(tmp_path, "q Q0 a 1 1 r\nq Q0 b 1\n")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"q Q0 \xff\xfe 1 1 r\n", "line 1: id .* is not UTF-8 .byte 0xFF."),
        (b"q Q0 \xed\xa0\x80 1 1 r\n", "line 1: id .* is not UTF-8"),
        ("q Q0 a 1 1 r\n".encode("utf-16"), "line 1: a NUL byte: this is binary data or UTF-16"),
        (b"# \0\n", "line 1: a NUL byte"),
        (b"q Q0 a 1 1 r\rq Q0 b 2 1 r\r", "line 1: 12 fields with carriage returns between them"),
        (b"q Q0 a 1 1_0 r\n", "line 1: score '1_0' is not a number"),
        (b"q Q0 a 1 0x1p3 r\n", "line 1: score '0x1p3' is not a number"),
        (b"q Q0 New York 1 2.5 r\n", "passage New"),
    ],
)
def test_faults_of_runs(tmp_path: Path, data: bytes, message: str) -> None:
    if message.startswith("passage"):
        # An id with a blank cannot be told from a tag with one: the reader counts such lines.
        run = run_of(tmp_path, data)
        assert run.counts == {"extra_fields": 1}
        return
    with pytest.raises(FormatError, match=message):
        run_of(tmp_path, data)


def test_pipes_are_read_once(tmp_path: Path) -> None:
    pipe = tmp_path / "run.pipe"
    os.mkfifo(pipe)

    def feed(data: bytes) -> Thread:
        writer = Thread(target=pipe.write_bytes, args=(data,))
        writer.start()
        return writer

    writer = feed(b"q Q0 a 1 1 r\n")
    run = read_run(pipe)
    writer.join()
    assert (run.name, run.triples()) == ("run", [("q", "a", 1.0)])
    writer = feed(b"q Q0 a 1 1 r\nq Q0 a 1 1 r\n")
    with pytest.raises(DuplicateIdError, match="passage a is a duplicate for query q; remove"):
        read_run(pipe)
    writer.join()


def test_a_line_may_be_longer_than_a_block_but_not_endless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = b"q Q0 " + b"d" * 5000 + b" 1 1 r\n"
    place = saved(tmp_path, line * 2)
    assert columns_of_file(place, RUN, block=16, small=0, threads=2).value.tolist() == [1.0, 1.0]
    monkeypatch.setattr(trec_blocks, "LONGEST_LINE", 1000)
    with pytest.raises(FormatError, match=r"line 1: longer than .* so this is not a TREC file"):
        columns_of_file(place, RUN, block=16, small=0, threads=1)


def test_queries_whose_lines_are_apart_are_put_together(tmp_path: Path) -> None:
    run = run_of(tmp_path, "q Q0 a 1 1 r\np Q0 a 1 5 r\nq Q0 b 2 3 r\nr Q0 c 1 1 r\np Q0 c 1 1 r\n")
    assert run.triples() == [("q", "b", 3.0), ("q", "a", 1.0), ("p", "a", 5.0), ("p", "c", 1.0), ("r", "c", 1.0)]
    assert run.counts == {"scattered_queries": 2}


def test_lint_finds_odd_ranks_and_their_lines(tmp_path: Path) -> None:
    place = saved(tmp_path, "# c\nq Q0 a 0 3 r\n\nq Q0 b 0 2 r\nq Q0 c 0 1 r\n")
    notes = {n.kind: n for n in lint_run(place)}
    assert set(notes) == {"comment_lines", "empty_lines", "repeated_ranks"}
    assert (notes["repeated_ranks"].count, notes["repeated_ranks"].lines) == (2, (4, 5))
    assert str(notes["repeated_ranks"]).endswith(": 2 (lines 4, 5)")
    assert lint_run(saved(tmp_path, "q Q0 a 1 3 r\nq Q0 b 2 3 r\n")) == []
    assert [n.kind for n in lint_run(saved(tmp_path, "q Q0 a first 3 r\n"))] == ["rank_column"]


# Real files.


def test_golden_run_of_trec_eval(shared_data: Path) -> None:
    run = read_run(shared_data / "trec_eval" / "results.test")
    assert list(run.queries) == ["301", "302", "303"]
    assert np.diff(run.offsets).tolist() == [500, 500, 500]
    expected: dict[str, list[tuple[float, str]]] = {}
    for line in (shared_data / "trec_eval" / "results.test").read_text().splitlines():
        query, _, passage, _, score = line.split()[:5]
        expected.setdefault(query, []).append((float(score), passage))
    assert run.triples() == [(q, p, s) for q, rows in expected.items() for s, p in sorted(rows, reverse=True)]


def test_golden_run_cut_short_with_more_than_six_fields(shared_data: Path) -> None:
    run = read_run(shared_data / "trec_eval" / "results.trunc")
    assert dict(zip(run.queries, np.diff(run.offsets).tolist(), strict=True)) == {"301": 500, "303": 84}
    assert run.counts["extra_fields"] > 0


def test_golden_qrels_with_comments(shared_data: Path) -> None:
    plain = read_qrels(shared_data / "trec_eval" / "qrels.test")
    commented = read_qrels(shared_data / "trec_eval" / "qrels.test.with-comments")
    # The commented file also has a '#' put into one id.
    assert [(q, p.replace("CR#", "CR"), g) for q, p, g in commented.triples()] == plain.triples()
    assert sum("#" in p for p in commented.passages) == 1
    assert np.diff(plain.offsets).tolist() == [1708, 1061, 912]
    relevant = np.add.reduceat(plain.grade >= 1, plain.offsets[:-1])
    assert relevant.tolist() == [474, 77, 10]


@pytest.mark.parametrize("name", ["results.comment.test.gz", "results.trunc", "results.test", "qrels.comment.test"])
def test_golden_files_read_alike_by_both_readers(shared_data: Path, name: str) -> None:
    place = shared_data / "trec_eval" / name
    layout = QRELS if name.startswith("qrels") else RUN
    data = gzip.decompress(place.read_bytes()) if name.endswith(".gz") else place.read_bytes()
    plain = columns_of_lines(data, layout, path=name)
    assert len(plain.value) > 500
    for block, threads in ((1 << 16, 1), (5000, 3)):
        assert same_columns(columns_of_file(place, layout, block=block, small=0, threads=threads), plain)


# The two readers agree.

WORDS = [
    b"q",
    b"q1",
    b"a",
    b"d" * 8,
    b"d" * 9,
    b"long-id-" * 4,
    b"#",
    b"doc#7",
    b"\xc3\xa9t\xc3\xa9",
    b"\x1c",
    b"\x01",
    b"1",
    b"\xef\xbb\xbf",
]
ODD = [
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"a\0b",
    b"\xe0\x9f\xbf",
    b"\xf0\x8f\xbf\xbf",
    b"\xe2\x82",
]
NUMBERS = [
    b"1",
    b"0",
    b"-0",
    b"+3",
    b"1.5",
    b"0.1",
    b"1e5",
    b"2E-7",
    b".5",
    b"5.",
    b"12345678901234567890",
    b"0.30000000000000004",
]
NUMBERS += [
    b"1e-320",
    b"9007199254740993",
    b"1e300",
    b"0.1234567890123456789012345",
    b"-17",
    b"000000000000000000000000001",
]
WRONG = [
    b"nan",
    b"inf",
    b"1e999",
    b"0,5",
    b"x",
    b".",
    b"1_0",
    b"e5",
    b"1e",
    b"--1",
    b"99999999999999999999999",
    b"1.5.2",
]
BLANKS = [b" ", b"\t", b"  ", b" \t\v\f ", b"\r"]


@st.composite
def lines(draw: st.DrawFn, layout: Layout, faulty: bool) -> bytes:
    words = st.sampled_from(WORDS + (ODD if faulty else []))
    kind = draw(st.integers(0, 15))
    blank = st.sampled_from(BLANKS)
    lead, tail = draw(st.sampled_from([b"", b"", b"", b" ", b"\t "])), draw(st.sampled_from([b"", b"", b" ", b"\r"]))
    if kind == 0:
        return lead + b"#" + draw(words) + b" x" + tail
    if kind == 1:
        return lead + tail
    least, most = (1, 14) if faulty and kind == 2 else (layout.fields, layout.fields + (0 if layout.exact else 2))
    fields = [draw(words) for _ in range(draw(st.integers(least, most)))]
    fields[0] = fields[0].replace(b"#", b"h")
    if len(fields) > layout.value:
        whole = [b"0", b"1", b"-3", b"+2", b"0012"]
        right = whole if layout.whole else NUMBERS
        fields[layout.value] = draw(st.sampled_from(right + WRONG if faulty and kind == 3 else right))
    return lead + b"".join(f + draw(blank) for f in fields[:-1]) + fields[-1] + tail


@st.composite
def files(draw: st.DrawFn, layout: Layout) -> bytes:
    faulty = draw(st.booleans())
    body = b"\n".join(draw(st.lists(lines(layout, faulty), max_size=12)))
    mark = draw(st.sampled_from([b"", b"", b"\xef\xbb\xbf"]))
    return mark + body + draw(st.sampled_from([b"", b"\n"]))


def outcome(read: object, *args: object, **options: object) -> Columns | tuple[type, str]:
    try:
        return read(*args, **options)  # type: ignore[operator,no-any-return]
    except AssayError as err:
        return type(err), re.sub(r" \(\d+ lines with faults up to line \d+\)", "", str(err))


def agree(place: Path, data: bytes, layout: Layout, block: int, threads: int) -> None:
    plain = outcome(columns_of_lines, data, layout, path=str(place))
    blocks = outcome(columns_of_file, place, layout, block=block, small=0, threads=threads)
    assert same_columns(plain, blocks) if isinstance(plain, Columns) else plain == blocks


@MANY
@given(data=st.data(), block=st.integers(1, 200), threads=st.integers(1, 4))
@pytest.mark.parametrize("layout", [RUN, QRELS, RANKS])
def test_compiled_reader_equals_the_plain_one(
    tmp_path: Path, layout: Layout, data: st.DataObject, block: int, threads: int
) -> None:
    content = data.draw(files(layout))
    agree(saved(tmp_path, content), content, layout, block, threads)


@MANY
@given(content=st.text("q Q1.5e-\t\r\n\v\f\0#é\x1c\x01\x07", max_size=120).map(str.encode), block=st.integers(1, 60))
def test_compiled_reader_equals_the_plain_one_on_noise(tmp_path: Path, content: bytes, block: int) -> None:
    agree(saved(tmp_path, content), content, RUN, block, 2)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=files(RUN), suffix=st.sampled_from([".gz", ".zst"]), block=st.integers(1, 200))
def test_compressed_files_read_alike(tmp_path: Path, content: bytes, suffix: str, block: int) -> None:
    place = tmp_path / f"file{suffix}"
    with replacing(place) as file:
        file.write(content)
    agree(place, content, RUN, block, 2)


def test_vocabularies_grow(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [
        f"q{q} Q0 d{d}{'x' * (d % 13)} 1 {s!r} t\n"
        for q, d, s in zip(
            np.arange(30000).tolist(), rng.integers(0, 20000, 30000).tolist(), rng.random(30000).tolist()
        )
    ]
    data = "".join(rows).encode()
    place = saved(tmp_path, data)
    plain = columns_of_lines(data, RUN, path="")
    for threads in (1, 2, 3):
        assert same_columns(columns_of_file(place, RUN, block=1 << 16, small=0, threads=threads), plain)


def test_large_file_is_read_by_blocks_and_a_late_fault_is_named(tmp_path: Path) -> None:
    good = b"".join(b"q%d Q0 d%d %d %d.5 t\n" % (n // 100, n % 100, n % 100, 1000 - n % 100) for n in range(240000))
    place = saved(tmp_path, good)
    assert len(good) > SMALL
    assert same_columns(columns_of_file(place, RUN), columns_of_lines(good, RUN, path=""))
    assert len(read_run(place)) == 240000
    place = saved(tmp_path, good + b"q Q0 d 1 1;5 t\n" + good)
    for block in (1 << 16, 4 << 20):
        with pytest.raises(FormatError, match=r"line 240001: score '1;5' is not a number"):
            columns_of_file(place, RUN, block=block, threads=2)


# Writing and reading again.

IDS = st.text(
    st.one_of(
        st.characters(codec="utf-8", exclude_characters=" \t\n\r\v\f\0"),
        st.sampled_from("\u2028\u00a0\u0085\ufeff\x1c"),
    ),
    min_size=1,
    max_size=12,
)
QUERIES = IDS.filter(lambda id_: not id_.startswith("#"))
SCORES = st.floats(allow_nan=False, allow_infinity=False)


@MANY
@given(
    results=st.dictionaries(st.tuples(QUERIES, IDS), SCORES, max_size=15),
    suffix=st.sampled_from(["", ".gz", ".zst"]),
    small=st.booleans(),
)
def test_runs_survive_writing_and_reading(
    tmp_path: Path, results: dict[tuple[str, str], float], suffix: str, small: bool
) -> None:
    run = Run.of([(q, p, s) for (q, p), s in results.items()], name="tag")
    place = tmp_path / f"run.txt{suffix}"
    assert write_run(run, place) == 0
    again = read_run(place)
    assert again.triples() == run.triples()
    assert again.score.view(np.int64).tolist() == run.score.view(np.int64).tolist()
    columns = columns_of_file(place, RUN, small=(1 << 20) * small, block=64)
    assert list(columns.queries) == list(run.queries)


@MANY
@given(judgements=st.dictionaries(st.tuples(QUERIES, IDS), st.integers(-(2**31) + 1, 2**31 - 1), max_size=15))
def test_qrels_survive_writing_and_reading(tmp_path: Path, judgements: dict[tuple[str, str], int]) -> None:
    qrels = Qrels.of([(q, p, g) for (q, p), g in judgements.items()])
    assert write_qrels(qrels, tmp_path / "qrels") == 0
    assert read_qrels(tmp_path / "qrels").triples() == qrels.triples()


def test_written_form(tmp_path: Path) -> None:
    run = Run.of({"q": {"a": 1e-7, "b": 0.1}, "none": {}}, name="my \t run")
    assert write_run(run, tmp_path / "run") == 1
    assert (tmp_path / "run").read_text() == "q Q0 b 1 0.1 my_run\nq Q0 a 2 1e-07 my_run\n"
    assert write_qrels(Qrels.of([("q", "a", 1)]), tmp_path / "qrels") == 0
    assert (tmp_path / "qrels").read_text() == "q 0 a 1\n"


def test_rows_past_the_depth_are_not_written(tmp_path: Path) -> None:
    run = Run.of([("q", "a", 2.0), ("q", "b", 1.0), ("q", "c", 1.0)], depth=2)
    write_run(run, tmp_path / "run")
    assert read_run(tmp_path / "run").triples() == [("q", "a", 2.0), ("q", "c", 1.0)]


@pytest.mark.parametrize("id_", ["", "#q", *(f"a{blank}b" for blank in string.whitespace), "a\0b"])
def test_writer_refuses_ids_that_no_reader_would_get_back(tmp_path: Path, id_: str) -> None:
    with pytest.raises(FormatError, match="query id"):
        write_run(Run.of([(id_, "a", 1.0)]), tmp_path / "run")
    with pytest.raises(FormatError, match="query id"):
        write_qrels(Qrels.of([(id_, "a", 1)]), tmp_path / "qrels")
    if not id_.startswith("#"):
        with pytest.raises(FormatError, match="passage id"):
            write_run(Run.of([("q", id_, 1.0)]), tmp_path / "run")


def test_name_given_goes_before_the_tag(tmp_path: Path) -> None:
    assert read_run(saved(tmp_path, "q Q0 a 1 1 r\n"), name="mine").name == "mine"


def test_numbers_are_the_nearest_float64(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    mantissas = rng.integers(0, 2**63, 20000).tolist()
    scores = [f"{m}e{e}" for m, e in zip(mantissas, rng.integers(-110, 110, 20000).tolist(), strict=True)]
    scores += [repr(x) for x in rng.random(20000).tolist()]
    scores += [repr(float(x)) for x in rng.random(5000).astype(np.float32)]
    # Halfway between two neighbours, where the even one is right, and a little off it.
    halves = (2 * rng.integers(2**52, 2**53, 2000) + 1).tolist()
    scores += [
        f"{h * 2**k}{end}" for h, k in zip(halves, [0, 1, 2, 3, 5] * 400) for end in ("", ".0", ".0000000000001")
    ]
    scores += [f"{h / 4:.2f}" for h in (2**51 + 2 * rng.integers(0, 2**40, 500) + 1).tolist()]
    place = saved(tmp_path, "".join(f"q Q0 d{n} 1 {s} t\n" for n, s in enumerate(scores)))
    read = columns_of_file(place, RUN, small=0, threads=1).value
    wanted = np.array([float(s) for s in scores])
    assert math.isfinite(wanted.max())
    assert read.view(np.int64).tolist() == wanted.view(np.int64).tolist()
