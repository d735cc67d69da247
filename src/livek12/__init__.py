"""livek12: exam benchmarks for language and multimodal models, native to the Hugging Face ecosystem."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from livek12.core.silence import silence
from livek12.core.version import __version__

if TYPE_CHECKING:  # each under its own name, so that type checkers see it as exported
    from livek12.core.errors import UserError as UserError
    from livek12.core.metrics import metric_path as metric_path
    from livek12.core.records import Image as Image
    from livek12.core.records import Option as Option
    from livek12.core.records import Question as Question
    from livek12.core.records import Request as Request
    from livek12.core.records import Response as Response
    from livek12.core.records import Variable as Variable
    from livek12.core.records import Verdict as Verdict
    from livek12.evaluation.api import Run as Run
    from livek12.evaluation.api import RunComparison as RunComparison
    from livek12.evaluation.api import Scores as Scores
    from livek12.evaluation.api import compare as compare
    from livek12.evaluation.api import evaluate as evaluate
    from livek12.evaluation.api import include as include
    from livek12.evaluation.api import judge as judge
    from livek12.evaluation.api import list_tasks as list_tasks
    from livek12.evaluation.api import load as load
    from livek12.evaluation.api import prompt_for as prompt_for
    from livek12.evaluation.verify import Judgement as Judgement
    from livek12.evaluation.verify import Verifier as Verifier
    from livek12.evaluation.verify import verify as verify
    from livek12.tasks.base import Task as Task
    from livek12.tasks.registry import get_task as get_task

silence()
_PUBLIC = {
    "RunComparison": "evaluation.api",
    "Image": "core.records",
    "Judgement": "evaluation.verify",
    "Option": "core.records",
    "Question": "core.records",
    "Request": "core.records",
    "Response": "core.records",
    "Run": "evaluation.api",
    "Scores": "evaluation.api",
    "Task": "tasks.base",
    "UserError": "core.errors",
    "Variable": "core.records",
    "Verdict": "core.records",
    "Verifier": "evaluation.verify",
    "compare": "evaluation.api",
    "evaluate": "evaluation.api",
    "get_task": "tasks.registry",
    "include": "evaluation.api",
    "judge": "evaluation.api",
    "list_tasks": "evaluation.api",
    "load": "evaluation.api",
    "metric_path": "core.metrics",
    "prompt_for": "evaluation.api",
    "verify": "evaluation.verify",
}
"""Where each public name lives; its module is imported when it is first asked for."""
__all__ = [*_PUBLIC, "__version__"]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'livek12' has no attribute {name!r}; see dir(livek12)")
    value = getattr(import_module(f"livek12.{_PUBLIC[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
