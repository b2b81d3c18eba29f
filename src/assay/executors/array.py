"""Array: runs nothing itself; shards are left to the jobs of an array, as Slurm starts them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from assay.errors import UnavailableError
from assay.executor import Told
from assay.plan import Plan


@dataclass(frozen=True)
class Array:
    """Leaves shards to `assay shard`, which each job of an array calls for its part; then the command is run again."""

    name: ClassVar[str] = "array"

    def run(self, plan: Plan, numbers: Sequence[int], told: Told) -> None:  # noqa: ARG002 - as every executor
        """Says what is to be run.

        Raises:
            UnavailableError: Always: the shards are not done yet.
        """
        raise UnavailableError(
            f"{plan.what}: {len(numbers)} of {len(plan)} shards in {plan.folder} are to be run; run"
            f" `assay shard {plan.folder.parent.parent} --shard I/N` for each I from 1 to N, then this command again"
        )
