"""`eval.yaml`: what is generated is what the Hub and Inspect take, and a keeper's file is checked in the same way."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from livek12.core.errors import UserError
from livek12.core.features import PREFIX, Form
from livek12.core.questions import read_card
from livek12.dataset_builders.base import Log
from livek12.dataset_builders.builder import Layout
from livek12.dataset_builders.publishing.eval_yaml import (
    SCORERS,
    SOLVERS,
    TASK_KEYS,
    check_eval_yaml,
    render_environment_yaml,
    render_eval_yaml,
)
from livek12.dataset_builders.writing.data_set import write
from livek12.dataset_builders.writing.parquet import FlatConfig

FLAT = [
    FlatConfig(f"{form}_{pictures}", "an exam", form, pictures, 3)
    for form in get_args(Form)
    for pictures in (False, True)
]
CONFIGS = {config.name: ("test",) for config in FLAT}
GOOD: dict[str, Any] = {
    "name": "mine",
    "description": "an exam",
    "evaluation_framework": "inspect-ai",
    "tasks": [
        {
            "id": "one",
            "config": CONFIGS and next(iter(CONFIGS)),
            "split": "test",
            "field_spec": {"input": "input", "target": "target"},
            "solvers": [{"name": "generate"}],
            "scorers": [{"name": "math"}],
        }
    ],
}


def task(**changes: Any) -> dict[str, Any]:
    """The good file with another task."""
    changed = {**GOOD["tasks"][0], **changes}
    return {**GOOD, "tasks": [{key: value for key, value in changed.items() if value is not None}]}


def checked(tmp_path: Path, content: object) -> None:
    file = tmp_path / "eval.yaml"
    file.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    check_eval_yaml(file, CONFIGS)


def test_what_is_generated_passes_and_shows_choices_or_prompts_never_both(tmp_path: Path) -> None:
    text = render_eval_yaml("mine", "an exam", FLAT)
    checked(tmp_path, text)
    assert "&" not in text and "*" not in text.replace(".*", "").replace(r"\s*", ""), (
        "no anchors for a reader to follow"
    )
    for written in yaml.safe_load(text)["tasks"]:
        printed = written["solvers"][0]["name"] == "multiple_choice"
        assert printed == ("choices" in written["field_spec"]) == (written["scorers"] == [{"name": "choice"}])
        assert ("input_image" in written["field_spec"]) == written["id"].endswith("True")


def test_the_closed_lists_are_those_of_inspect(tmp_path: Path) -> None:
    hf = pytest.importorskip("inspect_ai._eval.task.hf")
    assert frozenset(get_args(hf.HFSolver.model_fields["name"].annotation)) == SOLVERS
    assert frozenset(get_args(hf.HFScorer.model_fields["name"].annotation)) == SCORERS
    assert frozenset(hf.HFTask.model_fields) == TASK_KEYS
    for written in yaml.safe_load(render_eval_yaml("mine", "an exam", FLAT))["tasks"]:
        assert hf.HFTask.model_validate(written).config == PREFIX + written["id"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("- a list", "is no mapping of name"),
        ("{", "cannot be read as YAML"),
        ({**GOOD, "name": ""}, "name is no text"),
        ({**GOOD, "description": 5}, "description is no text"),
        (
            {**GOOD, "evaluation_framework": "mine"},
            "evaluation_framework 'mine' is none that the Hub knows",
        ),
        ({**GOOD, "tasks": []}, "tasks is no list of tasks"),
        ({**GOOD, "tasks": GOOD["tasks"] * 2}, "of several tasks each needs an id of its own"),
        (task(config="default"), "task one: config 'default' is not in the data set; it has eval_choices_False"),
        (task(split="train"), "task one: split 'train' is not in config eval_choices_False; it has test"),
        (task(solver="generate"), "task one: solver is nothing that inspect-ai knows"),
        (task(field_spec={"input": "input"}), "field_spec does not say which columns are input and target"),
        (task(solvers=["generate"]), "task one: solvers: None is none of"),
        (task(scorers=None), "task one: scorers is no list of names"),
        (task(scorers=[{"name": "livek12"}]), "task one: scorers: 'livek12' is none of answer, choice"),
    ],
)
def test_a_file_that_would_be_refused_is_told_in_one_line(content: object, said: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as error:
        checked(tmp_path, content)
    assert said in str(error.value) and "\n" not in str(error.value)
    assert str(tmp_path / "eval.yaml") in str(error.value)


def test_another_framework_says_itself_how_it_runs(tmp_path: Path) -> None:
    checked(tmp_path, {**GOOD, "evaluation_framework": "harbor", "tasks": [{"config": next(iter(CONFIGS))}]})


def test_environments_name_public_rows_and_never_a_split_for_training() -> None:
    described = yaml.safe_load(render_environment_yaml(FLAT))
    assert described["spec_version"] == "hf-env-0.1"
    assert [each["config_name"] for each in described["environments"]] == list(CONFIGS)
    assert {tuple(each["splits"]) for each in described["environments"]} == {("test",)}
    assert all(set(each["frameworks"]) <= {"harbor", "verifiers", "openenv"} for each in described["environments"])


def test_no_benchmark_may_take_the_names_of_flat_configs(tmp_path: Path) -> None:
    layout = Layout({"eval_mine": ("eval_mine",)}, lambda question, pages: ["eval_mine"])
    with pytest.raises(UserError, match="config eval_mine: names that begin with eval_ are kept"):
        write("mine", iter(()), layout, tmp_path / "out", Log())


def test_the_names_of_the_merged_set_are_the_files_of_their_benchmark(built: Path) -> None:

    configs = read_card(built)
    assert configs["korean_specific"] == configs["kmmmu_korean_specific"]
    card = (built / "README.md").read_text()
    assert "| `korean_specific` | kmmmu | 2 |" in card and "| `hard` | kmmmu | 1 |" in card
    assert "| `image_only` | livek12 | 42 |" in card
