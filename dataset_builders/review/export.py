"""Export of accepted questions as a folder for `build livek12 --source`.

Contract: questions name their reviewers and time. The folder appears atomically, and replaces an earlier export only if
that has no unlisted files.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from pydantic import ValidationError

from livek12.core.errors import UserError
from livek12.core.files import check_tree, copy_file, sync_place, write_atomically
from livek12.core.records import Record
from livek12.dataset_builders.ingest.drafts import Draft, Figure
from livek12.dataset_builders.ingest.folder import ROWS, STATE, Folder, row
from livek12.dataset_builders.ingest.pages.blocks import Box
from livek12.dataset_builders.review.board import Board, Entry
from livek12.dataset_builders.review.forms import to_draft
from livek12.dataset_builders.review.pictures import Originals, cut_name, figure_file, is_cut_anew, page_file
from livek12.dataset_builders.review.store import ReviewStore

MARK = "export.json"
"""Manifest in `.ingest/` of an export."""


class Exported(Record):
    """Export manifest: counts, reasons of the rejected, and files; `unkeyed` of the accepted have no key."""

    accepted: int
    rejected: int
    open: int
    conflict: int
    reasons: dict[str, int] = {}
    papers: list[str] = []
    cut: int = 0
    unkeyed: int = 0
    files: list[str] = []


def export(store: ReviewStore, out: Path, pdfs: Path | None = None) -> Exported:
    """Writes the accepted questions of a folder to another.

    Figures are cut from the PDFs in `pdfs`; None: from page pictures.
    """
    board = store.refresh()
    _check(store.root, out)
    entries = board.live()
    states = Counter(entry.state() for entry in entries)
    if not states["accepted"]:
        raise UserError(f"{store.root}: nothing is accepted yet ({states['open']} open); livek12 review {store.root}")
    temporary = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        shutil.rmtree(temporary, ignore_errors=True)
        folder = Folder(temporary)
        cut, accepted = _fill(store.root, folder, board, Originals(store.root, pdfs))
        reasons = Counter(_reason(entry) for entry in entries if entry.state() == "rejected")
        papers = sorted({entry.paper_id for entry in entries if entry.state() == "accepted"})
        done = Exported(
            accepted=states["accepted"],
            rejected=states["rejected"],
            open=states["open"],
            conflict=states["conflict"],
            reasons=dict(reasons.most_common()),
            papers=papers,
            cut=cut,
            unkeyed=sum(not any(map(row.get, ("answer", "solution", "scheme"))) for row in accepted),
        )
        write_atomically(
            temporary / ROWS, "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in accepted)
        )
        done = done.model_copy(update={"files": sorted({*_files(temporary), f"{STATE}/{MARK}"})})
        write_atomically(temporary / STATE / MARK, done.model_dump_json(indent=1) + "\n")
        _sync(temporary)
        if out.exists():
            shutil.rmtree(out)
        temporary.rename(out)
        _sync(out)
        sync_place(out.parent)
    except OSError as error:
        raise UserError(f"{out}: cannot be written ({error.strerror}); make room or choose another folder") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return done


def _sync(folder: Path) -> None:
    for path in (*sorted(folder.rglob("*")), folder):  # the list of our files before the files
        sync_place(path)


def _check(root: Path, out: Path) -> None:
    if out.resolve() == root.resolve() or root.resolve() in out.resolve().parents:
        raise UserError(f"{out}: is in the reviewed folder; choose a folder beside it")
    if not out.exists():
        return
    check_tree(out)
    listed = set[str]()
    with suppress(OSError, ValidationError):
        listed = set(Exported.model_validate_json((out / STATE / MARK).read_bytes()).files) or _of_earlier(out)
    if not out.is_dir() or (others := sorted(_files(out) - listed)):
        which = f" ({others[0]})" if out.is_dir() else ""
        raise UserError(f"{out}: holds something else{which}; choose an empty folder")


def _files(folder: Path) -> set[str]:
    return {file.relative_to(folder).as_posix() for file in folder.rglob("*") if not file.is_dir()}


def _of_earlier(folder: Path) -> set[str]:
    kinds = re.compile(rf"{re.escape(STATE)}/{re.escape(MARK)}|{re.escape(ROWS)}|(?:images|pages)/[^/]+\.(?:png|jpg)")
    return set(filter(kinds.fullmatch, _files(folder)))


def _fill(root: Path, folder: Folder, board: Board, originals: Originals) -> tuple[int, list[dict[str, object]]]:
    cut, rows = 0, []
    for paper_id, ids in board.order.items():
        paper = board.papers[paper_id]
        accepted = [entry for id in ids if (entry := board.entries[id]).state() == "accepted"]
        for number in range(1, paper.pages + 1) if accepted else ():
            file = page_file(root, paper_id, number)
            copy_file(file, folder.root / "pages" / file.name)
        for entry in accepted:
            copy, decisions = entry.final()
            draft, new = _with_pictures(root, folder, entry, to_draft(entry.draft, copy), partial(originals.cut, paper))
            cut += new
            names = dict.fromkeys(made.by for made in decisions)
            review = {"state": "accepted", "by": ", ".join(names), "at": max(made.at for made in decisions)}
            rows.append({k: value for k, value in row(paper, draft, review).items() if value not in (None, "", [])})
    return cut, rows


def _with_pictures(
    root: Path, folder: Folder, entry: Entry, draft: Draft, cut_from: Callable[[Box], bytes]
) -> tuple[Draft, int]:
    figures, cut = [], 0
    for figure in draft.figures:
        target = figure
        if is_cut_anew(entry.draft, figure) and figure.box:
            target = Figure(name=cut_name(draft.id, figure), box=figure.box, caption=figure.caption)
            write_atomically(folder.root / "images" / target.name, cut_from(figure.box), sync=False)
            cut += 1
        else:
            copy_file(figure_file(root, figure.name), folder.root / "images" / figure.name)
        figures.append(target)
    for figure in draft.solution_figures:
        copy_file(figure_file(root, figure.name), folder.root / "images" / figure.name)
    return draft.model_copy(update={"figures": figures}), cut


def _reason(entry: Entry) -> str:
    _, decisions = entry.final()
    return next((made.reason for made in decisions if made.reason), "no reason given")
