"""What the tests of judges share."""

from __future__ import annotations

from livek12.core.records import Key, Option, Question, Verdict
from livek12.judges.base import AnswerComparison, Decision
from livek12.judges.cascade import default_cascade
from livek12.judges.grade import GradingConfig, grade

CASCADE = default_cascade()
KEY = Key(task="test", question_id="q")


def decide(gold: str, answer: str, question_type: str = "short_answer", **fields: object) -> Decision:
    return CASCADE.decide(AnswerComparison(gold=gold, answer=answer, question_type=question_type, **fields))


def outcome(gold: str, answer: str, question_type: str = "short_answer", **fields: object) -> str:
    return decide(gold, answer, question_type, **fields).decision


def question(question_type: str = "fill_in_blank", **fields: object) -> Question:
    defaults = {"id": "q", "benchmark": "livek12", "language": "zh", "subject": "math", "question": ""}
    return Question(question_type=question_type, **{**defaults, **fields})


def options(*texts: str) -> list[Option]:
    return [Option(label=label, text=text) for label, text in zip("ABCDEFGH", texts, strict=False)]


def mark(asked: Question, *answers: str, config: GradingConfig | None = None) -> Verdict:
    return grade(asked, KEY, answers, config=config or GradingConfig(), cascade=CASCADE)
