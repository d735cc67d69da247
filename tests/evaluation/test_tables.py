"""Tables of the articles: their numbers are those of the report, what is missing has its reason, names are harmless."""

from __future__ import annotations

import csv
import io
import json
import random
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from livek12.core.errors import UserError
from livek12.core.records import Attributes, Flags, Key, Process, Question, Response, Variable, Verdict
from livek12.core.scoring import Row
from livek12.core.scoring.outcomes import Outcome, Slim
from livek12.core.scoring.schema import Estimate
from livek12.evaluation.article_tables import COUNTS, SHAPES, article_tables, shape_named
from livek12.evaluation.studies.corrected import MarkNoise, mark_noise
from livek12.evaluation.studies.labels import Label
from livek12.report.html import as_page
from livek12.report.tables import ArticleTable, TableShown, as_csv, as_text, latex_text, written
from tests.conftest import ROOT
from tests.scored import score
from tests.scripts.command import livek12_here

NOTHING: Estimate = {
    "low": None, "high": None, "value": None, "ci": None, "unit": None, "clusters": None, "n": 700, "std": None,
    "note": None,
}  # fmt: skip
HOSTILE = r"<script>alert(1)</script> \input{/etc/passwd} | # % $x$ & _ ^ ~ {"


def answer(task: str, number: int, right: bool, trial: int = 0, process: Process | None = None, **fields: Any) -> Row:
    benchmark = task.partition("_")[0]
    question = Question(
        **{
            "id": f"q{number}",
            "benchmark": benchmark,
            "language": {"kmmmu": "ko", "cfe": "en"}.get(benchmark, "zh"),
            "subject": "math",
            "question_type": "short_answer",
            "question": "?",
            **fields,
        }
    )
    key = Key(task=task, question_id=question.id, trial=trial)
    response = Response(key=key, text="a", engine="replay", model="m", completion_tokens=100)
    points = float(right)
    verdict = Verdict(
        key=key, state="graded", points=points, low=points, high=points, max_points=1, correct=right, judge="j",
        process=process,
    )  # fmt: skip
    return Row(task, question, trial, "graded", response, verdict)


def slim(rows: Iterable[Row]) -> list[Outcome]:
    return list(map(Slim(), rows))


def kmmmu(shift: int = 0, task: str = "kmmmu") -> list[Row]:
    """60 questions of three macro subjects, a third of them hard, a quarter Korean, two trials."""
    return [
        answer(
            task, n, (n * 7 + shift + trial) % 5 > 1, trial,
            attributes=Attributes(macro_subject=("Law", "Arts", "CS")[n % 3], task=("Recall", "Logic")[n % 2]),
            subsets=["hard"] if n % 3 == 0 else [],
            flags=Flags(is_korean_specific=n % 4 == 0),
        )
        for n in range(60)
        for trial in range(2)
    ]  # fmt: skip


def one(name: str, *runs: list[Row]) -> ArticleTable:
    (table,) = article_tables({f"m{n}": slim(rows) for n, rows in enumerate(runs)}, [shape_named(name)]).tables
    return table


def test_cells_are_the_numbers_of_the_report() -> None:
    rows = kmmmu()
    report = score(rows)["tasks"]["kmmmu"]
    for name, axis in (("kmmmu-3", "macro_subject"), ("kmmmu-19", "task")):
        table = one(name, rows, kmmmu(1))
        assert table["rows"] == ["m0", "m1"]
        groups = {column["head"][0]: cell for column, cell in zip(table["columns"], table["cells"][0], strict=True)}
        assert groups.pop("Overall") == report["metrics"]["accuracy"]
        assert groups == {value: group["metrics"]["accuracy"] for value, group in report["groups"][axis].items()}
    hard = one("kmmmu-4", rows)["cells"][0][-1]
    assert hard == report["groups"]["subset"]["hard"]["metrics"]["accuracy"]
    true, share, false, other, delta = one("kmmmu-21", rows)["cells"][0]
    assert (true["value"], false["value"]) == (15, 45)
    assert delta == report["deltas"]["accuracy/korean_specific/true-false"]
    assert delta["value"] == pytest.approx((share["value"] or 0) - (other["value"] or 0))


