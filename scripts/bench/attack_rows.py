"""Rows of `attacks.py`, from the tables of `attack_values`, `_claims`, `_denials`, `_choices`, `_forms`.

Equal seeds make equal rows.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import gcd

from livek12.core.question_types import QuestionType
from livek12.core.records import Option
from livek12.scripts.bench import attack_choices as choices
from livek12.scripts.bench import attack_claims as claims
from livek12.scripts.bench import attack_denials as denials
from livek12.scripts.bench import attack_forms as forms
from livek12.scripts.bench import attack_values as values
from livek12.scripts.bench.labelled import BenchRow

SEED = 15
LANGUAGES = ("en", "zh", "ko")
FRAMES: dict[str, tuple[str, ...]] = {
    "en": (
        "The answer is <v>.",
        "Working through the steps, we arrive at the result.\n\nFinal answer: \\boxed{<V>}",
        "**Answer:** <v>",
        "<v>",
    ),
    "zh": (
        "所以答案是<v>。",
        "由题意计算可得结果。\n\n故答案为：$\\boxed{<V>}$",
        "【答案】<v>",
        "综上，最终答案为 <v>．",
    ),
    "ko": ("따라서 정답은 <v>입니다.", "풀이 과정을 정리하면\n\n\\boxed{<V>}", "답: <v>", "최종 답은 <v>이다."),
}
"""What stands around a value; `<V>` is the value without dollars."""
DEMANDS: dict[str, dict[str, str]] = {
    "factor": {"en": "Factor completely: $?$", "zh": "因式分解：$?$", "ko": "다음 식을 인수분해하시오: $?$"},
    "expand": {"en": "Expand $?$.", "zh": "将 $?$ 展开。", "ko": "다음 식을 전개하시오: $?$"},
    "simplify": {"en": "Simplify $?$.", "zh": "化简：$?$", "ko": "다음 식을 간단히 하시오: $?$"},
    "compute": {"en": "Compute $?$.", "zh": "计算：$?$", "ko": "다음을 계산하시오: $?$"},
    "reduce": {
        "en": "Write $?$ as a common fraction in lowest terms.",
        "zh": "将 $?$ 化为最简分数。",
        "ko": "$?$ 을 기약분수로 나타내시오.",
    },
    "scientific": {
        "en": "Write $?$ in scientific notation.",
        "zh": "用科学记数法表示 $?$。",
        "ko": "$?$ 를 과학적 표기법으로 나타내시오.",
    },
    "rationalise": {
        "en": "Rationalize the denominator of $?$.",
        "zh": "将 $?$ 分母有理化。",
        "ko": "$?$ 의 분모를 유리화하시오.",
    },
    "places": {
        "en": "Give the value of $?$ to two decimal places.",
        "zh": "求 $?$ 的值，结果保留两位小数。",
        "ko": "$?$ 의 값을 소수 둘째 자리까지 구하시오.",
    },
    "exact": {
        "en": "Give the exact value of $?$; no decimals.",
        "zh": "求 $?$ 的精确值（不取近似值）。",
        "ko": "$?$ 의 정확한 값을 구하시오 (근삿값 불가).",
    },
    "chance": {"en": "What is the probability of $?$?", "zh": "求事件 $?$ 的概率。", "ko": "사건 $?$ 의 확률은?"},
    "solve": {"en": "Solve $?$.", "zh": "解方程：$?$", "ko": "방정식 $?$ 을 푸시오."},
}  # fmt: skip
"""Questions that ask for a form, by what is asked for."""
LABELS = ("A", "B", "C", "D")
CIRCLED = ("①", "②", "③", "④")
TRIES = 2
"""So often is a line used with other numbers; once in each language."""
SAMPLES = 3
"""So many types of answer does a wording meet."""


def attack_rows(seed: int = SEED) -> list[BenchRow]:
    """All rows, class by class."""
    rows: list[BenchRow] = []
    for name, table in {**values.VALUES, **denials.VALUES, **forms.SCANNED}.items():
        rows += _value_rows(name, table, random.Random(f"{seed} {name}"))
    for language, table in forms.WORDS.items():
        rows += _value_rows("another word", table, random.Random(f"{seed} {language}"), (language,))
    for name, tables in {**claims.CLAIMS, **denials.DENIALS, **forms.WRITTEN}.items():
        rows += _claim_rows(name, tables, random.Random(f"{seed} {name}"))
    for name, tables in {**choices.SINGLE, **denials.CHOICES}.items():
        rows += _choice_rows(name, tables, "which", random.Random(f"{seed} {name}"))
    name = "the wrong statement asked for"
    rows += _choice_rows(name, choices.WRONG_ONE, "not", random.Random(f"{seed} {name}"))
    rows += _multiple_rows("several choices", random.Random(f"{seed} several"))
    rows += _untyped_rows("letters without options", random.Random(f"{seed} untyped"))
    rows += _truth_rows("truth denied")
    rows += _blank_rows("two blanks")
    return rows


def numbers(rng: random.Random) -> dict[str, str]:
    """Values of the placeholders of one row: a > b and c, coprime."""
    a, b, c = rng.choice(_TRIPLES)
    values: dict[str, int] = {"a": a, "b": b, "c": c, "h": 100 + 17 * a, "i": 100 + 17 * b, "h-1": 99 + 17 * a}
    values |= {"a+1": a + 1, "b+1": b + 1, "a+b": a + b, "a-b": a - b, "ab": a * b, "aa": a * a, "2aa": 2 * a * a}
    values |= {f"{n}{letter}": n * values[letter] for n in (2, 10, 30, 60) for letter in "abc"}
    return {f"«{name}»": str(value) for name, value in values.items()}


_TRIPLES = [
    (a, b, c)
    for a in range(5, 20)
    for b in range(3, a - 1)
    for c in range(3, 20)
    if gcd(a, b) == gcd(a, c) == gcd(b, c) == 1
]


def _filled(text: str, parts: Mapping[str, str]) -> str:
    for name, value in parts.items():
        text = text.replace(name, value)
    return text


def _lines(table: str) -> Iterator[tuple[str, bool]]:
    right = False
    for line in table.strip().splitlines():
        if line == "|":
            right = True
        else:
            yield line, right


def _wordings(table: str) -> Iterator[tuple[int, str, bool]]:
    for number, (line, right) in enumerate(_lines(table)):
        yield number, line.replace(r"\n", "\n"), right


def shown(value: str) -> str:
    """A value as a response shows it, in dollars where a formula can hold it."""
    return f"${value}$" if value.isascii() and not re.fullmatch(r"[a-z]{4,}", value) else value


def _value_rows(name: str, table: str, rng: random.Random, languages: Sequence[str] = LANGUAGES) -> Iterator[BenchRow]:
    for number, (line, right) in enumerate(_lines(table)):
        changes = "«" in line
        for language in languages:
            for again in range(TRIES if changes else 1):
                key, answer, *demand = _filled(line, {**numbers(rng), **forms.CONTROLS}).split(" @ ")
                frame = FRAMES[language][(number + again) % len(FRAMES[language])]
                response = _filled(frame, {"<v>": shown(answer), "<V>": answer})
                question = ""
                if demand:
                    what, _, expression = demand[0].partition(": ")
                    question = DEMANDS[what][language].replace("$?$", f"${expression}$")
                yield _row(name, f"{number}{language}{again}", language, question, [key], response, right)


def _claim_rows(name: str, tables: Mapping[str, str], rng: random.Random) -> Iterator[BenchRow]:
    for language, table in tables.items():
        samples = [*claims.SAMPLES, claims.WORDS[language]]
        rng.shuffle(samples)
        for number, line, right in _wordings(table):
            for again in range(SAMPLES):
                key, wrong = samples[(SAMPLES * number + again) % len(samples)]
                parts = {"<g>": shown(key), "<w>": shown(wrong), "<G>": key, "<W>": wrong}
                parts["<BIG>"] = list(claims.BIG.values())[(number + again) % len(claims.BIG)]
                response = _filled(line, parts)
                yield _row(name, f"{number}{language}{again}", language, "", [key], response, right)


def _choice_rows(name: str, tables: Mapping[str, str], asked: str, rng: random.Random) -> Iterator[BenchRow]:
    for language, table in tables.items():
        for number, line, right in _wordings(table):
            for again in range(SAMPLES):
                texts = choices.TEXTS[language][(number + again) % len(choices.TEXTS[language])]
                labels = CIRCLED if language == "ko" and again == 1 and not re.search(r"\b[ABCD]\b", line) else LABELS
                places = rng.sample(range(4), 3)
                parts = {f"<{mark}>": labels[place] for mark, place in zip("GWV", places, strict=True)}
                parts |= {f"<{mark}>": texts[place] for mark, place in zip("gwv", places, strict=True)}
                response = _filled(line, parts)
                options = tuple(Option(label=label, text=text) for label, text in zip(labels, texts, strict=True))
                question = choices.ASKED[asked][language]
                number_ = f"{number}{language}{again}"
                kind: QuestionType = "single_choice"
                yield _row(name, number_, language, question, [parts["<G>"]], response, right, kind, options)


def _multiple_rows(name: str, rng: random.Random) -> Iterator[BenchRow]:
    for language, table in choices.MULTIPLE.items():
        for number, line, right in _wordings(table):
            for again in range(SAMPLES):
                texts = choices.TEXTS[language][again]
                key = sorted(rng.sample(LABELS, 2 + again % 2))
                others = [label for label in LABELS if label not in key]
                parts = {"<G>": "".join(key), "<W>": others[0], "<S>": "".join(key[:-1])}
                parts["<X>"] = "".join(sorted([*key, others[0]]))
                options = tuple(Option(label=label, text=text) for label, text in zip(LABELS, texts, strict=True))
                question = choices.ASKED["all"][language]
                kind: QuestionType = "multiple_choice"
                number_ = f"{number}{language}{again}"
                response = _filled(line, parts)
                yield _row(name, number_, language, question, [parts["<G>"]], response, right, kind, options)


def _untyped_rows(name: str, rng: random.Random) -> Iterator[BenchRow]:
    for language, table in forms.UNTYPED.items():
        for number, line, right in _wordings(table):
            for again in range(SAMPLES):
                parts = dict(zip(("<G>", "<W>", "<V>"), rng.sample(LABELS, 3), strict=True))
                number_, key = f"{number}{language}{again}", parts["<G>"]
                row = _row(name, number_, language, "", [key], _filled(line, parts), right)
                yield replace(row, gold=key)


def _blank_rows(name: str) -> Iterator[BenchRow]:
    for language, table in forms.BLANKS.items():
        for number, line, right in _wordings(table):
            for again, (first, second, other) in enumerate(forms.BLANK_SAMPLES):
                boxed = "\\boxed" in line
                parts = {"<1>": first, "<2>": second, "<w>": other}
                response = _filled(line, parts if boxed else {mark: shown(value) for mark, value in parts.items()})
                golds, question = [shown(first), shown(second)], forms.TWO_BLANKS[language]
                number_ = f"{number}{language}{again}"
                yield _row(name, number_, language, question, golds, response, right, "fill_in_blank")


def _truth_rows(name: str) -> Iterator[BenchRow]:
    for language, (words, table) in choices.TRUTH.items():
        for number, line, right in _wordings(table):
            for again, (key, other) in enumerate((words, words[::-1])):
                response = _filled(line, {"<G>": key, "<W>": other})
                yield _row(name, f"{number}{language}{again}", language, "", [key], response, right, "true_false")


def _row(
    name: str,
    number: str,
    language: str,
    question: str,
    golds: list[str],
    response: str,
    right: bool,
    question_type: QuestionType = "short_answer",
    options: tuple[Option, ...] = (),
) -> BenchRow:
    gold = shown(golds[0]) if question_type == "short_answer" else "; ".join(golds)
    return BenchRow(name, number, question_type, language, question, gold, golds, response, right, options)
