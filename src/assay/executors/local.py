"""Local: processes on this machine, one shard at a time each; one that dies is started again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import ClassVar

from assay import errors
from assay.errors import AssayError, UnavailableError
from assay.executor import Told, lost_shard
from assay.plan import Plan, run_shard
from assay.system import refuse_no_count

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass(frozen=True)
class Local:
    """Processes on this machine, with one BLAS thread each.

    Args:
        workers: How many processes.
        retries: How often one shard is tried again after its process died or failed.

    Raises:
        UsageError: `workers` is less than 1 or `retries` less than 0.

    Example:
        >>> Local(workers=4)
        Local(workers=4, retries=3)
    """

    name: ClassVar[str] = "local"

    workers: int = 2
    retries: int = 3

    def __post_init__(self) -> None:
        refuse_no_count("local", 1, workers=self.workers)
        refuse_no_count("local", 0, retries=self.retries)

    def run(self, plan: Plan, numbers: Sequence[int], told: Told) -> None:
        """Runs the shards, each as soon as a process is free.

        Raises:
            AssayError: A shard failed for a reason that another attempt would not change, or too often.
        """
        waiting: SimpleQueue[int] = SimpleQueue()
        for number in numbers:
            waiting.put(number)
        processes = [_Process() for _ in range(min(self.workers, len(numbers)))]
        job = _Job(self, plan, waiting, told, [])
        with ThreadPoolExecutor(len(processes)) as pool:
            try:
                list(pool.map(job.work, processes))
            except BaseException:
                job.failed.append(UnavailableError(f"{plan.what}: stopped"))
                for process in processes:
                    process.kill()
                raise
        if job.failed:
            raise job.failed[0]


@dataclass(frozen=True, eq=False)
class _Job:
    """What the threads share, each of which looks after one process."""

    executor: Local
    plan: Plan
    waiting: SimpleQueue[int]
    told: Told
    failed: list[AssayError]

    def work(self, process: _Process) -> None:
        try:
            while not self.failed:
                self._shard(self.waiting.get_nowait(), process)
        except Empty:
            pass
        except AssayError as err:
            self.failed.append(err)
        finally:
            process.stop()

    def _shard(self, number: int, process: _Process) -> None:
        """Runs one shard, again where it fails or its process dies, as often as is allowed."""
        for tries in range(1, self.executor.retries + 2):
            who, reason = process.run(self.plan, number)
            if not reason:
                self.told(f"shard {number + 1} of {len(self.plan)} done by {who}")
                return
            self.told(f"shard {number + 1} of {len(self.plan)} failed by {who}, attempt {tries}: {reason}")
            process.stop()
            if self.failed:
                break
        raise lost_shard(self.plan, number, tries, reason)


class _Process:
    """A process of `assay.executors.local` that runs shards as it is told; started when needed, also after a stop."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def run(self, plan: Plan, number: int) -> tuple[str, str]:
        """Who ran it, and why it failed, empty where it did not.

        Raises:
            AssayError: What the shard raised: another attempt would not change it.
        """
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                env={**os.environ, **ONE_THREAD},
                # A key that stops this program is handled here; a process whose pipe closes ends after its shard.
                start_new_session=True,
            )
        process = self._process
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("the process has no pipes")
        try:
            process.stdin.write(json.dumps([str(plan.folder.absolute()), number]) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except OSError:
            line = ""
        if not line:
            return f"process {process.pid}", f"the process ended with status {process.wait()}"
        who, kind, message = json.loads(line)
        if kind and kind != "Exception":
            raise getattr(errors, kind)(message)
        return who, message

    def kill(self) -> None:
        """Has the process end at once, if there is one."""
        if self._process is not None:
            self._process.kill()

    def stop(self) -> None:
        """Ends the process, if there is one, and waits for it."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def _family(err: Exception) -> str:
    """The name of the error of the house that this is, or `Exception`."""
    found = (cls.__name__ for cls in type(err).__mro__ if getattr(errors, cls.__name__, None) is cls)
    return next(found, "Exception")


def main() -> None:
    """Runs shards as standard input names them, and answers each with who ran it and what went wrong."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    # What a system prints must not be taken for an answer.
    os.dup2(2, 1)
    for line in sys.stdin:
        folder, number = json.loads(line)
        try:
            answer = [run_shard(folder, number), "", ""]
        except Exception as err:  # noqa: BLE001 - sent to the process that asked
            message = str(err) if isinstance(err, AssayError) else f"{type(err).__name__}: {err}"
            answer = [f"process {os.getpid()}", _family(err), message]
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
