"""Logs of other harnesses, made by these themselves, become run folders: their answers, our marks, and what differs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from livek12.core.errors import UserError
from livek12.core.run.folder import RunFolder
from livek12.evaluation.logs import MISSING, at, entries, text_of
from livek12.evaluation.logs.harness_marks import DISAGREEMENTS
from livek12.evaluation.pairs import read_pair
from livek12.tasks.registry import find_task, get_tasks, is_logged, logged_name
from tests.plugins.conftest import needs, write_rows
from tests.scripts.command import Ended, livek12_here

LOGS = Path(__file__).parent / "logs"


def rejudged(log: Path, source: str, out: Path, *more: object) -> tuple[Ended, dict[str, Any]]:
    """The command to its end, and report.json."""
    ended = livek12_here("rejudge", log, "--from", source, "--out", out, *more)
    report = out / "report.json"
    return ended, json.loads(report.read_text()) if report.exists() else {}


def listed(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / DISAGREEMENTS).read_text().splitlines()]


def marks(run: Path) -> dict[str, bool | None]:
    return {row.question.id: row.verdict.correct if row.verdict else None for row in RunFolder(run).rows()}


def test_a_log_of_lm_eval_with_two_filters(tmp_path: Path) -> None:
    ended, report = rejudged(LOGS / "lm-eval", "lm-eval", tmp_path / "run")
    assert ended.code == 0, ended.err
    run = RunFolder.open(tmp_path / "run")
    assert run.spec().model == "SmolLM2-135M-Instruct"
    (task,) = run.spec().tasks
    assert (task.name, task.questions, run.spec().trials) == ("log.shop_math", 6, 1)
    question = next(question for _, question in run.each_question())
    assert question.question.startswith("Mina has") and question.answer == ["8"], "what a worked key commits to"
    (said,) = report["harness"]["tasks"].values()
    assert set(said) == {"exact_match,strict-match", "exact_match,flexible-extract"}
    for one in said.values():
        both = ("both_right", "both_wrong", "only_harness", "only_here", "undecided")
        assert sum(one[name] for name in both) == one["marked"] == 6
    differ = sum(one["only_harness"] + one["only_here"] for one in said.values())
    assert differ == sum(len(entry["disagree"]) for entry in listed(run.path))
    assert "lm-eval says exact_match,strict-match" in (run.path / "report.html").read_text()


def test_a_log_of_evalscope(tmp_path: Path) -> None:
    ended, report = rejudged(LOGS / "evalscope", "evalscope", tmp_path / "run")
    assert ended.code == 0, ended.err
    found = marks(tmp_path / "run")
    assert (found["2"], found["6"], found["11"], found["35"]) == (False, True, True, False)
    (said,) = report["harness"]["tasks"].values()
    assert all(set(one) == {"mean", "marked"} for one in said.values()), "overlap is no mark of right or wrong"
    assert all(answer.completion_tokens for answer in RunFolder(tmp_path / "run").responses())


@pytest.mark.slow
def test_a_log_of_inspect_with_choices(tmp_path: Path) -> None:
    needs("inspect_ai")
    (log,) = (LOGS / "inspect").glob("*.eval")
    ended, report = rejudged(log, "inspect", tmp_path / "run")
    assert ended.code == 0, ended.err
    questions = [question for _, question in RunFolder(tmp_path / "run").each_question()]
    assert all(q.question_type == "single_choice" and len(q.options) == 4 for q in questions)
    (said,) = report["harness"]["tasks"].values()
    assert said["choice"]["marked"] == len(questions)
    assert len(listed(tmp_path / "run")) == said["choice"]["only_harness"] + said["choice"]["only_here"]


def test_a_log_of_lmms_eval(tmp_path: Path) -> None:
    needs("lmms_eval")
    ended, report = rejudged(LOGS / "lmms-eval", "lmms-eval", tmp_path / "run")
    assert ended.code == 0, ended.err
    (said,) = report["harness"]["tasks"].values()
    assert said["shop_acc"]["marked"] == len(marks(tmp_path / "run"))


def test_a_log_of_lighteval(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = [
        {
            "doc": {"query": f"What is {a} + 1?", "choices": [str(a + 1), str(a + 5)], "gold_index": [0]},
            "model_response": {"text": [f"The answer is {a + 1}.", f"The answer is {a}."], "reasonings": []},
            "metric": {"extractive_match": 1.0},
        }
        for a in range(3)
    ]
    (folder := tmp_path / "details" / "org" / "m" / "date").mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows), folder / "details_x.parquet")
    ended, report = rejudged(tmp_path / "details", "lighteval", tmp_path / "run")
    assert ended.code == 0, ended.err
    assert RunFolder(tmp_path / "run").spec().model == "org/m"
    assert report["tasks"]["log.x"]["metrics"]["accuracy"]["value"] == 0.5
    assert "compared with none" in report["harness"]["lines"][0], "one mark for two answers"


def test_a_result_of_vlmevalkit(tmp_path: Path) -> None:
    table = "index\tquestion\tA\tB\tanswer\tprediction\thit\n"
    table += "1\tWhich is even?\t4\t7\tA\tA\t1\n2\tWhich is odd?\t4\t7\tB\tA\t1\n"
    (tmp_path / "m_Odd.tsv").write_text(table)
    ended, _ = rejudged(tmp_path / "m_Odd.tsv", "vlmevalkit", tmp_path / "run")
    assert ended.code == 0, ended.err
    assert marks(tmp_path / "run") == {"1": True, "2": False}
    (entry,) = listed(tmp_path / "run")
    assert (entry["question_id"], entry["here"], entry["disagree"]) == ("2", "wrong", ["hit"])


def test_fields_elsewhere_are_named(tmp_path: Path) -> None:
    rows = [{"a": {"b.c": {"stem": "1+1?", "keys": ["2"]}}, "out": [{"text": "So it is 2."}], "ok": "I", "id": "x"}]
    log = write_rows(tmp_path / "odd.jsonl", rows)
    ended, _ = rejudged(log, "jsonl", tmp_path / "none")
    assert (ended.code, len(ended.errors)) == (2, 1) and "--response; fields: a.b.c" in ended.err
    where = ("--question", "a.b.c.stem", "--gold", "a.b.c.keys", "--response", "out.0.text", "--score", "ok")
    ended, _ = rejudged(log, "jsonl", tmp_path / "run", *where, "--type", "fill_in_blank", "--model", "me")
    assert ended.code == 0, ended.err
    run = RunFolder(tmp_path / "run")
    assert run.spec().model == "me" and marks(run.path) == {"x": True}
    assert next(run.each_question())[1].question_type == "fill_in_blank"
    assert listed(run.path)[0]["harness"] == {"score": 0.0}
    again, _ = rejudged(log, "jsonl", tmp_path / "run", *where, "--type", "fill_in_blank", "--model", "me")
    assert again.code == 0 and sum(1 for _ in run.responses()) == 1, "the same command goes on"
    other, _ = rejudged(log, "jsonl", tmp_path / "run", *where, "--type", "proof", "--model", "me")
    assert other.code == 2 and "holds another run" in other.err


def test_what_is_damaged_is_named_and_the_rest_is_judged(tmp_path: Path) -> None:
    good = '{"id": "a", "question": "1+1?", "gold": "2", "response": "2"}\n'
    lines = [
        good,
        good.replace('"a"', '"half"')[:30] + "\n",
        '["no object"]\n',
        '{"id": "nokey", "question": "1+1?", "response": "2"}\n',
        '{"id": "silent", "question": "1+1?", "gold": "2"}\n',
        good.replace('"response": "2"', '"response": "3"'),
        '{"id": "odd", "gold": {"x": 1}, "response": "2"}\n',
    ]
    log = tmp_path / "log.jsonl"
    log.write_text("".join(lines))
    ended, report = rejudged(log, "jsonl", tmp_path / "run")
    assert ended.code == 0, ended.err
    for told in (
        "log.jsonl:2: is not JSON",
        "log.jsonl:3: is no JSON object",
        "1 entries have no key",
        "another answer",
    ):
        assert told in ended.err
    assert "2 entries could not be used" in ended.err
    states = {row.question.id: row.state for row in RunFolder(tmp_path / "run").rows()}
    assert states == {"a": "graded", "nokey": "ungraded", "silent": "failed"}
    assert report["tasks"]["log.log"]["counts"]["questions"] == 3


def test_a_hostile_log_costs_its_entries_and_no_more(tmp_path: Path) -> None:
    good = {"id": "a", "question": "1+1?", "gold": "2", "response": "2"}
    nested = {name: json.dumps({**good, "id": f"deep {name}", name: "X"}) for name in ("question", "gold", "response")}
    lines = [json.dumps(good)]
    lines += [line.replace('"X"', "[" * 900 + "]" * 900) for line in nested.values()]
    lines += [nested["gold"].replace('"X"', '{"text":' * 900 + "1" + "}" * 900), "[" * 10**6]
    lines += [json.dumps({**good, "id": f"late {trial}", "trial": trial}) for trial in (10**4, 2**40, 10**30)]
    lines += [json.dumps({**good, "id": "big", "score": 10**4000}), '{"id": "digits", "gold": %s}' % ("9" * 5000)]
    lines += [json.dumps({**good, "id": "s\ud800", "question": "\udfff", "response": "2", "task": "log\ud800"})]
    (log := tmp_path / "log.jsonl").write_text("\n".join(lines))
    ended, _ = rejudged(log, "jsonl", tmp_path / "run")
    assert ended.code == 0, ended.err
    kept = set(marks(tmp_path / "run"))
    assert kept >= {"a", "big", "s?"} and not kept & {"deep question", "deep response", "digits"}
    assert not [id for id in kept if id.startswith("late")]
    assert "could not be used and are not in the run" in ended.err


@pytest.mark.parametrize(("encoding", "warns"), [("utf-16", False), ("utf-8-sig", False), ("gb18030", True)])
def test_other_encodings(encoding: str, warns: bool, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    row = {"id": "题1", "question": "一加一等于几？", "gold": "2", "response": "答案是2。"}
    log.write_text(json.dumps(row, ensure_ascii=False) + "\n", encoding=encoding)
    ended, _ = rejudged(log, "jsonl", tmp_path / "run")
    assert ended.code == 0, ended.err
    assert ("holds bytes that are not UTF-8" in ended.err) is warns
    assert warns or marks(tmp_path / "run") == {"题1": True}


def test_models_are_not_mixed(tmp_path: Path) -> None:
    rows = [{"id": "1", "gold": "2", "response": "2", "model": name} for name in ("one", "two")]
    log = write_rows(tmp_path / "log.jsonl", rows)
    ended, _ = rejudged(log, "jsonl", tmp_path / "run")
    assert (ended.code, len(ended.errors)) == (2, 1) and "choose one with --model" in ended.err
    ended, _ = rejudged(log, "jsonl", tmp_path / "run", "--model", "two")
    assert ended.code == 0 and RunFolder(tmp_path / "run").spec().model == "two"


def test_a_log_of_likelihoods_has_no_answers(tmp_path: Path) -> None:
    row = {"doc_id": 0, "doc": {}, "target": 1, "resps": [[["-3.2", "False"]], [["-1.0", "True"]]], "acc": 1.0}
    log = write_rows(tmp_path / "samples_arc_2026.jsonl", [row])
    ended, _ = rejudged(log, "lm-eval", tmp_path / "run")
    assert (ended.code, len(ended.errors)) == (2, 1) and "chooses by likelihood" in ended.err


def test_several_targets_are_alternatives_and_an_index_is_an_option(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"doc_id": 0, "doc": {"question": "Who?"}, "target": ["Ada Lovelace", "Ada"], "resps": [["Ada"]]},
        {"doc_id": 1, "doc": {"question": "Which?", "choices": ["red", "blue"]}, "target": 1, "resps": [["B"]]},
    ]
    log = write_rows(tmp_path / "samples_mixed_2026.jsonl", rows)
    ended, _ = rejudged(log, "lm-eval", tmp_path / "run")
    assert ended.code == 0, ended.err
    assert marks(tmp_path / "run") == {"0": True, "1": True}


def test_runs_of_two_models_are_compared_and_judged_again(tmp_path: Path) -> None:
    runs = []
    for name, wrong in (("one", 0), ("two", 5)):
        rows = [{"id": f"{i}", "gold": f"{i}", "response": f"The answer is {i + (i < wrong)}."} for i in range(12)]
        log = write_rows(tmp_path / f"{name}.jsonl", rows)
        runs.append(tmp_path / f"run-{name}")
        assert rejudged(log, "jsonl", runs[-1], "--task", "count", "--model", name)[0].code == 0
    compared = livek12_here("compare", *runs, "--json")
    assert compared.code == 0, compared.err
    (task,) = json.loads(compared.out)["tasks"].values()
    assert "run-one" in json.dumps(task) and "run-two" in json.dumps(task)
    assert livek12_here("judge", runs[0], "--again").code == 0
    assert livek12_here("report", runs[0]).code == 0


def test_the_marks_are_those_of_judge_pairs(tmp_path: Path) -> None:
    rows = [
        {"id": "bare", "gold": "1/2", "response": "0.5"},
        {"id": "prose", "gold": "7", "response": "Well.\n" * 80},
        {"id": "unit", "question": "How far?", "gold": "3 km", "response": "It is 3000 m."},
    ]
    log = write_rows(tmp_path / "log.jsonl", rows)
    assert livek12_here("judge-pairs", log, tmp_path / "out.jsonl").code == 0
    said = {row["id"]: row["decision"] for row in map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())}
    assert rejudged(log, "jsonl", tmp_path / "run")[0].code == 0
    words = {True: "accept", False: "reject", None: "undecided"}
    assert {name: words[mark] for name, mark in marks(tmp_path / "run").items()} == said


def test_paths() -> None:
    entry = {"a": [{"b": 1}], "x.y": {"z": 2}, "n": None}
    assert at(entry, "a.0.b") == 1 and at(entry, "x.y.z") == 2 and at(entry, "n") is None
    assert all(at(entry, path) is MISSING for path in ("a.1", "a.b", "n.x", "", "x"))
    turns = [
        {"role": "user", "content": "shot"},
        {"role": "assistant", "content": "4"},
        {"role": "user", "content": "?"},
    ]
    assert text_of(turns) == text_of(json.dumps(turns)) == "?"
    assert text_of('[{"no": "conversation"}]') == '[{"no": "conversation"}]'


def test_names_of_tasks() -> None:
    assert logged_name("inspect_evals/gsm8k") == "log.inspect_evals_gsm8k"
    assert logged_name("//") == "log.task" and len(logged_name("x" * 999)) <= 120
    assert is_logged("log.a") and not is_logged("log.a/b") and not is_logged("log.")
    assert find_task("log.anything") is not None
    with pytest.raises(UserError, match="cannot be asked here"):
        get_tasks("log.anything")


def test_a_log_is_read_one_entry_at_a_time(tmp_path: Path) -> None:
    log = write_rows(tmp_path / "log.jsonl", [{"id": str(i), "gold": "1", "response": "1"} for i in range(3)])
    stream = entries("jsonl", log)
    assert next(stream).id == "0"
    assert read_pair(b'{"id": 1, "gold": "1", "response": "1"}', None).question.answer == ["1"]
