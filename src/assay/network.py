"""Networks: models opened with PyTorch, on which device, and what of their files is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from assay.encoder import Reading, Weights, first_line, needed, read_json
from assay.errors import FileError, FormatError, UnavailableError, UsageError


def opened_torch(
    weights: Weights,
    reading: Reading,
    device: str,
    *,
    run_code: str = "",
    make: Callable[[Any], Callable[..., Any]] = lambda library: library.SentenceTransformer,
    what: str = "model",
    options: Mapping[str, Any] | None = None,
) -> Any:
    """A model of Sentence Transformers on a device, ready to be computed with.

    Args:
        weights: Its files.
        reading: Its precision is what is computed in.
        device: Where; empty for the best one that there is.
        run_code: The model's name again, where its own Python code may be run.
        make: The library's class for models of this kind.
        what: What such a model is called, for messages.
        options: What the class is handed besides.

    Raises:
        UnavailableError: The library is not installed, or there is no such device.
        FileError: There is no tokenizer beside the weights.
        FormatError: The files are no such model.
        UsageError: `run_code` names another model, or none where the model has code of its own.
    """
    if run_code not in ("", weights.model):
        raise UsageError(
            f"run_code names {run_code!r}, the model is {weights.model!r}; code is run for the model that is named, and"
            " for no other"
        )
    torch, library = needed("torch", "dense"), needed("sentence_transformers", "dense")
    place = torch_device(device)
    precision = {"float16": torch.float16, "bfloat16": torch.bfloat16}.get(reading.precision, torch.float32)
    if not run_code:
        refuse_code(weights)
        refuse_no_tokenizer(weights)
    with quiet_loading():
        try:
            model = make(library)(
                str(weights.folder),
                device=place,
                trust_remote_code=bool(run_code),
                local_files_only=True,
                model_kwargs={"dtype": precision},
                **(options or {}),
            )
        except Exception as err:  # noqa: BLE001 - errors of the libraries below share no base class
            raise FormatError(
                f"{weights.model}: {weights.folder} is no {what} that can be read ({first_line(err)})"
            ) from None
    return model.eval()


def refuse_code(weights: Weights) -> None:
    """Raises UsageError where a model's files name Python code of their own, which its loading could run.

    The libraries look at such names at different moments and have not always asked before they ran what they found.
    """
    named = [
        *(("auto_map", str(own)) for file in CONFIGURATIONS for own in _entries(weights.folder / file, "auto_map")),
        *(("type", own) for own in _module_types(weights.folder) if not own.startswith("sentence_transformers.")),
    ]
    for path in sorted(weights.folder.glob("**/*config.json")):
        for name, library in IMPORTED.items():
            # Without a dot it is one of the library's own words, such as relu.
            other = [own for own in _entries(path, name) if "." in own and not own.startswith(library)]
            named += [(path.relative_to(weights.folder).as_posix(), own) for own in other]
    if named:
        where, code = named[0]
        raise UsageError(
            f"{weights.model} names code of its own ({where}: {code[:80]}), and code that comes with a model is not"
            f" run. To run it, name the model again: encoder=\"sentence_transformers('{weights.model}')\""
        )


IMPORTED = {
    "types": "sentence_transformers.",
    "activation_function": "torch.nn.",
    "activation_fn": "torch.nn.",
    "sbert_ce_default_activation_function": "torch.nn.",
}
"""What configurations name for Sentence Transformers to import, and what it may begin with."""
CONFIGURATIONS = ("config.json", "tokenizer_config.json", "processor_config.json", "preprocessor_config.json")


def _module_types(folder: Path) -> list[str]:
    listed = read_json(folder / "modules.json")
    return [str(own.get("type", "")) for own in listed if isinstance(own, dict)] if isinstance(listed, list) else []


def _entries(path: Path, name: str) -> list[str]:
    """What a JSON file says under a name, or under it in the part of Sentence Transformers, as texts."""
    found = read_json(path)
    parts = [found, found.get("sentence_transformers")] if isinstance(found, dict) else []
    said = [part.get(name) for part in parts if isinstance(part, dict)]
    values = [own for value in said for own in (value.values() if isinstance(value, dict) else [value])]
    return [str(own) for own in values if own]


def refuse_no_tokenizer(weights: Weights) -> None:
    """Raises FileError where a model's files have no tokenizer: the libraries would make one up that knows no word."""
    files = {path.name for path in weights.folder.rglob("*") if path.is_file()}
    if not any(name in TOKENIZERS or name.endswith((".model", ".tiktoken")) for name in files):
        raise FileError(
            f"{weights.model}: there is no tokenizer in {weights.folder}: none of {', '.join(TOKENIZERS)} and no file"
            " that ends in .model; fetch the model again, or put its tokenizer there"
        )


TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json")


def refuse_unfitted(weights: Weights, model: Any, *, use: str) -> None:
    """Raises FormatError where a matrix of the model's head is not in its files: chance would fill it with numbers.

    Args:
        weights: The model's files.
        model: What was opened from them.
        use: What its head is for, and what to do instead, for the message.
    """
    network = next((own for own in model.modules() if getattr(own, "base_model_prefix", "")), None)
    if network is None:
        return
    base = f"{network.base_model_prefix}."
    head = [name for name, own in network.named_parameters() if own.dim() > 1 and not name.startswith(base)]
    there = set(_tensors(weights.folder))
    missing = [name for name in head if name not in there]
    if there and missing:
        raise FormatError(f"{weights.model} has no {missing[0]} in its files: {use}")


def _tensors(folder: Path) -> Iterator[str]:
    """The names of all that a model's files of weights hold; pickled ones are read where there are no others."""
    safe = sorted(folder.rglob("*.safetensors"))
    for path in safe:
        with needed("safetensors", "dense").safe_open(path, framework="pt") as held:
            yield from held.keys()
    for path in [] if safe else sorted(folder.rglob("pytorch_model*.bin")):
        yield from needed("torch", "dense").load(path, map_location="meta", weights_only=True)


def torch_device(device: str) -> str:
    """The device to compute on: the one asked for, else the best that there is.

    Raises:
        UnavailableError: The one asked for is not there.
    """
    torch = needed("torch", "dense")
    if not device:
        return "cuda" if torch.cuda.is_available() else "cpu"
    kind, colon, number = device.partition(":")
    count = {"cpu": 1, "cuda": torch.cuda.device_count(), "mps": int(torch.backends.mps.is_available())}.get(kind, 0)
    if (colon and not number.isdigit()) or count <= int(number or 0):
        raise UnavailableError(f"there is no device {device!r} on this machine; leave it out, or give device='cpu'")
    return device


@contextmanager
def quiet_loading() -> Iterator[None]:
    """A block in which Transformers and Sentence Transformers show no bars and warn of nothing that is no fault."""
    import logging

    library = logging.getLogger("sentence_transformers")
    own = library.level
    library.setLevel(logging.ERROR)

    utils = needed("transformers.utils.logging", "dense")
    level, bars = utils.get_verbosity(), utils.is_progress_bar_enabled()
    utils.set_verbosity(logging.ERROR)
    utils.disable_progress_bar()
    try:
        yield
    finally:
        library.setLevel(own)
        utils.set_verbosity(level)
        if bars:
            utils.enable_progress_bar()
