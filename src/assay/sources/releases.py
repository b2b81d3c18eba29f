"""Releases: what was published, by name, at its commit; each file and each count is compared before it is used.

`open_release("parlir@v1.0")` is a collection, `mapping_of("parlir@v1.0-textonly")` the mapping of a text-only export's
ids; `release_files("parlir@v1.0-evidence-r5")` lists files, and `release_file` fetches one of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any

from assay.collection import Collection
from assay.commits import Commit, cached_file
from assay.download import HubFiles, hub_commit, hub_file, hub_files, pinned_commit, room_for
from assay.errors import DataError, DigestError, FileError, FormatError, UnknownNameError, UsageError
from assay.formats import jsonl, shards
from assay.formats.files import copy_whole
from assay.formats.folders import MANIFEST
from assay.sources import open_collection
from assay.sources.parlir_releases import RELEASES, Kind, Release, figures_of

TABLES = ("corpus", "queries", "queries_xling", "equivalents", "precedent_meta")
"""Tables of a release in the question-level layout; each must be there."""

_SHA256 = re.compile(r"(?:sha256:)?([0-9a-fA-F]{64})")
_PATH = ("path", "name", "file")
_JUDGED = ("qrels/", "qrels_jsonl/")

Told = Callable[[str], None]


@dataclass(frozen=True)
class ReleaseFile:
    """A file of a release.

    Attributes:
        path: Below the release's folder.
        size: In bytes.
        sha256: As the hub lists it, or as it was when it was fetched; empty where neither is so.
        place: Where it lies in the cache, or where it was copied to; None before it is fetched.
    """

    path: str
    size: int
    sha256: str = ""
    place: Path | None = None


def release_of(name: str) -> Release:
    """The release of that name.

    Raises:
        UnknownNameError: There is none; near names are offered.

    Example:
        >>> release_of("parlir@v1.0").begins
        '574ebbdc6c66'
    """
    if name not in RELEASES:
        raise UnknownNameError.of("release", name, RELEASES)
    return RELEASES[name]


def release_commit(release: Release, *, offline: bool = False) -> Commit:
    """The commit of a release, found again in the cache or asked of the hub; never another one.

    Raises:
        DigestError: The tag leads to another commit now.
        UnavailableError: The hub cannot be reached or does not know it; offline, it was not fetched before.
    """
    return pinned_commit(release.repo, revision=release.tag, begins=release.begins, offline=offline)


def open_release(name: str, *, offline: bool = False, told: Told = lambda _: None) -> Collection:
    """The collection of a release: fetched if it is not in the cache, its digests and counts compared.

    Args:
        name: A name in `RELEASES`.
        offline: Whether to use the cache alone; the variable HF_HUB_OFFLINE does the same.
        told: Called with a line on what is being fetched.

    Raises:
        UnknownNameError: There is no such release.
        UsageError: It is no collection.
        FileError: The commit lacks a file that the release must have.
        DigestError: A file is not what the hub or the manifest says; or the tag was moved.
        DataError: A count is not that of the card; the message lists all of them.
        UnavailableError: As in `release_commit`; or the disk has no room.
    """
    release = release_of(name)
    if release.kind is Kind.FILES:
        raise UsageError(f"{name} is {release.kind.value}, and no collection: assay fetch {name} --list shows them")
    commit = release_commit(release, offline=offline)
    paths = _needed(release, commit)
    listed = _listed(release, commit, offline=offline)
    _refuse_lacking(release, commit, listed)
    room_for(commit, paths)
    fetched = _fetched(commit, paths, offline=offline, told=told)
    unlisted = _compared(release, fetched, listed)
    told(f"reading {name}")
    opened = open_collection(_folder(release, paths[0], fetched.files[paths[0]]))
    _refuse_other_counts(release, commit, opened)
    start = f"{release.folder}/"
    digests = {path.removeprefix(start): digest for path, digest in listed.items() if path.startswith(start)}
    counts = {
        f"files compared with {MANIFEST}": len(paths) - len(unlisted),
        f"files that {MANIFEST} does not list": len(unlisted),
        "counts compared with the card": len(release.counts),
    }
    return replace(
        opened,
        name=name,
        revision=commit.id,
        source=f"https://huggingface.co/datasets/{release.repo}",
        manifest={**opened.manifest, **({"files": digests} if digests else {})},
        counts={**opened.counts, **counts},
    )


def release_folder(name: str, *, offline: bool = False) -> Path:
    """The folder in the cache that holds the files of a release; only those that were fetched are in it.

    Raises:
        UnknownNameError, FileError, DigestError, UnavailableError: As in `open_release`.
    """
    release = release_of(name)
    commit = release_commit(release, offline=offline)
    path = _needed(release, commit)[0]
    return _folder(release, path, hub_file(commit.repo, path, revision=commit.id, offline=offline))


def mapping_of(name: str, *, offline: bool = False, told: Told = lambda _: None) -> dict[str, Path]:
    """The files of the mapping from a text-only release's ids to the original ones, by their names, fetched and proven.

    Opening the release does not fetch them.

    Raises:
        UsageError: The release has none.
        UnknownNameError, UnavailableError, DigestError: As in `open_release`.
    """
    release = release_of(name)
    if not release.mapping:
        having = ", ".join(known.name for known in RELEASES.values() if known.mapping)
        raise UsageError(f"{name} has no mapping of ids; {having} has one")
    commit = release_commit(release, offline=offline)
    paths = [path for path in sorted(commit.files) if path.startswith(f"{release.mapping}/")]
    if not paths:
        raise FileError(f"{release.repo}@{commit.id[:12]} has no file in {release.mapping}/, the mapping's place")
    listed = _listed(release, commit, offline=offline)
    room_for(commit, paths)
    fetched = _fetched(commit, paths, offline=offline, told=told)
    _compared(release, fetched, listed)
    return {path.removeprefix(f"{release.mapping}/"): place for path, place in fetched.files.items()}


def release_files(name: str, *, matching: str = "*", offline: bool = False) -> list[ReleaseFile]:
    """The files of a release, sorted by path; only the list is asked of the hub, and only once.

    Args:
        name: A name in `RELEASES`.
        matching: What paths must look like; `*` also spans folders.
        offline: As in `open_release`.

    Raises:
        UnknownNameError: There is no such release, or no such file; near names are offered.
        UnavailableError, DigestError: As in `release_commit`.
    """
    release = release_of(name)
    commit = release_commit(release, offline=offline)
    there = _within(release, commit)
    found = [path for path in there if fnmatchcase(path, matching)]
    if not found:
        raise UnknownNameError.of(f"file of {name}", matching, there)
    return [_about(release, commit, path) for path in found]


def release_file(
    name: str,
    path: str,
    *,
    out: Path | None = None,
    offline: bool = False,
    announced: Callable[[ReleaseFile], None] = lambda _: None,
) -> ReleaseFile:
    """One file of a release, fetched if it is not in the cache, and proven.

    Args:
        name: A name in `RELEASES`.
        path: Its path as `release_files` has it; with the release's folder in front too.
        out: Where to copy it; replaced whole or not at all. By default it stays in the cache.
        offline: As in `open_release`.
        announced: Called before the file is fetched, with what is known of it.

    Raises:
        UnknownNameError: There is no such release or file; near names are offered.
        DigestError: What came is not what the hub lists, or not what the release's manifest lists.
        UnavailableError: As in `release_commit`; or the disk has no room.
        FileError: `out` cannot be written.
    """
    release = release_of(name)
    commit = release_commit(release, offline=offline)
    path = path.removeprefix(f"{release.folder}/")
    there = _within(release, commit)
    if path not in there:
        raise UnknownNameError.of(f"file of {name}", path, there)
    full = f"{release.folder}/{path}"
    if room_for(commit, [full]):
        announced(_about(release, commit, path))
    place = hub_file(commit.repo, full, revision=commit.id, offline=offline)
    fetched = _about(release, hub_commit(commit.repo, revision=commit.id, offline=offline), path)
    listed = _listed(release, commit, offline=offline)
    _compared(release, HubFiles(commit.repo, commit.id, {full: place}, {full: fetched.sha256}), listed)
    if out is None:
        return fetched
    copy_whole(place, out)
    return replace(fetched, place=out)


def _about(release: Release, commit: Commit, path: str) -> ReleaseFile:
    full = f"{release.folder}/{path}"
    entry = commit.files[full]
    return ReleaseFile(path, entry.size, entry.sha256, cached_file(commit, full))


def _folder(release: Release, path: str, place: Path) -> Path:
    """The release's folder, from where one file of the repository lies."""
    return place.parents[len(PurePosixPath(path).parts) - 1] / release.folder


