"""Image marks: where in a question its pictures belong.

Contract: what comes out has one mark a picture, and the pictures in the order of their marks, first those of the
question, then those of its options.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from livek12.core.records import IMAGE_MARK, Image, Option

_INLINE = re.compile(
    r"!\[[^\[\]]{0,200}\]\(\s*<?([^\s()<>]{1,2000})>?(?:\s+\"[^\"]{0,200}\")?\s*\)"
    r"|<img\s[^<>]{0,500}?src\s*=\s*[\"']([^\"'<>]{1,2000})[\"'][^<>]{0,500}>",
    re.IGNORECASE,
)
"""A picture written into a text, in Markdown or HTML."""


def take_inline(text: str, refs: Sequence[object]) -> tuple[str, list[object]]:
    """Marks in place of the pictures written into a text, and all references in the order of their marks.

    A mark that stands in the text already takes the next of `refs`; those that are left over come last.
    """
    waiting, ordered = list(refs), []
    pieces, done = [], 0
    for match in re.finditer(rf"{re.escape(IMAGE_MARK)}|{_INLINE.pattern}", text, re.IGNORECASE):
        inline = match[1] or match[2]
        if inline:
            ordered.append(inline)
            pieces += [text[done : match.start()], IMAGE_MARK]
            done = match.end()
        elif waiting:
            ordered.append(waiting.pop(0))
    return "".join([*pieces, text[done:]]), [*ordered, *waiting]


def place_marks(
    question: str, options: Sequence[Option], images: Sequence[Image]
) -> tuple[str, list[Option], list[Image], str | None]:
    """Makes the image marks of a question and its options agree with its images.

    Images without a mark are put at the end of the question; marks without an image are taken out, the last
    ones first.

    Returns:
        Question, options, images in the order of their marks, and what did not agree (None: nothing; a text
        without any mark does not disagree).
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
    change = f"{marks} image marks for {len(images)} images: the last {marks - len(images)} taken out"
    return _keep_marks(question, len(images)), trimmed, list(images), change


def _keep_marks(text: str, count: int) -> str:
    pieces = text.split(IMAGE_MARK)
    return IMAGE_MARK.join(pieces[: count + 1]) + "".join(pieces[count + 1 :])
