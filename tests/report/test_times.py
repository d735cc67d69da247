"""Bars of what a run spent its time on."""

from __future__ import annotations

from livek12.core.run.sessions import GIB, Session
from livek12.report.views import BAR_WIDTH, duration, time_bars


def session(started: float, loaded: float | None, at: float, stage: str = "generate", **known: int) -> Session:
    """One of an engine."""
    base = {"id": str(started), "stage": stage, "engine": "vllm", "model": "m", "host": "h", "pid": 1}
    return Session.model_validate({**base, "started": started, "loaded": loaded, "at": at, **known})


def test_what_is_done_at_once_counts_once_and_gaps_are_waiting() -> None:
    found = time_bars(
        [
            session(0, 60, 660, requests=1200, peak_rss=3 * GIB, written=5 << 20),
            session(30, 60, 360),
            session(960, 1020, 1080, "judge"),
            session(2000, None, 2010),
        ]
    )
    assert found is not None
    assert {bar["kind"]: bar["time"] for bar in found["bars"]} == {
        "loading": "2.2 min",
        "asking": "10.0 min",
        "judging": "1.0 min",
        "waiting": "20.3 min",
    }
    assert max(float(bar["width"]) for bar in found["bars"]) == BAR_WIDTH
    assert found["sentences"][0] == (
        "asking: m (vllm), 11.0 min; 1,200 requests, 2.00 a second; at most 3.00 GiB in its process; 5.0 MiB written"
    )
    assert found["sentences"][2] == "judging: m (vllm), 2.0 min"  # nobody counted


def test_marking_by_rules_has_a_bar() -> None:
    found = time_bars([session(0, 60, 660), session(700, 700, 760, "mark", requests=30_000)])
    assert found is not None
    assert {bar["kind"]: bar["time"] for bar in found["bars"]}["marking"] == "1.0 min"
    assert found["sentences"][1].startswith("marking: m, 1.0 min; 30,000 answers, 500.00 a second")


def test_no_session_no_bars() -> None:
    assert time_bars([]) is None
    bars = time_bars([session(5, 5, 5)])
    assert bars is not None
    assert bars["bars"] == []
    assert duration(7200) == "2.0 h"
