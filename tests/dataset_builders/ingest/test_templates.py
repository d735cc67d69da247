from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from livek12.core.errors import UserError
from livek12.dataset_builders.ingest.models.parser import Parser, instructions
from livek12.dataset_builders.ingest.templates import load_template, shipped
from livek12.engines.small_model import fetch_small_model, serve_gguf
from tests.dataset_builders.ingest.papers import page, read
from tests.engines.scripted_server import Script, good, serving

OWN = """
name: weekly
language: zh
layout: One column.
types:
  - {name: 口算, kind: short_answer, names: [速算]}
  - {name: 选一选, kind: single_choice}
fields: {number: as printed, question: its text, options: all}
"""


def test_the_templates_that_ship_are_sound() -> None:
    assert shipped() == ["csat", "english", "gaokao"]
    for name in shipped():
        template = load_template(name)
        form = template.json_form()
        assert set(form["required"]) == set(form["properties"]) == {*template.fields, "question_type"}
        assert template.layout.strip()[:20] in instructions(template)
    assert load_template("ko").name == "csat"


def test_a_template_of_the_user_names_types_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "weekly.yaml"
    file.write_text(OWN, encoding="utf-8")
    template = load_template(str(file))
    assert template.type_in("一、选一选（每题2分）")[1].kind == "single_choice"
    assert template.type_in("二、速算 题")[0] == "速算"
    assert template.type_in("三、别的") is None


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("layout: One column.", ""), "layout: Field required"),
        (("kind: single_choice", "kind: riddle"), "types.1.kind"),
        (("options: all", "colour: red"), "there is no field 'colour'"),
        (("name: weekly", "name: [}"), "is not YAML"),
        ((OWN, "- a list"), "is no template"),
        ((OWN, "x" * 70_000), "KiB"),
    ],
)
def test_a_template_that_is_wrong_is_one_line(tmp_path: Path, change: tuple[str, str], problem: str) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(OWN.replace(*change), encoding="utf-8")
    with pytest.raises(UserError) as error:
        load_template(str(file))
    assert problem in str(error.value) and "own.yaml" in str(error.value) and "\n" not in str(error.value)


def test_a_template_that_is_not_there_is_one_line() -> None:
    with pytest.raises(UserError, match="there is no template 'nope'; there are csat, english, gaokao"):
        load_template("nope")


# --- a model ----------------------------------------------------------------------------------------------------------

GOOD = {
    "number": "1",
    "question": "甲是",
    "options": [{"label": n, "text": t} for n, t in zip("ABCD", "1234", strict=True)],
}
GOOD |= {"points": None, "answer": None, "solution": None, "question_type": "single_choice"}


def recorded(folder: Path, replies: dict[str, str]) -> Parser:
    file = folder / "responses-0.jsonl"
    lines = []
    for id, text in replies.items():
        key = {"task": "ingest", "question_id": id, "trial": 0}
        lines.append(json.dumps({"key": key, "text": text, "engine": "x", "model": "recorded"}))
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return Parser(f"{file}@replay")


