"""Learned sparse weights: what the models say, rounded once, kept once made, and searched as words are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import catalog
from assay.encoder import Prepared, Reading, Weights
from assay.errors import DataError, FormatError, UsageError
from assay.harness import retrieve
from assay.run import Run
from assay.store import ENTRIES, VECTORS
from assay.system import PassageView, QueryView, SparseRows, spec_of
from assay.terms import STEP, TermRecipe, Terms, _joined, _pieces, weighed
from assay.texts import Texts
from neural import LONGEST, bge_m3_folder, packaged_folder, splade_folder
from tiny import chunk_task

TEXTS = ["the ferry leaves at nine", "", "ferry " * 200, "a fee, a fee and a tax", "the ferry leaves at nine"]


class Letters:
    """A model without weights: a text's terms are its letters, weighed by how often they stand."""

    terms = 0x110000
    record: ClassVar[dict[str, str]] = {"model": "letters", "device": "none"}

    def __init__(self, owner: LetterTerms) -> None:
        self.owner = owner

    def prepared(self, texts: Sequence[str]) -> Prepared:
        lengths = np.array([len(text) for text in texts], np.int64)
        return Prepared(np.minimum(lengths, 100), lengths > 100, list(texts))

    def weights(self, prepared: Prepared, rows: Sequence[int], *, queries: bool) -> list[Terms]:
        asked = [prepared.items[row] for row in rows]
        self.owner.batches.append(asked)
        if len(self.owner.batches) > self.owner.fails_after:
            raise KeyboardInterrupt
        found = []
        for text in asked:
            letters = sorted(set(text), reverse=True)
            weight = np.array([text.count(letter) / 3 for letter in letters], np.float32)
            found.append((np.array([ord(letter) for letter in letters], np.int32), self.owner.value(weight)))
        return found


@dataclass(frozen=True)
class LetterTerms:
    """Opens that model."""

    name: ClassVar[str] = "letters"

    batches: Any
    value: Any = field(default=lambda weight: weight, metadata={"recipe": False})
    fails_after: int = field(default=1 << 30, metadata={"recipe": False})

    def opens(self, folder: Path) -> bool:
        return True

    def opened(self, weights: Weights, reading: Reading, *, device: str) -> Letters:
        return Letters(self)


class Batches(list[list[str]]):
    """A list that can be told from others, and stands in a recipe as nothing."""

    __hash__ = object.__hash__  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "batches"


def recipe(**changes: Any) -> TermRecipe:
    return TermRecipe(LetterTerms(Batches(), **changes), Weights("owner/name", Path("nowhere"), "0" * 40), Reading())


def as_lists(rows: SparseRows) -> list[dict[int, float]]:
    own = [slice(rows.offsets[i], rows.offsets[i + 1]) for i in range(len(rows))]
    return [dict(zip(rows.term[part].tolist(), rows.weight[part].tolist())) for part in own]


def rounded(weight: float) -> float:
    return round(weight / STEP) * STEP


def by_hand(texts: Sequence[str]) -> list[dict[int, float]]:
    return [{ord(c): rounded(np.float32(text.count(c) / 3)) for c in sorted(set(text))} for text in texts]


def test_terms_are_ascending_and_weights_multiples_of_the_step() -> None:
    found = weighed(Texts.of(TEXTS), recipe())
    assert as_lists(found.rows) == by_hand(TEXTS)
    assert all(list(own) == sorted(own) for own in as_lists(found.rows))
    assert (found.rows.weight / STEP == np.rint(found.rows.weight / STEP)).all()
    assert (found.cut, found.made) == (1, 4)
    assert found.rows.terms == max(map(ord, "".join(TEXTS))) + 1


@given(st.lists(st.tuples(st.integers(0, 250_000), st.integers(1, 1 << 17)), max_size=300, unique_by=lambda t: t[0]))
def test_pieces_come_back_whole(entries: list[tuple[int, int]]) -> None:
    term = np.array([t for t, _ in entries], np.int32)
    weight = np.array([w * STEP for _, w in entries], np.float32)
    names, rows = _pieces("text", (term, weight))
    assert len(names) == len(set(names)) == len(rows) == len(entries) // 64 + 1
    before = np.full((3, rows.shape[1]), 7, np.float32)
    got = _joined(np.concatenate([before, rows]), 3 + len(rows) - 1)
    assert (got[0].tolist(), got[1].tolist()) == (term.tolist(), weight.tolist())


