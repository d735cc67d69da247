"""Readings of papers by tools, and questions in the plain text of those that give text alone.

A failing tool gives a `Prediction` with an `error`. A line with the next number of a run begins a question (a run
begins anew at 1); labels at line starts or after gaps begin options; "answer key" begins the key.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from livek12.scripts.bench.exams.gold import LabelledOption, PredictedQuestion, Prediction

Reader = Callable[[Path, Path | None], Prediction]
_FIELDS: Final = {"figure": "figures", "parse": "text", "type": "options"}
"""Kinds of our doubts that are called otherwise here."""
_MISSING: Final = re.compile(r"questions? (?:\D.* )?(\d{1,3})(?: to (\d{1,3}))?\b.* not found$")
_SECONDS: Final = 600
_MARKITDOWN: Final = (
    "import sys; from markitdown import MarkItDown; sys.stdout.write(MarkItDown().convert(sys.argv[1]).text_content)"
)


def livek12(pdf: Path, key: Path | None) -> Prediction:
    """Reading of `livek12 ingest`."""
    from livek12.dataset_builders.ingest.paper import Options, ingest

    with tempfile.TemporaryDirectory(prefix="exam-") as folder:
        outcome = ingest([pdf], Path(folder), Options(answers=(key,) if key else ()))
    if outcome.failed:
        return Prediction(error=outcome.failed[0])
    (paper,) = outcome.papers
    runs = [run for line in paper.errors if (run := _MISSING.match(line))]
    missing = [str(number) for run in runs for number in range(int(run[1]), int(run[2] or run[1]) + 1)]
    return Prediction(
        questions=[
            PredictedQuestion(
                number=draft.number,
                section=draft.section,
                text=draft.question,
                options=[LabelledOption(label=option.label, text=option.text) for option in draft.options],
                answer=draft.answer,
                points=draft.points,
                boxes=draft.boxes,
                figures=[figure.box for figure in draft.figures if figure.box],
                doubts=sorted({_FIELDS.get(doubt.kind, doubt.kind) for doubt in draft.doubts}),
            )
            for draft in paper.drafts
        ],
        missing=missing,
    )


def text_layer(pdf: Path, key: Path | None) -> Prediction:
    """Text layer of pypdfium2."""
    return prediction_of(_layer(pdf), _layer(key) if key else "")


def _layer(pdf: Path) -> str:
    import pypdfium2

    document = pypdfium2.PdfDocument(pdf)
    try:
        return "\n".join(page.get_textpage().get_text_range().replace("\r\n", "\n") for page in document)
    finally:
        document.close()


def markitdown(python: Path) -> Reader:
    """Markitdown, from its own environment."""
    return _guarded(lambda pdf: _output_of([str(python), "-c", _MARKITDOWN, str(pdf)]))


def mineru(program: Path) -> Reader:
    """MinerU's text in reading order, from the tier without weights."""

    def text(pdf: Path) -> str:
        with tempfile.TemporaryDirectory(prefix="mineru-") as folder:
            command = [str(program), "parse", str(pdf), "-o", folder, "--tier", "flash", "-f", "markdown"]
            _output_of(command)
            return "\n".join(file.read_text("utf-8") for file in sorted(Path(folder).rglob("*.md")))

    return _guarded(text)


def _guarded(text: Callable[[Path], str]) -> Reader:
    def read(pdf: Path, key: Path | None) -> Prediction:
        try:
            return prediction_of(text(pdf), text(key) if key else "")
        except (OSError, subprocess.SubprocessError) as error:
            return Prediction(error=f"{type(error).__name__}: {error}"[:200])

    return read


def _output_of(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=True)
    return done.stdout.decode("utf-8", "replace")


def readers(places: Mapping[str, Path]) -> dict[str, Reader]:
    """Readers by name; `places` maps tools to their Python or program."""
    makers: dict[str, Callable[[Path], Reader]] = {"markitdown": markitdown, "mineru": mineru}
    return {"livek12": livek12, "text layer": text_layer} | {name: makers[name](at) for name, at in places.items()}


def read_to(folder: Path, papers: Path, names: list[str], reader: Reader) -> None:
    """Reads papers without a stored prediction."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        file = folder / f"{name}.json"
        if not file.is_file():
            key = papers / f"{name}.key.pdf"
            prediction = reader(papers / f"{name}.pdf", key if key.is_file() else None)
            file.write_text(
                json.dumps(prediction.model_dump(exclude_defaults=True), ensure_ascii=False) + "\n", "utf-8"
            )
            read = f"{len(prediction.questions)} questions {prediction.error}"
            print(f"{folder.parent.name}, {folder.name}: {name}: {read}", file=sys.stderr, flush=True)


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
"""Most numbers that a run may skip."""


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
