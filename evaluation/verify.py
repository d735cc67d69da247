"""Judgement of responses by reference answers: `verify` for one, `Verifier` for many.

Contract: a judgement is that of `livek12 judge-pairs` and depends on the row alone. Undecided rows have no score. Both
may be called from any thread, event loop, fork or spawned process, and from scripts without a guard. This module
imports none of the rules, nor any heavy library.
"""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import math
import struct
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, Self

from livek12.core.errors import UserError
from livek12.evaluation.workers import FIELDS, LINE_SECONDS, MarkPool, Reply, pair_pool

if TYPE_CHECKING:
    from livek12.evaluation.pair_file import HeldModels

Row = Mapping[str, Any]
MOST_WORKERS: Final = 1024
_PACKED: Final = {"float16": "e", "float32": "f"}
"""Of short floats the form in `struct`, by the last part of their type's name."""
_OF_SCHEMES: Final = ("points", "low", "high", "max_points", "criteria")
_log = logging.getLogger("livek12.verify")


@dataclass(frozen=True)
class Judgement:  # noqa: PLW1641 (the list in it has no hash)
    """Judgement of one response. It has no truth value: a wrong answer is judged too.

    Attributes:
        decision: `accept` (right), `reject` (wrong), or `undecided`.
        score: the share of the points, with partial credit; of undecided ones the `Verifier`'s value, None by default.
        decided_by: the stage of the rules; `llm` or `panel` for judge models; `extraction` where no answer was found;
            `input` for an unreadable row.
        reason: in words.
        extracted: the answers in the response, one a part.
        judge: the version of the rules (and models) that decided: equal versions decide equally.
        points, low, high, max_points: of a row with a scheme, the points (None while criteria are open) and bounds.
        criteria: of such a row, one {id, points, of, quote, decision, decided_by, reason} a criterion.
    """

    decision: Literal["accept", "reject", "undecided"]
    score: float | None
    decided_by: str
    reason: str
    extracted: list[str]
    judge: str
    points: float | None = None
    low: float | None = None
    high: float | None = None
    max_points: float | None = None
    criteria: list[dict[str, Any]] = field(default_factory=list)

    @property
    def correct(self) -> bool | None:
        """True or false; None for undecided ones."""
        return {"accept": True, "reject": False}.get(self.decision)

    def __bool__(self) -> NoReturn:
        raise UserError(
            "a judgement is neither true nor false: take its .score (1.0 is right), .correct (None where undecided) or"
            " .decision"
        )

    def __eq__(self, other: object) -> bool:
        return bool(self) if isinstance(other, bool) else isinstance(other, Judgement) and vars(self) == vars(other)


