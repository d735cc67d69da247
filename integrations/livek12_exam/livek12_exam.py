"""The environment `livek12-exam` of verifiers: see `livek12.evaluation.verifiers_exam`."""

from livek12.evaluation.verifiers_exam import ExamTaskset

__all__ = ["ExamTaskset"]
