"""The marks beside people who marked real answers: teachers of the gaokao, experts of MR-Ben.

`python scripts/bench/reliability.py DATA OUT` makes run folders of the labelled answers in DATA (`mr_ben_*.json`,
`gaokao2024_teacher_scored.jsonl`), marks them with the rules, writes what people said as labels, and prints what
`livek12 study reliability` finds. No model is asked; `--judge` names one or a panel.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from livek12.core.records import Key, Question, Response, Sampling
from livek12.core.run.folder import RunFolder
from livek12.core.run.spec import RunSpec, TaskSpec
from livek12.evaluation.studies.first_error import read_solutions
from livek12.scripts.bench.labelled import BenchRow, labelled_rows, question_of

TASK = "livek12_text_only"
Json = dict[str, Any]


class PeopleMarked(NamedTuple):
    """A labelled answer: whose, to which question, and what people said."""

    model: str
    question: Question
    text: str
    said: Mapping[str, Any]


def teachers(folder: Path) -> Iterator[PeopleMarked]:
    """Choices and blanks of the 2024 gaokao that teachers gave full or zero marks."""
    file = folder / "gaokao2024_teacher_scored.jsonl"
    sources = [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.is_file() else []
    rows: list[BenchRow] = [row for row in labelled_rows(folder) if row.set.startswith("teachers")]
    seen: Counter[tuple[str, str]] = Counter()
    for row in rows:
        source = sources[int(row.id)]
        model, place = source["model"], f"{source['exam']}-{source['subject']}-{source['question_no']}"
        seen[model, place] += 1
        id = f"{place}-{seen[model, place]}".replace(" ", "-")
        question = question_of(row).model_copy(update={"id": id, "subject": source["subject"]})
        yield PeopleMarked(model, question, row.response, {"correct": row.right, "rater": "teachers"})


def experts(folder: Path, subject: str) -> Iterator[PeopleMarked]:
    """Solutions of MR-Ben: a right one holds no error of any type; of a wrong one the type is not known."""
    file = folder / f"mr_ben_{subject}.json"
    for solution in read_solutions(file, lambda line: None) if file.is_file() else ():
        right = solution.first_error is None
        clean = dict.fromkeys(("CIE", "LAE", "DRE"), False) if right else {}
        said = {"correct": right, "rater": "experts", **clean}
        yield PeopleMarked(solution.author or "unknown", solution.question, "\n".join(solution.steps), said)


def make_runs(answers: Iterator[PeopleMarked], out: Path) -> tuple[list[Path], Path]:
    """A run folder for each model, and the file of labels."""
    by_model: defaultdict[str, list[PeopleMarked]] = defaultdict(list)
    for answered in answers:
        by_model[answered.model].append(answered)
    out.mkdir(parents=True, exist_ok=True)
    runs, labels = [], out / "labels.jsonl"
    with labels.open("w", encoding="utf-8") as file:
        for model, found in sorted(by_model.items()):
            runs.append(_run(out / "".join(sign if sign.isalnum() else "-" for sign in model), model, found))
            for one in found:
                file.write(json.dumps({"question_id": one.question.id, "model": model, **one.said}) + "\n")
    return runs, labels


def _run(path: Path, model: str, found: list[PeopleMarked]) -> Path:
    task = TaskSpec(
        name=TASK, version=1, modality="text_only", prompt_sha256="0" * 64, data="labelled answers",
        data_sha256="0" * 64, questions=len(found), sampling=Sampling(),
    )  # fmt: skip
    spec = RunSpec(model=model, engine="replay", tasks=[task], trials=1)
    folder = RunFolder.create_or_resume(path, spec, {TASK: [one.question for one in found]})
    answered = folder.answered()
    with folder.writer("responses") as writer:
        for one in found:
            key = Key(task=TASK, question_id=one.question.id)
            if str(key) not in answered:
                writer.append(Response(key=key, text=one.text, finish_reason="stop", engine="replay", model=model))
    folder.leave()
    return path


def main() -> None:
    """Makes the runs, marks them, prints the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--judge", default="rules")
    given = parser.parse_args()
    sets = {"teachers": teachers(given.data)}
    sets |= {f"mr-ben-{subject}": experts(given.data, subject) for subject in ("math", "physics")}
    for name, answers in sets.items():
        runs, labels = make_runs(answers, given.out / name)
        if not runs:
            continue
        for run in runs:
            _livek12("judge", run, "--judge", given.judge, quiet=True)
        print(f"## {name}", flush=True)
        _livek12("study", "reliability", *runs, "--labels", labels, "--metric", "accuracy")


def _livek12(*args: object, quiet: bool = False) -> None:
    command = [sys.executable, "-m", "livek12.scripts.cli", *map(str, args)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL if quiet else None)


if __name__ == "__main__":
    main()
