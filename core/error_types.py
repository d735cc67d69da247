"""Error types of each benchmark's article, in its order.

Sources: LiveK12Bench section 2.3 (a response may hold several); KMMMU section 6 and MDK12-Bench "Error Analysis" (each
wrong answer has one). CFE-Bench has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from livek12.core.records import ERROR_TYPES


@dataclass(frozen=True)
class KindOfError:
    """Error type; `meaning` tells a person how to recognise it."""

    name: str
    title: str
    meaning: str


PROCESS_ERRORS: tuple[KindOfError, ...] = (
    KindOfError("CIE", "condition misread", "the given data, a theorem or a constraint is misread"),
    KindOfError("LAE", "unfounded assumption", "something is assumed that the question does not give"),
    KindOfError("DRE", "step that does not follow", "a step or a calculation does not support what is concluded"),
)
"""What the process audit looks for; any response may hold each of them."""

_ERROR_TYPES: Mapping[str, tuple[KindOfError, ...]] = {
    "livek12": PROCESS_ERRORS,
    "kmmmu": (
        KindOfError("knowledge_shortage", "knowledge shortage", "a rule of the field is missing or wrongly applied"),
        KindOfError("reasoning_error", "reasoning error", "a coherent attempt follows a wrong chain of inference"),
        KindOfError("visual_perception_error", "visual perception error", "a figure, table or document is misread"),
        KindOfError("incomplete_response", "incomplete response", "the answer is cut off or missing"),
        KindOfError("hallucination", "hallucination", "something is made up that nothing supports"),
    ),
    "mdk12": (
        KindOfError("question_misunderstanding", "question misunderstanding", "the question is taken for another one"),
        KindOfError("reasoning_error", "reasoning error", "the steps do not lead to what is concluded"),
        KindOfError("visual_comprehension_error", "visual comprehension error", "a picture is misread"),
        KindOfError("incomplete_answer", "incomplete answer", "the answer is cut off or leaves something out"),
        KindOfError("other_error", "other error", "none of these"),
    ),
    "cfe": (),
}


def error_types(benchmark: str) -> tuple[KindOfError, ...] | None:
    """Error types of a benchmark; None for unknown benchmarks."""
    return _ERROR_TYPES.get(benchmark)


def one_each(benchmark: str) -> tuple[KindOfError, ...]:
    """Error types of benchmarks with exactly one for each wrong answer."""
    kinds = error_types(benchmark) or ()
    return () if {kind.name for kind in kinds} <= {*ERROR_TYPES} else kinds
