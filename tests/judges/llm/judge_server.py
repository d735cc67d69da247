"""A judge behind a real HTTP endpoint whose replies a test writes; the question is the word between «»."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable

from livek12.judges.jury import JudgeOptions
from livek12.judges.llm.spec import parse_judge
from tests.engines.scripted_server import Json, Reply, Script, Seen, error


def text_of(body: Json) -> str:
    """All texts of a request."""
    parts = []
    for message in body["messages"]:
        content = message["content"]
        parts += [content] if isinstance(content, str) else [part.get("text", "") for part in content]
    return "\n".join(parts)


class JudgeScript(Script):
    """Decides every reply by the question (the first «word»), how often the judge got it, and the body.

    `trial` is the reply to a request that only asks whether the judge is there; by default it is.
    """

    def __init__(self, answer: Callable[[str, int, Json], Reply], trial: Reply | None = None) -> None:
        super().__init__(lambda question, before: Reply())
        self._answer = answer
        self._trial = trial
        self._asked: Counter[str] = Counter()
        self.tried = 0
        """How often it was only tried; `seen` holds the rest."""

    def take(self, body: Json, headers: dict[str, str]) -> Reply:
        text = text_of(body)
        found = re.search("«(.+?)»", text)
        question = f"{found[1] if found else ''}@{body['model']}"
        if "Reply with one word and nothing else: READY" in text:
            self.tried += 1
            return self._trial or says("READY")
        with self._lock:
            before = self._asked[question]
            self._asked[question] += 1
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


def options(address: str, judges: str = "alpha", **more: object) -> JudgeOptions:
    """These judges at one address."""
    args = f"base_url={address},timeout=300,max_retries=1,backoff=0.01"
    return JudgeOptions(parse_judge(judges, "openai", args), **more)  # type: ignore[arg-type]


def replying(good: bool = True) -> JudgeScript:
    """A judge that finds everything right, in whatever form it is asked."""

    def answer(name: str, before: int, body: dict[str, object]) -> Reply:
        if not good:
            return error(500, "overloaded")
        form = (body.get("response_format") or {}).get("json_schema", {}).get("schema", {}).get("properties", {})  # type: ignore[attr-defined]
        text = text_of(body)
        if not form:
            return says("[TRUE]")
        if "errors" in form:
            return says({"errors": []})
        if "values" in form:
            names = form["values"]["items"]["properties"]["name"]["enum"]
            order = sorted(names, key=lambda one: text.index(json.dumps(one)))
            return says({"values": [{"name": one, "value": "something"} for one in order]})
        if "variables" in form:
            names = form["variables"]["items"]["properties"]["name"]["enum"]
            order = sorted(names, key=lambda one: text.index(json.dumps(one)))
            return says({"variables": [{"name": one, "reason": "", "correct": True} for one in order]})
        if "parts" in form:
            count = form["parts"].get("minItems", 1)
            parts = [{"part": n, "reason": "", "correct": True} for n in range(1, count + 1)]
            return says({"parts": parts, "correct": count, "total": count})
        return says({"reason": "", "correct": 1, "total": 1})

    return JudgeScript(answer)
