"""Measures `livek12 generate` on text questions against the bare engine: vLLM's `LLM.chat`, once, with all prompts.

Questions are real English ones of `--data` (`write_questions`), or `--built` and `--task`. The model is SmolLM2-135M,
any `--model`, or with `--dummy` a shape of models.py (`qwen3-8b` on a GPU, `tiny` anywhere). Every run is a process
(watch.py); each side first runs four questions, not counted, to bring its files into memory.

- `--pairs` rounds of bare, ours, bare with `--questions` questions; pairs alternate the order, so that drift of the
  machine cancels. `ours / bare` is the median of the pairs' ratios; `bare / bare` is the noise.
- `generation`: first request handed in to last response (ours: stored; bare: returned).
- `whole`: the process from start to exit.
- `--full` questions once by each; equal texts; on a GPU, its busy share.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import re
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from livek12.scripts.bench.common import machine, spread, table, write_json
from livek12.scripts.bench.sides import Bench, Side, build, make_bench, parse, write_prompts

ROOT = Path(__file__).resolve().parents[2]
BARS = {"generation": 1.02, "whole": 1.05}
WARM_UP = 4
"""Questions of each side before anything is counted."""
SETS = ("scibench", "hipho", "cfe_bench")
"""Published sets of English questions."""
_LINK = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_NUMBERING = re.compile(r"^\s*(?:\d{1,3}\s*[.．、)）]\s*|[(（][^)）]{0,40}[)）]\s*)+")
"""What counts for nothing: with another number there the question is the same."""
_TEXTS = ("question", "problem_text", "problem", "context")
Row = dict[str, Any]


def main() -> None:
    """Command line."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="bench_generation.", dir=options.work) as made:
        figures = measure(options, Path(made))
    print(shown(figures))
    write_json(options.json, figures)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--questions", type=int, default=300, help="of each run of the pairs")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--full", type=int, default=1000, help="questions of the one long run of each side; 0: none")
    parser.add_argument("--built", type=Path, help="a built data set; default: one made of --data")
    parser.add_argument("--task", default="livek12_text_only_en")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    return parse(parser, "SmolLM2-135M", max_tokens=64)


def measure(options: argparse.Namespace, made: Path) -> dict[str, Any]:
    """Runs all sides."""
    data = options.built or build_questions(options.data, max(options.questions, options.full), made)
    bench = make_bench(options, made, data, options.task)
    figures: dict[str, Any] = {"machine": machine(), **bench.told()}
    _warm_up(bench)
    rows: list[Row] = []
    if options.pairs:
        rounds = [_round(bench, options.questions) for _ in range(options.pairs)]
        figures["pairs"] = {"questions": len(rounds[0][1].answers), **ratios(rounds)}
        rows += [side.row(sides[0]) for sides in rounds for side in sides]
    if options.full:
        bench.limit = options.full
        bare, ours = bench.bare(write_prompts(bench.requests(), bench.made)), bench.ours()
        figures["full"] = {"ours / bare": _over(ours, bare)}
        rows += [side.row(bare) for side in (bare, ours)]
    return figures | {"runs": rows}


def _warm_up(bench: Bench) -> None:
    bench.limit = WARM_UP
    bench.bare(write_prompts(bench.requests(), bench.made), "bare, to warm up")
    bench.ours("ours, to warm up")


def _round(bench: Bench, questions: int) -> tuple[Side, Side, Side]:
    bench.limit = questions
    prompts = write_prompts(bench.requests(), bench.made)
    return bench.bare(prompts), bench.ours(), bench.bare(prompts)


def ratios(rounds: list[tuple[Side, Side, Side]]) -> dict[str, Any]:
    """Ratios of generation and whole process."""
    figures: dict[str, Any] = {}
    for what in BARS:
        pairs = [
            _over(ours, after if place % 2 else before)[what] for place, (before, ours, after) in enumerate(rounds)
        ]
        figures[what] = {"ours / bare": spread(pairs), "bare / bare": spread([_over(c, a)[what] for a, _, c in rounds])}
    return figures


def _over(side: Side, other: Side) -> dict[str, float]:
    return {"generation": side.generation / other.generation, "whole": side.run.seconds / other.run.seconds}


def shown(figures: dict[str, Any]) -> str:
    """Figures as text."""
    lines = [table(figures["runs"]), ""]
    for what, bar in BARS.items():
        if pairs := figures.get("pairs"):
            ours, noise = pairs[what]["ours / bare"], pairs[what]["bare / bare"]
            lines.append(
                f"{what}, {pairs['questions']} questions: ours / bare {ours['median']:.3f}"
                f" ({ours['low']:.3f} to {ours['high']:.3f}; bar {bar});"
                f" bare / bare {noise['median']:.3f} ({noise['low']:.3f} to {noise['high']:.3f})"
            )
        for name, over in figures.get("full", {}).items():
            lines.append(f"{what}, one run of all questions: {name} {over[what]:.3f}")
    return "\n".join([*lines, "", json.dumps({"machine": figures["machine"]}, ensure_ascii=False)])


def build_questions(data: Path, many: int, made: Path) -> Path:
    """A built data set of `many` English text questions."""
    source = made / "source"
    source.mkdir()
    write_questions(source / "en_2601.jsonl", data, many)
    return build(source, made / "built")


def write_questions(file: Path, data: Path, many: int) -> None:
    """English questions of the published sets in `data` (default: the sample); repeated ones get a number in front."""
    stems = list(real_stems(data)) if data.is_dir() else []
    stems = stems or list(_sample())
    random.Random(0).shuffle(stems)
    with file.open("w", encoding="utf-8") as lines:
        for number, row in enumerate(itertools.islice(itertools.cycle(stems), many)):
            again = f"(Question {number}) " if number >= len(stems) else ""
            source = {"id": f"q{number:05d}", "language": "en", "subject": "math", "question_type": "short_answer"}
            options = "".join(f"\n{sign}. {text}" for sign, text in zip("ABCDE", row["options"], strict=False))
            source |= {"question": again + row["question"] + options, "answer": "1"}
            lines.write(json.dumps(source, ensure_ascii=False) + "\n")


def real_stems(data: Path) -> Iterator[Row]:
    """Texts and options of the published English sets."""
    for name in SETS:
        for file in sorted([*(data / name).rglob("*.json"), *(data / name).rglob("*.jsonl")]):
            for row in _rows(file):
                text = next((row[key] for key in _TEXTS if isinstance(row.get(key), str) and row[key].strip()), "")
                text = _NUMBERING.sub("", _LINK.sub("", text))
                texts = [str(row.get("paragraph") or ""), text]
                options = [str(option) for option in row.get("choices") or []]
                with suppress(LookupError, TypeError):
                    options = options or [option[0]["content"] for option in row["answer_option_list"]]
                if len(text) > 30 and len("".join(texts)) < 3_000:
                    yield {"question": " ".join(texts).strip(), "options": options[:5]}


def _rows(file: Path) -> Iterator[Row]:
    with suppress(ValueError):
        lines = file.read_text(encoding="utf-8").splitlines() if file.suffix == ".jsonl" else []
        content = [json.loads(line) for line in lines] if lines else json.loads(file.read_text(encoding="utf-8"))
        if isinstance(content, dict):
            content = content.get("example") or content.get("data") or []
        yield from (row for row in content if isinstance(row, dict))


def _sample() -> Iterator[Row]:
    from livek12.dataset_builders import sample

    for question in sample.load("livek12_en"):
        if not question.images:
            yield {"question": question.question, "options": [option.text for option in question.options]}


if __name__ == "__main__":
    main()
