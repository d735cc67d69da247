"""Measures image-only papers: how often a page is encoded, how much of the prompts is computed, how long it takes.

The papers are drawn here: `--papers` papers of `--pages` pages with `--questions` questions, each asked with all pages
of its paper (`livek12_image_only`). The model is a tiny Qwen3-VL with random weights, any `--model`, or with `--dummy`
a shape of models.py: `--dummy qwen3-vl-8b` on a GPU. Every run is a process of its own; watch.py says what
is timed and counted in it.

Sides (`--sides`, all by default), in turn, `--rounds` times:

- `ours`: `livek12 generate`.
- `bare`: the very same requests in the same order in one call of vLLM's `LLM.chat`, pictures without names of ours.
- `question-first`: the same requests drawn into another order, the question before the pages, as a plain script asks.
- `nothing-shared`: question first, with vLLM's prefix cache and processor cache switched off.
- with `--beside lmms-eval`: this harness with our plug-in, on the same vLLM, all questions in one batch.

Figures:

- `encoded a page`: pages that the vision encoder was given, over the pages there are; 1.0 is ideal.
- `processed a page`: pictures that went through the image processor, over the pages there are; 1.0 is ideal.
- `computed`: prompt tokens computed over prompt tokens asked; the rest came from the prefix cache.
- `planned`: tokens that the scheduler had computed, those of answers included; other harnesses tell no more.
- `generation s`, `whole s`: first request handed in to last response; the process from start to exit.

Run it with the Python that livek12 is installed in: `python scripts/bench/pages.py --json figures.json`.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from livek12.scripts.bench.common import machine, table
from livek12.scripts.bench.sides import Side, build, make_bench, parse, write_prompts

if TYPE_CHECKING:
    from livek12.core.records import Request

TASK = "livek12_image_only"
SIDES = ("ours", "bare", "question-first", "nothing-shared")
APART = {"enable_prefix_caching": False, "mm_processor_cache_gb": 0}
Row = dict[str, Any]


def main() -> None:
    """Prints the sides side by side."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="bench_pages.", dir=options.work) as made:
        figures = measure(options, Path(made))
    print(table(figures["sides"]), json.dumps({"machine": figures["machine"]}, ensure_ascii=False), sep="\n\n")
    if options.json:
        options.json.write_text(json.dumps(figures, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--papers", type=int, default=10)
    parser.add_argument("--questions", type=int, default=20, help="of each paper")
    parser.add_argument("--pages", type=int, default=8, help="of each paper")
    parser.add_argument("--size", type=_size, default=(280, 392), help="of a page in pixels, WIDTHxHEIGHT")
    parser.add_argument("--rounds", type=int, default=1, help="runs of each side; the figures are medians")
    parser.add_argument("--sides", nargs="+", choices=SIDES, default=SIDES)
    return parse(parser, "a tiny Qwen3-VL", max_tokens=16)


def _size(text: str) -> tuple[int, int]:
    width, height = map(int, text.split("x"))
    return width, height


def measure(options: argparse.Namespace, made: Path) -> dict[str, Any]:
    """Runs all sides; see the module."""
    here = machine()
    draw_papers(made / "source", options.papers, options.questions, options.pages, options.size)
    bench = make_bench(options, made, build(made / "source", made / "built"), TASK, "tiny-qwen3-vl")
    bench.counting = True
    asked = bench.requests()
    pages = len({sha256 for request in asked for sha256 in request.images})
    ordered = write_prompts(asked, made, "ordered")
    mixed = write_prompts(question_first(asked), made, "mixed")
    ways: dict[str, Callable[[], Side]] = {
        "ours": bench.ours,
        "bare": lambda: bench.bare(ordered),
        "question-first": lambda: bench.bare(mixed, "question-first"),
        "nothing-shared": lambda: bench.bare(mixed, "nothing-shared", **APART),
    }
    found: dict[str, list[Side]] = {}
    for _ in range(options.rounds):
        for side in [ways[name]() for name in options.sides] + [
            bench.beside(name, len(asked)) for name in options.beside
        ]:
            found.setdefault(side.name, []).append(side)
    reference = next(iter(found.values()))[0]
    papers = {"papers": options.papers, "pages": pages, "questions": len(asked), "size": list(options.size)}
    return {
        "machine": here,
        **bench.told(),
        "asked": {**papers, "prompt tokens": reference.total("prompt_tokens")},
        "sides": [_row(runs, pages, reference) for runs in found.values()],
        "runs": [side.row(reference) for runs in found.values() for side in runs],
    }


def _row(runs: Sequence[Side], pages: int, reference: Side) -> Row:
    """A side's figures: medians of the times, counts of its first run."""
    first = runs[0]
    prompt, cached = first.total("prompt_tokens"), first.total("cached_tokens")
    row = {
        "side": first.name,
        "encoded a page": _over(first.counts.get("pages encoded"), pages),
        "processed a page": _over(first.counts.get("pictures processed"), pages),
        "computed": _over(prompt - cached, prompt) if prompt and cached is not None else None,
        "planned": first.counts.get("tokens computed"),
        "generation s": statistics.median(side.generation for side in runs),
        "whole s": statistics.median(side.run.seconds for side in runs),
    }
    kept = ("tokens/s", "GPU busy", "processor s", "GiB", "answers", f"same as {reference.name}")
    return row | {name: value for name, value in first.row(reference).items() if name in kept}


def _over(counted: int | None, of: int) -> float | None:
    """None where nothing was counted: the engine ran in a process of its own."""
    return None if counted is None else counted / of


def question_first(asked: Sequence[Request]) -> list[Request]:
    """The requests in a drawn order that is always the same, each with its texts before its pictures."""
    mixed = [
        request.model_copy(
            update={
                "messages": [
                    message.model_copy(
                        update={"content": sorted(message.content, key=lambda part: part.type != "text")}
                    )
                    for message in request.messages
                ]
            }
        )
        for request in asked
    ]
    random.Random(0).shuffle(mixed)
    return mixed


def draw_papers(source: Path, papers: int, questions: int, pages: int, size: tuple[int, int]) -> None:
    """Papers in livek12's source form: rows without text, and page pictures with the questions on them."""
    (source / "pages").mkdir(parents=True)
    with (source / "en_2601.jsonl").open("w", encoding="utf-8") as lines:
        for paper in range(1, papers + 1):
            sums = [(paper + 3 * number, 2 * number + paper) for number in range(1, questions + 1)]
            for page in range(1, pages + 1):
                held = [
                    f"{number}. {a} + {b} = ?"
                    for number, (a, b) in enumerate(sums, 1)
                    if number % pages == page % pages
                ]
                _draw(source / "pages" / f"paper{paper:03d}_{page}.png", [f"Paper {paper}, page {page}", *held], size)
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


if __name__ == "__main__":
    main()
