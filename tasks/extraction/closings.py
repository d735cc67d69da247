"""Closing sentences in languages that have no grammar here: the only number, formula or letter of the last sentence.

A language is one row of words. The sentence has a word that announces and none that denies, doubts or offers a choice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from livek12.core.languages import HAN, HANGUL, KANA
from livek12.core.patterns import late
from livek12.core.question_types import type_of
from livek12.core.records import Question
from livek12.judges.rules.notation import to_latex
from livek12.judges.rules.units import read_unit

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
_LAST_VALUE = late(
    r"(?P<value>\$[^$\n]{1,200}\$|\\\((?:(?!\\\)).){1,200}\\\)|(?:(?<![A-Za-z])[A-Za-z]\s?=\s?)?(?<![A-Za-z\d.,=+*/^-])[-−]?\d[\d.,]*(?:/\d+)?)"
    rf"(?P<unit>\s?(?:\\?%|[°A-Za-zµΩ]{{1,4}}(?:/[A-Za-z]{{1,3}})?[²³]?)(?![\w²³/]))?\s?{_JAPANESE_END}\Z"
)
_CANDIDATE = late(rf"\d|[$]|\\\(|{_LETTERS}")
_AMBIGUOUS = late(r",|\.\d{3}\Z")
_VALUES = late(r"\$[^$\n]*\$|\\\((?:(?!\\\)).)*\\\)|\d+(?:[.,/]\d+)*")


@dataclass(frozen=True)
class Closing:
    """Words of one language.

    Attributes:
        letters: characters that no language with a grammar has; "" if common words tell.
        common: words of any text, for languages in Latin letters.
        announces: words of a sentence that states an answer.
        denies: words by which it does not.
        articles: capital letters that are words.
    """

    letters: str = ""
    common: str = ""
    announces: str = ""
    denies: str = ""
    articles: str = ""


CLOSINGS = (
    Closing(
        letters=KANA,
        announces="したがって|従って|よって|ゆえに|以上より|答え?[はえ]|正解|正しい|求める|選[びぶ]|です|である|となる|になる|なります",
        denies="ない|なく|ません|ず[、,。]|誤|間違|違|除|以外|または|あるいは|もしくは|もし|なら|れば|たら|迷|ようだ|かも|だろう|でしょう|でしょうか|ですか"
        "|以上(?!より)|以下|未満|より(?:大き|小さ|多|少|も)|約|およそ|のうち|時速|分速|秒速",
    ),
    Closing(
        letters="ăâđơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ",
        announces="vậy|đáp|chọn|kết quả|nghiệm|là|bằng|suy ra|do đó|nên|được",
        denies="không|chẳng|chưa|sai|loại|hoặc|hay|nếu|có thể|có lẽ|ít nhất|nhiều nhất|hơn|kém|dưới|trên|khoảng|nhưng"
        "|trừ|giữa|gần|mà",
    ),
    Closing(
        letters="а-яё",
        announces="ответ|следовательно|значит|итак|таким|поэтому|равн\\w*|составля\\w*|получ\\w*|правильн\\w*|верн\\w*",
        denies="не|нет|ни|без|кроме|неверн\\w*|неправильн\\w*|ошиб\\w*|или|либо|если|может|возможно|более|менее|больше|меньше|выше|ниже|около"
        "|примерно|между|но|а",
    ),
    Closing(
        common="la le les des une est donc réponse vaut soit du et dans que qui on égale",
        announces="réponses?|donc|ainsi|finalement|obtient|trouve|solutions?|sont|résultat|vaut|égale?|est|soit",
        denies="ne|pas|non|ni|sans|sauf|fauss?e?|incorrecte?|erronée?|ou|si|peut|pourrait|environ|moins|plus|entre|impossible|mais|jamais|hormis",
        articles="A",
    ),
    Closing(
        common="la el los las una es del que por respuesta por lo y en de se",
        announces="respuestas?|por (?:lo )?tanto|entonces|luego|así|es|son|vale|opción|solución|resultado|correctas?",
        denies="no|ni|sin|salvo|excepto|fals[ao]|incorrect[ao]|erróne[ao]|o|u|si|quizás?|puede|podría|más|menos|entre|pero|sino|aproximadamente",
        articles="AEO",
    ),
    Closing(
        common="die der das ist und lautet antwort ergibt den ein eine also von zu",
        announces="antwort(?:en)?|sind|also|somit|daher|damit|folglich|lautet|ergibt|beträgt|ist|ergebnis|lösung|richtig",
        denies="nicht|kein\\w*|nie|weder|ohne|außer|falsch\\w*|unrichtig|oder|wenn|falls|vielleicht|könnte|kann|mindestens|höchstens|mehr|weniger|etwa"
        "|ungefähr|zwischen|aber|sondern",
    ),
    Closing(
        common="a o os as uma é do da que portanto resposta de em se por",
        announces="respostas?|portanto|logo|assim|então|é|são|vale|resultado|alternativa|opção|obtemos|correta",
        denies="não|nem|sem|exceto|fals[ao]|errad[ao]|incorret[ao]|ou|se|talvez|pode|poderia|mais|menos|entre|mas|aproximadamente",
        articles="AEO",
    ),
    Closing(
        common="il la lo gli una è del della che quindi risposta di in si per",
        announces="rispost[ae]|quindi|dunque|pertanto|è|sono|vale|risultato|opzione|otteniamo|soluzione|corretta",
        denies="non|né|senza|tranne|fals[ao]|errat[ao]|sbagliat[ao]|scorrett[ao]|o|oppure|se|forse|può|potrebbe|più|meno|tra|ma|bensì|circa",
        articles="AEO",
    ),
)


@cache
def _words(pattern: str, apart: bool) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{pattern})(?!\w)" if apart else pattern, re.IGNORECASE)


def language_of_closing(text: str) -> Closing | None:
    """The row of the text's language; None for one with a grammar, or an unknown one."""
    lowered = text[-MOST:].lower()
    if " the " in lowered or " is " in lowered:
        return None
    if not lowered.isascii():
        for row in CLOSINGS:
            if row.letters and re.search(f"[{row.letters}]", lowered):
                return row
        if re.search(f"[{HAN}{HANGUL}]", lowered):
            return None
    tokens = set(re.findall(r"[^\W\d_]+", lowered))
    counts = {row: len(tokens & set(row.common.split())) for row in CLOSINGS if row.common}
    best = max(counts, key=lambda row: counts[row])
    return best if counts[best] >= 2 and counts[best] > len(tokens & ENGLISH) else None


