"""What a text says of named options: that one is right or wrong, as a statement or as the answer.

Contract: `label_verdicts` lists them in their order, in Chinese, English and Korean, linear in the length of the text:
each pattern has one way to read, and gaps are bounded. Whether a wrong statement is a wrong answer depends on what the
question asks for, and is not decided here.
"""

from __future__ import annotations

from dataclasses import dataclass

from livek12.core.patterns import late
from livek12.judges.rules.labels import read_labels

Labels = frozenset[str]


@dataclass(frozen=True)
class LabelVerdict:
    """What a text says of options at a place: right or wrong; `as_answer`: as the answer, not only as a statement."""

    start: int
    end: int
    labels: Labels
    right: bool
    as_answer: bool


_RUN = (
    r"(?P<run>[A-J](?:(?:(?>[^\S\n]?(?:[、/和与及]|and\b)?[^\S\n]?)[A-J](?![a-z])){0,9}"
    r"|(?:(?>[^\S\n]?[,，][^\S\n]?(?:and\s)?)[A-J](?![a-z])){1,9})(?![A-Za-z0-9'′])"
    r"|[①-⑩](?:(?>[^\S\n]?[,，、와과]?[^\S\n]?)[①-⑩]){0,9}|[1-9](?=\s?번))"
)
_NAMED = rf"(?<![A-Za-z0-9\\、]){_RUN}"
_OTHER_LABEL = r"[A-J①-⑩]\s?(?:[.．、:：)）]|is\b|are\b|选项|项|不|错|是)"
_QUOTED = rf"(?:\s?[)）】\]〙〗]{{1,2}})?(?:\s?[.．、:：)）]\s?(?:(?!{_OTHER_LABEL})[^\n。;；]){{1,160}}?)?"
"""The printed text of an option, up to the words on it, without another label."""
_OPTION_ZH = (
    r"\s?(?:[)）】\]〙〗.．、:：]\s?){0,2}(?:这[个一])?(?:选项|答案|项)?的?(?:说法|叙述|描述|表述|结论|判断)?\s?"
    r"(?>[,，]\s?(?=显然|明显|其实|实际|是))?"
    r"(?>是|为|均|都|全|也|却|并|显然|明显|其实|实际上?|实则|可能|似乎|就|才|仍|还|应该?|肯定|完全|同样|根本|看来|本身|[^\S\n]){0,5}"
)
_IS_EN = (
    r"[)\]]?\s(?i:(?:option|choice|answer|statement)s?\s)?"
    r"(?:is|are|was|were|seems?(?:\sto\sbe)?|looks?|must\sbe|has\sto\sbe|turns?\sout\sto\sbe|would\sbe|should\sbe)\s"
    r"(?>(?:actually|clearly|also|therefore|indeed|obviously|definitely|certainly|in\sfact|then|just|simply|really|still"
    r"|thus|probably|completely|both|all|,)\s){0,3}"
)
_PARTICLE_KO = r"\s?번?(?:\s?선택지)?\s?(?:은|는|이|가|도|만)?\s?(?:(?:사실|실제로|분명히|또한|모두)\s?)?"
_CLAUSE_END = r"(?=\s?(?:[。.．,，;；!！?？)）\n]|\Z))"
_MANNER = r"(?:\w{2,12}\s)?"

