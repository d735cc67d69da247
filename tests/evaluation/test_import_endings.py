"""How imported answers ended: what a log says, what its numbers tell, and what nobody knows."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from livek12.core.records import Key, Question, Request, Response, Verdict
from livek12.engines.replay import ReplayEngine, Tokenizer, ending
from livek12.evaluation.logs import as_jsonl
from livek12.judges.cascade import default_cascade
from livek12.judges.grade import GradingConfig
from livek12.tasks.plugins.harness_task import open_task
from livek12.tasks.scorer import mark_response
from tests.plugins.conftest import needs, write_rows
from tests.scripts.command import livek12_here

needs("tokenizers", "pyarrow")
TASK, HARNESS_TASK = "livek12_text_only", "livek12_text_only"
END = "<|im_end|>"
LIMITS = (120, 250, 500)


# Real answers, cut where their tokens ran out ------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """One answer as a model gave it under a limit: its text, why it ended, and its tokens with the end sign."""

    question: str
    trial: int
    text: str
    finish_reason: str
    tokens: list[int]


@pytest.fixture(scope="module")
def texts(shared_data: Path) -> dict[tuple[str, int], str]:
    """Real answers of 15 models to the 14 objective questions of a paper, by question and model."""
    found: dict[tuple[str, int], str] = {}
    for file in sorted((shared_data / "gaokao2026_math" / "boxed_runs").glob("*.json")):
        cases = json.loads(file.read_text(encoding="utf-8"))["task_states"]["cases"]
        for name, case in cases.items():
            question = f"2026-national-i-math-q{int(name[-3:]) + 1:02}"
            if case["response"]:
                found[question, sum(other == question for other, _ in found)] = case["response"]
    assert len(found) > 200
    return found


@pytest.fixture(scope="module")
def tokenizer(texts: dict[tuple[str, int], str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer of bytes, as today's models have: it parts Chinese signs, so that a cut may fall within one."""
    from tokenizers import Tokenizer as Made
    from tokenizers import decoders, models, pre_tokenizers, trainers

    made = Made(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=1500, special_tokens=[END], initial_alphabet=alphabet, show_progress=False)
    made.train_from_iterator(texts.values(), trainer)
    folder = tmp_path_factory.mktemp("tokenizer")
    made.save(str(folder / "tokenizer.json"))
    return folder


_cut: dict[tuple[int, Path], list[Answer]] = {}


def answers_under(limit: int, texts: dict[tuple[str, int], str], tokenizer: Path) -> list[Answer]:
    """The answers under a limit, cut once for all forms."""
    if (limit, tokenizer) not in _cut:
        _cut[limit, tokenizer] = list(_answers_under(limit, texts, tokenizer))
    return _cut[limit, tokenizer]


def _answers_under(limit: int, texts: dict[tuple[str, int], str], tokenizer: Path) -> Iterator[Answer]:
    from tokenizers import Tokenizer as Made

    made = Made.from_file(str(tokenizer / "tokenizer.json"))
    for (question, trial), text in texts.items():
        ids = made.encode(text).ids
        cut = len(ids) >= limit
        said = ids[:limit] if cut else [*ids, made.token_to_id(END)]
        yield Answer(question, trial, made.decode(said), "length" if cut else "stop", said)


# The same answers in the logs of each harness, as it writes them -----------------------------------------------------

Log = Callable[[Path, list[Answer], int], Path]


def plain(answers: list[Answer], *names: str, **more: Any) -> list[dict[str, Any]]:
    rows = [
        {"question_id": a.question, "trial": a.trial, "response": a.text, "finish_reason": a.finish_reason,
         "completion_tokens": len(a.tokens)}
        for a in answers
    ]  # fmt: skip
    return [{name: row[name] for name in ("question_id", "trial", "response", *names)} | more for row in rows]


def jsonl_counts(folder: Path, answers: list[Answer], limit: int) -> Path:
    return write_rows(folder / "a.jsonl", plain(answers, "completion_tokens", max_tokens=limit))


def jsonl_texts(folder: Path, answers: list[Answer], limit: int) -> Path:
    return write_rows(folder / "a.jsonl", plain(answers))


def by_question(answers: list[Answer]) -> dict[str, list[Answer]]:
    found: dict[str, list[Answer]] = {}
    for answer in answers:
        found.setdefault(answer.question, []).append(answer)
    return found


