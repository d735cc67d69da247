"""Coverage-guided fuzzing of readers of foreign text, by atheris (`pip install atheris`).

`python tests/bench/fuzz.py READER CORPUS [libFuzzer's flags, such as -max_total_time=600 -timeout=10]`. A reader may
refuse a text by its own error; any other exception, and a text that takes longer, ends the run and is stored. Each
becomes a row of tests/bench/test_fuzz.py.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from livek12.core.errors import UserError
from livek12.core.records import Option, Question


def latex(data: bytes) -> None:
    """Formulas of answers."""
    from livek12.judges.rules.latex import parse
    from livek12.judges.rules.tokens import Unparsable

    with contextlib.suppress(Unparsable):
        parse(_text(data))


@cache
def _questions() -> list[Question]:
    common: dict[str, Any] = {
        "id": "q",
        "benchmark": "livek12",
        "language": "en",
        "subject": "math",
        "question": "Which?",
    }
    options = [Option(label=label, text=f"option {label}") for label in "ABCD"]
    return [
        Question(**common, question_type="single_choice", options=options, answer=["B"]),
        Question(**common, question_type="fill_in_blank", answer=["1/2", "x^2"]),
    ]


def claims(data: bytes) -> None:
    """Answers in responses."""
    from livek12.tasks.extraction import extract

    for question in _questions():
        extract(_text(data), question, None)


def markup(data: bytes) -> None:
    """Text of pages."""
    from livek12.report.markup import render, render_answer

    render(_text(data))
    render_answer(_text(data))


def rows(data: bytes) -> None:
    """Rows to judge, and replies of models."""
    from livek12.core.replies import parse_object
    from livek12.evaluation.pairs import BadPair, read_pair

    for read in (lambda: read_pair(data, None), lambda: parse_object(_text(data))):
        with contextlib.suppress(BadPair, ValueError):
            read()


SUFFIXES = (".jsonl", ".json", ".eval", ".parquet", ".tsv", ".xlsx")


def logs(data: bytes) -> None:
    """Logs of other harnesses; the first byte chooses which, the second one the name of the file."""
    from livek12.evaluation.logs import READERS, entries

    names, (source, suffix) = sorted(READERS), data[:2].ljust(2, b"\0")
    with _stored(data[2:], SUFFIXES[suffix % len(SUFFIXES)]) as file:
        for _ in entries(names[source % len(names)], file):
            pass


def packed(data: bytes) -> None:
    """Packed runs, by their lines and by their columns."""
    from livek12.core.packed import PackedLines

    with _stored(data, ".parquet", "verdicts") as file:
        read = PackedLines(file, light=True)
        for lines in (read.named(), read.keys(), read):
            for _ in lines:
                pass


def table(data: bytes) -> None:
    """Questions of a data set: a Parquet file, or rows in JSON that become one."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from livek12.core.questions import read_records

    with _stored(data, ".parquet") as file:
        if not data.startswith(b"PAR1"):
            try:
                pq.write_table(pa.Table.from_pylist(json.loads(data)), file)
            except (ValueError, TypeError, AttributeError, OverflowError, RecursionError, pa.ArrowException):
                return
        for _ in read_records(Question, file):
            pass


@contextlib.contextmanager
def _stored(data: bytes, suffix: str, stem: str = "details_a") -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(UserError):
        file = Path(folder, stem + suffix)
        file.write_bytes(data)
        yield file


READERS: dict[str, Callable[[bytes], None]] = {
    reader.__name__: reader for reader in (latex, claims, markup, rows, logs, packed, table)
}


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def main() -> None:
    """Runs until the time is over or a text breaks a reader."""
    import atheris

    with atheris.instrument_imports(include=["livek12"]):
        for seed in range(len(SUFFIXES)) if sys.argv[1] == "logs" else b"1":
            READERS[sys.argv[1]](bytes([seed, seed]) + b"{}")  # imports what it needs
    atheris.Setup([sys.argv[0], *sys.argv[2:]], READERS[sys.argv[1]])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
