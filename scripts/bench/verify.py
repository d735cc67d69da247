"""Measures `livek12.Verifier`: equal to one calm process, the longest silence, rows a second by number of workers.

`python scripts/bench/verify.py [--rows 8192] [--workers 1,2,4,8] [--speed-rows 2048] [--json FILE]`. First a training
step, one row in a hundred hostile, from 8 threads: judgements equal to a lone process's, and the longest time without
results. Then rows a second, by clock and processor, on symbolic and ordinary rows with one prompt each (no cache hits),
beside math-verify; all are warm. Rows are drawn from a seed; hostile completions grow without bound, nest without end,
or look like code.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, Final

from livek12 import Judgement, Verifier
from livek12.scripts.bench.common import machine, process_tree, table, write_json
from livek12.scripts.bench.labelled import BenchRow
from livek12.scripts.bench.verifiers import SIDES

Json = dict[str, Any]
THREADS = 8
CHUNK = 32
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Speed:
    """Rows a second by clock and processor; microseconds a row of the caller."""

    side: str
    rows: str
    workers: int
    per_second: float
    per_processor_second: float
    caller_us: float


def calm(rows: Sequence[Json]) -> list[Judgement]:
    """Judgements of one process, row by row."""
    from livek12.evaluation.pairs import reply_to
    from livek12.evaluation.verify import _lines
    from livek12.judges.cascade import default_cascade

    cascade = default_cascade()
    replies = [reply_to(line, None, cascade, False) for line in _lines(rows)]
    judgements = [{name: value for name, value in reply["row"].items() if name != "id"} for reply in replies]
    return [Judgement(**row, extracted=reply["extracted"]) for row, reply in zip(judgements, replies, strict=True)]


def stress(rows: Sequence[Json], workers: int) -> Json:
    """Differences of threads from the calm judgements, and the longest silence."""
    times: list[float] = []
    with Verifier(workers=workers) as verifier, ThreadPoolExecutor(THREADS) as threads:
        said_to = verifier._rules._replies

        def heard(lines: Sequence[bytes], closed: int) -> list[Json]:
            replies = said_to(lines, closed)
            times.append(time.perf_counter())
            return replies

        verifier._rules._replies = heard  # type: ignore[method-assign]
        verifier.verify("(x+1)^2", "x^2+2x+1")  # started
        times[:] = [time.perf_counter()]
        share = -(-len(rows) // THREADS)
        parts = threads.map(verifier.batch, [rows[start : start + share] for start in range(0, len(rows), share)])
        judgements = [judgement for part in parts for judgement in part]
    expected = calm(rows)
    return {
        "rows": len(rows),
        "seconds": times[-1] - times[0],
        "longest silence": max(after - before for before, after in pairwise(times)),
        "different": [
            number for number, pair in enumerate(zip(judgements, expected, strict=True)) if pair[0] != pair[1]
        ],
        "zeros that nobody decided": sum(
            judgement.score == 0 and judgement.decision != "reject" for judgement in judgements
        ),
        "decisions": {
            name: sum(judgement.decision == name for judgement in judgements)
            for name in ("accept", "reject", "undecided")
        },
    }


def processor_seconds() -> tuple[float, float]:
    """Processor seconds of this process and its descendants."""
    ended = sum(os.times()[2:4])
    return time.process_time(), ended + sum(_used(pid) for pid in process_tree(os.getpid()) if pid != os.getpid())


def _used(pid: int) -> float:
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / TICKS
    return 0.0


def timed(side: str, kind: str, workers: int, count: int, work: Callable[[], object]) -> Speed:
    """The speed of work on so many rows."""
    own, others = processor_seconds()
    began = time.perf_counter()
    work()
    seconds = time.perf_counter() - began
    caller, theirs = (after - before for before, after in zip((own, others), processor_seconds(), strict=True))
    return Speed(side, kind, workers, count / seconds, count / (caller + theirs), 1e6 * caller / count)


def ours(kind: str, rows: Sequence[Json], warm: Sequence[Json], workers: int) -> Speed:
    """Our speed in one batch."""
    with Verifier(workers=workers) as verifier:
        ready = threading.Barrier(workers)

        def start(_: int) -> None:
            ready.wait()
            verifier.batch(warm)

        with ThreadPoolExecutor(workers) as threads:
            list(threads.map(start, range(workers)))
        return timed("livek12", kind, workers, len(rows), lambda: verifier.batch(rows))


def theirs(kind: str, rows: Sequence[Json], warm: Sequence[Json], workers: int) -> Speed:
    """The speed of math-verify, in as many processes."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=SIDES["math-verify"].warm) as processes:
        list(processes.map(time.sleep, [1.0] * workers))
        list(processes.map(_by_math_verify, [warm] * workers))
        chunks = [rows[start : start + CHUNK] for start in range(0, len(rows), CHUNK)]
        return timed("math-verify", kind, workers, len(rows), lambda: list(processes.map(_by_math_verify, chunks)))