def lm_eval(folder: Path, answers: list[Answer], limit: int) -> Path:
    settings = {"arg_0": "?", "arg_1": {"until": [], "max_gen_toks": limit, "do_sample": False}}
    rows = [
        {"doc": {"id": question, "task": TASK}, "resps": [[a.text for a in of]], "arguments": {"gen_args_0": settings}}
        for question, of in by_question(answers).items()
    ]
    write_rows(folder / f"samples_{HARNESS_TASK}_2026.jsonl", rows)
    return folder


def lmms_eval(folder: Path, answers: list[Answer], limit: int, counted: bool = False) -> Path:
    """It counts the tokens of the first repeat alone."""
    rows = [
        {
            "questions": question,
            "filtered_resps": [a.text for a in of],
            "token_counts": [{"output_tokens": len(of[0].tokens)} if counted else None],
        }
        for question, of in by_question(answers).items()
    ]
    write_rows(folder / f"2026_samples_{HARNESS_TASK}.jsonl", rows)
    config = {"model": "async_openai", "batch_size": 1}
    told = {"config": config, "configs": {HARNESS_TASK: {"generation_kwargs": {"max_new_tokens": limit}}}}
    (folder / "2026_results.json").write_text(json.dumps(told))
    return folder


def lmms_eval_counts(folder: Path, answers: list[Answer], limit: int) -> Path:
    return lmms_eval(folder, [answer for answer in answers if answer.trial == 0], limit, counted=True)