def test_a_judge_and_labels_that_err_are_carried_into_every_accuracy() -> None:
    """Planted: a judge of sensitivity 0.9 and specificity 0.75, and labels that flip in 8 of 100."""
    rng = random.Random(5)
    truth = [(name, rng.random() < share) for name, share in (("Law", 0.7), ("Arts", 0.3)) for _ in range(800)]
    rows = [
        answer("kmmmu", n, rng.random() < (0.9 if right else 0.25), attributes=Attributes(macro_subject=name))
        for n, (name, right) in enumerate(truth)
    ]
    labels = [
        (Label(row.question.id, right ^ (rng.random() < 0.08), None, "kmmmu", 0, rater), row)
        for (_, right), row in rng.sample(list(zip(truth, rows, strict=True)), 500)
        for rater in ("ann", "bob")
    ]
    noise = mark_noise("m", rows, labels)
    assert noise.doubles == 500 and noise.splits / 500 == pytest.approx(2 * 0.08 * 0.92, abs=0.04)
    (table,) = article_tables({"m": slim(rows)}, [shape_named("kmmmu-3")], noise={"m": noise}).tables
    heads = [" ".join(column["head"]) for column in table["columns"]]
    cells = dict(zip(heads, table["cells"][0], strict=True))
    assert heads == [f"{part} {what}" for part in ("Arts", "Law", "Overall") for what in ("Acc", "Acc corrected")]
    for part in ("Overall", "Arts", "Law"):
        share = [right for name, right in truth if part in ("Overall", name)]
        plain, corrected = cells[f"{part} Acc"], cells[f"{part} Acc corrected"]
        low, high = corrected["ci"] or (1, 0)
        assert low < sum(share) / len(share) < high and high - low > 1.2 * (
            (plain["ci"] or [0, 0])[1] - (plain["ci"] or [0])[0]
        )
        assert corrected["value"] == pytest.approx(sum(share) / len(share), abs=0.06)
    assert (cells["Arts Acc"]["ci"] or [0])[0] > 0.3 + 0.05, "the judge alone calls many wrong answers right"
    assert "Acc corrected" in as_text([written(table, True)], "latex")


def test_the_interval_of_a_corrected_mark_holds_the_truth() -> None:
    rng, held = np.random.default_rng(0), 0
    for _ in range(200):
        right = rng.random(700) < 0.6
        judge = rng.random(700) < np.where(right, 0.85, 0.2)
        first, other = (right[:250] ^ (rng.random(250) < 0.1) for _ in range(2))
        sensitivity, specificity = judge[:250][first].mean(), 1 - judge[:250][~first].mean()
        noise = MarkNoise(sensitivity, specificity, first.sum(), (~first).sum(), 250, (first ^ other).sum())
        share = float(judge.mean())
        reach = 1.96 * (share * (1 - share) / 700) ** 0.5
        low, high = (
            noise.corrected({**NOTHING, "low": share, "high": share, "ci": [share - reach, share + reach]})["ci"] or []
        )
        held += low <= 0.6 <= high
    assert held >= 185, "of 200 intervals of 95 %"


def test_two_ways_are_paired_as_in_the_report() -> None:
    rows = kmmmu() + kmmmu(2, "kmmmu_text_only")
    original, without, delta = one("kmmmu-9", rows)["cells"][0]
    assert original == score(rows)["tasks"]["kmmmu"]["metrics"]["accuracy"]
    assert delta["value"] == pytest.approx((without["value"] or 0) - (original["value"] or 0))
    assert delta["n"] == 60
    found = article_tables({"m": slim(kmmmu())}, SHAPES)
    assert "kmmmu-9" in found.missing, "there is no table of a difference that nobody asked for"


def test_a_question_counts_once_whichever_task_asked_it() -> None:
    rows = kmmmu()
    again = [answer("kmmmu_hard", n, False, subsets=["hard"]) for n in range(0, 60, 3)]
    assert one("kmmmu-3", rows + again) == one("kmmmu-3", rows)


