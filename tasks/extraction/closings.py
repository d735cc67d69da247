"""Closing sentences: what the last sentence comes to, where no other words commit to an answer.

In a language with a grammar here ("So 4 are left.", 所以每天赚9美元): the question asks for one or two numbers and the
sentence, speaking of these, has as many new ones; or it has one number, a subject, a verb and no qualifying word. In
others, of which each is a row of words: the only number, formula or letter, with a word that announces and none that
denies, doubts or offers a choice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property

from livek12.core.languages import HAN, HANGUL, KANA
from livek12.core.patterns import late
from livek12.core.question_types import type_of
from livek12.core.records import Question
from livek12.judges.rules.names import place_of
from livek12.judges.rules.notation import to_latex
from livek12.judges.rules.units import Unit, read_unit
from livek12.tasks.extraction.regions import tail, without_stars
from livek12.tasks.extraction.remarks import (
    SO,
    SO_KO,
    SO_ZH,
    clause_before,
    sentence_before,
)
from livek12.tasks.extraction.words import classes

ENGLISH = frozenset("the is of and to we so that are answer in a it for by this with".split())
MOST, SENTENCE, COURTESY = 400, 300, 80
_END = late(r"[。！？!?\n]+|\.(?=\s|\Z)")
_JAPANESE_END = (
    r"(?:です|である|だ|とな(?:る|ります)|にな(?:る|ります)|を選(?:ぶ|びます)|が正解(?:です|である|だ)?|が正しい)?"
)
_LETTERS = r"(?<![A-Za-zÀ-ỹ0-9])[A-J](?![A-Za-zÀ-ỹ0-9'’=])"
_LAST_LETTERS = late(
    rf"(?P<letters>[(（]?{_LETTERS}[)）]?(?:\s?(?:[,、，;]|[eyиとe]|et|und|và)\s?[(（]?{_LETTERS}[)）]?)*)\s?{_JAPANESE_END}\Z"
)
_VALUE_AT_END = late(
    r"(?P<value>\$[^$\n]{1,200}\$|\\\((?:(?!\\\)).){1,200}\\\)|(?:(?<![A-Za-z])[A-Za-z]\s?=\s?)?(?<![A-Za-z\d.,=+*/^-])[-−]?\d[\d.,]*(?:/\d+)?)"
    rf"(?P<unit>\s?(?:\\?%|[°A-Za-zµΩ]{{1,4}}(?:/[A-Za-z]{{1,3}})?[²³]?)(?![\w²³/]))?\s?{_JAPANESE_END}\Z"
)
_CANDIDATE = late(rf"\d|[$]|\\\(|{_LETTERS}")
_AMBIGUOUS = late(r",\D|[.,].*,|,.*[.,]|[.,]\d{3}\Z")
"""Several separators, or one that may part thousands."""
_ANY_VALUES = late(r"\$[^$\n]*\$|\\\((?:(?!\\\)).)*\\\)|\d+(?:[.,/]\d+)*")
MATH = late(r"(?s)\$\$(.{1,400}?)\$\$|\$([^$\n]{1,400})\$|\\\((.{1,400}?)\\\)|\\\[(.{1,400}?)\\\]")
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
    r"(?i)\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|hundred|thousand|million|billion|dozen"
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
_UNIT = late(
    r"\s?(?:美元|元|欧元|千克|公斤|克|厘米|毫米|千米|米|小时|分钟|秒|天|달러|원|시간|분|초|일|킬로그램|그램|미터)"
    r"|\s?(?:[A-Za-zμ]{1,4}/[A-Za-z]{1,3}[²³23]?|[mgsNJWVKLCHFT])(?![A-Za-z0-9/^])"
    r"|\s(?!(?:is|are|was|were|remains?|left"
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
_WORD_BEFORE = late(
    r"(?:(?<![A-Za-z])(?:to|for|at|in|and|[Ss]o|only|exactly|just|about|approximately|total\sof|equal\sto|currently|by|be|two|them|him|her|us|you)|[是为有共得到了出剩余于赚花用付卖买]|모두|총|매일|[시분초]속"
    r"|(?P<word>[A-Za-z']+|[\u4e00-\u9fff]|[가-힣]+))\s?[$€£¥(]{0,2}\Z"
)
_WORD_BEHIND = late(
    r"\s?(?!(?:at|in|per|more|left|are|is|and|with|each|altogether|total|remains?|every|on|to|after|from|이다|입니다|이에요|예요)(?![A-Za-z]))"
    r"([A-Za-z']+|[\u4e00-\u9fff]|[가-힣])"
)
_RATE = late(r"\s?(?:(?:square|cubic)\s)?[A-Za-z]+\sper\s(?:(?:square|cubic)\s)?[A-Za-z]+")
_WORD_AT_END = late(r"[^\W\d_]+(?=\s?\Z)")
_STEM = 4
"""Letters by which a word is one of the question."""
_CHANGING = frozenset("of the a minus negative root square cube".split())
_QUALIFYING = frozenset(("deny", "hedge", "bound", "suppose", "or"))
_DOUBTED = late(
    r"(?i)\b(?:instead|original(?:ly)?|initial(?:ly)?|range|correspond\w*|equivalent)\b|不(?!同(?!于))|[没未若或超]|另外|其中"
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
_SYMBOL = (
    r"(?P<name>(?:(?:\\?(?:sin|cos|tan)\s?)?(?:(?:\\angle|∠|[Aa]ngle)\s?)?(?:\\(?!math|text|d?frac|sqrt|left)[a-z]{2,8}|p?[A-Za-zα-ω][A-Z]{0,2})"
    r"(?:_\{?\w{1,4}\}?|['′]{1,3}|\^\w){0,2}))(?:\((?P<of>[^()\s=]{1,8})\))?"
)
_ASKED_SYMBOL = late(
    rf"(?:\b(?:[Ff]ind|[Dd]etermine|[Cc]alculate|[Cc]ompute|[Ww]hat\sis|value\sof)\s|[求算])\s?(?:the\svalue\sof\s)?\$?{_SYMBOL}\$?"
    r"(?:的值|,?\s(?:if|given|when|where|in)\b|\s?[.?。？]?\s?\Z)"
)
_NAMED_SYMBOL = late(rf"{_SYMBOL}\s?(?:=|is\b|[是为는은])")
_STATED_TWICE = late(
    r"\b(?:is|are)\s\$?[-−]?\d[\d.,/]*[^.。;\n]{0,25}?(?:,?\s(?:and|but)|;)\s"
    rf"(?!{SO}(?![A-Za-z]))[^.。\n\d]{{1,40}}?\b(?:is|are)\s\$?\Z"
)
"""Two statements of a number each in one sentence, before the second number."""
_IN_NAME = late(r"\s[A-Z][a-z]+\s\Z")
"""Before a number that is a piece of a name ("the Apollo 11 mission")."""
_ANGLE = late(r"(?:\\angle|∠|[Aa]ngle)\s?")
_QUANTITIES = [
    row.split()
    for row in (
        "radius diameter circumference/area perimeter volume/mean median mode/maximum minimum/probability odds"
        "/半径 直径 周长/面积 周长 体积/最大值 最小值/반지름 지름 둘레/넓이 둘레 부피/최댓값 최솟값"
    ).split("/")
]
"""Quantities of one thing, of which an answer has one."""
_QUANTITY = late(f"(?<![가-힣])(?:{'|'.join(name for row in _QUANTITIES for name in row)})")
_DIGITS = late(r"\d[\d,]*(?:\.\d+)?(?:/\d+)?")


@dataclass(frozen=True)
class Closing:
    """Words of one language.

    Attributes:
        signs: "[characters that no language with a grammar has]", or capital letters that are words ("-": none) and
            common words.
        announces: words of a sentence that states an answer.
        denies: words by which it does not.
    """

    signs: str
    announces: str
    denies: str

    @cached_property
    def common(self) -> frozenset[str]:
        """Words of any text."""
        return frozenset(self.signs.split()[1:])

    def says(self, words: str, sentence: str) -> bool:
        """Checks for one of the words."""
        return _words(words, KANA not in self.signs).search(sentence) is not None


# Three lines a language: signs, words that announce, words that deny.
_TABLE = rf"""
[{KANA}]
したがって|従って|よって|ゆえに|以上より|答え?[はえ]|正解|正しい|求める|選[びぶ]|です|である|となる|になる|なります
ない|なく|ません|ず[、,。]|誤|間違|違|除|以外|または|あるいは|もしくは|もし|なら|れば|たら|迷|ようだ|かも|だろう|でしょう|でしょうか|ですか|以上(?!より)|以下|未満|より(?:大き|小さ|多|少|も)|約|およそ|のうち|時速|分速|秒速
[ăâđơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ]
vậy|đáp|chọn|kết\squả|nghiệm|là|bằng|suy\sra|do\sđó|nên|được
không|chẳng|chưa|sai|loại|hoặc|hay|nếu|có\sthể|có\slẽ|ít\snhất|nhiều\snhất|hơn|kém|dưới|trên|khoảng|nhưng|trừ|giữa|gần|mà
[а-яё]
ответ|следовательно|значит|итак|таким|поэтому|рав[не]\w*|составля\w*|получ\w*|правильн\w*|верн\w*
не|нет|ни|без|кроме|неверн\w*|неправильн\w*|ошиб\w*|или|либо|если|может|возможно|более|менее|больше|меньше|выше|ниже|около|примерно|между|но|а
A la le les des une est donc réponse vaut soit du et dans que qui on égale
réponses?|donc|ainsi|finalement|obtient|trouve|solutions?|sont|résultat|vaut|égale?|est|soit
ne|pas|non|ni|sans|sauf|fauss?e?|incorrecte?|erronée?|ou|si|peut|pourrait|environ|moins|plus|entre|impossible|mais|jamais|hormis
AEO la el los las una es del que por respuesta por lo y en de se
respuestas?|por\s(?:lo\s)?tanto|entonces|luego|así|es|son|vale|opción|solución|resultado|correctas?
no|ni|sin|salvo|excepto|fals[ao]|incorrect[ao]|erróne[ao]|o|u|si|quizás?|puede|podría|más|menos|entre|pero|sino|aproximadamente
- die der das ist und lautet antwort ergibt den ein eine also von zu
antwort(?:en)?|sind|also|somit|daher|damit|folglich|lautet|ergibt|beträgt|ist|ergebnis|lösung|richtig
nicht|kein\w*|nie|weder|ohne|außer|falsch\w*|unrichtig|oder|wenn|falls|vielleicht|könnte|kann|mindestens|höchstens|mehr|weniger|etwa|ungefähr|zwischen|aber|sondern
AEO a o os as uma é do da que portanto resposta de em se por
respostas?|portanto|logo|assim|então|é|são|vale|resultado|alternativa|opção|obtemos|correta
não|nem|sem|exceto|fals[ao]|errad[ao]|incorret[ao]|ou|se|talvez|pode|poderia|mais|menos|entre|mas|aproximadamente
AEO il la lo gli una è del della che quindi risposta di in si per
rispost[ae]|quindi|dunque|pertanto|è|sono|vale|risultato|opzione|otteniamo|soluzione|corretta
non|né|senza|tranne|fals[ao]|errat[ao]|sbagliat[ao]|scorrett[ao]|o|oppure|se|forse|può|potrebbe|più|meno|tra|ma|bensì|circa
"""
CLOSINGS = tuple(map(Closing, *(iter(_TABLE.split("\n")[1:-1]),) * 3))


@cache
def _words(pattern: str, apart: bool) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{pattern})(?!\w)" if apart else pattern, re.IGNORECASE)


def language_of_closing(text: str) -> Closing | None:
    """The row of the text's language; None for one with a grammar, or an unknown one."""
    lowered = text[-MOST:].lower()
    if not lowered.isascii():
        for row in CLOSINGS:
            if row.signs[0] == "[" and re.search(row.signs, lowered):
                return row
        if _CJK.search(lowered):
            return None
    tokens = set(re.findall(r"[^\W\d_]+", lowered))
    counts = {row: sum(word in tokens for word in row.common) for row in CLOSINGS}
    best = max(counts, key=lambda row: counts[row])
    return best if counts[best] >= 2 and counts[best] > len(tokens & ENGLISH) else None


