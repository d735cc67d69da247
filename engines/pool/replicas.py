"""Replicas of a local engine, and engines rebuilt when they die.

Placement does not change answers, so a run may be resumed with another.
"""

from __future__ import annotations

import logging
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import partial
from itertools import islice, takewhile
from typing import Any

from livek12.core.errors import UserError
from livek12.core.records import Key, Request
from livek12.core.run.sessions import Figures
from livek12.core.text import one_line
from livek12.engines.arguments import spread_of
from livek12.engines.base import Engine, EngineDied, Outcome
from livek12.engines.common import failure, figures_of, one_after_another
from livek12.engines.pool import Pool
from livek12.engines.pool.worker import Child, core_shares


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Placement of an engine's replicas.

    Args:
        ray: None for child processes on this machine; "local", "auto", HOST:PORT or ray://HOST:PORT for Ray actors.
        gpus: of each; default those that one engine spreads over.
        cpus: of each; default a share of this machine's without a GPU, and 1 on a Ray cluster.
    """

    replicas: int = 1
    ray: str | None = None
    gpus: float | None = None
    cpus: float | None = None


PLACING = frozenset(one.name for one in fields(Plan))
"""The arguments of `Plan`."""
_DEVICE = re.compile(r"\d+$|GPU-|MIG-")
_AMD = "HIP_VISIBLE_DEVICES"
"""ROCm's CUDA_VISIBLE_DEVICES, which takes precedence; vLLM refuses to start if the two differ."""


def pooled(name: str, build: Callable[[], Engine], placing: Mapping[str, Any], args: Mapping[str, Any]) -> Engine:
    """An engine made of replicas; `build` is pickled."""
    plan = Plan(**placing)
    gpus = plan.gpus or 0
    if plan.replicas < 1 or gpus < 0 or (plan.cpus is not None and plan.cpus <= 0):
        raise UserError("replicas and cpus are numbers above zero, gpus too or 0 for none")
    if gpus > 1 and gpus != int(gpus):
        raise UserError(f"gpus={gpus:g}: above 1, an engine has whole GPUs")
    spread = spread_of(args)
    if plan.ray is not None:
        from livek12.engines.pool.ray import RayEngine

        return RayEngine(build, plan.ray, replicas=plan.replicas, gpus=plan.gpus, cpus=plan.cpus, spread=spread)
    return Pool([partial(Child, build, *share) for share in _shares(plan, spread)])


