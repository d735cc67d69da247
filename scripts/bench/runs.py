"""The cost of the commands around a run as it grows: processor seconds, peak memory of score, report, compare, resume.

    python scripts/bench/runs.py --answers 10000,100000 --kb 10 --runs 2,5,10 --json runs.json

The runs are drawn from a seed: questions of twenty a paper, `--trials` answers to each, about one of twenty undecided.
Of each size a process of its own is measured, and set beside one that only scans the lines of the same journals, byte
by byte to their ends, a megabyte at a time: no reader of them can be faster. With `--packed` the runs are measured
compacted as well, and so is their report. The exponent of growth is that of a power of the answers (for compare of the
runs) between the two largest sizes: 1 is linear. Seconds are the processor's.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from livek12.core.records import Key, PartVerdict, Question, Response, Verdict
from livek12.scripts.bench.common import machine, made_run, timed, write_json

TASK = "livek12_text_only"
WORDS = (
    "the sum of both sides is therefore equal to half of it because a point lies on that circle and x " * 40
).split()
SCAN = (
    "import sys\nfor name in sys.argv[1:]:\n"
    "    with open(name, 'rb', buffering=1 << 20) as lines:\n        for line in lines: pass"
)
GO_ON = (
    "import sys, pathlib\nfrom livek12.core.run.folder import RunFolder\n"
    "run = RunFolder.open(pathlib.Path(sys.argv[1])); run.tries(); answered = run.follow(); answered(); len(answered())"
)


def make_run(folder: Path, answers: int, trials: int, kb: float, seed: int) -> Path:
    """A marked run of answers with so many KB of thinking each."""
    rng = random.Random(seed)
    text = " ".join(rng.choices(WORDS, k=int(kb * 1024) // 3 + 4000))
    questions = [_question(number) for number in range(max(1, answers // trials))]

    def answered() -> Iterator[tuple[Response, Verdict]]:
        for number, question in enumerate(questions):
            for trial in range(trials):
                at = rng.randrange(len(text) - int(kb * 1024))
                response = Response(
                    key=Key(task=TASK, question_id=question.id, trial=trial),
                    text=f"So it is {number + 1}.",
                    reasoning=text[at : at + int(kb * 1024)],
                    finish_reason="stop",
                    prompt_tokens=100,
                    completion_tokens=rng.randrange(100, 9000),
                    engine="vllm",
                    model=f"model-{seed}",
                )
                chance = 0.2 + 0.5 * (number % 7) / 7 + 0.2 * (seed % 10) / 10
                yield response, _verdict(response, None if rng.random() < 0.05 else rng.random() < chance)

    return made_run(folder, {TASK: questions}, answered(), f"model-{seed}", trials, judges={TASK: "rules"})


def _question(number: int) -> Question:
    return Question(
        id=f"q{number}",
        benchmark="livek12",
        language="en",
        subject=("math", "physics", "chemistry", "biology")[number % 4],
        question_type="fill_in_blank",
        question=f"What is {number} + 1?",
        answer=[str(number + 1)],
        points=float(2 + number % 4),
        paper_id=f"p{number // 20}",
    )


def _verdict(response: Response, right: bool | None) -> Verdict:
    decision: Literal["accept", "reject", "undecided"] = (
        "undecided" if right is None else "accept" if right else "reject"
    )
    score, low, high = (None, 0.0, 1.0) if right is None else (float(right),) * 3
    part = PartVerdict(decision=decision, decided_by="numeric", answer="1", gold="1", score=score, reason="")
    points = float(2 + int(response.key.question_id[1:]) % 4)
    return Verdict(
        key=response.key,
        response_sha256=response.sha256,
        state="ungraded" if right is None else "graded",
        parts=[part],
        points=None if score is None else score * points,
        low=low * points,
        high=high * points,
        max_points=points,
        correct=right,
        judge="rules",
    )


def measured(words: Sequence[Any]) -> tuple[float, float]:
    """Processor seconds and peak MiB of a Python command."""
    usage = timed([sys.executable, *words])
    if usage.code:
        raise SystemExit(f"{' '.join(map(str, words))[:200]}: ended with code {usage.code}")
    return usage.processor, usage.peak * 1024


def exponent(sizes: Sequence[int], values: Sequence[float]) -> float | None:
    """Exponent of growth between the two largest sizes."""
    if len(sizes) < 2 or min(values[-2:]) <= 0:
        return None
    return math.log(values[-1] / values[-2]) / math.log(sizes[-1] / sizes[-2])


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", default="10000,100000", help="sizes of the runs that are scored")
    parser.add_argument("--kb", type=float, default=10.0, help="KB of thinking of each answer")
    parser.add_argument("--trials", type=int, default=8)
    parser.add_argument("--packed", action="store_true", help="also of the runs once they are compacted")
    parser.add_argument("--runs", default="2,5,10", help="how many runs are compared")
    parser.add_argument("--each", type=int, default=10_000, help="answers of each compared run, one a question")
    parser.add_argument("--work", type=Path, help="a folder for the runs, removed at the end")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    figures: dict[str, Any] = {"machine": machine(), "one run": {}, "compare": {}}
    with tempfile.TemporaryDirectory(dir=given.work) as work:
        _one_run(figures, Path(work), sorted(map(int, given.answers.split(","))), given.trials, given.kb, given.packed)
        _compare(figures, Path(work), sorted(map(int, given.runs.split(","))), given.each)
    write_json(given.json, figures)
    print(json.dumps(figures["machine"]))


def _one_run(figures: dict[str, Any], work: Path, sizes: Sequence[int], trials: int, kb: float, packed: bool) -> None:
    timings: dict[str, list[tuple[float, float]]] = {}
    nothing = measured(["-c", "pass"])[0]

    def note(size: int, name: str, words: Sequence[Any]) -> None:
        seconds, peak = measured(words)
        timings.setdefault(name, []).append((seconds, peak))
        bound = timings["scan"][-1][0] - nothing
        ratio = f"{(seconds - nothing) / bound:6.1f} x scan" if bound > 0 else ""
        print(f"{size:>9,} answers  {name:15} {seconds:8.2f} s {peak:7.0f} MiB {ratio}", flush=True)

    for size in sizes:
        run = make_run(work / f"run-{size}", size, trials, kb, 7)
        note(size, "scan", ["-c", SCAN, *run.glob("*.jsonl")])
        note(size, "go on", ["-c", GO_ON, run])
        note(size, "score", ["-m", "livek12", "score", run, "--json"])
        if packed:
            note(size, "compact", ["-m", "livek12", "compact", run])
            note(size, "go on, packed", ["-c", GO_ON, run])
            note(size, "score, packed", ["-m", "livek12", "score", run, "--json"])
            note(size, "report, packed", ["-m", "livek12", "report", run])
        shutil.rmtree(run)
    for name, values in timings.items():
        grown = [exponent(sizes, [value[kind] for value in values]) for kind in (0, 1)]
        figures["one run"][name] = {"sizes": sizes, "seconds, MiB": values, "exponents": grown}
        print(f"{name:8} exponents of growth: {_said(grown)}")


def _compare(figures: dict[str, Any], work: Path, counts: Sequence[int], each: int) -> None:
    runs = [make_run(work / f"compared-{number}", each, 1, 0.1, number) for number in range(max(counts))]
    values = []
    for count in counts:
        values.append(measured(["-m", "livek12", "compare", *runs[:count], "--json"]))
        print(f"compare of {count:>3} runs of {each:,} {values[-1][0]:8.2f} s {values[-1][1]:7.0f} MiB")
    grown = [exponent(counts, [value[kind] for value in values]) for kind in (0, 1)]
    figures["compare"] = {"runs": counts, "answers of each": each, "seconds, MiB": values, "exponents": grown}
    print(f"compare exponents of growth: {_said(grown)}")


def _said(grown: Sequence[float | None]) -> str:
    return ", ".join(
        f"{what} {value:.2f}" for what, value in zip(("seconds", "memory"), grown, strict=True) if value is not None
    )


if __name__ == "__main__":
    main()
