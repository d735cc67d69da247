"""The transformers engine with real models on the CPU: a genuine small one for text, tiny random ones that see."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from livek12.core.errors import UserError
from livek12.core.records import Image, Request, Sampling
from livek12.engines import Engine, make_engine
from livek12.engines.base import EngineDied
from livek12.engines.devices import measure
from livek12.engines.transformers import AHEAD, NanWatch, bytes_a_cell, own_place, remembering
from livek12.scripts.bench.models import make_model
from tests.engines.conftest import needs, needs_transformers
from tests.engines.helpers import ask, by_question, check_pictures_reach, failure, picture, response

pytestmark = pytest.mark.slow


NARROW = {"top_k": 1, "top_p": 1e-6}


@pytest.fixture(scope="module")
def small(small_folder: Path) -> Iterator[Engine]:
    engine = make_engine("transformers", str(small_folder), {"batch_size": "4"})
    yield engine
    engine.close()
    engine.close()


@pytest.fixture(scope="module", params=["tiny_qwen25_vl", "tiny_qwen3_vl"])
def seeing(request: pytest.FixtureRequest) -> Iterator[Engine]:
    engine = make_engine("transformers", str(request.getfixturevalue(request.param)), {"batch_size": "3"})
    yield engine
    engine.close()


def test_a_real_model_answers_in_words(small: Engine) -> None:
    asked = [
        ask("hi", "Say hello."),
        ask("long", "Write a poem.", max_tokens=6),
        ask("end", "Reply with: OK", max_tokens=40),
    ]
    found = by_question(list(small.generate(asked)))
    assert any(word in response(found["hi"]).text for word in ("Hello", "hello", "Hi"))
    long = response(found["long"])
    assert (long.finish_reason, long.completion_tokens) == ("length", 6)
    assert (long.reasoning, long.reasoning_tokens) == (None, 0)
    assert long.prompt_tokens is not None
    assert long.prompt_tokens > 20


def test_a_batch_says_what_each_request_alone_would(tiny_text: Path) -> None:
    """Left padding, positions and masks are right: prompts of different lengths do not disturb each other."""
    asked = [ask(str(n), "What is " * (1 + 7 * n), max_tokens=12) for n in range(5)]
    texts = []
    for size in (1, 5):
        engine = make_engine("transformers", str(tiny_text), {"batch_size": str(size)})
        found = by_question(list(engine.generate(asked)))
        texts.append({q: (response(o).text, response(o).prompt_tokens) for q, o in found.items()})
        engine.close()
    assert texts[0] == texts[1]
    assert len(set(texts[0].values())) == 5


def test_a_stop_string_ends_the_text_before_it(small: Engine) -> None:
    asked = ask("q", "Count from one to ten in words.", max_tokens=24)
    whole = response(next(small.generate([asked])))
    stop = whole.text.split()[3]
    cut = response(
        next(
            small.generate([asked.model_copy(update={"sampling": Sampling(temperature=0, max_tokens=24, stop=[stop])})])
        )
    )
    assert cut.text == whole.text[: whole.text.index(stop)]
    assert cut.finish_reason == "stop"
    assert cut.completion_tokens is not None
    assert whole.completion_tokens is not None
    assert 0 < cut.completion_tokens < whole.completion_tokens


def test_samples_depend_on_their_seed_alone(tiny_text: Path) -> None:
    def texts(size: int, seed: int, trials: range) -> list[str]:
        engine = make_engine("transformers", str(tiny_text), {"batch_size": str(size)})
        asked = [ask("q", trial=trial, temperature=1.0, top_k=50, top_p=0.9, seed=seed) for trial in trials]
        found = [response(outcome).text for outcome in engine.generate(asked)]
        engine.close()
        return found

    batched = texts(4, 7, range(4))
    assert len(set(batched)) == 4
    assert texts(1, 7, range(4)) == batched
    assert texts(2, 8, range(3)) == batched[1:]


def test_the_likeliest_token_alone_is_greedy_and_a_system_prompt_is_read(tiny_text: Path) -> None:
    engine = make_engine("transformers", str(tiny_text), {"batch_size": "2"})
    asked = [ask("greedy"), *(ask(name, temperature=5.0, **{name: value}) for name, value in NARROW.items())]
    found = by_question(list(engine.generate([*asked, ask("told", system="Be brief.")])))
    engine.close()
    plain, told = response(found["greedy"]), response(found["told"])
    assert {response(found[name]).text for name in NARROW} == {plain.text}
    assert (told.prompt_tokens or 0) > (plain.prompt_tokens or 0)


def test_sampling_draws_from_the_distribution() -> None:
    needs("torch", "transformers")
    import torch

    from livek12.engines.transformers import score_steps

    wanted = [0.5, 0.3, 0.15, 0.05]
    logits = torch.tensor([[2 * math.log(p) for p in wanted]])  # temperature 2 gives them back
    draws = 4000
    steps = score_steps(Sampling(temperature=2.0), None, list(range(draws)))
    counts = Counter(steps(None, logits.expand(draws, -1).clone()).argmax(dim=-1).tolist())
    for token, share in enumerate(wanted):
        assert abs(counts[token] / draws - share) < 4 * math.sqrt(share * (1 - share) / draws)


def test_images_reach_the_model(seeing: Engine) -> None:
    check_pictures_reach(seeing)


def test_a_bad_image_or_prompt_fails_alone(seeing: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A picture that no decoder takes, and one that crashes the image processor, beside good ones."""
    processor = image_processor(seeing)
    real = processor.preprocess

    def crashing(images: Any, *args: Any, **more: Any) -> Any:
        flat = [image for some in images for image in (some if isinstance(some, list) else [some])]
        if any(image.size == (97, 97) for image in flat):
            raise ValueError("cannot reshape array")
        return real(images, *args, **more)

    monkeypatch.setattr(processor, "preprocess", crashing)
    asked = [
        ask("good", images=(picture("red"),)),
        ask("junk", images=(picture("red"), Image(bytes=b"<html>"))),
        ask("crash", images=(picture("red", 97, 97),)),
        ask("after", images=(picture("blue"),)),
        ask("long", "word " * 3000, images=(picture("blue"),)),
    ]
    found = by_question(list(seeing.generate(asked)))
    assert failure(found["junk"]).reason.startswith("question junk: image 2 of 2 is not a PNG")
    assert failure(found["crash"]).reason == "cannot reshape array"
    assert [failure(found[q]).final for q in ("junk", "crash", "long")] == [True, False, True]
    assert "leaves no room in a context of 2048" in failure(found["long"]).reason
    alone = [response(next(seeing.generate([request]))).text for request in (asked[0], asked[3])]
    assert [response(found["good"]).text, response(found["after"]).text] == alone


