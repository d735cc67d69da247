"""Prompt files: one a language and style, each with a version of its own and a hash.

Contract: a prompt is a file `prompts/LANGUAGE[.STYLE].txt` of a benchmark's folder, with the head that every prompt has
(`core.prompts`) and its places in braces (`{question}`, `{pages}`, `{number}`, `{knowledge_points}`).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from types import ModuleType

from livek12.core import benchmarks
from livek12.core.errors import UserError
from livek12.core.prompts import FOLDER, PromptFile, parse_prompt


def task_modules() -> dict[str, ModuleType]:
    """The module of each benchmark that says what it asks, by name: those inside first.

    Raises:
        UserError: two benchmarks have one name, or one outside cannot be imported.
    """
    return benchmarks.sides("tasks", "livek12.tasks", marker=FOLDER)


def prompt_files(benchmark: str, style: str = "") -> dict[str, PromptFile]:
    """The prompt files of a benchmark in one style, by language.

    Raises:
        UserError: there are none, or a file has no head.
    """
    folder = Path(task_modules()[benchmark].__file__ or "").parent / FOLDER
    if not folder.is_dir():
        raise UserError(f"benchmark {benchmark}: {folder} is not there; put its prompts into it, LANGUAGE.txt")
    return _read(benchmark, style, folder)


def prompt_name(language: str, style: str) -> str:
    """The name of a prompt's file."""
    return f"{language}.{style}.txt" if style else f"{language}.txt"


@cache
def _read(benchmark: str, style: str, folder: Path) -> dict[str, PromptFile]:
    suffix = prompt_name("", style)
    found = {}
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        language = file.name.removesuffix(suffix)
        if file.name.endswith(suffix) and "." not in language:
            found[language] = parse_prompt(f"{benchmark}/{file.name}", file.read_text(encoding="utf-8"))
    return found
