"""Clauses, one lexicon of denial and doubt, and remarks: hypotheses, corrections, denials and retractions.

A remark never replaces an earlier answer; a correction does. A denial binds to the answer that its clause is about: the
first named there by label, printed text or value, else that of the clause before. Linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from livek12.core.patterns import late
from livek12.tasks.extraction.words import Token, classes, tokens

SO_EN = r"(?:so|thus|hence|therefore|consequently|in\sconclusion|finally)"
SO_ZH = r"(?:综上(?:所述|可知)?|总之|因此|所以|因而|于是|从而|可见|可知|故)"
SO_KO = r"(?:따라서|그러므로|그래서|결국|즉)"
SO = rf"(?:{SO_EN}|{SO_ZH}|{SO_KO})"
"""Words that conclude."""
ANSWER_EN = r"(?<![A-Za-z])(?:(?:final|correct|right|best)\s)?(?:answers?|ans(?:\.(?=\s))?)(?![A-Za-z])"
ANSWER_ZH = r"(?:(?:正确|最终|最后|标准|参考)的?)?答案"
ANSWER_KO = r"(?<!오)(?:최종\s?)?(?:정답|답안|답변|답)"
ANSWER = rf"(?:{ANSWER_EN}|{ANSWER_ZH}|{ANSWER_KO})"
"""Words for an answer."""
TURN = late(
    r"(?i)但(?!是?否)|然而|可是|不过|其实|实际上|而(?=应|是|正确)|하지만|그러나|지만"
    r"|\bbut\b|\bhowever\b|\bwhich is\b|[\d,;—–]\s?it(?:'s| is)\b"
)
_ENDS = r"(?<=[。！？?\n；;])|(?<=!)(?!=)|(?<=\.)(?<!\.[eg]\.)(?=\s)|(?<=．)(?!\d)"
_SENTENCE_END = late(rf"[。！!？?\n；;.．](?:{_ENDS})")
_CLAUSE_END = late(rf"[。！!？?\n；;.．，,：:](?:{_ENDS}|(?<=[，,：:]))")
CHARS = 300
Span = tuple[int, int]
CONCLUDES = late(rf"(?i)(?<![A-Za-z]){SO}(?![A-Za-z])")
RETRACTION = (
    r"(?:\b(?:no|oh|hmm|ah)[,.]?\s*wait\b|\bwait[,.]?\s*no\b|\bsorry\b|\bcorrection\b|\bscratch that\b"
    r"|(?<=[.。…!！,，\s])no,|(?<=[.。…!！,，;；\s])(?:不对?|不是|错了|说错了|写错了)[，,。：:！!]|更正|订正|改正为|修正为|아니[,，]|정정)"
)
_NOT_BUT = (
    (("不是", "并非", "不应", "不为"), late(r"((?:答案|选项?|正确的)\s*)(?:不是|并非|不应是|不应该是|不为)[^。\n；;]{1,30}?[,，]?\s*而(?:应该?)?(?:是|为)"), r"\1是"),  # noqa: E501
    (("아니", "아닌"), late(r"[①-⑩]\s?번?\s?(?:이|가)?\s?(?:아니라|아니고|아닌)\s?(?=[①-⑩])"), ""),
    (("아니",), late(r"((?:정답|답)\s*(?:은|는)?)\s*[^.\n]{1,30}?\s*(?:이|가)?\s*아니(?:라|고|며)[,，]?"), r"\1"),
    (("but",), late(r"(?i)(\b(?:is|are)\s+)not\s+[^.\n;]{1,30}?,?\s+but\s+(?:rather\s+)?"), r"\1"),
    (("不是", "而非", "而不为"), late(r"(?:[,，]?\s*(?:而不是|而非|而不为)|[,，]\s?(?:并)?不是)(?:\s?\$[^$\n]{1,100}\$|[^。\n，,；;$]{1,40})"), ""),  # noqa: E501
    (("not", "rather", "instead"), late(r"(?:,\s*(?:and\s+)?not|,?\s+rather\s+than|,?\s+instead\s+of)\s+(?:(?:option|choice)\s)?(?:\$[^$\n]{1,100}\$|[^,;\n$]{1,20}?)(?=[.]?(?:\s|$)|[;,])"), ""),  # noqa: E501
)  # fmt: skip
"""Words (in small letters) without one of which a text has no such turn, the turn, and what is kept of it."""
_ENDING_KO = late(r"(?:입니다|이다|임|이에요|예요)$")
_ALONE_IN_BRACKETS = late(r"\([^(),]+\)")
_QUOTED_CHARS = 300
_QUOTED = late(r"(?i)\S\s?[\"“「『‘](?:(?:the|my|final|my|最终|최종)\s?)*\Z")
_LEADING = frozenset(("turn", "so", "is", "filler", "self", "mine", "deny"))
_WORD = late(r"[^\W_]")
_ADJACENT = ("", " ", "的", "의 ")
_GAP_CHARS = 14
_CANCELLING = 3
_FEW_CHARS = 8
_SHORT_CHARS, _LONG_CHARS = 40, 60
_SOME_CHARS = 26
_VALUE_CHARS = 60
_SHOWN_FORM = late(r"[\s)）}$〙〗]{0,4}(?:와|과)\s?같(?:이|은)\s?(?:쓰|적|표|답|형)")


def sentence_before(text: str, end: int) -> str:
    """The sentence of a place, up to it."""
    return _before(text, end, _SENTENCE_END)


def clause_before(text: str, end: int) -> str:
    """The clause of a place, up to it, behind the last "but" or "so"."""
    clause = _before(text, end, _CLAUSE_END)
    return clause[max((until for _, until, kinds in tokens(clause) if kinds & {"turn", "so", "is"}), default=0) :]


@lru_cache(maxsize=64)
def _before(text: str, end: int, border: re.Pattern[str]) -> str:
    start = max(0, end - CHARS)
    places = (mark.end() for mark in border.finditer(text, start, end + 1))
    return text[max((place for place in places if place <= end), default=start) : end]


def sentences_behind(text: str, end: int) -> list[Span]:
    """Spans of the rest of a sentence and of all behind it."""
    places = [end, *(mark.end() for mark in _SENTENCE_END.finditer(text, end)), len(text)]
    spans = ((start, min(until, start + CHARS)) for start, until in pairwise(places))
    return [span for index, span in enumerate(spans) if not index or text[slice(*span)].strip()]


def clauses_of(text: str, start: int, end: int, whole: re.Pattern[str] | None = None) -> list[str]:
    """The clauses of a span; a comma in a match of `whole` ends none."""
    spans = [match.span() for match in whole.finditer(text, start, end)] if whole else []
    ends = [mark.end() for mark in _CLAUSE_END.finditer(text, start, end) if mark.end() < end]
    places = [start, *(place for place in ends if not any(begin < place < until for begin, until in spans)), end]
    return [text[begin:until] for begin, until in pairwise(places)]


def settled(text: str) -> str:
    """Rewrites "not X but Y" and "Y, not X" as "Y"."""
    small = text.lower()
    for words, pattern, kept in _NOT_BUT:
        if any(word in small for word in words):
            text = pattern.sub(kept, text)
    return text


def is_remark(text: str, start: int, end: int) -> bool:
    """Checks for a hypothesis or a reported mistake."""
    clause = clause_before(text, start) + text[start:end]
    kinds = classes(clause)
    return reports(kinds) or is_told(text, start, end) or _of_wrong(clause, tokens(clause))


def reports(kinds: frozenset[str]) -> bool:
    """Checks the classes of a clause for the answer of others."""
    return "whose" in kinds or {"person", "say"} <= kinds


def is_told(text: str, start: int, end: int) -> bool:
    """Checks for a hypothesis."""
    supposed = False
    for _, _, kinds in tokens(sentence_before(text, start) + text[start:end]):
        supposed = "suppose" in kinds or (supposed and "so" not in kinds)
    return supposed


def denied(text: str, start: int, end: int) -> bool:
    """Checks whether surrounding words deny, suppose or report the answer."""
    return refused(text, start) or called_wrong(text, end) or supposed(text, start, end)


def refused(text: str, start: int) -> bool:
    """Checks whether preceding words deny or report the answer."""
    kinds = classes(clause_before(text, start))
    return bool(kinds & {"deny", "hedge", "or"}) or reports(kinds)


def false_lead(text: str, *places: int) -> bool:
    """Checks whether words right before call the answer wrong, another's or forbidden."""
    return any(_leads_falsely(clause_before(text, place)) for place in places)


