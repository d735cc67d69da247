"""A metric that somebody registers is in report.json, on the page, in compare, sweep and site, with no other edit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from livek12.core.scoring import metrics
from livek12.core.scoring.formulas import Term, Terms
from livek12.core.scoring.metrics import ReportMetric, meaning_of, metric_of, register
from livek12.core.scoring.outcomes import Table
from livek12.core.scoring.schema import Parameters, Profile
from livek12.evaluation.sweep import read_plan
from tests.evaluation.test_site import TASK, asked, marked, run_of
from tests.scripts.command import livek12_here

NAME = "maj@3"
RIGHT = [(True, True, False), (False, False, True), (True, True, True), (False, False, False)]
"""By question its trials: two questions have a right majority."""


def majority(table: Table, profile: Profile, parameters: Parameters) -> Terms:
    """The share of questions of which more than half of the answers are right."""
    import numpy as np

    first = np.concatenate([[True], table.question[1:] != table.question[:-1]])
    shares = np.bincount(table.question, table.answers.correct[0]) / np.bincount(table.question)
    values = np.zeros(len(table.rows))
    values[first] = shares > 0.5
    return {NAME: Term(values, values, first.astype(float), by_trial=False)}


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[ReportMetric]:
    monkeypatch.setattr(metrics, "_METRICS", dict(metrics._METRICS))
    labels = {"en": "right by majority, %", "ko": "다수결 정답률, %"}
    yield register(
        ReportMetric(NAME, "right by majority", labels, ranks=9, tested=True, contrasted=True, terms=majority)
    )


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    made = []
    questions = [asked(number) for number in range(len(RIGHT))]
    for name in "ab":
        answers = [
            marked(question, "7", right != (name == "b" and number == 0), trial)
            for number, (question, trials) in enumerate(zip(questions, RIGHT, strict=True))
            for trial, right in enumerate(trials)
        ]
        made.append(run_of(tmp_path / name, questions, answers, model=name, trials=3))
    return made


def test_it_is_everywhere(registered: ReportMetric, runs: list[Path], tmp_path: Path) -> None:
    a, b = runs
    for run in runs:
        assert livek12_here("report", run).code == 0
        report = json.loads((run / "report.json").read_text())
        assert report["tasks"][TASK]["metrics"][NAME]["value"] == (0.5 if run == a else 0.25)
        assert NAME in (run / "report.html").read_text()
        assert "right by majority" in (run / "report.html").read_text()
    compared = livek12_here("compare", a, b, "--json")
    task = json.loads(compared.out)["tasks"][TASK]
    assert task["pairs"][0]["metrics"][NAME]["difference"]["value"] == pytest.approx(-0.25)
    assert NAME in livek12_here("compare", a, b, "--md").out

    assert livek12_here("site", a, b, "--out", tmp_path / "site").code == 0
    site = (tmp_path / "site" / "data" / "site.js").read_text()
    assert "다수결 정답률" in site
    assert any(f'"{NAME}":[0.5' in file.read_text().replace(" ", "") for file in (tmp_path / "site").rglob("*.js"))


def test_it_is_in_a_sweep(registered: ReportMetric, data: Path, tmp_path: Path) -> None:
    ids = [f"ko_sample_{number:04}" for number in range(1, 9)]
    for name, label in (("one", "A"), ("two", "B")):
        lines = [json.dumps({"id": id, "response": f"\\boxed{{{label}}}"}) for id in ids]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    models = [{"name": str(tmp_path / f"{name}.jsonl"), "engine": "replay"} for name in ("one", "two")]
    sweep = {"out": str(tmp_path / "sweep"), "data": str(data), "tasks": ["kmmmu"], "models": models}
    plan_file = tmp_path / "sweep.yaml"
    plan_file.write_text(yaml.safe_dump(sweep))
    for run in read_plan(plan_file).runs:
        livek12_here(*run.whole)
    ended = livek12_here("sweep", plan_file, "--report")
    assert NAME in (tmp_path / "sweep" / "sweep.html").read_text(), ended.err


def test_families_and_strangers() -> None:
    assert meaning_of("pass@5") == "one of 5 answers is fully correct"
    assert meaning_of("Acc≤0.3") == "fully correct within 0.3 of the token limit"
    assert (metric_of("ARL").scale, metric_of("mark").scale, metric_of("never heard of").scale) == (
        "number",
        "out_of_100",
        "share",
    )
