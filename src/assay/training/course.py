"""Course: the steps of a fit, seeded, kept after every epoch, ended when dev no longer gains.

What is learnt is a network of PyTorch; all that differs between kinds of models is the loss of a batch and how a model
is saved. After every epoch the network, the optimiser and the value on dev are kept in a folder of work, so that a fit
that was killed goes on from its last whole epoch and ends with the same weights.
"""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from assay.encoder import needed
from assay.errors import DataError, FileError, FormatError, UsageError
from assay.formats.files import refused, replacing

Rows = npt.NDArray[np.int64]
Told = Callable[[str], None]

PLAN, STATE, LOSS, VALUE = "plan.json", "state.pt", "loss.json", "value.json"
MODEL, BEFORE = "model", "before.json"
SAME = 1e-12


@dataclass(frozen=True)
class Schedule:
    """How a fit proceeds.

    Attributes:
        epochs: Times that all pairs are seen at most.
        batch: Pairs of a step.
        rate: The greatest learning rate of AdamW; it rises over the first `warmup` share of all steps and then falls,
            both in a straight line, to 0.
        decay: Weight decay; biases and norms have none.
        clip: The greatest norm of a step's gradient.
        patience: Epochs without a gain on dev after which the fit ends.
        seed: Of the order of pairs, of dropout, and of weights that the base lacks.

    Raises:
        UsageError: A value is out of its range.
    """

    epochs: int = 3
    batch: int = 32
    rate: float = 2e-5
    warmup: float = 0.1
    decay: float = 0.01
    clip: float = 1.0
    patience: int = 1
    seed: int = 1

    def __post_init__(self) -> None:
        if min(self.epochs, self.batch, self.patience) < 1 or self.seed < 0:
            raise UsageError(
                f"epochs {self.epochs}, batch {self.batch}, patience {self.patience}, seed {self.seed}: whole numbers"
                " of at least 1, and a seed of at least 0, are due"
            )
        if not 0 < self.rate < 1 or not 0 <= self.warmup <= 1 or self.decay < 0 or self.clip <= 0:
            raise UsageError(
                f"rate {self.rate}, warmup {self.warmup}, decay {self.decay}, clip {self.clip}: the rate lies between 0"
                " and 1, the warm-up is a share, decay is 0 or more, and clip more than 0"
            )

    def order(self, size: int, epoch: int) -> list[Rows]:
        """The batches of an epoch, counted from 1: all rows in a seeded order.

        Example:
            >>> [len(rows) for rows in Schedule(batch=4).order(10, 1)]
            [4, 4, 2]
        """
        rows = np.random.default_rng([self.seed, epoch]).permutation(size)
        return [rows[low : low + self.batch] for low in range(0, size, self.batch)]

    def rate_at(self, step: int, steps: int) -> float:
        """The learning rate of a step, counted from 0.

        Example:
            >>> [round(Schedule(rate=0.1, warmup=0.2).rate_at(step, 10), 4) for step in (0, 1, 2, 9)]
            [0.05, 0.1, 0.1, 0.0125]
        """
        rising = math.ceil(self.warmup * steps)
        if step < rising:
            return self.rate * (step + 1) / rising
        return self.rate * (steps - step) / max(1, steps - rising)


class Learner(Protocol):
    """What is fitted."""

    network: Any
    size: int

    def loss(self, rows: Rows) -> Any:
        """The loss of some of the pairs: a tensor of one number."""
        ...

    def save(self, folder: Path) -> None:
        """Writes the model into a new folder, as the house opens it."""
        ...


class Dev(Protocol):
    """What a model is worth on dev."""

    def before(self) -> float:
        """The value before the fit."""
        ...

    def of(self, folder: Path) -> float:
        """The value of the model in a folder."""
        ...


@dataclass(frozen=True)
class Epoch:
    """What an epoch came to: the mean loss of its steps, and the value on dev after it."""

    epoch: int
    loss: float
    value: float


