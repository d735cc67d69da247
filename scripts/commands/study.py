"""`livek12 study`: the trust that marks of run folders deserve, by kind of study."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from livek12.core.arguments import one_of
from livek12.core.errors import UserError
from livek12.core.progress import Progress, say, warn
from livek12.evaluation.options import JudgingOptions
from livek12.scripts import options
from livek12.scripts.options import Runs

if TYPE_CHECKING:
    from livek12.core.run.folder import RunFolder
    from livek12.core.scoring import Profile, Row
    from livek12.core.scoring.outcomes import Outcomes
    from livek12.evaluation.article_tables import ArticleForms
    from livek12.evaluation.choosing import AnswerChoice
    from livek12.evaluation.studies import Study
    from livek12.evaluation.studies.labels import Label, Stranger
    from livek12.judges.jury import Jury

study = options.group()
KEYWORD = inspect.Parameter.KEYWORD_ONLY


@study.callback()
def about() -> None:
    """Study runs: reliability of the marks, wrong keys, errors, contamination, the articles' tables."""


FORMATS = ("md", "latex", "csv", "html", "json")
_LABELS = options.Opt("Labels by people, JSONL or CSV; repeatable.", metavar="FILE")
Labels = Annotated[list[Path], _LABELS]
Ranked = Annotated[str, "Metric of the ranking: accuracy, mark, PES or OES."]
Page = Annotated[Path | None, "Also write a page with figures and tables."]
JudgedBy = Annotated[str, "Judges, as for `livek12 judge`."]
Tasks = Annotated[str, options.Opt("Only answers to these tasks.", "--task", metavar="NAME[,NAME]")]
Way = Annotated[str, 'Only answers asked in this way, such as "page images alone"; default: standard.']
Form = Annotated[str, options.Opt("Print only the tables: md, latex, csv, html or json.", "--format")]
Made: TypeAlias = "tuple[Study | ArticleForms, Any] | None"
"""A study and its result; None where only files were written."""


def kind(line: str) -> Callable[[Callable[..., Any]], None]:
    """Adds a kind of study, with the options of all kinds."""

    def added(command: Callable[..., Any]) -> None:
        given = dict(inspect.signature(command).parameters)
        choosing = given.pop("chosen", None) is not None
        shared: dict[str, tuple[Any, Any]] = {"task": (Tasks, ""), "way": (Way, "")} if choosing else {}
        shared |= {"html": (Page, None), "format": (Form, ""), "as_json": (options.Json, False)}

        def told(
            *, html: Path | None, format: str, as_json: bool, task: str = "", way: str = "", **values: Any
        ) -> None:
            if as_json and format:
                raise UserError("--json, --format: give one of them")
            form = "json" if as_json else one_of("--format", format, FORMATS) if format else ""
            if made := command(**values, **({"chosen": choice(task, way)} if choosing else {})):
                tell(made[0], made[1], form, html)

        parameters = [inspect.Parameter(name, KEYWORD, default=default) for name, (_, default) in shared.items()]
        own = [parameter.replace(kind=KEYWORD) for parameter in given.values()]
        told.__signature__ = inspect.Signature([*own, *parameters])  # type: ignore[attr-defined]
        told.__annotations__ = {name: command.__annotations__[name] for name in given}
        told.__annotations__ |= {name: annotation for name, (annotation, _) in shared.items()}
        told.__name__, told.__doc__ = command.__name__, command.__doc__
        options.subcommand(study, line)(told)

    return added


def folders(runs: list[Path], *, full: bool = False) -> dict[str, RunFolder]:
    """Run folders by name; `full`: adaptive ones are refused."""
    from livek12.core.run.folder import RunFolder
    from livek12.evaluation.adaptive import check_full
    from livek12.evaluation.comparing import run_names

    opened = {name: RunFolder.open(path, warn) for name, path in run_names(runs).items()}
    if full:
        check_full(opened.values(), "this study takes means over")
    return opened


def choice(task: str, way: str) -> AnswerChoice:
    """Answers that `--task` and `--way` choose."""
    from livek12.evaluation.choosing import AnswerChoice

    return AnswerChoice(way.strip(), tuple(name.strip() for name in task.split(",") if name.strip()))


