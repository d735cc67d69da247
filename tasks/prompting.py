"""Builds requests from questions.

A template has one `{question}` (text; before it `{knowledge_points}` in style `kprag`, and `{explained}` after a
preliminary request) or one `{pages}` and a `{number}` (image-only). Pictures replace their marks; others follow the
question. Pages come first and the question's number last, for the engine's prefix cache; pictures are named by hash.
Braces in a question or explanation are no placeholders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from livek12.core.errors import UserError
from livek12.core.prompts import conversation, harmless, image_part, joined_parts, text_part, without_marks
from livek12.core.questions import pages_of
from livek12.core.records import IMAGE_MARK, Failure, Image, Key, Message, Part, Question, Request, Sampling
from livek12.core.run.claims import with_its_trials
from livek12.tasks.base import Task
from livek12.tasks.families import source_of

Pages = Mapping[tuple[str, int], Image]
"""Page images by paper and page number (from 1)."""
_KNOWLEDGE = "{knowledge_points}"
_EXPLAINED = "{explained}"


def requests(
    task: Task,
    questions: Iterable[Question],
    trials: int,
    sampling: Sampling,
    pages: Pages,
    wanted: Callable[[str], bool],
) -> Iterator[Request | Failure]:
    """Wanted requests of a task in asking order.

    An invalid question gives a Failure. Trials of a question are adjacent and differ in their key alone.
    """
    for question in asking_order(task, questions):
        built: Request | Failure | None = None
        for trial in range(trials):
            key = Key(task=task.name, question_id=question.id, trial=trial)
            if not wanted(str(key)):
                continue
            if built is None:
                built = _built(task, question, key, sampling, pages)
            yield built if built.key == key else built.model_copy(update={"key": key})


def _built(task: Task, question: Question, key: Key, sampling: Sampling, pages: Pages) -> Request | Failure:
    try:
        return build_request(task, question, key, sampling, pages)
    except UserError as error:
        return Failure(key=key, state="failed", reason=str(error))


def asked_together(tasks: Iterable[Task], questions: Mapping[str, Iterable[Question]]) -> Callable[[str], str]:
    """Groups requests that one process should send (`core.run.claims`).

    Requests on the pages of one paper (encoded once), else on one question with all budgets and derived questions.
    """
    bases = {task.name: task.asked_with for task in tasks}
    papers = {
        f"{task.name}/{question.id}": f"paper {question.paper_id}"
        for task in tasks
        if task.modality == "image_only" or task.sitting
        for question in questions[task.name]
        if question.paper_id
    }
    papers |= {
        f"{task.name}/{question.id}": source_of(question)
        for task in tasks
        if task.derive
        for question in questions[task.name]
    }

    def group(key: str) -> str:
        name, _, trials = with_its_trials(key).rpartition("/")
        task, _, question_id = name.partition("/")
        return f"{bases[task]}/{papers.get(name, question_id)}/{trials}"

    return group


def asking_order(task: Task, questions: Iterable[Question]) -> list[Question]:
    """Asking order: image-only by paper and page; sheets by paper; otherwise the data's."""
    if task.modality != "image_only":
        questions = list(questions)
        first = {question.paper_id: place for place, question in reversed([*enumerate(questions)])}
        return sorted(questions, key=lambda question: first[question.paper_id]) if task.sitting else questions
    return sorted(questions, key=lambda question: (question.paper_id or "", question.page_numbers))


def build_request(
    task: Task, question: Question, key: Key, sampling: Sampling, pages: Pages, explained: str | None = None
) -> Request:
    """Request for one question, or the preliminary one unless `explained` is its reply.

    Raises:
        UserError: the modality cannot show the question (no page, a mark without a picture, …).
    """
    if task.sitting:
        raise UserError(f"{task.name} asks whole sheets, not one question: run it with `livek12 run`")
    if task.modality == "image_only":
        pictures = page_images(question, pages)
        parts = _image_only_parts(task.prompt(question.language), question, pictures)
    else:
        pictures = figures_of(task, question)
        if task.first_style and explained is None:
            return _first_request(task, question, key, sampling)
        before, after = task.prompt(question.language).split("{question}")
        parts = [
            text_part(_with_knowledge(before, question).replace(_EXPLAINED, harmless(explained or ""))),
            *interleaved(text_of(task, question), pictures),
            text_part(after.rstrip()),
        ]
    return Request(
        key=key,
        messages=conversation([Message(role="user", content=joined_parts(parts))], sampling),
        images={picture.sha256: picture for picture in pictures},
        sampling=sampling,
        together=_together(task, question),
    )


