"""Translates an ingested folder or a dataset into an ingested folder for review, with checks and retries.

Contract: requests depend on the text alone and replies are cached in the output folder, so a killed run resumes. A
failed question or solution keeps its text, with a "translation" doubt; successful ones have a doubt too, as no check
reads meaning. A glossary is CSV or TSV with columns `source` and `target`, or YAML with one mapping; only terms in a
question are sent with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from livek12.core.errors import UserError
from livek12.core.files import copy_file
from livek12.core.languages import HANGUL, IDEOGRAPHS
from livek12.core.prompts import load_prompt, text_message
from livek12.core.questions import CARD
from livek12.core.records import Failure, Image, Key, Option, Question, Request, Sampling
from livek12.core.replies import Unreadable, object_schema, parse_object
from livek12.core.store import Store
from livek12.core.tables import BadLine, read_table
from livek12.dataset_builders.base import UniqueIds, one_line
from livek12.dataset_builders.ingest.drafting import safe_name
from livek12.dataset_builders.ingest.drafts import Doubt, Draft, Figure, IngestedPaper
from livek12.dataset_builders.ingest.folder import STATE, Folder
from livek12.dataset_builders.proposals import every_question, suffix_of
from livek12.dataset_builders.proposals.translation.checks import MAX_TEXT, Texts, marked, numbered, problems
from livek12.engines.asking import REPLIES, Asker
from livek12.engines.base import Engine, Outcome

MAX_BYTES = 2 << 20
MAX_TERM = 120
MOST_SHOWN = 40
SOLUTION = "solution"
_FOREIGN = re.compile(f"[{IDEOGRAPHS}{HANGUL}]")
TASK = "translate"
LANGUAGES = {"en": "English"}
RETRIES = 2
MAX_TOKENS = 8192
_MOST_PROBLEMS = 12
_LONGEST_SHOWN = 60_000
"""Characters of a faulty reply shown to the model."""
CHECKED = 0.6
"""Confidence of a checked translation that was not read by a person."""
_APART = f"/{SOLUTION}"


def read_glossary(file: Path) -> dict[str, str]:
    """Reads a glossary; raises UserError for faulty files."""
    try:
        if file.stat().st_size > MAX_BYTES:
            raise UserError(f"{file}: a glossary has at most {MAX_BYTES >> 20} MiB")
        terms = _yaml(file) if file.suffix.lower() in (".yaml", ".yml") else _table(file)
    except OSError as error:
        raise UserError(f"{file}: cannot be read ({error.strerror})") from None
    if not terms:
        raise UserError(f"{file}: holds no term; a line is SOURCE, TARGET under a heading source, target (or YAML)")
    for source, target in terms.items():
        if not (0 < len(source) <= MAX_TERM and 0 < len(target) <= MAX_TERM):
            raise UserError(f"{file}: term {one_line(source, 40)!r}: terms have 1 to {MAX_TERM} characters")
    return terms


def terms_in(glossary: Mapping[str, str], text: str) -> dict[str, str]:
    """Terms that a text contains, longest first."""
    matches = sorted((term for term in glossary if term in text), key=len, reverse=True)
    return {term: glossary[term] for term in matches[:MOST_SHOWN]}


def _yaml(file: Path) -> dict[str, str]:
    try:
        terms = yaml.safe_load(file.read_text("utf-8"))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UserError(f"{file}: is no YAML that can be read ({one_line(error, 120)})") from None
    if not isinstance(terms, dict) or not all(isinstance(text, str) for pair in terms.items() for text in pair):
        raise UserError(f"{file}: a glossary maps terms to terms, both texts")
    return terms


def _table(file: Path) -> dict[str, str]:
    terms = {}
    for line, row in read_table(file):
        if isinstance(row, BadLine):
            raise UserError(f"{file}:{line}: {row}")
        if not {"source", "target"} <= row.keys():
            raise UserError(f"{file}:{line}: a term has both source and target")
        terms[row["source"].strip()] = row["target"].strip()
    return terms


def _texts_of(draft: Draft) -> Texts:
    named = {"question": draft.question}
    named |= {f"option_{option.label}": option.text for option in draft.options}
    named |= {f"answer_{number}": text for number, text in enumerate(draft.answer, 1)}
    return {name: numbered(text) for name, text in named.items() if _FOREIGN.search(text)}


def _solution_of(draft: Draft) -> Texts:
    return {SOLUTION: numbered(draft.solution)} if draft.solution and _FOREIGN.search(draft.solution) else {}


def _with_texts(draft: Draft, translated: Mapping[str, str]) -> Draft:
    options = [
        Option(label=option.label, text=marked(translated.get(f"option_{option.label}", option.text)))
        for option in draft.options
    ]
    answer = [marked(translated.get(f"answer_{number}", text)) for number, text in enumerate(draft.answer, 1)]
    solution = marked(translated[SOLUTION]) if SOLUTION in translated else draft.solution
    question = marked(translated.get("question", draft.question))
    return draft.model_copy(update={"question": question, "options": options, "answer": answer, "solution": solution})


@dataclass
class Piece:
    """Texts of one request and their translation.

    Attributes:
        translation: without faults.
        faults: of the last reply.
        failed: no reply; repeatable.
        rounds: number of requests.
    """

    id: str
    texts: Texts
    translation: Texts | None = None
    faults: list[str] = field(default_factory=list)
    failed: bool = False
    rounds: int = 0
    _reply: str = ""


def _translate_pieces(
    pieces: Sequence[Piece],
    asker: Asker,
    glossary: Mapping[str, str] | None = None,
    retries: int = RETRIES,
) -> None:
    open_pieces = {piece.id: piece for piece in pieces if _can_be_asked(piece)}
    for round_ in range(retries + 1):
        for outcome in asker.outcomes(_request(piece, glossary or {}, round_) for piece in open_pieces.values()):
            _take(open_pieces[outcome.key.question_id], outcome)
        open_pieces = {id: piece for id, piece in open_pieces.items() if piece.translation is None and not piece.failed}
        if not open_pieces:
            break


def _read_reply(text: str, texts: Texts) -> tuple[Texts | None, list[str]]:
    """Translations of a reply (None with any fault), and faults."""
    try:
        reply = parse_object(text)
    except Unreadable as error:
        return None, [f"the reply {error}"]
    if reply.keys() != texts.keys() or not all(isinstance(value, str) for value in reply.values()):
        return None, [
            f"the reply has {one_line(', '.join(map(str, reply)), 120)} and not {', '.join(texts)}, all texts"
        ]
    faults = [f"{name}: {problem}" for name, source in texts.items() for problem in problems(source, reply[name])]
    return (None if faults else reply), faults


def _request(piece: Piece, glossary: Mapping[str, str], round_: int) -> Request:
    piece.rounds += 1
    body = json.dumps(piece.texts, ensure_ascii=False, indent=1)
    system = instructions()
    if terms := terms_in(glossary, body):
        system += "\n\nTerms:\n" + "\n".join(f"- {source}: {target}" for source, target in terms.items())
    messages = [text_message("system", system), text_message("user", body)]
    if piece.faults:
        fault_list = "\n".join(f"- {fault}" for fault in piece.faults[:_MOST_PROBLEMS])
        messages.append(text_message("assistant", piece._reply[:_LONGEST_SHOWN] or "{}"))
        messages.append(
            text_message("user", f"That translation is wrong:\n{fault_list}\nGive the whole JSON object again, mended.")
        )
    return Request(
        key=Key(task=TASK, question_id=piece.id, trial=round_),
        messages=messages,
        sampling=Sampling(temperature=0.0, max_tokens=min(MAX_TOKENS, 400 + 2 * len(body))),
        answer_schema=object_schema(**{name: {"type": "string"} for name in piece.texts}),
    )


def _take(piece: Piece, outcome: Outcome) -> None:
    if isinstance(outcome, Failure):
        piece.faults = [f"no reply: {one_line(outcome.reason, 160)}"]
        piece.failed = True
        return
    piece._reply = outcome.text
    piece.translation, piece.faults = _read_reply(outcome.text, piece.texts)
    if piece.translation is None and outcome.finish_reason == "length":
        piece.faults.insert(0, "the reply was cut at its token limit")


def _can_be_asked(piece: Piece) -> bool:
    size = sum(map(len, piece.texts.values()))
    if size > MAX_TEXT:
        piece.faults = [f"{size:,} characters are too long to translate"]
    return size <= MAX_TEXT and bool(piece.texts)


def instructions() -> str:
    """System prompt of the translator."""
    prompt = load_prompt("livek12.dataset_builders.proposals.translation", "translate.txt")
    return prompt.filled({"language": LANGUAGES["en"]}).strip()


@dataclass
class TranslationReport:
    """Result of a translation.

    Attributes:
        untranslated, solutions: reasons by question id.
        carried: questions without text to translate.
        retried: pieces that succeeded after a retry.
    """

    translated: int = 0
    untranslated: dict[str, str] = field(default_factory=dict)
    solutions: dict[str, str] = field(default_factory=dict)
    carried: int = 0
    failed: int = 0
    retried: int = 0


@dataclass(frozen=True)
class Paper:
    """A paper to translate, with its pictures and pages."""

    paper: IngestedPaper
    images: Callable[[str], Image]
    pages: Sequence[Path] = ()


def translate_data(
    data: Path,
    out: Path,
    start: Callable[[], Engine],
    to: str = "en",
    glossary: Mapping[str, str] | None = None,
    retries: int = RETRIES,
    begin: Callable[[int], Callable[[], None]] = lambda total: lambda: None,
) -> TranslationReport:
    """Translates questions in other languages.

    `start` is called only if there is work; the caller closes the engine.
    """
    if to not in LANGUAGES:
        raise UserError(f"--to {to!r}: choose {', '.join(LANGUAGES)}")
    if out.resolve() == data.resolve():
        raise UserError(f"{out}: is the folder that is translated; choose another --out")
    papers = [paper for paper in _papers(data) if any(draft.language != to for draft in paper.paper.drafts)]
    if not papers:
        raise UserError(f"{data}: every question in it is in {LANGUAGES[to]}")
    folder = Folder(out)
    with folder.alone():
        asker = Asker(start(), Store(REPLIES, out / STATE))
        step = begin(sum(len(paper.paper.drafts) for paper in papers))
        report = TranslationReport()
        with closing(asker):
            for paper in papers:
                _translate_paper(paper, folder, asker, to, glossary, retries, report)
                for _ in paper.paper.drafts:
                    step()
        return report


def new_id(id: str, language: str, to: str = "en") -> str:
    """Id of a translation: zh_2603_math_1 becomes en_2603_math_1, others get a prefix."""
    head, joint, rest = id.partition("_")
    return f"{to}_{rest}" if joint and head == language else f"{to}_{id}"


def _translate_paper(
    source: Paper,
    folder: Folder,
    asker: Asker,
    to: str,
    glossary: Mapping[str, str] | None,
    retries: int,
    report: TranslationReport,
) -> None:
    drafts = [draft for draft in source.paper.drafts if draft.language != to]
    pieces = {draft.id: Piece(draft.id, _texts_of(draft)) for draft in drafts}
    pieces |= {draft.id + _APART: Piece(draft.id + _APART, _solution_of(draft)) for draft in drafts}
    requests = [piece for piece in pieces.values() if piece.texts]
    _translate_pieces(requests, asker, glossary, retries)
    report.failed += sum(piece.failed for piece in requests)
    report.retried += sum(piece.translation is not None and piece.rounds > 1 for piece in requests)
    done = [_translated(draft, pieces, to, asker.model, report) for draft in drafts]
    pictures = {figure.name: source.images(figure.name) for draft in done for figure in draft.figures}
    paper_id = new_id(source.paper.paper_id, drafts[0].language, to)
    for page in source.pages:
        number = page.stem.rpartition("_")[2]
        copy_file(page, folder.root / "pages" / f"{paper_id}_{number}{page.suffix}")
    note = f"translated by {asker.model} from {source.paper.paper_id}"
    changes = {
        "paper_id": paper_id,
        "drafts": done,
        "language": to,
        "notes": [*source.paper.notes, note],
        "made_by": "",
    }
    folder.save(source.paper.model_copy(update=changes), pictures)


def _translated(draft: Draft, pieces: Mapping[str, Piece], to: str, model: str, report: TranslationReport) -> Draft:
    main, solution = pieces[draft.id], pieces[draft.id + _APART]
    # Page numbers are dropped: the pages are in another language.
    base = {"id": new_id(draft.id, draft.language, to), "translation_of": draft.id, "page_numbers": []}
    base["markdown"] = draft.question
    doubts = [doubt for doubt in draft.doubts if doubt.kind != "translation"]
    if main.texts and main.translation is None:
        why = "; ".join(main.faults[:4])
        report.untranslated[draft.id] = why
        doubts.append(
            Doubt(kind="translation", text=one_line(f"not translated by {model}: {why}", 600), confidence=0.0)
        )
        return draft.model_copy(update={**base, "doubts": doubts})
    translations = {**(main.translation or {}), **(solution.translation or {})}
    if solution.texts and solution.translation is None:
        why = "; ".join(solution.faults[:4])
        report.solutions[draft.id] = why
        text = f"the solution is not translated by {model}: {why}"
        doubts.append(Doubt(kind="translation", text=one_line(text, 600), confidence=0.2))
    if translations:
        report.translated += 1
        text = f"translated by {model}; numbers, formulas, options and figures agree, the words were read by nobody"
        doubts.append(Doubt(kind="translation", text=one_line(text, 300), confidence=CHECKED))
    else:
        report.carried += 1
    return _with_texts(draft, translations).model_copy(update={**base, "language": to, "doubts": doubts})


def _papers(data: Path) -> list[Paper]:
    if (data / STATE).is_dir():
        return [_ingested(data, paper) for paper in Folder(data).papers()]
    if not (data / CARD).is_file():
        raise UserError(
            f"{data}: is neither an ingested folder nor a built data set; make one with livek12 ingest or build"
        )
    return _built(data)


def _ingested(root: Path, paper: IngestedPaper) -> Paper:
    def image(name: str) -> Image:
        file = root / "images" / Path(name).name
        try:
            return Image(bytes=file.read_bytes(), path=file.name)
        except OSError as error:
            raise UserError(f"{file}: cannot be read ({error.strerror}); ingest the paper again") from None

    pages = [file for file in sorted((root / "pages").glob("*")) if file.stem.rpartition("_")[0] == paper.paper_id]
    return Paper(paper, image, pages)


def _built(data: Path) -> list[Paper]:
    pictures: dict[str, Image] = {}
    papers: dict[str, list[tuple[Question, Draft]]] = {}
    ids = UniqueIds()
    for question in every_question(data, "livek12"):
        name = safe_name(question.paper_id or f"{question.language}_{question.release or data.name}")
        papers.setdefault(name, []).append((question, _draft(question, pictures, ids)))
    return [Paper(_paper(name, questions, data), pictures.__getitem__) for name, questions in papers.items()]


def _draft(question: Question, pictures: dict[str, Image], ids: UniqueIds) -> Draft:
    figures = []
    for number, image in enumerate(question.images, 1):
        name = f"{ids.claim(safe_name(f'{question.id}_{number}'))}.{suffix_of(image, 'png')}"
        pictures[name] = image
        figures.append(Figure(name=name))
    names = (Draft.model_fields.keys() & Question.model_fields.keys()) - {"boxes"}  # a translation is on no page
    shared = {name: getattr(question, name) for name in names}
    return Draft.model_validate(
        {**shared, "number": question.number or "", "figures": figures, "answer_from": "data set", "markdown": ""}
    )


def _paper(name: str, questions: Sequence[tuple[Question, Draft]], data: Path) -> IngestedPaper:
    first = questions[0][0]
    return IngestedPaper(
        paper_id=name,
        title=first.exam or "",
        source=data.name,
        sha256="",
        pages=0,
        language=first.language,
        subject="",
        template="",
        release=first.release,
        year=first.year,
        exam=first.exam,
        licence=first.source.licence,
        drafts=[draft for _, draft in questions],
    )
