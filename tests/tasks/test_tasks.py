"""Which tasks there are, which questions each asks, and how many."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livek12.core.errors import UserError
from livek12.core.prompts import PromptFile, parse_prompt
from livek12.core.records import IMAGE_MARK, Image, Key, Option, Question, Response
from livek12.core.scoring import Parameters, Row
from livek12.core.scoring.formulas import RATIOS
from livek12.dataset_builders import build
from livek12.judges.cascade import default_cascade
from livek12.judges.grade import GradingConfig
from livek12.tasks.families import Family
from livek12.tasks.loading import Census, pinned, questions_of
from livek12.tasks.plugins.harness_task import harness_name, task_name
from livek12.tasks.prompting import build_request
from livek12.tasks.registry import all_tasks, families, find_task, get_task
from livek12.tasks.scorer import mark_response
from tests.scored import score
from tests.scripts.command import livek12_here
from tests.tasks.golden_messages import FOLDER, golden

FAMILIES = {family.base.name: family for family in families()}
NAMES = """livek12_text_only_zh_2605 livek12_en_complex_layout_2603 livek12_image_only_long_horizon livek12_2611
kmmmu_hard kmmmu_korean_specific kmmmu_text_only cfe_text cfe_multimodal mdk12_mini mdk12_physics_hard mdk12_true_false
mdk12_dynamic mdk12_kprag livek12_image_only_zh_rigorous_process_2603 mdk12_kprag_biology_easy_open_ended""".split()


@pytest.fixture
def sample(built_sample: Path) -> str:
    """The sample exam as a data set."""
    return str(built_sample)


@pytest.fixture(scope="module")
def monthly(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Three releases in two languages; one question is withdrawn, one is in a subset."""
    folder = tmp_path_factory.mktemp("monthly")
    rows = [
        {
            "id": f"{language}_{release}_math_{number:04}",
            "language": language,
            "set": release,
            "subject": "math",
            "question_type": "single_choice",
            "question": f"{words} {number} {release}",
            "options": [{"label": "A", "text": "1"}, {"label": "B", "text": "2"}],
            "answer": ["A"],
            "subset": ["complex_layout"] if number == 1 else [],
            **({"removed_in": "2605"} if (language, release, number) == ("zh", "2603", 2) else {}),
        }
        for language, words in (("zh", "下列各数中第几个最大"), ("en", "Which of these numbers is the largest"))
        for release, numbers in (("2603", 3), ("2605", 2), ("2611", 1 if language == "en" else 0))
        for number in range(1, numbers + 1)
    ]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    build("livek12", str(folder / "rows.jsonl"), folder / "data")
    return str(folder / "data")


def asked(task: str, data: str) -> set[str]:
    """The ids of the questions of a task; none where the data set has none."""
    try:
        return {question.id for question in questions_of(get_task(task), data)}
    except UserError as error:
        assert "\n" not in str(error)
        return set()


def choices(family: Family) -> st.SearchStrategy[list[str | None]]:
    """A word or none for each axis of a family."""
    words = [
        st.none() | st.sampled_from([*axis.words, *(["2603", "9912", "0001"] if axis.pattern else [])])
        for axis in family.axes
    ]
    return st.tuples(*words).map(list)


@given(st.sampled_from(sorted(FAMILIES)).flatmap(lambda name: st.tuples(st.just(name), choices(FAMILIES[name]))))
def test_names_and_tasks_are_inverse(chosen: tuple[str, list[str | None]]) -> None:
    base, words = chosen
    name = "_".join([base, *filter(None, words)])
    task = get_task(name)
    assert task.name == name
    assert task == FAMILIES[base].member(task.name) and task.benchmark == FAMILIES[base].base.benchmark
    assert task_name(harness_name(name)) == name
    for word in filter(None, words):
        assert task != get_task("_".join(part for part in [base, *words] if part and part != word)), (
            "a word says nothing"
        )