def closing_answer(text: str, question: Question) -> str | None:
    """The answer with which a response's last sentence ends, or None where it has other candidates."""
    shape = type_of(question.question_type).answer
    ending = text[-MOST:]
    if shape not in ("values", "labels") or " the " in ending or " is " in ending:
        return None
    sentences = [part.strip(" :") for part in _END.split(ending.replace("**", "")) if part.strip(" :")]
    place = next((index for index in (-1, -2) if _CANDIDATE.search("".join(sentences[index:][:1]))), None)
    if place is None or len(sentences[place]) > SENTENCE or "boxed" in sentences[place]:
        return None
    if (row := language_of_closing(text)) is None:
        return None
    courtesy = sentences[place + 1] if place + 1 else ""
    if len(courtesy) > COURTESY or _denies(courtesy, row) or _denies(sentences[place], row):
        return None
    if not row.says(row.announces, sentences[place]):
        return None
    if shape == "labels":
        return _last_labels(sentences[place], row, several=question.question_type == "multiple_choice")
    return _last_value(sentences[place], row)


def _denies(sentence: str, row: Closing) -> bool:
    elided = row.signs.startswith("A ") and re.search(r"\bn['’]", sentence)
    return bool(elided or row.says(row.denies, sentence))


def _last_labels(sentence: str, row: Closing, several: bool) -> str | None:
    match = _LAST_LETTERS.search(sentence)
    if match is None:
        return None
    for letter in re.finditer(_LETTERS, sentence[: match.start()]):
        if letter[0] not in row.signs.split()[0] or not re.match(r"\s[^\W\d_]", sentence[letter.end() : match.start()]):
            return None
    letters = list(dict.fromkeys(re.findall(r"[A-J]", match["letters"])))
    return ", ".join(letters) if several or len(letters) == 1 else None


