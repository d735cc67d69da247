"""Metadata of a dataset: README.md, `statistics.json` and `croissant.json`.

Contract: every number is counted from the rows; the same rows give the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from livek12.core.errors import UserError
from livek12.core.exams import EXAMS, exam_lines, read_built
from livek12.core.features import SPLIT, FlatRow, columns
from livek12.core.key_versions import KEYS_FILE, read_keys
from livek12.core.questions import CARD
from livek12.core.records import Page, Question, Record
from livek12.core.rights import FORBIDDEN, REVIEWED, is_stated, licence_refusal
from livek12.core.tables import csv_rows
from livek12.core.visible import visible
from livek12.dataset_builders.base import IMAGE_ONLY
from livek12.dataset_builders.reading.built import tables_of
from livek12.dataset_builders.reading.publishers import PUBLISHERS
from livek12.dataset_builders.registry import CARD as TEMPLATE
from livek12.dataset_builders.registry import CITATION, names_of, text_of
from livek12.dataset_builders.writing.croissant import meanings, render_croissant, words_of
from livek12.dataset_builders.writing.listings import MEMBERS, MENDED, read_mended, read_published
from livek12.dataset_builders.writing.parquet import flat_rows
from livek12.dataset_builders.writing.statistics import FILE as STATISTICS
from livek12.dataset_builders.writing.statistics import (
    NOT_STATED,
    differences,
    read_statistics,
    recount,
    write_statistics,
)
from livek12.dataset_builders.writing.withheld import FILE as HELD
from livek12.dataset_builders.writing.withheld import read_withheld

MARK = "Built with `livek12 build`"
"""In every card; a build may replace only folders with it."""
CROISSANT = "croissant.json"
WITHDRAWN = "withdrawn.csv"
WITHDRAWN_COLUMNS = ("id", "removed_in", "reason")
"""Reasons of withdrawals: columns id, removed_in, reason."""
VARIANTS = "variants.jsonl"
"""The values `livek12 vary` drew for each question, and their outcome."""
METADATA = (CARD, STATISTICS, CROISSANT, WITHDRAWN, HELD, MEMBERS, MENDED, VARIANTS, EXAMS, KEYS_FILE)
"""Every file of a dataset that is no table."""
CARD_FILES = (CARD, STATISTICS, CROISSANT)
"""Files generated from the others."""
CANARY = "Benchmark questions, not for training. Canary GUID livek12:96b945c0-14b5-464b-9b67-6e213cdda2b5"
"""The same in all releases, so that one search finds every copy."""
HUB_LICENCES = frozenset(
    {"apache-2.0", "mit", "cc0-1.0", "cc-by-4.0", "cc-by-sa-4.0", "cc-by-nc-4.0", "cc-by-nc-sa-4.0", "cc-by-nc-nd-4.0"}
)
"""The Hub's identifiers of the licences that sources state."""
MOST = 60
"""Rows of one table of counts in a card; the rest is summed up."""
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


def write_metadata(folder: Path, summary: Mapping[str, Any], configs: Mapping[str, tuple[str, ...]]) -> None:
    """Writes the card, `statistics.json` and `croissant.json` of a dataset with written tables."""
    described = describe_configs(folder, summary, configs)
    write_statistics(folder, summary)
    for name, text in _rendered(folder, summary, described).items():
        (folder / name).write_text(text, encoding="utf-8")


def _rendered(folder: Path, summary: Mapping[str, Any], described: list[dict[str, Any]]) -> dict[str, str]:
    cite = "\n".join(cited(summary["all"]["by"]))
    whole = [*described, *_describe_flat(folder)]
    return {
        CROISSANT: render_croissant(summary, whole, CANARY, cite, read_published(folder)),
        CARD: render_card(folder, summary, described),
    }


def rewrite_metadata(folder: Path) -> None:
    """Recounts a dataset after changes and rewrites its metadata; configs without files are removed."""
    summary, configs = _counted(folder)
    write_metadata(folder, summary, configs)


def describe_again(folder: Path) -> None:
    """Rewrites card and `croissant.json` of a dataset whose `statistics.json` is valid."""
    configs, _ = tables_of(folder, missing_ok=True)
    write_metadata(folder, read_statistics(folder), configs)


