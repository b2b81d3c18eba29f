"""Raw files of the UK questions interface, made up and tiny, for tests."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

MONTH = "commons-2023-12.json.gz"
LONG = "longform-2023-12.sqlite"


def record(uin: str, tabled: str = "2023-12-04", answered: str | None = "2023-12-11", **fields: Any) -> dict[str, Any]:
    """A record as the interface gives it; `fields` take the place of its own."""
    value = {
        "id": 1_000_000 + int(uin.removeprefix("HL")),
        "askingMemberId": 4679,
        "house": "Lords" if uin.startswith("HL") else "Commons",
        "dateTabled": f"{tabled}T00:00:00",
        "uin": uin,
        "questionText": f"To ask the Secretary of State for Tides, what the fee of harbour {uin} is.",
        "answeringBodyName": "Ministry of Tides",
        "isWithdrawn": False,
        "isNamedDay": False,
        "groupedQuestions": [],
        "answerIsHolding": False,
        "answerIsCorrection": False,
        "answeringMemberId": 4362,
        "dateAnswered": f"{answered}T00:00:00" if answered else None,
        "answerText": f"The fee of harbour {uin} is set by its own board in spring.",
        "originalAnswerText": "",
        "dateAnswerCorrected": None,
        "dateHoldingAnswer": None,
        "heading": "Harbours: Fees",
    }
    return {"value": value | fields, "links": []}


def written(
    folder: Path,
    records: Iterable[Mapping[str, Any]],
    *,
    long: Mapping[int, Mapping[str, str]] | None = None,
    name: str = MONTH,
) -> Path:
    """A folder with a month of records, and long texts by record id where they are given."""
    folder.mkdir(parents=True, exist_ok=True)
    data = json.dumps(list(records)).encode()
    (folder / name).write_bytes(gzip.compress(data, mtime=0) if name.endswith(".gz") else data)
    if long is not None:
        with closing(sqlite3.connect(folder / LONG)) as base, base:
            base.execute("CREATE TABLE Dict (key BLOB UNIQUE NOT NULL, value BLOB NOT NULL)")
            rows = [(str(key).encode(), json.dumps(value).encode()) for key, value in long.items()]
            base.executemany("INSERT INTO Dict VALUES (?, ?)", rows)
    return folder


def month(folder: Path) -> Path:
    """A month of four questions, one of which refers to another's answer."""
    return written(
        folder,
        [
            record("4801", "2023-12-01", "2023-12-06"),
            record("4902", "2023-12-04", "2023-12-12", groupedQuestions=["4903"]),
            record("4903", "2023-12-04", "2023-12-12", groupedQuestions=["4902"]),
            record(
                "5001", "2023-12-11", "2023-12-18", answerText="I refer the hon. Member to the answer to Question 4801."
            ),
            record("5104", "2023-12-18", None, answerText=None),
        ],
        long={},
    )
