"""Frame of all studies: judges' opinions, numbers in words, shares, a result as sentences, tables and a page.

A share has bounds (low, high), at worst and best. A difference is of the same questions; its p is that of sign flips,
the larger of worst and best, and 1 where undecided answers could turn it. Intervals are around both bounds
(`core.statistics`).

Opinions are cached so that a killed study resumes. A judge is never the model under test nor of its family. A missing
or malformed reply is an opinion with a problem.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeAlias, TypeVar

from livek12.core.errors import UserError
from livek12.core.lazy import np, rich
from livek12.core.records import Key
from livek12.core.replies import Json, fields_of, parse_object
from livek12.core.run.folder import RunFolder
from livek12.core.scoring import Row
from livek12.core.statistics import holm, mean_interval, sign_flip_tests, wilson_interval
from livek12.core.visible import visible
from livek12.judges.jury import Jury
from livek12.judges.llm.forms import Form
from livek12.judges.llm.prompts import CannotShow, Case, Values, load_prompt
from livek12.report.charts import Chart, study_page
from livek12.report.marks import rounded
from livek12.report.tables import TableShown, as_text, written


def percent(share: float | None) -> str:
    """A share as "12.5 %", or – for None."""
    return "–" if share is None else f"{rounded(100 * share)} %"


def interval(low: float | None, high: float | None) -> str:
    """Two shares in percent; one where they are equal."""
    return percent(low) if low is None or percent(low) == percent(high) else f"{rounded(100 * low)} to {percent(high)}"


def share(share: float | None, interval: Sequence[float] | None) -> str:
    """A share with its 95 % interval, in brackets; "" without one."""
    if share is None or interval is None:
        return ""
    return f" ({percent(share)}, 95 % interval {rounded(100 * interval[0])} to {percent(interval[1])})"


def share_of(count: int, total: int) -> dict[str, Any]:
    """A share with Wilson's interval; None of nothing."""
    if not total:
        return {"share": None, "interval": None}
    return {"share": count / total, "interval": list(wilson_interval(count, total))}


def share_cell(share: Mapping[str, Any] | None) -> str:
    """A share with its interval in a table: "12.5 % [8.1–17.2]"; – for None."""
    if share is None or share["share"] is None:
        return "–"
    low, high = share["interval"]
    return f"{percent(share['share'])} [{rounded(100 * low)}–{rounded(100 * high)}]"


def spread(mean: float | None, std: float | None, digits: int = 1) -> str:
    """A mean ± its standard deviation; – for None."""
    return "–" if mean is None else f"{rounded(mean, digits)} ± {'–' if std is None else rounded(std, digits)}"


def span(ends: Sequence[float], sign: str = " to ") -> str:
    """Two shares as numbers of 100; one where they are equal."""
    return sign.join(dict.fromkeys(rounded(100 * end) for end in ends))


def chance(p: float | None) -> str:
    """A p in words."""
    return "no test" if p is None else "p < 0.001" if p < 0.001 else f"p {p:.3f}"


def number(value: float | None) -> str:
    """A coefficient, or – for None."""
    return "–" if value is None else f"{value:.2f}"


def listed(names: Sequence[str]) -> str:
    """Names, the last after "and"."""
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else ", ".join(names)


def points(shares: Sequence[float]) -> str:
    """A difference of shares, least to greatest, in signed points of 100."""
    texts = dict.fromkeys(("+" if share > 0 else "") + rounded(100 * share) for share in shares)
    return " to ".join(texts)


Found = Mapping[str, Any]
MOST_ROWS = 100
"""Of a table on a terminal."""


@dataclass(frozen=True)
class Study:
    """A kind of study with its sentences, charts and tables.

    Attributes:
        name: title of tables without one of their own.
        tables: of a result; None: all numbers of the result.
    """

    name: str
    sentences: Callable[[Found], Iterator[str]]
    question: str = ""
    charts: Callable[[Found], Iterable[Chart]] = lambda result: ()
    tables: Callable[[Found], Iterable[TableShown]] | None = None

    def written(self, result: Found, form: str) -> str:
        """Its tables as md, latex or csv, the page as html, the result as json."""
        if form == "json":
            return json.dumps(result, ensure_ascii=False, indent=1)
        tables = list(self.tables(result) if self.tables else all_numbers(self.name, result))
        if form == "html":
            title = self.question or f"Study: {self.name}"
            return study_page(title, self.sentences(result), self.charts(result), tables)
        return as_text([written(table) for table in tables], form)

    def show(self, result: Found) -> None:
        """Prints the sentences, then all tables."""
        console = rich.console.Console(markup=False, highlight=False)
        for sentence in self.sentences(result):
            console.print(visible(sentence), soft_wrap=True)
        console.print()
        for table in self.tables(result) if self.tables else all_numbers(self.name, result):
            _print(console, replace(table, rows=table.rows[:MOST_ROWS]))
            if len(table.rows) > MOST_ROWS:
                console.print(f"{len(table.rows) - MOST_ROWS:,} more rows; --format csv, --html FILE or --json has all")