def metadata_problems(folder: Path) -> list[str]:
    """Disagreements of the metadata with the tables, one line each."""
    try:
        summary, configs = _counted(folder)
        problems = list(differences(read_statistics(folder), summary))
    except UserError as error:
        return [str(error)]
    described = describe_configs(folder, summary, configs)
    for name, text in _rendered(folder, summary, described).items():
        file = folder / name
        if not file.is_file():
            problems.append(f"{name}: not there; build the data set again")
        elif file.read_text(encoding="utf-8", errors="replace") != text:
            problems.append(f"{name}: edited by hand, or of another version of livek12; build the data set again")
    return problems


def _counted(folder: Path) -> tuple[dict[str, Any], dict[str, tuple[str, ...]]]:
    name = str(read_statistics(folder).get("data_set"))
    configs, _ = tables_of(folder, missing_ok=True)
    return recount(folder, name), configs


def describe_configs(
    folder: Path, summary: Mapping[str, Any], configs: Mapping[str, tuple[str, ...]]
) -> list[dict[str, Any]]:
    """Configs with splits, rows and file patterns."""
    described = []
    for name, tables in configs.items():
        counted = summary["configs"][name]
        splits = [
            {
                "name": split,
                "rows": rows,
                "paths": [f"{table}/{split}-*.parquet" for table in tables if any((folder / table).glob(f"{split}-*"))],
            }
            for split, rows in counted["splits"].items()
        ]
        described.append(
            {
                "name": name,
                "variable": "questions" if name == "default" else name,
                "splits": splits,
                "rows": sum(counted["splits"].values()),
                "licences": counted.get("by", {}).get("licence", {}),
                "numbers": counted.get("numbers", {}),
            }
        )
    return described


def _describe_flat(folder: Path) -> list[dict[str, Any]]:
    return [
        {"name": name, "rows": rows, "splits": [{"name": SPLIT, "rows": rows, "paths": [f"{name}/{SPLIT}-*.parquet"]}]}
        for name, rows in flat_rows(folder).items()
    ]


def render_card(folder: Path, summary: Mapping[str, Any], configs: list[dict[str, Any]]) -> str:
    """Renders README.md."""
    everything = summary["all"]
    try:
        template = _templates().get_template(f"{summary['data_set']}.md.jinja")
    except jinja2.TemplateNotFound:
        raise UserError(
            f"{folder}: no card template {summary['data_set']!r}; build the data set again, or name the benchmark of"
            " that name with --include"
        ) from None
    return template.render(
        summary,
        configs=configs,
        flat=_describe_flat(folder),
        published=read_published(folder),
        image_only=any(config["name"] == IMAGE_ONLY for config in configs),
        figures=int(everything["numbers"].get("image_bytes", {}).get("n", 0)),
        licence=_licence(everything["by"]["licence"]),
        kept_back=kept_back(everything),
        size=next((name for bound, name in _SIZES if everything["questions"] < bound), "1M<n<10M"),
        axes=list(_axes(everything["by"])),
        numbers=[
            (label, everything["numbers"][name])
            for name, label in words_of("numbers").items()
            if name in everything["numbers"]
        ],
        sites=_most(everything["by"]["site"]) if set(everything["by"]["site"]) - {NOT_STATED} else [],
        attribution=_most(everything["by"]["attribution"]),
        releases=[{**release, "name": _release(release, everything)} for release in summary["releases"]],
        withdrawn=read_withdrawn(folder),
        errata=read_keys(folder).errata(),
        held=read_withheld(folder),
        question_columns=_describe(Question, everything["by"]["benchmark"]),
        page_columns=_describe(Page),
        flat_columns=_describe(FlatRow),
        citations=cited(everything["by"]),
        mended=read_mended(folder),
        exams=[list(exam_lines(exam)) for exam in read_built(folder / EXAMS)],
        names=names_of(summary["data_set"], {config["name"]: config["rows"] for config in configs}),
        canary=CANARY,
        mark=MARK,
    )


@cache
def _templates() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader("livek12.hub_cards", "."), jinja2.FunctionLoader(_own)]),
        autoescape=False,  # Markdown; values from rows go through `cell`
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(cell=_cell, number=_number, bytes=lambda value: f"{value / (1 << 20):.1f} MiB")
    return environment


