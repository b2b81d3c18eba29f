"""Coreference: rewritten passages at the offsets of the plain ones, and resolvers that go wrong."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from assay import audits, catalog
from assay.building.coref import Resolver, resolved_texts, resolver_of, with_coref
from assay.building.resolvers.command import Command
from assay.building.resolvers.identity import Identity
from assay.collection import Collection
from assay.errors import ContractError, FormatError, UnavailableError, UnknownNameError, UsageError
from assay.formats import jsonl
from assay.ids import Ids
from assay.passage import Passages
from assay.sources import open_collection
from assay.span import Spans
from assay.texts import Texts

Documents = Iterable[tuple[str, Sequence[str]]]


@dataclass(frozen=True)
class Given:
    """A resolver made of a function over the list of documents."""

    change: Callable[[list[tuple[str, Sequence[str]]]], Any]
    name: ClassVar[str] = "given"

    def resolved(self, documents: Documents) -> Any:
        return self.change(list(documents))


ROWS = [
    ("b-1", "It leaves at 8.", "b", 1),
    ("a-0", "Ann — 😀 sings.", "a", 0),
    ("b-0", "The ferry.", "b", 0),
    ("a-1", "", "a", 1),
]


def small(tmp_path: Path) -> Collection:
    """Two documents whose chunks stand mixed and out of order."""
    starts = {"b-1": 11, "a-0": 0, "b-0": 0, "a-1": 15}
    rows = [
        {
            "chunk_id": i,
            "chunk": t,
            "source_url": d,
            "chunk_idx": n,
            "chunk_start_char": starts[i],
            "chunk_end_char": starts[i] + len(t),
        }
        for i, t, d, n in ROWS
    ]
    gold = {"query_id": "q", "query": "when?", "source_url": ["b"], "frag_start_char": [20], "frag_end_char": [26]}
    tmp_path.mkdir(exist_ok=True, parents=True)
    jsonl.write_rows(rows, tmp_path / "documents.jsonl")
    jsonl.write_rows([gold], tmp_path / "queries.jsonl")
    return open_collection(tmp_path)


def program(tmp_path: Path, body: str) -> str:
    """The call of a program with the documents of standard input in `documents`."""
    place = tmp_path / "my resolver.py"
    head = "import json, sys, time\ndocuments = [json.loads(line) for line in sys.stdin.buffer]\n"
    place.write_text(head + body, encoding="utf-8")
    return f"command({json.dumps(f'{sys.executable!r} {str(place)!r}')})"


WRITE = "for d in documents: sys.stdout.buffer.write(json.dumps(d, ensure_ascii=False).encode() + b'\\n')\n"


def test_documents_reach_the_resolver_whole_and_in_order(tmp_path: Path) -> None:
    seen: list[Any] = []

    def note(documents: list[Any]) -> list[Any]:
        seen.extend(documents)
        return documents

    with_coref(small(tmp_path), Given(note))
    assert seen == [("b", ["The ferry.", "It leaves at 8."]), ("a", ["Ann — 😀 sings.", ""])]


def test_rewritten_texts_stand_at_the_plain_offsets(tmp_path: Path) -> None:
    collection = small(tmp_path)

    def inline(documents: list[tuple[str, Sequence[str]]]) -> list[tuple[str, list[str]]]:
        return [(d, [t.replace("It", "The ferry") for t in texts]) for d, texts in reversed(documents)]

    made = with_coref(collection, Given(inline))
    assert made.passages.texts["coref"].to_list() == ["The ferry leaves at 8.", "Ann — 😀 sings.", "The ferry.", ""]
    assert made.passages.texts["plain"] is collection.passages.texts["plain"]
    assert made.passages.spans is collection.passages.spans
    assert made.passages.ids is collection.passages.ids
    task = made.task()
    assert task.views[:3] == ("text:plain", "text:coref", "parent")
    assert task.passages is made.passages
    assert task.qrels.triples() == [("q", "b-1", 1)]
    assert made.counts["chunks that the resolver changed"] == 1
    assert made.manifest["coref"]["passages_that_differ"] == 1
    assert "coref" not in collection.passages.texts, "the collection that was given stays as it was"
    assert {f.verdict for f in audits.verify(made, only=["offsets-true"]) if f.check.endswith("coref")} == {"ok"}


def test_without_positions_the_start_orders_passages() -> None:
    spans = Spans.of((0, 5, 8), (0, 0, 4))
    passages = Passages(Ids.of(["x", "y"]), {"plain": Texts.of(["two", "one."])}, Ids.of(["d", "none"]), spans)
    seen: list[Any] = []
    assert resolved_texts(passages, Given(lambda d: seen.extend(d) or d)).to_list() == ["two", "one."]
    assert seen == [("d", ["one.", "two"])]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda d: d[:1], "left out 1 of 2 documents .first: 'a'."),
        (lambda d: [*d, d[0]], "returned document 'b' twice"),
        (lambda d: [*d, ("c", ["x"])], "returned document 'c', which it was not given"),
        (lambda d: [(i, t[:1]) for i, t in d], "document 'b' has 2 passages, it returned 1"),
        (lambda d: [(i, [*t, "more"]) for i, t in d], "document 'b' has 2 passages, it returned 3"),
        (lambda d: [(i, [" "] * len(t)) for i, t in d], "passage 'b-0' of document 'b' came back blank"),
    ],
)
def test_a_resolver_that_breaks_its_contract_is_told(change: Any, says: str, tmp_path: Path) -> None:
    with pytest.raises(ContractError, match=says):
        with_coref(small(tmp_path), Given(change))


def test_a_lone_surrogate_is_told(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="lone surrogate"):
        with_coref(small(tmp_path), Given(lambda d: [(i, ["\ud800"] * len(t)) for i, t in d]))


def test_the_view_is_replaced_only_when_asked_for() -> None:
    demo = open_collection("demo:chunks")
    with pytest.raises(UsageError, match=r"has the view text:coref already; ask for it anew"):
        with_coref(demo, Identity())
    made = with_coref(demo, Identity(), anew=True)
    assert made.passages.texts["coref"] == demo.passages.texts["plain"]
    assert made.task().views == demo.task().views
    with pytest.raises(UsageError, match="needs passages with documents"):
        with_coref(open_collection("demo:questions"), Identity())


def test_other_views_and_tasks_without_plain_text_stay(tmp_path: Path) -> None:
    collection = small(tmp_path)
    task = replace(collection.task(), views=("title",))
    made = with_coref(replace(collection, tasks={"passages": {"test": task}}), Identity())
    assert made.task().views == ("title",)
    assert made.task().passages is made.passages


# Programs


def test_a_program_rewrites(tmp_path: Path) -> None:
    body = "documents.reverse()\nfor d in documents: d['passages'] = [t.replace('It', 'The ferry 😀') for t in d['passages']]\n"
    call = program(tmp_path, body + WRITE + "print('done', file=sys.stderr)\n")
    made = with_coref(small(tmp_path / "in"), resolver_of(call))
    assert made.passages.texts["coref"][0] == "The ferry 😀 leaves at 8."
    assert made.manifest["coref"]["resolver"].startswith("command(")
    assert resolver_of(made.manifest["coref"]["resolver"]) == resolver_of(call)


@pytest.mark.parametrize(
    ("body", "error", "says"),
    [
        ("print('no model', file=sys.stderr); sys.exit(3)", ContractError, r"ended with status 3:\n  no model"),
        ("sys.exit(1)", ContractError, r"nothing on standard error"),
        ("print('loading')", FormatError, "line 1 of its output: not JSON .*messages to standard error"),
        (WRITE + "print(7)", FormatError, 'line 3 of its output: expected {"id"'),
        ("print(json.dumps({'id': 'b', 'passages': [1, 2]}))", FormatError, "line 1 of its output: expected"),
        ("print(json.dumps({'id': 7, 'passages': []}))", FormatError, "document's id as text, got 7"),
        ("sys.stdout.buffer.write(b'\\xff\\n')", FormatError, "line 1 of its output: not JSON"),
        ("pass", ContractError, "left out 2 of 2 documents"),
    ],
)
def test_a_program_that_fails_says_why(body: str, error: type[Exception], says: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=says):
        with_coref(small(tmp_path / "in"), resolver_of(program(tmp_path, body)))


def test_a_program_that_never_ends_is_stopped_with_what_it_started(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    child = f"import time, pathlib; time.sleep(2); pathlib.Path({str(mark)!r}).touch()"
    body = f"import subprocess\nsubprocess.Popen([sys.executable, '-c', {child!r}])\ntime.sleep(60)\n"
    resolver = replace(resolver_of(program(tmp_path, body)), timeout=0.7)  # type: ignore[type-var]
    with pytest.raises(ContractError, match=r"did not end within 0.7 seconds and was stopped"):
        with_coref(small(tmp_path / "in"), resolver)
    time.sleep(2.2)
    assert not mark.exists()


def test_a_program_need_not_read_its_input(tmp_path: Path) -> None:
    place = tmp_path / "fixed.py"
    lines = [{"id": "b", "passages": ["x", "y"]}, {"id": "a", "passages": ["z", ""]}]
    place.write_text("\n".join(f"print({json.dumps(line)!r})" for line in lines))
    made = with_coref(small(tmp_path / "in"), Command(f"{sys.executable} {place}"))
    assert made.passages.texts["coref"].to_list() == ["y", "z", "x", ""]


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        ("command('no-such-program-here')", UnavailableError, "no program 'no-such-program-here'; install it"),
        ("command('')", UsageError, "the command line is empty"),
        ("command(3)", UsageError, "the command line is empty"),
        ("command('a \"b')", UsageError, "close the quote"),
        ("command('x', timeout=0)", UsageError, "timeout must be a number of seconds above 0"),
        ("comand('x')", UnknownNameError, "no resolver 'comand'; did you mean 'command'"),
        ("command", UsageError, "parameters are command, timeout"),
        ("fastcoref", UnavailableError, "fastcoref is no resolver here: it needs model weights.*my_resolver.py"),
        ("maverick_coref()", UnavailableError, "maverick-coref is no resolver here"),
    ],
)
def test_resolvers_that_cannot_be_had_are_told(call: str, error: type[Exception], says: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=says):
        with_coref(small(tmp_path), resolver_of(call))


@pytest.mark.parametrize("name", sorted(catalog.known("resolver")))
def test_every_resolver_keeps_the_protocol(name: str) -> None:
    cls = catalog.known("resolver")[name]
    made = cls() if name == "identity" else cls(f'{sys.executable} -c "import sys; sys.stdout.write(sys.stdin.read())"')
    assert isinstance(made, Resolver)
    demo = open_collection("demo:chunks")
    assert resolved_texts(demo.passages, made) == demo.passages.texts["plain"]
    assert cls.__doc__


# The command line


def test_the_command_builds_a_collection(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from assay.__main__ import main

    call = program(
        tmp_path,
        "for d in documents: d['passages'] = [t + '!' for t in d['passages'] if t] + [t for t in d['passages'] if not t]\n"
        + WRITE,
    )
    small(tmp_path / "in")

    def run(*words: str) -> tuple[int, Any, str]:
        monkeypatch.setattr(sys, "argv", ["assay", "build", "coref", *words])
        with pytest.raises(SystemExit) as end:
            main()
        told = capsys.readouterr()
        return int(end.value.code or 0), told.out, told.err

    code, out, err = run(str(tmp_path / "in"), "--resolver", call, "--out", str(tmp_path / "out"), "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == {
        "collection": str(tmp_path / "out"),
        "resolver": json.loads(out)["resolver"],
        "passages": 4,
        "passages_that_differ": 3,
    }
    back = open_collection(tmp_path / "out")
    assert back.passages.texts["coref"].to_list() == ["It leaves at 8.!", "Ann — 😀 sings.!", "The ferry.!", ""]
    assert np.array_equal(back.passages.spans.start, open_collection(tmp_path / "in").passages.spans.start)  # type: ignore[union-attr]
    assert back.manifest["coref"]["passages_that_differ"] == 3
    assert not [f for f in audits.verify(back) if f.check.startswith("manifest-true") and f.verdict == "error"]
    before = (tmp_path / "out" / "documents_coref.jsonl").read_bytes()
    bad = program(tmp_path, "sys.exit('weights are missing')\n")
    code, out, err = run(str(tmp_path / "in"), "--resolver", bad, "--out", str(tmp_path / "out"))
    assert (code, out) == (3, "")
    assert "weights are missing" in err
    assert (tmp_path / "out" / "documents_coref.jsonl").read_bytes() == before
    assert run(str(tmp_path / "in"), "--resolver", "fastcoref", "--out", str(tmp_path / "out"))[0] == 4
