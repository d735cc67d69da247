"""Python functions as models, in their own process.

A function gets the conversation as text, or the `Request` if its first parameter is annotated so. An exception fails
that request alone.
"""

from __future__ import annotations

import hashlib
import inspect
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from livek12.core.errors import UserError
from livek12.core.records import Request, Response
from livek12.engines.base import Outcome
from livek12.engines.common import cannot_see, failure, has_images, versions_of
from livek12.engines.thinking import Thinking

NAME = "python"
Answering = Callable[[Any], str]
_lent: dict[str, Answering] = {}


def lend(function: Answering) -> str:
    """Makes a function known to this process; the later of two with one name counts."""
    owner: Any = function if hasattr(function, "__qualname__") else type(function)
    name = f"{owner.__module__}.{owner.__qualname__}".removeprefix("__main__.")
    if "<" in name and (code := getattr(function, "__code__", None)):  # lambdas share a name
        name += f"-{hashlib.sha256(code.co_code + repr(code.co_consts).encode()).hexdigest()[:8]}"
    _lent[name] = function
    return name


class PythonEngine:
    """Calls a lent function, `parallel` times at once."""

    name = NAME
    revision = None

    def __init__(self, model: str, parallel: int = 1) -> None:
        if model not in _lent:
            raise UserError(f"engine {NAME}: no function {model!r} is here; give it to livek12.evaluate(model=…)")
        self.model, self._function = model, _lent[model]
        self.images = _takes_requests(self._function)
        self._parallel, self._threads = parallel, ThreadPoolExecutor(parallel)
        self._thinking = Thinking()

    def generate(self, requests: Iterable[Request]) -> Iterator[Outcome]:
        """One outcome a request, in order."""
        waiting: deque[Future[Outcome]] = deque()
        for request in requests:
            waiting.append(self._threads.submit(self._answer, request))
            if len(waiting) >= self._parallel:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def versions(self) -> dict[str, str]:
        """Version of livek12."""
        return versions_of()

    def close(self) -> None:
        """Ends the threads."""
        self._threads.shutdown(cancel_futures=True)

    def _answer(self, request: Request) -> Outcome:
        if has_images(request) and not self.images:
            return cannot_see(request, self.model)
        try:
            text = self._function(request if self.images else conversation_text(request))
        except Exception as error:  # whatever somebody's function raises
            return failure(request, f"{type(error).__name__}: {error}")
        if not isinstance(text, str):
            return failure(request, f"{self.model} returned {text!r:.60}, not a text")
        split = self._thinking.split(text)
        return Response(
            key=request.key,
            text=split.text,
            reasoning=split.reasoning,
            engine=NAME,
            model=self.model,
            prompt_sha256=request.prompt_sha256,
            versions=self.versions(),
        )


def _takes_requests(function: Answering) -> bool:
    try:
        first = next(iter(inspect.signature(function, eval_str=True).parameters.values()), None)
    except (NameError, TypeError, ValueError):  # an annotation without meaning here; a function written in C
        return False
    return first is not None and first.annotation is Request


def conversation_text(request: Request, picture: str = "") -> str:
    """Messages as one text."""
    texts = ("".join(part.text or picture for part in message.content) for message in request.messages)
    return "\n\n".join(texts)
