"""Closing sentences of languages without a grammar: the only candidate is read, and words stay open."""

from __future__ import annotations

import pytest

from livek12 import verify

OPTIONS = ["1", "2", "3", "4"]
CHOICE = {"question_type": "single_choice", "options": OPTIONS}
SEVERAL = {"question_type": "multiple_choice", "options": OPTIONS}


@pytest.mark.parametrize(
    ("gold", "response", "expected"),
    [
        ("12", "したがって、求める面積は12である。", True),
        ("12", "答えは15です。", False),
        ("3/4", "ゆえに確率は $\\dfrac{3}{4}$ となる。", True),
        ("10 m/s", "速さは 36 km/h である。", True),
        ("10 m/s", "速さは秒速20メートルである。", None),
        ("5", "答えは5ではない。", None),
        ("5", "答えは5または6である。", None),
        ("東京", "答えは京都です。", None),
        ("12", "La réponse est donc 12.", True),
        ("12", "La réponse est 21.", False),
        ("12", "La réponse n'est pas 12.", None),
        ("12", "On obtient une solution de 12 kilomètres par heure.", None),
        ("3.5", "Ainsi, x vaut 35.", None),
        (r"\\frac{1}{3}", r"La probabilité est donc égale à \\(\\frac13\\).", True),
        ("x=1", "Phương trình có nghiệm duy nhất $x=1$.", True),
        ("x=1", "Phương trình có hai nghiệm $x=1$ và $x=2$.", None),
        ("12", "Die Antwort lautet also 12.", True),
        ("12", "Die Antwort ist nicht 12.", None),
        ("12", "La respuesta es 13.", False),
        ("3.5", "La respuesta es, por tanto, 3,5.", True),
        ("3.5 m", "Die Länge der Strecke ist also 3,5 m.", True),
        ("1.234", "La réponse est donc 1,234.", None),
        ("1234", "Die Antwort ist also 1.234.", None),
        ("12", "A resposta é portanto 12.", True),
        ("12", "La risposta è quindi 12.", True),
        ("12", "Следовательно, ответ равен 12.", True),
        ("0.75", "La probabilité est de trois quarts, soit 75 %.", True),
        ("15", "Por lo tanto, la respuesta es 15. ¡Espero que te sirva!", True),
        ("15", "Por lo tanto, la respuesta es 15. Pero no es segura.", None),
        ("12", "したがって、答えは**12**です。", True),
        ("13", "Het antwoord is niet 12 maar 13.", None),
        ("Paris", "La capitale de la France est Lyon.", None),
        ("12", "The area that we were looking for came out as 12.", None),
    ],
)
def test_values(gold: str, response: str, expected: bool | None) -> None:
    assert verify(gold, response).correct is expected


@pytest.mark.parametrize(
    ("gold", "response", "expected"),
    [
        ("B", "正解は B です。", True),
        ("B", "よってCを選ぶ。", False),
        ("B", "Bは誤りである。", None),
        ("B", "AとBで迷うが、Bを選ぶ。", None),
        ("B", "La bonne réponse est la réponse B.", True),
        ("A", "A priori, la réponse est la D.", False),
        ("D", "Câu trả lời đúng là đáp án D.", True),
        ("D", "Đáp án D sai.", None),
        ("B", "La opción correcta es la B.", True),
        ("B", "La opción B no es la correcta.", None),
        ("B", "Richtig ist also die Antwort B.", True),
        ("C", "Seule A est correcte, car C contient une erreur.", None),
        ("C", "Solo A es correcta, ya que C contiene un error.", None),
    ],
)
def test_letters(gold: str, response: str, expected: bool | None) -> None:
    assert verify(gold, response, **CHOICE).correct is expected


def test_several_letters_are_one_answer_only_where_several_are_asked_for() -> None:
    assert verify("AC", "Các đáp án đúng là A và C.", **SEVERAL).correct is True
    assert verify("AC", "Các đáp án đúng là A và B.", **SEVERAL).correct is False
    assert verify("A", "Các đáp án đúng là A và C.", **CHOICE).correct is None
    assert verify("AD", "Les bonnes réponses sont A et D.", **SEVERAL).correct is True
    assert verify("BD", "Les bonnes réponses sont A et D ; B est également correcte.", **SEVERAL).correct is None