def _last_value(sentence: str, row: Closing) -> str | None:
    match = _VALUE_AT_END.search(sentence)
    if match is None or len(_ANY_VALUES.findall(sentence)) != 1 or _AMBIGUOUS.search(match["value"].rstrip("$")):
        return None
    word = _WORD_AT_END.search(sentence, 0, match.start()) if match["value"][0].isdigit() else None
    if word and not (
        word[0][-1] in "はがをてえ解" if KANA in row.signs else row.says(f"{row.announces}|là|à|zu|a", word[0])
    ):
        return None
    unit = match["unit"] or ""
    known = not unit or unit.strip() in ("%", "\\%") or read_unit(to_latex(unit.strip())) is not None
    return match["value"] + unit if known else None


def sentence_value(text: str, question: str = "") -> str | None:
    """The only number of the last sentence, with its unit or noun."""
    sentence = _last_sentence(text)
    if sentence is None or len(sentence) > _CHARS or _qualified(sentence, _OTHER) or not _SAYS.search(sentence):
        return None
    return _numbers(_without_work(sentence), question, 1, given="")


def _qualified(sentence: str, words: re.Pattern[str]) -> bool:
    return bool(_QUALIFYING & classes(sentence)) or words.search(sentence) is not None


def _last_sentence(text: str) -> str | None:
    """The last sentence, or what it concludes; None for a question or an announcement."""
    ending = without_stars(tail(text, 4 * _CHARS)).strip()
    if ending.endswith(("?", "？", ":", "：")):
        return None
    sentence = sentence_before(ending[:-1], len(ending) - 1) + ending[-1:]
    sentence = sentence.strip().rstrip(".。!！")
    concluded = list(_CONCLUDED.finditer(sentence))
    return sentence[concluded[-1].end() :] if concluded else sentence


