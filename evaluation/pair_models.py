"""Judge models for pairs: what the rules leave open goes on to them.

Contract: any number of threads may use one. With a jury of rules alone nobody is asked, and the rules are named.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from livek12.core.process import tell_of_forks
from livek12.core.progress import warn
from livek12.core.records import Verdict
from livek12.evaluation.judging import unanswered
from livek12.evaluation.pair_rules import PAIR_CONFIG
from livek12.evaluation.pairs import Json, JudgedPair, extracted, read_pair, verdict_row
from livek12.evaluation.row_workers import Reply
from livek12.judges.base import NamedJudge
from livek12.judges.jury import JudgeOptions, Jury
from livek12.tasks.scorer import Scorer

NAMED: Final = {"cfe": NamedJudge("s2s"), "livek12": NamedJudge("count")}


@dataclass(frozen=True)
class Settled:
    """A pair, and what rules and models together say to it."""

    pair: JudgedPair
    verdict: Verdict


class PairModels:
    """Of each benchmark whose questions are judged by models, its marker.

    Args:
        judges: opened by the caller.
        folder: where image files may lie; None for nowhere.
        author: the model that wrote the responses, where it is known.

    Attributes:
        version: names who marks; equal strings mark equally.

    Raises:
        UserError: too few of the judges may judge this author.
    """

    def __init__(self, judges: Jury, folder: Path | None, author: str = "") -> None:
        self._folder = folder
        self._authors = (author,) if author else ()
        credit = PAIR_CONFIG.partial_credit
        self._scorers = {name: Scorer.of(judges, named, credit, self._authors) for name, named in NAMED.items()}
        self.version = "; ".join(dict.fromkeys(scorer.version for scorer in self._scorers.values()))

    def settle(self, line: bytes, verdict: Json) -> Settled:
        """What the panel says to what the rules left open.

        Args:
            line: the row, which a worker could read.
            verdict: what the rules made of it.
        """
        pair, by_rules = read_pair(line, self._folder), Verdict.model_validate(verdict)
        scorer = self._scorers[pair.question.benchmark]
        if not scorer.has_more(pair.question, pair.response, by_rules):
            return self._named(pair, by_rules)
        authors = (*self._authors, *filter(None, (pair.response.model,)))
        settled = scorer.by_models(pair.question, pair.response, by_rules, authors)
        if unanswered(settled):
            warn(f"{pair.id}: {settled.reason}", kind="not judged")
        return self._named(pair, settled)

    def _named(self, pair: JudgedPair, verdict: Verdict) -> Settled:
        return Settled(pair, verdict.model_copy(update={"judge": self.version}))


class HeldModels:
    """Judge models for rows, opened when they are first needed and held open; a fork opens its own.

    Args:
        options: who judges.
    """

    def __init__(self, options: JudgeOptions) -> None:
        self._options = options
        self._lock = threading.Lock()
        self._begin()
        tell_of_forks(self)

    def submit(self, lines: Sequence[bytes], replies: Sequence[Reply]) -> list[Future[list[Reply]]]:
        """The replies of the rules, in order, with what models say to those that the rules leave open.

        Args:
            lines: the rows.
            replies: with verdicts.

        Raises:
            UserError: the models cannot be asked.
        """
        return [self._submit(line, reply) for line, reply in zip(lines, replies, strict=True)]

    def close(self) -> None:
        """Closes the models; they are opened again when they are needed."""
        with self._lock:
            opened = self._opened
            self._begin()
        opened.close()

    def abandon(self) -> None:
        """Closes the models when nobody uses them any more, and does not wait for it: it may be called anywhere."""
        if self._threads is not None:
            threading.Thread(target=self.close, name="closing judges", daemon=True).start()

    def after_fork(self) -> None:
        """What was opened belongs to the parent."""
        self._lock = threading.Lock()
        self._begin()

    def _begin(self) -> None:
        self._opened = ExitStack()
        self._threads: ThreadPoolExecutor | None = None
        self._pairs: PairModels | None = None

    def _submit(self, line: bytes, reply: Reply) -> Future[list[Reply]]:
        if "verdict" in reply and reply["row"]["score"] is None:
            with self._lock:  # else it may be closed in between
                pairs, threads = self._open()
                return threads.submit(_settled, pairs, line, reply)
        done: Future[list[Reply]] = Future()
        done.set_result([reply])
        return done

    def _open(self) -> tuple[PairModels, ThreadPoolExecutor]:
        if self._pairs is None or self._threads is None:
            judges = self._opened.enter_context(Jury(self._options))
            self._pairs = PairModels(judges, None)
            self._threads = self._opened.enter_context(ThreadPoolExecutor(judges.threads, "judges"))
        return self._pairs, self._threads


def _settled(pairs: PairModels, line: bytes, reply: Reply) -> list[Reply]:
    settled = pairs.settle(line, reply["verdict"])
    return [{"row": verdict_row(settled.pair, settled.verdict), "extracted": extracted(settled.pair, settled.verdict)}]