def _leads_falsely(clause: str) -> bool:
    words = tokens(clause)
    gaps = [clause[end:] for _, end, kinds in words if kinds & {"deny", "whose", "example"}]
    return _of_wrong(clause, words) or any(len(gap) <= _GAP_CHARS or "answer" in classes(gap) for gap in gaps)


def _of_wrong(text: str, words: Sequence[Token]) -> bool:
    """Checks for "the wrong answer"."""
    pairs = pairwise(words)
    return any("adjective" in a[2] and b[2] & {"answer", "mine"} and text[a[1] : b[0]] in _ADJACENT for a, b in pairs)


def called_wrong(text: str, end: int) -> bool:
    """Checks whether following words call the answer wrong."""
    text = text[end : end + CHARS]
    clause = clauses_of(text, *sentences_behind(text, 0)[0])[0]
    return denies(tokens(clause)) and hardly_more(clause, _FEW_CHARS)


def supposed(text: str, start: int, end: int) -> bool:
    """Checks for a supposition or an example: "if A, then …"."""
    sentence = sentence_before(text, start)
    words = tokens(sentence)
    if _QUOTED.search(sentence) or classes(clause_before(text, start)) & {"suppose", "example"}:
        return True
    if words and ("example" in words[0][2] or (is_told(text, start, start) and "neglect" in classes(sentence))):
        return True
    return _SHOWN_FORM.match(text, end) is not None