def _first_request(task: Task, question: Question, key: Key, sampling: Sampling) -> Request:
    text = _with_knowledge(task.prompt(question.language, first=True), question).rstrip()
    messages = conversation([Message(role="user", content=[text_part(text)])], sampling)
    return Request(key=key, messages=messages, sampling=sampling, together=_together(task, question))


def _together(task: Task, question: Question) -> str:
    return f"{task.asked_with}/{source_of(question)}"


def text_of(task: Task, question: Question) -> str:
    """A question with its options and a mark for each picture shown.

    Raises:
        UserError: it has more marks than pictures.
    """
    if task.without_pictures:
        return _text_without_pictures(question)
    pictures = len(question.images)
    options = [f"{option.label}. {option.text}" for option in question.options]
    text = "\n".join([question.question, *options])
    missing = pictures - text.count(IMAGE_MARK)
    if missing < 0:
        raise UserError(
            f"question {question.id}: {text.count(IMAGE_MARK)} image marks but {pictures} images; mend the data set"
        )
    if missing == 0:
        return text
    return "\n".join([question.question, *[IMAGE_MARK] * missing, *options])


def _text_without_pictures(question: Question) -> str:
    options = [f"{option.label}. {without_marks(option.text)}".rstrip() for option in question.options]
    return "\n".join([without_marks(question.question), *options])


def _with_knowledge(text: str, question: Question) -> str:
    if _KNOWLEDGE not in text:
        return text
    if not question.knowledge_points:
        raise UserError(f"question {question.id} names no knowledge points; it cannot be asked with them")
    return text.replace(_KNOWLEDGE, "\n".join(f"- {' '.join(point.split())}" for point in question.knowledge_points))


def figures_of(task: Task, question: Question) -> list[Image]:
    """Pictures that the task shows of a question.

    Raises:
        UserError: the task is text-only, or one is missing.
    """
    if task.without_pictures:
        return []
    if question.images and task.modality == "text_only":
        raise UserError(f"question {question.id} has images but task {task.name} is text-only; use a text-image task")
    for index, image in enumerate(question.images, 1):
        if not image.bytes:
            raise UserError(f"question {question.id}: image {index} ({image.path or 'no name'}) is missing")
    return question.images


def page_images(question: Question, pages: Pages) -> list[Image]:
    """Pages of a question, by their numbers.

    Raises:
        UserError: it names none, or one is missing.
    """
    if not question.paper_id or not question.page_numbers or not question.number:
        raise UserError(f"question {question.id} has no paper, pages or number; it cannot be asked from page images")
    images: list[Image] = pages_of(question, pages)
    for number, page in zip(sorted(question.page_numbers), images, strict=True):
        if not page.bytes:
            raise UserError(f"question {question.id}: page {number} of paper {question.paper_id} is missing")
    return images


def _image_only_parts(template: str, question: Question, pictures: list[Image]) -> list[Part]:
    before, after = template.split("{pages}")
    ask = after.replace("{number}", question.number or "").rstrip()
    return [text_part(before), *(image_part(page) for page in pictures), text_part(ask.lstrip("\n"))]


def interleaved(text: str, pictures: list[Image]) -> Iterator[Part]:
    """A text with its pictures in place of their marks."""
    pieces = text.split(IMAGE_MARK) if pictures else [text]
    for index, piece in enumerate(pieces):
        if index:
            yield image_part(pictures[index - 1])
        yield text_part(piece)
