"""A hub on loopback: as much of its HTTP interface as its client needs, which misbehaves when asked to.

Repositories hold commits, and names (branches, tags, ids of tag objects) that lead to them. Files that Git LFS would hold
(`.parquet`) are redirected to another address with their SHA-256 as ETag; others are served in place with that of
their Git blob. `fault` makes the next requests fail: `drop` breaks the line halfway, `corrupt` changes a byte, a number is
answered as that status.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit


@dataclass
class Fault:
    """What goes wrong, for requests of one method whose path holds a text, so many times."""

    kind: str | int
    path: str
    times: int
    method: str = "GET"


@dataclass
class Repo:
    """Commits by their ids, each a mapping of paths to bytes, and names that lead to commits."""

    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    def commit(self, files: Mapping[str, bytes], *names: str) -> str:
        """The id of a new commit, to which `main` and `names` lead from now on."""
        made = hashlib.sha1(repr((len(self.commits), sorted(files.items()))).encode()).hexdigest()
        self.commits[made] = dict(files)
        self.names.update(dict.fromkeys(("main", *names), made))
        return made

    def found(self, revision: str) -> str | None:
        return revision if revision in self.commits else self.names.get(revision)


def blob_of(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


class Hub:
    """The server, as a context: `with Hub() as hub: …`; `asked` lists what was asked of it."""

    page = 2

    def __init__(self) -> None:
        self.repos: dict[str, Repo] = {}
        self.faults: list[Fault] = []
        self.asked: list[tuple[str, str, str]] = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        # Another name for the same place: clients treat where files lie as another host, as it is with the real hub.
        self.storage = f"http://localhost:{self.server.server_address[1]}"
        # A short poll, so that a closing test does not wait.
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Hub:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def repo(self, name: str) -> Repo:
        return self.repos.setdefault(name, Repo())

    def fault(self, kind: str | int, path: str, *, times: int = 1, method: str = "GET") -> None:
        self.faults.append(Fault(kind, path, times, method))

    def due(self, method: str, path: str) -> str | int | None:
        """The fault that is due for a request, and counted."""
        for fault in self.faults:
            if fault.times and fault.method == method and fault.path in path:
                fault.times -= 1
                return fault.kind
        return None

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        hub = self

        class Handler(_Handler):
            pass

        Handler.hub = hub
        return Handler


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def _answer(self) -> None:
        split = urlsplit(self.path)
        path = unquote(split.path)
        self.hub.asked.append((self.command, path, self.headers.get("Range", "")))
        kind = self.hub.due(self.command, path)
        if isinstance(kind, int):
            self._send(kind, b"busy", {"Retry-After": "0"} if kind == 429 else {})
            return
        parts = path.strip("/").split("/")
        if parts[0] == "cdn":
            self._lfs(parts[1], kind)
            return
        api, parts = parts[0] == "api", parts[1:] if parts[0] == "api" else parts
        if not api and parts[0] != "datasets":
            # Files of models stand at the hub's root.
            parts = ["models", *parts]
        name, verb, rest = "/".join(parts[1:3]), parts[3] if len(parts) > 3 else "revision", parts[4:]
        repo = self.hub.repos.get(name)
        if repo is None:
            self._send(404, b"{}", {"X-Error-Code": "RepoNotFound"})
            return
        commit = repo.found(rest[0] if rest else "main")
        if commit is None:
            self._send(404, b"{}", {"X-Error-Code": "RevisionNotFound"})
        elif api and verb == "tree":
            self._tree(repo, commit, int(parse_qs(split.query).get("cursor", ["0"])[0]))
        elif api:
            files = [{"rfilename": file} for file in sorted(repo.commits[commit])]
            info = {"_id": "1", "id": name, "sha": commit, "siblings": files, "private": False, "tags": []}
            self._send(200, json.dumps(info).encode(), {"X-Repo-Commit": commit})
        else:
            self._resolve(repo, commit, "/".join(rest[1:]), kind)

    def _tree(self, repo: Repo, commit: str, cursor: int) -> None:
        rows: list[dict[str, Any]] = []
        for path, data in sorted(repo.commits[commit].items()):
            row: dict[str, Any] = {"type": "file", "path": path, "size": len(data), "oid": blob_of(data)}
            if path.endswith(".parquet"):
                row["lfs"] = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 130}
            rows.append(row)
        folders = sorted({path.rpartition("/")[0] for path in repo.commits[commit] if "/" in path})
        rows = [{"type": "directory", "path": folder, "oid": "0" * 40, "size": 0} for folder in folders] + rows
        end = cursor + self.hub.page
        headers = {"X-Repo-Commit": commit}
        if end < len(rows):
            here = self.path.split("?")[0]
            headers["Link"] = f'<{self.hub.url}{here}?recursive=True&cursor={end}>; rel="next"'
        self._send(200, json.dumps(rows[cursor:end]).encode(), headers)

    def _resolve(self, repo: Repo, commit: str, path: str, kind: str | int | None) -> None:
        data = repo.commits[commit].get(path)
        headers = {"X-Repo-Commit": commit}
        if data is None:
            self._send(404, b"", {**headers, "X-Error-Code": "EntryNotFound"})
        elif path.endswith(".parquet"):
            digest = hashlib.sha256(data).hexdigest()
            linked = {"X-Linked-Etag": f'"{digest}"', "X-Linked-Size": str(len(data))}
            self._send(302, b"", {**headers, **linked, "Location": f"{self.hub.storage}/cdn/{digest}"})
        else:
            self._file(data, {**headers, "ETag": f'"{blob_of(data)}"'}, kind)

    def _lfs(self, digest: str, kind: str | int | None) -> None:
        held = [data for repo in self.hub.repos.values() for files in repo.commits.values() for data in files.values()]
        data = next(data for data in held if hashlib.sha256(data).hexdigest() == digest)
        self._file(data, {"ETag": f'"{digest}"'}, kind)

    def _file(self, data: bytes, headers: dict[str, str], kind: str | int | None) -> None:
        status, asked = 200, self.headers.get("Range", "")
        if kind == "corrupt":
            data = data[:-1] + bytes([data[-1] ^ 1])
        if asked:
            start = int(asked.removeprefix("bytes=").split("-")[0])
            headers = {**headers, "Content-Range": f"bytes {start}-{len(data) - 1}/{len(data)}"}
            status, data = 206, data[start:]
        self._send(status, data, {**headers, "Accept-Ranges": "bytes"}, half=kind == "drop")

    def _send(self, status: int, data: bytes, headers: Mapping[str, str], *, half: bool = False) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data[: len(data) // 2] if half else data)
        if half:
            self.wfile.flush()
            self.close_connection = True
