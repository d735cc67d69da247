"""Builds a site from run folders; rebuilds only what changed.

`data/made.json` holds hashes of all inputs; where they are equal and all files exist, nothing else is read.
`table.json` has a row for each run, task and profile with each metric as [low, high, ends of the 95 % interval, ± over
trials], `cost.json` tokens and costs, `questions.parquet` a row a question. Hidden questions are in none of them.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, TypeAdapter, ValidationError

from livek12.core.errors import UserError, explain_errors, why
from livek12.core.files import LEASES, check_names, make_subfolder, write_atomically
from livek12.core.hub import endpoint, reason
from livek12.core.lazy import pa, pq, yaml
from livek12.core.prices import Amount, Prices
from livek12.core.progress import Progress, warn
from livek12.core.questions import load_pages, paper_order
from livek12.core.records import Image, Question
from livek12.core.run.access import Fence, only_writer
from livek12.core.run.folder import RunFolder, with_pictures
from livek12.core.run.spec import RunSpec, shown_model
from livek12.core.run_answers import read_exam
from livek12.core.scoring.estimates import IMAGE_ONLY
from livek12.core.text import one_line
from livek12.core.version import __version__
from livek12.core.visible import visible
from livek12.evaluation.site.ranking import axes, items, method, place, places, scores
from livek12.evaluation.site.reading import (
    AXES,
    Hidden,
    Refuses,
    answers_of,
    fingerprint,
    held_back_in,
    keys_from_elsewhere,
    read_run,
)
from livek12.evaluation.studies.contamination import period
from livek12.evaluation.studies.items import same_by_rules
from livek12.evaluation.task_data import reload_task_data
from livek12.report.paper import anchor_of
from livek12.report.site.files import SitePictures, SiteStore, digest_of, is_half_made
from livek12.report.site.pages import Places, page_places, question_fragments, write_front
from livek12.tasks.registry import PREFIX


def _front_of(
    record: Mapping[str, Any], model: KnownModel | None, placed: Mapping[str, Any], slug: str
) -> dict[str, Any]:
    tasks = {}
    for task, marks in record["tasks"].items():
        counts = marks["counts"]
        undecided = counts["ungraded"] + counts["failed"] + counts["unsupported"]
        own = {
            what: {metric: runs[slug] for metric, runs in by_metric.items() if slug in runs}
            for what, by_metric in placed[task].items()
        }
        tasks[task] = {
            "metrics": {name: profile["metrics"] for name, profile in marks["profiles"].items()},
            "counts": counts,
            "undecided": undecided / counts["answers"],
            "tokens": marks["tokens"],
            "untold": marks["untold"],
            "cost": record["facts"].get("cost", cost_of(model, marks["tokens"])),
            **own,
            **({"limit": limit} if (limit := record["facts"]["limits"].get(task)) else {}),
        }
    facts = {name: value for name, value in record["facts"].items() if name not in ("limits", "cost")}
    has_cost = "cost" in record["facts"] or (model is not None and model.prices is not None)
    about = {**_facts_of(model), "currency": (model or KnownModel()).currency if has_cost else None}
    budgets = {"budgets": record["budgets"]} if record["budgets"] else {}
    exams = {"exams": record["exams"]} if record["exams"] else {}
    return {"name": visible(record["name"]), **facts, "known": about, "tasks": tasks, **budgets, **exams}


def write_tables(store: SiteStore, front: Mapping[str, Any], exams: Exams, statistics: Mapping[str, Any]) -> None:
    """Writes the three tables."""
    rows, costs = [], []
    for slug, run in front.items():
        about = {"run": slug, "model": run["model"], "date": run["date"], "released": run["known"]["released"]}
        regraded = {"regraded": run["regraded"]} if "regraded" in run else {}
        for task, marks in run["tasks"].items():
            shares = {"undecided": marks["undecided"], "counts": marks["counts"]}
            shares |= {what: marks[what] for what in ("ranks", "tied", "stability")}
            rows += [
                {
                    **about,
                    "task": task,
                    "profile": profile,
                    "metrics": metrics,
                    **shares,
                    "judged_by": run["judged"],
                    **regraded,
                }
                for profile, metrics in marks["metrics"].items()
            ]
            spent = {"tokens": marks["tokens"], "untold": marks["untold"], "cost": marks["cost"]}
            costs.append({**about, "task": task, **spent, "currency": run["known"]["currency"]})
        costs.append({**about, "task": None, "judges": run["judges"]})
    for name, value in (("table.json", rows), ("cost.json", costs)):
        store.file(name, (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode("utf-8", "replace"))
    store.file("questions.parquet", _parquet(exams, statistics))


def _parquet(exams: Exams, statistics: Mapping[str, Any]) -> bytes:
    texts = ("task", "anchor", "benchmark", "release", "language", "subject", "question_type", "difficulty", "hidden")
    shown = ("question_id", "paper", "number", "question", "key", "agreed")
    counts, numbers = ("runs", "answers", "right", "open"), ("points", "discrimination", "chance_key_is_wrong")
    fields = [pa.field(name, pa.string()) for name in (*texts, *shown)]
    fields += [pa.field(name, pa.int64()) for name in counts] + [pa.field(name, pa.float64()) for name in numbers]
    rows, off = [], exams.off()
    for task in sorted(exams.tasks):
        for anchor, question in exams.in_order(task):
            seen, may = statistics.get(anchor, {}), anchor not in off
            suspect = seen.get("suspect", {})
            row = {
                "task": task, "anchor": anchor, "benchmark": question.benchmark, "release": question.release,
                "language": question.language, "subject": question.subject, "question_type": question.question_type,
                "difficulty": question.difficulty, "hidden": exams.hidden.why(question) or None,
                "points": question.points, "discrimination": seen.get("discrimination"),
                **{name: seen.get(name) for name in counts},
            }  # fmt: skip
            if may:
                row |= {"question_id": question.id, "paper": question.paper_id, "number": question.number}
                row |= {"question": question.question, "key": "; ".join(question.answer)}
                row |= {"agreed": suspect.get("agreed"), "chance_key_is_wrong": suspect.get("chance")}
            rows.append({name: visible(value) if isinstance(value, str) else value for name, value in row.items()})
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=pa.schema(fields)), buffer)
    return buffer.getvalue()


MOST_SOURCES = 12
"""Of an exam on the About page."""
MADE = "data/made.json"
DRAWING = (
    *("core/scoring", "core/statistics.py", "core/rights.py", "core/visible.py"),
    *("dataset_builders/publishing", "evaluation/site", "evaluation/studies", "report"),
)
"""Code whose change rebuilds a site."""
KINDS = (".py", ".j2", ".js", ".css")


@dataclass(frozen=True)
class SiteWishes:
    """Options of a site.

    `refuses` gives the reason of rights against showing a question, or ""; `permits` is its other input as a text
    (None: unknown, nothing counts as unchanged); `held` are releases held back; `ask_hub` asks for models without
    facts; `publisher` is a name with or without an address.
    """

    refuses: Refuses
    held: Sequence[str] = ()
    models: Mapping[str, KnownModel] | None = None
    ask_hub: bool = False
    title: str = ""
    publisher: str = ""
    permits: str | None = None


@dataclass(frozen=True)
class SiteMade:
    """A build in numbers: runs, runs read anew, questions, hidden ones, files written."""

    runs: int
    read: int
    questions: int
    hidden: int
    written: int


def make_site(runs: Sequence[Path], out: Path, wishes: SiteWishes) -> SiteMade:
    """Makes or renews a site in a new folder or an earlier build's."""
    _check(out)
    with explain_errors(f"{out}: cannot be made", "; choose another --out"):
        out.mkdir(parents=True, exist_ok=True)
    with only_writer(out) as fence:
        _check(out)  # of two that begin at once the other may have been first
        return _made(runs, out, wishes, fence)


