"""A panel over real endpoints, and responses to settle with it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from livek12.core.records import Key, Question, Response, Sampling, Verdict
from livek12.core.store import Store
from livek12.judges.base import NamedJudge
from livek12.judges.grade import GradingConfig
from livek12.judges.llm.client import JudgeModel, JudgeSpec
from livek12.judges.llm.panel import Panel, PanelScorer
from livek12.judges.llm.spec import PanelSpec
from livek12.tasks.scorer import Scorer
from tests.judges.helpers import CASCADE

ARGS = {"timeout": "300", "max_retries": "1", "backoff": "0.01"}


@contextlib.contextmanager
def panel_scorer(
    address: str, names: str = "alpha", method: str = "count", size: int | None = None, store: Store | None = None,
    max_tokens: int = 4096, **rules: object,
) -> Iterator[PanelScorer]:  # fmt: skip
    """A panel of these judges (separated by spaces), all at one address."""
    sampling = Sampling(temperature=0.0, max_tokens=max_tokens)
    specs = tuple(JudgeSpec(name, "openai", {"base_url": address, **ARGS}, sampling=sampling) for name in names.split())
    models = [JudgeModel(spec, store) for spec in specs]
    with ThreadPoolExecutor(16) as threads:
        panel = Panel(PanelSpec(judges=specs, **rules), models, threads)
        try:
            yield PanelScorer(panel, NamedJudge(method, size), GradingConfig(), CASCADE)
        finally:
            for model in models:
                model.close()


def marked(asked: Question, text: str, by: PanelScorer, author: str = "", finish: str = "stop") -> Verdict:
    """The verdict that a run would store: the rules, then the panel where something is open."""
    key = Key(task="t", question_id=asked.id)
    response = Response(key=key, text=text, finish_reason=finish, engine="replay", model=author)
    return Scorer(by.config, by.cascade, by).mark(asked, response, [author] if author else [])
