"""Logs of other harnesses: one module a harness.

Contract: a module has `FIELDS`, the paths in an entry; `entries(path, tasks)`, which yields `LogEntry`s one at a time:
of any task or, under our names and ids, of the given tasks of ours; and `ABSENT`, the message for a log without these.
A damaged entry costs one warning with its place; a file that is no log of the harness is a UserError.

`objects` reads UTF-8 with or without a byte order mark, UTF-16 with one; wrong bytes become question marks, with one
warning a file. A path is words with dots between them: names of fields (which may hold dots) or, in a list, numbers
from 0. Nothing is evaluated.
"""

from __future__ import annotations

import codecs
import importlib
import json
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from livek12.core.errors import UserError
from livek12.core.files import refuse_pointer
from livek12.core.progress import warn
from livek12.core.run.access import make_folder
from livek12.core.run.sums import write_summed
from livek12.core.tables import MAX_LINE
from livek12.core.text import clean_json, one_line

READERS: Final[dict[str, str]] = {
    "jsonl": "livek12.evaluation.logs.jsonl",
    "lm-eval": "livek12.evaluation.logs.lm_eval",
    "lmms-eval": "livek12.evaluation.logs.lmms_eval",
    "inspect": "livek12.evaluation.logs.inspect_ai",
    "lighteval": "livek12.evaluation.logs.lighteval",
    "vlmevalkit": "livek12.evaluation.logs.vlmevalkit",
    "evalscope": "livek12.evaluation.logs.evalscope",
}
STEMS: Final = ("question", "Question", "problem", "query", "prompt", "input", "instruction", "text")
"""Field names of a question's text."""
KEYS: Final = ("gold", "answer", "target", "reference", "expected", "ground_truth", "answerKey", "label", "solution")
"""Field names of its key."""
CHOICES: Final = ("options", "choices")


@dataclass(frozen=True)
class Fields:
    """Dotted paths in an entry; the first that exists counts.

    `response` and `score` are empty where the reader knows itself.
    """

    question: tuple[str, ...] = ()
    gold: tuple[str, ...] = ()
    response: tuple[str, ...] = ()
    type: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    score: tuple[str, ...] = ()

    def with_given(self, given: Mapping[str, str]) -> Fields:
        """These, overridden by the user's paths."""
        paths = {name: (path,) for name, path in given.items() if path}
        return Fields(**{item.name: paths.get(item.name, getattr(self, item.name)) for item in fields(self)})


@dataclass(frozen=True)
class LogEntry:
    """Question in a log, with its answers.

    Attributes:
        raw: the whole entry, where paths lead.
        answers: in the fields of a plain recorded row (`engines.replay`), one a trial.
        scores: the harness's own marks by name, of all of them together.
        model: "" where the log does not say.
        marked: verdict that our plug-in's scorer put into the log.
    """

    place: str
    task: str
    id: str
    raw: Mapping[str, Any]
    answers: tuple[Mapping[str, Any], ...] = ()
    trial: int = 0
    scores: Mapping[str, float] = field(default_factory=dict)
    model: str = ""
    marked: Mapping[str, Any] | None = None


def fields_of(source: str) -> Fields:
    """Default paths of a harness's logs."""
    default: Fields = importlib.import_module(READERS[source]).FIELDS
    return default


def entries(source: str, path: Path) -> Iterator[LogEntry]:
    """Entries of a log."""
    yield from importlib.import_module(READERS[source]).entries(path)


def joined(source: str, path: Path, tasks: Collection[str]) -> Iterator[dict[str, Any]]:
    """Answers to our tasks, as the replay engine takes them, without repeats."""
    reader = importlib.import_module(READERS[source])
    given: dict[tuple[str, str, int], tuple[str, str]] = {}
    models: dict[str, str] = {}
    missing = 0
    for entry in reader.entries(path, tasks):
        about: dict[str, Any] = {"model": entry.model} if entry.model else {}
        about |= {MARKED: entry.marked} if entry.marked else {}
        for trial, answer in enumerate(entry.answers or ({},), entry.trial):
            if not answer:
                missing += 1
                continue
            key, content = (entry.task, entry.id, trial), (entry.place, answer["response"])
            place, response = given.setdefault(key, content)
            if response != answer["response"]:
                raise UserError(
                    f"question {entry.id} of {entry.task} is answered in {place} and, otherwise, in {entry.place};"
                    " give one of them"
                )
            if given[key] is not content:
                continue
            if entry.model and models.setdefault(entry.model, entry.place) == entry.place and len(models) > 1:
                (other, before), *_ = models.items()
                raise UserError(f"{entry.place} is of {entry.model}, {before} of {other}; give the logs of one model")
            yield {"task": entry.task, "question_id": entry.id, "trial": trial, **answer, **about}
    if missing:
        warn(f"{path}: {missing:,} answers are missing in the log")
    elif not given:
        raise UserError(f"{path}: {reader.ABSENT.format(', '.join(sorted(tasks)))}")


IMPORTED = "imported.jsonl"
MARKED: Final = "marked"
"""Field of an imported row with the verdict of a log."""


def as_jsonl(path: Path, source: str, tasks: Collection[str], out: Path) -> Path:
    """Writes a log's recorded responses as JSONL into the run folder."""
    if not path.exists():
        raise UserError(f"{path}: no such file or folder; give what {source} wrote")
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in joined(source, path, tasks)]
    make_folder(out)
    write_summed(out / IMPORTED, "".join(lines))
    return out / IMPORTED


RESULTS_BYTES = 256 << 20
_BOMS: Final = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
BAD_ENTRY: Final = "entry that cannot be read"
MISSING: Final = object()
MOST_SHOWN: Final = 12


