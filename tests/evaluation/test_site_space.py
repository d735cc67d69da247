"""`livek12 site --space` and `--ask-hub`, against a Hub on this machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from livek12.evaluation.site import stated_by
from tests.evaluation.test_site import asked, read, simple
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
    settings = yaml.safe_load((folder / "README.md").read_text().split("---")[1])
    assert settings["sdk"] == "static"
    assert settings["title"] == "Ours: a board"
    page, asked_for = browser.new_page(), list[str]()
    page.on("request", lambda request: asked_for.append(request.url))
    # As a static Space is: its files and nothing else, `app_file` in a frame on a page of another origin.
    with served(folder) as space, served(tmp_path / "frame") as hub:
        (tmp_path / "frame").mkdir()
        around = f'<!DOCTYPE html><iframe src="{space}/{settings["app_file"]}" width=900 height=700></iframe>'
        (tmp_path / "frame" / "index.html").write_text(around)
        page.goto(hub.replace("127.0.0.1", "localhost"))
        frame = page.frame_locator("iframe")
        frame.locator("body[data-ready] table.single tbody[data-ranks=told]").wait_for()
        assert frame.locator("tbody tr").count() == 1
        before, many = frame.locator("body").inner_html(), len(asked_for)
        page.wait_for_timeout(700)  # it holds still: nothing more is asked for, nothing moves
        assert frame.locator("body").inner_html() == before
        assert len(asked_for) == many
        frame.locator("#nav a").nth(1).click()
        frame.locator(".heat-box").wait_for()
        assert all(url.startswith((space, hub.replace("127.0.0.1", "localhost"), "data:")) for url in asked_for)


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
    about = read(tmp_path / "site", "front-0")["run"]["known"]
    assert {about[name] for name in ("released", "parameters", "licence", "source")} == {None}


PUSH = """
import json, math
from huggingface_hub import HfApi
api = HfApi()
api.create_repo({0!r}, exist_ok=True)
shapes = {{"embed": [100, 8], "head": [8, 100]}}
ends = [0]
for shape in shapes.values():
    ends.append(ends[-1] + 2 * math.prod(shape))
spans = zip(shapes.items(), zip(ends, ends[1:]))
head = {{name: {{"dtype": "BF16", "shape": shape, "data_offsets": list(span)}} for (name, shape), span in spans}}
said = json.dumps(head).encode()
weights = len(said).to_bytes(8, "little") + said + bytes(ends[-1])
files = {{"README.md": {1!r}.encode(), **({{"model.safetensors": weights}} if {2} else {{}})}}
for name, content in files.items():
    api.upload_file(path_or_fileobj=content, path_in_repo=name, repo_id={0!r})
result = api.model_info({0!r}).id
"""


def test_the_hub_states_date_size_and_licence_of_its_models(
    logged_in: Client, tmp_path: Path, browser: Browser
) -> None:
    cards = {
        "org/whole": ("---\nlicense: apache-2.0\n---\n# Whole", True),
        "org/named": ("---\nlicense: other\nlicense_name: research-only\n---\n", False),
        "org/bare": ("# Nothing is stated", False),
    }
    for model, (card, weights) in cards.items():
        assert logged_in.python(PUSH.format(model, card, weights)) == model
    runs = [simple(tmp_path / name.partition("/")[2], name, [True], [asked(1)]) for name in (*cards, "org/nowhere")]
    mine = tmp_path / "models.yaml"
    mine.write_text("org/bare: {licence: Mine}\n")
    ended = logged_in.livek12("site", *runs, "--out", tmp_path / "site", "--ask-hub", "--models", mine)
    assert ended.code == 0, ended.err
    front = read(tmp_path / "site", "front-0")
    known = {slug: [run["known"][n] for n in ("released", "parameters", "licence")] for slug, run in front.items()}
    assert known == {
        "whole": ["2026-01-01", 1600, "apache-2.0"],
        "named": ["2026-01-01", None, "research-only"],
        "bare": [None, None, "Mine"],  # what the file states is not asked for
        "nowhere": [None, None, None],
    }
    page = browser.new_context(offline=True).new_page()
    page.goto((tmp_path / "site" / "index.html").as_uri() + "#/model?run=named")
    page.wait_for_selector("dl.about")
    facts = dict(
        zip(page.locator(".about dt").all_inner_texts(), page.locator(".about dd").all_inner_texts(), strict=True)
    )
    assert (facts["released"], facts["licence"]) == ("2026-01-01", "research-only")
    assert "size" not in facts, "unknown facts are not listed"
    again = logged_in.livek12("site", *runs, "--out", tmp_path / "site", "--ask-hub", "--models", mine)
    assert "0 files written" in again.out


def test_a_record_in_the_form_of_the_hub_is_read_and_a_date_that_is_none_is_not() -> None:
    """The fields that a model of the Hub has; those of old ones bear the day on which it began to keep dates."""
    from huggingface_hub import ModelInfo

    record: dict[str, Any] = {
        "_id": "680d", "id": "Org/M-8B", "modelId": "Org/M-8B", "author": "Org", "sha": "ab" * 20, "private": False,
        "lastModified": "2025-07-26T03:49:13.000Z", "createdAt": "2025-04-27T03:42:21.000Z", "gated": False,
        "disabled": False, "downloads": 1, "likes": 2, "library_name": "transformers", "siblings": [],
        "pipeline_tag": "text-generation", "tags": ["license:apache-2.0", "arxiv:2505.09388"],
        "cardData": {"license": "apache-2.0", "license_link": "https://elsewhere.test", "base_model": ["Org/M"]},
        "config": {"architectures": ["A"]}, "usedStorage": 16397462512,
        "safetensors": {"parameters": {"BF16": 8190735360}, "total": 8190735360},
    }  # fmt: skip
    found = stated_by(ModelInfo(**record))
    assert (found.released, found.parameters, found.licence) == ("2025-04-27", 8190735360, "apache-2.0")
    old = {**record, "createdAt": "2022-03-02T23:29:04.000Z", "cardData": {"license": ["mit"]}}
    old.pop("safetensors")
    unknown = stated_by(ModelInfo(**old))
    assert (unknown.released, unknown.parameters, unknown.licence) == (None, None, None)
