"""Measures the rules (no model) beside math-verify on wrong answers made to be accepted: a table by class.

`python scripts/bench/attacks.py [--seed N] [--only CLASS]… [--show] [--json FILE]`. A right answer may be left
undecided, not rejected.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from math import gcd
from pathlib import Path
from typing import Any

from livek12.core.question_types import QuestionType
from livek12.core.records import Option
from livek12.core.text import one_line
from livek12.scripts.bench.common import write_json
from livek12.scripts.bench.labelled import KINDS, BenchRow, answer_kind
from livek12.scripts.bench.verifiers import SideAnswers, run_side

Json = dict[str, Any]
BESIDE = ("livek12", "math-verify")


def tally(rows: Sequence[BenchRow], answered: Sequence[SideAnswers]) -> Json:
    """Counts of wrong and right rows: all, accepted, rejected, undecided."""
    outcome: Json = {}
    for name, right in (("wrong", False), ("right", True)):
        verdicts = [answer.said for row, answer in zip(rows, answered, strict=True) if row.right is right]
        counts = {
            "accepted": verdicts.count(True),
            "rejected": verdicts.count(False),
            "undecided": verdicts.count(None),
        }
        outcome[name] = {"rows": len(verdicts), **counts}
    return outcome


def measure(rows: Sequence[BenchRow], seed: int) -> Json:
    """Tallies by class, language and type, and the rules' errors."""
    answers = {side: run_side(rows, side)["answered"] for side in BESIDE}

    def group(chosen: list[int]) -> Json:
        return {side: tally([rows[i] for i in chosen], [answers[side][i] for i in chosen]) for side in BESIDE}

    classes = {name: group([i for i, row in enumerate(rows) if row.set == name]) for name in _classes(rows)}
    languages = {name: group([i for i, row in enumerate(rows) if row.language == name]) for name in LANGUAGES}
    kinds = {
        name: group(mine) for name in KINDS if (mine := [i for i, row in enumerate(rows) if answer_kind(row) == name])
    }
    ours = list(zip(rows, answers["livek12"], strict=True))
    mistaken = [_told(row) for row, answer in ours if answer.said is (not row.right)]
    left_open = [_told(row) for row, answer in ours if row.right and answer.said is None]
    whole = group(list(range(len(rows))))
    groups = {"all": whole, "classes": classes, "languages": languages, "kinds": kinds}
    return {"seed": seed, **groups, "mistaken": mistaken, "left_open": left_open}


def _classes(rows: Sequence[BenchRow]) -> list[str]:
    return list(dict.fromkeys(row.set for row in rows))


def _told(row: BenchRow) -> Json:
    cells = {"gold": one_line(row.gold, 60), "response": one_line(row.response, 160)}
    return {"class": row.set, "id": row.id, "question": row.question, **cells, "right": row.right}


def show(found: Json, rows: bool) -> None:
    """The table of classes; with `rows` also errors and open rows."""
    print(f"{'':34} {'wrong answers':>36}   {'right answers':>36}   {'math-verify':>20}")
    head = f"{'class':34}" + f" {'rows':>5} {'accepted':>9} {'rejected':>9} {'undecided':>10}  " * 2
    print(head + f" {'accepts':>9} {'rejects':>9}")
    for name, sides in {**found["classes"], **found["languages"], **found["kinds"], "all": found["all"]}.items():
        line = f"{name:34}"
        for kind in ("wrong", "right"):
            tallies = sides["livek12"][kind]
            line += f" {tallies['rows']:5} {tallies['accepted']:9} {tallies['rejected']:9} {tallies['undecided']:10}  "
        beside = sides["math-verify"]
        print(line + f" {beside['wrong']['accepted']:9} {beside['right']['rejected']:9}")
    for row in [*found["mistaken"], *found["left_open"]] if rows else ():
        label = "left open" if row in found["left_open"] else "right, rejected" if row["right"] else "wrong, accepted"
        print(f"{label}: {row['class']} {row['id']}: {row['question']} key {row['gold']!r} <- {row['response']!r}")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=SEED, help="of the numbers and samples; the card has the default's")
    parser.add_argument("--only", action="append", default=[], metavar="CLASS", help="only rows of this class")
    parser.add_argument("--show", action="store_true", help="the rows, too")
    parser.add_argument("--json", type=Path, help="file for the figures")
    arguments = parser.parse_args()
    rows = attack_rows(arguments.seed)
    if unknown := [name for name in arguments.only if name not in _classes(rows)]:
        sys.exit(f"--only {unknown[0]}: is none of {', '.join(_classes(rows))}")
    chosen = [row for row in rows if not arguments.only or row.set in arguments.only]
    figures = measure(chosen, arguments.seed)
    show(figures, arguments.show)
    write_json(arguments.json, figures)