def _own(template: str) -> str | None:
    return text_of(template.removesuffix(".md.jinja"), TEMPLATE)


def citations(benchmarks: Iterable[str]) -> list[str]:
    """BibTeX of the benchmarks' articles."""
    return [text.strip() for benchmark in benchmarks if (text := text_of(benchmark, CITATION))]


def cited(by: Mapping[str, Mapping[str, int]]) -> list[str]:
    """BibTeX of the publishers, if known, then of the benchmarks."""
    names = {name.rpartition(": ")[0] for name in by["attribution"]}
    others = [publisher.citation for name, publisher in PUBLISHERS.items() if name in names]
    return [*others, *citations(by["benchmark"])]


def _describe(record: type[Record], benchmarks: Iterable[str] = ()) -> list[dict[str, str]]:
    explained = meanings(record, benchmarks)
    return [
        {"name": name, "type": _type(feature), "meaning": explained[name]} for name, feature in columns(record).items()
    ]


def read_withdrawn(folder: Path) -> list[dict[str, str]]:
    """Rows of `withdrawn.csv`; none without the file."""
    if not (folder / WITHDRAWN).is_file():
        return []
    rows = csv_rows((folder / WITHDRAWN).read_text("utf-8"))
    return [{name: row.get(name, "") for name in WITHDRAWN_COLUMNS} for row in rows]


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


def _axes(by: Mapping[str, Mapping[str, int]]) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    for axis, label in words_of("axes").items():
        if set(by[axis]) - {NOT_STATED, "none"}:
            yield label, _most(by[axis], by_count=axis not in ("release", "year"))


def _most(counts: Mapping[str, int], *, by_count: bool = True) -> list[tuple[str, int]]:
    ordered = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]) if by_count else (0, entry[0]))
    rest = ordered[MOST:]
    return ordered[:MOST] + ([(f"{len(rest)} others", sum(count for _, count in rest))] if rest else [])


def _release(release: Mapping[str, Any], everything: Mapping[str, Any]) -> str:
    several = len(everything["by"]["benchmark"]) > 1
    return f"{release['benchmark']} {release['release']}" if several else str(release["release"])


def kept_back(everything: Mapping[str, Any]) -> list[str]:
    """Rows that a publish would withhold, by the statistics: a sentence each on licences and reviews."""
    total = everything["questions"]
    unstated = sum(count for name, count in everything["by"]["licence"].items() if not is_stated(name))
    unseen = total - sum(everything["by"]["review"].get(state, 0) for state in REVIEWED)
    sentences = [
        f"{unstated} of {total} questions state no licence: `livek12 publish` withholds them unless a rights file names"
        " a permission"
    ] * bool(unstated)
    forbidden = sum(count for name, count in everything["by"]["licence"].items() if licence_refusal(name) == FORBIDDEN)
    sentences += [
        f"{forbidden} of {total} questions state a licence that forbids to pass them on: `livek12 publish` withholds"
        " them unless a rights file names a permission"
    ] * bool(forbidden)
    return sentences + [f"{unseen} of {total} questions are not reviewed: `livek12 publish` withholds them"] * bool(
        unseen
    )


def _licence(counts: Mapping[str, int]) -> dict[str, Any]:
    """The Hub's identifier if all rows state the same known licence; else "other", with the names."""
    names = sorted(counts, key=lambda name: (-counts[name], name))
    slugs = [_slug(name) for name in names]
    stated = [name for name in names if name != NOT_STATED]
    if len(slugs) == 1 and slugs[0] in HUB_LICENCES:
        return {"id": slugs[0], "name": "", "stated": stated}
    return {"id": "other", "name": "-and-".join(slugs) if len(slugs) < 5 else "mixed", "stated": stated}


def _slug(name: str) -> str:
    return "-".join("".join(c if c.isascii() and (c.isalnum() or c == ".") else " " for c in name.lower()).split())[:60]


def _cell(value: object) -> str:
    text = visible(" ".join(str(value).split()))
    return "".join(f"\\{character}" if character in "\\|<>*_`[]#" else character for character in text)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}".rstrip("0").rstrip(".")
