"""Ray: the workers of a Ray cluster, with a share of a GPU each where encoding wants one."""

from __future__ import annotations

import importlib
import math
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

from assay.errors import AssayError, UnavailableError, UsageError
from assay.executor import Told, kept_stdout, lost_shard
from assay.plan import Plan, run_shard
from assay.system import refuse_no_count

_PATIENCE = 20
"""Seconds within which a cluster must take a connection."""


@dataclass(frozen=True)
class Ray:
    """Workers of a Ray cluster, which must see the work folder under the same path.

    Args:
        address: Of a cluster, such as `ray://10.0.0.5:10001` or `auto`; empty starts one on this machine.
        workers: How many shards are run at a time on this machine; a cluster decides that itself.
        gpus: How much of a GPU a shard gets: 1 for one, 0.5 for two shards on one, 0 for none.
        retries: How often one shard is tried again.

    Raises:
        UsageError: `workers` is less than 1, `retries` less than 0, or `gpus` no number from 0 on.

    Example:
        >>> Ray("auto", gpus=1).gpus
        1
    """

    name: ClassVar[str] = "ray"

    address: str = ""
    workers: int = 2
    gpus: float = 0.0
    retries: int = 3

    def __post_init__(self) -> None:
        refuse_no_count("ray", 1, workers=self.workers)
        refuse_no_count("ray", 0, retries=self.retries)
        gpus: Any = self.gpus
        if isinstance(gpus, bool) or not isinstance(gpus, int | float) or not 0 <= gpus < math.inf:
            raise UsageError(f"ray: gpus must be a number, 0 or more; found {self.gpus!r}")

    def run(self, plan: Plan, numbers: Sequence[int], told: Told) -> None:
        """Runs the shards, as many at a time as there are CPUs or GPUs for them.

        Raises:
            UnavailableError: Ray is not installed, or there is no cluster at the address.
            AssayError: A shard failed for a reason that another attempt would not change, or too often.
        """
        try:
            ray: Any = importlib.import_module("ray")
        except ImportError:
            raise UnavailableError(
                "the executor ray needs a package: python -m pip install 'assay[ray]', and the same on its workers"
            ) from None
        self._refuse_silence()
        with kept_stdout(), self._connected(ray):
            # Lost workers are counted here, not by Ray, so that the bound is the same for every executor.
            task = ray.remote(num_cpus=1, num_gpus=self.gpus, max_retries=0)(run_shard)
            self._gathered(ray, task, plan, numbers, told)

    @contextmanager
    def _connected(self, ray: Any) -> Iterator[None]:
        """A block within a cluster; one that this process is in already stays so."""
        if ray.is_initialized():
            yield
            return
        size = {} if self.address else {"num_cpus": self.workers, "include_dashboard": False}
        try:
            ray.init(address=self.address or "local", log_to_driver=False, logging_level="error", **size)
        except (OSError, ValueError, RuntimeError) as err:
            raise UnavailableError(f"no Ray cluster at {self.address or 'this machine'}: {err}") from None
        try:
            yield
        finally:
            ray.shutdown()

    def _refuse_silence(self) -> None:
        """Raises UnavailableError where nothing answers at the address: Ray itself waits there for many minutes."""
        host, _, port = self.address.rpartition("://")[2].rpartition(":")
        if not host or not port.isdigit():
            return
        try:
            socket.create_connection((host, int(port)), timeout=_PATIENCE).close()
        except (OSError, OverflowError) as err:
            raise UnavailableError(
                f"no Ray cluster at {self.address}: {err}; start one with `ray start --head`, or check the address"
            ) from None

    def _gathered(self, ray: Any, task: Any, plan: Plan, numbers: Sequence[int], told: Told) -> None:
        folder = str(plan.folder.absolute())
        asked, tries = {task.remote(folder, number): number for number in numbers}, dict.fromkeys(numbers, 1)
        while asked:
            [done], _ = ray.wait(list(asked), num_returns=1)
            number = asked.pop(done)
            try:
                told(f"shard {number + 1} of {len(plan)} done by {ray.get(done)}")
                continue
            except ray.exceptions.RayError as err:
                cause = getattr(err, "cause", None) or err
            if isinstance(cause, AssayError):
                raise cause
            reason = f"{type(cause).__name__}: {cause}".strip().partition("\n")[0]
            told(f"shard {number + 1} of {len(plan)} failed, attempt {tries[number]}: {reason}")
            if tries[number] > self.retries:
                raise lost_shard(plan, number, tries[number], reason)
            tries[number] += 1
            asked[task.remote(folder, number)] = number
