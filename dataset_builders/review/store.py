"""Review store: reads papers and journal, and stores actions.

Contract: `act` returns once the action is on disk; the board is a replay of the journal. Several servers may share a
folder: each writes its own journal file and reads all.
"""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from livek12.core.errors import UserError
from livek12.core.run.journal import JournalWriter, journal_files
from livek12.core.visible import visible
from livek12.dataset_builders.base import one_line
from livek12.dataset_builders.ingest.drafts import Draft, Figure, IngestedPaper, KeyFile
from livek12.dataset_builders.ingest.folder import STATE, Folder
from livek12.dataset_builders.ingest.pages.blocks import Box
from livek12.dataset_builders.ingest.paper import ingest, options_of
from livek12.dataset_builders.ingest.region import read_answer, read_head, read_region
from livek12.dataset_builders.ingest.report import write_report
from livek12.dataset_builders.review.board import DECISIONS, STEM, Action, Board, Entry
from livek12.dataset_builders.review.forms import (
    as_draft,
    fields_read,
    joined_key,
    merge,
    new_id,
    patched,
    problems_of,
    split,
)
from livek12.dataset_builders.review.pictures import Originals

LONGEST_TEXT = 4000
LONGEST_NAME = 40
READ = ("question_type", "question", "options")
"""Fields that the boxes of a question always hold."""
KEY = ("question_type", "answer", "solution")


class NotStored(UserError):
    """A disk fault on write or read; the action may be sent again."""


class BadText(UserError):
    """A text of the action's `field` that has no UTF-8 form."""

    def __init__(self, field: str) -> None:
        super().__init__(f"{field.replace('_', ' ')}: holds half a character (a lone surrogate): delete it")
        self.field = field