@given(
    st.sampled_from(sorted(FAMILIES)).flatmap(lambda name: st.tuples(st.just(name), choices(FAMILIES[name]))), st.data()
)
def test_words_in_another_order_are_answered_with_the_right_name(
    chosen: tuple[str, list[str | None]], data: st.DataObject
) -> None:
    base, words = chosen
    right = [base, *filter(None, words)]
    mixed = [base, *data.draw(st.permutations(right[1:]))]
    if mixed != right:
        with pytest.raises(UserError, match=rf"did you mean {'_'.join(right)}\?"):
            get_task("_".join(mixed))


def test_listed_names_suit_every_harness() -> None:
    assert len(all_tasks()) > 150
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", name) for name in all_tasks())
    names = [harness_name(name) for name in all_tasks()]
    assert len(set(names)) == len(names) and all(task_name(harness_name(name)) == name for name in all_tasks())
    assert all(find_task(name) == task for name, task in all_tasks().items())


@pytest.mark.parametrize("name", NAMES)
def test_the_families_of_the_benchmarks_are_there(name: str) -> None:
    assert get_task(name).name == name


@pytest.mark.parametrize(
    "name", ["livek12_260", "livek12_26055", "livek12__zh", "livek12_zh_zh", "cfe_zh", "mdk12_2603", ""]
)
def test_what_is_no_name(name: str) -> None:
    with pytest.raises(UserError, match="unknown task"):
        get_task(name)


PARTITIONS = {
    "livek12": ["zh en", "text_only text_image", "text_only_zh text_image_zh en"],
    "livek12_image_only": ["zh en"],
    "mdk12": [
        "math physics chemistry biology geography information_science",
        "easy medium hard",
        "single_choice multiple_choice fill_in_blank true_false open_ended",
        "kprag",
    ],
}


def sums(whole: str, parts: list[str], data: str) -> int:
    """Checks that the parts are the whole and share nothing; how many questions that are."""
    found = [asked(f"{whole}_{part}", data) for part in parts]
    assert set().union(*found) == asked(whole, data), (whole, parts)
    assert sum(map(len, found)) == len(asked(whole, data)), (whole, parts)
    return len(asked(whole, data))


def test_selections_partition_the_sample(sample: str) -> None:
    for whole, sets in PARTITIONS.items():
        for parts in sets:
            assert sums(whole, parts.split(), sample) > 5


def test_releases_and_languages_partition_a_monthly_set(monthly: str) -> None:
    assert sums("livek12", ["2603", "2605", "2611"], monthly) == 10
    assert sums("livek12", ["zh", "en"], monthly) == 10
    assert sums("livek12_zh", ["2603", "2605"], monthly) == 4
    assert asked("livek12_en_complex_layout_2611", monthly) == {"en_2611_math_0001"}
    assert len(asked("livek12_complex_layout", monthly)) == 5


@pytest.mark.release
def test_real_questions_are_partitioned(gaokao_mm_data: str) -> None:
    data = gaokao_mm_data
    assert sums("livek12_text_image_zh", [str(year) for year in range(2010, 2024)], data) == 342
    assert sums("livek12", ["text_only", "text_image"], data) == 342
    census = Census(data)
    for name in ("livek12_2023", "livek12_text_image_zh_2016", "livek12_en", "livek12_image_only", "kmmmu"):
        assert census.count(get_task(name)) == len(asked(name, data)), name


def check_counts(data: str) -> dict[str, int]:
    """Counts are those of the questions asked, for every task that has some; all others are refused in one line."""
    counts = counted(data)
    for name in {*counts, *all_tasks()}:
        assert len(asked(name, data)) == counts.get(name, 0), name
    return counts


def counted(data: str) -> dict[str, int]:
    census = Census(data)
    return {task.name: count for family in families() for task, count in census.members(family)}


