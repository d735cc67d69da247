"""What the Hub itself knows of a published set: whose files stay, flat configs, Inspect, who gets access."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from livek12.core.features import FlatRow
from livek12.core.questions import load_questions, read_records
from livek12.core.records import Option, Question
from livek12.dataset_builders import validate
from livek12.tasks.plugins.harness_task import HarnessTask, open_task
from livek12.tasks.registry import get_task
from tests.dataset_builders.publishing_sets import image, make_set, page, question
from tests.hub import STRANGER, WRITER, Hub
from tests.hub_client import Client

pytestmark = pytest.mark.slow

ABCD = [Option(label=label, text=f"{label} is {text}") for label, text in zip("ABCD", "wxyz", strict=True)]
THEIRS = {"LICENSE": b"terms", "eval.yaml": b"name: theirs\n", "discussions/1.md": b"Why is A wrong?"}


def bare(id: str, **more: Any) -> Question:
    """A question that nothing but its one key decides."""
    plain: dict[str, Any] = {"variables": [], "answer_images": [], "part_points": [5.0], "reasoning_flow": []}
    return question(id, **{**plain, "paper_id": None, "page_numbers": [], **more})


def chosen(id: str, key: str, **more: Any) -> Question:
    kind = "single_choice" if len(key) == 1 else "multiple_choice"
    return bare(id, question_type=kind, answer=[key], **{"options": ABCD, **more})


def content(hub: Hub, repo: str, revision: str = "main") -> dict[str, bytes]:
    tree = hub.repo(repo).commit_of(revision)["tree"]
    return {path: hub.repo(repo).content(entry).read_bytes() for path, entry in tree.items()}


def lay_out(folder: Path, files: dict[str, bytes]) -> Path:
    """The files of a repository as a folder."""
    for path, file in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(file)
    return folder


def put(client: Client, repo: str, files: dict[str, bytes]) -> None:
    """Commits files as somebody else does, by the Hub's client."""
    client.python(
        "from huggingface_hub import CommitOperationAdd, HfApi\n"
        f"HfApi().create_repo({repo!r}, repo_type='dataset', exist_ok=True)\n"
        f"files = [CommitOperationAdd(path, content) for path, content in {files!r}.items()]\n"
        f"HfApi().create_commit({repo!r}, files, repo_type='dataset', commit_message='by hand')"
    )


def test_files_of_others_stay_through_every_publish(hub: Hub, logged_in: Client, tmp_path: Path) -> None:
    one = make_set(tmp_path / "one", [bare("a", answer=["7"])])
    two = make_set(tmp_path / "two", [bare("b", answer=["8"], release="2607")])
    put(logged_in, "org/shared", THEIRS)
    first = logged_in.livek12("publish", one, "--repo", "org/shared")
    assert first.code == 0, first.err
    assert "org/shared has an eval.yaml of its own, which stays" in first.out
    put(logged_in, "org/shared", {"mine/train-00000-of-00001.parquet": b"PAR1", "CITATION.cff": b"cff"})
    assert logged_in.livek12("publish", one, "--repo", "org/shared").out.count("nothing to commit") == 1
    again = logged_in.livek12("publish", two, "--repo", "org/shared", "--drop")
    assert again.code == 0, again.err
    files = content(hub, "org/shared")
    others = {**THEIRS, "mine/train-00000-of-00001.parquet": b"PAR1", "CITATION.cff": b"cff"}
    assert {path: files[path] for path in others} == others
    assert [path for path in files if path.startswith("text_only/")] == ["text_only/en_2607-00000-of-00001.parquet"]
    listed = json.loads(files["published.json"])["files"]
    assert sorted([*listed, *others, "published.json", ".gitattributes"]) == sorted(files)
    del files["mine/train-00000-of-00001.parquet"]
    assert logged_in.livek12("validate", lay_out(tmp_path / "back", files)).code == 0


