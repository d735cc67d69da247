"""Planted judges and people: what the study of reliability says of them is what they were made to be."""

from __future__ import annotations

import dataclasses
import json
import math
import random
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from livek12.core.errors import UserError
from livek12.core.records import ERROR_TYPES, Call, Key, Process, ProcessError, Question, Response, Verdict
from livek12.core.run.folder import RunFolder
from livek12.core.scoring import Row
from livek12.evaluation.studies.agreement import as_repeats, between_critics, critics_said, over_repeats
from livek12.evaluation.studies.labels import Label
from livek12.evaluation.studies.reliability import evaluators, reliability, sentences
from tests.evaluation.labelled_runs import make_run
from tests.scripts.command import livek12_here

N = 3000
PRESENT = {"CIE": 0.4, "LAE": 0.15, "DRE": 0.3}
CRITICS = {  # (share of the errors that are seen, share of the clean ones that are accused)
    "sharp": {"CIE": (0.95, 0.04), "LAE": (0.9, 0.02), "DRE": (0.92, 0.05)},
    "lenient": {"CIE": (0.6, 0.01), "LAE": (0.5, 0.01), "DRE": (0.7, 0.02)},
    "harsh": {"CIE": (0.97, 0.25), "LAE": (0.95, 0.3), "DRE": (0.99, 0.2)},
}
SUBJECTS = ("math", "physics", "chemistry", "biology")


def audit(said: Mapping[str, Mapping[str, bool]], **more: Any) -> Process:
    errors = [
        ProcessError(type=kind, step="s", reason="r", judge=critic)
        for critic, kinds in said.items()
        for kind in ERROR_TYPES
        if kinds[kind]
    ]
    mean = {kind.lower(): sum(kinds[kind] for kinds in said.values()) / len(said) for kind in ERROR_TYPES}
    return Process(**mean, errors=errors, critics=list(said), **more)


def row(id: str, process: Process | None, right: bool = True, model: str = "m", subject: str = "math") -> Row:
    question = Question(
        id=id, benchmark="livek12", language="zh", subject=subject, question_type="short_answer", question="?", points=5
    )
    key = Key(task="t", question_id=id)
    response = Response(key=key, text="a", engine="replay", model=model)
    points = 5.0 * right
    verdict = Verdict(
        key=key, response_sha256=response.sha256, state="graded", points=points, low=points, high=points, max_points=5,
        correct=right, process=process, judge="j",
    )  # fmt: skip
    return Row("t", question, 0, "graded", response, verdict)


def draw(
    generator: random.Random, truth: Mapping[str, bool], rates: Mapping[str, tuple[float, float]]
) -> dict[str, bool]:
    return {kind: generator.random() < rates[kind][0 if truth[kind] else 1] for kind in ERROR_TYPES}


def planted(
    seed: int = 0, critics: Mapping[str, Mapping[str, tuple[float, float]]] = CRITICS
) -> tuple[list[Row], list[dict[str, bool]]]:
    generator = random.Random(seed)
    truth = [{kind: generator.random() < share for kind, share in PRESENT.items()} for _ in range(N)]
    audits = [audit({name: draw(generator, one, rates) for name, rates in critics.items()}) for one in truth]
    return [row(str(n), process) for n, process in enumerate(audits)], truth


def label(n: int, rater: str, said: Mapping[str, bool]) -> Label:
    return Label(str(n), None, None, "t", 0, rater, errors=dict(said), place=f"{rater}:{n}")  # type: ignore[arg-type]


def near(found: float | None, planted: float, n: float) -> bool:
    """Within four standard errors of a share of n."""
    return found is not None and abs(found - planted) < 4 * math.sqrt(planted * (1 - planted) / n)


def kappa_of(share: float, seen: float, accused: float) -> float:
    judged = share * seen + (1 - share) * accused
    agreed, chance = share * seen + (1 - share) * (1 - accused), share * judged + (1 - share) * (1 - judged)
    return (agreed - chance) / (1 - chance)


