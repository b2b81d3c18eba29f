"""Presets that a model's folder holds: read by `dense`, refused with a clear word where they are broken."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.encoder import Reading
from assay.errors import FormatError
from assay.preset import PRESETS, STORED, Preset, preset_of, preset_text
from assay.retrieval.dense import Dense
from assay.system import spec_of

OWN = Preset(
    32,
    Reading("cls", "left", 77, False),
    "made here",
    "MIT",
    query_prompt="Instruct: {task}\nQ: ",
    passage_prompt="P: ",
    task="find it",
)


@pytest.mark.parametrize("preset", [OWN, *PRESETS.values()])
def test_a_preset_comes_back_from_its_folder(preset: Preset, tmp_path: Path) -> None:
    (tmp_path / STORED).write_text(preset_text(preset), encoding="utf-8")
    assert preset_of(str(tmp_path)) == preset


def test_dense_reads_a_folder_as_its_preset_says(tmp_path: Path) -> None:
    (tmp_path / STORED).write_text(preset_text(OWN), encoding="utf-8")
    spec = spec_of(Dense(str(tmp_path)))
    wanted = {"query_prompt": OWN.query_prompt, "passage_prompt": "P: ", "task": "find it", "pooling": "cls"}
    wanted |= {"padding": "left", "longest": 77, "normalise": False}
    assert {name: spec[name] for name in wanted} == wanted
    # What a call says goes before.
    assert Dense(str(tmp_path), "else", longest=5, passage_prompt="").longest == 5
    assert Dense(str(tmp_path), "else").task == "else"
    assert preset_of(str(tmp_path / "none")) is None


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda p: "{", "cannot be read as JSON"),
        (lambda p: "[]", "a preset with a reading is due"),
        (lambda p: {**p, "reading": None}, "a preset with a reading is due"),
        (lambda p: {**p, "pooling": "cls"}, r"preset\.pooling is not known"),
        (lambda p: {**p, "dimensions": "32"}, r"preset\.dimensions is '32'; int is due"),
        (lambda p: {**p, "task": 1}, r"preset\.task is 1; str is due"),
        (lambda p: {**p, "reading": {"longest": True}}, r"preset\.reading\.longest is True"),
        (lambda p: {k: v for k, v in p.items() if k != "source"}, "lacks source"),
    ],
)
def test_a_broken_preset_is_one_clear_error(change: Any, says: str, tmp_path: Path) -> None:
    made = change(json.loads(preset_text(replace(OWN)))["preset"])
    (tmp_path / STORED).write_text(made if isinstance(made, str) else json.dumps({"preset": made}))
    with pytest.raises(FormatError, match=says):
        Dense(str(tmp_path))
