"""Exams as their boards mark them: sections, electives, weights, grades, results of people.

Contract: `exam.yaml` names questions by number, a built exam (`resolve`) by id and with all points. Built exams are in
`EXAMS` of a dataset and of the runs that took them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import chain, combinations, pairwise
from math import prod
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError, model_validator

from livek12.core.errors import UserError, why
from livek12.core.files import read_yaml
from livek12.core.records import MOST_POINTS, Record
from livek12.core.text import one_line

EXAMS = "exams.json"
SOURCE = "exam.yaml"
MAX_SOURCE = 1 << 18
MAX_BUILT = 16 << 20
MOST_CHOICES = 200
"""Most combinations of elective sections that an exam lists."""
_MOST_SECTIONS = 20_000
_DEEPEST = 8
_LONGEST_RANGE = 1_000
_CLOSE = 1e-6
_ROUNDING = 0.005
"""By how much shares that were rounded may miss their sum."""
_RANGE = re.compile(r"(\d{1,6})\s*[-–~]\s*(\d{1,6})")


def _text(value: object) -> object:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


Text = Annotated[str, Field(min_length=1, max_length=200), BeforeValidator(_text)]
Amount = Annotated[float, Field(ge=0, le=MOST_POINTS, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, le=MOST_POINTS, allow_inf_nan=False)]
People = Annotated[float, Field(ge=0, le=1e10, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class ItemResults(Record):
    """Share of people that got a question right, and that chose each option."""

    rate: Share | None = None
    options: dict[Text, Share] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _sums(self) -> ItemResults:
        if (total := sum(self.options.values())) > 1 + _ROUNDING * len(self.options):
            raise ValueError(f"the shares of its options add up to {total:g}, which is more than 1")
        return self


class ExamScale(Record):
    """Grades and people's scores of a section.

    Attributes:
        of: its maximum; default: the points of the section.
        cutoffs: the lowest score of each grade, the best grade first.
        distribution: people, or their shares, by score.
    """

    of: Positive | None = None
    cutoffs: dict[Text, Amount] = Field(default_factory=dict)
    distribution: dict[Amount, People] = Field(default_factory=dict)
    people: People | None = None
    source: Text | None = None

    @model_validator(mode="after")
    def _sound(self) -> ExamScale:
        limits = list(self.cutoffs.items())
        for (grade, limit), (lower, below) in pairwise(limits):
            if below >= limit:
                raise ValueError(f"cut-offs out of order: {lower} needs {below:g} and {grade}, above it, {limit:g}")
        if self.distribution:
            self._check_people()
        return self

    def _check_people(self) -> None:
        total = sum(self.distribution.values())
        if self.people is not None:
            if abs(total - self.people) > _CLOSE:
                raise ValueError(f"the distribution has {total:g} people and the scale states {self.people:g}")
        elif any(count % 1 for count in self.distribution.values()):
            slack = _ROUNDING * len(self.distribution)
            if abs(total - 1) > slack / 100 and abs(total - 100) > slack:
                raise ValueError(f"the distribution's shares add up to {total:g}, neither 1 nor 100")
        elif not total:
            raise ValueError("the distribution has no people")

    def check_maximum(self, points: float) -> None:
        """ValueError for a score above the scale's maximum."""
        most = self.of or points
        for what, score in ((f"cut-off {name}", limit) for name, limit in self.cutoffs.items()):
            _check_score(what, score, most)
        if self.distribution:
            _check_score("distribution", max(self.distribution), most)


def _check_score(what: str, score: float, most: float) -> None:
    if score > most + _CLOSE:
        raise ValueError(f"{what}: {score:g} is more than the scale's {most:g}")