def _made(runs: Sequence[Path], out: Path, wishes: SiteWishes, fence: Fence) -> SiteMade:
    slugs = _slugs(runs)
    specs = {
        slug: RunFolder.open(path, warn).spec() for slug, path in slugs.items()
    }  # all are there before one is read
    data = sorted({task.data for spec in specs.values() for task in spec.tasks})
    releases = frozenset({*wishes.held, *filter(None, map(held_back_in, data))})
    facts = {slug: _known(slugs[slug].resolve().name, spec, wishes) for slug, spec in specs.items()}
    prints = {slug: digest_of(fingerprint(path)) for slug, path in slugs.items()}
    before, code = _before(out), _code()
    basis = digest_of(
        code, wishes.title, wishes.publisher, wishes.permits, sorted(releases), prints, [facts[slug] for slug in slugs]
    )
    if wishes.permits is not None and before.get("basis") == basis and (same := _unchanged(out, before)):
        return same
    if not (out / MADE).exists():
        write_atomically(make_subfolder(out, "data") / "made.json", "{}")  # a build that is killed can be begun again
    exams = Exams(Hidden(wishes.refuses, releases))
    for path in runs:
        exams.take(path)
    exams.hidden.settle()
    store = SiteStore(out, before["files"], fence)
    records, read = _records(slugs, exams.hidden, store, before["runs"], prints, digest_of(code, exams.hidden.digest()))
    made = exams.write(store, before["exams"], code)
    _across(store, exams, records, made, wishes, facts, code)
    questions, off = sum(map(len, exams.tasks.values())), len(exams.off())
    drawn = all(group["digest"] for task in made.values() for group in task["groups"])
    made_from = {"basis": basis if drawn else "", "questions": questions, "hidden": off, "files": store.sizes()}
    store.clear()
    store.file(MADE, json.dumps({"runs": prints, "exams": made, **made_from}, ensure_ascii=False).encode())
    store.end()
    return SiteMade(len(runs), read, questions, off, store.written)


