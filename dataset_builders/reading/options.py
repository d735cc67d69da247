"""Options stored apart from their question, in any form, and the options that a key names.

Contract: accepts a list of texts (labelled or not), of {label, text} under usual names, of pairs, an object of label →
text, an object of two lists, or a text with a line for each. An option's picture is written into the text in Markdown.
`chosen` returns labels only if the key can mean nothing else; otherwise None, and the key is kept as spelled.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from livek12.core.records import Option
from livek12.core.text import squeezed
from livek12.dataset_builders.base import BadRow
from livek12.dataset_builders.reading.fields import numbers_of, stated, truth_of, whole_of
from livek12.dataset_builders.reading.text import (
    parse_list,
    parse_object,
    plain_width,
    restore,
    split_options,
    unlabelled,
)

_CIRCLED = {**{chr(0x2460 + n): str(n + 1) for n in range(20)}, **{chr(0x2474 + n): str(n + 1) for n in range(20)}}
_ONE = r"[(（\[]?\s*(?:(\d{1,2})|([A-Ja-j])|([ㄱ-ㅎ])|([가나다라마바사아자차]))\s*[)）\].．]?\s*(?:번|항)?"
_LABELS_ONLY = re.compile(rf"\s*{_ONE}(?:\s*(?:[,，、/;；&·]|및|와|과|\s)\s*{_ONE})*\s*")
_EACH = re.compile(_ONE)
_LONGEST = 100
"""Characters of a key that consists of labels only."""
_WITH_TEXT = re.compile(rf"\s*{_ONE}\s*[:：.．)\s]\s*(\S.*)", re.DOTALL)


def plain_label(label: str) -> str:
    """A label as keys and answers name it: ① and ⑴ are 1."""
    return _CIRCLED.get(label, label.upper())


def chosen(key: str, options: Sequence[Option], *, unlabelled: bool = False) -> list[str] | None:
    """Labels named by a key, in option order; None if uncertain.

    `unlabelled`: the source has no labels, so a key is an option's text, or a number counted from 0 or 1.
    """
    by_text = [option.label for option in options if _bare(option.text) == _bare(key)]
    named = _labels_of(key)
    if len(by_text) == 1 and (unlabelled or not _in_order(named, options)):
        return by_text
    if unlabelled and key.strip().isdecimal():
        return None
    if named:
        return _in_order(named, options)
    if (match := _WITH_TEXT.fullmatch(_spelled(key))) and (selected := _in_order([_label(match)], options)):
        text = next(option.text for option in options if option.label == selected[0])
        return selected if _bare(text) == _bare(match[match.re.groups]) else None
    return None


def label_only(key: str) -> set[str]:
    """Labels that a key consists of; empty if it has other text."""
    return set(_labels_of(key))


def _labels_of(key: str) -> list[str]:
    spelled = _spelled(key)
    if len(spelled) > _LONGEST or not _LABELS_ONLY.fullmatch(spelled):
        return []
    return [_label(match) for match in _EACH.finditer(spelled)]


def _spelled(key: str) -> str:
    spaced = "".join(f" {_CIRCLED[character]} " if character in _CIRCLED else character for character in key)
    plain = " ".join(spaced.split())
    return " ".join(plain) if re.fullmatch(r"[A-J]+|[a-j]+|[ㄱ-ㅎ]+", plain) else plain


def _label(match: re.Match[str]) -> str:
    return next(group for group in match.groups()[:4] if group).upper()


def _in_order(labels: Sequence[str], options: Sequence[Option]) -> list[str] | None:
    names = [option.label for option in options]
    if not labels or len(set(labels)) < len(labels) or not set(labels) <= set(names):
        return None
    return sorted(labels, key=names.index)


def _bare(text: str) -> str:
    """Form that two spellings share."""
    return squeezed(text).strip(".。")


_LABELS = ("label", "key", "aoVal", "letter", "id", "name", "index", "option_label")
_TEXTS = ("text", "content", "value", "option", "option_text", "choice", "answer")
_PICTURES = ("image", "img", "picture", "figure", "image_path", "image_url")
_RIGHT = ("is_correct", "isCorrect", "correct", "is_answer", "is_right")
_PATH = re.compile(r"[^\s()<>]{1,300}\.(?:png|jpe?g|webp|gif|bmp)", re.IGNORECASE)
_REFERS = r"(?!\s*(?:$|and\b|or\b|only\b|[,，、&와과및和与或是]|[-–—→>]?\s*[①-⑳⑴-⒇(（]))"
"""Text after a label that refers to statements: "(A) and (C)", "① ②", "(B) only", "(c) - (b)"."""
_DECORATED = r"(?:\*\*|__|\$)?"
_LETTERS, _OTHER_LETTERS = list("ABCDEFGHIJ"), list("ABCDEFGHIJ")
_DIGITS = [str(number) for number in range(1, 21)]
_IN_TEXT = [
    (re.compile(rf"\s*[(（]?\s*([A-JＡ-Ｊ])\s*[.．、:：)）]\s*{_REFERS}"), _LETTERS),
    (re.compile(rf"\s*{_DECORATED}[(（]?\s*([A-Ja-j])\s*[.．、:：)）]\s*{_DECORATED}\s*{_REFERS}"), _OTHER_LETTERS),
    (re.compile(rf"\s*([Ⓐ-Ⓙⓐ-ⓙ])\s*{_REFERS}"), _OTHER_LETTERS),
    (re.compile(rf"\s*(?:[(（]\s*)?(\d{{1,2}})\s*(?:[.．、](?!\d)|[)）])\s*{_REFERS}"), _DIGITS),
    (re.compile(rf"\s*([①-⑳⑴-⒇])\s*{_REFERS}"), _DIGITS),
]
"""Labels in the texts of options, and the order of each kind."""
_ENCLOSED = re.compile(r"\s*(?:[(（]|[Ⓐ-Ⓙⓐ-ⓙ①-⑳⑴-⒇])")
"""A label in brackets or a circle, which may name a statement of the question."""
_CLOSED = re.compile(rf"\s*{_DECORATED}([A-Ja-j])\s*[)）]\s*{_DECORATED}\s*{_REFERS}")
"""A label before one bracket, which is almost always an option's."""
_NUMBERED = re.compile(r"\s*[(（]?\s*[①⑴1A]")
"""The beginning of labelled options; (가) and ㄱ in them name statements of the question."""
LETTERS = "ABCDEFGHIJ"
_PAIR = 2
_FEWEST = 2
"""Options needed to recognise labels."""