def closing_values(text: str, question: str) -> str | None:
    """The numbers of the last sentence that the question asks for, joined by ", "; one with its unit."""
    sentence = _last_sentence(text) if question else None
    sentence = None if sentence is None else _without_work(sentence)
    return _numbers(sentence, question, count) if sentence and (count := _asked(question, sentence)) else None


def announced_value(sentence: str, question: str) -> str | None:
    """The one number of an announced sentence."""
    if sentence.startswith("…") or not _PROSE.search(sentence):
        return None
    sentence = _without_work(sentence)
    return _numbers(sentence, question, 1) or _numbers(sentence, question, 1, given="")


def is_of_another(question: str, text: str, value: str) -> bool:
    """Checks whether a value is that of another quantity than the one asked for ("Find x.", "y = 3")."""
    start = text.rfind(value)
    wording = clause_before(text, start).removesuffix(r"\boxed{") + value
    if _STATED_TWICE.search(sentence_before(text, start)):
        return True
    named = (name for name in _NAMED_SYMBOL.finditer(wording) if not wording[: name.start()][-1:].isalpha())
    near = [name for name in named if not wording[name.end() : -len(value)].strip(" $(")]
    stated, requests = near[-1] if near else None, [*_ASKED_SYMBOL.finditer(question)]
    if stated and requests:
        name = _ANGLE.sub("∠", requests[-1]["name"])
        names = list({name, name[::-1] if name.isalpha() and name.isupper() else name})
        own = place_of(_ANGLE.sub("∠", stated["name"]) + "=0", names) is not None
        return not own or bool(requests[-1]["of"] and stated["of"] and requests[-1]["of"] != stated["of"])
    if any(map(str.isdigit, wording[: -len(value)])):
        return False
    wanted, spoken = set(_QUANTITY.findall(question.lower())), set(_QUANTITY.findall(wording.lower()))
    return not wanted & spoken and any(not (wanted.isdisjoint(row) or spoken.isdisjoint(row)) for row in _QUANTITIES)