def _within(release: Release, commit: Commit) -> list[str]:
    """The paths of a release below its folder, sorted."""
    start = f"{release.folder}/"
    return sorted(path.removeprefix(start) for path in commit.files if path.startswith(start))


def _fetched(commit: Commit, paths: Iterable[str], *, offline: bool, told: Told) -> HubFiles:
    # Brackets and the like stand for themselves.
    patterns = [re.sub(r"([*?[])", r"[\1]", path) for path in paths]
    return hub_files(commit.repo, patterns, revision=commit.id, offline=offline, told=told)


def _listed(release: Release, commit: Commit, *, offline: bool) -> dict[str, str]:
    """SHA-256 by path in the repository, as the manifest in the release's folder or the nearest above lists them."""
    folder = PurePosixPath(release.folder)
    for place in (folder, *folder.parents):
        path = str(place / MANIFEST)
        if path in commit.files:
            manifest = jsonl.read_object(hub_file(commit.repo, path, revision=commit.id, offline=offline))
            # Names are those below the manifest, or those in the repository.
            return {
                name if PurePosixPath(name).parts[0] == folder.parts[0] else str(place / name): digest
                for name, digest in _digests(manifest, path).items()
            }
    return {}


def _digests(manifest: Mapping[str, Any], path: str) -> dict[str, str]:
    """SHA-256 by name, from `{name: digest}`, `{name: {"sha256": digest}}` or `[{"path": name, "sha256": digest}]`."""
    said = manifest.get("files", manifest.get("sha256", {}))
    if isinstance(said, Mapping):
        rows = [(name, row.get("sha256") if isinstance(row, Mapping) else row) for name, row in said.items()]
    elif isinstance(said, list) and all(isinstance(row, Mapping) for row in said):
        rows = [(next((row[key] for key in _PATH if key in row), None), row.get("sha256")) for row in said]
    else:
        raise FormatError(f'{path} $.files: expected an object of name to SHA-256, or a list of {{"path", "sha256"}}')
    found = {}
    for name, digest in rows:
        match = _SHA256.fullmatch(digest) if isinstance(digest, str) else None
        if not isinstance(name, str) or not name.strip("./") or (digest is not None and match is None):
            raise FormatError(f"{path} $.files: {name!r} has {digest!r}, which is no SHA-256 (64 hexadecimal digits)")
        if match:
            found[name.removeprefix("./")] = match[1].lower()
    return found