def _by_math_verify(rows: Sequence[Json]) -> list[bool | None]:
    return [SIDES["math-verify"].decide(_bench_row(row)).said for row in rows]


def _bench_row(row: Json) -> BenchRow:
    golds = row["gold"] if isinstance(row["gold"], list) else [row["gold"]]
    return BenchRow(
        "", "", row.get("question_type", "short_answer"), "en", "", ", ".join(golds), golds, row["response"], True
    )


def speeds(workers: Sequence[int], count: int) -> list[Speed]:
    """Both sides by kind of rows and number of workers."""
    figures = []
    for kind in KINDS:
        rows, warm = step(count, 0.0, 7, (kind,), 1), step(64, 0.0, 8, (kind,), 1)
        for number in workers:
            figures += [ours(kind, rows, warm, number), theirs(kind, rows, warm, number)]
    return figures


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=8192, help="of the step (default 8192)")
    parser.add_argument("--hostile", type=float, default=0.01, help="share of hostile rows (default 0.01)")
    parser.add_argument("--workers", default="1,2,4,8", help="numbers of processes (default 1,2,4,8)")
    parser.add_argument("--speed-rows", type=int, default=2048, help="rows of each timing (default 2048)")
    parser.add_argument("--seed", type=int, default=20261123)
    parser.add_argument("--json", type=Path, help="file for the figures")
    arguments = parser.parse_args()
    workers = [int(number) for number in arguments.workers.split(",")]
    figures: Json = {"machine": machine()}
    figures["step"] = stress(step(arguments.rows, arguments.hostile, arguments.seed), min(2, max(workers)))
    print(json.dumps({**figures["step"], "different": len(figures["step"]["different"])}, indent=1))
    figures["speed"] = [asdict(speed) for speed in speeds(workers, arguments.speed_rows)]
    print(table(figures["speed"]))
    write_json(arguments.json, figures)


COMPLETIONS: Final = 8
"""Of one prompt, as in group-relative training."""
WORDS: Final = (
    "first we write what is given and then we look for what is asked so the next step follows from the last one which "
    "means that both sides have to be equal therefore we take the sum of all terms and check the result once more"
).split()
HOSTILE: Final = (
    "9^{9^{9^{9^9}}}", "99999999!", "{" * 300_000, r"\frac{1}{" * 3000 + "2" + "}" * 3000, "-" * 1900 + "1",
    r"\sqrt[10^9]{5}", "(((x+y)^{99}+z)^{99}+w)^{99}", r"\sin(10^{999})", "+".join(["x"] * 900), "x=" * 500,
    "__import__('os').abort()", r"\newcommand{\x}{\x\x}\x" * 300, "<answer>" * 20_000, "\x00\ud800" * 500,
    r"\lfloor e^{e^{e^9}} \rfloor", r"\begin{pmatrix}" + r"\\".join(["&".join(["x+1"] * 30)] * 30) + r"\end{pmatrix}",
    r"\sum_{n=1}^{\infty}" * 300, "1" * 100_000, r"\int_0^x " * 300 + "x", r"\log_{2^{999}}(3^{999})",
)  # fmt: skip
DEAR: Final = (
    "(x+1)^2+" + "+".join(f"|x^{{{n}}}-y^{{{n}}}|" for n in range(1, 45)),
    "+".join(f"|y^{{{n}}}-x^{{{n}}}|" for n in range(1, 45)) + "+x^2+2x+1",
)
"""A key and an answer that cannot be compared within the limits."""


