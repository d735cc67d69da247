"""Values that a response commits to: blanks, sub-questions, named variables.

In order of strength: boxes and answer tags (the later wins), "the answer is", labelled parts, names; unless truncated,
also a concluding sentence, a last line of only the value, a bare value. Short prose answers are returned whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from livek12.core.patterns import late
from livek12.core.question_types import CHOICE_TYPES, type_of
from livek12.core.records import Question
from livek12.judges.parts import blank_count, blank_values, needs_prose, part_count
from livek12.tasks.extraction import stated
from livek12.tasks.extraction.labelled import named_values, tabled_values
from livek12.tasks.extraction.regions import (
    MAX_ANSWER,
    TextRegion,
    answer_tags,
    boxes,
    listed_in_json,
    part_of_formula,
    says_nothing,
    tail,
)
from livek12.tasks.extraction.remarks import false_lead, quoted, supposed
from livek12.tasks.extraction.stated import NOTHING, Found

_NEAR_CHARS = 300
_GAP_CHARS = 60
_GAP = late(r"\\(?:text|quad|qquad|[()\[\],;! ])|[\s${}.,，、;；*:：]|\band\b|\bor\b|[和与及或且]")
_NAME_BEFORE = late(r"(?:\\?[A-Za-z]{1,8}(?:_\w{1,4})?(?:\([^()=]{0,30}\))?=)?")
_NOUN_BETWEEN = late(r"[\s$]*[A-Za-z]{3,15},? and[\s$]*")
_BARE_LIST = late(r"[-+−\d.,，;；、/ $]{1,200}")
_BOX_LABEL = late(r"[(（](\d)[)）]\s*\$*\s*$")
_FENCED = late(r"```\w{0,10}\n([^`\n]{1,200})\n```")
"""A response that is one line in a block of code."""
_EMPTY = late(r"\\(?:boxed|fbox)\s?\{\s?\}|<answer>\s?</answer>")

_EDGE = " .。*"
_SPACE = late(r"(?<!\\)\\ ")
_TEXT = late(r"\\(?:text|mathrm|textbf|mathbf)\s?\{([^{}]*)\}")
_TEXT_SIGN = late(r"\\(?:text|mathrm)\s?\{\s*([,，;；、])\s*\}")


def find_values(text: str, question: Question, truncated: bool, committed_only: bool = False) -> Found:
    """One value a part, or nothing; another number only if committed."""
    if fenced := _FENCED.fullmatch(text.strip()):
        text = fenced[1]
    count = part_count(question)
    names = [variable.name for variable in question.variables]
    result = _marked(text, count, blank_count(question) if count == 1 else 0)
    if not result[0] and names:
        result = named_values(tail(text), names), "named"
        if "" in result[0] and (labelled := stated.labelled_values(tail(text), count)):
            result = labelled, "labelled"
    if not result[0]:
        result = stated.stated_values(text, count, truncated=truncated)
        if result[0] and count == 1 and blank_count(question) < 2 and question.question_type not in CHOICE_TYPES:
            result = [stated.announced_value(result[0][0], question.question) or result[0][0]], result[1]
    if not result[0] and (tabled := tabled_values(tail(text), count)):
        result = tabled, "labelled"
    if not result[0] and count > 1:
        result = stated.labelled_values(tail(text), count), "labelled"
    listed = listed_in_json(text.strip()) or (text.strip() if _BARE_LIST.fullmatch(text.strip()) else "")
    if not result[0] and count > 1 and not truncated and listed:
        values = blank_values(listed, count)
        result = (values, "whole") if len(values) == count else NOTHING
    if not result[0] and not (truncated or committed_only):
        text = _EMPTY.sub("", text).strip()
        result = stated.standing_value(text, _by_place(text, question)) if count == 1 else NOTHING
        row = type_of(question.question_type)
        prose = count > 1 or (row.answer == "values" and not row.blanks) or needs_prose(question)
        if not result[0] and prose and not says_nothing(text, question):
            result = [text], "whole"
    return result


def _by_place(text: str, question: Question) -> Found:
    """A bare or concluding value; else the number of a closing sentence."""
    result = stated.unmarked_value(text)
    if question.question_type in CHOICE_TYPES or needs_prose(question):
        return result
    if not result[0] or result[0][0].strip(_EDGE) == text.strip().strip(_EDGE):
        closing = stated.closing_values(text, question.question) or stated.sentence_value(text)
    else:
        closing = None
    return ([closing], "sentence") if closing else result


def _marked(text: str, count: int, blanks: int) -> Found:
    tags, regions = final_run(text, answer_tags(text)), boxes(text)
    regions = [box for box in regions if not supposed(text, box.start, box.end)]
    if not tags and not regions:
        return NOTHING
    end = max(region.end for region in [*tags, *regions])
    if len(tags) > 1 and tags[-1].end >= end:
        contents = [tag.content for tag in tags]
        return contents if len(tags) == count else [", ".join(dict.fromkeys(contents))], "answer_tag"
    later = stated.stated_values(text[end:], 1, answered=True) if count == 1 and blanks < 2 else NOTHING
    if later[0] and any(char.isdigit() or char in "$\\" for char in later[0][0]):
        return later
    in_tag = bool(tags) and tags[-1].end >= end
    last = tags[-1] if in_tag else regions[-1]
    values = _tagged(last.content, count, blanks) if in_tag else _boxed(text, regions, count, blanks)
    goes_on = count == 1 and blanks < 2 and not in_tag and part_of_formula(text, last)
    wrong_at_once = goes_on or false_lead(text, last.start)
    denial = last.end if wrong_at_once else stated.denied_until(text, last.end, last.content)
    if denial is not None:
        values = [quoted(text[last.start : denial])]
    return values, "answer_tag" if in_tag else "boxed"


def _tagged(content: str, count: int, blanks: int) -> list[str]:
    inner = boxes(content)
    if inner and (count > 1 or len(inner) == 1 or len(content) > stated.SENTENCE_CHARS):
        return _boxed(content, inner, count, blanks)
    if count > 1:
        values = stated.labelled_values(content, count) or blank_values(_plain_list(content), count)
        return values if len(values) == count else [content[:MAX_ANSWER]]
    if len(content) > stated.SENTENCE_CHARS:
        return stated.stated_values(content, 1)[0] or stated.unmarked_value(content)[0] or [content[:MAX_ANSWER]]
    return [content]


def _boxed(text: str, regions: Sequence[TextRegion], count: int, blanks: int) -> list[str]:
    contents = [box.content for box in regions]
    if count == 1:
        if blanks > 1 and len(contents) >= blanks and len(blank_values(contents[-1], blanks)) != blanks:
            distinct = _distinct(contents)
            return ["; ".join((distinct if len(distinct) >= blanks else contents)[-blanks:])]
        return [", ".join(dict.fromkeys(box.content for box in final_run(text, regions)))]
    if len(contents) == count:
        numbers = [_BOX_LABEL.search(text[max(0, box.start - 20) : box.start]) for box in regions]
        placed = {int(number[1]): content for number, content in zip(numbers, contents, strict=True) if number}
        return [placed[key] for key in sorted(placed)] if sorted(placed) == list(range(1, count + 1)) else contents
    whole = blank_values(_plain_list(contents[-1]), count)
    if len(contents) > count:
        if len(final_run(text, regions)) == count:
            return contents[-count:]
        gaps = [after.start - before.end for before, after in pairwise(regions)]
        if max(gaps[-count + 1 :]) > _NEAR_CHARS and len(whole) == count:
            return whole
        # The last boxes are the answers if close together and apart from earlier ones. Else (one was checked or
        # retracted) all are returned, undecided; a value boxed twice in a row counts once.
        together = max(gaps[-count + 1 :]) <= _NEAR_CHARS < gaps[-count]
        return contents[-count:] if together else _distinct(contents)
    if len(contents) == 1 and len(whole) == count:
        return whole
    return stated.labelled_values(tail(text), count) or contents


def _plain_list(content: str) -> str:
    r"""A list without text mark-up ("\text{3, 5}")."""
    content = listed_in_json(content) or content
    whole = _TEXT.fullmatch(content.strip())
    return _TEXT_SIGN.sub(r"\1 ", _SPACE.sub(" ", whole[1] if whole else content))


def _distinct(contents: Sequence[str]) -> list[str]:
    return [content for index, content in enumerate(contents) if index == 0 or contents[index - 1] != content]


def final_run(text: str, regions: Sequence[TextRegion]) -> list[TextRegion]:
    """The last box and those joined by connectors ("and", a comma, "y =")."""
    run = list(regions[-1:])
    for after, before in pairwise(reversed(regions)):
        gap = text[before.end : after.start]
        joined = _NAME_BEFORE.fullmatch(_GAP.sub("", gap)) or _NOUN_BETWEEN.fullmatch(gap)
        if len(gap) > _GAP_CHARS or "\n\n" in gap or not joined:
            break
        run.insert(0, before)
    return run
