"""Derived tasks: their names, their questions, the order in which they are asked, and CFE-Bench's five conditions."""

from __future__ import annotations

from pathlib import Path

import pytest

from livek12.core.errors import UserError
from livek12.core.questions import fingerprint
from livek12.core.records import FlowStep, Image, Key, Question
from livek12.evaluation.asking import asked_in_order
from livek12.evaluation.task_data import load_task_data
from livek12.tasks.cfe.diagnostics import DIAGNOSTICS, TRIALS
from livek12.tasks.loading import questions_of
from livek12.tasks.prompting import asked_together, build_request
from livek12.tasks.registry import default_trials, derived_tasks, find_task, get_task, get_tasks, variants

REAL = Path(__file__).resolve().parents[3] / "shared" / "data" / "cfe_bench"
CONDITIONS = ["unit_execution", "reasoning_prefix", "prefix_questions", "injection", "injection_question"]


@pytest.fixture(scope="module")
def real(cfe_data: str) -> Path:
    """The whole CFE-Bench."""
    return Path(cfe_data)


def question(units: int = 3, **more: object) -> Question:
    fields = {
        "id": "q1",
        "benchmark": "cfe",
        "language": "en",
        "subject": "physics",
        "question_type": "short_answer",
        "question": "What is E?",
        "answer": ["42"],
        "solution": "E is 42.",
        "reasoning_flow": [FlowStep(step=f"sub-question {n}", answer=f"value-{n}") for n in range(1, units + 1)],
    }
    return Question.model_validate({**fields, **more})


def shown(name: str, asked: Question) -> str:
    task = get_task(name)
    request = build_request(task, asked, Key(task=name, question_id=asked.id), task.sampling, {})
    return "".join(part.text or "<picture>" for part in request.messages[0].content)


def derived(word: str, source: Question) -> list[Question]:
    return next(each for each in DIAGNOSTICS if each.word == word).derive(source)


def test_names_of_derived_tasks_lead_back_to_them() -> None:
    for base in ("cfe_text", "cfe_multimodal"):
        for task in derived_tasks(get_task(base)):
            assert find_task(task.name) == task
            assert task.variant_of in (base, f"{base}:unit_execution")
            assert task.trials == TRIALS == 8
    assert [task.name for task in get_tasks("cfe_text:all")] == [f"cfe_text:{word}" for word in CONDITIONS]
    assert not derived_tasks(get_task("mdk12"))


@pytest.mark.parametrize("name", ["cfe_text:", "cfe_text:nothing", "kmmmu:injection", "cfe_text:injection:injection"])
def test_other_names_lead_nowhere(name: str) -> None:
    assert find_task(name) is None
    with pytest.raises(UserError, match=r"unknown task"):
        get_task(name)


def test_a_run_has_one_number_of_trials() -> None:
    assert default_trials(get_tasks("cfe_text:all")) == 8
    assert default_trials(get_tasks("cfe_text,kmmmu")) == 1
    with pytest.raises(UserError, match="cfe_text asks 1 and cfe_text:injection asks 8: give --trials"):
        default_trials(get_tasks("cfe_text,cfe_text:injection"))


def test_the_conditions_show_what_the_article_says_and_no_more() -> None:
    given = {
        word: [
            {f"{what}{n}" for n in range(1, 4) for what in ("sub-question ", "value-") if f"{what}{n}" in text}
            for text in (shown(f"cfe_text:{word}", each) for each in derived(word, question()))
        ]
        for word in CONDITIONS
    }
    q, v = (lambda n: f"sub-question {n}"), (lambda n: f"value-{n}")
    assert given == {
        "unit_execution": [{q(1)}, {q(1), v(1), q(2)}, {q(1), v(1), q(2), v(2), q(3)}],
        "reasoning_prefix": [{q(1), v(1)}, {q(1), v(1), q(2), v(2)}, {q(1), v(1), q(2), v(2), q(3), v(3)}],
        "prefix_questions": [{q(1)}, {q(1), q(2)}, {q(1), q(2), q(3)}],
        "injection": [{q(n), v(n)} for n in (1, 2, 3)],
        "injection_question": [{q(n)} for n in (1, 2, 3)],
    }


def test_units_are_marked_by_their_own_keys_and_the_rest_by_the_final_one() -> None:
    for word in CONDITIONS:
        for number, each in enumerate(derived(word, question()), 1):
            assert each.variant is not None
            assert (each.variant.of, each.variant.kind, each.variant.unit, each.variant.units) == (
                "q1",
                word,
                number,
                3,
            )
            assert each.answer == ([f"value-{number}"] if word == "unit_execution" else ["42"])
    assert {each.solution for each in derived("unit_execution", question())} == {None}


def test_a_prompt_is_the_beginning_of_the_next() -> None:
    """What the prefix cache keeps: the question, then units in order, then what differs."""
    source = question()
    execution = [shown("cfe_text:unit_execution", each) for each in derived("unit_execution", source)]
    prefix = [shown("cfe_text:reasoning_prefix", each) for each in derived("reasoning_prefix", source)]
    base = shown("cfe_text", source)
    for unit, (one, other) in enumerate(zip(execution, prefix, strict=True), 1):
        asked = f"Step {unit}. sub-question {unit}\n"
        assert other.startswith(one[: one.index(asked) + len(asked)])
    common = base[: base.index("What is E?") + len("What is E?")]
    for word in CONDITIONS:
        assert all(shown(f"cfe_text:{word}", each).startswith(common) for each in derived(word, source))