class Verifier:
    """Judges many responses, in processes that start when they are first needed.

    Threads and event loops may share one, a fork may go on with it, and it may be pickled (its settings are). Its
    processes end when it is closed or no longer used, and with their caller, even when that is killed.

    Args:
        workers: the most processes at a time; default one for each core, and 32 at most.
        undecided: the score of undecided responses.
        judge: models for what the rules leave open, as `MODEL[@ENGINE[:K=V,…]][,…]`; None for the rules alone.
    """

    def __init__(self, workers: int | None = None, undecided: float | None = None, judge: str | None = None) -> None:
        if workers is not None and (not _is_number(workers, int) or not 1 <= workers <= MOST_WORKERS):
            raise UserError(f"workers {workers!r:.40}: give a whole number from 1 to {MOST_WORKERS}")
        if undecided is not None and (not _is_number(undecided, int | float) or not math.isfinite(undecided)):
            raise UserError(f"undecided {undecided!r:.40}: give a number, or None")
        if not isinstance(judge, str | None):
            raise UserError(f"judge {judge!r:.40}: give MODEL[@ENGINE[:K=V,…]][,…], or None")
        self.workers, self.undecided, self.judge = workers, undecided, judge
        self._models = None if judge is None else _models(judge)
        self._rules = pair_pool(workers, whole=self._models is not None)
        weakref.finalize(self, MarkPool.abandon, self._rules)
        if self._models is not None:
            weakref.finalize(self, self._models.abandon).atexit = False

    def verify(
        self,
        gold: Any,
        response: str,
        question: str = "",
        question_type: str | None = None,
        options: Any = None,
        unit: Any = None,
        variables: Sequence[Mapping[str, Any]] | None = None,
        scheme: Any = None,
    ) -> Judgement:
        """Judges one response; see `livek12.verify`."""
        row = {"gold": gold, "response": response, "question": question, "question_type": question_type}
        (line,) = _lines([{**row, "options": options, "unit": unit, "variables": variables, "scheme": scheme}])
        (judgement,) = self._judged([line])
        if judgement.decided_by == "input":
            raise UserError(f"the row to verify {judgement.reason}")
        return judgement

    def batch(self, rows: Iterable[Row | tuple[Any, Any]]) -> list[Judgement]:
        """Judges rows with `gold`, `response`, and the other fields of `livek12 judge-pairs`; or (gold, response).

        A response may be a text or a list of chat messages, whose last one of the assistant counts.

        Returns:
            One judgement a row. An unreadable row is `undecided` by `input` with score None, and one logged warning a
                batch gives their number.
        """
        return _warned(self._judged(_lines(rows)))

    async def abatch(
        self,
        rows: Iterable[Row | tuple[Any, Any]],
        *,
        quiet: bool = False,
        spent: Callable[[float], object] = lambda seconds: None,
    ) -> list[Judgement]:
        """As `batch`, while the event loop goes on; `quiet` without the warning; `spent` gets each row's seconds."""
        lines = _lines(rows)
        futures = self._rules.submit(lines)
        try:
            replies = [reply for future in futures for reply in await asyncio.wrap_future(future)]
            for reply in replies:
                spent(reply.get("seconds", LINE_SECONDS))  # one that broke a limit has none
            if self._models is not None:
                futures = await asyncio.to_thread(self._models.submit, lines, replies)
                replies = [reply for future in futures for reply in await asyncio.wrap_future(future)]
        finally:
            _cancel(futures)
        judged = [self._judgement(reply) for reply in replies]
        return judged if quiet else _warned(judged)

    def close(self) -> None:
        """Ends its processes and closes its judge models; it may be used again."""
        self._rules.close()
        if self._models is not None:
            self._models.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[type[Verifier], tuple[int | None, float | None, str | None]]:
        return Verifier, (self.workers, self.undecided, self.judge)

    def _judged(self, lines: list[bytes]) -> list[Judgement]:
        futures = self._rules.submit(lines)
        try:
            replies = [reply for future in futures for reply in future.result()]
            if self._models is not None:
                futures = self._models.submit(lines, replies)
                replies = [reply for future in futures for reply in future.result()]
        finally:
            _cancel(futures)
        return [self._judgement(reply) for reply in replies]

    def _judgement(self, reply: Reply) -> Judgement:
        row, score = reply["row"], reply["row"]["score"]
        return Judgement(
            decision=row["decision"],
            score=self.undecided if score is None and row["decided_by"] != "input" else score,
            decided_by=row["decided_by"],
            reason=row["reason"],
            extracted=reply["extracted"],
            judge=row["judge"],
            **{name: row[name] for name in _OF_SCHEMES if name in row},
        )


_shared = Verifier()


def verify(
    gold: Any,
    response: str,
    question: str = "",
    question_type: str | None = None,
    options: Any = None,
    unit: Any = None,
    variables: Sequence[Mapping[str, Any]] | None = None,
    scheme: Any = None,
) -> Judgement:
    """Judges one response by a reference answer and the rules alone; for many, see `Verifier`.

    The first call starts a process (a second or two); later ones take milliseconds.

    Args:
        gold: the reference answer: a text, a number, or a list with one entry a blank or sub-question.
        response: a whole response, or a bare answer.
        question: its text, for the requested form and unit and the printed blanks.
        question_type: `single_choice`, `fill_in_blank`, … or as sources call it; without one, a choice where the
            options prove it, else a short answer.
        options: a list of {label, text}, a mapping of labels to texts, or texts.
        unit: the unit printed behind the blank; a list has one a blank.
        variables: typed variables {name, description, type, value}; `gold` may then be None.
        scheme: a marking scheme, for points by criteria: alternatives, each a list of {points, text, …}, or of
            sentences with points; `gold` may then be None.
    """
    return _shared.verify(gold, response, question, question_type, options, unit, variables, scheme)


