"""Questions of a site in the order of the papers, each once, and their pieces; only new or changed ones are drawn."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from livek12.core.errors import UserError
from livek12.core.progress import Progress, warn
from livek12.core.questions import load_pages, paper_order
from livek12.core.records import Image, Question
from livek12.core.run.folder import RunFolder
from livek12.core.scoring.estimates import IMAGE_ONLY
from livek12.core.visible import visible
from livek12.evaluation.site.ranking import axes, places
from livek12.evaluation.site.reading import Hidden, keys_from_elsewhere
from livek12.report.paper import anchor_of
from livek12.report.site.pages import Places, page_places, question_fragments
from livek12.report.site.store import SitePictures, SiteStore, digest_of

TOGETHER = 10
"""Questions of a group, which is redrawn when one of them changes."""


@dataclass
class Exams:
    """All questions by task and anchor, with one run that asked each."""

    tasks: dict[str, dict[str, Question]] = field(default_factory=dict)
    modality: dict[str, str] = field(default_factory=dict)
    asked_by: dict[tuple[str, str], Path] = field(default_factory=dict)
    _read: set[str] = field(default_factory=set)

    def take(self, path: Path, hidden: Hidden) -> None:
        """Takes in the questions of a run."""
        run = RunFolder(path, warn)
        spec = run.spec()
        for asked_task in spec.tasks:
            self.modality.setdefault(asked_task.name, asked_task.modality)
        elsewhere = keys_from_elsewhere(spec)
        same = f"{spec.questions_sha256 or path}, {elsewhere}"
        if same in self._read:  # runs of one exam have one list of questions
            return
        self._read.add(same)
        for task, question in run.each_question():
            anchor = anchor_of(task, question.id)
            if self.tasks.setdefault(task, {}).setdefault(anchor, question) is question:
                self.asked_by[task, anchor] = path
            hidden.look([question], elsewhere)

    def in_order(self, task: str) -> list[tuple[str, Question]]:
        """The questions of a task by paper and number."""
        return sorted(self.tasks[task].items(), key=lambda item: paper_order(item[1]))

    def hidden(self, hidden: Hidden) -> frozenset[str]:
        """Anchors of hidden questions."""
        return frozenset(
            anchor
            for questions in self.tasks.values()
            for anchor, question in questions.items()
            if hidden.why(question)
        )

    def write(self, store: SiteStore, hidden: Hidden, before: Mapping[str, Any], code: str) -> dict[str, Any]:
        """Writes the pieces of all tasks; `before` is the result of the build before.

        Returns:
            By task "index" (names of its files), "axes" (of filters) and "groups" (digest, and each question's piece).
        """
        pictures, at_hand = SitePictures(store), _AtHand(self)
        made = {}
        with Progress("drawing questions", sum(map(len, self.tasks.values())), patient=True) as progress:
            for task in sorted(self.tasks):
                stem, groups, index, order = stem_of(task), [], [], places(self.tasks[task])
                earlier = {group["digest"]: group for group in before.get(task, {}).get("groups", ())}
                for number, some in enumerate(_batched(self.in_order(task))):
                    group = self._group(task, number, some, earlier, code, hidden, at_hand, pictures, store)
                    groups.append(group)
                    for anchor, question in some:
                        entry = _entry(question, hidden, self.modality[task], group["pieces"].get(anchor, ""))
                        index.append((anchor, dict(zip(("at", "source"), order[anchor], strict=True)) | entry))
                        progress.step()
                chosen_by = axes(entry for _, entry in index)
                made[task] = {"index": store.pieces(f"exams/{stem}", index), "axes": chosen_by, "groups": groups}
        return made

    def _group(
        self,
        task: str,
        number: int,
        some: Sequence[tuple[str, Question]],
        earlier: Mapping[str, Any],
        code: str,
        hidden: Hidden,
        at_hand: _AtHand,
        pictures: SitePictures,
        store: SiteStore,
    ) -> dict[str, Any]:
        off = sorted(hidden.pages())
        shown = [(anchor, question) for anchor, question in some if not hidden.why(question)]
        texts = [(anchor, question.model_dump_json()) for anchor, question in shown]
        image_only = self.modality[task] == IMAGE_ONLY
        digest = digest_of(code, number, texts, image_only, off)
        if (group := earlier.get(digest)) and all(
            (store.root / f"data/{name}.js").is_file() for name in group["names"]
        ):
            for name in (*(f"data/{piece}.js" for piece in group["names"]), *group["images"]):
                store.keep(name)
            return dict(group)
        drawn, whole = [], True
        for anchor, question in shown:
            full, pages, complete = at_hand(task, anchor, question)
            whole &= complete
            fragments = question_fragments(full, task, image_only, pictures)
            drawn.append((anchor, {**fragments, "places": page_places(full, Places(pages, frozenset(off)), pictures)}))
        piece_of: dict[str, str] = {}
        names = store.pieces(f"exams/{stem_of(task)}-q{number}", drawn)
        for name in names:
            piece_of |= dict.fromkeys(store.read(name), name)
        # What was drawn without its pictures is drawn again once they are there.
        images = sorted({name for _, piece in drawn for name in _images(piece)})
        return {"digest": digest if whole else "", "names": names, "pieces": piece_of, "images": images}


def _batched(items: Sequence[tuple[str, Question]]) -> Iterator[Sequence[tuple[str, Question]]]:
    return (items[start : start + TOGETHER] for start in range(0, len(items), TOGETHER))


def stem_of(task: str) -> str:
    """A task's file name stem: its ASCII letters and digits with a hash."""
    plain = "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in task)[:40]
    return f"{plain}-{hashlib.sha256(task.encode()).hexdigest()[:6]}"


def _images(piece: Mapping[str, Any]) -> Iterator[str]:
    for part in (piece["asked"], piece["key"]):
        for source in part.split('src="')[1:]:
            name = source.partition('"')[0]
            if name.startswith("images/"):
                yield name
    yield from (place["file"] for place in piece["places"])


def _entry(question: Question, hidden: Hidden, modality: str, piece: str) -> dict[str, Any]:
    """A question in the index; of a hidden one nothing that names it or its paper."""
    why, paper = hidden.why(question), question.paper_id or ""
    entry = {
        "subject": visible(question.subject),
        "type": question.question_type,
        "points": question.points,
        "release": question.release and visible(question.release),
        "language": question.language,
        "subsets": [visible(name) for name in question.subsets],
        "difficulty": question.difficulty and visible(question.difficulty),
        "modality": modality if modality != "text_image" else "text_image" if question.images else "text_only",
        "field": question.attributes.macro_subject and visible(question.attributes.macro_subject),
        "year": question.year,
        "paper": digest_of(paper)[:10] if paper else "",
        "why": why,
    }
    if not why:
        entry |= {"n": visible(question.number or ""), "id": visible(question.id), "title": visible(paper)}
        entry |= {"exam": visible(question.exam or ""), "piece": piece}
    return entry


class _AtHand:
    """Pictures of questions, read from the data sets of their runs on first use."""

    def __init__(self, exams: Exams) -> None:
        self._exams = exams
        self._read: dict[Path, tuple[dict[tuple[str, str], Question], dict[tuple[str, int], Image]] | None] = {}

    def __call__(
        self, task: str, anchor: str, question: Question
    ) -> tuple[Question, dict[tuple[str, int], Image], bool]:
        """The question with pictures, pages by paper and number, and the completeness of both."""
        if not (question.images or question.answer_images or question.solution_images or question.page_numbers):
            return question, {}, True
        path = self._exams.asked_by[task, anchor]
        if path not in self._read:
            self._read[path] = _pictured(path)
        if (exam := self._read[path]) is None:
            return question, {}, False
        return exam[0].get((task, question.id), question), exam[1], True


def _pictured(path: Path) -> tuple[dict[tuple[str, str], Question], dict[tuple[str, int], Image]] | None:
    from livek12.evaluation.task_data import reload_task_data

    try:
        exam = reload_task_data(RunFolder(path), trusts=False)
    except UserError as error:
        warn(f"{path.name}: its questions are shown without pictures: {error}")
        return None
    if not exam.questions:
        return None
    questions = {(task, question.id): question for task, rows in exam.questions.items() for question in rows}
    keys = {(question.paper_id or "", number) for question in questions.values() for number in question.page_numbers}
    return questions, {**load_pages(exam.data, keys), **exam.pages} if keys else dict(exam.pages)
