"""What the report says a panel would settle and cost is what a panel then is asked."""

from __future__ import annotations

import pytest

from livek12.core.lengths import tokens_in
from livek12.core.run_folder import RunFolder
from livek12.evaluation import marking, reporting
from livek12.report.marks import counts_notes
from tests.engines.scripted_server import serving
from tests.judges.llm.judge_server import options, replying, text_of


@pytest.mark.parametrize("tasks", ["livek12_en,kmmmu,mdk12"])
def test_a_panel_is_asked_what_the_report_said_it_would_be(run: RunFolder) -> None:
    marking.judge(run)
    told = {name: task["outlook"] for name, task in reporting.score(run)["tasks"].items() if "outlook" in task}
    script = replying()
    with serving(script) as address:
        marking.judge(run, options=options(address, "alpha,beta,gamma"))
    assert told.keys() == {"livek12_en", "kmmmu", "mdk12"}
    after = run.verdicts()
    for name, expected in told.items():
        of_task = [key for key in after if key.startswith(f"{name}/")]
        calls = [call for key in of_task for call in after[key].calls]
        marked = [key for key in of_task if any("audit" not in call.prompt for call in after[key].calls)]
        assert expected["judges"] == 3
        assert (expected["requests"], expected["open"]) == (len(calls), len(marked))
        assert expected["audited"] == sum(after[key].process is not None for key in of_task)
    assert told["livek12_en"]["audited"] and not told["kmmmu"]["audited"]
    read = sum(tokens_in(text_of(seen.body)) for seen in script.seen)
    assert sum(expected["prompt_tokens"] for expected in told.values()) == pytest.approx(read, rel=0.02)
    assert not any("outlook" in task for task in reporting.score(run)["tasks"].values())


@pytest.mark.parametrize("tasks", ["livek12_en"])
def test_the_report_says_it_with_the_command(run: RunFolder) -> None:
    marking.judge(run)
    task = reporting.score(run)["tasks"]["livek12_en"]
    sentence, command = counts_notes(task, "runs/a")[-1]
    expected = task["outlook"]
    assert f"{expected['requests']:,} requests" in sentence
    assert f"{expected['prompt_tokens']:,} tokens" in sentence
    assert command == "livek12 judge runs/a --judge panel:small"


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("a" * 400, 100), ("求函数的值", 5), ("함수의 값", 4.25), ("x" * 4 + "值", 2)]
)
def test_how_tokens_are_reckoned(text: str, tokens: float) -> None:
    assert tokens_in(text) == tokens
