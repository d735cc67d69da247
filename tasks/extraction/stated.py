"""Values in words: "the answer is", a concluding sentence, a last line of only the value, labelled parts.

A denied value is returned with its words. The weakest claim is a closing sentence ("So 4 are left.", 所以每天赚9美元):
either the question asks for one or two numbers and the sentence, speaking of these, has as many new ones; or it has one
number, a subject, a verb and no qualifying word.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from livek12.core.languages import HAN, HANGUL
from livek12.core.patterns import late
from livek12.judges.parts import blank_values
from livek12.judges.rules.notation import bare, to_latex
from livek12.judges.rules.units import read_unit
from livek12.tasks.extraction import remarks
from livek12.tasks.extraction.clauses import (
    ANSWER,
    ANSWER_KO,
    HEDGED,
    NEGATION,
    SO,
    SO_EN,
    SO_KO,
    SO_ZH,
    TURN,
    sentence_before,
)
from livek12.tasks.extraction.labelled import labelled_parts
from livek12.tasks.extraction.regions import MAX_ANSWER, boxes, tail, without_stars

_LAST_VALUE = late(
    rf"(?i)(?P<so>{SO}\b[,:：]?\s*(?:we\s(?:choose|get|have|take|obtain)\s)?)?"
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
    rf"|{ANSWER_KO}\s*(?:은|는|이(?![다며고라었])|[:：])+"
    r"|(?:^|\n)####\s?(?=-?[$\\\d(\[]|[a-z]\s?=)|(?<=\S) ?####\s(?=\S)"
    r"|(?:^|\n)[*]{0,2}A[*]{0,2} ?:(?=\s?(?:[-−–+$€£¥\d\\(.]|\S{1,20}[\^=*/+])\S{0,60}(?:\s?[a-z°%]{1,12}\.?)?\s*\Z)"
    r"|(?<![a-z])(?:final\s)?(?:answer|ans) ?[-–—] (?=[-−$\d\\(.])"
    rf"|(?:^|\n)[# ]{{0,8}}{ANSWER} ?(?=\n))[^\S\n]*[:：]?"
)
_CONCLUSION = late(
    rf"(?i)(?:(?:^|[。.!,，;；\n])\s*(?:{SO_ZH}|∴|\$?\\therefore|{SO_KO})|(?:^|[.!\n])\s*{SO_EN})"
    r"(?:[，,:： ]|(?<=[以此故])(?=[A-Za-z$\\]))"
)
_EQUATION = late(r"\s*(?P<value>[A-Za-z]\w{0,3} ?= ?[^\s，,。；;=]{1,40}?)[。.]?\s*")
_MATH = late(r"(?s)\$\$(.{1,400}?)\$\$|\$([^$\n]{1,400})\$|\\\((.{1,400}?)\\\)|\\\[(.{1,400}?)\\\]")
_STATED = late(
    r"(?:为|是|等于|得|即|\bis|\bit's|\bare|\bequals?|\b(?:we|i)\s(?:get|obtain|find)|\bgives|\byields"
    r"|\b(?:in|de)creases? by)\s*[:：]?\s*"
    r"(?P<value>\$[^$\n]{1,300}\$|\\\((?:(?!\\\)).){1,300}\\\)"
    r"|-?\d(?:[\d,.]{0,30}\d)?(?:/\d{1,9})?(?P<unit>\s?(?:\\?%|[€$£¥°℃]|[a-zA-Z]{1,4}(?:/[a-zA-Z]{1,3})?[²³]?))?)\s*[.。]?\s*$"
)
_COUNTED = late(
    r"(?i)(?:\bthere (?:are|is|were)|[一总]?共(?:计)?有?|모두|총)\s*(?:a total of|exactly|only)?"
    r"\s*(?P<value>\d[\d,]{0,12})(?![\d.]|\s?[√^/*+×·:=π~～–—-]\s?[\dA-Za-z√π(\\$])"
)
_BARE_NUMBER = late(r"-?\d[\d,.]*(?:/\d+)?\s?(?P<unit>(?:\\?%|[€$£¥°℃]|[a-zA-Z]{1,4}(?:/[a-zA-Z]{1,3})?[²³]?)?)")
_POLITE = late(
    r"(?i)\n\s*\**(?:(?:let(?:['’]s| me| us) )?(?:verify|check)(?:ing)?\b|verification\b|验证|验算|检验|검산)"
    r"[^\n]{0,120}\Z"
    r"|[,，]\s?(?:经检验[,，]?)?[均都]?(?:符合题意|满足(?:题意|条件)|成立)[。.]?\s*$"
    r"|\s*(?:\bI hope (?:it|this|that)[^.\n]{0,40}|希望[^。\n]{0,30}(?:帮助|满意)"
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
_NEGATIVE = late(
    rf"(?i){NEGATION}|抱歉|可能|也许|或许|增根|接近|倒数|相反数"
    r"|\b(?:guess(?:ed)?|maybe|perhaps|might|may|possibly|if|suppose|previous|used\sto|without|says?|claims?|opposite|inverse|reciprocal|half"
    r"|twice|double|negative\sof|differs?\sfrom|contradicts|extraneous|an?\s(?:\w{2,12}\s)?(?:error|mistake|trap)(?!\s(?:in|of)))\b|[(（]\s?no\b"
    r"|다르|모르|무연근|지\s?[마말]|보다|역수|죄송|아마|(?:이)?라면"
)
_OTHER_CLAIM = late(
    r"(?i)(?:(?:그런데|하지만|그러나|사실은?)[^.\n]{0,60}(?:므로|니까|라서|어서|아서),?\s"
    r"|\b(?:correct|right|true|actual|real)\s(?:answer|value|result|number|count|one)(?:\s(?:is|was|would\sbe|should\sbe|=)|:)\s"
    r"|\b(?:asked|wanted|sought|asks\sfor)\b[^.\n]{0,30}\b(?:is|equals|=)\s"
    r"|(?:正确|真正|实际|真实)的?(?:答案|结果|值)?(?:应该?)?(?:是|为))\$?(-?\d[\d.,/]*)"
)
"""Words that replace the value before."""
_VALUES = late(r"[\d$\\]")
"""Patterns of other values."""
_WRONG_INSIDE = late(
    r"(?i)[(（,，]\s?(?:this|that|it|which)?\s?(?:is|was)?\s?(?:错|误|不对|不正确|作废|wrong|incorrect|not\s(?:correct|right)|틀|오답)|[✗✘❌]"
    r"|(?:[\d$}]|(?<![A-Za-z])[A-J](?![A-Za-z]))[^\n]{0,80}?(?:\b(?:wrong|incorrect|mistaken|scratch\sthat|reconsider)\b|不对|错误|有误|틀[리렸린])"
)
_MAY_BE_FACTORIAL = late(r"(?:\d|(?<![A-Za-z])[a-z]|[)}])\Z")
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
    rf"|{SO}|即"
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
_QUALIFIED = late(
    r"(?i)不(?:超过|小于|大于|少于|多于|低于|高于)|以[上下]|[至最](?:少|多)|[大小多少高低]于|超过|可能|也许|或许|大概|아마"
    r"|\b(?:at (?:least|most)|(?:more|less) than|(?:may|might|could) be|perhaps|maybe|probably)\b"
)
_GROUNDS = late(
    r"(?i)\d[^.\n]{0,60}(?:\b(?:because|since|while|whereas|where|when|as)\s|因为|由于)"
    r"(?!.*(?:\b(?:therefore|thus|hence|so)\b|所以|因此))"
)
"""Words behind a number that begin what it follows from: the value behind them is another."""
_BEHIND = late(r"\s*([^\s\d.。,，;；:：、$()（）][^.。,，;；:：、\n$]{0,20})")
_ANSWER_WORD = late(rf"(?i){SO_ZH}(?:正确)?(?:答案|填)|\b(?:the|final) answer is\b|{ANSWER_KO}은")
_AND_THE = late(r"(?i)[,;，；]?\s*\b(?:and|while)(?:\s+(?:for\s+)?the)?$")
_POINT = late(r"(?<=\d)\.$")
_SHORT_PIECE = 30
_HEAD = late(r"^\s*(?:[.．、:：)）]\s*)?(?:应?填(?:入|写)?|为|是|은|는)?\s*[:：]?(?=\s*\S)")
_CHARS = 120
_ANY_NUMBER = late(
    r"(?<![A-Za-z0-9_.,/^=+*(\\-])(?P<value>[-\u2212]?[$€£¥]?[-\u2212]?\d{1,12}(?:,\d{3}){0,4}(?:\.\d{1,12})?(?:/\d{1,9})?\\?%?)"
    r"(?![\d^_=+*/(²³:]|[.,]\d|[A-Za-z]|-)"
)
_JOINING = frozenset("√∛±∓+−*/^=<>≤≥≠≈~·×÷:π")
"""Signs by which a number is a piece of a larger value, or a bound of one."""
_CONCLUDED = late(rf"[,，] ?(?=(?:and )?{SO}(?![A-Za-z]))")
_SAYS = late(
    r"(?i)\b(?:is|are|was|were|equals?|will be|has|have|had|needs?|needed|gets?|got|makes?|made|earns?|earned"
    r"|spends?|spent|pays?|paid|costs?|gives?|takes?|took|becomes?|totals?|comes to"
    r"|(?:drops|rises|falls|(?:in|de)creases) (?:to|by)|ate|eats|sold|sells|bought|buys|saves?|saved|reads?|owes?"
    r"|collected|remain|remains|must be)\b"
    rf"|\A(?:{SO_ZH}|{SO_KO})[,，]?(?!\D*[,，;；:：])"
)
_OTHER = late(
    rf"(?i){NEGATION}|{HEDGED}|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|hundred|thousand|million|billion|dozen"
    r"|half|halves|thirds?|quarters?|fifths?|twice|double|triple|thrice|once|first|second|other|another|also|respectively"
    r"|more|fewer|less|than|least|most|over|under|above|below|about|around|approximately|roughly|nearly|almost"
    r"|times|older|younger|taller|longer|higher|lower|bigger|extra|and|no|when|where|while|because|since|as"
    r"|although|would|should|can(?:not)?|says?|said|thinks?"
    r"|claims?|guess|errors?|mistakes?|trap|pitfall|distractor|let|step|steps|cases?|formulas?|equations?|methods?|degree|multiple"
    r"|multiples|factors?|divisible|divisors?|prime|angles|digits?|options?|parts?|page|chapter|question|questions|figure"
    r"|given|known|originally|initially|before|ago|started|contradict\w*|possible|example)\b"
    r"|[一二两三四五六七八九十百千万亿半几多少比倍约近超至或且和与不没非未若如假设可]|各|分别|个位|第|步|种情况|题|年$"
    r"|약|그리고|배|절반|두|세|네|다섯|단계|경우|각각|첫|것\s같|\bvs\b|\banswer\b|答案|정답|\d\s?(?:[点分成折余来](?!钟)|[만억천백십]|퍼센트포인트)"
    r"|\b(?:in|since|by|until|of)\s(?:19|20)\d\d\b"
)
_CJK = late(f"[{HAN}{HANGUL}]")
_UNIT_CJK = late(
    r"\s?(?:美元|元|欧元|千克|公斤|克|厘米|毫米|千米|米|小时|分钟|秒|天|달러|원|시간|분|초|일|킬로그램|그램|미터)"
)
_UNIT = late(r"\s?(?:[A-Za-zμ]{1,4}/[A-Za-z]{1,3}[²³23]?|[mgsNJWVKLCHFT])(?![\w/^])")
_NOUN = late(
    r"\s(?!(?:is|are|was|were|remains?|left"
    r"|in|of|at|on|for|per|to|after|from|with|by|each|a|an|every|total|altogether)\b)[A-Za-z]{2,20}"
)
_TIME = r"\b(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?)\b"
_LENGTH = r"\b(?:c?m|km|(?:centi|kilo)?met(?:er|re)s?|inch(?:es)?|feet|ft|miles?|yards?|distance)\b"
_KINDS = {
    "long": f"{_TIME}|{_LENGTH}",
    "time": _TIME,
    "soon": _TIME,
    "quickly": _TIME,
    "fast": r"\b(?:mph|kph|km/h|m/s|per|speed|rate)\b|/(?:h|s)\b",
    "far": _LENGTH,
    "old": r"\b(?:years?|age|old)\b",
    "much": r"[$€£¥]|\b(?:dollars?|cents?|euros?|pounds?|money|cost|price|total)\b",
}
_HOW = late(
    r"(?i)\bhow\s(?P<kind>long|far|fast|soon|quickly|old|much\s(?!more)(?:time|\w+)|many\s(?:more\s|fewer\s)?\w+|much)\b[^.?!]*"
)
_WHICH = late(
    r"(?i)\b(?:what\s(?:is|are|was|were|will\sbe|would\sbe)|find|calculate|determine|compute|work\sout)\s"
    r"(?P<thing>[^.?!\n]{3,120}?)(?=\s(?:of|for|in|if|when|that|to|at|on|by|after|before|needed|required)\b|[.?!,\n]|\s?\Z)"
)
_TWO = late(
    r"(?i)\b(?:two|both)\s(?:\w+\s)?(?:numbers|integers|values|angles|ages|sides|lengths|amounts)|(?:find|what\s(?:are|were))\sthe\s(?:\w+\s)?(?:numbers|integers)\b"
    r"|\b(?:find|what\s(?:is|are|was|were))\b[^.?!]{3,60}\sand\s(?:the|its|their|his|her)\s|\bhow\sold\sare\sthey\b"
    r"|\bhow\s(?:many|much|old|long)\b[^.?!]{3,80}\b(?:each|and\show)\b|\bin\seach\s(?:direction|type)\b|\beach\s(?:type|rate|kind)\b"
)
_WORDS = late(r"[A-Za-z]{3,}")
_EMPTY_WORDS = frozenset("the thi tha tho his her its and val numb amou".split())
"""Stems of words that name nothing."""
_MODIFIERS = 3
_ASKED_CJK = late(
    r"(?P<before>[\u4e00-\u9fff]{0,3}?)(?:是|为|有|共|共有)?(?:多少|几|幾)(?P<unit>[个種种只条次张名位件辆块棵颗头枚]|[\u4e00-\u9fff]{0,2})"
)
_ASKED_KO = late(
    r"(?P<before>[가-힣]{1,8}?)(?:[은는이가을를]|의\s값[을은])?\s?(?:(?:몇|얼마)\s?(?P<unit>[가-힣]{0,3}?)(?=인[가지]|입니까|일까|[이은는을를가]|[^가-힣]|\Z)|구하(?:시오|여라|라))"
)
_DOUBTED = late(
    rf"(?i){NEGATION}|{HEDGED}|\b(?:instead|original(?:ly)?|initial(?:ly)?|range|correspond\w*|equivalent)\b|不(?!同(?!于))|[没未若或超]|另外|其中"
)
_WORKED = late(
    r"[^\s，,；;:：是为은는]*\d[^=，,；;:：是为\n]{0,60}[-+−*/×÷][^=，,；;:：\n]{0,60}[=≈]\s?|\b[A-Za-z]\s?=\s?(?=[-−]?[$]?\d)"
)
"""A calculation ("3360元+230元=") or a letter ("x =") before its result."""
_MATH_SIGNS = late(
    r"\\[()\[\],;! ]|\\(?:text|mathrm|textbf|mathbf)\s?\{([^{}]*)\}|\${1,2}([-−]?\d[\d.,/]*[^$\d]{0,20})\${1,2}"
)
_PROSE = late(r"[A-Za-z]{2,}(?:\s[A-Za-z'-]+){3}|[\u4e00-\u9fff]{6}|[가-힣]{2,}\s[가-힣]{2,}\s[가-힣]{2}")
_FRACTION = late(r"\\[dt]?frac\s?\{(\d{1,9})\}\s?\{(\d{1,9})\}")
_RELATION = late(r"[<>≤≥≠≈~]|\\(?:le|ge|leq|geq|lt|gt|ne|neq|not|approx|equiv|sim|simeq|cong|in|mid|to|pm)(?![a-z])")
_CHAIN_END = late(r"[-−]?[$€£¥]?\d[\d,]{0,15}(?:\.\d{1,12}|/\d{1,9})?(?:\s?\\?%|\s?[^\W\d_]{1,20}\.?)?")
_DIGITS = late(r"\d[\d,]*(?:\.\d+)?(?:/\d+)?")


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
            said_wrong = remarks.denied(ending, match.start(), end) or remarks.false_lead(ending, match.end())
            said_wrong = said_wrong or remarks.counterfactual(ending, match.start())
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
    before, behind = _MATH.sub("", text[begin:start]), _MATH.sub("", line[end - begin :])
    near = [*_CLAUSE.split(TURN.split(before)[-1])[-2:], *_CLAUSE.split(behind)[:2]]
    near += [value] if value[0].isdigit() else []
    denial = denied_until(text, end, value)
    begins = len(line) <= _LINE_CHARS and _MISLABELLED.match(line)
    doubted = begins or any(map(_NEGATIVE.search, near)) or _ASKS.match(behind)
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
    text = text[opened.end() if opened else 0 :][: 2 * SENTENCE_CHARS]
    inside = False
    for index, char in enumerate(text):
        if char == "$" and text[index - 1 : index] == "$" and index:
            continue
        if char == "$" or text.startswith(("\\(", "\\)", "\\[", "\\]"), index):
            inside = not inside
        elif char == "!" and _MAY_BE_FACTORIAL.search(text[max(0, index - 2) : index]):
            continue
        elif not inside and (
            char in "。．\n" or (char in ".!" and text[index + 1 : index + 2] in {"", " ", "\n", "."})
        ):
            return text[:index]
    return text


def _value_in(sentence: str) -> str | None:
    sentence = _REASON_BEHIND.split(sentence, maxsplit=1)[0].strip().lstrip("为是:：# ")
    sentence = _COPULA_KO.sub("", _ADVERB.sub("", sentence, count=1) if _ADVERB.match(sentence) else sentence)
    if not sentence or len(sentence) > SENTENCE_CHARS:
        return None
    if (stated := _stated(sentence)) and not _qualified(sentence, stated.start("value")):
        return stated["value"].strip()
    prose = bare(_MATH.sub("", sentence))
    return sentence if len(prose) <= (120 if prose == bare(sentence) else 40) else None


def unmarked_value(text: str) -> Found:
    """A bare value, a conclusion with one formula, a last line of only the value."""
    ending = _without_politeness(tail(text))
    lines = [line.strip() for line in ending.splitlines() if line.strip()]
    if not lines:
        return NOTHING
    if named := _value_in_front(lines[-1]):
        return [named], "whole" if len(lines) == 1 else "conclusion"
    if len(ending) <= 200:
        formulas = _formulas(ending)
        words = _MATH.sub("", ending)
        if len(formulas) == 1 and not re.search(r"\d", words):
            said = ending[: next(_MATH.finditer(ending)).start()]
            plain = _LEADS.search(said) and not _qualified(said, len(said))
            whole = remarks.quoted(ending) if _NEGATIVE.search(words) else ending.strip()
            return [formulas[0] if plain else whole], "whole"
        lines[0] = _ANSWERED.sub("", lines[0]) or lines[0]
        only = lines[0] if "，" in lines[0] else lines[0].rstrip("。 ")
        if len(lines) == 1 and len(only) <= 100 and not re.search(r"[。！？?]|[.!] \w", only):
            led = [only[match.end() :] for match in _CONCLUSION.finditer(only) if match.start()][-1:]
            solved = _EQUATION.fullmatch(led[0]) if led else None
            value = solved["value"] if solved else _counted(only) or _stated_value(only)
            return [value or only], "whole"
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


def _value_in_front(text: str) -> str | None:
    phrases = list(_IS_ANSWER.finditer(text))
    if not phrases or _VALUES.search(text, phrases[-1].end()):
        return None
    clause = text[: phrases[-1].start()][-SENTENCE_CHARS:]
    borders = list(_CLAUSE_BORDER.finditer(clause))
    value = _LEADS_IN.sub("", clause[borders[-1].end() if borders else 0 :], count=1).strip()
    plain = value.removeprefix("**").removesuffix("**")
    named = _NAMED_VALUE.fullmatch(plain)
    if not named or not (_MATH.fullmatch(named["value"]) or is_expression(named["value"])):
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


def _without_politeness(text: str) -> str:
    polite = _POLITE.search(text, max(0, len(text) - 150))
    return text[: polite.start()] if polite else text


def _stated(text: str) -> re.Match[str] | None:
    """The value behind a final "is"; None unless a unit follows the number."""
    stated = _STATED.search(text)
    if stated is None or (stated["unit"] and stated["unit"].strip() != "$" and _no_unit(stated["unit"])):
        return None
    return stated


def _no_unit(text: str) -> bool:
    return text.strip(" \\") != "%" and read_unit(to_latex(text.strip())) is None


def _stated_value(text: str) -> str | None:
    stated = _stated(text) if " " in text else None
    return None if stated is None or _qualified(text, stated.start("value")) else stated["value"].strip()


def _counted(text: str) -> str | None:
    counted = _COUNTED.search(text)
    if (
        counted is None
        or len(_NUMBER.findall(text)) != 1
        or _MATH.search(text)
        or _qualified(text, counted.start("value"))
    ):
        return None
    return counted["value"]


def _qualified(text: str, start: int) -> bool:
    if _GROUNDS.search(text, max(0, start - SENTENCE_CHARS // 4), start):
        return True
    return remarks.denied(text, start, start) or _QUALIFIED.search(text, max(0, start - 8), start) is not None


def _formulas(text: str) -> list[str]:
    formulas = ((next(filter(None, match.groups())).strip(), match.end()) for match in _MATH.finditer(text))
    return [formula + _unit_behind(text, end) for formula, end in formulas]


def _unit_behind(text: str, end: int) -> str:
    behind = _BEHIND.match(text, end)
    unit = read_unit(to_latex(behind[1].strip())) if behind else None
    return f" {behind[1].strip()}" if behind and unit is not None and unit.symbol else ""


def labelled_values(text: str, count: int) -> list[str]:
    """One value a labelled part: last box, stated answer, or all."""
    return [_piece(piece) for piece in labelled_parts(without_stars(text), count)]


def _piece(text: str) -> str:
    regions = boxes(text)
    if regions:
        return regions[-1].content
    if _ANSWER_WORD.search(text) and (values := stated_values(text, 1)[0]):
        return values[0]
    stripped = _HEAD.sub("", text).strip().strip(";；,，").strip()
    stripped = _AND_THE.sub("", stripped)
    stripped = _POINT.sub("", stripped)
    stripped = stripped.removesuffix("。") if len(stripped) <= _SHORT_PIECE else stripped
    if len(stripped) <= 120 and "\n" not in stripped:
        return stripped
    return (stated_values(text, 1)[0] or unmarked_value(text)[0] or [stripped[:MAX_ANSWER]])[0]


def sentence_value(text: str) -> str | None:
    """The only number of the last sentence, with its unit or noun."""
    sentence = _last_sentence(text)
    if sentence is None or len(sentence) > _CHARS or _OTHER.search(sentence) or not _SAYS.search(sentence):
        return None
    return _numbers(_without_work(sentence), "", 1)


def _whole_numbers(sentence: str) -> list[re.Match[str]]:
    """All numbers, or none if digits are left."""
    numbers = list(_ANY_NUMBER.finditer(sentence))
    read = "".join(number["value"] for number in numbers)
    return numbers if sum(map(str.isdigit, read)) == sum(map(str.isdigit, sentence)) else []


def _is_joined(sentence: str, number: re.Match[str]) -> bool:
    before, behind = sentence[: number.start()].rstrip(), sentence[number.end() :].lstrip()
    return before[-1:] in _JOINING or behind[:1] in _JOINING


def _last_sentence(text: str) -> str | None:
    """The last sentence, or what it concludes; None for a question or an announcement."""
    ending = without_stars(tail(text, 4 * _CHARS)).strip()
    if ending.endswith(("?", "？", ":", "：")):
        return None
    sentence = sentence_before(ending[:-1], len(ending) - 1) + ending[-1:]
    sentence = sentence.strip().rstrip(".。!！")
    concluded = list(_CONCLUDED.finditer(sentence))
    return sentence[concluded[-1].end() :] if concluded else sentence


@dataclass(frozen=True)
class _Asked:
    """The count of numbers asked for, and patterns of the answering sentence."""

    count: int
    any_of: re.Pattern[str]
    all_of: tuple[str, ...] = ()


def closing_values(text: str, question: str) -> str | None:
    """The numbers of the last sentence that the question asks for, joined by ", "; one with its unit."""
    sentence = _last_sentence(text)
    asked = _asked(question) if question else None
    if sentence is None or asked is None:
        return None
    sentence = _without_work(sentence)
    small = sentence.lower()
    if not asked.any_of.search(sentence) or any(word not in small for word in asked.all_of):
        return None
    return _numbers(sentence, question, asked.count)


def announced_value(sentence: str, question: str) -> str | None:
    """The one number of an announced sentence."""
    if sentence.startswith("…") or not _PROSE.search(sentence):
        return None
    sentence = _without_work(sentence)
    return _numbers(sentence, question, 1) or _numbers(sentence, "", 1)


def _without_work(sentence: str) -> str:
    return _WORKED.sub("", _without_signs(_MATH.sub(_chain_end, sentence)))


def _without_signs(text: str) -> str:
    return _MATH_SIGNS.sub(lambda match: match[1] or match[2] or " ", text)


def _chain_end(formula: re.Match[str]) -> str:
    r"""The value that a chain of equalities comes to ("15\times 14=210"); any other formula unchanged."""
    content = next(filter(None, formula.groups()))
    *work, last = content.split("=")
    value = _FRACTION.sub(r"\1/\2", _without_signs(last)).strip(" .,")
    if not work or _RELATION.search(content) or not all(map(str.strip, work)) or not _CHAIN_END.fullmatch(value):
        return formula[0]
    return f" {value} "


def _numbers(sentence: str, question: str, count: int) -> str | None:
    """The new numbers, if `count`."""
    if "\\" in sentence.replace("\\%", "") or _DOUBTED.search(sentence):
        return None
    given = set(map(_plain, _DIGITS.findall(question)))
    new = [
        number
        for number in _whole_numbers(sentence)
        if _plain(number["value"]) not in given and not sentence.endswith("第", 0, number.start())
    ]
    if len(new) != count or any(_is_joined(sentence, number) for number in new):
        return None
    if count > 1:
        return ", ".join(number["value"] for number in new)
    return new[0]["value"] + _unit_of_number(sentence[new[0].end() :], question)


def _unit_of_number(behind: str, question: str) -> str:
    unit = _UNIT_CJK.match(behind) or _UNIT.match(behind) or _NOUN.match(behind)
    return unit[0] if unit and unit[0].strip() not in question and read_unit(unit[0].strip()) is not None else ""


def _plain(number: str) -> str:
    return number.strip("-−$€£¥%\\").replace(",", "").rstrip(".")


def _asked(question: str) -> _Asked | None:
    if _CJK.search(question):
        places = [match for pattern in (_ASKED_CJK, _ASKED_KO) for match in pattern.finditer(question)]
        words = [word for word in (places[-1]["before"], places[-1]["unit"] or "") if word] if places else []
        return _Asked(1, re.compile("|".join(map(re.escape, words)))) if words else None
    count = 2 if _TWO.search(question) else 1
    clauses = [*_HOW.finditer(question)] or [*_WHICH.finditer(question)]
    if not clauses:
        return None
    kind = (clauses[-1].groupdict().get("kind") or "").lower().split()
    if kind and kind[0] != "many":
        return _Asked(count, re.compile(_KINDS.get(kind[-1], _KINDS[kind[0]]), re.IGNORECASE))
    things = [_stem(word) for word in _WORDS.findall((kind[-1:] or [clauses[-1]["thing"]])[0])]
    things = [thing for thing in things if thing not in _EMPTY_WORDS]
    if not things:
        return None
    alternatives = re.compile("|".join(rf"\b{re.escape(thing)}" for thing in things), re.IGNORECASE)
    return _Asked(count, alternatives, () if count > 1 else tuple(things[:_MODIFIERS]))


def _stem(word: str) -> str:
    return word.lower()[: max(3, len(word) - 2)]
