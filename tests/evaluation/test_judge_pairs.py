"""`livek12 judge-pairs`: one line for each line, in order; bad rows, kills and a hostile judge cost only their own."""

from __future__ import annotations

import base64
import json
import os
import random
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from livek12.core.errors import UserError
from livek12.evaluation.pair_file import judge_file
from livek12.judges.jury import JudgeOptions
from livek12.judges.llm.spec import parse_judge
from tests.engines.helpers import picture
from tests.engines.scripted_server import Reply, error, serving
from tests.judges.llm.judge_server import JudgeScript, counted, says
from tests.scripts.command import COMMAND, livek12, livek12_here

Json = dict[str, Any]
RULES = JudgeOptions(cache=False)


def write(path: Path, rows: list[Json | str | bytes]) -> Path:
    lines = [row if isinstance(row, bytes) else row.encode() if isinstance(row, str) else json.dumps(row).encode()
             for row in rows]  # fmt: skip
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def read(path: Path) -> list[Json]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def judged(tmp_path: Path, *rows: Json, options: JudgeOptions = RULES) -> list[Json]:
    numbered = [{"id": n, **row} for n, row in enumerate(rows)]
    judge_file(write(tmp_path / "in.jsonl", numbered), tmp_path / "out.jsonl", options)
    return read(tmp_path / "out.jsonl")


CHOICES = [{"label": "A", "text": "3 m/s"}, {"label": "B", "text": "12 m/s"}]


