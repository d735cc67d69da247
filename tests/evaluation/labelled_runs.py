"""Small run folders with answers to label, one of a benchmark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from livek12.core.records import Key, Option, Question, Response, Sampling, Scheme, Verdict
from livek12.core.run.folder import RunFolder
from livek12.core.run.spec import RunSpec, TaskSpec
from livek12.core.schemes import criteria_of
from livek12.judges.base import Decision
from livek12.judges.grade import GradingConfig, total

HOSTILE = (
    "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 2'> $\\href{javascript:window.pwned=3}{x}$ "
    "$\\includegraphics{/etc/passwd}$ [go](javascript:pwned=4) ![](http://elsewhere.test/x.png) <style>*{}</style>"
)
TASKS = {"livek12": "livek12_text_only", "kmmmu": "kmmmu", "mdk12": "mdk12", "cfe": "cfe_text"}


def question(benchmark: str, number: int, text: str = "What is $1+1$?") -> Question:
    return Question(
        id=f"{benchmark}-q{number}",
        benchmark=benchmark,
        language="en",
        subject="math",
        question_type="single_choice",
        question=text,
        options=[Option(label=label, text=text) for label in "AB"],
        answer=["B"],
        points=4.0,
        number=str(number),
        solution=text,
    )


def verdict(response: Response, right: bool) -> Verdict:
    points = 4.0 * right
    return Verdict(
        key=response.key, response_sha256=response.sha256, state="graded", points=points, low=points, high=points,
        max_points=4, correct=right, judge="secret-judge", reason="secret reason",
    )  # fmt: skip


def by_criteria(question: Question, response: Response, scores: Sequence[float | None]) -> Verdict:
    parts = []
    for criterion, score in zip(criteria_of(question), scores, strict=True):
        outcome: Any = "undecided" if score is None else "accept" if score == 1 else "reject"
        parts.append(Decision(outcome, score, "llm").verdict(criterion.id, criterion.text, None))
    made = total(question, response.key, parts, GradingConfig())
    return made.model_copy(update={"response_sha256": response.sha256})


def make_run(
    path: Path,
    benchmarks: Iterable[str] = ("livek12",),
    each: int = 3,
    text: str = "It is $2$, so **B**.",
    trials: int = 1,
    numbered: bool = False,
    scheme: Scheme | None = None,
    scores: Sequence[float | None] = (),
) -> RunFolder:
    """A run whose answers say `text`; its task's questions too where `text` is hostile. `numbered`: each its own.

    `scores` are those of the criteria of `scheme` in each verdict.
    """
    shown = text if "<" in text else "What is $1+1$?"
    own = "«{}» " if numbered else ""
    questions = {
        TASKS[name]: [question(name, n, own.format(n) + shown) for n in range(1, each + 1)] for name in benchmarks
    }
    questions = {
        task: [one.model_copy(update={"scheme": scheme or []}) for one in own] for task, own in questions.items()
    }
    tasks = [
        TaskSpec(
            name=name,
            version=1,
            modality="text_only",
            prompt_sha256="p" * 64,
            data="nowhere",
            data_sha256="d" * 64,
            questions=each,
            sampling=Sampling(),
        )
        for name in questions
    ]
    run = RunFolder.create_or_resume(path, RunSpec(model="m", engine="openai", tasks=tasks, trials=trials), questions)
    with run.writer("responses") as responses, run.writer("verdicts") as verdicts:
        for task, asked in questions.items():
            for one in asked:
                for trial in range(trials):
                    key = Key(task=task, question_id=one.id, trial=trial)
                    said = Response(
                        key=key, text=text, reasoning=text, finish_reason="stop", engine="openai", model="m"
                    )
                    responses.append(said)
                    verdicts.append(by_criteria(one, said, scores) if scores else verdict(said, one.number == "1"))
    run.amend(judges=dict.fromkeys(questions, "secret-judge"))
    run.leave()
    return run