def _unchanged(out: Path, before: Mapping[str, Any]) -> SiteMade | None:
    with suppress(OSError, KeyError, TypeError):
        if not is_half_made(out) and all((out / name).stat().st_size == size for name, size in before["files"].items()):
            return SiteMade(len(before["runs"]), 0, before["questions"], before["hidden"], 0)
    return None


def _records(
    slugs: Mapping[str, Path],
    hidden: Hidden,
    store: SiteStore,
    before: Mapping[str, Any],
    prints: dict[str, str],
    fresh: str,
) -> tuple[dict[str, Any], int]:
    records, read = dict[str, Any](), 0
    with Progress("reading runs", len(slugs), patient=True) as progress:
        for slug, path in slugs.items():
            prints[slug] = digest_of(fresh, prints[slug])
            record = store.read(f"runs/{slug}") if before.get(slug) == prints[slug] else None
            if record is None:
                record = {**read_run(path, slug, hidden, store), "name": path.resolve().name}
                read += 1
                store.data(f"runs/{slug}", record)
            else:
                store.keep(f"data/runs/{slug}.js")
                store.keep(f"data/{answers_of(slug)}*.js")
            records[slug] = record
            progress.step()
    return records, read


def _across(
    store: SiteStore,
    exams: Exams,
    records: Mapping[str, Any],
    made: Mapping[str, Any],
    wishes: SiteWishes,
    facts: Mapping[str, KnownModel | None],
    code: str,
) -> None:
    stems = {task: stem_of(task) for task in exams.tasks}
    placed = {
        task: place(task, stems[task], questions_of, records, store, code) for task, questions_of in exams.tasks.items()
    }
    off = exams.off()
    with same_by_rules() as same:
        statistics = items(exams.tasks, off, records, same)
    front = {slug: _front_of(record, facts[slug], placed, slug) for slug, record in records.items()}
    tasks = {}
    for task in sorted(exams.tasks):
        stem, order = stems[task], places(exams.tasks[task])
        about = [(anchor, statistics[anchor]) for anchor, _ in exams.in_order(task) if anchor in statistics]
        questions = list(exams.tasks[task].values())
        tasks[task] = {
            "benchmark": questions[0].benchmark,
            "questions": len(questions),
            "hidden": sum(anchor in off for anchor in exams.tasks[task]),
            "index": made[task]["index"],
            "axes": made[task]["axes"],
            "scores": store.pieces(f"scores/{stem}", scores(task, order, records)),
            "items": store.pieces(f"exams/{stem}-items", about),
            "sources": _sources(question for anchor, question in exams.tasks[task].items() if anchor not in off),
            "releases": sorted({question.release or str(question.year or "") for question in questions} - {""}),
        }
    groups = {axis: store.pieces(f"groups/{axis}", _by_axis(records, axis)) for axis in AXES}
    shown = (item for questions in exams.tasks.values() for item in questions.items() if item[0] not in off)
    named = {question.exam for _, question in shown if question.exam}
    named = named or {task.removeprefix(PREFIX) for task in exams.tasks}
    title = wishes.title or (named.pop() if len(named) == 1 else "")
    write_front(
        store, title, wishes.publisher, front, tasks, {axis: names for axis, names in groups.items() if names}, method()
    )
    write_tables(store, front, exams, statistics)


