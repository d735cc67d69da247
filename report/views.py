"""Views of report.json in words: tasks, token budgets, differences (in points of a hundred), exams, usage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from livek12.core.groups import grouped
from livek12.core.run.sessions import GIB, Session, Stage, Usage, covered
from livek12.core.scoring.metrics import meaning_of, metric_of, metrics, ranking_metrics, tested_metrics
from livek12.core.scoring.schema import RunUsage
from livek12.report import marks
from livek12.report.paper import ERRORS
from livek12.report.ranking import in_words, p_value

TOKEN_KINDS = {
    "prompt": "read",
    "cached": "read from cache",
    "completion": "written",
    "reasoning": "of these, thinking",
}
MOST_GROUPS = 200
"""Groups of an axis on the page; report.json has all."""


def task_view(name: str, task: Mapping[str, Any], run: str, engine: str) -> dict[str, Any]:
    """A task; `run` names the run folder in commands."""
    mark = marks.shown("mark", task["metrics"]["mark"])
    return {
        "name": name,
        "questions": task["counts"]["questions"],
        "basis": marks.basis(task["counts"], engine),
        "notes": marks.counts_notes(task, run, engine),
        "still": sum(task["counts"][state] for state in ("ungraded", "failed")),
        "mark": mark,
        "sentence": marks.mark_sentence(task),
        "endings": marks.endings_sentence(task["counts"], task.get("context_cut")),
        "points": None if task["points"] is None else marks.points(task["points"]),
        "axes": [_axis_view(axis, groups) for axis, groups in marks.axes(task)],
        "beside": _beside_mark(task, mark),
        "metrics": _metric_views(task["metrics"]),
        "not_available": marks.not_available(task["metrics"]),
        "deltas": delta_views(task["deltas"]),
        "tokens": [
            _token_row(TOKEN_KINDS[kind], use) for kind, use in task["tokens"].items() if use["mean"] is not None
        ],
        "cache": marks.cache_sentence(task),
        "thinking": marks.thinking_sentence(task),
        "process_errors": task["process_errors"],
        "error_kinds": ERRORS,
        "decided_by": {marks.decider(by): parts for by, parts in task["decided_by"].items()},
    }


def _beside_mark(task: Mapping[str, Any], mark: marks.ShownValue) -> list[dict[str, Any]]:
    """Metrics beside the mark: positions, and numbers of answers on which they differ."""
    against = task.get("against_mark") or {}
    last = max((name for name in against if name.startswith("pass@")), key=lambda name: int(name[5:]), default="")
    views = []
    for name in (*ranking_metrics(), *([last] if last not in ("", "pass@1") else [])):
        if name not in against or (name == "question_accuracy" and "accuracy" in against):
            continue
        value = marks.shown(name, task["metrics"][name])
        if value.low is None or value.high is None or mark.low is None:
            continue
        both = value.decided and mark.decided
        views.append(
            {
                "name": name,
                "meaning": meaning_of(name),
                "shown": value,
                "unit": _unit(name),
                "minus": marks.signed(value.low - mark.low) if both else "",
                "answers": _against_sentence(against[name]),
            }
        )
    return views


def _against_sentence(beside: Mapping[str, Any]) -> str:
    unit = beside["unit"]
    parts = [
        f"{beside[what]:,} {unit}{' counts' if beside[what] == 1 else 's count'} for {how}"
        for what, how in (("less", "less"), ("more", "more"))
        if beside[what]
    ]
    still = f"{beside['open']:,} open" if beside["open"] else ""
    if not parts:
        parts = ["all count alike"] if not still else [f"{beside['same']:,} count alike"] if beside["same"] else []
    return ", ".join(filter(None, (*parts, still)))


def budget_view(name: str, curve: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Marks within token budgets."""
    table = budget_lines(curve)
    return {
        "name": name,
        "open": any(line.true for line in table[:-1]),
        "limit": f"{parameters['token_limit']:,.0f}",
        "lines": table,
        "plot": budget_plot(curve),
        "notes": budget_notes(table),
        "undecided": any(estimate and not estimate.decided for line in table for estimate in (line.true, line.cut)),
        "true_means": curve["true_means"],
        "counterfactual_means": curve["counterfactual_means"],
    }