# --- tables ---------------------------------------------------------------------------------------------------------


_OURS = frozenset(
    {"by_stage", "between_raters", "false_accepts", "false_rejects", "marked_by", "not_shared", "question_type"}
)
"""Keys of this package; all other keys are names of runs, judges, raters, tasks."""


_GAP = 3
"""Characters between two columns."""


def all_numbers(title: str, result: Found) -> Iterator[TableShown]:
    """Tables of a whole result, by section."""
    single = {name: value for name, value in result.items() if not isinstance(value, Mapping) and not _is_list(value)}
    if single:
        yield TableShown(title, ["", ""], [[_words(name), _cell(value)] for name, value in single.items()])
    for name, value in result.items():
        below = f"{title}: {_words(name) if name in _OURS else name}"
        if _is_list(value):
            yield _table(below, {str(number): row for number, row in enumerate(value, 1)})
        elif _is_group(value):
            yield from [_table(below, value)] if _is_table(value) else all_numbers(below, value)


def _is_group(value: Any) -> bool:
    return isinstance(value, Mapping) and bool(value)


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(entry, Mapping) for entry in value)


def _is_table(value: Found) -> bool:
    return all(
        _is_group(row) and not any(_is_group(cell) or _is_list(cell) for cell in row.values()) for row in value.values()
    )


def _table(title: str, rows: Mapping[str, Found]) -> TableShown:
    columns = list(dict.fromkeys(column for row in rows.values() for column in row))
    cells = ([name, *(_cell(row.get(column)) for column in columns)] for name, row in rows.items())
    return TableShown(title, ["", *map(_words, columns)], list(cells))


def _print(console: Any, table: TableShown) -> None:
    corner, *heads = map(visible, table.heads)
    names, *columns = [list(map(visible, column)) for column in zip(*table.rows, strict=True)] or [[]]
    cells = [list(line) for line in zip(*columns, strict=True)]
    parts = _parts(console.width, names, heads, cells)
    if any(heads) and len(names) < len(heads) and len(parts) > 1:
        heads, names, cells = names, heads, columns
        parts = _parts(console.width, names, heads, cells)
    console.print(visible(table.title), style="bold")
    for part in parts:
        shown = [rich.table.Column(heads[place], overflow="fold") for place in part]
        grid = rich.table.Table(corner, *shown, box=rich.box.SIMPLE_HEAD, show_header=any(heads))
        for name, line in zip(names, cells, strict=True):
            grid.add_row(name, *(line[place] for place in part))
        console.print(grid)


def _parts(width: int, names: Sequence[str], heads: Sequence[str], cells: Sequence[Sequence[str]]) -> list[list[int]]:
    named = _GAP + max(map(rich.cells.cell_len, names), default=0)
    parts: list[list[int]] = []
    left = 0
    for place, head in enumerate(heads):
        taken = _GAP + max(rich.cells.cell_len(text) for text in (head, *(line[place] for line in cells)))
        if not parts or taken > left:
            parts.append([])
            left = width - named
        parts[-1].append(place)
        left -= taken
    return parts


