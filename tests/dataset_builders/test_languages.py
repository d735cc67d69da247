"""The language of rows that state none: their own, that of most rows of their file, or a refusal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from livek12.core.errors import UserError
from livek12.core.records import Question
from livek12.dataset_builders.base import Log
from livek12.dataset_builders.builder import read
from livek12.dataset_builders.reading.naming import Given, read_given
from livek12.dataset_builders.registry import builder_of

VIETNAMESE = [
    "Cho tam giác ABC vuông tại A có AB = 3, AC = 4. Tính độ dài cạnh BC.",
    "Số nào sau đây là số nguyên tố?",
    "Cho ham so y = x + 1, tinh gia tri cua ham so khi x bang hai don vi",
    "$x^2 = 4$",
]
ENGLISH = ["Which of these numbers is prime?", "Solve the Schrödinger equation for the hydrogen atom.", "$x^2 = 4$"]
CHINESE = ["下列各数中，哪个是质数？", "求 $x$。", "$x^2 = 4$", "$\\sin x = 1$, x in rad"]
FRENCH = [
    "Calculer la valeur de $x$.",
    "Trouver deux nombres dont la somme vaut 12.",
    "Donner le rayon du cercle.",
    "Quel est le symbole du fer ?",
    "Citer les trois couleurs du drapeau.",
]
FRAGMENTS = [
    *("Compute $3+4$.", "Simplify $\\sqrt 8$.", "Solve $x^2=4$.", "Photosynthesis", "Capital of France?"),
    *("Number of moons of Mars", "Factor $x^2-4$.", "Name three planets.", "Chemical symbol, iron", "Prove it."),
]
KOREAN = ["다음 중 소수는?", "$x^2 = 4$의 해를 구하시오.", "$x^2 = 4$"]


def languages(folder: Path, benchmark: str, texts: list[str], given: Given | None = None) -> tuple[list[str], Log]:
    rows = [{"question": text, "answer": "1", "question_type": "short answer"} for text in texts]
    if benchmark == "cfe":
        named = {f"short_answer_{part}": ["x"] for part in ("value", "variable", "description")}
        rows = [{"question": {"text": text}, "answer": "", "short_answer_type": ["other"], **named} for text in texts]  # type: ignore[dict-item]
    (folder / "exam.json").write_text(json.dumps(rows, ensure_ascii=False))
    log = Log()
    records = list(read(builder_of(benchmark), folder, log, given=given or Given()))
    return [record.language for record in records if isinstance(record, Question)], log


@pytest.mark.parametrize("benchmark", ["livek12", "mdk12", "kmmmu", "cfe"])
@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        pytest.param(VIETNAMESE, [], id="Vietnamese, also without accents"),
        pytest.param(ENGLISH, ["en"] * 3, id="English with a name"),
        pytest.param(CHINESE, ["zh"] * 4, id="Chinese, also formulas alone"),
        pytest.param(KOREAN, ["ko"] * 3, id="Korean"),
        pytest.param(["Найдите значение выражения $2+2$."], [], id="Cyrillic"),
        pytest.param(["次の関数の最小値を求めよ。"], [], id="Japanese"),
        pytest.param(["จงหาค่าของ $x$"], [], id="Thai"),
        pytest.param(["Un train se déplace à 80 km/h. Déterminer la durée."], [], id="French"),
        pytest.param(FRENCH, [], id="French in short sentences"),
        pytest.param(
            [*ENGLISH, "Une bille roule sur la table, puis tombe dans le café froid."], ["en"] * 3, id="one row"
        ),
        pytest.param(FRAGMENTS, ["en"] * 10, id="English in fragments"),
        pytest.param(
            ["In the figure, 甲 is a lamp. Which of the lamps is the brightest?", *ENGLISH], ["en"] * 4, id="mixed"
        ),
        pytest.param(
            ["阅读下文。Which of the lamps is the brightest, and which is not?", *CHINESE], ["zh"] * 5, id="in zh"
        ),
    ],
)
def test_language_is_seen_voted_or_refused(
    tmp_path: Path, benchmark: str, texts: list[str], expected: list[str]
) -> None:
    found, log = languages(tmp_path, benchmark, texts)
    assert found == expected, log.skipped
    assert len(log.skipped) == len(texts) - len(expected)
    assert all(
        "give it a `language`, or name the one that it counts as with --language" in line for line in log.skipped
    )


@pytest.mark.parametrize("benchmark", ["livek12", "mdk12", "kmmmu", "cfe"])
def test_whoever_builds_says_what_such_rows_count_as(tmp_path: Path, benchmark: str) -> None:
    found, log = languages(tmp_path, benchmark, VIETNAMESE, read_given(None, "", "EN"))
    assert (found, log.skipped) == (["en"] * 4, [])


def test_a_row_that_states_its_language_has_it(tmp_path: Path) -> None:
    rows = [
        {"id": "q1", "question": VIETNAMESE[0], "answer": "5", "language": "en"},
        {"id": "ko_2611_math_0001", "question": "$x^2 = 4$", "answer": "2"},
    ]
    (tmp_path / "exam.json").write_text(json.dumps(rows))
    found = read(builder_of("livek12"), tmp_path, Log(), given=Given(language="zh"))
    assert [record.language for record in found if isinstance(record, Question)] == ["en", "ko"]


def test_another_language_is_refused_by_its_name() -> None:
    with pytest.raises(UserError, match="--language vi is none of zh, en, ko"):
        read_given(None, "", "vi")
