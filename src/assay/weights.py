"""Weights: where a model's files lie, what pins them, what opens them, and what makes vectors with them."""

from __future__ import annotations

import re
from hashlib import file_digest, sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from assay import catalog
from assay.call import parts_within
from assay.download import hub_commit, hub_model
from assay.embeddings import Recipe
from assay.encoder import Encoder, Opening, Reading, Weights, read_json
from assay.errors import FileError, UnavailableError, UsageError
from assay.preset import TASK

PACKAGED = "package:"
"""A model that a Python package holds is named by this and the package's import name."""

_COMMIT = re.compile("[0-9a-f]{40}")
_MARKS = ("modules.json", "config.json", "model.onnx", "onnx/model.onnx")


def weights_of(model: str, *, revision: str = "", offline: bool = False, exports: tuple[str, ...] = ()) -> Weights:
    """The files of a model: a folder, `package:NAME`, or a hub id at a revision.

    Args:
        model: What it is called.
        revision: Commit, tag or branch of a hub id; what is stored is the commit.
        offline: Whether the cache alone is looked at; the variable HF_HUB_OFFLINE does the same.
        exports: Patterns of files that a hub holds in place of PyTorch's weights, where those are wanted.

    Raises:
        UnavailableError: The hub or its cache has no such model or revision, the package is not installed, or there is
            no such folder.
        FileError: The folder holds no files.
        UsageError: A folder or package has no revision.
    """
    if model.startswith(PACKAGED):
        folder = _package_folder(model)
    elif Path(model).is_dir():
        folder = Path(model)
    elif model.startswith((".", "/", "~")) or model.count("/") != 1:
        raise UnavailableError(f"there is no folder {model!r}; name one, a hub id OWNER/NAME, or package:NAME")
    else:
        folder, commit = hub_model(model, revision=revision or "main", offline=offline, exports=exports)
        return Weights(model, folder, commit)
    if revision:
        raise UsageError(f"{model} is no model of the hub and has no revision {revision!r}; leave it out")
    if not any(path.is_file() for path in folder.iterdir()):
        raise FileError(f"{model}: {folder} holds no files; name the folder of a model")
    return Weights(model, folder, _digest(folder))


def identity_of(model: str, *, revision: str = "", offline: bool = False) -> str:
    """What pins the files of a model, as in `weights_of`; of a hub's model no file is fetched, and a commit is itself.

    Raises:
        UnavailableError, FileError, UsageError: As `weights_of`.
    """
    if model.startswith((PACKAGED, ".", "/", "~")) or Path(model).is_dir() or model.count("/") != 1:
        return weights_of(model, revision=revision).identity
    if _COMMIT.fullmatch(revision):
        return revision
    return hub_commit(f"models/{model}", revision=revision or "main", offline=offline).id


def identities_of(system: Any) -> dict[str, str]:
    """What pins the models of a system and its parts, by the name of each; empty for systems without models.

    A part names a model in a field `model` beside a field `revision`, and one for queries alone in `query_model`.

    Raises:
        UnavailableError, FileError, UsageError: As `weights_of`.

    Example:
        >>> from assay.retrieval.bm25 import BM25
        >>> identities_of(BM25())
        {}
    """
    found = {}
    for part in parts_within(system):
        for name, pin in (("model", "revision"), ("query_model", "query_revision")):
            model, revision = getattr(part, name, ""), getattr(part, pin, None)
            if isinstance(model, str) and model and isinstance(revision, str):
                found[model] = identity_of(model, revision=revision)
    return found


def exports_of(kind: str, call: str) -> tuple[str, ...]:
    """Which files of a hub's model an encoder of a kind wants in place of PyTorch's weights; none for most."""
    return tuple(getattr(catalog.made(kind, call), "exports", ())) if call else ()


def encoder_of(call: str, folder: Path) -> Encoder:
    """The encoder written as a call, or the first that opens a folder's files.

    Raises:
        UnknownNameError: There is no such encoder.
        UsageError: No encoder opens these files.
    """
    if call:
        return cast(Encoder, catalog.made("encoder", call))
    for name in catalog.known("encoder"):
        made = cast(Encoder, catalog.made("encoder", name))
        if made.opens(folder):
            return made
    raise UsageError(
        f"no encoder opens the files in {folder}; they are {', '.join(sorted(p.name for p in folder.iterdir())[:12])}."
        f" Known encoders: {', '.join(catalog.known('encoder'))}"
    )


