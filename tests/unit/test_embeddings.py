"""Embeddings on disk: made once, resumable after a kill at any moment, proven when they are read, never of another recipe."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import letters
from assay import embeddings
from assay.embeddings import WINDOW, Recipe, default_folder, embedded
from assay.encoder import batches
from assay.errors import DataError, DigestError, FileError, FormatError, UnavailableError
from assay.progress import listening
from assay.store import ENTRIES, ENTRY, RECIPE, VECTORS, WIDTH, Store, folder_name, text_digest
from assay.texts import Texts
from letters import Absent, Dying, Letters, recipe

WORDS = ["fee", "tax", "visa", "rent", "form", "court", "ferry", "school", "garden", "meal", "book", "card"]


def texts(count: int = 3 * WINDOW + 100, seed: int = 1) -> list[str]:
    rng = np.random.default_rng(seed)
    return [f"{' '.join(rng.choice(WORDS, rng.integers(1, 9)))} {number}" for number in range(count)]


def place_of(folder: Path, made: Recipe) -> Path:
    return folder / folder_name(made.record())


def held(folder: Path, made: Recipe) -> tuple[bytes, bytes]:
    place = place_of(folder, made)
    return (place / VECTORS).read_bytes(), (place / ENTRIES).read_bytes()


def vectors(found: embeddings.Embedded) -> np.ndarray[Any, Any]:
    rows = found.rows
    return np.asarray(rows.matrix if rows.place is None else rows.matrix[rows.place])


@pytest.fixture(autouse=True)
def _nothing_asked() -> None:
    letters.ASKED.clear()
    embeddings.opened.cache_clear()


def test_vectors_are_those_of_the_model_row_by_row(tmp_path: Path) -> None:
    listed = ["fee tax", "a b", "", "fee tax", "ferry to the island"]
    found = embedded(Texts.of(listed), recipe(), folder=tmp_path)
    model = recipe().opening.open()
    prepared = model.prepared(listed)
    expected = model.encode(prepared, range(5))
    expected[2] = 0
    assert vectors(found).tobytes() == expected.tobytes()
    assert vectors(found).dtype == np.float32
    assert isinstance(found.rows.matrix, np.memmap)
    assert (len(found.rows.matrix), found.made, found.cut) == (4, 4, 0)
    assert found.model["encoder"] == "letters 1"
    assert vectors(embedded(Texts.of(listed), recipe())).tobytes() == expected.tobytes()
    assert len(embedded(Texts.of([]), recipe(), folder=tmp_path).rows) == 0


def test_nothing_is_made_twice(tmp_path: Path) -> None:
    listed = texts(300)
    first = embedded(Texts.of(listed), recipe(), folder=tmp_path)
    assert len(letters.ASKED) == first.made == 300
    before = held(tmp_path, recipe())
    again = embedded(Texts.of(listed[::-1]), recipe(), folder=tmp_path)
    assert (len(letters.ASKED), again.made) == (300, 0)
    assert again.model == first.model
    assert held(tmp_path, recipe()) == before
    assert vectors(again)[::-1].tobytes() == vectors(first).tobytes()
    more = embedded(Texts.of([*listed, "one more", "one more"]), recipe(), folder=tmp_path)
    assert (more.made, letters.ASKED[300:]) == (1, ["one more"])
    assert held(tmp_path, recipe())[0].startswith(before[0])
    # The device and the number of processes change nothing that is kept.
    elsewhere = replace(recipe(), opening=replace(recipe().opening, device="cuda:7"))
    assert embedded(Texts.of(listed), elsewhere, folder=tmp_path).made == 0


def test_texts_that_are_longer_than_the_model_reads_are_counted_again_when_found(tmp_path: Path) -> None:
    listed, made = ["one two three four", "one two three", "one two three four", ""], recipe(longest=3)
    assert embedded(Texts.of(listed), made, folder=tmp_path).cut == 2
    assert embedded(Texts.of(listed), made, folder=tmp_path).cut == 2
    assert embedded(Texts.of(listed[1:2]), made, folder=tmp_path).cut == 0
    assert letters.ASKED == ["one two three", "one two three"]


def test_the_prompt_stands_before_every_text(tmp_path: Path) -> None:
    found = embedded(Texts.of(["fee", ""]), recipe(prompt="query: "), folder=tmp_path)
    assert letters.ASKED == ["query: fee", "query:"]
    assert vectors(found).tobytes() == vectors(embedded(Texts.of(["query: fee", "query: "]), recipe())).tobytes()


@pytest.mark.parametrize("order", [1, 2])
def test_the_same_bits_for_any_order_and_any_number_of_processes(tmp_path: Path, order: int) -> None:
    made = recipe(Letters(uneven=True))
    listed = texts()
    embedded(Texts.of(listed), made, folder=tmp_path / "one")
    shuffled = np.random.default_rng(order).permutation(len(listed))
    mixed = Texts.of([listed[i] for i in shuffled])
    found = embedded(mixed, made, folder=tmp_path / "two", workers=order)
    assert held(tmp_path / "one", made) == held(tmp_path / "two", made)
    alone = embedded(mixed, made)
    assert vectors(alone).tobytes() == vectors(found).tobytes()
    # Which texts stood together shows in this model's numbers, so equal bits are no accident.
    other = embedded(mixed, recipe(Letters(uneven=True), tokens=8))
    assert vectors(other).tobytes() != vectors(found).tobytes()


PROGRAM = """
import resource, sys
from letters import Absent, Dying, Letters, recipe
from assay.embeddings import embedded
from assay.errors import AssayError
from assay.texts import Texts
folder, listed, pause, limit = sys.argv[1:]
if int(limit):
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
made = recipe(Letters(uneven=True, pause=float(pause)))
try:
    embedded(Texts.of(open(listed, encoding="utf-8").read().splitlines()), made, folder=__import__("pathlib").Path(folder))