def test_planted_precision_recall_and_kappa_are_found_again() -> None:
    rows, truth = planted()
    people = {"ann": 0, "bob": 0}
    pairs = [(label(n, rater, truth[n]), rows[n]) for rater in people for n in range(N)]
    found = reliability({"m": [rows]}, {"m": pairs})
    for reference in ("ann", "bob", "consensus"):
        beside = found["against_people"][reference]
        for critic, kinds in CRITICS.items():
            for kind, (seen, accused) in kinds.items():
                share, one = PRESENT[kind], beside[kind][critic]
                judged = share * seen + (1 - share) * accused
                assert (one["labelled"], one["undecided"]) == (N, 0)
                assert near(one["recall"], seen, N * share)
                assert near(one["precision"], share * seen / judged, N * judged)
                assert near(one["accuracy"], share * seen + (1 - share) * (1 - accused), N)
                assert one["kappa"] == pytest.approx(kappa_of(share, seen, accused), abs=0.06)
                assert one["f1"] == pytest.approx(
                    2 * one["precision"] * one["recall"] / (one["precision"] + one["recall"])
                )
        assert beside["overall"]["panel"]["labelled"] == 3 * N
        for name, own in beside["mean of the types"].items():
            for figure in ("precision", "recall", "f1", "kappa"):
                assert own[figure] == pytest.approx(sum(beside[kind][name][figure] for kind in ERROR_TYPES) / 3)
            assert own["f1"] != pytest.approx(2 / (1 / own["precision"] + 1 / own["recall"]), abs=1e-6)
        assert beside["overall"]["panel"]["kappa"] > max(
            beside["overall"][one]["kappa"] for one in ("lenient", "harsh")
        )
    assert found["people"]["overall"]["ann / bob"]["kappa"] == 1


def test_planted_agreement_of_critics_is_found_again() -> None:
    rows, _ = planted()
    found = between_critics([r.verdict.process for r in rows if r.verdict and r.verdict.process])
    for a, b in (("harsh", "sharp"), ("lenient", "sharp"), ("harsh", "lenient")):
        expected = []
        for kind, share in PRESENT.items():
            (s, f), (t, g) = CRITICS[a][kind], CRITICS[b][kind]
            alike = share * (s * t + (1 - s) * (1 - t)) + (1 - share) * (f * g + (1 - f) * (1 - g))
            assert near(found[kind][f"{a} / {b}"]["agreed"], alike, N)
            expected.append(alike)
        assert found["overall"][f"{a} / {b}"]["n"] == 3 * N
        assert near(found["overall"][f"{a} / {b}"]["agreed"], sum(expected) / 3, 3 * N)
    assert found["CIE"]["all pairs"]["n"] == 3 * N


def test_planted_agreement_of_a_critic_with_itself_is_found_again() -> None:
    """Each repeat keeps the critic's mind with a known chance for each type, else turns it."""
    generator, kept = random.Random(5), {"CIE": 0.95, "LAE": 0.98, "DRE": 0.9}
    _, truth = planted(1)
    minds = [draw(generator, one, CRITICS["sharp"]) for one in truth]
    repeats = []
    for _ in range(3):
        said = [{k: v if generator.random() < kept[k] else not v for k, v in mind.items()} for mind in minds]
        repeats.append([row(str(n), audit({"sharp": one})) for n, one in enumerate(said)])
    found = reliability({"m": repeats}, {})["intra_judge"]
    for kind, keep in kept.items():
        assert near(found[kind]["sharp"]["identical"], keep**3 + (1 - keep) ** 3, N)
        assert near(found[kind]["sharp"]["agreed"], keep**2 + (1 - keep) ** 2, N)
        assert found[kind]["sharp"] == found[kind]["panel"]
    assert found["overall"]["sharp"]["n"] == 3 * N
    assert found["any error"]["sharp"]["n"] == N


