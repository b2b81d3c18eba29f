"""The client of the European Parliament's interface against a stand-in on loopback, which misbehaves in every known way."""

from __future__ import annotations

import hashlib
import itertools
import json
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import DataError, DigestError, FileError, FormatError, UnavailableError, UsageError
from assay.sources.europarl import walk
from assay.sources.europarl.bodies import GRAPH, TEXTS, graph_of
from assay.sources.europarl.client import BASE, Client, Manners, Pace, Refused, seconds_to_wait
from assay.sources.europarl.fetch import fetch, fetched
from assay.sources.europarl.folder import Folder, held_in
from assay.sources.europarl.months import Months, months_of
from assay.sources.europarl.walk import Fetched, Step
from europarl_files import docx_bytes, pdf_bytes, xhtml_bytes
from europarl_stand_in import Fault, Portal, Said, StandIn, quarter

QUICK = Manners(pause=0.0, wait=0.001, timeout=5.0)
"""As the client behaves by default, thirty thousand times as fast."""
PATIENT = replace(QUICK, wait=600.0)
"""Waits for ten minutes, so that a test only ends where a shorter wait was asked for."""
JANUARY = Months(date(2024, 1, 1), date(2024, 1, 31))
QUARTER = Months(date(2024, 1, 1), date(2024, 3, 31), date(2023, 10, 1))
TESTS = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def _direct(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")


def few(count: int = 6) -> Portal:
    """Questions of January 2024, each with an answer of its own."""
    portal = Portal()
    for at in range(count):
        portal.reply(portal.ask(at + 1, date(2024, 1, 2 + at)))
    return portal


def filled(folder: Path, stand_in: StandIn, months: Months = JANUARY, **more: Any) -> Fetched:
    return fetch(folder, months=months, base=stand_in.base, **{"manners": QUICK, **more})


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def lines_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "fetched.jsonl").read_text().splitlines()]


def got(stand_in: StandIn, address: str, *, manners: Manners = QUICK, kind: str = "") -> bytes:
    with Client(stand_in.base, manners=manners) as client:
        return client.get(f"{stand_in.root}{address}", TEXTS[kind] if kind else GRAPH).body


ONE = "/api/v2/parliamentary-questions/E-9-2024-000001"
FILE = "/distribution/reds_iMaQp/E-9-2024-000001/E-9-2024-000001_en.docx"

# ---------------------------------------------------------------- one request


def test_a_client_says_who_it_is_without_a_name_of_anybody() -> None:
    with StandIn(few()) as stand_in:
        got(stand_in, ONE)
        got(stand_in, FILE, kind="docx")
    agents = {call.headers["user-agent"] for call in stand_in.calls}
    assert len(agents) == 1
    user, environment, version = agents.pop().split("-")
    assert (user, environment) == ("assay", "build")
    assert version[0].isdigit()
    assert [call.headers["accept"] for call in stand_in.calls] == ["application/ld+json", TEXTS["docx"].accept]


def test_calls_keep_their_distance() -> None:
    pace = Pace(0.7)
    now, begun = 100.0, []
    for took in (0.0, 0.1, 2.0, 0.0, 0.3, 0.0):
        now += pace.wait(now)
        begun.append(now)
        now += took
    gaps = [round(later - earlier, 6) for earlier, later in itertools.pairwise(begun)]
    assert gaps == [0.7, 0.7, 2.0, 0.7, 0.7]


def test_waits_double_from_half_a_minute() -> None:
    assert Manners().waits() == [30, 60, 120, 240]
    assert Manners().pause == 0.7


@pytest.mark.parametrize("status", [429, 502, 503, 504, 202, 500])
def test_what_passes_is_asked_again(status: int) -> None:
    with StandIn(few(), Fault("parliamentary", status, times=4)) as stand_in:
        assert graph_of(got(stand_in, ONE))["data"][0]["identifier"] == "E-9-2024-000001"
    assert len(stand_in.calls) == 5


@pytest.mark.parametrize("kind", ["error", "page", "cut", "cut gzip"])
def test_a_body_that_is_no_use_is_asked_for_again(kind: str) -> None:
    for address, of in ((ONE, ""), (FILE, "docx")):
        with StandIn(few(), Fault(".", kind, times=2)) as stand_in:
            whole = got(stand_in, address, kind=of)
            assert whole == (stand_in.files[FILE[1:]] if of else stand_in.answered(ONE, {})[2])
        assert len(stand_in.calls) == 3


def test_without_packing_it_is_the_same() -> None:
    with StandIn(few(), Fault(".", "cut")) as stand_in:
        stand_in.gzip = False
        assert got(stand_in, FILE, kind="docx") == stand_in.files[FILE[1:]]
    assert len(stand_in.calls) == 2


