"""Papers from PDF to drafts.

Contract: a PDF that cannot be read costs a line. A paper with the same PDF, options and code is not done again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import TypeAdapter, ValidationError

from livek12.core.errors import UserError
from livek12.core.question_types import READER_TYPES
from livek12.core.records import Image, Language, canonical_json
from livek12.core.scripts import both_scripts
from livek12.core.text import squeezed
from livek12.dataset_builders.base import UniqueIds, one_line
from livek12.dataset_builders.ingest.drafting import draft_all, safe_name, take_answers
from livek12.dataset_builders.ingest.drafts import Draft, IngestedPaper, KeyFile
from livek12.dataset_builders.ingest.extract import How, extract_pages
from livek12.dataset_builders.ingest.folder import Folder
from livek12.dataset_builders.ingest.invariants import checked
from livek12.dataset_builders.ingest.keys import matching
from livek12.dataset_builders.ingest.keys.entries import TABLES, Entry, entries_of_csv
from livek12.dataset_builders.ingest.keys.listed import candidates
from livek12.dataset_builders.ingest.keys.pictures import KeyPictures, without_letters
from livek12.dataset_builders.ingest.keys.solved import aligned_entries
from livek12.dataset_builders.ingest.keys.words import LETTER, PaperWords
from livek12.dataset_builders.ingest.ownership import accounts, ids_of
from livek12.dataset_builders.ingest.pages.blocks import PICTURE, UNREAD, Box, PageBlocks
from livek12.dataset_builders.ingest.pages.pdf import needed
from livek12.dataset_builders.ingest.paper_reading import PaperReading, language_in, unknown_language
from livek12.dataset_builders.ingest.questions.examples import examples_of
from livek12.dataset_builders.ingest.questions.kinds import subject_of
from livek12.dataset_builders.ingest.questions.segment import MISSING, TOP, Body, missing_numbers, segment
from livek12.dataset_builders.ingest.questions.stream import Stream, flatten
from livek12.dataset_builders.ingest.sources import files_of, is_source
from livek12.dataset_builders.ingest.templates import Template, load_template

if TYPE_CHECKING:
    from livek12.dataset_builders.ingest.models.parser import Parser, UnreadQuestion
    from livek12.dataset_builders.ingest.models.vlm import Reader

BY_RULES = "parsed by rules alone: no model looked at it (--parse-by MODEL has one check it)"
_YEAR = both_scripts(r"(?<!\d)(20[0-4]\d)\s*(?:年|학년도|년|届)?(?!\d)")
_PAGE_AT_END = re.compile(r"\s{4,}\d{1,3}\s*$|^\s*\d{1,3}\s{4,}")
"""The page's number, on the line of the title."""
_LONGEST_TITLE, _LONGEST_NAME = 120, 80
"""Characters of a title, and of one that is known by its year: a passage's line may have one too."""


