"""Bodies of responses: what each must be, so that a page of a firewall or half a file is never taken for one."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

LD_JSON = "application/ld+json"


@dataclass(frozen=True)
class Kind:
    """What a body must be.

    Attributes:
        name: What to call it.
        accept: The media type that is asked for.
        flaw: Why bytes are not of this kind; empty where they are.
        page: Whether it may come as a web page.
    """

    name: str
    accept: str
    flaw: Callable[[bytes], str]
    page: bool = False


def graph_of(body: bytes) -> dict[str, Any]:
    """The envelope of a response of the interface, `{"data": […], …}`.

    Raises:
        ValueError: It is no such envelope, or carries an error.

    Example:
        >>> graph_of(b'{"data": []}')
        {'data': []}
    """
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise ValueError("not JSON, or cut short") from None
    if isinstance(found, dict) and found.get("error"):
        raise ValueError(f"an error within a 200: {str(found['error'])[:200]}")
    if not isinstance(found, dict) or not isinstance(found.get("data"), list):
        raise ValueError('no list "data" in it')
    return found


def _graph_flaw(body: bytes) -> str:
    try:
        graph_of(body)
    except ValueError as err:
        return str(err)
    return ""


def _page_flaw(body: bytes) -> str:
    """A distributed text has no script; the page of the firewall is nothing else."""
    if b"</html" not in body[-2000:].lower():
        return "no whole XHTML page"
    return "a page with a script" if b"<script" in body.lower() else ""


GRAPH = Kind("JSON", LD_JSON, _graph_flaw)
TEXTS = {
    "docx": Kind(
        "DOCX",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        lambda body: "" if body.startswith(b"PK") and b"PK\5\6" in body[-66_000:] else "no whole DOCX",
    ),
    "xhtml": Kind(
        "XHTML",
        "application/xhtml+xml",
        _page_flaw,
        page=True,
    ),
    "pdf": Kind(
        "PDF",
        "application/pdf",
        lambda body: "" if b"%PDF" in body[:1024] and b"%%EOF" in body[-2048:] else "no whole PDF",
    ),
}
"""Kinds of text by the ending of their files, the one to be preferred first."""
