"""Processor seconds of tests: `costs.json` tells the suite which tests are slow and which files begin.

    bash scripts/test.sh -p tests.costs

measures all tests anew and writes the file. Children count once their parent has waited for them.
"""

from __future__ import annotations

import json
import resource
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

FILE = Path(__file__).with_suffix(".json")
SLOW = 0.5
"""Seconds of a test function, with all of its cases: from here on it is slow, and listed."""
_spent: Counter[str] = Counter()


def listed() -> dict[str, float]:
    """Seconds of each slow test function, by its name in pytest without the case."""
    costs: dict[str, float] = json.loads(FILE.read_text(encoding="utf-8"))
    return costs


def function_of(nodeid: str) -> str:
    """The name of a test without its case."""
    return nodeid.partition("[")[0]


def _used() -> float:
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """From set-up to tear-down."""
    before = _used()
    yield
    _spent[function_of(item.nodeid)] += _used() - before


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object, error: object) -> None:
    """In the main process: the seconds of a worker that has ended."""
    _spent.update(getattr(node, "workeroutput", {}).get("costs", {}))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker hands its seconds over; the main process writes them."""
    worker = getattr(session.config, "workeroutput", None)
    if worker is not None:
        worker["costs"] = dict(_spent)
        return
    costs = {name: round(spent, 1) for name, spent in sorted(_spent.items()) if spent >= SLOW}
    FILE.write_text(json.dumps(costs, indent=0) + "\n", encoding="utf-8")