@dataclass(frozen=True)
class Options:
    """The user's options of a call; "" and None leave it to the papers."""

    template: str = ""
    answers: tuple[Path, ...] = ()
    language: Language | None = None
    subject: str = ""
    release: str = ""
    how: How = "auto"
    parser: str = ""
    vlm: str = ""
    licence: str = ""
    take_parsed: bool = False
    heads: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Bounds the examples."""
        object.__setattr__(self, "heads", examples_of(self.heads))


def options_of(paper: IngestedPaper) -> Options:
    """The options that a paper was ingested with, but its keys; UserError if they are unknown or name a model."""
    again = f"{paper.source}: repeat livek12 ingest"
    try:
        options = TypeAdapter(Options).validate_python(paper.options)
    except ValidationError:
        raise UserError(f"{again}: another version of livek12 read it and kept no options that can be used") from None
    if options.parser or options.how not in ("auto", "text", "ocr"):
        raise UserError(f"{again}, with --head: it was read with {options.parser or f'--how {options.how}'}")
    return options


def _kept(options: Options) -> dict[str, object]:
    """Options as a record keeps them: without paths of keys, which it names, and without arguments of engines."""
    kept = {**vars(options), "heads": [*options.heads], "parser": options.parser.partition(":")[0], "vlm": ""}
    return {name: value for name, value in kept.items() if name != "answers"}


@dataclass
class IngestOutcome:
    """The papers, the ids of those that were not done again, and a line for each unusable PDF."""

    papers: list[IngestedPaper] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


def ingest(
    pdfs: Sequence[Path],
    out: Path,
    options: Options,
    step: Callable[[], None] = lambda: None,
    parser: Parser | None = None,
    reader: Reader | None = None,
    check: Callable[[IngestedPaper], None] = lambda paper: None,
) -> IngestOutcome:
    """Ingests papers, `step` after each page; UserError if the folder, the template or the key cannot be used.

    `check` sees each paper before it is stored; if it raises UserError, the paper is not.
    """
    if not all(map(is_source, pdfs)):
        needed(options.how)
    folder = Folder(out)
    template = load_template(options.template) if options.template else None
    key = AnswerKey.read(*options.answers)
    outcome = IngestOutcome()
    with folder.alone():
        for file in key.files:
            folder.save_key(file, [page.image for page in key.pages.get(file.name, ())])
        for pdf in pdfs:
            try:
                _one(pdf, folder, options, template, key, parser, reader, step, check, outcome)
            except UserError as error:
                line = one_line(error)
                outcome.failed.append(line if pdf.name in line else f"{pdf.name}: {line}")
            except Exception as error:  # whatever a page leads a rule to raise: the other papers go on
                reason = one_line(f"{type(error).__name__}: {error}", 160)
                outcome.failed.append(f"{pdf.name}: the rules failed on it ({reason}); please report this paper")
    return outcome


def _one(
    pdf: Path,
    folder: Folder,
    options: Options,
    template: Template | None,
    key: AnswerKey,
    parser: Parser | None,
    reader: Reader | None,
    step: Callable[[], None],
    check: Callable[[IngestedPaper], None],
    outcome: IngestOutcome,
) -> None:
    digest = _digest(pdf)
    paper_id = folder.id_for(pdf, digest, [paper.paper_id for paper in outcome.papers])
    made_by = _fingerprint("".join(map(_digest, files_of(pdf))), options, template, key)
    before = folder.paper(paper_id)
    if before and before.made_by == made_by and (folder.root / "pages").is_dir():
        outcome.papers.append(before)
        outcome.unchanged.append(paper_id)
        return
    try:
        pages = []
        for page in extract_pages(pdf, language=options.language, how=options.how, reader=reader):
            folder.save_page(paper_id, page.number, page.image)
            pages.append(replace(page, image=b""))  # one picture at a time is in memory
            step()
        paper, pictures = read_paper(pdf, pages, paper_id, digest, options, template, key, parser)
        check(paper)
    except UserError:
        if before is None:
            folder.forget_pages(paper_id)
        raise
    folder.forget_pages(paper_id, beyond=len(pages))
    folder.save(paper.model_copy(update={"made_by": made_by, "options": _kept(options)}), pictures)
    outcome.papers.append(paper)


def read_paper(
    pdf: Path,
    pages: Sequence[PageBlocks],
    paper_id: str,
    digest: str,
    options: Options,
    template: Template | None,
    key: AnswerKey,
    parser: Parser | None,
) -> tuple[IngestedPaper, dict[str, Image]]:
    """Drafts and pictures of a paper; UserError if no question is found."""
    stream = replace(flatten(pages), examples=options.heads)
    language = options.language or language_in(stream)
    body = take_answers(stream, segment(stream), language)
    title = _title(stream, body)
    heads = [text for texts in stream.headings.values() for text in texts]
    headings = squeezed("".join([*heads, *(item.text for item in stream.items if item.box.bottom < TOP)]))
    subject = options.subject or subject_of(title) or subject_of(pdf.stem) or subject_of(headings)
    template = template or load_template(language)
    made = draft_all(body, stream, paper_id, language, subject, template)
    lost: list[UnreadQuestion] = []
    more: list[str] = []
    if parser:
        made.drafts, lost, more = parser.unread(pages, made.drafts, template)
    taken: list[Draft] = []
    unread = [each.line for each in lost]
    if options.take_parsed:
        from livek12.dataset_builders.ingest.models.parser import written

        ids = UniqueIds(draft.id for draft in made.drafts)
        names = [ids.claim(f"{paper_id}-q{safe_name(each.reply['number'])}") for each in lost]
        own = [written(each, id, language, subject, template) for each, id in zip(lost, names, strict=True)]
        taken = [draft for draft in own if draft]
        unread = [each.line for each, draft in zip(lost, own, strict=True) if draft is None]
    if not made.drafts and not taken:
        raise UserError("; ".join([f"{pdf.name}: {_why_none(stream, pages)}", *more[:1], *unread[:5]]))
    letters = KeyPictures()
    keyed, lines, entries = _with_keys([*made.drafts, *taken], stream, body, key, headings, letters)
    keyed = [letters.placed(draft, made.pictures) for draft in keyed]
    drafts, taken = keyed[: len(made.drafts)], keyed[len(made.drafts) :]
    reading = PaperReading(pages, stream, body, made.drafts, drafts, entries, key.name)
    drafts, breaches = checked(reading)
    notes = list(dict.fromkeys(note for page in pages for note in page.notes))
    if stream.examples:
        notes.append(f"{len(body.segments)} questions were found by example: compare their first lines")
    if parser:
        drafts, replies = parser.check(drafts, template)
        lines += unread
        notes += [*replies, *more]
    else:
        notes.append(BY_RULES)
    drafts = [*drafts, *taken]
    if not pages[0].width:  # a source
        figures = [[figure.model_copy(update={"box": None}) for figure in draft.figures] for draft in drafts]
        none = {"boxes": list[Box](), "page_numbers": list[int]()}
        drafts = [draft.model_copy(update={**none, "figures": own}) for draft, own in zip(drafts, figures, strict=True)]
    missing = missing_numbers(body.segments, {draft.number for draft in taken})
    year = _YEAR.search(title) or _YEAR.search(pdf.stem)
    paper = IngestedPaper(
        paper_id=paper_id,
        title=title,
        source=pdf.name,
        sha256=digest,
        pages=sum(page.width > 0 for page in pages),
        language=language,
        subject=subject,
        template=template.name,
        parsed_by=parser.name if parser else "rules",
        release=options.release or None,
        year=int(year[1]) if year else None,
        exam=title or None,
        licence=options.licence or None,
        drafts=[_settled(draft) for draft in drafts],
        keys=key.files,
        errors=[
            *key.unread,
            *(line for line in lines if MISSING.match(line) or line.startswith(matching.NO_ANSWER)),
            *unread,
            *breaches,
        ],
        unmatched=[*missing, *lines],
        notes=notes,
        account=accounts(reading, [draft for draft in drafts if draft.answer_from == "the paper"]),
    )
    used = {figure.name for draft in paper.drafts for figure in draft.all_figures}
    return paper, {name: picture for name, picture in made.pictures.items() if name in used}


@dataclass
class AnswerKey:
    """The key of `--answers`.

    Attributes:
        problems: a line for each bad row.
        unread: a line for each PDF or page that cannot be read.
        files: all of them.
    """

    entries: list[Entry] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    name: str = ""
    sha256: str = ""
    unread: list[str] = field(default_factory=list)
    pages: dict[str, list[PageBlocks]] = field(default_factory=dict)
    files: list[KeyFile] = field(default_factory=list)

    @classmethod
    def read(cls, *files: Path) -> AnswerKey:
        """A key from PDFs and CSVs; a PDF without a key leaves the papers without, and says so.

        Raises:
            UserError: no such file, or a CSV that cannot be read or holds no key.
        """
        key = cls(name=", ".join(file.name for file in files), sha256="".join(map(_digest, files)))
        for file in files:
            if file.suffix.lower() in TABLES:
                entries, problems = entries_of_csv(file)
                if not entries:
                    raise UserError(_no_answers(file))
                key.problems += problems
                key.entries += [replace(entry, source=file.name) for entry in entries]
            else:
                key._read_pdf(file)
            pages = sum(page.width > 0 for page in key.pages.get(file.name, ()))
            key.files.append(KeyFile(name=file.name, sha256=_digest(file), pages=pages))
        return key

    def entries_for(
        self, drafts: Sequence[Draft], letters: KeyPictures, paper: PaperWords | None = None, headings: str = ""
    ) -> list[Entry]:
        """Its entries, those of a PDF as they are aligned with these questions."""
        entries = list(self.entries)
        for name, pages in self.pages.items():
            own = aligned_entries(drafts, paper or PaperWords(), letters.lettered(flatten(pages)), name, headings)
            entries += [replace(entry, source=name) for entry in own]
        return entries

    def _read_pdf(self, file: Path) -> None:
        try:
            pages = list(extract_pages(file))
        except UserError as error:
            self.unread.append(f"the key was not read: {one_line(error)}")
            return
        self.pages[file.name] = pages
        self.unread += [f"{file.name}, page {page.number}: was not read ({page.lost})" for page in pages if page.lost]
        if not candidates(flatten(pages).items, file.name):
            self.unread.append(f"the key was not read: {_no_answers(file)}")


def _no_answers(file: Path) -> str:
    return f"{file.name}: no answers were found in it; a key is a table of numbers and answers, or a CSV"


def _with_keys(
    drafts: Sequence[Draft], stream: Stream, body: Body, key: AnswerKey, headings: str, letters: KeyPictures
) -> tuple[list[Draft], list[str], list[Entry]]:
    """Drafts with the key of `--answers`, else with that of the paper itself; lines; the entries of `--answers`."""
    lines, given = list(key.problems), list(key.entries)
    keyed = [*map(without_letters, drafts)]
    answers = ids_of(body.answers)
    own = {id(item): item.text for each in body.segments for item in each.items}
    between = [item.text for item in stream.items if not (id(item) in own or id(item) in answers)]
    between += [text for each in body.segments for text in (each.items[0].text, each.items[0].text[each.end :])]
    words = PaperWords(own.values(), between)
    if key.name:
        given = key.entries_for(keyed, letters, words, headings)
        keyed, problems = matching.match(keyed, given, key.name, headings, words)
        lines += problems
    if body.answers and not any(draft.answer_from for draft in keyed if key.name):
        open_ = [draft for draft in keyed if not draft.answer]
        answered = {draft.id: draft for draft in keyed if draft.answer}
        behind = letters.lettered(replace(stream, items=body.answers))
        entries = aligned_entries(open_, words, behind, "the paper", headings)
        if not entries:
            lines.append(f"{matching.NO_ANSWER} from the {len(body.answers)} lines behind the title of the answers")
            open_ = [matching.with_doubt(draft, "answer", "the paper's key was not read", 0.3) for draft in open_]
        matched, problems = matching.match(open_, entries, "the paper", headings, words)
        numbers = {draft.number for draft in answered.values()}
        lines += [line for line in problems if not (line.startswith("key ") and line.split()[1] in numbers)]
        by_id = {**answered, **{draft.id: draft for draft in matched}}
        keyed = [by_id[draft.id] for draft in keyed]
    if not given and not any(draft.answer or draft.solution for draft in keyed) and not body.answers:
        why = f"{key.name} was not read" if key.name else "none was given (--answers)"
        text = f"no key was found: the paper has none that was read, and {why}"
        for place, draft in enumerate(keyed):
            if draft.question_type not in READER_TYPES:
                keyed[place] = matching.with_doubt(draft, "answer", text, 0.7)
    return keyed, [LETTER.sub(UNREAD, line) for line in lines], given


def _settled(draft: Draft) -> Draft:
    """Replaces part points that do not add up to the total by a doubt."""
    if draft.part_points and draft.points is not None and abs(sum(draft.part_points) - draft.points) > 1e-6:
        text = f"the parts have {sum(draft.part_points):g} points, the question {draft.points:g}"
        return matching.with_doubt(draft.model_copy(update={"part_points": []}), "points", text, 0.2)
    return draft


def _why_none(stream: Stream, pages: Sequence[PageBlocks]) -> str:
    none = f"no numbered question was found in {len(stream.items)} lines" if stream.items else "no text was found"
    notes = [note for page in pages for note in page.notes]
    why = unknown_language(stream) or f"{notes[0] if notes else ''}; is it an exam?"
    origins = {block.origin for page in pages for block in page.blocks}
    advice = "" if origins & {"ocr", "source"} else " (pages that are pictures: --how ocr)"
    return f"{none}{advice}{': ' * (why[0] != ';')}{why}"


def _title(stream: Stream, body: Body) -> str:
    """The line of the first page's front or head with a year, else its largest."""
    front = [*stream.titles, *(body.front or [item for item in stream.items[:30] if item.block.origin != "source"])]
    lines = [item.line for item in front if item.line and item.box.page == 1]
    lines = [line for line in lines if 3 < len(line.text.strip()) <= _LONGEST_TITLE]
    heads = [line for text in stream.headings.get(1, []) for line in text.split("\n") if line.strip()]
    named = [text for text in (*(line.text for line in lines), *heads) if _YEAR.search(text)]
    named = [text for text in named if len(text) <= _LONGEST_NAME]
    largest = max((line.size for line in lines), default=0.0)
    titles = [*named, *(line.text for line in lines if line.size >= 0.9 * largest), *heads]
    return one_line(_PAGE_AT_END.sub("", titles[0].replace(PICTURE, " ")), _LONGEST_TITLE) if titles else ""


def _digest(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise UserError(f"{file}: cannot be read: {error.strerror or error}") from None


def _fingerprint(digest: str, options: Options, template: Template | None, key: AnswerKey) -> str:
    choices = {**vars(options), "answers": key.sha256, "template": template and template.model_dump(mode="json")}
    made = [digest, choices, code_version()]
    return hashlib.sha256(canonical_json(made).encode()).hexdigest()


@cache
def code_version() -> str:
    """Hash of this package's files."""
    here = Path(__file__).resolve().parent
    files = sorted([*here.rglob("*.py"), *here.glob("templates/*.yaml"), *here.glob("prompts/*.txt")])
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
