"""Everything Assay raises on purpose.

AssayError
  x DataError              the material is wrong (exit 3)
    + FileError              a file is missing, or cannot be opened, read or written
    + FormatError            a file, line or field cannot be read as what it should be
    + SpanError              a span is reversed, negative or outside its document
    + DuplicateIdError       an id stands twice where it may stand once
    + UnknownIdError         an id that nothing defines
    + ScoreError             a score that is not a finite number
    + EligibilityError       dates or exclusions that an as-of rule cannot work with
    + DigestError            a stored thing is not what its digest says
    + ContractError          a system broke its contract
  x UsageError             the request is wrong (exit 2)
    + UnknownNameError       no task, measure, system or column of that name; near names are offered
    + ViewError              a system reads a view that the task does not allow
  x UnavailableError       an optional package, a program or a download is missing (exit 4)
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class AssayError(Exception):
    """Base class of every error raised on purpose.

    `exit_code` is what the command line ends with.
    """

    exit_code = 3


class DataError(AssayError):
    """The material is wrong."""

    exit_code = 3


class FileError(DataError):
    """A file is missing, or cannot be opened, read or written."""


class FormatError(DataError):
    """A file, line or field cannot be read as what it should be."""


class SpanError(DataError):
    """A span is reversed, negative or outside its document."""


class DuplicateIdError(DataError):
    """An id stands twice where it may stand once."""


class UnknownIdError(DataError):
    """An id that nothing defines."""


class ScoreError(DataError):
    """A score is not a finite number."""


class EligibilityError(DataError):
    """Dates or exclusions that an as-of rule cannot work with."""


class DigestError(DataError):
    """A stored thing is not what its digest says."""


class ContractError(DataError):
    """A system broke its contract: rows out of range, repeated, or not finite."""


class UsageError(AssayError):
    """The request is wrong."""

    exit_code = 2


class UnknownNameError(UsageError):
    """No task, measure, system or column bears that name.

    Example:
        >>> print(UnknownNameError.of("measure", "nDGC", ["nDCG", "RR"]))
        there is no measure 'nDGC'; did you mean 'nDCG'? known: RR, nDCG
    """

    @classmethod
    def of(cls, kind: str, name: str, known: Iterable[str]) -> UnknownNameError:
        """The error for `name`, with near names and up to twenty known ones."""
        names = sorted(set(known))
        near = difflib.get_close_matches(name, names, n=3, cutoff=0.6)
        folded = {n.casefold(): n for n in names}
        if not near and name.casefold() in folded:
            near = [folded[name.casefold()]]
        hint = f"; did you mean {' or '.join(repr(n) for n in near)}?" if near else ";"
        listed = ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
        return cls(f"there is no {kind} {name!r}{hint} known: {listed or 'none'}")


class ViewError(UsageError):
    """A system reads a view that the task does not allow."""


class UnavailableError(AssayError):
    """An optional package, a program or a download is missing."""

    exit_code = 4