DECIDED: list[tuple[Json, str]] = [
    # a bare answer
    ({"question_type": "short_answer", "gold": "12", "response": "12"}, "accept"),
    ({"question_type": "short_answer", "gold": "3", "response": "x=3"}, "accept"),
    ({"question_type": "short_answer", "gold": "12", "response": "13"}, "reject"),
    ({"question_type": "single_choice", "gold": "B", "response": "B"}, "accept"),
    ({"question_type": "single_choice", "gold": "B", "response": "C"}, "reject"),
    ({"question_type": "short_answer", "gold": "Paris", "response": "paris"}, "accept"),
    # without a type: the key says that yes or no is asked for, or the response chooses
    ({"gold": "yes", "response": "Yes, it is."}, "accept"),
    ({"gold": "no", "response": "No. It is not divisible by 3."}, "accept"),
    ({"gold": "yes", "response": "No, it is not."}, "reject"),
    ({"gold": "true", "response": "The statement is false."}, "reject"),
    ({"gold": "对", "response": "对，因为两直线平行。"}, "accept"),
    ({"gold": "yes", "response": "Maybe yes."}, "undecided"),
    ({"gold": "no", "response": "No one knows."}, "undecided"),
    ({"gold": "right", "response": "Left."}, "reject"),
    ({"gold": "B", "response": "所以选B。"}, "accept"),
    ({"gold": "B", "response": "所以选C。"}, "reject"),
    ({"gold": "B", "response": "所以选B或C。"}, "undecided"),
    ({"gold": "D", "response": "I choose (D)."}, "accept"),
    ({"gold": "AC", "response": "故选AC。"}, "accept"),
    ({"gold": "AC", "response": "The longest side is BC."}, "undecided"),
    # options without labels: numbered like the key
    ({"gold": "③", "response": "정답은 3번입니다.", "options": ["가", "나", "다"]}, "accept"),
    ({"gold": "3", "response": "정답은 ②번입니다.", "options": ["가", "나", "다"]}, "reject"),
    ({"gold": "2번", "response": "다라", "options": ["1. 가나", "2. 다라", "3. 마바"]}, "accept"),
    ({"gold": "B", "response": "The answer is B.", "options": ["A.5 cm", "B. 6 cm"]}, "accept"),
    # which option a bare 2 is may depend on where counting begins
    ({"question_type": "single_choice", "gold": "2", "response": "B", "options": ["x", "y", "z"]}, "undecided"),
    # a whole response
    ({"question_type": "fill_in_blank", "gold": ["1", "2"], "response": r"So \boxed{1} and \boxed{2}."}, "accept"),
    ({"question_type": "fill_in_blank", "gold": ["1", "2"], "response": r"So \boxed{1} and \boxed{3}."}, "reject"),
    ({"question_type": "single_choice", "gold": "B", "response": "因为a=1。\n\n故选B。"}, "accept"),
    ({"question_type": "short_answer", "gold": "4", "response": "I add.\n\nI look at it.\n\nDone."}, "undecided"),
    ({"question_type": "short_answer", "gold": "4", "response": ""}, "reject"),
    # types by other names, and none at all
    ({"question_type": "选择题", "gold": "ACD", "response": r"\boxed{CAD}"}, "accept"),
    ({"question_type": "객관식(단일정답)", "gold": "④", "response": "정답은 4번"}, "accept"),
    ({"question_type": "Multiple Choice", "gold": "A", "response": "The answer is A."}, "accept"),
    ({"question_type": "判断题", "gold": "√", "response": "正确"}, "accept"),
    ({"question_type": "填空题", "gold": "2", "response": "2"}, "accept"),
    ({"gold": "B", "options": CHOICES, "response": "12 m/s"}, "accept"),
    ({"question_type": "?", "gold": "B", "options": {"A": "3 m/s", "B": "12 m/s"}, "response": "(B)"}, "accept"),
    ({"gold": "B", "options": ["A. 3 m/s", "B. 12 m/s"], "response": "A"}, "reject"),
    ({"gold": 12, "response": "12.0"}, "accept"),
    # a worked solution as the key
    ({"question_type": "单选题", "gold": "因为x=1，所以选项B正确。\n故选B．", "response": "答案是：B"}, "accept"),
    # a key that is a sentence or a line with the answer in it
    ({"gold": r"The answer is \boxed{9}.", "response": "9"}, "accept"),
    ({"gold": r"The answer is \boxed{9}.", "response": r"\boxed{8}"}, "reject"),
    ({"gold": "#### 9", "response": "It is 9."}, "accept"),
    ({"gold": "Final answer: #### 9", "response": "9"}, "accept"),
    ({"gold": "The sum is 9.", "response": r"\boxed{9}"}, "accept"),
    ({"gold": "She has 9*3=27 eggs.\nA: 27", "response": "9*3=28\nA: 28"}, "reject"),
    ({"gold": r"\boxed{3} cm", "response": "3 m"}, "undecided"),
    ({"gold": r"As $x>0$, we have $x = \boxed{5}$ as the only solution.", "response": "5"}, "accept"),
    ({"gold": r"As $x>0$, we have $x = \boxed{5}$ as the only solution.", "response": "6"}, "reject"),
    ({"gold": r"$x = \boxed{5}$ because both are even.", "response": "5"}, "accept"),
    ({"gold": r"\[x = \boxed{5}.\end{align*}", "response": "5"}, "accept"),
    ({"gold": r"$\boxed{5}$ is the wrong one.", "response": "5"}, "undecided"),
    # a box that is a piece of the key is not the key
    ({"gold": r"\frac{\boxed{1}}{2}", "response": "1"}, "reject"),
    ({"gold": r"\boxed{1}+\frac{1}{2}", "response": "3/2"}, "accept"),
    ({"gold": r"$x=\boxed{5}^{2}$", "response": "5"}, "reject"),
    ({"gold": r"\boxed{5}\text{ cm}", "response": "5 m"}, "undecided"),
    ({"gold": "No, the sum is 9.", "response": "9"}, "undecided"),
    ({"gold": "The answer is not unique", "response": "5"}, "undecided"),
    # variables and units
    ({"gold": None, "variables": [{"name": "v", "type": "numeric", "value": "3"}], "response": "v = 3"}, "accept"),
    ({"question_type": "fill_in_blank", "gold": "3", "unit": "m/s", "response": "3 m/s"}, "accept"),
    # what a harness adds is passed over
    ({"gold": "12", "response": "12", "extra": {"x": [1]}, "language": "ko"}, "accept"),
    ({"gold": "12", "response": "12 \ud800"}, "undecided"),
]  # fmt: skip