Tables = dict[str, dict[str, str]]
"""The lines of each class by language; by "" where they are of any."""
Filling = tuple[Mapping[str, str], list[str], str, QuestionType, tuple[Option, ...]]
"""Values of the places of a wording, keys, question, type and options."""
Fill = Callable[[str, int, int, str], Filling]
"""Makes the filling of a language, a line's number, a turn and the line."""
SEED = 15
WRONG_ASKED_FOR = "the wrong statement asked for"
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
PAIRS = (
    ("12", "13"), (r"\frac{3}{5}", r"\frac{5}{3}"), ("3x+7", "3x-7"), ("[2,5)", "(2,5]"), ("(4,-9)", "(-9,4)"),
    (r"\{2,7\}", r"\{2,8\}"), ("y=2x+5", "y=2x-5"), (r"14\text{ cm}", r"14\text{ m}"),
    (r"6\sqrt{2}", r"2\sqrt{6}"), ("0.25", "0.75"),
)  # fmt: skip
WORDS = {"en": ("increases", "decreases"), "zh": ("增大", "减小"), "ko": ("증가", "감소")}
TRUTH = {"en": ("True", "False"), "zh": ("正确", "错误"), "ko": ("참", "거짓")}
BIG = ("+x" * 9000, "{" * 3000 + "1" + "}" * 3000, "^{9^{9^{9^{9}}}}", "7" * 9000)
"""Long and deep texts, taken in turn where `<BIG>` stands."""
CONTROLS = {"<FF>": "\f", "<TAB>": "\t", "<VT>": "\v"}
"""The control characters of misread `\\f`, `\\t` and `\\v`."""
_NUMBERS = ("6", "7", "8", "9")
_ROOTS = ("$2\\sqrt{3}-1$", "$2\\sqrt{3}+1$", "$\\sqrt{3}-1$", "$\\sqrt{3}+1$")
TEXTS: dict[str, tuple[tuple[str, ...], ...]] = {
    "en": (_NUMBERS, _ROOTS, ("It rises.", "It falls.", "It stays the same.", "It rises, then falls."),
           ("12 cm", "12 m", "21 cm", "21 m")),
    "zh": (_NUMBERS, _ROOTS, ("一直增大", "一直减小", "保持不变", "先增大后减小"), ("①②", "①③", "②③", "①②③")),
    "ko": (_NUMBERS, _ROOTS, ("증가한다", "감소한다", "변하지 않는다", "증가하다가 감소한다"),
           ("ㄱ", "ㄴ", "ㄱ, ㄴ", "ㄴ, ㄷ")),
}  # fmt: skip
"""Options of choices."""
ASKED = {
    "which": {"en": "Which of these is right?", "zh": "下列选项中正确的是（　　）", "ko": "다음 중 옳은 것은?"},
    "not": {"en": "Which of these is NOT right?", "zh": "下列说法错误的是（　　）", "ko": "다음 중 옳지 않은 것은?"},
    "all": {"en": "Which of these are right?", "zh": "（多选）下列正确的有（　　）", "ko": "옳은 것을 모두 고르시오."},
}  # fmt: skip
BLANK_SAMPLES = (("3", "8", "5"), (r"\frac{1}{2}", "7", r"\frac{1}{3}"), ("x+1", "12", "x-1"))
TWO_BLANKS = {
    "en": "The first value is ____, and the second is ____.",
    "zh": "第一个值为______，第二个值为______．",
    "ko": "첫째 값은 ____이고 둘째 값은 ____이다.",
}


def attack_rows(seed: int = SEED) -> list[BenchRow]:
    """All rows, class by class."""

    def draw(name: str) -> random.Random:
        return random.Random(f"{seed} {name}")

    rows: list[BenchRow] = []
    for name, tables in _tables("values").items():
        for language, table in tables.items():
            rows += _value_rows(name, table, draw(language or name), (language,) if language else LANGUAGES)
    for name, tables in _tables("claims").items():
        rows += _wordings(name, tables, SAMPLES, _claims(draw(name)))
    for name, tables in _tables("choices").items():
        several = name == "several choices"
        fill = _several(draw("several")) if several else _choices(name == WRONG_ASKED_FOR, draw(name))
        rows += _wordings(name, tables, SAMPLES, fill)
    untyped, truth, blanks = _tables("others").items()
    letters = _wordings(*untyped, SAMPLES, _letters(draw("untyped")))
    rows += (replace(row, gold=row.extracted[0]) for row in letters)
    rows += _wordings(*truth, 2, _truth)
    rows += _wordings(*blanks, len(BLANK_SAMPLES), _blanks)
    return rows


@cache
def _tables(name: str) -> Tables:
    tables: Tables = {}
    for block in (Path(__file__).parent / "attack_tables" / f"{name}.txt").read_text("utf-8").split("\n== "):
        kind, _, lines = block.removeprefix("== ").partition("\n")
        by_language = re.split(r"^-- (\w+)\n", lines, flags=re.MULTILINE)
        tables[kind] = dict(zip(by_language[1::2], by_language[2::2], strict=True)) or {"": lines}
    return tables


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


def _lines(table: str) -> Iterator[tuple[int, str, bool]]:
    wrong, _, right = (part.strip("\n").split("\n") for part in f"\n{table}".partition("\n|\n"))
    for number, line in enumerate([*wrong, *right]):
        yield number, line, number >= len(wrong)


