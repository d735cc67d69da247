"""Cards of built data sets: their YAML, their numbers, their snippets, and that nobody edits them unseen."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from livek12.core.features import FlatRow
from livek12.core.questions import read_card
from livek12.core.records import Page, Question, Record
from livek12.dataset_builders import build, sample, validate
from livek12.dataset_builders.base import Log
from livek12.dataset_builders.benchmarks import livek12
from livek12.dataset_builders.builder import read
from livek12.dataset_builders.writing import croissant
from livek12.dataset_builders.writing.card import (
    CANARY,
    citations,
    cited,
    describe_again,
    metadata_problems,
    rewrite_metadata,
)
from livek12.dataset_builders.writing.croissant import licence_address
from livek12.dataset_builders.writing.listings import Publication
from livek12.dataset_builders.writing.statistics import read_statistics
from tests.conftest import ROOT


def front(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((folder / "README.md").read_text().split("---\n")[1])
    return found


def test_metadata_is_what_the_hub_reads(built: Path) -> None:
    from huggingface_hub import DatasetCard

    card = DatasetCard.load(built / "README.md")
    assert card.data.license == "apache-2.0"
    assert card.data.language == ["en", "ko", "zh"]
    assert card.data.size_categories == ["n<1K"]
    assert [config["config_name"] for config in front(built)["configs"] if config.get("default")] == ["default"]
    raw = (built / "README.md").read_text()
    assert '- split: "zh_sample"' in raw
    assert '- config_name: "text_only"' in raw


def test_numbers_of_the_card_are_those_of_the_statistics(built: Path) -> None:
    card, stated = (built / "README.md").read_text(), read_statistics(built)
    for config, counted in stated["configs"].items():
        splits = ", ".join(f"`{split}` {rows}" for split, rows in counted["splits"].items())
        (row,) = re.findall(rf"^\| `{config}`(?: \(default\))? \| (\d+) \| (.*?) \|", card, re.MULTILINE)
        assert row == (str(sum(counted["splits"].values())), splits)
    for subject, count in stated["all"]["by"]["subject"].items():
        assert f"| {subject.replace('_', chr(92) + '_')} | {count} |" in card
    assert "| cfe sample | en 6 | |" in card
    assert "| livek12 sample | en 21, zh 21 | |" in card
    assert card.count(CANARY) == 1


def test_every_snippet_runs_and_names_every_config(
    built: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path)
    snippets = re.findall(r"```python\n(.*?)```", (built / "README.md").read_text(), re.DOTALL)
    assert len(snippets) == 4
    printed, names = [], {}
    for snippet in snippets:
        names = {}
        exec(compile(snippet.replace('"ORG/NAME"', repr(str(built))), "card", "exec"), names)
        if snippet is snippets[0]:
            loaded = dict(names)
        printed.append(capsys.readouterr().out)
    for config, splits in read_card(built).items():
        rows = loaded["questions" if config == "default" else config]
        assert rows.num_rows == read_statistics(built)["configs"][config]["splits"][min(splits)]
    assert printed[2] == printed[3], "with the package and without it, the same pages in the same order"
    assert len(printed[2].splitlines()) == 42


@pytest.mark.parametrize(
    ("licences", "expected"),
    [
        (["Apache-2.0"], {"license": "apache-2.0"}),
        (["cc by-nc 4.0"], {"license": "cc-by-nc-4.0"}),
        ([None], {"license": "other", "license_name": "not-stated"}),
        (["MIT", None, "MIT"], {"license": "other", "license_name": "mit-and-not-stated"}),
        (["MIT", "Own terms (§ 3)"], {"license": "other", "license_name": "mit-and-own-terms-3"}),
        ([f"Licence {n}" for n in range(6)], {"license": "other", "license_name": "mixed"}),
    ],
)
def test_licence_of_the_mix(tmp_path: Path, licences: list[str | None], expected: dict[str, str]) -> None:
    rows = [
        {"id": f"en_2603_math_{n:04d}", "question": f"Find x. {n}", "answer": ["1"], "licence": licence}
        for n, licence in enumerate(licences)
    ]
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    questions = [q for q in read(livek12.BUILDER, tmp_path / "rows.json", Log()) if isinstance(q, Question)]
    assert [q.source.licence for q in questions] == licences
    build("livek12", str(tmp_path / "rows.json"), tmp_path / "out")
    found = front(tmp_path / "out")
    assert {name: found.get(name) for name in ("license", "license_name") if name in found} == expected


def test_the_same_rows_give_the_same_bytes(built: Path, tmp_path: Path) -> None:
    before = {name: (built / name).read_bytes() for name in ("README.md", "statistics.json", "croissant.json")}
    build("sample", "", tmp_path / "again")
    assert before == {name: (tmp_path / "again" / name).read_bytes() for name in before}
    rewrite_metadata(tmp_path / "again")
    assert before == {name: (tmp_path / "again" / name).read_bytes() for name in before}


def test_a_table_that_went_is_gone_from_the_card(copied: Path) -> None:
    for file in (copied / "cfe_text").iterdir():
        file.unlink()
    rewrite_metadata(copied)
    assert "cfe_text" not in read_card(copied)
    assert "cfe_multimodal" in read_card(copied)
    assert metadata_problems(copied) == []


def test_a_card_edited_by_hand_is_said(copied: Path) -> None:
    card = copied / "README.md"
    card.write_text(card.read_text().replace("written for this project", "of the highest quality"))
    (problem,) = validate(copied)
    assert problem.startswith("README.md: edited by hand")


def test_croissant_describes_every_config_and_column(built: Path) -> None:
    described = json.loads((built / "croissant.json").read_text())
    assert described["conformsTo"] == "http://mlcommons.org/croissant/1.1"
    assert described["license"] == ["https://www.apache.org/licenses/LICENSE-2.0"]
    assert "url" not in described, "it is not published"
    sets = {entry["name"]: entry for entry in described["recordSet"]}
    files = {entry["@id"]: entry for entry in described["distribution"]}
    assert files["repo"]["contentUrl"] == "." and files["repo"]["encodingFormat"] == "git+https"
    assert list(sets) == list(read_card(built))
    for config, splits in read_card(built).items():
        record = Page if config == "pages" else Question
        told = [
            name for name in record.model_fields if name != "scheme"
        ]  # lists in lists, which mlcroissant cannot read
        assert [field["name"] for field in sets[config]["field"]] == told
        assert {field["source"]["fileSet"]["@id"] for field in sets[config]["field"]} == {f"{config}-files"}
        assert files[f"{config}-files"]["containedIn"] == {"@id": "repo"}
        assert files[f"{config}-files"]["includes"] == [path for paths in splits.values() for path in paths]
    ids = [field["@id"] for entry in sets.values() for field in entry["field"]]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("CC BY-NC-SA 4.0", "https://creativecommons.org/licenses/by-nc-sa/4.0/"),
        ("cc-by-4.0", "https://creativecommons.org/licenses/by/4.0/"),
        ("MIT", "https://spdx.org/licenses/MIT.html"),
        ("by permission of Board: letter", "by permission of Board: letter"),
    ],
)
def test_licences_by_their_address(name: str, address: str) -> None:
    assert licence_address(name) == address


@pytest.mark.parametrize(("tag", "version"), [("2605.1", "2605.1"), ("2605-answers", "0.0.0+2605-answers")])
def test_where_a_set_is_published_stands_in_its_description(
    tag: str, version: str, copied: Path, tmp_path: Path
) -> None:
    Publication("org/exam", "https://hub.example/datasets/org/exam", tag, "2026-11-25", "0a").write(copied)
    describe_again(copied)
    described = json.loads((copied / "croissant.json").read_text())
    assert (described["version"], described["datePublished"]) == (version, "2026-11-25")
    assert described["url"] == described["distribution"][0]["contentUrl"] == "https://hub.example/datasets/org/exam"
    assert validate(copied) == []


def test_those_whose_rows_are_in_a_set_are_cited_first() -> None:
    by = {"attribution": {"OpenMOSS/GAOKAO-MM: Apache-2.0": 3, "not stated: MIT": 1}, "benchmark": {"livek12": 4}}
    assert [entry.partition(",")[0] for entry in cited(by)] == ["@misc{gaokaomm2024", "@misc{livek12bench2026"]


@pytest.mark.parametrize("record", [Question, Page, FlatRow])
def test_every_column_is_explained(record: type[Record]) -> None:
    assert list(croissant.meanings(record)) == list(record.model_fields)


def test_every_benchmark_is_cited_once() -> None:
    benchmarks = sorted({q.benchmark for group in sample.PAPERS for q in sample.load(group)})
    entries = citations(benchmarks)
    assert len(set(re.findall(r"@misc\{(\w+),", "\n".join(entries)))) == len(benchmarks) == 4
    for entry in entries:
        assert entry.count("{") == entry.count("}")
        assert {"title", "author", "year"} <= set(re.findall(r"^\s+(\w+)\s+=", entry, re.MULTILINE))


def test_the_canary_is_in_the_docs() -> None:
    assert CANARY in (ROOT / "docs" / "build-a-data-set.md").read_text()