def rows_of(
    runs: Mapping[str, RunFolder], chosen: AnswerChoice | None, *, together: bool = True, judged: bool = False
) -> dict[str, Iterable[Row]]:
    """Answers of each run that were asked in one way, each question and trial once.

    `together`: all runs have to be asked in the same way; `judged`: the marks of the judges alone.
    """
    from livek12.evaluation.choosing import RunRows, one_way

    rows = {name: RunRows(folder, judged=judged) for name, folder in runs.items()}
    return dict(rows) if chosen is None else one_way(rows, chosen, together)


def ranked_by(metric: str, profile: str) -> tuple[str, Profile]:
    """The metric of a name, and the formulas of a profile."""
    from livek12.core.scoring import profile_named
    from livek12.core.scoring.metrics import contrasted_metrics

    return one_of("--metric", metric, contrasted_metrics()), profile_named(profile)


def outcomes_of(runs: Mapping[str, RunFolder]) -> dict[str, Outcomes]:
    """Answers of each run without texts."""
    from livek12.core.run_answers import read_answers
    from livek12.core.scoring.outcomes import Slim

    slim = Slim()
    return {name: read_answers(folder, slim).outcomes for name, folder in runs.items()}


def labelled(
    runs: list[Path], labels: list[Path], chosen: AnswerChoice | None, together: bool = False
) -> dict[str, tuple[list[tuple[Label, Row]], list[Stranger]]]:
    """Labels of each run with answers, and those of other runs."""
    from livek12.evaluation.choosing import RunRows, sieves
    from livek12.evaluation.studies.labels import fit_labels, read_labels, refuse_strangers

    lines = set[str]()

    def once(line: str) -> None:
        if line not in lines:
            lines.add(line)
            warn(line)

    given = {name: RunRows(folder, judged=True) for name, folder in folders(runs).items()}
    taken = sieves({name: rows.tasks for name, rows in given.items()}, chosen, together) if chosen else {}
    result = {}
    for name, rows in given.items():
        pairs, strangers = fit_labels(read_labels(labels, rows.spec.model, once), rows)
        result[name] = taken[name].labelled(pairs, rows) if taken else pairs, strangers
    refuse_strangers([strangers for _, strangers in result.values()])
    return result


def sitting(judge: str, cache: bool, study: str) -> Jury:
    """Judges of a study; UserError if none is named, or one cannot run."""
    from livek12.judges.jury import Jury

    if not judge or judge == "rules":
        raise UserError(f"{study} needs judges: --judge MODEL[,MODEL…]")
    return Jury(JudgingOptions(judge, cache=cache).judges())


def tell(study: Study | ArticleForms, result: Any, form: str, page: Path | None) -> None:
    """Writes the page of a result, if asked for, and prints the result."""
    from livek12.core.files import write_atomically

    if page is not None:
        write_atomically(page, study.written(result, "html"))
        say(f"{page}: figures and tables")
    if form:
        text = study.written(result, form)
        typer.echo(text, nl=not text.endswith("\n"))
    else:
        study.show(result)


@kind("livek12 study agreement runs/qwen3 --labels ann.jsonl")
def agreement(runs: Runs, chosen: AnswerChoice, labels: Labels) -> Made:
    """Compare the marks of each run with people's."""
    from livek12.evaluation.studies.agreement import AGREEMENT, human_agreement

    result = {name: human_agreement(*fitted) for name, fitted in labelled(runs, labels, chosen).items()}
    return AGREEMENT, result


@kind("livek12 study corrected runs/qwen3 --labels runs/qwen3/labels-ann.jsonl")
def corrected(
    runs: Runs,
    chosen: AnswerChoice,
    labels: Labels,
    metric: Annotated[str, "Metric to correct: accuracy or mark."] = "accuracy",
) -> Made:
    """Correct the marks of each run for its judge's errors, estimated from labelled answers."""
    from livek12.core.run.folder import LABEL_PLAN
    from livek12.evaluation.choosing import ANY
    from livek12.evaluation.studies.corrected import STUDY, corrected_study
    from livek12.evaluation.studies.labels import METRICS, planned_strata

    counted = one_of("--metric", metric, METRICS)
    own = chosen if chosen != ANY else None  # each task is corrected on its own
    fitted, given, result = labelled(runs, labels, own), folders(runs, full=True), {}
    rows = rows_of(given, own, together=False, judged=True)
    for name, folder in given.items():
        file = folder.path / LABEL_PLAN
        plan = planned_strata(file) if file.is_file() else None
        result[name] = corrected_study(rows[name], fitted[name], plan, counted)
    return STUDY, result