def vector_recipe(
    system: Any,
    reading: Reading,
    *,
    queries: bool,
    query_model: tuple[str, str] = ("", ""),
    weights: Weights | None = None,
) -> Recipe:
    """What makes the vectors of queries, or of passages, of a system over a model.

    Args:
        system: Has the fields `model`, `revision`, `encoder`, `query_prompt`, `passage_prompt`, `task`, `batch` and
            `device`.
        reading: How the model reads.
        queries: Whether of queries.
        query_model: Another model for queries, and its revision; empty for the same one.
        weights: The model's files, pinned, where they are known.

    Raises:
        UnavailableError: The model or its revision cannot be had.
        FileError: The folder holds no files.
    """
    model, revision = query_model if queries and query_model[0] else (system.model, system.revision)
    fresh = weights is None or model != system.model
    if weights is None or fresh:
        weights = weights_of(model, revision=revision, exports=exports_of("encoder", system.encoder))
    encoder = encoder_of(system.encoder, weights.folder)
    pinned = getattr(encoder, "pinned", None)
    if fresh and pinned is not None:
        weights = pinned(weights)
    given, own = (system.query_prompt if queries else system.passage_prompt), own_prompts(weights.folder)
    prompt = own[0 if queries else 1] if given is None else given.replace(TASK, system.task)
    return Recipe(Opening(encoder, weights, reading, system.device), prompt, system.batch)


def own_reading(folder: Path) -> Reading:
    """How a model is read, as the files of Sentence Transformers in its folder say; empty where they do not."""
    modules = [own for own in read_json(folder / "modules.json") or () if isinstance(own, dict)]
    pooling = ""
    for module in modules:
        if str(module.get("type", "")).endswith("Pooling"):
            said = read_json(folder / str(module.get("path", "")) / "config.json") or {}
            modes = [mode for flag, mode in _POOLINGS.items() if said.get(flag)]
            pooling = str(said.get("pooling_mode") or (modes[0] if len(modes) == 1 else ""))
    tokenizer = read_json(folder / "tokenizer_config.json") or {}
    longest = (read_json(folder / "sentence_bert_config.json") or {}).get("max_seq_length")
    longest = longest or tokenizer.get("model_max_length")
    normalises = any(str(module.get("type", "")).endswith("Normalize") for module in modules)
    return Reading(
        {"lasttoken": "last"}.get(pooling, pooling),
        str(tokenizer.get("padding_side", "")),
        int(longest) if isinstance(longest, int | float) and 0 < longest < _NO_LIMIT else 0,
        normalises if modules else None,
    )


def own_prompts(folder: Path) -> tuple[str, str]:
    """What a model's own files put before queries and before passages; mostly nothing."""
    said = read_json(folder / "config_sentence_transformers.json")
    prompts = said.get("prompts") if isinstance(said, dict) else None
    if not isinstance(prompts, dict):
        return "", ""
    default = prompts.get(said.get("default_prompt_name") or "", "")
    first = (prompts.get(name) for name in ("document", "passage", "corpus"))
    passage = next((own for own in first if own is not None), default)
    return str(prompts.get("query") or default or ""), str(passage or "")


_POOLINGS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_lasttoken": "last",
    "pooling_mode_max_tokens": "max",
}
_NO_LIMIT = 1 << 24
"""Tokenizers write a number beyond all bounds where nobody said how much is read."""


def _package_folder(model: str) -> Path:
    name = model.removeprefix(PACKAGED)
    found = find_spec(name) if name.isidentifier() else None
    if found is None or not found.submodule_search_locations:
        raise UnavailableError(f"{model}: no package {name!r} is installed; install it with pip")
    root = Path(next(iter(found.submodule_search_locations)))
    places = [root, *sorted(path for path in root.iterdir() if path.is_dir() and not path.name.startswith(("_", ".")))]
    return next((place for place in places if any((place / mark).is_file() for mark in _MARKS)), root)


def _digest(folder: Path) -> str:
    """SHA-256 over names and contents of a folder's files; compiled code, notes and hidden files are left out."""
    whole = sha256()
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    for path in files:
        name = path.relative_to(folder).as_posix()
        if path.suffix in (".pyc", ".md") or any(
            part.startswith(".") or part == "__pycache__" for part in name.split("/")
        ):
            continue
        with path.open("rb") as stream:
            whole.update(f"{name} {file_digest(stream, 'sha256').hexdigest()}\n".encode())
    return whole.hexdigest()