class ExamSection(Record):
    """A part of an exam: questions, or sections of its own.

    Attributes:
        take: how many of its sections a candidate takes; default: all.
        paper: of its questions and those of its sections.
        questions: numbers, ranges of them, ids, or the beginning of ids and "*".
        weight: points on that scale for a point of a question.
        wrong: points of a question taken off for a wrong answer; none for a blank.
    """

    name: Text
    sections: list[ExamSection] = Field(default_factory=list)
    take: Annotated[int, Field(ge=1)] | None = None
    paper: Text | None = None
    questions: Annotated[list[Text], BeforeValidator(lambda given: given if isinstance(given, list) else [given])] = (
        Field(default_factory=list)
    )
    points: Positive | None = None
    weight: Positive = 1.0
    wrong: Amount = 0.0
    scale: ExamScale | None = None
    items: dict[Text, ItemResults] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _shape(self) -> ExamSection:
        if bool(self.sections) == bool(self.questions):
            what = "both questions and sections" if self.questions else "neither questions nor sections"
            raise ValueError(f"{self.name} has {what}")
        if self.take is not None and self.take > len(self.sections):
            raise ValueError(f"{self.name}: take {self.take} of {len(self.sections)} sections")
        if self.items and not self.questions:
            raise ValueError(f"{self.name}: items belong to the section that has their questions")
        return self

    @property
    def ids(self) -> list[str]:
        """All its questions."""
        return [*self.questions, *chain.from_iterable(section.ids for section in self.sections)]

    def leaves(self) -> Iterator[ExamSection]:
        """Sections with questions."""
        if self.questions:
            yield self
        for section in self.sections:
            yield from section.leaves()

    def choices(self) -> int:
        """Number of combinations; of more than `MOST_CHOICES` sections only that there are more than these."""
        counts = [section.choices() for section in self.sections]
        if self.take in (None, len(counts)):
            return prod(counts)
        if len(counts) > MOST_CHOICES:  # a stranger's file may have very many
            return len(counts)
        take = self.take or 0
        ways = [1] + [0] * take
        for count in counts:
            ways = [ways[0], *(ways[n] + ways[n - 1] * count for n in range(1, take + 1))]
        return ways[take]

    def combined(self) -> Iterator[tuple[ExamSection, ...]]:
        """Leaves of each combination."""
        if self.questions:
            yield (self,)
            return
        for taken in combinations(self.sections, self.take or len(self.sections)):
            yield from _crossed(taken)


def _crossed(sections: Sequence[ExamSection]) -> Iterator[tuple[ExamSection, ...]]:
    if not sections:
        yield ()
        return
    for first in sections[0].combined():
        yield from ((*first, *others) for others in _crossed(sections[1:]))


class Exam(ExamSection):
    """A whole exam; `all` takes the best combination and lists all."""

    combination: Literal["best", "worst", "all"] = "best"
    benchmark: str = ""


QuestionName = tuple[str, str]
"""Benchmark and id."""
AnySection = TypeVar("AnySection", bound=ExamSection)
_EXAMS: TypeAdapter[list[Exam]] = TypeAdapter(list[Exam])


def read_source(file: Path) -> list[Exam]:
    """Exams of an `exam.yaml`, one or a list; UserError names the entry that is wrong."""
    content = read_yaml(file, MAX_SOURCE)
    exams = content if isinstance(content, list) else [content]
    if not exams:
        raise UserError(f"{file}: has no exam")
    try:
        _check_depth(exams)
        return _EXAMS.validate_python(exams, strict=True)
    except ValueError as error:
        raise UserError(f"{file}: {_first(exams, error)}") from None


def read_built(file: Path) -> list[Exam]:
    """Exams of a dataset or a run; none without the file."""
    try:
        with file.open("rb") as stream:
            content = stream.read(MAX_BUILT + 1)
        if len(content) > MAX_BUILT:
            raise ValueError(f"it has more than {MAX_BUILT >> 20} MiB")
        exams = _EXAMS.validate_json(content)
        if sum(sum(1 for _ in exam.leaves()) for exam in exams) > _MOST_SECTIONS:
            raise ValueError(f"it has more than {_MOST_SECTIONS:,} sections")
        if any(exam.combination == "all" and exam.choices() > MOST_CHOICES for exam in exams):
            raise ValueError(f"an exam has more than {MOST_CHOICES} combinations")
        return exams
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise UserError(
            f"{file}: cannot be read ({one_line(why(error), 160)}); `livek12 build` and `report` write it again"
        ) from None


def written(exams: Sequence[Exam]) -> str:
    """Text of the file of built exams."""
    return _EXAMS.dump_json(list(exams), indent=1, exclude_defaults=True).decode() + "\n"


