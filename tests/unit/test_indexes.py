"""Kept indexes: found again by fingerprint, and never used when damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

import assay
from assay.errors import DigestError


def test_an_index_is_kept_and_found_again(tmp_path: Path) -> None:
    task = assay.open("demo:chunks").task("passages")
    plain = assay.retrieve(task, "bm25")
    first = assay.retrieve(task, "bm25", indexes=tmp_path)
    [folder] = [p for p in tmp_path.iterdir() if p.is_dir()]
    stamp = {p.name: p.stat().st_mtime_ns for p in folder.iterdir()}
    again = assay.retrieve(task, "bm25", indexes=tmp_path)
    assert plain.triples() == first.triples() == again.triples()
    assert {p.name: p.stat().st_mtime_ns for p in folder.iterdir()} == stamp
    assay.retrieve(task, "bm25(k1=0.9)", indexes=tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("harm", ["empty", "byte", "gone"])
def test_a_damaged_index_is_refused_with_what_to_do(tmp_path: Path, harm: str) -> None:
    task = assay.open("demo:chunks").task("passages")
    assay.retrieve(task, "bm25", indexes=tmp_path)
    [folder] = list(tmp_path.iterdir())
    victim = max(folder.iterdir(), key=lambda p: p.stat().st_size)
    if harm == "gone":
        victim.unlink()
    else:
        data = bytearray(victim.read_bytes())
        data[-1] ^= 1
        victim.write_bytes(b"" if harm == "empty" else bytes(data))
    with pytest.raises(DigestError, match="delete that folder"):
        assay.retrieve(task, "bm25", indexes=tmp_path)
