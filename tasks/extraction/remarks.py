"""What is said about answers without giving one: hypotheses, other people's mistakes, negations, corrections.

A remark never replaces an answer given before it. A correction does, whatever the form of what it corrects. What is
denied ("不能误得 8", "③이 아니다"), only supposed ("如果答案是D，那么…") or doubted right behind ("也可能是B") is no
commitment, though it be the only one.
"""

from __future__ import annotations

import re

from livek12.core.patterns import late

_HYPOTHETICAL = late(
    r"若|假如|如果|假设|假使|倘|要是|即使|万一|만약|만일|다면|\b(?:if|suppose|assuming|unless|were|would)\b",
    re.IGNORECASE,
)
_OTHERS = (
    r"易错|易误|常见错|常错|错误(?:地|的)?(?:答案|选项|结果|解法|原因)"
    r"|(?:很多|许多|不少|部分|有些|有的|某些|大多数?)(?:同学|学生|人|考生|资料|书|答案|网站)|有的|有人|有同学|[甲乙丙丁](?:同学|认为|选|说(?!法))|小[明红华刚丽强]"
    r"|(?:학생|사람)(?:들)?[은이]|흔한"
    r"|\b(?:students?|people|those|someone|others|many|some|few)\s+(?:\w+\s+)?(?:who|may|might|will|would|often|choose"
    r"|pick|select|get|think|say|answer|find|obtain|write|put|mistakenly)\b"
    r"|\b(?:common(?:ly)?|typical|frequent)\s+(?:mistake|error|wrong|pitfall|trap|incorrect)"
)
_MISTAKEN = (
    r"误[选认以区填写解答]|错[选填解认]|오답|실수"
    r"|\b(?:mistakenly|incorrectly|wrongly|tempting|distractor|trap|wrong answer|incorrect answer)\b"
)
_QUOTED_KEY = (
    r"(?:参考|标准)答案(?!.*[,，])|(?:课本|教材|用户|老师|教师|网上)[^。，,；;\n]{0,6}(?:给出|说|认为|称|声称)"
    r"|\b(?:reference|official|textbook|expected|gold(?:en)?|ground[- ]truth|published|printed)(?:['’]s)?"
    r"\s(?:final\s)?(?:answer|solution)"
    r"|\baccording\sto\s(?:the|your|this|that|an?|my)\s(?:\w{2,12}\s)?(?:key|answers?|textbook|book|user|student|author|teacher|source)\b"
    r"|\b(?:users?|teachers?|friends?|(?:text)?books?|authors?|professors?|websites?|graders?)\s"
    r"(?:claims?|says?|said|states?|thinks?|believes?|insists?|argues?|wants?|expects?)\b|참고\s?답안|모범\s?답안"
)
"""The answer of a key, a book or a user: it is told, and replaces none of one's own."""
_BY_OTHERS = late(_OTHERS, re.IGNORECASE)
_ATTRIBUTED = late(f"{_OTHERS}|{_MISTAKEN}|{_QUOTED_KEY}", re.IGNORECASE)
_CONDITION_BEHIND = late(
    r"\s*(?:选项|项|option|choice)?\s*(?:是|就|则|的|会|显然|is|are|would be)?\s*(?:\w+\s+){0,4}?"
    r"(?:不对|不正确|不符|错误|错的|错了|有误|矛盾|only\s+if|only\s+when|is\s+wrong|would\s+be|오답|틀)",
    re.IGNORECASE,
)
_HEADING = late(r"易错|常见错|误区|陷阱|common (?:mistake|error|pitfall)|오답|흔한", re.IGNORECASE)
_BOUNDARY = late(r"[。！？!?\n；;]|[.](?=\s)|．(?!\d)")
_SO = late(r"故|所以|因此|综上|可知|可见|因而|따라서|그러므로|\b(?:so|thus|hence|therefore)\b", re.IGNORECASE)
_WINDOW = 300
_HEADING_CHARS = 20

