"""The answers of a packed run in columns: what scores are made of, straight from the columns of `core.packed`.

Contract: the same as from `RunFolder.rows(texts=False)`, answer by answer; `packed_answers` gives None where only rows
can say it (journals beside what is packed, lines that hold no record, files of earlier versions). Responses are read by
column, and of verdicts that say the same but for key and hash one: a row is made of one in many thousand answers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from livek12.core.light import LightResponse, without_key
from livek12.core.packed import PackedLines, packed_path
from livek12.core.packed_columns import OnlyRows, QuestionTable, Responses, Verdicts
from livek12.core.records import UNMARKED, Failure, Key, Question, Record, Response, Verdict
from livek12.core.rows import Row
from livek12.core.run.folder import RunFolder
from livek12.core.run.journal import Index, journal_files
from livek12.core.run.keys import Expected
from livek12.core.run.markings import RegradeCounts, counts_over, read_regrades, regraded
from livek12.core.run_answers import AnswerOrigin, ScoredAnswers, answered, marked
from livek12.core.run_rows import row_of
from livek12.core.scoring.columns import Findings, Numbers, Outcomes
from livek12.core.scoring.outcomes import AnswerFinding, Slim, finding_of

if TYPE_CHECKING:
    from livek12.core.statistics import Bools, Codes, Indices

K = TypeVar("K", bound=Record)
_REMEMBERED = 4096
"""Verdicts that are held for those that say the same."""


def packed_answers(
    run: RunFolder,
    slim: Slim,
    takes: Callable[[Question], bool] = lambda question: True,
    versions: bool = False,
) -> PackedAnswers | None:
    """The answers of a run whose responses and verdicts are packed; None where only its rows say it.

    Args:
        run: the run.
        slim: makes the questions slim.
        takes: the questions whose answers are asked for.
        versions: whether origins tell engines and versions.

    Raises:
        UserError: a file cannot be read, or a verdict contradicts itself.
    """
    journals = [file for stem in ("responses", "verdicts") for file in journal_files(run.path, stem)]
    if any(file.stat().st_size for file in journals) or not packed_path(run.path, "responses").exists():
        return None
    try:
        return PackedAnswers(run, slim, takes, versions)
    except OnlyRows:
        return None


class PackedAnswers:
    """See `packed_answers`."""

    def __init__(self, run: RunFolder, slim: Slim, takes: Callable[[Question], bool], versions: bool) -> None:
        import numpy as np

        self._run, self._versions = run, versions
        spec = run.spec()
        self._known = spec.known_judges
        self._asked = QuestionTable(run, slim, takes)
        expected = Expected(run.path, spec.model, self._asked, spec.trials, run.on_problem)
        lines = PackedLines(packed_path(run.path, "responses"), light=True)
        self._responses = Responses(lines, self._asked, expected, spec.model, versions)
        self._failures = Index(run.path, "failures", Failure, spec.trials, on_problem=run.on_problem)
        self._verdicts: Verdicts | None = None
        if packed_path(run.path, "verdicts").exists():
            lines = PackedLines(packed_path(run.path, "verdicts"), light=True)
            self._verdicts = Verdicts(lines, self._asked, partial(counts_over, known=self._known))
        count = len(self._asked)
        self._shape: Codes = np.repeat(np.array(self._asked.shape, dtype=np.int32), spec.trials)
        self._findings = Numbers[AnswerFinding]()
        self._finding: Codes = np.full(count, -1, dtype=np.int32)
        self._marks = Numbers[tuple[str | None, str | None]]()
        self._mark: Codes = np.zeros(count, dtype=np.int32)
        self._put_verdicts()
        self._put_others()
        self._said = read_regrades(run.path, run.on_problem)
        taken: Bools = np.repeat(np.array(self._asked.taken, dtype=np.bool_), spec.trials)
        names = list(self._marks)
        self._judges = {names[mark][0] or UNMARKED for mark in np.unique(self._mark[taken]).tolist()}
        self._changes = RegradeCounts()
        self._put_regrades()

    # --- what each answer is found to be ---------------------------------------------------------------------------

    def _put_verdicts(self) -> None:
        """Those that are on the very response of their answer."""
        import numpy as np

        known: dict[tuple[bytes, str], int] = {}  # a verdict and its versions
        verdicts: list[Verdict] = []
        for places, lines, versions in self._verdicts.groups(self._versions) if self._verdicts else ():
            if len(known) > _REMEMBERED:
                known, verdicts = {}, []
            hashes, codes = [], []
            for row, line in enumerate(lines):
                cut = without_key(line)
                if cut is None:
                    raise OnlyRows
                hashes.append(cut[0])
                name = cut[1], versions[row] if versions else "{}"
                code = known.get(name)
                if code is None:
                    code = known[name] = len(verdicts)
                    verdicts.append(_verdict(line, name[1]))
                codes.append(code)
            sha256, code = np.array(hashes, dtype="S64"), np.array(codes, dtype=np.int64)
            fits = (self._responses.row[places] >= 0) & ((sha256 == b"") | (sha256 == self._responses.sha256[places]))
            self._put(places[fits], code[fits], verdicts)

    def _put(self, places: Indices, codes: Codes, verdicts: list[Verdict]) -> None:
        """Those of each verdict and shape of question alike, by the first of them."""
        import numpy as np

        kinds, first, kind = np.unique(
            codes * len(self._asked.shapes) + self._shape[places], return_index=True, return_inverse=True
        )
        columns: Codes = np.zeros((2, len(kinds)), dtype=np.int32)
        for number in np.argsort(first).tolist():
            at = first[number]
            verdict = verdicts[codes[at]]
            row = self._row(int(places[at]), verdict)
            numbers = self._findings[finding_of(row)], self._marks[marked(verdict)]
            columns[:, number] = numbers
        self._finding[places], self._mark[places] = columns[:, kind]

    def _row(self, place: int, verdict: Verdict | None) -> Row:
        """The row of an answer, but for a question that has as many parts and points, and what its response says."""
        number, trial = divmod(place, self._asked.trials)
        task, question = self._asked.task[number], self._asked.shapes[self._asked.shape[number]]
        key = Key(task=task, question_id=self._asked.slim[number].id, trial=trial)
        if self._responses.row[place] < 0:
            return row_of(task, question, trial, None, self._failures.find(key), None)
        response = LightResponse(key=key, text="", engine="", model="", hash="-")
        fitting = verdict and verdict.model_copy(update={"response_sha256": None})
        return row_of(task, question, trial, response, None, fitting)

    def _put_others(self) -> None:
        """Answers that nobody has marked, and those that never came."""
        import numpy as np

        came = self._responses.row >= 0
        places = np.flatnonzero(came & (self._finding < 0))
        first, shape = np.unique(self._shape[places], return_index=True, return_inverse=True)[1:]
        rows = [self._row(int(place), None) for place in places[first]]
        of = np.array([self._findings[finding_of(row)] for row in rows], dtype=np.int32)
        self._finding[places] = of[shape]
        self._mark[places] = self._marks[UNMARKED, ""]
        never = np.flatnonzero(~came)
        self._mark[never] = self._marks[None, None]
        for place in never.tolist() if len(self._failures) else never[:1].tolist():
            self._finding[place] = self._findings[finding_of(self._row(place, None))]
        if len(never) and not len(self._failures):
            self._finding[never] = self._finding[never[0]]

    def _put_regrades(self) -> None:
        """Marks that people set."""
        if not self._said:
            return
        questions, marks = {key[:2] for key in self._said}, list(self._marks)
        rows = self.rows(lambda task, question: (task, question.id) in questions, texts=False, judged=True)
        for row in regraded(rows, self._said, self._run.on_problem):
            if row.judged is None or row.verdict is None:
                continue
            place = self._asked.place(row.task, row.question.id, row.trial)
            self._finding[place] = self._findings[finding_of(row)]
            self._mark[place] = self._marks[row.verdict.judge, marks[self._mark[place]][1]]  # versions stay
            if self._asked.taken[place // self._asked.trials]:
                self._changes.add(row)

    # --- what is read of it ----------------------------------------------------------------------------------------

    def answers(self) -> ScoredAnswers:
        """All of them that are asked for."""
        import numpy as np

        asked, trials, responses = self._asked, self._asked.trials, self._responses
        tasks = list(dict.fromkeys(asked.task))
        number = {task: code for code, task in enumerate(tasks)}
        outcomes = Outcomes(
            tasks=tasks,
            questions=asked.slim,
            findings=Findings(list(self._findings)),
            task=np.repeat(np.array([number[task] for task in asked.task], dtype=np.int32), trials),
            question=np.repeat(np.arange(len(asked.slim), dtype=np.int32), trials),
            trial=np.tile(np.arange(trials, dtype=np.int32), len(asked.slim)),
            finding=self._finding,
            ending=responses.ending,
            came=responses.row >= 0,
            used=responses.used,
            spent=responses.spent,
        )
        origin: Indices = self._mark.astype(np.int64) * (len(responses.origins) + 1)
        if self._versions:
            origin += np.where(responses.row >= 0, responses.origin + 1, 0)
        if not all(asked.taken):
            taken: Bools = np.repeat(np.array(asked.taken, dtype=np.bool_), trials)
            outcomes, origin = outcomes.take(np.flatnonzero(taken)), origin[taken]
        return ScoredAnswers(outcomes, self._origins(origin), frozenset(self._judges), self._changes)

    def _origins(self, codes: Indices) -> dict[AnswerOrigin, int]:
        import numpy as np

        marks = list(self._marks)
        model = self._run.spec().model
        responses = [(None, None), *(_answered(model, *said) for said in self._responses.origins)]
        found: dict[AnswerOrigin, int] = {}
        names, first, counts = np.unique(codes, return_index=True, return_counts=True)
        for number in np.argsort(first).tolist():
            mark, response = divmod(int(names[number]), len(responses))
            origin = AnswerOrigin(*marks[mark], *responses[response])
            found[origin] = found.get(origin, 0) + int(counts[number])
        return found

    def rows(self, takes: Callable[[str, Question], bool], texts: bool, judged: bool = False) -> Iterator[Row]:
        """The rows of some questions.

        Args:
            takes: which, by task and question.
            texts: whether they come with their texts.
            judged: whether marks are those of the judges alone.
        """
        responses: _Records[Response] = _Records(
            self._run, "responses", Response if texts else LightResponse, not texts
        )
        verdicts = _Records(self._run, "verdicts", Verdict, not texts)
        rows = self._rows(takes, responses, verdicts)
        return rows if judged or not self._said else regraded(rows, self._said)

    def _rows(
        self, takes: Callable[[str, Question], bool], responses: _Records[Response], verdicts: _Records[Verdict]
    ) -> Iterator[Row]:
        for number, (task, question) in enumerate(self._run.each_question()):
            if not takes(task, question):
                continue
            for trial in range(self._asked.trials):
                place, key = number * self._asked.trials + trial, Key(task=task, question_id=question.id, trial=trial)
                response = responses.at(int(self._responses.row[place]))
                verdict = verdicts.at(int(self._verdicts.row[place])) if self._verdicts else None
                yield row_of(task, question, trial, response, self._failures.find(key), verdict)


class _Records(Generic[K]):
    """The records of a packed file by their rows."""

    def __init__(self, run: RunFolder, stem: str, model: type[K], light: bool) -> None:
        path = packed_path(run.path, stem)
        self._model = model
        self._lines = PackedLines(path, light) if path.exists() else None

    def at(self, row: int) -> K | None:
        return None if self._lines is None or row < 0 else self._model.model_validate_json(self._lines.at(row))


def _verdict(line: bytes, versions: str) -> Verdict:
    try:
        return Verdict.model_validate_json(line).model_copy(update={"versions": json.loads(versions)})
    except ValueError as error:
        raise OnlyRows from error


def _answered(model: str, engine: str, revision: str | None, versions: str) -> tuple[str | None, str | None]:
    key = Key(task="", question_id="")
    try:
        named = json.loads(versions)
        return answered(Response(key=key, text="", engine=engine, model=model, model_revision=revision, versions=named))
    except ValueError as error:
        raise OnlyRows from error