def _shares(plan: Plan, spread: int) -> list[tuple[dict[str, str], frozenset[int] | None]]:
    devices = _devices()
    gpus = plan.gpus if plan.gpus is not None else spread if devices else 0
    if not gpus:
        hidden = _seeing([]) if devices else {}
        return [(environment | hidden, cores) for environment, cores in core_shares(plan.replicas, plan.cpus)]
    sharing, width = (math.floor(1 / gpus + 1e-9), 1) if gpus < 1 else (1, math.ceil(gpus))
    needed = math.ceil(plan.replicas / sharing) * width
    if needed > len(devices):
        raise UserError(
            f"replicas={plan.replicas} with {gpus:g} GPUs each need {needed}, and there are {len(devices)}: take fewer,"
            " or two on each GPU with gpus=0.5,gpu_memory_utilization=0.45"
        )
    starts = [number // sharing * width for number in range(plan.replicas)]
    return [(_seeing(devices[start : start + width]), None) for start in starts]


def _seeing(devices: list[str]) -> dict[str, str]:
    return {name: ",".join(devices) for name in ("CUDA_VISIBLE_DEVICES", *({_AMD} & {*os.environ}))}


def _devices() -> list[str]:
    """This process's GPUs, up to the first invalid one in CUDA_VISIBLE_DEVICES."""
    named = os.environ.get(_AMD) or os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is not None:
        return list(takewhile(_DEVICE.match, map(str.strip, named.split(","))))
    try:
        import torch
    except ModuleNotFoundError:
        return []
    return [str(number) for number in range(torch.cuda.device_count())]


_log = logging.getLogger(__name__)

DEATHS = 3
"""Consecutive losses before no further engine is built; an outcome resets the count."""
AWAY = 64
"""Distance of the request that proves an engine if one died of the very next."""


class Revived:
    """An engine that is rebuilt when it dies; requests without an outcome are repeated.

    If the new engine dies too, they are tried in ever smaller parts, until the request that kills alone fails. The next
    engine proves itself on requests ever farther from that one, as its neighbours (of the same page) may kill too.
    `DEATHS` engines lost in a row with a single request, with none or while loading end the attempts: the rest fails,
    not finally. Raises UserError if the first engine cannot be built.
    """

    def __init__(self, build: Callable[[], Engine]) -> None:
        self._build = build
        try:
            self.engine: Engine | None = build()
        except EngineDied as error:
            raise UserError(one_line(error)) from error
        self.name, self.model, self.revision = self.engine.name, self.engine.model, self.engine.revision
        self.images = self.engine.images
        self._versions = self.engine.versions()
        self._known = Figures()
        self._deaths = 0
        self._fresh = True
        self._why = ""

    def generate(self, requests: Iterable[Request]) -> Iterator[Outcome]:
        """Yields one outcome a request; requests have distinct keys."""
        stream = iter(requests)
        again: list[list[Request]] = []  # what is to be done again, the next part last
        self._deaths = 0
        while self._alive():
            batch = self._next(again, stream)
            source = stream if batch is None else iter(batch)
            hand: dict[Key, Request] = {}
            try:
                assert self.engine is not None
                for outcome in self.engine.generate(_noted(source, hand)):
                    hand.pop(outcome.key, None)
                    self._deaths, self._fresh = 0, False
                    yield outcome
            except EngineDied as error:
                left = [*hand.values(), *(() if batch is None else source)]
                self._bury(error, len(left))
                if batch is None:
                    again.append(left)
                    self._deaths += not left
                elif len(batch) > 1:
                    again += reversed(_parts(left))
                elif left and not self._fresh:  # an accident may have met it; a new engine has nothing but this request
                    again.append(left)
                else:
                    yield from (failure(request, f"the engine died of this request: {self._why}") for request in left)
                    self._deaths += 1
            else:
                if batch is None:
                    return
        reason = f"the engine died {self._deaths} times in a row: {self._why}"
        for part in (*reversed(again), stream):
            yield from (failure(request, reason) for request in part)

    def versions(self) -> dict[str, str]:
        """The engine's versions."""
        return self._versions

    @property
    def figures(self) -> Figures:
        """Figures of the engine and its predecessors."""
        return one_after_another(self._known, figures_of(self.engine))

    def close(self) -> None:
        """Closes the engine, if any."""
        if self.engine is not None:
            self._known = self.figures
            self.engine.close()
            self.engine = None

    def _alive(self) -> bool:
        while self.engine is None and self._deaths < DEATHS:
            try:
                self.engine, self._fresh = self._build(), True
            except (UserError, EngineDied) as error:
                self._why = f"it cannot be built again: {one_line(error, 200)}"
                self._deaths += 1
        return self.engine is not None

    def _next(self, again: list[list[Request]], stream: Iterator[Request]) -> list[Request] | None:
        """Next part to repeat; after a lonely death a request far away."""
        if not self._deaths:
            return again.pop() if again else None
        if ahead := list(islice(stream, AWAY ** (self._deaths - 1))):
            again[:0] = [ahead[:-1]] if ahead[:-1] else []
            return ahead[-1:]
        if self._deaths == 1 and again and again[0]:
            return [again[0].pop()]
        return again.pop(0) if again else None

    def _bury(self, error: EngineDied, left: int) -> None:
        self._why = one_line(error, 200)
        _log.warning("%s died (%s); %d requests in hand are to be done again", self.name, self._why, left)
        with suppress(Exception):  # a dead engine may fail to close
            self.close()
        self.engine = None


def _noted(source: Iterator[Request], hand: dict[Key, Request]) -> Iterator[Request]:
    for request in source:
        hand[request.key] = request
        yield request


def _parts(requests: list[Request]) -> list[list[Request]]:
    """One request, which exposes an always dying engine, and halves."""
    middle = (len(requests) + 1) // 2
    return [part for part in (requests[:1], requests[1:middle], requests[middle:]) if part]
