"""Measures `livek12 dedup` on many stems: time, memory, and recall and precision on planted near-duplicates.

The stems are real ones of `--data` (the published sets there, Chinese, English and Korean), near-duplicates among them
taken out, varied by rules until there are `--stems`: all numbers replaced; names and words swapped for others of the
set as well, in a fifth or in half of the text; options drawn anew. So no two of them are duplicates by the definition,
though most share their template with a hundred others. One in `--plant` gets a near-duplicate of a stated kind: noise
as of OCR in 1, 2, 4 or 8 characters of 100 (numbers spared), another number or tag of the source in front, LaTeX or
Unicode typesetting, full-width punctuation, options in another order, another word, an end that breaks off.

Measured, in processes of their own: the whole command on all stems and on `--small`, its memory being that of all its
processes; and the bound: one process that reads the same rows, normalises each text once and hashes it once. Beside
them `datasketch` (MinHashLSH, the same number of permutations, the same shingles) where it is installed, on `--beside`
stems.

A planted pair is found where the file of pairs has it, as duplicate or as variant. Precision is the share of pairs
called duplicates that were planted. Run it with the Python that livek12 is installed in.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from livek12.scripts.bench.common import timed

if TYPE_CHECKING:
    from livek12.dataset_builders.duplicates import Stem

ROOT = Path(__file__).resolve().parents[2]
BARS = {"time(all) / time(small)": 12.0, "peak memory, GiB": 4.0}
LANGUAGES = {
    "gaokao_bench": "zh",
    "gaokao_bench_updates": "zh",
    "gaokao_mm": "zh",
    "tal_scq5k_zh": "zh",
    "scibench": "en",
    "hipho": "en",
    "cfe_bench": "en",
    "click_korean": "ko",
}
KINDS = (
    *("noise 1%", "noise 2%", "noise 4%", "noise 8%", "numbering", "tag", "typesetting", "punctuation"),
    *("options", "word", "truncated"),
)
_LINK = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_NUMBERING = re.compile(r"^\s*(?:\d{1,3}\s*[.．、)）]\s*|[(（][^)）]{0,40}[)）]\s*)+")
"""What counts for nothing: with another number there the question is the same."""
_MARK = re.compile(r"(?<!\d)[,.:;()?!](?!\d)")
_PIECE = re.compile(r"\d+|[A-Za-z]+|[가-힣]+|[一-鿿]{1,2}|\s+|.", re.DOTALL)
_TEXTS = ("question", "problem_text", "problem", "context")
Row = dict[str, Any]


def main() -> None:
    """Prints what was measured, as JSON."""
    options = _options()
    if options.bound:
        bound(options.bound)
        return
    if options.datasketch:
        print(json.dumps(datasketch(options.datasketch)))
        return
    with tempfile.TemporaryDirectory(prefix="bench_dedup.", dir=options.work) as made:
        print(json.dumps(measure(options, Path(made)), indent=1, ensure_ascii=False))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--stems", type=int, default=1_000_000)
    parser.add_argument("--small", type=int, default=100_000)
    parser.add_argument("--beside", type=int, default=20_000)
    parser.add_argument("--plant", type=int, default=20)
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--bound", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--datasketch", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def measure(options: argparse.Namespace, made: Path) -> dict[str, Any]:
    """Makes the stems and times everything; see the module."""
    originals = distinct(list(real_stems(options.data)))
    found: dict[str, Any] = {"real stems": Counter(row["language"] for row in originals), "cores": os.cpu_count()}
    for name, count in (("beside", options.beside), ("small", options.small), ("all", options.stems)):
        folder = made / name
        folder.mkdir()
        planted = write_stems(folder / "rows.jsonl", originals, count, options.plant)
        load = os.getloadavg()[0]
        run, bounded = dedup(folder), measured([sys.executable, __file__, "--bound", folder / "rows.jsonl"])
        found[name] = {
            "stems": count,
            "load before, after": [round(load, 1), round(os.getloadavg()[0], 1)],
            **run,
            "bound": bounded,
            "times the bound": round(run["seconds"] / bounded["seconds"], 2),
            "processor times the bound": round(run["processor"] / bounded["processor"], 2),
            **score(folder / "pairs.jsonl", planted),
        }
        print(json.dumps({name: found[name]}, ensure_ascii=False), file=sys.stderr, flush=True)
        if name == "beside":
            found[name]["datasketch"] = beside(folder / "rows.jsonl", planted)
    small, whole = found["small"], found["all"]
    ratio = whole["seconds"] / small["seconds"]
    found["time(all) / time(small)"] = f"{ratio:.2f} (bar {BARS['time(all) / time(small)']})"
    found["processor(all) / processor(small)"] = round(whole["processor"] / small["processor"], 2)
    found["peak memory, GiB"] = f"{whole['peak memory, GiB']} (bar {BARS['peak memory, GiB']})"
    return found


def dedup(folder: Path) -> dict[str, Any]:
    """Times `livek12 dedup` on the rows of a folder."""
    words = ["dedup", str(folder / "rows.jsonl"), "--out", str(folder / "pairs.jsonl"), "--no-pictures", "--json"]
    command = [sys.executable, "-m", "livek12.scripts.cli", *words]
    run = measured(command, folder / "said.json")
    said = json.loads((folder / "said.json").read_text())
    return {**run, **{name: said[name] for name in ("compared", "duplicates", "variants")}, "left out": said["lines"]}


def measured(command: list[Any], out: Path | None = None) -> dict[str, float]:
    """Seconds, processor seconds and peak memory (GiB) of a command and all processes that it starts."""
    run = timed(command, out=out, errors=Path(os.devnull))
    if run.code not in (0, 1):  # 1: rows were left out, which count as not found
        raise SystemExit(f"{command} ended with exit code {run.code}")
    return {
        "seconds": round(run.seconds, 1),
        "processor": round(run.processor, 1),
        "peak memory, GiB": round(run.peak, 2),
    }


def real_stems(data: Path) -> Iterator[Row]:
    """Texts and options of the published sets."""
    for name, language in LANGUAGES.items():
        for file in sorted([*(data / name).rglob("*.json"), *(data / name).rglob("*.jsonl")]):
            for row in _rows(file):
                text = next((row[key] for key in _TEXTS if isinstance(row.get(key), str) and row[key].strip()), "")
                text = _NUMBERING.sub("", _LINK.sub("", text))
                texts = [str(row.get("paragraph") or ""), text]
                options = [str(option) for option in row.get("choices") or []]
                with suppress(LookupError, TypeError):
                    options = options or [option[0]["content"] for option in row["answer_option_list"]]
                if len(text) > 30 and len("".join(texts)) < 3_000:
                    yield {"language": language, "question": " ".join(texts).strip(), "options": options[:5]}


def _rows(file: Path) -> Iterator[Row]:
    with suppress(ValueError):
        lines = file.read_text(encoding="utf-8").splitlines() if file.suffix == ".jsonl" else []
        found = [json.loads(line) for line in lines] if lines else json.loads(file.read_text(encoding="utf-8"))
        if isinstance(found, dict):
            found = found.get("example") or found.get("data") or []
        yield from (row for row in found if isinstance(row, dict))


def distinct(rows: list[Row]) -> list[Row]:
    """The rows of which none is near another."""
    from livek12.dataset_builders.duplicates import Library, find_pairs

    again = set[int]()
    for with_options in (True, False):
        library = Library()
        library.add_stems([_stem({**row, "id": str(n)}, with_options) for n, row in enumerate(rows)])
        again |= {other for _, other, _, _ in find_pairs(library)}
    return [row for number, row in enumerate(rows) if number not in again]


def _stem(row: Row, with_options: bool = True) -> Stem:
    from livek12.core.records import Option
    from livek12.dataset_builders.duplicates import stem_of

    texts = [option if isinstance(option, str) else option["text"] for option in row["options"] if with_options]
    options = [Option(label=label, text=text) for label, text in zip("ABCDE", texts, strict=False)]
    return stem_of(row["id"], "livek12", row["language"], None, row["question"], options, [], [])


def write_stems(file: Path, originals: list[Row], count: int, every: int) -> dict[frozenset[str], tuple[str, str]]:
    """Writes rows, with planted near-duplicates; the kind and language of each planted pair."""
    draw = random.Random(count)
    words = {
        language: [word for row in originals if row["language"] == language for word in _pieces(row["question"])[:40]]
        for language in set(LANGUAGES.values())
    }
    planted: dict[frozenset[str], tuple[str, str]] = {}
    waiting: list[tuple[int, str]] = []
    with file.open("w", encoding="utf-8") as out:
        number = 0
        while number < count:
            original = originals[number % len(originals)]
            row = varied(original, words[original["language"]], draw) if number >= len(originals) else dict(original)
            out.write(_line(f"q{number}", row))
            number += 1
            if number % every == 0 and number < count:
                kind = KINDS[len(planted) % len(KINDS)]
                if kind == "options" and len(row["options"]) < 3:
                    kind = "numbering"
                again = planted_copy(row, kind, words[row["language"]], draw)
                planted[frozenset((f"q{number - 1}", f"p{number}"))] = kind, row["language"]
                waiting.append((number, _line(f"p{number}", again)))
                number += 1
            if len(waiting) > 500:  # a copy stands some way behind
                out.write(waiting.pop(draw.randrange(len(waiting)))[1])
        out.writelines(line for _, line in waiting)
    return planted


def _line(id: str, row: Row) -> str:
    listed = [{"label": "ABCDE"[n], "text": text} for n, text in enumerate(row["options"])]
    said = {"id": id, "set": f"{row['language']}_2601", "language": row["language"], "subject": "math"}
    kind = "single_choice" if listed else "short_answer"
    said |= {"question_type": kind, "question": row["question"], "options": listed}
    return json.dumps(said, ensure_ascii=False) + "\n"


def _pieces(text: str) -> list[str]:
    """Words; of a text without spaces, pieces of two characters; numbers and signs by themselves."""
    return _PIECE.findall(text)


def varied(row: Row, words: list[str], draw: random.Random) -> Row:
    """Another question of the same template: other numbers, and in two of three other words in a fifth or in half."""
    share = draw.choice((0.0, 0.2, 0.5))
    pieces = _pieces(row["question"])
    changed = False
    for place, piece in enumerate(pieces):
        if piece.isdigit():
            pieces[place], changed = str(draw.randrange(2, 10**6)), True
        elif share and piece.isalpha() and draw.random() < share:
            pieces[place] = draw.choice(words)
    text = "".join(pieces)
    if not changed:
        text += {"zh": "(取{})", "en": " (take {})", "ko": " (단, {})"}[row["language"]].format(draw.randrange(10**6))
    options = draw.sample(row["options"], len(row["options"]))
    return {**row, "question": text, "options": options}


def planted_copy(row: Row, kind: str, words: list[str], draw: random.Random) -> Row:
    """The same question as another source would have it."""
    text, options = row["question"], list(row["options"])
    match kind.split():
        case ["noise", share]:
            rate = int(share[:-1]) / 100
            text = "".join(_misread(c, rate, draw) for c in text)
            options = ["".join(_misread(c, rate, draw) for c in option) for option in options]
        case ["numbering"]:
            text = f"{draw.randrange(1, 40)}. {text}"
        case ["tag"]:
            text = {"zh": "（2024·全国卷）", "en": "[5 points] ", "ko": "[3점] "}[row["language"]] + text
        case ["typesetting"]:
            text = text.replace("$", "").replace(" ", "  ").replace("-", "−").replace("(", "\\left(")
        case ["punctuation"]:
            text = _MARK.sub(lambda mark: "，．：；（）？！"[",.:;()?!".index(mark[0])], text)
        case ["options"]:
            options = options[::-1]
        case ["word"]:
            pieces = _pieces(text)
            places = [n for n, piece in enumerate(pieces) if piece.isalpha() and len(piece) > 1]
            if places:
                pieces[draw.choice(places)] = draw.choice(words)
            text = "".join(pieces)
        case ["truncated"]:
            cut = int(len(text) * 0.93)
            while cut > 1 and (text[cut - 1].isdigit() or (cut < len(text) and text[cut].isdigit())):
                cut -= 1
            text = text[:cut]
    return {**row, "question": text, "options": options}


def _misread(character: str, rate: float, draw: random.Random) -> str:
    if not character.isalpha() or draw.random() >= rate:
        return character
    other = chr(ord(character) + draw.choice((-3, -1, 1, 2)))
    return draw.choice(("", other if other.isalpha() else "", character * 2))


def score(file: Path, planted: dict[frozenset[str], tuple[str, str]]) -> dict[str, Any]:
    """Recall by kind and language, and precision."""
    total, as_duplicate, as_any = Counter(planted.values()), Counter[Any](), Counter[Any]()
    called = 0
    wrong: list[Any] = []
    for row in map(json.loads, file.open(encoding="utf-8")):
        which = planted.get(frozenset((row["id"], row["other"])))
        duplicate = row["kind"] == "duplicate"
        called += duplicate
        if which:
            as_any[which] += 1
            as_duplicate[which] += duplicate
        elif duplicate:
            wrong.append([row["similarity"], row["text"][:60], row["other_text"][:60]])
    table = {}
    for kind in KINDS:
        for language in ("zh", "en", "ko"):
            if many := total[kind, language]:
                shares = [round(counter[kind, language] / many, 4) for counter in (as_duplicate, as_any)]
                table[f"{kind}, {language}"] = {"planted": many, "as duplicate": shares[0], "found": shares[1]}
    every = sum(total.values())
    return {
        "planted": every,
        "recall as duplicate": round(sum(as_duplicate.values()) / every, 4),
        "recall as duplicate or variant": round(sum(as_any.values()) / every, 4),
        "precision": round(1 - len(wrong) / max(1, called), 4),
        "called duplicates, not planted": len(wrong),
        "some of them": wrong[:3],
        "by kind": table,
    }


def bound(file: Path) -> None:
    """Reads the rows, normalises each text once and hashes it once."""
    from livek12.dataset_builders.duplicates.library import hash_of

    with file.open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            hash_of(_stem(row).text)


def beside(file: Path, planted: dict[frozenset[str], tuple[str, str]]) -> dict[str, Any]:
    """What `datasketch` does on the same rows; says so where it is not installed."""
    try:
        importlib.import_module("datasketch")
    except ImportError:
        return {"not installed": True}
    said = file.parent / "beside.json"
    run = measured([sys.executable, __file__, "--datasketch", file], said)
    found = {frozenset(pair) for pair in json.loads(said.read_text())}
    return {**run, "candidates": len(found), "recall": round(len(found & planted.keys()) / len(planted), 4)}


def datasketch(file: Path) -> list[list[str]]:
    """Candidate pairs of MinHashLSH over the same normalised texts and shingles."""
    from datasketch import MinHash, MinHashLSH

    from livek12.dataset_builders.duplicates.library import BANDS, ROWS, SHINGLE

    index = MinHashLSH(num_perm=BANDS * ROWS, params=(BANDS, ROWS))
    pairs = []
    with file.open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            own = _stem(row)
            size, text = SHINGLE[own.language], own.masked
            signature = MinHash(num_perm=BANDS * ROWS)
            signature.update_batch([text[n : n + size].encode() for n in range(max(1, len(text) - size + 1))])
            pairs += [[own.id, other] for other in index.query(signature)]
            index.insert(own.id, signature)
    return pairs


if __name__ == "__main__":
    main()
