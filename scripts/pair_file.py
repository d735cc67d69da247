"""A file of pairs becomes a file of decisions: streaming, in order, and going on where it was stopped.

Contract: OUT has one line for each line of IN that is not blank, in the same order, each written whole when it and all
before it are decided; so a command that was killed goes on behind the last whole line, decides nothing twice and
loses nothing. An OUT that does not fit IN, or was made by other judges, is refused. A row that cannot be judged, and
one whose id stood before, get a line that says so. A bounded number of rows is in memory, whatever the length.
"""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from livek12.core.errors import UserError
from livek12.judges.base import NamedJudge, PartialCredit
from livek12.judges.grade import GradingConfig, judge_version
from livek12.scripts.flow import Flow
from livek12.scripts.judging import JudgeOptions, Judges, Spent, quick_threads, unanswered
from livek12.scripts.pairs import BadRow, Json, Pair, bad_row, line_id, read_pair, verdict_row
from livek12.scripts.progress import Progress, warn

if TYPE_CHECKING:
    from livek12.core.records import Verdict
    from livek12.judges.cascade import Cascade
    from livek12.judges.llm.settle import Settler

MAX_LINE = 128 * 2**20
BARE_CHARS = 300
"""A response of one line that is no longer and commits to nothing is itself the answer."""
NAMED = {"cfe": NamedJudge("s2s"), "livek12": NamedJudge("count")}
CREDIT: PartialCredit = "proportional"


@dataclass
class Counts:
    """What became of the rows of a file, those decided earlier with them."""

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
    """A line of IN, its number, and what is wrong with it before anybody looked inside."""

    number: int
    text: bytes
    problem: str = ""


def judge_file(source: Path, target: Path, options: JudgeOptions, author: str = "") -> Counts:
    """Judges all pairs of a file that have no decision yet.

    Args:
        source: IN.
        target: OUT; made, or gone on with.
        options: who judges.
        author: the model that wrote the responses, where it is known.

    Returns:
        The counts over the whole of OUT.

    Raises:
        UserError: a file cannot be read or written, or OUT belongs to another IN or to other judges.
    """
    with ExitStack() as stack:
        judges = stack.enter_context(Judges(options))
        desk = _PairDesk(judges, source.parent, author)
        lines = _numbered(source)
        output = stack.enter_context(_Output(target))
        counts, spent = Counts(), Spent()
        ids = stack.enter_context(_Seen())
        for row in output.stored():
            _pass_over(next(lines, None), row, desk.version, source, target, ids)
            counts.add(row)
        done = counts.accepted + counts.rejected + counts.undecided
        progress = stack.enter_context(Progress("judging", _count(source), done=done))
        checked = (ids.checked(line) for line in lines)
        slow = desk.by_models if judges.panel else None
        flow: Flow[_Line, _Judged] = Flow(
            desk.by_rule,
            slow,
            desk.is_open,
            quick_threads=quick_threads(),
            slow_threads=judges.threads,
            ahead=max(512, 8 * judges.threads),
        )
        for judged in stack.enter_context(flow).run(checked, ordered=True):
            output.append(judged.row)
            counts.add(judged.row)
            spent.add(judged.verdict.calls if judged.verdict else ())
            progress.step()
            if judged.row["decided_by"] == "input":
                warn(f"{source}: {judged.row['reason']}", kind="bad row")
    if judges.panel:
        print(spent, file=sys.stderr)
    return counts


@dataclass(frozen=True)
class _Judged:
    """A line of OUT, and what it was made from where judges may still be asked."""

    row: Json
    pair: Pair | None = None
    verdict: Verdict | None = None


class _PairDesk:
    """Everything that judging one pair needs."""

    def __init__(self, judges: Judges, folder: Path, author: str) -> None:
        self._config = GradingConfig(partial_credit=CREDIT)
        self._cascade: Cascade = judges.cascade
        self._folder = folder
        self._authors = (author,) if author else ()
        self._settlers: dict[str, Settler] = {}
        for benchmark, named in NAMED.items():
            if settler := judges.settler(named, self._config):
                settler.panel.check(self._authors, named.size)
                self._settlers[benchmark] = settler
        self.version = "; ".join(settler.version for settler in self._settlers.values()) or judge_version(self._config)

    def by_rule(self, line: _Line) -> _Judged:
        """What the rules say to a line."""
        if line.problem:
            return _Judged(bad_row(line_id(line.text), line.number, line.problem, self.version))
        try:
            pair = read_pair(line.text, self._folder)
        except BadRow as error:
            return _Judged(bad_row(line_id(line.text), line.number, str(error), self.version))
        return self._judged(pair, rule_verdict(pair, self._config, self._cascade))

    def is_open(self, line: _Line, judged: _Judged) -> bool:
        """Whether judges have to be asked."""
        from livek12.tasks.marking import needs_second_look

        if judged.pair is None or judged.verdict is None:
            return False
        pair = judged.pair
        return needs_second_look(pair.question, pair.response, judged.verdict, self._settlers[pair.question.benchmark])

    def by_models(self, line: _Line, judged: _Judged) -> _Judged:
        """What the panel says to what the rules left open."""
        from livek12.tasks.marking import second_look

        assert judged.pair is not None and judged.verdict is not None
        pair = judged.pair
        authors = (*self._authors, *filter(None, (pair.response.model,)))
        settler = self._settlers[pair.question.benchmark]
        verdict = second_look(pair.question, pair.response, judged.verdict, settler, authors)
        if unanswered(verdict):
            warn(f"{pair.id}: {verdict.reason}", kind="not judged")
        return self._judged(pair, verdict)

    def _judged(self, pair: Pair, verdict: Verdict) -> _Judged:
        named = verdict.model_copy(update={"judge": self.version})
        return _Judged(verdict_row(pair, named), pair, named)


