"""The funnel: what went into every step of a build, what came out, and what was dropped, by reason, with examples."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from assay.errors import DataError


@dataclass
class Step:
    """One step: how many records it kept, and how many it dropped, by reason, with the first few ids of each."""

    kept: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[str]] = field(default_factory=dict)


@dataclass
class Funnel:
    """The record of a build, filled while it runs.

    `most` is how many examples are kept of each reason; the first ones, so that a rebuild records the same.

    Example:
        >>> funnel = Funnel()
        >>> funnel.drop("link answers", "answers nothing", ["E-9-2022-000007-ASW"])
        >>> funnel.keep("link answers", 387)
        >>> funnel.record()["link answers"]["in"], funnel.dropped("link answers")
        (388, 1)
    """

    most: int = 5
    steps: dict[str, Step] = field(default_factory=dict)

    def keep(self, step: str, count: int = 1) -> None:
        """Counts records that a step kept."""
        self._step(step).kept += count

    def drop(self, step: str, reason: str, ids: Iterable[str] | str) -> None:
        """Counts records that a step dropped for one reason; an id alone is one record."""
        at = self._step(step)
        named = [ids] if isinstance(ids, str) else list(ids)
        if named:
            at.dropped[reason] = at.dropped.get(reason, 0) + len(named)
            shown = at.examples.setdefault(reason, [])
            shown += named[: max(0, self.most - len(shown))]

    def dropped(self, step: str, reason: str | None = None) -> int:
        """How many records a step dropped, in all or for one reason; 0 for a step that did not run."""
        counts = self.steps[step].dropped if step in self.steps else {}
        return sum(counts.values()) if reason is None else counts.get(reason, 0)

    def check(self, step: str, given: int) -> None:
        """Raises DataError where what a step kept and dropped is not what it was given."""
        at = self._step(step)
        counted = at.kept + sum(at.dropped.values())
        if counted != given:
            raise DataError(
                f"step {step!r} was given {given} records, kept {at.kept} and dropped {counted - at.kept}:"
                f" {abs(given - counted)} are {'lost' if counted < given else 'counted twice'}; count every record once"
            )

    def record(self) -> dict[str, Any]:
        """The funnel for `build_manifest.json`: steps in the order in which they ran, reasons by name."""
        return {
            name: {
                "in": step.kept + sum(step.dropped.values()),
                "kept": step.kept,
                "dropped": {
                    reason: {"count": count, "examples": step.examples[reason]}
                    for reason, count in sorted(step.dropped.items())
                },
            }
            for name, step in self.steps.items()
        }

    def lines(self) -> list[str]:
        """The funnel for a person, a line a step and a line a reason.

        Example:
            >>> funnel = Funnel()
            >>> funnel.drop("dates", "undated", "q7")
            >>> funnel.lines()
            ['dates: 1 in, 0 kept', '  - 1 undated (q7)']
        """
        found = []
        for name, step in self.record().items():
            found.append(f"{name}: {step['in']:,} in, {step['kept']:,} kept")
            for reason, drop in step["dropped"].items():
                more = ", …" if drop["count"] > len(drop["examples"]) else ""
                found.append(f"  - {drop['count']:,} {reason} ({', '.join(drop['examples'])}{more})")
        return found

    def _step(self, step: str) -> Step:
        return self.steps.setdefault(step, Step())
