"""EvalScope: one registered benchmark a task.

EvalScope's judge gets only what our rules leave open. An undecided answer is wrong in `acc` and right in `acc_high`.
"""

from __future__ import annotations

from typing import Any

from evalscope.api.benchmark import BenchmarkMeta, DefaultDataAdapter
from evalscope.api.dataset import DatasetDict, MemoryDataset, Sample
from evalscope.api.judge import JudgeDefinition
from evalscope.api.messages import (
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    ContentImage,
    ContentText,
)
from evalscope.api.metric import Score
from evalscope.api.registry import register_benchmark

from livek12.core.text import clean
from livek12.engines.openai.format import data_url
from livek12.tasks.plugins.evalscope import SUBSET
from livek12.tasks.plugins.harness_task import Document, harness_name, open_task
from livek12.tasks.plugins.harness_task import in_one_line as one_line
from livek12.tasks.registry import all_tasks

_TURNS = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
METRICS = ("acc", "acc_high", "score", "undecided")


class ExamAdapter(DefaultDataAdapter):  # type: ignore[misc]
    """A task; subclasses name it."""

    exam = ""

    def load(self) -> tuple[Any, None]:
        """The task's questions, from LIVEK12_DATA."""
        documents = one_line(open_task)(self.exam).documents
        samples = [_sample(number, document) for number, document in enumerate(documents)]
        return DatasetDict({SUBSET: MemoryDataset(samples, name=self.exam)}), None

    def match_score(self, original_prediction: str, filtered_prediction: str, reference: str, task_state: Any) -> Score:
        """Our rules' verdict."""
        return self._ruled(original_prediction, task_state)

    def judge_definition(self, context: Any) -> JudgeDefinition:
        """Limits EvalScope's judge to open answers."""
        score = self._ruled(context.original_prediction, context.task_state)
        if not score.value["undecided"]:
            return JudgeDefinition.skip(score, reason="decided by the rules of livek12")
        return super().judge_definition(context)

    def _ruled(self, prediction: str, state: Any) -> Score:
        exam = open_task(self.exam)
        verdict = exam.mark(str(state.metadata["id"]), clean(prediction))
        worth = verdict.max_points or 1.0
        values = {
            "acc": float(verdict.correct is True),
            "acc_high": float(verdict.correct is not False),
            "score": verdict.low / worth,
            "undecided": float(verdict.state == "ungraded"),
        }
        extracted = "; ".join(part.answer for part in verdict.parts if part.answer)
        notes = {
            "decided_by": "+".join(dict.fromkeys(part.decided_by for part in verdict.parts)),
            "judge": verdict.judge,
        }
        return Score(
            value=values,
            prediction=prediction,
            extracted_prediction=extracted,
            explanation=verdict.reason or None,
            metadata=notes,
            main_score_name="acc",
        )


def _sample(number: int, document: Document) -> Sample:
    contents = document.messages(lambda text: ContentText(text=text), lambda image: ContentImage(image=data_url(image)))
    turns = [_TURNS[role](content=content) for role, content in contents]
    return Sample(id=number, group_id=number, input=turns, target=document.target, metadata={"id": document.id})


def _register(name: str) -> None:
    task = all_tasks()[name]
    meta = BenchmarkMeta(
        name=harness_name(name),
        pretty_name=harness_name(name),
        description=task.description,
        tags=[],
        dataset_id=harness_name(name),
        subset_list=[SUBSET],
        metric_list=list(METRICS),
        few_shot_num=0,
        train_split=None,
        eval_split="test",
        prompt_template="{question}",
    )
    register_benchmark(meta)(type(f"Exam_{name}", (ExamAdapter,), {"exam": name}))


for _name in all_tasks():
    _register(_name)
