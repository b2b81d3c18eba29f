"""Plans: shards are run once, whatever is torn is run again, and another plan is refused."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import DigestError, FileError, UsageError
from assay.executor import Work
from assay.plan import MANIFEST, Plan, digest_of_arrays, even_borders, plans_below, run_shard, share_of
from shard_work import Here

BORDERS = (0, 2, 2, 5)


def own_rows(number: int) -> dict[str, np.ndarray]:
    return {"row": np.arange(BORDERS[number], BORDERS[number + 1])}


def shared() -> dict[str, np.ndarray]:
    return {"shared": np.array([7])}


def planned(folder: Path, **changes: object) -> Plan:
    return replace(Plan(folder, "doubling", "shard_work:doubled", "of", BORDERS, {"k": [1, 2]}), **changes)


def done(folder: Path, **changes: object) -> Plan:
    """The plan with every shard run."""
    plan = planned(folder, **changes).written(own_rows, shared)
    for number in range(len(plan)):
        run_shard(str(folder), number)
    return plan


def bytes_below(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@given(st.integers(0, 1000), st.integers(1, 50))
def test_borders_cut_rows_evenly(rows: int, shards: int) -> None:
    borders = even_borders(rows, shards)
    sizes = np.diff(borders)
    assert (borders[0], borders[-1], len(sizes)) == (0, rows, shards)
    assert sizes.max() - sizes.min() <= 1


def test_no_shards_are_refused() -> None:
    with pytest.raises(UsageError, match="at least 1 shard, found 0"):
        even_borders(3, 0)


def test_each_shard_is_run_once_and_says_what_it_came_to(tmp_path: Path) -> None:
    plan = done(tmp_path)
    assert plan.due() == []
    assert [plan.result(n)["doubled"].tolist() for n in range(3)] == [[0, 2], [], [4, 6, 8]]
    assert [dict(plan.result(n))["shared"].tolist() for n in range(3)] == [[7]] * 3
    before = bytes_below(tmp_path)
    assert done(tmp_path).due() == []
    assert bytes_below(tmp_path) == before
    assert [len(tries) for tries in plan.attempts().values()] == [1, 1, 1]


def test_files_do_not_depend_on_the_folder_or_on_who_ran_shards(tmp_path: Path) -> None:
    one, other = done(tmp_path / "one"), planned(tmp_path / "other").written(own_rows, shared)
    for number in (2, 0, 1):
        run_shard(str(other.folder), number)
    kept = ("inputs", "results", MANIFEST)
    for part in kept:
        ours, theirs = one.folder / part, other.folder / part
        assert (
            ours.read_bytes() == theirs.read_bytes() if part == MANIFEST else bytes_below(ours) == bytes_below(theirs)
        )


@pytest.mark.parametrize("harm", ["torn", "gone", "marker torn", "marker gone", "marker no text", "changed"])
def test_a_shard_that_is_not_whole_is_run_again(tmp_path: Path, harm: str) -> None:
    plan = done(tmp_path)
    result, marker = tmp_path / "results" / "00002.npz", tmp_path / "results" / "00002.done"
    before = bytes_below(tmp_path / "results")
    data = result.read_bytes()
    {
        "torn": lambda: result.write_bytes(data[: len(data) // 2]),
        "gone": result.unlink,
        "marker torn": lambda: marker.write_bytes(marker.read_bytes()[:20]),
        "marker gone": marker.unlink,
        "marker no text": lambda: marker.write_bytes(b"\xff\xfe"),
        "changed": lambda: result.write_bytes(data[:-1] + b"!"),
    }[harm]()
    assert plan.due() == [2]
    run_shard(str(tmp_path), 2)
    assert bytes_below(tmp_path / "results") == before
    assert len(plan.attempts()[2]) == 2


def test_a_shard_of_another_plan_is_run_again(tmp_path: Path) -> None:
    plan, other = done(tmp_path / "one"), done(tmp_path / "other", of="something else")
    for name in ("00000.npz", "00000.done"):
        shutil.copy(other.folder / "results" / name, plan.folder / "results" / name)
    assert plan.due() == [0]


def test_a_torn_input_is_written_again_before_anything_runs(tmp_path: Path) -> None:
    plan = planned(tmp_path).written(own_rows, shared)
    before = bytes_below(tmp_path)
    for name in ("00000", "shared"):
        path = tmp_path / "inputs" / f"{name}.npz"
        path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(DigestError, match=r"00000\.npz: not what was written .* run the command again"):
        run_shard(str(tmp_path), 0)
    assert plan.written(own_rows, shared).due() == [0, 1, 2]
    assert {**bytes_below(tmp_path), "attempts/00000": b""} == {**before, "attempts/00000": b""}


def test_a_result_that_is_torn_after_it_was_found_whole_is_an_error(tmp_path: Path) -> None:
    plan = done(tmp_path)
    result = plan.result(0)
    path = tmp_path / "results" / "00000.npz"
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(DigestError, match=r"00000\.npz: not what was written"):
        result["doubled"]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"borders": (0, 5)}, "a plan of 3 shards, and 1 are asked for; ask for as many"),
        ({"borders": (0, 1, 2, 5)}, "another plan (other borders of shards); name another work folder"),
        ({"parameters": {"k": [1, 3]}}, "another plan (other parameters)"),
        ({"of": "x", "what": "tripling"}, "another plan (other work, texts, queries or system)"),
    ],
)
def test_another_plan_in_the_folder_is_refused(tmp_path: Path, changes: dict[str, object], says: str) -> None:
    planned(tmp_path).written(own_rows, shared)
    before = bytes_below(tmp_path)
    with pytest.raises(UsageError) as told:
        planned(tmp_path, **changes).written(own_rows, shared)
    assert says in str(told.value)
    assert bytes_below(tmp_path) == before


@pytest.mark.parametrize("text", ["", "{", "[]", '{"what": "x"}', '{"borders": 3}'])
def test_a_torn_manifest_is_one_error(tmp_path: Path, text: str) -> None:
    planned(tmp_path).written(own_rows, shared)
    (tmp_path / MANIFEST).write_text(text)
    for work in (lambda: planned(tmp_path).written(own_rows, shared), lambda: run_shard(str(tmp_path), 0)):
        with pytest.raises(DigestError, match=r"manifest\.json is torn or no manifest"):
            work()


def test_a_folder_without_a_plan(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"no file .*manifest\.json"):
        run_shard(str(tmp_path), 0)
    with pytest.raises(UsageError, match="holds no plan of shards"):
        plans_below(tmp_path)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="a part of its path is a file"):
        planned(tmp_path / "file" / "below").written(own_rows, shared)


@given(st.integers(1, 9), st.integers(1, 12))
def test_parts_share_the_shards(shards: int, parts: int) -> None:
    plan = replace(planned(Path()), borders=tuple(range(shards + 1)))
    owned = [share_of(plan, part, parts) for part in range(1, parts + 1)]
    assert sorted(number for own in owned for number in own) == list(range(shards))


@pytest.mark.parametrize(("part", "parts"), [(0, 2), (3, 2), (1, 0)])
def test_a_part_that_is_none_is_refused(part: int, parts: int) -> None:
    with pytest.raises(UsageError, match="parts are counted from 1"):
        share_of(planned(Path()), part, parts)


def test_work_runs_what_is_due_and_notes_it(tmp_path: Path) -> None:
    lines: list[str] = []
    work = Work(tmp_path, Here(), 3, told=lines.append)
    found = list(work.done(planned(tmp_path / "plan"), own_rows, shared))
    assert [part["doubled"].tolist() for part in found] == [[0, 2], [], [4, 6, 8]]
    (tmp_path / "plan" / "results" / "00001.done").unlink()
    half = tmp_path / "plan" / "results" / ".00001.npz.0a1b.part"
    half.write_text("half")
    list(work.done(planned(tmp_path / "plan"), own_rows, shared))
    assert work.notes == [
        "doubling: 3 shards, 3 of them run now by here; attempts repeated: 0, workers in all: 1",
        "doubling: 3 shards, 1 of them run now by here; attempts repeated: 1, workers in all: 1",
    ]
    assert not half.exists()
    assert lines[0] == "doubling: 0 of 3 shards are done"
    assert [line.partition(" done by")[0] for line in lines[1:4]] == [f"doubling: shard {n}" for n in (1, 2, 3)]


def test_the_manifest_says_all_of_the_plan(tmp_path: Path) -> None:
    plan = planned(tmp_path).written(own_rows, shared)
    told = json.loads((tmp_path / MANIFEST).read_text())
    assert {key: told[key] for key in plan.told} == plan.told
    assert sorted(told["inputs"]) == ["00000", "00001", "00002", "shared"]
    assert Plan.read(tmp_path) == plan


def test_digests_tell_arrays_apart() -> None:
    arrays = [None, np.zeros(2, np.int32), np.zeros(2, np.int64), np.zeros(4, np.int32), np.zeros((2, 1), np.int32)]
    assert len({digest_of_arrays(array) for array in arrays}) == len(arrays)
