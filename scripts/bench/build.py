"""Measures `livek12 build` on a large set against pyarrow alone writing the same table.

Without `--data` the sample that ships inside is used. The source is a JSONL file in livek12's upstream keys beside a
folder of pictures: real rows, repeated with changed ids, `--images` pictures spread over `--rows` rows. With
`--distinct` no picture comes twice, so that each is checked.

Medians over `--rounds`, in processes of their own that take turns:

- ours: the whole command `livek12 build`; memory of all its processes, shared pages counted once.
- pyarrow: the same source (JSON lines and picture files) into a table of the same schema, compression, options and row
  groups, without checks. The bars of 1.5 (of 6 by processor time) are on the ratio to this: same input, same output.
- in memory, arrow: the same from Python objects, and from Arrow batches.

It needs about 3 times the bytes of the pictures on the disk of `--work` (20 GB with the defaults), and cleans up.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from livek12.core.lazy import pa, pq
from livek12.core.records import Question
from livek12.scripts.bench.common import timed

ROOT = Path(__file__).resolve().parents[2]
BARS = {
    "ours / pyarrow": 1.5,
    "processor, ours / pyarrow": 6.0,
    "peak memory, GiB": 1.0,
    "time(all) / time(small)": 16.0,
}
SHORT = 600
"""Characters of a short row."""
Row = dict[str, Any]


def main() -> None:
    """Command line."""
    options = _options()
    if options.write_alone:
        source, built = options.write_alone
        print(json.dumps(write_alone(source, built, options.work / "alone")))
        return
    if options.series:
        options.images = max(map(int, options.series.split(","))) // 60  # 3 KB a row, as the next line counts
    if not (60 * options.images * 3 << 10) < (free := shutil.disk_usage(options.work).free):
        raise SystemExit(f"{options.work} has {free >> 30} GiB free: too little; give --work another disk")
    with tempfile.TemporaryDirectory(prefix="bench_build.", dir=options.work) as made:
        if options.series:
            sizes = [int(size) for size in options.series.split(",")]
            print(json.dumps(series(sizes, options.data, Path(made)), indent=1))
            return
        print(json.dumps(measure(options, Path(made)), indent=1))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--rows", type=int, default=141_000)
    parser.add_argument("--images", type=int, default=100_000)
    parser.add_argument("--small", type=int, default=10_000, help="rows of the small set; images in proportion")
    parser.add_argument("--distinct", action="store_true", help="no picture twice: each is a file of its own")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument(
        "--series", default="", help="rows of several sets of short rows without pictures: 14000,141000,1400000"
    )
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--write-alone", type=Path, nargs=2, help=argparse.SUPPRESS)
    return parser.parse_args()


def measure(options: argparse.Namespace, made: Path) -> dict[str, Any]:
    """Times the builds and the plain writes."""
    sets = {"all": options.rows, "small": min(options.small, options.rows)}
    memory = {}
    for name, rows in sets.items():
        memory[name] = make_source(
            made / name, rows, options.images * rows // options.rows, options.data, options.distinct
        )
    seconds: dict[str, list[float]] = {name: [] for name in ("all", "small", "pyarrow", "in memory", "arrow")}
    loads: list[float] = []
    processor: dict[str, list[float]] = {name: [] for name in seconds}
    peaks: list[float] = []
    for _ in range(options.rounds):
        loads.append(round(os.getloadavg()[0], 1))
        for name in sets:
            taken, used, peak = build_once(made / name, made / f"{name}.built")
            seconds[name].append(taken)
            processor[name].append(round(used, 2))
            peaks.append(peak)
        alone = subprocess.run(
            [sys.executable, __file__, "--write-alone", made / "all", made / "all.built", "--work", made],
            check=True,
            capture_output=True,
            text=True,
        )
        for name, (taken, used) in json.loads(alone.stdout).items():
            seconds[name].append(taken)
            processor[name].append(round(used, 2))
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    figures = {
        "ours / pyarrow": medians["all"] / medians["pyarrow"],
        "processor, ours / pyarrow": statistics.median(processor["all"]) / statistics.median(processor["pyarrow"]),
        "peak memory, GiB": max(peaks),
        "time(all) / time(small)": medians["all"] / medians["small"],
    }
    size = sum(file.stat().st_size for file in (made / "all.built").rglob("*.parquet"))
    return {
        "sets": memory,
        "bytes written": size,
        "cores": os.cpu_count(),
        "load before each round": loads,
        "seconds": {name: [round(taken, 2) for taken in times] for name, times in seconds.items()},
        "processor seconds": processor,
        **{f"ours / {name}": round(medians["all"] / medians[name], 2) for name in ("in memory", "arrow")},
        **{name: f"{figure:.2f} (bar {BARS[name]})" for name, figure in figures.items()},
    }


def series(sizes: list[int], data: Path, made: Path) -> dict[str, Any]:
    """Growth of processor seconds and memory with rows without pictures."""
    rows = []
    for size in sizes:
        source = made / str(size)
        make_source(source, size, 0, data, False, longest=SHORT)
        _, processor, peak = build_once(source, made / "built")
        clock = Clock()
        _from_source(source, made / "table.parquet", clock)
        rows.append(
            {"rows": size, "processor seconds": processor, "pyarrow": clock.processor, "peak memory, GiB": peak}
        )
        print(rows[-1], file=sys.stderr, flush=True)
        shutil.rmtree(source)
    first, last = rows[0], rows[-1]
    growth = math.log(last["rows"] / first["rows"])
    exponents = {
        name: round(math.log(last[name] / first[name]) / growth, 2)
        for name in ("processor seconds", "pyarrow", "peak memory, GiB")
    }
    return {"builds": rows, "exponents": exponents if len(rows) > 1 else {}}


def build_once(source: Path, out: Path) -> tuple[float, float, float]:
    """Seconds, processor seconds and peak memory (GiB) of one `livek12 build`."""
    shutil.rmtree(out, ignore_errors=True)
    words = ["build", "livek12", "--source", str(source), "--out", str(out)]
    command = [sys.executable, "-m", "livek12.scripts.cli", *words]
    run = timed(command)
    if run.code:
        raise SystemExit(f"livek12 build ended with exit code {run.code}")
    return run.seconds, run.processor, run.peak


class Clock:
    """Seconds, and processor seconds of this process."""

    def __init__(self) -> None:
        self.seconds = self.processor = 0.0

    def __enter__(self) -> None:
        self.seconds -= time.perf_counter()
        self.processor -= time.process_time()

    def __exit__(self, *_: object) -> None:
        self.seconds += time.perf_counter()
        self.processor += time.process_time()


def write_alone(source: Path, built: Path, out: Path) -> dict[str, tuple[float, float]]:
    """Seconds and processor seconds of pyarrow for each source."""
    out.mkdir()
    clocks = {name: Clock() for name in ("pyarrow", "in memory", "arrow")}
    _from_source(source, out / "table.parquet", clocks["pyarrow"])
    for name in ("in memory", "arrow"):
        (out / "table.parquet").unlink()
        for file in sorted(built.rglob("*.parquet")):
            _rewrite(file, out / "table.parquet", name == "in memory", clocks[name])
    shutil.rmtree(out)
    return {name: (clock.seconds, clock.processor) for name, clock in clocks.items()}


def _from_source(source: Path, table: Path, clock: Clock) -> None:
    from livek12.core.features import schema
    from livek12.dataset_builders.writing.parquet import GROUP_BYTES, GROUP_ROWS, writer_options

    columns = schema(Question)
    with (
        clock,
        (source / "zh_2603.jsonl").open(encoding="utf-8") as lines,
        pq.ParquetWriter(table, columns, **writer_options(columns)) as writer,
    ):
        rows: list[Row] = []
        size = 0
        for line in itertools.chain(lines, [""]):
            if line:
                row = json.loads(line)
                row["images"] = [{"bytes": (source / ref).read_bytes(), "path": ref[7:]} for ref in row["images"]]
                rows.append(row)
                size += len(line) + sum(len(image["bytes"]) for image in row["images"])
            if rows and (not line or size >= GROUP_BYTES or len(rows) >= GROUP_ROWS):
                writer.write_batch(pa.RecordBatch.from_pylist(rows, schema=columns), row_group_size=len(rows))
                rows, size = [], 0


def _rewrite(file: Path, copy: Path, from_rows: bool, clock: Clock) -> None:
    from livek12.dataset_builders.writing.parquet import writer_options

    parquet = pq.ParquetFile(file)
    columns = parquet.schema_arrow
    target = pa.OSFile(str(copy), "wb")
    writer = pq.ParquetWriter(target, columns, **writer_options(columns))
    for number in range(parquet.num_row_groups):
        (batch,) = parquet.read_row_group(number).combine_chunks().to_batches()
        rows = batch.to_pylist() if from_rows else []
        with clock:
            batch = pa.RecordBatch.from_pylist(rows, schema=columns) if from_rows else batch
            writer.write_batch(batch, row_group_size=batch.num_rows)
    with clock:
        writer.close()
        target.close()


def make_source(
    folder: Path, rows: int, images: int, data: Path, distinct: bool, longest: int | None = None
) -> dict[str, int]:
    """A source of `rows` rows with `images` pictures; `longest`: characters of a row without one."""
    folder.mkdir()
    (folder / "images").mkdir()
    plain, pictured = _real_rows(data, folder / "images")
    plain = [row for row in plain if longest is None or len(json.dumps(row, ensure_ascii=False)) <= longest]
    text, figures = itertools.cycle(plain), itertools.cycle(pictured)
    used, names = 0, set[str]()
    with (folder / "zh_2603.jsonl").open("w", encoding="utf-8") as lines:
        for number in range(rows):
            row = next(figures if images and used * rows < images * (number + 1) else text)
            row = {**row, "images": row["images"][: images - used]}
            if distinct:
                row["images"] = [_another(folder, ref, used + place) for place, ref in enumerate(row["images"])]
            used += len(row["images"])
            names.update(row["images"])
            lines.write(json.dumps({"id": f"zh_2603_{number:06d}", **row}, ensure_ascii=False) + "\n")
    return {"rows": rows, "images": used, "distinct pictures": len(names)}


def _another(folder: Path, ref: str, number: int) -> str:
    name = f"images/{number:06d}-{Path(ref).name}"
    (folder / name).write_bytes((folder / ref).read_bytes() + number.to_bytes(4))
    return name


def _real_rows(data: Path, images: Path) -> tuple[list[Row], list[Row]]:
    rows = list(_exam_rows(data, images)) or list(_sample_rows(images))
    return [row for row in rows if not row["images"]], [row for row in rows if row["images"]]


def _exam_rows(data: Path, images: Path) -> Iterator[Row]:
    for file in sorted([*data.glob("gaokao_mm/Data/*.json"), *data.glob("gaokao_bench/Data/*/*.json")]):
        for entry in json.loads(file.read_text(encoding="utf-8"))["example"]:
            if "](http" in json.dumps(entry):  # a picture that is not here: the row would be left out
                continue
            pictures = [file.parent / Path(name).parent.name / Path(name).name for name in entry.get("picture") or []]
            for picture in pictures:
                shutil.copyfile(picture, images / picture.name)
            yield {
                "subject": file.stem.split("_")[1],
                "question_type": "选择题" if "MCQs" in file.stem else "解答题",
                "point_value": entry["score"],
                "question": entry["question"],
                "answer": entry["answer"],
                "solution": entry["analysis"],
                "images": [f"images/{picture.name}" for picture in pictures],
                "year": int(entry["year"]),
            }


def _sample_rows(images: Path) -> Iterator[Row]:
    from livek12.dataset_builders import sample

    for question in (question for group in ("livek12_zh", "livek12_en") for question in sample.load(group)):
        for image in question.images:
            (images / str(image.path)).write_bytes(image.bytes or b"")
        options = "".join(f"\n{option.label}. {option.text}" for option in question.options)
        yield {
            "subject": question.subject,
            "question_type": question.question_type,
            "point_value": question.points,
            "question": question.question + options,
            "answer": question.answer,
            "solution": question.solution,
            "images": [f"images/{image.path}" for image in question.images],
        }


if __name__ == "__main__":
    main()