def lighteval(folder: Path, answers: list[Answer], limit: int) -> Path:
    """Tokens are filled up to the longest of a batch with the end sign."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    longest = max(len(answer.tokens) for answer in answers)
    rows = []
    for question, of in by_question(answers).items():
        tokens = [a.tokens + [a.tokens[-1]] * (longest - len(a.tokens) if a.finish_reason == "stop" else 0) for a in of]
        said = {"text": [a.text for a in of], "reasonings": [None], "output_tokens": tokens}
        rows.append({"doc": {"specific": {"task": TASK, "question_id": question}}, "model_response": said})
    pq.write_table(pa.Table.from_pylist(rows), folder / "details_x.parquet")
    return folder


def vlmevalkit(folder: Path, answers: list[Answer], limit: int) -> Path:
    rows = [{"question_id": a.question, "prediction": a.text} for a in answers if a.trial == 0]
    (folder / f"M_{HARNESS_TASK}.json").write_text(json.dumps(rows))
    return folder


def vlmevalkit_endpoint(folder: Path, answers: list[Answer], limit: int) -> Path:
    argv = ["run.py", "--data", HARNESS_TASK, "--base-url", "http://localhost", "--max-tokens", str(limit)]
    (folder / "status.json").write_text(json.dumps({"argv": argv}))
    return vlmevalkit(folder, answers, limit)


def read(log: Path, source: str, folder: Path, **told: Any) -> dict[tuple[str, int], Response]:
    """What an import makes of a log."""
    file = log if source == "jsonl" else as_jsonl(log, source, [TASK], folder / "run")
    engine = ReplayEngine(str(file), **told)
    asked = [Request(key=Key(task=TASK, question_id=id, trial=trial), messages=[]) for _, id, trial in engine.names()]
    found = [outcome for outcome in engine.generate(asked) if isinstance(outcome, Response)]
    return {(response.key.question_id, response.key.trial): response for response in found}


FORMS: dict[str, tuple[str, Log, tuple[str, ...]]] = {
    "counts": ("jsonl", jsonl_counts, ()),
    "texts": ("jsonl", jsonl_texts, ("max_tokens", "tokenizer")),
    "lm-eval": ("lm-eval", lm_eval, ("tokenizer",)),
    "lmms-eval": ("lmms-eval", lmms_eval, ("tokenizer",)),
    "lmms-eval, counting": ("lmms-eval", lmms_eval_counts, ()),
    "lighteval": ("lighteval", lighteval, ("tokenizer",)),
    "vlmevalkit": ("vlmevalkit", vlmevalkit, ("max_tokens", "tokenizer")),
    "vlmevalkit, endpoint": ("vlmevalkit", vlmevalkit_endpoint, ("tokenizer",)),
}
"""Source, log, and what the user has to tell; Inspect logs the ending itself, which its own tests show."""


@pytest.fixture(scope="module")
def mark(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Response], Verdict]:
    source = shared_data / "gaokao2026_math" / "reviewed" / "2026-national-i-math.jsonl"
    data = tmp_path_factory.mktemp("paper") / "data"
    assert livek12_here("build", "livek12", "--source", source, "--out", data).code == 0
    questions = {document.id: document.question for document in open_task(TASK, str(data)).documents}
    return Marks(questions)


class Marks:
    """Marks by the rules; the same answer once."""

    def __init__(self, questions: dict[str, Question]) -> None:
        self._questions, self._known = questions, dict[tuple[str, str], Verdict]()

    def __call__(self, response: Response) -> Verdict:
        name = response.key.question_id, response.sha256
        if name not in self._known:
            question = self._questions[response.key.question_id]
            self._known[name] = mark_response(question, response, GradingConfig(), default_cascade())
        return self._known[name]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("limit", LIMITS)
def test_a_cut_answer_is_marked_as_a_native_run_marks_it(
    form: str, limit: int, texts: dict[tuple[str, int], str], tokenizer: Path, mark: Marks, tmp_path: Path
) -> None:
    source, log, told = FORMS[form]
    answers = answers_under(limit, texts, tokenizer)
    said = plain(answers, "finish_reason")
    native = read(write_rows(tmp_path / "native.jsonl", said), "jsonl", tmp_path)
    known = {"max_tokens": limit, "tokenizer": str(tokenizer)}
    theirs = read(log(tmp_path, answers, limit), source, tmp_path, **{name: known[name] for name in told})
    assert theirs and set(theirs) <= set(native)
    unknown = [key for key, response in theirs.items() if response.finish_reason is None]
    assert len(unknown) <= 1 + len(theirs) // 20, unknown  # texts that end just below the limit
    cut = 0
    for key, response in theirs.items():
        if key not in unknown:
            assert (response.text, response.finish_reason) == (native[key].text, native[key].finish_reason), key
            assert _marks(mark(response)) == _marks(mark(native[key])), key
            cut += response.finish_reason == "length"
    assert 0 < cut < len(theirs)


@pytest.mark.parametrize("form", FORMS)
def test_without_numbers_nobody_knows(
    form: str, texts: dict[tuple[str, int], str], tokenizer: Path, mark: Marks, tmp_path: Path
) -> None:
    """And it is worth knowing: some of the answers get other marks than their ending would give them."""
    source, log, told = FORMS[form]
    answers = answers_under(LIMITS[1], texts, tokenizer)
    native = read(write_rows(tmp_path / "native.jsonl", plain(answers, "finish_reason")), "jsonl", tmp_path)
    theirs = read(log(tmp_path, answers, LIMITS[1]), source, tmp_path)
    endings = {response.finish_reason for response in theirs.values()}
    assert endings == ({"length", "stop"} if not told else {None})
    if told:
        other = [key for key, response in theirs.items() if _marks(mark(response)) != _marks(mark(native[key]))]
        assert other


def _marks(verdict: Verdict) -> dict[str, Any]:
    return verdict.model_dump(include={"state", "parts", "low", "high", "correct"})


# What is told of it --------------------------------------------------------------------------------------------------


def test_a_report_says_of_how_many_answers_nobody_knows_the_ending(data: Path, tmp_path: Path) -> None:
    documents = open_task("cfe_text", str(data)).documents
    endings = ("stop", "length", None, None)
    rows = [
        {"question_id": document.id, "response": "\\boxed{1}", **({"finish_reason": ending} if ending else {})}
        for document, ending in zip(documents, endings, strict=True)
    ]
    recorded = write_rows(tmp_path / "rows.jsonl", rows)
    how = ("--task", "cfe_text", "--data", data, "--out", tmp_path / "run")
    ended = livek12_here("import-responses", recorded, *how)
    assert ended.code == 0, ended.err
    said = "cut off at the token limit: 1 of 4 answers; truncated: unknown for 2 of 4 answers"
    assert said in " ".join(ended.out.split())
    assert said in (tmp_path / "run" / "report.html").read_text()
    counts = json.loads((tmp_path / "run" / "report.json").read_text())["tasks"]["cfe_text"]["counts"]
    assert (counts["truncated"], counts["truncated_unknown"]) == (1, 2)
    compared = livek12_here("compare", tmp_path / "run", shutil.copytree(tmp_path / "run", tmp_path / "copy"))
    assert "cut off end unknown" in " ".join(compared.out.split())


def test_the_limit_and_the_tokenizer_of_the_command(
    data: Path, texts: dict[tuple[str, int], str], tokenizer: Path, tmp_path: Path
) -> None:
    documents = open_task("cfe_text", str(data)).documents
    answers = answers_under(250, texts, tokenizer)
    cut = next(answer.text for answer in answers if answer.finish_reason == "length" and "\ufffd" not in answer.text)
    said = [cut, *["\\boxed{1}"] * 3]
    rows = [{"question_id": document.id, "response": text} for document, text in zip(documents, said, strict=True)]
    recorded = write_rows(tmp_path / "rows.jsonl", rows)
    how = ("import-responses", recorded, "--task", "cfe_text", "--data", data, "--out")
    told = ("--max-tokens", 250, "--tokenizer", tokenizer)
    assert livek12_here(*how, tmp_path / "run", *told).code == 0
    counts = json.loads((tmp_path / "run" / "report.json").read_text())["tasks"]["cfe_text"]["counts"]
    assert (counts["truncated"], counts["truncated_unknown"]) == (1, 0)
    assert livek12_here(*how, tmp_path / "run", *told).code == 0  # goes on, and has nothing to do
    other = livek12_here(*how, tmp_path / "run")
    assert other.code == 2
    assert "engine argument max_tokens was 250" in other.err


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "no such folder, and no tokenizer.json of that name from the Hub"),
        ("", "has no tokenizer.json; give the folder of the model's tokenizer"),
        ("{}", "no tokenizer that can be read"),
    ],
)
def test_a_tokenizer_that_is_none_is_one_line(
    content: str | None, says: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    folder = tmp_path / "tokenizer"
    if content is not None:
        folder.mkdir()
    if content:
        (folder / "tokenizer.json").write_text(content)
    recorded = write_rows(tmp_path / "rows.jsonl", [{"question_id": "a", "response": "1"}])
    how = ("--task", "cfe_text", "--data", data, "--tokenizer", folder, "--out", tmp_path / "run")
    ended = livek12_here("import-responses", recorded, *how)
    assert (ended.code, len(ended.errors)) == (2, 1), ended.err
    assert says in ended.err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("tokens", "counted", "expected"),
    [
        (1000, False, "length"),
        (1002, False, "length"),
        (1003, False, None),  # the limit was not in force
        (999, False, "stop"),
        (1000, True, "length"),
        (999, True, None),  # cut within a sign, or whole
        (988, True, None),
        (987, True, "stop"),
        (5000, True, None),
    ],
)
def test_tokens_against_a_limit_of_1000(tokens: int, counted: bool, expected: str | None) -> None:
    assert ending(tokens, 1000, counted) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({}, None),
        ({"finish_reason": ""}, None),
        ({"finish_reason": "max_tokens"}, "length"),
        ({"finish_reason": "MAX_TOKENS"}, "length"),
        ({"finish_reason": "end_turn"}, "end_turn"),
        ({"completion_tokens": 9, "max_tokens": 9}, "length"),
        ({"completion_tokens": 9, "max_tokens": 9, "finish_reason": "stop"}, "stop"),
        ({"completion_tokens": 0, "max_tokens": 9}, None),  # no count of an answer
        ({"completion_tokens": 9, "max_tokens": 0}, None),
        ({"completion_tokens": 9, "max_tokens": "9"}, None),
        ({"max_tokens": 9}, None),
        ({"last_token": 3}, None),
    ],
)
def test_what_a_row_tells(row: dict[str, Any], expected: str | None, tmp_path: Path) -> None:
    file = write_rows(tmp_path / "a.jsonl", [{"question_id": "q", "response": "4", **row}])
    assert read(file, "jsonl", tmp_path)["q", 0].finish_reason == expected


def test_the_tokenizer_of_a_folder_or_a_file(tokenizer: Path) -> None:
    for place in (tokenizer, tokenizer / "tokenizer.json"):
        found = Tokenizer(str(place))
        assert found.count("") == 0 < found.count("答案是 4") < found.count("答案是 4, 答案是 4")
        assert found.ends(0) and not found.ends(1)