def shown(value: str) -> str:
    """A value as a response shows it, in dollars where a formula can hold it."""
    return f"${value}$" if value.isascii() and not re.fullmatch(r"[a-z]{4,}", value) else value


def _value_rows(name: str, table: str, rng: random.Random, languages: Sequence[str] = LANGUAGES) -> Iterator[BenchRow]:
    for number, line, right in _lines(table):
        changes = "«" in line
        for language in languages:
            for again in range(TRIES if changes else 1):
                key, answer, *demand = _filled(line, {**numbers(rng), **CONTROLS}).split(" @ ")
                frame = FRAMES[language][(number + again) % len(FRAMES[language])]
                response = _filled(frame, {"<v>": shown(answer), "<V>": answer})
                question = ""
                if demand:
                    what, _, expression = demand[0].partition(": ")
                    question = DEMANDS[what][language].replace("$?$", f"${expression}$")
                yield _row(name, f"{number}{language}{again}", language, response, right, [key], question)


def _wordings(name: str, tables: Mapping[str, str], many: int, fill: Fill) -> Iterator[BenchRow]:
    for language, table in tables.items():
        for number, line, right in _lines(table):
            wording = line.replace(r"\n", "\n")
            for again in range(many):
                parts, golds, question, kind, options = fill(language, number, again, wording)
                response = _filled(wording, parts)
                yield _row(
                    name, f"{number}{language}{again}", language, response, right, golds, question, kind, options
                )


def _claims(rng: random.Random) -> Fill:
    samples = {language: [*PAIRS, WORDS[language]] for language in LANGUAGES}
    for own in samples.values():
        rng.shuffle(own)

    def fill(language: str, number: int, again: int, _: str) -> Filling:
        key, wrong = samples[language][(SAMPLES * number + again) % len(samples[language])]
        parts = {
            "<g>": shown(key),
            "<w>": shown(wrong),
            "<G>": key,
            "<W>": wrong,
            "<BIG>": BIG[(number + again) % len(BIG)],
        }
        return parts, [key], "", "short_answer", ()

    return fill


def _choices(wrong_asked_for: bool, rng: random.Random) -> Fill:
    def fill(language: str, number: int, again: int, wording: str) -> Filling:
        texts = TEXTS[language][(number + again) % len(TEXTS[language])]
        labels = CIRCLED if language == "ko" and again == 1 and not re.search(r"\b[ABCD]\b", wording) else LABELS
        places = rng.sample(range(4), 3)
        parts = {f"<{mark}>": labels[place] for mark, place in zip("GWV", places, strict=True)}
        parts |= {f"<{mark}>": texts[place] for mark, place in zip("gwv", places, strict=True)}
        question = ASKED["not" if wrong_asked_for else "which"][language]
        return parts, [parts["<G>"]], question, "single_choice", _options(labels, texts)

    return fill


def _several(rng: random.Random) -> Fill:
    def fill(language: str, number: int, again: int, _: str) -> Filling:
        key = sorted(rng.sample(LABELS, 2 + again % 2))
        other = next(label for label in LABELS if label not in key)
        parts = {"<G>": "".join(key), "<W>": other, "<S>": "".join(key[:-1]), "<X>": "".join(sorted([*key, other]))}
        options = _options(LABELS, TEXTS[language][again])
        return parts, [parts["<G>"]], ASKED["all"][language], "multiple_choice", options

    return fill


def _options(labels: Sequence[str], texts: Sequence[str]) -> tuple[Option, ...]:
    return tuple(Option(label=label, text=text) for label, text in zip(labels, texts, strict=True))


def _letters(rng: random.Random) -> Fill:
    def fill(language: str, number: int, again: int, _: str) -> Filling:
        parts = dict(zip(("<G>", "<W>", "<V>"), rng.sample(LABELS, 3), strict=True))
        return parts, [parts["<G>"]], "", "short_answer", ()

    return fill


def _truth(language: str, number: int, again: int, _: str) -> Filling:
    key, other = TRUTH[language][:: -1 if again else 1]
    return {"<G>": key, "<W>": other}, [key], "", "true_false", ()


def _blanks(language: str, number: int, again: int, wording: str) -> Filling:
    values = BLANK_SAMPLES[again]
    printed = values if "\\boxed" in wording else map(shown, values)
    parts = dict(zip(("<1>", "<2>", "<w>"), printed, strict=True))
    return parts, [shown(value) for value in values[:2]], TWO_BLANKS[language], "fill_in_blank", ()


def _row(
    name: str,
    number: str,
    language: str,
    response: str,
    right: bool,
    golds: list[str],
    question: str = "",
    question_type: QuestionType = "short_answer",
    options: tuple[Option, ...] = (),
) -> BenchRow:
    gold = shown(golds[0]) if question_type == "short_answer" else "; ".join(golds)
    return BenchRow(name, number, question_type, language, question, gold, golds, response, right, options)


if __name__ == "__main__":
    main()