@dataclass(frozen=True)
class Named:
    """Patterns of the answer (None: ignored) and of others.

    Attributes:
        strict: "wrong" denies the answer; None if it may be what is asked for.
        explained: reasons may follow, which deny other things.
    """

    this: re.Pattern[str] | None
    others: re.Pattern[str]
    strict: bool | None = True
    explained: bool = False

    def without_this(self, words: str) -> str:
        """The words around the answer."""
        return self.this.sub("", words) if self.this is not None else words


@dataclass(frozen=True)
class _Clause:
    """A clause behind an answer.

    Attributes:
        topic: the answer of which it speaks first: "this", an "other", or "".
        number: of its sentence.
        last: in the last sentence.
        elsewhere: behind words on reasons or other answers.
    """

    text: str
    words: Sequence[Token]
    topic: str
    number: int
    last: bool
    elsewhere: bool

    @property
    def kinds(self) -> frozenset[str]:
        return frozenset[str]().union(*(kinds for *_, kinds in self.words))


def taken_back(text: str, end: int, named: Named) -> int | None:
    """The end of the clause that takes back the answer before `end`, or None."""
    if not text[end:].strip(" \n$.。)）}*〗〙"):
        return None
    spans = sentences_behind(text, end)
    elsewhere = False
    for number, (start, until) in enumerate(spans):
        supposed, place, last = False, start, number == len(spans) - 1
        apart = number > 0 or text[start - 1 : start] in tuple("〗〙}>")
        for words in clauses_of(text, start, until, named.this):
            place += len(words)
            clause = _Clause(words, tokens(words), _topic(words, named), number, last, elsewhere)
            kinds = clause.kinds
            reported = reports(kinds) or (_of_wrong(words, clause.words) and words[-1:] in ":：")
            supposed = ("suppose" in kinds or supposed or reported) and "so" not in kinds
            elsewhere = elsewhere or (clause.topic == "other" and named.explained) or "reason" in kinds
            if supposed:
                continue
            at_once = number == 0 or (not named.explained and until - start <= _SHORT_CHARS)
            if _retracts(clause, at_once) or _replaces(clause, named):
                return place
            if last and apart and _says_other(clause, text[start:until], named):
                return place
            if denies(clause.words) and _is_denied(clause, named):
                return place
    return None


def _topic(clause: str, named: Named) -> str:
    around = named.without_this(clause)
    other = named.others.search(around)
    if around != clause and (other is None or "deny" in classes(around[: other.start()])):
        return "this"
    return "other" if other or "rest" in classes(clause) else ""