@pytest.mark.parametrize("ahead", [0, -100])
def test_retry_after_is_obeyed_in_place_of_the_own_wait(ahead: int) -> None:
    now = datetime(2024, 5, 1, 12, 0, 0, tzinfo=UTC)
    headers = {"Date": format_datetime(now, usegmt=True)}
    until = format_datetime(now + timedelta(seconds=ahead), usegmt=True)
    for after in ("0", until):
        with StandIn(few(), Fault(".", 429, times=3, headers={**headers, "Retry-After": after})) as stand_in:
            got(stand_in, ONE, manners=PATIENT)
        assert len(stand_in.calls) == 4


def test_seconds_to_wait_are_read_from_numbers_and_dates() -> None:
    at = "Wed, 01 May 2024 12:00:00 GMT"
    assert seconds_to_wait("60", now=at) == 60
    assert seconds_to_wait(" 0 ") == 0
    assert seconds_to_wait("Wed, 01 May 2024 12:01:30 GMT", now=at) == 90
    assert seconds_to_wait("Wed, 01 May 2024 11:00:00 GMT", now=at) == 0
    assert seconds_to_wait("Wed, 01 May 2024 12:00:00 -0000", now=at) == 0
    assert seconds_to_wait("Sun, 06 Nov 1994 08:49:37 GMT") == 0
    for unclear in ("", "soon", "-5", "1.5", "Wed, 99 May 2024"):
        assert seconds_to_wait(unclear, now=at) is None


def test_a_wait_without_end_is_not_waited() -> None:
    with (
        StandIn(few(), Fault(".", 503, headers={"Retry-After": "86400"})) as stand_in,
        pytest.raises(UnavailableError, match=r"asks to wait 86,400 seconds \(status 503\): come back then"),
    ):
        got(stand_in, ONE)
    assert len(stand_in.calls) == 1


@pytest.mark.parametrize("status", [400, 403, 404, 406, 410])
def test_what_is_refused_is_asked_once(status: int) -> None:
    with StandIn(few(), Fault(".", status, times=9)) as stand_in, pytest.raises(Refused) as err:
        got(stand_in, ONE)
    assert (err.value.status, err.value.why, len(stand_in.calls)) == (status, f"status {status}", 1)


@pytest.mark.parametrize(
    ("kind", "says"),
    [(502, "status 502"), (202, "status 202, a page of the firewall"), ("silent", "no answer in time")],
)
def test_an_outage_ends_after_five_tries(kind: int | str, says: str) -> None:
    with StandIn(few(), Fault(".", kind, times=99)) as stand_in:
        manners = replace(QUICK, timeout=0.2 if kind == "silent" else 5.0)
        with pytest.raises(UnavailableError, match=rf"does not answer as it should, after 5 tries: {says}"):
            got(stand_in, ONE, manners=manners)
    assert len(stand_in.calls) == 5


def test_nobody_there_is_an_outage() -> None:
    with (
        Client("http://127.0.0.1:9/api/v2", manners=QUICK) as client,
        pytest.raises(UnavailableError, match="no connection"),
    ):
        client.get("http://127.0.0.1:9/api/v2/x", GRAPH)


def test_one_thing_that_always_fails_is_refused_and_no_outage() -> None:
    with StandIn(few(), Fault(".", 500, times=99)) as stand_in, pytest.raises(Refused, match="status 500"):
        got(stand_in, ONE)
    assert len(stand_in.calls) == 5


@pytest.mark.parametrize(
    ("kind", "flaw"),
    [
        ("docx", b"PK\3\4 half"),
        ("pdf", b"%PDF-1.4 half"),
        ("xhtml", b"<html><body>half"),
        ("xhtml", b"<html><body><script>check()</script></body></html>"),
        ("", b'{"data": 1}'),
        ("", b"[]"),
    ],
)
def test_bytes_of_another_kind_are_no_text(kind: str, flaw: bytes) -> None:
    address = FILE.replace("docx", kind) if kind else ONE
    with StandIn(few(), Fault(".", "body", times=99, body=flaw)) as stand_in, pytest.raises(Refused) as err:
        got(stand_in, address, kind=kind)
    assert err.value.status == 200


def test_texts_of_every_kind_are_known_as_such() -> None:
    told = ["One.", "Two."]
    made = {"docx": docx_bytes(told), "xhtml": xhtml_bytes(told), "pdf": pdf_bytes(told)}
    for name, kind in TEXTS.items():
        assert {other for other, body in made.items() if not kind.flaw(body)} == {name}


def test_a_redirect_within_the_house_is_followed() -> None:
    with StandIn(few()) as stand_in:
        stand_in.faults.append(
            Fault("000001$", 302, headers={"Location": "/api/v2/parliamentary-questions/E-9-2024-000002"})
        )
        assert graph_of(got(stand_in, ONE))["data"][0]["identifier"] == "E-9-2024-000002"


@pytest.mark.parametrize(
    "place",
    [
        "http://localhost:{port}/x",
        "https://example.org/x",
        "ftp://127.0.0.1/x",
        "//example.org/x",
        "file:///etc/passwd",
    ],
)
def test_a_redirect_that_leads_out_is_refused(place: str) -> None:
    with StandIn(few()) as stand_in:
        port = stand_in.server.server_address[1]
        stand_in.faults.append(Fault(".", 302, headers={"Location": place.format(port=port)}))
        with pytest.raises(Refused, match="outside the house"):
            got(stand_in, ONE)
    assert len(stand_in.calls) == 1


