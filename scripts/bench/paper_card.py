"""Scores readings of exam papers against gold, and writes the card of papers.

Anyone's readings: `python scripts/bench/paper_card.py --papers DIR --predictions DIR` prints the scores by layout.
The card: `python scripts/bench/paper_card.py --work DIR [--tool NAME=PLACE]… [--real DIR] --out DIR` makes the
papers (development seeds, and closed ones that nobody looks at), reads them with each tool, scores them and writes
`extraction-of-papers.md` and `.json` into DIR; what is in the work folder is not made or read again.

Contract: the page says what the JSON holds. Gold and predictions are described in `docs/exam-segmentation.md`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from livek12.scripts.bench.common import markdown_table, page_text, percent, write_json
from livek12.scripts.bench.exam_papers import seeds_of, write
from livek12.scripts.bench.exams.gold import GoldPaper, Prediction, PrintedPaper, matched
from livek12.scripts.bench.exams.layouts import CLOSED, DEVELOPMENT, LAYOUTS
from livek12.scripts.bench.exams.readers import Reader, read_to, readers
from livek12.scripts.bench.exams.scores import FIELDS, PaperTally, score

_BOXES: Final = frozenset({"livek12"})
"""Tools whose readers give boxes."""
MAX_BYTES: Final = 64 << 20
Json = dict[str, Any]
_COLUMNS: Final = {
    "questions": "questions", "found": "found", "similarity": "text", "formulas": "formulas", "options": "options",
    "answer": "keys", "points": "points", "figures": "figures", "iou": "IoU", "extra": "invented",
}  # fmt: skip
_NAMES: Final = {
    "livek12": "livek12", "text layer": "text layer (pypdfium2)", "mineru": "MinerU, tier flash"
}  # fmt: skip
_SILENT: Final = {
    "found": "question lost", "extra": "question invented", "text": "text", "formulas": "formula", "options": "options",
    "answer": "key", "points": "points", "figures": "figures", "hidden": "unseen text read",
}  # fmt: skip


def gold_of(folder: Path) -> list[GoldPaper]:
    """Gold of a folder of papers."""
    files = sorted(folder.glob("*.gold.json"))
    if not files:
        sys.exit(f"{folder}: holds no NAME.gold.json; make papers with scripts/bench/exam_papers.py")
    return [GoldPaper.model_validate_json(file.read_bytes()) for file in files]


def scored(papers: Iterable[GoldPaper], predictions: Path) -> dict[str, PaperTally]:
    """A tally a layout, scans apart; a paper without a prediction counts as empty."""
    tallies: dict[str, PaperTally] = {}
    for gold in papers:
        file = predictions / f"{gold.paper}.json"
        try:
            if file.is_file() and file.stat().st_size > MAX_BYTES:
                raise ValueError(f"more than {MAX_BYTES >> 20} MiB")
            prediction = Prediction.model_validate_json(file.read_bytes()) if file.is_file() else Prediction()
        except ValueError as error:
            sys.exit(f"{file}: is not a prediction ({str(error).splitlines()[0]}); see docs/exam-segmentation.md")
        layout = f"{gold.layout}, scanned" if gold.scanned else gold.layout
        tallies.setdefault(layout, PaperTally()).add(score(gold, prediction))
    return tallies


def summed(tallies: Iterable[PaperTally]) -> PaperTally:
    """All together."""
    total = PaperTally()
    for tally in tallies:
        total.add(tally)
    return total


def figures(tally: PaperTally, boxes: bool = True) -> dict[str, Any]:
    """A tally as JSON."""
    shares = {name: tally.share(name) for name in FIELDS if name not in ("extra", "hidden")}
    return {
        "papers": tally.papers,
        "questions": tally.questions,
        **{name: round(value, 4) for name, value in shares.items() if value is not None},
        **({"similarity": round(tally.similarity / tally.questions, 4)} if tally.of["text"] else {}),
        **({"iou": round(tally.overlap / tally.boxed, 4)} if boxes and tally.boxed else {}),
        "extra": tally.of["extra"],
        "clean": round(tally.clean / max(1, tally.questions), 4),
        "silent": {name: many for name, many in sorted(tally.silent.items()) if many},
        "doubted": {name: many for name, many in sorted(tally.doubted.items()) if many},
    }


def table(tallies: Mapping[str, PaperTally]) -> str:
    """Scores of one tool by layout, in Markdown, with the sum last."""
    rows = [(name, figures(tally)) for name, tally in sorted(tallies.items())]
    return score_table("layout", [*rows, ("all", figures(summed(tallies.values())))])


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--papers", type=Path, help="papers with gold, as scripts/bench/exam_papers.py writes them")
    parser.add_argument("--predictions", type=Path, help="NAME.json for each paper")
    parser.add_argument("--json", type=Path, help="where the scores of --predictions go as JSON too")
    parser.add_argument("--work", type=Path, help="where papers and readings of the card are kept")
    parser.add_argument("--open", type=seeds_of, default=list(DEVELOPMENT), help="development seeds, such as 0-4")
    parser.add_argument("--closed", type=seeds_of, default=list(CLOSED), help="closed seeds")
    parser.add_argument(
        "--scans", default=",".join(LAYOUTS), help="layouts of whose first seeds the scans are read too"
    )
    parser.add_argument(
        "--tool",
        action="append",
        default=[],
        metavar="NAME=PLACE",
        help="markitdown: a Python; mineru: mineru-kit",
    )
    parser.add_argument("--real", type=Path, help="real papers: NAME.pdf, NAME.key.pdf, NAME.printed.json")
    parser.add_argument("--out", type=Path, help="folder of the card")
    options = parser.parse_args()
    if options.papers and options.predictions:
        tallies = scored(gold_of(options.papers), options.predictions)
        print(table(tallies))
        write_json(options.json, {name: figures(tally) for name, tally in sorted(tallies.items())})
    elif options.work and options.out:
        places = dict(pair.split("=", 1) for pair in options.tool)
        card = measured(
            options.work,
            {"open": options.open, "closed": options.closed},
            options.scans.split(","),
            {name: Path(at) for name, at in places.items()},
            options.real,
        )
        options.out.mkdir(parents=True, exist_ok=True)
        write_json(options.out / "extraction-of-papers.json", card)
        (options.out / "extraction-of-papers.md").write_text(page(card), "utf-8")
    else:
        parser.error("give --papers and --predictions, or --work and --out")


def measured(
    work: Path,
    seeds: Mapping[str, Sequence[int]],
    scans: Sequence[str],
    places: Mapping[str, Path],
    real: Path | None,
) -> dict[str, Any]:
    """The card as data."""
    tools = readers(places)
    card: dict[str, Any] = {
        "layouts": {name: layout.about for name, layout in LAYOUTS.items()},
        "seeds": {kind: list(some) for kind, some in seeds.items()},
        "scans": list(scans),
        "tools": {},
    }
    for kind, some in seeds.items():
        folder = work / "papers" / kind
        write(folder, list(LAYOUTS), some, scans=False)
        write(folder, scans, some[:1])
        for tool, reader in tools.items():
            wanted = [gold for gold in gold_of(folder) if _wanted(gold, some, scans, tool)]
            read_to(work / tool / kind, folder, [gold.paper for gold in wanted], reader)
            tallies = scored(wanted, work / tool / kind)
            for scanned in (False, True):
                own = {name: tally for name, tally in tallies.items() if name.endswith(", scanned") is scanned}
                if own:
                    data = {
                        name.removesuffix(", scanned"): figures(tally, tool in _BOXES) for name, tally in own.items()
                    }
                    data["all"] = figures(summed(own.values()), tool in _BOXES)
                    card["tools"].setdefault(tool, {})[f"{kind}, {'scanned' if scanned else 'born-digital'}"] = data
    if real:
        card["real"] = counted(work, real, tools)
    return card


def counted(work: Path, real: Path, tools: Mapping[str, Reader]) -> list[Json]:
    """Real papers: what is printed, and by tool the questions found, and what else was read as one."""
    rows = []
    for file in sorted(real.glob("*.printed.json")):
        name = file.name.removesuffix(".printed.json")
        paper = PrintedPaper.model_validate_json(file.read_bytes())
        row: Json = {"producer": paper.producer, "questions": len(paper.questions), "found": {}, "others": {}}
        for tool, reader in tools.items():
            read_to(work / tool / "real", real, [name], reader)
            read = Prediction.model_validate_json((work / tool / "real" / f"{name}.json").read_bytes())
            row["found"][tool] = matched(paper, read)
            row["others"][tool] = len(read.questions) - row["found"][tool]
        rows.append(row)
    return rows


def _wanted(gold: GoldPaper, seeds: Sequence[int], scans: Sequence[str], tool: str) -> bool:
    if gold.seed not in seeds:
        return False
    return not gold.scanned or (tool == "livek12" and gold.seed == seeds[0] and gold.layout in scans)


def page(card: Json) -> str:
    """The page."""
    seeds = {
        kind: f"seeds {some[0]} to {some[-1]}" if len(some) > 1 else f"seed {some[0]}"
        for kind, some in card["seeds"].items()
    }
    pieces = [
        page_text("extraction-of-papers").format(
            layouts=len(card["layouts"]), real=_real(card.get("real") or []), **seeds
        )
    ]
    pieces.append("## All tools\n")
    for part in ("closed, born-digital", "open, born-digital", "closed, scanned", "open, scanned"):
        rows = [
            (_NAMES.get(tool, tool), scores[part]["all"]) for tool, scores in card["tools"].items() if part in scores
        ]
        if rows:
            pieces.append(f"**{part[0].upper()}{part[1:]}**\n\n{score_table('tool', rows)}\n")
    ours = card["tools"]["livek12"]
    for part, title in (
        ("closed, born-digital", "closed seeds"),
        ("closed, scanned", "closed seeds, scanned (the first seed)"),
    ):
        if part in ours:
            pieces.append(f"## By layout: {title}\n\n{score_table('layout', _layouts(ours[part]))}\n")
    pieces.append("## Silent errors of livek12\n\nClosed seeds. Errors that have a doubt are in brackets.\n")
    pieces.append(_silent(ours))
    pieces.append(
        "## The layouts\n\n" + "\n".join(f"- `{name}`: {about}" for name, about in card["layouts"].items()) + "\n"
    )
    return "\n".join(pieces)


def score_table(head: str, rows: Iterable[tuple[str, Json]]) -> str:
    """Figures as a Markdown table."""
    heads = (head, *_COLUMNS.values(), "silent errors", "clean")
    lines = (
        (
            name,
            *(_cell(key, scores.get(key)) for key in _COLUMNS),
            str(sum(scores["silent"].values())),
            percent(scores["clean"]),
        )
        for name, scores in rows
    )
    return markdown_table(heads, lines)


def _cell(key: str, value: Any) -> str:
    if value is None:
        return "–"
    return (
        str(value)
        if key in ("questions", "extra")
        else f"{value:.2f}"
        if key in ("similarity", "iou")
        else percent(value)
    )


def _layouts(part: Mapping[str, Json]) -> list[tuple[str, Json]]:
    return [(f"`{name}`", scores) for name, scores in part.items() if name != "all"] + [("all", part["all"])]


def _silent(ours: Mapping[str, Mapping[str, Json]]) -> str:
    parts = [part for part in ("closed, born-digital", "closed, scanned") if part in ours]
    sums = [ours[part]["all"] for part in parts]
    rows = [
        (name, *(f"{own['silent'].get(key, 0)} ({own['doubted'].get(key, 0)})" for own in sums))
        for key, name in _SILENT.items()
    ]
    return markdown_table(("what is wrong", *parts), rows) + "\n"


def _real(rows: Sequence[Json]) -> str:
    """A row a producer: questions found, and what else was read as one."""
    if not rows:
        return "Not measured (`--real`)."
    tools = list(rows[0]["found"])
    groups: dict[str, list[Json]] = {}
    for row in rows:
        groups.setdefault(row["producer"], []).append(row)
    lines = []
    for name, own in [*sorted(groups.items()), ("all", rows)]:
        count = sum(row["questions"] for row in own)
        cells = [[sum(row[key][tool] for row in own) for key in ("found", "others")] for tool in tools]
        lines.append((name, str(len(own)), str(count), *(f"{percent(a / count)} ({b})" for a, b in cells)))
    return markdown_table(("producer", "papers", "questions", *(_NAMES.get(tool, tool) for tool in tools)), lines)


if __name__ == "__main__":
    main()