class ReviewStore:
    """Thread-safe review of one ingested folder; use as a context manager, or `close` it.

    With `read_only` no journal file is opened; boxes are read from the PDFs in `pdfs`. Raises UserError for a folder
    without papers, or a damaged file.
    """

    def __init__(self, root: Path, read_only: bool = False, pdfs: Path | None = None) -> None:
        if not (root / STATE).is_dir():
            raise UserError(f"{root}: holds no ingested papers; make it with livek12 ingest PDF... --out {root}")
        self.root = root
        self._originals = Originals(root, pdfs)
        self._lock = threading.RLock()
        self._state = root / STATE
        self._writer = None if read_only else JournalWriter(self._state, STEM)
        self._offsets: dict[Path, int] = {}
        self._last: tuple[int, str, str] = (0, "", "")
        self._stamp: tuple[tuple[str, int, int], ...] = ()
        self.actions: dict[str, Action] = {}
        self.problems: list[str] = []
        self.board = Board([])
        self.refresh()
        if not self.board.papers:
            raise UserError(f"{root}: holds no ingested papers; make it with livek12 ingest PDF... --out {root}")

    def __enter__(self) -> ReviewStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the journal."""
        if self._writer:
            self._writer.close()

    def refresh(self) -> Board:
        """Board with all stored actions, those of other servers included."""
        with self._lock:
            stamp = tuple((f.name, f.stat().st_mtime_ns, f.stat().st_size) for f in sorted(self._state.glob("*.json")))
            new = sorted(self._read(), key=lambda action: action.rank)
            if stamp != self._stamp:
                self._stamp = stamp
                self.board = Board(Folder(self.root).papers(), self.actions.values())
            elif new:
                self._take_in(new)
            if new:
                self._last = max(self._last, new[-1].rank)
            return self.board

    def act(self, by: str, kind: str, draft: str, payload: Mapping[str, Any], id: str = "") -> Action | None:
        """Stores and applies an action; returns None if its id is stored already.

        `kind` is of `Action`, "redo", or an edit: "read" takes what its boxes hold, "key" the answer in `boxes` of the
        key `sha256`, or `more` of it. `payload` has the rest: fields, boxes, figures, text, group, option and offset
        (split), with (merge), other and verdict (settle). Raises BadText, NotStored, or UserError for an action that is
        invalid now.
        """
        if self._writer is None:
            raise UserError(f"{self.root}: is only being looked at")
        _check_texts({"reviewer": by, "draft": draft, "kind": kind}, payload)
        if not by.strip() or len(by) > LONGEST_NAME or not by.isprintable():
            raise UserError(f"a reviewer has a name of 1 to {LONGEST_NAME} printable characters")
        if len(id) > 64 or (id and not id.isalnum()):
            raise UserError("an action's id is letters and digits")
        with self._lock:
            self.refresh()
            if id and id in self.actions:
                return None
            made = self._make(by.strip(), kind, draft, payload)
            action = Action.model_validate(
                {
                    "id": id or uuid.uuid4().hex,
                    "order": self._last[0] + 1,
                    "by": by.strip(),
                    "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
                    "draft": draft,
                    **made,
                }
            )
            try:
                self._writer.append(action)
                self._writer.sync()
            except (UserError, OSError) as error:
                reason = one_line(error.__cause__ or error, 120)
                raise NotStored(f"{self._state}: does not take what you did ({reason}): make room") from None
            self.refresh()
            return action

    def head(self, paper_id: str, box: Any) -> str:
        """The beginning of the first line in a box on a page of a paper; "" if there is none."""
        paper = self._paper(paper_id)
        (place,) = _boxes([box], paper.pages)
        options = options_of(paper)
        return read_head(self._originals.file(paper.source, paper.sha256), place, paper.language, options.how)

    def find_like(self, paper_id: str, heads: Sequence[str], anyway: bool = False) -> list[str]:
        """Ingests a paper again, so that lines like these begin its questions.

        Returns the questions that somebody worked on and that would change or go: then nothing is stored, except with
        `anyway`. Raises UserError if the paper cannot be ingested so.
        """
        paper = self._paper(paper_id)
        keys = [self._originals.file(key.name, key.sha256) for key in paper.keys]
        options = replace(options_of(paper), heads=tuple(heads), answers=tuple(keys))
        changed: list[str] = []

        def check(new: IngestedPaper) -> None:
            if new.paper_id != paper_id:
                raise UserError(f"{paper.source}: is in this folder twice, as {new.paper_id} too")
            changed.extend(() if anyway else self._changed_by(new))
            if changed:
                raise UserError("reviewed questions change")

        _check_texts({"heads": heads}, {})
        outcome = ingest([self._originals.file(paper.source, paper.sha256)], self.root, options, check=check)
        if changed:
            return changed
        if outcome.failed:
            raise UserError(outcome.failed[0])
        write_report(self.root, [*self.refresh().papers.values()])
        return []

    def _paper(self, paper_id: str) -> IngestedPaper:
        if paper := self.refresh().papers.get(paper_id):
            return paper
        raise UserError(f"paper {paper_id[:80]!r} is not there (any more); reload the page")

    def _changed_by(self, new: IngestedPaper) -> list[str]:
        """The questions that somebody worked on and that are others, or gone, once a paper is ingested so."""
        with self._lock:
            before = self.refresh()
            after = Board([*(before.papers | {new.paper_id: new}).values()], self.actions.values()).entries
        return [
            id
            for id, entry in before.entries.items()
            if (entry.history or not entry.live)
            and not (id in after and (after[id].live, after[id].fresh.digest) == (entry.live, entry.fresh.digest))
        ]

    def _make(self, by: str, kind: str, draft: str, payload: Mapping[str, Any]) -> dict[str, Any]:
        text = str(payload.get("text") or "").strip()
        if len(text) > LONGEST_TEXT:
            raise UserError(f"a reason or comment has at most {LONGEST_TEXT:,} characters")
        if kind in ("undo", "redo"):
            return self._taking_back(by, kind)
        entry = self.board.entry(draft)
        if kind == "edit":
            return self._editing(entry, by, payload)
        if kind == "read":
            read = self._read_boxes(entry, entry.copy(by).boxes, draft)
            printed = [name for name in ("number", "points", "answer", "solution") if getattr(read, name)]
            return {"kind": "edit", "fields": fields_read(read, [*READ, *printed]), "figures": read.figures}
        if kind == "add":
            boxes = _boxes(payload.get("boxes") or [], self.board.papers[entry.paper_id].pages)
            read = self._read_boxes(entry, boxes, new_id(draft, self.board.entries.keys()))
            behind = self._last_before(entry.paper_id, boxes[0], by)
            part = self.board.entries[behind].draft.elective if behind else entry.draft.elective
            read = read.model_copy(update={"elective": part})
            return {"kind": "add", "draft": behind, "drafts": [read], "paper": entry.paper_id}
        if kind == "key":
            before = as_draft(entry.draft, entry.copy(by))
            keyed = self._read_key(entry, before, payload)
            if payload.get("more"):
                keyed = joined_key(before, keyed)
            return {"kind": "edit", "fields": fields_read(keyed, KEY)}
        if kind in DECISIONS:
            copy = entry.copy(by)
            if kind == "accept" and (problems := problems_of(copy)):
                raise UserError(f"cannot be accepted: {'; '.join(problems.values())}")
            if kind == "reject" and not text:
                raise UserError("say why it is rejected")
            return {"kind": kind, "digest": copy.digest, "text": text}
        if kind == "reopen":
            return {"kind": kind}
        if kind == "comment":
            if not text:
                raise UserError("the comment is empty")
            return {"kind": kind, "text": text}
        if kind == "settle":
            return _settling(entry, payload, text)
        if kind == "split":
            option, offset = payload.get("option"), payload.get("offset")
            if type(offset) is not int or type(option) not in (int, type(None)):  # bool is a subclass of int
                raise UserError("split: say where")
            drafts = split(entry.draft, entry.copy(by), option, offset, self.board.entries.keys())
            return {"kind": kind, "replaces": [draft], "drafts": drafts}
        if kind == "merge":
            return self._merging(entry, by, str(payload.get("with") or "next"))
        raise UserError(f"{kind[:40]!r} is no action")

    def _editing(self, entry: Entry, by: str, payload: Mapping[str, Any]) -> dict[str, Any]:
        try:
            fields = dict(payload.get("fields") or {})
            figures = (
                None if payload.get("figures") is None else [Figure.model_validate(item) for item in payload["figures"]]
            )
        except (ValidationError, TypeError, ValueError) as error:
            raise UserError(f"edit: {one_line(error, 120)}") from None
        pages = self.board.papers[entry.paper_id].pages
        boxes = None if payload.get("boxes") is None else _boxes(payload["boxes"], pages)
        _boxes([vars(figure.box) for figure in figures or [] if figure.box], pages)
        names = {figure.name for other in self.board.entries.values() for figure in other.draft.figures}
        for figure in figures or []:
            if figure.name and figure.name not in names:
                raise UserError(f"edit: there is no figure {figure.name[:80]!r}")
            if not figure.name and figure.box is None:
                raise UserError("edit: a new figure has a box to be cut from")
        patched(entry.copy(by), fields, boxes, figures)
        group = str(payload.get("group") or "")[:64]
        return {"kind": "edit", "fields": fields, "boxes": boxes, "figures": figures, "group": group}

    def _read_boxes(self, entry: Entry, boxes: list[Box], id: str) -> Draft:
        if not boxes:
            raise UserError("draw a box around the question first (B)")
        paper, draft = self.board.papers[entry.paper_id], entry.draft
        file = self._originals.file(paper.source, paper.sha256)
        return read_region(file, boxes, id, draft.language, draft.section, draft.subject)

    def _last_before(self, paper_id: str, box: Box, by: str) -> str:
        """Id of the last question that begins before a box; "" if none does."""
        copies = [(id, self.board.entries[id].copy(by)) for id in self.board.order[paper_id]]
        return next((id for id, copy in reversed(copies) if copy.boxes and _precedes(copy.boxes[0], box)), "")

    def _read_key(self, entry: Entry, draft: Draft, payload: Mapping[str, Any]) -> Draft:
        """The draft with what a box holds on a page of the key, or (without `sha256`) of the paper."""
        paper = self.board.papers[entry.paper_id]
        whole = KeyFile(name=paper.source, sha256=paper.sha256, pages=paper.pages)
        sha256 = payload.get("sha256") or paper.sha256
        key = next((file for file in (whole, *paper.keys) if file.sha256 == sha256), None)
        if key is None:
            raise UserError(f"{entry.draft.id}: its paper has no such key; reload the page")
        boxes = _boxes(payload.get("boxes") or [], key.pages)
        if not boxes:
            raise UserError("draw a box around the answer first (W)")
        return read_answer(self._originals.file(key.name, key.sha256), boxes, draft)

    def _merging(self, entry: Entry, by: str, way: str) -> dict[str, Any]:
        ids = self.board.order[entry.paper_id]
        first = ids.index(entry.draft.id) - (way == "previous")
        if not 0 <= first < len(ids) - 1:
            raise UserError(f"there is no {way} question in this paper to merge with")
        a, b = (self.board.entries[id] for id in ids[first : first + 2])
        drafts = [merge(a.draft, a.copy(by), b.draft, b.copy(by))]
        return {"kind": "merge", "replaces": [a.draft.id, b.draft.id], "drafts": drafts}

    def _taking_back(self, by: str, kind: str) -> dict[str, Any]:
        gone = self.board.undone
        ranked = sorted(self.actions.values(), key=lambda action: action.rank)
        mine = [action for action in ranked if action.by == by and action.id not in gone]
        if kind == "redo":
            undos = {action.id for action in ranked if action.kind == "undo"}
            while mine and mine[-1].kind == "undo" and undos.intersection(mine[-1].targets):  # a redo
                mine.pop()
            if not mine or mine[-1].kind != "undo":
                raise UserError("there is nothing to do again")
            return {"kind": "undo", "draft": mine[-1].draft, "targets": [mine[-1].id]}
        mine = [action for action in mine if action.kind != "undo" and action.id in self.board.applied]
        if not mine:
            raise UserError("there is nothing to undo")
        last = mine[-1]
        for entry in (self.board.entries[draft.id] for draft in last.drafts):
            if others := {action.by for action in entry.history if action.by != by}:
                raise UserError(f"{' and '.join(sorted(others))} worked on what came of it: it cannot be undone")
            if not entry.live:
                raise UserError("what came of it was split or merged since: it cannot be undone")
        targets = [last.id]
        if last.group:
            targets = [a.id for a in mine if a.group == last.group and a.kind == "edit"]
        return {"kind": "undo", "draft": last.draft, "targets": targets}

    def _read(self) -> list[Action]:
        new = []
        for file in journal_files(self._state, STEM):
            start = self._offsets.get(file, 0)
            try:
                with file.open("rb") as stream:
                    stream.seek(start)
                    text = stream.read()
            except OSError as error:
                raise NotStored(f"{file}: cannot be read ({error.strerror})") from error
            whole = text[: text.rfind(b"\n") + 1]
            self._offsets[file] = start + len(whole)
            for line in filter(None, whole.split(b"\n")):
                try:
                    action = Action.model_validate_json(line)
                except ValueError as error:
                    self.problems.append(f"{file.name}: a line is no action, passed over ({one_line(error, 80)})")
                    continue
                if action.id not in self.actions:
                    self.actions[action.id] = action
                    new.append(action)
        return new

    def _take_in(self, new: list[Action]) -> None:
        """Applies actions that rank last; replays all otherwise."""
        if new[0].rank < self._last or any(action.kind == "undo" for action in new):
            self.board = Board(list(self.board.papers.values()), self.actions.values())
        else:
            for action in new:
                self.board.apply(action)


def _precedes(box: Box, other: Box) -> bool:
    """Order of reading: pages, columns, lines."""
    if box.page != other.page:
        return box.page < other.page
    middles = [(place.left + place.right) / 2 for place in (box, other)]
    if box.right < middles[1] and middles[0] < other.left:
        return True
    in_column_before = other.right < middles[0] and middles[1] < box.left
    return not in_column_before and box.top < other.top


def _boxes(given: Any, pages: int) -> list[Box]:
    try:
        boxes = TypeAdapter(list[Box]).validate_python(given)
    except ValidationError as error:
        raise UserError(f"edit: {one_line(error, 120)}") from None
    for box in boxes:
        if not (1 <= box.page <= pages and 0 <= box.left < box.right <= 1 and 0 <= box.top < box.bottom <= 1):
            raise UserError("edit: a box lies within a page of its paper")
    return boxes


def _check_texts(about: Mapping[str, Any], payload: Mapping[str, Any]) -> None:
    fields = payload.get("fields")
    texts = {**(fields if isinstance(fields, dict) else {}), **about, **payload}
    for name, value in texts.items():
        try:
            json.dumps([name, value], ensure_ascii=False, default=str).encode()
        except UnicodeEncodeError:
            raise BadText(visible(name)) from None


def _settling(entry: Entry, payload: Mapping[str, Any], text: str) -> dict[str, Any]:
    other, verdict = str(payload.get("other") or ""), payload.get("verdict")
    if entry.state() != "conflict":
        raise UserError("there is no conflict to settle")
    if verdict not in DECISIONS.values() or other not in entry.decided():
        raise UserError("say whose version holds, and whether it is accepted or rejected")
    copy = entry.copy(other)
    if verdict == "accepted" and (problems := problems_of(copy)):
        raise UserError(f"cannot be accepted: {'; '.join(problems.values())}")
    return {"kind": "settle", "other": other, "verdict": verdict, "digest": copy.digest, "text": text}
