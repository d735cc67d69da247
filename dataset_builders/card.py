"""Writes the card of a data set: README.md with the YAML that `datasets` and the Hub read.

Contract: every number in a card is counted from the rows written; configs, splits and files are those that exist.
The templates lie in `hub_cards`, one a data set.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from livek12.core.features import columns
from livek12.core.questions import CARD
from livek12.core.records import Page, Question, Record
from livek12.dataset_builders.columns import MEANINGS
from livek12.dataset_builders.layouts import PAGES
from livek12.dataset_builders.parquet import Counts

MARK = "Built with `livek12 build`"
"""Stands in every card, and tells a build which folders it may replace."""
HUB_LICENCES = {
    "CC BY 4.0": "cc-by-4.0",
    "CC BY-NC 4.0": "cc-by-nc-4.0",
    "CC BY-NC-SA 4.0": "cc-by-nc-sa-4.0",
    "CC BY-SA 4.0": "cc-by-sa-4.0",
    "CC0 1.0": "cc0-1.0",
    "Apache-2.0": "apache-2.0",
    "MIT": "mit",
}
"""The Hub's identifiers of the licences that sources state."""
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


@dataclass
class Statistics:
    """What a data set holds, counted while it is written."""

    questions: int = 0
    images: int = 0
    pages: int = 0
    points: float = 0.0
    benchmarks: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)
    licences: Counter[str | None] = field(default_factory=Counter)
    question_types: Counter[str] = field(default_factory=Counter)
    subjects: Counter[str] = field(default_factory=Counter)

    def add(self, record: Question | Page) -> None:
        """Counts one record."""
        if isinstance(record, Page):
            self.pages += 1
            return
        self.questions += 1
        self.images += len(record.images)
        self.points += record.points or 0.0
        self.benchmarks[record.benchmark] += 1
        self.languages[record.language] += 1
        self.licences[record.source.licence] += 1
        self.question_types[record.question_type] += 1
        self.subjects[record.subject or "not stated"] += 1


def write_card(
    folder: Path, template: str, configs: Mapping[str, tuple[str, ...]], tables: Counts, statistics: Statistics
) -> None:
    """Writes `folder/README.md`.

    Args:
        folder: the data set, its tables written.
        template: name of the template in `hub_cards`, without suffix.
        configs: the tables of each config, the default config first.
        tables: rows of each table by split.
        statistics: what the data set holds.
    """
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("livek12.hub_cards", "."),
        autoescape=False,  # Markdown; values from rows go through `cell`
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["cell"] = _cell
    text = environment.get_template(f"{template}.md.jinja").render(
        configs=_configs(configs, tables),
        default=next(iter(configs)),
        pages=PAGES if PAGES in configs else None,
        statistics=statistics,
        languages=sorted(statistics.languages),
        licence=_licence(statistics.licences),
        size=next((name for bound, name in _SIZES if statistics.questions < bound), "1M<n<10M"),
        question_columns=describe(Question),
        page_columns=describe(Page),
        mark=MARK,
    )
    (folder / CARD).write_text(text, encoding="utf-8")


def describe(record: type[Record]) -> list[dict[str, str]]:
    """Name, type and meaning of every column of a record class."""
    return [
        {"name": name, "type": _type(feature), "meaning": MEANINGS[record][name]}
        for name, feature in columns(record).items()
    ]


def _type(feature: Mapping[str, Any]) -> str:
    match feature.get("_type"):
        case "Value":
            return str(feature["dtype"])
        case "Image":
            return "image"
        case "List":
            return f"list of {_type(feature['feature'])}"
        case _:
            return "{" + ", ".join(feature) + "}"


def _configs(configs: Mapping[str, tuple[str, ...]], tables: Counts) -> list[dict[str, Any]]:
    described = []
    for name, parts in configs.items():
        splits: dict[str, dict[str, Any]] = {}
        for table in parts:
            for split, rows in tables[table].items():
                entry = splits.setdefault(split, {"rows": 0, "paths": []})
                entry["rows"] += rows
                entry["paths"].append(f"{table}/{split}-*.parquet")
        ordered = dict(sorted(splits.items()))
        described.append({"name": name, "splits": ordered, "rows": sum(s["rows"] for s in ordered.values())})
    return described


def _licence(licences: Mapping[str | None, int]) -> str:
    """The Hub's identifier where all rows state one and the same known licence."""
    (only, *others) = licences
    return HUB_LICENCES.get(only or "", "other") if not others else "other"


def _cell(value: object) -> str:
    """A value as text of a Markdown table: nothing in it can end the cell or mark up the page."""
    text = " ".join(str(value).split())
    return "".join(f"\\{character}" if character in "\\|<>*_`[]#" else character for character in text)