@dataclass(frozen=True)
class Course:
    """A fit that has ended.

    Attributes:
        before: The value on dev before the first step.
        curve: Every epoch.
        best: The epoch with the highest value, the earliest of equal ones.
        folder: Its model.
        stopped: Why there was no further epoch.
    """

    before: float
    curve: tuple[Epoch, ...]
    best: Epoch
    folder: Path
    stopped: str


@dataclass(frozen=True, eq=False)
class Fit:
    """A fit, to be run to its end or taken up where it broke off.

    Attributes:
        learner: What is fitted, not yet changed.
        schedule: How.
        dev: What a model is worth.
        work: A folder for whole epochs; it must be new or that of the same plan.
        plan: All that the result depends on, as JSON values.
        told: Is told how far it is.
    """

    learner: Learner
    schedule: Schedule
    dev: Dev
    work: Path
    plan: Mapping[str, Any]
    told: Told

    def course(self) -> Course:
        """The course of the fit.

        Raises:
            FormatError: The folder of work is of another plan.
            DataError: The loss is no finite number.
            FileError: The folder cannot be written.
        """
        try:
            _claim(self.work, self.plan)
            with deterministic(str(self.learner.network.device)):
                return self._course()
        except OSError as err:
            raise refused(err, self.work, "write") from None

    def _course(self) -> Course:
        optimiser, curve, work = _optimiser(self.learner.network, self.schedule), _kept(self.work), self.work
        if any(work.glob(f"epoch-*/{STATE}")):
            _take_up(work, self.learner, optimiser)
        if not (work / BEFORE).exists():
            self.told("measuring dev before the fit")
            _write(work / BEFORE, {"value": self.dev.before()})
        before = float(_read(work / BEFORE)["value"])
        reason = _ended(before, curve, self.schedule)
        while not reason:
            epoch = len(curve) + 1
            place = work / f"epoch-{epoch}"
            if not place.exists():
                _keep(place, self.learner, optimiser, self._one_epoch(optimiser, epoch))
            self.told(f"epoch {epoch} of {self.schedule.epochs}: measuring dev")
            made = Epoch(epoch, float(_read(place / LOSS)["loss"]), self.dev.of(place / MODEL))
            _write(place / VALUE, asdict(made))
            curve.append(made)
            _thin(work, curve)
            reason = _ended(before, curve, self.schedule)
        best = _best(curve)
        return Course(before, tuple(curve), best, work / f"epoch-{best.epoch}" / MODEL, reason)

    def _one_epoch(self, optimiser: Any, epoch: int) -> float:
        """The mean loss of an epoch's steps."""
        torch = needed("torch", "dense")
        learner, schedule = self.learner, self.schedule
        # Every epoch begins with its own seed, so that one that is taken up draws what it would have drawn.
        torch.manual_seed((schedule.seed << 20) + epoch)
        batches = schedule.order(learner.size, epoch)
        steps, done = schedule.epochs * len(batches), (epoch - 1) * len(batches)
        weights = [one for one in learner.network.parameters() if one.requires_grad]
        losses: list[float] = []
        learner.network.train()
        for number, rows in enumerate(batches):
            for group in optimiser.param_groups:
                group["lr"] = schedule.rate_at(done + number, steps)
            optimiser.zero_grad(set_to_none=True)
            loss = learner.loss(rows)
            losses.append(float(loss.detach()))
            if not math.isfinite(losses[-1]):
                raise DataError(
                    f"epoch {epoch}, step {number + 1}: the loss is {losses[-1]}, no finite number; take a lower"
                    f" learning rate than {schedule.rate}"
                )
            loss.backward()
            torch.nn.utils.clip_grad_norm_(weights, schedule.clip)
            optimiser.step()
            self.told(
                f"epoch {epoch} of {schedule.epochs}: step {number + 1} of {len(batches)}, loss {np.mean(losses):.4f}"
            )
        learner.network.eval()
        return float(np.mean(losses))


