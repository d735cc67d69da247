"""Judges of one sitting: rules and an optional panel.

Leaving a `Jury` writes pending results and closes every engine.
"""

from __future__ import annotations

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from livek12.core.engine_kinds import kind_of
from livek12.core.errors import UserError
from livek12.core.store import VOTES, Store
from livek12.judges.base import NamedJudge
from livek12.judges.cascade import decision_store, default_cascade
from livek12.judges.grade import GradingConfig

if TYPE_CHECKING:
    from livek12.judges.llm.audit import Auditor
    from livek12.judges.llm.client import JudgeModel, Schedule
    from livek12.judges.llm.panel import PanelScorer
    from livek12.judges.llm.spec import PanelSpec

MOST_THREADS = 256


@dataclass(frozen=True)
class JudgeOptions:
    """Judges of a command, and their settings.

    Attributes:
        panel: None for rules alone.
        answers: a dataset with the keys, if the run lacks them.
        data: the new place of the run's dataset.
        cache: of decisions and replies, on disk.
        audit: of the reasoning, if the task's article has one.
        together: loads several local judges at once rather than in turns.
        repeats: more than one for studies.
    """

    panel: PanelSpec | None = None
    answers: str = ""
    data: str = ""
    cache: bool = True
    audit: bool = True
    together: bool = False
    repeats: int = 1


class Jury:
    """The rules and the optional panel.

    `in_turn` loads local judges one after the other; `sessions` records the engines' time.
    """

    def __init__(self, options: JudgeOptions, *, in_turn: bool = False, sessions: Path | None = None) -> None:
        self.options = options
        self.cascade = default_cascade(decision_store() if options.cache else None)
        self._after = ExitStack()
        self._threads: ThreadPoolExecutor | None = None
        self.panel = None
        self.schedule: Schedule | None = None
        self._unfinished: Store | None = None
        """Replies to judges by batches, without a cache, until the judging has ended."""
        self._models: list[JudgeModel] = []
        if options.panel is not None:
            from livek12.judges.llm.client import JudgeModel, Schedule
            from livek12.judges.llm.panel import Panel

            judges = options.panel.judges
            local = [judge for judge in judges if not kind_of(judge.runs_on).is_elsewhere]
            gathering = [judge.model for judge in judges if kind_of(judge.runs_on).gathers]
            if gathering and not in_turn:
                raise UserError(
                    f"judge {gathering[0]} answers by batches, within hours: it goes with `run` and `judge`, without"
                    " --stages overlap"
                )
            self.schedule = Schedule() if in_turn and (len(local) > 1 or gathering) else None
            votes = Store(VOTES) if options.cache else None
            if votes is None and gathering and sessions is not None:  # paid for: a killed judging finds them again
                place = hashlib.sha256(os.fsencode(sessions.resolve())).hexdigest()[:16]
                votes = self._unfinished = Store(f"{VOTES}-of-{place}")
            elif votes is None and self.schedule is not None:  # replies pass between turns only
                votes = Store(VOTES, Path(self._after.enter_context(TemporaryDirectory(prefix="livek12-"))))
                self._after.callback(votes.close)
            self._models = [
                JudgeModel(judge, votes, schedule=self.schedule, sessions=sessions) for judge in options.panel.judges
            ]
            for model in self._models:
                if model.spec not in local:
                    model.start()  # cheap, and reports a wrong address or missing file before any work
            self._threads = ThreadPoolExecutor(self.threads * len(self._models), thread_name_prefix="panel")
            self.panel = Panel(options.panel, self._models, self._threads)

    def try_out(self, local: bool) -> None:
        """Checks that the judges are available.

        Endpoints get a small request; `local` loads local models (of those in turns the first).

        Raises:
            UserError: a judge is unavailable.
        """
        for model in self._models:
            kind = kind_of(model.spec.runs_on)
            if kind.is_elsewhere or (local and (self.schedule is None or self.schedule.admits(model))):
                model.try_out()

    @property
    def asked(self) -> int:
        """The number of requests."""
        return sum(model.asked for model in self._models)

    @property
    def threads(self) -> int:
        """Concurrent responses that keep every judge busy."""
        if self.options.panel is None:
            return 1
        limits = [judge.engine_args.get("concurrency", 16) for judge in self.options.panel.judges]
        busy = max((int(n) for n in limits if str(n).isdecimal()), default=16)
        local = any(judge.engine in {"auto", "vllm"} for judge in self.options.panel.judges)
        return min(MOST_THREADS, 2 * max(busy, 64 if local else 1))

    def panel_scorer(self, named: NamedJudge, config: GradingConfig) -> PanelScorer | None:
        """Panel with the task's method, if any."""
        if self.panel is None:
            return None
        from livek12.judges.llm.panel import PanelScorer

        return PanelScorer(self.panel, named, config, self.cascade)

    def auditor(self, named: NamedJudge) -> Auditor | None:
        """Panel as critics, if the task has an audit."""
        wanted = named.audit and self.options.audit
        if not wanted or self.panel is None or self.panel.spec.prompt is not None:  # a verifier has one question only
            return None
        from livek12.judges.llm.audit import Auditor

        return Auditor(self.panel, named.size)

    def __enter__(self) -> Jury:
        return self

    def __exit__(self, kind: type[BaseException] | None, *ended: object) -> None:
        self.cascade.flush()
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            return  # an interrupt does not wait for a judge; finished replies are stored
        if self.panel is not None:
            for model in self._models:
                model.end()
        if self._threads is not None:
            self._threads.shutdown(wait=True, cancel_futures=True)
        self._after.close()
        if kind is None and self._unfinished is not None:
            self._unfinished.remove()
