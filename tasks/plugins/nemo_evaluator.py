"""NeMo Evaluator call: `nel eval run --bench FILE:TASK`."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

from livek12.tasks.plugins.harness_task import AS_WHOLE, DATA_VARIABLE, Guide, harness_name
from livek12.tasks.plugins.yaml_tasks import example

PACKAGE, FLOOR = "nemo-evaluator", "0.3"
INSTALL = "pip install nemo-evaluator '.' in the clone of livek12"
FILE = Path(__file__).with_name("nemo_benchmarks.py")


def guide(data: str, folder: Path) -> Guide:
    """The call; writes nothing."""
    task = example(data)
    return Guide(
        path=str(FILE),
        install=INSTALL,
        call=(
            f"{DATA_VARIABLE}={quote(data or 'DATA')} nel eval run --bench {quote(f'{FILE}:{harness_name(task.name)}')}"
            f" --model-url http://localhost:8000/v1 --model-id MODEL --max-tokens {task.sampling.max_tokens} -o OUT"
        ),
        notes=(
            "it needs Python 3.12 or newer, and an environment of its own",
            "tasks of text alone: it cannot log pictures where they stand; take Inspect for those",
            "the token budget and the sampling are the command's (--max-tokens, --temperature), a task cannot set them",
            f"{AS_WHOLE}, and no log of NeMo Evaluator can be imported here: for the full exam marks take another"
            " harness, or `livek12 run`",
            "the reward is 1 for a right answer; what the rules leave open has reward 0 and the state ungraded",
        ),
    )
