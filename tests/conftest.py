"""What tests share: the folder of real data, where there is one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from assay import download
from hub import Hub

# The same examples every time where a change is judged; new ones every time where it is written.
settings.register_profile("judged", derandomize=True, deadline=None)
settings.register_profile("written", deadline=None)
settings.load_profile("judged" if os.environ.get("CI") else "written")

ROOT = Path(__file__).resolve().parents[1]


def data_folder() -> Path | None:
    """The folder of real test data: $ASSAY_SHARED_DATA, or ../shared/data beside the checkout."""
    for place in (os.environ.get("ASSAY_SHARED_DATA"), ROOT.parent / "shared" / "data"):
        if place and Path(place).is_dir():
            return Path(place)
    return None


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data; the test is skipped where it is absent."""
    folder = data_folder()
    if folder is None:
        pytest.skip("real data not found: set ASSAY_SHARED_DATA or put it at ../shared/data")
    return folder


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A stand-in of the hub on loopback, and an empty cache for what is fetched from it."""
    monkeypatch.setattr(download, "WAITS", (0.0, 0.0))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setenv("HF_HUB_DISABLE_TELEMETRY", "1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    with Hub() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server
