"""The client of the European Parliament's open data interface: one polite request after another.

It keeps a pause between calls, waits as long as it is told to, asks again what passes by itself, and refuses what was
not asked for: a page of the firewall, a body cut short, an error within a 200, a redirect that leads elsewhere.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from assay.errors import AssayError, UnavailableError, UsageError
from assay.sources.europarl.bodies import Kind

if TYPE_CHECKING:
    import httpx2

BASE = "https://data.europarl.europa.eu/api/v2"
"""Address of the interface."""

HOUSE = ".europarl.europa.eu"
LEAST_PAUSE = 0.7
"""Seconds between two calls that the house's own hosts are owed."""

_BUSY = {429, 502, 503, 504}
_HOPS = 5
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}


@dataclass(frozen=True)
class Manners:
    """How a client behaves.

    Attributes:
        pause: Least seconds between the beginnings of two calls.
        wait: Seconds before the second try; they double before each further one: 30, 60, 120, 240.
        tries: How often one request is made in all.
        timeout: Seconds that a connection may be silent.
        longest: Most seconds that are waited because the other side asks for it.
        largest: Most bytes of one body, unpacked.
    """

    pause: float = LEAST_PAUSE
    wait: float = 30.0
    tries: int = 5
    timeout: float = 60.0
    longest: float = 3600.0
    largest: int = 64 << 20

    def waits(self) -> list[float]:
        """Seconds before the second, third and further tries.

        Example:
            >>> Manners().waits()
            [30.0, 60.0, 120.0, 240.0]
        """
        return [self.wait * 2**n for n in range(self.tries - 1)]


@dataclass(frozen=True)
class Reply:
    """What came: the status, 200 or 204, and the body, unpacked."""

    status: int
    body: bytes


class Refused(AssayError):
    """One thing is not to be had, while the interface works.

    Attributes:
        status: The status that says so: 413 where the body is larger than allowed, 302 where a redirect leads away, 200
            where no body was of any use.
        why: In a few words.
    """

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status
        self.why = why


