"""Values that a response commits to: blanks, sub-questions, named variables.

In order of strength: boxes and answer tags (the later wins), "the answer is", labelled parts, names, a concluding
sentence, a last line that is only the value, a response that is only the value. The last three do not count in a
truncated response. A short answer, or several, given as prose is handed on whole: a reader must judge it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from livek12.core.records import Question
from livek12.judges.parts import blank_count, blank_values, needs_prose, part_count
from livek12.judges.rules.notation import bare, to_latex
from livek12.judges.rules.units import read_unit
from livek12.tasks.extraction.labelled import labelled_parts, named_values, tabled_values
from livek12.tasks.extraction.regions import MAX_ANSWER, TextRegion, answer_tags, boxes, listed_in_json, tail
from livek12.tasks.extraction.remarks import denied, doubted, is_remark, retraction, settled, supposed
from livek12.tasks.extraction.substance import says_nothing

Found = tuple[list[str], str]
NOTHING: Found = ([], "none")
SENTENCE_CHARS = 400
_NEAR_CHARS = 300
_GAP_CHARS = 60
_LAST_PHRASES = 20
_AFTER_CHARS = 8_000
_BEFORE_CHARS = 20

_GAP = re.compile(r"\\(?:text|quad|qquad|[()\[\],;! ])|[\s${}.,，、;；*:：]|\band\b|\bor\b|[和与及或且]")
_NAME_BEFORE = re.compile(r"(?:\\?[A-Za-z]{1,8}(?:_\w{1,4})?(?:\([^()=]{0,30}\))?=)?")
_NOUN_BETWEEN = re.compile(r"[\s$]*[A-Za-z]{3,15},? and[\s$]*")
_SAID = re.compile(
    r"(?:(?:最终|正确|标准|参考)?(?:答案|结果)\s*[】\]]?\s*(?:应该|应当|应|即|就)?\s*(?:为|是|等于|[:：])+|【答案】|(?:故|所以|因此)填"
    r"|(?:故|所以|因此)?(?:答案)?应?填(?:写|入|的是)?\s*[:：]|(?:故|所以|因此)答案\s*(?:应)?(?:为|是)?"
    r"|[两二三四五2-5]个?空(?:依次|分别)?(?:应?填|为|是)\s*[:：]?"
    r"|(?<![a-z])(?:final\s+)?answers?\s*(?:to\s+[^.\n]{1,60})?(?:is|are|would be|[:：=])+(?:\s*approximately)?"
    r"|(?<!오)(?:최종\s*답|정답|답안|답)\s*(?:은|는|이|[:：])+"
    r"|(?:^|\n)#### (?=-?[$\\\d])|(?:^|\n)[# ]{0,8}(?:(?:final )?answer|(?:最终)?答案|최종 ?답|정답) ?(?=\n))\s*[:：]?",
    re.IGNORECASE,
)
_CONCLUSION = re.compile(
    r"(?:(?:^|[。.!,，;；\n])\s*(?:综上(?:所述)?|因此|所以|故|于是|从而|∴|\$?\\therefore|总之|따라서|그러므로)"
    r"|(?:^|[.!\n])\s*(?:therefore|thus|hence|so|in conclusion|consequently))[，,:： ]",
    re.IGNORECASE,
)
_EQUATION = re.compile(r"\s*(?P<value>[A-Za-z]\w{0,3} ?= ?[^\s，,。；;=]{1,40}?)[。.]?\s*")
_MATH = re.compile(
    r"\$\$(.{1,400}?)\$\$|\$([^$\n]{1,400})\$|\\\((.{1,400}?)\\\)|\\\[(.{1,400}?)\\\]",
    re.DOTALL,
)
_STATED = re.compile(
    r"(?:为|是|等于|得|即|\bis|\bit's|\bare|\bequals?|\b(?:in|de)creases? by)\s*[:：]?\s*"
    r"(?P<value>\$[^$\n]{1,300}\$|\\\((?:(?!\\\)).){1,300}\\\)"
    r"|-?\d(?:[\d,.]{0,30}\d)?(?:/\d{1,9})?(?P<unit>\s?(?:\\?%|[€$£¥°℃]|[a-zA-Z]{1,4}(?:/[a-zA-Z]{1,3})?[²³]?))?)\s*[.。]?\s*$"
)
_COUNTED = re.compile(
    r"(?:\bthere (?:are|is|were)|[一总]?共(?:计)?有?)\s*(?:a total of|exactly|only)?"
    r"\s*(?P<value>\d[\d,]{0,12})(?![\d.])",
    re.IGNORECASE,
)
_BARE_LIST = re.compile(r"[-+−\d.,，;；、/ $]{1,200}")
_BARE_NUMBER = re.compile(r"-?\d[\d,.]*(?:/\d+)?\s?(?P<unit>(?:\\?%|[€$£¥°℃]|[a-zA-Z]{1,4}(?:/[a-zA-Z]{1,3})?[²³]?)?)")
_POLITE = re.compile(
    r"\s*(?:\bI hope (?:it|this|that)[^.\n]{0,40}|希望[^。\n]{0,30}(?:帮助|满意)"
    r"|\bLet me know[^.\n]{0,80})[.!。！]?\s*$",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d[\d,.]*")
_BOX_LABEL = re.compile(r"[(（](\d)[)）]\s*\$*\s*$")
_EMPTY = re.compile(r"\\(?:boxed|fbox)\s?\{\s?\}|<answer>\s?</answer>")
_BOLD = re.compile(r"\*\*([^*]{1,80})\*\*[.。]?")


def find_values(text: str, question: Question, truncated: bool, committed_only: bool = False) -> Found:
    """One value a part, or nothing; fewer or more than parts only where the response commits to that many."""
    count = part_count(question)
    names = [variable.name for variable in question.variables]
    found = _marked(text, count, blank_count(question) if count == 1 else 0)
    if not found[0] and names:
        found = named_values(tail(text), names), "named"
    if not found[0]:
        found = _said(text, count, truncated=truncated)
    if not found[0] and (tabled := tabled_values(tail(text), count)):
        found = tabled, "labelled"
    if not found[0] and count > 1:
        found = _labelled(tail(text), count), "labelled"
    if not found[0] and count > 1 and not truncated and _BARE_LIST.fullmatch(text.strip()):
        values = blank_values(text.strip(), count)
        found = (values, "whole") if len(values) == count else NOTHING
    if not found[0] and not (truncated or committed_only):
        text = _EMPTY.sub("", text).strip()
        found = _unmarked(text) if count == 1 else NOTHING
        prose = count > 1 or question.question_type == "short_answer" or needs_prose(question)
        if not found[0] and prose and not says_nothing(text, question):
            found = [text], "whole"
    return found


# --- boxes and tags -----------------------------------------------------------------------------------------------


def _marked(text: str, count: int, blanks: int) -> Found:
    """What boxes and answer tags hold, unless "the answer is" comes after them."""
    tags, found = final_run(text, answer_tags(text)), boxes(text)
    found = [box for box in found if not supposed(text, box.start, box.end)]
    if not tags and not found:
        return NOTHING
    end = max(region.end for region in [*tags, *found])
    if len(tags) > 1 and tags[-1].end >= end:
        contents = [tag.content for tag in tags]
        return contents if len(tags) == count else [", ".join(dict.fromkeys(contents))], "answer_tag"
    later = _said(text[end:], 1, answered=True) if count == 1 and blanks < 2 else NOTHING
    if later[0] and any(char.isdigit() or char in "$\\" for char in later[0][0]):
        return later
    if tags and tags[-1].end >= end:
        return _tagged(tags[-1].content, count, blanks), "answer_tag"
    return _boxed(text, found, count, blanks), "boxed"


def _tagged(content: str, count: int, blanks: int) -> list[str]:
    """The values in an answer tag, which may hold a whole solution."""
    inner = boxes(content)
    if inner and (count > 1 or len(inner) == 1 or len(content) > SENTENCE_CHARS):
        return _boxed(content, inner, count, blanks)
    if count > 1:
        values = _labelled(content, count) or blank_values(_plain_list(content), count)
        return values if len(values) == count else [content[:MAX_ANSWER]]
    if len(content) > SENTENCE_CHARS:
        return _said(content, 1)[0] or _unmarked(content)[0] or [content[:MAX_ANSWER]]
    return [content]


def _boxed(text: str, found: Sequence[TextRegion], count: int, blanks: int) -> list[str]:
    """The contents of the boxes that answer `count` parts; of one part with several blanks, all of them."""
    contents = [box.content for box in found]
    if count == 1:
        if blanks > 1 and len(contents) >= blanks and len(blank_values(contents[-1], blanks)) != blanks:
            distinct = _distinct(contents)
            return ["; ".join((distinct if len(distinct) >= blanks else contents)[-blanks:])]
        return [", ".join(dict.fromkeys(box.content for box in final_run(text, found)))]
    if len(contents) == count:
        numbers = [_BOX_LABEL.search(text[max(0, box.start - 20) : box.start]) for box in found]
        placed = {int(number[1]): content for number, content in zip(numbers, contents, strict=True) if number}
        return [placed[key] for key in sorted(placed)] if sorted(placed) == list(range(1, count + 1)) else contents
    whole = blank_values(_plain_list(contents[-1]), count)
    if len(contents) > count:
        if len(final_run(text, found)) == count:
            return contents[-count:]
        gaps = [after.start - before.end for before, after in pairwise(found)]
        if max(gaps[-count + 1 :]) > _NEAR_CHARS and len(whole) == count:
            return whole
        # The last boxes are a set of answers where they stand together and apart from those before them. Else (one
        # was checked, or taken back) all go on, for the judges to leave open; a value boxed twice running is one.
        together = max(gaps[-count + 1 :]) <= _NEAR_CHARS < gaps[-count]
        return contents[-count:] if together else _distinct(contents)
    if len(contents) == 1 and len(whole) == count:
        return whole
    return _labelled(tail(text), count) or contents


def _plain_list(content: str) -> str:
    r"""A list of values without the text mark-up round it and round its separators ("\text{3, 5}", "3 \text{；} 5")."""
    content = listed_in_json(content) or content
    whole = _TEXT.fullmatch(content.strip())
    return _TEXT_SIGN.sub(r"\1 ", _SPACE.sub(" ", whole[1] if whole else content))


_SPACE = re.compile(r"(?<!\\)\\ ")
_TEXT = re.compile(r"\\(?:text|mathrm|textbf|mathbf)\s?\{([^{}]*)\}")
_TEXT_SIGN = re.compile(r"\\(?:text|mathrm)\s?\{\s*([,，;；、])\s*\}")


def _distinct(contents: Sequence[str]) -> list[str]:
    """The contents without those that repeat the one before."""
    return [content for index, content in enumerate(contents) if index == 0 or contents[index - 1] != content]


def final_run(text: str, found: Sequence[TextRegion]) -> list[TextRegion]:
    """The last box, with those before it that only a connector ("and", a comma, "y =") parts from it."""
    run = list(found[-1:])
    for after, before in pairwise(reversed(found)):
        gap = text[before.end : after.start]
        joined = _NAME_BEFORE.fullmatch(_GAP.sub("", gap)) or _NOUN_BETWEEN.fullmatch(gap)
        if len(gap) > _GAP_CHARS or "\n\n" in gap or not joined:
            break
        run.insert(0, before)
    return run


# --- words --------------------------------------------------------------------------------------------------------


def _said(text: str, count: int, answered: bool = False, truncated: bool = False) -> Found:
    """What follows the last "the answer is" that states as many values as there are parts.

    In a truncated text a value that goes on to its very end may be half of one, and does not count.
    """
    ending = settled(tail(text).replace("**", ""))
    matches = list(_SAID.finditer(ending))[-_LAST_PHRASES:]
    for index, match in reversed(list(enumerate(matches))):
        if (index or answered) and is_remark(ending, match.start(), match.end()):
            continue
        rest = ending[match.end() : match.end() + _AFTER_CHARS]
        if count > 1:
            values = _labelled(rest, count) or blank_values(_sentence(rest), count)
            if len(values) == count and not (truncated and rest.rstrip().endswith(values[-1])):
                return values, "phrase"
        elif value := _value_in(_sentence(rest)):
            stated = rest.find(value) + len(value)
            if truncated and stated >= len(rest.rstrip()):
                continue
            if denied(ending, match.start(), match.end() + stated):
                return [ending[max(0, match.start() - _BEFORE_CHARS) :][:SENTENCE_CHARS].strip()], "phrase"
            if retraction(rest, stated) is not None or doubted(rest, stated):
                return [rest[:SENTENCE_CHARS].strip()], "phrase"
            return [value], "phrase"
    return NOTHING


def _sentence(text: str) -> str:
    """The first sentence or display of a text; points inside numbers and formulas do not end it."""
    text = text.lstrip(" \t\r\n:：")[: 2 * SENTENCE_CHARS]
    inside = False
    for index, char in enumerate(text):
        if char == "$" and text[index - 1 : index] == "$" and index:
            continue
        if char == "$" or text.startswith(("\\(", "\\)", "\\[", "\\]"), index):
            inside = not inside
        elif not inside and (
            char in "。．\n" or (char in ".!" and text[index + 1 : index + 2] in {"", " ", "\n", "."})
        ):
            return text[:index]
    return text


def _value_in(sentence: str) -> str | None:
    """The value that a sentence states; None when it is prose."""
    sentence = sentence.strip().lstrip("为是:： ")
    if not sentence or len(sentence) > SENTENCE_CHARS:
        return None
    if (stated := _stated(sentence)) and not _qualified(sentence, stated.start("value")):
        return stated["value"].strip()
    prose = bare(_MATH.sub("", sentence))
    return sentence if len(prose) <= (120 if prose == bare(sentence) else 40) else None


def _unmarked(text: str) -> Found:
    """A text that is only a value, a concluding sentence with one formula, a last line that is only a value."""
    ending = _without_politeness(tail(text))
    lines = [line.strip() for line in ending.splitlines() if line.strip()]
    if not lines:
        return NOTHING
    if len(ending) <= 200:
        formulas = _formulas(ending)
        words = _MATH.sub("", ending)
        if len(formulas) == 1 and not re.search(r"\d", words):
            said = ending[: next(_MATH.finditer(ending)).start()]
            return ([formulas[0]] if not _qualified(said, len(said)) else [ending.strip()]), "whole"
        lines[0] = _ANSWERED.sub("", lines[0]) or lines[0]
        only = lines[0] if "，" in lines[0] else lines[0].rstrip("。 ")
        if len(lines) == 1 and len(only) <= 100 and not re.search(r"[。！？?]|[.!] \w", only):
            return [_counted(only) or _stated_value(only) or only], "whole"
    last_lines = "\n".join(lines[-3:])
    for conclusion in list(_CONCLUSION.finditer(last_lines))[-1:]:
        rest = last_lines[conclusion.end() :]
        words = _MATH.sub("", rest)
        if len(_formulas(rest)) == 1 and len(bare(words)) <= 60 and not re.search(r"\d", words):
            return _formulas(rest), "conclusion"
        if counted := _counted(rest):
            return [counted], "conclusion"
        if equation := _EQUATION.fullmatch(rest):
            return [equation["value"]], "conclusion"
    if counted := _counted(_ANSWERED.sub("", lines[-1])) if _ANSWERED.match(lines[-1]) else None:
        return [counted], "conclusion"
    if stated := _stated(lines[-1]):
        value = [stated["value"].strip()]
        return (value if not _qualified(lines[-1], stated.start("value")) else [lines[-1]]), "conclusion"
    if _MATH.fullmatch(lines[-1].rstrip(".。 ")):
        return _formulas(lines[-1])[:1], "line"
    if len(lines) > 1 and _is_number(lines[-1]) and not _is_number(lines[-2]):
        return [lines[-1].rstrip(".。")], "line"
    bold = _BOLD.fullmatch(lines[-1])
    return ([bold[1].strip()], "line") if bold else NOTHING


def _is_number(line: str) -> bool:
    number = _BARE_NUMBER.fullmatch(line.rstrip(".。 "))
    return number is not None and not (number["unit"] and _no_unit(number["unit"]))


_ANSWERED = re.compile(r"\**答[:：]\s*")


def _without_politeness(text: str) -> str:
    """The text without a closing "I hope it is correct."."""
    polite = _POLITE.search(text, max(0, len(text) - 150))
    return text[: polite.start()] if polite else text


def _stated(text: str) -> re.Match[str] | None:
    """The value that a text ends with behind "is"; None where what stands behind the number is no unit."""
    stated = _STATED.search(text)
    if stated is None or (stated["unit"] and stated["unit"].strip() != "$" and _no_unit(stated["unit"])):
        return None
    return stated


def _no_unit(text: str) -> bool:
    return text.strip(" \\") != "%" and read_unit(to_latex(text.strip())) is None


def _stated_value(text: str) -> str | None:
    """The value of a sentence that says more; None where it says just the value, or qualifies it."""
    stated = _stated(text) if " " in text else None
    return None if stated is None or _qualified(text, stated.start("value")) else stated["value"].strip()


def _counted(text: str) -> str | None:
    """The one number of a sentence that counts: "there are 12 of them", "一共有8个"."""
    counted = _COUNTED.search(text)
    if (
        counted is None
        or len(_NUMBER.findall(text)) != 1
        or _MATH.search(text)
        or _qualified(text, counted.start("value"))
    ):
        return None
    return counted["value"]


_QUALIFIED = re.compile(
    r"[至最](?:少|多)|不(?:超过|小于|大于|少于|多于|低于|高于)|[大小多少高低]于|超过|以[上下]"
    r"|\b(?:at (?:least|most)|(?:more|less) than)\b",
    re.IGNORECASE,
)


def _qualified(text: str, start: int) -> bool:
    """Whether the words before a value deny it, or say "at least": then they belong to what is said."""
    return denied(text, start, start) or _QUALIFIED.search(text, max(0, start - 8), start) is not None


def _formulas(text: str) -> list[str]:
    """The formulas of a text, each with the unit that stands behind it in plain text ("$5$ m/s")."""
    found = ((next(filter(None, match.groups())).strip(), match.end()) for match in _MATH.finditer(text))
    return [formula + _unit_behind(text, end) for formula, end in found]


_BEHIND = re.compile(r"\s*([^\s\d.。,，;；:：、$()（）][^.。,，;；:：、\n$]{0,20})")


def _unit_behind(text: str, end: int) -> str:
    behind = _BEHIND.match(text, end)
    unit = read_unit(to_latex(behind[1].strip())) if behind else None
    return f" {behind[1].strip()}" if behind and unit is not None and unit.symbol else ""


def _labelled(text: str, count: int) -> list[str]:
    """One value a labelled part: its last box, what it says is the answer, or all of it."""
    return [_piece(piece) for piece in labelled_parts(text.replace("**", ""), count)]


_ANSWER_WORD = re.compile(
    r"(?:故|所以|因此)(?:正确)?(?:答案|填)|\b(?:the|final) answer is\b|(?:정답|답)은", re.IGNORECASE
)
_AND_THE = re.compile(r"[,;，；]?\s*\b(?:and|while)(?:\s+(?:for\s+)?the)?$", re.IGNORECASE)
_POINT = re.compile(r"(?<=\d)\.$")
_SHORT_PIECE = 30
_HEAD = re.compile(r"^\s*(?:[.．、:：)）]\s*)?(?:应?填(?:入|写)?|为|是|은|는)?\s*[:：]?(?=\s*\S)")


def _piece(text: str) -> str:
    found = boxes(text)
    if found:
        return found[-1].content
    if _ANSWER_WORD.search(text) and (said := _said(text, 1)[0]):
        return said[0]
    stripped = _HEAD.sub("", text).strip().strip(";；,，").strip()
    stripped = _AND_THE.sub("", stripped)
    stripped = _POINT.sub("", stripped)
    stripped = stripped.removesuffix("。") if len(stripped) <= _SHORT_PIECE else stripped
    if len(stripped) <= 120 and "\n" not in stripped:
        return stripped
    return (_said(text, 1)[0] or _unmarked(text)[0] or [stripped[:MAX_ANSWER]])[0]