def test_rankings_are_mean_and_deviation_over_parts_in_either_profile() -> None:
    generator, runs = random.Random(2), {}
    for strength, model in enumerate(("a", "b", "c", "d")):
        share = 0.5 - 0.12 * strength
        rows = []
        for n in range(200):
            said = {kind: generator.random() < share for kind in ERROR_TYPES}
            rows.append(row(str(n), audit({"x": said}), generator.random() > share, model, SUBJECTS[n % 4]))
        runs[model] = [rows]
    for profile in ("article", "release"):
        found = reliability(runs, {}, profile=profile)["rankings"]  # type: ignore[arg-type]
        assert (found["metric"], found["profile"]) == ("PES", profile)
        subject = found["low"]["partitions"]["subject"]
        taus = [one["tau"] for one in found["low"]["groups"]["subject"].values()]
        assert subject["n"] == len(taus) == 4
        assert subject["mean"] == pytest.approx(sum(taus) / 4)
        assert found["low"]["halves"]["n"] == 100
        assert found["low"]["halves"]["mean"] > 0.7


def test_what_is_not_said_is_undecided_and_stays_in_the_bounds() -> None:
    both, one = dict.fromkeys(ERROR_TYPES, True), dict.fromkeys(ERROR_TYPES, False)
    rows = [row("0", audit({"x": both, "y": one})), row("1", None), row("2", audit({"x": both}))]
    assert critics_said(rows[0].verdict.process if rows[0].verdict else None)["panel"] == {}, "they are even"
    said = {"CIE": True, "LAE": True, "DRE": True}
    found = reliability({"m": [rows]}, {"m": [(label(n, "ann", said), rows[n]) for n in range(3)]})
    panel = found["against_people"]["ann"]["CIE"]["panel"]
    assert (panel["labelled"], panel["undecided"], panel["accuracy"]) == (3, 2, 1.0)
    assert (panel["accuracy_low"], panel["accuracy_high"]) == (1 / 3, 1.0)
    assert found["people"]["note"].startswith("the labels are of one person")
    assert "consensus" not in found["against_people"]
    assert found["rankings"]["note"].startswith("a ranking needs two runs")
    assert found["intra_judge"]["note"].startswith("the answers were judged once")


def test_people_who_differ_have_no_consensus() -> None:
    rows = [row(str(n), audit({"x": dict.fromkeys(ERROR_TYPES, True)})) for n in range(2)]
    ann = [(label(n, "ann", {"CIE": True, "LAE": False}), rows[n]) for n in range(2)]
    bob = [(label(0, "bob", {"CIE": True, "LAE": True}), rows[0])]
    found = reliability({"m": [rows]}, {"m": ann + bob})
    consensus = found["against_people"]["consensus"]
    assert consensus["CIE"]["x"]["labelled"] == 1, "an answer of one person has none"
    assert "LAE" not in consensus
    assert found["people"]["LAE"]["ann / bob"]["accuracy"] == 0
    assert "ann / bob" not in found["people"].get("DRE", {})


def test_right_and_wrong_of_judges_that_saw_the_whole_answer() -> None:
    from livek12.core.records import PartVerdict, Vote

    def part(**votes: str) -> PartVerdict:
        given = [Vote(judge=name, decision=decision) for name, decision in votes.items()]  # type: ignore[arg-type]
        return PartVerdict(answer="1", gold="1", decision="accept", score=1, decided_by="panel", votes=given)

    base = row("0", None)
    assert base.verdict is not None
    parts = [part(a="accept", b="reject", c="undecided"), part(a="accept", b="accept", c="accept"), part(a="accept")]
    voted = dataclasses.replace(base, verdict=base.verdict.model_copy(update={"parts": parts[:2]}))
    assert evaluators(voted) == {"a": {"answer": True}, "b": {"answer": False}, "panel": {"answer": True}}
    three = dataclasses.replace(base, verdict=base.verdict.model_copy(update={"parts": parts}))
    assert evaluators(three) == {"a": {"answer": True}, "panel": {"answer": True}}


