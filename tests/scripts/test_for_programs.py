"""`--json`: one JSON document on stdout and nothing else, from every command whose result a program would read."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.scripts.command import livek12_here

TASK = "--task livek12_text_only_en --data data"
LINES = {
    "tasks --data data": lambda said: {task["name"] for task in said} > {"cfe_text", "kmmmu"},
    "build sample --out made": lambda said: (said["questions"], said["skipped"], said["out"][-4:]) == (63, [], "made"),
    "validate data": lambda said: said == {"folder": "data", "problems": []},
    "validate broken": lambda said: "no file matches" in " ".join(said["problems"]),
    "dedup data --out made.jsonl": lambda said: said,
    "tag data": lambda said: len(said["questions"]) == 63,
    "subsets list": lambda said: {subset["name"] for subset in said} > {"hard", "mini"},
    "subsets propose mini --data data --out sheet.csv": lambda said: said["questions"] == 6,
    "subsets status sheet.csv": lambda said: said["counts"],
    f"generate {TASK} --model some.jsonl --out half": lambda said: (
        said == {"run": "half", "asked": 11, "answered": 1, "unsupported": 0, "failed": 10}
    ),
    f"import-responses some.jsonl {TASK} --out run": lambda said: said["tasks"],
    f"run {TASK} --model some.jsonl --out run2": lambda said: said["tasks"],
    "rejudge pairs.jsonl --out theirs": lambda said: said["tasks"]["log.pairs"]["counts"]["graded"] == 1,
    "judge run": lambda said: (said["run"], said["failed"], said["lost"]) == ("run", 10, 0),
    "score run": lambda said: said["tasks"],
    "report run": lambda said: said["tasks"],
    "judge-pairs pairs.jsonl made.jsonl": lambda said: (
        said == {"out": "made.jsonl", "accepted": 1, "rejected": 0, "undecided": 0, "bad": 0, "lost": 0}
    ),
    "study intra-judge run copy": lambda said: said["identical"] == 1,
    "export run --to eee --out exported": lambda said: len(said["files"]) >= 1 and said["proposed"] == [],
    "compare run copy": lambda said: said["tasks"],
    "site run copy --out made": lambda said: (said["runs"], said["hidden"], said["space"]) == (2, 0, None),
    "plugins inspect --data data": lambda said: said["path"] == "livek12",
    "ingest paper.pdf --out papers": lambda said: said["papers"][0]["found"] == 6,
    "review papers --status": lambda said: said["papers"][0]["open"] == 6,
}


@pytest.fixture(scope="module")
def desk(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from livek12.dataset_builders import sample

    here = tmp_path_factory.mktemp("desk")
    for name in ("data", "broken"):
        shutil.copytree(data, here / name)
    shutil.rmtree(here / "broken" / "cfe_text")
    shutil.copy(Path(sample.__file__).parent / "papers" / "mdk12.pdf", here / "paper.pdf")
    (here / "some.jsonl").write_text('{"question_id": "en_sample_math_0001", "response": "A"}\n')
    (here / "pairs.jsonl").write_text('{"id": 1, "gold": "4", "response": "4"}\n')
    return here


@pytest.mark.slow
def test_the_result_is_json_and_nothing_else(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(desk)
    for line, holds in LINES.items():
        if "copy" in line and not (desk / "copy").exists():
            shutil.copytree(desk / "run", desk / "copy")
        ended = livek12_here(*line.split(), "--json", "-q")
        assert ended.code in (0, 1), (line, ended)
        said: Any = json.loads(ended.out)
        assert holds(said), (line, said)
        for made in (desk / "made", desk / "made.jsonl"):
            if made.exists():
                shutil.rmtree(made) if made.is_dir() else made.unlink()
