"""The cost of marking by rules, and its growth with processes: answers a processor second, and the caller's share.

    python scripts/bench/marking.py ../shared/data --workers 1,2 --json marking.json

A run of real responses (`scripts/bench/extraction.py` and `labelled.py` say which sets) is marked by `livek12 judge
--workers N`, with nothing remembered. Of each is told the time of a processor, of all processes and of the one that
hands out the responses: by it the speed on more cores than this machine has is reckoned (Amdahl's law: with N workers a
response costs what the caller spends on it and an Nth of what a worker does). One answer alone says what a start
takes. Beside it math-verify on every sixth response, in one process, apart for choices, in which it looks for a letter
alone.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from livek12.core.question_types import CHOICE_TYPES
from livek12.core.records import Key, Question, Response
from livek12.scripts.bench.common import machine, made_run, timed, write_json
from livek12.scripts.bench.extraction import SOURCES
from livek12.scripts.bench.labelled import BenchRow, labelled_rows, question_of
from livek12.scripts.bench.verifiers import SIDES

TASK = "livek12_text_only"
JUDGE = (
    "import atexit, sys, time; from livek12.scripts.cli import main; "
    "atexit.register(lambda: print('own', time.process_time(), file=sys.stderr)); "
    "sys.argv = ['livek12', 'judge', *sys.argv[1:]]; main()"
)
CORES = (4, 8, 16, 64)


def responses(data: Path) -> Iterator[tuple[Question, str, str | None]]:
    """Recorded responses of a folder, with questions and finish reasons."""
    for name, source in SOURCES.items():
        for case in source(data) if (data / name).exists() else ():
            yield case.question, case.response, case.finish_reason
    for row in labelled_rows(data / "judge"):
        yield question_of(row), row.response, "stop"


def make_run(folder: Path, rows: Sequence[tuple[Question, str, str | None]]) -> Path:
    """An unmarked run of these answers."""
    questions = [question.model_copy(update={"id": f"q{number}"}) for number, (question, _, _) in enumerate(rows)]
    answers = (
        (
            Response(
                key=Key(task=TASK, question_id=question.id), text=text, finish_reason=ended, engine="replay", model="m"
            ),
            None,
        )
        for question, (_, text, ended) in zip(questions, rows, strict=True)
    )
    return made_run(folder, {TASK: questions}, answers, engine="replay")


def marked(rows: Sequence[tuple[Question, str, str | None]], workers: int) -> dict[str, Any]:
    """Processor time of marking."""
    with tempfile.TemporaryDirectory() as work:
        run = make_run(Path(work) / "run", rows)
        log = Path(work) / "told"
        command = [sys.executable, "-c", JUDGE, run, "--no-cache", "--workers", workers]
        usage = timed(command, errors=log)
        output = log.read_text()
        if usage.code:
            raise SystemExit(output)
        own = float(output.rsplit("own ", 1)[1].split()[0])
        verdicts = sum(1 for file in run.glob("verdicts-*.jsonl") for _ in file.open())
    return {
        "workers": workers,
        "answers": verdicts,
        "seconds": usage.seconds,
        "processor": usage.processor,
        "caller": own,
        "GiB": usage.peak,
    }


def math_verify(rows: Sequence[tuple[Question, str, str | None]]) -> dict[str, float]:
    """Answers a processor second of math-verify."""
    side, spent = SIDES["math-verify"], {"choices": [0.0, 0.0], "values": [0.0, 0.0]}
    side.warm()
    for question, text, _ in rows[::6]:
        row = BenchRow("", "", question.question_type, question.language, question.question,
                       "; ".join(question.answer), list(question.answer), text, right=True)  # fmt: skip
        began = time.process_time()
        side.decide(row)
        kind = spent["choices" if question.question_type in CHOICE_TYPES else "values"]
        kind[0] += 1
        kind[1] += time.process_time() - began
    return {name: count / seconds for name, (count, seconds) in spent.items() if seconds}


def model(small: dict[str, Any], large: dict[str, Any]) -> dict[str, float]:
    """Milliseconds a response; speed-up on more cores."""
    count = large["answers"] - small["answers"]
    caller = 1000 * (large["caller"] - small["caller"]) / count
    workers = 1000 * (large["processor"] - small["processor"]) / count - caller
    speed_up = {f"on {cores} cores": (caller + workers) / (caller + workers / cores) for cores in CORES}
    return {"caller ms": caller, "worker ms": workers, **speed_up}


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder that holds the sets")
    parser.add_argument("--workers", default="1,2", help="numbers of processes (default 1,2)")
    parser.add_argument("--json", type=Path, help="file for the figures")
    arguments = parser.parse_args()
    rows = list(responses(arguments.data))
    if not rows:
        sys.exit(f"no set of responses in {arguments.data}: name the folder that holds them")
    runs = [marked(rows, int(workers)) for workers in arguments.workers.split(",")]
    for run in runs:
        print({name: round(value, 3) for name, value in run.items()}, f"{run['answers'] / run['processor']:.0f}/s")
    start = marked(rows[:1], 1)
    print(f"one answer: {start['processor']:.2f} processor seconds")
    small = marked(rows[:: max(2, len(rows) // 400)], runs[-1]["workers"])
    figures: dict[str, Any] = {
        "machine": machine(),
        "start": start,
        "runs": runs,
        "model": model(small, runs[-1]),
        "math-verify": math_verify(rows),
    }
    print(json.dumps(figures["model"]))
    print(json.dumps(figures["math-verify"]))
    kinds = {"choices": True, "values": False}
    for name, chosen in kinds.items():
        some = [row for row in rows if (row[0].question_type in CHOICE_TYPES) is chosen]
        base = marked(some, 1)
        figures[name] = {**base, "per_processor_second": base["answers"] / base["processor"]}
        print(
            name,
            f"{base['answers']} answers, {base['answers'] / base['processor']:.0f} a processor second, start included",
        )
    write_json(arguments.json, figures)


if __name__ == "__main__":
    main()
