"""Renames the keys of rows to the builder's, and counts content without a place.

Contract: no text or picture is dropped unseen. Names specific to a builder are kept.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from livek12.core.errors import UserError
from livek12.core.languages import by_name, codes
from livek12.core.records import Language
from livek12.dataset_builders.base import Log, one_line, read_yaml
from livek12.dataset_builders.reading.fields import OURS, RANK, spelled, stated
from livek12.dataset_builders.reading.images import is_picture
from livek12.dataset_builders.reading.options import other_members
from livek12.dataset_builders.reading.rows import SourceRow
from livek12.dataset_builders.reading.text import parse_list

JOINED = frozenset({"images", "solution_images", "passage", "knowledge_points"})
"""Fields whose content may be spread over several keys."""
HEADS = ("information", "general_information")
"""Keys of a row that asks nothing and gives context for the rows after it."""
_NUMBERED_PICTURE = re.compile(r"(?:question_)?(?:image|img|picture|figure)_?\d{1,2}")
_LETTERED_OPTION = re.compile(r"(?:(?:option|choice|opt|ans)_?)?([a-j])|(?:option|choice)_?(\d{1,2})")
_FEWEST_OPTIONS = 2
FEW = 3
"""A key in so many rows is reported; more fail a build."""
_NOTHING = re.compile(r"(?:none|null|n/?a)?[.。]?", re.IGNORECASE)


@dataclass(frozen=True)
class Given:
    """The user's statements about a source.

    Attributes:
        names: source key (members with dots: `question.content`) → our key.
        language: of the rows that state none.
        hosts: the only ones that images may be fetched from, as HOST or HOST:PORT.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    dropped: frozenset[str] = frozenset()
    language: Language | None = None
    hosts: tuple[str, ...] = ()


NOTHING = Given()


@dataclass(frozen=True)
class Naming:
    """Renames the keys of rows to `keys`, those the builder reads; if empty, only `given` is applied."""

    keys: frozenset[str]
    given: Given = NOTHING

    @cached_property
    def _plans(self) -> dict[tuple[str, ...], _Plan]:
        return {}

    def check(self) -> None:
        """Refuses a map to names that the builder does not read."""
        unknown = sorted({*self.given.names.values()} - self.keys) if self.keys else []
        if unknown:
            raise UserError(f"--map: no question has {', '.join(unknown)}; one has {', '.join(sorted(self.keys))}")

    def __call__(self, row: SourceRow, log: Log) -> SourceRow:
        """Row by our names; unplaced content is counted in the log."""
        data = dict(row.data)
        named = {ours: value for theirs, ours in self.given.names.items() if (value := _take(data, theirs)) is not None}
        if not self.keys:
            return row.holding({**data, **named})
        if row.context:
            single = (None, "id", "index", "question", "answer")
            context = {k: value for k, value in row.context.items() if k not in data and self.place(k) not in single}
            placeless = (key for key, value in row.context.items() if _holds_text(value) and self.place(key) is None)
            log.unread |= {*placeless} - {*HEADS} - self.given.dropped
            data = {**context, **data}
        plan = self._plan(data)
        log.unread |= plan.unread
        for key in _fill(named, data, plan):
            log.lost[key] += key not in self.given.dropped
        if head := row.context.get(HEADS[0]):
            named["passage"] = _joined("passage", head, named.get("passage"))
        self._place_source(named, log)
        if row.alone and stated(named, "images") is None:
            named["images"] = sorted(file.name for file in row.file.parent.iterdir() if is_picture(file))
        return row.holding(named)

    def _plan(self, data: Mapping[str, Any]) -> _Plan:
        if (keys := tuple(data)) not in self._plans:
            self._plans[keys] = _Plan.of(keys, self)
        return self._plans[keys]

    def place(self, key: str) -> str | None:
        """Our name of a key; None if the builder reads none."""
        name = spelled(key)
        ours = "images" if _NUMBERED_PICTURE.fullmatch(name) else OURS.get(name, name)
        return next((candidate for candidate in (key, name, ours) if candidate in self.keys), None)

    def _place_source(self, named: dict[str, Any], log: Log) -> None:
        source = named.get("source")
        if not isinstance(source, str) or not source.strip() or source.lstrip().startswith("{"):
            return
        ours = "source_url" if re.match(r"https?://", source) else "exam"
        if stated(named, ours) is None and ours in self.keys:
            named[ours] = source.strip()
        elif "source" not in self.given.dropped:
            log.lost["source"] += 1


def headed(rows: Iterable[SourceRow]) -> Iterator[SourceRow]:
    """Rows without those that consist of a head (`HEADS`), which becomes context."""
    file: Path | None = None
    head = ""
    for row in rows:
        if row.file is not file and row.file != file:
            file, head = row.file, ""
        if HEADS[0] not in row.data and HEADS[1] not in row.data:
            yield _under(row, head)
            continue
        keys = [key for key, value in row.data.items() if value not in (None, "", [])]
        if len(keys) == 1 and keys[0] in HEADS and isinstance(row.data[keys[0]], str):
            head = row.data[keys[0]].strip()
            head = "" if _NOTHING.fullmatch(head) else head
            continue
        yield _under(row, head)


