"""Several replicas of a local engine: the engine arguments `replicas`, `ray`, `gpus` and `cpus` (see `Plan`).

They say where the engine runs and not what it answers, so a run may be resumed with others.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from itertools import takewhile
from typing import Any

from livek12.core.errors import UserError
from livek12.engines.arguments import spread_of
from livek12.engines.base import Engine
from livek12.engines.child import Child, core_shares
from livek12.engines.pool import Pool


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Where the replicas of an engine run.

    Args:
        replicas: how many engines.
        ray: None for child processes on this machine; "local", "auto", HOST:PORT or ray://HOST:PORT for Ray actors.
        gpus: GPUs of each; default those that one engine spreads over, where there are any.
        cpus: CPUs of each; default a share of this machine's where it has no GPU, and 1 on a Ray cluster.
    """

    replicas: int = 1
    ray: str | None = None
    gpus: float | None = None
    cpus: float | None = None


PLACING = frozenset(one.name for one in fields(Plan))
"""The arguments of `Plan`."""
_DEVICE = re.compile(r"\d+$|GPU-|MIG-")
_AMD = "HIP_VISIBLE_DEVICES"
"""What ROCm calls CUDA_VISIBLE_DEVICES, and takes before it; vLLM refuses to start where the two differ."""


def pooled(name: str, build: Callable[[], Engine], placing: Mapping[str, Any], args: Mapping[str, Any]) -> Engine:
    """An engine made of replicas.

    Args:
        name: of the engine.
        build: makes one replica; travels by pickle.
        placing: the arguments of `Plan`, typed.
        args: the other engine arguments, typed.

    Raises:
        UserError: a value of another type, more GPUs than there are, or the engine refuses to run.
    """
    plan = Plan(**placing)
    gpus = plan.gpus or 0
    if plan.replicas < 1 or gpus < 0 or (plan.cpus is not None and plan.cpus <= 0):
        raise UserError("replicas and cpus are numbers above zero, gpus too or 0 for none")
    if gpus > 1 and gpus != int(gpus):
        raise UserError(f"gpus={gpus:g}: above 1, an engine has whole GPUs")
    spread = spread_of(args)
    if plan.ray is not None:
        from livek12.engines.ray_engine import RayEngine

        return RayEngine(build, plan.ray, replicas=plan.replicas, gpus=plan.gpus, cpus=plan.cpus, spread=spread)
    return Pool([partial(Child, build, *share) for share in _shares(plan, spread)])


def _shares(plan: Plan, spread: int) -> list[tuple[dict[str, str], frozenset[int] | None]]:
    """Environment and cores of each child: its own GPUs, or its own cores where it has none."""
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
    """The variables with which a child sees these GPUs alone."""
    return {name: ",".join(devices) for name in ("CUDA_VISIBLE_DEVICES", *({_AMD} & {*os.environ}))}


def _devices() -> list[str]:
    """The GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them: those before the first that is none."""
    named = os.environ.get(_AMD) or os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is not None:
        return list(takewhile(_DEVICE.match, map(str.strip, named.split(","))))
    try:
        import torch
    except ModuleNotFoundError:
        return []
    return [str(number) for number in range(torch.cuda.device_count())]