def test_counts_are_what_is_asked(sample: str, monthly: str) -> None:
    counts = check_counts(sample)
    assert (counts["livek12"], counts["livek12_image_only_zh"], counts["cfe_text"]) == (42, 21, 4)
    counts = check_counts(monthly)
    assert counts["livek12_2611"] == counts["livek12_text_only_en_complex_layout_2611"] == 1
    assert counts["livek12_zh_2603"] == 2, "the withdrawn question is not asked"
    assert "livek12_zh_2611" not in counts


def test_a_subset_from_page_images(sample: str) -> None:
    both = asked("livek12_image_only", sample) & asked("livek12_complex_layout", sample)
    assert asked("livek12_image_only_complex_layout", sample) == both and both


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ("livek12_image_only", r"has no livek12 config image_only; it has: default, text_only, complex_layout"),
        ("cfe_text", r"has no cfe config cfe_text or text; it has: default"),
        ("livek12_2612", r"livek12_2612: none has release 2612; release there: 2603 \(5\), 2605 \(4\), 2611 \(1\)"),
        ("livek12_zh_2611", r"livek12_zh_2611: none has release 2611; release there: 2603 \(2\), 2605 \(2\)"),
        ("livek12_long_horizon", r"none has subset long_horizon; subset there: complex_layout \(5\)"),
    ],
)
def test_what_a_data_set_does_not_have_is_one_line(monthly: str, task: str, said: str) -> None:
    with pytest.raises(UserError, match=said) as caught:
        questions_of(get_task(task), monthly)
    assert "\n" not in str(caught.value) and monthly in str(caught.value)


# --- what the questions become


def messages(task: str, question: Question) -> str:
    request = build_request(
        get_task(task), question, Key(task=task, question_id=question.id), get_task(task).sampling, {}
    )
    assert not request.images
    (message,) = request.messages
    (part,) = message.content
    return part.text or ""


def test_the_image_ablation_asks_the_same_questions_without_their_pictures(sample: str) -> None:
    with_pictures = {question.id: question for question in questions_of(get_task("kmmmu"), sample) if question.images}
    without = questions_of(get_task("kmmmu_text_only"), sample)
    assert [question.id for question in without] == list(with_pictures)
    assert all(IMAGE_MARK in question.question for question in without)
    for question in without:
        text = messages("kmmmu_text_only", question)
        assert IMAGE_MARK not in text and "\n\n\n" not in text
        assert question.question.split(IMAGE_MARK)[0].strip() in text
    assert get_task("kmmmu_text_only").prompt_sha256 == get_task("kmmmu").prompt_sha256


@pytest.mark.parametrize(
    ("text", "option", "left"),
    [
        ("그림을 보라.\n<image>\n답은?", "1", "그림을 보라.\n답은?\n①. 1"),
        ("see <image> there", "2", "see there\n①. 2"),
        ("<image> first", "<image>", "first\n①."),
        ("a\n\n<image> <image>\n\nb", "x <image>", "a\n\n\nb\n①. x"),
    ],
)
def test_marks_are_taken_out_cleanly(text: str, option: str, left: str) -> None:
    question = Question(
        id="q",
        benchmark="kmmmu",
        language="ko",
        subject="math",
        question_type="single_choice",
        question=text,
        options=[Option(label="①", text=option)],
        images=[Image(bytes=b"picture")] * (text + option).count(IMAGE_MARK),
    )
    assert f"\n\n{left}\n\n" in messages("kmmmu_text_only", question)


def test_knowledge_points_come_before_the_question(sample: str) -> None:
    for question in questions_of(get_task("mdk12_kprag"), sample):
        if not question.images:
            text = messages("mdk12_kprag", question)
            places = [text.index(f"- {point}") for point in question.knowledge_points]
            assert max(places) < text.index(question.question)
    bare = question.model_copy(update={"knowledge_points": [], "images": []})
    with pytest.raises(UserError, match=f"question {bare.id} names no knowledge points"):
        messages("mdk12_kprag", bare)
    braces = bare.model_copy(update={"knowledge_points": ["{question} and\n{knowledge_points}"], "question": "Q?"})
    assert "- {question} and {knowledge_points}\n" in messages("mdk12_kprag", braces)