def test_errors_are_counted_and_what_is_missing_has_its_reason() -> None:
    seen = Process(cie=1, lae=0, dre=2 / 3, errors=[], critics=["a", "b", "c"])
    rows = [
        answer("livek12_text_only", n, n % 2 == 0, process=seen if n < 4 else None, subsets=["rigorous_process"])
        for n in range(6)
    ]
    bare = [answer("livek12_text_only", n, True, subsets=["rigorous_process"]) for n in range(6)]
    table = one("livek12-rigorous-process", rows, bare)
    place = {tuple(column["head"]): n for n, column in enumerate(table["columns"])}
    cells = [table["cells"][0][place["Rigorous process", f"#{kind}"]] for kind in ("CIE", "LAE", "DRE")]
    assert [cell["value"] for cell in cells] == [4, 0, 4]
    assert cells[0]["note"] == "2 of 6 answers not audited"
    text = written(table)
    assert text["cells"][1][place["Rigorous process", "#CIE"]].startswith("–(")
    assert "no critics: nobody has audited the reasoning" in text["reasons"]
    assert not any(cell in {"", "0"} for cell, head in zip(text["cells"][1], text["heads"], strict=True) if "#" in head)


def test_languages_of_one_benchmark_are_rows() -> None:
    rows = [answer("livek12_text_only", n, True, paper_id="p") for n in range(4)]
    rows += [answer("livek12_text_only_en", 10 + n, False, language="en", paper_id="p-en") for n in range(4)]
    assert one("livek12-3", rows)["rows"] == ["m0 (en)", "m0 (zh)"]
    papers = one("livek12-exams", rows)
    assert papers["rows"] == ["p: m0 (zh)", "p-en: m0 (en)"]
    assert [row[0]["value"] for row in papers["cells"]] == [100, 0]


def test_names_are_data_in_every_format() -> None:
    rows = [answer("mdk12", n, True, subject=HOSTILE, difficulty="easy", year="2024") for n in range(3)]
    tables = article_tables({HOSTILE: slim(rows)}, [shape_named("mdk12-3")]).tables
    page = as_page(tables, {HOSTILE: HOSTILE})
    assert "<script" not in page and "default-src 'none'" in page
    shown = list(map(written, tables))
    latex, markdown = (as_text(shown, form) for form in ("latex", "md"))
    assert r"\input" not in latex and r"\textbackslash{}input\{/etc/passwd\}" in latex
    for line in markdown.splitlines():
        assert line.replace(r"\|", "").count("|") in (0, 4)
    assert "<script" not in markdown.replace(r"\<", "")
    (head, *lines) = csv.reader(io.StringIO(as_csv(tables)))
    assert {len(line) for line in lines} == {len(head)}


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("a_b & 5 %", r"a\_b \& 5 \%"),
        ("\\end{table}", r"\textbackslash{}end\{table\}"),
        ("x^2~y\n\nz", r"x\textasciicircum{}2\textasciitilde{}y z"),
        ("$#{}", r"\$\#\{\}"),
        ("[1em] *x", "{[}1em{]} {*}x"),  # behind the end of a line they are its arguments
        ("수학 语文", "수학 语文"),
    ],
)
def test_latex_holds_no_command_of_others(text: str, safe: str) -> None:
    assert latex_text(text) == safe


def test_a_difference_has_the_sign_of_its_article() -> None:
    rows = [answer("mdk12", n, True, difficulty="easy") for n in range(6)]
    rows += [answer("mdk12_dynamic", n, n > 3, difficulty="easy") for n in range(6)]
    table = one("mdk12-4", rows)
    place = {column["head"][0]: n for n, column in enumerate(table["columns"])}
    standard, dynamic, delta = (table["cells"][0][place[f"Easy: {name}"]] for name in ("Standard", "Dynamic", "Δ"))
    assert (standard["value"], dynamic["value"], delta["value"]) == pytest.approx((100, 100 / 3, 200 / 3))
    assert delta["ci"] and delta["ci"][0] < 200 / 3 < delta["ci"][1]
    hard = table["cells"][0][place["Hard: Δ"]]
    assert hard["low"] is None and hard["note"]