def _words(name: str) -> str:
    return name.replace("_", " ")


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, list):
        return "; ".join(_cell(entry) for entry in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{_words(name)} {_cell(entry)}" for name, entry in value.items())
    return " ".join(str(value).split())


Share: TypeAlias = tuple[float, float]


def mean_share(shares: Sequence[Share]) -> Share:
    """Mean of one or more shares."""
    return sum(low for low, _ in shares) / len(shares), sum(high for _, high in shares) / len(shares)


def mean_of(shares: Sequence[Share]) -> dict[str, Any]:
    """Over questions: `questions`, `low`, `high` and the 95 % `interval` (None for one question)."""
    return {"questions": len(shares), **_ends(shares, 0.0)}


def difference(a: Mapping[str, Share], b: Mapping[str, Share]) -> dict[str, Any] | None:
    """A minus b over shared questions, with interval and p; None without any."""
    shared = [id for id in a if id in b]
    if not shared:
        return None
    apart = [(a[id][0] - b[id][1], a[id][1] - b[id][0]) for id in shared]
    return {"questions": len(shared), **_ends(apart, -1.0), "p": _p(apart)}


def add_holm(cells: Iterable[dict[str, Any]]) -> None:
    """Adds Holm's correction to each p."""
    cells = list(cells)
    for cell, p in zip(cells, holm([cell["p"] for cell in cells]), strict=True):
        cell["p_holm"] = p


def _ends(shares: Sequence[Share], least: float) -> dict[str, Any]:
    low, high = (mean_interval(np.array(end), least=least) for end in zip(*shares, strict=True))
    return {"low": low[0], "high": high[0], "interval": [low[1], high[2]] if len(shares) > 1 else None}


def _p(apart: Sequence[Share]) -> float | None:
    low, high = (sum(end) for end in zip(*apart, strict=True))
    if len(apart) < 2:
        return None
    if low < 0 < high:
        return 1.0
    return max(sign_flip_tests(np.array(apart)))


def mean_said(mean: Mapping[str, Any]) -> str:
    """A mean in words: "12.5 % (8 to 17 %)"."""
    low, high = mean["low"], mean["high"]
    text = percent(low) if low == high else f"{percent(low)} to {percent(high)}"
    ends = mean["interval"]
    return f"{text} ({percent(ends[0])} to {percent(ends[1])})" if ends else text


def difference_said(cell: Mapping[str, Any]) -> str:
    """A difference in words: "+12.5 (95 % interval +8 to +17, p 0.004)"."""
    ends = cell["interval"]
    text = points([cell["low"], cell["high"]])
    if not ends:
        return text
    return f"{text} (95 % interval {points(ends[:1])} to {points(ends[1:])}, {chance(cell['p'])})"


T = TypeVar("T")


@dataclass(frozen=True)
class Opinions(Generic[T]):
    """Judges' opinions on one answer: (judge, value or None, problem)."""

    given: tuple[tuple[str, T | None, str], ...]

    @property
    def values(self) -> list[T]:
        """The usable values."""
        return [value for _, value, _ in self.given if value is not None]

    @property
    def problem(self) -> str:
        """Reason without a usable value; "" otherwise."""
        if self.values:
            return ""
        return "; ".join(dict.fromkeys(problem for _, _, problem in self.given)) or "no judge may judge this answer"


@dataclass(frozen=True, eq=False)
class JsonForm(Generic[T]):
    """Form of a reply with exactly the fields of `schema`; `parse` raises Unreadable for other values."""

    schema: Json
    parse: Callable[[Json], T]

    def read(self, text: str) -> T:
        """Parses a reply."""
        return self.parse(fields_of(parse_object(text), *self.schema["properties"]))


@dataclass(frozen=True)
class AskedOf(Generic[T]):
    """Request to judges: prompt name, its values (CannotShow without a needed picture), form of the reply."""

    prompt: str
    values: Callable[[Row, Case], Values]
    form: Callable[[Row], Form[T]]


def authors_of(folder: RunFolder) -> tuple[str, ...]:
    """Names of the model under test."""
    spec = folder.spec()
    return tuple(filter(None, (spec.model, spec.model_revision)))


def consult(
    jury: Jury,
    rows: Sequence[Row],
    request: AskedOf[T],
    authors: Iterable[str],
    sees: Callable[[Row], bool],
    step: Callable[[], None],
) -> list[Opinions[T]]:
    """Opinions on each answer, in order; judges never judge themselves or their family.

    Rows have pictures where `sees` grants them to judges; `authors` names the model under test.
    """
    panel, names = jury.panel, frozenset(authors)
    assert panel is not None, "a study with judges has a panel"
    if rows and not panel.eligible(names):
        raise UserError(f"none of the judges may judge {', '.join(names)} (never itself nor its family): name others")

    def one(row: Row) -> Opinions[T]:
        text = row.response.text if row.response else ""
        case = Case(f"{row.task}/{row.question.id}/{row.trial}", row.question, text, shows_images=sees(row))
        key = Key(task=request.prompt, question_id=case.id)
        try:
            values = request.values(row, case)
        except CannotShow as error:
            step()
            return Opinions((("", None, str(error)),))
        given = panel.consult(case, names, None, lambda judge: judge.ask(key, prompt, values, request.form(row)))
        step()
        return Opinions(tuple((judge.name, answer.value, answer.problem) for judge, answer in given))

    prompt = load_prompt(request.prompt)
    with ThreadPoolExecutor(jury.threads) as pool:
        return list(pool.map(one, rows))