def _sources(questions: Iterable[Question]) -> list[tuple[str, str]]:
    pairs = {(each.source.licence or "", each.source.url or "") for each in questions}
    links = {(visible(licence), url if url.startswith(("https://", "http://")) else "") for licence, url in pairs}
    return sorted(links - {("", "")})[:MOST_SOURCES]


def _by_axis(records: Mapping[str, Any], axis: str) -> list[tuple[str, Any]]:
    runs = []
    for slug, record in records.items():
        tasks = {
            task: {name: profile["groups"][axis] for name, profile in each["profiles"].items()}
            for task, each in record["tasks"].items()
            if any(axis in profile["groups"] for profile in each["profiles"].values())
        }
        if tasks:
            runs.append((slug, tasks))
    return runs


def _known(folder: str, spec: RunSpec, wishes: SiteWishes) -> KnownModel | None:
    model = shown_model(spec.model)
    stated = _of_run(wishes.models or {}, (folder, spec.shown, model))
    if stated is None and wishes.ask_hub and re.fullmatch(r"[\w.-]+/[\w.-]+", model):
        return _asked(model)
    return stated


@cache
def _asked(model: str) -> KnownModel | None:
    record = hub_record(model)
    if isinstance(record, str):
        warn(f"{model}: the Hub says nothing of it: {record}")
        return None
    return record


def _slugs(runs: Sequence[Path]) -> dict[str, Path]:
    """Runs by names for files and addresses, stable while the folders keep theirs."""
    slugs: dict[str, Path] = {}
    for path in runs:
        plain = re.sub(r"[^A-Za-z0-9._-]+", "-", path.resolve().name).strip(".-_")[:60] or "run"
        slug, number = plain, 1
        while slug in slugs:
            if slugs[slug].resolve() == path.resolve():
                raise UserError(f"{path}: is named twice; name each run once")
            number += 1
            slug = f"{plain}~{number}"
        slugs[slug] = path
    return slugs


def _check(out: Path) -> None:
    foreign = f"{out}: holds something else than a site; choose an empty folder"
    if out.exists() and not out.is_dir():
        raise UserError(foreign)
    check_names(out, ("data", ".*"))
    if (out / MADE).is_file() or not out.exists():
        return
    begun = (*out.iterdir(), *(out / "data").glob("*"))
    if any(
        file.name != "data" and not file.name.startswith((".lock", LEASES, ".made.json.", "exam.")) for file in begun
    ):
        raise UserError(foreign)


def _before(out: Path) -> dict[str, Any]:
    content: Any = None
    with suppress(OSError, ValueError):
        content = json.loads((out / MADE).read_bytes())
    made = content if isinstance(content, dict) else {}
    return made | {name: made[name] if isinstance(made.get(name), dict) else {} for name in ("runs", "exams", "files")}


@cache
def _code() -> str:
    root = Path(__file__).resolve().parents[2]
    files = sorted(
        file
        for room in DRAWING
        for file in ((root / room).rglob("*") if (root / room).is_dir() else [root / room])
        if file.suffix in KINDS
    )
    return digest_of(__version__, [(file.name, digest_of(file.read_text("utf-8"))) for file in files])


# --- as a Space -----------------------------------------------------------------------------------------------------

_CARD = """\
---
title: {title}
sdk: static
app_file: index.html
pinned: false
tags: [leaderboard, livek12]
---
Models sit exams: marks, answers and questions, made by livek12. The page asks nothing of a server; `table.json`,
`cost.json` and `questions.parquet` hold the same for programs.
"""


