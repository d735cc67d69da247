"""livek12: exam benchmarks for language and multimodal models, native to the Hugging Face ecosystem."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from livek12.core.silence import silence

if TYPE_CHECKING:
    from livek12.core.errors import UserError
    from livek12.core.metrics import metric_path
    from livek12.core.records import Image, Option, Question, Response, Variable, Verdict
    from livek12.evaluation.api import compare, evaluate, include, judge, list_tasks, load
    from livek12.evaluation.run import Run, Scores
    from livek12.evaluation.verify import Judgement, Verifier, verify
    from livek12.tasks.base import Task
    from livek12.tasks.registry import get_task

silence()
__version__ = "0.2.0"
_PUBLIC = {
    "Image": "core.records",
    "Judgement": "evaluation.verify",
    "Option": "core.records",
    "Question": "core.records",
    "Response": "core.records",
    "Run": "evaluation.run",
    "Scores": "evaluation.run",
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
    "verify": "evaluation.verify",
}
"""Where each public name lives; its module is imported when it is first asked for."""
__all__ = [
    "Image",
    "Judgement",
    "Option",
    "Question",
    "Response",
    "Run",
    "Scores",
    "Task",
    "UserError",
    "Variable",
    "Verdict",
    "Verifier",
    "__version__",
    "compare",
    "evaluate",
    "get_task",
    "include",
    "judge",
    "list_tasks",
    "load",
    "metric_path",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'livek12' has no attribute {name!r}; see dir(livek12)")
    found = getattr(import_module(f"livek12.{_PUBLIC[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
