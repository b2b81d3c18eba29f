"""Models of Transformers in ONNX form, written by PyTorch's own exporter: what tests and benchmarks compare with."""

from __future__ import annotations

import logging
import shutil
import warnings
from pathlib import Path
from typing import Any

from assay.network import quiet_loading

BESIDE = ("tokenizer.json", "tokenizer_config.json", "modules.json", "sentence_bert_config.json", "1_Pooling")
"""What of a model's folder says how it is read."""
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def onnx_form(model: Path, place: Path, *, kind: str = "AutoModel", gives: str = "last_hidden_state") -> Path:
    """A folder with a model as `model.onnx`, for any number of texts and tokens, beside its tokenizer.

    Args:
        model: The folder of the model.
        place: The folder to make.
        kind: The class of Transformers that opens it.
        gives: The one of its outputs that is wanted.
    """
    import torch
    import transformers

    class One(torch.nn.Module):
        """The model with one output, whose inputs are named in a fixed order."""

        def __init__(self, inner: Any) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any) -> Any:
            out = self.inner(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids)
            return getattr(out, gives)

    with quiet_loading():
        inner = getattr(transformers, kind).from_pretrained(model)
    read = transformers.AutoTokenizer.from_pretrained(model)(["a b c", "d"], padding=True, return_tensors="pt")
    place.mkdir()
    free = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    # It names operators of packages that are not installed and not needed.
    log = logging.getLogger("torch.onnx")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(
                One(inner).eval(),
                kwargs={name: read[name] for name in INPUTS},
                f=str(place / "model.onnx"),
                input_names=list(INPUTS),
                output_names=[gives],
                dynamic_shapes=dict.fromkeys(INPUTS, free),
                external_data=False,
                verbose=False,
            )
    finally:
        log.setLevel(level)
    for name in BESIDE:
        if (model / name).is_dir():
            shutil.copytree(model / name, place / name)
        elif (model / name).exists():
            shutil.copy(model / name, place / name)
    return place
