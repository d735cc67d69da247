"""Budgets over the context: one rule in every engine, whose line says so once, and whose cuts the report counts."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from livek12.core.errors import UserError
from livek12.core.records import Request
from livek12.core.run.sessions import Figures
from livek12.engines import Engine, make_engine
from livek12.engines.common import Context, figures_of, one_after_another, together
from livek12.engines.openai.format import fitting
from tests.engines.conftest import needs
from tests.engines.helpers import ask, bare_vllm, by_question, failure, response
from tests.engines.scripted_server import Json, Reply, Script, good, serving

ASKED = 32_768
VLLM = (
    "max_tokens=32768 cannot be greater than max_model_len=8192. Please request fewer output tokens. "
    "(parameter=max_tokens, value=32768)"
)
VLLM_LONG = (
    "This model's maximum context length is 8192 tokens. However, your prompt contains at least 8193 input tokens, "
    "which exceeds this limit even without any output tokens. Please reduce the length of the input prompt. "
    "(parameter=input_tokens, value=8193)"
)


def refusal(message: str, code: Any = 400) -> bytes:
    """An error in OpenAI's form, as vLLM sends it."""
    body = {"message": message, "type": "BadRequestError", "param": None, "code": code}
    return json.dumps({"error": body}).encode()


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (VLLM, (8192, 8192)),
        (VLLM.replace("max_tokens", "max_completion_tokens"), (8192, 8192)),
        (VLLM_LONG, None),
        (
            "'max_tokens' is too large: 32768. This model's maximum context length is 8192 tokens and your request has "
            "40 input tokens (32768 > 8192 - 40).",
            (8192, 8152),
        ),
        (
            "This model's maximum context length is 8,192 tokens. However, you requested 32,808 tokens (40 in the "
            "messages, 32,768 in the completion). Please reduce the length of either.",
            (8192, 8152),
        ),
        (
            "Requested token count exceeds the model's maximum context length of 8192 tokens. You requested a total of "
            "32808 tokens: 40 tokens from the input messages and 32768 tokens for the completion.",
            (8192, 8152),
        ),
        (
            "`inputs` tokens + `max_new_tokens` must be <= 8192. Given: 40 `inputs` tokens and 32768 `max_new_tokens`",
            (8192, 8152),
        ),
        ("max_tokens is too large: 32768. This model supports at most 16384 completion tokens.", (16384, 16384)),
        ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", (8192, 8192)),
        ("`max_tokens` must be less than or equal to `8192`, which is less than the context", (8192, 8192)),
        ("max_tokens: 32768 > 8192, which is the most that this model writes", (8192, 8192)),
        ("request (5000 tokens) exceeds the available context size (1024 tokens), try increasing it", None),
        ("This model's maximum context length is 40000 tokens.", None),  # no reason to ask for less
        ("context length is 99999999999999999999", None),
        ("the picture is too large", None),
        ("", None),
    ],
)
def test_what_an_endpoint_holds_is_read_from_its_refusal(message: str, told: tuple[int, int] | None) -> None:
    assert fitting(refusal(message), ASKED) == told
    assert fitting(message.encode(), ASKED) == told


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"error": null}', b'{"error": {"message": 8192}}', b"\xff" * 99])
def test_a_refusal_that_makes_no_sense_says_nothing(body: bytes) -> None:
    assert fitting(body, ASKED) is None


@pytest.mark.slow
def test_vllm_refuses_in_these_very_words() -> None:
    needs("vllm")
    from livek12.engines.vllm.ready import ready_vllm

    ready_vllm()
    from vllm.renderers.params import TokenizeParams

    names = {"max_total_tokens_param": "max_model_len", "max_output_tokens_param": "max_tokens"}
    with pytest.raises(Exception, match=re.escape(VLLM)):
        TokenizeParams(max_total_tokens=8192, max_output_tokens=ASKED, **names)
    with pytest.raises(Exception, match=re.escape(VLLM_LONG)):
        TokenizeParams(max_total_tokens=8192, max_output_tokens=8, **names)._token_len_check(None, [0] * 8193)


class Holding(Script):
    """A server whose model holds 8,192 tokens; a question has as many as its number says.

    Args:
        strict: question and budget have to fit together, as older servers want it; else the budget alone.
    """

    def __init__(self, strict: bool) -> None:
        super().__init__(self._reply)
        self._strict = strict

    def _reply(self, question: str, before: int) -> Reply:
        tokens, budget = int(question), self.seen[-1].body["max_tokens"]
        if tokens >= 8192:
            return Reply(400, refusal(VLLM_LONG))
        if not self._strict and budget > 8192:
            return Reply(400, refusal(VLLM.replace("32768", str(budget))))
        if self._strict and tokens + budget > 8192:
            said = f"maximum context length is 8192 tokens and your request has {tokens} input tokens"
            return Reply(400, refusal(f"'max_tokens' is too large: {budget}. This model's {said}."))
        return good(str(budget))


