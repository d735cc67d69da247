"""Regions of a response: final text, boxes, tags and JSON; truncation, invented turns, emptiness.

`own_turn` ends before a question that a base model invents. `says_nothing` requires that no sentence could be an
answer, apart from loops and copies; for texts without commitment. Linear in the text.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from livek12.core.patterns import late
from livek12.core.question_types import CHOICE_TYPES
from livek12.core.records import Question
from livek12.engines.thinking import Thinking
from livek12.judges.parts import part_count, per_question
from livek12.judges.rules.labels import read_labels
from livek12.tasks.extraction.remarks import ANSWER, ANSWER_KO, ANSWER_ZH, SO

MAX_CHARS = 4_000_000
"""Of a longer response only its end is read."""
MAX_ANSWER = 2_000
MAX_OPEN = 400
"""Behind an answer tag that is never closed, more than this is no answer alone."""

_TURN_END = late(r"</s>|<\|(?!(?:begin|end)_of_box)[A-Za-z_▁]{2,24}\|>|<(?:eo[a-z]|end_of_(?:turn|text))>")
_SPACES = late(r"[^\S\n]{2,}|[^\S\n ]")
_ODD_ASCII = "\t\r\v\f\x1c\x1d\x1e\x1f"
_BLANK_LINES = late(r"\n(?: ?\n)+ ?")
_BOX = late(
    r"(?s)\\{1,2}(?:boxed|fbox|answer(?=\s*\{))\s*(?:\{|(?P<bare>-?\d+(?:\.\d+)?(?:/\d+)?|[A-Z]{1,8}(?![A-Za-z])|[A-Za-z]))|\\.|[{}]"
)
_BOX_NAMES = late(r"\\(?:boxed|fbox|answer)")
_TAG_NAME = r"(?:(?:final_)?answer|ans)\s*>"
_TAG = late(rf"(?i)<\s*(/?)\s*{_TAG_NAME}")
_TAGGED = late(rf"(?is)<\s*{_TAG_NAME}((?:(?!<\s*/?\s*{_TAG_NAME}).)*+)<\s*/\s*{_TAG_NAME}")

_THINKING = Thinking()
_FENCE = late(r"(?s)```\w{0,12}\n((?:(?!```).){1,20000}?)(?:```|\Z)")
_IS_PROGRAM = late(r"(?m)^\s*(?:def|class|import|from|for|while|return|print\()\b")
_IS_CODE = late(rf"{_IS_PROGRAM.pattern}|^\s*[A-Za-z_]\w*\s?[-+*/]?=[^=\n]*\n+\s*\w+")
"""A program: what it assigns is no commitment, and nothing here runs it."""
_COMMENT = late(r"(?m)(?:^|(?<=[})$]))[^\S\n]{0,4}%[^\S\n]{0,4}\\boxed[^\n]{0,400}")
"""A comment of LaTeX that is a box; a percentage is none."""
_STRUCK = late(r"~~[^~\n]{1,200}~~")
_HIDDEN = late(
    r"(?is)<!--.*?(?:-->|\Z)"
    r"|<(\w{1,10})\s(?=[^<>]{0,200}(?:display\s?:\s?none|visibility\s?:\s?hidden|\shidden\b))[^<>]{0,300}>.*?(?:</\1>|\Z)"
)
_SURE = late(
    r"(?i)(?<=[^\s:])\s{1,4}[*(]{0,3}(?:confidence|certainty)(?: (?:level|score))?"
    r"[*]{0,2} ?[:=][*]{0,2} ?\d[\d.]{0,4} ?%?[*).]{0,3}\Z"
)
_LOST_BOX = late(r"(?<![\\A-Za-z{])boxed(?:\(([^(){}\n]{1,60})\)|\{([^(){}\n]{1,60})\})")
_FRAME = late(r"\[\[([^\[\],\n\d]{0,40}\d[^\[\],\n]{0,40})\]\]\Z")
_BREAK = late(r"(?i)<br\s?/?>")
_END_MARK_CHARS = 64
_ENDING_MARKS = 4_000
_END_MARK = late(
    r"(?i)(?:<[|｜]?/?(?!(?:final_)?answer\b|ans\b)(?:[A-Za-z][\w▁.:-]{1,40}|(?-i:[spbiu])|0x[0-9A-F]{2})(?:\s?/|\s\d{1,3})?[|｜]?>"
    r"|\[/?(?:[A-Z]{2,20}_[A-Z0-9_]{1,20}|INST|EOS|EOT|END|PAD|STOP|DONE)\])\Z"
)
"""A token of a chat template that was printed, or a tag that closes nothing: "<eoa>", "<|end|>", "</div>"."""
_POWER = late(
    r"(?<![A-Za-z]{3})(?<!\*\*\w)(?<!\*\*\w\w)(?<!\*\*\w\w\w)(?<=[0-9A-Za-z)\]])\*\*(?=[-0-9A-Za-z(])(?![A-Za-z]{2})"
)
_CLOSING_BOX = late(
    rf"(?i)[\s*#>]*(?:{SO}[,，]?\s?)?(?:(?:the|our|my)\s)?(?:{ANSWER}(?:\s?[:：是为은는=]|\s(?:is|are)\b)[:：]?)?"
    r"[\s$*]*(?:\\[(\[]\s?)?(?-i:\\boxed)\s?\{(?P<content>(?:\\.|[^{}\\]|\{(?:\\.|[^{}\\])*\})*)\}[\s$.。*]*(?:\\[)\]][\s.。*]*)?"
)
_AROUND_CHARS = 40
_GOES_ON = late(
    r"[^\S\n]?(?:\\[,;!:]\s?)?(?:\\(?:cdot|times|div|pm|mp|[dt]?frac|sqrt|pi)(?![A-Za-z])|\^|[+*/−-]\s?(?:\d|\\[a-z])|[.]?\d|!\s?\$|\$?\s?[?？]"
    r"|[xyznk]\s?(?:\$|\\\))|\\text\s?\{\s?(?:is|are|was|times|plus|minus)\b(?!\s(?:the|our|my)\s(?:final\s|correct\s)?answer)|\$?\s(?:is|was)\s(?:only\s|just\s)?"
    r"(?:half|twice|double|a\s(?:third|half|quarter|part)|one\s(?:third|half|quarter)|the\s(?:square|half|double|reciprocal))\b)"
)
_BEGAN_BEFORE = late(
    r"(?:\\(?:cdot|times|div|sqrt(?:\[\d\])?\s?\{|[dt]?frac\s?\{(?:[^{}]{1,20}\}\s?\{)?)|(?:[=$:：是为]\s?|\s(?:is|are)\s|\A|\n)[-−](?!\s)|[\d)}]\s?[+/^−-])\s?\Z|\d\Z"
)
_QUOTED_KEY = late(r"[\"']\s{0,20}:")
"""A cheap test for JSON keys."""
_JSON_KEY = late(
    rf"(?i)(?<=[{{,\s])[\"'](?:(?:final|correct)?[_ ]?answers?|{ANSWER_ZH}|{ANSWER_KO})[\"']\s{{0,20}}:\s{{0,20}}"
    r"(?=[\"'\[{\d.tf-])"
)
_JSON_STRING = late(r"\"((?:[^\"\\\n]|\\.){0,2000})\"|'([^'\n]{0,400})'(?=\s{0,20}[,}])")
_VALUE_ENDS = late(r"\s{0,20}(?:\}|,\s{0,20}[\"']|\Z)")
_LATEX = late(r"\\[a-tv-zA-Z][a-zA-Z]|\\[()\[\]{},;!% ]")
_LAST_KEYS = 20
_MAX_OBJECT = 2_000
_ENDING_CHARS = 80
_OPEN_SIGNS = frozenset(",，、:：(（[【{=/&\\案以此故应该就是为选답서로은는이ſrnetsfodRNETSFOD")
"""The last signs of all that `_OPEN_END` finds, which looks at each place of the ending."""
_OPEN_END = late(
    r"(?i)[,，、:：(（\[【{=/&]$|(?<!\\)\\$|(?:答案|所以|因此|故)(?:应该?|就)?(?:是|为|选)?$|(?:结果|选项|应该)(?:是|为)$"
    r"|\b(?:answer|option|choice|value|result|that|the|is|are|be|of|to|and|or|so|therefore|thus|hence|because)$"
    r"|(?:정답|답|따라서|그러므로)(?:은|는|이)?$"
)
_NAMED_BEFORE = late(
    r"(?i)\S\s(?:is|are|was)\s(?:the|an?|our|my)\s(?:\w{2,12}\s)?(?:answer|option|choice|value|result)$"
)
"""An ending that says what was named before it ("7 is the answer")."""
_NEXT = late(
    r"\n[^\S\n]{0,8}[*#]{0,4}[^\S\n]?(?:"
    r"(?P<question>Q|Question|Problem|问|问题|题目|질문|문제)"
    r"|(?:Human|User|Instruction|用户|사용자))"
    r"\*{0,2}\s?[:：]\*{0,2}"
    r"|\n(?P<numbered>(?:Q|Question\s|问题|题目?)?\d{1,3}\s?[.．、:：,，])(?=[^\n]*(?:[(（]\s*[)）]|[?？]|,[^\n]*,|…|\.{3}))"
)
"""A line that puts a question or names another speaker; one with a number may be one of several asked."""
_ANSWERED = late(
    r"(?i)\\boxed|<answer>|####|(?:^|\n)[*# ]{0,4}A\s?[:：]|\banswers?\s?(?:is\b|are\b|[:=-])|\bans\s?[:=]"
    r"|答案|答[:：]|[故应]选|정답|답[:：은]"
)
_ONE_LINE = 200
_NO_WORDS = late(r"[\W_]+")
_COPIED_LINE = 12
_LOOKS = 20
_READ = 30_000
_LOOPS = 8
_LOOP_LINES = 12
_SENTENCE = late(r"[^。．！？；;\n]+")
_OPEN_BLANK = late(r"(?:\\?_|＿){2,}|\\underline\s*\{(?:q?quad|hspace\{[^{}]{0,20}\}|[\s\\~])*\}|[(（]\s*▲?\s*[)）]|▲")
_PICTURE = late(
    r"(?i)<\s*/?\s*(?:image|img|图)[^<>]{0,300}>|!\[[^\]\n]{0,300}\]\([^)\n]{0,300}\)|图\s?\d{0,3}\s?\.(?:png|jpe?g)"
)
_HEADING = late(
    r"(?i)[#*\s【\[`]*(?:图\s?\d{0,3}|解析?|解答|分析|详解|答案?|答题|回答下列问题|assistant|answers?|solution|풀이|해설|정답|답|python)?[】\]\s*`]*[:：]?\s*"
)
_ASIDE = late(r"[(（][^()（）]{0,40}[)）]")
_SIGNS = late(r"[^0-9A-Za-z\u00c0-\uffff]|[\u3000-\u303f\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65“”‘’]")
_RELATIONS = ("<", ">", "=", "<=", ">=", "+", "-", "+-")
_COPIED_CHARS = 8
_LABEL = late(r"(?:^|\s)([A-J])\s?[.．、](?=\s?\S)")
_JUDGED = late(
    r"(?i)答案|故选|应选|因为|所以|正确的?是|answer|because|정답은"
    r"|(?:正确|错误?|不对|对|符合|right|wrong|correct|true|false|옳다|틀리다)\s?[)）]?\s?[。.,，;；]?\s*(?=[A-J]\s?[.．、]|$)"
)
"""A word on the options, or on one at the end of its text."""


@dataclass(frozen=True)
class TextRegion:
    """A committed text, and the span of its marks."""

    start: int
    end: int
    content: str


def final_text(response: str, question: Question) -> str:
    """The first own turn of a response, without thinking, programs, confidence notes and end marks."""
    text = _THINKING.split(response).text[-MAX_CHARS:]
    if "```" in text:
        spoken = _FENCE.sub(lambda fence: "\n" if _IS_CODE.search(fence[1]) else fence[0], text)
        own = spoken.strip() or _IS_PROGRAM.search(text)  # lines of equations alone, in a block, are the answer
        text = spoken if own else _FENCE.sub(r"\1", text)
    if "<|begin_of_box|>" in text:  # a box made of tokens, as GLM writes it
        text = text.replace(r"<|begin_of_box|>\boxed{", r"\boxed{")
        text = text.replace("<|begin_of_box|>", r"\boxed{").replace("<|end_of_box|>", "}")
    text = _shown(text)
    if "<" in text:
        turns = [piece for piece in _TURN_END.split(text) if piece.strip()][:_LOOKS] or [""]
        spoken_turns = (turn for turn in turns if not says_nothing(turn, question)) if turns[1:] else iter(turns)
        text = _BREAK.sub("\n", next(spoken_turns, turns[0]))
    text = text.rstrip()
    head, ending = text[:-_ENDING_MARKS], text[-_ENDING_MARKS:]
    while mark := _END_MARK.search(ending, max(0, len(ending) - _END_MARK_CHARS)):
        ending = ending[: mark.start()].rstrip()
    text = head + ending
    if ":" in (ending := text[-_END_MARK_CHARS:]) or "=" in ending:
        text = text[:-_END_MARK_CHARS] + _SURE.sub("", ending)
    if text.endswith("]]"):
        text = _FRAME.sub(r"\\boxed{\1}", text)
    is_lost = "boxed(" in text or text.count("boxed{") > text.count("\\boxed{")
    return _LOST_BOX.sub(r"\\boxed{\1\2}", text) if is_lost else text


def _shown(text: str) -> str:
    """Removes comments, hidden elements and strikethrough ("~~")."""
    text = _STRUCK.sub("", text) if "~~" in text else text
    text = _COMMENT.sub("", text) if "%" in text else text
    return _HIDDEN.sub("", text) if "<" in text else text


@lru_cache(maxsize=8)
def tail(text: str, limit: int = 30_000) -> str:
    """The end of a text, white space shortened, for answers in words."""
    text = text[-limit:]
    if "  " in text or any(space in text for space in _ODD_ASCII) or not text.isascii():
        text = _SPACES.sub(" ", text)
    return _BLANK_LINES.sub("\n\n", text) if "\n\n" in text or "\n \n" in text else text


def without_stars(text: str) -> str:
    """Removes bold marks; a power in code ("x**2") gets a caret."""
    return _POWER.sub("^", text).replace("**", "") if "**" in text else text


def boxes(text: str) -> list[TextRegion]:
    r"""Contents of outermost closed \boxed{}, \fbox{} and \answer{}, in order."""
    return list(_read_boxes(text)[0])


@lru_cache(maxsize=8)
def _read_boxes(text: str) -> tuple[list[TextRegion], int | None]:
    """Closed boxes, and the start of the last if it is open."""
    first = _BOX_NAMES.search(text)
    if first is None:
        return [], None
    regions: list[TextRegion] = []
    stack: list[tuple[int, int] | None] = []
    last = (0, 0)
    for match in _BOX.finditer(text, len(text[: first.start()].rstrip("\\"))):
        token = match[0]
        if match["bare"]:
            regions.append(TextRegion(match.start(), match.end(), match["bare"]))
        elif len(token) > 2:
            stack.append(last := match.span())
        elif token == "{":
            stack.append(None)
        elif token == "}" and stack and (opened := stack.pop()):
            while regions and regions[-1].start > opened[0]:
                regions.pop()
            regions.append(TextRegion(opened[0], match.end(), text[opened[1] : match.start()].strip()))
    kept = [region for region in regions if 0 < len(region.content) <= MAX_ANSWER]
    return kept, last[0] if last in stack else None


def closing_box(text: str) -> str | None:
    """Content of the only box if it closes the text, alone in its line or behind "so the answer is"."""
    start = text.rfind("\\boxed")
    if start < 0 or _BOX_NAMES.search(text).start() != start:  # type: ignore[union-attr]
        return None
    match = _CLOSING_BOX.fullmatch(text, text.rfind("\n", 0, start) + 1)
    content = match["content"].strip() if match else ""
    return content if 0 < len(content) <= MAX_ANSWER else None


def part_of_formula(text: str, box: TextRegion) -> bool:
    r"""Checks for a box within a formula ("\boxed{9}\cdot 2"), or called a part."""
    before = text[max(0, box.start - _AROUND_CHARS) : box.start]
    return bool(_GOES_ON.match(text, box.end, box.end + _AROUND_CHARS) or _BEGAN_BEFORE.search(before))


def closed(text: str) -> str:
    """Closes the last answer tag if a short answer follows."""
    tags = list(_TAG.finditer(text)) if "<" in text else []
    if not tags or tags[-1][1] or not 0 < len(text[tags[-1].end() :].strip()) <= MAX_OPEN:
        return text
    return f"{text}</answer>"


def answer_tags(text: str) -> list[TextRegion]:
    """Contents of <answer>…</answer> and of "answer" in JSON, in order."""
    tags = _TAGGED.finditer(text) if "<" in text else ()
    regions = [TextRegion(tag.start(), tag.end(), tag[1].strip()) for tag in tags]
    regions = sorted([*regions, *outside_of(regions, _json_answers(text))], key=lambda region: region.start)
    return [region for region in regions if region.content]


def _json_answers(text: str) -> list[TextRegion]:
    """Values of the last "answer" keys, or of numbered keys."""
    quotes = '"' in text or "'" in text
    keys = list(_JSON_KEY.finditer(text))[-_LAST_KEYS:] if quotes and _QUOTED_KEY.search(text) else []
    read = [(key.start(), _json_value(text, key.end())) for key in keys]
    answers = [TextRegion(start, value.end, value.content) for start, value in read if value is not None]
    if not answers and text.strip("`jsonJSON \n").startswith("{") and len(text) <= _MAX_OBJECT:
        start = text.index("{")
        value = _json_value(text, start)
        answers = [] if value is None or text[value.end :].strip("` \n") else [value]
    return answers


def _json_value(text: str, start: int) -> TextRegion | None:
    if match := _JSON_STRING.match(text, start):
        return TextRegion(start, match.end(), _unescaped(match[1] if match[1] is not None else match[2]))
    try:
        value, length = json.JSONDecoder().raw_decode(text[start : start + MAX_ANSWER])
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict | list) and not _VALUE_ENDS.match(text, start + length):
        return None
    if isinstance(value, dict):
        numbers = ["".join(char for char in key if char.isdigit()) for key in value]
        if numbers != [str(number) for number in range(1, len(value) + 1)]:
            return None
        value = list(value.values())
    pieces = value if isinstance(value, list) else [value]
    if not pieces or not all(isinstance(piece, str | int | float) for piece in pieces):
        return None
    words = [piece if isinstance(piece, str) else json.dumps(piece) for piece in pieces]
    return TextRegion(start, start + length, "; ".join(words).strip())


def listed_in_json(text: str) -> str | None:
    """A JSON list, joined by semicolons; else None."""
    value = _json_value(text, 0) if text.startswith("[") else None
    return value.content if value is not None and value.end == len(text) else None


def _unescaped(text: str) -> str:
    r"""A JSON string; undoubled LaTeX backslashes ("\frac") are kept."""
    if "\\\\" not in text and _LATEX.search(text):
        return text.replace('\\"', '"').strip()
    try:
        return str(json.loads(f'"{text}"')).strip()
    except ValueError:
        return text.strip()


def cut_off(text: str) -> bool:
    """Checks for an unclosed box or clause at the end."""
    ending = text[-_ENDING_CHARS:].rstrip(" \t\r\n*_`")
    return box_cut_off(text) or (
        ending[-1:] in _OPEN_SIGNS and _OPEN_END.search(ending) is not None and not _NAMED_BEFORE.search(ending)
    )


def box_cut_off(text: str) -> bool:
    """Checks for an unclosed last box."""
    start = _read_boxes(text)[1]
    return start is not None and len(text) - start <= MAX_ANSWER


def outside_of(holders: Sequence[TextRegion], regions: Sequence[TextRegion]) -> list[TextRegion]:
    """Regions outside all holders; both sorted."""
    starts = [holder.start for holder in holders]
    places = ((region, bisect_right(starts, region.start)) for region in regions)
    return [region for region, place in places if not place or holders[place - 1].end <= region.start]


def own_turn(text: str, question: str) -> str:
    """The text before the first line that puts another question after an answer."""
    for line in islice(_NEXT.finditer("\n" + text), _LOOKS):
        before = text[: max(0, line.start() - 1)]
        put = _NO_WORDS.sub("", text[line.end() - 1 :][:_ONE_LINE].strip().partition("\n")[0])
        copied = len(put) >= _COPIED_LINE and put in _NO_WORDS.sub("", question)
        if not (copied or before.strip()):
            return text
        if not copied and _is_answer(before, bool(line["numbered"])):
            return before.strip()
    return text


def _is_answer(text: str, sure: bool) -> bool:
    """Checks for an answer, or a line alone before the next question; only for a label if it has to be `sure`."""
    line = text.strip()
    alone = "\n" not in line and len(text) <= _ONE_LINE
    is_label = alone and read_labels(line.rpartition("：")[2]) is not None
    return is_label if sure else is_label or (alone and text.endswith("\n")) or _ANSWERED.search(text) is not None


def spoken(response: str, question: Question) -> str:
    """The own text of a response after its thinking."""
    text = final_text(response, question).strip()
    return "" if says_nothing(text, question) else text


def says_nothing(text: str, question: Question) -> bool:
    """Checks whether all sentences are copies, or leave their blanks open (as many as there are parts)."""
    if text in _RELATIONS:
        return False
    if question.question_type in CHOICE_TYPES and _LABEL.search(text):
        text = "\n".join(line for line in text.splitlines() if not lists_options(line))
    own = _own_sentences(_without_loop(text)[:_READ], _asked(question))
    blanks = [len(_OPEN_BLANK.findall(sentence)) for sentence in own]
    if not any(count == 0 for count in blanks):
        return True
    opened = [index for index, count in enumerate(blanks) if count]
    if sum(blanks) < max(2, part_count(question)) or opened[-1] < len(blanks) - 1:
        return False
    between = blanks[opened[0] :].count(0)
    return 3 * between <= len(opened)


def lists_options(line: str) -> bool:
    """Checks for repeated options without comment."""
    labels = "".join(match[1] for match in _LABEL.finditer(line))
    rising = len(labels) > 2 and labels == "ABCDEFGHIJ"[: len(labels)] and line.lstrip().startswith("A")
    return rising and not _JUDGED.search(line)


def _own_sentences(text: str, question: str) -> list[str]:
    own: list[str] = []
    before, seen = "", set[str]()
    sentences = _SENTENCE.findall(_PICTURE.sub("", text))
    for number, sentence in enumerate(sentences, 1):
        plain = _signs(sentence)
        copied = len(plain) >= _COPIED_CHARS and (plain in question or plain in before)
        cut_copy = number == len(sentences) and any(other != plain and other.startswith(plain) for other in seen)
        empty = not _signs(_ASIDE.sub("", sentence)) or _HEADING.fullmatch(sentence)
        if not (plain in seen or copied or cut_copy or empty):
            own.append(sentence)
        seen.add(plain)
        before += plain
    return own


@per_question
def _asked(question: Question) -> str:
    return _signs(" ".join([question.question, *(f"{option.label} {option.text}" for option in question.options)]))


def _signs(text: str) -> str:
    return _SIGNS.sub("", text)


def _without_loop(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip(" `\t")]
    for unit in range(1, min(_LOOP_LINES, len(lines) // _LOOPS) + 1):
        end = len(lines) - (lines[-1 - unit].startswith(lines[-1]) and lines[-1 - unit] != lines[-1])
        start = end
        while start > unit and lines[start - 1] == lines[start - 1 - unit]:
            start -= 1
        if end - start >= (_LOOPS - 1) * unit:
            return "\n".join(lines[: max(0, start - unit)])
    return text
