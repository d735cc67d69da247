"""Image marks: the positions of pictures in a question."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from livek12.core.records import IMAGE_MARK, Image, Option

_INLINE = re.compile(
    r"!\[[^\[\]]{0,200}\]\(\s*<?([^\s()<>]{1,2000})>?(?:\s+\"[^\"]{0,200}\")?\s*\)"
    r"|<img\s[^<>]{0,500}?src\s*=\s*[\"']([^\"'<>]{1,2000})[\"'][^<>]{0,500}>",
    re.IGNORECASE,
)
"""A Markdown or HTML picture in a text."""

_NAMED = re.compile(r"[\[<](?:image|img|figure|fig|picture|그림|图)\s?[_.-]?\s?(\d{1,2})?[\]>]", re.IGNORECASE)
"""A placeholder of a picture, numbered or not: [figure1], <image 2>, [image]."""
ABSENT = "[image]"
"""Replaces a mark whose picture the source lacks."""
_ANY = re.compile(rf"{re.escape(IMAGE_MARK)}|{_INLINE.pattern}|{_NAMED.pattern}", re.IGNORECASE)
_BETWEEN = "\x1e"


def named_pictures(text: str) -> tuple[list[int], int]:
    """Distinct numbers of named pictures in order, and the count of unnumbered names."""
    if _has_marks_only(text):
        return [], 0
    numbers = [match[1] for match in _NAMED.finditer(text) if match[0] != IMAGE_MARK]
    return list(dict.fromkeys(int(number) for number in numbers if number)), sum(number is None for number in numbers)


def take_inline(text: str, refs: Sequence[object]) -> tuple[str, list[object]]:
    """Replaces the pictures written into a text by marks; returns all references in order.

    Pictures are in Markdown or HTML, or named, by number among `refs` or as the next of them. Repeated names
    and names without a reference are kept; remaining references come last.
    """
    if _has_marks_only(text):
        return text, list(refs)
    numbers, _ = named_pictures(text)
    wanted = sorted(numbers) if len(numbers) == len(refs) else range(1, len(refs) + 1)
    numbered = {number: ref for number, ref in zip(wanted, refs, strict=True) if number in numbers}
    waiting = [ref for number, ref in zip(wanted, refs, strict=True) if number not in numbers]
    ordered: list[object] = []
    pieces, done = [], 0
    for match in _ANY.finditer(text):
        inline, number = match[1] or match[2], int(match[3] or 0)
        mark = IMAGE_MARK
        if inline:
            ordered.append(inline)
        elif number in numbered:
            ordered.append(numbered.pop(number))
            mark = f"{match[0]}{IMAGE_MARK}" if match[0] in text[match.end() :] else IMAGE_MARK
        elif number == 0 and waiting:
            ordered.append(waiting.pop(0))
        else:
            continue
        pieces += [text[done : match.start()], mark]
        done = match.end()
    return "".join([*pieces, text[done:]]), [*ordered, *numbered.values(), *waiting]


def without_absent(
    question: str, options: Sequence[Option], refs: Sequence[object]
) -> tuple[str, list[Option], list[object]]:
    """Removes references that name no picture (null); their marks become `ABSENT`."""
    if not any(map(_is_absent, refs)):
        return question, list(options), list(refs)
    places = iter(refs)

    def marked(text: str) -> str:
        return re.sub(re.escape(IMAGE_MARK), lambda match: ABSENT if _is_absent(next(places, "")) else match[0], text)

    question = marked(question)
    shown = [Option(label=option.label, text=marked(option.text)) for option in options]
    return question, shown, [ref for ref in refs if not _is_absent(ref)]


def _is_absent(ref: object) -> bool:
    if isinstance(ref, Mapping):
        return not any(ref.values())
    return ref is None or (isinstance(ref, str) and not ref.strip()) or (isinstance(ref, float) and math.isnan(ref))


def _has_marks_only(text: str) -> bool:
    return "[" not in text and ("<" not in text or text.count("<") == text.count(IMAGE_MARK))


def take_all_inline(
    question: str, options: Sequence[Option], refs: Sequence[object]
) -> tuple[str, list[Option], list[object]]:
    """As `take_inline`, for a question and then its options, which take the remaining references."""
    text, ordered = take_inline(_BETWEEN.join([question, *(option.text for option in options)]), refs)
    if text.count(_BETWEEN) != len(options):  # a text with such characters of its own
        text, ordered = take_inline(question, refs)
        return without_absent(text, options, ordered)
    stem, *texts = text.split(_BETWEEN)
    shown = [Option(label=option.label, text=text) for option, text in zip(options, texts, strict=True)]
    return without_absent(stem, shown, ordered)


def place_marks(
    question: str, options: Sequence[Option], images: Sequence[Image]
) -> tuple[str, list[Option], list[Image], str | None]:
    """Makes the image marks of a question and its options agree with its images.

    Images without a mark go to the end of the question; the last marks become `ABSENT` if images are missing. Returns
    question, options, images in order, and the disagreement, if there are marks.
    """
    in_question = question.count(IMAGE_MARK)
    marks = in_question + sum(option.text.count(IMAGE_MARK) for option in options)
    if marks < len(images):
        unmarked = len(images) - marks
        text = "\n".join([*([question] if question else []), *[IMAGE_MARK] * unmarked])
        ordered = [*images[:in_question], *images[marks:], *images[in_question:marks]]
        change = f"{unmarked} of {len(images)} images had no mark: put at the end of the question"
        return text, list(options), ordered, change if marks else None
    if marks == len(images):
        return question, list(options), list(images), None
    kept = max(0, len(images) - in_question)
    trimmed = []
    for option in options:
        text = _keep_marks(option.text, kept)
        kept -= text.count(IMAGE_MARK)
        trimmed.append(Option(label=option.label, text=text))
    change = f"{marks} image marks for {len(images)} images: the last {marks - len(images)} left as {ABSENT}"
    return _keep_marks(question, len(images)), trimmed, list(images), change


def _keep_marks(text: str, count: int) -> str:
    pieces = text.split(IMAGE_MARK)
    return ABSENT.join([IMAGE_MARK.join(pieces[: count + 1]), *pieces[count + 1 :]])
