"""`livek12 site --space` and `--ask-hub`, against a Hub on this machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.evaluation.test_site import asked, simple
from tests.hub import READER
from tests.hub_client import Client

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow
LIST = "from huggingface_hub import HfApi\nresult = HfApi().list_repo_files('{}', repo_type='space')"
FETCH = (
    "from huggingface_hub import snapshot_download\nresult = snapshot_download('{}', repo_type='space', local_dir={!r})"
)


def test_a_site_goes_to_a_static_space_and_opens_from_there(
    logged_in: Client, tmp_path: Path, browser: Browser
) -> None:
    questions = [asked(1), asked(2)]
    runs = [simple(tmp_path / name, name, [True, name == "one"], questions) for name in ("one", "two")]
    where = ("--out", tmp_path / "site", "--space", "org/board", "--title", "Ours: a board")
    ended = logged_in.livek12("site", *runs, *where)
    assert ended.code == 0, ended.err
    assert "/spaces/org/board" in ended.err + ended.out
    first = set(logged_in.python(LIST.format("org/board")))
    assert {"README.md", "index.html", "table.json", "data/site.js", "assets/site.css", "data/runs/two.js"} <= first
    assert logged_in.livek12("site", runs[0], *where).code == 0
    assert "data/runs/two.js" in first - set(logged_in.python(LIST.format("org/board")))
    folder = Path(logged_in.python(FETCH.format("org/board", str(tmp_path / "space"))))
    card = (folder / "README.md").read_text()
    assert "\nsdk: static\n" in card
    assert '\ntitle: "Ours: a board"\n' in card
    page = browser.new_page()
    with served(folder) as address:  # as a static Space is: files, and nothing else
        page.goto(f"{address}/index.html#/heat")
        page.wait_for_selector("body[data-ready]")
        assert page.locator(".heat-box").count() == 1
        page.goto(f"{address}/index.html#/board")
        page.wait_for_selector("table.single")
        assert page.locator("tbody tr").count() == 1


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The folder over HTTP on this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None: ...


def test_who_may_not_write_is_told_in_a_line(client: Client, tmp_path: Path) -> None:
    run = simple(tmp_path / "run", "m", [True], [asked(1)])
    client.log_in(READER)
    ended = client.livek12("site", run, "--out", tmp_path / "site", "--space", "org/other")
    assert ended.code == 2
    assert len(ended.errors) == 1
    assert "org/other" in ended.err
    assert (tmp_path / "site" / "index.html").is_file()


def test_a_model_that_the_hub_does_not_have_stays_unknown(client: Client, tmp_path: Path) -> None:
    run = simple(tmp_path / "run", "org/nothing", [True], [asked(1)])
    ended = client.livek12("site", run, "--out", tmp_path / "site", "--ask-hub")
    assert ended.code == 0, ended.err
    assert "the Hub says nothing of it" in ended.err
    assert '"released":null' in (tmp_path / "site" / "data" / "front-0.js").read_text()
