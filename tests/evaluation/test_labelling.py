"""Labels as people give them: the plan, the files of several raters, and a page that shows hostile answers as text."""

from __future__ import annotations

import http.client
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from livek12.core.errors import UserError
from livek12.core.schemes import read_scheme
from livek12.core.serving import Guard
from livek12.evaluation.labelling import LabelStore
from livek12.evaluation.labelling.server import make_app, open_labels, progress
from livek12.evaluation.studies.labels import read_labels, read_plan
from tests.evaluation.labelled_runs import HOSTILE, make_run
from tests.scripts.command import livek12_here

PAGE = {"Content-Type": "application/json", "X-Livek12": "review"}
TOKEN = "correct-horse"


def opened(run: Path, plan: Path | None = None, verdict: bool = False) -> LabelStore:
    return open_labels(run, plan, "", verdict, lambda line: None)[0]


def write_plan(file: Path, *rows: object) -> Path:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def planned(n: int, **more: object) -> dict[str, object]:
    return {"task": "livek12_text_only", "question_id": f"livek12-q{n}", "trial": 0, "stratum": "choice", **more}


def test_the_plan_says_which_answers_and_in_which_order(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run").path
    assert [row.question.number for row in opened(run).answers] == ["1", "2", "3"]
    other = write_plan(tmp_path / "other.jsonl", planned(2))
    write_plan(run / "label-plan.jsonl", planned(3), planned(1), planned(3))
    assert [row.question.number for row in opened(run).answers] == ["3", "1"]
    assert [row.question.number for row in opened(run, other).answers] == ["2"]


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ([], "plans nothing"),
        (["x"], "plan.jsonl:1: not a JSON object"),
        ([{"task": "livek12_text_only"}], "plan.jsonl:1: names no answer"),
        ([planned(1), planned(2, trial="0")], "plan.jsonl:2: names no answer"),
        ([planned(9)], "livek12_text_only/livek12-q9/0 is no answer of the run"),
        ([planned(1, trial=4)], "livek12_text_only/livek12-q1/4 is no answer of the run"),
    ],
)
def test_a_plan_that_cannot_be_followed_is_one_line(tmp_path: Path, rows: list[object], line: str) -> None:
    run = make_run(tmp_path / "run").path
    with pytest.raises(UserError, match=re.escape(line)):
        opened(run, write_plan(tmp_path / "plan.jsonl", *rows))


def test_a_plan_of_study_items_is_read(tmp_path: Path) -> None:
    from livek12.evaluation.studies.items import plan

    rows = plan([{"task": "livek12_text_only", "question_id": "livek12-q2"}])
    assert read_plan(write_plan(tmp_path / "plan.jsonl", *rows)) == [("livek12_text_only", "livek12-q2", 0)]