class _PassingError(Exception):
    """A fault that may be gone at the next try; `outage` where it concerns the interface, not one thing."""

    def __init__(self, why: str, *, outage: bool, status: int = 200, wait: float | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.outage = outage
        self.status = status
        self.wait = wait


def seconds_to_wait(after: str, *, now: str = "") -> float | None:
    """Seconds that a `Retry-After` header asks for, given as a number or a date; None where it cannot be read.

    Args:
        after: The header.
        now: The `Date` header of the same response; the clock here where it is missing.

    Example:
        >>> seconds_to_wait("120"), seconds_to_wait("soon")
        (120.0, None)
        >>> seconds_to_wait("Wed, 21 Feb 2024 07:29:00 GMT", now="Wed, 21 Feb 2024 07:28:00 GMT")
        60.0
    """
    if after.strip().isdecimal():
        return float(after.strip()[:9])
    try:
        until = _day(after)
        since = _day(now) if now else datetime.now(UTC)
    except ValueError:
        return None
    return max(0.0, (until - since).total_seconds())


def _day(text: str) -> datetime:
    found = parsedate_to_datetime(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def root_of(base: str) -> str:
    """The address that paths of texts are relative to.

    Example:
        >>> root_of("https://data.europarl.europa.eu/api/v2")
        'https://data.europarl.europa.eu/'
    """
    return base.removesuffix("/api/v2") + "/"


class Pace:
    """Keeps beginnings of calls apart.

    Example:
        >>> pace = Pace(0.7)
        >>> pace.wait(10.0), round(pace.wait(10.5), 3), pace.wait(20.0)
        (0.0, 0.2, 0.0)
    """

    def __init__(self, pause: float) -> None:
        self.pause = pause
        self._next = float("-inf")

    def wait(self, now: float) -> float:
        """Seconds to wait at time `now` before the next call, which is then taken to begin after them."""
        found = max(0.0, self._next - now)
        self._next = now + found + self.pause
        return found


class Client:
    """Requests to the interface, one after another; a context.

    `requests` counts the calls that were made, tries and redirects included.

    Args:
        base: Address of the interface.
        manners: How to behave.
        told: Called with a line where it waits.

    Raises:
        UsageError: The address is none, or the pause is shorter than the house asks for.
        UnavailableError: A package is missing.
    """

    def __init__(
        self, base: str = BASE, *, manners: Manners | None = None, told: Callable[[str], None] = lambda _: None
    ) -> None:
        self.manners = manners or Manners()
        self.base = _checked(base, self.manners).rstrip("/")
        self.root = root_of(self.base)
        self.requests = 0
        self._told = told
        self._pace = Pace(self.manners.pause)
        self._http = _opened(self.manners)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, err: BaseException | None, at: TracebackType | None) -> None:
        self._http.close()

    def get(self, url: str, kind: Kind, *, patience: int | None = None) -> Reply:
        """What lies at an address, once it is of its kind.

        Args:
            url: The address.
            kind: What the body must be.
            patience: Most tries that fail for this thing while the interface answers; None for all tries.

        Raises:
            Refused: It is not to be had, or was not of its kind at any try.
            UnavailableError: The interface did not answer at any try, or asks to wait too long.
        """
        import stamina

        failed = 0

        def pause(err: Exception) -> bool | float:
            nonlocal failed
            if not isinstance(err, _PassingError):
                return False
            failed += not err.outage
            if patience is not None and failed >= patience:
                return False
            if err.wait is not None and err.wait > self.manners.longest:
                return False
            self._told(f"{err.why}; trying again in a while")
            return True if err.wait is None else err.wait

        waits = self.manners.waits()
        try:
            for attempt in stamina.retry_context(
                on=pause,
                attempts=self.manners.tries,
                timeout=None,
                wait_initial=self.manners.wait,
                wait_max=max(waits, default=0.0),
                wait_jitter=0.0,
            ):
                with attempt:
                    return self._followed(url, kind)
        except _PassingError as err:
            raise self._final(err) from None
        raise UnavailableError(f"{self.root} was not asked: at least one try is needed")

    def _final(self, err: _PassingError) -> Exception:
        """What a fault that did not pass is called."""
        if not err.outage:
            return Refused(err.status, err.why)
        if err.wait is not None and err.wait > self.manners.longest:
            return UnavailableError(f"{self.root} asks to wait {err.wait:,.0f} seconds ({err.why}): come back then")
        return UnavailableError(
            f"{self.root} does not answer as it should, after {self.manners.tries} tries: {err.why}"
        )

    def _followed(self, url: str, kind: Kind) -> Reply:
        """What lies at an address or where it leads to, within the house."""
        for _ in range(_HOPS):
            found = self._once(url, kind)
            if isinstance(found, Reply):
                return found
            if not _same_family(url, found):
                raise Refused(302, f"leads to {urlsplit(found).netloc or found[:80]}, outside the house")
            url = found
        raise Refused(302, f"leads on and on, over {_HOPS} times")

    def _once(self, url: str, kind: Kind) -> Reply | str:
        """One call: what came, or the address that it leads to."""
        time.sleep(self._pace.wait(time.monotonic()))
        self.requests += 1
        with _faults(), self._http.stream("GET", url, headers={"Accept": kind.accept}) as response:
            place = response.headers.get("Location")
            if response.is_redirect and place:
                return _joined(url, place)
            self._refuse_status(response)
            if response.status_code == 204:
                return Reply(204, b"")
            if not kind.page and "html" in response.headers.get("Content-Type", ""):
                raise _PassingError(f"a web page came in place of {kind.name}", outage=False)
            body = self._body(response)
        flaw = kind.flaw(body)
        if flaw:
            raise _PassingError(flaw, outage=False)
        return Reply(200, body)

    def _refuse_status(self, response: httpx2.Response) -> None:
        status = response.status_code
        if status in (200, 204):
            return
        if status in _BUSY:
            after = response.headers.get("Retry-After", "")
            wait = seconds_to_wait(after, now=response.headers.get("Date", ""))
            raise _PassingError(f"status {status}", outage=True, status=status, wait=wait)
        if status == 202:
            raise _PassingError("status 202, a page of the firewall", outage=True, status=status)
        if status >= 500 or status == 408:
            raise _PassingError(f"status {status}", outage=False, status=status)
        raise Refused(status, f"status {status}")

    def _body(self, response: httpx2.Response) -> bytes:
        """The whole body, unpacked, as long as it is not too large and comes within a reasonable time."""
        most = self.manners.largest
        too_large = Refused(413, f"larger than {most:,} bytes")
        if int(response.headers.get("Content-Length", "0")) > most:
            raise too_large
        begun, found = time.monotonic(), bytearray()
        for block in response.iter_bytes(1 << 16):
            found += block
            if len(found) > most:
                raise too_large
            if time.monotonic() - begun > 5 * self.manners.timeout:
                raise _PassingError("the body comes too slowly", outage=True)
        return bytes(found)


@contextmanager
def _faults() -> Iterator[None]:
    """Turns what breaks on the line into faults that may pass."""
    import httpx2

    try:
        yield
    except httpx2.TimeoutException:
        raise _PassingError("no answer in time", outage=True) from None
    except (httpx2.RemoteProtocolError, httpx2.DecodingError) as err:
        raise _PassingError(f"a body cut short or damaged ({err})", outage=False) from None
    except httpx2.HTTPError as err:
        raise _PassingError(f"no connection ({err})", outage=True) from None


def _opened(manners: Manners) -> httpx2.Client:
    try:
        import httpx2
        import stamina  # noqa: F401
    except ImportError as err:
        raise UnavailableError(
            f"fetching needs the package {err.name}, which is not installed: pip install 'assay[build]'"
        ) from None
    import logging

    import assay

    # Without a handler of anybody's, each wait would be printed on standard error.
    logging.getLogger("stamina").addHandler(logging.NullHandler())
    return httpx2.Client(headers={"User-Agent": f"assay-build-{assay.__version__}"}, timeout=manners.timeout)


def _checked(base: str, manners: Manners) -> str:
    try:
        parts = urlsplit(base)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise UsageError(f"{base!r} is no address of an interface: write one such as {BASE}") from None
    if (
        not host
        or port == 0
        or parts.username
        or parts.scheme not in ("http", "https")
        or parts.query
        or parts.fragment
    ):
        raise UsageError(f"{base!r} is no address of an interface: write one such as {BASE}")
    if parts.scheme == "http" and host not in _LOOPBACK:
        raise UsageError(f"{base} is not encrypted; write https://")
    if host.endswith(HOUSE) and manners.pause < LEAST_PAUSE:
        raise UsageError(f"{host} is owed {LEAST_PAUSE} seconds between two calls, not {manners.pause}")
    return base


def _joined(url: str, place: str) -> str:
    """The address that a redirect names."""
    try:
        found = urljoin(url, place)
        _ = urlsplit(found).port
    except ValueError:
        raise Refused(302, f"leads to no address, {place[:80]!r}") from None
    return found


def _same_family(url: str, other: str) -> bool:
    """Whether a redirect stays on its host or within the house, and encrypted where it was."""
    old, new = urlsplit(url), urlsplit(other)
    if new.scheme not in ("http", "https") or (old.scheme == "https" and new.scheme != "https"):
        return False
    if old.netloc == new.netloc:
        return True
    return all((parts.hostname or "").endswith(HOUSE) for parts in (old, new))
