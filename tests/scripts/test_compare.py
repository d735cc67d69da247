"""`livek12 compare` as a person or a program reads it."""

from __future__ import annotations

import csv
import io
import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from livek12.core.records import Key, PartVerdict, Question, Response, Sampling, Verdict
from livek12.core.run.folder import RunFolder
from livek12.core.run.journal import JournalWriter
from livek12.core.run.sessions import STEM, Session
from livek12.core.run.spec import RunSpec, TaskSpec
from livek12.core.schemes import read_scheme
from livek12.evaluation.comparing import compare_runs
from livek12.report.compared import as_markdown
from tests.evaluation.labelled_runs import make_run
from tests.scripts.command import livek12_here

TASK = "livek12_text_only"
SUBJECTS = ("biology", "chemistry", "math", "physics")


def run_at(folder: Path, right: str, task: str = TASK, prompts: dict[int, int] | None = None) -> Path:
    """A run with one answer a letter: 1 right, 0 wrong, ? ungraded, - never given; `prompts`: tokens by number."""
    asked = [
        Question(
            id=f"q{number:03}",
            benchmark="livek12",
            language="en",
            subject=SUBJECTS[number % 4],
            question_type="short_answer",
            question="?",
            answer=["1"],
            points=5.0,
        )
        for number in range(len(right))
    ]
    tasks = [
        TaskSpec(
            name=task,
            version=1,
            modality="text_only",
            prompt_sha256="p",
            data="d",
            data_sha256="d",
            questions=len(asked),
            sampling=Sampling(),
        )
    ]
    run = RunFolder.create_or_resume(
        folder, RunSpec(model="m", engine="e", tasks=tasks, judges={task: "r"}), {task: asked}
    )
    with run.writer("responses") as responses, run.writer("verdicts") as verdicts:
        for question, letter in zip(asked, right, strict=True):
            if letter == "-":
                continue
            key, earned = Key(task=task, question_id=question.id), 5.0 * (letter == "1")
            tokens = (prompts or {}).get(int(question.id[1:]))
            responses.append(
                Response(key=key, text="1", finish_reason="stop", engine="e", model="m", prompt_tokens=tokens)
            )
            decision = {"1": "accept", "0": "reject", "?": "undecided"}[letter]
            part = PartVerdict.model_validate(
                {"answer": "1", "gold": "1", "decision": decision, "score": None, "decided_by": "number"}
            )
            verdicts.append(
                Verdict(
                    key=key,
                    state="ungraded" if letter == "?" else "graded",
                    parts=[part],
                    points=None if letter == "?" else earned,
                    low=earned,
                    high=5.0 if letter == "?" else earned,
                    max_points=5.0,
                    correct=None if letter == "?" else letter == "1",
                    judge="r",
                )
            )
    return folder


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    return run_at(tmp_path / "a", "11110000" * 3), run_at(tmp_path / "b", "1100?00-" * 3)


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("foo=bar", "write FIELD=VALUE[,VALUE]; the fields are benchmark, difficulty, exam, id, knowledge_point,"),
        ("foo", "the fields are benchmark, difficulty,"),
        ("subject=", "the fields are benchmark, difficulty,"),
        ("subject=history", "a: no question where subject=history: it has biology, chemistry, math, physics"),
        ("topic=sets", "a: no question where topic=sets: no question of it has any"),
        ("id=q999", "q011 and 12 more"),
    ],
)
def test_a_wrong_where_names_what_can_be_said(two: tuple[Path, Path], where: str, said: str) -> None:
    ended = livek12_here("compare", *two, "--where", where)
    assert ended.code == 2
    assert len(ended.errors) == 1
    assert said in ended.errors[0]


@pytest.mark.parametrize(
    ("where", "questions"),
    [("subject=math", 6), ("subject=math, physics", 12), ("points=5", 24), ("modality=text_only", 24), ("id=q003", 1)],
)
def test_where_takes_the_questions_with_one_of_the_values(two: tuple[Path, Path], where: str, questions: int) -> None:
    ended = livek12_here("compare", *two, "--where", where, "--json")
    assert ended.code == 0, ended.err
    assert f'"shared": {questions},' in ended.out
    assert "comparing" not in ended.err, "what is done at once is not announced"