@kind("livek12 study inter-judge runs/qwen3")
def inter_judge(runs: Runs, chosen: AnswerChoice) -> Made:
    """Measure the agreement of a panel's judges on the answers of each run."""
    from livek12.evaluation.studies.agreement import INTER_JUDGE, between_judges

    taken = rows_of(folders(runs), chosen, together=False, judged=True)
    result = {name: between_judges(rows) for name, rows in taken.items()}
    return INTER_JUDGE, result


@kind("livek12 study intra-judge runs/qwen3")
def intra_judge(runs: Runs, chosen: AnswerChoice) -> Made:
    """Measure a judge's agreement with itself: a run judged with --repeats, or copies of one, each judged again."""
    from livek12.evaluation.marking import repeated_rows
    from livek12.evaluation.studies.agreement import INTRA_JUDGE, between_repeats, between_runs

    given = folders(runs)
    if len(runs) > 1:
        result = between_runs({name: list(rows) for name, rows in rows_of(given, chosen).items()}, "same")
    else:
        ((name, rows),) = rows_of(given, chosen, judged=True).items()
        result = between_repeats(name, repeated_rows(given[name], rows))
    return INTRA_JUDGE, result


@kind("livek12 study sensitivity runs/qwen3-p1 runs/qwen3-p2")
def sensitivity(runs: Runs, chosen: AnswerChoice) -> Made:
    """Measure how marks depend on the judge: copies of one run, judged with different prompts or judges."""
    from livek12.evaluation.studies.agreement import SENSITIVITY, require_every_answer
    from livek12.evaluation.studies.agreement import sensitivity as study_of

    rows = {name: list(taken) for name, taken in rows_of(folders(runs), chosen).items()}
    if len(rows) > 1:
        require_every_answer(rows)
    return SENSITIVITY, study_of(rows)


@kind("livek12 study methods runs/s2s runs/l2s runs/l2l --labels experts.jsonl")
def methods(runs: Runs, chosen: AnswerChoice, labels: Labels) -> Made:
    """Compare judging methods (copies of a run, judged by s2s, l2s, l2l…) with people: CFE-Bench's table 1."""
    from livek12.evaluation.marking import repeated_rows
    from livek12.evaluation.studies.agreement import METHODS, judging_methods

    given, judged = folders(runs), {}
    for name, (pairs, strangers) in labelled(runs, labels, chosen, together=True).items():
        for number, rows in enumerate(repeated_rows(given[name], [row for _, row in pairs]), 1):
            repeat = [(label, row) for (label, _), row in zip(pairs, rows, strict=True)]
            if number == 1 or any(row.verdict for row in rows):  # repeats of another judging have none
                judged[name if number == 1 else f"{name} ({number})"] = repeat, strangers
    return METHODS, judging_methods(judged)


@kind("livek12 study stability runs/qwen3 runs/gemma3")
def stability(
    runs: Runs,
    chosen: AnswerChoice,
    metric: Ranked = "accuracy",
    profile: options.Profile = "article",
) -> Made:
    """Measure how stable the ranking of models is on parts of the exam."""
    from livek12.evaluation.studies.stability import STUDY, stability

    return STUDY, stability(outcomes_of(folders(runs, full=True)), *ranked_by(metric, profile), choice=chosen)


@kind("livek12 study reliability runs/qwen3 runs/gemma3 --labels ann.jsonl --labels bob.jsonl")
def reliability(
    runs: Runs,
    chosen: AnswerChoice,
    labels: Annotated[list[Path] | None, _LABELS] = None,
    metric: Ranked = "PES",
    profile: options.Profile = "article",
) -> Made:
    """Measure the reliability of the process audit (LiveK12Bench, appendix C); copies of a run are repeats."""
    from livek12.evaluation.marking import repeated_rows
    from livek12.evaluation.studies.agreement import as_repeats
    from livek12.evaluation.studies.reliability import STUDY, reliability

    metrics, opened = ranked_by(metric, profile), folders(runs)
    taken = rows_of(opened, chosen, judged=True)
    repeats = {name: repeated_rows(opened[name], rows) for name, rows in taken.items()}
    copies = as_repeats({name: rows[0] for name, rows in repeats.items()})
    groups = {name: [rows for copy in result for rows in repeats[copy]] for name, result in copies.items()}
    fitted = labelled(runs, labels, chosen, together=True) if labels else {}
    pairs = {name: result for name, (result, _) in fitted.items() if name in groups}
    return STUDY, reliability(groups, pairs, *metrics)


