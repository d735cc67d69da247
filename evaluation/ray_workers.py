"""The responses of a run, marked by the rules on the nodes of a Ray cluster: what `judge --engine-args ray=…` does.

Contract: as `evaluation.mark_workers`, each process with a node's actor between it and the caller. Only the caller's
machine reads responses and writes verdicts, so that nodes need no shared disk: what a process has to know of the run
travels to it once. An actor that is lost, alone or with its node, is replaced, and its responses are marked by another.
Nodes import livek12 as installed there; other rules than the caller's are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from signal import SIGKILL
from tempfile import TemporaryDirectory
from typing import Any

from livek12.core.errors import UserError
from livek12.core.process import ChildProcess, Ended
from livek12.core.run_folder import QUESTIONS, RunFolder
from livek12.engines.pool.ray import connect
from livek12.evaluation.judging import RunScorer
from livek12.evaluation.line_workers import LINE_SECONDS, MEMORY_BYTES
from livek12.evaluation.mark_workers import WORTH_A_PROCESS, MarkPool, mark_responses
from livek12.judges.cascade import rules_digest
from livek12.judges.jury import JudgeOptions


class RayMarkPool(MarkPool):
    """A pool whose processes are on the nodes of a Ray cluster; arguments as those of `MarkPool`.

    Args:
        address: "local", "auto", HOST:PORT or ray://HOST:PORT.
        workers: the most processes; None for as many as the cluster has cores free.
        waiting: how many responses there are.

    Raises:
        UserError: Ray is missing, or there is none at this address.
    """

    def __init__(
        self,
        run: RunFolder,
        scorer: RunScorer,
        options: JudgeOptions,
        number: int,
        address: str,
        workers: int | None,
        waiting: int,
    ) -> None:
        self._started = connect(address, workers or 0)
        import ray

        self._room = int(ray.available_resources().get("CPU", 1))
        size = max(1, min(workers or self._room, -(-waiting // WORTH_A_PROCESS)))
        super().__init__(run, scorer, options, number, size)
        files = ray.put({name: (run.path / name).read_bytes() for name in ("run.json", QUESTIONS)})
        self._far = partial(FarProcess, files, mark_responses, options, number, LINE_SECONDS)
        self._start = self._begin

    def _begin(self) -> FarProcess:
        """One more process, with a core of its own while there is one: that of a lost node is not waited for."""
        self._room -= 1
        return self._far(cpus=int(self._room >= 0))

    def close(self) -> None:
        """Ends all processes, and Ray if it was started for them."""
        super().close()
        if self._started:
            import ray

            ray.shutdown()
            self._started = False


class FarProcess(ChildProcess):
    """The near end of a process on another node, as that of a child.

    Args:
        files: of the run folder that the process reads, by name, in Ray's store.
        work: called there as `work(link, folder, *given)`, the folder holding these files.
        given: pickled.
        cpus: that Ray keeps for it.
    """

    def __init__(self, files: Any, work: Callable[..., None], *given: object, cpus: int) -> None:
        import ray

        self.pid, self.ready = 0, False
        self._gone = False
        self._actor = ray.remote(num_cpus=cpus, max_restarts=0, scheduling_strategy="SPREAD")(_Node).remote()
        self._call = self._actor.begin.remote(rules_digest(), files, work, given)

    def send(self, message: bytes, seconds: float | None = None) -> None:
        """Calls the actor without waiting for it."""
        self._call = self._actor.exchange.remote(message, seconds)

    def receive(self, seconds: float | None = None) -> bytes:
        """What it replies; raises as a child's `receive`, and UserError where the node has other rules."""
        import ray
        from ray.exceptions import GetTimeoutError, RayError, RayTaskError

        try:
            reply: bytes = ray.get(self._call, timeout=None if self.ready else seconds)
        except GetTimeoutError:
            raise TimeoutError from None
        except RayTaskError as error:
            if isinstance(error.cause, Ended | TimeoutError | UserError):
                raise error.cause from None
            raise
        except RayError:  # alone or with its node: another does what it had in hand
            self._gone = True
            raise Ended("its Ray actor is lost", -SIGKILL) from None
        self.ready = True
        return reply

    @property
    def returncode(self) -> int | None:
        """None while it lives, as far as is known."""
        return -SIGKILL if self._gone else None

    def kill(self) -> None:
        """Ends the actor, and its process with it."""
        import ray

        self._gone = True
        ray.kill(self._actor)


class _Node:
    """The actor: starts the process on its node, and hands messages on."""

    def begin(self, digest: str, files: dict[str, bytes], work: Callable[..., None], given: tuple[Any, ...]) -> bytes:
        if rules_digest() != digest:
            raise UserError("a node of the Ray cluster has other rules; install the same livek12 on every node")
        with TemporaryDirectory(prefix="livek12-") as folder:  # once it is ready, it has read or opened them
            for name, data in files.items():
                (Path(folder) / name).write_bytes(data)
            self._child = ChildProcess(work, Path(folder), *given, quiet=True, memory_bytes=MEMORY_BYTES)
            return self._child.receive()

    def exchange(self, message: bytes, seconds: float | None) -> bytes:
        self._child.send(message, seconds)
        return self._child.receive(seconds)
