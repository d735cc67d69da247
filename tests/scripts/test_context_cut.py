"""A budget over the server's context, from command to report: nothing is burnt, and what was cut is counted."""

from __future__ import annotations

import json
from pathlib import Path

from livek12.core.run.sessions import read_sessions
from tests.engines.scripted_server import Reply, Script, completion, error, serving
from tests.scripts.command import livek12_here

TASK = "livek12_text_only"
HELD = 1000


class Holding(Script):
    """A vLLM with a context of 1,000 tokens; every other answer fills it."""

    def __init__(self) -> None:
        super().__init__(self._reply)

    def _reply(self, question: str, before: int) -> Reply:
        budget = self.seen[-1].body["max_tokens"]
        if budget > HELD:
            said = (
                f"max_tokens={budget} cannot be greater than max_model_len={HELD}. Please request fewer output tokens."
            )
            return error(400, f"{said} (parameter=max_tokens, value={budget})")
        full = len(self.seen) % 2 == 0
        body = completion("So \\boxed{A}.")
        body["choices"][0]["finish_reason"] = "length" if full else "stop"
        body["usage"] |= {"completion_tokens": HELD - 40 if full else 7}
        return Reply(body=json.dumps(body).encode())


def test_a_run_over_the_context_is_answered_and_says_what_was_cut(data: Path, tmp_path: Path) -> None:
    out, script = tmp_path / "run", Holding()
    with serving(script) as address:
        args = f"base_url={address},concurrency=1"
        asked = ("--task", TASK, "--data", data, "--model", "m", "--engine", "openai", "--limit", 6)
        ended = livek12_here("run", *asked, "--engine-args", args, "--out", out)
    assert ended.code == 0, ended.err
    assert sum("do not fit into 1,000: longer answers are cut off there" in line for line in ended.warnings) == 1
    report = json.loads((out / "report.json").read_text())
    asked_for = report["run"]["tasks"][0]["sampling"]["max_tokens"]
    cut = report["tasks"][TASK]["context_cut"]
    assert cut == {"budget": asked_for, "answers": report["tasks"][TASK]["counts"]["truncated"], "fewest": HELD - 40}
    assert cut["answers"] >= 2
    line = f"{cut['answers']} of them where the model's context ended (after 960 tokens or more, of the {asked_for:,}"
    assert line in " ".join(ended.out.split())
    assert line in " ".join((out / "report.html").read_text().replace("&#39;", "'").split())
    (session,) = (one for one in read_sessions(out) if one.stage != "mark")
    assert session.figures.context == HELD
    assert [seen.body["max_tokens"] for seen in script.seen] == [asked_for, *[HELD] * 6]
