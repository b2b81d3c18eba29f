"""Fitted models: better on dev than before, the same every time, blind to test, taken up after a kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import assay
import assay.measures
import letters
from assay import catalog
from assay.collection import Collection
from assay.errors import DataError, FileError, FormatError, UnknownNameError, UsageError
from assay.harness import retrieve
from assay.ids import Ids
from assay.pairs import opened_pairs
from assay.passage import Passages
from assay.qrels import Qrels
from assay.query import Queries
from assay.retrieval.bm25 import BM25
from assay.retrieval.cross_encoder import CrossEncoder
from assay.retrieval.dense import Dense
from assay.system import spec_of
from assay.task import Task
from assay.texts import Texts
from assay.training import (
    BiencoderRecipe,
    Mining,
    Request,
    RerankerRecipe,
    Schedule,
    trained_biencoder,
    trained_reranker,
)
from assay.training.handed import lesson
from assay.training.reranker import _Dev
from assay.training.trained import Choice, mined, silent
from commands import documented, keys_of, ok, refused
from pair_model import WordPairs, pair_model_folder

pytest.importorskip("sentence_transformers", reason="the extra `dense` is not installed")
pytestmark = pytest.mark.heavy


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What commands keep lies below a folder of the test."""
    place = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("ASSAY_CACHE", str(place))
    return place / "embeddings"


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Matrices are tiny: on a busy machine threads would wait for each other most of the time."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


ASKED = [f"{a}{b}" for a in "bdgkl" for b in ("ara", "ole", "imi", "usu", "ene", "ota")]
TOLD = [f"{word[::-1]}x" for word in ASKED]
"""Queries are in one language, passages in another; only a fit can know which word means which."""


@pytest.fixture(scope="module")
def collection() -> Collection:
    return two_languages()


