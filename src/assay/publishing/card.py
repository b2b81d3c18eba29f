"""The card: README.md with the front matter that the Hugging Face hub and `datasets` read, and tables for people.

Every number in it is counted in the files that lie beside it. What only a person knows comes from `About`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.formats import front_matter
from assay.formats.files import replacing
from assay.publishing.about import About, licence_fields
from assay.publishing.files import CARD, Config

SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
LARGER = ((10**7, "1M<n<10M"), (10**8, "10M<n<100M"), (10**9, "100M<n<1B"), (10**10, "1B<n<10B"))


def size_category(rows: int) -> str:
    """The hub's name for a number of rows.

    Example:
        >>> size_category(999), size_category(1000), size_category(69_199)
        ('n<1K', '1K<n<10K', '10K<n<100K')
    """
    return next((name for border, name in (*SIZES, *LARGER) if rows < border), "n>10B")


def feature(name: str, kind: str) -> dict[str, str]:
    """A column as the front matter declares it.

    Example:
        >>> feature("answer", "list<string>"), feature("chunk_idx", "int64")
        ({'name': 'answer', 'list': 'string'}, {'name': 'chunk_idx', 'dtype': 'int64'})
    """
    inner = re.fullmatch(r"list<(\w+)>", kind)
    return {"name": name, "list": inner[1]} if inner else {"name": name, "dtype": kind}


def front_of(about: About, configs: Sequence[Config], *, source: str = "", revision: str = "") -> dict[str, Any]:
    """The front matter: what the collection is, where its files are, and their exact types and sizes."""
    front: dict[str, Any] = {"pretty_name": about.title}
    if about.languages:
        front["language"] = list(about.languages)
    front |= licence_fields(about.licence)
    if about.task_categories:
        front["task_categories"] = list(about.task_categories)
    front["size_categories"] = [size_category(sum(config.rows for config in configs))]
    if about.tags:
        front["tags"] = list(about.tags)
    if source:
        front["source"] = source
    if revision:
        front["revision"] = revision
    front["configs"] = [
        {
            "config_name": config.name,
            "data_files": [{"split": name, "path": split.pattern} for name, split in config.splits.items()],
        }
        for config in configs
    ]
    front["dataset_info"] = [_info(config) for config in configs]
    return front


def _info(config: Config) -> dict[str, Any]:
    return {
        "config_name": config.name,
        "features": [feature(name, kind) for name, kind in config.columns.items()],
        "splits": [
            {"name": name, "num_bytes": split.size, "num_examples": split.rows} for name, split in config.splits.items()
        ],
        "download_size": config.stored,
        "dataset_size": config.size,
    }


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    r"""Rows as a Markdown table; whole numbers with thousands apart.

    Example:
        >>> print(table(("split", "rows"), [("a|b", 1200)]))
        | split | rows |
        |---|---|
        | a\|b | 1,200 |
    """
    lines = [_line(headings), "|" + "---|" * len(headings), *(_line(row) for row in rows)]
    return "\n".join(lines)


def _line(cells: Sequence[object]) -> str:
    shown = (f"{cell:,}" if isinstance(cell, int) else " ".join(str(cell).split()) for cell in cells)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in shown)} |"


def tables_section(configs: Sequence[Config], meanings: Mapping[str, str]) -> str:
    """The section on what files there are: rows a split, and every column with its type and meaning."""
    rows = [
        (f"`{c.name}`", f"`{name}`", split.rows, len(split.files), split.stored)
        for c in configs
        for name, split in c.splits.items()
    ]
    parts = [table(("config", "split", "rows", "files", "bytes"), rows)]
    for config in configs:
        said = [
            (f"`{name}`", f"`{kind}`", meanings.get(name, "kept as the collection has it"))
            for name, kind in config.columns.items()
        ]
        parts += [f"### {config.name}", table(("column", "type", "holds"), said)]
    return "\n\n".join(parts)


def text_of(about: About, front: Mapping[str, Any], sections: Mapping[str, str]) -> str:
    """The whole card: front matter, title, summary, and the sections that say something."""
    parts = [f"# {about.title}", about.summary.strip()]
    parts += [f"## {heading}\n\n{text.strip()}" for heading, text in sections.items() if text.strip()]
    return front_matter.written(front) + "\n" + "\n\n".join(part for part in parts if part) + "\n"


def licence_section(about: About) -> str:
    """What the licence is, and the sentence that it asks for."""
    named = about.licence or "No licence is stated: ask before you use it."
    return "\n\n".join(part for part in (named, about.attribution.strip()) if part)


def citation_section(about: About) -> str:
    """How to cite it."""
    return f"```bibtex\n{about.citation.strip()}\n```" if about.citation.strip() else ""


def write_card(text: str, folder: Path) -> None:
    """Writes the card into a folder."""
    with replacing(folder / CARD) as stream:
        stream.write(text.encode("utf-8"))
