"""`livek12 vary` through the real command, with scripted models behind a real endpoint."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as PIL

from livek12.core.questions import load_questions
from livek12.core.records import Question
from livek12.dataset_builders import build, validate
from livek12.dataset_builders.proposals.variants import TRANSFORMS
from livek12.engines.images import check_image
from tests.conftest import ROOT
from tests.dataset_builders.variants.model_server import Models, serving
from tests.scripts.command import COMMAND, Ended, livek12_here

ITEMS = 40


def row(number: int) -> dict[str, Any]:
    """An item of one of four types; every other has a picture."""
    kind = ("single_choice", "fill_in_blank", "true_false", "multiple_choice")[number % 4]
    choice = {"options": ["the wind", "the tide", "the oars"], "answer": "AB" if number % 4 == 3 else "B"}
    stem = f"Item {number}: the boat of {number} kg is moved by"
    return {
        "id": f"item_{number}",
        "question": stem + ("" if kind.endswith("choice") else " ____" if kind == "fill_in_blank" else " the wind."),
        "question_type": kind,
        "subject": "physics",
        "difficulty_level": "easy",
        "subsets": ["mini"],
        **(choice if kind.endswith("choice") else {"answer": "True" if kind == "true_false" else "the wind"}),
        **({"image": [f"{number}.png"]} if number % 2 else {}),
    }


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set of items in `mini`."""
    folder = tmp_path_factory.mktemp("vary")
    for number in range(1, ITEMS, 2):
        PIL.new("RGB", (40, 20), (number, 90, 200)).save(folder / f"{number}.png")
    rows = "".join(json.dumps(row(number)) + "\n" for number in range(ITEMS))
    (folder / "rows.jsonl").write_text(rows)
    build("mdk12", str(folder / "rows.jsonl"), folder / "data")
    return folder / "data"


def vary(data: Path, out: Path, *more: object) -> Ended:
    return livek12_here("vary", data, "--out", out, "-q", *more)


def asking(address: str, *names: str) -> list[str]:
    args = f"base_url={address},max_retries=0,backoff=0.01"
    found = [("--model", f"w@openai:{args}"), ("--judge", f"j@openai:{args}")]
    found.append(("--style-model", f"p@openai:base_url={address},backoff=0.01"))
    return [word for option in found if option[0].strip("-").partition("-")[0] in names for word in option]


def variants(out: Path) -> dict[str, Question]:
    found = load_questions(out, ["dynamic"], "mdk12")
    assert not validate(out)
    return {question.variant.of: question for question in found if question.variant}


def rows(out: Path) -> dict[str, dict[str, Any]]:
    return {(found := json.loads(line))["of"]: found for line in (out / "variants.jsonl").read_text().splitlines()}


def test_half_is_drawn_and_the_same_command_gives_the_same_bytes(data: Path, tmp_path: Path) -> None:
    models = Models()
    with serving(models) as address:
        ended = vary(data, tmp_path / "a", *asking(address, "model", "judge", "style"), "--seed", 2, "--json")
        asked = len(models.asked)
        assert vary(data, tmp_path / "b", *asking(address, "model", "judge", "style"), "--seed", 2).code == 0
        assert len(models.asked) == 2 * asked and set(Counter(models.asked).values()) == {2}
        assert vary(data, tmp_path / "c", *asking(address, "model", "judge", "style"), "--seed", 1).code == 0
    report = json.loads(ended.out)
    assert (ended.code, report["questions"], report["drawn"], report["variants"]) == (0, 40, 20, 20)
    assert (tmp_path / "a/variants.jsonl").read_bytes() == (tmp_path / "b/variants.jsonl").read_bytes()
    assert variants(tmp_path / "a") == variants(tmp_path / "b") != variants(tmp_path / "c")
    sources = {question.id: question for question in load_questions(tmp_path / "a", ["mini"], "mdk12")}
    made = variants(tmp_path / "a")
    assert made.keys() == sources.keys() and set(report["made"]) == set(TRANSFORMS)
    for id, variant in made.items():
        source, drawn = sources[id], rows(tmp_path / "a")[id]
        assert variant.variant and drawn["transforms"] == variant.variant.transforms
        assert (variant.id, variant.variant.kind, variant.review.state) == (f"{id}:dynamic", "dynamic", "unreviewed")
        assert len(variant.variant.transforms) == 1 + bool(source.images)
        assert [one.sha256 for one in variant.images] != [one.sha256 for one in source.images] or not source.images
        if "type" in variant.variant.transforms:
            assert variant.question_type != source.question_type
        else:
            assert variant.question == source.question.replace("boat", "vessel") and variant.answer == source.answer