def test_pictures_stand_before_the_units_whether_marked_or_not() -> None:
    picture = Image(bytes=b"\x89PNG")
    for text in ("What is E?", "See <image>. What is E?"):
        source = question(question=text, images=[picture])
        for word in CONDITIONS:
            for each in derived(word, source):
                prompt = shown(f"cfe_multimodal:{word}", each)
                assert prompt.count("<picture>") == 1
                assert prompt.index("<picture>") < prompt.index("Step")
        without = [shown("cfe_multimodal:unit_execution_text", each) for each in derived("unit_execution_text", source)]
        assert not any("<picture>" in prompt or "<image>" in prompt for prompt in without)


def test_an_image_mark_in_a_unit_is_no_picture() -> None:
    source = question(reasoning_flow=[FlowStep(step="look at <image>", answer="<image> 3")])
    for word in CONDITIONS:
        assert "<image>" not in shown(f"cfe_multimodal:{word}", derived(word, source)[0])


@pytest.mark.parametrize(
    ("flow", "with_answers", "without"),
    [
        ([], 0, 0),
        ([FlowStep(step="a", answer="1"), FlowStep(step="b", answer=" ")], 0, 2),
        ([FlowStep(step="a", answer="1")], 1, 1),
    ],
)
def test_flows_that_lack_something_give_nothing_where_it_is_needed(
    flow: list[FlowStep], with_answers: int, without: int
) -> None:
    source = question(reasoning_flow=flow)
    assert [len(derived(word, source)) for word in CONDITIONS] == [
        *(with_answers, with_answers, without, with_answers, without)
    ]


@pytest.mark.release
def test_the_whole_of_cfe_gives_as_many_requests_as_the_article(real: Path) -> None:
    units = conditioned = 0
    for base in ("cfe_text", "cfe_multimodal"):
        tasks = get_tasks(",".join(f"{base}:{word}" for word in CONDITIONS))
        exam = load_task_data(str(real), tasks, None)
        ids = [asked.id for task in tasks for asked in exam.questions[task.name]]
        assert len(set(ids)) == len(ids)
        sizes = [len(exam.questions[task.name]) * task.trials for task in tasks]
        units, conditioned = units + sizes[0], conditioned + sum(sizes[1:])
    assert (units, conditioned) == (39_712, 158_848)


def test_what_comes_from_one_question_is_asked_together(real: Path) -> None:
    tasks = get_tasks("cfe_text:all,cfe_text")
    exam = load_task_data(str(real), tasks, 4)
    order = [(task, asked) for task, asked in asked_in_order(exam) if task.derive]
    sources = [asked.variant.of for _, asked in order if asked.variant]
    assert len(sources) == 5 * sum(len(each.reasoning_flow) for each in exam.questions["cfe_text"])
    assert [id for n, id in enumerate(sources) if n == 0 or sources[n - 1] != id] == list(dict.fromkeys(sources))
    group = asked_together(tasks, exam.questions)
    assert len({group(f"{task.name}/{asked.id}/0") for task, asked in order}) == 4


def test_questions_are_derived_alike_each_time_and_a_run_is_known_by_them(real: Path) -> None:
    task = get_task("cfe_multimodal:injection")
    first, second = (questions_of(task, str(real), 5) for _ in range(2))
    assert fingerprint(first) == fingerprint(second)
    assert fingerprint(first) != fingerprint(questions_of(get_task("cfe_multimodal:injection_question"), str(real), 5))


def test_only_some_sources(real: Path) -> None:
    base = questions_of(get_task("cfe_text"), str(real), 5)
    wanted = {base[1].id, base[3].id}
    found = questions_of(get_task("cfe_text:injection"), str(real), None, wanted)
    assert {each.variant.of for each in found if each.variant} == wanted
    with pytest.raises(UserError, match="holds none of the 1 chosen questions"):
        questions_of(get_task("cfe_text:injection"), str(real), None, {"nobody"})


@pytest.mark.parametrize(
    ("name", "bases"),
    [
        ("kmmmu_hard_text_only", ["kmmmu_hard"]),
        ("mdk12_kprag_math", ["mdk12_math"]),
        ("livek12_image_only_zh", ["livek12_zh"]),
        ("livek12_zh@0.1", ["livek12_zh"]),
        ("livek12_image_only_zh@0.1", ["livek12_image_only_zh", "livek12_zh@0.1"]),
        ("cfe_text:injection", ["cfe_text"]),
        ("cfe_text:unit_execution", []),
        ("cfe_multimodal:unit_execution_text", ["cfe_multimodal:unit_execution"]),
        ("mdk12_mini", []),
        ("livek12_text_only", []),
    ],
)
def test_each_task_names_what_it_is_a_variant_of(name: str, bases: list[str]) -> None:
    found = variants(get_task(name))
    assert [base for base, _ in found] == bases
    assert all(find_task(base) and differs for base, differs in found)