def _check_depth(content: Any, depth: int = 0) -> None:
    if depth > 2 * _DEEPEST:
        raise ValueError(f"sections lie more than {_DEEPEST} deep in each other")
    for entry in content.values() if isinstance(content, dict) else content if isinstance(content, list) else ():
        _check_depth(entry, depth + 1)


def _first(content: Any, error: ValueError) -> str:
    if not isinstance(error, ValidationError):
        return one_line(error, 200)
    first = error.errors(include_url=False)[0]
    steps: list[str] = []
    for step in first["loc"]:
        above, content = content, _element(content, step)
        if isinstance(content, dict) and "name" in content:
            steps.append(one_line(content["name"], 60))
        elif isinstance(above, dict) and step not in ("sections", "[key]"):
            steps.append(one_line(step, 60))
    given = "" if isinstance(first["input"], dict | list) else f" ({one_line(first['input'], 60)})"
    message = first["msg"].removeprefix("Value error, ")
    return f"{' / '.join(steps) or 'exam'}: {message}{given if message != first['msg'] or first['loc'] else ''}"


def _element(content: Any, step: int | str) -> Any:
    if isinstance(content, dict):
        return next((value for key, value in content.items() if str(key) == str(step)), None)
    return content[step] if isinstance(content, list) and isinstance(step, int) and step < len(content) else None


class AskedQuestion(NamedTuple):
    """A question of a dataset."""

    id: str
    benchmark: str
    paper: str | None
    number: str | None
    points: float | None


def resolve(exams: Iterable[Exam], questions: Sequence[AskedQuestion], where: str) -> list[Exam]:
    """Built exams; UserError names the section that does not fit the questions."""
    resolver = _Resolver(questions)
    built = []
    for exam in exams:
        try:
            built.append(resolver.exam(exam))
        except ValueError as error:
            raise UserError(f"{where}: {one_line(error, 600)}") from None
    taken = {id for exam in built for id in exam.ids}
    papers = {question.paper for question in questions if question.id in taken}
    for question in questions:
        if question.paper in papers and question.id not in taken:
            number = f", number {question.number}" if question.number else ""
            raise UserError(f"{where}: question {one_line(question.id, 80)}{number} is in no section")
    return built


