"""Values that a response commits to: blanks, sub-questions, named variables, truth values.

In order of strength: boxes and answer tags (the later wins), "the answer is", labelled parts, names; unless truncated,
also a concluding sentence, a last line of only the value, a bare value. A denied value is returned with its words.
Short prose answers are returned whole.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby, pairwise

from livek12.core.patterns import late
from livek12.core.question_types import CHOICE_TYPES, type_of
from livek12.core.records import Question
from livek12.judges.parts import blank_count, blank_values, needs_prose, part_count
from livek12.judges.rules.notation import bare, named_together, to_latex
from livek12.judges.rules.true_false import read_truth
from livek12.judges.rules.units import read_unit
from livek12.tasks.extraction import remarks
from livek12.tasks.extraction.closings import MATH, announced_value, closing_values, sentence_value
from livek12.tasks.extraction.labelled import labelled_parts, named_values, tabled_values
from livek12.tasks.extraction.regions import (
    MAX_ANSWER,
    TextRegion,
    answer_tags,
    boxes,
    listed_in_json,
    part_of_formula,
    says_nothing,
    tail,
    without_stars,
)
from livek12.tasks.extraction.words import classes

_LAST_VALUE = late(
    rf"(?i)(?P<so>{remarks.SO}\b[,:：]?\s*(?:we\s(?:choose|get|have|take|obtain)\s)?)?"
    r"(?:(?P<value>\$[^$\n]{1,100}\$|\([^()\n]{1,40}\)|[-−]?\d[\d.,/]{0,30}\s?[^\W\d_]{0,4}(?:/[a-z]{1,3})?)"
    r"|(?(so)(?P<led>[^\s.]{1,40})|(?!)))[.。]?"
)
Found = tuple[list[str], str]
NOTHING: Found = ([], "none")
SENTENCE_CHARS = 400
_LAST_PHRASES = 20
_AFTER_CHARS = 8_000
_BEFORE_CHARS = 20
_SAID = late(
    r"(?i)(?:(?:最终|正确|标准|参考)?(?:答案|结果)\s*[】\]]?\s*(?:应该|应当|应|即|就)?\s*(?:为|是|等于|[:：])+|【答案】|(?:故|所以|因此)填"
    r"|(?:故|所以|因此)?(?:答案)?应?填(?:写|入|的是)?\s*[:：]|(?:故|所以|因此)答案\s*(?:应)?(?:为|是)?"
    r"|[两二三四五2-5]个?空(?:依次|分别)?(?:应?填|为|是)\s*[:：]?"
    r"|(?<![a-z])(?:final\s+)?answers?\s*(?:to\s+[^.\n]{1,60})?(?:is|are|(?:would|must|should|has to|will) be"
    r"|[:：=→⇒])+(?:\s*approximately)?"
    r"|(?<![a-z])ans(?:\.(?=\s)|\s?[:：=])"
    rf"|{remarks.ANSWER_KO}\s*(?:은|는|이(?![다며고라었])|[:：])+"
    r"|(?:^|\n)####\s?(?=-?[$\\\d(\[]|[a-z]\s?=)|(?<=\S) ?####\s(?=\S)"
    r"|(?:^|\n)[*]{0,2}A[*]{0,2} ?:(?=\s?(?:[-−–+$€£¥\d\\(.]|\S{1,20}[\^=*/+])\S{0,60}(?:\s?[a-z°%]{1,12}\.?)?\s*\Z)"
    r"|(?<![a-z])(?:final\s)?(?:answer|ans) ?[-–—] (?=[-−$\d\\(.])"
    rf"|(?:^|\n)[# ]{{0,8}}{remarks.ANSWER} ?(?=\n))[^\S\n]*[:：]?"
)
_CONCLUSION = late(
    rf"(?i)(?:(?:^|[。.!,，;；\n])\s*(?:{remarks.SO_ZH}|∴|\$?\\therefore|{remarks.SO_KO})|(?:^|[.!\n])\s*{remarks.SO_EN})"
    r"(?:[，,:： ]|(?<=[以此故])(?=[A-Za-z$\\]))"
)
_EQUATION = late(r"\s*(?P<value>[A-Za-z]\w{0,3} ?= ?[^\s，,。；;=]{1,40}?)[。.]?\s*")
_STATED = late(
    r"(?:为|是|等于|得|即|\bis|\bit's|\bare|\bequals?|\b(?:we|i)\s(?:get|obtain|find)|\bgives|\byields"
    r"|\b(?:in|de)creases? by)\s*[:：]?\s*"
    r"(?P<value>\$[^$\n]{1,300}\$|\\\((?:(?!\\\)).){1,300}\\\)"
    r"|-?\d(?:[\d,.]{0,30}\d)?(?:/\d{1,9})?(?P<unit>\s?(?:\\?%|[€$£¥°℃]|[a-zA-Z]{1,4}(?:/[a-zA-Z]{1,3})?[²³]?))?)\s*[.。]?\s*$"
)
_COUNTED = late(
    r"(?i)(?:\bthere (?:are|is|were)|[一总]?共(?:计)?有?|모두|총)\s*(?:a total of|exactly|only)?"
    r"\s*(?P<value>\d[\d,]{0,12})(?![\d.]|\s?(?:hundred|thousand|[mb]illion|dozen|pairs?|[百千打对双백천만억쌍])|\s?[√^/*+×·:=π~～–—-]\s?[\dA-Za-z√π(\\$])"
)
_BARE_NUMBER = late(r"-?\d[\d,.]*(?:/\d+)?\s?(?P<unit>(?:\\?%|[€$£¥°℃]|[a-zA-Z]{1,4}(?:/[a-zA-Z]{1,3})?[²³]?)?)")
_POLITE = late(
    r"(?i)\n\s*\**(?:(?:let(?:['’]s| me| us) )?(?:verify|check)(?:ing)?\b|verification\b|验证|验算|检验|검산)"
    r"[^\n]{0,120}\Z"
    r"|[,，]\s?(?:经检验[,，]?)?[均都]?(?:符合题意|满足(?:题意|条件)|成立)[。.]?\s*$"
    r"|\s*(?:\b(?:I )?hope (?:it|this|that)[^.\n]{0,40}|希望[^。\n]{0,30}(?:帮助|满意)"
    r"|\bLet me know[^.\n]{0,80})[.!。！]?\s*$"
)
_NUMBER = late(r"\d[\d,.]*")
_BOLD = late(r"\*\*([^*]{1,80})\*\*[.。]?")
_LINE_CHARS = 100
_MISLABELLED = late(
    r"(?i)\W{0,4}(?:(?:오답|wrong|incorrect|false|常见错|易错|错误|误)\w{0,12}\W{0,3}[:：]"
    r"|(?:let|given|suppose|assume|start|compare|we\sare\sgiven)\b|[设令]\b|已知|假设|만약)|[^\d，。]{0,12}增根"
)
"""Beginnings of a line that calls its value wrong, or given."""
_CLAUSE = late(r"[。.!！?？;；,，](?=\s|[^\x00-\x7f]|\Z)")
_ASKS = late(r"[^。.!！\n]{0,40}[?？]")
_OTHER_CLAIM = late(
    r"(?i)(?:(?:그런데|하지만|그러나|사실은?)[^.\n]{0,60}(?:므로|니까|라서|어서|아서),?\s"
    r"|\b(?:correct|right|true|actual|real)\s(?:answer|value|result|number|count|one)(?:\s(?:is|was|would\sbe|should\sbe|=)|:)\s"
    r"|\b(?:asked|wanted|sought|asks\sfor)\b[^.\n]{0,30}\b(?:is|equals|=)\s"
    r"|(?:正确|真正|实际|真实)的?(?:答案|结果|值)?(?:应该?)?(?:是|为))\$?(-?\d[\d.,/]*)"
)
"""Words that replace the value before."""
_VALUES = late(r"[\d\\]|\$[^\s(（,，.。;；]")
"""Patterns of other values."""
_WRONG_INSIDE = late(
    r"(?i)[(（,，]\s?(?:this|that|it|which)?\s?(?:is|was)?\s?(?:错|误|不对|不正确|作废|wrong|incorrect|not\s(?:correct|right)|틀|오답)|[✗✘❌]"
    r"|(?:[\d$}]|(?<![A-Za-z])[A-J](?![A-Za-z]))[^\n]{0,80}?(?:\b(?:wrong|incorrect|mistaken|scratch\sthat|reconsider)\b|不对|错误|有误|틀[리렸린])"
)
_SENTENCE = late(
    r"(?s)(?:[a-z]!)?(?:\$\$?[^$]*\$?\$?|\\[()\[\]].*?(?:\\[()\[\]]|\Z)|(?:(?<=[\d)}])|(?<=[^A-Za-z][a-z]))!"
    r"|[.!](?![ \n.]|\Z)|[^$。．\n.!\\]|\\)*+"
)
"""Up to the end of a sentence that is in no formula and no factorial."""
_OPENS = late(r"[\s:：]*(?:```\w{0,10}\n\s*|(?<=\n)[-•+]\s+(?=\S))?")
"""Text allowed between "the answer is" and the answer: a new line, a fence of code, a bullet."""
_ADVERB = late(
    r"(?i)(?:(?:therefore|thus|then|indeed|simply|exactly|precisely|clearly|just|equal to|given by)\s"
    r"|(?:恰好|正好|恰|等于)(?=[\s$\d\\])|(?:정확히|분명히|바로)\s){1,3}"
)
_REASON_BEHIND = late(r"(?<=[\w$})）])\s{0,3}(?=解析|【|因为|理由[是为:：])")
_COPULA_KO = late(r"(?<=[$)}])(?:입니다|이다|이에요|예요|임)[.]?\Z")
_LEADS = late(
    r"(?i)(?:\b(?:is|are|was|be|equals?|equal\sto|gives?|yields?|gets?|obtain|find|have|has|becomes?|to|at|by|of|that|so|thus|hence|therefore|answer|result)|\b(?:it|that)['’]s"
    r"|[=:：,，*→⇒为是得到出即有取于]|所以|因此|故|따라서|그러므로|[은는이가을를로]|[。.!！?？;；\n]|\A)\s*\Z"
)
"""Text before the only formula of a conclusion: a verb, a sign, or the end of a sentence."""
_IS_ANSWER = late(
    r"(?i)\s?(?:\bis\sthe\s(?:\w{2,12}\s)?answer\b|(?:就是|即为|即是|是)(?:本题的?|最终|正确)?的?答案"
    r"|(?:이|가)\s?(?:최종\s?)?(?:정답|답)(?:이|입|임))"
)
_CLAUSE_BORDER = late(r"[。！？?\n；;：]|(?<![\d)}])!|[.:](?=\s)|(?<=[A-Za-z\u4e00-\u9fff\uac00-\ud7a3])(?:,(?=\s)|，)")
"""A comma behind a number may be one of a list."""
_LEADS_IN = late(
    r"(?i)\A(?:\s?(?:(?:and|so|thus|hence|therefore|then|finally|clearly|consequently|that)\b"
    r"|(?:this|which|it)\s(?:means|follows|implies)\b|(?:i|we)\s(?:think|believe|see|find|know|conclude)\b"
    rf"|{remarks.SO}|即"
    r"|[가-힣]{1,10}(?:면|므로|니까|어서|아서|여)(?=\s))[,，:]?){1,3}(?![\u4e00-\u9fff\uac00-\ud7a3])"
)
_NAMED_VALUE = late(r"(?:[A-Za-z]\w{0,3}\s?=\s?)?(?P<value>\S(?:.{0,98}\S)?)")
_FUNCTION = late(
    r"(?<![A-Za-z])\\?(?:sqrt|log|ln|lg|sin|cos|tan|exp|pi|d?frac|cdot|times|le|ge|leq|geq|pm)(?![A-Za-z])"
)
_UNIT_BEHIND = late(r"(?<=\d)\s?(\\?%|[€$£¥°℃]|[A-Za-zμΩ]{1,4}(?:/[A-Za-z]{1,3})?[²³]?|[\u4e00-\u9fff]{1,3})\Z")
_EXPRESSION = late(r"(?:(?<![A-Za-z])[A-Za-z](?![A-Za-z])|[\d\s{}()\[\]|.,+−*/^=<>≤≥≠≈±√∛·×÷:πθαβ°%!'$€£¥_\\²³∞-])+")
_LED = r"(?:(?:hence|so|thus) )?(?:the )?(?:final )?(?:result|solution|value)"
_ANSWERED = late(rf"(?i)\**(?:答|解|结果|{_LED}|결과)\** ?[:：]\**\s*(?=\S)")
_DOUBTFUL = frozenset(("deny", "hedge", "suppose", "part"))
_QUALIFYING = frozenset(("hedge", "bound", "suppose", "or"))
_GROUNDS = late(
    r"(?i)\d[^.\n]{0,60}(?:\b(?:because|since|while|whereas|where|when|as)\s|因为|由于)"
    r"(?!.*(?:\b(?:therefore|thus|hence|so)\b|所以|因此))"
)
"""Words behind a number that begin what it follows from: the value behind them is another."""
_BEHIND = late(r"\s*([^\s\d.。,，;；:：、$()（）][^.。,，;；:：、\n$]{0,20})")
_ANSWER_WORD = late(rf"(?i){remarks.SO_ZH}(?:正确)?(?:答案|填)|\b(?:the|final) answer is\b|{remarks.ANSWER_KO}은")
_AND_THE = late(r"(?i)[,;，；]?\s*\b(?:and|while)(?:\s+(?:for\s+)?the)?$|\s*\n[-*•]$")
_POINT = late(r"(?<=\d)\.$")
_SHORT_PIECE = 30
_HEAD = late(r"^\s*(?:[.．、:：)）]\s*)?(?:应?填(?:入|写)?|为|是|은|는)?\s*[:：]?(?=\s*\S)")
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


def _ends_otherwise(behind: str, value: str) -> bool:
    last = _LAST_VALUE.fullmatch(behind.rstrip().rpartition("\n")[2].strip()) if "\n" in behind.strip(" ") else None
    if last is None:
        return False
    other = bare(last["led"] or last["value"])
    return other not in value and bare(value) not in other


def stated_values(text: str, count: int, answered: bool = False, truncated: bool = False) -> Found:
    """The values behind the last "the answer is", as many as parts; none at the very end of a truncated text."""
    ending = remarks.settled(without_stars(tail(text)))
    matches = list(_SAID.finditer(ending))[-_LAST_PHRASES:]
    for index, match in reversed(list(enumerate(matches))):
        if answered and text.count("```", 0, match.start()) % 2:
            continue
        if (index or answered) and remarks.is_remark(ending, match.start(), match.end()):
            continue
        rest = ending[match.end() : match.end() + _AFTER_CHARS]
        if count > 1:
            values = labelled_values(rest, count) or blank_values(_sentence(rest), count)
            if len(values) == count and not (truncated and rest.rstrip().endswith(values[-1])):
                return values, "phrase"
        elif value := _value_in(_sentence(rest)):
            stated = rest.find(value) + len(value)
            if truncated and stated >= len(rest.rstrip()):
                continue
            end = match.end() + stated
            denial: int | None = end
            said_wrong = remarks.denied(ending, match.start(), end) or remarks.false_lead(ending, *match.span())
            if said_wrong or (denial := denied_until(ending, end, value)):
                return [remarks.quoted(ending[max(0, match.start() - _BEFORE_CHARS) : denial])], "phrase"
            if _ends_otherwise(ending[end:], value):
                return [remarks.quoted(ending[match.start() :][-_AFTER_CHARS:])], "phrase"
            return [value], "phrase"
    return NOTHING


def standing_value(text: str, stated: Found) -> Found:
    """A value found by place; with its words where denied or hedged."""
    if not stated[0] or not stated[0][0] or (start := text.rfind(stated[0][0])) < 0:
        return stated
    value = stated[0][0]
    begin, end = text.rfind("\n", 0, start) + 1, start + len(value)
    line = text[begin : (text.find("\n", end) + 1 or len(text) + 1) - 1]
    before, behind = MATH.sub("", text[begin:start]), MATH.sub("", line[end - begin :])
    near = [*_CLAUSE.split(remarks.TURN.split(before)[-1])[-2:], *_CLAUSE.split(behind)[:2]]
    near += [value] if value[0].isdigit() else []
    denial = denied_until(text, end, value)
    begins = len(line) <= _LINE_CHARS and _MISLABELLED.match(line)
    doubted = (
        begins
        or any(_DOUBTFUL & kinds or remarks.reports(kinds) for kinds in map(classes, near))
        or _ASKS.match(behind)
    )
    if denial is None and not doubted:
        return stated
    return [remarks.quoted(line if denial is None else text[start:denial])], stated[1]


def denied_until(text: str, end: int, value: str) -> int | None:
    """The end of the denial of the value before `end`, or None."""
    if _WRONG_INSIDE.search(value):
        return end
    for other in _OTHER_CLAIM.finditer(text, end):
        if other[1].rstrip(".,") not in value:
            return other.end()
    named = remarks.Named(remarks.written_value(text, end, value), _VALUES)
    return remarks.taken_back(text, end, named)


def _sentence(text: str) -> str:
    opened = _OPENS.match(text)
    sentence = _SENTENCE.match(text[opened.end() if opened else 0 :][: 2 * SENTENCE_CHARS])
    return sentence[0] if sentence else ""


def _value_in(sentence: str) -> str | None:
    sentence = _REASON_BEHIND.split(sentence, maxsplit=1)[0].strip().lstrip("为是:：# ")
    sentence = _COPULA_KO.sub("", _ADVERB.sub("", sentence, count=1) if _ADVERB.match(sentence) else sentence)
    if not sentence or len(sentence) > SENTENCE_CHARS:
        return None
    if stated := _plainly_stated(sentence):
        return stated
    prose = bare(MATH.sub("", sentence))
    return sentence if len(prose) <= (120 if prose == bare(sentence) else 40) else None


def unmarked_value(text: str) -> Found:
    """A bare value, a conclusion with one formula, a last line of only the value."""
    ending = tail(text)
    polite = _POLITE.search(ending, max(0, len(ending) - 150))
    ending = ending[: polite.start()] if polite else ending
    lines = [line.strip() for line in ending.splitlines() if line.strip()]
    if not lines:
        return NOTHING
    if named := _value_in_front(lines[-1]):
        return [named], "whole" if len(lines) == 1 else "conclusion"
    if len(ending) <= 200:
        formulas = _formulas(ending)
        words = MATH.sub("", ending)
        if len(formulas) == 1 and not re.search(r"\d", words):
            said = ending[: next(MATH.finditer(ending)).start()]
            plain = _LEADS.search(said) and not _qualified(said, len(said))
            whole = remarks.quoted(ending) if _DOUBTFUL & classes(words) else ending.strip()
            return [formulas[0] if plain else whole], "whole"
        lines[0] = _ANSWERED.sub("", lines[0]) or lines[0]
        only = lines[0] if "，" in lines[0] else lines[0].rstrip("。 ")
        if len(lines) == 1 and len(only) <= 100 and not re.search(r"[。！？?]|[.!] \w", only):
            led = [only[match.end() :] for match in _CONCLUSION.finditer(only) if match.start()][-1:]
            solved = _EQUATION.fullmatch(led[0]) if led else None
            value = solved["value"] if solved else _counted(only) or (_plainly_stated(only) if " " in only else None)
            return [value or only], "whole"
    last_lines = "\n".join(lines[-3:])
    rests = [last_lines[conclusion.end() :] for conclusion in _CONCLUSION.finditer(last_lines)][-1:]
    value = _concluded(rests[0]) if rests else None
    if value is None and (answered := _ANSWERED.match(lines[-1])):
        value = _counted(lines[-1][answered.end() :])
    if value:
        return [value], "conclusion"
    if _stated(lines[-1]):
        return [_plainly_stated(lines[-1]) or lines[-1]], "conclusion"
    if MATH.fullmatch(lines[-1].rstrip(".。 ")):
        return _formulas(lines[-1])[:1], "line"
    if len(lines) > 1 and _is_number(lines[-1]) and not _is_number(lines[-2]):
        return [lines[-1].rstrip(".。")], "line"
    bold = _BOLD.fullmatch(lines[-1])
    return ([bold[1].strip()], "line") if bold else NOTHING


def _concluded(rest: str) -> str | None:
    formulas, words = _formulas(rest), MATH.sub("", rest)
    if len(formulas) == 1 and len(bare(words)) <= 60 and not re.search(r"\d", words):
        return formulas[0]
    equation = _EQUATION.fullmatch(rest)
    return _counted(rest) or (equation["value"] if equation else None)


def _value_in_front(text: str) -> str | None:
    phrases = list(_IS_ANSWER.finditer(text))
    if not phrases or _VALUES.search(text, phrases[-1].end()):
        return None
    clause = text[: phrases[-1].start()][-SENTENCE_CHARS:]
    borders = list(_CLAUSE_BORDER.finditer(clause))
    value = _LEADS_IN.sub("", clause[borders[-1].end() if borders else 0 :], count=1).strip()
    plain = value.removeprefix("**").removesuffix("**")
    named = _NAMED_VALUE.fullmatch(plain)
    if not named or not (MATH.fullmatch(named["value"]) or is_expression(named["value"])):
        return None
    return plain


def is_expression(text: str) -> bool:
    """Checks for a value with nothing but its unit."""
    body = _FUNCTION.sub("", text)
    unit = _UNIT_BEHIND.search(body)
    body = body[: unit.start()] if unit and not _no_unit(unit[1]) else body
    return _EXPRESSION.fullmatch(body) is not None and any(char.isalnum() for char in body)


def _is_number(line: str) -> bool:
    number = _BARE_NUMBER.fullmatch(line.rstrip(".。 "))
    return number is not None and not (number["unit"] and _no_unit(number["unit"]))


def _stated(text: str) -> re.Match[str] | None:
    """The value behind a final "is", with a unit or none."""
    stated = _STATED.search(text)
    unit = stated["unit"] if stated else None
    return None if unit and unit.strip() != "$" and _no_unit(unit) else stated


def _plainly_stated(text: str) -> str | None:
    stated = _stated(text)
    return stated["value"].strip() if stated and not _qualified(text, stated.start("value")) else None


def _no_unit(text: str) -> bool:
    return text.strip(" \\") != "%" and read_unit(to_latex(text.strip())) is None


def _counted(text: str) -> str | None:
    counted = _COUNTED.search(text)
    if counted is None or len(_NUMBER.findall(text)) != 1 or MATH.search(text):
        return None
    return None if _qualified(text, counted.start("value")) else counted["value"]


def _qualified(text: str, start: int) -> bool:
    if _GROUNDS.search(text, max(0, start - SENTENCE_CHARS // 4), start):
        return True
    return remarks.denied(text, start, start) or bool(_QUALIFYING & classes(text[max(0, start - 12) : start]))


def _formulas(text: str) -> list[str]:
    """Formulas with the units behind them."""
    formulas = []
    for match in MATH.finditer(text):
        behind = _BEHIND.match(text, match.end())
        unit = read_unit(to_latex(behind[1].strip())) if behind else None
        written = f" {behind[1].strip()}" if behind and unit is not None and unit.symbol else ""
        formulas.append(next(filter(None, match.groups())).strip() + written)
    return formulas


def labelled_values(text: str, count: int) -> list[str]:
    """One value a labelled part: last box, stated answer, or all."""
    return [_piece(piece) for piece in labelled_parts(without_stars(text), count)]


def _piece(text: str) -> str:
    if regions := boxes(text):
        return regions[-1].content
    if _ANSWER_WORD.search(text) and (values := stated_values(text, 1)[0]):
        return values[0]
    stripped = _HEAD.sub("", text).strip().strip(";；,，").strip()
    stripped = _POINT.sub("", _AND_THE.sub("", stripped))
    stripped = stripped.removesuffix("。") if len(stripped) <= _SHORT_PIECE else stripped
    if len(stripped) <= 120 and "\n" not in stripped:
        return stripped
    return (stated_values(text, 1)[0] or unmarked_value(text)[0] or [stripped[:MAX_ANSWER]])[0]


def find_values(text: str, question: Question, truncated: bool, committed_only: bool = False) -> Found:
    """One value a part, or nothing; another number only if committed."""
    if fenced := _FENCED.fullmatch(text.strip()):
        text = fenced[1]
    count, ending = part_count(question), tail(text)
    blanks = blank_count(question) if count == 1 else 0
    if (result := _marked(text, count, blanks))[0]:
        return result
    if question.variables and (values := named_values(ending, [entry.name for entry in question.variables])):
        labelled = labelled_values(ending, count) if "" in values else []
        return labelled or values, "labelled" if labelled else "named"
    if (result := stated_values(text, count, truncated=truncated))[0]:
        if count == 1 and blanks < 2 and question.question_type not in CHOICE_TYPES:
            result = [announced_value(result[0][0], question.question) or result[0][0]], result[1]
        return result
    if values := tabled_values(ending, count) or (labelled_values(ending, count) if count > 1 else []):
        return values, "labelled"
    bare_list = text.strip() if _BARE_LIST.fullmatch(text.strip()) else ""
    bare_list = bare_list or "; ".join(named_together(text.strip(), count))
    values = blank_values(listed_in_json(text.strip()) or bare_list, count) if count > 1 and not truncated else []
    if len(values) == count > 1:
        return values, "whole"
    if truncated or committed_only:
        return NOTHING
    text = _EMPTY.sub("", text).strip()
    if count == 1 and (result := standing_value(text, _by_place(text, question)))[0]:
        return result
    row = type_of(question.question_type)
    prose = count > 1 or (row.answer == "values" and not row.blanks) or needs_prose(question)
    return ([text], "whole") if prose and not says_nothing(text, question) else NOTHING


def _by_place(text: str, question: Question) -> Found:
    """A bare or concluding value; else the number of a closing sentence."""
    result = unmarked_value(text)
    weak = not result[0] or result[1] == "line" or result[0][0].strip(_EDGE) == text.strip().strip(_EDGE)
    if not weak or question.question_type in CHOICE_TYPES or needs_prose(question):
        return result
    closing = closing_values(text, question.question) or sentence_value(text, question.question)
    return ([closing], "sentence") if closing else result


def _marked(text: str, count: int, blanks: int) -> Found:
    tags, regions = final_run(text, answer_tags(text)), boxes(text)
    regions = [box for box in regions if not remarks.supposed(text, box.start, box.end)]
    if not tags and not regions:
        return NOTHING
    end = max(region.end for region in [*tags, *regions])
    if len(tags) > 1 and tags[-1].end >= end:
        contents = [tag.content for tag in tags]
        return contents if len(tags) == count else [", ".join(dict.fromkeys(contents))], "answer_tag"
    later = stated_values(text[end:], 1, answered=True) if count == 1 and blanks < 2 else NOTHING
    if later[0] and any(char.isdigit() or char in "$\\" for char in later[0][0]):
        return later
    in_tag = bool(tags) and tags[-1].end >= end
    last = tags[-1] if in_tag else regions[-1]
    values = _tagged(last.content, count, blanks) if in_tag else _boxed(text, regions, count, blanks)
    goes_on = count == 1 and blanks < 2 and not in_tag and part_of_formula(text, last)
    wrong_at_once = goes_on or remarks.false_lead(text, last.start)
    denial = last.end if wrong_at_once else denied_until(text, last.end, last.content)
    if denial is not None:
        values = [remarks.quoted(text[last.start : denial])]
    return values, "answer_tag" if in_tag else "boxed"


def _tagged(content: str, count: int, blanks: int) -> list[str]:
    inner = boxes(content)
    if inner and (count > 1 or len(inner) == 1 or len(content) > SENTENCE_CHARS):
        return _boxed(content, inner, count, blanks)
    if count > 1:
        values = labelled_values(content, count) or blank_values(_plain_list(content), count)
        return values if len(values) == count else [content[:MAX_ANSWER]]
    if len(content) > SENTENCE_CHARS:
        return stated_values(content, 1)[0] or unmarked_value(content)[0] or [content[:MAX_ANSWER]]
    return [content]


def boxed_values(box: str, count: int) -> list[str]:
    """Values of all parts in one box, or none."""
    if count == 1:
        return [] if _WRONG_INSIDE.search(box) else [box]
    values = blank_values(_plain_list(box), count)
    return values if len(values) == count else []


_ONE_SENTENCE = late(
    r"[^.!?\n=≈]{0,30}\b(?:and|while)\b(?![^.!?\n]*\b(?:so|thus|hence|therefore|answer)\b)[^.!?\n=≈]{3,60}"
)
"""Words between two values that a sentence states together: "the smaller is 13 and the larger is 27"."""


def _boxed(text: str, regions: Sequence[TextRegion], count: int, blanks: int) -> list[str]:
    contents = [box.content for box in regions]
    if count == 1:
        if blanks > 1 and len(contents) >= blanks and len(blank_values(contents[-1], blanks)) != blanks:
            distinct = [content for content, _ in groupby(contents)]
            return ["; ".join((distinct if len(distinct) >= blanks else contents)[-blanks:])]
        run = final_run(text, regions)
        if len(run) == 1 < len(regions) and _ONE_SENTENCE.fullmatch(text, regions[-2].end, regions[-1].start):
            run = [*regions[-2:]]
        return [", ".join(dict.fromkeys(box.content for box in run))]
    if len(contents) == count:
        numbers = [_BOX_LABEL.search(text[max(0, box.start - 20) : box.start]) for box in regions]
        placed = {int(number[1]): content for number, content in zip(numbers, contents, strict=True) if number}
        return [placed[key] for key in sorted(placed)] if sorted(placed) == list(range(1, count + 1)) else contents
    whole = boxed_values(contents[-1], count)
    if len(contents) > count and len(final_run(text, regions)) == count:
        return contents[-count:]
    if whole:
        return whole
    if len(contents) > count:
        gaps = [after.start - before.end for before, after in pairwise(regions)]
        # The last boxes are the answers if close together and apart from earlier ones. Else (one was checked or
        # retracted) all are returned, undecided; a value boxed twice in a row counts once.
        together = max(gaps[-count + 1 :]) <= _NEAR_CHARS < gaps[-count]
        return contents[-count:] if together else [content for content, _ in groupby(contents)]
    return labelled_values(tail(text), count) or contents


def _plain_list(content: str) -> str:
    r"""A list without text mark-up ("\text{3, 5}")."""
    content = listed_in_json(content) or content
    whole = _TEXT.fullmatch(content.strip())
    return _TEXT_SIGN.sub(r"\1 ", _SPACE.sub(" ", whole[1] if whole else content))


def final_run(text: str, regions: Sequence[TextRegion], listed: re.Pattern[str] | None = None) -> list[TextRegion]:
    """The last box and those joined by connectors ("and", a comma, "y ="), or only by gaps of a list."""
    run = list(regions[-1:])
    for after, before in pairwise(reversed(regions)):
        gap = text[before.end : after.start]
        joined = _NAME_BEFORE.fullmatch(_GAP.sub("", gap)) or _NOUN_BETWEEN.fullmatch(gap)
        if not (listed.fullmatch(gap) if listed else joined and len(gap) <= _GAP_CHARS and "\n\n" not in gap):
            break
        run.insert(0, before)
    return run


_TRUTH_CHARS = 100
"""A response of one line that is no longer is an answer, readable or not."""
_WORD = (
    r"(?P<word>不正确|不成立|不对|不是|正确|错误|成立|真|假|对|错|是(?!另|[^\W\d_]{2})|否|√|×|✓|✗|맞다|맞음|맞습니다|틀리다|틀림|틀렸다|틀립니다"
    r"|참|거짓|옳지\s?않|맞지\s?않|옳다|옳습니다"
    r"|(?:not\s+|n't\s+)?(?:true|false|correct|incorrect|wrong|valid|invalid)\b|yes\b|no\b|(?<=[:：]\s)(?-i:[TFOX]\b)|(?<=[:：])(?-i:[TFOX]\b)|(?<=[은는]\s)(?-i:[OX](?![A-Za-z0-9]))"
    r"|(?<=is\s)(?-i:[TF]\b))(?![题品如期设象])(?!的?[吗呢么]|的?[？?]|\s+(?:only\s+)?(?:if|when)\b)"
)
_STATEMENT = (
    r"(?:判断|结论|结果|说法|命题|这句话|该句|陈述|叙述|表述|观点|진술|명제|statement|(?:verdict|judge?ment)(?!\s*[:：=]?\s*(?:yes|(?:in)?correct|right|wrong)\b)|claim|conclusion|assertion|proposition)"
    r"\s*(?:应为|应该是|并|是|为|은|는|이|가|is|:|：|=)*"
)
_ANSWER = (
    rf"(?:{remarks.ANSWER_ZH}|{remarks.ANSWER_KO}|answer)\s*(?:[】\]]\s*[:：]?|(?:应为|应该是|是|为|은|는|이|가|is|=)*\s*[:：]"
    r"|(?:应为|应该是|是|为)(?!\s*(?:正确|对|错误|错)的)|(?:은|는)|(?:is|=)(?!\s*(?:not\s+)?(?:in)?(?:correct|right|wrong)))"
)
"""An answer that "is correct" tells nothing of the statement: that is how a mark is forged."""
_COMMITMENT = late(rf"(?i)(?:{_STATEMENT}|{_ANSWER})\s*[:：]?\s*[(（“\"'*$]*\s*{_WORD}")
_CORRECTED = late(rf"(?i)(?:{remarks.RETRACTION})[,，\s]*(?:it'?s|it is|应该是|应为)?\s*{_WORD}")
_ALTERNATIVE = late(
    rf"(?i)\s*(?:或者?|还是|是(?=不|错)|or\b|and\b|和|또는|[/、,，])?\s*"
    rf"(?:[TFOX]\b|{_WORD.replace('?P<word>', '?:', 1)})"
)
_ABOUT_CHARS = 24
_ANY_SENTENCE = late(r"[^。.!！？?\n]+[。.!！？?\n]?|[。.!！？?\n]")
_ABOUT_ANOTHER = late(
    r"(?i)(?:否命题|逆命题|逆否|的(?:否定|逆)|另[一外]|其[他它余]|\b(?:negation|converse|inverse|contrapositive|opposite|other|another)\b"
    r"|역은|부정은|대우)[^,，。.;；\n]{0,24}\Z"
)
"""Judgements of the converse, the negation or another statement are not of this one."""
_NEGATED_KO = late(r"\s?(?:이|가|은|는|인\s?것은|지)?\s?(?:아니|아닌|아닙|않)")
_NOTHING_ELSE = remarks.Named(None, late(""))
"""Only a reason follows the truth value; it may mention errors."""


def find_truth(text: str, truncated: bool) -> Found:
    """The last truth value in a box, tag or "the statement is"; else a bare one."""
    marked = [(region, "boxed") for region in boxes(text)] + [(region, "answer_tag") for region in answer_tags(text)]
    marked.sort(key=lambda pair: pair[0].end)
    for region, method in reversed(marked):
        if read_truth(region.content, signs=True, reasoned=True) is not None:
            denial = remarks.taken_back(text, region.end, _NOTHING_ELSE)
            return [region.content if denial is None else remarks.quoted(text[region.start : denial])], method
    sentences = _ANY_SENTENCE.findall(without_stars(tail(text)))
    ending = "".join(sentence for sentence in sentences if sentence[-1] not in "?？")
    corrected = list(_CORRECTED.finditer(ending))
    if corrected:
        return [corrected[-1]["word"]], "phrase"
    commitments = list(_COMMITMENT.finditer(ending))
    for match in reversed(commitments):
        if not _ABOUT_ANOTHER.search(ending[max(0, match.start() - _ABOUT_CHARS) : match.start("word")]):
            return [_said(ending, match)], "phrase"
    if commitments:
        first = _ANY_SENTENCE.findall(ending)[0].strip()
        plain = read_truth(first, signs=True) is not None
        return [first if plain else remarks.quoted(ending.strip())], "phrase"
    if marked:
        return [marked[-1][0].content], marked[-1][1]
    lines = [line.strip() for line in ending.splitlines() if line.strip()]
    for line in [lines[-1], lines[0]] if lines and not truncated else []:
        if read_truth(line, signs=True, reasoned=True) is not None:
            return [line], "whole" if len(lines) == 1 else "line"
    short = len(lines) == 1 and len(lines[0]) <= _TRUTH_CHARS and not truncated
    return ([lines[0]], "whole") if short else NOTHING


def _said(text: str, match: re.Match[str]) -> str:
    """The word of a commitment; all words if not clear."""
    if _NEGATED_KO.match(text, match.end()):
        sentence = text[match.start() :].split("\n", maxsplit=1)[0].split(".", maxsplit=1)[0].strip()
        return sentence if read_truth(sentence, signs=True) is not None else remarks.quoted(sentence)
    unclear = _ALTERNATIVE.match(text, match.end()) or remarks.refused(text, match.start())
    denied = unclear or remarks.taken_back(text, match.end(), _NOTHING_ELSE) is not None
    return remarks.quoted(text[match.start() :]) if denied else match["word"]
