"""Names that mean something to JavaScript or HTML, or turn text round: none is lost, and none breaks the site."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from livek12.core.records import Key, Question, Sampling
from livek12.core.run.folder import RunFolder
from livek12.core.run.spec import RunSpec, TaskSpec
from livek12.core.visible import visible
from livek12.evaluation.site import KnownModel, SiteWishes, make_site
from livek12.report.paper import anchor_of
from livek12.report.site.files import SiteStore
from tests.evaluation.test_site import asked, marked
from tests.report.test_site_browser import Tab

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow
NAMES = (
    "__proto__", "constructor", "toString", "undefined", "2026",
    "it's \"quoted\" `so` \\", "</script><script>window.pwned=1</script>", "two\nlines\u2028and more",
    "\u202eright to left\u202c", "\u200fשלום", "%2F&task=x#/", "<b>bold</b>", "  ",
)  # fmt: skip
FEW, RUNS = 2, NAMES[::2]
TASKS = ("__proto__", "constructor", "undefined", "2026", "</script>'\"\n")


def questions() -> list[Question]:
    names = ("id", "subject", "difficulty", "paper_id", "exam")
    return [asked(n, release=f"26{n:02}", subsets=[name], **dict.fromkeys(names, name)) for n, name in enumerate(NAMES)]


def run_named(folder: Path, number: int, name: str) -> Path:
    """A run of all these questions in the first of the benchmarks, the first runs in all of them."""
    exam, tasks = questions(), TASKS[: 1 if number >= FEW else None]
    specs = [
        TaskSpec(
            name=task, version=1, modality="text_only", prompt_sha256="p" * 64, data="nowhere", data_sha256="d" * 64,
            questions=len(exam), sampling=Sampling(),
        )
        for task in tasks
    ]  # fmt: skip
    path = folder / name.replace("/", "")
    run = RunFolder.create_or_resume(
        path, RunSpec(model=name.strip() or "blank", engine="openai", tasks=specs), dict.fromkeys(tasks, exam)
    )
    with run.writer("responses") as responses, run.writer("verdicts") as verdicts:
        for task in tasks:
            for n, question in enumerate(exam):
                response, verdict = marked(question, name, (n + number) % 3 > 0, reason=name, response={"text": name})
                key = Key(task=task, question_id=question.id)
                response = response.model_copy(update={"key": key, "model": name})
                responses.append(response)
                verdicts.append(verdict.model_copy(update={"key": key, "response_sha256": response.sha256}))
    run.leave()
    return path


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("names")
    runs = [run_named(folder / "runs", n, name) for n, name in enumerate(RUNS)]
    licences = {path.name: KnownModel(licence=name, released="2025-01") for path, name in zip(runs, RUNS, strict=True)}
    make_site(runs, folder / "site", SiteWishes(refuses=lambda question: "", models=licences, title=NAMES[0]))
    return folder / "site"


@pytest.fixture
def tab(browser: Browser, site: Path) -> Iterator[Tab]:
    context = browser.new_context(offline=True)
    yield Tab(context.new_page(), site)
    context.close()


def test_every_run_and_every_benchmark_is_there(tab: Tab) -> None:
    tab.open("board")
    shown = tab.page.locator("table.board tbody th").all_text_contents()
    assert len(shown) == len(RUNS)
    assert {visible(name).strip() or "blank" for name in RUNS} == {name.split(" · ")[0].strip() for name in shown}
    heads = tab.page.locator("table.board thead th").all_text_contents()[1:]
    assert {head.strip(" ↓\n") for head in heads} == {task.strip() for task in map(visible, TASKS)}
    assert sum(mark != "–" for mark in tab.page.locator("table.board tbody td .red").all_text_contents()) >= len(RUNS)
    tab.assert_quiet()


def dear(names: tuple[str, ...], kept: int) -> list[Any]:
    """The first of them in each run of the tests, the others before a release."""
    return [name if n < kept else pytest.param(name, marks=pytest.mark.release) for n, name in enumerate(names)]


@pytest.mark.parametrize("task", dear(TASKS, 1))
def test_the_pages_of_a_benchmark_open(tab: Tab, task: str) -> None:
    t, anchor = quote(task, safe=""), anchor_of(task, NAMES[0])
    for view, there in {
        f"board?task={t}": "table.single tbody tr",
        f"heat?task={t}": ".heat-box",
        f"papers?task={t}": ".papers li",
        f"plots?task={t}&kind=subjects": "svg.plot",
        f"plots?task={t}&kind=ranks": "svg.plot",
        f"question?task={t}&q={anchor}": ".beside .answer-body",
        f"paper?task={t}&paper={paper_of(tab, task)}": ".sheet-table tbody tr",
    }.items():
        tab.open(view)
        assert tab.page.locator(there).count() > 0, view
        tab.assert_quiet()


def paper_of(tab: Tab, task: str) -> str:
    tab.open("board")
    return str(tab.page.evaluate("async (task) => [...(await livek12.exam(task)).questions.values()][0].paper", task))


def test_every_question_every_value_and_every_paper_is_there(tab: Tab, site: Path) -> None:
    for task in TASKS[1:3]:
        tab.open(f"papers?task={quote(task, safe='')}")
        assert tab.page.locator(".papers li").count() == len(NAMES)
    task = quote(TASKS[0], safe="")
    tab.open(f"board?task={task}")
    values = tab.page.locator(".choose select").nth(1).locator("option").evaluate_all("all => all.map((o) => o.value)")
    subjects = {visible(name) or "(none)" for name in NAMES}
    assert subjects <= set(values)
    script = """async ([task, name]) => {
      const { questions, told } = await livek12.filters.pick(task, new Map([["subject", name]]));
      return [questions.length, told.size];
    }"""
    for name in NAMES:
        assert tab.page.evaluate(script, [TASKS[0], visible(name)]) == [1, len(RUNS)], name
    tab.open(f"board?task={task}&subject=__proto__&difficulty=__proto__&subset=__proto__")
    tab.page.wait_for_selector("tbody[data-ranks=told]")
    assert tab.page.locator(".choose summary").inner_text().startswith(f"questions: 1 of {len(NAMES)}")
    tab.assert_quiet()


@pytest.mark.parametrize("name", dear(NAMES, 2))
def test_answers_and_keys_stand_on_the_question_page(tab: Tab, name: str) -> None:
    tab.open(f"question?task=constructor&q={anchor_of('constructor', name)}")
    assert tab.page.locator(".beside").count() == FEW
    assert tab.page.locator("h1").inner_text().startswith("Question")
    tab.assert_quiet()


@pytest.mark.parametrize("name", dear(("__proto__", "constructor", "toString", "undefined", "valueOf"), 1))
def test_an_address_of_such_a_page_is_one_that_does_not_exist(tab: Tab, name: str) -> None:
    for address in (
        name, f"board?lang={name}&metric={name}&profile={name}&size={name}&axis={name}&value=x", f"plots?kind={name}",
        f"heat?by={name}&order={name}&runs={name}", f"model?run={name}x", f"question?q={name}", f"graded?run={name}x",
        f"paper?paper={name}x",
    ):  # fmt: skip
        tab.open(address)
        assert tab.page.locator("h1").inner_text()
        assert tab.said == []


def test_a_data_file_gives_back_what_was_put_into_it(tmp_path: Path) -> None:
    store = SiteStore(tmp_path)
    value = {name: [name, {name: "\\'\"\n"}] for name in NAMES}
    store.data("x", value)
    assert store.read("x") == value
