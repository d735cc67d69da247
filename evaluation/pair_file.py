"""Judges a file of pairs: streaming, in order, and resumable.

Contract: OUT has one line for each non-blank line of IN, in order. An OUT of another IN or of other judges is refused.
An unjudgeable row, or one with a repeated id, gets a line with the reason.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import tee
from pathlib import Path
from typing import Final

from livek12.core.errors import UserError, explain_errors
from livek12.core.files import refuse_pointer
from livek12.core.process import tell_of_forks
from livek12.core.progress import Progress, say, warn
from livek12.core.records import Call, Verdict
from livek12.core.run.journal import LineFile
from livek12.core.run.markings import in_words, without_code
from livek12.evaluation.marking import JudgeUsage, unanswered
from livek12.evaluation.pairs import (
    PAIR_CONFIG,
    Json,
    JudgedPair,
    bad_row,
    extracted,
    line_digest,
    line_id,
    read_pair,
    verdict_row,
)
from livek12.evaluation.workers import FIELDS, Flow, MarkPool, Reply, pair_pool
from livek12.judges.base import NamedJudge
from livek12.judges.jury import JudgeOptions, Jury
from livek12.tasks.scorer import Scorer

MAX_LINE = 128 * 2**20


@dataclass
class PairCounts:
    """Counts over all rows of OUT."""

    accepted: int = 0
    rejected: int = 0
    undecided: int = 0
    bad: int = 0
    lost: int = 0

    def add(self, row: Json) -> None:
        """Counts one line of OUT."""
        self.accepted += row.get("decision") == "accept"
        self.rejected += row.get("decision") == "reject"
        self.undecided += row.get("decision") == "undecided"
        self.bad += row.get("decided_by") == "input"
        waits = any("raw" not in call and not call.get("final") for call in row.get("calls", ()))
        self.lost += row.get("decision") == "undecided" and waits


@dataclass(frozen=True)
class _Line:
    number: int
    text: bytes
    problem: str = ""


def judge_file(source: Path, target: Path, options: JudgeOptions, author: str = "") -> PairCounts:
    """Judges all undecided pairs of a file; returns the counts over the whole of OUT."""
    total = _count(source)
    with ExitStack() as stack:
        judges = stack.enter_context(Jury(options))
        models = PairModels(judges, source.parent, author)
        lines = numbered_lines(source)
        output = stack.enter_context(_Output(target))
        counts, spent = PairCounts(), JudgeUsage()
        ids, older = stack.enter_context(_Seen()), Counter[str]()
        for row in output.stored():
            _pass_over(next(lines, None), row, models.version, source, target, ids)
            counts.add(row)
            older[str(row["judge"])] += row["judge"] != models.version
        for version, count in (+older).items():
            say(f"{target}: {count:,} by {in_words(version)} stand; {in_words(models.version)} go on")
        done = counts.accepted + counts.rejected + counts.undecided
        progress = stack.enter_context(Progress("judging", total, done=done))
        whole = judges.panel is not None
        rules = stack.enter_context(pair_pool(folder=source.parent, cache=options.cache, whole=whole))
        replies = _by_rules(rules, (ids.checked(line) for line in lines))
        for judged in _settled(replies, judges, models, stack):
            output.append(judged.row)
            counts.add(judged.row)
            spent.add(judged.calls)
            progress.step()
            if judged.row["decided_by"] == "input":
                warn(f"{source}: {judged.row['reason']}", kind="bad row")
    if judges.panel:
        print(spent, file=sys.stderr)
    return counts


def _by_rules(rules: MarkPool[Reply], lines: Iterable[_Line]) -> Iterator[tuple[_Line, Reply]]:
    lines, sent = tee(lines)
    replies = rules.stream(b"" if line.problem else line.text for line in sent)
    return zip(lines, replies, strict=False)


def _settled(
    replies: Iterator[tuple[_Line, Reply]], judges: Jury, models: PairModels, stack: ExitStack
) -> Iterator[_Judged]:
    if judges.panel is None:
        return (_judged(line, reply, models) for line, reply in replies)
    flow: Flow[tuple[_Line, Reply], _Judged] = Flow(
        lambda item: _judged(*item, models), judges.threads, ahead=max(512, 8 * judges.threads)
    )
    return stack.enter_context(flow).run(replies, ordered=True)


@dataclass(frozen=True)
class _Judged:
    row: Json
    calls: Sequence[Call] = ()


def _judged(line: _Line, reply: Reply, models: PairModels) -> _Judged:
    judged = _decided(line, reply, models)
    judged.row["digest"] = line_digest(line.text, FIELDS)
    return judged


def _decided(line: _Line, reply: Reply, models: PairModels) -> _Judged:
    row = reply["row"]
    if line.problem or row["decided_by"] == "input":
        return _Judged(bad_row(line_id(line.text), line.number, line.problem or row["reason"], models.version))
    if "verdict" not in reply:
        return _Judged({**row, "judge": models.version})
    pair, verdict = models.settle(line.text, reply["verdict"])
    return _Judged(verdict_row(pair, verdict), verdict.calls)


def numbered_lines(source: Path) -> Iterator[_Line]:
    """Non-blank lines of IN."""
    refuse_pointer(source)
    with explain_errors(f"{source}: cannot be read"), source.open("rb") as stream:
        number = 0
        while text := stream.readline(MAX_LINE):
            number += 1
            whole = len(text) < MAX_LINE or text.endswith(b"\n")
            while not whole and (rest := stream.readline(MAX_LINE)):
                whole = rest.endswith(b"\n")
            if len(text) == MAX_LINE and not text.endswith(b"\n"):
                yield _Line(number, b"", f"is longer than {MAX_LINE} bytes")
            elif text.strip():
                yield _Line(number, text)


def _count(source: Path) -> int | None:
    with explain_errors(f"{source}: cannot be read"):
        if not source.is_file() and not source.is_dir() and source.exists():
            return None
        with source.open("rb") as stream:
            return sum(block.count(b"\n") for block in iter(lambda: stream.read(1 << 20), b""))


def _pass_over(line: _Line | None, row: Json, version: str, source: Path, target: Path, ids: _Seen) -> None:
    if line is None:
        raise UserError(f"{target}: has more lines than {source}; choose another OUT")
    if without_code(str(row.get("judge"))) != without_code(version):
        was, now = in_words(str(row.get("judge"))), in_words(version)
        other = f"was judged by {was}, not by {now}" if was != now else f"was judged by others than these ({now})"
        raise UserError(f"{target}: {other}; choose another OUT, or remove it: what was decided or said is remembered")
    if row.get("id") != line_id(line.text):
        raise UserError(
            f"{target}: is of another IN: line {line.number} of {source} has another id; choose another OUT"
        )
    if row.get("digest", digest := line_digest(line.text, FIELDS)) != digest:  # earlier versions wrote none
        raise UserError(
            f"{target}: is of another IN: {row.get('id')!r} (line {line.number} of {source}) was judged with other"
            " content; choose another OUT, or remove it"
        )
    ids.checked(line)


class _Output(LineFile):
    """OUT; a file of something else is refused untouched."""

    def __init__(self, target: Path) -> None:
        try:
            with target.open("rb") as stream:
                begin = stream.read(1)
        except FileNotFoundError:
            begin = b""
        except OSError as error:
            raise UserError(f"{target}: cannot be read ({error.strerror}); choose another OUT") from error
        if begin not in (b"", b"{"):
            raise UserError(f"{target}:1: is no decision; choose another OUT")
        super().__init__(target)

    def stored(self) -> Iterator[Json]:
        with self.path.open("rb") as stream:
            for number, line in enumerate(stream, 1):
                try:
                    row = json.loads(line)
                except ValueError:
                    row = None
                if not isinstance(row, dict):
                    raise UserError(f"{self.path}:{number}: is no decision; choose another OUT")
                yield row

    def append(self, row: Json) -> None:
        self.write_line(json.dumps(row, ensure_ascii=False))


class _Seen:
    """Large ones on disk (SQLite spills a nameless database)."""

    def __init__(self) -> None:
        self._db = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        self._db.execute("PRAGMA synchronous = OFF")
        self._db.execute("PRAGMA journal_mode = OFF")
        self._db.execute("CREATE TABLE seen (id TEXT PRIMARY KEY, line INTEGER) WITHOUT ROWID")
        self._db.execute("BEGIN")

    def checked(self, line: _Line) -> _Line:
        name = None if line.problem else line_id(line.text)
        if name is None:
            return line
        added = self._db.execute("INSERT OR IGNORE INTO seen VALUES (?, ?)", (json.dumps(name), line.number))
        if added.rowcount:
            return line
        first = self._db.execute("SELECT line FROM seen WHERE id = ?", (json.dumps(name),)).fetchone()[0]
        return _Line(line.number, line.text, f"has the id {name!r} of line {first}")

    def __enter__(self) -> _Seen:
        return self

    def __exit__(self, *ended: object) -> None:
        self._db.close()


NAMED: Final = {"cfe": NamedJudge("s2s"), "livek12": NamedJudge("count")}


class PairModels:
    """Scorers of rows; thread-safe. Equal versions mark equally."""

    def __init__(self, judges: Jury, folder: Path | None, author: str = "") -> None:
        self._folder = folder
        self._authors = (author,) if author else ()
        credit = PAIR_CONFIG.partial_credit
        self._scorers = {name: Scorer.of(judges, named, credit, self._authors) for name, named in NAMED.items()}
        self.version = "; ".join(dict.fromkeys(scorer.version for scorer in self._scorers.values()))

    def settle(self, line: bytes, by_rules: Json) -> tuple[JudgedPair, Verdict]:
        """Verdict on a readable row; models decide what the rules leave open."""
        pair, verdict = read_pair(line, self._folder), Verdict.model_validate(by_rules)
        scorer = self._scorers[pair.question.benchmark]
        if scorer.has_more(pair.question, pair.response, verdict):
            authors = (*self._authors, *filter(None, (pair.response.model,)))
            verdict = scorer.by_models(pair.question, pair.response, verdict, authors)
            if unanswered(verdict):
                warn(f"{pair.id}: {verdict.reason}", kind="not judged")
        return pair, verdict.model_copy(update={"judge": self.version})


class HeldModels:
    """Judge models for rows, opened when first needed and kept open; a fork opens its own."""

    def __init__(self, options: JudgeOptions) -> None:
        self._options = options
        self._lock = threading.Lock()
        self._begin()
        tell_of_forks(self)

    def submit(self, lines: Sequence[bytes], replies: Sequence[Reply]) -> list[Future[list[Reply]]]:
        """Futures of the replies, in order; models decide the open ones."""
        return [self._submit(line, reply) for line, reply in zip(lines, replies, strict=True)]

    def close(self) -> None:
        """Closes the models; they are opened again when they are needed."""
        with self._lock:
            opened = self._opened
            self._begin()
        opened.close()

    def abandon(self) -> None:
        """Closes models out of use without waiting for it."""
        if self._models is not None:
            threading.Thread(target=self.close, name="closing judges", daemon=True).start()

    def after_fork(self) -> None:
        """Forgets what the parent opened."""
        self._lock = threading.Lock()
        self._begin()

    def _begin(self) -> None:
        self._opened = ExitStack()
        self._models: tuple[PairModels, ThreadPoolExecutor] | None = None

    def _submit(self, line: bytes, reply: Reply) -> Future[list[Reply]]:
        if "verdict" in reply and reply["row"]["score"] is None:
            with self._lock:  # else it may be closed in between
                pairs, threads = self._open()
                return threads.submit(_by_models, pairs, line, reply)
        done: Future[list[Reply]] = Future()
        done.set_result([reply])
        return done

    def _open(self) -> tuple[PairModels, ThreadPoolExecutor]:
        if self._models is None:
            judges = self._opened.enter_context(Jury(self._options))
            threads = self._opened.enter_context(ThreadPoolExecutor(judges.threads, "judges"))
            self._models = PairModels(judges, None), threads
        return self._models


def _by_models(pairs: PairModels, line: bytes, reply: Reply) -> list[Reply]:
    pair, verdict = pairs.settle(line, reply["verdict"])
    return [{"row": verdict_row(pair, verdict), "extracted": extracted(pair, verdict)}]
