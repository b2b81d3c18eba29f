"""PDF: the text of a printed document, where nothing better is there; links and notes are what print shows of them."""

from __future__ import annotations

import io
import logging
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from assay.building.houses import EUROPEAN_PARLIAMENT
from assay.errors import UnavailableError
from assay.sources.europarl.extracted import LARGEST, Extracted, UnreadableError

_MOST_PAGES = 500
_PRINTED = re.compile(
    r"PE\s?\d{3}[.,]\d{3}(?:v\d\d-\d\d)?|(?:[A-Z]{2,4}\\)?\d{5,}[A-Z]{2}\.(?:docx?|pdf)(?:\s+PE\s?\d{3}[.,]\d{3}(?:v\d\d-\d\d)?)?"
    r"|(?:page\s)?\d{1,3}\s?/\s?\d{1,3}|-\s?\d{1,3}\s?-|[A-Z]{2}|(?:[A-Z]{2}\s+)?United in diversity(?:\s+[A-Z]{2})?"
    r"|[A-Z]{2}\s+[A-Z]{2}",
    re.IGNORECASE,
)
_SHORTEST_FULL = 60
_EDGE = 3
"""How many lines at the top and at the foot of a page may be the page's own."""
_BROKEN = re.compile(r"(?P<head>\w+)(?P<hyphen>[-\u2010\u00ad])$")
_LISTED = re.compile(r"\s*(?:\[?\(?\d{1,3}[.)\]]|[a-z][.)]|[-–•▪])\s")


def pdf_text(data: bytes, name: str) -> Extracted:
    """The text of a PDF: lines joined to paragraphs, without what repeats at the edges of pages.

    Args:
        data: The file.
        name: What the file is called in errors.

    Raises:
        UnreadableError: It is no PDF, is encrypted, cut short, damaged or too large, or shows no text (a scan).
        UnavailableError: The package pypdf is missing.
    """
    try:
        from pypdf import PdfReader
        from pypdf.errors import DependencyError, FileNotDecryptedError, PyPdfError
    except ImportError:
        raise UnavailableError("PDF is read with the package pypdf; install assay[build]") from None
    if not data:
        raise UnreadableError(name, "empty file")
    if len(data) > LARGEST:
        raise UnreadableError(name, "too large", f"it has {len(data):,} bytes, the bound is {LARGEST:,}")
    if b"%PDF-" not in data[:1024]:
        raise UnreadableError(name, "not a PDF")
    try:
        with _quiet():
            reader = PdfReader(io.BytesIO(data))
            if reader.is_encrypted and not reader.decrypt(""):
                raise UnreadableError(name, "encrypted (a password is needed)", "use another format")
            if len(reader.pages) > _MOST_PAGES:
                raise UnreadableError(name, "too many pages", f"the bound is {_MOST_PAGES}")
            pages = [page.extract_text() for page in reader.pages]
    except (DependencyError, FileNotDecryptedError):
        raise UnreadableError(name, "encrypted (a password is needed)", "use another format") from None
    except (PyPdfError, ArithmeticError, AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError):
        # A damaged PDF fails wherever its reader first trusts it.
        raise UnreadableError(name, "a truncated or damaged PDF") from None
    if b"%%EOF" not in data[-2048:]:
        raise UnreadableError(name, "a truncated or damaged PDF")
    if not any(page.strip() for page in pages):
        raise UnreadableError(name, "pdf without text", "it shows pictures of pages; use another format")
    return Extracted("\n\n".join(_paragraphs(_lines(pages))), (), {})


@contextmanager
def _quiet() -> Iterator[None]:
    """What the reader has to say about a damaged file is said once, by the error."""
    logger = logging.getLogger("pypdf")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)


def _lines(pages: list[str]) -> list[str]:
    """The lines of all pages without those of their edges."""
    split = [[" ".join(line.split()) for line in page.splitlines() if line.strip()] for page in pages]
    edges = Counter(_shape(line) for lines in split for line in {*lines[:_EDGE], *lines[-_EDGE:]})
    found: list[str] = []
    for number, lines in enumerate(split):
        top, foot = 0, len(lines)
        # What repeats on other pages is cut from later ones only: the first page's header is the document's.
        while top < min(_EDGE, foot) and (
            _PRINTED.fullmatch(lines[top]) or (number and edges[_shape(lines[top])] == len(pages))
        ):
            top += 1
        while foot > max(top, len(lines) - _EDGE) and (
            _PRINTED.fullmatch(lines[foot - 1]) or (len(pages) > 1 and edges[_shape(lines[foot - 1])] == len(pages))
        ):
            foot -= 1
        found += lines[top:foot]
    return found


def _shape(line: str) -> str:
    return re.sub(r"\d+", "0", line)


def _paragraphs(lines: list[str]) -> list[str]:
    """Lines joined where a line is full and the next goes on."""
    full = max(_SHORTEST_FULL, 0.75 * max((len(line) for line in lines), default=0))
    whole = " ".join(lines)
    words = set(re.findall(r"\w+(?:-\w+)*", whole))
    found: list[str] = []
    last = ""
    for line in lines:
        broken = _BROKEN.search(last)
        if broken and line[:1].isalnum():
            found[-1] = _rejoined(found[-1], line, broken, words)
        elif last and _goes_on(last, line, full):
            found[-1] += f" {line}"
        else:
            found.append(line)
        last = line
    return found


def _goes_on(last: str, line: str, full: float) -> bool:
    if _LISTED.match(line) or any(_heads(one) for one in (last, line)):
        return False
    return len(last) >= full or (line[:1].islower() and last[-1:] not in ".!?:;")


def _heads(line: str) -> bool:
    """Whether a line is a subject line or one of a reply's header: it stands alone, the title tells how it goes on."""
    return any(
        form is not None and form.match(line) for form in (EUROPEAN_PARLIAMENT.subject, EUROPEAN_PARLIAMENT.reply)
    )


def _rejoined(before: str, line: str, broken: re.Match[str], words: set[str]) -> str:
    r"""A word that was broken at a line's end: without its hyphen only where the whole word stands elsewhere.

    A soft hyphen always goes. So neither `long-term` nor an id loses the hyphen that is its own.
    """
    tail = re.match(r"\w+", line)
    head = broken["head"]
    if broken["hyphen"] == "\u00ad" or (tail and head + tail[0] in words and head.isalpha()):
        return before[:-1] + line
    return before + line