def test_labels_are_on_the_disk_and_read_back(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run").path
    store = opened(run)
    store.put("ann", 0, {"correct": True, "score": "4", "CIE": False, "LAE": False, "DRE": True, "note": "题"})
    store.put("ann", 1, {"correct": True})
    store.put("ann", 1, {"correct": False, "score": 1.5})
    store.put("ann", 2, {"correct": True})
    store.put("ann", 2, {"withdrawn": True})
    store.put("Bob 2", 0, {"DRE": 1})
    with (run / "labels-ann.jsonl").open("ab") as file:
        file.write(b'{"task": "livek12_te')  # a power cut
    assert sorted(store.labels("ann")) == [0, 1], "what was appended is not lost by a look"
    store.close()
    again = opened(run)
    first, second = (again.labels("ann")[n] for n in (0, 1))
    assert (first.correct, first.share, first.note) == (True, 1.0, "题")
    assert first.errors == {"CIE": False, "LAE": False, "DRE": True}
    assert (second.correct, second.share) == (False, 0.375)
    assert progress(run, None, lambda line: None) == {"answers": 3, "raters": {"Bob 2": 1, "ann": 2}}
    again.put("ann", 2, {"correct": False})
    again.close()
    told: list[str] = []
    files = sorted(run.glob("labels-*.jsonl"))
    labels = read_labels(files, "m", told.append)
    assert told == []
    assert [(label.rater, label.question_id[-1], label.correct) for label in labels] == [
        ("Bob 2", "1", None),
        ("ann", "1", True),
        ("ann", "2", False),
        ("ann", "3", False),
    ]
    assert all(label.model == "m" and label.response_sha256 for label in labels)


def test_several_raters_label_at_once_and_one_file_has_one_writer(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", each=20).path
    first, second = opened(run), opened(run)
    jobs = [
        threading.Thread(target=lambda s=store, r=rater: [s.put(r, n, {"correct": n % 2 == 0}) for n in range(20)])
        for store, rater in ((first, "ann"), (first, "bob"), (second, "cai"))
    ]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join(30)
    with pytest.raises(UserError, match=r"labels-ann.jsonl: another process writes it"):
        second.put("ann", 0, {"correct": True})
    first.close()
    second.close()
    assert {rater: len(opened(run).labels(rater)) for rater in ("ann", "bob", "cai")} == dict.fromkeys(
        ("ann", "bob", "cai"), 20
    )


@pytest.mark.parametrize("rater", ["", "../x", "a/b", ".hidden", "a\n", " a", "x" * 41, "a\\b"])
def test_a_rater_s_name_is_no_path(tmp_path: Path, rater: str) -> None:
    store = opened(make_run(tmp_path / "run").path)
    with pytest.raises(UserError, match="a rater has a name of 1 to 40"):
        store.put(rater, 0, {"correct": True})
    assert not list(tmp_path.rglob("labels-*"))


@pytest.mark.parametrize(
    ("benchmark", "said", "line"),
    [
        ("livek12", {}, "says nothing"),
        ("livek12", {"score": 5}, "score '5' of '4.0' is no mark"),
        ("livek12", {"correct": True, "score": 1}, "correct is True, but score is 1"),
        ("livek12", {"correct": "<b>"}, "write true or false"),
        ("livek12", {"correct": True, "note": "x" * 4001}, "at most 4,000"),
        ("livek12", {"correct": True, "note": "\ud83d"}, "half a character"),
        ("kmmmu", {"correct": False, "error_type": "CIE"}, "is no kind of error of kmmmu"),
        ("cfe", {"correct": False, "error_type": "hallucination"}, "of cfe, which has none"),
    ],
)
def test_labels_that_make_no_sense_are_not_stored(
    tmp_path: Path, benchmark: str, said: dict[str, Any], line: str
) -> None:
    store = opened(make_run(tmp_path / "run", [benchmark]).path)
    with pytest.raises(UserError, match=line):
        store.put("ann", 0, said)
    assert store.labels("ann") == {}


def test_a_label_of_another_response_is_not_taken_for_one_of_this(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run").path
    with opened(run) as store:
        store.put("ann", 0, {"correct": True})
    label = (run / "labels-ann.jsonl").read_text()
    other = make_run(tmp_path / "other", text="another response").path
    (other / "labels-ann.jsonl").write_text(label)
    with opened(other) as store:
        assert store.labels("ann") == {}
        store.put("ann", 0, {"correct": False})
        assert store.labels("ann")[0].correct is False


# --- by criteria ----------------------------------------------------------------------------------------------------

SCHEME = read_scheme(
    [
        {"points": 1, "text": f"names $F$ {HOSTILE}"},
        {"points": 3, "text": "finds $a$", "partial": [{"points": 1, "text": "a wrong sign"}], "needs": ["1"]},
    ]
)


def by_criteria(path: Path, trials: int = 2) -> Path:
    return make_run(path, each=2, trials=trials, scheme=SCHEME).path


def test_criteria_add_up_and_equal_responses_are_marked_at_once(tmp_path: Path) -> None:
    run = by_criteria(tmp_path / "run")
    with opened(run) as store:
        assert store.put("ann", 0, {"criteria": {"1": 1, "2": 1}}) == [0, 1]
        assert store.put("ann", 2, {"criteria": {"1": 0, "2": 3}, "note": "n"}) == [2, 3]
    rows = [json.loads(line) for line in (run / "labels-ann.jsonl").read_text().splitlines()]
    assert [(row["trial"], row["score"], row["max_score"], row["correct"]) for row in rows] == [
        *((trial, 2.0, 4.0, False) for trial in (0, 1)),
        *((trial, 0.0, 4.0, False) for trial in (0, 1)),
    ]
    with opened(run) as store:
        assert {place: dict(label.criteria) for place, label in store.labels("ann").items()} == {
            **{place: {"1": 1.0, "2": 1.0} for place in (0, 1)},
            **{place: {"1": 0.0, "2": 3.0} for place in (2, 3)},
        }
        assert store.put("ann", 3, {"withdrawn": True}) == [2, 3]
        assert sorted(store.labels("ann")) == [0, 1]


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({}, "mark criterion 1, 2: 0 to 4 points"),
        ({"1": 1}, "mark criterion 2: 1 to 4 points"),
        ({"1": 1, "2": 4}, "criterion 2 gives 3, 1, 0 points, not 4"),
        ({"1": 1, "2": -1}, "criterion 2 gives"),
        ({"1": 1, "2": float("nan")}, "criterion 2 gives"),
        ({"1": 1, "2": 3, "9": 1}, "has no criterion '9'"),
        ({"1": True, "2": 3}, "are points by criterion"),
        ([1, 3], "are points by criterion"),
    ],
)
def test_marks_that_no_criterion_gives_are_not_stored(tmp_path: Path, given: object, line: str) -> None:
    with opened(by_criteria(tmp_path / "run")) as store:
        with pytest.raises(UserError, match=line):
            store.put("ann", 0, {"criteria": given})
        assert store.labels("ann") == {}


def test_a_mended_wording_shows_the_affected_marks_again(tmp_path: Path) -> None:
    run = by_criteria(tmp_path / "run")
    with opened(run) as store:
        for place in (0, 2):
            store.put("ann", place, {"criteria": {"1": 1, "2": 3}})
        store.mend("bob", 0, "2", " finds $a = g$ ")
        assert store.outdated("ann") == {0, 1}
        store.put("ann", 0, {"criteria": {"1": 1, "2": 1}})
        assert store.outdated("ann") == set()
        for criterion, text in (("3", "x"), ("2", " "), ("2", "\ud83d")):
            with pytest.raises(UserError, match=r"no criterion|1 to 4,000"):
                store.mend("bob", 0, criterion, text)
        [mended] = store.wordings()["livek12_text_only", "livek12-q1"].values()
        assert (mended.text, mended.by) == ("finds $a = g$", "bob")


def test_criteria_are_shown_as_text_and_added_up_over_http(tmp_path: Path) -> None:
    with serving(by_criteria(tmp_path / "run")) as port:
        _, view = ask(port, "/review/answer/0")
        assert [one["marks"] for one in view["criteria"]] == [[1, 0], [3, 1, 0]]
        assert "&lt;script&gt;" in view["criteria"][0]["html"] and "<script" not in view["criteria"][0]["html"]
        assert ask(port, "/review/points", {"place": 0, "said": {"1": 0}})[1] == {"low": 0, "high": 0, "of": 4}
        assert ask(port, "/review/points", {"place": 0, "said": {"1": "x"}})[0] == 409
        body = {"place": 0, "said": {"criteria": {"1": 1, "2": 3}}}
        assert ask(port, "/review/act", body)[1] == {"done": True, "places": [0, 1]}
        mended = {"place": 1, "by": "bob", "said": {"criterion": "1", "text": "<b>names it</b>"}}
        assert ask(port, "/review/wording", mended)[0] == 200
        assert [one["done"] for one in ask(port, "/review/queue")[1]["queue"]] == [False] * 4
        _, view = ask(port, "/review/answer/0")
        assert (view["outdated"], view["said"]["criteria"]) == (True, {"1": 1, "2": 3})
        assert view["criteria"][0]["html"] == "&lt;b&gt;names it&lt;/b&gt;" and view["criteria"][0]["mended"] == "bob"


# --- over HTTP ------------------------------------------------------------------------------------------------------


@contextmanager
def serving(run: Path, verdict: bool = False) -> Iterator[int]:
    """The port at which the labelling page of a run is served."""
    import socket

    import uvicorn

    store, shown = open_labels(run, None, "", verdict, lambda line: None)
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(64)
    port = int(listening.getsockname()[1])
    guard: Any = Guard(make_app(store, shown, "ann"), "127.0.0.1", port, TOKEN)
    server = uvicorn.Server(uvicorn.Config(guard, log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield port
    finally:
        server.should_exit = True
        thread.join(20)
        store.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    pytest.importorskip("fastapi", reason="the review extra is not installed")
    run = make_run(tmp_path_factory.mktemp("served") / "run", ("livek12", "kmmmu", "cfe"), 2, HOSTILE).path
    with serving(run) as port:
        yield port, run


def ask(port: int, path: str, body: Any = None, token: str = TOKEN, **headers: str) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    sent = {"Cookie": f"livek12_review_{port}={token}", **(PAGE if body is not None else {}), **headers}
    connection.request("GET" if body is None else "POST", path, None if body is None else json.dumps(body), sent)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    is_json = (answer.getheader("content-type") or "").startswith("application/json")
    return answer.status, json.loads(text) if is_json else text


def texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from texts(one)


def test_hostile_answers_come_out_as_text(served: tuple[int, Path]) -> None:
    status, view = ask(served[0], "/review/answer/0")
    assert status == 200
    shown = {name: view[name] for name in ("text", "response", "options", "key")}
    assert "&lt;script&gt;" in view["response"]
    for text in texts(shown):
        for wrong in ("<script", "<img", "<a ", "<style", "href=", "root:", " style="):
            assert wrong not in text, wrong
    assert view["thinking"]["text"].startswith("<script>"), "set as text by the page"


def test_the_page_is_blind(served: tuple[int, Path]) -> None:
    port, run = served
    _, view = ask(port, "/review/answer/0")
    _, queue = ask(port, "/review/queue")
    for said in (view, queue):
        assert "secret" not in json.dumps(said)
    assert view["verdict"] == ""
    assert {key: len(view[key]) for key in ("process_errors", "error_types")} == {"process_errors": 3, "error_types": 0}
    assert [len(ask(port, f"/review/answer/{n}")[1]["error_types"]) for n in (2, 4)] == [5, 0]
    _, shown = open_labels(run, None, "", True, lambda line: None)
    assert shown.verdict


def test_right_and_wrong_answers_look_alike_unless_the_verdict_is_asked_for(tmp_path: Path) -> None:
    from livek12.evaluation.labelling.server import answer_view

    right, wrong, _ = opened(make_run(tmp_path / "run").path).answers

    def seen(row: Any, verdict: bool) -> dict[str, Any]:
        return {**answer_view(row, False, {}, False, verdict), "id": "", "number": ""}

    assert seen(right, False) == seen(wrong, False)
    assert (seen(right, True)["verdict"], seen(wrong, True)["verdict"]) == (
        "4 / 4 by nothing to decide",
        "0 / 4 by nothing to decide",
    )


def test_only_those_with_the_token_are_answered_and_only_labels_are_taken(served: tuple[int, Path]) -> None:
    port, run = served
    assert ask(port, "/review/queue", token="wrong")[0] == 401
    assert ask(port, "/review/queue", Host="evil.test")[0] == 421
    assert ask(port, "/review/act", {"place": 0, "said": {"correct": True}}, Origin="http://evil.test")[0] == 403
    assert ask(port, "/review/answer/99")[0] == 404
    assert ask(port, "/review/answer/-1")[0] in (404, 422)
    for name in ("../run.json", "server.py", "..%2fserver.py"):
        assert ask(port, f"/review/static/{name}")[0] == 404
    for body in ({}, {"place": True, "said": {}}, {"place": 0, "said": []}, {"place": 99, "said": {"correct": True}}):
        assert ask(port, "/review/act", body)[0] == 409
    assert ask(port, "/review/act", {"place": 0, "by": "../x", "said": {"correct": True}})[0] == 409
    assert ask(port, "/review/act", {"place": 0, "by": "eve", "said": {"correct": True, "rater": "ann"}})[0] == 200
    [row] = map(json.loads, (run / "labels-eve.jsonl").read_text().splitlines())
    assert row["rater"] == "eve"
    assert not (run / "labels-ann.jsonl").read_text()
    assert ask(port, "/review/queue?by=ann")[1]["queue"][0]["done"] is False, "nobody sees what others said"


# --- the command ----------------------------------------------------------------------------------------------------


def test_the_command_tells_runs_from_ingested_folders(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run").path
    with opened(run) as store:
        store.put("ann", 0, {"correct": True})
    ended = livek12_here("review", run, "--status", "--json")
    assert (ended.code, json.loads(ended.out)) == (0, {"answers": 3, "raters": {"ann": 1}})
    for args, line in (
        ((run, "--export", tmp_path / "out"), "is a run folder"),
        ((tmp_path, "--plan", "x"), "is no run folder"),
        ((run, "--plan", tmp_path / "missing.jsonl"), "cannot be read"),
        ((run, "--rater", "a/b"), "a rater has a name"),
    ):
        ended = livek12_here("review", *args)
        assert (ended.code, len(ended.errors)) == (2, 1)
        assert line in ended.errors[0]