@pytest.mark.parametrize(
    ("change", "doubts"),
    [
        ({}, []),
        (
            {"question_type": "multiple_choice"},
            ["question_type: the rules read 'single_choice', the model 'multiple_choice'"],
        ),
        ({"number": "2"}, ["number: the rules read '1', the model '2'"]),
        ({"number": "77"}, ["number: the rules read '1', the model '77', which is not on the page"]),
        ({"question": "甲是（3分）"}, []),
        ({"question": "甲不是乙"}, ["question: the rules read '甲是', the model '甲不是乙', which is not on the page"]),
        (
            {"question": "\ud800", "points": 10**400},
            [
                f"points: the rules read '', the model '1{'0' * 58}…', which is not on the page",
                "question: the rules read '甲是', the model '[U+D800]', which is not on the page",
            ],
        ),
        ({"question": ""}, ["question: the rules read '甲是', the model ''"]),
        ({"options": []}, ["options: the rules read 'A. 1 B. 2 C. 3 D. 4', the model ''"]),
        (
            {"options": [*GOOD["options"][:3], {"label": "D", "text": "99"}]},
            [
                "options: the rules read 'A. 1 B. 2 C. 3 D. 4', the model 'A. 1 B. 2 C. 3 D. 99',"
                " which is not on the page"
            ],
        ),
        (
            {"options": "x", "number": [1], "points": True, "question_type": {}},
            [
                "number: the rules read '1', the model '[1]', which is not on the page",
                "points: the rules read '', the model 'true', which is not on the page",
                "question_type: the rules read 'single_choice', the model '{}'",
                "options: the rules read 'A. 1 B. 2 C. 3 D. 4', the model 'x', which is not on the page",
            ],
        ),
    ],
)
def test_what_a_model_says_otherwise_is_a_doubt_and_nothing_more(
    tmp_path: Path, change: dict[str, Any], doubts: list[str]
) -> None:
    before = read(page("一、单选题", "1．甲是", "A．1 B．2 C．3 D．4")).drafts
    parser = recorded(tmp_path, {"paper-q1": json.dumps({**GOOD, **change})})
    (after,), lines = parser.check(before, load_template("gaokao"))
    assert [doubt.text for doubt in after.doubts if doubt.kind == "parse"] == doubts
    assert all(doubt.readings for doubt in after.doubts if doubt.kind == "parse")
    assert after.model_dump_json()
    assert after.model_copy(update={"doubts": []}) == before[0].model_copy(update={"doubts": []})
    assert "parsed 1 of 1 questions by template gaokao" in lines[0]


@pytest.mark.parametrize("reply", ["", "no", "[1]", '{"number": ', "[" * 50_000, "x" * 70_000])
def test_a_reply_that_is_no_parse_is_said(tmp_path: Path, reply: str) -> None:
    before = read(page("一、单选题", "1．甲是", "A．1 B．2 C．3 D．4")).drafts
    (after,), lines = recorded(tmp_path, {"paper-q1": reply}).check(before, load_template("gaokao"))
    assert after == before[0]
    assert lines[0].split(" parsed ")[1].startswith("0 of 1") and "paper-q1" in lines[1]


@pytest.mark.parametrize("spec", ["", "m@nosuch:a=1"])
def test_a_parser_that_cannot_be_is_one_line(spec: str) -> None:
    with pytest.raises(UserError, match="--parse-by"):
        Parser(spec)


def test_a_paper_is_not_parsed_twice_by_one_model(tmp_path: Path) -> None:
    before = read(page("一、单选题", "1．甲是", "A．1 B．2 C．3 D．4")).drafts
    script = Script(lambda text, n: good(json.dumps({**GOOD, "number": "2"})))
    found = []
    with serving(script) as url:
        for _ in range(2):
            parser = Parser(f"m@openai:base_url={url},concurrency=1", tmp_path)
            found.append(parser.check(before, load_template("gaokao")))
            parser.close()
    assert found[0] == found[1] and len(script.seen) == 1


@pytest.mark.release
@pytest.mark.slow
def test_a_genuine_small_model_goes_through_it() -> None:
    """Plumbing only: whatever it says is a doubt, or nothing; SmolLM2 parses no exam."""
    pytest.importorskip("xllamacpp")
    with _served() as address:
        parser = Parser(f"small@openai:base_url={address},concurrency=1")
        before = read(page("1. What is 2+2?", "A. 3 B. 4 C. 5 D. 6")).drafts
        after, lines = parser.check(before, load_template("english"))
        parser.close()
    assert {doubt.kind for doubt in after[0].doubts} - {doubt.kind for doubt in before[0].doubts} <= {"parse"}
    assert "of 1 questions by template english" in lines[0]


def _served() -> Any:
    from contextlib import contextmanager

    @contextmanager
    def serving() -> Iterator[str]:
        cache = Path(os.environ.get("LIVEK12_TEST_CACHE") or Path.home() / ".cache" / "livek12-tests")
        try:
            model = fetch_small_model(cache)
        except UserError as error:
            pytest.skip(str(error))
        with serve_gguf(model, context=2048, slots=1) as address:
            yield address

    return serving()