RETRACTION = (
    r"(?:\b(?:no|oh|hmm|ah)[,.]?\s*wait\b|\bwait[,.]?\s*no\b|\bsorry\b|\bcorrection\b|\bscratch that\b"
    r"|(?<=[.。…!！,，\s])no,|(?<=[.。…!！,，;；\s])(?:不对?|不是|错了|说错了|写错了)[，,。：:！!]|更正|订正|改正为|修正为|아니[,，]|정정)"
)
_CORRECTION = late(
    rf"{RETRACTION}|\bwait\b|\bactually\b|等等|等一下|重新|change my mind|on second thought|double[- ]check|recheck"
    r"|i made (?:a|an) (?:mistake|error)|mistake|\bhold on\b|on reflection"
    r"|\bre-?(?:consider|examin|think|calculat|comput|evaluat|visit)"
    r"|\b(?:take|took)\s(?:that|this|it)\sback|\b(?:ignore|disregard)\b|收回|[看弄算搞写]错|还是选|想了想|사실|틀렸"
    r"|再(?:检查|算|想|看)|检查(?:后|发现|一)|잠깐|다시|재검토",
    re.IGNORECASE,
)
_NOT_BUT = (
    (("不是", "并非", "不应", "不为"), late(r"((?:答案|选项?|正确的)\s*)(?:不是|并非|不应是|不应该是|不为)[^。\n；;]{1,30}?[,，]?\s*而(?:应该?)?(?:是|为)"), r"\1是"),  # noqa: E501
    (("아니", "아닌"), late(r"[①-⑩]\s?번?\s?(?:이|가)?\s?(?:아니라|아니고|아닌)\s?(?=[①-⑩])"), ""),
    (("아니",), late(r"((?:정답|답)\s*(?:은|는)?)\s*[^.\n]{1,30}?\s*(?:이|가)?\s*아니(?:라|고|며)[,，]?"), r"\1"),
    (("but",), late(r"(\b(?:is|are)\s+)not\s+[^.\n;]{1,30}?,?\s+but\s+(?:rather\s+)?", re.IGNORECASE), r"\1"),
    (("不是", "而非", "而不为"), late(r"(?:[,，]?\s*(?:而不是|而非|而不为)|[,，]\s?(?:并)?不是)(?:\s?\$[^$\n]{1,100}\$|[^。\n，,；;$]{1,40})"), ""),  # noqa: E501
    (("not", "rather", "instead"), late(r"(?:,\s*(?:and\s+)?not|,?\s+rather\s+than|,?\s+instead\s+of)\s+(?:(?:option|choice)\s)?(?:\$[^$\n]{1,100}\$|[^,;\n$]{1,20}?)(?=[.]?(?:\s|$)|[;,])"), ""),  # noqa: E501
)  # fmt: skip
"""Words (in small letters) without one of which a text has no such turn, the turn, and what is kept of it."""


def settled(text: str) -> str:
    """The text with "not X but Y" as "Y" and "Y, not X" as "Y"."""
    small = text.lower()
    for words, pattern, kept in _NOT_BUT:
        if any(word in small for word in words):
            text = pattern.sub(kept, text)
            small = text.lower()
    return text


def is_remark(text: str, start: int, end: int) -> bool:
    """Whether what stands at `start` to `end` is a hypothesis, a mistake told of, or said to be wrong."""
    return _aside(text, start, end, _ATTRIBUTED) or _CONDITION_BEHIND.match(text, end, end + 60) is not None


def is_told(text: str, start: int, end: int) -> bool:
    """Whether what stands there is a hypothesis, or told of others."""
    return _aside(text, start, end, _BY_OTHERS)


def _aside(text: str, start: int, end: int, attributed: re.Pattern[str]) -> bool:
    before = text[max(0, start - _WINDOW) : start]
    boundaries = list(_BOUNDARY.finditer(before))
    sentence = before[boundaries[-1].end() if boundaries else 0 :] + text[start:end]
    told = TURN.split(sentence)[-1] if attributed is _ATTRIBUTED else sentence
    if attributed.search(told) or _HYPOTHETICAL.search(_SO.split(sentence)[-1]):
        return True
    lines = [line for line in before.split("\n")[:-1] if line.strip()]
    return bool(lines) and len(lines[-1].strip()) <= _HEADING_CHARS and _HEADING.search(lines[-1]) is not None


