"""Lists of option labels in running text ("A, C and D", "(A)、(C)，和(D)", "①③", "ㄱ, ㄴ"): one grammar for all forms.

Contract: `LIST` matches a list, with one way to read each, so that a text of many labels stays cheap. `written_plainly`
gives a match as labels with commas. `goes_on` tells that more labels belong to a list than were read: then nothing is
decided; nor is it where words behind an answer call another option right as well (`shared`). A letter behind a weak
joint (a comma, a space) that begins a clause or an option of its own ("A, B is wrong", "A, B. 12 cm") is not of the
list.
"""

from __future__ import annotations

from livek12.core.patterns import late
from livek12.judges.rules.labels import read_labels

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
LIST = rf"{_OPEN}(?:{_NOUN}{_LATIN}|(?:{_CIRCLED}|{_JAMO}|{_JAMO_ROW}|(?<=[(（])[a-j](?=[)）])){_CLOSE})"
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
_DENIED = (
    r"(?i:\b(?:not|no|never|cannot|wrong|incorrect|false|fails?|except|neither|but|exclud\w*|ruled\sout|eliminated|rejected"
    r"|violates?|contradicts?)\b|\btoo\s(?!$)[a-z])|n['’]t\b|不|错|误|非|排除|但|않|틀|아니|아닙|아닌|못"
)
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
_ANOTHER = late(rf"{_ANOTHER_NAMED}[^.。!！?？\n;；:：]{{0,24}}?{_AS_WELL}")
_ANOTHER_RIGHT = late(rf"{_ANOTHER_NAMED}[^.。!！?？\n;；:：,，]{{0,12}}?{_RIGHT}(?!\s(?:answer|choice|option))")
_MORE_BEFORE = late(
    rf"(?<![A-Za-z]){_ANY_LABEL}{_CLOSE}(?:{_PUNCTUATION}\s?)?\s?(?:{CONJUNCTION}|[,，、;；])\s?(?:{_HEDGE}){{0,3}}{_NOUN}{_OPEN}\Z"
)
_BEFORE_CHARS = 40
_WHOLE = late(rf"{LIST}|{DIGITS}")
_SIGNS = late(rf"(?<=[A-J])\.(?=[A-J])|\s?(?:{_PUNCTUATION}|{CONJUNCTION})\s?")
_COMMAS = late(r",(?:\s*,)+\s?")
_DROPPED = late(rf"[()（）\[\]【】〔〕『』《》〈〉]|{_NOUN}(?=[A-J](?![A-Za-z]))")


def written_plainly(run: str) -> str:
    """The text of a list with commas and without brackets, where labels are not read from it as it is."""
    run = _LIST_SIGN.sub(", ", run)
    if read_labels(run) is not None:
        return run
    plain = _COMMAS.sub(", ", _SIGNS.sub(", ", _DROPPED.sub("", run))).strip(" ,")
    return plain if read_labels(plain) is not None else run


_LIST_SIGN = late(r"(?<=[A-J])\.(?=[A-J])|\s*[ㆍ・]\s*")


def as_list(text: str) -> str:
    """A text that is nothing but a list of labels, plainly written; any other text as it is."""
    return written_plainly(text) if _WHOLE.fullmatch(text.strip()) else text


def goes_on(text: str, start: int, end: int) -> bool:
    """Whether the list that was read at `start` to `end` has more labels before it or behind it."""
    before = text[max(0, start - _BEFORE_CHARS) : start]
    return _MORE_BEHIND.match(text, end) is not None or _MORE_BEFORE.search(before) is not None


def shared(text: str, end: int, labels: frozenset[str], wrong: bool | None) -> bool:
    """Whether the words behind an answer that ends at `end` go on to options without a name, or call another right too.

    Args:
        text: a cleaned text.
        end: where the answer ends.
        labels: those of the answer.
        wrong: whether the wrong option is asked for, as then the others are rightly called right.
    """
    if _MORE_UNNAMED.match(text, end) or (text[end - 1 : end] in "〗〙" and _MORE_BEHIND.match(text, end)):
        return True
    patterns = () if wrong else (_ANOTHER,) if wrong is None else (_ANOTHER, _ANOTHER_RIGHT)
    others = (match["other"] for pattern in patterns if (match := pattern.match(text, end)))
    return any(not (read_labels(other) or frozenset()) <= labels for other in others)