def test_a_model_that_reads_text_only_gets_no_images(tiny_text: Path) -> None:
    engine = make_engine("transformers", str(tiny_text), {})
    assert engine.images is False
    found = by_question(list(engine.generate([ask("seen", images=(picture("red"),)), ask("read")])))
    assert failure(found["seen"]).state == "unsupported"
    response(found["read"])
    engine.close()


def test_the_context_bounds_the_answer(tiny_text: Path) -> None:
    engine = make_engine("transformers", str(tiny_text), {"batch_size": "2"})
    asked = [ask("near", "What is " * 650, max_tokens=500), ask("short", max_tokens=500)]
    found = by_question(list(engine.generate(asked)))
    near, short = response(found["near"]), response(found["short"])
    assert near.prompt_tokens is not None
    assert near.completion_tokens is not None
    assert near.prompt_tokens + near.completion_tokens <= 2048
    assert near.finish_reason in ("length", "stop")
    response(short)
    engine.close()


def calls_of(
    engine: Any, monkeypatch: pytest.MonkeyPatch, check: Callable[[int, int], None] = lambda rows, width: None
) -> list[int]:
    """Rows of each call of the model's `generate` from now on; before each, `check` is given its rows and width."""
    real = engine._model.generate
    tried: list[int] = []

    def checked(input_ids: Any, **more: Any) -> Any:
        rows, width = input_ids.shape
        tried.append(rows)
        check(rows, width)
        return real(input_ids=input_ids, **more)

    monkeypatch.setattr(engine._model, "generate", checked)
    return tried


@pytest.mark.parametrize(
    ("ends", "repeats", "calls"),
    [("soon", range(1, 9), [4, 4]), ("never", [5] * 8, [4, 4]), ("never", range(1, 9), [4, 1, 2, 1] * 2)],
    ids=["no row comes so far", "all come so far", "neighbours cut all but the longest"],
)
def test_batches_are_whole_where_the_limit_is_beyond_the_context(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: str, repeats: Sequence[int], calls: list[int]
) -> None:
    """A batch goes on as far as its longest prompt lets it; rows that are cut there are done again, and no others."""
    needs_transformers()
    engine: Any = make_engine("transformers", str(make_model("tiny", tmp_path, context=64)), {"batch_size": "4"})
    words = engine._model.config.vocab_size
    engine._model.generation_config.eos_token_id = list(range(0, words, 8)) if ends == "soon" else [words]
    tried = calls_of(engine, monkeypatch)
    asked = [ask(str(n), "What is " * many, max_tokens=32_768, temperature=1.0) for n, many in enumerate(repeats)]
    together = by_question(list(engine.generate(asked)))
    assert tried == calls
    alone = by_question([next(engine.generate([request])) for request in asked])
    engine.close()
    for question, outcome in together.items():
        got = response(outcome).model_dump(exclude={"seconds"})
        assert got == response(alone[question]).model_dump(exclude={"seconds"})
        assert got["finish_reason"] == ("stop" if ends == "soon" else "length")
        assert ends == "soon" or got["prompt_tokens"] + got["completion_tokens"] == 64, "all that the context holds"


