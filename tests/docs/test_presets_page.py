"""The page of presets says what the presets say. `python tests/docs/test_presets_page.py > docs/presets.md` writes it."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from assay.encoder import Reading
from assay.preset import PRESETS, Preset

PAGE = Path(__file__).resolve().parents[2] / "docs" / "presets.md"
BEFORE = """# Presets

How well-known models are read where a call of [`dense(…)`](dense.md) does not say otherwise. Facts are those of the models' cards and
files; where the files of a model are at hand, a test compares them. A model that is not listed is read as its own files say.
[`learned_sparse(…)`](reranking.md) takes the commit from here, and nothing else; a prompt of a model's own files is put before texts
where there is no preset.

| model | dimensions | pooling | padding | tokens | normalised | licence |
|---|---|---|---|---|---|---|
"""
BETWEEN = """
What goes before texts, which commit is read where no other is named, and where all this is from:

"""
AFTER = """
`⏎` stands for the end of a line. `{task}` is where `task='…'` goes. Blanks at the end of a prompt are part of it. What is not
pinned here is read at `main`; a result shows the commit that it was, to be named as `revision`.
"""


def row(name: str, preset: Preset) -> str:
    read = preset.reading
    normalised = {True: "yes", False: "no", None: "by itself"}[read.normalise]
    cells = (read.pooling or "its own", read.padding or "–", read.longest or "all", normalised, preset.licence)
    return f"| `{name}` | {preset.dimensions} | {' | '.join(map(str, cells))} |\n"


def line(name: str, preset: Preset) -> str:
    def shown(prompt: str) -> str:
        return "`" + prompt.replace("\n", "⏎") + "`" if prompt else "nothing"

    parts = [f"before queries {shown(preset.query_prompt)}, before passages {shown(preset.passage_prompt)}"]
    parts += [f"the task is `{preset.task}` by default"] if preset.task else []
    parts += [f"queries are read by `{preset.query_model}`"] if preset.query_model else []
    if not name.startswith("package:"):
        parts.append(f"commit `{preset.revision}`" if preset.revision else "not pinned")
    return f"* `{name}`: {'; '.join(parts)}. Source: {preset.source}\n"


def page() -> str:
    table = "".join(row(name, preset) for name, preset in PRESETS.items())
    return BEFORE + table + BETWEEN + "".join(line(name, preset) for name, preset in PRESETS.items()) + AFTER


def test_the_page_is_that_of_the_presets() -> None:
    assert PAGE.read_text("utf-8") == page()


OTHER: dict[str, Any] = {
    "dimensions": 7,
    "source": "another",
    "licence": "another",
    "revision": "another",
    "query_prompt": "another: ",
    "passage_prompt": "another: ",
    "task": "another",
    "query_model": "another/model",
}


def test_other_fields_are_those_of_a_preset() -> None:
    assert OTHER.keys() == {one.name for one in fields(Preset)} - {"reading"}


@pytest.mark.parametrize("name", OTHER)
def test_every_field_of_a_preset_shows(name: str) -> None:
    for model, preset in PRESETS.items():
        if name == "revision" and model.startswith("package:"):
            continue
        other = replace(preset, **{name: OTHER[name]})
        assert (row(model, other), line(model, other)) != (row(model, preset), line(model, preset))


def test_every_field_of_a_reading_shows_but_the_precision() -> None:
    preset = PRESETS["BAAI/bge-m3"]
    changes: dict[str, Any] = {"pooling": "last", "padding": "left", "longest": 7, "normalise": False}
    assert {one.name for one in fields(Reading)} == {*changes, "precision"}
    for change in changes.items():
        other = replace(preset, reading=replace(preset.reading, **dict([change])))
        assert row("a/b", other) != row("a/b", preset)
    assert {preset.reading.precision for preset in PRESETS.values()} == {"float32"}


def test_commits_are_whole() -> None:
    pinned = [preset.revision for preset in PRESETS.values() if preset.revision]
    assert all(len(commit) == 40 and set(commit) <= set("0123456789abcdef") for commit in pinned)
    assert [name for name, preset in PRESETS.items() if not preset.revision and not name.startswith("package:")] == [
        "facebook/dragon-plus-context-encoder"
    ]


if __name__ == "__main__":
    print(page(), end="")