def options_of(given: object, *, letters: bool) -> tuple[list[Option], bool]:
    """Options, and true if they lacked labels (then numbers or, with `letters`, letters)."""
    value = parse_object(given)
    if isinstance(value, Mapping):
        return _of_object(value), False
    items = [_alone(item) for item in parse_list(value)]
    while items and items[-1] is None:  # a table fills shorter lists up
        items.pop()
    if not items:
        return [], True
    pairs = [item for item in items if isinstance(item, Mapping)]
    if pairs and len(pairs) == len(items):
        options = [_of_pair(pair, place) for place, pair in enumerate(pairs)]
        stated = any(_first(pair, _LABELS) is not None or _first(pair, _TEXTS) is None for pair in pairs)
        return options if stated else _labelled([option.text for option in options]) or options, False
    lists = [item for item in items if isinstance(item, list) and len(item) == _PAIR]
    if lists and len(lists) == len(items):
        return [_option(*item) for item in lists], False
    if not all(isinstance(item, str | int | float) for item in items):
        raise BadRow("options holds something that is not a text")
    texts = [restore(str(item)) for item in items]
    if len(texts) == 1 and (split := split_options("\n" + texts[0]))[1] and not split[0].strip():
        return split[1], False
    if own := _labelled(texts if len(texts) > 1 else "".join(texts).splitlines()):
        return own, False
    texts = [_pictured(text) for text in texts]
    bare = unlabelled(texts) if texts and _NUMBERED.match(texts[0]) else texts
    labels = list(LETTERS) if letters and len(bare) <= len(LETTERS) else list(map(str, range(1, len(bare) + 1)))
    return [Option(label=label, text=text) for label, text in zip(labels, bare, strict=False)], bare == texts


