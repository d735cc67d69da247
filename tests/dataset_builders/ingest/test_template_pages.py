"""What a model reads on whole pages beside the rules: lines about what they lost, and drafts if they are asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from livek12.core.errors import UserError
from livek12.dataset_builders.ingest.drafts import Draft
from livek12.dataset_builders.ingest.models.parser import Parser
from livek12.dataset_builders.ingest.pages.blocks import PageBlocks
from livek12.dataset_builders.ingest.paper import Options, ingest
from livek12.dataset_builders.ingest.templates import load_template
from tests.dataset_builders.ingest.papers import page, read
from tests.dataset_builders.ingest.pdf_making import typeset
from tests.engines.scripted_server import Reply, Script, completion, good, serving

LINES = ("1. What is force?", "Q-two What is work?", "3. What is power?")


def asked(
    reply: Any,
    folder: Path | None = None,
    pages: list[PageBlocks] | None = None,
    drafts: list[Draft] | None = None,
) -> tuple[list[Draft], list[str], list[str], Script]:
    """The first question, lines and notes of a model that always gives one reply, and what it was asked."""
    script = Script(lambda text, n: reply if isinstance(reply, Reply) else good(json.dumps(reply)))
    with serving(script) as url:
        parser = Parser(f"m@openai:base_url={url},max_retries=0,timeout=2", folder)
        one = page(*LINES)
        own = drafts or read(one).drafts[:1]
        read_again, lost, notes = parser.unread(pages or [one], own, load_template("english"))
        parser.close()
    return read_again, [each.line for each in lost], notes, script


def said(*questions: tuple[str, str]) -> dict[str, Any]:
    return {"questions": [{"number": number, "question": text} for number, text in questions]}


def test_a_question_that_the_rules_have_is_no_line_and_one_that_they_lost_is() -> None:
    (draft,), lost, notes, _ = asked(said(("1", " ".join(LINES[:2])[3:]), ("3", "What is  power?")))
    assert lost == ["question 3, page 1: m reads it, the rules do not: What is power?"]
    assert notes == [
        "m read 2 questions on 1 pages; 1 of them are in none of the rules', and it reads 0 of the rules' otherwise"
    ]
    assert not [doubt for doubt in draft.doubts if doubt.readings]


@pytest.mark.parametrize(
    ("question", "lines"),
    [
        (("9", "What is power?"), 1),
        (("3", "What is POWER and glory?"), 1),
        (("3", "power is What?"), 1),
        (("3", ""), 1),
        (("3", "$ {} $"), 1),
        (("1", "What is fame?"), 0),
        (("1", "What"), 0),
        (("8", "What is force?"), 0),
    ],
)
def test_what_does_not_stand_on_the_page_so_is_said_with_both_readings(question: tuple[str, str], lines: int) -> None:
    (draft,), lost, _, _ = asked(said(question))
    assert len(lost) == lines and all("it is not on the page so" in line for line in lost)
    (doubt,) = (doubt for doubt in draft.doubts if doubt.readings)
    assert doubt.readings == ("What is force? Q-two What is work?", "" if lines else " ".join(question))


ALIKE = ("1. Which of these statements on force is true?", "2. Which of these statements on force is false?")


@pytest.mark.parametrize(
    ("questions", "doubted"),
    [
        ([("1", ALIKE[0][3:]), ("2", ALIKE[1][3:])], [False, False]),
        ([("1", ALIKE[0][3:])], [False, True]),
        ([("1", "Which of these statements on power is true?"), ("2", ALIKE[1][3:])], [True, False]),
        ([("1", "Is power true?"), ("1", ALIKE[0][3:]), ("2", ALIKE[1][3:])], [True, False]),
    ],
)
def test_of_two_questions_with_one_beginning_each_is_read_by_itself(
    questions: list[tuple[str, str]], doubted: list[bool]
) -> None:
    one = page(*ALIKE)
    drafts, _, _, _ = asked(said(*questions), None, [one], read(one).drafts)
    assert [any(doubt.readings for doubt in draft.doubts) for draft in drafts] == doubted


def cut() -> Reply:
    value = completion(json.dumps(said(("3", "What is power?"))))
    value["choices"][0]["finish_reason"] = "length"
    return Reply(body=json.dumps(value).encode())


@pytest.mark.parametrize(
    "reply",
    [good(""), good("3. What is power?"), good("[" * 50_000), {"questions": "all"}, {"questions": [{"number": 3}]},
     {"questions": [{"number": "3", "question": "x"}] * 300}, cut()],
    ids=["empty", "prose", "deep", "no-list", "no-text", "many", "cut"],
)  # fmt: skip
def test_a_reply_that_is_no_list_of_questions_is_said(reply: Any) -> None:
    _, lost, notes, _ = asked(reply)
    assert not lost and notes[0].startswith("m read 0 questions") and notes[1].startswith("m, page 1: ")


@pytest.mark.parametrize("reply", [Reply(wait=3), Reply(cut=True, body=b"{")], ids=["slow", "hung-up"])
def test_an_endpoint_that_was_never_there_is_one_line(reply: Reply) -> None:
    with pytest.raises(UserError, match=r"http://127\.0\.0\.1") as caught:
        asked(reply)
    assert "\n" not in str(caught.value)


def test_no_page_is_asked_about_twice(tmp_path: Path) -> None:
    first = asked(said(("3", "What is power?")), tmp_path)
    again = asked(said(), tmp_path)
    assert first[:3] == again[:3] and len(first[3].seen) == 1 and not again[3].seen


def test_a_paper_that_the_rules_cannot_read_says_what_the_model_reads(tmp_path: Path) -> None:
    paper = typeset("First: what is force?\n\nSecond: what is work?", tmp_path / "paper.pdf")
    script = Script(lambda text, n: good(json.dumps(said(("First", "what is force?"), ("Third", "what is love?")))))
    with serving(script) as url:
        parser = Parser(f"m@openai:base_url={url}")
        outcome = ingest([paper], tmp_path / "out", Options(parser="m"), parser=parser)
        parser.close()
    (line,) = outcome.failed
    assert "no numbered question" in line and "question First, page 1: m reads it" in line
    assert "question Third" in line


PAPER = """First) What is force?
A. a push
B. a colour