class _Resolver:
    def __init__(self, questions: Sequence[AskedQuestion]) -> None:
        self._taken = set[str]()
        self._by_id = {question.id: question for question in questions}
        self._by_paper: dict[str | None, list[AskedQuestion]] = {}
        self._by_number: dict[tuple[str | None, str], list[AskedQuestion]] = {}
        for question in questions:
            for paper in {question.paper, None}:
                self._by_paper.setdefault(paper, []).append(question)
                self._by_number.setdefault((paper, question.number or ""), []).append(question)

    def exam(self, exam: Exam) -> Exam:
        self._taken = set()
        built = self._section(exam, exam.paper, 1.0, exam.name)
        benchmarks = {self._by_id[id].benchmark for id in built.ids}
        if len(benchmarks) > 1:
            raise ValueError(f"{exam.name}: its questions are of {' and '.join(sorted(benchmarks))}")
        if exam.combination == "all" and built.choices() > MOST_CHOICES:
            raise ValueError(f"{exam.name}: has more than {MOST_CHOICES} combinations, which `all` lists; take `best`")
        return built.model_copy(update={"benchmark": benchmarks.pop()})

    def _section(self, section: AnySection, paper: str | None, factor: float, path: str) -> AnySection:
        paper, factor = section.paper or paper, factor * section.weight
        sections = [
            self._section(each, paper, factor, f"{path} / {one_line(each.name, 40)}") for each in section.sections
        ]
        ids = []
        for id in chain.from_iterable(self._ids(entry, paper, path) for entry in section.questions):
            if id in self._taken:
                raise ValueError(f"{path}: question {id} is in the exam twice")
            self._taken.add(id)
            ids.append(id)
        points = self._sum(ids, path) * factor if ids else _points_of(section, sections, path)
        if section.points is not None and abs(section.points - points) > _CLOSE:
            what = "questions" if ids else "sections"
            raise ValueError(f"{path}: its {what} add up to {points:g} points and it states {section.points:g}")
        if section.scale:
            try:
                section.scale.check_maximum(points)
            except ValueError as error:
                raise ValueError(f"{path}: scale: {error}") from None
        items = {self._item(name, ids, paper, path): item for name, item in section.items.items()}
        settled = {"sections": sections, "questions": ids, "points": points, "items": items, "paper": None}
        return section.model_copy(update={**settled, "weight": factor if ids else 1.0})

    def _item(self, name: str, ids: Sequence[str], paper: str | None, path: str) -> str:
        matches = [id for id in self._ids(name, paper, f"{path} / items", among=ids) if id in ids]
        if len(matches) != 1:
            raise ValueError(f"{path} / items: {name} is no question of the section")
        return matches[0]

    def _sum(self, ids: Sequence[str], path: str) -> float:
        points = [self._by_id[id].points for id in ids]
        if without := points.count(None):
            if without < len(points):
                raise ValueError(f"{path}: {without} of its {len(points)} questions state no points")
            return float(len(points))
        return sum(each or 0.0 for each in points)

    def _ids(self, entry: str, paper: str | None, path: str, among: Sequence[str] = ()) -> Iterator[str]:
        if entry in self._by_id:
            yield entry
            return
        if entry.endswith("*"):
            ids = [each.id for each in self._by_paper.get(paper, ()) if each.id.startswith(entry[:-1])]
            if not ids:
                raise ValueError(f"{path}: {entry} is no question{f' of paper {paper}' if paper else ''}")
            yield from ids
            return
        ends = _RANGE.fullmatch(entry)
        first, last = (int(ends[1]), int(ends[2])) if ends else (0, 0)
        if ends and not 0 <= last - first < _LONGEST_RANGE:
            raise ValueError(f"{path}: {entry} is no range of questions")
        for number in map(str, range(first, last + 1)) if ends else [entry]:
            matches = [each for each in self._by_number.get((paper, number), ()) if not among or each.id in among]
            if len(matches) != 1:
                where = f" of paper {paper}" if paper else ""
                what = "no question" if not matches else f"{len(matches)} questions ({matches[0].id}, {matches[1].id})"
                raise ValueError(f"{path}: number {number} is {what}{where}{'; give ids' if matches else ''}")
            yield matches[0].id


def _points_of(section: ExamSection, sections: Sequence[ExamSection], path: str) -> float:
    points = [each.points or 0.0 for each in sections]
    if section.take is None:
        return sum(points)
    if max(points) - min(points) > _CLOSE:
        raise ValueError(f"{path}: takes {section.take} of sections of {min(points):g} and of {max(points):g} points")
    return section.take * points[0]


def shared(exams: Iterable[Exam], kept: Set[QuestionName], keyless: Set[QuestionName]) -> list[Exam]:
    """Exams whose questions are all kept, without people's results on keyless ones."""
    whole = (exam for exam in exams if kept >= {(exam.benchmark, id) for id in exam.ids})
    return [_without_items(exam, exam.benchmark, keyless) for exam in whole]


def _without_items(section: AnySection, benchmark: str, keyless: Set[QuestionName]) -> AnySection:
    sections = [_without_items(each, benchmark, keyless) for each in section.sections]
    items = {id: item for id, item in section.items.items() if (benchmark, id) not in keyless}
    return section.model_copy(update={"sections": sections, "items": items})


def exam_lines(section: ExamSection, depth: int = 0) -> Iterator[tuple[int, str, str, str]]:
    """Rows of a card: depth, name, points, and the rest in words."""
    scale = section.scale or ExamScale()
    parts = [
        f"{len(section.questions)} questions" if section.questions else "",
        f"{section.take} of {len(section.sections)}" if section.take else "",
        f"weight {section.weight:g}" if section.weight != 1 else "",
        f"{section.wrong:g} off for a wrong answer" if section.wrong else "",
        ", ".join(f"{grade} from {limit:g}" for grade, limit in scale.cutoffs.items()),
        "scores of people" if scale.distribution else "",
        "results of people by question" if section.items else "",
        f"source: {scale.source}" if scale.source else "",
    ]
    yield depth, section.name, f"{section.points or 0:g}", "; ".join(filter(None, parts))
    for each in section.sections:
        yield from exam_lines(each, depth + 1)