def _labelled(texts: Sequence[str]) -> list[Option]:
    """Options by the labels in their texts, in any order; none if the texts have no labels.

    The caller handles numbers, small and decorated letters in order. BadRow if the labels are not the first of their
    kind, each once, or if only some options have one, out of place.
    """
    for pattern, kind in _IN_TEXT:
        matches = [match for text in texts if (match := pattern.match(text))]
        names = [unicodedata.normalize("NFKC", plain_label(plain_width(match[1]))) for match in matches]
        first = kind[: len(texts)]
        if len(set(names)) < _FEWEST or len(matches) < len(texts) or (names == first and kind is not _LETTERS):
            continue  # one name for all is no label: "A: ㄱ B: ㄴ", "A: ㄴ B: ㄱ"
        if sorted(names) != sorted(first):
            if len(set(names)) < len(names) and all(_ENCLOSED.match(text) for text in texts):
                continue  # names of what the question is about, which several options may speak of: "(b)의 ‘눈이’는"
            raise BadRow(
                f"its options are labelled {', '.join(names)}, which are not the first {len(texts)} labels each once:"
                " give them as {label, text}"
            )
        return [
            Option(label=name, text=_pictured(text[match.end() :].strip()))
            for name, match, text in zip(names, matches, texts, strict=True)
        ]
    closed = [(place, match[1].upper()) for place, text in enumerate(texts) if (match := _CLOSED.match(text))]
    if len({label for _, label in closed}) >= _FEWEST and any(label != LETTERS[place] for place, label in closed):
        labels = ", ".join(label for _, label in closed)
        raise BadRow(f"of its {len(texts)} options some are labelled, {labels}: give them as {{label, text}}")
    return []


def placed_key(data: Mapping[str, Any], options: Sequence[Option]) -> list[str]:
    """Labels of options given by position: `answer_index` from 0, `answer_place` from 1."""
    for name, first in (("answer_index", 0), ("answer_place", 1)):
        places = [whole_of({name: number}, name) for number in numbers_of(data, name)]
        if places and not all(place is not None and first <= place < len(options) + first for place in places):
            raise BadRow(f"{name} {places} names no option of {len(options)}")
        if places:
            return ["".join(options[place - first].label for place in places if place is not None)]
    return _flagged(data.get("options"), options)


def other_members(given: object) -> set[str]:
    """Text members of options without a place in an option."""
    items = [_alone(item) for item in given] if isinstance(given, list) else []
    members = set[str]()
    for item in items:
        if isinstance(item, Mapping) and len(item) > 1:
            taken = {_name(item, names) for names in (_LABELS, _TEXTS, _PICTURES)}
            members |= {name for name, value in item.items() if name not in taken and isinstance(value, str) and value}
    return members - {*_RIGHT}


def _flagged(given: object, options: Sequence[Option]) -> list[str]:
    items = [_alone(item) for item in parse_list(parse_object(given))]
    flags = [truth_of(stated(item, *_RIGHT)) if isinstance(item, Mapping) else None for item in items]
    right = [option.label for option, flag in zip(options, flags, strict=False) if flag]
    return ["".join(right)] if right else []


def _of_object(value: Mapping[Any, Any]) -> list[Option]:
    if value and all(isinstance(item, Mapping) for item in value.values()):
        return [_of_pair({"label": label, **item}, 0) for label, item in value.items()]
    labels, texts = _first(value, _LABELS), _first(value, _TEXTS)
    if isinstance(labels, list) and isinstance(texts, list) and len(labels) == len(texts):
        return [_option(label, text) for label, text in zip(labels, texts, strict=True)]
    return [_option(label, text) for label, text in value.items() if text not in (None, "")]


def _of_pair(item: Mapping[str, Any], place: int) -> Option:
    label, text, picture = (_first(item, names) for names in (_LABELS, _TEXTS, _PICTURES))
    if len(item) == 1 and text is picture is None:
        return _option(*next(iter(item.items())))
    if text is picture is None or (label is None and place >= len(LETTERS)):
        raise BadRow("options is a list of {label, text}")
    if picture is not None and not (isinstance(picture, str) and _PATH.fullmatch(picture.strip())):
        raise BadRow(f"the picture of option {label} is no path of a picture")
    written = [part for part in (text, picture and f"![]({picture.strip()})") if part not in (None, "")]
    return _option(LETTERS[place] if label is None else label, written[0] if len(written) == 1 else " ".join(written))


def _first(value: Mapping[Any, Any], names: Sequence[str]) -> Any:
    name = _name(value, names)
    return None if name is None else value[name]


def _name(value: Mapping[Any, Any], names: Sequence[str]) -> str | None:
    return next((name for name in names if name in value), None)


def _pictured(text: str) -> str:
    return f"![]({text.strip()})" if _PATH.fullmatch(text.strip()) else text


def _alone(item: object) -> object:
    return item[0] if isinstance(item, list) and len(item) == 1 else item


def _option(label: object, text: object) -> Option:
    if not isinstance(label, str | int) or not isinstance(text, str | int | float):
        raise BadRow("options holds something that is not a text")
    return Option(label=plain_label(str(label).strip()), text=_pictured(restore(str(text)).strip()))
