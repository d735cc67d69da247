"""Adaptive exams: planted abilities come back, killed runs go on with the same questions, no mean passes for a mark."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from livek12.core.errors import UserError
from livek12.core.run.folder import RunFolder
from livek12.core.scoring.bank import (
    BankEstimate,
    BankItem,
    Curves,
    ExamEnd,
    ItemBank,
    fit_items,
    in_words,
    make_bank,
    read_bank,
    sit,
)
from livek12.evaluation import adaptive
from tests.scripts.command import Ended, livek12_here

TASK = "livek12_text_only_en"
AREAS = ("law", "math", "physics")
MODELS, QUESTIONS = 14, 300


def planted(seed: int, models: int, questions: int) -> Any:
    """Right (1) and wrong (0) answers of models of rising ability to questions of a two-parameter model."""
    rng = np.random.default_rng(seed)
    slope, level = rng.lognormal(0.2, 0.4, questions), rng.normal(-0.3, 1.4, questions)
    ability = np.linspace(-1.8, 1.8, models)
    chance = 1 / (1 + np.exp(-(ability[:, None] * slope + level)))
    return (rng.random((models, questions)) < chance).astype(float)


def items(questions: int, points: float = 1.0) -> list[BankItem]:
    return [
        BankItem(id=f"q{n:03}", area=AREAS[n % 3], worth=points, slope=1, level=0, answers=0) for n in range(questions)
    ]


def bank_of(answers: Any) -> ItemBank:
    return make_bank(TASK, [f"m{n}" for n in range(len(answers))], items(answers.shape[1]), answers)


@pytest.fixture(scope="module")
def matrix() -> Any:
    return planted(1, MODELS, QUESTIONS)


@pytest.fixture(scope="module")
def bank(matrix: Any) -> ItemBank:
    return bank_of(matrix)


def test_models_left_out_get_their_marks() -> None:
    answers, rng, worth = planted(1, 29, QUESTIONS), np.random.default_rng(0), np.ones(QUESTIONS)
    errors, at_random, inside = [], [], []
    for model in range(0, 29, 2):
        fit = fit_items(np.delete(answers, model, 0), worth)
        curves = Curves.of(fit.parameters, [AREAS[n % 3] for n in range(QUESTIONS)], worth, fit.shift, 0.01)
        standing, mark = sit(curves, answers[model], 40), answers[model].mean()
        errors.append(abs(standing.mark - mark))
        inside.append(errors[-1] < 1.96 * standing.mark_error)
        draws = [answers[model][rng.choice(QUESTIONS, 40, replace=False)].mean() for _ in range(20)]
        at_random.append(np.abs(np.array(draws) - mark).mean())
    assert np.mean(errors) < 0.03 < 0.045 < np.mean(at_random)
    assert sum(inside) >= len(inside) - 1


def test_a_bank_says_what_it_is(bank: ItemBank, matrix: Any, tmp_path: Path) -> None:
    assert list(bank.models.values()) == sorted(bank.models.values())
    assert bank.trial.models == MODELS and bank.trial.error < 4 and (bank.trial.tau or 0) > 0.8
    asked = [place for place, _ in bank.curves.choose({}, [], 30)]
    assert [bank.items[place].id for place in asked[:5]] == bank.anchors
    assert np.bincount([place % 3 for place in asked]).tolist() == [10, 10, 10], "areas have their shares"
    assert bank_of(matrix).version == bank.version
    file = tmp_path / "bank.json"
    file.write_text(bank.model_dump_json())
    assert read_bank(file) == bank
    file.write_text(bank.model_copy(update={"shift": 0.5}).model_dump_json())
    with pytest.raises(UserError, match="was changed since"):
        read_bank(file)


def test_unknown_answers_say_nothing(bank: ItemBank, matrix: Any) -> None:
    curves, answers = bank.curves, matrix[5]
    shares = {place: float(answers[place]) for place in range(30)}
    known = {place: share for place, share in shares.items() if place % 2}
    assert curves.estimate(known).ability_error > curves.estimate(shares).ability_error
    chosen = [place for place, _ in curves.choose(known, [*shares], 20)]
    assert set(chosen).isdisjoint(shares), "what is undecided is not asked twice"


@pytest.mark.parametrize(
    ("name", "answers", "is_told"),
    [
        ("good at one area alone", lambda x, rng: np.where(np.arange(QUESTIONS) % 3 == 0, 1.0, x * 0), True),
        ("like the bank's", lambda x, rng: x, False),
        ("guesses", lambda x, rng: (rng.random(QUESTIONS) < 0.1).astype(float), True),
        ("knows everything", lambda x, rng: np.ones(QUESTIONS), True),
    ],
)
def test_misfit_is_told(
    bank: ItemBank, matrix: Any, name: str, answers: Callable[[Any, Any], Any], is_told: bool
) -> None:
    standing = sit(bank.curves, answers(matrix[7], np.random.default_rng(3)), 50)
    assert (standing.misfit < 0.01 or standing.outside) == is_told, standing
    assert ("misfit" in in_words(standing)) == is_told
    if name == "guesses":
        assert abs(standing.mark - 0.1) < 0.12


@pytest.mark.parametrize(
    ("text", "error", "questions"), [("se=0.3", 0.3, None), ("n=50", None, 50), ("se=.25, n=9", 0.25, 9)]
)
def test_ends(text: str, error: float | None, questions: int | None) -> None:
    assert ExamEnd.parse(text) == ExamEnd(error, questions)
    assert ExamEnd.parse(text).reached(BankEstimate(0, 0.2, 0.5, 0.1, 1, ""), 50)
    assert not ExamEnd.parse(text).reached(BankEstimate(0, 0.9, 0.5, 0.1, 1, ""), 5)


@pytest.mark.parametrize("text", ["", "se=0", "n=0", "50", "n=5,n=6", "se=0.3,", "n=1e9"])
def test_wrong_ends(text: str) -> None:
    with pytest.raises(UserError, match=r"write se=0\.3"):
        ExamEnd.parse(text)


SMALL, FULL = 36, 5


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data, recorded answers of six models, full runs of five, and their bank."""
    here, answers = tmp_path_factory.mktemp("adaptive"), planted(2, FULL + 1, SMALL)
    (here / "source").mkdir()
    options = [{"label": letter, "text": f"choice {letter}"} for letter in "ABCD"]
    common = {"language": "en", "question_type": "single_choice", "answer": ["A"], "options": options}
    rows = [
        {"id": f"q{n:03}", "subject": AREAS[n % 3], "question": f"Which is right in {n}?", **common}
        for n in range(SMALL)
    ]
    (here / "source" / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert livek12_here("build", "livek12", "--source", here / "source", "--out", here / "data").code == 0
    for model, own in enumerate(answers):
        said = [{"question_id": f"q{n:03}", "response": f"The answer is {'BA'[int(x)]}."} for n, x in enumerate(own)]
        (here / f"m{model}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in said))
    for model in range(1, FULL + 1):
        assert asked(here, f"full{model}", model).code == 0
    full = [here / f"full{model}" for model in range(1, FULL + 1)]
    made = livek12_here("bank", *full, "--out", here / "bank.json", "--samples", here / "s.json", "--size", 6, "--json")
    assert made.code == 0 and json.loads(made.out)["questions"] == SMALL
    return here


def asked(desk: Path, out: str, model: int, *more: object) -> Ended:
    how = ("--model", desk / f"m{model}.jsonl", "--engine", "replay", "--data", desk / "data", "--out", desk / out)
    return livek12_here("run", "--task", TASK, *how, *more)


EXAM = ("--until", "n=14", "--batch", 4)


@pytest.fixture(scope="module")
def sat(desk: Path) -> Path:
    ended = asked(desk, "sat", 0, "--adaptive", desk / "bank.json", *EXAM)
    assert ended.code == 0, ended.err
    assert "14 of 36 questions" in ended.err and "predicted for the bank, 14 of 36" in " ".join(ended.out.split())
    return desk / "sat"


def test_an_adaptive_run_is_an_ordinary_folder(sat: Path) -> None:
    chosen, report = RunFolder.open(sat).choices(), json.loads((sat / "report.json").read_text())
    whys = [item.why for item in chosen if item.why is not None]
    assert [why.batch for why in whys] == [*[0] * 5, *[1] * 4, *[2] * 4, 3]
    assert all(why.information > 0 for why in whys) and whys[-1].error < whys[0].error
    metrics, counts = report["tasks"][TASK]["metrics"], report["tasks"][TASK]["counts"]
    assert counts["questions"] == 14 and metrics["mark"]["n"] == SMALL
    assert metrics["mark"]["note"].startswith("adaptive") and metrics["pass@1"]["low"] is None
    assert metrics["accuracy"]["value"] == pytest.approx(metrics["mark"]["value"] / 100)
    assert all(
        group["metrics"]["mark"]["low"] is None
        for values in report["tasks"][TASK]["groups"].values()
        for group in values.values()
    ), "the mean over chosen questions is nowhere"
    assert livek12_here("check", sat).code == 0
    again = livek12_here("score", sat, "--json")
    assert json.loads(again.out)["tasks"][TASK]["metrics"]["mark"] == metrics["mark"]


def test_it_is_compared_with_full_runs_and_on_a_site(sat: Path, desk: Path) -> None:
    compared = json.loads(livek12_here("compare", sat, desk / "full1", desk / "full5", "--json").out)
    task = compared["tasks"][TASK]
    (first, last, other) = task["pairs"]
    assert first["metrics"]["mark"]["test"]["name"] == last["metrics"]["mark"]["test"]["name"] == "predicted"
    assert other["metrics"]["mark"]["test"]["name"] != "predicted"
    assert first["metrics"]["mark"]["difference"]["low"] == pytest.approx(
        task["metrics"]["mark"]["full1"]["low"] - task["metrics"]["mark"]["sat"]["low"]
    )
    assert last["metrics"]["mark"]["test"]["p"] < 0.05, "the weakest and the strongest"
    assert task["ranks"]["mark"]["full5"] == [1, 1]
    part = json.loads(livek12_here("compare", sat, desk / "full1", "--where", "subject=math", "--json").out)
    assert part["tasks"][TASK]["metrics"]["mark"]["sat"]["low"] is None
    site = livek12_here("site", sat, desk / "full1", desk / "full5", "--out", desk / "site")
    assert site.code == 0, site.err
    rows = {row["run"]: row for row in json.loads((desk / "site" / "table.json").read_text())}
    assert rows["sat"]["ranks"]["mark"] == [2, 3] and rows["sat"]["tied"]["mark"] == 2


@pytest.mark.parametrize(
    "command",
    [
        ("export", "--to", "eee", "--out", "{out}"),
        ("export", "--to", "eval-results", "--out", "{out}", "--data-repo", "a/b"),
        ("study", "stability", "{full}"),
        ("study", "contamination", "{full}"),
    ],
)
def test_means_over_chosen_questions_are_refused(
    command: tuple[str, ...], sat: Path, desk: Path, tmp_path: Path
) -> None:
    words = [word.format(out=tmp_path / "out", full=desk / "full1") for word in command]
    ended = livek12_here(*words, sat)
    assert ended.code == 2 and len(ended.errors) == 1
    assert "sat: is an adaptive run (14 of 36 questions, chosen for its model)" in ended.err
    assert not (tmp_path / "out").exists()


def killed(*args: object, **more: object) -> None:
    raise RuntimeError("killed")


MOMENTS: dict[str, tuple[Any, str]] = {
    "before a batch is stored": (RunFolder, "ask_further"),
    "before it is asked": (adaptive.Adaptive, "_next"),
    "before it is marked": (adaptive.Adaptive, "_standing"),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_killed_exam_goes_on_with_the_same_questions(
    moment: str, sat: Path, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name = MOMENTS[moment]
    plain, seen = getattr(owner, name), [0]

    def until_then(*args: Any, **more: Any) -> Any:
        seen[0] += 1
        return plain(*args, **more) if seen[0] <= 2 else killed()

    out = f"killed-{name}"
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, until_then)
        with pytest.raises(RuntimeError, match="killed"):
            asked(desk, out, 0, "--adaptive", desk / "bank.json", *EXAM)
    if moment == "before a batch is stored":
        pushed = livek12_here("push", desk / out, (desk / "pushed").as_uri(), "--hold", "none")
        assert pushed.code == 2 and "its adaptive exam is not over" in pushed.err, pushed
    assert asked(desk, out, 0, "--adaptive", desk / "bank.json", *EXAM).code == 0
    assert (desk / out / "questions.jsonl").read_bytes() == (sat / "questions.jsonl").read_bytes()
    responses = [json.loads(line)["key"] for file in (desk / out).glob("responses-*") for line in file.open()]
    assert len(responses) == 14 == len({key["question_id"] for key in responses}), "nothing is asked twice"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--until", "n=5"), "go with --adaptive"),
        (("--adaptive", "{bank}"), "needs its end"),
        (("--adaptive", "{bank}", "--until", "soon"), "write se=0.3"),
        (("--adaptive", "{bank}", "--until", "n=5", "--limit", "3"), "leave --limit out"),
        (("--adaptive", "{data}", "--until", "n=5"), "no such item bank"),
        (("--adaptive", "{bank}", "--until", "n=9"), "holds another run"),
    ],
)
def test_what_cannot_be_is_one_line(options: tuple[str, ...], problem: str, sat: Path, desk: Path) -> None:
    args = [each.format(bank=desk / "bank.json", data=desk / "data") for each in options]
    ended = asked(desk, "sat", 0, *args)
    assert ended.code == 2 and len(ended.errors) == 1 and problem in ended.err


def test_a_bank_needs_full_runs(sat: Path, desk: Path) -> None:
    for runs, problem in (((sat,), "no run has a decided answer"), ((desk / "full1",), "answers of 5 or more")):
        ended = livek12_here("bank", *runs, "--out", desk / "other.json")
        assert ended.code == 2 and problem in ended.err
    full = [desk / f"full{model}" for model in range(1, FULL + 1)]
    assert livek12_here("bank", *full, sat, "--out", desk / "exposed.json").code == 0
    exposed = read_bank(desk / "exposed.json")
    assert sum(item.exposure for item in exposed.items) == 14
    places = json.loads((desk / "s.json").read_text())[TASK]
    assert len(places) == 6 and places == sorted(places)