def two_languages(seed: int = 0, *, sizes: tuple[int, int, int] = (400, 80, 40)) -> Collection:
    """Passages of three words; a query has two of them, in the other language. All share a word, that BM25 finds."""
    rng = np.random.default_rng(seed)
    meant = [sorted(rng.choice(30, 3, replace=False).tolist()) for _ in range(100)]
    ids = [f"p{i:03}" for i in range(100)]
    passages = Passages(Ids.of(ids), {"plain": Texts.of(" ".join(["the", *(TOLD[w] for w in own)]) for own in meant)})
    queries, splits = [], {}
    for split, size in zip(("train", "dev", "test"), sizes):
        rows = []
        for number in range(size):
            gold = int(rng.integers(100))
            words = rng.choice(meant[gold], 2, replace=False).tolist()
            queries.append((f"{split}-{number}", " ".join(["the", *(ASKED[w] for w in words)])))
            rows += [(f"{split}-{number}", ids[p], 1) for p, own in enumerate(meant) if set(words) <= set(own)]
        splits[split] = rows
    pool = Queries(Ids.of(q for q, _ in queries), {"plain": Texts.of(text for _, text in queries)})
    tasks = {
        split: Task("find", split, pool, passages, Qrels.of(rows), measures=("RR@10",), depth=100)
        for split, rows in splits.items()
    }
    return Collection("made", "made", "0" * 64, passages, pool, {"find": tasks}, licence="CC0-1.0")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of two layers and 32 dimensions that has seen nothing."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    from assay.network import quiet_loading

    place = tmp_path_factory.mktemp("base")
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", *ASKED, *TOLD]
    (place / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    tokenizer = BertTokenizerFast(str(place / "vocab.txt"), model_max_length=16)
    torch.manual_seed(0)
    sizes: dict[str, Any] = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = BertConfig(vocab_size=len(vocabulary), intermediate_size=64, max_position_embeddings=16, **sizes)
    with quiet_loading():
        BertModel(config).save_pretrained(place / "bert")
        tokenizer.save_pretrained(place / "bert")
        states = Transformer(str(place / "bert"))
        model = SentenceTransformer(modules=[states, Pooling(32, "mean")], device="cpu")
        model.save(str(place / "model"), create_model_card=False)
    return place / "model"


QUICK = BiencoderRecipe(Schedule(epochs=2, batch=32, rate=2e-3, seed=1, patience=2), Mining(count=2, last=50), 0.1)
LISTS = RerankerRecipe(
    "bm25", 100, Schedule(epochs=2, batch=16, rate=2e-3, seed=1, patience=2), Mining(count=4, last=100)
)


def opened(base: Path) -> Dense:
    return Dense(str(base), query_prompt="", normalise=True, pooling="mean", device="cpu")


def files(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_a_fit_makes_dev_better_than_chance_allows(collection: Collection, base: Path, tmp_path: Path) -> None:
    told: list[str] = []
    recipe = replace(QUICK, schedule=replace(QUICK.schedule, epochs=8))
    report = trained_biencoder(
        collection, "find", base=opened(base), out=tmp_path / "tuned", recipe=recipe, told=told.append
    )
    dev, test = (collection.task("find", split=s) for s in ("dev", "test"))
    before, after = (
        assay.evaluate(retrieve(dev, system), dev.qrels, ["RR@10"], resamples=500)[0]
        for system in (opened(base), report.system)
    )
    assert (report.before, report.value) == (pytest.approx(before.mean), pytest.approx(after.mean))
    assert after.interval.low > before.interval.high
    assert report.value == max(one.value for one in report.curve)
    assert report.curve[report.kept - 1].value == report.value
    # What was learnt holds on queries that nobody looked at.
    unseen = [
        assay.evaluate(retrieve(test, s), test.qrels, ["RR@10"], resamples=500)[0]
        for s in (opened(base), report.system)
    ]
    assert unseen[1].interval.low > unseen[0].interval.high
    assert any("step" in line for line in told)
    assert not (tmp_path / "tuned.training").exists()
    # What is fitted is plain fields of the spec.
    spec = spec_of(assay.catalog.system(report.system))
    assert (spec["pooling"], spec["normalise"], spec["model"]) == ("mean", True, str(tmp_path / "tuned"))
    json.dumps(spec)


def test_a_prompt_of_the_base_stays_with_the_fitted_model(collection: Collection, base: Path, tmp_path: Path) -> None:
    asked = Dense(str(base), "bara ole", query_prompt="{task} gara ", passage_prompt="gusu ", pooling="cls", longest=9)
    small = replace(QUICK, schedule=replace(QUICK.schedule, epochs=1))
    trained_biencoder(collection, "find", base=asked, out=tmp_path / "tuned", recipe=small)
    found = Dense(str(tmp_path / "tuned"))
    names = ("query_prompt", "passage_prompt", "task", "pooling", "longest")
    assert [getattr(found, name) for name in names] == ["{task} gara ", "gusu ", "bara ole", "cls", 9]
    assert found.recipe(queries=True).prompt == "bara ole gara "
    # It can be fitted again.
    again = trained_biencoder(collection, "find", base=found, out=tmp_path / "twice", recipe=small)
    assert Dense(str(tmp_path / "twice")).query_prompt == "{task} gara "
    assert again.before == pytest.approx(json.loads((tmp_path / "tuned" / "training.json").read_text())["value"])


def test_two_fits_are_equal_and_another_seed_is_not(collection: Collection, base: Path, tmp_path: Path) -> None:
    reports = [
        trained_biencoder(collection, "find", base=opened(base), out=tmp_path / name, recipe=recipe)
        for name, recipe in (
            ("one", QUICK),
            ("two", QUICK),
            ("other", replace(QUICK, schedule=replace(QUICK.schedule, seed=2))),
        )
    ]
    one, two, other = (files(tmp_path / name) for name in ("one", "two", "other"))
    assert one == two
    assert one["model.safetensors"] != other["model.safetensors"]
    assert replace(reports[0], out="", system="") == replace(reports[1], out="", system="")


def test_a_fit_leaves_torch_as_it_was(collection: Collection, base: Path, tmp_path: Path) -> None:
    import torch

    torch.manual_seed(7)
    state, on = torch.get_rng_state(), torch.are_deterministic_algorithms_enabled()
    recipe = replace(QUICK, schedule=replace(QUICK.schedule, epochs=1))
    trained_biencoder(collection, "find", base=opened(base), out=tmp_path / "tuned", recipe=recipe)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.are_deterministic_algorithms_enabled() == on


# Test queries cannot reach a fit.


def poisoned(collection: Collection) -> Collection:
    """The same collection whose test judgements, if anything learnt from them, would turn all it knows around."""
    test = collection.tasks["find"]["test"]
    rng = np.random.default_rng(9)
    rows = [(q, f"p{int(p):03}", 3) for q in test.qrels.queries for p in rng.choice(100, 5, replace=False)]
    splits = {**collection.tasks["find"], "test": replace(test, qrels=Qrels.of(rows))}
    return replace(collection, tasks={"find": splits})


class Spied(dict[str, Any]):
    """Tasks by split that keep a list of what was asked of them."""

    asked: list[str]

    def __getitem__(self, name: str) -> Any:
        self.asked.append(name)
        return super().__getitem__(name)


class SpiedQrels(Qrels):
    """Judgements that may say for which queries they are, and nothing else."""

    def __getattribute__(self, name: str) -> Any:
        if name in ("passages", "passage", "grade", "offsets", "query", "triples", "take"):
            raise AssertionError(f"a fit has read {name} of the test judgements")
        return super().__getattribute__(name)


@pytest.mark.parametrize("kind", ["biencoder", "reranker"])
def test_other_test_judgements_give_the_same_weights(
    kind: str, collection: Collection, base: Path, tmp_path: Path
) -> None:
    # Both from one place, since the folder's name is part of the report.
    for name, what in (("one", collection), ("two", poisoned(collection))):
        if kind == "biencoder":
            trained_biencoder(what, "find", base=opened(base), out=tmp_path / name, recipe=QUICK)
        else:
            trained_reranker(what, "find", base=CrossEncoder(str(base)), out=tmp_path / name, recipe=LISTS)
    assert files(tmp_path / "one") == files(tmp_path / "two")


def test_no_judgement_of_test_is_read_and_no_test_query_is_encoded(
    collection: Collection, base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = collection.tasks["find"]["test"]
    held = test.qrels
    spied = SpiedQrels(held.queries, held.passages, held.offsets, held.passage, held.grade)
    tasks = Spied({**collection.tasks["find"], "test": replace(test, qrels=spied)})
    tasks.asked = []
    what = replace(collection, tasks={"find": tasks})
    from assay.encoders.sentence_transformers import SentenceModel

    read: set[str] = set()
    prepared = SentenceModel.prepared
    monkeypatch.setattr(SentenceModel, "prepared", lambda self, texts: read.update(texts) or prepared(self, texts))
    trained_biencoder(what, "find", base=opened(base), out=tmp_path / "tuned", recipe=QUICK)
    assert "test" in tasks.asked
    train, dev = (set(collection.task("find", split=s).queries.texts["plain"]) for s in ("train", "dev"))
    only_test = set(test.queries.texts["plain"]) - train - dev
    assert only_test
    assert train & read
    assert not only_test & read


@pytest.mark.parametrize("missing", ["train", "dev"])
def test_both_splits_are_needed(missing: str, collection: Collection, base: Path, tmp_path: Path) -> None:
    splits = {name: task for name, task in collection.tasks["find"].items() if name != missing}
    what = replace(collection, tasks={"find": splits})
    with pytest.raises(UsageError, match=f"no split '{missing}'"):
        trained_biencoder(what, "find", base=opened(base), out=tmp_path / "tuned", recipe=QUICK)
    with pytest.raises(UsageError, match=f"no split '{missing}'"):
        trained_reranker(what, "find", base=CrossEncoder(str(base)), out=tmp_path / "tuned", recipe=LISTS)
    assert list(tmp_path.iterdir()) == []


# A fit that was killed.


SCRIPT = """
    import sys, time
    from pathlib import Path
    sys.path[:0] = {paths!r}
    from test_training import LISTS, QUICK, opened, two_languages
    from assay.retrieval.cross_encoder import CrossEncoder
    from assay.training import trained_biencoder, trained_reranker
    kind, base, out, last = sys.argv[1:]
    def tell(line):
        print(line, flush=True)
        if line.startswith(last):
            time.sleep(600)
    if kind == "biencoder":
        trained_biencoder(two_languages(), "find", base=opened(Path(base)), out=Path(out), recipe=QUICK, told=tell)
    else:
        trained_reranker(two_languages(), "find", base=CrossEncoder(base), out=Path(out), recipe=LISTS, told=tell)
"""


def killed_at(kind: str, base: Path, out: Path, line: str) -> None:
    """Starts a fit in a process of its own and kills it once it says a line."""
    here = Path(__file__).resolve().parent
    code = textwrap.dedent(SCRIPT).format(paths=[str(here), str(here.parent)])
    command = [sys.executable, "-c", code, kind, str(base), str(out), line]
    one = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=one) as running:
        assert running.stdout is not None
        for said in running.stdout:
            if said.startswith(line):
                os.kill(running.pid, signal.SIGKILL)
                break
        else:
            raise AssertionError(f"the fit ended before it said {line!r}")
    assert not out.exists()


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("biencoder", "epoch 1 of 2: step 3"),
        ("biencoder", "epoch 1 of 2: measuring dev"),
        ("biencoder", "epoch 2 of 2: step 3"),
        ("biencoder", "epoch 2 of 2: measuring dev"),
        ("reranker", "epoch 2 of 2: step 3"),
    ],
)
def test_a_fit_that_was_killed_ends_as_if_undisturbed(
    kind: str, line: str, collection: Collection, base: Path, tmp_path: Path
) -> None:
    killed_at(kind, base, tmp_path / "killed", line)
    for name in ("killed", "whole"):
        told: list[str] = []
        if kind == "biencoder":
            trained_biencoder(
                collection, "find", base=opened(base), out=tmp_path / name, recipe=QUICK, told=told.append
            )
        else:
            trained_reranker(
                collection, "find", base=CrossEncoder(str(base)), out=tmp_path / name, recipe=LISTS, told=told.append
            )
        if name == "killed" and "epoch 2" in line:
            assert not any(said.startswith("epoch 1") for said in told)
    assert files(tmp_path / "killed") == files(tmp_path / "whole")