def _is_number(value: object, kind: type | UnionType) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _models(judge: str) -> HeldModels | None:
    from livek12.evaluation.options import JudgingOptions
    from livek12.evaluation.pair_file import HeldModels

    options = JudgingOptions(judge).judges()
    return None if options.panel is None else HeldModels(options)


def _cancel(futures: Iterable[Future[list[Reply]]]) -> None:
    """Finished futures keep their result."""
    for future in futures:
        future.cancel()


def _warned(judged: list[Judgement]) -> list[Judgement]:
    bad = [(number, judgement.reason) for number, judgement in enumerate(judged) if judgement.decided_by == "input"]
    if bad:
        number, reason = bad[0]
        _log.warning("%d of %d rows cannot be read; the first: row %d %s", len(bad), len(judged), number, reason)
    return judged


def _lines(rows: Iterable[Row | tuple[Any, Any]]) -> list[bytes]:
    if isinstance(rows, Mapping | str | bytes):
        raise UserError("the rows to judge are one row or a text: give a list of rows")
    return [_line(number, row) for number, row in enumerate(rows)]


def _line(number: int, row: Row | tuple[Any, Any]) -> bytes:
    try:
        if isinstance(row, tuple):
            row = dict(zip(("gold", "response"), row, strict=True))
        values = {name: row[name] for name in FIELDS if row.get(name) is not None}
        if isinstance(values.get("response"), list):
            values["response"] = last_said(values["response"], "assistant")
        if isinstance(stated := values.get("question_type"), str):
            _warn_of_type(stated[:100])
        name = row.get("id")
        sound = isinstance(name, str | int) and not isinstance(name, bool) and name != ""
        fields = [("id", name if sound else number), *values.items()]
        return ("{" + ", ".join(f'"{name}": {_json(name, value)}' for name, value in fields) + "}").encode()
    except Exception:  # whatever kind of mapping it is: its neighbours are judged
        return b"null"  # which the reader of rows says is none


@cache
def _warn_of_type(stated: str) -> None:
    from livek12.core.question_types import kind_of

    if kind_of(stated) is None:
        _log.warning("question_type %r is not known: the type is guessed by options and key", stated)


def last_said(value: Any, role: str) -> str:
    """Text of the last message of a role; a text as it is."""
    if isinstance(value, str):
        return value
    if not isinstance(value, Sequence):
        return ""
    messages = [message for message in value if isinstance(message, Mapping) and message.get("role", role) == role]
    content = messages[-1].get("content") if messages else None
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, Sequence) else ()
    texts = [block.get("text") for block in blocks if isinstance(block, Mapping)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _json(field: str, value: Any) -> str:
    try:
        return json.dumps(value, default=_of_images if field == "images" else plain)
    except Exception:  # the methods of a stranger's object may raise anything
        return '{"kind": "unreadable"}'


def _of_images(value: Any) -> Any:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else plain(value)


def listed(value: Any) -> Any:
    """Value of numpy or torch as Python's own; any other as it is.

    Short floats become the shortest that is the same there: float32's 0.1 is 0.1, not 0.10000000149011612.
    """
    if not callable(own := getattr(value, "tolist", None)):
        return value
    kind = str(getattr(value, "dtype", "")).rpartition(".")[2]
    return _shortest(own(), _PACKED[kind]) if kind in _PACKED else own()


def plain(value: Any) -> Any:
    """Form for `json.dumps` of numbers and lists of other libraries; else something that no field may be."""
    if isinstance(value, Decimal | Fraction):
        return str(value)
    own = listed(value)
    return {"kind": type(value).__name__} if own is value else own


def _shortest(value: Any, packed: str) -> Any:
    if isinstance(value, list):
        return [_shortest(entry, packed) for entry in value]
    texts = (float(f"{value:.{digits}g}") for digits in range(1, 10))
    return next((short for short in texts if _bits(short, packed) == _bits(value, packed)), value)


def _bits(value: float, packed: str) -> bytes:
    try:
        return struct.pack(packed, value)
    except OverflowError:  # rounded up beyond the largest
        return b""
