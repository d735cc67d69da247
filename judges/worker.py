"""The process that compares trees: reads requests, answers each, and never lives longer than its parent.

One JSON object a line in, one a line out. Started by `judges.pool`; nothing else calls it. Its memory and the
processor time of each request are limited by the kernel; a request that breaks a limit ends the process.
"""

from __future__ import annotations

import json
import sys
from typing import Any, TextIO


def serve(requests: TextIO, replies: TextIO, memory_bytes: int, seconds: float) -> None:
    """Answers requests until the parent closes its end.

    Args:
        requests: lines {"gold": tree, "answer": tree, "open_ends": bool}.
        replies: lines {"decision": …, "reason": …}; the first says {"ready": true}.
        memory_bytes: limit of the address space.
        seconds: processor time of one request, after which the kernel ends the process.
    """
    _limit_memory(memory_bytes)
    from livek12.judges.algebra import Comparer

    _reply(replies, {"ready": True})
    for line in requests:
        _limit_time(seconds)
        request = json.loads(line)
        try:
            decision, reason = Comparer(request.get("open_ends", False)).compare(request["gold"], request["answer"])
        except MemoryError:
            _reply(replies, {"decision": "undecided", "reason": "out of memory"})
            return
        except RecursionError:
            decision, reason = "undecided", "too deep"
        except Exception as error:
            decision, reason = "undecided", f"no result ({type(error).__name__})"
        _reply(replies, {"decision": decision, "reason": reason})


def _reply(replies: TextIO, message: dict[str, Any]) -> None:
    replies.write(json.dumps(message) + "\n")
    replies.flush()


def _limit_memory(limit: int) -> None:
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _limit_time(seconds: float) -> None:
    """Lets the kernel end a runaway even when the parent is gone."""
    try:
        import resource
    except ImportError:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime + seconds) + 2, hard))


def main() -> None:
    """Serves standard input and output; limits come as arguments. What libraries print goes to standard error."""
    replies = sys.stdout
    sys.stdout = sys.stderr
    serve(sys.stdin, replies, int(sys.argv[1]), float(sys.argv[2]))