def test_copies_by_another_judge_or_from_memory_are_refused() -> None:
    rows = [row("0", audit({"x": dict.fromkeys(ERROR_TYPES, True)}))]

    def changed(**update: Any) -> list[Row]:
        return [dataclasses.replace(r, verdict=r.verdict.model_copy(update=update)) for r in rows if r.verdict]

    call = Call(judge="x", prompt="p", raw="{}", remembered=True)
    with pytest.raises(UserError, match="marked by 2 judges"):
        reliability({"m": [rows, changed(judge="k")]}, {})
    for copies in ([rows, changed(calls=[call])], [changed(calls=[call]), rows]):
        with pytest.raises(UserError, match="from remembered replies"):
            reliability({"m": copies}, {})
    asked = Call(judge="x", prompt="p", raw="{}", seconds=1.25)
    with pytest.raises(UserError, match="the very same verdicts"):
        reliability({"m": [changed(calls=[asked]), changed(calls=[asked])]}, {})
    later = asked.model_copy(update={"seconds": 1.5})
    assert reliability({"m": [changed(calls=[asked]), changed(calls=[later])]}, {})["intra_judge"]["CIE"]["x"]["n"] == 1
    assert over_repeats([{}, {}]) == {}
    assert as_repeats({"a": rows, "b": rows, "c": [row("1", None)]}) == {"a": ["a", "b"], "c": ["c"]}


def test_the_command_on_run_folders_with_labels_of_two_people(tmp_path: Path) -> None:
    runs = []
    for model, errs in (("m", 2), ("n", 4)):
        run = make_run(tmp_path / model, each=6, text=f"by {model}")
        _audit(run, errs)
        runs.append(run.path)
    copy = shutil.copytree(runs[0], tmp_path / "m-again")
    files = []
    for rater in ("ann", "bob"):
        file = tmp_path / f"{rater}.jsonl"
        rows = [
            {
                "question_id": f"livek12-q{n}",
                "rater": rater,
                "CIE": n <= 2,
                "LAE": False,
                "DRE": False,
                "correct": n == 1,
            }
            for n in range(1, 7)
        ]
        file.write_text("".join(json.dumps(one) + "\n" for one in rows))
        files += ["--labels", file]
    ended = livek12_here("study", "reliability", *runs, copy, *files, "--json")
    assert ended.code == 0, ended.err
    found = json.loads(ended.out)
    consensus = found["against_people"]["consensus"]
    assert consensus["CIE"]["x"] == consensus["CIE"]["x"] | {"labelled": 12, "both": 4, "only_evaluator": 2}
    assert consensus["answer"]["panel"]["accuracy"] == 1
    assert found["intra_judge"]["overall"]["panel"]["identical"] == 1
    assert found["rankings"]["profile"] == "article"
    said = livek12_here("study", "reliability", *runs, *files, "--profile", "release")
    assert said.code == 0, said.err
    lines = said.out.splitlines()
    assert lines[0] == "12 answers, 12 of them with an audit; 24 labels of people."
    assert any(
        line.startswith("panel beside what the people agree on, over the three types of errors:") for line in lines
    )
    assert not [line for line in list(sentences(found)) if "{" in line or "_" in line]
    bare = livek12_here("study", "reliability", runs[0])
    assert "not available: no labels: give --labels FILE." in bare.out


def _audit(run: RunFolder, errs: int) -> None:
    """Critics x and y see a misread condition in the first `errs` answers."""
    verdicts = list(run.verdicts().values())
    with run.writer("verdicts") as writer:
        for verdict in verdicts:
            seen = int(verdict.key.question_id[-1]) <= errs
            said = {critic: {"CIE": seen, "LAE": False, "DRE": False} for critic in ("x", "y")}
            writer.append(verdict.model_copy(update={"process": audit(said)}))
