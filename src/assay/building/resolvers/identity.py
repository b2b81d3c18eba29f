"""The resolver that changes nothing: what any other is compared with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class Identity:
    """Every passage as it is; scores on its view are those on the plain one.

    Example:
        >>> list(Identity().resolved([("d", ["Ann sings.", "She is loud."])]))
        [('d', ['Ann sings.', 'She is loud.'])]
    """

    name: ClassVar[str] = "identity"

    def resolved(self, documents: Iterable[tuple[str, Sequence[str]]]) -> Iterator[tuple[str, Sequence[str]]]:
        """The documents as they are."""
        yield from documents
