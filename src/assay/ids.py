"""Ids: strings outside, integer codes inside. A row number is the code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.errors import DuplicateIdError, UnknownIdError
from assay.texts import Texts

Codes = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Ids:
    """Distinct ids in file order: the row of an id is its code.

    Ids are text, always: `001`, `1` and `1e5` are three ids. `rank` gives the place of each
    id in UTF-8 byte order; it is read for ties alone and made when first needed.

    Example:
        >>> ids = Ids.of(["9-10", "9-2", "été"])
        >>> ids.code("9-2"), ids[0], ids.rank.tolist()
        (1, '9-10', [0, 1, 2])
    """

    texts: Texts

    @classmethod
    def of(cls, ids: Iterable[str], *, what: str = "id") -> Ids:
        """Ids in the given order.

        Raises:
            DuplicateIdError: An id stands twice; the message names it and both places.
        """
        listed = list(ids)
        made = cls(Texts.of(listed))
        if len(set(listed)) != len(listed):
            made.refuse_duplicates(what)
        return made

    @classmethod
    def distinct(cls, texts: Texts) -> tuple[Ids, Codes]:
        """The different texts in order of first appearance as ids, and the code of each row, int32.

        Example:
            >>> ids, codes = Ids.distinct(Texts.of(["b", "a", "b"]))
            >>> list(ids), codes.tolist()
            (['b', 'a'], [0, 1, 0])
        """
        first = texts.first_rows_in(texts)
        own = first == np.arange(len(texts))
        code = np.cumsum(own, dtype=np.int32) - np.int32(1)
        return cls(texts.take(np.flatnonzero(own))), code[first].astype(np.int32)

    def refuse_duplicates(self, what: str = "id") -> None:
        """Raises DuplicateIdError where an id stands twice; names the first and counts all."""
        first = self.texts.first_rows_in(self.texts)
        again = np.flatnonzero(first != np.arange(len(self)))
        if len(again):
            row = int(again[0])
            raise DuplicateIdError(
                f"{what} {self[row]!r} stands at rows {int(first[row]) + 1} and {row + 1}"
                f" ({len(again)} repeated in all); every {what} must be unique"
            )

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, code: int) -> str:
        return self.texts[code]

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts)

    def __contains__(self, id_: object) -> bool:
        return id_ in self._code

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ids):
            return NotImplemented
        return self is other or self.texts == other.texts

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(repr(self[i]) for i in range(min(3, len(self))))
        return f"<Ids: {len(self)}: {shown}{', …' if len(self) > 3 else ''}>"

    @cached_property
    def _code(self) -> dict[str, int]:
        return {id_: code for code, id_ in enumerate(self.texts.to_list())}

    @cached_property
    def rank(self) -> Codes:
        """Place of each id in ascending UTF-8 byte order, int32; no locale takes part."""
        order = self.texts.byte_order()
        rank = np.empty(len(order), np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        return rank

    def code(self, id_: str) -> int:
        """The code of one id.

        Raises:
            UnknownIdError: There is no such id.
        """
        try:
            return self._code[id_]
        except KeyError:
            raise UnknownIdError(f"there is no id {id_!r} among {len(self)}") from None

    def codes(self, ids: Ids | Texts | Iterable[str]) -> Codes:
        """The code of each id given, int32; -1 where there is none.

        Example:
            >>> Ids.of(["a", "b"]).codes(["b", "x"]).tolist()
            [1, -1]
        """
        if ids is self:
            return np.arange(len(self), dtype=np.int32)
        if isinstance(ids, Ids):
            ids = ids.texts
        if not isinstance(ids, Texts):
            get = self._code.get
            return np.asarray([get(i, -1) for i in ids], np.int32).reshape(-1)
        return ids.first_rows_in(self.texts).astype(np.int32)

    def take(self, codes: npt.NDArray[np.integer[Any]]) -> Ids:
        """The ids of `codes`, which must be distinct, in that order."""
        return Ids(self.texts.take(codes))