def test_the_judge_drops_what_it_finds_changed_and_nothing_else(data: Path, tmp_path: Path) -> None:
    models = Models()
    models.dropped = set(range(0, ITEMS, 5))
    with serving(models) as address:
        ended = vary(data, tmp_path / "out", *asking(address, "model", "judge"), "--share", 1, "--json")
    report, made = json.loads(ended.out), variants(tmp_path / "out")
    gone = {f"item_{number}" for number in models.dropped}
    assert made.keys() == {f"item_{number}" for number in range(ITEMS)} - gone
    assert report["left_out"] == {"meaning changed": 8} and report["variants"] == 32
    told = rows(tmp_path / "out")
    by_transform = Counter(name for id in gone for name in told[id]["transforms"])
    assert report["dropped"] == {name: {"meaning changed": count} for name, count in by_transform.items()}
    assert all(told[id]["dropped"] == "meaning changed" and "another boat" in told[id]["why"] for id in gone)
    assert sum("no variant: meaning changed" in line for line in ended.err.splitlines()) == 8


def test_without_models_rules_and_pictures_remain_and_the_rest_is_said(data: Path, tmp_path: Path) -> None:
    ended = vary(data, tmp_path / "out", "--share", 1)
    assert ended.code == 0
    for said in ("no words and no paraphrase", "by rule only", "no style: give --style-model", "nobody checks"):
        assert said in ended.err
    names = {name for found in rows(tmp_path / "out").values() for name in found["transforms"]}
    assert names == {"pad", "invert", "type"}
    lines = [line for line in ended.err.splitlines() if "no variant" in line]
    assert len(lines) == 10 and all("it has no pictures" in line for line in lines)  # even blanks and statements


def test_a_question_without_pictures_is_named_where_only_pictures_change(data: Path, tmp_path: Path) -> None:
    ended = vary(data, tmp_path / "out", "--share", 1, "--transforms", "pad", "--json")
    lines = [line for line in ended.err.splitlines() if "no variant: no transform: it has no pictures" in line]
    assert len(lines) == ITEMS // 2 and json.loads(ended.out)["dropped"] == {"none": {"no transform": 20}}
    for id, variant in variants(tmp_path / "out").items():
        left, top = map(int, re.findall(r"(?:left|top)=(\d+)", rows(tmp_path / "out")[id]["pictures"]["1"]))
        inside = check_image(variant.images[0]).crop((left, top, left + 40, top + 20))
        assert inside.getcolors() == [(800, (int(id.removeprefix("item_")), 90, 200))]


HOSTILE = {
    0: "",
    1: "I cannot help with that.",
    2: '{"question": "Item 2: the vessel of 99 kg"}',
    3: '{"question": 1}',
    4: '["question"]',
    5: '{"question": "x", "question": "y"}',
    6: "{" * 5000,
    7: '{"question": "<script>alert(1)</script> Item 7: the vessel of 7 kg is moved by", "option_A": "the wind",'
    ' "option_B": "the tide", "option_C": "the oars"}',
    8: '{"question": "Item 8: the boat of 8 kg is moved by", "option_A": "the tide", "option_B": "the tide",'
    ' "option_C": "the oars"}',
    9: '{"question": "Item 9: the boat of 9 kg is moved by ____"}',
    10: '{"question": "' + "very " * 5000 + '"}',
}


def test_hostile_and_empty_replies_cost_their_variant_one_line_each(data: Path, tmp_path: Path) -> None:
    models = Models()
    models.said = HOSTILE
    models.judged = {11: "yes", 12: '{"same_meaning": "true", "key_holds": true, "why": ""}', 13: ""}
    with serving(models) as address:
        more = ("--share", 1, "--transforms", "pad,words,paraphrase")
        ended = vary(data, tmp_path / "out", *asking(address, "model", "judge"), *more, "--json")
    bad = {f"item_{number}" for number in (*HOSTILE, *models.judged)}
    assert variants(tmp_path / "out").keys() == {f"item_{number}" for number in range(ITEMS)} - bad
    lines = [line for line in ended.err.splitlines() if "no variant" in line]
    assert {line.partition(":")[0] for line in lines} == bad and len(lines) == len(bad)
    assert json.loads(ended.out)["left_out"] == {"unusable reply": len(HOSTILE), "not judged": 3}
    assert "script" not in (tmp_path / "out/variants.jsonl").read_text().replace("added markup", "") or all(
        "<script>" not in one.question for one in variants(tmp_path / "out").values()
    )