def results_of(file: Path) -> dict[str, Any]:
    """JSON object of a results file; empty if absent or too large."""
    try:
        if file.stat().st_size > RESULTS_BYTES:
            return {}
        results = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return results if isinstance(results, dict) else {}


def objects(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """JSON objects of a file, one a line, each with its place."""
    refuse_pointer(file)
    try:
        with file.open("rb") as stream:
            head = stream.read(3)
        encoding = next((name for mark, name in _BOMS if head.startswith(mark)), "utf-8")
        with file.open(encoding=encoding, errors="replace", newline="\n") as lines:
            yield from _objects(file, lines)
    except (OSError, UnicodeError) as error:
        raise UserError(f"{file}: cannot be read ({getattr(error, 'strerror', None) or one_line(error, 80)})") from None


def _objects(file: Path, lines: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    number, replaced = 0, False
    while line := lines.readline(MAX_LINE + 1):
        number += 1
        cut = len(line) > MAX_LINE
        while cut and not line.endswith("\n") and (line := lines.readline(1 << 20)):
            pass
        if not cut and not line.strip():
            continue
        if not replaced and "�" in line:
            replaced = True
            warn(f"{file}:{number}: holds bytes that are not {lines.encoding.upper()}; question marks stand for them")
        try:
            value = None if cut else json.loads(line)
            value = clean_json(value) if "\\ud" in line.lower() else value
            why = f"is longer than {MAX_LINE >> 20} MiB" if cut else "is no JSON object"
        except (ValueError, RecursionError) as error:
            value, why = None, f"is not JSON ({one_line(error, 60)})"
        if isinstance(value, dict):
            yield f"{file}:{number}", value
        else:
            warn(f"{file}:{number}: {why}; passed over", kind=BAD_ENTRY)


def log_files(path: Path, patterns: Collection[str], what: str) -> list[Path]:
    """Files of a log: the path itself, or what matches below it."""
    if path.is_file():
        return [path]
    if not path.exists():
        raise UserError(f"{path}: no such file or folder; give {what}")
    files = sorted({file for pattern in patterns for file in path.rglob(pattern) if file.is_file()})
    if not files:
        raise UserError(f"{path}: holds no {' or '.join(patterns)}; give {what}")
    return files


def number(value: Any) -> float | None:
    """Mark as a number, 0 or 1 for no or yes."""
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, int | float):
        return float(value) if abs(value) <= sys.float_info.max else None
    if isinstance(value, str):
        words = {"c": 1.0, "correct": 1.0, "true": 1.0, "yes": 1.0, "i": 0.0, "incorrect": 0.0, "false": 0.0, "no": 0.0}
        words |= {"p": 0.5, "partial": 0.5, "n": 0.0, "1": 1.0, "0": 0.0, "1.0": 1.0, "0.0": 0.0}
        return words.get(value.strip().lower())
    return None


def numbers(values: Any, but: Collection[str] = ()) -> dict[str, float]:
    """Marks among named values."""
    items = values.items() if isinstance(values, Mapping) else ()
    marks = ((str(name), number(value)) for name, value in items if name not in but)
    return {name: value for name, value in marks if value is not None}


def at(value: Any, path: str) -> Any:
    """Value at a path; `MISSING` if the path ends early."""
    if isinstance(value, Mapping):
        if path in value:
            return value[path]
        parts = path.split(".")
        for count in range(len(parts) - 1, 0, -1):  # the longest name first: it may hold dots
            if (name := ".".join(parts[:count])) in value:
                return at(value[name], ".".join(parts[count:]))
        return MISSING
    first, _, rest = path.partition(".")
    if isinstance(value, Sequence) and not isinstance(value, str | bytes) and first.isdecimal():
        if int(first) >= len(value):
            return MISSING
        return at(value[int(first)], rest) if rest else value[int(first)]
    return MISSING


def first_at(value: Any, paths: Iterable[str]) -> Any:
    """First value that is not null; else `MISSING`."""
    values = (at(value, path) for path in paths)
    return next((each for each in values if each is not MISSING and each is not None), MISSING)


def text_of(value: Any) -> str:
    """Text of a question or answer; of a conversation, the last turn of the user (or model)."""
    if isinstance(value, str):
        return _last_said(_parsed(value)) if value.lstrip().startswith('[{"') else value
    if isinstance(value, Mapping):
        return text_of(value.get("content", value.get("text", "")))
    if isinstance(value, Sequence):
        if value and all(isinstance(turn, Mapping) and "role" in turn for turn in value):
            return _last_said(value)
        return "\n".join(filter(None, map(text_of, value)))
    return "" if value is None or value is MISSING else json.dumps(value, ensure_ascii=False, default=str)


def _parsed(text: str) -> Any:
    try:
        turns = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return turns if isinstance(turns, list) and all(isinstance(t, dict) and "role" in t for t in turns) else text


def _last_said(turns: Any) -> str:
    if isinstance(turns, str):
        return turns
    users = [turn for turn in turns if turn.get("role") == "user"] or [turns[-1]]
    content = users[-1].get("content")
    return content if isinstance(content, str) else text_of(content)


def field_names(entry: Mapping[str, Any]) -> str:
    """Paths in an entry, two levels deep, for a message."""
    names: list[str] = []
    for name, value in entry.items():
        inner = value if isinstance(value, Mapping) else {}
        names += [one_line(f"{name}.{field}", 40) for field in inner] or [one_line(name, 40)]
    more = f" and {len(names) - MOST_SHOWN} more" if len(names) > MOST_SHOWN else ""
    return (", ".join(names[:MOST_SHOWN]) or "none") + more
