"""Downloads: files of one commit of a repository on the Hugging Face hub, proven by size and digest.

Whatever revision is asked for, a commit is what is stored: branches move, and the id of a tag is not that of its
commit. Beside the hub's own cache lies one record a commit: every file with its size and digest, as the hub lists
them, and the SHA-256 of what was fetched. With it, everything works offline, for that commit and for no other.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from assay.commits import (
    Commit,
    Entry,
    cache_folder,
    cached_file,
    kind_and_id,
    record,
    recorded,
    records_of,
    remember,
)
from assay.errors import DigestError, UnavailableError, UnknownNameError

WAITS = (1.0, 3.0, 9.0)
"""Seconds before the second, third and last try when the hub is busy or the line breaks."""

_LONGEST_WAIT = 60.0
_PASSING = {408, 425, 429, 500, 502, 503, 504}
_COMMIT = re.compile(r"[0-9a-f]{40}")
_BLOCK = 1 << 20

T = TypeVar("T")


class UnknownRevisionError(UnavailableError):
    """The hub has no such revision of a data set."""


@dataclass(frozen=True)
class HubFiles:
    """Files of one commit as they lie in the cache, by their paths in the repository; `digests` are SHA-256."""

    repo: str
    commit: str
    files: Mapping[str, Path]
    digests: Mapping[str, str] = field(default_factory=dict)


def hub_commit(repo: str, *, revision: str, offline: bool = False) -> Commit:
    """The commit that a revision is, with the list of its files.

    A commit that was asked for before is answered from its record, without asking the hub.

    Args:
        repo: A dataset repository, `owner/name`.
        revision: A commit (40 hexadecimal digits), or online also a branch or tag.
        offline: Whether to use the cache alone; the variable HF_HUB_OFFLINE does the same.

    Raises:
        UnavailableError: The hub cannot be reached or has no such repository or revision; offline, the revision is no
            commit that was fetched before. Another commit is never taken in its place.
    """
    known = recorded(repo, revision) if _COMMIT.fullmatch(revision) else None
    if known is not None:
        return known
    if _is_offline(offline):
        _refuse_offline(repo, revision)
    return _taken(repo, _resolved(repo, revision), asked=revision)


def pinned_commit(repo: str, *, revision: str, begins: str, offline: bool = False) -> Commit:
    """The commit whose id begins with `begins`, as `revision` leads to it.

    A commit that was asked for before is found again by its beginning, without asking the hub. So the id of a tag
    object, which no cache can resolve, works offline too.

    Args:
        repo: A dataset repository, `owner/name`.
        revision: What the hub is asked for; where it does not lead to the commit, the beginning is asked for.
        begins: The first digits of the commit's id, as they were published.
        offline: As in `hub_commit`.

    Raises:
        DigestError: The revision leads to another commit now.
        UnavailableError: As in `hub_commit`.
    """
    there = [commit for commit in records_of(repo) if commit.startswith(begins)]
    known = recorded(repo, there[0]) if len(there) == 1 else None
    if known is not None:
        return known
    if _is_offline(offline):
        _refuse_offline(repo, begins)
    met = ""
    for asked in (revision, begins):
        try:
            commit = _resolved(repo, asked)
        except UnknownRevisionError:
            continue
        if commit.startswith(begins):
            return _taken(repo, commit, asked=asked)
        met = met or commit
    if met:
        raise DigestError(
            f"{repo}@{revision[:12]} leads to commit {met}, but commit {begins}… was published; it was moved, and no"
            " other commit is taken in its place"
        )
    raise UnknownRevisionError(
        f"{repo}: the hub knows neither revision {revision} nor commit {begins}…; it was taken back, or the hub is"
        " another one"
    )


def room_for(commit: Commit, paths: Iterable[str]) -> int:
    """The bytes that must still be fetched of these files of a commit.

    Raises:
        UnavailableError: The cache's disk has less room.
    """
    missing = sum(commit.files[path].size for path in paths if cached_file(commit, path) is None)
    place = cache_folder()
    while not place.exists() and place != place.parent:
        place = place.parent
    free = shutil.disk_usage(place).free
    if missing > free:
        raise UnavailableError(
            f"{commit.repo}@{commit.id[:12]}: {missing / 1e6:,.1f} MB must be fetched, and {cache_folder()} has room"
            f" for {free / 1e6:,.1f} MB; free some space, or set HF_HUB_CACHE to another disk"
        )
    return missing


def hub_file(repo: str, path: str, *, revision: str, offline: bool = False) -> Path:
    """The place in the cache of one file of a dataset repository, fetched if it is not there, and proven.

    Raises:
        UnknownNameError: The commit has no such file; near names are offered.
        UnavailableError: As in `hub_commit`; or, offline, the file was not fetched before.
        DigestError: What came, or what lies in the cache, is not what the hub lists.
    """
    return _fetched(hub_commit(repo, revision=revision, offline=offline), path, offline=offline)[0]


def hub_files(
    repo: str,
    patterns: Iterable[str],
    *,
    revision: str,
    offline: bool = False,
    told: Callable[[str], None] = lambda _: None,
) -> HubFiles:
    """The files of a dataset repository that match `patterns`, fetched and proven one after another.

    Args:
        repo: A dataset repository, `owner/name`.
        patterns: Paths with `*`, such as `ConditionalQA/corpus/*`.
        revision: As in `hub_commit`.
        offline: Whether to use the cache alone.
        told: Called with a line on what is being fetched.

    Raises:
        UnknownNameError: No file matches.
        UnavailableError, DigestError: As in `hub_file`.
    """
    wanted = list(patterns)
    commit = hub_commit(repo, revision=revision, offline=offline)
    paths = commit.matching(wanted)
    if not paths:
        raise UnknownNameError.of(f"file of {repo}@{commit.id[:12]}", " or ".join(wanted), commit.files)
    files, digests = {}, {}
    for place, path in enumerate(paths, 1):
        told(f"file {place} of {len(paths)}: {path}, {commit.files[path].size / 1e6:.1f} MB")
        files[path], digests[path] = _fetched(commit, path, offline=offline)
    return HubFiles(repo, commit.id, files, digests)


def hub_model(model: str, *, revision: str, offline: bool = False, exports: tuple[str, ...] = ()) -> tuple[Path, str]:
    """The folder in the cache with a model's files at a revision, fetched where they are missing, and the commit.

    Fetched are settings, tokenizer and weights: `.safetensors` where there are any, else PyTorch's own; exports for
    other programs are left out. Python code is fetched with them and run by nobody unless it is asked for by name.

    Args:
        model: A model repository, `owner/name`.
        revision: As in `hub_commit`.
        offline: Whether to use the cache alone.
        exports: Patterns of files that are fetched in place of the weights, such as `onnx/model.onnx*`.

    Raises:
        UnavailableError, DigestError: As in `hub_file`.
        UnknownNameError: The repository holds no model.
    """
    commit = hub_commit(f"models/{model}", revision=revision, offline=offline)
    others = ("onnx/", "openvino/", "original/")
    safe = any(path.endswith(".safetensors") and not path.startswith(others) for path in commit.files)
    weights = exports or (("*.safetensors",) if safe else ("*.bin", "*.pt"))
    held = commit.matching(weights)
    found = [path for path in held if exports or not path.startswith(others)]
    if not found:
        raise UnknownNameError.of(f"file of {model}@{commit.id[:12]}", " or ".join(weights), commit.files)
    # Sparse weights have a head of their own, pickled beside whatever weights there are.
    beside = commit.matching(("*.json", "*.txt", "*.model", "*.py", "sparse_linear.pt"))
    about = [path for path in beside if not path.startswith(others)]
    paths = sorted({*found, *about})
    room_for(commit, paths)
    places = [(_fetched(commit, path, offline=offline)[0], path) for path in paths]
    place, path = places[0]
    return place.parents[path.count("/")], commit.id


def _resolved(repo: str, revision: str) -> str:
    kind, name = kind_and_id(repo)

    def ask(hub: Any) -> str:
        return str(hub.repo_info(name, repo_type=kind, revision=revision).sha)

    return _asked(ask, repo=repo, revision=revision)


def _taken(repo: str, commit: str, *, asked: str) -> Commit:
    """A commit with its files, recorded together with the revision that led to it."""
    found = recorded(repo, commit)
    if found is None:
        found = Commit(repo, commit, _asked(lambda hub: _listed(hub, repo, commit), repo=repo, revision=commit))
    if asked != commit and asked not in found.asked:
        found = replace(found, asked=(*found.asked, asked))
    record(found)
    return found


def _fetched(commit: Commit, path: str, *, offline: bool) -> tuple[Path, str]:
    """A file of a commit in the cache and its SHA-256; a file that is not what it should be is fetched once more."""
    entry = commit.files.get(path)
    if entry is None:
        raise UnknownNameError.of(f"file of {commit.repo}@{commit.id[:12]}", path, commit.files)
    cached = cached_file(commit, path)
    if cached is not None:
        sha256, fault = _proven(cached, entry)
        if not fault:
            remember(commit, path, sha256)
            return cached, sha256
        if _is_offline(offline):
            raise DigestError(
                f"{cached}: {fault}; the cached file is damaged. Run once without --offline and"
                " HF_HUB_OFFLINE to fetch it again"
            )
    elif _is_offline(offline):
        raise UnavailableError(
            f"{commit.repo}@{commit.id[:12]}: {path} is not in the cache, and nothing may be fetched offline;"
            " run once without --offline and HF_HUB_OFFLINE"
        )
    if cached is not None:
        _remove(cached)
    fault = ""
    for _ in range(2):
        got = _download(commit, path)
        sha256, fault = _proven(got, entry)
        if not fault:
            remember(commit, path, sha256)
            return got, sha256
        _remove(got)
    raise DigestError(
        f"{commit.repo}@{commit.id[:12]}: {path} came twice with {fault}; nothing of it was kept. Try again later, and"
        " if it stays so, look whether a proxy changes what it passes on"
    )


def _download(commit: Commit, path: str) -> Path:
    def get(hub: Any) -> str:
        from huggingface_hub import hf_hub_download

        with _without_bars():
            kind, name = kind_and_id(commit.repo)
            found = hf_hub_download(
                name,
                path,
                repo_type=kind,
                revision=commit.id,
                endpoint=hub.endpoint,
                cache_dir=cache_folder(),
            )
        return str(found)

    return Path(_asked(get, repo=commit.repo, revision=commit.id, path=path))


def _proven(path: Path, entry: Entry) -> tuple[str, str]:
    """The SHA-256 of a file, and what is wrong with it: nothing where size and digest are those listed."""
    size = path.stat().st_size
    if size != entry.size:
        return "", f"{size} bytes instead of {entry.size}"
    sha256, blob = hashlib.sha256(), hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    with path.open("rb") as stream:
        while data := stream.read(_BLOCK):
            sha256.update(data)
            if not entry.sha256:
                blob.update(data)
    digest = sha256.hexdigest()
    if entry.sha256 and digest != entry.sha256:
        return digest, f"SHA-256 {digest[:12]}… instead of {entry.sha256[:12]}…"
    if not entry.sha256 and entry.blob and blob.hexdigest() != entry.blob:
        return digest, f"Git blob {blob.hexdigest()[:12]}… instead of {entry.blob[:12]}…"
    return digest, ""


def _remove(path: Path) -> None:
    """Takes a file out of the cache: the link in the snapshot, and the bytes that it leads to."""
    with suppress(OSError):
        while path.is_symlink():
            target = path.parent / os.readlink(path)
            path.unlink()
            path = target
        path.unlink()


def _listed(hub: Any, repo: str, commit: str) -> dict[str, Entry]:
    found = {}
    kind, name = kind_and_id(repo)
    for item in hub.list_repo_tree(name, recursive=True, revision=commit, repo_type=kind):
        if hasattr(item, "size"):
            if item.path.startswith("/") or ".." in item.path.split("/"):
                raise DigestError(
                    f"{repo}@{commit[:12]}: the hub lists {item.path!r}, which leads out of the repository"
                )
            lfs = item.lfs
            found[item.path] = Entry(item.size, item.blob_id, "") if lfs is None else Entry(lfs.size, "", lfs.sha256)
    return found


def _asked(call: Callable[[Any], T], *, repo: str, revision: str, path: str = "") -> T:
    """What a call to the hub answers; tried again while the hub is busy or the line breaks.

    Raises:
        UnavailableError: There is no such thing, it may not be read, or the hub does not answer.
    """
    from huggingface_hub import HfApi, errors

    hub = HfApi(endpoint=os.environ.get("HF_ENDPOINT") or None, library_name="assay")
    # The base of the hub's HTTP errors is that of its HTTP client, whichever it is: a broken line raises it too.
    broken: tuple[type[Exception], ...] = (errors.HfHubHTTPError.__bases__[0], OSError)
    what = f"{repo}@{revision}" + (f" {path}" if path else "")
    for wait in (*WAITS, None):
        try:
            return call(hub)
        except errors.RepositoryNotFoundError:
            raise UnavailableError(
                f"{what}: the hub has no such {kind_and_id(repo)[0]}, or it may be read with a token alone; check the"
                " name, and set HF_TOKEN where access was granted"
            ) from None
        except errors.RevisionNotFoundError:
            raise UnknownRevisionError(
                f"{what}: the hub has no such revision; give a branch, a tag or a full commit"
            ) from None
        except broken as err:
            if wait is None or not _passes(err):
                raise UnavailableError(
                    f"{what}: {hub.endpoint} does not answer as it should ({_first_line(err)}); nothing was left half"
                    " fetched. Check the connection and try again: what is complete is not fetched twice"
                ) from None
            time.sleep(min(max(wait, _retry_after(err)), _LONGEST_WAIT))
    raise UnavailableError(f"{what}: no answer")


def _passes(err: BaseException) -> bool:
    """Whether trying again may help: a broken line, or a status that says `later`."""
    if isinstance(err, FileNotFoundError):
        # The hub's client has tried again by itself, and says so with this error.
        return False
    status = getattr(getattr(err, "response", None), "status_code", None)
    return status is None or status in _PASSING


def _retry_after(err: BaseException) -> float:
    headers = getattr(getattr(err, "response", None), "headers", None) or {}
    said = str(headers.get("retry-after", ""))
    return float(said) if said.isdigit() else 0.0


def _first_line(err: BaseException) -> str:
    return (str(err).strip() or type(err).__name__).splitlines()[0][:200]


@contextmanager
def _without_bars() -> Iterator[None]:
    """Keeps the hub's own progress bars off the terminal."""
    bars: Any = import_module("huggingface_hub.utils")
    if bars.are_progress_bars_disabled():
        yield
        return
    bars.disable_progress_bars()
    try:
        yield
    finally:
        bars.enable_progress_bars()


def _is_offline(offline: bool) -> bool:
    return offline or os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}


def _refuse_offline(repo: str, revision: str) -> NoReturn:
    records = [known for commit in records_of(repo) if (known := recorded(repo, commit)) is not None]
    was = [known.id for known in records if revision in known.asked]
    there = ", ".join(known.id for known in records) or "none"
    hint = f"; it was commit {was[0]} when it was last asked for: give that" if was else ""
    raise UnavailableError(
        f"{repo}@{revision} is not in the cache as a commit, and offline no other is taken in its place{hint}."
        f" Commits there: {there}. Run once without --offline and HF_HUB_OFFLINE"
        " to fetch another"
    )