def _needed(release: Release, commit: Commit) -> list[str]:
    """The files that opening a release reads, as paths in the repository, sorted.

    Raises:
        FileError: A table, every judgement or the manifest is missing.
    """
    start = f"{release.folder}/"
    below = set(_within(release, commit))
    judged = {_stem(name): name for name in sorted(below, reverse=True) if name.startswith(_JUDGED)}
    tables = TABLES if release.kind is Kind.COLLECTION else ("corpus", "queries")
    parts = {table: _table_files(below, table) for table in tables}
    lacking = [table for table, found in parts.items() if not found]
    lacking += [] if judged else ["qrels/TASK_SPLIT.tsv"]
    lacking += [MANIFEST] if release.kind is Kind.COLLECTION and MANIFEST not in below else []
    if lacking:
        raise FileError(
            f"{release.name}: {release.repo}@{commit.id[:12]} has no {', '.join(lacking)} in {start}; there is:"
            f" {', '.join(sorted(below)[:12]) or 'nothing'}"
        )
    wanted = {*judged.values(), *(name for found in parts.values() for name in found)} | ({MANIFEST} & below)
    if release.kind is Kind.TEXTS:
        wanted |= {name for name in below if not name.startswith(_JUDGED) and not _doubles(name, below)}
    return sorted(f"{start}{name}" for name in wanted)