def _axis_view(axis: str, groups: Mapping[str, Any]) -> dict[str, Any]:
    shown = dict(islice(groups.items(), MOST_GROUPS))
    return {
        "more": len(groups) - len(shown),
        "name": axis.replace("_", " "),
        "main": axis in ("subject", "question_type"),
        "groups": [
            {
                "name": marks.group_name(axis, str(value)),
                "questions": group["questions"],
                "points": None if group["points"] is None else marks.points(group["points"]),
                "mark": mark,
                "open": marks.undecided(group["counts"]),
            }
            for (value, group), mark in zip(shown.items(), marks.group_marks(shown.values()), strict=True)
        ],
    }


def _metric_views(metrics: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {"name": name, "meaning": meaning_of(name), "shown": marks.shown(name, estimate), "unit": _unit(name)}
        for name, estimate in metrics.items()
        if estimate["low"] is not None
    ]


def _unit(metric: str) -> str:
    return "%" if metric_of(metric).scale == "share" else ""


def delta_views(deltas_of: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Differences between groups or tasks."""
    names = tuple(metric.name for metric in metrics())
    views = []
    for name, estimate in deltas_of.items():
        metric = next((piece for piece in name.split("/") if piece.startswith(names)), name)
        if metric != "OCS" and not metric_of(metric).is_family:
            views.append(
                {"name": name.replace("/", " · "), "unit": _unit(metric), "shown": marks.shown(metric, estimate)}
            )
    return views


def _token_row(kind: str, use: Mapping[str, Any]) -> dict[str, str]:
    return {
        "kind": kind,
        "sum": f"{use['sum']:,}",
        "mean": marks.number(use["mean"], 0),
        "median": marks.number(use["median"], 0),
        "missing": str(use["missing"] or ""),
    }


PLOT = (640.0, 240.0)
"""Width and height of the plot; 0 to 1 of the token limit across, 0 to 100 per cent up."""
READING_SHIFT = 3.0
"""Half the distance of the two readings at one r."""


@dataclass(frozen=True)
class BudgetLine:
    """One r: allowed tokens, and Acc≤r in both readings (`true` None: no request had that limit)."""

    share: str
    tokens: str
    true: marks.ShownValue | None
    true_n: int | None
    cut: marks.ShownValue
    cut_n: int


def budget_curves(score: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Curves with a number other than "from none to all"."""
    for task, curve in score.get("budgets", {}).items():
        estimates = [point[reading] for point in curve["points"] for reading in ("true", "counterfactual")]
        bounds = [(estimate["low"], estimate["high"]) for estimate in estimates if estimate is not None]
        if any(low is not None and (low, high) != (0.0, 1.0) for low, high in bounds):
            yield task, curve


def budget_lines(curve: Mapping[str, Any]) -> list[BudgetLine]:
    """Table of a curve."""
    return [
        BudgetLine(
            share=f"{point['share']:g}",
            tokens=f"{point['tokens']:,}",
            true=_shown_budget(point["true"]),
            true_n=point["true"] and point["true"]["n"],
            cut=marks.shown("Acc≤", point["counterfactual"]),
            cut_n=point["counterfactual"]["n"],
        )
        for point in curve["points"]
    ]


def budget_notes(table: Sequence[BudgetLine]) -> list[str]:
    """Remarks on numbers, each once with its r."""
    remarks = grouped(
        (f"{reading}: {estimate.note}", line.share)
        for line in table
        for reading, estimate in (("true", line.true), ("counterfactual", line.cut))
        if estimate is not None and estimate.note
    )
    return [f"r = {', '.join(shares)}, {note}" for note, shares in remarks.items()]


def budget_plot(curve: Mapping[str, Any]) -> dict[str, Any]:
    """Curve as points in `PLOT`, with the ends of undecided ranges and confidence intervals.

    Returns:
        `width`, `height`; `true` and `cut`, lists of {x, low, high, ci_low, ci_high} (y downwards, CI may be None);
        `paths`, the counterfactual's lines at worst and best (one if equal); `ticks` across.
    """
    table, points = budget_lines(curve), curve["points"]
    true = [
        _plot_place(point["share"], line.true, -READING_SHIFT)
        for point, line in zip(points, table, strict=True)
        if line.true
    ]
    cut = [_plot_place(point["share"], line.cut, READING_SHIFT) for point, line in zip(points, table, strict=True)]
    return {
        "width": PLOT[0],
        "height": PLOT[1],
        "true": [point for point in true if point],
        "cut": [point for point in cut if point],
        "paths": list(
            dict.fromkeys(" ".join(f"{p['x']:.1f},{p[end]:.1f}" for p in cut if p) for end in ("low", "high"))
        ),
        "ticks": [{"x": tenth / 10 * PLOT[0], "share": f"{tenth / 10:g}"} for tenth in range(0, 11, 2)],
    }


def _shown_budget(estimate: Mapping[str, Any] | None) -> marks.ShownValue | None:
    return None if estimate is None else marks.shown("Acc≤", estimate)


def _plot_place(share: float, estimate: marks.ShownValue, shift: float) -> dict[str, float | None] | None:
    if estimate.low is None or estimate.high is None:
        return None

    def down(value: float | None) -> float | None:
        return None if value is None else PLOT[1] * (1 - value / 100)

    return {
        "x": share * PLOT[0] + shift,
        "low": down(estimate.low),
        "high": down(estimate.high),
        "ci_low": down(estimate.ci_low),
        "ci_high": down(estimate.ci_high),
    }


MOST_ROWS = 20
TESTS = {"mcnemar_exact": "exact McNemar", "sign_flip": "sign flips", "clustered_t": "t by paper"}
DELTA_HEADINGS = ("questions", "Δ accuracy", marks.INTERVAL, "p", "p (Holm)")


@dataclass(frozen=True)
class ShownDelta:
    """One Δ: a sentence for each metric, and tables by axis and value with cells under `DELTA_HEADINGS`."""

    title: str
    sentences: list[str]
    tables: dict[str, dict[str, list[str]]]


def shown_deltas(deltas: Sequence[Mapping[str, Any]]) -> list[ShownDelta]:
    """Every Δ for display."""
    return [ShownDelta(_delta_title(delta), list(_delta_sentences(delta)), _delta_tables(delta)) for delta in deltas]


def _delta_title(delta: Mapping[str, Any]) -> str:
    run, _, task = delta["task"].rpartition("/")
    other, _, base_task = delta["base"].rpartition("/")
    if task == base_task:
        return f"{task}, part by part: {run} minus {other}"
    return f"{delta['task']} minus {delta['base']}: {delta['differs']}"


def _delta_sentences(delta: Mapping[str, Any]) -> Iterator[str]:
    left_out = [
        f"{delta[side]:,} that only {delta[name]} asked"
        for side, name in (("only_task", "task"), ("only_base", "base"))
        if delta[side]
    ]
    yield f"{delta['shared']:,} shared questions" + (f"; left out: {' and '.join(left_out)}" if left_out else "")
    for name in tested_metrics():
        if name in delta["metrics"] and not (name == "mark" and _same_as_accuracy(delta["metrics"])):
            yield f"Δ {in_words(name)} {tested(name, delta['metrics'][name])}"


def _same_as_accuracy(metrics: Mapping[str, Any]) -> bool:
    mark, accuracy = metrics["mark"]["difference"], metrics.get("accuracy", {}).get("difference")
    return accuracy is not None and all(
        abs(mark[end] - 100 * accuracy[end]) < 1e-9 for end in ("low", "high") if mark[end] is not None
    )


def tested(name: str, estimate: Mapping[str, Any]) -> str:
    """A difference in words: "−12.5 (95 %: −20 to −5; p 0.004 by exact McNemar)"."""
    difference, test = marks.shown(name, estimate["difference"]), estimate["test"]
    notes = [f"95 %: {difference.ci}"] if difference.ci else []
    if test["p"] is not None:
        undecided = f", {test['undecided']:,} undecided left out of the test" if test["undecided"] else ""
        notes.append(f"p {p_value(test['p'])} by {TESTS[test['name']]}{undecided}")
    elif test["undecided"]:
        notes.append(f"no test: {test['undecided']:,} questions are undecided")
    return difference.text + (f" ({'; '.join(notes)})" if notes else "")


def _delta_tables(delta: Mapping[str, Any]) -> dict[str, dict[str, list[str]]]:
    return {
        axis.replace("_", " "): {marks.group_name(axis, value): _delta_cells(group) for value, group in values.items()}
        for axis, values in delta["groups"].items()
        if len(values) <= MOST_ROWS
    }


def _delta_cells(group: Mapping[str, Any]) -> list[str]:
    estimate = group["metrics"].get("accuracy")
    if estimate is None:
        return [f"{group['questions']:,}", "–", "", "–", "–"]
    difference, test = marks.shown("accuracy", estimate["difference"]), estimate["test"]
    p = [p_value(test["p"]), p_value(test["p_holm"])]
    return [f"{group['questions']:,}", difference.text, difference.ci, *p]


EXAM_HEADINGS = ("mark", "of", marks.INTERVAL, "percentile", "grade", "chance of each grade")
_SHOWN_CHANCE = 0.005


@dataclass(frozen=True)
class ExamTable:
    """A table of an exam: rows by name, with indents, below some of `EXAM_HEADINGS`."""

    heading: str
    headings: list[str]
    rows: list[tuple[str, int, list[str]]]


@dataclass(frozen=True)
class ExamView:
    """An exam: its sentences and tables."""

    title: str
    sentences: list[str]
    tables: list[ExamTable] = field(default_factory=list)


def exam_views(figures: Sequence[Mapping[str, Any]]) -> list[ExamView]:
    """Exams of a run."""
    views = []
    for exam in figures:
        title = f"{exam['name']}, {' + '.join(exam['tasks'])}"
        tables = [("section", exam["rows"]), ("combination", exam["combinations"])]
        shown = [_exam_table(heading, [(row["name"], row) for row in rows]) for heading, rows in tables if rows]
        views.append(ExamView(title, [*_exam_sentences(exam), *_source(exam)], shown))
    return views


def compared_exams(runs: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[ExamView]:
    """Each exam with a row a run, of whole exams."""
    whole = grouped(
        (f"{exam['name']}, {' + '.join(exam['tasks'])}", (run, exam)) for run, exams in runs.items() for exam in exams
    )
    views = []
    for title, entries in whole.items():
        marked = [(run, exam["rows"][0]) for run, exam in entries if exam["rows"]]
        sentences = [f"{run}: {sentence}" for run, exam in entries for sentence in _exam_sentences(exam)]
        sources = dict.fromkeys(source for _, exam in entries for source in _source(exam))
        views.append(ExamView(title, [*sentences, *sources], [_exam_table("run", marked)] if marked else []))
    return views


def _exam_table(heading: str, rows: Sequence[tuple[str, Mapping[str, Any]]]) -> ExamTable:
    cells = [row_cells(row) for _, row in rows]
    kept = [n for n in range(len(EXAM_HEADINGS)) if any(row[n] for row in cells)]
    names = [(name, row["depth"]) for name, row in rows]
    shown = [(*name, [row[n] for n in kept]) for name, row in zip(names, cells, strict=True)]
    return ExamTable(heading, [EXAM_HEADINGS[n] for n in kept], shown)


def row_cells(row: Mapping[str, Any]) -> list[str]:
    """Cells below `EXAM_HEADINGS`, empty where there is no scale."""
    ci, percentile, grades = row["ci"], row["percentile"], row["grades"]
    return [
        _between(row["low"], row["high"], 2),
        marks.points(row["points"]),
        marks.span(*ci) if ci else "",
        _between(*percentile[:2]) + (f" ({marks.span(*percentile[2:])})" if len(percentile) > 2 else "")
        if percentile
        else "",
        " – ".join(dict.fromkeys(grades)) if grades else "",
        ", ".join(
            f"{grade} {_between(100 * low, 100 * high, 0)} %"
            for grade, (low, high) in row["chances"].items()
            if high >= _SHOWN_CHANCE
        ),
    ]


def _between(low: float, high: float, digits: int = 1) -> str:
    return marks.number(low, digits) if marks.number(low, 6) == marks.number(high, 6) else marks.span(low, high, digits)


def _exam_sentences(exam: Mapping[str, Any]) -> Iterator[str]:
    if not exam["rows"]:
        yield f"no mark: {exam['missing']} of its questions were not asked"
        return
    whole = exam["rows"][0]
    if exam["missing"]:
        yield f"{exam['missing']} questions of elective sections were not asked"
    if whole["electives"]:
        how = "worst" if exam["combination"] == "worst" else "best"
        yield f"elective sections ({how}): {' or '.join(', '.join(names) for names in whole['electives'])}"
    if whole["sittings"]:
        sums = ", ".join(_between(low, high, 2) for low, high in whole["sittings"])
        yield f"{len(whole['sittings'])} sittings: {sums} points"
    if items := exam["items"]:
        yield _correlation(items)
    if errors := exam["errors"]:
        ci = f", {marks.span(*(100 * end for end in errors['ci']))}" if errors["ci"] else ""
        yield (
            f"{errors['same']} of {errors['wrong']} wrong answers ({marks.number(100 * errors['share'])} %{ci}) are the"
            f" commonest wrong option of people; guessing among wrong options: {marks.number(100 * errors['chance'])} %"
        )


def _source(exam: Mapping[str, Any]) -> list[str]:
    return [f"people's results: {'; '.join(exam['sources'])}"] if exam["sources"] else []


def _correlation(items: Mapping[str, Any]) -> str:
    left_out = f", {items['open']} open ones left out" if items["open"] else ""
    if items["correlation"] is None:
        return f"no correlation with people's rates over {items['questions']} questions{left_out}: one does not vary"
    low, high = items["ci"] or (0.0, 0.0)
    ci = f" (95 %: {marks.span(low, high, 2)})" if items["ci"] else ""
    return (
        f"correlation of marks with people's rates over {items['questions']} questions{left_out}:"
        f" {marks.number(items['correlation'], 2)}{ci}"
    )


NOT_MEASURED = "not measured"
MEANING = (
    "Energy and busy share are those of the GPUs while the model under test was ready, whoever used them; a mark is a"
    " point of an answer, over all trials."
)


def usage_columns(usage: Mapping[str, RunUsage], names: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Figures of asking, a column each."""
    rows = [_usage_figures(usage.get(name)) for name in names]
    headings = ("tokens/s", "GPU busy %", "Wh", "Wh per mark")
    return [
        (heading, [figure or NOT_MEASURED for figure in figures])
        for heading, figures in zip(headings, zip(*rows, strict=True), strict=True)
    ]


def usage_sentences(usage: RunUsage | None) -> Iterator[str]:
    """A line for asking, and one for judging with a loaded model."""
    if usage is None:
        return
    pace, busy, energy, per_mark = _usage_figures(usage)
    yield _usage_sentence("asking", pace, busy, energy, f", {per_mark} Wh per mark" if per_mark else "")
    if usage["judging"] is not None:
        yield _usage_sentence("judging", *_of_stage(usage["judging"]))


def _watt_hours(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _usage_sentence(stage: str, pace: str, busy: str, energy: str, more: str = "") -> str:
    tokens = f"{pace} completion tokens a second" if pace else f"tokens a second {NOT_MEASURED}"
    if not busy and not energy:
        return f"{stage}: {tokens}; energy and busy share of GPUs {NOT_MEASURED}"
    share = f"GPUs busy {busy} % of the time" if busy else f"busy share of GPUs {NOT_MEASURED}"
    return f"{stage}: {tokens}; {share}; " + (f"{energy} Wh{more}" if energy else f"energy {NOT_MEASURED}")


def _usage_figures(usage: RunUsage | None) -> tuple[str, str, str, str]:
    """Tokens a second, busy share, watt-hours, watt-hours per mark; "" where not measured."""
    if usage is None:
        return "", "", "", ""
    low, high = (_watt_hours(end) for end in usage["watt_hours_per_mark"] or (0.0, 0.0))
    per_mark = (low if low == high else f"{low} to {high}") if usage["watt_hours_per_mark"] else ""
    return (*_of_stage(usage["asking"]), per_mark)


def _of_stage(usage: Usage) -> tuple[str, str, str]:
    pace, busy, energy = usage["tokens_a_second"], usage["busy"], usage["watt_hours"]
    return (
        "" if pace is None else f"{pace:,.1f}",
        "" if busy is None else f"{100 * busy:.0f}",
        "" if energy is None else _watt_hours(energy),
    )


BAR_WIDTH = 320
"""Of the longest bar."""
_MIB = 1 << 20
_UNITS = ((3600.0, "h"), (60.0, "min"), (1.0, "s"))
_KINDS: Mapping[Stage, str] = {"generate": "asking", "judge": "judging", "mark": "marking"}
Spans = list[tuple[float, float]]


def time_bars(sessions: Sequence[Session]) -> dict[str, Any] | None:
    """Bars of loading, asking, judging, marking by rules and waiting, a sentence on each session; None without one.

    Returns:
        `width`; `bars`, each with `kind`, `time` in words and `width`; `sentences`.
    """
    if not sessions:
        return None
    loading = [(each.started, each.at if each.loaded is None else each.loaded) for each in sessions]
    spans: dict[str, Spans] = {"loading": loading, **{kind: [] for kind in _KINDS.values()}}
    for each in sessions:
        if each.loaded is not None:
            spans[_KINDS[each.stage]].append((each.loaded, each.at))
    up = [(each.started, each.at) for each in sessions]
    seconds = {kind: covered(ranges) for kind, ranges in spans.items()}
    seconds["waiting"] = max(0.0, max(end for _, end in up) - min(begin for begin, _ in up) - covered(up))
    longest = max(seconds.values()) or 1.0
    bars = [
        {"kind": kind, "time": duration(spent), "width": f"{BAR_WIDTH * spent / longest:.1f}"}
        for kind, spent in seconds.items()
        if spent >= 0.1
    ]
    return {"width": BAR_WIDTH, "bars": bars, "sentences": [_session_sentence(each) for each in sessions]}


def duration(seconds: float) -> str:
    """A duration in its largest unit."""
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"


def _session_sentence(session: Session) -> str:
    details = []
    if session.requests is not None:
        pace = session.requests_a_second
        details.append(
            f"{session.requests:,} {'answers' if session.stage == 'mark' else 'requests'}"
            + ("" if pace is None else f", {pace:,.2f} a second")
        )
    if session.stage != "mark":
        details += filter(None, (_tokens(session), _gpus(session)))
    if session.peak_rss is not None:
        details.append(f"at most {session.peak_rss / GIB:.2f} GiB in its process")
    if session.written is not None:
        details.append(f"{session.written / _MIB:,.1f} MiB written")
    who = session.model if session.stage == "mark" else f"{session.model} ({session.engine})"
    return f"{_KINDS[session.stage]}: {who}, {duration(session.seconds)}" + "".join(f"; {k}" for k in details)


def _tokens(session: Session) -> str:
    pace = session.tokens_a_second
    return "" if pace is None else f"{pace:,.1f} completion tokens a second"


def _gpus(session: Session) -> str:
    if not session.gpus or session.loaded is None:
        return ""
    busy = "busy share not measured" if session.busy is None else f"busy {session.busy:.0%} of the time"
    joules = session.joules
    return f"GPUs {busy}, " + ("energy not measured" if joules is None else f"{_watt_hours(joules / 3600)} Wh")
