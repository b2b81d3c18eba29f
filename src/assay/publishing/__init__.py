"""Publishing: a collection as a folder to upload, with a card that its files prove.

`publish` writes one; `check` compares a card, written here or by hand, with the files beside it.
"""

from __future__ import annotations

from assay.publishing.about import About, read_about
from assay.publishing.check import check
from assay.publishing.chunk_level import Report, publish

__all__ = ["About", "Report", "check", "publish", "read_about"]
