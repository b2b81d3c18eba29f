"""Models that are not what they should be: each is one clear error, and nothing of theirs is run."""

from __future__ import annotations

import json
import pickle
import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay import catalog, embeddings
from assay.embeddings import embedded
from assay.errors import DataError, FileError, FormatError, UnavailableError, UsageError
from assay.pairs import opened_pairs, pair_scores
from assay.retrieval.dense import Dense
from assay.terms import weighed
from assay.texts import Texts
from commands import refused
from neural import bge_m3_folder, cross_encoder_folder, packaged_folder, splade_folder

pytestmark = pytest.mark.heavy

TEXTS = Texts.of(["Who pays the fee?", "", "The ferry leaves at nine. " * 40])


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    with warnings.catch_warnings():
        # The libraries' own.
        warnings.simplefilter("ignore")
        yield
    embeddings.opened.cache_clear()
    opened_pairs.cache_clear()


def made(call: str, folder: Path, **rest: Any) -> Any:
    """What a system over the model in a folder makes of the texts."""
    system = catalog.known("system")[call](str(folder), **{"device": "cpu", **rest})
    if call == "dense":
        found = embedded(TEXTS, system.recipe(queries=False))
        return found.rows.matrix[found.rows.place]
    if call == "learned_sparse":
        return weighed(TEXTS, system.recipe).rows.weight
    rows = np.arange(len(TEXTS), dtype=np.int32)
    return pair_scores(TEXTS, TEXTS, system.recipe, pairs=(rows, rows)).score


KINDS: dict[str, Callable[[Path], Path]] = {
    "dense": splade_folder,
    "cross_encoder": cross_encoder_folder,
    "learned_sparse": splade_folder,
}


