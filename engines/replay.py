"""Recorded responses in place of a model: a run folder's `responses-*.jsonl`, or other JSONL.

A plain row has `question_id` (or `id`) and `response` (or `text`), optionally `task` (default: every task), `trial`
(0), `reasoning`, `finish_reason`, `model`, `seconds`, token counts, `max_tokens` (the answer's limit) and `last_token`
(its id, an end sign included). Two different recordings for one request are an error. Memory holds offsets, not texts.

Two-turn rows have `item_id`, `final_response_text`, `model_config.name`, and for each turn in `raw_responses` an
OpenAI-style `payload`: the last turn is the answer; tokens and seconds are summed.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from livek12.core.errors import UserError, explain_errors
from livek12.core.files import refuse_pointer
from livek12.core.packed import PACKED, PackedLines, packed_path
from livek12.core.records import Request, Response
from livek12.core.run.journal import journal_files
from livek12.core.tables import read_lines
from livek12.core.text import clean, one_line
from livek12.engines.base import Outcome
from livek12.engines.common import NO_COUNT, failure, versions_of
from livek12.engines.thinking import Thinking

COUNTS = ("prompt_tokens", "cached_tokens", "completion_tokens", "reasoning_tokens")
NUMBERS = (*COUNTS, "max_tokens", "last_token")
TEXTS = ("reasoning", "finish_reason", "model", "model_revision", "prompt_sha256")
CUT = frozenset({"max_tokens", "max_new_tokens", "max_output_tokens", "max_length", "model_length", "token_limit"})
"""Other names of the finish reason `length`."""
MAX_LINE_BYTES = 64 * 2**20

_log = logging.getLogger(__name__)
_Name = tuple[str | None, str, int]


class _BadRow(Exception):
    pass


@dataclass(frozen=True)
class _Row:
    name: _Name
    fields: dict[str, Any]


@dataclass(frozen=True)
class _Place:
    file: Path
    line: int
    offset: int
    digest: bytes

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class ReplayEngine:
    """Answers from recordings.

    Args:
        model: a JSONL file, or a folder with `responses-*.jsonl`.
        pick: the model whose rows to use, of several.
        max_tokens: token limit of answers; default from the row.
        tokenizer: folder or Hub name, for answers without a token count.
    """

    name = "replay"
    revision: str | None = None
    images = True

    def __init__(
        self,
        model: str,
        *,
        pick: str | None = None,
        think_start: str | None = None,
        think_end: str | None = None,
        max_tokens: int | None = None,
        tokenizer: str | None = None,
    ) -> None:
        self._thinking = Thinking(think_start, think_end)
        self._max_tokens = max_tokens
        self._tokenizer = Tokenizer(tokenizer) if tokenizer else None
        self.damaged: list[str] = []
        self._places: dict[_Name, _Place] = {}
        self._models: set[str] = set()
        self._conflict = ""
        self._packed: PackedLines | None = None
        for file in _files(Path(model)):
            self._index(file, pick)
        if not self._places:
            of_model = f" of {pick}" if pick else ""
            first = f"; {self.damaged[0]}" if self.damaged else ""
            raise UserError(f"{model}: holds no recorded response{of_model}{first}")
        if len(self._models) > 1:
            names = ", ".join(sorted(self._models))
            raise UserError(f"{model}: holds responses of several models ({names}); choose one with pick=NAME")
        if self._conflict:
            raise UserError(self._conflict)
        self.model = next(iter(self._models), Path(model).stem)

    def generate(self, requests: Iterable[Request]) -> Iterator[Outcome]:
        """Yields recorded responses in order."""
        for request in requests:
            key = request.key
            place = self._places.get((key.task, key.question_id, key.trial))
            place = place or self._places.get((None, key.question_id, key.trial))
            if place is None:
                yield failure(request, f"no recorded response for {key}", final=True)
            else:
                yield self._response(request, place)

    def names(self) -> Iterable[tuple[str | None, str, int]]:
        """Task (None: any), question and trial of each recording."""
        return self._places.keys()

    def versions(self) -> dict[str, str]:
        """Our version."""
        return versions_of()

    def close(self) -> None:
        """Does nothing."""

    def _index(self, file: Path, pick: str | None) -> None:
        for line, offset, raw in _lines(file):
            try:
                row = _read_row(raw)
            except _BadRow as error:
                self.damaged.append(f"{file}:{line}: {error}")
                _log.warning("%s; line passed over", self.damaged[-1])
                continue
            model = row.fields.get("model")
            if pick is not None and model != pick:
                continue
            if model:
                self._models.add(model)
            content = json.dumps([row.fields["text"], row.fields.get("reasoning")])
            place = _Place(file, line, offset, hashlib.sha256(content.encode()).digest()[:16])
            other = self._places.setdefault(row.name, place)
            if other.digest != place.digest and not self._conflict:
                _, question, trial = row.name
                self._conflict = f"{place}: question {question}, trial {trial} has another response in {other}"

    def _response(self, request: Request, place: _Place) -> Response:
        fields = _read_row(self._line(place)).fields
        limit, last = (fields.pop(name, None) for name in ("max_tokens", "last_token"))
        if not fields.get("finish_reason"):
            fields["finish_reason"] = self._ending(fields, self._max_tokens or limit, last)
        split = self._thinking.split(fields.pop("text"))
        reasoning = "\n".join(filter(None, (fields.pop("reasoning", None), split.reasoning))) or None
        defaults = {"model": self.model, "versions": self.versions()}
        return Response(key=request.key, text=split.text, reasoning=reasoning, engine=self.name, **(defaults | fields))

    def _line(self, place: _Place) -> bytes:
        if place.file.suffix == PACKED:
            if self._packed is None:
                self._packed = PackedLines(place.file)
            return self._packed.at(place.offset)
        with place.file.open("rb") as stream:
            stream.seek(place.offset)
            return stream.readline(MAX_LINE_BYTES)

    def _ending(self, fields: Mapping[str, Any], limit: int | None, last: int | None) -> str | None:
        if last is not None and self._tokenizer is not None:
            return "stop" if self._tokenizer.ends(last) else "length"
        if limit and fields.get("completion_tokens"):
            return ending(fields["completion_tokens"], limit)
        if limit and self._tokenizer is not None:
            texts = filter(None, (fields.get("reasoning"), fields["text"]))
            return ending(self._tokenizer.count("\n".join(texts)), limit, counted=True)
        return None


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    packed = packed_path(path, "responses")
    files = [*([packed] if packed.exists() else []), *journal_files(path, "responses")]
    if not files:
        raise UserError(f"{path}: is neither a file of recorded responses nor a folder with responses-*.jsonl")
    return files


def _lines(file: Path) -> Iterator[tuple[int, int, bytes]]:
    if file.suffix == PACKED:
        for row, line in enumerate(PackedLines(file)):
            if line.strip():
                yield row + 1, row, line[:MAX_LINE_BYTES]
        return
    refuse_pointer(file)
    with explain_errors(f"{file}: cannot be read"), file.open("rb") as stream:
        offset = 0
        for number, raw in read_lines(stream, MAX_LINE_BYTES - 1):
            if raw.strip():
                yield number, offset, raw
            offset = stream.tell()


def _read_row(raw: bytes) -> _Row:
    try:
        row = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise _BadRow(f"is not a line of JSON ({one_line(error, 100)})") from None
    if not isinstance(row, dict):
        raise _BadRow("is not a JSON object")
    row = plain(row)
    key: dict[str, Any] = row["key"] if isinstance(row.get("key"), dict) else row
    question = key.get("question_id", key.get("id"))
    text = row.get("response", row.get("text"))
    task, trial = key.get("task"), key.get("trial", 0)
    if not isinstance(question, str | int) or isinstance(question, bool):
        raise _BadRow("names no question: it needs question_id (or id)")
    if not isinstance(text, str):
        raise _BadRow(f"question {question}: it needs a text in response (or text)")
    if not isinstance(task, str | None) or not isinstance(trial, int) or isinstance(trial, bool) or trial < 0:
        raise _BadRow(f"question {question}: task must be a text, and trial a number from 0")
    return _Row((task, str(question), trial), {"text": clean(text), **told_of(row)})


def told_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """Valid optional fields."""
    values: dict[str, Any] = {}
    for name in (*TEXTS, *NUMBERS, "seconds"):
        value = row.get(name)
        # An impossible count is a missing count.
        if value is not None and _fits(name, value):
            values[name] = clean(value) if isinstance(value, str) else value
    if str(values.get("finish_reason")).lower() in CUT:
        values["finish_reason"] = "length"
    return values


def _fits(name: str, value: Any) -> bool:
    if name in TEXTS:
        return isinstance(value, str)
    numbers = int if name in NUMBERS else (int, float)
    return isinstance(value, numbers) and not isinstance(value, bool) and 0 <= value < NO_COUNT


def plain(row: dict[str, Any]) -> dict[str, Any]:
    """Row in the plain form."""
    if "item_id" in row and "final_response_text" in row:
        return _two_turn(row)
    return row


def _two_turn(row: Mapping[str, Any]) -> dict[str, Any]:
    turns = [_at(row, "raw_responses", turn) for turn in _at(row, "raw_responses") or ()]
    last = _at(turns[-1], "payload", "choices", 0) if turns else None
    details = ("prompt_tokens_details", "cached_tokens"), ("completion_tokens_details", "reasoning_tokens")
    return {
        "question_id": row["item_id"],
        "response": row["final_response_text"],
        "model": _at(row, "model_config", "name"),
        "reasoning": _at(last, "message", "reasoning"),
        "finish_reason": _at(last, "finish_reason"),
        "prompt_tokens": _total(turns, "payload", "usage", "prompt_tokens"),
        "completion_tokens": _total(turns, "payload", "usage", "completion_tokens"),
        "cached_tokens": _total(turns, "payload", "usage", *details[0]),
        "reasoning_tokens": _total(turns, "payload", "usage", *details[1]),
        "seconds": _total(turns, "latency_seconds"),
    }


def _total(turns: list[Any], *path: str) -> float | int | None:
    values = [_at(turn, *path) for turn in turns]
    return sum(values) if values and all(isinstance(value, int | float) for value in values) else None


def _at(value: Any, *path: str | int) -> Any:
    for step in path:
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


FILE = "tokenizer.json"
OFF = 2
"""Tolerance in tokens between counts of one answer whose limit was in force."""
SHARE = 0.01
"""Of the limit: a cut text is not counted shorter than this."""


def ending(tokens: int, limit: int, counted: bool = False) -> Literal["length", "stop"] | None:
    """Finish reason by token counts; None if unclear.

    More tokens than the limit: it was not in force. `counted` tokens may be off by a few (a cut within a sign, stripped
    blanks), so a text just below its limit is unclear.
    """
    if tokens >= limit:
        return "length" if tokens <= limit + OFF else None
    return None if counted and tokens >= limit - OFF - SHARE * limit else "stop"


class Tokenizer:
    """A tokenizer from a folder, a `tokenizer.json` or the Hub."""

    def __init__(self, name: str) -> None:
        try:
            import tokenizers
        except ImportError:
            raise UserError("counting tokens needs the package tokenizers: pip install tokenizers") from None
        file = _file(name)
        try:
            self._tokenizer = tokenizers.Tokenizer.from_file(str(file))
        except Exception as error:  # the library raises bare Exception for any broken file
            raise UserError(f"{file}: no tokenizer that can be read ({one_line(error, 150)})") from None
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        added = self._tokenizer.get_added_tokens_decoder()
        self._special = {id for id, token in added.items() if token.special}

    def count(self, text: str) -> int:
        """Number of tokens of a text."""
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def ends(self, token: int) -> bool:
        """Tests for end and padding tokens."""
        return token in self._special


def _file(tokenizer: str) -> Path:
    path = Path(tokenizer)
    if path.exists():
        file = path / FILE if path.is_dir() else path
        if not file.is_file():
            raise UserError(f"{path}: has no {FILE}; give the folder of the model's tokenizer")
        return file
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        return Path(hf_hub_download(tokenizer, FILE))
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        raise UserError(
            f"tokenizer {tokenizer}: no such folder, and no {FILE} of that name from the Hub ({one_line(error, 150)})"
        ) from None