def _optimiser(network: Any, schedule: Schedule) -> Any:
    torch = needed("torch", "dense")
    plain: list[Any] = []
    bare: list[Any] = []
    for weights in network.parameters():
        if weights.requires_grad:
            (bare if weights.ndim < 2 else plain).append(weights)
    groups = [{"params": plain, "weight_decay": schedule.decay}, {"params": bare, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=schedule.rate)


@contextmanager
def deterministic(device: str) -> Iterator[None]:
    """A block in which PyTorch computes the same numbers every time, and after which its state is as before."""
    torch = needed("torch", "dense")
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    before = torch.are_deterministic_algorithms_enabled()
    index = torch.device(device).index or 0
    with torch.random.fork_rng(devices=[index] if device.startswith("cuda") else []):
        torch.use_deterministic_algorithms(True)
        try:
            yield
        finally:
            torch.use_deterministic_algorithms(before)


def _ended(before: float, curve: list[Epoch], schedule: Schedule) -> str:
    """Why there is no further epoch; empty where there is one."""
    if not curve:
        return ""
    top, since = before, 0
    for one in curve:
        top, since = (one.value, 0) if one.value > top + SAME else (top, since + 1)
    if since >= schedule.patience:
        return f"no gain on dev in {since} epoch{'s' * (since > 1)}"
    return f"all {schedule.epochs} epochs are done" if len(curve) >= schedule.epochs else ""


def _best(curve: list[Epoch]) -> Epoch:
    top = max(one.value for one in curve)
    return next(one for one in curve if one.value >= top - SAME)


def _claim(work: Path, plan: Mapping[str, Any]) -> None:
    """Writes the plan into a new folder, or compares it."""
    plain = json.loads(json.dumps(plan))
    if not (work / PLAN).exists():
        if work.is_dir() and any(work.iterdir()):
            raise FileError(f"{work} holds other files, and no {PLAN} of a fit; delete it, or name another folder")
        work.mkdir(parents=True, exist_ok=True)
        _write(work / PLAN, plain)
        return
    found = _read(work / PLAN)
    differing = sorted(key for key in {*plain, *found} if plain.get(key) != found.get(key))
    if differing:
        raise FormatError(
            f"{work} holds a fit that broke off, with another {' and '.join(differing)}; go on with what it was made"
            " with, delete it, or name another output folder"
        )


def _kept(work: Path) -> list[Epoch]:
    """The epochs that are whole, in their order."""
    found: list[Epoch] = []
    while (work / f"epoch-{len(found) + 1}" / VALUE).exists():
        found.append(Epoch(**_read(work / f"epoch-{len(found) + 1}" / VALUE)))
    return found


def _keep(place: Path, learner: Learner, optimiser: Any, loss: float) -> None:
    """Writes an epoch's model and state, whole or not at all."""
    torch = needed("torch", "dense")
    part = place.with_name(f".{place.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    learner.save(part / MODEL)
    state = {"network": learner.network.state_dict(), "optimiser": optimiser.state_dict()}
    torch.save(state, part / STATE)
    _write(part / LOSS, {"loss": loss})
    part.rename(place)


def _take_up(work: Path, learner: Learner, optimiser: Any) -> None:
    """Brings the network and the optimiser to where the last whole epoch left them."""
    torch = needed("torch", "dense")
    last = max(int(path.parent.name.split("-")[1]) for path in work.glob(f"epoch-*/{STATE}"))
    state = torch.load(work / f"epoch-{last}" / STATE, map_location=learner.network.device, weights_only=True)
    learner.network.load_state_dict(state["network"])
    optimiser.load_state_dict(state["optimiser"])


def _thin(work: Path, curve: list[Epoch]) -> None:
    """Deletes states that are not the last one, and models that are not the best one."""
    best = _best(curve).epoch
    for one in curve:
        if one.epoch != curve[-1].epoch:
            (work / f"epoch-{one.epoch}" / STATE).unlink(missing_ok=True)
        if one.epoch != best:
            shutil.rmtree(work / f"epoch-{one.epoch}" / MODEL, ignore_errors=True)


def _write(path: Path, record: Mapping[str, Any]) -> None:
    with replacing(path) as file:
        file.write((json.dumps(record, indent=1, sort_keys=True) + "\n").encode())


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise FormatError(f"{path} is not what a fit wrote; delete the folder, and the fit begins anew")
    return found