def _stem(name: str) -> str:
    """A path without suffixes, the same for both forms of judgements."""
    folder, slash, file = name.rpartition("/")
    return f"{'qrels' if folder == 'qrels_jsonl' else folder}{slash}{file.split('.')[0]}"


def _table_files(names: set[str], table: str) -> list[str]:
    """The files of a table, as `shards.files_of` would take them from a folder that holds all of `names`."""
    for suffix in shards.SUFFIXES:
        if f"{table}{suffix}" in names:
            return [f"{table}{suffix}"]
    numbered = re.compile(re.escape(table) + r"-\d+-of-\d+\.[^/]+")
    inside = re.compile(re.escape(table) + r"/[^/.][^/]*")
    for pattern in (numbered, inside):
        found = sorted(name for name in names if pattern.fullmatch(name) and shards.suffix_of(Path(name)))
        if found:
            return found
    return []


def _doubles(name: str, names: set[str]) -> bool:
    """Whether a table's file has a twin that is read before it, such as `corpus.jsonl` beside `corpus.parquet`."""
    suffix = shards.suffix_of(Path(name))
    stem = name.removesuffix(suffix)
    before = shards.SUFFIXES[: shards.SUFFIXES.index(suffix)] if suffix in shards.SUFFIXES else ()
    return any(f"{stem}{other}" in names for other in before)


def _refuse_lacking(release: Release, commit: Commit, listed: Iterable[str]) -> None:
    """Raises FileError where the manifest lists something to read that the commit lacks in every form."""
    start = f"{release.folder}/"
    there = set(map(_stem, _within(release, commit)))
    below = [path.removeprefix(start) for path in listed if path.startswith(start)]
    lacking = [name for name in below if _stem(name) not in there]
    if release.kind is Kind.COLLECTION:
        # Its tables were found, in one form or another.
        lacking = [name for name in lacking if name.startswith(_JUDGED)]
    if lacking:
        raise FileError(
            f"{release.name}: {MANIFEST} lists {', '.join(lacking[:8])}, which {release.repo}@{commit.id[:12]} does not"
            f" have ({len(lacking)} in all); the release is not whole"
        )


def _compared(release: Release, fetched: HubFiles, listed: Mapping[str, str]) -> list[str]:
    """The files that the manifest does not list; those that it does must have its SHA-256."""
    wrong = [path for path, digest in fetched.digests.items() if listed.get(path, digest) != digest]
    if wrong:
        lines = "\n".join(f"  {path}: {fetched.digests[path]}, listed {listed[path]}" for path in wrong)
        raise DigestError(
            f"{release.name}: {len(wrong)} of {len(fetched.files)} files of {release.repo}@{fetched.commit[:12]} do not"
            f" have the SHA-256 that {MANIFEST} lists; what the hub holds is not what was published:\n{lines}"
        )
    return [path for path in fetched.files if path not in listed]


def _refuse_other_counts(release: Release, commit: Commit, opened: Collection) -> None:
    """Raises DataError with every count where one is not that of the card."""
    found = figures_of(opened)
    wrong = {name for name, number in release.counts.items() if found.get(name) != number}
    if not wrong:
        return
    lines = []
    for name in sorted(release.counts, key=lambda name: name not in wrong):
        there = f"{found[name]:,}" if name in found else "nothing to count"
        mark = "differs" if name in wrong else "agrees"
        lines.append(f"  {name}: expected {release.counts[name]:,}, found {there} ({mark})")
    raise DataError(
        f"{release.name}: {len(wrong)} of {len(release.counts)} counts of {release.repo}@{commit.id[:12]} are not those"
        " of its card:\n" + "\n".join(lines)
    )
