"""What a model is given, written down: one golden file a prompt, with the complete messages for questions of each kind.

`python -m tests.tasks.golden_messages` writes the files anew; read the difference before you commit it. A prompt whose
text has changed needs a higher `version` in its head, and the task one too: the command refuses otherwise.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from livek12.core.prompts import PromptFile
from livek12.core.records import Key, Question, Request
from livek12.dataset_builders import build
from livek12.tasks.base import Task
from livek12.tasks.loading import pages_for, questions_of
from livek12.tasks.prompting import Pages, build_request
from livek12.tasks.registry import get_task

FOLDER = Path(__file__).with_name("golden")
TASKS = (
    *("livek12_text_only", "livek12_text_image", "livek12_image_only"),
    *("kmmmu", "kmmmu_text_only", "cfe_text", "cfe_multimodal", "mdk12", "mdk12_kprag", "mdk12_kpref"),
)


def golden(data: Path) -> dict[str, str]:
    """The content of each golden file by its name, from the sample exam as a data set."""
    files: dict[str, list[str]] = {}
    for name in TASKS:
        task = get_task(name)
        asked = _asked(task, data)
        pages = pages_for(task, str(data), asked)
        for question in _kinds(asked):
            prompt = task.prompt_files[question.language]
            said = files.setdefault(prompt.name.replace("/", "."), [_head(prompt)])
            said.append(_messages(task, question, pages, "What the model explained." if task.first_style else None))
            if task.first_style:
                first = task.first_prompt_files[question.language]
                said = files.setdefault(first.name.replace("/", "."), [_head(first)])
                said.append(_messages(task, question, pages))
    return {name: "\n".join(said) for name, said in files.items()}


def _asked(task: Task, data: Path) -> list[Question]:
    """The questions of the sample; Chinese ones stand in for Korean ones where there is a prompt and no question."""
    found = questions_of(task, str(data))
    asked = {question.language for question in found}
    korean = [q.model_copy(update={"language": "ko"}) for q in found if q.language == "zh" and "ko" not in asked]
    return found + (korean if "ko" in task.prompt_files else [])


def _kinds(questions: list[Question]) -> Iterator[Question]:
    """The first question of each language and type, and the first without pictures besides."""
    seen = set()
    for question in questions:
        kind = (question.language, question.question_type, bool(question.images), len(question.page_numbers))
        if kind not in seen:
            seen.add(kind)
            yield question


def _head(prompt: PromptFile) -> str:
    return f"prompt {prompt.name} version {prompt.version} sha256 {prompt.sha256}\n"


def _messages(task: Task, question: Question, pages: Pages, explained: str | None = None) -> str:
    key = Key(task=task.name, question_id=question.id)
    request: Request = build_request(task, question, key, task.sampling, pages, explained)
    lines = [f"######## {task.name} {question.id} {question.question_type}"]
    for message in request.messages:
        lines.append(f"[{message.role}]")
        lines += [part.text or "" if part.type == "text" else f"[image {part.image}]" for part in message.content]
    return "\n".join(lines) + "\n"


def renew() -> None:
    """Writes all golden files anew."""
    with tempfile.TemporaryDirectory() as scratch:
        build("sample", "", Path(scratch) / "sample")
        files = golden(Path(scratch) / "sample")
    FOLDER.mkdir(exist_ok=True)
    for name, text in files.items():
        file, first = FOLDER / name, text.partition("\n")[0]
        was = file.read_text(encoding="utf-8").partition("\n")[0] if file.exists() else first
        if was != first and re.findall(r"version \d+", was) == re.findall(r"version \d+", first):
            sys.exit(f"{name}: the prompt has changed and its version has not; raise it in the head of the prompt")
        file.write_text(text, encoding="utf-8")
    for file in {*FOLDER.glob("*.txt")} - {FOLDER / name for name in files}:
        file.unlink()


if __name__ == "__main__":
    renew()