def check_space(space: str) -> None:
    """Refuses an invalid name of a Space."""
    if not re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", space):
        raise UserError(f"--space {space}: give ORG/NAME")


def send(site: Path, space: str, title: str) -> str:
    """Writes the card and sends the folder; returns the Space's address."""
    from huggingface_hub import HfApi

    card = _CARD.format(title=json.dumps(visible(title or space.rpartition("/")[2]), ensure_ascii=False))
    write_atomically(site / "README.md", card)
    api = HfApi()
    try:
        api.create_repo(space, repo_type="space", space_sdk="static", exist_ok=True)
        api.upload_folder(
            repo_id=space,
            repo_type="space",
            folder_path=site,
            commit_message="livek12 site",
            delete_patterns=["data/**", "images/**", "assets/**"],
            ignore_patterns=[".*", "data/.*"],  # locks, and what is not at its end
        )
    except Exception as error:  # the Hub's client raises its own, httpx's and OSErrors
        raise UserError(f"{space}: {reason(error).replace('data set', 'Space')}; `hf auth login` logs in") from None
    return f"{endpoint()}/spaces/{space}"


MAX_BYTES = 1 << 20
DATES_FROM = datetime(2022, 3, 2, 23, 29, 4, tzinfo=UTC)
"""The Hub's date for all repositories older than its records: it says nothing of a model."""
Text = Annotated[str, BeforeValidator(lambda value: str(value) if not isinstance(value, str) else value)]
"""Dates and years that YAML parses become texts again."""


class KnownModel(BaseModel):
    """Stated facts of one model; None where unstated."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Text | None = None
    released: Text | None = None
    parameters: Amount | None = None
    licence: Text | None = None
    prices: Prices | None = None
    currency: Text = "USD"
    source: str = "models.yaml"


def read_models(file: Path) -> dict[str, KnownModel]:
    """Models of a `models.yaml` (docs/site.md): by the name of the model in its runs, or of a run folder."""
    try:
        if file.stat().st_size > MAX_BYTES:
            raise UserError(f"{file}: larger than {MAX_BYTES >> 20} MiB: no list of models")
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError, RecursionError) as error:
        raise UserError(f"{file}: cannot be read as YAML ({one_line(why(error), 160)})") from None
    if content is None:
        raise UserError(f"{file}: states no model; see docs/site.md")
    try:
        models = TypeAdapter(dict[str, KnownModel]).validate_python(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ": ".join(str(part) for part in first["loc"] if part != "[key]")
        raise UserError(f"{file}: {one_line(place, 80)}: {first['msg']}; see docs/site.md") from None
    for name, model in models.items():
        if model.released is not None and period(model.released) is None:
            raise UserError(f"{file}: {one_line(name, 60)}: released {model.released!r:.30} is no date like 2025-08")
    return models


def hub_record(model: str) -> KnownModel | str:
    """The Hub's facts of a model (day of its repository, size, licence), or the reason without."""
    from huggingface_hub import HfApi

    try:
        record: Any = HfApi().model_info(model)
    except Exception as error:  # the Hub's client raises its own, httpx's and OSErrors
        return reason(error).replace("data set", "model")
    return stated_by(record)


def stated_by(record: Any) -> KnownModel:
    """Facts in a record of the Hub."""
    card, tensors = getattr(record, "card_data", None), getattr(record, "safetensors", None)
    made, total = getattr(record, "created_at", None), getattr(tensors, "total", None)
    licence = getattr(card, "license", None)
    if licence == "other":  # then the card may give it a name
        licence = getattr(card, "license_name", None) or licence
    return KnownModel(
        released=None if made is None or made <= DATES_FROM else made.date().isoformat(),
        parameters=total if isinstance(total, int | float) and total > 0 else None,
        licence=licence if isinstance(licence, str) and licence else None,
        source="the Hub",
    )


def _of_run(models: Mapping[str, KnownModel], names: Iterable[str]) -> KnownModel | None:
    return next((models[name] for name in names if name in models), None)