except AssayError as err:
    print(err)
    raise SystemExit(err.exit_code)
"""


def started(folder: Path, listed: list[str], *, pause: float = 0.0, limit: int = 0) -> subprocess.Popen[str]:
    file = folder.parent / "texts.txt"
    file.write_text("\n".join(listed), encoding="utf-8")
    words = [sys.executable, "-c", PROGRAM, str(folder), str(file), str(pause), str(limit)]
    paths = os.pathsep.join([str(Path(letters.__file__).parent), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": paths})


def test_killed_again_and_again_the_bytes_are_those_of_one_run(tmp_path: Path) -> None:
    made, listed = recipe(Letters(uneven=True)), texts(6 * WINDOW)
    embedded(Texts.of(listed), made, folder=tmp_path / "whole")
    folder, kills, sizes = tmp_path / "killed", 0, [0]
    entries = place_of(folder, made) / ENTRIES
    rng = np.random.default_rng(7)
    while sizes[-1] < 6 * WINDOW * ENTRY.itemsize:
        process = started(folder, listed, pause=0.0005)
        while process.poll() is None and (not entries.exists() or entries.stat().st_size <= sizes[-1]):
            time.sleep(0.002)
        time.sleep(float(rng.random()) * 0.05)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            kills += 1
        process.wait()
        process.stdout.close()  # type: ignore[union-attr]
        assert entries.stat().st_size >= sizes[-1], "what was made is kept"
        sizes.append(entries.stat().st_size)
    assert kills >= 2
    assert embedded(Texts.of(listed), made, folder=folder).made == 0
    assert held(folder, made) == held(tmp_path / "whole", made)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    embedded(Texts.of(texts(2 * WINDOW + 50)), recipe(Letters(uneven=True)), folder=folder)
    return folder


@settings(max_examples=25)
@given(st.floats(0, 1), st.floats(0, 1))
def test_torn_anywhere_the_end_is_made_again_with_the_same_bytes(
    whole: Path, tmp_path_factory: pytest.TempPathFactory, vectors_kept: float, entries_kept: float
) -> None:
    folder, made = tmp_path_factory.mktemp("torn"), recipe(Letters(uneven=True))
    place = place_of(folder, made)
    shutil.copytree(place_of(whole, made), place)
    for name, share in ((VECTORS, vectors_kept), (ENTRIES, entries_kept)):
        os.truncate(place / name, int((place / name).stat().st_size * share))
    embedded(Texts.of(texts(2 * WINDOW + 50)), made, folder=folder)
    assert held(folder, made) == held(whole, made)
    shutil.rmtree(folder)


def test_rows_without_entries_and_a_torn_entry_are_cut_off(tmp_path: Path) -> None:
    made, listed = recipe(), texts(20)
    embedded(Texts.of(listed), made, folder=tmp_path)
    before, place = held(tmp_path, made), place_of(tmp_path, made)
    for name, more in ((VECTORS, b"\0" * 24 * 4 * 3), (ENTRIES, b"x" * 17)):
        with (place / name).open("ab") as stream:
            stream.write(more)
    assert embedded(Texts.of(listed), made, folder=tmp_path).made == 0
    assert held(tmp_path, made) == before


@pytest.mark.parametrize(("name", "at"), [(VECTORS, 100), (VECTORS, 24 * 4 * 11 + 1), (ENTRIES, 40 * 5 + 3)])
def test_a_changed_byte_is_found(tmp_path: Path, name: str, at: int) -> None:
    made = recipe()
    embedded(Texts.of(texts(20)), made, folder=tmp_path)
    place = place_of(tmp_path, made) / name
    data = bytearray(place.read_bytes())
    data[at] ^= 1
    place.write_bytes(data)
    with pytest.raises(DigestError, match=r"vectors\.f32: row \d+ is not what was written; delete the folder"):
        embedded(Texts.of(["one"]), made, folder=tmp_path)


def test_vectors_of_another_model_under_this_name_are_found(tmp_path: Path) -> None:
    one, other = recipe(), recipe(identity="two")
    for made, seed in ((one, 1), (other, 2)):
        embedded(Texts.of(texts(20, seed)), made, folder=tmp_path)
    shutil.copy(place_of(tmp_path, other) / VECTORS, place_of(tmp_path, one) / VECTORS)
    with pytest.raises(DigestError, match="row 0 is not what was written"):
        embedded(Texts.of(["one"]), one, folder=tmp_path)
    shutil.rmtree(place_of(tmp_path, one))
    shutil.copytree(place_of(tmp_path, other), place_of(tmp_path, one))
    with pytest.raises(FormatError, match=r"recipe\.json: these rows were made with another identity"):
        embedded(Texts.of(["one"]), one, folder=tmp_path)


@pytest.mark.parametrize("changed", ["prompt", "tokens", "encoder", "reading", "identity"])
def test_other_recipes_have_other_folders_and_are_refused_in_this_one(tmp_path: Path, changed: str) -> None:
    made = recipe()
    other = {
        "prompt": recipe(prompt="q: "),
        "tokens": recipe(tokens=65),
        "encoder": recipe(Letters(dimensions=25)),
        "reading": recipe(longest=7),
        "identity": recipe(identity="two"),
    }[changed]
    assert folder_name(made.record()) != folder_name(other.record())
    embedded(Texts.of(["one"]), made, folder=tmp_path)
    place_of(tmp_path, made).rename(place_of(tmp_path, other))
    with pytest.raises(FormatError, match=f"made with another {changed}; delete the folder"):
        embedded(Texts.of(["one"]), other, folder=tmp_path)


def test_a_model_that_was_moved_is_the_same_model(tmp_path: Path) -> None:
    made = recipe()
    embedded(Texts.of(["one"]), made, folder=tmp_path)
    moved = recipe(model="elsewhere/letters")
    assert folder_name(moved.record()).rpartition("-")[2] == folder_name(made.record()).rpartition("-")[2]
    place_of(tmp_path, made).rename(place_of(tmp_path, moved))
    assert embedded(Texts.of(["one"]), moved, folder=tmp_path).made == 0


@pytest.mark.parametrize("data", [b"{", b"[]", b"\xff\xfe", b'{"model": "x"}'])
def test_a_torn_recipe_is_one_clear_error(tmp_path: Path, data: bytes) -> None:
    made = recipe()
    embedded(Texts.of(["one"]), made, folder=tmp_path)
    (place_of(tmp_path, made) / RECIPE).write_bytes(data)
    with pytest.raises(FormatError, match=r"recipe\.json: .*delete the folder"):
        embedded(Texts.of(["one"]), made, folder=tmp_path)


@pytest.mark.parametrize(
    ("name", "data"), [(RECIPE, None), (WIDTH, None), (WIDTH, b""), (WIDTH, b"x\xff"), (WIDTH, b"0")]
)
def test_a_folder_that_lacks_what_tells_its_rows_is_not_thrown_away(
    tmp_path: Path, name: str, data: bytes | None
) -> None:
    made = recipe()
    embedded(Texts.of(texts(5)), made, folder=tmp_path)
    before, place = held(tmp_path, made), place_of(tmp_path, made) / name
    place.unlink()
    if data is not None:
        place.write_bytes(data)
    with pytest.raises(FormatError, match="delete the folder"):
        embedded(Texts.of(texts(5)), made, folder=tmp_path)
    assert held(tmp_path, made) == before


def test_a_disk_that_is_full_in_the_middle_keeps_what_was_made(tmp_path: Path) -> None:
    made, listed = recipe(Letters(uneven=True)), texts(4 * WINDOW)
    embedded(Texts.of(listed), made, folder=tmp_path / "whole")
    folder = tmp_path / "full"
    row = 24 * 4
    process = started(folder, listed, limit=2 * WINDOW * row + 1000)
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 3, said
    assert "File too large; what was made until then is kept" in said
    assert str(folder) in said
    found = embedded(Texts.of(listed), made, folder=folder)
    assert found.made == 2 * WINDOW
    assert held(folder, made) == held(tmp_path / "whole", made)


def test_a_folder_that_cannot_be_made_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match=r"file/.*(Not a directory|File exists)"):
        embedded(Texts.of(["one"]), recipe(), folder=tmp_path / "file")


def test_processes_at_once_make_each_text_once(tmp_path: Path) -> None:
    made, listed = recipe(Letters(uneven=True)), texts(2 * WINDOW)
    processes = [started(tmp_path / "shared", listed, pause=0.0002) for _ in range(3)]
    assert [process.wait(timeout=120) for process in processes] == [0, 0, 0]
    for process in processes:
        process.stdout.close()  # type: ignore[union-attr]
    embedded(Texts.of(listed), made, folder=tmp_path / "alone")
    assert held(tmp_path / "shared", made) == held(tmp_path / "alone", made)


@pytest.mark.parametrize("workers", [1, 2])
def test_numbers_that_are_not_finite_are_refused(tmp_path: Path, workers: int) -> None:
    made = recipe(Letters(broken="island"))
    listed = [*texts(), "ferry to the island"]
    with pytest.raises(DataError, match="NaN or infinite numbers for 1 texts, the first 'ferry to the island'"):
        embedded(Texts.of(listed), made, folder=tmp_path, workers=workers)
    place = place_of(tmp_path, made)
    assert not np.isnan(np.fromfile(place / VECTORS, np.float32)).any()


def test_other_dimensions_than_those_that_are_kept_are_refused(tmp_path: Path) -> None:
    folder = letters.model_folder(tmp_path / "model", 24)
    made = recipe(folder=folder)
    embedded(Texts.of(["one"]), made, folder=tmp_path)
    letters.model_folder(tmp_path / "model", 30)
    embeddings.opened.cache_clear()
    before = held(tmp_path, made)
    with pytest.raises(DataError, match="holds rows of 24 numbers, and rows of 30 came"):
        embedded(Texts.of(["one", "two"]), made, folder=tmp_path)
    assert held(tmp_path, made) == before


class Short(letters.LettersModel):
    def encode(self, prepared: Any, rows: Any) -> Any:
        return super().encode(prepared, rows)[:, :-1]


class ShortLetters(Letters):
    def opened(self, weights: Any, reading: Any, *, device: str) -> Any:
        return Short(self, weights, reading, device)


def test_a_model_that_returns_another_shape_is_refused() -> None:
    with pytest.raises(DataError, match=r"numbers of shape \(1, 23\) for 1 texts; 24 a text are due"):
        embedded(Texts.of(["one"]), recipe(ShortLetters()))


def test_a_process_that_dies_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="a process that encodes was killed"):
        embedded(Texts.of(texts()), recipe(Dying()), folder=tmp_path, workers=2)


@pytest.mark.parametrize("workers", [1, 2])
def test_what_a_model_lacks_reaches_the_caller_from_any_process(tmp_path: Path, workers: int) -> None:
    with pytest.raises(UnavailableError, match="there is no device 'cuda'"):
        embedded(Texts.of(texts()), recipe(Absent()), folder=tmp_path, workers=workers)


def test_progress_is_told_to_whoever_listens() -> None:
    lines: list[str] = []
    with listening(lines.append):
        embedded(Texts.of(texts(WINDOW + 10)), recipe())
    assert [line.partition(" texts encoded")[0] for line in lines] == [
        "tests/letters: 1,024 of 1,034",
        "tests/letters: 1,034 of 1,034",
    ]
    embedded(Texts.of(texts(5)), recipe())
    assert len(lines) == 2


def test_the_folder_where_nobody_names_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("ASSAY_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_folder() == tmp_path / ".cache" / "assay" / "embeddings"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert default_folder() == tmp_path / "cache" / "assay" / "embeddings"
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "own"))
    assert default_folder() == tmp_path / "own" / "embeddings"


@given(st.lists(st.integers(0, 60), max_size=60), st.integers(1, 100))
def test_batches_hold_every_text_once_within_the_budget(lengths: list[int], tokens: int) -> None:
    own = np.array(lengths, np.int64)
    made = batches(own, tokens=tokens)
    flat = [row for rows in made.rows for row in rows.tolist()]
    assert sorted(flat) == list(range(len(lengths)))
    assert [lengths[row] for row in flat] == sorted(lengths, reverse=True)
    for rows in made.rows:
        assert len(rows) == 1 or len(rows) * max(1, int(own[rows].max())) <= tokens
    places = sum(len(rows) * max(1, int(own[rows].max())) for rows in made.rows)
    assert made.padded == pytest.approx(1 - sum(max(1, n) for n in lengths) / places if places else 0)


@given(st.lists(st.integers(0, 60), max_size=60), st.integers(1, 400), st.floats(0, 0.3))
def test_no_batch_is_filled_up_more_than_it_may(lengths: list[int], tokens: int, padded: float) -> None:
    own = np.array(lengths, np.int64)
    made = batches(own, tokens=tokens, padded=padded)
    flat = [row for rows in made.rows for row in rows.tolist()]
    assert sorted(flat) == list(range(len(lengths)))
    assert [lengths[row] for row in flat] == sorted(lengths, reverse=True)
    for rows, after in zip(made.rows, [*made.rows[1:], np.zeros(0, np.int64)]):
        sizes = np.maximum(own[rows], 1)
        places = len(rows) * int(sizes.max())
        assert len(rows) == 1 or places <= tokens
        assert 1 - sizes.sum() / places <= padded + 1e-9
        # One more text would be too many.
        if len(after):
            more = places + int(sizes.max())
            filled = sizes.sum() + max(1, lengths[int(after[0])])
            assert more > tokens or 1 - filled / more > padded - 1e-9


def test_texts_of_about_equal_length_leave_little_padding() -> None:
    rng = np.random.default_rng(3)
    listed = [
        " ".join(rng.choice(WORDS, int(n))) + f" {i}" for i, n in enumerate(rng.lognormal(3, 0.6, 4000).clip(1, 48))
    ]
    assert embedded(Texts.of(listed), recipe(tokens=1024)).padded < 0.05


def test_a_store_knows_its_rows_by_digest(tmp_path: Path) -> None:
    digests = np.array([text_digest(text) for text in ("a", "b")], "V16")
    with Store.opened(tmp_path / "s", {"model": "m"}) as store:
        store.append(digests, np.eye(2, dtype=np.float32), tokens=np.ones(2, np.int64), cut=np.zeros(2, np.bool_))
        assert store.places(np.array([text_digest("b"), text_digest("c")], "V16")).tolist() == [1, -1]
        with pytest.raises(DataError, match="rows of 2 numbers, and rows of 3 came"):
            store.append(
                digests[:1], np.ones((1, 3), np.float32), tokens=np.ones(1, np.int64), cut=np.zeros(1, np.bool_)
            )
    assert json.loads((tmp_path / "s" / RECIPE).read_text()) == {"model": "m"}
