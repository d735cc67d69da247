"""The call of our tasks in Inspect: `inspect eval livek12/cfe_text -T data=FOLDER --model …`.

Imports without Inspect.
"""

from __future__ import annotations

from pathlib import Path
from shlex import quote

from livek12.core.errors import UserError, install
from livek12.core.files import write_atomically
from livek12.tasks.plugins.harness_task import Guide, require
from livek12.tasks.plugins.yaml_tasks import example, sought
from livek12.tasks.registry import all_tasks

PACKAGE, FLOOR = "inspect-ai", "0.3.253"
"""The first version whose metrics see every epoch of a sample and whose logs keep NaN."""
INSTALL = install("inspect")
FILE = "livek12_inspect.py"
ANY = "exam"
"""The task for names that are not listed."""


def check_version() -> None:
    """Refuses an older version of Inspect."""
    require(PACKAGE, FLOOR, INSTALL)


def guide(data: str, folder: Path) -> Guide:
    """The call, with a file of the tasks."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / FILE, file_of_tasks())
    except OSError as error:
        raise UserError(f"{folder / FILE}: cannot be written ({error.strerror})") from error
    return Guide(
        path="livek12",
        install=INSTALL,
        call=f"inspect eval livek12/{example(data).name} -T data={quote(data or 'FOLDER')} --model PROVIDER/MODEL",
        notes=(
            f"every task of `livek12 tasks` is livek12/NAME; names that are not listed: livek12/{ANY} -T name=NAME",
            "-T release=2605 asks one release; --epochs are the trials",
            f"`inspect list tasks` reads files only: {folder / FILE} holds the same tasks (data by its whole path)",
            "any other task is marked by our rules with `--scorer livek12/verify`, and a log of ours is marked again"
            " with `inspect score LOG --scorer livek12/exam_marks`",
            "-T judge=MODEL[@ENGINE:K=V,…] puts what the rules leave open before judges, as `livek12 run --judge` does",
            "a sample that ends in an error is in no metric of Inspect: import the log for marks over all questions",
        ),
    )


def file_of_tasks(every: bool = True) -> str:
    """Source of a module that lists the tasks."""
    head = (
        '"""Written by `livek12 plugins inspect`: tasks of livek12, which is what they need."""\n\n'
        "from inspect_ai import Task, task\n\nfrom livek12.tasks.plugins.inspect_tasks import exam_task\n"
    )
    given = 'data: str = "", judge: str = "rules", audit: bool = True, release: str = ""'
    made = (
        f'\n\n@task\ndef {name}({given}) -> Task:\n    """The task {name}."""\n'
        f'    return exam_task("{name}", data, judge, audit, release)\n'
        for name, of in all_tasks().items()
        if name.isidentifier() and (every or sought(of))
    )
    return head + "".join(made)
