"""The scorer `livek12/verify` for any task of Inspect, and logs that are scored again, in Inspect itself."""

from __future__ import annotations

import configparser
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.plugins.conftest import needs

needs("inspect_ai")

from inspect_ai import Task, score  # noqa: E402
from inspect_ai import eval as inspect_eval  # noqa: E402
from inspect_ai.dataset import MemoryDataset, Sample  # noqa: E402
from inspect_ai.log import EvalLog, read_eval_log  # noqa: E402
from inspect_ai.model import ModelOutput  # noqa: E402
from inspect_ai.solver import Generate, Solver, TaskState, solver  # noqa: E402

from livek12.evaluation import verify as judged_by_us  # noqa: E402
from livek12.evaluation.inspect_verify import verify  # noqa: E402
from livek12.tasks.plugins.harness_task import open_task  # noqa: E402
from livek12.tasks.plugins.inspect_marks import exam_marks  # noqa: E402
from livek12.tasks.plugins.inspect_tasks import exam_task  # noqa: E402

pytestmark = pytest.mark.slow

ASKED: list[tuple[str, str | list[str], str, dict[str, Any], float]] = [
    ("What is 3/4 as a decimal?", "0.75", "So we get $\\frac{3}{4}$, that is, the answer is 0.750.", {}, 1.0),
    ("How far is it?", "3 km", "The answer is 3000 m.", {"question_type": "short_answer"}, 1.0),
    ("Who wrote it?", ["Ada Lovelace", "Ada"], "Ada", {}, 1.0),
    ("What is 2+2?", "4", "The answer is 5.", {}, 0.0),
    ("Prove it.", "See above.", "Let us see.", {"question_type": "proof"}, math.nan),
]


@solver
def saying(said: list[str]) -> Solver:
    """Answers the samples in turn; no model is asked."""
    left = iter(said)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.output = ModelOutput.from_content("mockllm/model", next(left))
        return state

    return solve


def sat(task: Task, said: list[str], logs: Path) -> EvalLog:
    how: dict[str, Any] = {"model": "mockllm/model", "display": "none", "max_samples": 1, "log_dir": str(logs)}
    (log,) = inspect_eval(task, solver=saying(said), **how)
    assert log.status == "success", log.error
    return log


def test_any_task_is_marked_by_our_rules(tmp_path: Path) -> None:
    samples = [Sample(id=n, input=q, target=t, metadata=m) for n, (q, t, _, m, _) in enumerate(ASKED, 1)]
    task = Task(dataset=MemoryDataset(samples), scorer=verify())
    log = sat(task, [said for _, _, said, _, _ in ASKED], tmp_path)
    assert log.samples and log.results
    for sample, (question, target, said, _, wanted) in zip(log.samples, ASKED, strict=True):
        assert sample.scores
        found = sample.scores["verify"]
        assert str(found.as_dict()["accuracy"]) == str(wanted), (question, found)
        if isinstance(target, str):
            assert found.metadata and found.metadata["decision"] == judged_by_us.verify(target, said, question).decision
    (scores,) = log.results.scores
    assert {name: metric.value for name, metric in scores.metrics.items()} == {
        "accuracy": 0.6,
        "accuracy_high": 0.8,
        "undecided": 0.2,
    }


def test_a_scheme_in_the_metadata_gives_points(tmp_path: Path) -> None:
    scheme = [{"points": 1, "text": "the law", "expression": "F = m a"}]
    open_too = [*scheme, {"points": 3, "text": "argues well"}]
    samples = [
        Sample(id=n, input="Why?", target="", metadata={"scheme": own}) for n, own in enumerate((scheme, open_too))
    ]
    log = sat(Task(dataset=MemoryDataset(samples), scorer=verify(partial=True)), ["So $m a = F$."] * 2, tmp_path)
    scores = [sample.scores["verify"] for sample in log.samples or [] if sample.scores]
    assert [str(each.as_dict()["accuracy"]) for each in scores] == ["1.0", "nan"]
    told = [each.metadata or {} for each in scores]
    assert [(each["points"], each["low"], each["max_points"], len(each["criteria"])) for each in told] == [
        (1.0, 1.0, 1.0, 1),
        (None, 1.0, 4.0, 2),
    ]


def test_choices_are_those_of_the_sample(tmp_path: Path) -> None:
    samples = [Sample(id=n, input="Which is even?", choices=["7", "4"], target="B") for n in (1, 2)]
    task = Task(dataset=MemoryDataset(samples), scorer=verify())
    log = sat(task, ["ANSWER: B", "ANSWER: A"], tmp_path)
    said = [sample.scores["verify"].as_dict()["accuracy"] for sample in log.samples or [] if sample.scores]
    assert said == [1.0, 0.0]


def test_a_log_of_ours_is_scored_again_without_a_word(
    sample_data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From another folder, with the data set elsewhere."""
    (here := tmp_path / "here").mkdir()
    (here / "data").symlink_to(sample_data)
    monkeypatch.chdir(here)
    asked = open_task("cfe_text", sample_data).documents
    log = sat(exam_task("cfe_text", "data"), [f"\\boxed{{{one.target}}}" for one in asked], tmp_path / "logs")
    text = read_eval_log(log.location).model_dump_json()
    assert str(tmp_path) not in text.replace(str(tmp_path / "logs"), ""), "no whole path stands in the log"
    assert log.samples and all(
        isinstance(message.content, str) for sample in log.samples for message in sample.messages
    )
    (there := tmp_path / "there").mkdir()
    monkeypatch.chdir(there)
    monkeypatch.setenv("LIVEK12_DATA", sample_data)
    monkeypatch.setattr("livek12.tasks.plugins.inspect_marks._places", {})
    again = score(read_eval_log(log.location), exam_marks(), display="none")
    assert again.results and log.results
    first, second = ({n: m.value for n, m in one.results.scores[0].metrics.items()} for one in (log, again))  # type: ignore[union-attr]
    assert str(first) == str(second)


def test_the_entry_point_has_tasks_and_scorer(tmp_path: Path) -> None:
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg")
    assert "livek12 = livek12.evaluation.inspect_verify" in settings["options.entry_points"]["inspect_ai"]
    code = (
        "import livek12.evaluation.inspect_verify; from inspect_ai._util.registry import registry_lookup as found; "
        "assert found('scorer', 'livek12/verify') and found('task', 'livek12/cfe_text')"
    )
    # Elsewhere: what a build leaves beside a checkout would be taken for the installed package.
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
