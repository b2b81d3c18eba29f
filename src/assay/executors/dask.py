"""Dask: the workers of a cluster, one that runs already or one on this machine."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, ClassVar

from assay.errors import AssayError, UnavailableError
from assay.executor import Told, kept_stdout, lost_shard
from assay.plan import Plan, run_shard
from assay.system import refuse_no_count


@dataclass(frozen=True)
class Dask:
    """Workers of a Dask cluster, which must see the work folder under the same path.

    A worker that dies is the scheduler's business: it gives its shards to others. What it gives up on, and what fails
    otherwise, is tried again here.

    Args:
        address: Of a scheduler, such as `tcp://10.0.0.5:8786`; empty starts a cluster on this machine.
        workers: How many processes that has.
        retries: How often one shard is tried again.
        patience: Seconds to wait for the scheduler, and for a first worker.

    Raises:
        UsageError: `workers` is less than 1 or `retries` less than 0.

    Example:
        >>> Dask("tcp://10.0.0.5:8786").workers
        2
    """

    name: ClassVar[str] = "dask"

    address: str = ""
    workers: int = 2
    retries: int = 3
    patience: int = 60

    def __post_init__(self) -> None:
        refuse_no_count("dask", 1, workers=self.workers, patience=self.patience)
        refuse_no_count("dask", 0, retries=self.retries)

    def run(self, plan: Plan, numbers: Sequence[int], told: Told) -> None:
        """Runs the shards, as many at a time as there are threads of workers.

        Raises:
            UnavailableError: Dask is not installed, no scheduler answers at the address, or no worker comes.
            AssayError: A shard failed for a reason that another attempt would not change, or too often.
        """
        try:
            distributed: Any = importlib.import_module("distributed")
        except ImportError:
            raise UnavailableError(
                "the executor dask needs a package: python -m pip install 'assay[scale]', and the same on its workers"
            ) from None
        with kept_stdout(), ExitStack() as held:
            where: Any = self.address
            if not where:
                cluster = distributed.LocalCluster(
                    n_workers=self.workers, threads_per_worker=1, dashboard_address=":0", memory_limit=0
                )
                where = held.enter_context(cluster)
            try:
                client = held.enter_context(distributed.Client(where, timeout=self.patience))
                client.wait_for_workers(1, timeout=self.patience)
            except (OSError, ValueError) as err:
                # Both a scheduler that does not answer and workers that do not come are an OSError.
                raise UnavailableError(
                    f"no Dask workers at {self.address or 'this machine'}: {err}; start a scheduler and workers, or"
                    " check the address"
                ) from None
            asked = {self._asked(client, plan, number): number for number in numbers}
            waiting = distributed.as_completed(asked)
            self._gathered(client, plan, asked, waiting, told)

    def _gathered(self, client: Any, plan: Plan, asked: dict[Any, int], waiting: Any, told: Told) -> None:
        tries = dict.fromkeys(asked.values(), 1)
        futures: Iterator[Any] = iter(waiting)
        for future in futures:
            number = asked[future]
            err = future.exception()
            if err is None:
                told(f"shard {number + 1} of {len(plan)} done by {future.result()}")
                continue
            if isinstance(err, AssayError):
                raise err
            reason = f"{type(err).__name__}: {err}"
            told(f"shard {number + 1} of {len(plan)} failed, attempt {tries[number]}: {reason}")
            if tries[number] > self.retries:
                raise lost_shard(plan, number, tries[number], reason)
            tries[number] += 1
            again = self._asked(client, plan, number)
            asked[again] = number
            waiting.add(again)

    @staticmethod
    def _asked(client: Any, plan: Plan, number: int) -> Any:
        return client.submit(run_shard, str(plan.folder.absolute()), number, pure=False)
