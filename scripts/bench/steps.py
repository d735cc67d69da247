"""Counts the steps of vLLM's scheduler, `livek12 generate` beside the bare engine: generation without a clock.

A step of the engine computes at most `max_num_batched_tokens` tokens of at most `max_num_seqs` sequences. How many
steps a run takes, how full each of them is and which places in them stay empty while questions wait does not depend on
how fast or busy the machine is. Both sides run in processes of their own, with the same model, engine arguments,
prompts and sampling (sides.py). The model is a tiny one with random weights, for steps depend on the lengths of
prompts and answers alone, and its tokenizer is learned from the questions. The bare side is vLLM's `LLM.chat`, once,
with all prompts. For each number of `--questions`:

- `steps`, and `ours / bare`: the bound is 1.
- `tokens/step`, `sequences/step`: how full a step is.
- `idle`: places of sequences that stayed empty, over all steps, while as many questions had not begun and the step had
  tokens to spare. 0 is ideal.
- `before first step`: prompts that were rendered before vLLM did anything; the first results wait for them.

Run it with the Python that livek12 is installed in: `python scripts/bench/steps.py --questions 150 --max-tokens 32`.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from livek12.scripts.bench.common import machine, table
from livek12.scripts.bench.generation import ROOT, build_questions
from livek12.scripts.bench.sides import Side, make_bench, parse, write_prompts

Row = dict[str, Any]


def main() -> None:
    """Prints both sides for each number of questions."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--questions", type=int, nargs="+", default=[150])
    parser.add_argument("--built", type=Path, help="a built data set; default: one made of --data")
    parser.add_argument("--task", default="livek12_text_only_en")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    options = parse(parser, "a tiny one with random weights", max_tokens=32)
    with tempfile.TemporaryDirectory(prefix="bench_steps.", dir=options.work) as made:
        figures = measure(options, Path(made))
    print(table(figures["runs"]), json.dumps({"machine": figures["machine"]}, ensure_ascii=False), sep="\n\n")
    if options.json:
        options.json.write_text(json.dumps(figures, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def measure(options: argparse.Namespace, made: Path) -> dict[str, Any]:
    """Runs both sides for each number of questions."""
    data = options.built or build_questions(options.data, max(options.questions), made)
    bench = make_bench(options, made, data, options.task, "tiny-wordy")
    bench.counting = True
    rows: list[Row] = []
    for limit in options.questions:
        bench.limit = limit
        bare = bench.bare(write_prompts(bench.requests(), made))
        rows += [counted(side, bare) for side in (bare, bench.ours())]
    return {"machine": machine(), **bench.told(), "runs": rows}


def counted(side: Side, bare: Side) -> Row:
    """What a side's steps come to."""
    steps = len(side.steps)
    sequences, tokens = (sum(step[place] for step in side.steps) for place in (0, 1))
    return {
        "run": side.name,
        "answers": len(side.answers),
        "steps": steps,
        "ours / bare": steps / len(bare.steps),
        "tokens/step": tokens / steps,
        "sequences/step": sequences / steps,
        "idle": idle(side),
        "before first step": side.counts["in hand at the first step"],
        "slots": side.counts["slots"],
        "tokens of a step": side.counts["tokens of a step"],
        f"same as {bare.name}": sum(
            answer["text"] == bare.answers.get(id, {}).get("text") for id, answer in side.answers.items()
        ),
    }


def idle(side: Side) -> int:
    """Places that stayed empty in steps with tokens to spare, while as many questions had not begun."""
    slots, budget = side.counts["slots"], side.counts["tokens of a step"]
    waiting, places = len(side.answers), 0
    for sequences, tokens, began in side.steps:
        waiting -= began
        if tokens < budget:
            places += max(0, min(slots - sequences, waiting))
    return places


if __name__ == "__main__":
    main()
