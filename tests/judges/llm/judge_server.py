"""A judge behind a real HTTP endpoint whose replies a test writes; the question is the word between «»."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable

from tests.core.engines.scripted_server import Json, Reply, Script, Seen


def text_of(body: Json) -> str:
    """All texts of a request."""
    parts = []
    for message in body["messages"]:
        content = message["content"]
        parts += [content] if isinstance(content, str) else [part.get("text", "") for part in content]
    return "\n".join(parts)


class JudgeScript(Script):
    """Decides every reply by the question (the first «word»), how often the judge got it, and the body."""

    def __init__(self, answer: Callable[[str, int, Json], Reply]) -> None:
        super().__init__(lambda question, before: Reply())
        self._answer = answer

    def take(self, body: Json, headers: dict[str, str]) -> Reply:
        text = text_of(body)
        found = re.search("«(.+?)»", text)
        question = f"{found[1] if found else ''}@{body['model']}"
        with self._lock:
            before = self.attempts().get(question, 0)
            self.seen.append(Seen(question, time.monotonic(), body, headers))
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        return self._answer(question.partition("@")[0], before, body)


def says(value: object, prompt: int = 100, completion: int = 10, cached: int | None = None) -> Reply:
    """A completion: a text as it is, anything else as JSON; with token counts."""
    text = value if isinstance(value, str) else json.dumps(value)
    usage: Json = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    if cached is not None:
        usage["prompt_tokens_details"] = {"cached_tokens": cached}
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    body = {"id": "x", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage}
    return Reply(body=json.dumps(body).encode())


def counted(*right: bool, reason: str = "why") -> Json:
    """A reply in the form of the livek12 verifier."""
    parts = [{"part": n, "reason": reason, "correct": one} for n, one in enumerate(right, 1)]
    return {"parts": parts, "correct": sum(right), "total": len(right)}
