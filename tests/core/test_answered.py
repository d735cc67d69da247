"""Which keys have a response: the second look reads what is new, and knows the same as one that reads all."""

from __future__ import annotations

from pathlib import Path

from livek12.core.records import Key, Response
from livek12.core.run.folder import RunFolder
from tests.core.test_run_folder import question, spec


def response(id: str, model: str = "m") -> Response:
    """Of one trial of task t."""
    return Response(key=Key(task="t", question_id=id), text="x", engine="e", model=model)


def test_a_second_look_reads_what_is_new(tmp_path: Path) -> None:
    told: list[str] = []
    asked = spec()
    asked = asked.model_copy(update={"tasks": [asked.tasks[0].model_copy(update={"questions": 4})]})
    run = RunFolder.create_or_resume(tmp_path / "run", asked, {"t": [question(id) for id in "abcd"]}, told.append)
    answered = run.follow()
    assert answered() == set()
    with run.writer("responses") as one, run.writer("responses") as other:
        one.append(response("a", asked.model))
        assert answered() == {"t/a/0"}
        other.append(response("b", asked.model))
        one.append(response("a", asked.model))
        one.append(response("c", "another model"))
        one.append(response("elsewhere", asked.model))
        assert answered() == {"t/a/0", "t/b/0"} == run.answered()
    whole = (run.path / "responses-0.jsonl").read_bytes()
    line = response("d", asked.model).model_dump_json().encode()
    (run.path / "responses-0.jsonl").write_bytes(whole + b"damaged\n" + line)  # not ended by a newline yet
    fresh = run.follow()
    assert fresh() == {"t/a/0", "t/b/0", "t/d/0"} == RunFolder(run.path).answered()
    with run.writer("responses") as healed:
        healed.append(response("c", asked.model))
    assert fresh() == {f"t/{id}/0" for id in "abcd"} == answered()
    assert any("passed over" in line for line in told)
