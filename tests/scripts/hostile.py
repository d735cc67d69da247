"""Hostile data sets, cards, tables, pictures, names, prompts, benchmarks, archives, PDFs; and what reads them.

    python -m tests.scripts.hostile FOLDER [KIND …]

Contract: a command ends within its limits of time and memory, in at most one line of error and no traceback, and
changes nothing outside its folder. Prints a line of JSON a trial that does not, and the number of trials.
"""

from __future__ import annotations

import importlib
import io
import json
import os
import resource
import shutil
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.dataset_builders.ingest.pdf_making import plain_pdf, raw_pdf, stream
from tests.scripts.faults import forked

MEMORY = 6 << 30
"""Address space of a command, with what the libraries reserve."""
HELLO = b"BT /F1 12 Tf 72 700 Td (1. Which of these is prime?) Tj ET"
ESCAPES = "a\n\x1b[2J\x1b]0;x\x07\u202eb"
CARD = "---\nconfigs:\n- config_name: text_only\n  data_files:\n  - split: en\n    path: {}\n---\n"
LAUGHS = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{new}: &{new} [{','.join([f'*{old}'] * 9)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
CARDS = {
    "laughs": f"---\n{LAUGHS}configs: *i\n---\n",
    "deep": "---\nconfigs: " + "[" * 20_000 + "\n---\n",
    "python": '---\nconfigs: !!python/object/apply:os.system ["touch OUTSIDE/owned"]\n---\n',
    "above": CARD.format("../../outside/*.parquet"),
    "absolute": CARD.format("/etc/passwd"),
    "all": CARD.format("/**"),
    "escapes": CARD.format(json.dumps(ESCAPES)),
    "numbers": "---\nconfigs: 1e999999\n---\n",
    "bytes": "\x00\xff" * 1000,
    "long": "---\nconfigs: " + "x" * 5_000_000,
}


def table(**columns: Any) -> bytes:
    """A Parquet file with these columns."""
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file, compression="zstd")
    return file.getvalue()


def _nested(depth: int) -> pa.Array:
    kind = pa.int8()
    for _ in range(depth):
        kind = pa.list_(kind)
    return pa.nulls(1, kind)


def png(width: int, height: int, rows: int = 0) -> bytes:
    """A picture that says that it is so large."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    body = zlib.compress(bytes((width // 8 + 1) * rows), 9)
    head = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


IMAGES: dict[str, Callable[[], bytes]] = {
    "bomb": lambda: png(60_000, 60_000, 60_000),
    "billions": lambda: png(1 << 31 - 1, 1 << 31 - 1),
    "cut": lambda: png(100, 100)[:40],
    "svg": lambda: b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>',
    "html": lambda: b"<!DOCTYPE html><script>alert(1)</script>",
    "gif": lambda: b"GIF89a\xff\xff\xff\xff\x80\x00\x00" + b"\x2c" * 1000,
}
TABLES: dict[str, Callable[[], bytes]] = {
    "no columns": table,
    "other types": lambda: table(id=[1, 2], question=[[1], [2]], answer=[{"a": 1}, None]),
    "many columns": lambda: table(**{f"c{n}": [n] for n in range(5000)}),
    "deep": lambda: table(id=_nested(60)),
    "bomb": lambda: table(id=["x"], question=["0" * 200_000_000]),
    "rows": lambda: table(id=pa.array(["x"] * 50_000), question=pa.array([""] * 50_000)),
    "escapes": lambda: table(id=[ESCAPES], question=[ESCAPES], benchmark=["../x"]),
    "cut": lambda: table(id=["x"])[:-9],
    "garbage": lambda: b"PAR1" + os.urandom(500) + struct.pack("<I", 0x7FFFFFFF) + b"PAR1",
    "text": lambda: b"id,question\n1,2\n",
    "names": lambda: changed(b"question", b"quest\xff\xffn"),
    "no UTF-8": lambda: changed(b"What?", b"W\xff\xffat"),
    "floats": lambda: changed(b"\x15\x0c", b"\x15\x08"),
    "counts": lambda: changed(b"\x16\x06", b"\x16\x77"),
}


def changed(of: bytes, to: bytes) -> bytes:
    """A table whose bytes lie: pyarrow ends the process over some of them."""
    file = io.BytesIO()
    columns = {"id": ["a", "b", "c"], "question": ["What?"] * 3, "points": [1.5, 2.5, 3.5]}
    pq.write_table(pa.table(columns), file, use_dictionary=False, compression="none", store_schema=False)
    return file.getvalue().replace(of, to)


ROWS = {
    "deep": "[" * 100_000,
    "wide": json.dumps({"id": "a", **{f"k{n}": n for n in range(50_000)}}),
    "number": '{"id": ' + "9" * 100_000 + "}",
    "surrogate": '{"id": "\\ud800", "question": "\\udfff", "answer": ["\\ud800"]}',
    "path": json.dumps({"id": "../../x", "set": "../..", "question": "<image>", "images": ["/etc/passwd"]}),
    "types": json.dumps({"id": [], "question": {}, "answer": 1e308, "options": "x", "images": {"bytes": 1}}),
    "line": json.dumps({"id": "a", "question": "(" * 3_000_000}),
    "bytes": "\x00\x01\x02",
}
PDFS: dict[str, Callable[[], bytes]] = {
    "loop": lambda: raw_pdf([b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[2 0 R]/Count 9>>"]),
    "huge page": lambda: plain_pdf(1, HELLO, box=b"0 0 2e9 2e9"),
    "jbig2": lambda: _with_picture(b"/JBIG2Decode", b"\x00" * 50),
    "picture": lambda: _with_picture(b"/FlateDecode", zlib.compress(bytes(50_000_000), 9)),
    "embedded": lambda: plain_pdf(
        1, HELLO, catalogue=b"/Names<</EmbeddedFiles<</Names[(../../x)<</EF<</F 1 0 R>>>>]>>>>"
    ),
    "link": lambda: plain_pdf(1, HELLO, catalogue=b"/OpenAction<</S/Launch/F(/bin/sh)>>"),
    "cut": lambda: plain_pdf(1, HELLO)[:-50],
}


def _with_picture(filter: bytes, data: bytes) -> bytes:
    picture = stream(
        data,
        b"/Type/XObject/Subtype/Image/Width 20000/Height 20000/BitsPerComponent 8/ColorSpace/DeviceGray/Filter"
        + filter,
    )
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</XObject<</I 4 0 R>>>>/Contents 5 0 R>>"
    return raw_pdf(
        [
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
            page,
            picture,
            stream(b"600 0 0 800 0 0 cm /I Do", b""),
        ]
    )


def archive(kind: str) -> bytes:
    """A ZIP as Inspect's logs are."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as out:
        if kind == "slip":
            out.writestr("../../outside/owned", "x")
            out.writestr("header.json", "{}")
        elif kind == "bomb":
            out.writestr("header.json", "0" * 300_000_000)
        elif kind == "link":
            link = zipfile.ZipInfo("header.json")
            link.external_attr = 0o120777 << 16
            out.writestr(link, "/etc/passwd")
        elif kind == "deep":
            out.writestr("header.json", "[" * 200_000)
        else:
            out.writestr("samples/" + "x" * 60_000 + ".json", "{}")
    return file.getvalue()


Corpus = Iterator[tuple[str, list[list[object]]]]


def _set(place: Path, name: str, card: str, content: bytes, file: str = "text_only/en.parquet") -> Path:
    folder = place / name
    (folder / file).parent.mkdir(parents=True)
    (folder / file).write_bytes(content)
    (folder / "README.md").write_bytes(card.replace("OUTSIDE", str(place / "outside")).encode("utf-8", "replace"))
    return folder


def _reading(folder: Path, run: Path) -> list[list[object]]:
    """Commands that read a data set."""
    return [
        ["validate", folder],
        ["tasks", "--data", folder, "--all"],
        ["dedup", folder, "--out", folder.parent / "pairs.csv"],
        ["subsets", "propose", "complex_layout", "--data", folder, "--out", folder.parent / "sheet.csv"],
        ["judge", run, "--again", "--answers", folder],
        ["report", run, "--data", folder],
    ]


def sets(place: Path, run: Path) -> Corpus:
    """Data sets: cards, tables, pictures, names."""
    plain = table(id=["a"], question=["What?"])
    every = [(f"card {name}", _set(place, f"c{n}", card, plain)) for n, (name, card) in enumerate(CARDS.items())]
    one = CARD.format("text_only/*.parquet")
    every += [(f"table {name}", _set(place, f"t{n}", one, make())) for n, (name, make) in enumerate(TABLES.items())]
    for n, (name, make) in enumerate(IMAGES.items()):
        content = table(
            id=["a"], benchmark=["livek12"], question=["<image>"], images=[[{"bytes": make(), "path": "../a"}]]
        )
        every.append((f"picture {name}", _set(place, f"p{n}", one, content)))
    for n, name in enumerate((ESCAPES, "-rf", "x" * 240, "\udcff", " ", "~", "%00")):
        every.append((f"name {n}", _set(place, f"n{n}", CARD.format("text_only/*"), plain, f"text_only/{name}")))
    link = _set(place, "link", one, plain)
    (link / "text_only" / "b.parquet").symlink_to("/etc/passwd")
    for name, folder in [*every, ("a link", link)]:
        yield name, _reading(folder, run)


def texts(place: Path, run: Path) -> Corpus:
    """Rows, logs, prompt files and models' facts."""
    for n, (name, text) in enumerate(ROWS.items()):
        file = place / f"r{n}.jsonl"
        file.write_text(text + "\n", encoding="utf-8", errors="surrogatepass")
        sources = ("lm-eval", "lmms-eval", "inspect", "lighteval", "vlmevalkit", "evalscope", "jsonl")
        yield (
            f"rows {name}",
            [
                ["build", "livek12", "--source", file, "--out", place / f"b{n}"],
                ["judge-pairs", file, place / f"j{n}.jsonl"],
                [
                    "import-responses",
                    file,
                    "--from",
                    "jsonl",
                    "--task",
                    "livek12_text_only_en",
                    "--out",
                    place / f"i{n}",
                ],
                ["site", run, "--models", file, "--out", place / f"s{n}"],
                ["compare", run, file],
                ["sweep", file],
                ["judge", run, "--judge", "m@openai:base_url=http://127.0.0.1:9/v1", "--judge-prompt", file, "--again"],
                *[["rejudge", file, "--from", source, "--out", place / f"o{n}{source}"] for source in sources],
            ],
        )


def archives(place: Path, run: Path) -> Corpus:
    """Logs that are ZIPs."""
    for kind in ("slip", "bomb", "link", "deep", "name"):
        file = place / f"{kind}.eval"
        file.write_bytes(archive(kind))
        yield (
            f"archive {kind}",
            [
                ["rejudge", file, "--from", "inspect", "--out", place / f"z{kind}"],
                ["build", "livek12", "--source", file, "--out", place / f"y{kind}"],
                ["ingest", file, "--out", place / f"x{kind}"],
            ],
        )


def tables(place: Path, run: Path) -> Corpus:
    """Parquet files to build from, and logs that are such."""
    for n, (name, make) in enumerate(TABLES.items()):
        file = place / f"details_{n}.parquet"
        file.write_bytes(make())
        yield (
            f"table {name}",
            [
                ["build", "livek12", "--source", file, "--out", place / f"b{n}"],
                ["rejudge", file, "--from", "lighteval", "--out", place / f"l{n}"],
                ["judge-pairs", file, place / f"j{n}.jsonl"],
                ["check", _packed(place / f"k{n}", run, file)],
                ["report", place / f"k{n}"],
            ],
        )


def _packed(place: Path, run: Path, file: Path) -> Path:
    """A run whose packed verdicts are this file."""
    shutil.copytree(run, place)
    shutil.copy(file, place / "verdicts.parquet")
    return place


def benchmarks(place: Path, run: Path) -> Corpus:
    """Folders for `--include`, whose code people choose to run: it may fail, and not take the command along."""
    codes = {"syntax": "def (", "raises": "raise ValueError('x\\n' * 99)", "exits": "import os\nos.no", "empty": ""}
    for name, code in codes.items():
        (place / name).mkdir()
        (place / name / "tasks.py").write_text(code)
        yield f"benchmark {name}", [["tasks", "--include", place / name], ["run", "--include", place / name]]
    (place / ESCAPES).mkdir()
    (place / ESCAPES / "tasks.py").write_text("")
    yield "benchmark's name", [["tasks", "--include", place / ESCAPES]]


def papers(place: Path, run: Path) -> Corpus:
    """PDFs, one by one and together."""
    (place / "pdfs").mkdir()
    for name, make in PDFS.items():
        file = place / "pdfs" / f"{name}.pdf"
        file.write_bytes(make())
        yield f"pdf {name}", [["ingest", file, "--how", "text", "--out", place / f"e {name}"]]


@cache
def warm() -> None:
    """Imports what the commands use, once for all forks."""
    for name in ("evaluation.rejudging", "evaluation.site", "evaluation.pair_file", "evaluation.marking"):
        importlib.import_module(f"livek12.{name}")
    for name in ("dataset_builders.ingest", "dataset_builders.duplicates.search"):
        importlib.import_module(f"livek12.{name}")
    for name in ("sympy", "datasets", "fsspec", "pypdfium2"):
        importlib.import_module(name)


KINDS = {
    "sets": sets,
    "texts": texts,
    "tables": tables,
    "archives": archives,
    "benchmarks": benchmarks,
    "papers": papers,
}


def attacks(room: Path, kinds: list[str], most: int = 0) -> Iterator[tuple[str, list[object], str]]:
    """Each trial with what is wrong with it, or ""; at most so many of a kind."""
    from tests.evaluation.test_site import asked, simple

    outside = room / "outside"
    outside.mkdir(parents=True)
    (outside / "key").write_text("secret")
    if not most:
        warm()
    run = simple(room / "run", "run", [True, False], [asked(n) for n in range(1, 3)])
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for kind in kinds:
        place = room / kind
        place.mkdir()
        trials = [(name, words) for name, every in KINDS[kind](place, run) for words in every]
        for name, words in trials[:: max(1, len(trials) // most) if most else 1]:
            yield name, words, _wrong(words, room, outside)


def _wrong(words: list[object], room: Path, outside: Path) -> str:
    copy = room / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(room / "run", copy)
    ended = forked([copy if word == room / "run" else word for word in words], room)
    errors = [line for line in ended.err.splitlines() if line.startswith("error:")]
    signs = [sign for sign in ended.err if sign < " " and sign not in "\n\t"]
    if ended.crash or ended.code is None:
        return f"no end in a line: {ended.crash}"
    if ended.code not in (0, 1, 2) or len(errors) > 1 or signs:
        return f"code {ended.code}, {len(errors)} errors, signs {signs[:3]}: {ended.err[-300:]}"
    if sorted(file.name for file in outside.iterdir()) != ["key"] or "root:x" in ended.err:
        return "reached what is outside"
    return ""


def main() -> None:
    """Tries the named kinds, or all."""
    kinds = [word for word in sys.argv[2:] if not word.isdecimal()] or list(KINDS)
    most = next((int(word) for word in sys.argv[2:] if word.isdecimal()), 0)
    count = 0
    for name, words, problem in attacks(Path(sys.argv[1]).resolve(), kinds, most):
        count += 1
        if problem:
            print(json.dumps({"input": name, "command": " ".join(map(str, words[:2])), "problem": problem}), flush=True)
    print(count)


if __name__ == "__main__":
    main()