@pytest.fixture(scope="module")
def decided(tmp_path_factory: pytest.TempPathFactory) -> list[Json]:
    """All of them, of one file."""
    return judged(tmp_path_factory.mktemp("decided"), *(row for row, _ in DECIDED))


@pytest.mark.parametrize("number", range(len(DECIDED)))
def test_decisions(number: int, decided: list[Json]) -> None:
    out = decided[number]
    assert out["decision"] == DECIDED[number][1], (DECIDED[number][0], out)
    assert set(out) == {"id", "decision", "decided_by", "reason", "score", "judge", "digest"}
    assert out["id"] == number


def test_every_line_gets_its_line_and_the_run_goes_on(tmp_path: Path) -> None:
    good = {"gold": "1", "response": "1"}
    outside = {"id": "p", **good, "images": ["../../etc/passwd"]}
    rows: list[Json | str | bytes] = [
        {"id": "a", **good}, "", "not JSON", "[1]", "null", {"id": "a", **good}, {"id": True, **good}, good,
        b"\xff\xfe", {"id": "b", "response": "1"}, {"id": "c", "gold": "1"}, {"id": "d", "gold": {}, "response": "1"},
        {"id": "e", "gold": ["1", None], "response": "1"}, {"id": "f", **good, "options": 3}, outside,
        {"id": "g", **good, "variables": [{"name": 3}]}, {"id": "h", **good, "language": "fr"}, "[" * 100_000,
        {"id": "i", "gold": [], "response": "1"}, {"id": "j", **good, "images": ["data:image/png;base64,###"]},
        {"id": "k", "gold": "1", "response": 1}, {"id": "1", **good}, {"id": 1, **good}, {"id": "z", **good},
    ]  # fmt: skip
    source, target = write(tmp_path / "in.jsonl", rows), tmp_path / "out.jsonl"
    ended = livek12_here("judge-pairs", source, target)
    out = read(target)
    assert ended.code == 1, ended.err
    assert "19 bad rows" in ended.out
    assert len(out) == len(rows) - 1
    accepted = [row["id"] for row in out if row["decision"] == "accept"]
    assert accepted == ["a", "1", 1, "z"]
    bad = [row for row in out if row["decision"] != "accept"]
    assert {row["decided_by"] for row in bad} == {"input"}
    assert all(row["reason"].startswith("line ") and "\n" not in row["reason"] for row in bad)
    assert [row for row in out if "id 'a' of line 1" in row["reason"]]
    again = livek12_here("judge-pairs", source, target)
    assert (again.code, again.out) == (1, ended.out)
    assert read(target) == out


def test_pictures_come_from_the_row_or_from_beside_the_file(tmp_path: Path) -> None:
    image = picture("red")
    (tmp_path / "figure.png").write_bytes(image.bytes or b"")
    encoded = base64.b64encode(image.bytes or b"").decode()
    script = JudgeScript(lambda name, before, body: says(counted(True)))
    forms = [f"data:image/png;base64,{encoded}", {"bytes": encoded}, "figure.png", {"path": "figure.png"}]
    rows = [
        {
            "question": f"«{n}» See",
            "question_type": "open_ended",
            "gold": "red",
            "response": "It is red.",
            "images": [form],
        }
        for n, form in enumerate(forms)
    ]
    with serving(script) as address:
        panel = parse_judge("alpha", "openai", f"base_url={address}")
        out = judged(tmp_path, *rows, options=JudgeOptions(panel, cache=False))
    assert [row["decision"] for row in out] == ["accept"] * len(forms)
    for seen in script.seen:
        urls = [p["image_url"]["url"] for p in seen.body["messages"][1]["content"] if p["type"] == "image_url"]
        assert urls == [f"data:image/png;base64,{encoded}"]


