"""`livek12 site`: what it holds, what it may never hold, what is made again, and what it costs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from livek12.core.errors import UserError
from livek12.core.records import Image, Key, PartVerdict, Question, Response, Source, Variant, Verdict, Vote
from livek12.core.rights import FORBIDDEN, NO_LICENCE
from livek12.core.run.folder import RunFolder
from livek12.core.run.spec import shown_model
from livek12.core.scoring.comparison import compare_tables
from livek12.dataset_builders.publishing.policy import refusal
from livek12.evaluation import site as making
from livek12.evaluation.comparing import compare_runs
from livek12.evaluation.reporting import score
from livek12.evaluation.site import KnownModel, SiteMade, SiteWishes, cost_of, make_site, ranking, read_models
from livek12.evaluation.site.reading import CUT_OFF, DISAGREE, NOT_EXTRACTED, UNDECIDED
from livek12.report.paper import anchor_of
from livek12.report.site import files as site_files
from livek12.report.site.files import LARGEST, SiteStore
from livek12.scripts.bench.common import made_run
from tests.scripts.command import livek12_here

TASK = "livek12_text_only"
MARKER = "Zq7planted"
OPEN = Source(licence="CC BY 4.0")


def asked(number: int, **fields: Any) -> Question:
    made: dict[str, Any] = {
        "id": f"q{number}", "benchmark": "livek12", "language": "en", "subject": "math", "release": "2605",
        "question_type": "fill_in_blank", "question": f"What is ${number}+1$?", "answer": [str(number + 1)],
        "points": 2.0, "number": str(number), "paper_id": "paper-a", "source": OPEN,
    }  # fmt: skip
    return Question(**{**made, **fields})


def marked(
    question: Question, said: str, right: bool | None, trial: int = 0, **fields: Any
) -> tuple[Response, Verdict]:
    key = Key(task=TASK, question_id=question.id, trial=trial)
    told = {
        "text": f"It is {said}.",
        "finish_reason": "stop",
        "completion_tokens": 40,
        "prompt_tokens": 20,
        "engine": "openai",
        "model": "m",
    }
    response = Response(key=key, **{**told, **fields.pop("response", {})})
    full = question.points or 1.0
    low, high = (0.0, full) if right is None else (full * right, full * right)
    part = PartVerdict(
        answer=said,
        gold="; ".join(question.answer),
        decision="undecided" if right is None else "accept" if right else "reject",
        score=None if right is None else float(right),
        decided_by="number",
    )
    verdict = Verdict(
        key=key, response_sha256=response.sha256, state="ungraded" if right is None else "graded",
        parts=[part.model_copy(update=fields)], points=None if right is None else low, low=low, high=high,
        max_points=full, correct=right, judge="rules-1+x",
    )  # fmt: skip
    return response, verdict


def run_of(
    path: Path,
    questions: list[Question],
    answers: Iterable[tuple[Response, Verdict]],
    model: str = "m",
    trials: int = 1,
) -> Path:
    said = [(response.model_copy(update={"model": model}), verdict) for response, verdict in answers]
    return made_run(path, {TASK: questions}, said, model, trials, engine="openai")


def simple(path: Path, model: str, rights: Iterable[bool | None], questions: list[Question]) -> Path:
    pairs = zip(questions, rights, strict=True)
    answers = [marked(q, q.answer[0] if right else f"{n}00", right) for n, (q, right) in enumerate(pairs)]
    return run_of(path, questions, answers, model)


def made(runs: list[Path], out: Path, **wishes: Any) -> SiteMade:
    return make_site(runs, out, SiteWishes(**{"refuses": refusal, **wishes}))


def read(out: Path, name: str) -> Any:
    return SiteStore(out).read(name)


def test_the_site_says_what_report_and_comparison_say(tmp_path: Path) -> None:
    questions = [asked(n) for n in range(1, 31)]
    runs = [
        simple(tmp_path / "good", "good", [n != 5 for n in range(30)], questions),
        simple(tmp_path / "poor", "poor", [n % 3 == 0 for n in range(30)], questions),
        simple(tmp_path / "open", "open", [None if n < 4 else True for n in range(30)], questions),
    ]
    made(runs, tmp_path / "site")
    front = read(tmp_path / "site", "front-0")
    compared = compare_runs(runs)["tasks"][TASK]
    for path in runs:
        for profile in ("article", "release"):
            report = score(RunFolder(path), profile)["tasks"][TASK]["metrics"]  # type: ignore[arg-type]
            for name in ("mark", "accuracy"):
                found = front[path.name]["tasks"][TASK]["metrics"][profile][name]
                assert found[:4] == pytest.approx(
                    [report[name]["low"], report[name]["high"], *report[name]["ci"]], abs=1e-4
                )
        for name in ("mark", "accuracy"):
            assert front[path.name]["tasks"][TASK]["ranks"][name] == compared["ranks"][name][path.name]
    assert front["open"]["tasks"][TASK]["undecided"] == pytest.approx(4 / 30)
    rows = json.loads((tmp_path / "site" / "table.json").read_text())
    assert {(row["run"], row["profile"]) for row in rows} == {(p.name, f) for p in runs for f in ("article", "release")}


def test_the_site_names_the_licences_and_addresses_of_what_it_shows(tmp_path: Path) -> None:
    sources = [OPEN, Source(licence="CC BY 4.0", url="https://a.org/b"), Source(licence="MIT", url="javascript:x()")]
    questions = [asked(n, source=source) for n, source in enumerate([*sources, Source(url="https://hidden.org")], 1)]
    made([simple(tmp_path / "run", "m", [True] * 4, questions)], tmp_path / "site")
    shown = read(tmp_path / "site", "site")["tasks"][TASK]["sources"]
    assert shown == [["CC BY 4.0", ""], ["CC BY 4.0", "https://a.org/b"], ["MIT", ""]]


def test_cells_warn_of_what_is_to_be_looked_at(tmp_path: Path) -> None:
    questions = [asked(n, answer=["sodium"]) for n in range(1, 6)]
    votes = [Vote(judge="a", decision="accept"), Vote(judge="b", decision="reject")]
    answers = [
        marked(questions[0], "sodium", True),
        marked(questions[1], "iron", False, response={"finish_reason": "length"}),
        marked(questions[2], "iron", False, answer=None, response={"text": "I would say it is sodium"}),
        marked(questions[3], "sodium", True, votes=votes),
        marked(questions[4], "salt", None),
    ]
    answers = [(r, v.model_copy(update={"response_sha256": r.sha256})) for r, v in answers]
    made([run_of(tmp_path / "run", questions, answers)], tmp_path / "site")
    cells = read(tmp_path / "site", "runs/run")["cells"][TASK]
    found = [cells[anchor_of(TASK, question.id)][1][5] for question in questions]
    assert found == [0, CUT_OFF, NOT_EXTRACTED, DISAGREE, UNDECIDED]


def test_repeats_stand_in_one_cell(tmp_path: Path) -> None:
    question = asked(1)
    answers = [marked(question, "2", True, 0), marked(question, "3", False, 1), marked(question, "2", True, 2)]
    made([run_of(tmp_path / "run", [question], answers, trials=3)], tmp_path / "site")
    piece, *trials = read(tmp_path / "site", "runs/run")["cells"][TASK][anchor_of(TASK, "q1")]
    assert [cell[0] for cell in trials] == [1, 0, 1]
    assert read(tmp_path / "site", f"answers/run~p{piece}")[anchor_of(TASK, "q1")].count('class="marking"') == 3


HIDING = [
    pytest.param({"release": "2611"}, id="a release that is held back"),
    pytest.param({"source": Source(licence="All rights reserved")}, id="rights that forbid it"),
    pytest.param({"source": Source(licence="not stated")}, id="no licence"),
    pytest.param({"translation_of": "held"}, id="a translation of what is held back"),
    pytest.param({"variant": Variant(of="held", kind="dynamic")}, id="a variant of what is held back"),
]


@pytest.mark.parametrize("how", HIDING)
def test_nothing_of_a_hidden_question_is_in_any_file(tmp_path: Path, how: dict[str, Any]) -> None:
    """A marker in every text, name and picture of the question and of all that was answered to it."""
    texts = {name: f"{MARKER} {name}" for name in ("question", "solution", "paper_id", "exam")}
    picture = Image(bytes=_png(f"{MARKER} in a picture"), path=None)
    secret = asked(7, id=f"{MARKER}-id", answer=[MARKER], knowledge_points=[MARKER], images=[picture], **texts, **how)
    held = asked(8, id="held", release="2611", question=f"{MARKER} of the original", answer=[MARKER])
    questions = [asked(1), secret, held, asked(2)]
    votes = [Vote(judge="a", decision="accept", reason=MARKER, raw=MARKER)]
    runs = []
    for name in ("one", "two", "three"):
        answers = [marked(q, q.answer[0], True, votes=votes if MARKER in q.answer else []) for q in questions]
        runs.append(run_of(tmp_path / name, questions, answers, name))
    found = made(runs, tmp_path / "site", held=["2611"])
    assert found.hidden == 2
    pattern = MARKER.encode()
    files = [file for file in (tmp_path / "site").rglob("*") if file.is_file()]
    assert len(files) > 20
    assert [file for file in files if pattern in file.read_bytes() or MARKER in str(file)] == []
    _hunt_in_parquet(tmp_path / "site" / "questions.parquet")
    assert [file.name for file in files if file.parent.name == "images"] == []
    cells = read(tmp_path / "site", "runs/one")["cells"][TASK]
    assert cells[anchor_of(TASK, secret.id)] == [-1, [1, 1, 1, 1, 0, 0, 40, None]]
    assert cells[anchor_of(TASK, "q1")][1][7] == ["2"]


class TestPages:
    @pytest.fixture
    def tasks(self) -> str:
        return "kmmmu"

    @pytest.mark.slow
    def test_a_page_with_a_hidden_question_is_not_shown(self, run: RunFolder, tmp_path: Path) -> None:
        """Questions 4 to 9 are on page 2: hiding one takes the page away, with the other five left as text."""
        made([run.path], tmp_path / "all", refuses=lambda question: "")
        made([run.path], tmp_path / "site", refuses=lambda question: "" if question.number != "5" else NO_LICENCE)
        whole, rest = (_by_number(tmp_path / name) for name in ("all", "site"))
        assert {number: [place["page"] for place in piece["places"]] for number, piece in whole.items()} == {
            **{number: [1] for number in "123"}, **{number: [2] for number in "456789"},
        }  # fmt: skip
        assert {number: [place["page"] for place in piece["places"]] for number, piece in rest.items()} == {
            **{number: [1] for number in "123"}, **{number: [] for number in "46789"},
        }  # fmt: skip
        shown = {file.name for file in (tmp_path / "site" / "images").iterdir()}
        gone = {place["file"].removeprefix("images/") for place in whole["5"]["places"]}
        assert gone
        assert not gone & shown
        assert 'class="picture"' in whole["1"]["asked"]


def _by_number(site: Path) -> dict[str, Any]:
    index = read(site, read(site, "site")["tasks"]["kmmmu"]["index"][0])
    return {entry["n"]: read(site, entry["piece"])[anchor] for anchor, entry in index.items() if not entry["why"]}


def test_what_becomes_hidden_leaves_the_site(tmp_path: Path) -> None:
    questions = [asked(1), asked(2, release="2611", question=MARKER)]
    run = simple(tmp_path / "run", "m", [True, True], questions)
    made([run], tmp_path / "site")
    assert any(MARKER.encode() in file.read_bytes() for file in (tmp_path / "site").rglob("*.js"))
    made([run], tmp_path / "site", held=["2611"])
    assert not any(MARKER.encode() in file.read_bytes() for file in (tmp_path / "site").rglob("*") if file.is_file())


def test_keys_of_another_data_set_hide_what_they_marked(tmp_path: Path) -> None:
    """A run on a release without its answers, marked by those of the private data set."""
    keyless = asked(3, answer=[])
    response, verdict = marked(keyless, MARKER, True, gold=MARKER)
    judge = "rules-1+x keys+abc"
    run = run_of(tmp_path / "run", [keyless], [(response, verdict.model_copy(update={"judge": judge}))])
    RunFolder(run).begin_marking({TASK: judge}, {judge: "rules"}, 1)
    assert made([run], tmp_path / "site").hidden == 1
    assert not any(MARKER.encode() in file.read_bytes() for file in (tmp_path / "site").rglob("*") if file.is_file())


def test_a_data_set_that_holds_a_release_back_says_so_itself(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "held_back.json").write_text('{"release": "2611", "repo": "org/vault"}')
    questions = [asked(1, release="2611", question=MARKER)]
    run = simple(tmp_path / "run", "m", [True], questions)
    spec = json.loads((run / "run.json").read_text())
    spec["tasks"][0]["data"] = str(data)
    (run / "run.json").write_text(json.dumps(spec))
    assert made([run], tmp_path / "site").hidden == 1


def test_only_what_changed_is_made_again(tmp_path: Path) -> None:
    questions = [asked(n) for n in range(1, 26)]
    runs = [simple(tmp_path / f"r{n}", f"m{n}", [k % (n + 2) > 0 for k in range(25)], questions) for n in range(3)]
    first = made(runs, tmp_path / "site")
    assert (first.runs, first.read, first.questions) == (3, 3, 25)
    before = _files(tmp_path / "site")
    again = made(runs, tmp_path / "site")
    assert (again.read, again.written) == (0, 0)
    assert _files(tmp_path / "site") == before
    more = simple(tmp_path / "r9", "m9", [True] * 25, questions)
    added = made([*runs, more], tmp_path / "site")
    assert added.read == 1
    changed = {name for name, time in _files(tmp_path / "site").items() if before.get(name) != time}
    kept = {
        name
        for name in before
        if name.startswith(("data/runs/r", "data/answers/", "data/exams/")) and "items" not in name
    }
    assert not changed & kept
    fresh = tmp_path / "fresh"
    made([*runs, more], fresh)
    assert {n: (fresh / n).read_bytes() for n in _files(fresh)} == {
        n: (tmp_path / "site" / n).read_bytes() for n in _files(tmp_path / "site")
    }
    os.utime(more / "verdicts-0.jsonl" if (more / "verdicts-0.jsonl").exists() else next(more.glob("verdicts-*")))
    assert made([*runs, more], tmp_path / "site").read == 1
    made(runs, tmp_path / "site")
    assert _files(tmp_path / "site").keys() == before.keys()


def never(question: Question) -> str:
    raise AssertionError("a question was looked at")


def test_an_unchanged_site_is_left_alone_and_any_change_is_seen(tmp_path: Path) -> None:
    questions, site = [asked(n) for n in range(1, 8)], tmp_path / "site"
    runs = [simple(tmp_path / f"r{n}", f"m{n}", [k % (n + 2) > 0 for k in range(7)], questions) for n in range(3)]
    first = made(runs, site, permits="")
    before = _files(site)
    again = made(runs, site, permits="", refuses=never)
    assert (again.runs, again.read, again.written) == (3, 0, 0)
    assert (again.questions, again.hidden) == (first.questions, first.hidden)
    assert _files(site) == before
    changes: list[dict[str, Any]] = [
        {"permits": "others"}, {"permits": "", "title": "new"}, {"permits": None},
        {"permits": "", "models": {"m1": KnownModel(released="2025")}},
    ]  # fmt: skip
    for wishes in changes:
        with pytest.raises(AssertionError, match="looked at"):
            made(runs, site, refuses=never, **wishes)
    with pytest.raises(AssertionError, match="looked at"):
        made(runs[:2], site, permits="", refuses=never)
    os.utime(runs[1] / "run.json", ns=(1, 1))
    with pytest.raises(AssertionError, match="looked at"):
        made(runs, site, permits="", refuses=never)
    made(runs, site, permits="")
    (site / "data" / "runs" / "r1.js").unlink()
    assert made(runs, site, permits="").read == 1
    assert _files(site).keys() == before.keys()
    assert made(runs, site, permits="", held=["2605"]).hidden == 7


def test_a_run_that_comes_in_is_tested_against_the_others_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked_for: list[Any] = []

    def watched(*given: Any) -> Any:
        asked_for.append(given[3])
        return compare_tables(*given)

    monkeypatch.setattr(ranking, "compare_tables", watched)
    questions, site = [asked(n) for n in range(1, 26)], tmp_path / "site"
    runs = [simple(tmp_path / f"r{n}", f"m{n}", [k % (n + 2) > 0 for k in range(25)], questions) for n in range(5)]
    made(runs[:4], site)
    made(runs, site)
    assert [len(couples) for couples in asked_for] == [6, 4]
    assert all("r4" in couple for couple in asked_for[1])
    monkeypatch.setattr(making, "_code", lambda: "of another version")
    made(runs, site)
    assert len(asked_for[2]) == 10
    ranks = {slug: run["tasks"][TASK]["ranks"] for slug, run in read(site, "front-0").items()}
    expected = compare_runs(runs)["tasks"][TASK]["ranks"]
    assert ranks == {slug: {metric: expected[metric][slug] for metric in ("mark", "accuracy")} for slug in ranks}


def test_ranks_of_resampled_exams_stand_in_the_site_and_its_table(tmp_path: Path) -> None:
    questions = [asked(n) for n in range(1, 31)]
    rights = {"good": 28, "fair": 18, "poor": 4}
    runs = [simple(tmp_path / name, name, [n < right for n in range(30)], questions) for name, right in rights.items()]
    made(runs, tmp_path / "site")
    rows = json.loads((tmp_path / "site" / "table.json").read_text())
    assert {row["run"]: row["stability"]["mark"] for row in rows} == {
        "good": [1, 1, 1], "fair": [2, 2, 2], "poor": [3, 3, 3],
    }  # fmt: skip
    assert {row["run"]: row["tied"]["mark"] for row in rows} == {"good": 1, "fair": 2, "poor": 3}


def test_runs_whose_names_begin_alike_do_not_mix(tmp_path: Path) -> None:
    names = ("a", "a-0", "a~2", "a~p0", "A b/a", "ü")
    runs = [simple(tmp_path / name, f"m{n}", [n % 2 == 0], [asked(1)]) for n, name in enumerate(names)]
    made(runs, tmp_path / "site")
    records = {slug: read(tmp_path / "site", f"runs/{slug}") for slug in read(tmp_path / "site", "site")["runs"]}
    assert [record["facts"]["model"] for record in records.values()] == [f"m{n}" for n in range(len(names))]
    assert len({*(tmp_path / "site" / "data" / "answers").iterdir()}) == len(names)
    made(runs[:1], tmp_path / "site")
    assert [file.name for file in (tmp_path / "site" / "data" / "answers").iterdir()] == ["a~p0.js"]
    assert [file.name for file in (tmp_path / "site" / "data" / "runs").iterdir()] == ["a.js"]


def test_a_changed_question_is_drawn_again(tmp_path: Path) -> None:
    questions = [asked(n) for n in range(1, 13)]
    run = simple(tmp_path / "a", "m", [True] * 12, questions)
    made([run], tmp_path / "site")
    other = [questions[0].model_copy(update={"question": "Another wording"}), *questions[1:]]
    changed = simple(tmp_path / "b", "m", [True] * 12, other)
    made([changed], tmp_path / "site")
    texts = "".join(file.read_text() for file in (tmp_path / "site" / "data" / "exams").glob("*.js"))
    assert "Another wording" in texts


def test_no_data_file_is_too_large_to_be_loaded_at_once(tmp_path: Path) -> None:
    store = SiteStore(tmp_path)
    names = store.pieces("front", ((f"run{n}", "x" * 100_000) for n in range(120)))
    names += store.pieces("tex", ((f"q{n}", "\\frac'\"" * 10_000) for n in range(60)))  # longer where it is written
    assert len(names) > 4
    assert max(file.stat().st_size for file in (tmp_path / "data").glob("*.js")) <= LARGEST
    assert sum(len(store.read(name)) for name in names) == 180
    with pytest.raises(UserError, match="more than a file of a site may have"):
        store.data("big", "x" * (LARGEST + 1))


def test_models_are_what_somebody_states(tmp_path: Path) -> None:
    file = tmp_path / "models.yaml"
    file.write_text("m: {released: 2025-08-01, parameters: 8.0e9, prices: {prompt: 1, completion: 2}}\nother: {}\n")
    known = read_models(file)
    assert known["m"].released == "2025-08-01"
    assert cost_of(known["m"], {"prompt": 1_000_000, "completion": 500_000}) == pytest.approx(2.0)
    assert cost_of(known["m"], {"prompt": 5}) is None
    assert cost_of(known["other"], {"prompt": 1, "completion": 1}) is None
    run = simple(tmp_path / "llama-2023-70B", "llama-2023-70B", [True], [asked(1)])
    made([run], tmp_path / "site")
    about = read(tmp_path / "site", "front-0")["llama-2023-70B"]["known"]
    assert {about[name] for name in ("released", "parameters", "licence", "name")} == {None}
    made([run], tmp_path / "site", models={"llama-2023-70B": KnownModel(released="2025", parameters=1e9)})
    assert read(tmp_path / "site", "front-0")["llama-2023-70B"]["known"]["released"] == "2025"


@pytest.mark.parametrize(
    "text",
    ["m: {released: soon}", "m: {size: 3}", "- m", "m: {prices: {prompt: -1, completion: 1}}", "m: [", "{" * 5000],
)
def test_a_list_of_models_that_cannot_be_is_refused_in_a_line(tmp_path: Path, text: str) -> None:
    file = tmp_path / "models.yaml"
    file.write_text(text)
    with pytest.raises(UserError) as error:
        read_models(file)
    assert "\n" not in str(error.value)
    assert "models.yaml" in str(error.value)


@pytest.mark.parametrize(
    ("licence", "why"),
    [
        ("CC BY-NC 4.0", ""), ("Apache-2.0", ""), ("MIT", ""), ("public domain", ""), ("공공누리 제1유형", ""),
        (None, NO_LICENCE), ("", NO_LICENCE), ("Not stated", NO_LICENCE), ("?", NO_LICENCE),
        ("© 2026 Board. All rights reserved.", FORBIDDEN), ("research only, do not redistribute", FORBIDDEN),
        ("版权所有，禁止转载", FORBIDDEN), ("무단 전재 및 재배포 금지", FORBIDDEN), ("may not be shared", FORBIDDEN),
        ("proprietary", FORBIDDEN),
    ],
)  # fmt: skip
def test_rights(licence: str | None, why: str) -> None:
    assert refusal(asked(1, source=Source(licence=licence))) == why


@pytest.mark.parametrize(
    ("model", "shown"),
    [("Qwen/Qwen3-8B", "Qwen/Qwen3-8B"), ("/home/me/secret/q8", "q8"), ("./m/x.gguf", "x.gguf"), (r"C:\m\x", "x")],
)
def test_a_place_on_a_disk_is_not_told(model: str, shown: str) -> None:
    assert shown_model(model) == shown


def test_the_command_makes_a_site_and_says_so(tmp_path: Path) -> None:
    runs = [simple(tmp_path / f"r{n}", f"m{n}", [True, n > 0], [asked(1), asked(2)]) for n in range(2)]
    ended = livek12_here("site", *runs, "--out", tmp_path / "site", "--json", "--title", "Two <b>models</b>")
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["runs"] == 2
    page = (tmp_path / "site" / "index.html").read_text()
    assert "Two &lt;b&gt;models&lt;/b&gt;" in page
    assert "http://" not in page.replace("http://www.w3.org", "")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "not a run folder"), (["{run}", "{run}"], "named twice"),
        (["{run}", "--out", "{full}"], "holds something else"), (["{run}", "--space", "noname"], "give ORG/NAME"),
        (["{run}", "--models", "{full}/x"], "cannot be read"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line(tmp_path: Path, arguments: list[str], said: str) -> None:
    full = tmp_path / "full"
    full.mkdir()
    (full / "x").write_text("[")
    run = simple(tmp_path / "run", "m", [True], [asked(1)])
    given = [one.format(run=run, full=full) for one in arguments]
    out = [] if "--out" in given else ["--out", tmp_path / "site"]
    ended = livek12_here("site", *given, *out)
    assert ended.code == 2
    assert len(ended.errors) == 1
    assert said in ended.err


def _files(folder: Path) -> dict[str, int]:
    return {
        str(f.relative_to(folder)): f.stat().st_mtime_ns
        for f in folder.rglob("*")
        if f.is_file() and f.name != "made.json"
    }


def _png(text: str) -> bytes:
    import io

    from PIL import Image as Pillow
    from PIL.PngImagePlugin import PngInfo

    about, buffer = PngInfo(), io.BytesIO()
    about.add_text("note", text)
    Pillow.new("L", (20, 20), 128).save(buffer, "PNG", pnginfo=about)
    return buffer.getvalue()


def _hunt_in_parquet(file: Path) -> None:
    import pyarrow.parquet as pq

    assert MARKER not in json.dumps(pq.read_table(file).to_pylist())


@pytest.fixture
def few(tmp_path: Path) -> Path:
    """A run of three answers."""
    return simple(tmp_path / "few", "few", [True, False, True], [asked(n) for n in range(1, 4)])


def test_nothing_is_deleted_or_written_through_a_link(few: Path, tmp_path: Path) -> None:
    out, elsewhere = tmp_path / "site", tmp_path / "elsewhere"
    made([few], out)
    (out / "images").rename(tmp_path / "images")
    elsewhere.mkdir()
    (elsewhere / "thesis.png").write_text("three years")
    (out / "images").symlink_to(elsewhere)
    with pytest.raises(UserError, match="images: is no folder of its own, but a link"):
        made([few], out, title="again")
    (out / "images").unlink()
    for name in ("data/runs", "index.html"):
        there = out / name
        kept = there.rename(tmp_path / "kept")
        there.symlink_to(elsewhere, target_is_directory=True)
        with pytest.raises(UserError, match=f"{name}: is "):
            made([few], out, title="again")
        there.unlink()
        kept.rename(there)
    assert [file.name for file in elsewhere.iterdir()] == ["thesis.png"]


def test_only_what_a_build_wrote_goes(few: Path, tmp_path: Path) -> None:
    out = tmp_path / "site"
    other = simple(tmp_path / "other", "other", [True], [asked(1)])
    made([few, other], out)
    (out / "images" / "mine.png").write_text("x")
    state = json.loads((out / "data" / "made.json").read_text())
    state["files"] |= {"../few/run.json": 1, "index.html": 1, "data/../../few/questions.jsonl": 1, "/etc/passwd": 1}
    (out / "data" / "made.json").write_text(json.dumps(state))
    made([few], out)
    assert not (out / "data" / "runs" / "other.js").exists()
    assert (out / "images" / "mine.png").exists()
    assert (out / "index.html").exists()
    assert {"run.json", "questions.jsonl"} <= {file.name for file in few.iterdir()}


@pytest.mark.parametrize("made_json", ["[]", '{"runs": [], "exams": 3, "files": "x"}', "{}", "nothing"])
def test_a_strange_list_is_none(few: Path, tmp_path: Path, made_json: str) -> None:
    out = tmp_path / "site"
    made([few], out)
    (out / "data" / "made.json").write_text(made_json)
    assert made([few], out).read == 1


@pytest.mark.parametrize("at", range(0, 40, 3))
def test_a_build_that_was_killed_is_begun_again(
    few: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """Before the file of that number is written; what it wrote and the next one does not is gone."""
    out, written = tmp_path / "site", 0
    real = site_files.write_atomically

    def killed(path: Path, *content: Any, **how: Any) -> None:
        nonlocal written
        written += 1
        if written > at:
            raise KeyboardInterrupt
        real(path, *content, **how)

    with monkeypatch.context() as patch:
        patch.setattr(site_files, "write_atomically", killed)
        with suppress(KeyboardInterrupt):
            made([simple(tmp_path / "secret", "secret", [True], [asked(9)])], out)
    made([few], out)
    assert not [file for file in out.rglob("*") if "secret" in file.name]
    assert not (out / "data" / ".written").exists()
    assert made([few], out).written == 0


def test_of_two_builds_at_once_one_is_told(few: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, told = tmp_path / "site", list[str]()
    real = making.write_tables

    def meanwhile(*given: Any) -> None:
        with pytest.raises(UserError) as refused:
            made([few], out)
        told.append(str(refused.value))
        real(*given)

    monkeypatch.setattr(making, "write_tables", meanwhile)
    made([few], out)
    assert told == [f"{out}: another command writes it; wait until it is done, or name another folder"]
    monkeypatch.undo()
    assert made([few], out).written == 0


def test_a_first_build_that_was_killed_at_once_is_begun_again(few: Path, tmp_path: Path) -> None:
    for left in ([], [".lock"], [".lock", "data/"], [".lock", "data/", "data/.made.json.0123"]):
        out = tmp_path / f"site{len(left)}"
        for name in left:
            (out / name).mkdir(parents=True) if name.endswith("/") else (out.mkdir(exist_ok=True), (out / name).touch())
        made([few], out)
    (tmp_path / "mine" / "data").mkdir(parents=True)
    (tmp_path / "mine" / "data" / "thesis.txt").write_text("x")
    with pytest.raises(UserError, match="holds something else than a site"):
        made([few], tmp_path / "mine")