def test_in_sets_published_before_our_tables_and_descriptions_are_ours(
    hub: Hub, logged_in: Client, tmp_path: Path
) -> None:
    old = make_set(tmp_path / "old", [bare("a", answer=["7"]), bare("z", answer=["9"], release="2512")])
    before = {file.relative_to(old).as_posix(): file.read_bytes() for file in old.rglob("*") if file.is_file()}
    put(logged_in, "org/before", {**before, **THEIRS})
    new = make_set(tmp_path / "new", [bare("a", answer=["7"]), bare("b", answer=["8"], release="2607")])
    ended = logged_in.livek12("publish", new, "--repo", "org/before", "--drop")
    assert ended.code == 0, ended.err
    files = content(hub, "org/before")
    assert {path: files[path] for path in THEIRS} == THEIRS
    assert "text_only/en_2512-00000-of-00001.parquet" not in files and "published.json" in files


def test_an_eval_yaml_of_the_keeper_goes_out_and_one_edited_on_the_hub_stays(
    hub: Hub, logged_in: Client, tmp_path: Path
) -> None:
    folder = make_set(tmp_path / "set", [bare("a", answer=["7"])])
    assert logged_in.livek12("publish", folder, "--repo", "org/edited").code == 0
    generated = content(hub, "org/edited")["eval.yaml"]
    put(logged_in, "org/edited", {"eval.yaml": generated.replace(b"name: livek12", b"name: Our exam")})
    again = logged_in.livek12("publish", folder, "--repo", "org/edited", "--tag", "2605.1")
    assert again.code == 0 and "has an eval.yaml of its own, which stays" in again.out
    assert b"name: Our exam" in content(hub, "org/edited")["eval.yaml"]

    (folder / "eval.yaml").write_text("name: mine\n")
    refused = logged_in.livek12("publish", folder, "--repo", "org/keeper")
    assert refused.code == 2 and len(refused.errors) == 1 and "eval.yaml: description is no text" in refused.err
    (folder / "eval.yaml").write_bytes(generated.replace(b"name: livek12", b"name: By hand"))
    assert logged_in.livek12("publish", folder, "--repo", "org/keeper").code == 0
    assert b"name: By hand" in content(hub, "org/keeper")["eval.yaml"]
    clash = logged_in.livek12("publish", folder, "--repo", "org/edited", "--tag", "2605.2")
    assert clash.code == 2 and "has a file eval.yaml that livek12 did not publish" in clash.err


def test_nothing_that_is_withheld_or_held_back_is_in_any_public_byte(
    hub: Hub, logged_in: Client, tmp_path: Path
) -> None:
    rows = [bare("open", release="2603", answer=["7"])]
    for number, more in enumerate(({"state": "unreviewed"}, {"licence": None}, {"state": "rejected"})):
        marks = {"question": f"MARKGONE{number} ____", "solution": f"MARKGONE{number}", "answer": ["6600066"]}
        rows.append(bare(f"gone{number}", release="2603", **marks, **more))
    held = {"question": "MARKTEXT ____", "solution": "MARKWAY", "answer": ["7700077"]}
    rows += [bare("held", **held), chosen("letter", "C", question="MARKTEXT", solution="MARKWAY")]
    folder = make_set(tmp_path / "set", rows)
    args = ("publish", folder, "--repo", "org/guarded", "--hold-answers", "org/guarded-keys", "--environment")
    ended = logged_in.livek12(*args)
    assert ended.code == 0, ended.err
    for commit in hub.repo("org/guarded").history("main"):
        for path, raw in content(hub, "org/guarded", commit["oid"]).items():
            file = lay_out(tmp_path / "x", {path: raw}) / path
            is_table = path.endswith("parquet")
            read = repr(pq.read_table(file, partitioning=None).to_pylist()).encode() if is_table else b""
            for mark in (b"MARKGONE", b"MARKWAY", b"6600066", b"7700077"):
                assert mark not in raw + read, (path, mark)
            if path.startswith("eval"):
                assert b"MARKTEXT" not in raw + read and b"letter" not in read, path
    flat = tmp_path / "x" / "eval_livek12_text_only_en" / "test-00000-of-00001.parquet"
    assert [row["id"] for row in pq.read_table(flat).to_pylist()] == ["open"]
    assert not [path for path in content(hub, "org/guarded-keys") if path.startswith("eval")]


