"""Budgets as tasks: names and tasks are inverse to each other, and nothing but the limit differs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livek12.core.errors import UserError
from livek12.tasks.registry import find_task, get_task, get_tasks, limited, siblings, with_budgets


@pytest.mark.parametrize(
    ("name", "tokens"),
    [("livek12@0.1", 3276), ("livek12@0.25", 8192), ("livek12_image_only_zh_2605@0.7", 22_937), ("livek12@1", 32_768)],
)
def test_only_the_limit_differs(name: str, tokens: int) -> None:
    task, base = get_task(name), get_task(name.rpartition("@")[0])
    assert (task.name, task.base_name, base.base_name) == (name, base.name, base.name)
    assert task.sampling == base.sampling.model_copy(update={"max_tokens": tokens})
    same = ("selection", "configs", "modality", "prompt_sha256", "judge", "partial_credit", "metrics", "version")
    assert all(getattr(task, field) == getattr(base, field) for field in same)


@given(st.integers(1, 10_000))
def test_names_and_budgets_are_inverse(parts: int) -> None:
    task = limited(get_task("livek12"), parts / 10_000)
    assert find_task(task.name) == task
    assert task.sampling.max_tokens == parts * 32_768 // 10_000


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("livek12@0.10", "did you mean livek12@0.1?"),
        ("livek12@.5", "did you mean livek12@0.5?"),
        ("kmmmu@0.5", "task kmmmu has no token budgets"),
        ("livek12@0.5@0.1", "task livek12@0.5 is under a budget already"),
        ("livek13@0.5", "unknown task 'livek13': did you mean livek12"),
        ("livek12@ten", "'ten' is no number"),
        ("livek12@", "names no share"),
        ("@", "unknown task ''"),
        *[(f"livek12@{share}", f"budget {share}: give shares of 32768 tokens") for share in ("2", "0", "-1", "nan")],
        ("livek12@sNaN", "'sNaN' is no number"),
        ("livek12@1e-09", "budget 1e-09: give shares"),
        ("livek12@inf", "budget inf: give shares"),
        ("livek12@" + "9" * 5000, "give shares"),
    ],
)
def test_what_is_no_budget_says_so_in_one_line(name: str, said: str) -> None:
    assert find_task(name) is None
    with pytest.raises(UserError) as error:
        get_task(name)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_each_task_is_asked_under_each_budget() -> None:
    names = with_budgets("livek12_text_only, livek12_en", "1,0.25,0.1,0.25")
    assert names == ",".join(f"{t}@{r}" for t in ("livek12_text_only", "livek12_en") for r in ("0.1", "0.25", "1"))
    assert with_budgets("livek12,kmmmu", "") == "livek12,kmmmu"
    groups = siblings(get_tasks(f"{names},livek12,livek12_en"))
    assert [[task.name for task in group] for group in groups] == [
        [f"livek12_text_only@{r}" for r in ("0.1", "0.25", "1")],
        [*(f"livek12_en@{r}" for r in ("0.1", "0.25", "1")), "livek12_en"],
        ["livek12"],
    ]


@pytest.mark.parametrize("budgets", [",", "a", "0", "1.5", "0.1;0.2", "nan", "sNaN"])
def test_a_list_that_holds_no_budget_is_refused(budgets: str) -> None:
    with pytest.raises(UserError, match=r"such as 0\.1,0\.25,1"):
        with_budgets("livek12", budgets)