def _without_work(sentence: str) -> str:
    return _WORKED.sub("", _without_signs(MATH.sub(_chain_end, sentence)))


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


def _numbers(sentence: str, question: str, count: int, given: str | None = None) -> str | None:
    """The new numbers, if `count`, all digits are read, and none is a piece of a larger value.

    `given` numbers are not new (None: those of the question).
    """
    if "\\" in sentence.replace("\\%", "") or _qualified(sentence, _DOUBTED):
        return None
    given = question if given is None else given
    old = set(map(_plain, _DIGITS.findall(given)))
    numbers = list(_ANY_NUMBER.finditer(sentence))
    if sum(map(str.isdigit, sentence)) != sum(map(str.isdigit, "".join(number["value"] for number in numbers))):
        return None
    new = [number for number in numbers if _plain(number["value"]) not in old]
    if not all(_stands_alone(sentence, number, question.lower()) for number in new):
        return None
    if any(_IN_NAME.search(sentence, 0, number.start()) and not _is_measured(sentence, number) for number in new):
        return None
    around = [(sentence[: number.start()].rstrip()[-1:], sentence[number.end() :].lstrip()[:1]) for number in new]
    if len(new) != count or not _JOINING.isdisjoint(sum(around, ())):
        return None
    if count > 1:
        return ", ".join(number["value"] for number in new)
    behind = sentence[new[0].end() :]
    if rate := _RATE.match(behind):
        return new[0]["value"] + rate[0] if read_unit(to_latex(rate[0].strip())) is not None else None
    unit = _UNIT.match(behind)
    known = unit and unit[0].strip() not in given and read_unit(unit[0].strip()) is not None
    return new[0]["value"] + (unit[0] if unit and known else "")


def _stands_alone(sentence: str, number: re.Match[str], question: str) -> bool:
    """Checks for a verb, a unit or words of the question around a number; "minus", "root of", "的平方" change it."""
    before = _WORD_BEFORE.search(sentence, 0, number.start())
    word = before["word"].lower() if before and before["word"] else ""
    own = word not in _CHANGING and re.search(rf"\b{word[:_STEM]}" if word.isascii() else word, question)
    if word and not (own or _SAYS.fullmatch(word) or word[-1] in "은는이가을를로"):
        return False
    behind = _WORD_BEHIND.match(sentence, number.end())
    if behind is None or not question:
        return behind is None or behind[1] != "的"
    return behind[1].lower() in question or _unit_behind(sentence, number) is not None


def _is_measured(sentence: str, number: re.Match[str]) -> bool:
    unit = _unit_behind(sentence, number)
    return unit is not None and bool(unit.symbol)


def _unit_behind(sentence: str, number: re.Match[str]) -> Unit | None:
    match = _UNIT.match(sentence, number.end())
    return read_unit(match[0].strip()) if match else None


def _plain(number: str) -> str:
    return number.strip("-−$€£¥%\\").replace(",", "").rstrip(".")


def _asked(question: str, sentence: str) -> int:
    """The count of numbers asked for, if the sentence speaks of them; else 0."""
    if _CJK.search(question):
        places = [match for pattern in (_ASKED_CJK, _ASKED_KO) for match in pattern.finditer(question)]
        words = [word for word in (places[-1]["before"], places[-1]["unit"]) if word] if places else []
        return int(any(word in sentence for word in words))
    count = 2 if _TWO.search(question) else 1
    clauses = [*_HOW.finditer(question)] or [*_WHICH.finditer(question)]
    if not clauses:
        return 0
    kind = (clauses[-1].groupdict().get("kind") or "").lower().split()
    if kind and kind[0] != "many":
        return count if re.search(_KINDS.get(kind[-1], _KINDS[kind[0]]), sentence, re.IGNORECASE) else 0
    words = _WORDS.findall((kind[-1:] or [clauses[-1]["thing"]])[0].lower())
    things = [thing for word in words if (thing := word[: max(3, len(word) - 2)]) not in _EMPTY_WORDS]
    small = sentence.lower()
    named = any(re.search(rf"\b{re.escape(thing)}", small) for thing in things)
    return count if named and (count > 1 or all(thing in small for thing in things[:_MODIFIERS])) else 0