@kind("livek12 study items runs/qwen3 runs/gemma3 runs/glm --export suspects.jsonl")
def items(
    runs: Runs,
    chosen: AnswerChoice,
    irt: Annotated[bool, "Also fit a two-parameter model (needs the extra `stats`)."] = False,
    choose: Annotated[
        int | None, options.Opt("Propose N questions that preserve the ranking, with their error.", min=1)
    ] = None,
    prior: Annotated[float, options.Opt("Assumed share of wrong keys.", min=0.0001, max=0.5)] = 0.03,
    export: Annotated[Path | None, "Write a plan of the suspect answers, for `livek12 review RUN --plan`."] = None,
) -> Made:
    """Analyse each question over the runs of several models, and list suspect keys."""
    from livek12.evaluation.choosing import RunRows
    from livek12.evaluation.studies.items import STUDY, items_study, linked, plan, read_items, same_by_rules

    found_folders = folders(runs)
    items = read_items({name: RunRows(folder) for name, folder in found_folders.items()}, chosen)
    with Progress("comparing answers", len(items), patient=True) as progress, same_by_rules() as same:
        result: dict[str, Any] = items_study(items, same, progress.step, prior)
    linked(result["suspects"], {name: folder.path for name, folder in found_folders.items()})
    if irt or choose:
        from livek12.evaluation.studies.items import choose as chosen_items
        from livek12.evaluation.studies.items import fit

        result |= {"irt": fit(items)} if irt else {}
        result |= {"chosen": chosen_items(items, choose)} if choose else {}
    if export is not None:
        from livek12.core.files import write_atomically

        rows = plan(result["suspects"])
        write_atomically(export, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return STUDY, result


@kind("livek12 study contamination runs/qwen3 runs/gemma3 --released qwen3=2025-08")
def contamination(
    runs: Runs,
    chosen: AnswerChoice,
    metric: Annotated[str, "accuracy, mark, PES or OES."] = "accuracy",
    profile: options.Profile = "article",
    released: Annotated[list[str] | None, "Release date of a run's model, RUN=DATE; repeatable."] = None,
    near: Annotated[
        Path | None, "Pairs of `livek12 dedup DATA --against PUBLIC`: compare questions by similarity to public ones."
    ] = None,
) -> Made:
    """Compare marks on older and newer exams: by release and subject, by year, before and after a model came out."""
    from livek12.evaluation.studies.contamination import STUDY, contamination, nearest
    from livek12.evaluation.studies.contamination import released as dates

    metrics, run_folders = ranked_by(metric, profile), folders(runs, full=True)
    when = dates(released or [], list(run_folders))
    similar = nearest(near) if near else None
    return STUDY, contamination(outcomes_of(run_folders), *metrics, when, chosen, similar)


@kind("livek12 study first-error mr_ben.jsonl --judge qwen3@openai:base_url=http://localhost:8000/v1")
def first_error(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Files of labelled solutions (MR-Ben).")],
    judge: Annotated[str, "Judges that look for errors, as for `livek12 judge`."] = "",
    limit: Annotated[int | None, options.Opt("Only the first N solutions.", min=1)] = None,
    cache: options.Cache = True,
) -> Made:
    """Ask critics for the first wrong step of solutions that experts marked."""
    from livek12.evaluation.studies.first_error import STUDY, first_errors, read_solutions
    from livek12.judges.jury import Jury
    from livek12.judges.llm.audit import Auditor

    if not judge or judge == "rules":
        raise UserError("first-error needs critics: --judge MODEL[,MODEL…]")
    solutions = [solution for file in files for solution in read_solutions(file, warn)][:limit]
    with Jury(JudgingOptions(judge, cache=cache).judges()) as judges, Progress("auditing", len(solutions)) as progress:
        assert judges.panel is not None
        result = first_errors(solutions, Auditor(judges.panel), judges.threads, progress.step)
    return STUDY, result


@kind("livek12 study tables runs/qwen3 runs/gemma3 --table kmmmu-3 --format latex")
def tables(
    runs: Runs,
    table: Annotated[
        list[str] | None, options.Opt("Only this table, such as livek12-3; repeatable.", metavar="NAME")
    ] = None,
    pair: Annotated[
        list[str] | None, "A model without and with reasoning (KMMMU, table 8): NAME=RUN,RUN; repeatable."
    ] = None,
    intervals: Annotated[bool, "Add 95 % intervals in md and latex."] = False,
    labels: Labels = [],  # noqa: B006
    profile: options.Profile = "article",
) -> Made:
    """Print the articles' tables for any runs: all tables that the answers allow."""
    from livek12.core.scoring import profile_named
    from livek12.evaluation.article_tables import SHAPES, ArticleForms, article_tables, shape_named
    from livek12.evaluation.comparing import named_groups, read_outcomes

    shapes = [shape_named(name) for name in table] if table else list(SHAPES)
    outcomes = read_outcomes(runs)
    pairs = named_groups("--pair", pair or [], outcomes)
    noise = {}
    if labels:
        from livek12.evaluation.choosing import RunRows
        from livek12.evaluation.studies.corrected import mark_noise

        opened = folders(runs)
        for name, (fitted, _) in labelled(runs, labels, None).items():
            noise[name] = mark_noise(name, RunRows(opened[name], judged=True), fitted)
    result = article_tables(outcomes, shapes, profile_named(profile), pairs, noise).some()
    for name, reason in result.missing.items() if table else ():
        warn(f"{name}: {reason}")
    return ArticleForms(intervals or bool(labels)), result


@kind("livek12 study diagnostics runs/why --base runs/qwen3 --html why.html")
def diagnostics(
    runs: Runs,
    chosen: AnswerChoice,
    base: options.BaseRun = None,
    fewest: Annotated[
        int | None, options.Opt("Minimum number of questions per point; default: 6 for a unit, 5 for a length.", min=1)
    ] = None,
) -> Made:
    """Show a model's accuracy by unit and with part of the solution, compared with the whole questions."""
    from livek12.evaluation.choosing import RunRows, of_all_ways
    from livek12.evaluation.studies.diagnostics import FEWEST, STUDY, diagnostics, read_diagnosed, whole_rows

    least = (fewest, fewest) if fewest else FEWEST
    result = {
        name: diagnostics(
            read_diagnosed(of_all_ways(name, RunRows(folder), chosen), whole_rows(folder, base)),
            least,
            folder.spec().chosen is not None,
        )
        for name, folder in folders(runs).items()
    }
    return STUDY, result


@kind("livek12 study steps runs/qwen3 --judge glm@openai:base_url=http://localhost:8000/v1")
def steps(
    runs: Runs,
    chosen: AnswerChoice,
    judge: JudgedBy = "",
    limit: Annotated[int | None, options.Opt("Only the first N answers of a run.", min=1)] = None,
    cache: options.Cache = True,
) -> Made:
    """Have judges split responses into steps, and compare them with the reference solution."""
    from livek12.evaluation.studies import authors_of
    from livek12.evaluation.studies.steps import STUDY, splittable, step_density

    given = folders(runs)
    taken = rows_of(given, chosen, together=False)
    parts = {name: (given[name], splittable(rows, limit)) for name, rows in taken.items()}
    result = {}
    with (
        sitting(judge, cache, "steps") as judges,
        Progress("splitting", sum(len(each.rows) for _, each in parts.values())) as progress,
    ):
        for name, (folder, each) in parts.items():
            result[name] = step_density(judges, each, authors_of(folder), progress.step)
    return STUDY, result


@kind("livek12 study error-types runs/qwen3 --judge glm@openai:base_url=http://localhost:8000/v1 --html errors.html")
def error_types(
    runs: Runs,
    chosen: AnswerChoice,
    judge: JudgedBy = "",
    sample: Annotated[int, options.Opt("Number of wrong answers per run.", min=1)] = 100,
    seed: Annotated[int, "Seed of the sample."] = 0,
    labels: Labels = [],  # noqa: B006
    group: Annotated[list[str] | None, "Runs of one regression: NAME=RUN,RUN…; repeatable. Default: all runs."] = None,
    plan: Annotated[bool, "Write each sample as the run's label plan, for `livek12 review RUN`."] = False,
    cache: options.Cache = True,
) -> Made:
    """Count the kinds of wrong answers, named by judges or people, by model, subject and pictures."""
    from livek12.evaluation.comparing import named_groups
    from livek12.evaluation.studies.error_kinds import (
        STUDY,
        error_types_study,
        gathered,
        to_ask,
        typed_by_judges,
        typed_by_people,
        write_plans,
    )

    if not (judge or labels or plan):
        raise UserError(
            "error-types needs somebody who tells the kinds: --judge, --labels, or --plan for people to come"
        )
    given = folders(runs)
    together = named_groups("--group", group or [], given) or {"all runs": list(given)}
    fitted = labelled(runs, labels, chosen, together=True) if labels else {}
    typed = gathered(given, sample, seed, {name: pairs for name, (pairs, _) in fitted.items()}, chosen)
    if plan:
        for path in write_plans(typed, given):
            say(f"{path}: the sample, for `livek12 review {path.parent}`")
        if not (judge or labels):
            return None
    if judge:
        with sitting(judge, cache, "error-types") as judges, Progress("typing errors", to_ask(typed)) as progress:
            typed_by_judges(typed, given, judges, progress.step)
    else:
        typed_by_people(typed)
    result = error_types_study(typed, together)
    return STUDY, result


@kind("livek12 study completion runs/begun --html completion.html")
def completion(runs: Runs, chosen: AnswerChoice, judge: JudgedBy = "", cache: options.Cache = True) -> Made:
    """Measure how much of the questions models continue from their beginnings, with and without the exam's name."""
    from livek12.evaluation.choosing import RunRows, of_all_ways
    from livek12.evaluation.studies import authors_of
    from livek12.evaluation.studies.completion import STUDY, completion_study, completions, judged, measured

    given = folders(runs)
    rows = {name: completions(of_all_ways(name, RunRows(folder), chosen)) for name, folder in given.items()}
    ones = {name: [measured(row) for row in each] for name, each in rows.items()}
    if judge:
        total = sum(map(len, rows.values()))
        with sitting(judge, cache, "completion") as judges, Progress("comparing", total) as progress:
            for name, each in rows.items():
                verdicts = judged(each, judges, authors_of(given[name]), progress.step)
                ones[name] = [
                    replace(item, judged=compared, problem=problem)
                    for item, (compared, problem) in zip(ones[name], verdicts, strict=True)
                ]
    result = {name: completion_study(each) for name, each in ones.items()}
    return STUDY, result


@kind("livek12 study scheme runs/qwen3 --labels ann.jsonl --labels bob.jsonl")
def scheme(runs: Runs, labels: Labels, chosen: AnswerChoice) -> Made:
    """Compare marks in points with people's: error, QWK, bias, criteria; and people with each other."""
    from livek12.evaluation.studies.schemes import STUDY, scheme_marks

    return STUDY, {name: scheme_marks(*fitted) for name, fitted in labelled(runs, labels, chosen).items()}


@kind("livek12 study exam-scores runs/qwen3 --medals IPhO_2025:gold=19.7,silver=12.1,bronze=7.2")
def exam_scores(
    runs: Runs,
    chosen: AnswerChoice,
    medals: Annotated[
        list[str] | None, options.Opt("Limits of an exam: EXAM:MEDAL=POINTS,…; repeatable.", metavar="LIMITS")
    ] = None,
) -> Made:
    """Add up each exam's points as HiPhO does: by answers, and by the better of answer and steps; medals by limits."""
    from livek12.evaluation.studies.exam_scores import STUDY, exam_scores, medal_limits
    from livek12.judges.jury import JudgeOptions, Jury

    limits = medal_limits(medals or [])
    taken = rows_of(folders(runs), chosen, together=False)
    with Jury(JudgeOptions()) as judges:
        return STUDY, {name: exam_scores(rows, judges.cascade, limits) for name, rows in taken.items()}
