"""Closing sentences in languages that have no grammar here: the only number, formula or letter of the last sentence.

A language is one row of words. The sentence has a word that announces and none that denies, doubts or offers a choice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from livek12.core.languages import HAN, HANGUL, KANA
from livek12.core.question_types import type_of
from livek12.core.records import Question
from livek12.judges.parts import part_count
from livek12.judges.rules.notation import to_latex
from livek12.judges.rules.units import read_unit
from livek12.tasks.extraction.regions import tail


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
        announces="réponse|donc|ainsi|finalement|obtient|trouve|solution|résultat|vaut|égale?|est|soit",
        denies="ne|pas|non|ni|sans|sauf|fauss?e?|incorrecte?|erronée?|ou|si|peut|pourrait|environ|moins|plus|entre|impossible|mais|jamais|hormis",
        articles="A",
    ),
    Closing(
        common="la el los las una es del que por respuesta por lo y en de se",
        announces="respuesta|por lo tanto|por tanto|entonces|luego|así|es|son|vale|opción|solución|resultado|correcta?",
        denies="no|ni|sin|salvo|excepto|fals[ao]|incorrect[ao]|erróne[ao]|o|u|si|quizás?|puede|podría|más|menos|entre|pero|sino|aproximadamente",
        articles="AEO",
    ),
    Closing(
        common="die der das ist und lautet antwort ergibt den ein eine also von zu",
        announces="antwort|also|somit|daher|damit|folglich|lautet|ergibt|beträgt|ist|ergebnis|lösung|richtig",
        denies="nicht|kein\\w*|nie|weder|ohne|außer|falsch\\w*|unrichtig|oder|wenn|falls|vielleicht|könnte|kann|mindestens|höchstens|mehr|weniger|etwa"
        "|ungefähr|zwischen|aber|sondern",
    ),
    Closing(
        common="a o os as uma é do da que portanto resposta de em se por",
        announces="resposta|portanto|logo|assim|então|é|são|vale|resultado|alternativa|opção|obtemos|correta",
        denies="não|nem|sem|exceto|fals[ao]|errad[ao]|incorret[ao]|ou|se|talvez|pode|poderia|mais|menos|entre|mas|aproximadamente",
        articles="AEO",
    ),
    Closing(
        common="il la lo gli una è del della che quindi risposta di in si per",
        announces="risposta|quindi|dunque|pertanto|è|sono|vale|risultato|opzione|otteniamo|soluzione|corretta",
        denies="non|né|senza|tranne|fals[ao]|errat[ao]|sbagliat[ao]|scorrett[ao]|o|oppure|se|forse|può|potrebbe|più|meno|tra|ma|bensì|circa",
        articles="AEO",
    ),
)
ENGLISH = frozenset("the is of and to we so that are answer in a it for by this with".split())
MOST, SENTENCE = 400, 300
_END = re.compile(r"[。！？!?\n]+|\.(?=\s|\Z)")
_FORMULA = re.compile(r"\$[^$\n]{1,200}\$|\\\((?:(?!\\\)).){1,200}\\\)")
_EQUATION = re.compile(r"(?<![A-Za-z])[A-Za-z]\s?=\s?[-−]?\d[\d.,]*(?:/\d+)?")
_NUMBER = re.compile(
    r"(?<![\w.,])[-−]?\d+(?:[.,]\d+)?(?:/\d+)?(?![\d])|(?<=[ぁ-ゖァ-ヺ一-鿿])[-−]?\d+(?:\.\d+)?(?:/\d+)?(?!\d)"
)
_UNIT = re.compile(r"\s?(?:\\?%|°|[A-Za-zµΩ]{1,4}(?:/[A-Za-z]{1,3})?[²³]?)(?![\w²³/])")
_AMBIGUOUS = re.compile(r",|\.\d{3}\Z")
_LETTER = re.compile(r"(?<![A-Za-zÀ-ỹ0-9])([A-J])(?![A-Za-zÀ-ỹ0-9'’=])")
_COPULA = re.compile(r"\s*(?:です|である|だ|とな|にな|であ|$)")


@cache
def _words(pattern: str, apart: bool) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{pattern})(?!\w)" if apart else pattern, re.IGNORECASE)


def language_of_closing(text: str) -> Closing | None:
    """The row of the text's language; None for one with a grammar, or an unknown one."""
    lowered = text[-MOST:].lower()
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
    """The answer of a response's last sentence, or None where it is not the only candidate."""
    shape = type_of(question.question_type).answer
    if shape not in ("values", "labels") or part_count(question) != 1:
        return None
    if (row := language_of_closing(text)) is None:
        return None
    sentences = [part.strip(" *。") for part in _END.split(tail(text)) if part.strip(" *。")]
    sentence = sentences[-1] if sentences else ""
    apart = row.letters != KANA
    if (
        not sentence
        or "boxed" in sentence
        or len(sentence) > SENTENCE
        or not _words(row.announces, apart).search(sentence)
    ):
        return None
    if _words(row.denies, apart).search(sentence) or (row.articles == "A" and re.search(r"\bn['’]", sentence)):
        return None
    if shape == "labels":
        letters = list(dict.fromkeys(_labels(sentence, row)))
        several = question.question_type == "multiple_choice"
        return ", ".join(letters) if len(letters) == 1 or (several and letters) else None
    return _only_value(sentence, row)


def _labels(sentence: str, row: Closing) -> Iterator[str]:
    for match in _LETTER.finditer(sentence):
        if match[1] in row.articles and re.match(r"\s[^\W\d_]", sentence[match.end() :]):
            continue
        yield match[1]


def _only_value(sentence: str, row: Closing) -> str | None:
    formulas = _FORMULA.findall(sentence)
    words = _FORMULA.sub(" ", sentence)
    equations = _EQUATION.findall(words)
    numbers = list(_NUMBER.finditer(words))
    if formulas:
        return formulas[0] if len(formulas) == 1 and not re.search(r"\d", words) else None
    if len(numbers) + len(equations) == 0 or len(re.findall(r"\d+(?:[.,/]\d+)*", words)) != 1:
        return None
    if equations:
        return None if _AMBIGUOUS.search(equations[0]) else equations[0]
    number = numbers[0]
    if _AMBIGUOUS.search(number[0]):
        return None
    rest = words[number.end() :]
    if (unit := _UNIT.match(rest)) and read_unit(to_latex(unit[0].strip())) is not None:
        return number[0] + unit[0]
    goes_on = not _COPULA.match(rest) if row.letters == KANA else re.match(r"\s?[^\W\d_]", rest)
    return None if goes_on else number[0]
