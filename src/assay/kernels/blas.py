"""BLAS threads: one per worker, while workers of the house multiply side by side.

The only module that touches threadpoolctl. How many threads BLAS uses is a property of the whole process, so
uses are counted: the first one lowers the number, the last one puts back what was there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread

_lock = Lock()
_keepers: list[_Keeper] = []


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """A block of code in which each BLAS call runs on the thread that makes it.

    May be entered by several threads at once and inside itself; the numbers of threads that stood before the
    first entry stand again after the last exit, whatever the order of exits. Code elsewhere in the process
    that has set the number itself, and still holds it, keeps its own number.

    Example:
        >>> with one_blas_thread():
        ...     product = 2 * 3
        >>> product
        6
    """
    with _lock:
        # The first place holds the keeper; every place counts as one use.
        keeper = _keepers[0] if _keepers else _Keeper()
        _keepers.append(keeper)
    try:
        yield
    finally:
        with _lock:
            _keepers.pop()
            if not _keepers:
                keeper.release()


class _Keeper:
    """A thread that lowers the number and puts it back.

    In threadpoolctl 3.8 only the thread that has set OpenBLAS's number can set it again, and calls from
    other threads do nothing, in silence; the last user need not be the first one.
    """

    def __init__(self) -> None:
        self._lowered, self._done = Event(), Event()
        self._thread = Thread(target=self._keep, name="assay-blas", daemon=True)
        self._thread.start()
        self._lowered.wait()

    def release(self) -> None:
        """Puts the number back; returns when it stands."""
        self._done.set()
        self._thread.join()

    def _keep(self) -> None:
        try:
            from threadpoolctl import threadpool_limits

            with threadpool_limits(limits=1, user_api="blas"):
                self._lowered.set()
                self._done.wait()
        finally:
            self._lowered.set()