def asked(*tokens: int, budget: int = ASKED) -> list[Request]:
    return [ask(str(number), f"{number} What is it?", max_tokens=budget) for number in tokens]


def answer(script: Script, requests: list[Request], **args: Any) -> tuple[dict[str, Any], Figures]:
    with serving(script) as address:
        engine = make_engine("openai", "m", {"base_url": address, "concurrency": 1, **args})
        try:
            return by_question(list(engine.generate(requests))), figures_of(engine)
        finally:
            engine.close()


@pytest.mark.parametrize("strict", [False, True])
def test_a_budget_that_an_endpoint_does_not_hold_is_lowered(strict: bool, caplog: pytest.LogCaptureFixture) -> None:
    """A run of such requests is answered whole, and only what has no room at all fails, alone."""
    script = Holding(strict)
    found, figures = answer(script, asked(100, 200, 9000, 8000))
    given = {question: response(found[question]).text for question in ("100", "200", "8000")}
    assert given == ({"100": "8092", "200": "7992", "8000": "192"} if strict else dict.fromkeys(given, "8192"))
    assert failure(found["9000"]).final
    assert figures == Figures(context=8192)
    assert caplog.text.count("do not fit into 8,192: longer answers are cut off there") == 1
    assert script.attempts() == (
        {"100": 2, "200": 2, "9000": 1, "8000": 2} if strict else {"100": 2, "200": 1, "9000": 1, "8000": 1}
    )


def test_what_fits_is_asked_for_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    found, figures = answer(Holding(strict=False), asked(100, budget=500))
    assert (response(found["100"]).text, figures, caplog.text) == ("500", Figures(), "")


def test_a_budget_that_is_refused_without_a_number_ends_the_run_at_the_first() -> None:
    script = Script(lambda question, before: Reply(400, refusal("max_tokens is beyond what your plan allows")))
    with pytest.raises(UserError, match=r"max_tokens is beyond .* ask for less with --max-tokens$") as error:
        answer(script, asked(*range(100)))
    assert "\n" not in str(error.value)
    assert len(script.seen) <= 2


def test_a_server_that_never_has_enough_ends_one_request() -> None:
    def reply(question: str, before: int) -> Reply:
        if question == "1":
            return good()
        return Reply(400, refusal(f"the valid range of max_tokens is [1, {script.seen[-1].body['max_tokens'] - 1}]"))

    script = Script(reply)
    found, _ = answer(script, asked(1, 2))
    assert failure(found["2"]).final
    assert script.attempts()["2"] == 3


def test_the_line_comes_once_and_only_where_something_is_lost(caplog: pytest.LogCaptureFixture) -> None:
    context = Context("org/model", 1000)
    assert [context.left(question, 500) for question in (100, 500, 600, 1200)] == [500, 500, 400, -200]
    for question in (100, 500, 1200):
        context.tell(question, 500)
    assert caplog.text == ""  # a question beyond the context is a failure of its own
    context.tell(501, 500)
    context.tell(900, 5000)
    assert caplog.text.count("org/model: a question and an answer of up to 500 tokens do not fit into 1,000") == 1
    assert Context("m").left(10**9, 7) == 7


def test_figures_of_several_are_those_of_the_smallest_and_sums() -> None:
    assert together([Figures(context=8192), Figures(), Figures(context=4096)]) == Figures(context=4096)
    assert together([]) == figures_of(object()) == Figures()
    one, other = Figures(kv_tokens=100, preemptions=2), Figures(kv_tokens=50, preemptions=3)
    assert together([one, other]) == Figures(kv_tokens=150, preemptions=5)
    assert one_after_another(one, other) == Figures(kv_tokens=50, preemptions=5)
    starts = [Figures(stages={"imports": 2.0, "weights": 1.0}), Figures(stages={"imports": 3.0, "graphs": 4.0})]
    assert together(starts).stages == {"imports": 3.0, "weights": 1.0, "graphs": 4.0}, "they start at the same time"
    assert one_after_another(*starts) == starts[0]
    assert one_after_another(one, Figures()) == one


def _engine(name: str, folder: Path) -> Engine:
    return bare_vllm(folder) if name == "vllm" else make_engine("transformers", str(folder))


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param("vllm", marks=pytest.mark.release), "transformers"])
def test_in_process_an_answer_gets_what_fits_and_a_line_says_so(
    name: str, tiny_text: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    needs(name)
    config: Json = json.loads((tiny_text / "config.json").read_text())
    folder = tmp_path / "small"
    folder.mkdir()
    for file in tiny_text.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    (folder / "config.json").write_text(json.dumps(config | {"max_position_embeddings": 1024}))
    engine = _engine(name, folder)
    found = by_question(list(engine.generate([ask("fits", max_tokens=4), ask("over", max_tokens=5000)])))
    engine.close()
    cut = response(found["over"])
    assert (cut.prompt_tokens or 0) + (cut.completion_tokens or 0) <= 1024
    assert figures_of(engine).context == 1024
    assert caplog.text.count("an answer of up to 5,000 tokens do not fit into 1,024") == 1
