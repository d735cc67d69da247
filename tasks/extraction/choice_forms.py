"""Forms in which a text commits to option labels, and lists of labels ("A, C and D", "①③", "ㄱ, ㄴ").

Patterns are unambiguous, so that many labels stay cheap. Groups are `run` (labels) and `or` (an alternative), or `open`
and `content` for a region. Bare letters in prose are none, nor letters behind a weak joint that begin a clause or
option ("A, B is wrong", "A, B. 12 cm").
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from livek12.core.patterns import late
from livek12.judges.rules.labels import read_labels
from livek12.tasks.extraction.clauses import ANSWER_KO, NEGATION, SO_EN, SO_ZH
from livek12.tasks.extraction.remarks import RETRACTION

NOUN_ZH = "点球车物地处组班国市图表线角楼厂校队段端极板管瓶杯盒箱区层轨级同型族"
"""A letter before one of these names a thing, not an option."""
_PUNCTUATION = r"[,，、;；/·ㆍ・]"
CONJUNCTION = (
    r"(?:[&+∧]|以及|还有|[和与及跟과와및]|그리고|이?랑|하고"
    r"|(?i:and|plus|(?:as\swell\sas|along\swith|together\swith))\b)"
)
_STRONG = rf"(?>[^\S\n]?(?:{_PUNCTUATION}[^\S\n]?)?{CONJUNCTION}[^\S\n]?|[^\S\n]?、[^\S\n]?)"
_WEAK = rf"(?>[^\S\n]?{_PUNCTUATION}[^\S\n]?|[^\S\n]|\.)"
_JOINT = rf"(?>\s?{_PUNCTUATION}\s?(?:{CONJUNCTION}\s?)?|\s?{CONJUNCTION}\s?|[^\S\n]?)"
_NOUN = r"(?:(?:选项|第)\s?|(?i:options?|choices?|statements?)\s)?"
_OPEN = r"(?:[(（\[【〔『《〈]\s?)?"
_CLOSE = r"(?:\s?[)）\]】〕』》〉])?+"
_OWN_CLAUSE = (
    r"(?![.．]\s*[^\s.。]|\s?[:：]\s?(?i:wrong|incorrect|false|错|不)|\s?选?项?虽?正确但|\s?(?:选?项)?(?:是|均|都)?(?:错|不|有误)"
    r"|\s(?:is|was|does|fails|cannot|can['’]t|isn['’]t|doesn['’]t)\b)"
)
_ARROW = r"(?:→|⇒|⟶|-{1,2}>|=>|\$?\\(?:right|Right|long)\w{0,15}arrow|\$?\\to\b)\s?\$?[(（]?[A-J](?![A-Za-z])"
_NO_SYMBOL = rf"(?!\.[A-Z]\.|\+\+|\s?语言|\s?{_ARROW})(?![A-Za-z0-9'′])(?!\s?[=＝∥⊥<>^_])(?!\s?[{NOUN_ZH}])"
_LETTERS = rf"[A-J]{{1,10}}{_NO_SYMBOL}{_CLOSE}"
_LATIN = (
    rf"{_LETTERS}(?:(?:\s?选?项)?{_STRONG}{_NOUN}{_OPEN}{_LETTERS}|(?:{_WEAK}{_NOUN}{_OPEN}|[^\S\n]?[(（\[【〔『《〈]\s?){_LETTERS}{_OWN_CLAUSE}"
    rf"|\n[A-J](?=[.。)）]?(?:\n|\Z))){{0,9}}"
)
_CIRCLED = rf"[①-⑩](?:\s?번)?(?:[)）]?{_JOINT}[(（]?[①-⑩](?:\s?번)?){{0,9}}"
_JAMO_END = r"(?![ㄱ-ㅎ]|(?!이|은|는|가|을|를|만|도|와|과|로|임|예|의|뿐|입니)[가-힣])"
_JAMO = rf"[ㄱ-ㅎ]{_JAMO_END}(?:[)）]?{_JOINT}[(（]?[ㄱ-ㅎ]{_JAMO_END}){{0,9}}"
_JAMO_ROW = rf"[ㄱ-ㅎ]{{2,10}}{_JAMO_END}"
_SMALL = rf"(?<=[(（])[a-j](?:[)）]{_JOINT}[(（][a-j]){{0,9}}(?=[)）])"
LIST = rf"{_OPEN}(?:{_NOUN}{_LATIN}|(?:{_CIRCLED}|{_JAMO}|{_JAMO_ROW}|{_SMALL}){_CLOSE})"
_ONE_DIGIT = (
    r"(?:[(（]\s*[1-9]\s*[)）]|[1-9]\s*번|[1-9](?!\d|[./^:]\d|,\d{2}|\s*[-+*=^_/\\a-zA-Z%°]"
    r"|\s?(?:개|가지|명|배|점|년|월|시간|분|초|원|도|쌍|종류|회|권|마리|자리|차)|[個个種种次倍年月米元人条本對对]))"
)
DIGITS = rf"{_ONE_DIGIT}(?:(?>\s?{_PUNCTUATION}\s?(?:{CONJUNCTION}\s?)?|\s?{CONJUNCTION}\s?){_ONE_DIGIT}){{0,9}}"
_ANY_LABEL = r"(?:[A-J]{1,10}(?![A-Za-z0-9])|[①-⑩]|[ㄱ-ㅎ](?![가-힣]))"
_HEDGE = (
    r"(?:(?i:possibly|maybe|perhaps|probably|potentially|likely|also|even|then|finally|too|certainly|of\scourse"
    r"|so\s(?:is|are))\b|可能|也许|或许|大概|还|也|另外|当然|甚至|有|是|아마도?|또한?|역시)[,，]?\s?"
)
_DENIED = rf"(?i:{NEGATION}|\b(?:but|no|violates?|contradicts?|ruled)\b|\btoo\s(?!$)[a-z])|但"
_UNDENIED = rf"(?![^.。!！?？\n;；]{{0,80}}?(?:{_DENIED}))"
"""Behind a label: its sentence does not deny it, as far as it speaks of it."""
_BELIEVED = r"and[,，]?\s[—–]?\s?(?:arguably|i\s(?:believe|think|guess|suppose))[,，]?(?:\s[—–])?"
_JOINED = rf"(?:∪|…|\.{{3}}|(?i:or\seven|with|then|in\saddition\sto|as\sis|{_BELIEVED})|并且|而且)"
_MORE_BEHIND = late(
    rf"(?:\s?选?项)?\s?(?:{_PUNCTUATION}|[—–(（])?\s?(?:{CONJUNCTION}|(?i:also|likewise|且|并)|另外|可能|也许|或许)[,，]?\s?"
    rf"(?:(?:{_HEDGE}){{0,3}}{_NOUN}{_OPEN}{_ANY_LABEL}{_OWN_CLAUSE}"
    r"|(?:the\s)?(?:first|second|third|fourth|fifth|last|other|remaining)\s(?:one|option|choice|statement)s?\b)"
    rf"|\s?[,，;；—–(（]\s?{_NOUN}{_OPEN}{_ANY_LABEL}{_CLOSE}\s(?i:too|as\swell)\b"
    rf"|[^.。!！?？\n]{{0,40}}[,，;；]\s?(?:(?:and|as)\s)?so\s(?:is|are)\s{_NOUN}{_OPEN}{_ANY_LABEL}"
    rf"|[^\S\n]?[,，]?[^\S\n]?{_JOINED}[^\S\n]?{_NOUN}{_OPEN}{_ANY_LABEL}{_UNDENIED}"
    rf"|\s?[(（\[][^()（）\[\]\n]{{2,60}}[)）\]]\s?"
    rf"(?:{CONJUNCTION}\s?{_NOUN}{_OPEN}{_ANY_LABEL}{_OWN_CLAUSE}|[,，、]\s?{_ANY_LABEL}\s?[(（\[])"
)
_MORE_UNNAMED = late(
    rf"{_CLOSE}(?:\s?选?项)?\s?(?:[,，、;；]\s?)?(?:"
    r"(?i:(?:and\s)?etc\b|et\scetera\b|and\sso\s(?:on|forth)\b|among\sothers\b|and\s(?:[a-z]{2,8}\s)?(?:more|others)\b"
    r"|and\s(?:all|some|any|most)?\s?(?:of\s)?the\s(?:others?|rest)\b)"
    r"|等(?=\s?(?:[。.,，;；\n]|\Z|[选项几多]))|등(?=\s?(?:[.,\n]|\Z|이|입)))"
    rf"|{_CLOSE}\s?[,，、]\s?(?:\.{{3}}|…)"
)
_SIGN_OR_END = r"\s?(?:[,，;；:：]|[—–(（]|[.。!！](?=\s|\Z|[^\x00-\x7f]))?\s?"
_TURN = (
    r"(?:(?:(?i:and|but|though|although|yet|while|however|with|in\saddition|additionally|moreover|note\sthat)\b"
    r"|不过|但是?|然而|同时|此外|另外|虽然|이?지만|이며|이고|이나|그러나|하지만|또한)[,，]?\s?){0,2}"
)
_AS_WELL = r"(?:(?i:\b(?:also|too|as\swell|equally|works|better)\b)|也|同样|更(?:好|合适|恰当|符合)|(?<=[A-J①-⑩])도)"
_RIGHT = r"(?:(?i:\b(?:correct|right|true|valid|holds|fits)\b)|正确|成立|符合|对|맞|옳)"
_ANOTHER_NAMED = (
    rf"{_CLOSE}{_SIGN_OR_END}{_TURN}{_NOUN}{_OPEN}(?P<other>{_ANY_LABEL}){_CLOSE}"
    rf"(?![.．:：、]|\s?[=＝∥⊥<>^_{NOUN_ZH}]){_UNDENIED}"
)
_ANOTHER = late(
    rf"{_ANOTHER_NAMED}(?:[^.。!！?？\n;；:：]{{0,24}}?{_AS_WELL}"
    rf"|(?P<right>[^.。!！?？\n;；:：,，]{{0,12}}?{_RIGHT}(?!\s(?:answer|choice|option))))"
)
_MORE_BEFORE = late(
    rf"(?<![A-Za-z]){_ANY_LABEL}{_CLOSE}(?:{_PUNCTUATION}\s?)?\s?(?:{CONJUNCTION}|[,，、;；])\s?(?:{_HEDGE}){{0,3}}{_NOUN}{_OPEN}\Z"
)
_BEFORE_CHARS = 40
_WHOLE = late(rf"{LIST}|{DIGITS}")
_SIGNS = late(rf"\s?(?:{_PUNCTUATION}|{CONJUNCTION})\s?")
_COMMAS = late(r",(?:\s*,)+\s?")
_DROPPED = late(rf"[()（）\[\]【】〔〕『』《》〈〉]|{_NOUN}(?=[A-J](?![A-Za-z]))")

_LIST_SIGN = late(r"(?<=[A-J])\.(?=[A-J])|\s*[ㆍ・]\s*")
_ADDED = late(
    rf"{_CLOSE}\s?[,，、;；]?\s?(?:(?i:and|but)\s)?[,，]?\s?(?:此外|另外|同时|而且|并且|还有|还|又|(?i:also|further(?:more)?|in\saddition|lastly|finally|moreover)|또한?|게다가)"
    rf"[^。.!！?？\n;；]{{0,12}}?(?<![A-Za-z])(?:{_ANY_LABEL}){_UNDENIED}"
)
"""Words that add another option to what was read."""
# Labels in running text, and behind them perhaps "or B".
_RUN = (
    rf"(?P<run>{LIST})"
    r"(?P<or>[,，]?\s*(?:或者?|还是|or\b|vs\b\.?|또는|혹은|아니면|이나(?=\s*[①-⑩])|至|到|[|–~～-](?=\s?[(（]?[A-J](?![A-Za-z])))"
    r"\s*(?:选项|option\s*)?\s*[(（]?\s*[A-J①-⑩])?"
)
_DIGIT = rf"(?P<run>{DIGITS})(?P<or>\s*(?:或者?|还是|or\b|또는)\s*[1-9①-⑩])?"
_SELECT_ZH = (
    r"(?<![不别勿误未错若单多排])(?<!不能)(?<!不可)(?<!不应)(?<!如果)(?<!假如)(?<!假设)(?<!要是)(?<!无法)(?<!难以)[选選]"
    r"(?:择|擇|出|取)?\s*(?:的是|项为|项是|项应为)?"
)
_ANSWER_ZH = r"(?:答案|答)\s*[】\]]?\s*(?:应该|应当|应|只能|显然|就|即)*\s*(?:是|为|选)?"
_IS_ZH = (
    r"(?:选项|结论|说法|判断|叙述|(?<!不)正确的(?:一项)?|符合题意的(?:一项)?|合适的|恰当的|成立的)\s*"
    r"(?:应该|应当|应|只能|只有|分别|就|即)*\s*(?:是|为|有)"
)
_RIGHT_ZH = (
    r"(?:正确|最终|最佳|合适|恰当|符合题意|所选)的?(?:选项|项|说法|结论|判断|叙述|选择)\s*(?=[:：])"
    r"|(?<![\u4e00-\u9fff])结论\s*(?=[:：])"
)
_OPTION_ZH = r"\s*[:：]?\s*(?:选项|第)?\s*"
_EN = (
    r"\b{}\s*(?:is|are|(?:would|should|must|will|might|may|could) be|:|：|=|[-–—](?=\s))+\s*"
    r"(?:therefore|thus|clearly|simply|indeed|exactly|definitely|certainly|just|then)?\s*[:：]?\s*(?:(?:the\s+)?(?:options?|choices?|letters?))?\s*[:：]?\s*"
)
_ANSWER_EN = _EN.format(r"(?:answers?|ans\b\.?)")
_CHOICE_EN = _EN.format("(?:my pick|choices?|options?|statements?|ones?|letters?)")
_SOLUTION_EN = (
    r"\b(?:solution|conclusion|result|decision|verdict)\s*(?:is|:|：|=)\s*(?:(?:the\s+)?(?:correct\s+)?"
    r"(?:option|choice|answer)\s*(?:is\b)?[:：]?\s*|(?=[(（]?[A-J][)）]?[.。]?(?:\n|\Z)))"
)
_PICK_EN = r"\b(?:choose|pick|select|answer)\s+(?:(?:the\s+)?(?:option|choice|answer)\s+)?"
_KO = (
    rf"{ANSWER_KO}\s?[】\]]?\s*(?:은|는|이|:|：|=)*\s*"
    r"(?:분명히|바로|확실히|당연히)?\s*(?:선택지|보기)?\s*"
)
_CALLED_RIGHT_KO = r"(?:(?:이|가|만)\s*(?:가장\s*)?(?:정답|답|옳|맞|적절|알맞)(?!지)|[을를]\s?(?:선택|고른|택))"
_RIGHT_KO = r"\s*번?\s*(?:선택지\s?)?" + _CALLED_RIGHT_KO
_CALLED_RIGHT_ZH = r"(?:是|为)\s*(?:(?:唯一|本题)的?\s*)?(?:(?:正确|最佳|最终|合适)的?\s*(?:答案|选项)|(?<=唯一)正确的)"
_RIGHT_ZH_BEHIND = r"\s*(?:选项|项)?\s*(?:就(?=是))?" + _CALLED_RIGHT_ZH
_CALLED_RIGHT_EN = (
    r"(?:is|are)\s+(?:the\s+(?=answer\b)|(?:the\s+)?(?:correct|right|best|final|only)\s+)"
    r"(?:(?:correct|right|valid)\s+)?(?:answer|choice|option|one)s?\b"
)
_RIGHT_EN = r"(?:[:：]\s(?:(?!\b[A-J]\b)[^.\n]){1,80}?)?\s+" + _CALLED_RIGHT_EN
_NOW = (
    r"[,，.:：\s]*(?:应该?)?(?:是|选|为)?\s*(?i:(?:the\s+answer|it|that)?(?:\s*is|'s|\s+should\s+be|\s+must\s+be)?)\s*"
)
_TURNED = (
    r"\b(?:wait|actually|on second thoughts?)\b[^.\n]{0,30}?\b(?:it|that|answer)(?:'s|\s(?:is|should\sbe|must\sbe))\s"
    r"(?:actually\s)?(?:(?:option|choice)\s)?"
)
_REASON = r"\s*(?:[。.．,，:：]\s*|\s)(?i:因为|由于|理由|原因|because|since|왜냐)"
# Strength of a form: a weaker one replaces a stronger one only as a correction.
CORRECTED, MARKED, EXPLICIT, LOOSE = 7, 6, 5, 4
JUDGED, CONCLUDED, ONLY_LABELS, UNSURE = 3, 2, 1, 0
_REGION = late(r"(?P<open>[〖〘])(?P<content>[^〖〗〘〙]*)[〗〙]")
_CONCLUDING = rf"(?:{SO_ZH}|应|应该|本题|则)[,，]?\s*(?:本题)?\s*(?:应该?)?\s*"
_OPENING = (
    r"\A(?![^\n]{0,300}[(（]\s?[A-J]\s?[)）][^\n]{0,100}[(（])"
    r"(?=[^\n]{0,300}[a-z\u4e00-\u9fff\uac00-\ud7a3]{3})[^\n]{4,600}[(（]\s?"
)
FILLED = (
    late(_OPENING + r"(?P<run>[A-J]{1,8}|[①-⑤])(?P<or>(?!))?\s?[)）][。.．]?(?=\n|\Z)"),
    late(
        rf"(?:\A|{_OPENING}[)）][。.．]?\n)[(（]?(?P<run>[A-J])(?P<or>(?!))?[)）]?\s?[.．、:：]\s?[^\n]{{1,300}}\n"
        r"[【\[#\s]*(?i:解析|解释|分析|理由|说明|详解|解答|explanation|reason|해설|풀이|설명)"
    ),
)
"""A stem repeated with its bracket filled in ("错误的是（ D ）"), and one option alone before its explanation."""
_WRONG_ONE = (
    r"(?:(?:错误|不正确|有误|不符合题意|不成立|不恰当|不合理|不可能|不属于)的?(?:一项|选项|说法|叙述|结论)?\s*(?:应该?)?(?:是|为)"
    r"|\b(?i:statement|option|one|choice)\s(?:that|which)\sis\s(?:not\s(?:right|correct|true)|wrong|false|incorrect)\sis"
    r"|(?:틀린|않은|잘못된)\s*것은)\s*[:：]?\s*(?:选项)?\s*"
)
"""The wrong option as the answer, if the question asks for it."""
_ANNOUNCED = rf"(?:{_ANSWER_ZH}{_OPTION_ZH}|(?i:{_ANSWER_EN}|{_SOLUTION_EN})|{_KO}|#{{4}}\s?(?=[^\n]{{1,12}}(?:\n|\Z)))"
_CHOSEN = rf"(?:(?:{_SELECT_ZH}|{_IS_ZH}|{_RIGHT_ZH}){_OPTION_ZH}|(?i:{_CHOICE_EN})|{_PICK_EN})"
_CALLED_RIGHT = rf"(?:{_RIGHT_KO}|{_RIGHT_EN}|{_RIGHT_ZH_BEHIND})"
_ONLY = r"(?:只有\s*(?:选项|第)?\s*|\b(?i:only)\s+(?:(?i:option|choice|statement|answer)\s+)?)"
_HOLDS = r"(?:\s*(?:选项|项)?\s*(?:是|才)?(?:正确|对|符合|成立)|\s+(?:is|are|works|fits|match|satisf|holds))"
_SO_ZH = rf"{SO_ZH}[^。；;\n]{{0,40}}?"
_SUM_UP_ZH = rf"(?!故){SO_ZH}[^。；;\n故]{{0,40}}?"
_SO_EN = rf"(?i:{SO_EN})"
_RIGHT_BEHIND = (
    r"(?:\s*(?:选项|项)?\s*(?:[(（][^()（）\n]{0,20}[)）])?\s*(?:的(?:说法|叙述|描述|表述))?(?:都|均|才|是|为)*\s*最?"
    r"(?:正确|符合|合适|恰当|成立|满足|对)|[^。；;\n]{0,60}?(?:是|为)最(?:有可能|可能|合理|合适|接近|恰当|符合)"
    r"|\s+(?:is|are)\s+(?:the\s+)?(?:correct|right|true))"
)
WEAK = [
    late(pattern)
    for pattern in (
        rf"(?:{_SUM_UP_ZH}(?:选项)?|(?:^|[,，。;；\n故])(?=\s*[A-J①-⑩]{{1,8}}\s?(?:选?项\s?是|最?符合题意))|选项"
        rf"|\b(?i:options?|choices?|statements?)|(?:^|[.!?\n]|\b(?:{_SO_EN},?|(?i:both|only|in\sconclusion,?|(?:think|believe)(?:\sthat)?)))(?=\s*[(\[]?[A-J]\b))\s*{_RUN}{_RIGHT_BEHIND}",
        rf"{_SO_ZH}[是为]\s*(?:选项)?\s*[:：]?\s*{_RUN}\s*(?:选项|项)?\s*(?:$|[。.．:：,，(（])",
        rf"(?:对应(?:的)?(?:是|着|于)?\s*(?:选项|答案)|倾向于?(?:选择?)?(?:选项)?"
        rf"|\b(?:(?:which|that|this)\s+is|match(?:es)?|corresponds? to)\s+(?:the\s+)?(?i:option|choice))\s*{_RUN}",
        rf"(?:\b(?:{_SO_EN}|(?i:it'?s|it\s+is|it\s+must\s+be|go(?:ing)?\s+with))[,:]?\s+(?i:option|choice)?"
        rf"|따라서[^.\n]{{0,20}}?)\s*{_RUN}\s*(?:번)?\s*(?:이다|입니다|이므로)?\s*(?:[.!]\s|[.!]?$)",
        rf"(?i:in\sconclusion|{_SO_EN}|answer\s?:)(?=[,\s])[^\n(\[]{{4,240}}?\s(?=[(\[]){_RUN}(?:\s[^\n()\[\]]{{1,80}})?[.]?\s*$",
    )
]


def written_plainly(run: str) -> str:
    """A list with commas, without brackets, where labels are unreadable as written."""
    run = _LIST_SIGN.sub(", ", run)
    if read_labels(run) is not None:
        return run
    plain = _COMMAS.sub(", ", _SIGNS.sub(", ", _DROPPED.sub("", run))).strip(" ,")
    return plain if read_labels(plain) is not None else run


def as_list(text: str) -> str:
    """A plain list of labels; any other text unchanged."""
    return written_plainly(text) if _WHOLE.fullmatch(text.strip()) else text


def goes_on(text: str, start: int, end: int) -> bool:
    """Checks for unread labels around the list."""
    before = text[max(0, start - _BEFORE_CHARS) : start]
    patterns = (_MORE_BEHIND, _ADDED)
    return any(pattern.match(text, end) for pattern in patterns) or _MORE_BEFORE.search(before) is not None


def shared(text: str, end: int, labels: frozenset[str], wrong: bool | None) -> bool:
    """Checks for words that add options, or call another right."""
    if _MORE_UNNAMED.match(text, end) or (text[end - 1 : end] in "〗〙" and _MORE_BEHIND.match(text, end)):
        return True
    another = None if wrong else _ANOTHER.match(text, end)
    if another is None or (wrong is None and another["right"]):
        return False
    return not (read_labels(another["other"]) or frozenset()) <= labels


@dataclass(frozen=True)
class ClaimForm:
    """A way to commit to labels.

    Attributes:
        strength: of the commitment.
        pattern: the form.
        words: one (lower case) is required, if any.
        begins: possible beginnings; None for anywhere.
        needs: a fast necessary condition.
    """

    strength: int
    pattern: re.Pattern[str]
    words: frozenset[str] = frozenset()
    begins: re.Pattern[str] | None = None
    needs: re.Pattern[str] | None = None

    def matches(self, text: str, words: frozenset[str]) -> Iterator[re.Match[str]]:
        """Matches in a cleaned text that has these of `WORDS`, in order."""
        if (self.words and self.words.isdisjoint(words)) or (self.needs and not self.needs.search(text)):
            return
        if self.begins is None:
            yield from self.pattern.finditer(text)
            return
        end = 0
        for place in self.begins.finditer(text):
            if place.start() >= end and (match := self.pattern.match(text, place.start())):
                yield match
                end = match.end()


def _beginning(*words: str) -> re.Pattern[str]:
    """First letters of these words in any case: no word hides another, and literal letters are fast."""
    firsts = [(word, {word[0], word[0].upper(), *("ſ" if word[0] == "s" else "")}) for word in sorted(words)]
    return late("|".join(f"{first}(?=(?i:{word[1:]}))" for word, signs in firsts for first in sorted(signs)))


def _words(table: str) -> frozenset[str]:
    return frozenset(word.replace("_", " ") for word in table.split())


_REASON_WORDS = _words("因为 由于 理由 原因 because since 왜냐")
_EXPLANATION_WORDS = _words("解 分析 理由 说明 explanation reason 해설 풀이 설명")
_ANNOUNCING_WORDS = _words("答 ans solution conclusion result decision verdict 정답 답 최종 ####")
_CHOOSING_WORDS = _words(
    "选 選 结论 说法 判断 叙述 正确 符合题意 合适 恰当 成立 最终 最佳 所选 choice option statement one letter my_pick"
    " choose pick select answer"
)
_WRONG_WORDS = _words(
    "错误 不正确 有误 不符合 不成立 不恰当 不合理 不可能 不属于 statement option one choice 틀린 않은 잘못된"
)
_RETRACTING_WORDS = _words(
    "no oh hmm ah wait sorry correction scratch actually on_second 不 错了 说错 写错 更正 订正 改正 修正 아니 정정"
)
_ANNOUNCING, _CHOOSING, _WRONGLY, _RETRACTING = (
    _beginning(*words) for words in (_ANNOUNCING_WORDS, _CHOOSING_WORDS, _WRONG_WORDS, _RETRACTING_WORDS)
)
FORMS = [
    ClaimForm(MARKED, _REGION, _words("〖 〘")),
    ClaimForm(EXPLICIT, late(_CONCLUDING + _SELECT_ZH + _OPTION_ZH + _RUN), _words("选 選")),
    ClaimForm(EXPLICIT, late(_ANNOUNCED + _RUN), _ANNOUNCING_WORDS, _ANNOUNCING),
    ClaimForm(LOOSE, late(_CHOSEN + _RUN), _CHOOSING_WORDS, _CHOOSING),
    ClaimForm(
        LOOSE, late(_RUN + _CALLED_RIGHT), needs=late(f"{_CALLED_RIGHT_KO}|{_CALLED_RIGHT_EN}|{_CALLED_RIGHT_ZH}")
    ),
    ClaimForm(LOOSE, late(_WRONG_ONE + _RUN), _WRONG_WORDS, _WRONGLY),
    ClaimForm(LOOSE, late(_ONLY + _RUN + _HOLDS), _words("只有 only")),
    ClaimForm(LOOSE, late(r"\A\s*" + _RUN + _REASON), _REASON_WORDS),
    ClaimForm(LOOSE, FILLED[0], _words(") ）")),
    ClaimForm(LOOSE, FILLED[1], _EXPLANATION_WORDS),
    ClaimForm(CORRECTED, late(f"(?i:{RETRACTION}{_NOW}|{_TURNED})" + _RUN), _RETRACTING_WORDS, _RETRACTING),
]
DIGIT_FORMS = [
    ClaimForm(EXPLICIT, late(_ANNOUNCED + _DIGIT), _ANNOUNCING_WORDS, _ANNOUNCING),
    ClaimForm(LOOSE, late(_DIGIT + _RIGHT_KO), _words("답 옳 맞 적절 알맞 선택 고른 택")),
    ClaimForm(LOOSE, late(r"(?<!않은 )(?:옳은|맞는|알맞은|적절한|바른)\s*것(?:은|만을?)\s*" + _RUN), _words("것")),
]
WORDS = frozenset().union(*(form.words for form in (*FORMS, *DIGIT_FORMS)))
