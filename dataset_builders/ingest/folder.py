"""The folder of ingested papers.

Contract: files are written whole or not at all; a paper that is done again replaces its own files only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from livek12.core.errors import UserError
from livek12.core.files import check_names, check_tree, make_subfolder, remove_files, write_atomically
from livek12.core.records import Image
from livek12.core.run.access import Fence, only_writer
from livek12.dataset_builders.base import UniqueIds, one_line
from livek12.dataset_builders.ingest.drafting import safe_name
from livek12.dataset_builders.ingest.drafts import Draft, IngestedPaper, KeyFile

STATE = ".ingest"
ROWS = "questions.jsonl"
PROPOSED = "proposed"
"""Prefix of doubts on proposals, recognised when proposing again."""
UNREVIEWED = "used unreviewed"
"""In the doubt on a proposed scheme: it is part of the rows before anybody reviewed it."""
_OWNED = (ROWS, "report.*", "README.md", ".*")


class Folder:
    """One `--out DIR`, made if it is missing; UserError if it cannot be made, or holds a link."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._fence: Fence = lambda: None
        self._pages: dict[str, int] = {}  # the last page that was written of each paper
        try:
            root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"{root}: cannot be made ({error.strerror}); choose another folder") from None
        check_names(root, _OWNED)
        for name in ("images", "pages", STATE):
            check_tree(make_subfolder(root, name))

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Locks the folder against other ingesting, translating and tagging; UserError if it is locked."""
        with only_writer(self.root / STATE) as fence:
            before, self._fence = self._fence, fence
            try:
                yield
            finally:
                self._fence = before

    def papers(self) -> list[IngestedPaper]:
        """All papers, by id; UserError if a file is damaged."""
        return [self._read(file) for file in sorted((self.root / STATE).glob("*.json"))]

    def paper(self, paper_id: str) -> IngestedPaper | None:
        """One paper, if it is there."""
        file = self.root / STATE / f"{paper_id}.json"
        return self._read(file) if file.is_file() else None

    def id_for(self, file: Path, sha256: str, taken: Sequence[str]) -> str:
        """The id of the same PDF, else the file's name, unique among `taken` (ids of this call)."""
        digests = {paper.paper_id: paper.sha256 for paper in self.papers()}
        for name, digest in digests.items():
            if digest == sha256 and name not in taken:
                return name
        return UniqueIds([*digests, *taken]).claim(safe_name(file.stem))

    def save_page(self, paper_id: str, number: int, picture: bytes) -> None:
        """Writes the picture of a page; a source has none."""
        if not picture:
            return
        suffix = "jpg" if picture.startswith(b"\xff\xd8") else "png"
        write_atomically(self.root / "pages" / f"{paper_id}_{number}.{suffix}", picture, before=self._fence)
        self._pages[paper_id] = max(number, self._pages.get(paper_id, 0))

    def save_key(self, key: KeyFile, pictures: Sequence[bytes]) -> None:
        """Writes missing pictures of a key's pages: their names tell the PDF."""
        for number, picture in enumerate(pictures, 1):
            file = self.root / STATE / key.page_name(number)
            if picture and not file.is_file():
                write_atomically(file, picture, before=self._fence)

    def save(self, paper: IngestedPaper, pictures: Mapping[str, Image]) -> None:
        """Replaces a paper and its pictures, and writes the rows of all papers."""
        before = self.paper(paper.paper_id)
        for name, image in pictures.items():
            write_atomically(self.root / "images" / name, image.bytes or b"", before=self._fence)
        self.write_rows(paper)  # first: with its state a paper is done
        state = self.root / STATE / f"{paper.paper_id}.json"
        write_atomically(state, paper.model_dump_json(indent=1) + "\n", before=self._fence)
        self._fence()
        old = {figure.name for draft in before.drafts for figure in draft.all_figures} if before else set()
        old -= {figure.name for draft in paper.drafts for figure in draft.all_figures}
        remove_files(self.root / "images", [name for name in old if name == Path(name).name])

    def forget_pages(self, paper_id: str, beyond: int = 0) -> None:
        """Removes page pictures behind a number that we wrote, or that the paper's own file counts."""
        before = self.paper(paper_id)
        numbers = range(beyond + 1, max(before.pages if before else 0, self._pages.get(paper_id, 0)) + 1)
        self._fence()
        remove_files(self.root / "pages", [f"{paper_id}_{n}.{suffix}" for n in numbers for suffix in ("jpg", "png")])

    def write_rows(self, new: IngestedPaper) -> None:
        """Writes `questions.jsonl` from all papers, a new one among them."""
        papers = {f"{paper.paper_id}.json": paper for paper in (*self.papers(), new)}
        ordered = [papers[name] for name in sorted(papers)]
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for paper in ordered for row in rows(paper)]
        write_atomically(self.root / ROWS, "".join(lines), before=self._fence)

    def _read(self, file: Path) -> IngestedPaper:
        try:
            return IngestedPaper.model_validate_json(file.read_bytes())
        except (OSError, ValidationError) as error:
            reason = error.errors(include_url=False)[0]["msg"] if isinstance(error, ValidationError) else error.strerror
            raise UserError(
                f"{file}: is damaged ({one_line(reason, 120)}); remove it and ingest its PDF again"
            ) from None


def rows(paper: IngestedPaper) -> Iterator[dict[str, Any]]:
    """The rows of a paper for the livek12 reader, without empty fields."""
    for draft in map(_without_proposed_scheme, paper.drafts):
        yield {key: value for key, value in row(paper, draft).items() if value not in (None, "", [])}


def _without_proposed_scheme(draft: Draft) -> Draft:
    proposed = [doubt.text for doubt in draft.doubts if doubt.text.startswith(f"{PROPOSED} scheme: ")]
    allowed = all(UNREVIEWED in text.rpartition(" (")[2] for text in proposed)
    return draft if allowed else draft.model_copy(update={"scheme": []})


def row(paper: IngestedPaper, draft: Draft, review: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """One question as a row; `review` has state, by and at."""
    return {
        "id": draft.id,
        "set": paper.release,
        "language": draft.language,
        "subject": draft.subject or paper.subject,
        "question_type": draft.question_type,
        "point_value": draft.points,
        "question": draft.question,
        "options": [option.model_dump() for option in draft.options],
        "images": [f"images/{figure.name}" for figure in draft.figures],
        "answer": draft.answer,
        "solution": draft.solution,
        "solution_images": [f"images/{figure.name}" for figure in draft.solution_figures],
        "part_points": draft.part_points,
        "scheme": [[criterion.model_dump(exclude_defaults=True) for criterion in own] for own in draft.scheme],
        "knowledge_points": draft.knowledge_points,
        "difficulty": draft.difficulty,
        "subset": draft.subsets,
        "translation_of": draft.translation_of,
        "paper_id": paper.paper_id,
        "page_numbers": draft.page_numbers,
        "boxes": [asdict(box) for box in draft.boxes],
        "number": draft.number,
        "year": paper.year,
        "exam": paper.exam,
        "licence": paper.licence,
        "source": {"upstream_id": f"{paper.source} q{draft.number}"},
        "review": dict(review) if review else {"state": "unreviewed"},
    }