@pytest.mark.parametrize("place", ["http://[bad", "//127.0.0.1:port/x"])
def test_a_redirect_to_no_address_is_refused(place: str) -> None:
    with (
        StandIn(few(), Fault(".", 302, headers={"Location": place})) as stand_in,
        pytest.raises(Refused, match="leads to no address"),
    ):
        got(stand_in, ONE)


def test_a_redirect_in_a_circle_ends() -> None:
    with (
        StandIn(few(), Fault(".", 301, times=99, headers={"Location": ONE})) as stand_in,
        pytest.raises(Refused, match="on and on"),
    ):
        got(stand_in, ONE)
    assert len(stand_in.calls) == 5


def test_a_body_larger_than_the_bound_is_refused_packed_or_not() -> None:
    large = b'{"data": ["' + b"a" * 500_000 + b'"]}'
    for packed in (True, False):
        with StandIn(few(), Fault(".", "body", body=large)) as stand_in:
            stand_in.gzip = packed
            with pytest.raises(Refused, match=r"larger than 100,000 bytes"):
                got(stand_in, ONE, manners=replace(QUICK, largest=100_000))
        assert len(stand_in.calls) == 1


@pytest.mark.parametrize(
    ("base", "says"),
    [
        ("data.europarl.europa.eu/api/v2", "no address"),
        ("ftp://data.europarl.europa.eu", "no address"),
        ("https://", "no address"),
        ("https://a.eu/?x=1", "no address"),
        ("https://[bad/api/v2", "no address"),
        ("https://a.eu:port/api/v2", "no address"),
        ("https://user:word@a.eu/api/v2", "no address"),
        ("http://data.europarl.europa.eu/api/v2", "not encrypted"),
    ],
)
def test_an_address_that_is_none_is_a_wrong_request(base: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        Client(base, manners=QUICK)


def test_the_house_itself_is_never_hurried() -> None:
    with pytest.raises(UsageError, match=r"is owed 0\.7 seconds between two calls, not 0\.1"):
        Client(BASE, manners=Manners(pause=0.1))
    with Client(BASE) as client:
        assert client.root == "https://data.europarl.europa.eu/"


def test_importing_loads_no_package_of_others() -> None:
    code = (
        "import sys, assay.sources.europarl.fetch\n"
        "print([m for m in ('httpx2', 'stamina', 'selectolax', 'pypdf', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# ---------------------------------------------------------------- a folder


def test_a_folder_holds_what_came_as_it_came(tmp_path: Path) -> None:
    with StandIn(quarter()) as stand_in:
        done = filled(tmp_path / "raw", stand_in, QUARTER)
        assert done.requests == len(stand_in.calls)
        texts = {path.name: path.read_bytes() for path in (tmp_path / "raw" / "files").iterdir()}
        served = {path.rpartition("/")[2]: data for path, data in stand_in.files.items()}
        assert texts == {name: served[name] for name in texts}
    assert (done.listed, done.questions, done.context, done.outside) == (70, 60, 8, 2)
    assert (done.answers, done.documents, done.undated, done.refused) == (63, 2, 0, {})
    # One file a text: the first kind that there is, and of context questions English alone.
    assert {name.rpartition(".")[0] for name in texts} == {name.rpartition(".")[0] for name in served} - {
        "E-9-2024-009001_en",
        "E-9-2023-003999_en",
    }
    assert len({name.rpartition(".")[0] for name in texts}) == len(texts) == done.texts
    assert {"E-9-2024-000007_en.xhtml", "E-9-2024-000008_en.pdf", "E-9-2024-000011-ASW_en.docx"} <= set(texts)
    assert sorted(path.name for path in (tmp_path / "raw" / "documents").iterdir()) == [
        "E-9-2024-000006-ASW.json",
        "E-9-2024-000012-ASW.json",
    ]
    for line in lines_of(tmp_path / "raw"):
        data = (tmp_path / "raw" / line["file"]).read_bytes()
        assert (line["sha256"], line["bytes"]) == (hashlib.sha256(data).hexdigest(), len(data))
        assert line["status"] == (200 if data else 204)


def test_nothing_is_asked_twice(tmp_path: Path) -> None:
    with StandIn(few()) as stand_in:
        first = filled(tmp_path, stand_in)
        before, calls = files_of(tmp_path), len(stand_in.calls)
        again = filled(tmp_path, stand_in)
        assert (len(stand_in.calls), again.requests) == (calls, 0)
    assert files_of(tmp_path) == before
    assert (
        replace(again, requests=first.requests)
        == first
        == replace(fetched(tmp_path, months=JANUARY), requests=first.requests)
    )


@pytest.mark.parametrize("year_of", ["id", "date"])
def test_the_neighbouring_year_is_looked_at_too(tmp_path: Path, year_of: str) -> None:
    portal = few()
    portal.questions["E-9-2023-004000"] = Said("E-9-2023-004000", date(2024, 1, 2), "Late", {"en": ["Late"]})
    portal.questions["E-9-2024-000900"] = Said("E-9-2024-000900", date(2023, 12, 31), "Early", {"en": ["Early"]})
    with StandIn(portal) as stand_in:
        stand_in.year_of = year_of
        done = filled(tmp_path, stand_in)
    assert (done.questions, done.outside) == (7, 1)
    assert (tmp_path / "files" / "E-9-2023-004000_en.docx").is_file()
    assert not (tmp_path / "files" / "E-9-2024-000900_en.docx").is_file()
    assert Months(date(2024, 12, 1), date(2024, 12, 31)).years() == (2024, 2025)
    assert Months(date(2024, 2, 1), date(2024, 3, 31)).years() == (2024,)


def test_only_the_languages_that_are_asked_for_come(tmp_path: Path) -> None:
    portal = Portal()
    portal.reply(portal.ask(1, date(2024, 1, 2), languages=("en", "de", "fr")))
    with StandIn(portal) as stand_in:
        for languages, wanted in ((None, "de en fr"), ((), "en"), (("fr",), "en fr")):
            filled(tmp_path / wanted, stand_in, languages=languages)
            found = sorted(path.stem.rpartition("_")[2] for path in (tmp_path / wanted / "files").glob("*000001_*"))
            assert " ".join(found) == wanted


# ---------------------------------------------------------------- lists


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of four and batches of three."""
    monkeypatch.setattr(walk, "PAGE", 4)
    monkeypatch.setattr(walk, "BATCH", 3)


@pytest.mark.usefixtures("small")
def test_a_list_goes_on_until_nothing_comes(tmp_path: Path) -> None:
    for name, ends, total in (("204", 204, False), ("empty", 200, False), ("total", 204, True)):
        with StandIn(few(10)) as stand_in:
            stand_in.ends_with, stand_in.total = ends, total
            assert filled(tmp_path / name, stand_in).questions == 10
            pages = stand_in.addresses("year=2024&work-type=QUESTION_WRITTEN&")
            offsets = [int(page.partition("offset=")[2].partition("&")[0]) for page in pages]
        assert offsets == ([0, 4, 8] if total else [0, 4, 8, 10])


@pytest.mark.usefixtures("small")
def test_a_short_page_is_not_the_last(tmp_path: Path) -> None:
    with StandIn(few(10), Fault("year=2024.*offset=[04]&", "short", times=2)) as stand_in:
        assert filled(tmp_path, stand_in).questions == 10


@pytest.mark.usefixtures("small")
def test_an_error_within_a_200_is_no_end_of_a_list(tmp_path: Path) -> None:
    with StandIn(few(10), Fault("year=2024.*offset=4", "error", times=3)) as stand_in:
        assert filled(tmp_path, stand_in).questions == 10


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (
            Fault("offset=4", "error", times=99),
            r"refuses a page of a list, lists/2024-QUESTION_WRITTEN-to-2024-01-00004\.json: an error within",
        ),
        (Fault("offset=4", 404, times=99), "refuses a page of a list.*: status 404"),
        (Fault("offset=4", 406, times=99), "refuses a page of a list.*: status 406"),
        (Fault("offset=4", 504, times=99), "status 504"),
    ],
)
def test_a_list_with_a_hole_is_never_taken_for_whole(tmp_path: Path, fault: Fault, says: str) -> None:
    with StandIn(few(10), fault) as stand_in:
        with pytest.raises(UnavailableError, match=says) as err:
            filled(tmp_path, stand_in)
        assert "the same command goes on from there" in str(err.value)
        stand_in.faults.clear()
        assert filled(tmp_path, stand_in).questions == 10


def test_a_list_that_repeats_itself_ends(tmp_path: Path) -> None:
    portal = few(4)
    with StandIn(portal) as stand_in:
        page = stand_in.envelope(stand_in.listed(2024, "QUESTION_WRITTEN"))
        stand_in.faults.append(Fault("year=2024&work-type=QUESTION_WRITTEN&", "body", times=99, body=page))
        with pytest.raises(UnavailableError, match="the list of 2024 repeats itself"):
            filled(tmp_path, stand_in)
        assert len(stand_in.addresses("year=2024&")) == 4


@pytest.mark.usefixtures("small")
def test_later_months_ask_for_the_list_again(tmp_path: Path) -> None:
    """What a list did not hold yet when it was asked for is not lost, and what was there keeps its place."""
    portal = few(4)
    february = Months(date(2024, 2, 1), date(2024, 2, 29))
    with StandIn(portal) as stand_in:
        filled(tmp_path, stand_in)
        before = {name: data for name, data in files_of(tmp_path).items() if name != "fetched.jsonl"}
        portal.ask(0, date(2024, 2, 3))
        portal.ask(77, date(2024, 2, 5))
        stand_in.files = portal.files()
        with pytest.raises(
            DataError, match=r"was not filled for all of this: \d things are missing, the first one lists/2024"
        ):
            fetched(tmp_path, months=february)
        calls = len(stand_in.calls)
        assert filled(tmp_path, stand_in, february).questions == 2
        assert len(stand_in.addresses(ONE.rpartition("/")[0] + "/")) == 3
        assert fetched(tmp_path, months=february).questions == 2
        # Earlier months need nothing more.
        calls = len(stand_in.calls)
        assert filled(tmp_path, stand_in).questions == 4
        assert len(stand_in.calls) == calls
    after = files_of(tmp_path)
    assert {name: after[name] for name in before} == before


# ---------------------------------------------------------------- details


@pytest.mark.usefixtures("small")
def test_refused_batches_are_halved_down_to_single_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "BATCH", 8)
    with StandIn(few(10)) as stand_in:
        stand_in.most_ids = 2
        done = filled(tmp_path, stand_in)
        sizes = [address.count(",") + 1 for address in stand_in.addresses("questions/")]
    assert sizes == [8, 4, 2, 2, 4, 2, 2, 2]
    assert (done.questions, done.refused) == (10, {})


def test_a_single_id_that_is_refused_is_counted(tmp_path: Path) -> None:
    with StandIn(few(10)) as stand_in:
        stand_in.refused = {"E-9-2024-000004", "E-9-2024-000010"}
        done = filled(tmp_path, stand_in)
        calls = len(stand_in.calls)
        assert filled(tmp_path, stand_in).refused == done.refused
        assert len(stand_in.calls) == calls
    assert done.questions == 8
    assert done.refused == {"status 403": ["E-9-2024-000004", "E-9-2024-000010"]}
    assert fetched(tmp_path, months=JANUARY).refused == done.refused


@pytest.mark.parametrize("status", [404, 500, 204])
def test_an_id_that_spoils_its_batch_is_found(tmp_path: Path, status: int) -> None:
    with StandIn(few(10), Fault("questions/.*000006", status, times=99)) as stand_in:
        done = filled(tmp_path, stand_in)
    assert done.questions == 9
    assert list(done.refused.values()) == [["E-9-2024-000006"]]


def test_an_id_that_a_response_leaves_out_is_asked_for_alone(tmp_path: Path) -> None:
    with StandIn(few(10)) as stand_in:
        stand_in.unknown = {"E-9-2024-000003"}
        done = filled(tmp_path, stand_in)
        assert stand_in.addresses("questions/E-9-2024-000003[?]")
    assert (done.questions, done.refused) == (9, {"status 404": ["E-9-2024-000003"]})


def test_what_failed_at_every_try_is_asked_again_the_next_time(tmp_path: Path) -> None:
    with StandIn(few(3), Fault("000002_en.(docx|pdf)", 500, times=99)) as stand_in:
        done = filled(tmp_path, stand_in)
        assert done.refused == {"status 500": ["E-9-2024-000002_en.docx", "E-9-2024-000002_en.pdf"]}
        assert fetched(tmp_path, months=JANUARY).refused == done.refused
        stand_in.faults.clear()
        assert filled(tmp_path, stand_in).refused == {}
    assert (tmp_path / "files" / "E-9-2024-000002_en.docx").is_file()


def test_one_thing_after_another_that_fails_is_an_outage(tmp_path: Path) -> None:
    with (
        StandIn(few(6), Fault("docx|pdf", 500, times=9999)) as stand_in,
        pytest.raises(UnavailableError, match="fails for one thing after another, 3 in a row: status 500"),
    ):
        filled(tmp_path, stand_in)


def test_details_that_are_no_longer_offered_as_json_are_an_outage(tmp_path: Path) -> None:
    with (
        StandIn(few(6), Fault("questions/", 406, times=99)) as stand_in,
        pytest.raises(UnavailableError, match=r"does not offer application/ld\+json \(status 406\)"),
    ):
        filled(tmp_path, stand_in)


# ---------------------------------------------------------------- answers and texts


def test_an_answer_that_is_only_named_is_asked_for(tmp_path: Path) -> None:
    portal = Portal()
    portal.reply(portal.ask(1, date(2024, 1, 2)), bare=True)
    portal.reply(portal.ask(2, date(2024, 1, 2)), bare=True)
    with StandIn(portal, Fault("documents/E-9-2024-000002", 404)) as stand_in:
        done = filled(tmp_path, stand_in)
    assert (done.answers, done.documents) == (2, 1)
    assert done.refused == {"status 404": ["E-9-2024-000002-ASW"]}
    assert json.loads((tmp_path / "documents" / "E-9-2024-000001-ASW.json").read_text())["@context"]
    assert (tmp_path / "files" / "E-9-2024-000001-ASW_en.docx").is_file()


def test_a_joint_answer_comes_once(tmp_path: Path) -> None:
    portal = Portal()
    portal.reply(*(portal.ask(at, date(2024, 1, at)) for at in (5, 2, 9)))
    with StandIn(portal) as stand_in:
        assert filled(tmp_path, stand_in).answers == 1
        assert len(stand_in.addresses("ASW")) == 1


def test_the_next_kind_of_file_is_taken_where_one_is_missing(tmp_path: Path) -> None:
    with StandIn(few(2), Fault("000001_en.docx", 404), Fault("000002_en.docx", "page", times=99)) as stand_in:
        done = filled(tmp_path, stand_in)
    assert (tmp_path / "files" / "E-9-2024-000001_en.pdf").is_file()
    assert (tmp_path / "files" / "E-9-2024-000002_en.pdf").is_file()
    assert done.refused == {
        "a web page came in place of DOCX": ["E-9-2024-000002_en.docx"],
        "status 404": ["E-9-2024-000001_en.docx"],
    }


def test_ids_and_paths_of_responses_never_leave_the_folder(tmp_path: Path) -> None:
    portal = few(2)
    hostile = "../../../../tmp/assay-escaped"
    raw = tmp_path / "raw"
    with StandIn(portal) as stand_in:
        stand_in.stubs = [
            {"id": f"eli/dl/doc/{hostile}"},
            {"identifier": "E-9-2024-000001/.."},
            {"id": 7},
            "text",
            None,
        ]
        works = [portal.work(question) for question in portal.questions.values()]
        works[0]["inverse_answers_to"].append({"id": f"eli/dl/doc/{hostile}-ASW"})
        works[0]["inverse_answers_to"].append(
            {"id": "x", "identifier": "E-9-2024-000009-ASW/../../out", "document_date": "2024-02-02"}
        )
        shapes = works[1]["is_realized_by"][0]["is_embodied_by"]
        shapes[0]["is_exemplified_by"] = f"distribution/{hostile}.docx"
        shapes[1]["is_exemplified_by"] = "https://example.org/distribution/a/a_en.pdf"
        works.append({**portal.work(portal.questions["E-9-2024-000002"]), "identifier": "E-9-2024-000077"})
        body = stand_in.envelope(works)
        stand_in.faults.append(Fault("questions/", "body", times=99, body=body))
        done = filled(raw, stand_in)
        asked = stand_in.addresses()
    assert done.questions == 2
    assert {path.name for path in tmp_path.iterdir()} == {"raw"}
    assert all(len(path.relative_to(raw).parts) <= 2 for path in raw.rglob("*"))
    assert not any(".." in address or "example.org" in address for address in asked)
    told = {why: len(what) for why, what in done.refused.items()}
    assert told == {
        "a question that was not asked for": 1,
        "no id of a question": 5,
        "no id of an answer": 2,
        "no path of a distributed text": 2,
    }


# ---------------------------------------------------------------- outages, kills, damage


def test_an_interface_that_stays_silent_ends_in_one_error(tmp_path: Path) -> None:
    with StandIn(quarter()) as stand_in:
        stand_in.faults.append(Fault("distribution", "silent", times=99, after=20))
        with pytest.raises(UnavailableError) as err:
            filled(tmp_path, stand_in, QUARTER, manners=replace(QUICK, timeout=0.2))
        assert str(err.value) == (
            f"{stand_in.root}/ does not answer as it should, after 5 tries: no answer in time. Already in {tmp_path}:"
            f" 20 of 150 texts and all that comes before them, {len(held_in(tmp_path).files)} files; the same command"
            " goes on from there"
        )
        calls = len(stand_in.calls)
        stand_in.faults.clear()
        done = filled(tmp_path, stand_in, QUARTER)
        assert done.texts == 150
        # A call that the stand-in was silent about may be noted as late as now.
        assert len({call.address for call in stand_in.calls[calls:]}) == 130


SCRIPT = """
import sys
from pathlib import Path
from assay.sources.europarl.client import Manners
from assay.sources.europarl.fetch import fetch
from assay.sources.europarl.months import months_of
from datetime import date
months = months_of("2024-01", "2024-03", context_from="2023-10", today=date(2024, 7, 1))
fetch(Path(sys.argv[2]), months=months, base=sys.argv[1], manners=Manners(pause=0, wait=0.001))
"""


def killed_at(stand_in: StandIn, folder: Path, call: int) -> int:
    """Fetches in another process, which is killed while a call is being answered; its exit status."""
    reached, go_on = threading.Event(), threading.Event()

    def on_call(number: int) -> None:
        if number == call:
            reached.set()
            go_on.wait(30)

    stand_in.on_call = on_call
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, stand_in.base, str(folder)])
    try:
        assert reached.wait(60)
        process.send_signal(signal.SIGKILL)
        return process.wait(60)
    finally:
        go_on.set()
        stand_in.on_call = lambda _: None
        process.kill()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_a_fetch_that_is_killed_goes_on_and_ends_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with StandIn(quarter()) as stand_in:
        stand_in.refused = {"E-9-2024-000020"}
        assert subprocess.run([sys.executable, "-c", SCRIPT, stand_in.base, str(tmp_path / "whole")]).returncode == 0
        undisturbed = Counter(stand_in.addresses())
        stand_in.calls.clear()
        killed = tmp_path / "killed"
        kills = (2, 9, 14, 23, 60, 120)
        for call in kills:
            assert killed_at(stand_in, killed, call) == -signal.SIGKILL
        assert subprocess.run([sys.executable, "-c", SCRIPT, stand_in.base, str(killed)]).returncode == 0
        asked = Counter(stand_in.addresses())
    assert files_of(killed) == files_of(tmp_path / "whole")
    assert set(asked) == set(undisturbed)
    assert sum((asked - undisturbed).values()) == len(kills)


def test_a_kill_between_a_file_and_its_line_costs_that_file_alone(tmp_path: Path) -> None:
    with StandIn(few(4)) as stand_in:
        filled(tmp_path, stand_in)
        whole, calls = files_of(tmp_path), len(stand_in.calls)
        record = tmp_path / "fetched.jsonl"
        for left in (-1, -40, -len(record.read_bytes().splitlines()[-1]) - 1):
            record.write_bytes(record.read_bytes()[:left])
            (tmp_path / "files" / ".E-1_en.docx.abc.part").write_bytes(b"half")
            filled(tmp_path, stand_in)
            assert files_of(tmp_path) == whole
            calls += 1
            assert len(stand_in.calls) == calls


@given(cut=st.floats(0, 1), lost=st.integers(0, 99))
@settings(max_examples=12)
def test_a_record_that_ends_anywhere_leads_to_the_same_folder(cut: float, lost: int) -> None:
    with tempfile.TemporaryDirectory() as name, StandIn(few(3)) as stand_in:
        folder = Path(name)
        filled(folder, stand_in)
        whole = files_of(folder)
        record = folder / "fetched.jsonl"
        record.write_bytes(whole["fetched.jsonl"][: int(cut * len(whole["fetched.jsonl"]))])
        # What is written and has no line yet may be there or not.
        unknown = [file for file in whole if file != "fetched.jsonl" and f'"{file}"' not in record.read_text()]
        for file in unknown[: lost % (len(unknown) + 1)]:
            (folder / file).unlink()
        filled(folder, stand_in)
        assert files_of(folder) == whole


def test_damaged_files_are_fetched_again_and_refused_offline(tmp_path: Path) -> None:
    with StandIn(few(3)) as stand_in:
        filled(tmp_path, stand_in)
        whole = {name: data for name, data in files_of(tmp_path).items() if name != "fetched.jsonl"}
        (tmp_path / "files" / "E-9-2024-000001_en.docx").write_bytes(b"damaged")
        (tmp_path / "files" / "E-9-2024-000002_en.docx").unlink()
        with pytest.raises(
            DigestError, match=r"E-9-2024-000001_en\.docx.*missing or not what came \(2 files\); build once with"
        ):
            fetched(tmp_path, months=JANUARY)
        calls = len(stand_in.calls)
        assert filled(tmp_path, stand_in).damaged == 2
        assert len(stand_in.calls) == calls + 2
    assert {name: data for name, data in files_of(tmp_path).items() if name != "fetched.jsonl"} == whole
    assert fetched(tmp_path, months=JANUARY).questions == 3


@pytest.mark.parametrize(
    "line", ["{", "[]", "null", '{"url": "u"}', '{"url":"u","file":"../x","sha256":"","status":200,"bytes":1,"why":""}']
)
def test_a_line_that_is_none_is_named(tmp_path: Path, line: str) -> None:
    with StandIn(few(1)) as stand_in:
        filled(tmp_path, stand_in)
        record = tmp_path / "fetched.jsonl"
        record.write_text(line + "\n" + record.read_text())
        for read in (lambda: filled(tmp_path, stand_in), lambda: fetched(tmp_path, months=JANUARY)):
            with pytest.raises(FormatError, match=r"fetched\.jsonl:1: no line of a request"):
                read()


def test_two_processes_never_fill_one_folder(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    with Folder(tmp_path), StandIn(few(1)) as stand_in:
        with pytest.raises(UsageError, match="is being filled by another process"):
            filled(tmp_path, stand_in)
        assert stand_in.calls == []


def test_folders_of_others_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with StandIn(few(1)) as stand_in:
        with pytest.raises(FileError, match=r"holds other files, and no fetched\.jsonl"):
            filled(tmp_path, stand_in)
        with pytest.raises(FileError, match="is a file where a folder is meant"):
            filled(tmp_path / "mine.txt", stand_in)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    with pytest.raises(FileError, match="nothing was fetched into it"):
        fetched(tmp_path, months=JANUARY)
    with pytest.raises(FileError, match="there is no folder"):
        fetched(tmp_path / "none", months=JANUARY)


def test_an_unfinished_folder_is_no_folder_to_build_from(tmp_path: Path) -> None:
    with StandIn(few(4), Fault("000003_en", 503, times=99)) as stand_in, pytest.raises(UnavailableError):
        filled(tmp_path, stand_in)
    with pytest.raises(
        DataError, match=r"was not filled for all of this.*files/E-9-2024-000003_en\.docx.*goes on from there"
    ):
        fetched(tmp_path, months=JANUARY)


def test_progress_tells_what_is_there_of_how_much(tmp_path: Path) -> None:
    told: list[Step] = []
    with StandIn(few(4), Fault("000003_en.docx", 503)) as stand_in:
        filled(tmp_path, stand_in, told=told.append)
    assert list(dict.fromkeys(step.what for step in told)) == ["lists", "questions", "answers", "texts"]
    last = {step.what: (step.done, step.total) for step in told}
    assert last == {"lists": (4, 0), "questions": (4, 4), "answers": (0, 0), "texts": (8, 8)}
    assert [step.note for step in told if step.note] == ["status 503; trying again in a while"]


# ---------------------------------------------------------------- months


@pytest.mark.parametrize(
    ("first", "last", "context", "says"),
    [
        ("2024-03", "2024-01", None, "--to 2024-01 lies before --from 2024-03; swap them"),
        ("2024-07", "2024-07", None, "--from 2024-07 is not over yet.*last one that can be built is 2024-06"),
        ("2024-01", "2031-01", None, "--to 2031-01 is not over yet"),
        ("2004-06", "2024-01", None, "--from 2004-06: .*before July 2004"),
        ("2024", "2024-01", None, "--from '2024' is no month; write one as 2024-01"),
        ("2024-13", "2024-13", None, "no month"),
        ("2024-1", "2024-02", None, "no month"),
        ("2024-01-01", "2024-02", None, "no month"),
        ("2024-01", "2024-02", "2024-01", "--context-from 2024-01 does not lie before --from 2024-01"),
    ],
)
def test_months_that_cannot_be_built_are_refused(first: str, last: str, context: str | None, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        months_of(first, last, context_from=context, today=date(2024, 7, 31))


def test_months_are_whole() -> None:
    found = months_of("2023-12", "2024-02", context_from="2019-07", today=date(2024, 3, 1))
    assert found == Months(date(2023, 12, 1), date(2024, 2, 29), date(2019, 7, 1))
    assert found.years() == (2018, 2019, 2020, 2021, 2022, 2023, 2024)
    assert months_of("2023-12", "2023-12", today=date(2024, 1, 1)).years() == (2023, 2024)


# ---------------------------------------------------------------- the shapes of the interface


def test_the_stand_in_has_the_shapes_of_the_interface(shared_data: Path) -> None:
    """Every key that the stand-in sends is one that the samples have, with a value of the same kind."""
    samples = shared_data / "ep_questions" / "api_samples"

    def shapes(value: Any, path: str = "") -> set[str]:
        if isinstance(value, dict):
            free = path.endswith(("title_dcterms", ".title", ".title_alternative"))
            return {s for k, v in value.items() for s in shapes(v, path if free else f"{path}.{k}")}
        if isinstance(value, list):
            return {shape for inner in value for shape in shapes(inner, f"{path}[]")}
        return {f"{path}: {type(value).__name__}"}

    known: set[str] = set()
    for name in ("questions_detail_2022.derived", "question_E-10-2024-001357.quoted", "questions_list_2022.derived"):
        known |= shapes(json.loads((samples / f"{name}.json").read_text()))
    portal = quarter()
    with StandIn(portal) as stand_in:
        sent = stand_in.envelope([portal.work(question) for question in portal.questions.values()])
        listed = stand_in.envelope(stand_in.listed(2024, "QUESTION_WRITTEN"))
    assert shapes(json.loads(sent)) | shapes(json.loads(listed)) <= known


def test_the_samples_are_fetched_like_made_up_questions(shared_data: Path, tmp_path: Path) -> None:
    samples = shared_data / "ep_questions" / "api_samples"
    works = json.loads((samples / "questions_detail_2022.derived.json").read_text())["data"]
    months = Months(date(2022, 1, 1), date(2022, 1, 31))
    with StandIn(Portal()) as stand_in:
        stubs = stand_in.envelope([{"id": work["id"]} for work in works])
        stand_in.faults += [
            Fault("year=2022&work-type=QUESTION_WRITTEN&.*offset=0", "body", body=stubs),
            Fault("questions/", "body", body=stand_in.envelope(works)),
            Fault("docx", "body", times=999, body=docx_bytes(["One."])),
        ]
        done = filled(tmp_path, stand_in, months)
    inside = [work for work in works if "2022-01-01" <= work["document_date"] <= "2022-01-31"]
    answers = {answer["id"] for work in inside for answer in work.get("inverse_answers_to", [])}
    assert (done.listed, done.questions, done.answers) == (len(works), len(inside), len(answers))
    languages = sum(len(work["is_realized_by"]) for work in inside)
    assert done.texts >= languages
    assert done.refused == {}