TURN = late(
    r"但(?!是?否)|然而|可是|不过|其实|实际上|而(?=应|是|正确)|하지만|그러나|지만"
    r"|\bbut\b|\bhowever\b|\bwhich is\b|[\d,;—–]\s?it(?:'s| is)\b",
    re.IGNORECASE,
)
_DENIED = late(
    r"[不未]\s*(?:能|可|应|会|要|得|宜|是|为|等于|该|写成|必)|无法|难以|是否|并非|(?<!错)误(?!差)|错(?:解|写|得|填|选|认)|[勿别]|没有|避免|排除"
    r"|\b(?:not|never|cannot|unable|none|neither|nor|whether)\b|n['’]t\b|\b(?:except|exclude)"
    r"|\b(?:false|untrue|wrong|incorrect|impossible|doubtful|unlikely|myth|lie|misconception|mistake)\s(?:that|to)\b"
    r"|\b(?:doubt|deny|denies|denied|disagree|refute|told)\b|\bno\s(?:way|longer)\b|否认|怀疑|假的|거짓|부정",
    re.IGNORECASE,
)
_SUPPOSED = late(
    r"\s*(?:[)）$*]\s*)*(?:选项|项|时|成立|正确|为真|(?:is|were) (?:true|right|correct))?"
    r"\s*[,，]?\s*(?:那么|则|就(?!是)|then\b|would\b|이?라?면)"
)
_WRONG_BEHIND = late(
    r"\s*(?:[)）$*]\s*)*[(（【]\s*(?:错|误|×|✗|不对|不正确|wrong|incorrect|false)"
    r"|\s*(?:[)）$*]\s*)*is\s(?:an?|the)\s(?:\w{2,12}\s)?(?:mistake|error|trap|distractor)\b"
    r"|\s*(?:[)）$*]\s*)*is\swhat\s(?:you|one|we|most|many|people|students)\b|\s*번?\s*(?:으?로|이?라고)\s?(?:보이|생각|착각|오해)[^.\n]{0,10}(?:지만|으나)|\s*번?\s*이?었(?:으나|지만|는데)|\s*(?:번)?\s*(?:이|은|는|가)?\s*(?:아니|아닌|틀|오답)|\s*(?:번)?\s*[을를]\s*제외"
    r"|\s*번?\s*(?:이?라는\s\S{1,4}\s(?:거짓|틀)|이?라고\s?(?:생각|보)하?기\s쉽)",
    re.IGNORECASE,
)


def denied(text: str, start: int, end: int) -> bool:
    """Whether the words up to `start` deny or only tell of what stands there, or those behind `end` do."""
    return refused(text, start) or called_wrong(text, end) or supposed(text, start, end)


def refused(text: str, start: int) -> bool:
    """Whether the words up to `start` deny or only tell of what stands there."""
    clause = _CLAUSE_END.split(TURN.split(text[max(0, start - _CLAUSE) : start])[-1])[-1]
    return _DENIED.search(clause) is not None or _ATTRIBUTED.search(clause) is not None


def false_lead(text: str, start: int) -> bool:
    """Whether the words right before an answer call it wrong, another's, a multiple, or what one must not write."""
    return _FALSE_LEAD.search(text[max(0, start - _CLAUSE) : start]) is not None


_ANSWER_IS = (
    r"(?:answer|value|result|choice|option|solution|response|conclusion)s?(?:\s(?:here|given|above))?\s?"
    r"(?:is|are|was|(?:would|might|could)\sbe|[:=])"
)
_ANSWER_IS_ZH = r"的?\s?(?:答案|结果|选项|结论|解答)\s?(?:应该?|就)?(?:是|为|[:：])"
_FALSE_LEAD = late(
    r"(?:(?:(?:\b(?:wrong|incorrect|naive|false|mistaken|erroneous|invalid|flawed|faulty|tempting|common|typical|popular|intuitive"
    r"|first|initial|previous|earlier|original|old|fake|supposed|alleged|rejected|partial|intermediate)"
    r"|(?<!let)(?<!here)(?<!what)(?<!that)['’]s)\s|\b(?:half|twice|double|triple|third|square|reciprocal|negative|opposite)\s(?:of\s)?(?:the|this|my|our)\s)"
    + _ANSWER_IS
    + r"|(?:\b(?:not|never|cannot|anything\sbut)|n['’]t)\s(?:be\s|(?:simply\s|just\s)?"
    r"(?:write|put|answer|say|enter|choose|box|give|pick|take"
    r"|accept|submit|report|conclude|equal)\s(?:down\s|that\s|as\s|with\s)?)?"
    r"|\b(?:mistake|wrong|incorrect|error|tempt(?:ed|ing)|foolish|easy)\sto\s"
    r"(?:write|put|answer|say|enter|choose|think|conclude|get)\s"
    r"|(?:错误|不正确|有误|不对|常见|典型|误导"
    r"|学生|同学|他人|别人|某人|小[明红华刚丽强]|起初|最初|原来|之前)"
    + _ANSWER_IS_ZH
    + r"|(?:不要|不能|不应该?|不可以?|请勿|切勿|勿|(?<!特)(?<!分)(?<!区)别|不是|并非|绝不)"
    r"(?:写成?|填写?|答|选|得出?|认为|算成|写为|为)?"
    r"|(?:误|错)(?:写成?|填写?|答|选|得|认为|以为|算成|写为)"
    r"|(?:오답|(?:틀린|잘못된|틀리기\s쉬운|학생의|흔한)\s?(?:정?답|값|결과|선택))(?:은|는|이|:)?)\s?[:：]?[\s$〘〖(*]*\\?\(?\Z",
    re.IGNORECASE,
)


