"""No entrance takes an answer from a thought: every pair of tags, closed or not, at every way in."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from livek12 import Verifier, rewards
from livek12.core.records import Question
from livek12.core.run.folder import RunFolder
from livek12.dataset_builders import build
from livek12.engines.thinking import TAGS
from livek12.evaluation import api
from livek12.evaluation.pair_file import judge_file
from livek12.judges.jury import JudgeOptions
from livek12.tasks.plugins.harness_task import open_task
from tests.plugins.conftest import write_rows
from tests.scripts.command import livek12_here

TASK, KEY = "livek12_text_only", "7"
ASKED = {"question": "What is it? ____", "question_type": "fill_in_blank"}
CHANNELS = "<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"
FORMATS = {
    **{start: (start, end) for start, end in TAGS},
    "channels": CHANNELS,
    "bare channels": ("analysis", "assistantfinal"),
    "tags in another case": ("<Think>", "</THINK >"),
    "a foreign end": ("<think>", "</thinking>"),
    "roles": ("<|think|>", "<|end|><|begin|>assistant<|content|>"),
    "roles of a chat": ("<|im_start|>assistant/think\n", "<|im_end|>\n<|im_start|>assistant\n"),
    "phrases": ("Here are my reasoning steps:\n", "\n[BEGIN FINAL RESPONSE]\n"),
}
CELLS = [
    cell
    for start, end in FORMATS.values()
    for cell in (
        (f"{start}so we get \\boxed{{7}}.{end}I cannot tell.", False),
        (f"{start}The answer is \\boxed{{7}}.{end}", False),
        (f"{start}so the answer is \\boxed{{7}}.", False),
        (f"so we get \\boxed{{7}}.{end}I cannot tell.", False),
        (f"{start}so is it \\boxed{{8}}?{end}The answer is \\boxed{{7}}.", True),
        (f"so is it \\boxed{{8}}?{end}The answer is \\boxed{{7}}.", True),
    )
]
PHRASES = "Here's my thought process: so \\boxed{7}.", "Here's my response:"
CELLS += [(PHRASES[0], False), (f"{PHRASES[0]} {PHRASES[1]} I cannot tell.", False)]
CELLS += [("<think>The tags are <thinking> and </thinking>. So \\boxed{7}", False)]
ROWS = [{"id": str(n), "gold": KEY, "response": text, **ASKED} for n, (text, _) in enumerate(CELLS)]
TEXTS = [text for text, _ in CELLS]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set of one question."""
    folder = tmp_path_factory.mktemp("thinking")
    about = {"set": "2607", "subject": "math", "language": "en", "point_value": 5, "images": []}
    row = {"id": "q", **about, "question": ASKED["question"], "question_type": "Fill in the Blank", "answer": [KEY]}
    build("livek12", str(write_rows(folder / "rows.jsonl", [row])), folder / "data")
    return folder / "data"


@pytest.fixture(scope="module")
def verifier() -> Iterator[Verifier]:
    with Verifier(workers=1) as verifier:
        yield verifier


def by_verifier(verifier: Verifier, data: Path, folder: Path) -> list[bool]:
    return [judgement.decision == "accept" for judgement in verifier.batch(ROWS)]


def by_trl(verifier: Verifier, data: Path, folder: Path) -> list[bool]:
    kinds = [ASKED["question_type"]] * len(TEXTS)
    return [score == 1.0 for score in rewards.accuracy_reward(TEXTS, [KEY] * len(TEXTS), question_type=kinds)]


def by_verl(verifier: Verifier, data: Path, folder: Path) -> list[bool]:
    scores = rewards.compute_scores([""] * len(TEXTS), TEXTS, [KEY] * len(TEXTS), [ASKED] * len(TEXTS))
    return [score["score"] == 1.0 for score in scores]


def by_judge_pairs(verifier: Verifier, data: Path, folder: Path) -> list[bool]:
    out = folder / "out.jsonl"
    judge_file(write_rows(folder / "in.jsonl", ROWS), out, JudgeOptions(cache=False))
    return [json.loads(line)["decision"] == "accept" for line in out.read_text().splitlines()]


def by_service(verifier: Verifier, data: Path, folder: Path) -> list[bool]:
    pytest.importorskip("fastapi", reason="the serve extra is not installed")
    from fastapi.testclient import TestClient

    from livek12.evaluation.judge_service import Health, Turns, make_app

    health = Health(judge="rules", models=[], workers=1)
    client = TestClient(make_app(Turns(verifier, None, health), health))
    said = client.post("/verify/batch", json={"rows": ROWS}).json()
    return [judgement["decision"] == "accept" for judgement in said["judgements"]]


