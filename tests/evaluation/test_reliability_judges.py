"""Critics of known error rates, asked by `livek12 judge`, beside labels of two people who differ at times."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from livek12.core.records import ERROR_TYPES
from tests.evaluation.labelled_runs import TASKS, make_run
from tests.evaluation.test_reliability import CRITICS, PRESENT, draw, near
from tests.scripts.command import livek12_here

pytestmark = pytest.mark.slow
N = 150
STEP = "It is $2$"
FAMILIES = {"sharp": "claude-x", "lenient": "gpt-x", "harsh": "gemini-x"}
"""The name of each critic as a model: a panel takes families that are not the model's own."""


def critique(said: Mapping[str, bool]) -> str:
    return json.dumps({"errors": [{"type": kind, "step": STEP, "reason": "r"} for kind in ERROR_TYPES if said[kind]]})


def test_planted_rates_come_back_through_the_command(tmp_path: Path) -> None:
    generator = random.Random(3)
    run = make_run(tmp_path / "run", each=N).path
    truth = [{kind: generator.random() < share for kind, share in PRESENT.items()} for _ in range(N)]
    judges = []
    for critic, model in FAMILIES.items():
        replies = [critique(draw(generator, one, CRITICS[critic])) for one in truth]
        rows = [
            {"task": "livek12_audit", "question_id": f"livek12-q{n}", "trial": 0, "model": model, "response": reply}
            for n, reply in enumerate(replies, 1)
        ]
        file = tmp_path / f"{model}.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        judges.append({"model": str(file), "engine": "replay"})
    panel = tmp_path / "panel.yaml"
    panel.write_text(json.dumps({"judges": judges}))
    ended = livek12_here("judge", run, "--again", "--judge", panel)
    assert ended.code == 0, ended.err

    files: list[Any] = []
    slips = 0.03  # of the second person
    for rater, rate in (("ann", 0.0), ("bob", slips)):
        labels = [
            {"task": TASKS["livek12"], "question_id": f"livek12-q{n}", "rater": rater}
            | {kind: there != (generator.random() < rate) for kind, there in one.items()}
            for n, one in enumerate(truth, 1)
        ]
        file = tmp_path / f"labels-{rater}.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in labels))
        files += ["--labels", file]
    ended = livek12_here("study", "reliability", run, *files, "--json")
    assert ended.code == 0, ended.err
    found = json.loads(ended.out)
    assert found["audited"] == N
    ann = found["against_people"]["ann"]
    for critic, model in FAMILIES.items():
        for kind, (seen, accused) in CRITICS[critic].items():
            share = PRESENT[kind]
            judged = share * seen + (1 - share) * accused
            assert near(ann[kind][model]["recall"], seen, N * share)
            assert near(ann[kind][model]["precision"], share * seen / judged, N * judged)
    assert near(found["people"]["overall"]["ann / bob"]["accuracy"], 1 - slips, 3 * N)
    panel_, single = ann["overall"]["panel"], ann["overall"]
    assert panel_["kappa"] > max(single[FAMILIES[one]]["kappa"] for one in ("lenient", "harsh"))
    inter = livek12_here("study", "inter-judge", run, "--json")
    assert json.loads(inter.out)["run"]["critics"]["overall"]["all pairs"]["n"] == 9 * N