def counterfactual(text: str, start: int, end: int) -> bool:
    """Whether the words at `start` to `end` state an answer that would hold under what is not the case."""
    clause = _SENTENCE_END.split(text[max(0, start - 2 * _CLAUSE) : start])[-1]
    would = re.search(r"\bwould\b", text[start:end], re.IGNORECASE) is not None
    return _CONTRARY.search(clause) is not None or (would and _CONDITION.search(clause) is not None)


_CONDITION = late(r"\b(?:if|had|were|without|unless)\b", re.IGNORECASE)
_CONTRARY = late(
    r"(?:若|如果|假如|要是|倘若)[^。；;，,\n]{0,20}(?:不考虑|不计|没有?|忽略|忽视|忘|漏|误|错)[^。；;\n]{0,20}[,，]\s?(?:则|那么|那|就)?\Z"
    r"|\b(?:if|had)\b[^.;\n]{0,40}\b(?:forg[eo]t\w*|neglect\w*|ignor\w*|omit\w*|overlook\w*|mis(?:read|takes?|took))\b[^.;\n]{0,60},\s(?:then\s)?(?:the\s)?\Z"
    r"|(?:않|없|무시|잊)[^.\n]{0,10}(?:면|다면),?\s?\Z",
    re.IGNORECASE,
)


def called_wrong(text: str, end: int) -> bool:
    """Whether the words right behind `end` call what stands there wrong."""
    return _WRONG_BEHIND.match(text, end, end + _CLAUSE) is not None


def supposed(text: str, start: int, end: int) -> bool:
    """Whether what stands there is only supposed: "if A, then …"."""
    before = text[max(0, start - _CLAUSE) : start]
    if _EXAMPLE.match(_SENTENCE_END.split(before)[-1]) or _SUPPOSED_AT_ONCE.search(before):
        return True
    if _SHOWN_FORM.match(text, end, end + _CLAUSE):
        return True
    if not _SUPPOSED.match(text, end, end + _CLAUSE):
        return False
    return _HYPOTHETICAL.search(_CLAUSE_END.split(TURN.split(before)[-1])[-1]) is not None


_EXAMPLE = late(r"\s*(?:例如|比如|譬如|举例|for example|for instance|e\.g\.|예를 들)", re.IGNORECASE)
_SUPPOSED_AT_ONCE = late(
    r"(?:\b(?:if|suppose|assume|assuming|were)(?: that)?(?: the)?(?: \w{2,12})?"
    r"|\b(?:such as|for example,?|for instance,?|e\.g\.,?)|例如|比如|形如|예를 들어|예:"
    r"|\bone (?:would|could|might) (?:write|answer|put)(?: down)?"
    r"|(?:\bin the form(?:at)?(?: of)?|(?:示例|样例|例子|格式|形式|模板)[^。\n，,]{0,6}?(?:是|为|写作|[:：]))"
    r"(?=\s?[\"“「『'‘])"
    r"|若|如果|假如|假设|倘若|만약|만일)\s?[\"“「『'‘$〘〖]*(?:(?:the|my) (?:final )?)?\Z",
    re.IGNORECASE,
)
"""Right before the words that state an answer, or before a box."""
_SHOWN_FORM = late(r"[\s)）}$〙〗]{0,4}(?:와|과)\s?같(?:이|은)\s?(?:쓰|적|표|답|형)")


_CLAUSE = 60
_CLAUSE_END = late(r"[。！？!?\n；;，,：:]|[.](?=\s)|．(?!\d)")


def concludes(text: str, start: int) -> bool:
    """Whether the sentence of what stands there begins with "so"."""
    return _SO.search(_SENTENCE_END.split(text[max(0, start - _CLAUSE) : start])[-1]) is not None


def turned(text: str, start: int) -> bool:
    """Whether the sentence of what stands there begins with "but"."""
    return TURN.search(_SENTENCE_END.split(text[max(0, start - _CLAUSE) : start])[-1]) is not None


_SENTENCE_END = late(r"[。！？!?\n；;]|[.](?=\s)|．(?!\d)")


def is_correction(between: str) -> bool:
    """Whether what stands between two answers takes the first one back."""
    return bool(_CORRECTION.search(between))