@pytest.mark.parametrize("change", ["other rows", "shorter", "other judge", "rubbish", "no input"])
def test_an_out_that_does_not_fit_is_refused(tmp_path: Path, change: str) -> None:
    rows: list[Json | str | bytes] = [{"id": n, "gold": "1", "response": "1"} for n in range(5)]
    source, target = write(tmp_path / "in.jsonl", rows), tmp_path / "out.jsonl"
    judge_file(source, target, RULES)
    before = target.read_bytes()
    if change == "other rows":
        write(source, [{"id": n + 1, "gold": "1", "response": "1"} for n in range(5)])
    elif change == "shorter":
        write(source, rows[:3])
    elif change == "other judge":
        target.write_bytes(before.replace(b"rules-", b"rulez-"))
    elif change == "rubbish":
        target.write_bytes(b"rubbish\n" + before)
    else:
        source.unlink()
    kept = target.read_bytes()
    with pytest.raises(UserError) as caught:
        judge_file(source, target, RULES)
    assert "\n" not in str(caught.value)
    assert target.read_bytes() == kept


@pytest.mark.parametrize(
    ("change", "refused"),
    [({"gold": "13"}, True), ({"response": "13"}, True), ({"question": "How many?"}, True), ({"unit": "m"}, True),
     ({"question_type": "fill_in_blank"}, True), ({"options": ["12", "13"]}, True), ({"gold": {}}, True),
     ({"marked": True}, False), ({"unit": None}, False)],
)  # fmt: skip
def test_a_row_with_other_content_under_its_id_is_refused(change: Json, refused: bool, tmp_path: Path) -> None:
    rows: list[Json | str | bytes] = [{"id": n, "gold": "12", "response": "12"} for n in ("a", "b")]
    source, target = write(tmp_path / "in.jsonl", rows), tmp_path / "out.jsonl"
    assert livek12_here("judge-pairs", source, target).code == 0
    kept = target.read_bytes()
    # Of other spacing and order of fields nothing depends.
    changed = [b'{"response":"12","gold":"12","id":"a"}', {"id": "b", "gold": "12", "response": "12"} | change]
    ended = livek12_here("judge-pairs", write(source, [*changed]), target)
    assert ended.code == (2 if refused else 0), ended.err
    assert [line for line in ended.errors if "'b' (line 2 of" in line and "choose another OUT" in line] == (
        ended.err.splitlines() if refused else []
    )
    assert target.read_bytes() == kept


def test_an_out_of_an_earlier_version_is_resumed(tmp_path: Path) -> None:
    rows: list[Json | str | bytes] = [{"id": n, "gold": "12", "response": "12"} for n in range(2)]
    source, target = write(tmp_path / "in.jsonl", rows), tmp_path / "out.jsonl"
    judge_file(source, target, RULES)
    first, second = read(target)
    del first["digest"]
    write(target, [first])
    judge_file(source, target, RULES)
    assert read(target) == [first, second]


LIGHT = ("markupsafe", "jinja2", "datasets", "huggingface_hub", "pyarrow", "PIL", "numpy", "evaluate", "latex2mathml")


@pytest.mark.parametrize("command", ["judge-pairs", "rejudge", "demo", "column"])
def test_without_the_full_install_a_line_says_what_to_install(command: str, tmp_path: Path) -> None:
    for name in LIGHT:
        raises = f"raise ModuleNotFoundError(\"No module named '{name}'\", name={name!r})\n"
        (tmp_path / "hidden" / name).mkdir(parents=True)
        (tmp_path / "hidden" / name / "__init__.py").write_text(raises)
    source = write(tmp_path / "in.jsonl", [{"id": "a", "gold": "12", "response": "12", "marked": True}])
    out = tmp_path / "out.jsonl"
    args: dict[str, list[object]] = {
        "judge-pairs": ["judge-pairs", source, out, "--compare", "math-verify"],
        "column": ["judge-pairs", source, out, "--compare", "marked"],
        "rejudge": ["rejudge", source, "--out", tmp_path / "run"],
        "demo": ["demo", "--out", tmp_path / "demo"],
    }
    paths = os.pathsep.join([str(tmp_path / "hidden"), os.environ.get("PYTHONPATH", "")])
    ended = livek12(*args[command], PYTHONPATH=paths)
    assert ended.code == 2, ended
    (line,) = ended.errors
    assert re.fullmatch(r"error: this command needs \w+, which is not installed here: pip install \. in .*", line)
    assert any(f"needs {name}," in line for name in LIGHT)
    assert not out.exists()