def rule_verdict(pair: Pair, config: GradingConfig, cascade: Cascade) -> Verdict:
    """What the rules say to a pair: as to a response of a run, but that a bare answer needs no commitment.

    A response of some length in which no answer was found is undecided here: nobody has read it.
    """
    from livek12.tasks.marking import unless_broken

    return unless_broken(pair.question, pair.response.key, config, lambda: _rule_verdict(pair, config, cascade))


def _rule_verdict(pair: Pair, config: GradingConfig, cascade: Cascade) -> Verdict:
    from livek12.core.records import PartVerdict
    from livek12.judges.grade import grade, total
    from livek12.tasks.extraction.substance import spoken
    from livek12.tasks.marking import mark_response

    verdict = mark_response(pair.question, pair.response, config, cascade)
    text = spoken(pair.response.text, pair.question)
    if verdict.state != "no_answer" or not text:
        return verdict
    if len(text) <= BARE_CHARS and "\n" not in text:
        return grade(pair.question, pair.response.key, [text], config=config, cascade=cascade)
    open_parts = [
        PartVerdict(
            name=part.name,
            answer=None,
            gold=part.gold,
            decision="undecided",
            score=None,
            decided_by="extraction",
            reason="no answer was found in the response",
        )
        for part in verdict.parts
    ]
    return total(pair.question, pair.response.key, open_parts, config) if open_parts else verdict


# --- files ----------------------------------------------------------------------------------------------------------


def _numbered(source: Path) -> Iterator[_Line]:
    """The lines of a file that are not blank; one over the limit comes cut, with the problem."""
    try:
        with source.open("rb") as stream:
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
    except OSError as error:
        raise UserError(f"{source}: cannot be read ({error.strerror})") from error


def _count(source: Path) -> int:
    """How many lines a file has; only for the progress bar."""
    with source.open("rb") as stream:
        return sum(block.count(b"\n") for block in iter(lambda: stream.read(1 << 20), b""))


def _pass_over(line: _Line | None, row: Json, version: str, source: Path, target: Path, ids: _Seen) -> None:
    """A line of IN that OUT has decided already."""
    if line is None:
        raise UserError(f"{target}: has more lines than {source}; choose another OUT")
    if row.get("judge") != version:
        raise UserError(f"{target}: was made by {row.get('judge')!r}, now {version!r}; choose another OUT")
    if row.get("id") != line_id(line.text):
        raise UserError(
            f"{target}: is of another IN: line {line.number} of {source} has another id; choose another OUT"
        )
    ids.checked(line)


class _Output:
    """OUT, held by one process; a torn last line is taken off."""

    def __init__(self, target: Path) -> None:
        self._target = target
        try:
            self._file = os.open(target, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise UserError(f"{target}: cannot be written ({error.strerror}); choose another OUT") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._file)
            raise UserError(f"{target}: another process writes it; wait for it or choose another OUT") from None
        self._synced = time.monotonic()
        self._heal()

    def _heal(self) -> None:
        size = os.lseek(self._file, 0, os.SEEK_END)
        end = size
        while end and os.pread(self._file, 1, end - 1) != b"\n":
            step = min(1 << 16, end)
            block = os.pread(self._file, step, end - step)
            newline = block.rfind(b"\n")
            end = end - step + newline + 1 if newline >= 0 else end - step
        if end < size:
            os.ftruncate(self._file, end)

    def stored(self) -> Iterator[Json]:
        """The lines that stand."""
        with self._target.open("rb") as stream:
            for number, line in enumerate(stream, 1):
                try:
                    row = json.loads(line)
                except ValueError:
                    row = None
                if not isinstance(row, dict):
                    raise UserError(f"{self._target}:{number}: is no decision; choose another OUT")
                yield row

    def append(self, row: Json) -> None:
        """One whole line.

        Raises:
            UserError: the disk is full or fails; what was stored before stands.
        """
        line = json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        end = os.lseek(self._file, 0, os.SEEK_END)
        try:
            written = 0
            while written < len(line):
                written += os.write(self._file, line[written:])
            if time.monotonic() - self._synced > 1.0:
                os.fsync(self._file)
                self._synced = time.monotonic()
        except OSError as error:
            os.ftruncate(self._file, end)
            raise UserError(
                f"{self._target}: cannot store a decision ({error.strerror}); make room and run the same command again"
            ) from error

    def __enter__(self) -> _Output:
        return self

    def __exit__(self, *ended: object) -> None:
        os.fsync(self._file)
        os.close(self._file)


class _Seen:
    """The ids so far, on disk where they are many (SQLite spills a nameless database by itself)."""

    def __init__(self) -> None:
        self._db = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        self._db.execute("PRAGMA synchronous = OFF")
        self._db.execute("PRAGMA journal_mode = OFF")
        self._db.execute("CREATE TABLE seen (id TEXT PRIMARY KEY, line INTEGER) WITHOUT ROWID")
        self._db.execute("BEGIN")

    def checked(self, line: _Line) -> _Line:
        """The line, with the problem where its id stood before."""
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
