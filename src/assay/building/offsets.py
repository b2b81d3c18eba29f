"""Offsets: between code points, in which spans are stored, and the UTF-16 units and UTF-8 bytes that others count in.

Stored text is never normalised or folded: a span speaks of the text as it is stored, and any other form of it may be
longer or shorter.
"""

from __future__ import annotations

import re

from assay.errors import SpanError
from assay.span import Span


def utf16_of(text: str, at: int) -> int:
    """The offset in UTF-16 units (JavaScript, Java) of the code point at `at`.

    Example:
        >>> utf16_of("a😀b", 2), bytes_of("a😀b", 2)
        (3, 5)
    """
    return len(_before(text, at).encode("utf-16-le")) // 2


def bytes_of(text: str, at: int) -> int:
    """The offset in UTF-8 bytes (Rust, Go) of the code point at `at`."""
    return len(_before(text, at).encode("utf-8"))


def from_utf16(text: str, at: int) -> int:
    """The code point at an offset in UTF-16 units.

    Raises:
        SpanError: The offset lies inside a character or past the end.

    Example:
        >>> from_utf16("a😀b", 3), from_bytes("a😀b", 5)
        (2, 2)
    """
    return _decoded(text.encode("utf-16-le"), at * 2, "utf-16-le", "UTF-16 unit")


def from_bytes(text: str, at: int) -> int:
    """The code point at an offset in UTF-8 bytes.

    Raises:
        SpanError: The offset lies inside a character or past the end.
    """
    return _decoded(text.encode("utf-8"), at, "utf-8", "byte")


def found_ignoring_case(text: str, quote: str) -> Span | None:
    """The first place of a quote in the text as it is stored, whatever the case; None where it does not stand.

    Lower-casing the text first would move every place behind a character that grows (`İ` becomes two).

    Example:
        >>> found_ignoring_case("İstanbul fee", "FEE")
        Span(start=9, end=12)
    """
    found = re.search(re.escape(quote), text, re.IGNORECASE)
    return None if found is None else Span(*found.span())


def _before(text: str, at: int) -> str:
    if not 0 <= at <= len(text):
        raise SpanError(f"code point {at} lies outside a text of {len(text)}")
    return text[:at]


def _decoded(data: bytes, at: int, encoding: str, unit: str) -> int:
    if 0 <= at <= len(data):
        try:
            return len(data[:at].decode(encoding))
        except UnicodeDecodeError:
            pass
    raise SpanError(f"{unit} offset {at} of {len(data)} is not the start of a character; check the unit of the offsets")
