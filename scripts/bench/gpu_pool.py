"""Part of gpu_check.py: makes an engine of replicas, waits for each of them, and asks sixteen questions for each.

    python scripts/bench/gpu_pool.py MODEL REPLICAS SECONDS ENGINE_ARGS

Prints JSON: how many replicas were ready after so many seconds at most, the bytes in use on each device with them up,
and how many questions were answered.
"""

from __future__ import annotations

import json
import sys
import time

from livek12.core.records import Key, Message, Part, Request, Response, Sampling
from livek12.engines import make_engine, parse_engine_args
from livek12.engines.memory import measure
from livek12.engines.pool import Pool


def ask(number: int) -> Request:
    """A short question, another for each number."""
    said = Message(role="user", content=[Part(type="text", text=f"Count on from {number}.")])
    sampling = Sampling(max_tokens=32, temperature=0.0)
    return Request(key=Key(task="t", question_id=str(number), trial=0), messages=[said], sampling=sampling)


def main(model: str, replicas: int, seconds: float, args: str) -> None:
    """See the module."""
    pool, end = make_engine("vllm", model, parse_engine_args(args)), time.monotonic() + seconds
    assert isinstance(pool, Pool)
    while pool.ready() < replicas and time.monotonic() < end:
        time.sleep(0.2)
    ready, held = pool.ready(), [device.used for device in measure().devices]
    answers = sum(isinstance(outcome, Response) for outcome in pool.generate(map(ask, range(16 * replicas))))
    pool.close()
    print(json.dumps({"ready": ready, "held": held, "answers": answers}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4])
