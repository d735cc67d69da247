"""Writes exam papers with gold, by layout and seed.

`python scripts/bench/exam_papers.py OUT [--seeds 0-4] [--layouts NAME,…] [--born-digital]`

Contract: each layout of `exams/layouts.py` (all, or those named) is set once a seed, and once more as a scan. A paper
is `NAME.pdf`, its gold `NAME.gold.json` (`docs/exam-segmentation.md` describes it), and the key, where it is a file of
its own, `NAME.key.pdf`. The same layout and seed give the same paper; one that is there is not made again. Needs
`typst`, `pypdfium2`, numpy, Pillow and the Noto CJK fonts.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from livek12.scripts.bench.exams.gold import GoldPaper
from livek12.scripts.bench.exams.layouts import DEVELOPMENT, LAYOUTS
from livek12.scripts.bench.exams.printing import printed, scanned


def write(folder: Path, layouts: Sequence[str], seeds: Sequence[int], scans: bool = True) -> list[GoldPaper]:
    """Writes papers and gold of layouts and seeds."""
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for name in layouts:
        for seed in seeds:
            wanted = [f"{name}-{seed}", *([f"{name}-{seed}-scan"] if scans else [])]
            files = [folder / f"{paper}.gold.json" for paper in wanted]
            if not all(file.is_file() for file in files):
                pdf, key, gold = printed(LAYOUTS[name], seed)
                _save(folder, pdf, key, gold)
                if scans:
                    picture, turned = scanned(pdf, gold)
                    _save(folder, picture, key, turned)
            made += [GoldPaper.model_validate_json(file.read_bytes()) for file in files]
    return made


def _save(folder: Path, pdf: bytes, key: bytes | None, gold: GoldPaper) -> None:
    (folder / f"{gold.paper}.pdf").write_bytes(pdf)
    if key:
        (folder / f"{gold.paper}.key.pdf").write_bytes(key)
    (folder / f"{gold.paper}.gold.json").write_text(gold.model_dump_json(indent=1) + "\n", "utf-8")


def seeds_of(text: str) -> list[int]:
    """Numbers written as 0-4 or 3,7."""
    first, dash, last = text.partition("-")
    return list(range(int(first), int(last) + 1)) if dash else [int(seed) for seed in text.split(",")]


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seeds", type=seeds_of, default=list(DEVELOPMENT), help="such as 0-4 or 3,7")
    parser.add_argument("--layouts", default=",".join(LAYOUTS), help="names between commas; default: all")
    parser.add_argument("--born-digital", action="store_true", help="without scans")
    options = parser.parse_args()
    layouts = options.layouts.split(",")
    if unknown := [name for name in layouts if name not in LAYOUTS]:
        sys.exit(f"no layout {unknown[0]!r}; there are {', '.join(LAYOUTS)}")
    made = write(options.out, layouts, options.seeds, not options.born_digital)
    print(f"{len(made)} papers, {sum(len(paper.questions) for paper in made)} questions in {options.out}")


if __name__ == "__main__":
    main()
