"""Counts what a prefix cache spares the diagnostics of CFE-Bench: prompt tokens computed over prompt tokens asked.

A question is asked under five conditions, unit by unit, and all of its prompts begin alike (tasks/cfe/diagnostics.py).
How much of that is computed once depends on the order in which vLLM meets them and on which replica does. The
questions are real (`--data`, CFE_text.json), the model is a tiny one with random weights whose tokenizer is learned
from them, the KV cache is so small (`--kv-tokens`) that order matters, and vLLM's schedulers count in every process
(counting.py); no figure is a time. Sides:

- `by-task`: vLLM's `LLM.chat`, one condition after the other, as a script with a loop over tasks asks.
- `ours`: `livek12 generate --task cfe_text:all`.
- `replicas`: the same with `replicas=N`, each with a KV cache of that size.

Figures: `computed`, that share (lower is better), and how many requests each process did.

Run it with the Python that livek12 is installed in: `python scripts/bench/prefixes.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from livek12.scripts.bench.common import machine, table
from livek12.scripts.bench.counting import counted, counting_in
from livek12.scripts.bench.generation import ROOT
from livek12.scripts.bench.sides import Side, build, make_bench, parse, write_prompts

TASK = "cfe_text:all"
BLOCK = 32
"""Tokens of a block of the KV cache: the fewest that vLLM's CPU build is quick with; a GPU has 16."""
SIDES = ("by-task", "ours", "replicas")
Row = dict[str, Any]


def main() -> None:
    """Prints the sides side by side."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--questions", type=int, default=8, help="that are asked about")
    parser.add_argument("--trials", type=int, default=1)
    parser.add_argument("--replicas", type=int, default=2)
    parser.add_argument("--kv-tokens", type=int, default=8192, help="tokens that each KV cache holds")
    parser.add_argument("--sides", nargs="+", choices=SIDES, default=SIDES)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data" / "cfe_bench")
    options = parse(parser, "a tiny one with random weights", max_tokens=2)
    if not options.data.is_dir():
        parser.error(f"--data {options.data}: no such folder; it holds CFE_text.json")
    with tempfile.TemporaryDirectory(prefix="bench_prefixes.", dir=options.work) as made:
        figures = measure(options, Path(made))
    print(table(figures["sides"]), json.dumps({"machine": figures["machine"]}, ensure_ascii=False), sep="\n\n")
    if options.json:
        options.json.write_text(json.dumps(figures, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def measure(options: argparse.Namespace, made: Path) -> dict[str, Any]:
    """Runs all sides; see the module."""
    small = {"block_size": BLOCK, "num_gpu_blocks_override": options.kv_tokens // BLOCK, "max_num_seqs": 16}
    options.engine_args = ",".join([*(f"{name}={value}" for name, value in small.items()), options.engine_args])
    data = build(options.data, made / "built", "cfe")
    bench = make_bench(options, made, data, TASK, "tiny-wordy", options.questions)
    bench.trials = options.trials
    folder = made / "counts"
    os.environ |= counting_in(folder)
    asked = bench.requests()
    prompts = write_prompts(sorted(asked, key=lambda request: request.key.task), made)
    ways: dict[str, Callable[[str], Side]] = {
        "by-task": lambda name: bench.bare(prompts, name),
        "ours": bench.ours,
        "replicas": lambda name: bench.ours(name, replicas=options.replicas),
    }
    rows = []
    for name in options.sides:
        ways[name](name)
        rows.append(row(name, counted(folder)))
    return {
        "machine": machine(),
        **bench.told(),
        "asked": {"requests": len(asked), "questions": options.questions, "tokens of the KV cache": options.kv_tokens},
        "sides": rows,
    }


def row(name: str, counts: Sequence[dict[str, int]]) -> Row:
    """A side's counts, over all processes of it."""
    asked, computed = (sum(one[what] for one in counts) for what in ("prompt tokens", "prompt tokens computed"))
    return {
        "side": name,
        "requests": sum(one["requests"] for one in counts),
        "by replica": " + ".join(str(one["requests"]) for one in counts),
        "prompt tokens": asked,
        "computed tokens": computed,
        "computed": computed / asked,
    }


if __name__ == "__main__":
    main()