def _polynomial(draw: Random) -> tuple[Json, str, str]:
    a, b = draw.randint(2, 99), draw.randint(2, 99)
    return {"gold": f"(x+{a})(x-{b})"}, f"x^2+{a - b}x-{a * b}".replace("+-", "-"), f"x^2+{a + b}x-{a * b}"


def _fraction(draw: Random) -> tuple[Json, str, str]:
    a, b = draw.randint(2, 99), draw.randint(2, 99)
    return {"gold": rf"\frac{{x^2-{a * a}}}{{x-{a}}}+{b}"}, f"x+{a + b}", f"x-{a}+{b}"


def _trigonometric(draw: Random) -> tuple[Json, str, str]:
    a = draw.randint(2, 999)
    return {"gold": rf"{a}\sin(2x)"}, rf"{2 * a}\sin x\cos x", rf"{a}\sin x\cos x"


def _root(draw: Random) -> tuple[Json, str, str]:
    a, b = draw.randint(2, 30), draw.choice([2, 3, 5, 7, 11, 13])
    return {"gold": rf"{a}\sqrt{{{b}}}+n"}, rf"n+\sqrt{{{a * a * b}}}", rf"n+\sqrt{{{a * b}}}"


def _interval(draw: Random) -> tuple[Json, str, str]:
    a, b = draw.randint(1, 99), draw.randint(100, 999)
    return {"gold": f"[{a}, {b})"}, rf"{a} \le x < {b}", f"({a}, {b})"


def _number(draw: Random) -> tuple[Json, str, str]:
    a = draw.randint(10, 99_999)
    return {"gold": str(a)}, str(a), str(a + draw.randint(1, 9))


def _unit(draw: Random) -> tuple[Json, str, str]:
    a = draw.randint(2, 999)
    return {"gold": f"{a} km"}, f"{1000 * a} m", f"{100 * a} m"


def _choice(draw: Random) -> tuple[Json, str, str]:
    right, wrong = draw.sample("ABCD", 2)
    options = {label: f"{draw.randint(1, 9999)} m/s" for label in "ABCD"}
    return {"gold": right, "question_type": "single_choice", "options": options}, right, wrong


def _blanks(draw: Random) -> tuple[Json, str, str]:
    a, b = draw.randint(2, 99), draw.randint(100, 999)
    return {"gold": [str(a), str(b)], "question_type": "fill_in_blank"}, f"{a}; {b}", f"{a}; {b + 1}"


def _word(draw: Random) -> tuple[Json, str, str]:
    right, wrong = draw.sample(["heat", "light", "oxygen", "gravity", "friction", "carbon dioxide"], 2)
    return {"gold": right}, right, wrong


KINDS: Final[dict[str, tuple[Callable[[Random], tuple[Json, str, str]], ...]]] = {
    "symbolic": (_polynomial, _fraction, _trigonometric, _root, _interval),
    "ordinary": (_number, _unit, _choice, _blanks, _word),
}


def step(
    count: int,
    hostile: float,
    seed: int,
    kinds: tuple[str, ...] = ("symbolic", "ordinary"),
    completions: int = COMPLETIONS,
) -> list[Json]:
    """`count` rows with a `hostile` share, in groups of `completions`."""
    draw = Random(seed)
    makers = [maker for kind in kinds for maker in KINDS[kind]]
    rows: list[Json] = []
    while len(rows) < count:
        row, right, wrong = makers[len(rows) // completions % len(makers)](draw)
        for _ in range(completions):
            gold, answer = row["gold"], draw.choice([right, wrong])
            if draw.random() < hostile:
                gold, answer = draw.choice([DEAR, *((gold, text) for text in HOSTILE)])
            rows.append({**row, "gold": gold, "response": f"{_thoughts(draw)}\n\nThe answer is \\boxed{{{answer}}}."})
    return rows[:count]


def _thoughts(draw: Random) -> str:
    thoughts = [" ".join(draw.choices(WORDS, k=draw.randint(20, 60))) for _ in range(draw.randint(1, 5))]
    return "\n\n".join(f"{text}, where ${draw.randint(1, 99)}x+{draw.randint(1, 99)}=0$." for text in thoughts)


if __name__ == "__main__":
    main()
