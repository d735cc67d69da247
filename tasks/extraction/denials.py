"""What takes an answer back: a retraction, "this is wrong", "none is right", a doubt, or its value called wrong.

Contract: `taken_back` and `value_denied` look only behind an answer and say where the words end that take it back. What
is told of others, or only supposed, takes nothing back. Linear in the text: each pattern has one way to read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from livek12.core.patterns import late
from livek12.tasks.extraction.remarks import is_told

_BREAK = r"(?:(?<=[。.…!！?？；;:：\n—–(（〗〙})）*_\-])|(?<=[。.…!！?？；;:：,，〗〙})）*]\s)|\A)\s?"
"""Where a new thought begins."""
_WRONG_ZH = (
    r"(?:错|有误|不对|不正确|不成立|有问题|不合|不符|不是|不可能|不行|不满足|作废|应?该?舍去"
    r"|(?:与[^。，,\n]{1,8})?(?:矛盾|相悖|不符))"
)
_VERY_ZH = r"(?>是|也|却|并|显然|其实|可能|应该|肯定|都|中|里|存在|出现|了|有|[^\S\n]){0,5}"
_WRONG_EN = (
    r"(?:(?:not|n['’]t)\s(?:\w{2,12}\s)?(?:correct|right|the|true|valid|possible(?!\sto)|it|an?|what)\b"
    r"|can(?:not|['’]t)\sbe(?:\s(?:right|correct|true|it|so|the|valid|possible)\b|(?=[.,!;\n]))"
    r"|(?:\w{2,12}\s)?(?:wrong|incorrect|false|mistaken|impossible|invalid|inconsistent|(?:an?|the)\s(?:\w{2,12}\s)?(?:mistake|error|typo|trap|distractor|decoy))\b)"
)
_IS_EN = (
    r"\s?(?:\b(?:is|was|are|were|seems?|looks?|must\sbe|would\sbe|would|has\sto\sbe|turns\sout\sto\sbe)\s|['’]s\s"
    r"|\b(?:is|was|are|were|does)(?=n['’]t)|(?=cannot|can['’]t))"
)
_WRONG_KO = r"(?:틀|잘못|오답|옳지|맞지|아니|아닙|적절하지|성립하지)"

_SIGNS = r"[\s.。…,，;；:：!！〗〙)）}$*\]—–-]*"
_NEXT = late(
    _SIGNS + r"(?:(?:但是?|不过|然而|可是|其实|可惜|but|however|though|although|yet|well|okay|oh"
    r"|하지만|그러나|그런데|아)[,，]?\s?)?"
    r"(?:"
    rf"(?:这|那|它|此|该)(?:个|一|样|种|道)?(?:答案|选项|选择|结果|结论|项|值|说法|解|数)?{_VERY_ZH}{_WRONG_ZH}"
    rf"|[(（【\[]\s?(?:this|that|it|which)?{_IS_EN}?(?:{_WRONG_EN}|not\b)|[✗✘❌]|(?:wrong|false|incorrect)\s?[.!]"
    r"|(?:does\snot|doesn['’]t)\s(?:pass|satisfy|work|fit|hold|check)|fails\b|contradicts\b|is\s(?:an?\s)?extraneous"
    rf"|[(（【\[]\s?(?:(?:这|此|该|上述|以上)个?(?:答案|结果|选项|值)?)?{_VERY_ZH}(?:{_WRONG_ZH}|误|舍)|[(（【\[]\s?(?:틀|오답|×)"
    rf"|(?:this|that|it|which)(?:\s(?:answer|value|choice|option|result|one|number))?{_IS_EN}{_WRONG_EN}"
    rf"|(?:이것은|이건|이는|그것은|그건|이\s?(?:값|답|선택)은)\s?(?:\S{{1,6}}\s)?{_WRONG_KO}"
    r")",
    re.IGNORECASE,
)
"""Words that call what was just said wrong, whatever signs stand between."""
_REPLACED = late(
    _SIGNS + r"(?:(?:但是?|不过|然而|其实|but|however|아)[,，]?\s?)?"
    r"(?:不(?=\s?[,，。!！])|(?:不对|不是|错了|不行)\s?(?:[,，。.!！、]|\Z)"
    r"|(?:应改|改)(?:为|成|选)"
    r"|(?:should|ought)\s(?:actually\s|instead\s|really\s)?(?:be|have\sbeen)\b|(?:or\s)?rather\b|or\s(?:is|was|maybe|perhaps)\b|nope\b|nah\b|no(?=\s?[,.!]|\s(?:wait|it|that|actually)\b)"
    r"|it\s(?:should|must|ought)\b|아니[,，요.]|사실은|(?:잠깐|잠시만)"
    r")",
    re.IGNORECASE,
)
"""Words that put another answer in the place of the one before them."""
_INSTEAD = late(_SIGNS + r"(?:(?:应该?|应当|正确的?)(?:是|为|选)|其实|实际上|actually\b|in\sfact\b)", re.IGNORECASE)
"""The same where they follow at once; later, they may speak of anything."""
_RETRACTION = (
    r"(?:(?:(?:oh|hmm+|oops|no|but|ah|okay?|so|however)[,.]?\s|[哦啊呃额嗯唉哎][,，]?\s?)){0,2}"
    r"(?:wait\b(?!\s(?:for|until|time))|hold\son\b|on\s(?:second\sthoughts?|reflection)|correction\b|scratch\sthat|oops\b|(?:just\s)?kidding\b|never\s?mind\b|my\s(?:mistake|bad|apologies)"
    r"|(?:i['’]m\s)?sorry[,.]\s(?:i|it|the|that|wrong|correct|my)|apologies\b|i(?:\s(?:was|am|have\sbeen|may\sbe|might\sbe|could\sbe)|['’]m)\s(?:\w{2,12}\s)?(?:wrong|mistaken)"
    r"|i\s(?:have\s)?(?:made|miscalculat|misread|mistook|misappl)|let\sme\s(?:correct|fix|redo|reconsider|re-?(?:calculate|compute|think|evaluate|examine))"
    r"|that['’]s\s(?:not\sright|wrong|incorrect)|make\sthat\b|i\s(?:now\s)?(?:take\s(?:that|this|it)\sback|retract|withdraw)|(?:please\s)?(?:ignore|disregard|forget|discard|cross\sout)\s(?:that|this|it\b|(?:the|my|what)\s(?:\w{1,12}\s){0,3}?(?:above|previous|earlier|before|first|box|answer|wrote|said)\b)|i\smeant?\b|strike\sthat"
    r"|actually[,]?\s(?:no\b|i\b|it(?:['’]s|\sis|\sshould|\smust)|that(?:['’]s|\sis)|the\s(?:correct\s|right\s|final\s)?(?:answer|value|result)|(?:option\s)?\S{1,12}[.。]?\s?(?:\n|\Z))"
    r"|(?:it|this|that|the\s(?:answer|value|result))\sshould\s(?:actually\s|instead\s|really\s)?(?:be|have\sbeen)\b"
    r"|(?:等等|等一下|等下|慢着|且慢|稍等)\s?[,，。.!！…:：]|更正|订正|纠正|修正一?下|抱歉|对不起|不好意思|想了想|重新(?:计算|考虑|审视|思考|算|检查)"
    r"|其实(?:应|答案|正确|是错|选|不)|实际上(?:应该?(?:是|为|选)|答案|正确答案)|改(?:选|为|成)"
    r"|(?:我|前面|上面|刚才|刚刚)(?:前面|上面|刚才)?(?:[算看写说想弄搞选答记]错|犯了?错|搞混|出错)|[算看写说弄搞]错了?[,，。.!！]"
    r"|(?:请\s?)?(?:忽略|无视|划掉|作废)\s?(?:上面|以上|上述|前面|之前|刚才|那个?|这个?)"
    r"|(?:위의?|앞의?|이전의?)\s?\S{1,6}[은는을를]\s?(?:무시|취소|삭제)"
    r"|정정|수정|실수|착각|미안|죄송|아,?\s?틀렸|다시\s?(?:계산|생각|보니|풀|검토)|아니[,，]|잠깐[,，.!…])"
)
_LATER = late(_BREAK + _RETRACTION, re.IGNORECASE)
_AT_ONCE = late(_SIGNS + _RETRACTION, re.IGNORECASE)
_ANSWER_WRONG = late(
    r"(?:这个?|该|此|上述|以上|上面的?|前面的?|前述|我的?|刚才的?|之前的?|原来的?|先前的?)(?:的)?"
    rf"(?:答案|选择|结果|推导|计算|推理|判断|解答|分析|过程){_VERY_ZH}{_WRONG_ZH}"
    r"|(?:检查|验算|复查|核对|检验)(?:之?后|一下|时)?[,，]?\s?(?:发现)?(?:有误|错了|不对|有错)"
    r"|答案(?:是错|有误|错误|错了|不对|不正确|不成立|有问题|作废)"
    r"|\b(?:my|the|this|that)\s(?:(?:above|previous|first|initial|earlier|final|given|stated|original)\s)?"
    rf"(?:answer|result|choice|conclusion|calculation|solution|reasoning|value)(?:\s(?:above|given))?{_IS_EN}{_WRONG_EN}"
    r"|\bi\s(?:have\s)?made\s(?:an?|some|the)\s(?:\w{2,12}\s){0,2}(?:error|mistake)|\b(?:edit|update|erratum)\s?[:：]"
    r"|\b(?:my|the)\s(?:answer|calculation|solution|reasoning)(?:\sabove)?\s(?:has|contains)\san?\s(?:\w{2,12}\s)?(?:error|mistake)"
    rf"|(?:이|위의?|그|내|앞의|제)\s?(?:답|정답|결과|결론|계산|풀이|선택|답안)(?:은|는|이|가|도|에)\s?(?:\S{{1,6}}\s)?{_WRONG_KO}",
    re.IGNORECASE,
)
_NONE_RIGHT = late(
    r"(?<![.．、:：)）]\s)(?<![.．、:：)）])(?:"
    r"(?:以上|上述|四个|所有|全部|各个?)(?:的)?(?:选项|答案|选择)(?:都|均|全|皆)(?:不|错)"
    r"|没有(?:一个|任何)?(?:选项|答案)?(?:是)?(?:正确|符合题意|合适)的?(?:选项|答案)?|无正确(?:选项|答案)"
    r"|\bnone\sof\s(?:the|these|them)\s?(?:given\s|above\s|listed\s)?(?:options|choices|answers|above)?\s?(?:is|are|match|fit|work|seems?)"
    r"|\b(?:there\sis\s)?no\s(?:correct|right|valid|matching)\s(?:option|answer|choice)"
    r"|(?:정답|맞는\s?것|옳은\s?것)(?:이|은)?\s?없)",
    re.IGNORECASE,
)
_DOUBT = late(
    r"也(?:有)?可能(?:是|为)|(?:无法|不能|难以)(?:完全)?(?:确定|判断|确认)|不(?:太)?确定|不(?:能|敢)肯定|或(?:者)?(?:没有|无)正确"
    r"|(?:故|所以|因此|因而|于是)[^。\n]{0,8}(?:无解|不存在|没有答案)|(?<!若)(?<!果)不成立[,，]?\s*(?:舍去|故)"
    r"|\bi(?:\swould|['’]d)\sbe\s(?:wrong|mistaken|incorrect)|라고\s?\S{1,6}면\s?안"
    r"|\b(?:or maybe|might also be|could also be|not (?:entirely )?sure|cannot (?:be determined|decide))\b"
    r"|확실하지\s*않|일\s*수도",
    re.IGNORECASE,
)
_DOUBT_CHARS = 60
_DASHED = late(
    rf"[—–]\s?(?:(?:but\s)?(?:this|that|it|which){_IS_EN}{_WRONG_EN}|(?:但是?)?(?:这|此|它){_VERY_ZH}{_WRONG_ZH})",
    re.IGNORECASE,
)
_FAILED_CHECK = late(
    r"(?:\b(?:check(?:ing)?|verif(?:y|ying|ication)|substituting|testing)\b|检验|验证|验算|代入|검산|대입)[^。\n]{0,60}?"
    r"(?:\b(?:fails?|differ|no\ssuch|(?:does|do)(?:\snot|n['’]t)\s(?:hold|work|match|agree|satisfy))\b"
    r"|(?<!两边)不等于|不成立|增根|发现矛盾|성립하지\s?않|다르므로|버린)",
    re.IGNORECASE,
)
_ANYWHERE = (_FAILED_CHECK, _DASHED, _LATER, _ANSWER_WRONG, _NONE_RIGHT)


@dataclass(frozen=True)
class Named:
    """How an answer is named again (None: not looked for), how others are, and whether "wrong" alone denies it."""

    this: re.Pattern[str] | None
    others: re.Pattern[str]
    strict: bool = True


def taken_back(text: str, end: int, named: Named) -> int | None:
    """Where the words end that take back the answer before `end`; None where it stands to the end of the text."""
    starts = _sentence_starts(text, end)
    first, last = (starts[1] if len(starts) > 1 else end), starts[-1]
    for pattern, places in (
        (_NEXT, (end, first, last)),
        (_REPLACED, (end, first, last)),
        (_AT_ONCE, (end,)),
        (_INSTEAD, (end,)),
    ):
        for place in places:
            if (direct := pattern.match(text, place)) and not is_told(text, place, direct.end()):
                return direct.end()
    if doubt := _DOUBT.search(text, end, end + _DOUBT_CHARS):
        return doubt.end()
    for pattern in _ANYWHERE:
        for match in pattern.finditer(text, end):
            if not is_told(text, match.start(), match.end()):
                return match.end()
    return _rejected(text, starts, named)


def _rejected(text: str, starts: list[int], named: Named) -> int | None:
    """Where a sentence ends that rejects the answer: one that names it and no other, or one near it or last."""
    for number, start in enumerate(starts):
        until = min(starts[number + 1] if number + 1 < len(starts) else len(text), start + _SENTENCE_CHARS)
        sentence = text[start:until].strip()
        is_named = named.this is not None and named.this.search(sentence) is not None
        is_last = number == len(starts) - 1
        if not is_named and number > 1 and not is_last:
            continue
        words = named.this.sub("", sentence) if named.this is not None and is_named else sentence
        if _THE_REST.search(words):
            continue
        if named.others.search(words):
            apart = number > 0 or text[start - 1 : start] in tuple("〗〙}>")
            rejects = apart and is_last and len(sentence) <= _SHORT_CHARS and _says_other(words, named.others)
        else:
            rejects = _rejects(sentence, words, is_named, named.strict)
        if rejects and not is_told(text, start, until):
            return until
    return None


def _rejects(sentence: str, words: str, is_named: bool, strict: bool) -> bool:
    """Whether a sentence that speaks of no other answer rejects the one before it."""
    if not is_named:
        return any(one.search(words) for one in (_REJECTION, _FAULTY, *((_CALLED_WRONG,) if strict else ())))
    short = strict and len(sentence) <= _SHORT_CHARS and not (_PRINTED.match(sentence) or _AFFIRMED.search(words))
    return _DISCARDED.search(words) is not None or (short and _NEGATED.search(words) is not None)


def _says_other(words: str, others: re.Pattern[str]) -> bool:
    """Whether a short sentence puts another answer in the place of the one before: it ends in it, or says "instead"."""
    found = list(others.finditer(words))
    ends = found[-1].end() >= len(words.rstrip(" .。!！)）")) and len(found) == 1 and found[-1][0].isalnum()
    return (ends or _INSTEAD_OF.search(words) is not None) and not _NEGATED.search(words)


_SHORT_CHARS = 40
_PRINTED = late(r"\W{0,3}[A-J①-⑩]\s?[.．、:：)）]")
_AFFIRMED = late(r"正确|符合|成立|没错|\b(?:correct|right|true|indeed)\b|옳|맞(?!지)|정답", re.IGNORECASE)
_NEGATED = late(
    r"不|没|无|非|错|误|淘汰|问题|排除|\b(?:not|never|cannot|out|wrong|false|fails?|except|avoid)\b|n['’]t\b|않|없|못|아니|틀|탈락|오답",
    re.IGNORECASE,
)
_INSTEAD_OF = late(r"\binstead\b|\brather\b|\bchanged?\b|更(?:合理|合适|恰当|好|准确)|改|换|바꾸|수정", re.IGNORECASE)
_FAULTY = late(
    r"(?:推理|推导|结论|结果|过程|答案|计算|解答|解法|풀이|계산|결론|결과|답)[^，。,.]{0,12}"
    r"(?:漏洞|(?:有|存在)(?:些|点|明显)?问题|站不住|不成立|不可靠|不严谨|有错|出错|오류|성립하지|잘못|틀)"
    r"|\b(?:answer|result|reasoning|conclusion|solution|calculation|derivation)\b[^.]{0,30}"
    r"\b(?:fails?|faulty|flawed|problematic|inconsistent|(?:does|did|do)(?:\snot|n['’]t)\s(?:hold|work|fit|check|satisfy|match|make))\b"
    r"|\b(?:messed\sup|screwed\sup|cancel\sthat|forget\sthat)\b|并非如此|符号(?:弄|搞|写)?[反错]|성립하지\s?않",
    re.IGNORECASE,
)
_SENTENCE_CHARS = 200
_CONTRADICTED_ZH = r"(?:自相|题意|条件|题设|假设|已知)[^，。]{0,6}(?:矛盾|不符)|(?:发现|得到|得出|出现|是|相|明显)矛盾"
_REJECTION = late(
    rf"[看算弄搞想答选写]错|作废|不好意思|推翻(?:了)?(?:上|前|之前|这|我)|(?:收回|撤回|撤销)(?:这|该|上|前|刚|我)|{_CONTRADICTED_ZH}"
    r"|忽略(?:掉|以?上|前面?|之前|刚才|该|这|我)|(?<!不需要)(?<!不必)(?<!无需)(?<!不用)重新(?:看|算|计算|审|考虑|检查|分析|作答|做|选)|改选|改答"
    r"|\b(?:mistaken?|mistakes|flaw(?:ed|s)?|retract|oops|nope|misread|misunderstood|misapplied|overlooked)\b"
    r"|\b(?:this|that|it|answer|option|choice|value|result)\b[^.\n]{0,40}\b(?:rejected|discarded|invalid)\b|\b(?:ignore|disregard)\s(?:that|this|it|the\sabove)"
    r"|\btake\s(?:that|this|it)\sback|\btry\sagain|\bchanged?\smy\smind|\banswer\sis\sdifferent"
    r"|\b(?:reject|discard|exclude)s?\s(?:it|this|that)\b|\b(?:solution|root|value|answer|it|this|that)\sis\s(?:an?\s)?extraneous\b"
    r"|\b(?:so|hence|thus|therefore)\b[^.\n]{0,20}\bno\s(?:real\s)?(?:solution|answer)"
    r"|n['’]t\s(?:look|seem|sound|be|feel)\s(?:right|correct)|\bcontradicts\b|\ba\scontradiction,?\sso\b"
    r"|무시(?:해\s?주|하세요|하십시오|바랍)|취소(?:합|한다|하겠)|잘못\s?(?:계산|풀|생각|봤|읽|선택)|정정|착각|실수|모순이|만족하지\s?않|될\s?수\s?없",
    re.IGNORECASE,
)
_CALLED_WRONG = late(
    r"错了|不对|不正确|不成立|有误|\b(?:(?:the|a)\s(?:trap|distractor|decoy)|wrong|incorrect|false|not\s(?:\w{2,12}\s)?(?:right|correct|valid))\b|틀[렸리린립]|옳지\s?않|맞지\s?않",
    re.IGNORECASE,
)
_DISCARDED = late(
    rf"{_CONTRADICTED_ZH}|不满足|不符合?(?:题|条件|要求)|与[^，。]{{1,12}}不符|作废|(?:是|为)干扰项|被?淘汰"
    rf"|与[^，。]{{1,12}}相悖|应?舍[去弃]|(?:应|被|要|可)排除|站不住"
    r"|\b(?:discard(?:ed)?|reject(?:ed)?|contradict(?:s|ion|ed)?|ruled\sout|invalid|fails?|violates?|flawed|disregard|ignore)\b"
    r"|만족하지\s?않|모순|제외|탈락|될\s?수\s?없",
    re.IGNORECASE,
)
_THE_REST = late(
    r"其他|其余|另外|别的|剩下|\b(?:others?|remaining|rest|alternatives?|if|otherwise|without|avoid)\b|나머지|다른|[若如](?!此)|避免|否则",
    re.IGNORECASE,
)


def _sentence_starts(text: str, end: int) -> list[int]:
    """Where the answer ends, and where each sentence behind it begins: its printed text may come first."""
    ends = (match.end() for match in _SENTENCE_END.finditer(text, end))
    return [end, *(start for start in ends if text[start : start + _SENTENCE_CHARS].strip())]


_SENTENCE_END = late(r"[。！!？?\n；;]\s*|[.](?=\s)\s*|．(?!\d)\s*")
_VALUE_CHARS = 60
_LOOKS = 50
_BEFORE_CHARS = 40
_ENDING_KO = late(r"(?:입니다|이다|임|이에요|예요)$")
_ALONE_IN_BRACKETS = late(r"\([^(),]+\)")
_NOT_BEFORE = late(
    r"(?:(?:答案|结果|值|最终)(?:绝|肯定|应该?|可能)?(?:不是|并非|不应该?[是为]|不可能是|不能是)"
    r"|\b(?:answer|result|it|that|value)\s(?:is\snot|isn['’]t|was\snot|cannot\sbe|can['’]t\sbe|should\snot\sbe)|\bnot\sequal\sto|\d\$?\s?(?:,\snot|rather\sthan|instead\sof|[,，]?\s?(?:而不是|而非|并非))|(?:\A|[.!?\n]\s?)not)"
    r"[\s$\\(]*\Z",
    re.IGNORECASE,
)
_WRONG_AFTER = late(
    r"[\s$)）\]〙〗*}\\”\"']{0,6}(?:\\text\{)?(?:这个?|的)?(?:答案|值|结果|解|根|选项)?"
    rf"(?:{_VERY_ZH}(?:错|有误|不对|不正确|不成立|不合题意|不符合?|不满足|不是(?:正确|最终|本题)?的?(?:答案|解|结果)|应?该?舍去|不可能|不行)"
    rf"|{_IS_EN}{_WRONG_EN}|\s(?:does(?:n['’]t|\snot)|fails)\b"
    rf"|\s?(?:은|는|이|가|도)?\s?(?:\S{{1,6}}\s)?{_WRONG_KO})",
    re.IGNORECASE,
)


def written_value(text: str, end: int, value: str) -> re.Pattern[str] | None:
    """How a value is written again behind `end`, not as a part of another; None where it is not, or is too long."""
    plain = _ENDING_KO.sub("", value.strip(" $.。")).removeprefix(r"\(").removesuffix(r"\)").strip()
    plain = plain[1:-1].strip(" $") if _ALONE_IN_BRACKETS.fullmatch(plain) else plain
    if not plain or len(plain) > _VALUE_CHARS or text.find(plain, end) < 0:
        return None
    return re.compile(rf"\$?(?<![A-Za-z0-9_.,/^{{+-]){re.escape(plain)}(?![A-Za-z0-9_/^]|[.,]\d)\$?")


def value_denied(text: str, end: int, value: str) -> int | None:
    """Where the first words behind `end` end that call this very value wrong; None where none do."""
    named = written_value(text, end, value)
    if named is None:
        return None
    for number, match in enumerate(named.finditer(text, end)):
        if number == _LOOKS:
            break
        wrong = _WRONG_AFTER.match(text, match.end())
        until = wrong.end() if wrong else match.end()
        refused = wrong or _NOT_BEFORE.search(text[max(0, match.start() - _BEFORE_CHARS) : match.start()])
        if refused and not is_told(text, match.start(), until):
            return until
    return None


_QUOTED_CHARS = 300


def quoted(said: str) -> str:
    """Words handed on for a reader, marked so that no rule takes them for a label and its text, or for a value."""
    return f"… {said.strip()[:_QUOTED_CHARS]} …"