def test_a_folder_of_work_is_of_one_recipe(
    collection: Collection, base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from assay.training import course

    monkeypatch.setattr(course, "_thin", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        trained_biencoder(collection, "find", base=opened(base), out=tmp_path / "tuned", recipe=QUICK)
    monkeypatch.undo()
    other = replace(QUICK, temperature=0.2)
    with pytest.raises(FormatError, match="broke off, with another recipe"):
        trained_biencoder(collection, "find", base=opened(base), out=tmp_path / "tuned", recipe=other)
    trained_biencoder(collection, "find", base=opened(base), out=tmp_path / "tuned", recipe=QUICK)
    # A model is written over an earlier one, and over nothing else.
    trained_biencoder(collection, "find", base=opened(base), out=tmp_path / "tuned", recipe=other)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("kept")
    with pytest.raises(FileError, match="holds other files"):
        trained_biencoder(collection, "find", base=opened(base), out=tmp_path / "mine", recipe=QUICK)
    (tmp_path / "new.training").mkdir()
    (tmp_path / "new.training" / "notes.txt").write_text("kept")
    with pytest.raises(FileError, match="holds other files"):
        trained_biencoder(collection, "find", base=opened(base), out=tmp_path / "new", recipe=QUICK)


# How a fit ends.


def test_where_no_epoch_does_better_the_base_is_kept(collection: Collection, base: Path, tmp_path: Path) -> None:
    fair = trained_biencoder(
        collection,
        "find",
        base=opened(base),
        out=tmp_path / "fair",
        recipe=replace(QUICK, schedule=replace(QUICK.schedule, epochs=8)),
    )
    # Steps of this size undo all that was learnt.
    wild = replace(QUICK, schedule=Schedule(epochs=5, rate=0.5, warmup=0, patience=2))
    report = trained_biencoder(collection, "find", base=Dense(fair.out), out=tmp_path / "wild", recipe=wild)
    assert (report.kept, report.value, len(report.curve)) == (0, report.before, 2)
    assert report.stopped == "no gain on dev in 2 epochs"
    weights = "model.safetensors"
    assert (tmp_path / "wild" / weights).read_bytes() == (tmp_path / "fair" / weights).read_bytes()
    assert "No epoch did better than the base" in (tmp_path / "wild" / "README.md").read_text()


def test_a_loss_that_is_no_number_is_an_error(collection: Collection, base: Path, tmp_path: Path) -> None:
    wild = replace(QUICK, temperature=1e-45)
    with pytest.raises(DataError, match="the loss is"):
        trained_biencoder(collection, "find", base=opened(base), out=tmp_path / "tuned", recipe=wild)


def test_a_reranker_that_is_no_gain_says_so(collection: Collection, base: Path, tmp_path: Path) -> None:
    from assay.cli.train_models import train_table

    # What answers comes first already: all passages tie for BM25.
    splits = {name: replace(task, qrels=first(task)) for name, task in collection.tasks["find"].items()}
    recipe = replace(LISTS, schedule=replace(LISTS.schedule, epochs=1, rate=1e-7))
    report = trained_reranker(
        replace(collection, tasks={"find": splits}),
        "find",
        base=CrossEncoder(str(base)),
        out=tmp_path / "tuned",
        recipe=recipe,
        request=Request(most_queries=20),
    )
    assert report.before == 1.0
    assert report.value < 1.0
    assert report.kept == 1
    assert "no epoch did better on dev than the first stage alone" in train_table(report).notes[0]
    assert "No epoch did better than the first stage alone" in (tmp_path / "tuned" / "README.md").read_text()


def first(task: Task) -> Qrels:
    """The passage that comes first in a tie is relevant to all queries."""
    return Qrels.of([(query, "p099", 1) for query in task.qrels.queries])


# The loss, by hand.


def test_the_loss_is_that_of_the_definition(collection: Collection, base: Path) -> None:
    import torch

    from assay.preset import Preset
    from assay.training import drawn, lesson
    from assay.training.biencoder import BiencoderLearner, _texts

    given = lesson(collection, "find")
    task = given.train.task
    negatives = drawn(given, retrieve(task, "bm25", depth=50), Mining(count=2, last=50))
    model = opened(base).recipe(queries=False).opening.open()
    texts = _texts(task, opened(base))
    learner = BiencoderLearner(
        model, negatives, texts, 0.1, Preset(32, opened(base).recipe(queries=False).opening.reading, "", "")
    )
    rows = np.arange(0, 40, 4)
    vectors = {}
    for kind, listed in (("q", texts[0]), ("p", texts[1])):
        prepared = model.prepared(listed)
        vectors[kind] = model.encode(prepared, list(range(len(listed)))).astype(np.float64)
    columns = sorted(
        {*negatives.positive[rows].tolist(), *(n for r in rows.tolist() for n in negatives.of(r).tolist())}
    )
    total = 0.0
    for row in rows.tolist():
        query, own = int(negatives.query[row]), int(negatives.positive[row])
        scores = {c: float(vectors["q"][query] @ vectors["p"][c]) / 0.1 for c in columns}
        may = [c for c in columns if c == own or negatives.exclusions.allows(np.array([query]), np.array([c]))[0]]
        total += np.log(sum(np.exp(scores[c]) for c in may)) - scores[own]
    with torch.no_grad():
        assert float(learner.loss(rows)) == pytest.approx(total / len(rows), rel=1e-4)


# Re-rankers.


def marked(collection: Collection) -> Collection:
    """The same passages, ten of which have a word more; these answer every query, and come last in a tie."""
    texts = [f"{text} {ASKED[0]}" if row < 10 else text for row, text in enumerate(collection.passages.texts["plain"])]
    passages = replace(collection.passages, texts={"plain": Texts.of(texts)})
    splits = {}
    for name, task in collection.tasks["find"].items():
        rows = [(query, f"p{p:03}", 1) for query in task.qrels.queries for p in range(10)]
        splits[name] = replace(task, passages=passages, qrels=Qrels.of(rows))
    return replace(collection, passages=passages, tasks={"find": splits})


@pytest.mark.parametrize("loss", ["listwise", "binary"])
def test_a_reranker_learns_the_order(loss: str, collection: Collection, base: Path, tmp_path: Path) -> None:
    what, out = marked(collection), tmp_path / "tuned"
    recipe = replace(LISTS, loss=loss, schedule=replace(LISTS.schedule, epochs=1))
    report = trained_reranker(
        what, "find", base=CrossEncoder(str(base)), out=out, recipe=recipe, request=Request(most_queries=60)
    )
    assert report.system == f"rerank(bm25, model=cross_encoder('{out}'))"
    assert report.pairs == 600
    dev = what.task("find", split="dev")
    system = assay.catalog.system(f"rerank(bm25, model={str(out)!r}, depth=100)")
    after = assay.evaluate(retrieve(dev, system), dev.qrels, ["RR@10"], resamples=500)[0]
    assert after.mean == pytest.approx(report.value)
    assert after.interval.low > report.before
    assert report.value > 0.9
    assert report.kept == 1


def test_what_a_reranker_scored_of_dev_before_a_kill_is_not_scored_again(
    collection: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(catalog.known("pair_encoder"), WordPairs.name, WordPairs)
    model = pair_model_folder(tmp_path / "epoch-1" / "model")
    choice = Choice(collection.task("find", split="dev"), assay.measures.parse("RR@10"), 20)
    dev = _Dev(choice, BM25(), CrossEncoder(str(model), encoder="word_pairs"), 5)
    value = dev.of(model)
    opened_pairs.cache_clear()
    assert dev.of(model) == value
    assert opened_pairs.cache_info().misses == 0


def test_what_cannot_be_fitted_is_refused(collection: Collection, base: Path, tmp_path: Path) -> None:
    def bi(model: Dense) -> Any:
        return trained_biencoder(collection, "find", base=model, out=tmp_path / "tuned", recipe=QUICK)

    with pytest.raises(UsageError, match="needs float32"):
        bi(replace(opened(base), precision="float16"))
    with pytest.raises(UsageError, match="an encoder of its own for queries"):
        bi(replace(opened(base), query_model="other/model"))
    with pytest.raises(UsageError, match="only models that Sentence Transformers opens"):
        bi(replace(opened(base), encoder="onnx"))
    with pytest.raises(UsageError, match="needs float32"):
        trained_reranker(collection, "find", base=CrossEncoder(str(base), precision="float16"), out=tmp_path / "t")
    with pytest.raises(UnknownNameError, match="loss of a re-ranker"):
        replace(LISTS, loss="pairwise")
    with pytest.raises(UsageError, match="learns from negatives"):
        replace(LISTS, mining=Mining(count=0))
    with pytest.raises(UsageError, match="a measure of passages"):
        trained_biencoder(collection, "find", base=opened(base), out=tmp_path / "t", request=Request(measure="IoU"))
    assert list(tmp_path.iterdir()) == []


def test_what_finds_negatives_keeps_its_vectors(collection: Collection, tmp_path: Path) -> None:
    given, mining = lesson(collection, "find"), Mining(f"dense({str(letters.model_folder(tmp_path / 'net'))!r})")
    request = Request(where={"store": str(tmp_path / "kept")})
    letters.ASKED.clear()
    with letters.registered():
        first = mined(given, mining, request, silent)
        asked = len(letters.ASKED)
        assert asked
        assert mined(given, mining, request, silent).digest == first.digest
        assert len(letters.ASKED) == asked
        assert mined(given, mining, Request(), silent).digest == first.digest
        assert len(letters.ASKED) == 2 * asked


def test_a_sample_of_train_is_seeded_and_told(collection: Collection, base: Path, tmp_path: Path) -> None:
    recipe = replace(QUICK, schedule=replace(QUICK.schedule, epochs=1))
    one, two, other = (
        trained_biencoder(
            collection,
            "find",
            base=opened(base),
            out=tmp_path / "tuned",
            recipe=recipe,
            request=Request(most_queries=50, seed=seed),
        )
        for seed in (1, 1, 2)
    )
    assert one == two
    assert (one.queries, one.drawn_from) == (50, 400)
    assert other.train != one.train
    assert "a sample of 400 train queries" in (tmp_path / "tuned" / "README.md").read_text()


# The command and the card.


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fitted")


@pytest.mark.parametrize("kind", ["biencoder", "reranker"])
def test_the_command_tells_what_is_documented(kind: str, base: Path, stored: Path, own_cache: Path) -> None:
    words: list[Any] = ["train", kind, "demo:questions/answer", "--base", base, "--epochs", 1, "--out", stored / kind]
    found = ok(*words, "--json").json
    assert set(keys_of(found)) == documented(f"assay train {kind}")
    fit = found["fit"]
    assert fit["kind"] == kind
    assert fit["until"] == "2021-10-31"
    assert fit["until_from"] == "the manifest"
    shown = ok(*words).out
    assert shown.splitlines()[-1] == fit["system"]
    assert f"{fit['before']:.4f}" in shown
    # What the base makes of dev is kept; what is fitted is not, until it is run.
    assert len(list(own_cache.glob("*/vectors.f32"))) == (kind == "biencoder")
    ended = ok("run", "demo:questions/answer", "-s", fit["system"], "--split", "dev", "--resamples", 100, "--json")
    [result] = ended.json["results"]
    assert result["measures"]["RR@10"]["mean"] == pytest.approx(fit["value"])


def test_the_card_says_what_the_record_holds(base: Path, stored: Path) -> None:
    ok("train", "biencoder", "demo:questions/answer", "--base", base, "--epochs", 1, "--out", stored / "card", "--json")
    record = json.loads((stored / "card" / "training.json").read_text())
    card = (stored / "card" / "README.md").read_text()
    assert card.startswith("---\nlibrary_name: sentence-transformers\n")
    for name in ("digest", "train", "dev", "negatives", "base_identity"):
        assert f"`{record[name]}`" in card
    for one in record["curve"]:
        assert f"| {one['epoch']} | {one['loss']:.4f} | {one['value']:.4f} |" in card
    assert "a licence that is not known here" in card
    assert record["spec"]["recipe"]["mining"]["system"] == "bm25"


def test_the_command_refuses_what_cannot_be(base: Path, tmp_path: Path) -> None:
    words = ["train", "biencoder", "demo:questions/answer", "--base", base, "--out", tmp_path / "tuned"]
    refused("train", "biencoder", "demo:chunks/passages", *words[3:], code=2, says="no split 'train'")
    refused("train", "reranker", "demo:chunks/passages", *words[3:], code=2, says="no split 'train'")
    refused(*words, "--negatives", "bm52", code=2, says="did you mean 'bm25'")
    refused(*words, "--until", "soon", code=2, says="a day such as")
    refused(*words, "--from-rank", 9, "--to-rank", 3, code=2, says="ranks count from 1")
    refused(*words[:4], "bm25()", *words[5:], code=2, says="begins with a model")
    refused(*words[:4], tmp_path / "none", *words[5:], code=4, says="there is no folder")
