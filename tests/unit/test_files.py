"""Files: decompressed by content, replaced whole or not at all."""

from __future__ import annotations

import gzip
import os
import resource
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.errors import FileError, FormatError
from assay.formats.files import compression_of_name, copy_whole, opened, refused, replacing

SUFFIXES = ["", ".gz", ".zst"]


def written(place: Path, data: bytes) -> Path:
    with replacing(place) as file:
        file.write(data)
    return place


def everything(place: Path) -> bytes:
    with opened(place) as file:
        return file.read()


@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=5000), times=st.integers(1, 60))
def test_what_is_written_is_read(tmp_path: Path, suffix: str, data: bytes, times: int) -> None:
    place = tmp_path / f"file{suffix}"
    with replacing(place) as file:
        for _ in range(times):
            file.write(data)
    # Content that is itself compressed, in a plain file, would be decompressed: a plain name decides nothing.
    if not (suffix == "" and data.startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd"))):
        assert everything(place) == data * times


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_lines_can_be_iterated_and_peeked_at(tmp_path: Path, suffix: str) -> None:
    place = written(tmp_path / f"file{suffix}", b"one\ntwo\xe2\x80\xa8same\n\nlast")
    with opened(place) as file:
        assert file.readline() == b"one\n"
        assert list(file) == [b"two\xe2\x80\xa8same\n", b"\n", b"last"]
        assert file.seekable() == (suffix == "")


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_content_decides_and_not_the_name(tmp_path: Path, suffix: str) -> None:
    packed = written(tmp_path / f"file{suffix}", b"text").rename(tmp_path / "renamed.txt")
    assert everything(packed) == b"text"
    plain = tmp_path / f"plain{suffix}"
    plain.write_bytes(b"in fact plain")
    assert everything(plain) == b"in fact plain"


def test_several_compressed_members_are_one_file(tmp_path: Path) -> None:
    for suffix in (".gz", ".zst"):
        part = written(tmp_path / f"part{suffix}", b"ab\n").read_bytes()
        (tmp_path / "joined").write_bytes(part * 3)
        assert everything(tmp_path / "joined") == b"ab\n" * 3


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
@pytest.mark.parametrize("keep", [0.3, 0.9, 0.999])
def test_compressed_file_cut_short(tmp_path: Path, suffix: str, keep: float) -> None:
    whole = written(tmp_path / f"whole{suffix}", os.urandom(300_000)).read_bytes()
    cut = tmp_path / f"cut{suffix}"
    cut.write_bytes(whole[: int(len(whole) * keep)])
    with pytest.raises(FormatError, match=f"cut{suffix} ends in the middle of its compressed data"):
        everything(cut)


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_compressed_file_damaged(tmp_path: Path, suffix: str) -> None:
    data = bytearray(written(tmp_path / f"file{suffix}", b"hello\n" * 100_000).read_bytes())
    middle = len(data) // 2
    data[middle : middle + 8] = bytes(b ^ 0x55 for b in data[middle : middle + 8])
    place = tmp_path / f"file{suffix}"
    place.write_bytes(bytes(data))
    with pytest.raises(FormatError, match="compressed data"):
        everything(place)


@pytest.mark.parametrize("name", ["empty.gz", "empty.zst"])
def test_empty_file_with_a_compressed_name(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    with pytest.raises(FormatError, match="is empty, but its name says"):
        everything(tmp_path / name)
    (tmp_path / "empty").touch()
    assert everything(tmp_path / "empty") == b""


def test_refusals_when_reading(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match=r"there is no file .*absent; check the path"):
        everything(tmp_path / "absent")
    with pytest.raises(FileError, match="is a folder where a file is meant"):
        everything(tmp_path)
    with pytest.raises(FileError, match="a part of its path is a file"):
        everything(tmp_path / "file" / "below")
    assert FileError.exit_code == 3


def test_refusals_when_writing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place, message in [
        (tmp_path, "is a folder where a file is meant"),
        (tmp_path / "no" / "file", "the folder .*no does not exist"),
        (tmp_path / "file" / "below", "a part of its path is a file"),
    ]:
        with pytest.raises(FileError, match=message):
            written(place, b"x")


def test_permission_is_worded_with_what_to_do() -> None:
    assert "no permission to read /a; change" in str(refused(PermissionError(13, "Permission denied"), "/a", "read"))
    assert "no permission to write /a; change" in str(refused(OSError(30, "Read-only file system"), "/a", "write"))
    assert str(refused(OSError(5, "Input/output error"), "/a", "read")) == "cannot read /a: Input/output error"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_permission_denied(tmp_path: Path) -> None:
    place = written(tmp_path / "file", b"x")
    place.chmod(0)
    with pytest.raises(FileError, match="no permission to read"):
        everything(place)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_failure_leaves_the_old_file_and_no_other(tmp_path: Path, suffix: str) -> None:
    place = written(tmp_path / f"file{suffix}", b"old")

    def fail() -> None:
        with replacing(place) as file:
            file.write(b"new" * 100_000)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert everything(place) == b"old"
    assert [p.name for p in tmp_path.iterdir()] == [place.name]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_full_disk_leaves_the_old_file_and_no_other(tmp_path: Path, suffix: str) -> None:
    place = written(tmp_path / f"file{suffix}", b"old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(FileError, match=r"cannot write .*file.*: no space left .*free some space"):
            written(place, os.urandom(400_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert everything(place) == b"old"
    assert [p.name for p in tmp_path.iterdir()] == [place.name]


def test_killed_writer_leaves_the_old_file(tmp_path: Path) -> None:
    place = written(tmp_path / "file", b"old")
    code = (
        "import sys, time\nfrom assay.formats.files import replacing\n"
        "with replacing(sys.argv[1]) as file:\n"
        "    file.write(b'new' * 100000); file.flush(); print('ready', flush=True); time.sleep(60)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code, str(place)], stdout=subprocess.PIPE)
    assert child.stdout is not None
    with child.stdout:
        assert child.stdout.readline() == b"ready\n"
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert place.read_bytes() == b"old"
    others = [p.name for p in tmp_path.iterdir() if p != place]
    assert len(others) == 1
    assert others[0].startswith(".file.")


def test_nothing_stands_at_the_target_before_the_end(tmp_path: Path) -> None:
    with replacing(tmp_path / "file") as file:
        file.write(b"x")
        assert not (tmp_path / "file").exists()
    assert (tmp_path / "file").read_bytes() == b"x"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_bytes_depend_on_the_content_alone(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one = written(tmp_path / f"one{suffix}", b"same\n" * 1000).read_bytes()
    monkeypatch.setattr(time, "time", lambda: 2_000_000_000.0)
    two = written(tmp_path / f"two{suffix}", b"same\n" * 1000).read_bytes()
    assert one == two


def test_gzip_is_readable_by_others(tmp_path: Path) -> None:
    assert gzip.decompress(written(tmp_path / "a.gz", b"x" * 1000).read_bytes()) == b"x" * 1000


def test_links_and_permissions_stay(tmp_path: Path) -> None:
    place = written(tmp_path / "file", b"old")
    place.chmod(0o640)
    (tmp_path / "link").symlink_to(place)
    written(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert place.read_bytes() == b"new"
    assert stat.S_IMODE(place.stat().st_mode) == 0o640


def test_new_files_follow_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        place = written(tmp_path / "file", b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE(place.stat().st_mode) == 0o640


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_devices_are_written_directly(tmp_path: Path) -> None:
    written(Path("/dev/null"), b"x")
    for name in ("full", "full.gz", "full.zst"):
        (tmp_path / name).symlink_to("/dev/full")
        with pytest.raises(FileError, match="no space left"):
            written(tmp_path / name, os.urandom(200_000))


def test_error_of_the_callers_own_file_passes_through(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), replacing(tmp_path / "out"):
        (tmp_path / "absent").read_bytes()
    assert list(tmp_path.iterdir()) == []


def test_a_copy_is_whole_or_not_at_all(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"bytes as they are")
    for name in ("a", "b.gz", "c.zst"):
        copy_whole(source, tmp_path / name)
        assert (tmp_path / name).read_bytes() == b"bytes as they are"
    copy_whole(tmp_path / "a", tmp_path / "b.gz")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(FileError, match="there is no file"):
        copy_whole(tmp_path / "absent", tmp_path / "a")
    with pytest.raises(FileError, match="is a folder where a file is meant"):
        copy_whole(source, tmp_path)
    with pytest.raises(FileError, match="make it first"):
        copy_whole(source, tmp_path / "none" / "a")
    assert sorted(tmp_path.iterdir()) == before


def test_long_names_fit(tmp_path: Path) -> None:
    name = "n" * 250
    assert everything(written(tmp_path / name, b"x")) == b"x"


def test_compression_of_name() -> None:
    names = ["a.gz", "a.zst", "a.txt", "gz", "a.GZ", ".gz"]
    assert [compression_of_name(n) for n in names] == ["gzip", "zstd", None, None, "gzip", None]