def _prompt_files() -> list[PromptFile]:
    kinds = [kind for task in all_tasks().values() for kind in (task.prompt_files, task.first_prompt_files)]
    return [file for kind in kinds for file in kind.values()]


def test_prompts_are_as_written_down(sample: str) -> None:
    """Every prompt file, with the messages of each kind of question; `tests.tasks.golden_messages` renews them."""
    made = golden(Path(sample))
    assert set(made) == {file.name for file in FOLDER.iterdir()}
    used = {file.name.replace("/", ".") for file in _prompt_files()}
    assert set(made) == used, "a prompt without a golden file, or the other way round"
    for name, text in made.items():
        assert (FOLDER / name).read_text(encoding="utf-8").splitlines() == text.splitlines(), name


def test_a_prompt_file_says_its_version() -> None:
    with pytest.raises(UserError, match=r"prompt x/en.txt: begins with no head"):
        parse_prompt("x/en.txt", "Answer this.\n{question}\n")
    prompts = _prompt_files()
    assert len({file.sha256 for file in prompts}) == len({file.name for file in prompts}) == len([*FOLDER.iterdir()])
    assert all(file.version >= 1 and file.source and not file.text.startswith("-") for file in prompts)


FORMS: list[tuple[str, Callable[[Question], bool], Callable[[Question], str]]] = [
    ("livek12", lambda q: q.question_type == "single_choice", lambda q: rf"\boxed{{{q.answer[0]}}}"),
    ("livek12", lambda q: q.question_type == "multiple_choice", lambda q: rf"\boxed{{{q.answer[0]}}}"),
    ("kmmmu", lambda q: q.question_type == "multiple_choice", lambda q: rf"\boxed{{{', '.join(q.answer[0])}}}"),
    ("mdk12", lambda q: q.question_type == "true_false", lambda q: r"\boxed{True}"),
    ("mdk12", lambda q: q.question_type == "true_false", lambda q: r"\boxed{对}"),
    ("livek12", lambda q: q.question_type == "true_false", lambda q: rf"\boxed{{{q.answer[0]}}}"),
    ("mdk12", lambda q: len(q.answer) > 1, lambda q: " ".join(rf"\boxed{{{answer}}}" for answer in q.answer)),
    ("livek12", lambda q: q.question_type == "fill_in_blank", lambda q: r"\boxed{" + r"} \boxed{".join(q.answer) + "}"),
    (
        "cfe_text",
        lambda q: len(q.variables) > 1,
        lambda q: " ".join(rf"\boxed{{{variable.value}}}" for variable in q.variables),
    ),
]


@pytest.mark.parametrize(("name", "kind", "answer"), FORMS)
def test_an_answer_in_the_form_that_the_prompt_asks_is_read(
    sample: str, name: str, kind: Callable[[Question], bool], answer: Callable[[Question], str]
) -> None:
    task = get_task(name)
    found = [question for question in questions_of(task, sample) if kind(question)]
    for question in found[:3]:
        said = Response(
            key=Key(task=name, question_id=question.id),
            text=f"Reasoning.\n\n{answer(question)}",
            finish_reason="stop",
            engine="test",
            model="test",
        )
        marked = mark_response(question, said, GradingConfig(partial_credit=task.partial_credit), default_cascade())
        assert marked.state == "graded" and marked.correct, (question.id, said.text, marked.parts)


# --- what a task promises


@pytest.mark.parametrize("name", [*FAMILIES])
def test_metrics_of_a_task_are_in_the_report(sample: str, name: str) -> None:
    task, rows = get_task(name), []
    for question in questions_of(task, sample, 3):
        key = Key(task=name, question_id=question.id)
        said = Response(key=key, text=r"\boxed{A}", finish_reason="stop", completion_tokens=9, engine="e", model="m")
        verdict = mark_response(question, said, GradingConfig(), default_cascade())
        rows.append(Row(name, question, 0, verdict.state, said, verdict))
    assert set(task.metrics) <= set(score(rows)["tasks"][name]["metrics"])
    assert [f"Acc≤{budget:.1f}" for budget in task.budgets] == [m for m in task.metrics if m.startswith("Acc≤")]