_WRONG_ZH = r"(?:不正确|不对|错误|有误|错|不成立)(?!率)|[×✗✘❌]"
_MARKED_WRONG = r"错误?|误|不对|不正确|wrong|incorrect|false|틀림|오답|x(?=[)）\]])|[×✗✘❌]"
_NO_NOUN = r"(?!\s(?:answer|choice|option))"
_TRUE_EN = rf"{_MANNER}(?:true|valid|accurate|correct|right)\b{_NO_NOUN}"
_WRONG_EN = (
    rf"(?:wrong|incorrect){_NO_NOUN}\b|false\b|invalid|untrue|mistaken|inaccurate"
    rf"|not\s{_TRUE_EN}"
)
_WRONG_KO = r"틀[리렸린림립]|틀|잘못|옳지\s?않|맞지\s?않|거짓"
_REFUSED_ZH = (
    r"不符合?|不满足|不合题意|不合适|不恰当|不可能|不能(?:选|成立|作为|是)|不(?:应该|应当|可以|应|可|该|再)?选"
    r"|(?:应该?|要|可以?)?被?排除|(?:与[^。，,\n]{1,8})?(?:矛盾|相悖)|不行|不(?:是|为)(?:最|所|本题|正确|我|应|想|答案|要)"
)
_REFUSED_EN = (
    r"(?:an?\s)?(?:wrong|incorrect)\s(?:answer|choice|option)"
    rf"|not\s(?:(?:the|an?|our|my)\s)?{_MANNER}(?:answer|option|choice|it\b|possible|acceptable|consistent|what)"
    r"|impossible|inconsistent|eliminated|ruled\sout|excluded|rejected|out\b"
)
_FAILS_EN = (
    rf"[)\]]?\s(?:(?:does(?:n['’]t|\snot)|do(?:n['’]t|\snot))\s{_MANNER}(?:fit|satisfy|work|match|hold|meet|apply|answer|agree|follow)"
    rf"|(?:is|are|was|were)n['’]t\s(?:(?:the|an?)\s)?{_MANNER}(?:answer|option|choice|it\b)"
    r"|(?:can(?:not|['’]t|\snot)|could(?:n['’]t|\snot)|must\snot|should(?:n['’]t|\snot))\sbe\b|fails\b|contradicts\b|violates\b)"
)
_REFUSED_KO = (
    r"(?:정?답|해답)?\s?(?:이|은|으로)?\s?(?:아니|아닙|아님|아닌|오답|될\s?수\s?없|적절하지\s?않|제외|부적절|모순"
    r"|\S{1,6}에\s?(?:맞지|어긋|위배|부합하지))"
)
_LEFT_OUT = (
    r"(?:排除(?:了|掉)?|不(?:能|可以?|应该?|该|再|要)?选(?:择)?|(?:答案|选项?)(?:绝|肯定|应该?)?不(?:应该?|可能|会|能)?(?:是|为|选)"
    r"|不是|并非|否定了?|\b(?i:not|never|can(?:not|['’]t)\sbe|isn['’]t|rul(?:e|es|ed|ing)\sout|eliminat(?:e|es|ed|ing)"
    r"|exclud(?:e|es|ed|ing)|reject(?:s|ed|ing)?|discard(?:s|ed|ing)?))\s?(?:选项|答案|(?i:options?|choices?|answers?)\s)?[(（]?"
)
_SCRIPTS = {
    "zh": late(r"[\u4e00-\u9fff]"),
    "en": late(r"\s[a-z]{2}"),
    "ko": late(r"[가-힣]"),
    "any": late(""),
}
_VERDICTS = [
    (_SCRIPTS[script], late(pattern), right, as_answer)
    for script, pattern, right, as_answer in (
        ("zh", rf"{_NAMED}{_OPTION_ZH}(?:正确|成立|对(?![应称比于照数角边立象面地每任所])|[√✓✔✅])", True, False),
        ("zh", rf"{_NAMED}{_OPTION_ZH}符合(?:题意|要求|条件)", True, True),
        ("zh", rf"{_NAMED}{_OPTION_ZH}(?:{_WRONG_ZH})", False, False),
        ("zh", rf"{_NAMED}{_OPTION_ZH}(?:{_REFUSED_ZH})", False, True),
        ("zh", rf"{_NAMED}{_QUOTED}\s?(?:是|为)(?:错误|不正确|不对|错)的?{_CLAUSE_END}", False, False),
        ("en", rf"{_NAMED}{_IS_EN}(?:correct|right|true|valid)\b(?!\s(?:answer|choice|option))", True, False),
        ("en", rf"{_NAMED}{_IS_EN}(?:{_WRONG_EN})", False, False),
        ("en", rf"{_NAMED}[)\]]?\s(?:is|are|was|were)n['’]t\s{_TRUE_EN}", False, False),
        ("any", rf"{_NAMED}\s?[)）]?\s?[:：(（【\[]\s?(?i:{_MARKED_WRONG})(?![a-z])", False, False),
        ("en", rf"{_NAMED}{_QUOTED}\s(?:is|was)\s(?:{_WRONG_EN}){_CLAUSE_END}", False, False),
        ("en", rf"{_NAMED}{_IS_EN}(?:{_REFUSED_EN})", False, True),
        ("en", rf"{_NAMED}{_FAILS_EN}", False, True),
        ("ko", rf"{_NAMED}{_PARTICLE_KO}(?:옳(?!지\s?않)|맞(?!지\s?않)|참이(?!\s?아니))", True, False),
        ("ko", rf"{_NAMED}{_PARTICLE_KO}(?:{_WRONG_KO})", False, False),
        ("ko", rf"{_NAMED}{_PARTICLE_KO}(?:{_REFUSED_KO})", False, True),
        ("ko", rf"{_NAMED}\s?번?\s?[을를]\s?(?:제외|배제)", False, True),
        ("any", rf"{_LEFT_OUT}{_NAMED}(?!\s?[点线面角边])", False, True),
    )
]  # fmt: skip


def label_verdicts(text: str, start: int = 0) -> list[LabelVerdict]:
    """What is said of options from a place on, in its order."""
    found = []
    for script, pattern, right, as_answer in _VERDICTS:
        for match in pattern.finditer(text, start) if script.search(text, start) else ():
            labels = read_labels(match["run"])
            if labels:
                found.append(LabelVerdict(match.start(), match.end(), labels, right, as_answer))
    return sorted(found, key=lambda verdict: verdict.start)