def closing_answer(text: str, question: Question) -> str | None:
    """The answer with which a response's last sentence ends, or None where it has other candidates."""
    shape = type_of(question.question_type).answer
    if shape not in ("values", "labels"):
        return None
    sentences = [part.strip(" :") for part in _END.split(text[-MOST:].replace("**", "")) if part.strip(" :")]
    place = next((index for index in (-1, -2) if _CANDIDATE.search("".join(sentences[index:][:1]))), None)
    if place is None or len(sentences[place]) > SENTENCE or "boxed" in sentences[place]:
        return None
    if (row := language_of_closing(text)) is None:
        return None
    courtesy = sentences[place + 1] if place + 1 else ""
    if len(courtesy) > COURTESY or _denies(courtesy, row) or _denies(sentences[place], row):
        return None
    if not _words(row.announces, row.letters != KANA).search(sentences[place]):
        return None
    if shape == "labels":
        return _last_labels(sentences[place], row, several=question.question_type == "multiple_choice")
    return _last_value(sentences[place])


def _denies(sentence: str, row: Closing) -> bool:
    elided = row.articles == "A" and re.search(r"\bn['’]", sentence)
    return bool(elided or _words(row.denies, row.letters != KANA).search(sentence))


def _last_labels(sentence: str, row: Closing, several: bool) -> str | None:
    match = _LAST_LETTERS.search(sentence)
    if match is None:
        return None
    before = sentence[: match.start()]
    others = [
        letter for letter in re.finditer(_LETTERS, before) if not _is_article(letter[0], before[letter.end() :], row)
    ]
    letters = list(dict.fromkeys(re.findall(r"[A-J]", match["letters"])))
    return None if others or (len(letters) > 1 and not several) else ", ".join(letters)


def _is_article(letter: str, rest: str, row: Closing) -> bool:
    return letter in row.articles and re.match(r"\s[^\W\d_]", rest) is not None


def _last_value(sentence: str) -> str | None:
    match = _LAST_VALUE.search(sentence)
    if match is None or len(_VALUES.findall(sentence)) != 1 or _AMBIGUOUS.search(match["value"].rstrip("$")):
        return None
    unit = match["unit"] or ""
    known = not unit or unit.strip() in ("%", "\\%") or read_unit(to_latex(unit.strip())) is not None
    return match["value"] + unit if known else None