@pytest.mark.slow
@pytest.mark.release
def test_killed_again_and_again_it_decides_all_once_in_order(tmp_path: Path) -> None:
    kinds = [("12", "12"), ("12", "13"), (r"\frac{1}{2}", "0.5"), ("x^2-1", "(x-1)(x+1)"), ("sin(x)", "cos(x)")]
    rows: list[Json | str | bytes] = []
    for n in range(300):
        gold, response = kinds[n % 5]
        rows.append({"id": f"r{n}", "gold": f"{gold}+{n}" if n % 5 > 2 else gold,
                     "response": f"{response}+{n}" if n % 5 > 2 else response})  # fmt: skip
    source, target, whole = write(tmp_path / "in.jsonl", rows), tmp_path / "out.jsonl", tmp_path / "whole.jsonl"
    command = [*COMMAND, "judge-pairs", str(source), str(target), "--no-cache"]
    for _ in range(2):
        child = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        stored = target.stat().st_size if target.exists() else 0
        goal = stored + random.randint(1, 6_000)
        while child.poll() is None and (not target.exists() or target.stat().st_size < goal):
            time.sleep(0.001)
        child.send_signal(signal.SIGKILL)
        child.wait()
        with target.open("ab") as torn:
            torn.write(b'{"id": "r')
    assert livek12_here("judge-pairs", source, target, "--no-cache").code == 0
    judge_file(source, whole, RULES)
    assert target.read_bytes() == whole.read_bytes()
    assert [row["id"] for row in read(target)] == [f"r{n}" for n in range(300)]


FAULTS = ["good", "good", "good", "500 then good", "429 then good", "500", "half", "nothing", "rubbish", "rubbish"]


def fault(number: int) -> str:
    """What the judge does with a pair. A silent one is another test's: its limit would be that of the others."""
    return FAULTS[number % len(FAULTS)]


@pytest.mark.slow
def test_a_judge_that_fails_in_every_way_on_hundreds_of_pairs(tmp_path: Path) -> None:
    half = says(counted(True)).body[:60]

    def answer(name: str, before: int, body: Json) -> Reply:
        kind = fault(int(name))
        if before == 0 and kind == "500 then good":
            return error(500, "overloaded")
        if before == 0 and kind == "429 then good":
            return error(429, "slow down", retry_after="0")
        faults = {
            "500": error(500, "overloaded"),
            "half": Reply(body=half),
            "nothing": Reply(cut=True),
            "rubbish": says('{"parts": [{"part": 1, "correct": tr'),
        }
        return faults.get(kind, says(counted(int(name) % 3 > 0)))

    script = JudgeScript(answer)
    rows: list[Json | str | bytes] = [
        {"id": n, "question": f"«{n}»", "question_type": "open_ended", "gold": f"because {n}", "response": f"So {n}."}
        for n in range(300)
    ]
    source, target = write(tmp_path / "in.jsonl", rows), tmp_path / "out.jsonl"
    with serving(script) as address:
        args = f"base_url={address},timeout=300,backoff=0.01,concurrency=32,max_retries="
        # Where none but broken answers come for a while, the endpoint counts as gone, and good ones have to wait.
        for _ in range(30):
            target.unlink(missing_ok=True)
            counts = judge_file(source, target, JudgeOptions(parse_judge("alpha", "openai", args + "4")))
            out = read(target)
            if all(row["decision"] != "undecided" for row in out if "good" in fault(row["id"])):
                break
        asked = len(script.seen)
        target.unlink()
        judge_file(source, target, JudgeOptions(parse_judge("alpha", "openai", args + "0")))
    assert [row["id"] for row in out] == list(range(300))
    for row in out:
        kind = fault(row["id"])
        if "good" in kind:
            assert row["decision"] == ("accept" if row["id"] % 3 > 0 else "reject"), row
        else:
            assert row["decision"] == "undecided"
            assert row["reason"] and "\n" not in row["reason"]
    assert (counts.undecided, counts.lost, counts.bad) == (150, 90, 0)
    # The second time only what had no reply was asked again, until the endpoint counted as gone; rubbish is a reply.
    again = {fault(int(seen.question.partition("@")[0])) for seen in script.seen[asked:]}
    assert again and again <= {"500", "half", "nothing"}