@pytest.fixture(scope="module")
def exam(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set with a task of each form."""
    shown = {"images": [image(3)], "question": "Which one? <image>"}
    rows = [
        *(chosen(f"zh{key}", key, language="zh", question="问：{哪个}对？") for key in "ABD"),
        chosen("one", "C"),
        bare("half", answer=[r"$\frac{1}{2}$"]),
        bare("power", answer=["2^{10}"], question_type="short_answer"),
        bare("decimal", answer=["0.97"]),
        bare("words", answer=["the sun"]),
        bare("two", answer=["1", "2"], part_points=[2.0, 3.0]),
        bare("gone", answer=["5"], removed_in="2607"),
        chosen("figure", "B", options=[], **shown),
        chosen("figures", "ABD", **{**shown, "images": [image(3), image(4)], "question": "Of <image> and <image>?"}),
        chosen("paged", "A", paper_id="paper_2605", page_numbers=[1, 2]),
    ]
    return make_set(tmp_path_factory.mktemp("exam") / "set", rows, [page(1), page(2)])


@pytest.fixture(scope="module")
def published(hub: Hub, client: Client, exam: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """That set as it was published."""
    client.log_in(WRITER)
    ended = client.livek12("publish", exam, "--repo", "org/exam", "--environment")
    assert ended.code == 0, ended.err
    yield lay_out(tmp_path_factory.mktemp("back") / "exam", content(hub, "org/exam"))


FORMS = {
    "eval_livek12_text_only_zh": ("multiple_choice", {"zhA", "zhB", "zhD"}),
    "eval_livek12_text_only_en": ("math", {"one", "half", "power", "paged"}),
    "eval_livek12_text_image_en": ("pattern", {"figure", "figures"}),
    "eval_livek12_image_only_en": ("pattern", {"paged"}),
}


def flat(folder: Path, config: str) -> list[FlatRow]:
    return [row for file in sorted((folder / config).glob("*.parquet")) for row in read_records(FlatRow, file)]


def test_flat_rows_are_the_whole_prompt_or_the_bare_question(published: Path, exam: Path) -> None:
    told = {task["config"]: task for task in yaml.safe_load((published / "eval.yaml").read_text())["tasks"]}
    assert set(told) == set(FORMS)
    for config, (decides, ids) in FORMS.items():
        solver, scorer = told[config]["solvers"][0]["name"], told[config]["scorers"][0]["name"]
        assert decides == (solver if solver == "multiple_choice" else scorer)
        rows, task = flat(published, config), get_task(config.removeprefix("eval_"))
        assert {row.id for row in rows} == ids
        asked = {document.id: document for document in HarnessTask(task, str(exam)).documents}
        for row in rows:
            if solver == "multiple_choice":
                assert row.choices == [option.text for option in ABCD] and row.input == asked[row.id].question.question
                assert not any(text in row.input for text in row.choices)
            else:
                assert row.choices == [] and "boxed" in row.input
                bare_text = row.input.replace("[image 1]", "[image]").replace("[image 2]", "[image]")
                assert bare_text == asked[row.id].text.replace("<image>", "[image]")
            assert bool(row.image) == bool(asked[row.id].images), row.id
    assert validate(published) == []
    assert {row.id for row in flat(published, "eval_livek12_text_only_en")} < {
        row.id for row in load_questions(published, ["text_only"], "livek12")
    }


READ = """
from inspect_ai._eval.task.hf import task_create_from_hf
result = {}
for task in task_create_from_hf("hf/org/exam"):
    rows = result.setdefault(task.name.rpartition("/")[2], {})
    for sample in task.dataset:
        content = sample.input if isinstance(sample.input, str) else sample.input[0].content
        shown = "" if isinstance(sample.input, str) else content[1].image
        text = content if isinstance(content, str) else content[0].text
        rows[sample.metadata["id"]] = [text, sample.target, sample.choices or [], shown]
"""
MARK = """
from inspect_ai import eval as run
from inspect_ai.model import ModelAPI, ModelOutput, modelapi
@modelapi(name="livek12_script")
class Script(ModelAPI):
    turn = {}
    async def generate(self, input, tools, tool_choice, config):
        text = input[-1].text
        self.turn[text] = self.turn.get(text, -1) + 1
        return ModelOutput.from_content("script", ANSWERS[self.turn[text] % len(ANSWERS)])
result = {}
for log in run("hf/org/exam", model="livek12_script/any", epochs=len(ANSWERS),
               display="none", log_dir=FOLDER, max_connections=1, max_samples=1, log_level="error"):
    assert log.status == "success", log.error
    for sample in log.samples:
        scores = list(sample.scores.values())
        result[f"{log.eval.task} {sample.metadata['id']} {sample.output.completion}"] = scores[0].value
"""
ANSWERS = [
    "I see.\n\nANSWER: B",
    "Hence \\boxed{C}",
    "It is \\boxed{ABD}.",
    "It is \\boxed{A, B, D}.",
    "So \\boxed{\\dfrac{2}{4}}",
    "That makes \\boxed{1024}",
    "I first thought \\boxed{3}, but it is \\boxed{2^{10}}",
    "I do not know.",
]


@pytest.mark.release
def test_inspect_loads_every_row(published: Path, logged_in: Client) -> None:
    pytest.importorskip("inspect_ai")
    loaded = logged_in.python(READ)
    for config in FORMS:
        rows = {row.id: [row.input, row.target, row.choices, row.image] for row in flat(published, config)}
        assert loaded[config.removeprefix("eval_")] == rows


@pytest.mark.release
def test_inspect_marks_as_we_do(published: Path, exam: Path, logged_in: Client, tmp_path: Path) -> None:
    pytest.importorskip("inspect_ai")
    marked = logged_in.python(f"ANSWERS = {ANSWERS!r}\nFOLDER = {str(tmp_path)!r}\n" + MARK)
    compared, apart = 0, set()
    for name, value in marked.items():
        place, id, response = name.split(" ", 2)
        task = place.rpartition("/")[2]
        ours = open_task(task, str(exam)).mark(id, response).correct
        if ours is not None:
            compared += 1
            if ours != (value == "C"):
                apart.add((task, id, response))
    assert compared > 40
    # Inspect reads letters in a box alone, and those that commas part not at all.
    assert apart == {
        ("livek12_text_image_en", "figures", "It is \\boxed{A, B, D}."),
        ("livek12_text_image_en", "figure", "I see.\n\nANSWER: B"),
    }


@pytest.mark.release
def test_a_gated_set_asks_its_readers_first(hub: Hub, logged_in: Client, exam: Path) -> None:
    args = ("publish", exam, "--repo", "org/gated")
    ended = logged_in.livek12(*args, "--gated", "manual")
    assert ended.code == 0, ended.err
    assert hub.repo("org/gated").gated == "manual"
    front = yaml.safe_load(content(hub, "org/gated")["README.md"].decode().split("---\n")[1])
    assert front["extra_gated_fields"]["I will not train on these questions"] == "checkbox"
    assert "out of training data" in front["extra_gated_prompt"]
    assert "nothing to commit" in logged_in.livek12(*args).out and hub.repo("org/gated").gated == "manual"
    logged_in.log_in(STRANGER)
    read = "from huggingface_hub import hf_hub_download\n"
    read += "try:\n    result = hf_hub_download('org/gated', 'README.md', repo_type='dataset')\n"
    read += "except Exception as error:\n    result = type(error).__name__"
    assert logged_in.python(read) == "GatedRepoError"
    logged_in.log_in(WRITER)
    opened = logged_in.livek12(*args, "--gated", "off", "--tag", "open")
    assert opened.code == 0 and hub.repo("org/gated").gated is False
    assert "extra_gated" not in content(hub, "org/gated")["README.md"].decode()
    assert "choose one of auto, manual, off" in logged_in.livek12(*args, "--gated", "maybe").err
