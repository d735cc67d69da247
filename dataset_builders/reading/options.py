"""Options that stand apart from their question, in whatever shape.

Contract: a list of texts (with labels in them or not), of {label, text} under any usual names (each in a list of its
own or not), an object of label → text, an object of two lists, or a text with a line for each. Where no label is
given, the place in the list is one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from livek12.core.records import Option
from livek12.dataset_builders.base import BadRow
from livek12.dataset_builders.reading.choice_keys import plain_label
from livek12.dataset_builders.reading.fields import numbers_of, whole_of
from livek12.dataset_builders.reading.latex import restore
from livek12.dataset_builders.reading.text import parse_list, parse_object, split_options, unlabelled

_LABELS = ("label", "key", "aoVal", "letter", "id", "name", "index", "option_label")
_TEXTS = ("text", "content", "value", "option", "option_text", "choice", "answer")
_LETTERED = re.compile(r"\s*[(（]?\s*([A-J])\s*[.．、:：)）]\s*")
_NUMBERED = re.compile(r"\s*[(（]?\s*[①⑴1A]")
"""How options with labels in them begin; (가) and ㄱ in them name what the question is about."""
LETTERS = "ABCDEFGHIJ"


def options_of(given: object, *, letters: bool) -> tuple[list[Option], bool]:
    """The options, and whether they came without labels.

    Args:
        given: as the row has them.
        letters: whether those without labels get letters, as far as these go, or numbers.

    Raises:
        BadRow: they hold something that is not a text.
    """
    value = parse_object(given)
    if isinstance(value, Mapping):
        return _of_object(value), False
    items = [_alone(item) for item in parse_list(value)]
    pairs = [item for item in items if isinstance(item, Mapping)]
    if pairs and len(pairs) == len(items):
        return [_of_pair(pair) for pair in pairs], False
    if not all(isinstance(item, str | int | float) for item in items):
        raise BadRow("options holds something that is not a text")
    texts = [restore(str(item)) for item in items]
    if len(texts) == 1 and (split := split_options("\n" + texts[0]))[1] and not split[0].strip():
        return split[1], False
    matches = [_LETTERED.match(text) for text in texts]
    if len(texts) > 1 and [match[1] for match in matches if match] == list(LETTERS[: len(texts)]):
        found = zip(matches, texts, strict=True)
        return [Option(label=match[1], text=text[match.end() :].strip()) for match, text in found if match], False
    bare = unlabelled(texts) if texts and _NUMBERED.match(texts[0]) else texts
    labels = list(LETTERS) if letters and len(bare) <= len(LETTERS) else list(map(str, range(1, len(bare) + 1)))
    return [Option(label=label, text=text) for label, text in zip(labels, bare, strict=False)], bare == texts


def placed_key(data: Mapping[str, Any], options: Sequence[Option]) -> list[str]:
    """The labels of the options that a row names by their places: `answer_index` from 0, `answer_place` from 1.

    Raises:
        BadRow: there is no option at such a place.
    """
    for name, first in (("answer_index", 0), ("answer_place", 1)):
        places = [whole_of({name: one}, name) for one in numbers_of(data, name)]
        if places and not all(place is not None and first <= place < len(options) + first for place in places):
            raise BadRow(f"{name} {places} names no option of {len(options)}")
        if places:
            return ["".join(options[place - first].label for place in places if place is not None)]
    return []


def _of_object(value: Mapping[Any, Any]) -> list[Option]:
    """The options of label → text, or of two lists, one of labels and one of texts."""
    labels, texts = _first(value, _LABELS), _first(value, _TEXTS)
    if isinstance(labels, list) and isinstance(texts, list) and len(labels) == len(texts):
        return [_option(label, text) for label, text in zip(labels, texts, strict=True)]
    return [_option(label, text) for label, text in value.items() if text not in (None, "")]


def _of_pair(item: Mapping[str, Any]) -> Option:
    label, text = _first(item, _LABELS), _first(item, _TEXTS)
    if label is not None and text is not None:
        return _option(label, text)
    if len(item) == 1:
        return _option(*next(iter(item.items())))
    raise BadRow("options is a list of {label, text}")


def _first(value: Mapping[Any, Any], names: Sequence[str]) -> Any:
    return next((value[name] for name in names if name in value), None)


def _alone(item: object) -> object:
    return item[0] if isinstance(item, list) and len(item) == 1 else item


def _option(label: object, text: object) -> Option:
    if not isinstance(label, str | int) or not isinstance(text, str | int | float):
        raise BadRow("options holds something that is not a text")
    return Option(label=plain_label(str(label).strip()), text=restore(str(text)).strip())