class Harm:
    """Opened by a careless reader, it leaves a file."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return Path.touch, (self.mark,)


# Weights that are pickled.


@pytest.mark.parametrize("call", KINDS)
def test_pickled_weights_are_read_as_numbers_alone(call: str, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="the extra `dense` is not installed")
    from safetensors.torch import load_file

    folder, mark = KINDS[call](tmp_path / "net"), tmp_path / "was-run"
    expected = made(call, folder)
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    assert np.allclose(made(call, folder), expected, atol=1e-6)
    with open(folder / "pytorch_model.bin", "wb") as stream:
        pickle.dump(Harm(mark), stream)
    with pytest.raises(FormatError, match="net"):
        made(call, folder)
    torch.save({"weight": Harm(mark)}, folder / "pytorch_model.bin")
    with pytest.raises(FormatError, match="net"):
        made(call, folder)
    assert not mark.exists()
    pickle.loads(pickle.dumps(Harm(mark)))
    assert mark.exists(), "such a file is one that does harm"


def test_a_pickled_head_is_read_as_numbers_alone(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="the extra `dense` is not installed")
    folder, mark = bge_m3_folder(tmp_path / "net"), tmp_path / "was-run"
    assert (made("learned_sparse", folder) > 0).any()
    torch.save({"weight": Harm(mark), "bias": torch.zeros(1)}, folder / "sparse_linear.pt")
    with pytest.raises(FormatError, match="no model with sparse weights"):
        made("learned_sparse", folder)
    assert not mark.exists()


def test_a_model_as_its_library_writes_it_is_no_code(tmp_path: Path) -> None:
    library = pytest.importorskip("sentence_transformers", reason="the extra `dense` is not installed")
    bare = splade_folder(tmp_path / "bare")
    library.SparseEncoder(str(bare), device="cpu").save(str(tmp_path / "net"))
    assert np.array_equal(made("learned_sparse", tmp_path / "net"), made("learned_sparse", bare))
    pair = cross_encoder_folder(tmp_path / "pair-bare")
    library.CrossEncoder(str(pair), device="cpu").save_pretrained(str(tmp_path / "pair"))
    assert np.array_equal(made("cross_encoder", tmp_path / "pair"), made("cross_encoder", pair))


# Files that are not there.


@pytest.mark.parametrize("call", KINDS)
def test_a_model_without_a_tokenizer(call: str, tmp_path: Path) -> None:
    folder = KINDS[call](tmp_path / "net")
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "special_tokens_map.json"):
        (folder / name).unlink(missing_ok=True)
    # The library would go on with a tokenizer of five words.
    with pytest.raises(FileError, match=r"there is no tokenizer in .*net: none of tokenizer\.json"):
        made(call, folder)


# Devices and precisions.


@pytest.mark.parametrize("call", KINDS)
def test_a_device_that_is_not_there_is_one_error_of_the_command(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch", reason="the extra `dense` is not installed")
    folder = KINDS[call](tmp_path / "net")
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "kept"))
    system = f"{call}({str(folder)!r})"
    system = f"rerank(bm25, model={system}, depth=2)" if call == "cross_encoder" else system
    words = ("run", "demo:questions/answer", "--resamples", "20", "-s", system, "--device")
    for device in ("cuda:97", "gpu", "CUDA", *([] if torch.cuda.is_available() else ["cuda"])):
        refused(*words, device, code=4, says=f"there is no device '{device}'")


@pytest.mark.parametrize("precision", ["float16", "bfloat16"])
@pytest.mark.parametrize("call", KINDS)
def test_half_precision_on_a_processor_is_near(call: str, precision: str, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the extra `dense` is not installed")
    folder = KINDS[call](tmp_path / "net")
    whole, half = made(call, folder), made(call, folder, precision=precision)
    assert np.isfinite(half).all()
    if call != "learned_sparse":
        assert 0 < np.abs(whole - half).max() < 0.1 * np.abs(whole).max()


# Graphs.


def graph(
    folder: Path,
    *,
    inputs: tuple[str, ...] = ("input_ids",),
    shape: tuple[Any, ...] = ("n", "t", 4),
    kind: str = "INT64",
) -> Path:
    """A folder with a graph that gives zeros of a shape, whatever the tokens are, beside a real tokenizer."""
    onnx = pytest.importorskip("onnx", reason="the package `onnx` is not installed")
    pytest.importorskip("onnxruntime", reason="the extra `dense` is not installed")
    helper, types = onnx.helper, onnx.TensorProto
    given = [helper.make_tensor_value_info(name, getattr(types, kind), ["n", "t"]) for name in inputs]
    out = helper.make_tensor_value_info("out", types.FLOAT, list(shape))
    steps = [helper.make_node("Shape", [inputs[0]], ["shape"])]
    if len(shape) == 3:
        steps.append(helper.make_node("Concat", ["shape", "more"], ["size"], axis=0))
    else:
        steps.append(helper.make_node("Slice", ["shape", "low", "high"], ["size"]))
    steps.append(helper.make_node("ConstantOfShape", ["size"], ["out"]))
    held = {"more": shape[-1:] if len(shape) == 3 else (0,), "low": (0,), "high": (len(shape),)}
    constants = [helper.make_tensor(name, types.INT64, [1], list(own)) for name, own in held.items()]
    body = helper.make_graph(steps, "zeros", given, [out], constants)
    model = helper.make_model(body, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    folder.mkdir()
    onnx.save(model, folder / "model.onnx")
    shutil.copy(packaged_folder() / "tokenizer.json", folder)
    return folder


def test_a_graph_of_tokens_in_and_vectors_out_is_taken(tmp_path: Path) -> None:
    found = made("dense", graph(tmp_path / "net"), pooling="mean")
    assert found.shape == (3, 4)
    assert not found.any()


@pytest.mark.parametrize(
    ("values", "kind", "message"),
    [
        ({"inputs": ("input_ids", "pixel_values")}, FormatError, r"takes input_ids, pixel_values and gives out"),
        ({"inputs": ("tokens",)}, FormatError, r"takes tokens and gives out; token ids in and vectors"),
        ({"shape": ("n",)}, FormatError, "vectors of tokens or texts out are due"),
        ({"kind": "FLOAT"}, DataError, "ONNX Runtime cannot compute"),
    ],
)
def test_a_graph_with_other_inputs_or_outputs(
    tmp_path: Path, values: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        made("dense", graph(tmp_path / "net", **values), pooling="mean")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"inputs": ("input_ids", "pixel_values")}, "takes pixel_values, which tokens do not give"),
        ({"shape": ("n", "t", 4)}, r"numbers of shape \(1, \d+, 4\) for 1 pairs; one a pair is due"),
        ({"kind": "FLOAT"}, "ONNX Runtime cannot compute"),
    ],
)
def test_a_graph_that_gives_no_scores(tmp_path: Path, values: dict[str, Any], message: str) -> None:
    with pytest.raises((FormatError, DataError), match=message):
        made("cross_encoder", graph(tmp_path / "net", **values))


def test_a_graph_on_a_device_that_is_not_there(tmp_path: Path) -> None:
    folder = graph(tmp_path / "net")
    for device in ("gpu", "cuda:x", "cpu:x"):
        with pytest.raises(UnavailableError, match=f"ONNX Runtime has no device '{device}' here"):
            made("dense", folder, pooling="mean", device=device)


def test_a_length_that_a_graph_does_not_read_is_one_error(tmp_path: Path) -> None:
    folder = graph(tmp_path / "net")
    (folder / "tokenizer.json").write_text(json.dumps({"version": "1.0"}))
    with pytest.raises(FormatError, match=r"tokenizer\.json cannot be read"):
        made("dense", folder, pooling="mean")
    (folder / "tokenizer.json").unlink()
    with pytest.raises(Exception, match=r"there is no tokenizer\.json"):
        made("dense", folder, pooling="mean")
    with pytest.raises(UsageError, match="has its precision in its file"):
        made("dense", graph(tmp_path / "other"), pooling="mean", precision="float16")


def test_a_model_of_no_vectors_of_texts(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the extra `dense` is not installed")
    folder = cross_encoder_folder(tmp_path / "net", labels=3)
    with pytest.raises(FormatError, match="gives 3 numbers a pair"):
        made("cross_encoder", folder)
    with pytest.raises(UsageError, match="run_code names 'a/b'"):
        made("dense", folder, encoder="sentence_transformers('a/b')")
    assert Dense(str(folder)).recipe(queries=False).opening.encoder.name == "sentence_transformers"