def _facts_of(model: KnownModel | None) -> dict[str, Any]:
    if model is None:
        return {"name": None, "released": None, "parameters": None, "licence": None, "source": None}
    return {
        "name": model.name and visible(model.name),
        "released": model.released,
        "parameters": model.parameters,
        "licence": model.licence and visible(model.licence),
        "source": model.source,
    }


def cost_of(model: KnownModel | None, tokens: Mapping[str, int]) -> float | None:
    """Cost of tokens; None without prices or token counts."""
    if model is None or model.prices is None:
        return None
    return model.prices.cost(tokens.get("prompt"), tokens.get("cached"), tokens.get("completion"))


TOGETHER = 10
"""Questions of a group, which is redrawn when one of them changes."""


@dataclass
class Exams:
    """All questions by task and anchor, with one run that asked each."""

    hidden: Hidden
    tasks: dict[str, dict[str, Question]] = field(default_factory=dict)
    modality: dict[str, str] = field(default_factory=dict)
    asked_by: dict[tuple[str, str], Path] = field(default_factory=dict)
    _read: set[str] = field(default_factory=set)

    def take(self, path: Path) -> None:
        """Takes in the questions of a run."""
        run = RunFolder(path, warn)
        spec = run.spec()
        for asked_task in spec.tasks:
            self.modality.setdefault(asked_task.name, asked_task.modality)
        elsewhere = keys_from_elsewhere(spec)
        same = f"{spec.questions_sha256 or path}, {elsewhere}"
        if same in self._read:  # runs of one exam have one list of questions
            return
        self._read.add(same)
        exam = read_exam(run)
        for task, question in exam.questions if exam else run.each_question():
            anchor = anchor_of(task, question.id)
            if self.tasks.setdefault(task, {}).setdefault(anchor, question) is question:
                self.asked_by[task, anchor] = path
            self.hidden.look([question], elsewhere)

    def in_order(self, task: str) -> list[tuple[str, Question]]:
        """Questions of a task by paper and number."""
        return sorted(self.tasks[task].items(), key=lambda item: paper_order(item[1]))

    def off(self) -> frozenset[str]:
        """Anchors of hidden questions."""
        every = (item for questions in self.tasks.values() for item in questions.items())
        return frozenset(anchor for anchor, question in every if self.hidden.why(question))

    def write(self, store: SiteStore, before: Mapping[str, Any], code: str) -> dict[str, Any]:
        """Writes the pieces of all tasks; `before` is the result of the build before.

        Returns:
            By task "index" (names of its files), "axes" (of filters) and "groups" (digest, and each question's piece).
        """
        pictures, at_hand = SitePictures(store), _AtHand(self)
        made = {}
        with Progress("drawing questions", sum(map(len, self.tasks.values())), patient=True) as progress:
            for task in sorted(self.tasks):
                stem, groups, index, order = stem_of(task), [], [], places(self.tasks[task])
                earlier = {group["digest"]: group for group in before.get(task, {}).get("groups", ())}
                for number, some in enumerate(_batched(self.in_order(task))):
                    group = self._group(task, number, some, earlier, code, at_hand, pictures, store)
                    groups.append(group)
                    for anchor, question in some:
                        entry = _entry(question, self.hidden, self.modality[task], group["pieces"].get(anchor, ""))
                        index.append((anchor, dict(zip(("at", "source"), order[anchor], strict=True)) | entry))
                        progress.step()
                chosen_by = axes(entry for _, entry in index)
                made[task] = {"index": store.pieces(f"exams/{stem}", index), "axes": chosen_by, "groups": groups}
        return made

    def _group(
        self,
        task: str,
        number: int,
        some: Sequence[tuple[str, Question]],
        earlier: Mapping[str, Any],
        code: str,
        at_hand: _AtHand,
        pictures: SitePictures,
        store: SiteStore,
    ) -> dict[str, Any]:
        off = sorted(self.hidden.pages())
        shown = [(anchor, question) for anchor, question in some if not self.hidden.why(question)]
        texts = [(anchor, question.model_dump_json()) for anchor, question in shown]
        image_only = self.modality[task] == IMAGE_ONLY
        digest = digest_of(code, number, texts, image_only, off)
        if (group := earlier.get(digest)) and all(
            (store.root / f"data/{name}.js").is_file() for name in group["names"]
        ):
            for name in (*(f"data/{piece}.js" for piece in group["names"]), *group["images"]):
                store.keep(name)
            return dict(group)
        drawn, whole = [], True
        for anchor, question in shown:
            full, pages, complete = at_hand(task, anchor, question)
            whole &= complete
            fragments = question_fragments(full, task, image_only, pictures)
            drawn.append((anchor, {**fragments, "places": page_places(full, Places(pages, frozenset(off)), pictures)}))
        piece_of: dict[str, str] = {}
        names = store.pieces(f"exams/{stem_of(task)}-q{number}", drawn)
        for name in names:
            piece_of |= dict.fromkeys(store.read(name), name)
        # Pieces drawn without pictures are redrawn later.
        images = sorted({name for _, piece in drawn for name in _images(piece)})
        return {"digest": digest if whole else "", "names": names, "pieces": piece_of, "images": images}