@pytest.mark.parametrize(
    ("paints", "status", "why", "code"),
    [
        (b"[]", 200, "holds no picture", 0),
        (b'{"data": [{"b64_json": "aGVsbG8="}]}', 200, "no readable one", 0),
        (b'{"data": [{"url": "http://127.0.0.1:1/x.png"}]}', 200, "holds no picture", 0),
        (b"no such model", 404, "answered 404: no such model", 0),
        (b"busy", 503, "answered 503: busy", 1),
    ],
)
def test_a_painter_that_brings_no_picture(
    data: Path, tmp_path: Path, paints: bytes, status: int, why: str, code: int
) -> None:
    models = Models()
    models.paints, models.status = paints, status
    with serving(models) as address:
        more = ("--transforms", "style,type", "--share", 1)
        ended = vary(data, tmp_path / "out", *asking(address, "style"), *more)
        assert ended.code == code, ended.err
        lines = [line for line in ended.err.splitlines() if "no variant" in line and why in line]
        assert len(lines) == ITEMS // 2, ended.err
        models.paints, models.status = b"", 200
        assert vary(data, tmp_path / "out", *asking(address, "style"), *more).code == 0
    painted = [one for one in variants(tmp_path / "out").values() if one.images]
    assert len(painted) == ITEMS // 2 and all(one.variant and one.variant.transforms[0] == "style" for one in painted)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--transforms", "blur"], "'blur' is none; there are pad, invert"),
        (["--transforms", "words"], "nothing can be varied: no words: give --model"),
        (["--share", "0"], "--share 0.0: give a share"),
        (["--config", "hard"], "no mdk12 config mdk12_hard or hard"),
        (["--style-model", "flux"], "only an endpoint redraws pictures"),
        (["--style-model", "p@openai:base_url=http://127.0.0.1:1,timeout=3"], "takes no argument timeout"),
    ],
)
def test_bad_input_is_one_line(data: Path, tmp_path: Path, more: list[str], said: str) -> None:
    ended = vary(data, tmp_path / "out", *more)
    assert ended.code == 2 and len(ended.errors) == 1 and said in ended.errors[0]
    assert not (tmp_path / "out").exists()


def test_what_is_written_loads_and_is_asked(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    assert vary(data, tmp_path / "out", "--transforms", "pad,type").code == 0
    loaded = datasets.load_dataset(str(tmp_path / "out"), "dynamic", split="test")
    assert set(loaded["id"]) == {one.id for one in variants(tmp_path / "out").values()}
    models = Models()
    models.said = dict.fromkeys(range(ITEMS), r"\boxed{B}")
    with serving(models) as address:
        args = ["--data", tmp_path / "out", "--model", "m", "--engine", "openai", "--out", tmp_path / "run"]
        ended = livek12_here(
            "run", "--task", "mdk12,mdk12_dynamic", *args, "--engine-args", f"base_url={address}", "--judge", "rules"
        )
    assert ended.code == 0, ended.err
    report = json.loads((tmp_path / "run/report.json").read_text())
    counted = {name: task["counts"]["questions"] for name, task in report["tasks"].items()}
    assert counted == {"mdk12": 20, "mdk12_dynamic": len(variants(tmp_path / "out"))}
    paired = ended.out.partition("mdk12_dynamic minus mdk12: transformed\n")[2].splitlines()[0]
    assert paired.startswith(f"{counted['mdk12_dynamic']} shared questions")


@pytest.mark.slow
@pytest.mark.release
def test_killed_at_three_moments_nothing_is_asked_twice(data: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.touch()
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.dataset_builders.variants.model_server", str(log)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    try:
        assert server.stdout
        address = server.stdout.readline().strip()
        args = f"base_url={address},concurrency=1"
        line = [*COMMAND, "vary", str(data), "--out", str(tmp_path / "out"), "--share", "1", "-q"]
        line += ["--model", f"w@openai:{args}", "--judge", f"j@openai:{args}", "--transforms", "pad,words,paraphrase"]
        for moment in (3, 25, 50):
            command = subprocess.Popen(line, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            until = time.monotonic() + 60
            while len(log.read_text().splitlines()) < moment and time.monotonic() < until:
                time.sleep(0.01)
            assert command.poll() is None, "it ended before it was killed"
            command.kill()
            command.wait(30)
            assert not (tmp_path / "out").exists()
        assert subprocess.run(line, timeout=120, check=False, capture_output=True).returncode == 0
    finally:
        server.kill()
        server.wait(30)
    asked = Counter(log.read_text().splitlines())
    again = sum(count - 1 for count in asked.values())
    # at each kill the one request in hand of each of the two models had no reply yet that could have been remembered
    assert len(asked) == 2 * ITEMS and again <= 3 * 2
    assert len(variants(tmp_path / "out")) == ITEMS