def test_an_endpoint_that_is_not_there_leaves_all_pairs_open(tmp_path: Path) -> None:
    rows: list[Json | str | bytes] = [
        {"id": n, "question_type": "proof", "gold": "QED", "response": f"So {n}."} for n in range(50)
    ]
    source, target = write(tmp_path / "in.jsonl", rows), tmp_path / "out.jsonl"
    args = "base_url=http://127.0.0.1:9/v1,timeout=1,max_retries=1,backoff=0.01"
    ended = livek12_here("judge-pairs", source, target, "--judge", "alpha", "--judge-engine-args", args)
    assert ended.code == 1, ended.err
    out = read(target)
    assert len(out) == 50
    assert all(row["decision"] == "undecided" and "127.0.0.1:9" in row["reason"] for row in out)


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (["--judge", "a@opnai:x=1"], "no such engine"),
        (["--judge", "alpha", "--judge-method", "p9"], "choose one of"),
        (["--judge", "alpha", "--judge-engine", "openai"], "needs an address"),
        (["--judge", "missing.jsonl", "--judge-engine", "replay"], "missing.jsonl"),
        (
            ["--judge", "gpt-x", "--judge-engine-args", "base_url=http://h/v1", "--model", "openai/gpt-4o"],
            "never itself",
        ),
    ],
)
def test_wrong_use_is_one_line(tmp_path: Path, args: list[str], problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "")
    source = write(tmp_path / "in.jsonl", [{"id": 1, "gold": "1", "response": "1"}])
    ended = livek12_here("judge-pairs", source, tmp_path / "out.jsonl", *args)
    assert ended.code == 2
    assert len(ended.errors) == 1
    assert problem in ended.errors[0]


@pytest.mark.parametrize("text", ["a letter", "one\ntwo", "[1]"])
def test_a_file_of_something_else_is_left_as_it_is(text: str, tmp_path: Path) -> None:
    pairs, notes = tmp_path / "in.jsonl", tmp_path / "notes.txt"
    pairs.write_text(json.dumps({"id": 1, "question": "?", "gold": "5", "response": "5"}) + "\n")
    notes.write_text(text)
    ended = livek12_here("judge-pairs", pairs, notes)
    assert ended.code == 2 and "is no decision; choose another OUT" in ended.err
    assert notes.read_text() == text


SCHEME = [
    {"points": 1, "text": "uses Newton's law", "expression": "F = m a"},
    {"points": 2, "text": "finds the force", "needs": ["1"]},
]


def test_rows_with_a_scheme_have_points_and_criteria(tmp_path: Path) -> None:
    row: Json = {"scheme": SCHEME, "response": "Since $m a = F$, it is large."}
    empty, bad = (
        {**row, "response": ""},
        {**row, "scheme": [[{"points": 3, "text": "all"}], [{"points": 1, "text": "short"}]]},
    )
    cycle = {**row, "scheme": [{**SCHEME[0], "needs": ["2"]}, SCHEME[1]]}
    first, nothing, *refused = judged(tmp_path, row, empty, bad, cycle)
    assert (first["decision"], first["points"], first["low"], first["high"]) == ("undecided", None, 1, 3)
    assert [(c["id"], c["points"], c["of"], c["quote"]) for c in first["criteria"]] == [
        ("1", 1, 1, "m a = F"),
        ("2", None, 2, None),
    ]
    assert (nothing["decision"], nothing["score"], nothing["points"]) == ("reject", 0, 0)
    assert [line["decided_by"] for line in refused] == ["input", "input"]
    assert "add up to 1 points and the question has 3" in refused[0]["reason"]
    assert "need each other" in refused[1]["reason"]