def _replaces(clause: _Clause, named: Named) -> bool:
    """Checks for another value called right, or at first perhaps right."""
    if clause.topic != "other" or clause.kinds & {"rest", "deny"} or named.explained or clause.elsewhere:
        return False
    return "right" in clause.kinds or (clause.number < 2 and "hedge" in clause.kinds)


def _says_other(clause: _Clause, sentence: str, named: Named) -> bool:
    """Checks for a short sentence that ends with the only other value."""
    words = named.without_this(sentence).rstrip(" .。!！)）$이다입니")
    matches = list(named.others.finditer(words))
    short = clause.topic == "other" and "deny" not in clause.kinds and len(sentence) <= _SHORT_CHARS
    return short and len(matches) == 1 and matches[0][0].isalnum() and matches[0].end() == len(words)


def _is_denied(clause: _Clause, named: Named) -> bool:
    kinds = clause.kinds
    if clause.topic == "other":
        return False
    if clause.topic == "this":
        aside = named.strict is None and ("reason" in kinds or ("turn" not in kinds and "adjective" in kinds))
        near = hardly_more(named.without_this(clause.text), _SOME_CHARS if named.explained else _LONG_CHARS)
        return not aside and named.strict is not False and (near or not (named.explained or clause.elsewhere))
    signed = bool(kinds & {"turn", "self", "mine"}) or clause.text.strip()[:1] in tuple("(（❌✗✘")
    pointed = clause.last and (signed or not named.explained)
    in_time = not clause.elsewhere and (clause.number < 2 or clause.last)
    if named.strict is not False and (pointed or in_time) and hardly_more(clause.text, _FEW_CHARS):
        return True
    if not named.explained:
        return "mine" in kinds or (named.strict is True and not clause.elsewhere)
    about = {"mine", "turn"} if clause.elsewhere else {"mine", "self"} if named.strict else {"mine"}
    return bool(kinds & about) and (clause.last or not clause.elsewhere) and hardly_more(clause.text, 2 * _FEW_CHARS)


def _retracts(clause: _Clause, at_once: bool) -> bool:
    """Checks for a clause that begins with a retraction."""
    end = 0
    doubtful = at_once or (clause.number < 2 and clause.topic == "other")
    for start, until, kinds in clause.words:
        if _WORD.search(clause.text, end, start):
            return False
        if "retract" in kinds or (at_once and "instead" in kinds) or (doubtful and end == 0 and "hedge" in kinds):
            return True
        if kinds.isdisjoint(_LEADING):
            return False
        end = until
    return False


def denies(words: Sequence[Token]) -> bool:
    """Checks for denials, but for two that cancel each other ("not wrong")."""
    denials = [(start, end) for start, end, kinds in words if "deny" in kinds]
    return bool(denials) and not (len(denials) == 2 and denials[1][0] - denials[0][1] <= _CANCELLING)


def hardly_more(clause: str, most: int) -> bool:
    """Checks for words of the lexicon and at most so many other letters; others than ASCII count more."""
    rest, end = "", 0
    for start, until, _ in tokens(clause):
        rest, end = rest + clause[end:start], until
    return sum(1 if char.isascii() else 2 for char in rest + clause[end:] if char.isalnum()) <= most


def written_value(text: str, end: int, value: str) -> re.Pattern[str] | None:
    """Pattern of the value repeated behind `end`; None if absent or too long."""
    plain = _ENDING_KO.sub("", value.strip(" $.。")).removeprefix(r"\(").removesuffix(r"\)").strip()
    plain = plain[1:-1].strip(" $") if _ALONE_IN_BRACKETS.fullmatch(plain) else plain
    if not plain or len(plain) > _VALUE_CHARS or text.find(plain, end) < 0:
        return None
    return re.compile(rf"\$?(?<![A-Za-z0-9_.,/^{{+-]){re.escape(plain)}(?![A-Za-z0-9_/^]|[.,]\d)\$?")


def quoted(text: str) -> str:
    """Words for a reader, marked against reading as label or value."""
    return f"… {text.strip()[:_QUOTED_CHARS]} …"
