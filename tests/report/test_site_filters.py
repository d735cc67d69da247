"""The leaderboard under several filters at once: what the page computes is what scoring and `compare` say in Python."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from livek12.core.records import Question, Variant
from livek12.core.run.folder import RunFolder
from livek12.core.scoring.comparison import compare_outcomes
from livek12.core.scoring.outcomes import AXES, Outcome, Slim
from livek12.core.scoring.ranks import tied, told
from livek12.core.scoring.report import score_outcomes
from livek12.evaluation.site import KnownModel, SiteWishes, make_site
from tests.evaluation.test_site import TASK, asked, marked, run_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow
SUBJECTS, LEVELS = ("math", "physics", "constructor"), ("easy", "hard", None)
Filters = dict[str, str]


def exam() -> list[Question]:
    """120 questions of 12 papers and of none; ids in another order than the papers', some made from others."""
    made = []
    for n in range(120):
        of = f"q{(n - 1) * 37 % 211:03}" if n % 9 == 4 else None
        fields: dict[str, Any] = {
            "id": f"q{n * 37 % 211:03}",
            "subject": SUBJECTS[n % 3],
            "difficulty": LEVELS[n % 5 % 3],
            "release": "2605" if n < 70 else "2611",
            "subsets": ["long_reason", "hard one"][: n % 3],
            "language": "zh" if n % 4 == 0 else "en",
            "points": float(2 + n % 4),
            "paper_id": None if n >= 96 else f"paper-{n // 8}",
            "variant": Variant(of=of, kind="dynamic") if of else None,
        }
        made.append(asked(n, **fields))
    return made


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Nine runs of different strength: one with repeats, one with undecided answers, one of other questions."""
    folder, questions, made = tmp_path_factory.mktemp("runs"), exam(), []
    for number in range(9):
        draw, trials = random.Random(number), 3 if number == 2 else 1
        asked_here = questions[30:] if number == 5 else questions
        answers = []
        for place, question in enumerate(asked_here):
            for trial in range(trials):
                right: bool | None = draw.random() < 0.15 + 0.09 * number
                if number in (3, 7) and place % 6 == 0:
                    right = None
                answers.append(marked(question, str(place), right, trial, response={"completion_tokens": 40 + place}))
        made.append(run_of(folder / f"r{number}", asked_here, answers, f"org/m{number}", trials))
    return made


@pytest.fixture(scope="module")
def outcomes(runs: list[Path]) -> dict[str, list[Outcome]]:
    slim = Slim()
    return {path.name: [slim(row) for row in RunFolder(path).rows()] for path in runs}


@pytest.fixture(scope="module")
def page(browser: Browser, runs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    site = tmp_path_factory.mktemp("site") / "site"
    models = {f"r{n}": KnownModel(parameters=n * 2e9, licence="MIT") for n in range(9)}
    make_site(runs, site, SiteWishes(refuses=lambda question: "", models=models))
    page = browser.new_context(offline=True).new_page()
    page.goto((site / "index.html").as_uri())
    page.wait_for_selector("body[data-ready]")
    yield page
    page.context.close()


def chosen(outcomes: dict[str, list[Outcome]], filters: Filters) -> dict[str, list[Outcome]]:
    """The answers to the questions that have all these values, of the runs that have any."""

    def fits(outcome: Outcome) -> bool:
        return all(value in (outcome.question.on(axis) or ("(none)",)) for axis, value in filters.items())

    assert filters.keys() <= AXES.keys()
    found = {name: [one for one in rows if fits(one)] for name, rows in outcomes.items()}
    return {name: rows for name, rows in found.items() if rows}


COMPUTED = """async (filters) => {
  const picked = await livek12.filters.pick(Object.keys(livek12.site().tasks)[0], new Map(Object.entries(filters)));
  const found = await livek12.ranks.ranked(picked.runs), plain = (map) => Object.fromEntries(map);
  return {
    marks: plain([...picked.told].map(([slug, one]) => [slug, plain(one.marks)])),
    shares: plain([...picked.told].map(([slug, one]) => [slug, [one.undecided, one.tokens]])),
    pairs: found.pairs.map((pair) => [pair.a, pair.b, plain(pair.found)]),
    ranks: plain([...found.ranks].map(([metric, of]) => [metric, plain(of)])),
    tied: plain([...found.tied].map(([metric, of]) => [metric, plain(of)])),
  };
}"""
SEVERAL: list[Filters] = [
    {},
    {"subject": "math"},
    {"release": "2605", "subject": "constructor"},
    {"language": "en", "difficulty": "(none)"},
    {"subset": "hard one", "release": "2611"},
    {"release": "2611", "subject": "physics", "language": "en", "difficulty": "hard"},
]


@pytest.mark.parametrize("filters", SEVERAL, ids=lambda filters: "+".join(filters) or "all")
def test_marks_intervals_tests_and_ranks_are_those_of_python(
    page: Page, outcomes: dict[str, list[Outcome]], filters: Filters
) -> None:
    expected = compare_outcomes(some := chosen(outcomes, filters))["tasks"][TASK]
    found = page.evaluate(COMPUTED, filters)
    assert found["marks"].keys() == some.keys()
    for name, rows in some.items():
        for metric in ("mark", "accuracy"):
            one = expected["metrics"][metric][name]
            numbers = [one["low"], one["high"], *(one["ci"] or (None, None))]
            assert found["marks"][name][metric][:4] == pytest.approx(numbers, abs=1e-9)
        score = score_outcomes(rows)["tasks"][TASK]
        assert found["shares"][name][0] == pytest.approx(score["counts"]["ungraded"] / score["counts"]["answers"])
        assert found["shares"][name][1] == pytest.approx(score["tokens"]["completion"]["mean"])
    tested = {(pair["a"], pair["b"]): pair["metrics"] for pair in expected["pairs"]}
    for a, b, by_metric in found["pairs"]:
        for metric, one in by_metric.items():
            pair = tested[a, b][metric]
            assert one["p"] == pytest.approx(pair["test"]["p"], rel=1e-9)
            difference = pair["difference"]
            assert one["ends"] == pytest.approx(difference["ci"] or [difference["low"], difference["high"]], abs=1e-9)
    for metric, ranks in found["ranks"].items():
        assert ranks == expected["ranks"][metric]
        halves = {name: one["low"] + one["high"] for name, one in expected["metrics"][metric].items() if name in ranks}
        pairs = [(p["a"], p["b"], told(p["metrics"][metric])) for p in expected["pairs"] if p["shared"]]
        assert found["tied"][metric] == tied(sorted(halves, key=lambda name: -halves[name]), pairs)


def test_the_cases_reach_every_test_that_core_has(outcomes: dict[str, list[Outcome]]) -> None:
    names = {
        metric["test"]["name"]
        for filters in SEVERAL
        for pair in compare_outcomes(chosen(outcomes, filters))["tasks"][TASK]["pairs"]
        for metric in pair["metrics"].values()
    }
    assert names == {"mcnemar_exact", "clustered_t", "sign_flip"}


def test_sampled_signs_are_those_of_numpy(page: Page) -> None:
    """Three blocks of a size that leaves words over, and half a step of the generator between them."""
    from livek12.core.statistics import flip_signs

    script = """() => [...livek12.statistics.flipSigns(301)].map(
      ({ patterns, signs }) => [patterns, [...signs.slice(0, 40), ...signs.slice(-40)]],
    )"""
    blocks = [block.astype(int).ravel() for block in flip_signs(301, 9999, 0)]
    expected = [[len(block) // 301, [*block[:40].tolist(), *block[-40:].tolist()]] for block in blocks]
    assert len(expected) == 3
    assert page.evaluate(script) == expected


def rows_of(page: Page, address: str) -> dict[str, dict[str, str]]:
    """The leaderboard at an address: of each model its cells by their heads."""
    page.evaluate("address => { location.hash = address; }", f"#/board?task={TASK}&{address}")
    there = "a => location.hash === a && document.querySelector('tbody[data-ranks=told]')"
    page.wait_for_function(there, arg=f"#/board?task={TASK}&{address}")
    cells = "all => all.map((row) => [...row.cells].map((cell) => cell.innerText))"
    rows = page.locator("table.single tbody tr").evaluate_all(cells)
    heads = [re.sub(r"\W+$", "", head) for head in page.locator("table.single thead tr > *").all_inner_texts()]
    return {row[1]: dict(zip(heads, row, strict=True)) for row in rows}


def test_several_filters_have_one_address_and_the_table_shows_what_was_computed(
    page: Page, outcomes: dict[str, list[Outcome]]
) -> None:
    filters = {"release": "2611", "subject": "math"}
    some = chosen(outcomes, filters)
    expected = compare_outcomes(some)["tasks"][TASK]
    shown = rows_of(page, "release=2611&subject=math")
    assert len(shown) == 9
    for name in some:
        row, one = shown[f"org/m{name[1]}"], expected["metrics"]["mark"][name]
        assert float(row["mark of 100"].partition("–")[0]) == pytest.approx(one["low"], abs=0.051)
        low, high = map(float, row["95 % interval"].split("–"))
        assert [low, high] == pytest.approx(one["ci"], abs=0.051)
        best, worst = expected["ranks"]["mark"][name]
        assert row["rank"].split("\n")[1:] == ([f"{best}–{worst}"] if best != worst else [])
    many = len({one.question.id for rows in some.values() for one in rows})
    assert page.locator(".choose summary").inner_text() == f"questions: {many} of 120 · release 2611 · subject math"
    picked = [box.input_value() for box in page.locator(".choose select").all()]
    assert "2611" in picked
    assert "math" in picked
    page.locator(".choose select").first.select_option("2605")
    page.wait_for_url("**release=2605**")
    assert "subject=math" in page.url


def test_ranks_are_among_the_models_that_are_shown(page: Page, outcomes: dict[str, list[Outcome]]) -> None:
    """A filter of models leaves out whom it leaves out; a search only finds."""
    small = [f"r{n}" for n in range(3)]  # up to 4 billion parameters
    filters = {"language": "en"}
    some = chosen({name: outcomes[name] for name in small}, filters)
    expected = compare_outcomes(some)["tasks"][TASK]["ranks"]["mark"]
    shown = rows_of(page, "language=en&size=4")
    assert {name: shown[f"org/m{name[1]}"]["rank"].split("\n")[1:] for name in small} == {
        name: [f"{best}–{worst}"] if best != worst else [] for name, (best, worst) in expected.items()
    }
    assert rows_of(page, "language=en&size=4&find=m1") == {"org/m1": shown["org/m1"]}


def test_an_older_address_of_one_axis_still_says_the_same(page: Page) -> None:
    assert rows_of(page, "axis=subject&value=math") == rows_of(page, "subject=math")
