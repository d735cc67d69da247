"""Every template makes a card of a real data set: complete, well-formed, and safe from what rows say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from livek12.core.records import Question, Review, Source
from livek12.dataset_builders import sample
from livek12.dataset_builders.building import names
from livek12.dataset_builders.writing.card import describe_configs, render_card
from livek12.dataset_builders.writing.statistics import Statistics
from tests.conftest import ROOT

HEADINGS = (
    "Configs",
    "Loading",
    "Counts",
    "Fields",
    "Licence and attribution",
    "Not for training",
    "Citation",
    "Limitations",
    "Releases",
)
TEMPLATES = sorted(
    [
        *(file.name.split(".")[0] for file in (ROOT / "hub_cards").glob("*.jinja") if file.stem != "base.md"),
        *(file.parent.name for file in (ROOT / "dataset_builders" / "benchmarks").glob("*/card.md.jinja")),
    ]
)


def render(name: str, questions: list[Question], folder: Path) -> str:
    statistics = Statistics()
    for question in questions:
        statistics.add(question, ["default"], "test")
    configs = {"default": ("default",)}
    summary = statistics.summary(name, configs)
    return render_card(folder, summary, describe_configs(folder, summary, configs))


def some(benchmark: str) -> list[Question]:
    questions = [question for group in sample.PAPERS for question in sample.load(group)]
    return [q for q in questions if q.benchmark == benchmark] or questions


def test_every_data_set_has_a_template() -> None:
    assert sorted(names()) == TEMPLATES


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_card_is_complete(name: str, tmp_path: Path) -> None:
    card = render(name, some(name), tmp_path)
    assert re.findall(r"^## (.*)$", card, re.MULTILINE) == list(HEADINGS)
    assert len(re.findall(r"^# .+$", card.split("```")[0], re.MULTILINE)) == 1
    assert "{{" not in re.sub(r"```bibtex.*?```", "", card, flags=re.DOTALL)
    assert "{%" not in card
    front = yaml.safe_load(card.split("---\n")[1])
    assert front["configs"][0]["default"] is True
    assert front["pretty_name"]
    assert front["license"]
    for line in card.splitlines():
        if line.startswith("|"):
            assert line.endswith("|"), line
    for table in re.findall(r"(?:^\|.*\n)+", card, re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1, table


@pytest.mark.parametrize("name", TEMPLATES)
def test_rows_cannot_write_the_card(name: str, tmp_path: Path) -> None:
    evil = "x |\n---\nlicense: mit\n<script>alert(1)</script> [a](javascript:b) `c` {{ 7*7 }} {% raw %}"
    questions = [
        question.model_copy(
            update={
                "subject": evil,
                "release": evil,
                "removed_in": evil,
                "difficulty": evil,
                "subsets": [evil],
                "source": Source(url=f"https://{evil}", licence=evil),
            }
        )
        for question in some(name)
    ]
    card = render(name, questions, tmp_path)
    assert "<script>" not in card
    assert "49" not in re.findall(r"\| x \\\|.*", card)[0]
    front = yaml.safe_load(card.split("---\n")[1])
    assert front["license"] == "other"
    assert re.fullmatch(r"[a-z0-9.-]+", front["license_name"])


def test_a_card_says_what_a_publish_would_keep_back(tmp_path: Path) -> None:
    first, second = some("cfe")[:2]
    stated, silent = Source(licence="CC BY-NC-SA 4.0"), Source(licence="Not stated")
    rows = [first.model_copy(update={"source": stated, "review": Review(state="upstream")})]
    assert "withholds them" not in render("cfe", rows, tmp_path)
    rows.append(second.model_copy(update={"source": silent, "review": Review()}))
    card = render("cfe", rows, tmp_path)
    assert "1 of 2 questions state no licence: `livek12 publish` withholds them unless a rights file names" in card
    assert "1 of 2 questions are not reviewed: `livek12 publish` withholds them." in card


def test_a_set_states_a_licence_only_where_all_its_rows_state_it(tmp_path: Path) -> None:
    def licence(*stated: str | None) -> str:
        rows = [
            question.model_copy(update={"source": Source(licence=licence)})
            for question, licence in zip(some("cfe"), stated, strict=False)
        ]
        return str(yaml.safe_load(render("cfe", rows, tmp_path).split("---\n")[1])["license"])

    assert licence("CC BY-NC-SA 4.0", None) == "other"
    assert licence("CC BY-NC-SA 4.0", "CC BY-NC-SA 4.0") == "cc-by-nc-sa-4.0"
    assert licence(None, None) == "other"
    assert licence("CC BY-NC-SA 4.0", "MIT") == "other"
    assert licence("MIT", "MIT") == "mit"
