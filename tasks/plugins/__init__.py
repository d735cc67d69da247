"""Plug-ins for other harnesses, all over `harness_task`."""

from __future__ import annotations

HARNESSES: dict[str, str] = {
    "lm-eval": "livek12.tasks.plugins.lm_eval",
    "lmms-eval": "livek12.tasks.plugins.lmms_eval",
    "inspect": "livek12.tasks.plugins.inspect_ai",
    "lighteval": "livek12.tasks.plugins.lighteval",
    "vlmevalkit": "livek12.tasks.plugins.vlmevalkit",
    "evalscope": "livek12.tasks.plugins.evalscope",
    "nemo-evaluator": "livek12.tasks.plugins.nemo_evaluator",
}
"""Harness → module with `guide(data, folder) -> Guide`; imported on demand."""