def by_python(verifier: Verifier, data: Path, folder: Path) -> list[bool]:
    asked = Question(id="q", benchmark="livek12", language="en", subject="", answer=[KEY], **ASKED)
    return [api.judge(asked, text).correct is True for text in TEXTS]


def by_harnesses(verifier: Verifier, data: Path, folder: Path) -> list[bool]:
    exam = open_task(TASK, str(data))
    (id,) = (document.id for document in exam.documents)
    return [exam.mark(id, text).correct is True for text in TEXTS]


def by_inspect(verifier: Verifier, data: Path, folder: Path) -> list[bool]:
    pytest.importorskip("inspect_ai", reason="inspect_ai is not installed")
    from inspect_ai.model import ModelOutput

    from livek12.judges.jury import Jury
    from livek12.tasks.plugins.inspect_marks import InspectScorer

    exam = open_task(TASK, str(data))
    (id,) = (document.id for document in exam.documents)
    with Jury(JudgeOptions(cache=False)) as jury:
        marks = InspectScorer(exam, jury)
        scores = [marks.score(ModelOutput.from_content("m", text), id, 0, "m") for text in TEXTS]
        return [score.as_dict()["accuracy"] == 1.0 for score in scores]


def _run(folder: Path) -> list[bool]:
    rows = RunFolder(folder).rows()
    marks = {row.response.key.trial: row.verdict.correct for row in rows if row.response and row.verdict}
    return [marks[trial] is True for trial in range(len(CELLS))]


def _recorded(folder: Path, **more: str) -> Path:
    rows = [{"question_id": "q", "trial": trial, "response": text, **more} for trial, text in enumerate(TEXTS)]
    return write_rows(folder / "recorded.jsonl", rows)


def by_run(verifier: Verifier, data: Path, folder: Path) -> list[bool]:
    how = ("--task", TASK, "--data", data, "--model", _recorded(folder), "--engine", "replay", "--trials", len(CELLS))
    ended = livek12_here("run", *how, "--judge", "rules", "--out", folder / "run")
    assert ended.code == 0, ended.err
    return _run(folder / "run")


def by_import(verifier: Verifier, data: Path, folder: Path) -> list[bool]:
    how = ("--from", "jsonl", "--task", TASK, "--data", data, "--out", folder / "run")
    ended = livek12_here("import-responses", _recorded(folder, model="m"), *how)
    assert ended.code == 0, ended.err
    return _run(folder / "run")


def by_judge(verifier: Verifier, data: Path, folder: Path) -> list[bool]:
    """Responses whose engine split by tags of its own, judged later."""
    own = ("--engine-args", "think_start=<scratch>,think_end=</scratch>")
    how = ("--task", TASK, "--data", data, "--model", _recorded(folder), "--engine", "replay", "--trials", len(CELLS))
    ended = livek12_here("generate", *how, *own, "--out", folder / "run")
    assert ended.code == 0, ended.err
    ended = livek12_here("judge", folder / "run", "--judge", "rules")
    assert ended.code == 0, ended.err
    return _run(folder / "run")


def by_rejudge(verifier: Verifier, data: Path, folder: Path) -> list[bool]:
    rows = [{**row, "question": f"{ASKED['question']} ({row['id']})"} for row in ROWS]
    log = write_rows(folder / "log.jsonl", rows)
    ended = livek12_here("rejudge", log, "--from", "jsonl", "--out", folder / "run", "--model", "m")
    assert ended.code == 0, ended.err
    rows_of_run = RunFolder(folder / "run").rows()
    marks = {row.question.id: row.verdict.correct for row in rows_of_run if row.verdict}
    return [marks[row["id"]] is True for row in ROWS]


ENTRANCES: list[Callable[[Verifier, Path, Path], list[bool]]] = [
    *(by_verifier, by_trl, by_verl, by_judge_pairs, by_service, by_python, by_harnesses, by_inspect),
    *(by_run, by_import, by_judge, by_rejudge),
]


@pytest.mark.parametrize("entrance", ENTRANCES, ids=lambda entrance: entrance.__name__.removeprefix("by_"))
def test_only_what_is_said_outside_of_thoughts_counts(
    entrance: Callable[[Verifier, Path, Path], list[bool]], verifier: Verifier, data: Path, tmp_path: Path
) -> None:
    accepted = entrance(verifier, data, tmp_path)
    wrong = [text for (text, right), accept in zip(CELLS, accepted, strict=True) if accept is not right]
    assert wrong == []
