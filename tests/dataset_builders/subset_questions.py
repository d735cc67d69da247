"""Questions and runs for the tests of subsets."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from livek12.core.records import Failure, Image, Key, Option, Process, Question, Response, Sampling, Verdict
from livek12.core.run.folder import RunFolder
from livek12.core.run.spec import RunSpec, TaskSpec

TASK = "kmmmu"


def picture(colour: str = "red") -> Image:
    """A small real PNG."""
    from PIL import Image as Pillow

    stream = io.BytesIO()
    Pillow.new("RGB", (80, 70), colour).save(stream, "PNG")
    return Image(bytes=stream.getvalue(), path=f"{colour}.png")


def question(id: str = "q1", **fields: Any) -> Question:
    """A livek12 choice question, unless told otherwise."""
    options = [Option(label=label, text=text) for label, text in zip("ABCD", fields.pop("choices", ()), strict=False)]
    given: dict[str, Any] = {
        "benchmark": "livek12",
        "language": "zh",
        "subject": "physics",
        "question_type": "single_choice",
        "question": f"题 {id}",
        "options": options,
        "answer": ["A"],
    }
    return Question(id=id, **given | fields)


def make_run(path: Path, questions: Sequence[Question], answers: Mapping[str, Sequence[str]], model: str = "m") -> Path:
    """A run folder with an answer a trial: right, wrong, lucky, none, ungraded, unjudged, failed or missing."""
    trials = max(map(len, answers.values()))
    task = TaskSpec(
        name=TASK,
        version=1,
        modality="text_image",
        prompt_sha256="0",
        data="d",
        data_sha256="0",
        questions=len(questions),
        sampling=Sampling(),
    )
    spec = RunSpec(model=model, engine="replay", tasks=[task], trials=trials, judges={TASK: "j"})
    run = RunFolder.create_or_resume(path, spec, {TASK: list(questions)})
    with run.writer("responses") as responses, run.writer("failures") as failures, run.writer("verdicts") as verdicts:
        for id, kinds in answers.items():
            for trial, kind in enumerate(kinds):
                key = Key(task=TASK, question_id=id, trial=trial)
                if kind == "failed":
                    failures.append(Failure(key=key, state="failed", reason="no connection"))
                elif kind != "missing":
                    tokens = 100 + 1000 * sum(map(ord, id)) % 977
                    responses.append(
                        Response(key=key, text=kind, engine="replay", model=model, completion_tokens=tokens)
                    )
                    if kind != "unjudged":
                        verdicts.append(_verdict(key, kind))
    return path


def _verdict(key: Key, kind: str) -> Verdict:
    """An ungraded answer has a wrong part already, and is open all the same."""
    right = kind in ("right", "lucky")
    open_ = kind == "ungraded"
    return Verdict(
        key=key,
        state="ungraded" if open_ else "no_answer" if kind == "none" else "graded",
        points=None if open_ else float(right),
        low=float(right),
        high=1.0 if open_ else float(right),
        max_points=1.0,
        correct=right,
        process=Process(cie=float(kind == "lucky"), lae=0.0, dre=0.0) if kind in ("right", "lucky") else None,
        judge="j",
    )
