"""Commits of repositories as the hub's cache holds them, with a record of each: its files and their digests."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from assay.errors import UnavailableError


@dataclass(frozen=True)
class Entry:
    """A file as the hub lists it: its bytes, the id of its Git blob, and its SHA-256 once it is known."""

    size: int
    blob: str = ""
    sha256: str = ""


@dataclass(frozen=True)
class Commit:
    """One commit of a repository, and what is in it.

    Attributes:
        repo: The repository, `owner/name` for a data set.
        id: The commit, 40 hexadecimal digits.
        files: Every file of the commit by its path.
        asked: Other revisions that were this commit when they were asked for.
    """

    repo: str
    id: str
    files: Mapping[str, Entry]
    asked: tuple[str, ...] = ()

    def matching(self, patterns: Iterable[str]) -> list[str]:
        """The paths that match one of `patterns` (`*` also spans folders), sorted.

        Example:
            >>> Commit("o/n", "0" * 40, {"b/1.parquet": Entry(3), "a.md": Entry(1)}).matching(["b/*"])
            ['b/1.parquet']
        """
        wanted = list(patterns)
        return sorted(path for path in self.files if any(fnmatchcase(path, pattern) for pattern in wanted))


def cache_folder() -> Path:
    """The hub's cache, where the user has it."""
    place = os.environ.get("HF_HUB_CACHE")
    if not place:
        from huggingface_hub import constants

        place = constants.HF_HUB_CACHE
    return Path(place)


def kind_and_id(repo: str) -> tuple[str, str]:
    """What a repository holds and its id on the hub; repositories of models are written `models/OWNER/NAME`.

    Example:
        >>> kind_and_id("owner/set"), kind_and_id("models/owner/net")
        (('dataset', 'owner/set'), ('model', 'owner/net'))
    """
    first, _, rest = repo.partition("/")
    return ("model", rest) if first == "models" and "/" in rest else ("dataset", repo)


def _repo_folder(repo: str) -> Path:
    kind, name = kind_and_id(repo)
    return cache_folder() / f"{kind}s--{name.replace('/', '--')}"


def cached_file(commit: Commit, path: str) -> Path | None:
    """Where a file of a commit lies in the cache; None where it does not."""
    place = _repo_folder(commit.repo) / "snapshots" / commit.id / path
    return place if place.is_file() else None


def records_of(repo: str) -> list[str]:
    """The commits of a repository that have a record, sorted."""
    return sorted(path.stem for path in (_repo_folder(repo) / "assay").glob("*.json"))


def recorded(repo: str, commit: str) -> Commit | None:
    """A commit as it was recorded; None where it was not, or the record cannot be read."""
    try:
        found = json.loads((_repo_folder(repo) / "assay" / f"{commit}.json").read_text("utf-8"))
        files = {path: Entry(**entry) for path, entry in found["files"].items()}
        return Commit(repo, commit, files, tuple(found["asked"]))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def record(commit: Commit) -> None:
    """Writes what is known of a commit, whole or not at all.

    Raises:
        UnavailableError: The cache cannot be written.
    """
    folder = _repo_folder(commit.repo) / "assay"
    files = {path: vars(entry) for path, entry in sorted(commit.files.items())}
    found = {"repo": commit.repo, "commit": commit.id, "asked": sorted(commit.asked), "files": files}
    part = folder / f".{commit.id}.{secrets.token_hex(6)}.part"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
        os.replace(part, folder / f"{commit.id}.json")
    except OSError as err:
        with suppress(OSError):
            part.unlink()
        raise UnavailableError(
            f"cannot write to the cache {folder} ({err.strerror}); set HF_HUB_CACHE to a folder with space that may be"
            " written"
        ) from None


def remember(commit: Commit, path: str, sha256: str) -> None:
    """Adds the SHA-256 of a proven file to its commit's record, where it is not there yet."""
    latest = recorded(commit.repo, commit.id) or commit
    if latest.files[path].sha256 != sha256:
        entry = replace(latest.files[path], sha256=sha256)
        record(replace(latest, files={**latest.files, path: entry}))