def _batched(items: Sequence[tuple[str, Question]]) -> Iterator[Sequence[tuple[str, Question]]]:
    return (items[start : start + TOGETHER] for start in range(0, len(items), TOGETHER))


def stem_of(task: str) -> str:
    """A task's file name stem: its ASCII letters and digits with a hash."""
    plain = "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in task)[:40]
    return f"{plain}-{hashlib.sha256(task.encode()).hexdigest()[:6]}"


def _images(piece: Mapping[str, Any]) -> Iterator[str]:
    for part in (piece["asked"], piece["key"]):
        for source in part.split('src="')[1:]:
            name = source.partition('"')[0]
            if name.startswith("images/"):
                yield name
    yield from (place["file"] for place in piece["places"])


def _entry(question: Question, hidden: Hidden, modality: str, piece: str) -> dict[str, Any]:
    """A question in the index; of a hidden one nothing that names it or its paper."""
    why, paper = hidden.why(question), question.paper_id or ""
    entry = {
        "subject": visible(question.subject),
        "type": question.question_type,
        "points": question.points,
        "release": question.release and visible(question.release),
        "language": question.language,
        "subsets": [visible(name) for name in question.subsets],
        "difficulty": question.difficulty and visible(question.difficulty),
        "modality": modality if modality != "text_image" else "text_image" if question.images else "text_only",
        "field": question.attributes.macro_subject and visible(question.attributes.macro_subject),
        "year": question.year,
        "paper": digest_of(paper)[:10] if paper else "",
        "why": why,
    }
    if not why:
        entry |= {"n": visible(question.number or ""), "id": visible(question.id), "title": visible(paper)}
        entry |= {"exam": visible(question.exam or ""), "piece": piece}
    return entry


class _AtHand:
    """Pictures of questions, read from their runs' datasets on first use."""

    def __init__(self, exams: Exams) -> None:
        self._exams = exams
        self._read: dict[Path, tuple[dict[tuple[str, str], Question], dict[tuple[str, int], Image]] | None] = {}

    def __call__(
        self, task: str, anchor: str, question: Question
    ) -> tuple[Question, dict[tuple[str, int], Image], bool]:
        """The question with pictures, pages by paper and number, and the completeness of both."""
        if not (question.images or question.answer_images or question.solution_images or question.page_numbers):
            return question, {}, True
        path = self._exams.asked_by[task, anchor]
        if path not in self._read:
            self._read[path] = _pictured(path)
        if (exam := self._read[path]) is None:
            return question, {}, False
        pictured = exam[0].get((task, question.id))
        return with_pictures(question, pictured) if pictured else question, exam[1], True


def _pictured(path: Path) -> tuple[dict[tuple[str, str], Question], dict[tuple[str, int], Image]] | None:
    try:
        exam = reload_task_data(RunFolder(path), trusts=False)
    except UserError as error:
        warn(f"{path.name}: its questions are shown without pictures: {error}")
        return None
    if not exam.questions:
        return None
    questions = {(task, question.id): question for task, rows in exam.questions.items() for question in rows}
    keys = {(question.paper_id or "", number) for question in questions.values() for number in question.page_numbers}
    return questions, {**load_pages(exam.data, keys), **exam.pages} if keys else dict(exam.pages)
