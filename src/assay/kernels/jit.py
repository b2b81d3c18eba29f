"""Compiled functions, compiled when they are first called.

The only module that touches numba, but for pieces of code in LLVM's language (:func:`emitted`). Importing it costs
nothing: numba is imported, and the function compiled for the types of its arguments, at the first call of the
compiled form. The machine code is kept on disk beside the module (or in numba's user cache, or where
``NUMBA_CACHE_DIR`` points), so that the next process loads it in milliseconds; where nothing can be written, the
function is compiled without a cache.

How to use it::

    from assay.kernels.jit import compiled

    @compiled(inline=True)
    def _mixed(word: int) -> int: ...

    @compiled(fastmath=("contract",))
    def sums(values: NDArray[np.float64], out: NDArray[np.float64]) -> None:
        for row in range(len(out)):
            out[row] = _mixed(row) * values[row]      # a compiled function may call another

- A compiled function holds no lock (``nogil``): threads run it side by side. Write results into arrays that
  the caller made; two threads must not share a row.
- Every call must use the same types (dtype, contiguity, int or float), or one more version is compiled.
- Module constants are frozen into the code. A change of a *function* in another file is noticed; a change of
  a *constant* in another file is not, so hand such a constant over as an argument.
- Without ``fastmath`` sums keep their order, and a NumPy definition can have the same bits.
- ``function.definition`` is the plain Python function, for a test that steps through it.
- A small load must not reach a compiled function at all: the first call ever costs a second or more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from pathlib import Path
from threading import Lock
from types import CodeType, FunctionType
from typing import Any, Generic, ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")


class Compiled(Generic[P, R]):
    """A function that is compiled at its first call; made by :func:`compiled`.

    Attributes:
        definition: The plain Python function.
    """

    def __init__(self, definition: Callable[P, R], *, fastmath: bool | set[str], inline: bool) -> None:
        self.definition = definition
        self.__name__ = getattr(definition, "__name__", "compiled")
        self.__qualname__ = getattr(definition, "__qualname__", self.__name__)
        self.__doc__ = definition.__doc__
        self.__module__ = definition.__module__
        self.__wrapped__ = definition
        self._fastmath = fastmath
        self._inline = inline
        self._lock = Lock()
        self._dispatcher: Any = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """What the function returns, computed by machine code."""
        dispatcher = self._dispatcher or self.dispatcher()
        try:
            return cast(R, dispatcher(*args, **kwargs))
        except OSError:
            # Machine code opens no files: only numba's cache does (disk full, folder made read-only since).
            return cast(R, self.dispatcher(cache=False)(*args, **kwargs))

    def __repr__(self) -> str:
        state = "not compiled yet" if self._dispatcher is None else "compiled"
        return f"<compiled function {self.__module__}.{self.__qualname__}, {state}>"

    def __reduce__(self) -> str:
        # Pickled by name, as functions are, so that a process pool can be handed one.
        return self.__qualname__

    def dispatcher(self, *, cache: bool = True) -> Any:
        """The object of numba for this function, made on first need.

        Args:
            cache: False throws away an object made with a cache and makes one without.
        """
        with self._lock:
            if self._dispatcher is None or not cache:
                self._dispatcher = self._made(cache=cache)
            return self._dispatcher

    def _made(self, *, cache: bool) -> Any:
        import numba

        options: dict[str, Any] = {"nogil": True, "fastmath": self._fastmath, "forceinline": self._inline}
        function = self._linked()
        if cache:
            try:
                return numba.njit(cache=True, **options)(function)
            except (RuntimeError, OSError):
                # numba found no folder that it can write to (RuntimeError: "no locator available").
                pass
        return numba.njit(cache=False, **options)(function)

    def _linked(self) -> FunctionType:
        """The definition with every compiled function that it names put in numba's form.

        numba knows its own objects only, and looks names up in the function's globals; a copy of these
        globals leaves the module as it was.
        """
        plain = cast(FunctionType, self.definition)
        names = _names(plain.__code__)
        callees = {n: v for n, v in plain.__globals__.items() if n in names and isinstance(v, Compiled)}
        linked = {name: callee.dispatcher() for name, callee in callees.items()}
        function = FunctionType(
            plain.__code__,
            {**plain.__globals__, **linked},
            plain.__name__,
            plain.__defaults__,
            plain.__closure__,
        )
        function.__module__ = plain.__module__
        function.__kwdefaults__ = plain.__kwdefaults__
        function.__doc__ = plain.__doc__
        # numba's cache watches the function's own file only. Callees from other files are frozen into the
        # machine code as well, so a digest of those files becomes part of the name of the cached code.
        sources = sorted(self._sources() - {plain.__code__.co_filename})
        digest = hashlib.sha256(b"".join(_source_bytes(source) for source in sources)).hexdigest()[:12]
        function.__qualname__ = f"{plain.__qualname__}_{digest}" if sources else plain.__qualname__
        return function

    def _sources(self) -> set[str]:
        """Source files of this function and of every compiled function below it."""
        plain = cast(FunctionType, self.definition)
        found = {plain.__code__.co_filename}
        for name in _names(plain.__code__):
            callee = plain.__globals__.get(name)
            if isinstance(callee, Compiled):
                found |= callee._sources()
        return found


class Emitted(Compiled[..., Any]):
    """A piece of code in LLVM's own language that compiled functions may call; made by :func:`emitted`."""

    def _made(self, *, cache: bool) -> Any:  # noqa: ARG002
        from numba.extending import intrinsic

        return intrinsic(self.definition)


def emitted(definition: Callable[..., Any]) -> Any:
    """What compiled functions call for instructions that no line of Python stands for.

    Args:
        definition: Gets numba's typing context and the types of the arguments; returns the types of the call and
            a function that writes the code (see `numba.extending.intrinsic`). Numba and llvmlite are imported in it.

    Returns:
        A name for compiled functions alone: Python cannot call it. A change of its file is noticed.
    """
    return Emitted(definition, fastmath=False, inline=False)


def compiled(
    *, fastmath: bool | Collection[str] = False, inline: bool = False
) -> Callable[[Callable[P, R]], Compiled[P, R]]:
    """A decorator that makes a function run as machine code from its first call on.

    Args:
        fastmath: LLVM's flags that may change the bits of a sum, such as ``("contract", "reassoc")``, or True
            for all of them. The default keeps the order of every operation.
        inline: Asks LLVM to put the function's code in the place of each call; for short inner functions.

    Returns:
        A decorator; the decorated function is a :class:`Compiled`, called like the plain one. A function must
        be in the subset of Python and NumPy that numba compiles, and must not call itself.

    Example:
        >>> @compiled()
        ... def twice(number: int) -> int:
        ...     return 2 * number
        >>> twice
        <compiled function assay.kernels.jit.twice, not compiled yet>
        >>> twice.definition(21)
        42
    """
    flags = fastmath if isinstance(fastmath, bool) else set(fastmath)

    def decorate(definition: Callable[P, R]) -> Compiled[P, R]:
        return Compiled(definition, fastmath=flags, inline=inline)

    return decorate


def _names(code: CodeType) -> set[str]:
    """Global names that a function reads, nested functions included."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _names(constant)
    return names


def _source_bytes(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return path.encode()