def test_thinking_that_the_template_opens_is_never_text(tiny_text: Path) -> None:
    engine = make_engine("transformers", str(tiny_text), {"enable_thinking": "true"})
    got = response(next(engine.generate([ask("q")])))
    assert got.text == ""
    assert got.reasoning
    assert got.reasoning_tokens
    engine.close()


def test_batches_stream_within_a_bounded_look_ahead(tiny_text: Path) -> None:
    taken = 0

    def requests() -> Iterator[Request]:
        nonlocal taken
        for n in range(60):
            taken += 1
            yield ask(str(n), "What is " * (n % 7), max_tokens=1)

    engine = make_engine("transformers", str(tiny_text), {"batch_size": "3"})
    outcomes = engine.generate(requests())
    next(outcomes)
    assert taken <= 3 * AHEAD
    assert sum(1 for _ in outcomes) == 59
    engine.close()


def image_processor(engine: Any) -> Any:
    """What really works on pictures, under what remembers it."""
    return engine._processor.image_processor._image_processor


def test_each_picture_is_processed_once(seeing: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    processor = image_processor(seeing)
    real, seen = processor.preprocess, []

    def counting(images: Any, *args: Any, **more: Any) -> Any:
        seen.extend(image for some in images for image in (some if isinstance(some, list) else [some]))
        return real(images, *args, **more)

    pages = [picture(colour, 140, 84) for colour in ("green", "brown", "navy")]
    asked = [ask(str(n), f"Question {n}", images=tuple(pages)) for n in range(7)]
    monkeypatch.setattr(processor, "preprocess", counting)
    together = {q: response(o).text for q, o in by_question(list(seeing.generate(asked))).items()}
    assert len(seen) == len(pages)
    monkeypatch.setattr(seeing._processor, "image_processor", processor)  # type: ignore[attr-defined]
    assert together == {q: response(o).text for q, o in by_question(list(seeing.generate(asked))).items()}
    assert len(seen) == len(pages) + 7 * len(pages)


@pytest.mark.parametrize(
    ("processor", "remembers"), [("Qwen2VLImageProcessor", True), ("PixtralImageProcessor", False)]
)
def test_pictures_that_depend_on_their_neighbours_are_not_remembered(processor: str, remembers: bool) -> None:
    needs_transformers("torchvision")
    import transformers

    real = getattr(transformers, processor)()
    assert (remembering(real) is not real) is remembers


@pytest.fixture(scope="module")
def broken(tiny_text: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A model that computes NaN from the word `poison` on."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = tmp_path_factory.mktemp("broken")
    model, tokenizer = AutoModelForCausalLM.from_pretrained(tiny_text), AutoTokenizer.from_pretrained(tiny_text)
    with torch.no_grad():
        model.get_input_embeddings().weight[tokenizer.encode("~")] = math.nan
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    engine = make_engine("transformers", str(folder), {"batch_size": "3"})
    yield engine
    engine.close()


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_model_that_computes_nan_says_so_and_nothing_is_drawn_from_it(
    broken: Engine, tiny_text: Path, temperature: float
) -> None:
    asked = [ask(str(n), "What ~ is" if n % 3 == 0 else "What is it", temperature=temperature) for n in range(6)]
    found = by_question(list(broken.generate(asked)))
    sound = make_engine("transformers", str(tiny_text), {"batch_size": "3"})
    right = by_question(list(sound.generate(asked)))
    sound.close()
    for n in range(6):
        if n % 3 == 0:
            assert "computed NaN or infinity instead of scores for token 1" in failure(found[str(n)]).reason
        else:
            assert response(found[str(n)]).text == response(right[str(n)]).text


@pytest.mark.parametrize("scores", ["nan", "inf"])
def test_scores_are_watched_row_by_row(scores: str) -> None:
    needs("torch", "transformers")
    import torch

    watch = NanWatch()
    good = torch.tensor([[0.0, -math.inf], [1.0, 2.0]])
    assert watch(None, good) is good
    bad = good.clone()
    bad[1, 0] = float(scores)
    watch(None, bad)
    watch(None, bad)
    assert watch.broken_at() == [-1, 1]
    assert watch.ends(good, None).tolist() == [False, True]


def test_memory_that_runs_out_makes_batches_smaller_and_fails_what_fails_alone(
    tiny_text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The errors are torch's own: a device's, and that of its allocator for ours."""
    import torch

    engine: Any = make_engine("transformers", str(tiny_text), {"batch_size": "8"})

    def small(rows: int, width: int) -> None:
        if width > 300:
            torch.empty(1 << 60)
        if rows > 2:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB")

    tried = calls_of(engine, monkeypatch, small)
    asked = [ask(str(n)) for n in range(40)]
    asked.insert(20, ask("large", "What is it? " * 100))
    found = by_question(list(engine.generate(asked)))
    assert "memory does not hold this request even alone" in failure(found.pop("large")).reason
    assert len({response(outcome).text for outcome in found.values()}) == 1
    assert len(found) == 40
    assert sum(rows > 2 for rows in tried) <= 3, "what did not fit is not tried again"
    engine.close()


def test_one_request_that_does_not_fit_makes_no_batch_smaller(tiny_text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is what a library below torch says where it finds no memory for its own needs."""
    engine: Any = make_engine("transformers", str(tiny_text), {"batch_size": "8"})

    def narrow(rows: int, width: int) -> None:
        if width > 300:
            raise RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`")

    tried = calls_of(engine, monkeypatch, narrow)
    asked = [ask(str(n)) for n in range(39)]
    found = by_question(list(engine.generate([*asked, ask("large", "What is it? " * 100)])))
    assert "memory does not hold this request even alone" in failure(found.pop("large")).reason
    assert len([response(outcome) for outcome in found.values()]) == 39
    assert tried == [8, 4, 2, 1, 1, 2, 4, 8, 8, 8, 8]
    engine.close()


def test_a_device_that_is_lost_ends_the_engine(tiny_text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine: Any = make_engine("transformers", str(tiny_text), {"batch_size": "2"})

    def lost(**_: Any) -> Any:
        raise RuntimeError("CUDA error: device-side assert triggered\nCompile with TORCH_USE_CUDA_DSA")

    monkeypatch.setattr(engine._model, "generate", lost)
    with pytest.raises(EngineDied, match="device-side assert triggered Compile"):
        list(engine.generate([ask("a"), ask("b")]))
    engine.close()


def test_memory_is_given_back(small_folder: Path) -> None:
    """Most of the weights: what Python, torch and their threads keep for themselves is not the model's."""
    before = measure().rss or 0
    engine = make_engine("transformers", str(small_folder), {})
    response(next(engine.generate([ask("q", "Say hello.")])))
    held = (measure().rss or 0) - before
    engine.close()
    left = (measure().rss or 0) - before
    assert held > 200 << 20
    assert left < held / 3, (held >> 20, left >> 20)


@pytest.mark.parametrize(
    ("environment", "place"),
    [
        ({}, "auto"),
        ({"ACCELERATE_USE_CPU": "True"}, "cpu"),
        ({"RANK": "1", "WORLD_SIZE": "8", "LOCAL_RANK": "1"}, "cuda:1"),
        ({"RANK": "7", "WORLD_SIZE": "8", "LOCAL_RANK": "3"}, "cuda:1"),
        ({"RANK": "1", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "ACCELERATE_USE_CPU": "true"}, "cpu"),
    ],
)
def test_each_launched_process_has_a_device_of_its_own(
    environment: dict[str, str], place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs("torch")
    import torch

    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "ACCELERATE_USE_CPU"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device("cuda"))
    monkeypatch.setattr(torch.accelerator, "device_count", lambda: 2)
    assert own_place() == place


def test_the_cache_of_a_token_is_counted(tiny_text: Path) -> None:
    needs_transformers()
    from transformers import AutoConfig

    # Two layers, a key and a value, two heads of 32 numbers.
    assert bytes_a_cell(AutoConfig.from_pretrained(tiny_text), 2) == 2 * 2 * 2 * 32 * 2


@pytest.mark.parametrize("size", ["0", "-1", "many", "1.5"])
def test_a_batch_size_is_a_number_or_auto(size: str) -> None:
    with pytest.raises(UserError, match=f"batch_size={size}: give the number"):
        make_engine("transformers", "any", {"batch_size": size})


@pytest.mark.release
def test_a_gguf_file_is_a_model(small_gguf: Path) -> None:
    needs("torch", "transformers", "gguf")
    engine = make_engine("transformers", str(small_gguf), {})
    assert "hello" in response(next(engine.generate([ask("q", "Say hello.", max_tokens=12)]))).text.lower()
    engine.close()


@pytest.mark.parametrize("case", ["absent", "empty", "config", "template"])
def test_what_is_no_model_says_so_in_one_line(
    tmp_path: Path, tiny_text: Path, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    folder = tmp_path / "model"
    if case != "absent":
        folder.mkdir()
    if case == "config":
        (folder / "config.json").write_text("{}")
    if case == "template":
        for file in tiny_text.iterdir():
            if file.name != "chat_template.jinja":
                (folder / file.name).write_bytes(file.read_bytes())
    with pytest.raises(UserError) as error:
        make_engine("transformers", str(folder))
    assert str(folder) in str(error.value)
    assert "\n" not in str(error.value)