NAMES = [
    "SmolLM2-135M-Instruct-Q4_K_M",
    "SmolLM2-360M-Instruct-Q4_K_M",
    "通义千问3-8B-Instruct-思考模式",
    "한국어-모델-엑사원-3.5-7.8B-Instruct",
    *(f"org__a-model-with-a-name-that-is-quite-long-{number}b-instruct" for number in range(6)),
    "GPT-5.5",
    "a",
]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Twelve runs, each of which has two questions more than the one before."""
    folder = tmp_path_factory.mktemp("many")
    return [run_at(folder / name, ("?-" * 3 + "1" * 2 * place + "0" * 40)[:40]) for place, name in enumerate(NAMES)]


def printed(runs: list[Path], width: int, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("COLUMNS", str(width))
    ended = livek12_here("compare", *runs)
    assert ended.code == 0, ended.err
    return ended.out


@pytest.mark.parametrize("width", [60, 80, 120, 200])
@pytest.mark.parametrize("count", [2, 3, 12])
def test_a_run_has_one_row_and_its_full_name_whatever_the_width(
    many: list[Path], count: int, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = many[-1:] + many[: count - 1]
    out = printed(runs, width, monkeypatch)
    lines = out.splitlines()
    assert max(cell_len(line.rstrip()) for line in lines if not re.match(r"\d+  \S+$", line)) <= width
    tables = [block for block in out.split("\n\n") if re.match(r" +run ", block)]
    assert tables
    for table in tables:
        rows = table.splitlines()[1:]
        assert [row.split()[0] for row in rows] == [str(number) for number in range(1, count + 1)]
    for run in runs:
        assert re.search(rf"^ *\d+  {re.escape(run.name)}( |$)", out, re.MULTILINE), "in a row, or below the table"
    assert len({cell_len(line) for line in tables[0].splitlines()}) == 1, "columns stand under each other"
    for heading in ("mark", "95 %", "tied with", "accuracy %", "ungraded", "no response"):
        assert heading in out
    pairs = re.findall(r"^ *(\d+) − (\d+) ", out, re.MULTILINE)
    expected = {(str(a), str(b)) for a in range(1, count + 1) for b in range(a + 1, count + 1)}
    if count == 12:
        assert "have all 66 pairs" in " ".join(out.split())
        expected = {pair for pair in expected if pair[0] == "1"}
    assert set(pairs) == expected


def test_names_that_are_cut_differ_where_they_differ(many: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [line for line in printed(many, 80, monkeypatch).split("\n\n")[1].splitlines() if "…" in line]
    shown = [row.split()[1] for row in rows]
    assert len(set(shown)) == len(shown) >= 8
    assert any(name.startswith("통") or name.startswith("한국어") for name in shown)


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({"a": "1" * 20 + "0" * 20, "b": "0" * 40}, "a is better than b: its mark is higher by 50 (95 % interval "),
        (
            {"a": "10" * 20, "b": "01" * 20},
            "The data cannot tell which is better: the mark of a minus that of b is 0 (",
        ),
        # decided questions alone would tell
        ({"a": "1" * 12 + "-" * 12, "b": "0" * 12 + "1" * 12}, "The data cannot tell which is better: the mark of a "),
        ({"a": "1" * 40, "b": "0" * 40, "c": "0" * 40}, "a is better than each of the others (p < 0.001 after Holm)."),
        (
            {"a": "1" * 40, "b": "1" * 39 + "0", "c": "0" * 40},
            "The data cannot tell which of a and b is the best.",
        ),
        ({"a": "10" * 20, "b": "01" * 20, "c": "1100" * 10}, "The data cannot tell any two of the runs apart."),
    ],
)
def test_a_sentence_says_who_is_better_and_whether_the_data_can_tell(
    answers: dict[str, str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [run_at(tmp_path / name, letters) for name, letters in answers.items()]
    heading, sentence = printed(runs, 200, monkeypatch).splitlines()[1:3]
    assert heading == f"{TASK}, {len(answers['a'])} questions"
    assert sentence.startswith(said)


def test_tasks_of_one_run_are_compared_with_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [run_at(tmp_path / "a", "10"), run_at(tmp_path / "b", "100", task="cfe_text")]
    out = printed(runs, 80, monkeypatch)
    assert "a alone has this task: there is nothing to compare it with." in out
    assert "b alone has this task" in out
    assert "pair by pair" not in out
    assert "Tied" not in out


def test_runs_that_asked_other_questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [run_at(tmp_path / "a", "1" * 30), run_at(tmp_path / "b", "0" * 20)]
    out = printed(runs, 80, monkeypatch)
    table = out.split("\n\n")[1].splitlines()
    assert "questions" in table[1]
    assert [line.split()[-1] for line in table[2:]] == ["30", "20"]
    assert re.search(r"1 − 2 +100 .* 20 +0$", out, re.MULTILINE), "on the 20 that both have"


def test_csv_has_the_numbers_of_json(many: list[Path]) -> None:
    runs = many[2:5]
    read: Any = json.loads(livek12_here("compare", *runs, "--json").out)["tasks"][TASK]
    rows = list(csv.DictReader(io.StringIO(livek12_here("compare", *runs, "--csv").out)))
    of_runs, of_pairs = ([row for row in rows if bool(row["minus"]) is pair] for pair in (False, True))
    assert [row["run"] for row in of_runs] == [run.name for run in runs]
    for row in of_runs:
        mark = read["metrics"]["mark"][row["run"]]
        assert (float(row["mark_low"]), float(row["mark_high"])) == (mark["low"], mark["high"])
        assert [float(row["mark_ci_low"]), float(row["mark_ci_high"])] == mark["ci"]
        counts = read["counts"][row["run"]]
        assert (int(row["questions"]), int(row["failed"])) == (counts["questions"], counts["failed"]) == (40, 3)
    for row, pair in zip(of_pairs, read["pairs"], strict=True):
        assert (row["run"], row["minus"]) == (pair["b"], pair["a"])
        found = pair["metrics"]["accuracy"]
        assert float(row["accuracy_low"]) == found["difference"]["low"]
        assert float(row["accuracy_p_holm"]) == found["test"]["p_holm"]


def test_markdown_has_all_runs_and_all_pairs_with_their_names(many: list[Path], tmp_path: Path) -> None:
    odd = run_at(tmp_path / "a|b*c", "1" * 40)
    out = livek12_here("compare", *many, odd, "--md").out
    tables = [block.splitlines() for block in out.split("\n\n") if block.startswith("|")]
    assert [len(table) for table in tables] == [2 + 13, 2 + 78]
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table}) == 1
    assert all(f"| {name} |" in out for name in NAMES)
    assert r"| a\|b\*c |" in out


def test_one_form_at_a_time(two: tuple[Path, Path]) -> None:
    for one, other in pairwise(("--json", "--csv", "--md", "--json")):
        ended = livek12_here("compare", *two, one, other)
        assert (ended.code, ended.errors) == (2, ["error: --json, --csv and --md: give one of them"])


def ran(run: Path, joules: float | None, **more: Any) -> None:
    """Gives a run a session of 100 seconds on one GPU, of which an older version or a bare driver tells no energy."""
    known = {"id": "1", "stage": "generate", "engine": "vllm", "model": "m", "host": "h", "pid": 1, "gpus": 1.0}
    energy = None if joules is None else [{"device": "GPU-1", "first": 500.0, "last": 500.0 + joules}]
    session = Session.model_validate({**known, "started": 0.0, "loaded": 10.0, "at": 110.0, "energy": energy, **more})
    with JournalWriter(run, STEM) as journal:
        journal.append(session)


def test_what_asking_took_is_compared_and_what_no_counter_told_is_not_measured(two: tuple[Path, Path]) -> None:
    a, b = two
    assert "What asking took" not in livek12_here("compare", a, b).out, "neither kept a session"
    ran(a, 216_000.0, busy=0.874, completion_tokens=123_400)
    ran(b, None)
    out = livek12_here("compare", a, b).out
    table = [line.split("  ") for line in out.partition("What asking took")[2].splitlines() if line.strip()]
    cells = {row[0]: [cell.strip() for cell in row[1:] if cell.strip()] for row in table[1:3]}
    assert cells == {"a": ["1,234.0", "87", "60", "1"], "b": ["not measured"] * 4}  # 12 answers of 5 points are right
    assert "| a | 1,234.0 | 87 | 60 | 1 |" in livek12_here("compare", a, b, "--md").out
    rows = list(csv.DictReader(io.StringIO(livek12_here("compare", a, b, "--csv").out)))
    assert [row["watt_hours"] for row in rows] == ["60.0", "", ""]
    read = json.loads(livek12_here("compare", a, b, "--json").out)
    assert read["usage"]["a"]["watt_hours_per_mark"] == [1.0, 1.0]
    assert "usage" not in json.loads(livek12_here("compare", a, b, "--json", "--where", "subject=math").out)


def test_a_report_says_what_asking_and_judging_took(two: tuple[Path, Path]) -> None:
    a, b = two
    ran(b, 54_000.0, busy=0.5, completion_tokens=1000)
    ran(b, None, id="2", stage="judge", started=200.0, loaded=210.0, at=220.0)
    report = livek12_here("report", b)
    lines = [
        "asking: 10.0 completion tokens a second; GPUs busy 50 % of the time; 15 Wh, 0.25 to 0.5 Wh per mark",
        "judging: tokens a second not measured; energy and busy share of GPUs not measured",
    ]
    assert all(line in " ".join(report.out.split()) for line in lines), report.out
    assert all(f"{line}." in (b / "report.html").read_text() for line in lines)
    assert "energy" not in livek12_here("report", a).out, "no engine of ours"


def test_runs_are_compared_by_kind_of_criterion(tmp_path: Path) -> None:
    method = {"id": "1", "points": 1, "text": "a", "kind": "method"}
    ways = [[method, {"id": "2", "points": 3, "text": "b"}], [{"id": "3", "points": 4, "text": "c", "kind": "answer"}]]
    scheme = read_scheme(ways)
    runs = [
        make_run(tmp_path / name, each=3, scheme=scheme, scores=scores).path
        for name, scores in (("a", (1.0, None, 0.0)), ("b", (1.0, 0.5, 1.0)))
    ]
    compared = compare_runs(runs)
    assert compared["kinds"] == {
        "a": {
            "method": {"criteria": 3, "low": 3.0, "high": 3.0, "of": 3.0},
            "other": {"criteria": 3, "low": 0.0, "high": 9.0, "of": 9.0},
        },
        "b": {"answer": {"criteria": 3, "low": 12.0, "high": 12.0, "of": 12.0}},
    }
    assert "| 100.0 (3) | 0.0–100.0 (3) |" in as_markdown(compared)
    assert "kinds" not in compare_runs([make_run(tmp_path / name).path for name in "cd"])


def test_prompt_tokens_are_of_the_same_inputs(tmp_path: Path) -> None:
    """One tokenizer needs twice the tokens; the second run lacks an answer and a count, the third states none."""
    planted = {n: 100 + n for n in range(4)}
    wordy = {n: 2 * count for n, count in planted.items() if n != 1}
    runs = [
        run_at(tmp_path / "terse", "1111", prompts=planted),
        run_at(tmp_path / "wordy", "111-", prompts=wordy),
    ]
    told = json.loads(livek12_here("compare", *runs, "--json").out)["tasks"][TASK]
    assert told["prompt_tokens"] == {"terse": 101, "wordy": 202}, "questions 0 and 2 have both counts"
    rows = list(csv.DictReader(io.StringIO(livek12_here("compare", *runs, "--csv").out)))
    assert [row["prompt_tokens"] for row in rows] == ["101.0", "202.0", ""]
    text = livek12_here("compare", *runs, "--md").out
    assert "prompt tokens" in text and "202.0" in text and "mean of one input" in text
    silent = run_at(tmp_path / "silent", "1111")
    assert "prompt_tokens" not in json.loads(livek12_here("compare", *runs, silent, "--json").out)["tasks"][TASK]