def test_years_are_told_by_difficulty_and_disciplines_with_theirs() -> None:
    rows = [
        answer("mdk12", n, n % 2 == 0, difficulty=("easy", "hard")[n % 2], year=("2016", "2025")[n // 2 % 2])
        for n in range(8)
    ]
    heads = {name: [column["head"] for column in one(name, rows)["columns"]] for name in ("mdk12-3", "mdk12-figure-4")}
    assert heads["mdk12-3"][0][-2:] == ["Overall", "Acc"]
    assert heads["mdk12-3"][1:] == [["Math", "Easy", "Acc"], ["Math", "Hard", "Acc"]]
    assert [head[:2] for head in heads["mdk12-figure-4"][:4]] == [
        ["Easy", "2016"], ["Easy", "2025"], ["Hard", "2016"], ["Hard", "2025"],
    ]  # fmt: skip


def test_what_is_all_of_one_kind_stands_there_once_under_its_name() -> None:
    rows = [answer("kmmmu", n, True, attributes=Attributes(task="Recall")) for n in range(4)]
    assert [column["head"] for column in one("kmmmu-19", rows)["columns"]] == [["Recall", "Acc"]]
    odd = [answer("livek12_text_only", n, True, subject="" if n else "math") for n in range(4)]
    assert [column["head"][0] for column in one("livek12-3", odd)["columns"]][::4] == ["Math", "All"]


def test_arl_is_out_of_100_as_its_article_prints_it() -> None:
    table = one("livek12-3", [answer("livek12_text_only", n, True) for n in range(4)])
    place = [column["metric"] for column in table["columns"]].index("ARL")
    raw = table["cells"][0][place]["value"]
    assert raw and float(written(table)["cells"][0][place].split()[0]) == pytest.approx(100 * raw, abs=0.05)


def modality(number: int, name: str, sub: str, right: bool, trial: int = 0) -> Row:
    places = Attributes(visual_modality=name, visual_subcategory=sub)
    return answer("kmmmu", number, right, trial, attributes=places, subsets=["hard"] if number < 90 else [])


def test_planted_error_rates_by_pictures() -> None:
    """Hard: of 30 diagrams 12 wrong, of 30 tables 3, of 9 charts 5, too few for a line; 2 trials; others are easy."""
    wrong = {
        ("Diagrams", "diagram_circuit"): (30, 12),
        ("Tables", "table_data"): (30, 3),
        ("Charts", "chart_line"): (9, 5),
    }
    rows, start = [modality(n, "Tables", "table_data", False) for n in range(90, 95)], 0
    for (name, sub), (count, errors) in wrong.items():
        rows += [modality(start + n, name, sub, n >= errors, trial) for n in range(count) for trial in range(2)]
        start += count
    rates = one("kmmmu-7", rows)
    cells = {tuple(c["head"]): cell["value"] for c, cell in zip(rates["columns"], rates["cells"][0], strict=True)}
    assert (cells["Diagrams", "Count"], cells["Diagrams", "Error"]) == (60, 24)
    assert cells["Diagrams", "Error rate"] == pytest.approx(0.4) and cells["Tables", "Error rate"] == pytest.approx(0.1)
    assert cells["Overall", "Error rate"] == pytest.approx(20 / 69)
    by_sub = written(one("kmmmu-25", rows))
    assert by_sub["rows"] == ["diagram_circuit: m0", "table_data: m0"], "nine questions are too few"
    assert by_sub["cells"][0][:2] == ["60", "24"] and by_sub["cells"][0][2].startswith("40 ")
    counts = one("kmmmu-14", rows)
    assert [cell["value"] for cell in counts["cells"][0]] == [9, 30, 35, 74]


def test_planted_releases_budgets_and_modes() -> None:
    exam = {"2025-06": {"math": 9, "physics": 6}, "2026-03": {"math": 5, "physics": 4}}
    audit = Process(cie=0, lae=0, dre=0, errors=[], critics=["a"])
    rows = [
        answer(
            "livek12_text_only", 100 * m + 10 * p + n, n < right, process=audit, release=release, subject=subject,
            points=5, subsets=["long_horizon"],
        )
        for m, (release, subjects) in enumerate(exam.items())
        for p, (subject, right) in enumerate(subjects.items())
        for n in range(10)
    ]  # fmt: skip
    table = one("livek12-13", rows)
    cells = {
        tuple(filter(None, c["head"])): cell["value"]
        for c, cell in zip(table["columns"], table["cells"][0], strict=True)
    }
    assert cells["2025-06", "Δ", "OES"] == pytest.approx(100 * (15 - 9) / 20)
    assert cells["2025-06", "Math", "Δ", "OES"] == pytest.approx(40)
    assert cells["2025-06", "Physics", "OES"] == pytest.approx(60) and ("2026-03", "Math", "Δ", "OES") not in cells
    single = article_tables({"m": slim(rows[:20])}, [shape_named("livek12-13")])
    assert "the questions are of one release" in single.missing["livek12-13"]
    curve = one("livek12-figure-5b", rows)
    assert [c["head"][0] for c in curve["columns"]][::9] == ["≤1.0", "≤0.1"]
    shares = [cell["value"] for cell in curve["cells"][0]]
    assert shares == pytest.approx([24 / 40] * 10), "no answer has over 3276 tokens"
    modes = {"it": slim(kmmmu()), "thinking": slim([answer("kmmmu", n, n < 54) for n in range(60)])}
    (gains,) = article_tables(modes, [shape_named("kmmmu-8")], pairs={"Base": ["it", "thinking"]}).tables
    instruct, thinking, gain = gains["cells"][0]
    assert gains["rows"] == ["Base"] and thinking["value"] == pytest.approx(0.9)
    assert gain["value"] == pytest.approx(0.9 - (instruct["value"] or 0))
    assert not article_tables(modes, [shape_named("kmmmu-8")]).tables


def test_knowledge_points_are_told_by_difficulty() -> None:
    rows = [answer("mdk12", n, n % 2 == 0, difficulty=("easy", "hard")[n // 10]) for n in range(20)]
    rows += [
        answer("mdk12_kprag", n, n % 10 < (8, 6)[n // 10], difficulty=("easy", "hard")[n // 10]) for n in range(20)
    ]
    table = one("mdk12-figure-5", rows)
    cells = {c["head"][0]: cell["value"] for c, cell in zip(table["columns"], table["cells"][0], strict=True)}
    assert [cells[f"{part}: Δ"] for part in ("Overall", "Easy", "Hard")] == pytest.approx([20, 30, 10])


MDK12_WAYS = ("", "_dynamic", "_kprag", "_kpref")
SUBSETS = ["hard", "complex_layout", "rigorous_process", "long_horizon"]


def of_every_kind() -> list[Row]:
    """Answers for each table of `SHAPES` and `COUNTS`, with names that mean something in LaTeX."""
    audit = Process(cie=1, lae=0, dre=0, errors=[], critics=["a"])
    places = Attributes(macro_subject=HOSTILE, task="a_b & 5 %", visual_modality="수학", visual_subcategory="[1em]*")
    ways = ("livek12", "livek12_image_only", "kmmmu", "kmmmu_text_only", *(f"mdk12{way}" for way in MDK12_WAYS))
    rows = [
        answer(
            task, n, n % 2 == 0, process=audit, subsets=SUBSETS, attributes=places, points=5, year=str(2020 + n % 2),
            flags=Flags(is_korean_specific=n % 3 == 0, has_text_in_image=True), release=f"2026-0{1 + n % 2}",
            difficulty=("easy", "medium", "hard")[n % 3], paper_id=f"p{n % 2}",
        )
        for task in ways
        for n in range(24)
    ]  # fmt: skip
    return rows + [
        answer("cfe_text", n, True, variables=[Variable(name="v", value="1", description="", type="numeric")])
        for n in range(3)
    ]


def test_every_table_is_sound_latex(tmp_path: Path) -> None:
    runs = {name: slim(of_every_kind()) for name in (HOSTILE, "b")}
    found = article_tables(runs, (*SHAPES, *COUNTS), pairs={"pair": [HOSTILE, "b"]})
    assert not found.missing
    text = as_text([written(table, True) for table in found.tables], "latex")
    tables = re.findall(r"\\begin\{tabular\}\{(l r*|l+r*)\}(.*?)\\end\{tabular\}", text, re.DOTALL)
    assert len(tables) == len(found.tables) == len(SHAPES) + len(COUNTS)
    for form, body in tables:
        for line in filter(lambda line: line.endswith(r" \\"), body.splitlines()):
            spans = [int(n) - 1 for n in re.findall(r"\\multicolumn\{(\d+)\}", line)]
            assert len(re.findall(r"(?<!\\)&", line)) + sum(spans) == len(form) - 1, line
    compiler = next(filter(shutil.which, ("xelatex", "lualatex", "tectonic")), None)
    if compiler is None:
        pytest.skip("no LaTeX that knows Unicode is installed: only the structure was looked at")
    signs = TableShown(HOSTILE, ["", "κ, τ", "± α → β", HOSTILE], [[HOSTILE, "Δ ≤ 5 %", "[1–2]·×", "R² …"]])
    paper = tmp_path / "tables.tex"
    text += as_text([written(signs)], "latex")
    paper.write_text("\\documentclass{article}\n\\begin{document}\n" + text + "\n\\end{document}\n")
    more = () if compiler == "tectonic" else ("-interaction=nonstopmode", "-halt-on-error")
    ended = subprocess.run(
        [compiler, *more, paper], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert ended.returncode == 0, ended.stdout[-2000:]


def test_what_cannot_be_is_one_line() -> None:
    with pytest.raises(UserError, match="unknown table 'x': choose one of livek12-3"):
        shape_named("x")
    with pytest.raises(UserError, match="no answers for a table: cfe-3"):
        article_tables({"m": slim(kmmmu())}, [shape_named("cfe-3")]).some()


def test_each_shape_has_a_name_of_its_own_and_metrics() -> None:
    assert len({shape.name for shape in (*SHAPES, *COUNTS)}) == len(SHAPES) + len(COUNTS)
    named = re.findall(
        r"`(?:tables --table )?((?:livek12|kmmmu|cfe|mdk12)-[\w-]+)", (ROOT / "docs/compare-runs.md").read_text()
    )
    assert {shape.name for shape in (*SHAPES, *COUNTS)} == set(named)
    assert all(block.metrics for shape in SHAPES for block in shape.blocks)
    assert all(len(shape.blocks) == 1 for shape in SHAPES if shape.rows_by)


@pytest.mark.slow
def test_the_command_on_a_run(tmp_path: Path) -> None:
    data, run = tmp_path / "data", tmp_path / "run"
    assert livek12_here("build", "sample", "--out", data).code == 0
    answers = tmp_path / "answers.jsonl"
    tasks = "cfe_text,cfe_multimodal,cfe,kmmmu,mdk12"
    from livek12.core.questions import load_questions
    from livek12.tasks.registry import get_tasks

    with answers.open("w") as lines:
        for task in get_tasks(tasks):
            for question in load_questions(data, task.configs, task.benchmark):
                said = {"task": task.name, "question_id": question.id, "response": "\\boxed{B}", "model": "m"}
                lines.write(json.dumps(said) + "\n")
    ended = livek12_here("run", "--task", tasks, "--data", data, "--model", answers, "--engine", "replay", "--out", run)
    assert ended.code == 0, ended.err
    ended = livek12_here("study", "tables", run)
    assert ended.code == 0 and "## CFE-Bench, tables 2 and 3" in ended.out and "Text + Multimodal" in ended.out
    found = json.loads(livek12_here("study", "tables", run, "--format", "json", "--table", "cfe-3").out)
    (table,) = found["tables"]
    report = json.loads((run / "report.json").read_text())["tasks"]
    cells = {(c["head"][0], c["metric"]): cell for c, cell in zip(table["columns"], table["cells"][0], strict=True)}
    for head, task in (("Text", "cfe_text"), ("Multimodal", "cfe_multimodal")):
        for metric in ("variable_accuracy", "question_accuracy"):
            assert cells[head, metric] == report[task]["metrics"][metric]
    asked = sum(report[task]["counts"]["questions"] for task in ("cfe_text", "cfe_multimodal"))
    assert cells["Text + Multimodal", "question_accuracy"]["n"] == asked == report["cfe"]["counts"]["questions"]
    both = {metric: cell for (head, metric), cell in cells.items() if head == "Text + Multimodal"}
    assert both == {metric: report["cfe"]["metrics"][metric] for metric in both}
    parts = report["cfe"]["groups"]["modality"]
    assert {part: group["questions"] for part, group in parts.items()} == {"text_only": 4, "text_image": 2}
    page = (run / "report.html").read_text()
    assert "In the tables of the articles" in page and "CFE-Bench, tables 2 and 3" in page
    assert livek12_here("study", "tables", run, "--format", "latex").out.count(r"\begin{table}") >= 4
    assert livek12_here("study", "tables", run, "--format", "docx").code == 2