many = st.lists(st.text(st.characters(min_codepoint=32, max_codepoint=0x3FF), max_size=300), min_size=1, max_size=6)


@given(many)
def test_any_texts_kept_and_found_again(texts: list[str]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        first = weighed(Texts.of(texts), recipe(), folder=Path(place))
        again = weighed(Texts.of(texts[::-1]), recipe(), folder=Path(place))
    assert as_lists(first.rows) == by_hand(texts)
    assert as_lists(again.rows) == by_hand(texts[::-1])
    assert (first.made, again.made) == (len(set(texts)), 0)


def test_a_kill_loses_no_more_than_a_window(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.terms.WINDOW", 1)
    texts = [*TEXTS, "".join(map(chr, range(100, 300)))]
    with pytest.raises(KeyboardInterrupt):
        weighed(Texts.of(texts), recipe(fails_after=3), folder=tmp_path)
    [place] = tmp_path.iterdir()
    held = (place / ENTRIES).stat().st_size
    # Torn inside the rows of the last text: its first row is the last one, so it is made again.
    with open(place / ENTRIES, "ab") as stream:
        stream.truncate(held - 5)
    with open(place / VECTORS, "ab") as stream:
        stream.write(b"\0" * 7)
    found = weighed(Texts.of(texts), recipe(), folder=tmp_path)
    assert found.made == 3
    assert as_lists(found.rows) == by_hand(texts)


@pytest.mark.parametrize("value", [lambda w: w * np.nan, lambda w: -w, lambda w: w * np.inf])
def test_weights_that_are_none(value: Any) -> None:
    with pytest.raises(DataError, match="not finite, below 0"):
        weighed(Texts.of(TEXTS), recipe(value=value))


def test_weights_that_would_be_nothing_are_left_out() -> None:
    found = weighed(Texts.of(["ab"]), recipe(value=lambda w: np.array([2.0**-16, 0.5], np.float32)))
    assert as_lists(found.rows) == [{ord("a"): 0.5}]


def test_queries_are_encoded_one_by_one() -> None:
    made = replace(recipe(), queries=True)
    weighed(Texts.of(TEXTS), made)
    assert all(len(batch) == 1 for batch in made.encoder.batches)  # type: ignore[attr-defined]


def test_bad_parameters() -> None:
    for call, words in (
        ("learned_sparse('')", "hub id"),
        ("learned_sparse('a/b', precision='int3')", "precision"),
        ("learned_sparse('a/b', text='raw')", "text"),
        ("learned_sparse('a/b', batch=0)", "batch"),
    ):
        with pytest.raises(UsageError, match=words):
            catalog.system(call)
    assert "device" not in spec_of(catalog.system("learned_sparse('a/b', device='cpu')"))


@pytest.fixture(scope="module")
def splade(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return splade_folder(tmp_path_factory.mktemp("models") / "splade")


@pytest.fixture(scope="module")
def bge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    packaged_folder()
    return bge_m3_folder(tmp_path_factory.mktemp("models") / "bge")


def splade_by_hand(folder: Path, text: str) -> dict[int, float]:
    """log(1 + max(0, logit)), the highest over the tokens."""
    import torch
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.BertForMaskedLM.from_pretrained(folder).eval()
    with torch.no_grad():
        read = tokenizer(text, truncation=True, max_length=LONGEST, return_tensors="pt")
        weight = torch.log1p(torch.relu(model(**read).logits[0])).max(0).values.numpy()
    return {int(t): float(weight[t]) for t in np.flatnonzero(weight)}


def bge_by_hand(folder: Path, text: str) -> dict[int, float]:
    """max(0, w · h + b) of every token, the highest of each; none for special ones."""
    import torch
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.BertModel.from_pretrained(folder).eval()
    head = torch.load(folder / "sparse_linear.pt", weights_only=True)
    found: dict[int, float] = {}
    with torch.no_grad():
        read = tokenizer(text, truncation=True, max_length=LONGEST, return_tensors="pt")
        states = model(**read).last_hidden_state[0]
    for token, state in zip(read["input_ids"][0].tolist(), states):
        weight = max(0.0, float(state @ head["weight"][0] + head["bias"][0]))
        if token not in tokenizer.all_special_ids and weight > 0:
            found[token] = max(found.get(token, 0.0), weight)
    return found


def view(texts: Sequence[str]) -> PassageView:
    return PassageView(len(texts), {"text:plain": Texts.of(texts)})


@pytest.mark.heavy
@pytest.mark.parametrize("kind", ["splade", "bge"])
def test_weights_are_those_of_the_model_itself(kind: str, request: pytest.FixtureRequest) -> None:
    folder = request.getfixturevalue(kind)
    direct = {"splade": splade_by_hand, "bge": bge_by_hand}[kind]
    system = catalog.system(f"learned_sparse({str(folder)!r}, device='cpu')")
    index = system.index(view(TEXTS))
    for rows in (index.rows, index.encode(QueryView(Texts.of(TEXTS)))):
        for text, own in zip(TEXTS, as_lists(rows)):
            wanted = direct(folder, text)
            assert set(own) ^ set(wanted) <= {t for t, w in wanted.items() if w < STEP}
            assert all(abs(weight - wanted[t]) <= STEP / 2 + 1e-5 for t, weight in own.items())
    assert index.rows.step == STEP
    assert index.notes == {"passages longer than the model reads": 1, "queries longer than the model reads": 1}
    assert index.record["identity"] == system.recipe.weights.identity
    assert index.record["device"] == "cpu"
    name = {"splade": "sentence_transformers", "bge": "bge_m3"}[kind]
    assert system.recipe.encoder.name == name


def same(a: Run, b: Run) -> bool:
    return a.triples() == b.triples() and a.score.tobytes() == b.score.tobytes()


@pytest.mark.heavy
def test_a_run_by_hand_for_any_order_of_rows_and_from_kept_terms(bge: Path, tmp_path: Path) -> None:
    task = chunk_task()
    system = catalog.system(f"learned_sparse({str(bge)!r}, device='cpu')")
    run = retrieve(task, system, depth=50)
    assert all(same(run, retrieve(task, system, depth=50, seed=seed)) for seed in (1, 5))
    passages = dict(zip(task.passages.ids, as_lists(system.index(view(task.passages.texts["plain"].to_list())).rows)))
    texts = task.queries.texts["plain"].to_list()
    asked = dict(zip(task.queries.ids, as_lists(weighed(Texts.of(texts), replace(system.recipe, queries=True)).rows)))
    for query, passage, score in run.triples():
        own, other = asked[query], passages[passage]
        assert score == pytest.approx(sum(own[t] * other.get(t, 0.0) for t in own), rel=1e-9)
    assert same(run, retrieve(task, system, depth=50, indexes=tmp_path))
    held = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.f32")}
    assert same(run, retrieve(task, system, depth=50, indexes=tmp_path, seed=3))
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.f32")} == held


@pytest.mark.heavy
def test_an_index_is_stored_and_read(splade: Path, tmp_path: Path) -> None:
    system = catalog.system(f"learned_sparse({str(splade)!r}, device='cpu')")
    index = system.index(view(TEXTS))
    index.save(tmp_path)
    again = system.load(tmp_path)
    assert as_lists(again.rows) == as_lists(index.rows)
    queries = QueryView(Texts.of(["ferry"]))
    assert as_lists(again.encode(queries)) == as_lists(index.encode(queries))
    (tmp_path / "term.npy").write_bytes(b"no array")
    with pytest.raises(FormatError, match="no stored index"):
        system.load(tmp_path)


@pytest.mark.heavy
def test_models_that_cannot_be_opened(bge: Path, tmp_path: Path) -> None:
    import shutil

    import torch

    place = tmp_path / "bad"
    shutil.copytree(bge, place)
    torch.save({"weight": torch.zeros(1, 5), "bias": torch.zeros(1)}, place / "sparse_linear.pt")
    with pytest.raises(FormatError, match=r"shape \(1, 5\)"):
        catalog.system(f"learned_sparse({str(place)!r})").index(view(TEXTS))
    (place / "sparse_linear.pt").write_bytes(b"no weights")
    with pytest.raises(FormatError, match="no model with sparse weights"):
        catalog.system(f"learned_sparse({str(place)!r})").index(view(TEXTS))
    (place / "sparse_linear.pt").unlink()
    with pytest.raises(FormatError, match="is no learned sparse model"):
        catalog.system(f"learned_sparse({str(place)!r}, device='cpu')").index(view(TEXTS))
    (place / "config.json").write_text("{")
    with pytest.raises(FormatError, match="is no JSON"):
        catalog.system(f"learned_sparse({str(place)!r})").index(view(TEXTS))
    for name in ("config.json", "model.safetensors"):
        (place / name).unlink()
    with pytest.raises(UsageError, match="nothing opens the files"):
        catalog.system(f"learned_sparse({str(place)!r})").index(view(TEXTS))
