"""Studies of mixed folders say what the standard way alone says: other ways and repeated questions are left out."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from livek12.core import progress
from livek12.core.errors import UserError
from livek12.core.records import (
    Key,
    PartVerdict,
    Process,
    ProcessError,
    Question,
    Response,
    Sampling,
    Variant,
    Verdict,
    Vote,
)
from livek12.core.run.folder import RunFolder
from livek12.core.run.spec import RunSpec, TaskSpec
from livek12.evaluation.choosing import STANDARD, AnswerChoice, exam_of, sieves, task_way
from livek12.evaluation.site.ranking import items
from livek12.evaluation.studies import (
    agreement,
    contamination,
    corrected,
    error_kinds,
    reliability,
    stability,
)
from livek12.evaluation.studies import items as items_of
from livek12.tasks.registry import all_tasks, find_task
from tests.evaluation.diagnosed import drawn
from tests.scripts.command import livek12_here

QUESTIONS = 40
OLD, NEW = "2025-06", "2026-03"
MODELS = {"weak": 0.35, "middle": 0.6, "strong": 0.85}
ALONE = ("livek12",)
MIXED = ("livek12", "livek12_text_only", "livek12_image_only", "livek12@0.1", "kmmmu_text_only")
IMAGES = "page images alone"


def question(number: int, benchmark: str) -> Question:
    return Question(
        id=f"q{number:02}",
        benchmark=benchmark,
        language="ko" if benchmark == "kmmmu" else "zh",
        subject=("math", "physics")[number % 2],
        question_type=("single_choice", "fill_in_blank")[number // 2 % 2],
        question=f"{number}?",
        answer=["B"],
        points=5,
        difficulty=("easy", "hard")[number // 4 % 2],
        release=(OLD, NEW)[number // 20],
    )


def is_right(model: str, task: str, number: int) -> bool:
    """Standard: the planted share. Page images: the old exam is known by heart. Budgets: nothing is right."""
    if task == "livek12_image_only":
        return number < QUESTIONS // 2
    if task in ALONE:
        return drawn(number, model, "right") < MODELS[model]
    return False


def verdict(response: Response, right: bool, judge: str) -> Verdict:
    points = 5.0 * right
    decision: Any = "accept" if right else "reject"
    votes = [Vote(judge=name, decision=decision, score=float(right)) for name in ("j1", "j2")]
    part = PartVerdict(answer="B", gold="B", decision=decision, score=float(right), decided_by="panel", votes=votes)
    errors = [] if right else [ProcessError(type="CIE", step="1", reason="", judge="j1")]
    return Verdict(
        key=response.key, response_sha256=response.sha256, state="graded", points=points, low=points, high=points,
        max_points=5, correct=right, judge=judge, parts=[part],
        process=Process(cie=0.0 if right else 0.5, lae=0, dre=0, critics=["j1", "j2"], errors=errors),
    )  # fmt: skip


def make_run(
    path: Path,
    model: str,
    tasks: tuple[str, ...],
    judge: str = "judge-a",
    asked: dict[str, list[Question]] | None = None,
) -> Path:
    asked = dict(asked or {})
    for name in tasks if not asked else ():
        task = find_task(name)
        assert task is not None
        numbers = range(0, QUESTIONS, 2) if name == "livek12_text_only" else range(QUESTIONS)
        asked[name] = [question(n, task.benchmark) for n in numbers]
    specs = [
        TaskSpec(
            name=name, version=1, modality="text_only", prompt_sha256="0" * 64, data="data", data_sha256="0" * 64,
            questions=len(own), sampling=Sampling(),
        )
        for name, own in asked.items()
    ]  # fmt: skip
    run = RunFolder.create_or_resume(path, RunSpec(model=model, engine="replay", tasks=specs), asked)
    with run.writer("responses") as responses, run.writer("verdicts") as verdicts:
        for name, own in asked.items():
            for each in own:
                key = Key(task=name, question_id=each.id, trial=0)
                response = Response(key=key, text=f"{model} {name} {each.id}", engine="replay", model=model)
                responses.append(response)
                verdicts.append(verdict(response, is_right(model, name, int(each.id[1:3])), judge))
    run.begin_marking(dict.fromkeys(tasks, judge), {judge: judge}, 0)
    run.leave()
    return path


class Folders(NamedTuple):
    """The runs of the standard way alone, and of several ways."""

    alone: list[Path]
    mixed: list[Path]
    labels: Path


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    place = tmp_path_factory.mktemp("sieve")
    labels = place / "labels.jsonl"
    rows = [
        {
            "task": "livek12", "question_id": f"q{n:02}", "model": model, "rater": "ann",
            "correct": is_right(model, "livek12", n) != (n % 10 == 0),
            "CIE": True, "LAE": False, "DRE": False,
        }
        for model in MODELS for n in range(QUESTIONS)
    ]  # fmt: skip
    labels.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return Folders(
        [make_run(place / "alone" / model, model, ALONE) for model in MODELS],
        [make_run(place / "mixed" / model, model, MIXED) for model in MODELS],
        labels,
    )


def study(kind: str, *args: object) -> tuple[Any, str]:
    ended = livek12_here("study", kind, *args, "--json")
    assert ended.code == 0, ended.err
    return json.loads(ended.out), ended.err


KINDS = {
    "contamination": (),
    "stability": (),
    "items": (),
    "reliability": ("--metric", "accuracy", "--labels", "LABELS"),
    "error-types": ("--labels", "LABELS"),
    "agreement": ("--labels", "LABELS"),
    "corrected": ("--labels", "LABELS"),
    "methods": ("--labels", "LABELS"),
    "inter-judge": (),
    "tables": ("--table", "livek12-3", "--table", "livek12-13"),
}


STUDIES = {
    "agreement": agreement.AGREEMENT, "contamination": contamination.STUDY, "corrected": corrected.STUDY,
    "error-types": error_kinds.STUDY, "inter-judge": agreement.INTER_JUDGE, "items": items_of.STUDY,
    "methods": agreement.METHODS, "reliability": reliability.STUDY, "stability": stability.STUDY,
}  # fmt: skip


def assert_sound(text: str, form: str) -> None:
    """Rows have as many cells as their heads, and nothing of a name is a command."""
    if form == "html":
        assert "<table>" in text and "<script" not in text and "default-src 'none'" in text
    elif form == "csv":
        assert {len(line) for line in csv.reader(io.StringIO(text))} == {4}
    elif form == "md":
        for part in text.split("## ")[1:]:
            assert len({line.count("|") for line in part.replace(r"\|", "").splitlines() if line.startswith("|")}) == 1
    else:
        tables = re.findall(r"\\begin\{tabular\}\{(l+r*)\}(.*?)\\end\{tabular\}", text, re.DOTALL)
        assert tables
        for heads, body in tables:
            rows = [line for line in body.splitlines() if line.endswith(r" \\")]
            assert rows and {len(re.findall(r"(?<!\\)&", row)) for row in rows} <= {len(heads) - 1}


@pytest.mark.parametrize("kind", KINDS)
def test_a_mixed_folder_says_what_the_standard_way_alone_says(folders: Folders, kind: str) -> None:
    more = [folders.labels if word == "LABELS" else word for word in KINDS[kind]]
    progress._said.clear()  # each command is a process of its own
    alone, quiet = study(kind, *folders.alone, *more)
    mixed, told = study(kind, *folders.mixed, *more)
    assert mixed == alone
    assert "left out" not in quiet
    if kind in STUDIES:
        for form in ("md", "latex", "csv", "html"):
            assert_sound(STUDIES[kind].written(alone, form), form)
    if kind not in ("agreement", "methods", "corrected", "tables"):  # which look at labelled answers, or have columns
        assert "weak: 140 answers are left out: 20 to questions that another task asked too" in told
        assert f"40 asked otherwise ({IMAGES}), 40 asked otherwise (at most 3276 completion tokens)" in told


def test_planted_truth_comes_back_by_way(folders: Folders) -> None:
    def gap(*more: str) -> dict[str, list[float]]:
        found, _ = study("contamination", *folders.mixed, *more)
        return {
            one["run"]: [*one["questions"], one["difference"][0]]
            for one in found["releases"]
            if one["subject"] == "(all)"
        }

    truth = {
        model: [20, 20, sum((1 if n < 20 else -1) * is_right(model, "livek12", n) for n in range(QUESTIONS)) / 20]
        for model in MODELS
    }
    assert gap() == {model: pytest.approx(values) for model, values in truth.items()}
    assert gap("--way", IMAGES) == gap("--task", "livek12_image_only") == {model: [20, 20, 1.0] for model in MODELS}


def test_a_question_that_two_derived_tasks_ask_is_studied_once(tmp_path: Path) -> None:
    def told(name: str, tasks: tuple[str, ...], *more: str) -> tuple[Any, str]:
        asked = {}
        for task in tasks:
            kind = task.partition(":")[2]
            own = [question(n, "kmmmu") for n in range(6)]
            asked[task] = [
                one.model_copy(update={"id": f"{one.id}:{kind}", "variant": Variant(of=one.id, kind=kind)})
                for one in own
            ]
        path = make_run(tmp_path / name, "weak", tasks, asked=asked)
        progress._said.clear()
        return study("completion", path, *more)

    once = ("kmmmu:completion", "kmmmu:completion_hinted")
    alone, quiet = told("alone", once)
    twice, said = told("twice", ("kmmmu:completion", "kmmmu_hard:completion", "kmmmu:completion_hinted"))
    assert twice["twice"] == alone["alone"] and "left out" not in quiet
    assert "twice: 6 answers are left out: 6 to questions that another task asked too" in said
    begun, _ = told("begun", once, "--task", "kmmmu:completion")
    assert begun["begun"]["completions"] == 6 and {cell["hinted"] for cell in begun["begun"]["sources"]} == {False}


def test_the_judging_of_copies_is_compared_on_one_way(tmp_path: Path) -> None:
    copies = {
        way: [make_run(tmp_path / way / judge, "weak", tasks, judge) for judge in ("judge-a", "judge-b")]
        for way, tasks in (("alone", ALONE), ("mixed", MIXED))
    }
    alone, mixed = (study("sensitivity", *runs)[0] for runs in copies.values())
    assert alone == mixed and alone["answers"] == QUESTIONS
    same = [make_run(tmp_path / "same" / name, "weak", MIXED) for name in ("one", "two")]
    assert study("intra-judge", *same)[0]["answers"] == QUESTIONS


@pytest.mark.parametrize(
    ("more", "line"),
    [
        (("--way", "aloud"), "--way 'aloud': weak has 'standard', 'page images alone'"),
        (("--task", "mdk12"), "--task mdk12: weak has livek12, livek12_text_only"),
        (("--format", "docx"), "--format"),
        (("--format", "csv", "--json"), "--json, --format: give one of them"),
    ],
)
def test_a_choice_that_no_run_has_is_one_line(folders: Folders, more: tuple[str, ...], line: str) -> None:
    ended = livek12_here("study", "items", *folders.mixed, *more)
    assert ended.code != 0 and line in ended.err and "Traceback" not in ended.err


def test_runs_without_a_way_in_common_are_refused() -> None:
    with pytest.raises(UserError, match=r"not asked in one way \(a: 'standard'; b: 'page images alone'\)"):
        sieves({"a": ["livek12"], "b": ["livek12_image_only"]})
    with pytest.raises(UserError, match="were asked in several ways"):
        sieves({"a": ["kmmmu_text_only", "livek12_image_only"]})
    assert sieves({"a": ["livek12"], "b": ["livek12_image_only"]}, together=False)["b"].tasks == ("livek12_image_only",)
    assert sieves({"a": ["livek12_image_only"]})["a"].tasks == ("livek12_image_only",), "the only way is taken"
    both = sieves({"a": ["livek12", "livek12_image_only"], "b": ["livek12_image_only"]})
    assert {sieve.tasks for sieve in both.values()} == {("livek12_image_only",)}, "the way that all have"
    assert sieves({"a": ["livek12", "kmmmu"]}, AnswerChoice(STANDARD))["a"].tasks == ("livek12", "kmmmu")


def test_a_way_is_all_that_differs_and_a_stranger_is_its_own() -> None:
    standard = {name for name, task in all_tasks().items() if task_way(name) == STANDARD}
    assert {"livek12", "livek12_text_only_zh", "kmmmu_hard", "mdk12_mini", "cfe_text"} <= standard
    for name in ("livek12_image_only", "kmmmu_hard_text_only", "mdk12_dynamic", "livek12@0.1", "cfe_text:injection"):
        assert task_way(name) != STANDARD, name
    assert task_way("livek12_image_only_zh@0.1") == f"{IMAGES}, at most 3276 completion tokens"
    assert task_way("kmmmu_text_only") == task_way("kmmmu_hard_text_only")
    assert task_way("unheard_of") == "task unheard_of" and exam_of("unheard_of") == "unheard_of"
    assert exam_of("livek12_text_only") == exam_of("livek12_image_only@0.1") == "livek12"
    assert exam_of("log.a") != exam_of("log.b"), "logs number their questions alike"


def test_the_items_of_a_site_are_those_of_one_way_together() -> None:
    def cell(right: bool) -> Any:
        return None, (0, 0, float(right), float(right), 0, 0, 5, ("B" if right else "A",))

    exams = {
        task: {f"{task}-{n}": question(n, "livek12") for n in range(6)} for task in ("livek12", "livek12_image_only")
    }
    cells = {
        f"r{r}": {
            "livek12": {f"livek12-{n}": cell(n <= r) for n in range(6)},
            "livek12_image_only": {f"livek12_image_only-{n}": cell((n + r) % 2 == 1) for n in range(6)},
        }
        for r in range(4)
    }
    alone = {run: {"cells": {"livek12": own["livek12"]}} for run, own in cells.items()}

    def of(exams: Any, records: Any) -> dict[str, Any]:
        return items(exams, frozenset(), records, lambda asked, one, other: one == other)

    both = of(exams, {run: {"cells": own} for run, own in cells.items()})
    assert {anchor: both[anchor] for anchor in exams["livek12"]} == of({"livek12": exams["livek12"]}, alone)
    assert all(both[anchor]["runs"] == 4 for anchor in exams["livek12_image_only"])
