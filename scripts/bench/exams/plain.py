"""Finds questions in plain text by line-initial numbers, for tools that give text alone.

A line with the next number of a run begins a question (a run begins anew at 1); labels at line starts or after gaps
begin options; "answer key" begins the key.
"""

from __future__ import annotations

import re
from typing import Final

from livek12.scripts.bench.exams.gold import LabelledOption, PredictedQuestion, Prediction

_NUMBER: Final = re.compile(
    r"^[\s#*|>\-]*(?:Question\s+|第\s*|【第\s*)?(?P<number>\d{1,3})(?:\s*题】?)?(?P<sign>\s*[.．、,，):：)|]|\*\*|\s+(?=\D))"
    r"\s*(?P<rest>.*)$"
)
_LABELS: Final = re.compile(
    r"(?:^|(?<=\s))(?:\(?(?P<letter>[A-Ea-e])[.．):：]|\((?P<other>[A-E])\)|(?P<circled>[①-⑤]))\s*"
)
_KEY: Final = re.compile(r"^\W*(?:answer key|参考答案|答案|정답표?)\W*$", re.IGNORECASE)
_KEY_PAIR: Final = re.compile(
    r"(?<!\d)(?P<number>\d{1,3})\s*[.．):|]?\s*(?:【答案】\s*)?(?P<answer>[A-Ea-e]|[①-⑤])(?![A-Za-z])"
)
_POINTS: Final = re.compile(
    r"\[(?P<english>\d{1,2})\]|[（(](?P<chinese>\d{1,2})\s*分[）)]|\[(?P<korean>\d{1,2})\s*점\]"
)
_AHEAD: Final = 2
"""How many numbers a run may jump."""


def prediction_of(text: str, key: str = "") -> Prediction:
    """Questions of a text, with answers from its key or the key's own text."""
    body, own_key = _parted(text.splitlines())
    questions = []
    for number, lines in _cut(body):
        questions.append(_question(number, lines))
    answers = _answers(key or "\n".join(own_key))
    seen: dict[str, int] = {}
    for question in questions:
        place = seen.get(question.number, 0)
        seen[question.number] = place + 1
        keyed = answers.get(question.number, [])
        if place < len(keyed):
            question.answer = [keyed[place]]
    return Prediction(questions=questions)


def _parted(lines: list[str]) -> tuple[list[str], list[str]]:
    for index, line in enumerate(lines):
        if _KEY.match(line) and index > len(lines) // 3:
            return lines[:index], lines[index + 1 :]
    return lines, []


def _cut(lines: list[str]) -> list[tuple[str, list[str]]]:
    questions: list[tuple[str, list[str]]] = []
    last = 0
    for line in lines:
        match = _NUMBER.match(line)
        number = int(match["number"]) if match else -1
        if match and (last < number <= last + _AHEAD or (number == 1 and last > 2)):
            questions.append((str(number), [match["rest"]]))
            last = number
        elif questions:
            questions[-1][1].append(line)
    return questions


def _question(number: str, lines: list[str]) -> PredictedQuestion:
    text = "\n".join(lines)
    points = _POINTS.search(text)
    marks = list(_LABELS.finditer(text))
    run = _run(marks)
    options = []
    for index, mark in enumerate(run):
        end = run[index + 1].start() if index + 1 < len(run) else len(text)
        label = mark["letter"] or mark["other"] or mark["circled"]
        options.append(LabelledOption(label=label, text=text[mark.end() : end].strip()))
    return PredictedQuestion(
        number=number,
        text=text[: run[0].start()].strip() if run else text.strip(),
        options=options,
        points=float(next(filter(None, points.groups()))) if points else None,
    )


def _run(marks: list[re.Match[str]]) -> list[re.Match[str]]:
    best: list[re.Match[str]] = []
    run: list[re.Match[str]] = []
    for mark in marks:
        place = _place(mark)
        if place == 0:
            run = [mark]
        elif run and place == _place(run[-1]) + 1:
            run.append(mark)
        if len(run) >= 3 and len(run) >= len(best):
            best = list(run)
    return best


def _place(mark: re.Match[str]) -> int:
    label = mark["letter"] or mark["other"]
    return "ABCDE".index(label.upper()) if label else "①②③④⑤".index(mark["circled"])


def _answers(text: str) -> dict[str, list[str]]:
    answers: dict[str, list[str]] = {}
    for match in _KEY_PAIR.finditer(text):
        answers.setdefault(match["number"], []).append(match["answer"])
    return answers
