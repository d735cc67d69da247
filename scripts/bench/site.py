"""Time and size of a site of synthetic runs, and how they grow: `docs/site.md`.

`python scripts/bench/site.py FOLDER --runs 10,100,1000 --questions 100` makes run folders in FOLDER (kept, and taken
again by a later call), builds a site of so many of them, adds one run to it, and prints for each: seconds, processor
seconds, memory, files, bytes, and the largest file. No model is asked: right or wrong is drawn by each run's ability.
"""

from __future__ import annotations

import argparse
import random
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from livek12.core.records import Question
    from livek12.core.run.folder import RunFolder

TASK = "livek12_text_only"
SUBJECTS = ("math", "physics", "chemistry", "biology")


def make_runs(folder: Path, runs: int, questions: int) -> list[Path]:
    """Run folders with that many questions, those that are there already as they are."""
    from livek12.core.records import Sampling
    from livek12.core.run.folder import RunFolder
    from livek12.core.run.spec import RunSpec, TaskSpec

    exam = [_question(number) for number in range(questions)]
    task = TaskSpec(
        name=TASK, version=1, modality="text_only", prompt_sha256="p" * 64, data="nowhere", data_sha256="d" * 64,
        questions=questions, sampling=Sampling(),
    )  # fmt: skip
    found = []
    for number in range(runs):
        path = folder / f"run-{questions}-{number:04}"
        found.append(path)
        if (path / "done").exists():
            continue
        shutil.rmtree(path, ignore_errors=True)
        run = RunFolder.create_or_resume(
            path, RunSpec(model=f"model-{number}", engine="openai", tasks=[task]), {TASK: exam}
        )
        _answer(run, number, exam)
        run.leave()
        (path / "done").touch()
    return found


def _question(number: int) -> Question:
    from livek12.core.records import Question, Source

    x = number % 7
    return Question(
        id=f"q{number:05}",
        benchmark="livek12",
        release=str(2601 + number % 4),
        language="zh",
        number=str(number % 20 + 1),
        subject=SUBJECTS[number // 20 % 4],
        question_type="fill_in_blank",
        points=5.0,
        paper_id=f"paper-{number // 20:03}",
        question=f"已知函数 $f(x)=x^2+{number}x$，求 $f({x})$ 的值。",
        answer=[str(x**2 + number * x)],
        solution=rf"代入 $x={x}$ 得 $\frac{{2f}}{{2}}$。",
        source=Source(licence="CC BY 4.0"),
    )


def _answer(run: RunFolder, number: int, exam: list[Question]) -> None:
    from livek12.core.records import Key, Response, Verdict

    draw, model = random.Random(number), f"model-{number}"
    ability = draw.uniform(0.2, 0.95)
    with run.writer("responses") as responses, run.writer("verdicts") as verdicts:
        for question in exam:
            key, right, gold = Key(task=TASK, question_id=question.id), draw.random() < ability, question.answer[0]
            said, points = gold if right else str(draw.randint(1, 6) + int(gold)), 5.0 * right
            text = f"我们把数代入函数。\n\n因为 $f(x)$ 是二次函数，所以\n\n$$f={said}.$$\n\n答案是 **{said}**。"
            ended, tokens = "stop" if draw.random() < 0.95 else "length", draw.randint(50, 900)
            asked = {"key": key, "text": text, "engine": "openai", "model": model, "finish_reason": ended}
            response = Response.model_validate({**asked, "prompt_tokens": 90, "completion_tokens": tokens})
            part = {"answer": said, "gold": gold, "decision": "accept" if right else "reject", "score": float(right)}
            mark = {"points": points, "low": points, "high": points, "max_points": 5.0, "correct": right}
            made = {"key": key, "state": "graded", "parts": [{**part, "decided_by": "number"}], "judge": "rules-1+x"}
            responses.append(response)
            verdicts.append(Verdict.model_validate({**made, **mark, "response_sha256": response.sha256}))


def build(runs: list[Path], out: Path) -> str:
    """Builds a site in a process of its own; a line of what it took."""
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "livek12.scripts.cli", "site", *map(str, runs), "--out", str(out), "--quiet"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    files = [file for file in out.rglob("*") if file.is_file()]
    largest = max(files, key=lambda file: file.stat().st_size)
    return (
        f"| {len(runs)} | {time.perf_counter() - began:.1f} | {after.ru_utime - before.ru_utime:.1f} |"
        f" {after.ru_maxrss / 1024:.0f} | {len(files)} | {sum(file.stat().st_size for file in files) / 1e6:.1f} |"
        f" {largest.stat().st_size / 1e6:.2f} ({largest.relative_to(out)}) |"
    )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", default="10,100,1000")
    parser.add_argument("--questions", type=int, default=100)
    said = parser.parse_args()
    print("| runs | s | processor s | peak MiB | files | MB | largest file, MB |")
    print("| --: | --: | --: | --: | --: | --: | :-- |")
    for count in map(int, said.runs.split(",")):
        runs = make_runs(said.folder, count + 1, said.questions)
        out = said.folder / f"site-{said.questions}-{count}"
        shutil.rmtree(out, ignore_errors=True)
        print(build(runs[:-1], out), "built", flush=True)
        print(build(runs, out), "one run added", flush=True)
        print(build(runs, out), "nothing changed", flush=True)


if __name__ == "__main__":
    main()
