"""Marking by rules leaves a session: how many answers, how fast, with how much memory."""

from __future__ import annotations

from pathlib import Path

from livek12.core.run.folder import RunFolder
from livek12.core.run.sessions import RULES, read_sessions
from livek12.evaluation.marking import judge
from livek12.scripts.bench.common import made_run
from tests.evaluation.test_site import TASK, asked, marked


def test_marking_by_rules_leaves_a_session(tmp_path: Path) -> None:
    questions = [asked(number) for number in range(1, 6)]
    answers = [(marked(one, one.answer[0], True)[0], None) for one in questions]
    run = RunFolder.open(made_run(tmp_path / "run", {TASK: questions}, answers))
    judge(run)
    (session,) = read_sessions(run.path)
    assert (session.stage, session.engine, session.model, session.gpus) == ("mark", RULES, RULES, 0)
    assert session.requests == 5
    assert session.ended
    assert session.peak_rss
    judge(run)  # nothing is left to mark
    assert len(read_sessions(run.path)) == 1
