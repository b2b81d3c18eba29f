"""Check: whether a card tells the truth about the files beside it.

The files are read directly and no cache takes part, so an edited file is seen as it is now. Cards written by hand are
checked as well; what only a folder of `publish` has is skipped for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import unified_diff
from pathlib import Path
from typing import Any

from assay import __version__
from assay.audit import Finding
from assay.errors import AssayError, FileError
from assay.formats import front_matter, json_types, jsonl, parquet, shards
from assay.formats.folders import MANIFEST
from assay.formats.json_types import Held
from assay.formats.parquet import Stored
from assay.publishing import question_card, question_level
from assay.publishing.card import feature, size_category
from assay.publishing.chunk_level import LAYOUT, card_of
from assay.publishing.figures import figures_of
from assay.publishing.files import CARD, SUMS, configs_of, read_sums, refuse_split, sums_of
from assay.publishing.json_configs import declared_types, is_id_or_day, read_as_times, wrong_types
from assay.publishing.question_tables import DATA, in_no_config
from assay.sources import chunk_level, parlir

AGAIN = "the card is generated from the files: publish again, and never edit its numbers"
_TEXTS = ("language", "license", "license_name", "tags", "task_categories", "pretty_name", "revision", "source")


@dataclass(frozen=True)
class _Promised:
    """What a card says of one config, and what its files hold, by split."""

    name: str
    files: dict[str, list[Path]]
    held: dict[str, list[Stored | Held]]
    info: Mapping[str, Any]
    faults: list[str] = field(default_factory=list)

    def rows(self, split: str) -> int:
        """Rows that the files of a split hold."""
        return sum(held.rows for held in self.held[split])

    @property
    def said(self) -> dict[str, Mapping[str, Any]]:
        """What the card says of each split."""
        return {str(s["name"]): s for s in _maps(self.info.get("splits")) if "name" in s}


def check(folder: Path) -> list[Finding]:
    """What a card gets wrong about its folder; every check says something.

    Checked are the front matter's texts, configs, row counts, types and sizes, the list of sums, and, where `publish`
    wrote the folder, every line of the card.

    Raises:
        FileError: There is no such folder.
    """
    if not folder.is_dir():
        raise FileError(f"there is no folder {folder}; check the path")
    try:
        front, _ = front_matter.read(folder / CARD)
        promised = list(_promised(folder, front))
    except AssayError as err:
        return [_unreadable("card/readable", err)]
    return [
        _texts(front),
        _files(folder, promised),
        _told("card/rows", lambda: _rows(promised)),
        _types(promised),
        _times(promised),
        _told("card/sizes", lambda: _sizes(front, promised)),
        _told("card/sums", lambda: _sums(folder)),
        _told("card/text", lambda: _card(folder)),
    ]


def _told(check_: str, look: Callable[[], Finding]) -> Finding:
    """What a look finds, or what kept it from looking."""
    try:
        return look()
    except AssayError as err:
        return _unreadable(check_, err)


def _unreadable(check_: str, err: AssayError) -> Finding:
    return _fault(check_, [str(err)], expected="a card and files that can be read", advice=AGAIN)


def _maps(value: Any) -> list[Mapping[str, Any]]:
    """The mappings in a value of a card: those of a list, or the one that it is."""
    items = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, Mapping)]


def _fault(check_: str, wrong: list[str], *, expected: str, found: str = "", advice: str = "") -> Finding:
    said = found or (f"{len(wrong)} wrong" if wrong else "all of them")
    return Finding.of(
        check_, len(wrong), verdict="error", expected=expected, found=said, offenders=wrong, advice=advice
    )


def _promised(folder: Path, front: Mapping[str, Any]) -> Iterator[_Promised]:
    infos = _maps(front.get("dataset_info"))
    by_name = {str(info.get("config_name", "default")): info for info in infos}
    alone = infos[0] if len(infos) == 1 and "config_name" not in infos[0] else {}
    for config in _maps(front.get("configs")):
        name = str(config.get("config_name", "default"))
        files: dict[str, list[Path]] = {}
        faults: list[str] = []
        for split, patterns in _data_files(config.get("data_files")):
            files[split] = []
            for pattern in patterns:
                found = _matching(folder, pattern)
                files[split] += found
                if not found:
                    faults.append(f"{name}/{split}: no file is called {pattern}")
            try:
                refuse_split(split)
            except AssayError as err:
                faults.append(f"{name}/{split}: {err}")
        held = {split: [_held(file) for file in found] for split, found in files.items()}
        yield _Promised(name, files, held, by_name.get(name, alone), faults)


def _data_files(given: Any) -> Iterator[tuple[str, list[str]]]:
    """Splits and their patterns, in every form that a card may have them; files without a split are `train`."""
    plain = [item for item in (given if isinstance(given, list) else [given]) if isinstance(item, str)]
    if plain:
        yield "train", plain
    for item in _maps(given):
        path = item.get("path")
        yield str(item.get("split", "train")), [str(one) for one in (path if isinstance(path, list) else [path])]


def _matching(folder: Path, pattern: str) -> list[Path]:
    if Path(pattern).is_absolute() or ".." in Path(pattern).parts:
        return []
    return sorted(path for path in folder.glob(pattern) if path.is_file())


def _held(file: Path) -> Stored | Held:
    return parquet.described(file) if file.suffix == ".parquet" else json_types.held(file)


def _texts(front: Mapping[str, Any]) -> Finding:
    wrong = []
    for name in _TEXTS:
        value = front.get(name)
        wrong += [
            f"{name} reads as {item!r} ({type(item).__name__}), not as text"
            for item in (value if isinstance(value, list) else [value])
            if item is not None and not isinstance(item, str)
        ]
    missing = [name for name in ("language", "license") if not front.get(name)]
    missing += [name for name in ("configs", "dataset_info") if not _maps(front.get(name))]
    if missing and not wrong:
        return Finding.of(
            "card/texts",
            len(missing),
            verdict="warning",
            expected="language, licence, configs and dataset_info",
            found=f"{', '.join(missing)} not stated",
            advice="give --language and --licence, or name them in --about",
        )
    return _fault("card/texts", wrong, expected="texts that read as texts", advice="quote them: 'no', '2176502'")


def _files(folder: Path, promised: list[_Promised]) -> Finding:
    wrong = [fault for config in promised for fault in config.faults]
    named = {file for config in promised for found in config.files.values() for file in found}
    there = [path for path in sorted(folder.rglob("*")) if path.is_file() and shards.suffix_of(path)]
    beside = _manifest(folder).get("layout") == question_level.LAYOUT
    loose = [path.relative_to(folder).as_posix() for path in there if path not in named]
    wrong += [f"{name} is in no config" for name in loose if not (beside and in_no_config(name))]
    return _fault(
        "card/files",
        wrong,
        expected="every table in a config, every config's files there",
        found=f"{len(named)} files in {len(promised)} configs" + (f", {len(wrong)} faults" if wrong else ""),
        advice=AGAIN,
    )


def _rows(promised: list[_Promised]) -> Finding:
    wrong = []
    for config in promised:
        said = config.said
        for split in config.files:
            rows = config.rows(split)
            if split not in said:
                wrong.append(f"card says nothing of {config.name}/{split}, files have {rows} rows")
            elif said[split].get("num_examples") != rows:
                told = said[split].get("num_examples")
                wrong.append(f"card says {told} rows for {config.name}/{split}, files have {rows}")
        wrong += [f"card tells of {config.name}/{s}, which no config has" for s in said if s not in config.files]
    return _fault("card/rows", wrong, expected="num_examples as the files have them", advice=AGAIN)


def _types(promised: list[_Promised]) -> Finding:
    wrong: list[str] = []
    for config in promised:
        said = _features(config)
        for split, found in config.held.items():
            for file, one in zip(config.files[split], found, strict=True):
                if isinstance(one, Held):
                    wrong += wrong_types(f"{config.name}/{file.name}", one, declared_types(said))
                    continue
                there = [feature(name, kind) for name, kind in one.columns.items()]
                wrong += [
                    f"{config.name}/{file.name}: column {f['name']} holds {one.columns[f['name']]}, the card says"
                    f" {_said_of(f['name'], said)}"
                    for f in there
                    if f not in said
                ]
                names = {f["name"] for f in there}
                wrong += [f"{config.name}/{file.name}: no column {f['name']}" for f in said if f["name"] not in names]
                wrong += [
                    f"{config.name}/{file.name}: column {name} holds {kind}; ids and dates are text"
                    for name, kind in one.columns.items()
                    if is_id_or_day(name) and kind not in ("string", "large_string")
                ]
    return _fault("card/types", wrong, expected="features as in the files, ids and dates as string", advice=AGAIN)


def _times(promised: list[_Promised]) -> Finding:
    """Days in JSON Lines that are declared as text and still come back with a time of day."""
    expected = "no text that readers take for a point in time"
    found = [
        told
        for config in promised
        for split, held in config.held.items()
        for file, one in zip(config.files[split], held, strict=True)
        if isinstance(one, Held)
        for told in read_as_times(f"{config.name}/{file.name}", one, declared_types(_features(config)))
    ]
    return Finding.of(
        "card/times",
        len(found),
        verdict="warning",
        expected=expected,
        found=f"{len(found)} columns" if found else "none",
        offenders=found,
        advice="`datasets` gives 2024-01-02 00:00:00 for the text 2024-01-02 in JSON Lines; publish as Parquet",
    )


def _features(config: _Promised) -> list[dict[str, Any]]:
    return [dict(one) for one in _maps(config.info.get("features")) if "name" in one]


def _said_of(name: str, said: list[dict[str, Any]]) -> str:
    found = next((f for f in said if f.get("name") == name), None)
    if found is None:
        return "nothing of it"
    return f"list<{found['list']}>" if "list" in found else str(found.get("dtype", found.get("sequence")))


def _sizes(front: Mapping[str, Any], promised: list[_Promised]) -> Finding:
    wrong = []
    rows = 0
    for config in promised:
        rows += sum(config.rows(split) for split in config.files)
        stored = sum(file.stat().st_size for found in config.files.values() for file in found)
        size = 0
        for split, found in config.held.items():
            stored_ones = [one for one in found if isinstance(one, Stored)]
            mine = sum(one.size for one in stored_ones)
            size += mine
            told = config.said.get(split, {}).get("num_bytes")
            if told is not None and len(stored_ones) == len(found) and told != mine:
                wrong.append(f"card says {told} bytes for {config.name}/{split}, files have {mine}")
        known = all(isinstance(one, Stored) for found in config.held.values() for one in found)
        for name, there in (("download_size", stored), ("dataset_size", size)):
            told = config.info.get(name)
            if told is not None and told != there and (known or name == "download_size"):
                wrong.append(f"card says {name} {told} for {config.name}, files have {there}")
    told = front.get("size_categories")
    if told and size_category(rows) not in (told if isinstance(told, list) else [told]):
        wrong.append(f"card says size_categories {told}, files have {rows} rows")
    return _fault("card/sizes", wrong, expected="sizes as the files have them", advice=AGAIN)


def _sums(folder: Path) -> Finding:
    expected = "the SHA-256 of every file"
    if not (folder / SUMS).is_file():
        return Finding.skipped("card/sums", f"there is no {SUMS}", expected=expected)
    said, there = read_sums(folder), sums_of(folder)
    wrong = [f"{name} is not there" for name in said if name not in there]
    wrong += [f"{name} is not in {SUMS}" for name in there if name not in said]
    wrong += [f"{name} was changed" for name in there if name in said and said[name] != there[name]]
    found = f"{len(said)} files" + (f", {len(wrong)} differ" if wrong else "")
    return _fault("card/sums", wrong, expected=expected, found=found, advice="publish again, or fetch the files again")


def _manifest(folder: Path) -> dict[str, Any]:
    return jsonl.read_object(folder / MANIFEST) if (folder / MANIFEST).is_file() else {}


def _chunk_card(folder: Path) -> str:
    opened = chunk_level.load(folder)
    return card_of(opened, configs_of(folder), figures_of(opened))


def _question_card(folder: Path) -> str:
    return question_card.card_of(parlir.load(folder), configs_of(folder, below=DATA))


_CARDS: Mapping[str, Callable[[Path], str]] = {LAYOUT: _chunk_card, question_level.LAYOUT: _question_card}


def _card(folder: Path) -> Finding:
    expected = "the card that the files give"
    manifest = _manifest(folder)
    write = _CARDS.get(str(manifest.get("layout")))
    if write is None or "about" not in manifest:
        return Finding.skipped("card/text", f"no {MANIFEST} of a published folder", expected=expected)
    given = write(folder).splitlines()
    written = (folder / CARD).read_text("utf-8").splitlines()
    changed = [line for line in unified_diff(given, written, lineterm="", n=0) if line[:1] in "+-"][2:]
    wrong = [f"{'card' if line[0] == '+' else 'files'}: {line[1:].strip()}" for line in changed if line[1:].strip()]
    by = str(manifest.get("assay"))
    same = by == __version__
    return Finding.of(
        "card/text",
        len(wrong),
        verdict="error" if same else "note",
        expected=expected,
        found=f"{len(written)} lines" + (f", {len(wrong)} of the card or the files differ" if wrong else ""),
        offenders=wrong,
        advice=AGAIN
        if same
        else f"written by assay {manifest.get('assay')}, looked at by {__version__}: publish again",
    )