def test_budgets_are_those_of_the_formulas() -> None:
    task = get_task("livek12_image_only_en_2603")
    assert tuple(f"{budget:.1f}" for budget in task.budgets) == RATIOS
    assert task.budget_base == Parameters().token_limit == task.sampling.max_tokens


def test_a_pinned_revision_holds_on_the_hub_unless_the_user_names_one(tmp_path: Path) -> None:
    task = replace(get_task("cfe_text"), revision="v1")
    assert pinned(task, "org/exam") == "org/exam@v1"
    assert pinned(task, "org/exam@main") == "org/exam@main"
    assert pinned(task, str(tmp_path)) == str(tmp_path)
    assert pinned(get_task("cfe_text"), "org/exam") == "org/exam"


# --- the command


def listed(*args: str) -> dict[str, dict[str, object]]:
    ended = livek12_here("tasks", "--json", *args)
    assert ended.code == 0, ended.err
    return {row["name"]: row for row in json.loads(ended.out)}


def test_json_has_every_task_with_the_count_of_its_paper() -> None:
    rows = listed()
    assert list(rows) == list(all_tasks())
    assert rows["cfe_multimodal"]["questions"] == 144 and rows["cfe_multimodal"]["counted_in"] == "the paper"
    assert rows["mdk12_dynamic"]["questions"] is None and rows["mdk12_dynamic"]["counted_in"] is None
    row = rows["livek12_image_only_zh_long_horizon"]
    assert row["selection"] == {"language": ["zh"], "subset": ["long_horizon"]} and row["configs"] == ["image_only"]
    prompts = row["prompts"]
    assert isinstance(prompts, dict) and prompts["zh"]["file"] == "livek12/zh.image_only.txt"
    assert row["language"] == "zh" and row["prompt_sha256"] == get_task(str(row["name"])).prompt_sha256


def test_json_of_a_data_set_has_what_it_holds(monthly: str) -> None:
    rows = listed("--data", monthly)
    assert {name: row["questions"] for name, row in rows.items()} == counted(monthly)
    assert list(listed("--data", monthly, "en_complex_layout_2611")) == [
        "livek12_en_complex_layout_2611",
        "livek12_text_only_en_complex_layout_2611",
    ]


def test_people_see_families_with_counts(monthly: str) -> None:
    shown = livek12_here("tasks").out
    assert "livek12[_MODALITY][_LANGUAGE][_SUBSET][_RELEASE]" in shown and "hard 1,053" in shown and "papers" in shown
    assert len(shown.splitlines()) < 30 and max(map(len, shown.splitlines())) <= 120
    shown = livek12_here("tasks", "--data", monthly).out
    assert "2603 5, 2605 4, 2611 1" in shown and "kmmmu" not in shown
    assert "livek12_zh_2603 " in livek12_here("tasks", "--all", "--data", monthly).out
    assert len(livek12_here("tasks", "--all").out.splitlines()) == len(all_tasks())


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["livek12_textonly"], "unknown task 'livek12_textonly': did you mean livek12_text_only"),
        (["livek12_zh_2612", "--data", "{monthly}"], "none has release 2612"),
        (["kmmmu", "--data", "{monthly}"], "has no kmmmu config"),
        (["--data", "nowhere-at-all"], "nowhere-at-all: no such folder"),
    ],
)
def test_what_cannot_be_listed_is_one_line(monthly: str, args: list[str], said: str) -> None:
    ended = livek12_here("tasks", *(arg.format(monthly=monthly) for arg in args))
    assert ended.code == 2 and said in ended.err and len(ended.errors) == 1
