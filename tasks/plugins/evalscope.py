"""EvalScope's command with our benchmarks registered.

`LIVEK12_DATA=data/mine python -m livek12.tasks.plugins.evalscope eval --datasets livek12_cfe_text --model MODEL …`
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from shlex import quote

from livek12.tasks.plugins.harness_task import AS_WHOLE, DATA_VARIABLE, Guide, harness_name, in_one_line, require
from livek12.tasks.plugins.yaml_tasks import example

PACKAGE, FLOOR = "evalscope", "1.14"
SUBSET = "default"
"""The only subset of our benchmarks; EvalScope names its logs by both."""
INSTALL = "pip install evalscope '.' in the clone of livek12"


def guide(data: str, folder: Path) -> Guide:
    """The call; writes nothing."""
    task = example(data)
    return Guide(
        path=__name__,
        install=INSTALL,
        call=(
            f"{DATA_VARIABLE}={quote(data or 'DATA')} python -m {__name__} eval --datasets {harness_name(task.name)}"
            " --model MODEL --api-url http://localhost:8000/v1 --eval-type openai_api"
            f" --generation-config max_tokens={task.sampling.max_tokens}"
        ),
        notes=(
            "`evalscope` alone takes no benchmarks from outside: this is its own command with ours in the list",
            f"{AS_WHOLE}; an import finds out which were (--tokenizer, --max-tokens): livek12 import-responses outputs"
            " --from evalscope --task TASK --data DATA --out RUN",
            "the token budget and the sampling are the command's (--generation-config), a task cannot set them",
            "a judge of EvalScope's is asked only what the rules leave open",
        ),
    )


def main() -> None:
    """Runs EvalScope's command with our benchmarks."""
    in_one_line(require)(PACKAGE, FLOOR, INSTALL)
    from evalscope.cli.cli import run_cmd

    importlib.import_module("livek12.tasks.plugins.evalscope_benchmarks")
    sys.argv[0] = "evalscope"
    run_cmd()


if __name__ == "__main__":
    main()
