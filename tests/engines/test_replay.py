"""Recorded responses in place of a model."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from livek12.core.errors import UserError
from livek12.core.records import Key, Response
from livek12.engines import make_engine
from livek12.engines.replay import ReplayEngine
from tests.engines.helpers import ask, by_question, failure, response


def _write(file: Path, *rows: dict[str, Any] | str) -> Path:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def test_a_run_folder_gives_back_what_it_holds(tmp_path: Path) -> None:
    recorded = [
        Response(
            key=Key(task="t", question_id="q", trial=trial),
            text=f"答案 {trial}",
            reasoning="想",
            finish_reason="stop",
            prompt_tokens=5,
            completion_tokens=7,
            reasoning_tokens=2,
            seconds=1.5,
            engine="vllm",
            model="org/m",
            model_revision="abc",
            prompt_sha256="00",
            versions={"vllm": "1"},
        )
        for trial in range(2)
    ]
    for number, record in enumerate(recorded):
        (tmp_path / f"responses-{number}.jsonl").write_text(record.model_dump_json() + "\n", encoding="utf-8")
    engine = make_engine("replay", str(tmp_path), {})
    assert (engine.name, engine.model, engine.images) == ("replay", "org/m", True)
    found = [response(o) for o in engine.generate(ask("q", trial=trial) for trial in (1, 0))]
    ours = {"engine", "versions"}
    assert [r.model_dump(exclude=ours) for r in found] == [r.model_dump(exclude=ours) for r in reversed(recorded)]


def test_rows_from_anywhere(tmp_path: Path) -> None:
    file = _write(
        tmp_path / "GLM 5.1.jsonl",
        {"question_id": "a", "response": "4", "completion_tokens": 9, "unknown": [1]},
        {"id": 7, "text": "<think>hm</think>B", "finish_reason": "stop"},
        {"id": "c", "text": "first", "trial": 0},
        {"id": "c", "text": "second", "trial": 1},
        {"id": "d", "text": "for t", "task": "t"},
        {"id": "d", "text": "for any"},
        {"id": "e", "text": "for another", "task": "u"},
        {"id": "f", "text": "lone \ud800 surrogate"},
    )
    engine = ReplayEngine(str(file))
    assert engine.model == "GLM 5.1"
    found = by_question(list(engine.generate([ask(q) for q in ("a", "7", "d", "e", "f")])))
    assert (response(found["a"]).text, response(found["a"]).completion_tokens) == ("4", 9)
    assert (response(found["7"]).text, response(found["7"]).reasoning) == ("B", "hm")
    assert response(found["7"]).reasoning_tokens is None
    assert response(found["d"]).text == "for t"
    assert response(found["f"]).text == "lone ? surrogate"
    assert failure(found["e"]).reason == "no recorded response for t/e/0"
    trials = [response(o).text for o in engine.generate([ask("c", trial=0), ask("c", trial=1)])]
    assert trials == ["first", "second"]
    assert failure(next(engine.generate([ask("c", trial=2)]))).state == "failed"


def test_damaged_lines_are_named_and_passed_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = _write(
        tmp_path / "r.jsonl",
        {"id": "a", "text": "4"},
        "{half a line",
        {"text": "no id"},
        {"id": "b"},
        {"id": "d", "text": "x", "trial": "0"},
        "[1]",
        "[" * 100_000,
        {"id": "e", "text": "5"},
    )
    with caplog.at_level(logging.WARNING):
        engine = ReplayEngine(str(file))
    assert [line.split(": ")[0].removeprefix(str(file)) for line in engine.damaged] == [f":{n}" for n in range(2, 8)]
    assert len(caplog.records) == 6
    assert [response(o).text for o in engine.generate([ask("a"), ask("e")])] == ["4", "5"]


@pytest.mark.parametrize("count", [-1, 1.5, "many", True, [3], 2**53, 10**30])
def test_a_count_that_cannot_be_is_missing_and_the_answer_stands(tmp_path: Path, count: object) -> None:
    file = _write(tmp_path / "r.jsonl", {"id": "a", "text": "4", "completion_tokens": count, "prompt_tokens": 7})
    found = response(next(ReplayEngine(str(file)).generate([ask("a")])))
    assert (found.text, found.completion_tokens, found.prompt_tokens) == ("4", None, 7)


def test_the_same_recording_twice_is_one(tmp_path: Path) -> None:
    file = _write(tmp_path / "r.jsonl", *[{"id": "a", "text": "4", "seconds": s} for s in (1, 2)])
    assert response(next(ReplayEngine(str(file)).generate([ask("a")]))).text == "4"


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (
            [{"id": "a", "text": "4"}, {"id": "a", "text": "5"}],
            r"r.jsonl:2: question a, trial 0 has another .*r.jsonl:1",
        ),
        ([{"id": "a", "text": "4", "model": "m"}, {"id": "a", "text": "5", "model": "n"}], r"several models \(m, n\)"),
        ([{"id": "a", "text": "4", "model": "m"}, {"id": "b", "text": "5", "model": "n"}], r"several models \(m, n\)"),
        ([], "holds no recorded response"),
        (["junk"], r"holds no recorded response; .*r.jsonl:1: is not a line of JSON"),
    ],
)
def test_what_cannot_be_replayed_says_why(tmp_path: Path, rows: list[Any], says: str) -> None:
    with pytest.raises(UserError, match=says) as error:
        ReplayEngine(str(_write(tmp_path / "r.jsonl", *rows)))
    assert "\n" not in str(error.value)


def test_one_of_several_models_can_be_picked(tmp_path: Path) -> None:
    rows = [{"id": "a", "text": name, "model": name} for name in ("m", "n")]
    engine = make_engine("replay", str(_write(tmp_path / "r.jsonl", *rows)), {"pick": "n"})
    assert engine.model == "n"
    assert response(next(engine.generate([ask("a")]))).text == "n"


def test_texts_stay_in_the_file(tmp_path: Path) -> None:
    """The engine reads lazily: it answers request by request from a file of any size."""
    file = _write(tmp_path / "r.jsonl", *[{"id": str(n), "text": "x" * 1000 + str(n)} for n in range(500)])
    engine = ReplayEngine(str(file))
    asked: list[int] = []

    def requests() -> Any:
        for n in range(500):
            asked.append(n)
            yield ask(str(n))

    outcomes = engine.generate(requests())
    assert response(next(outcomes)).text.endswith("x0")
    assert asked == [0]
    assert [response(o).text[1000:] for o in outcomes] == [str(n) for n in range(1, 500)]


def test_frontier_models_recorded_answers_replay(shared_data: Path, tmp_path: Path) -> None:
    """Real recordings, brought to plain rows, come back word for word."""
    files = sorted((shared_data / "gaokao2026_math" / "responses").glob("*.jsonl"))
    assert files
    for file in files:
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        plain = [{"id": row["item_id"], "text": row["final_response_text"], "model": file.stem} for row in rows]
        engine = ReplayEngine(str(_write(tmp_path / file.name, *plain)))
        found = by_question(list(engine.generate([ask(row["item_id"]) for row in rows])))
        assert {q: response(o).text for q, o in found.items()} == {row["id"]: row["text"] for row in plain}
