"""What a short sentence says of its subject: "The vertex is (2, 3).", "It's Paris.", 作者是李白, 수도는 서울이다.

Contract: `complement` returns all that stands behind the one copula of a text that is one plain sentence, and None
for any other. A sentence that denies, hedges, supposes, counts or asks, or speaks of one of several, says nothing.
Pure, and linear in the text, which is short.
"""

from __future__ import annotations

import re

from livek12.core.patterns import late
from livek12.judges.rules.notation import bare

MAX_CHARS = 160
_ENGLISH = late(
    r"(?:(?:so|thus|hence|therefore),?\s+)?"
    r"(?:it['’]s|(?:i|we)\s(?:get|got|obtain|find|have)|(?P<subject>(?:it|he|she|they|this|that|the|its|his|her|their|our)\b[^.,;:=?!\n]{0,80}?)"
    r"\s(?:is|are|was|were|equals?|becomes?|gives?|yields?)(?:\s(?:equal to|called|given by))?:?)\s+(?P<value>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_CHINESE = late(
    r"(?:所以|因此|故|综上)?[,，]?\s?(?:[^，,。；;：:=？?！!\n]{0,30}?(?:\s?[:：]\s?|是|为|叫做?|称为|等于)|(?:我们)?(?:可以)?(?:[解可求算]得|得[到出])\s?[:：]?)"
    r"(?P<value>.+?)(?:[,，]\s?经检验[^。]{0,40})?",
    re.DOTALL,
)
_KOREAN = late(
    r"(?:따라서|그러므로|그래서)?\s*(?P<subject>[^,.;:=?!\n]{1,40}?[가-힣\w)])[은는]\s+"
    r"(?P<value>\S.{0,80}?)\s?(?:이다|입니다|이에요|예요|임)",
    re.DOTALL,
)
_OTHERWISE = late(
    r"\b(?:not|no|never|none|neither|nor|cannot|if|when|unless|whether|where|because|since|but|although|or|maybe|perhaps"
    r"|probably|possibly|might|may|could|would|should|guess\w*|wrong|incorrect|false|mistake\w*|other|another|first|second"
    r"|third|last|next|one|each|either|both|half|twice|previous|original|initial|what|which|why|how|than|opposite|inverse"
    r"|reciprocal|negative|square|given|assum\w+|suppos\w+|say|says|said|claim\w*|think\w*|friend|student)\b|n['’]t\b"
    r"|[疑恐]|增根|不(?!等[式号]|变|饱和|规则|可逆|连续)"
    r"|[没非未无否若如假设错误可或另其余哪谁吗呢倍半]|至[少多]|第[一二三]|[大小多少高低]于|超过|相反|倒数"
    r"|아니|않|없|못|만약|라면|아마|틀[리린렸]|잘못|오답|모르|또는|다른|첫|두 번째|역수|절반|보다",
    re.IGNORECASE,
)
_ENDED = late(r"[.。!！?？;；\n](?=\s*\S)(?!\d)")
_COPULA_AGAIN = late(r"\b(?:is|are|was|were)\b|[是为]|(?:은|는)\s", re.IGNORECASE)
_TEXT = late(r"\\text\s?\{([^{}]*)\}")
_CJK = late(r"[\u4e00-\u9fff]")
_HANGUL = late(r"[\uac00-\ud7a3]")
_LATIN = late(r"[A-Za-z]")
_GLOSSED = late(r"(?P<word>[^()（）\d=<>+]{1,30}?)\s?[(（](?P<gloss>[^()（）]{1,40})[)）]")


def complement(text: str) -> str | None:
    """What one plain sentence says its subject is; None where it says anything else.

    Args:
        text: an answer, or a key.
    """
    if not 4 <= len(text) <= MAX_CHARS:
        return None
    plain = _TEXT.sub(r"\1", bare(text))
    pattern = _KOREAN if _HANGUL.search(plain) else _CHINESE if _CJK.search(plain) else _ENGLISH
    said = pattern.fullmatch(text.strip(" .。*\n") if pattern is _KOREAN else plain)
    if said is None or plain.endswith("!") or _ENDED.search(plain) or _OTHERWISE.search(plain):
        return None  # what ends in "5!" may be a factorial
    value = said["value"].strip()
    return None if _COPULA_AGAIN.search(value) else value


def glossed(text: str) -> list[str]:
    """A word with a gloss in brackets as what it may be: 삼투압(osmotic pressure), 碳酸钠（Na2CO3）, 임진왜란(1592).

    A gloss is a number, or in another script, and then it is the same in another language or notation. In the same
    script it may correct the word.
    """
    found = _GLOSSED.fullmatch(bare(text)) if len(text) <= MAX_CHARS else None
    if found is None or _OTHERWISE.search(text):
        return []
    word, gloss = found["word"].strip(), found["gloss"].strip()
    if gloss.isdigit():
        return [word] if _scripts(word) - {"latin"} else []
    return [word, gloss] if _scripts(word) and _scripts(gloss) and not _scripts(word) & _scripts(gloss) else []


def _scripts(text: str) -> set[str]:
    scripts = (("han", _CJK), ("hangul", _HANGUL), ("latin", _LATIN))
    return {name for name, pattern in scripts if pattern.search(text)}
