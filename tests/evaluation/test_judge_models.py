"""A run folder judged with models: only what the rules leave open, resumable, with held-back keys, accounted for."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from livek12.core.errors import UserError
from livek12.core.records import IMAGE_MARK, Response
from livek12.core.run.folder import RunFolder
from livek12.evaluation import marking, reporting
from livek12.evaluation.studies.agreement import require_every_answer
from livek12.judges.jury import JudgeOptions
from livek12.judges.llm.spec import EVERY_ANSWER
from tests.engines.scripted_server import serving
from tests.judges.llm.judge_server import options, replying, text_of
from tests.scripts.command import livek12_here


def test_only_what_the_rules_leave_open_is_asked_and_asked_once(run: RunFolder) -> None:
    marking.judge(run)
    by_rules = run.verdicts()
    script = replying()
    with serving(script) as address:
        assert marking.judge(run, options=options(address)) == 0
        asked = len(script.seen)
        assert marking.judge(run, options=options(address)) == 0
        assert len(script.seen) == asked
        verdicts = run.verdicts()
        marking.judge(run, again=True, options=options(address))
        assert len(script.seen) == asked
    assert run.verdicts().keys() == verdicts.keys() == by_rules.keys()
    for key, before in by_rules.items():
        after = verdicts[key]
        if before.state == "graded":
            marked = [call for call in after.calls if not call.prompt.startswith("livek12_audit")]
            assert (after.points, marked) == (before.points, [])
    assert not [v.reason for v in verdicts.values() if v.state != "graded"]
    models = [v for v in verdicts.values() if v.calls]
    assert len(models) >= 10
    assert sum(len(v.calls) for v in models) == asked
    assert all(v.versions["judge"] == v.judge and "prompt " in " ".join(v.versions) for v in models)
    report = reporting.score(run)
    assert {name: task["counts"]["ungraded"] for name, task in report["tasks"].items()} == dict.fromkeys(
        report["tasks"], 0
    )


def test_judges_that_see_everything_are_asked_about_all_and_the_rules_are_not_heard(run: RunFolder) -> None:
    marking.judge(run)
    by_rules = run.verdicts()
    script = replying()
    with serving(script) as address:
        seeing = options(address)
        assert seeing.panel is not None
        everything = replace(seeing, panel=replace(seeing.panel, scope="all"), audit=False)
        assert marking.judge(run, options=everything) == 0
        asked = len(script.seen)
        assert marking.judge(run, options=everything) == 0
        assert len(script.seen) == asked, "nothing is asked twice"
    after = run.verdicts()
    texts = {(row.task, row.question.id, row.trial): row.response.text for row in run.rows() if row.response}
    named = {key: (v.key.task, v.key.question_id, v.key.trial) for key, v in after.items()}
    judged = [verdict for key, verdict in after.items() if texts[named[key]].strip() and by_rules[key].parts]
    assert len(judged) > 20
    for verdict in judged:
        assert EVERY_ANSWER in verdict.judge
        assert all(part.votes for part in verdict.parts if part.gold.strip()), verdict.key
        assert {part.decided_by for part in verdict.parts if part.votes} <= {"llm", "panel", "rules"}
    assert any(by_rules[key].state == "graded" and after[key].calls for key in after), "also what the rules decided"
    (who,) = {one["who"] for one in reporting.score(run)["marked_by"]}
    assert "who see every answer" in who
    rows = {"all": list(run.rows())}
    require_every_answer(rows)
    labels = [{"question_id": row.question.id, "task": row.task, "correct": True} for row in rows["all"]]
    file = run.path.parent / "labels.jsonl"
    file.write_text("".join(json.dumps(label) + "\n" for label in labels), encoding="utf-8")
    ended = livek12_here("study", "methods", run.path, "--labels", file)
    assert ended.code == 2 and "is judged in" in ended.errors[0], "each benchmark has a way of its own"
    own = [label for label in labels if label["task"] == labels[0]["task"]]
    file.write_text("".join(json.dumps(label) + "\n" for label in own), encoding="utf-8")
    ended = livek12_here("study", "methods", run.path, "--labels", file)
    assert ended.code == 0 and f"of {len(own):.1f} labelled answers" in ended.out


def test_a_study_of_prompts_refuses_judges_to_whom_the_rules_left_nothing(run: RunFolder) -> None:
    marking.judge(run)
    rows = [row for row in run.rows() if row.verdict and row.verdict.state == "graded"]
    assert rows and not any(row.verdict.by_models for row in rows if row.verdict)
    with pytest.raises(UserError, match="judges saw at most what the rules left open"):
        require_every_answer({"by rules": rows})


def test_a_study_of_prompts_refuses_judges_that_saw_only_what_was_open(run: RunFolder) -> None:
    with serving(replying()) as address:
        marking.judge(run, options=options(address))
    with pytest.raises(UserError, match="judge it with `--judge-scope all`"):
        require_every_answer({"open": list(run.rows())})
    copy = shutil.copytree(run.path, run.path.with_name("copy"))
    ended = livek12_here("study", "sensitivity", run.path, copy)
    assert ended.code == 2 and "--judge-scope all" in ended.errors[0]


@pytest.mark.parametrize("tasks", ["livek12_image_only,livek12_image_only_complex_layout"])
def test_an_exam_of_page_images_is_judged_and_audited_with_its_figures(run: RunFolder) -> None:
    asked = {(task, q.id): q for task, questions in run.questions().items() for q in questions}
    assert sum(IMAGE_MARK in q.question for q in asked.values()) >= 5
    script = replying()
    with serving(script) as address:
        assert marking.judge(run, options=options(address)) == 0
    verdicts = run.verdicts().values()
    assert len(verdicts) == len(asked)
    assert all(v.state == "graded" and v.process and not v.process_ungraded for v in verdicts)
    for seen in script.seen:
        assert IMAGE_MARK not in text_of(seen.body)
        assert "image_url" in json.dumps(seen.body["messages"])


def test_what_a_judge_did_not_answer_to_is_open_and_asked_again_by_the_same_command(run: RunFolder) -> None:
    good, dead = replying(), replying(good=False)
    with serving(dead) as address:
        port = int(address.rpartition(":")[2].partition("/")[0])
        lost = marking.judge(run, options=options(address))
    first = run.verdicts()
    assert lost == sum(v.waits for v in first.values()) >= sum(v.state == "ungraded" for v in first.values()) > 5
    assert all("500" in v.reason for v in first.values() if v.state == "ungraded")
    with serving(good, port) as address:
        assert marking.judge(run, options=options(address)) == 0
    assert all(v.state == "graded" for v in run.verdicts().values())
    assert len(run.verdicts()) == len(first)


@pytest.mark.release
def test_a_panel_of_three_votes_on_livek12_and_all_named_on_the_others(run: RunFolder) -> None:
    script = replying()
    with serving(script) as address:
        marking.judge(run, options=options(address, "alpha,beta,gamma,delta"))
    sizes: dict[str, set[int]] = {}
    for verdict in run.verdicts().values():
        for part in verdict.parts:
            if part.votes:
                sizes.setdefault(verdict.key.task, set()).add(len(part.votes))
                assert part.decided_by == "panel"
    assert sizes["livek12"] == {3}
    assert sizes["kmmmu"] == {4}


def test_the_model_under_test_may_not_judge_itself(run: RunFolder) -> None:
    with pytest.raises(UserError, match="never itself nor its family"):
        marking.judge(run, options=options("http://127.0.0.1:9/v1", "openai/gpt-x"))
    assert not run.verdicts()


def test_held_back_keys_come_from_another_data_set(run: RunFolder, data: Path, tmp_path: Path) -> None:
    marking.judge(run)
    with_keys = {key: (v.state, v.points) for key, v in run.verdicts().items()}
    blank = {"answer": [], "solution": None, "answer_images": [], "solution_images": [], "reasoning_flow": []}
    questions = {
        task: [
            q.model_copy(update=blank | {"variables": [v.model_copy(update={"value": ""}) for v in q.variables]})
            for q in asked
        ]
        for task, asked in run.questions().items()
    }
    public = RunFolder.create_or_resume(tmp_path / "public", run.spec().model_copy(update={"judges": {}}), questions)
    with public.writer("responses") as writer:
        for response in run.responses():
            assert isinstance(response, Response)
            writer.append(response)
    marking.judge(public)
    assert not [v for v in public.verdicts().values() if v.state == "graded" and v.correct]
    marking.judge(public, options=JudgeOptions(answers=str(data)))
    assert {key: (v.state, v.points) for key, v in public.verdicts().items()} == with_keys
    assert all("keys+" in v.judge for v in public.verdicts().values())
    assert " with the keys of " in str(reporting.score(public)["marked_by"])
    with pytest.raises(UserError, match=str(tmp_path)):
        marking.judge(public, again=True, options=JudgeOptions(answers=str(tmp_path)))