Second) Describe work.
Answer: force times way
"""
READS = [
    {"number": "First", "question": "What is force?", "question_type": "single_choice",
     "options": [{"label": "A", "text": "a push"}, {"label": "B", "text": "a colour"}]},
    {"number": "Second", "question": "Describe work.", "question_type": "short_answer", "points": 7,
     "answer": "force times way"},
    {"number": "Third", "question": "What is love?", "question_type": "short_answer"},
    {"number": "Second", "question": "What is force?", "question_type": "short_answer"},
    {"number": "First", "question": "What is force?", "question_type": "single_choice",
     "options": [{"label": "A", "text": "a colour"}, {"label": "B", "text": "a push"}]},
    {"number": "First", "question": "What is force?", "question_type": "riddle"},
]  # fmt: skip
"""The first two stand on the paper as they say; the others are invented, wrongly put together or of no type."""


def test_a_model_writes_the_structure_and_rules_check_its_words(tmp_path: Path) -> None:
    file = tmp_path / "paper.md"
    file.write_text(PAPER, encoding="utf-8")
    template = tmp_path / "own.yaml"
    template.write_text(
        "name: own\nlanguage: en\nlayout: Ordinals before brackets.\n"
        "types: [{name: choose, kind: single_choice}, {name: tell, kind: short_answer}]\n"
        "fields: {number: an ordinal, question: its text, options: all, points: printed, answer: behind 'Answer'}\n"
    )
    script = Script(lambda text, n: good(json.dumps({"questions": READS})))
    with serving(script) as url:
        parser = Parser(f"m@openai:base_url={url}")
        given = Options(parser="m", take_parsed=True, template=str(template))
        outcome = ingest([file], tmp_path / "out", given, parser=parser)
        parser.close()
    assert not outcome.failed
    (paper,) = outcome.papers
    assert [(draft.number, draft.question_type, draft.question) for draft in paper.drafts] == [
        ("First", "single_choice", "What is force?"),
        ("Second", "short_answer", "Describe work."),
    ]
    first, second = paper.drafts
    assert [option.text for option in first.options] == ["a push", "a colour"]
    assert (second.answer, second.answer_from, second.points) == (["force times way"], "the paper", None)
    assert all(draft.confidence == 0.2 for draft in paper.drafts)
    assert [doubt.text for doubt in second.doubts if "points" in doubt.text] == [
        "points: the model wrote '7', which is not on the page"
    ]
    assert len([line for line in paper.unmatched if "the rules do not" in line]) == 4
