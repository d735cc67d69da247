"""Run folders of invented answers, for benches and tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from livek12.core.records import Question, Response, Sampling, Verdict
from livek12.core.run.folder import RunFolder
from livek12.core.run.spec import RunSpec, TaskSpec


def begun_run(
    folder: Path, questions: Mapping[str, Sequence[Question]], model: str = "m", trials: int = 1, **spec: Any
) -> RunFolder:
    """A run folder without answers."""
    tasks = [
        TaskSpec(
            name=name,
            version=1,
            modality="text_only",
            prompt_sha256="p" * 64,
            data="nowhere",
            data_sha256="d" * 64,
            questions=len(task_questions),
            sampling=Sampling(),
        )
        for name, task_questions in questions.items()
    ]
    made = RunSpec(**{"model": model, "engine": "vllm", "trials": trials, "tasks": tasks, **spec})
    return RunFolder.create_or_resume(folder, made, questions)


def made_run(
    folder: Path,
    questions: Mapping[str, Sequence[Question]],
    answers: Iterable[tuple[Response, Verdict | None]],
    model: str = "m",
    trials: int = 1,
    **spec: Any,
) -> Path:
    """A run folder with answers and optional verdicts."""
    run = begun_run(folder, questions, model, trials, **spec)
    with run.writer("responses") as responses, run.writer("verdicts") as verdicts:
        for response, verdict in answers:
            responses.append(response)
            if verdict is not None:
                verdicts.append(verdict)
    run.leave()
    return folder