def _under(row: SourceRow, head: str) -> SourceRow:
    return replace(row, context={**row.context, HEADS[0]: head}) if head else row


def lost_keys(log: Log) -> dict[str, int]:
    """Keys without a place that hold text or pictures in more than a few rows, or in most."""
    return {key: count for key, count in sorted(log.lost.items()) if count > min(FEW, log.read // 2)}


def read_given(file: Path | None, dropped: str, language: str = "", hosts: Iterable[str] = ()) -> Given:
    """Reads the user's statements: YAML of source key: our key, and comma-separated keys to leave out."""
    names = read_yaml(file, "map of keys", 64) if file else {}
    if not isinstance(names, dict) or not all(isinstance(text, str) for pair in names.items() for text in pair):
        raise UserError(f"{file}: a map has lines THEIR_KEY: OUR_KEY, both texts")
    code = by_name().get(language.lower())
    if language and code is None:
        raise UserError(f"--language {one_line(language, 40)} is none of {', '.join(codes())}")
    dropped_keys = frozenset(key.strip() for key in dropped.split(",") if key.strip())
    return Given(names, dropped_keys, code, tuple(hosts))


def refuse_losses(source: Path, log: Log) -> None:
    """Refuses lost text or pictures; names the keys."""
    if lost := lost_keys(log):
        named = ", ".join(f"{one_line(key, 60)} ({count} rows)" for key, count in lost.items())
        raise UserError(
            f"{source.name}: text in keys that have no place in a question would be lost: {named};"
            f" say with --map FILE what they are, or leave them out with --drop {one_line(','.join(lost))}"
        )


def _take(data: dict[str, Any], key: str) -> Any:
    if key in data:
        return data.pop(key)
    first, dot, rest = key.partition(".")
    if not dot or not isinstance(inner := data.get(first), Mapping):
        return None
    data[first] = inner = dict(inner)
    member = _take(inner, rest)
    if not inner:
        del data[first]
    return member


@dataclass(frozen=True)
class _Plan:
    """Destinations of the keys of rows; of several keys with one name, the best is first in `places`."""

    places: tuple[tuple[str, str | None], ...]
    options: Mapping[str, str]
    unread: frozenset[str]

    @classmethod
    def of(cls, keys: Collection[str], naming: Naming) -> _Plan:
        matches = {key: _LETTERED_OPTION.fullmatch(spelled(key)) for key in keys if key not in naming.keys}
        options = {(match[1] or match[2]).upper(): key for key, match in matches.items() if match}
        labels = sorted(options, key=lambda label: (len(label), label))
        has_own = any(naming.place(key) == "options" for key in keys if key not in options.values())
        if len(labels) < _FEWEST_OPTIONS or labels[0] not in ("A", "1") or has_own or "options" not in naming.keys:
            labels = []
        taken = {options[label] for label in labels}
        places = [(key, naming.place(key)) for key in keys if key not in taken]
        places.sort(key=lambda place: RANK.get(spelled(place[0]), 0))
        unread = {key for key, ours in places if ours is None} - naming.given.dropped
        return cls(tuple(places), {label: options[label] for label in labels}, frozenset(unread))


def _fill(named: dict[str, Any], data: Mapping[str, Any], plan: _Plan) -> Iterator[str]:
    for key, ours in plan.places:
        value = data[key]
        if ours is None:
            if _holds_text(value):
                yield key
        elif stated(named, ours) is None:
            named[ours] = value
            if ours == "options":
                yield from (f"{key}.{member}" for member in other_members(value))
        elif ours in JOINED:
            named[ours] = _joined(ours, named[ours], value)
        elif _holds_text(value) and str(value).strip() != str(named[ours]).strip():
            yield key
    if plan.options:
        texts = {label: data[key] for label, key in plan.options.items()}
        named["options"] = {label: text for label, text in texts.items() if text not in (None, "")}


def _joined(ours: str, first: Any, second: Any) -> Any:
    if second in (None, "", []):
        return first
    if ours == "passage" and isinstance(first, str) and isinstance(second, str):
        return "\n\n".join(dict.fromkeys((first.strip(), second.strip())))
    return [*parse_list(first), *(item for item in parse_list(second) if item not in parse_list(first))]


def _holds_text(value: Any) -> bool:
    if isinstance(value, str):
        return bool(value.strip())
    if isinstance(value, Mapping):
        return any(map(_holds_text, value.values()))
    return bool(value) if isinstance(value, bytes) else isinstance(value, list | tuple) and any(map(_holds_text, value))
