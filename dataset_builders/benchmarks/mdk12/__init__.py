"""mdk12 reader: the published tables (a file a subject, stage, form and modality), or rows of their columns.

Contract: subject, stage and form come from columns, else from the file's name (MSPH_fill_in_the_blank_multi_modal:
middle school, physics). Keys stay as spelled, except that a choice's letters become one entry and several blanks one
entry each; no row is skipped for its key.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from livek12.core.question_types import CHOICE, CHOICE_TYPES, FREE, kind_of, settle
from livek12.core.records import Attributes, Option, Question
from livek12.dataset_builders.base import DIFFICULTIES, BadRow, Log, PageKey
from livek12.dataset_builders.benchmarks import COMMON_KEYS, free_key, plain_fields
from livek12.dataset_builders.builder import ASKED, Beside, Builder, Layout, own_tables
from livek12.dataset_builders.reading.fields import (
    Data,
    numbers_of,
    pieces_of,
    points_of,
    source_of,
    stated,
    stated_language,
    text_of,
    texts_of,
    whole_of,
)
from livek12.dataset_builders.reading.languages import asked_text, written_language
from livek12.dataset_builders.reading.marks import place_marks, take_all_inline
from livek12.dataset_builders.reading.options import options_of, placed_key
from livek12.dataset_builders.reading.rows import SourceRow
from livek12.dataset_builders.reading.text import parse_list, plain_width, restore, split_options

LETTERS = "ABCDEFGHIJ"
STAGES = {"GS": "primary school", "PS": "primary school", "MS": "middle school", "JS": "middle school"}
STAGES["HS"] = "high school"
SUBJECTS = {
    **dict.fromkeys(("ma", "math", "mathematics", "maths", "数学"), "math"),
    **dict.fromkeys(("ph", "physics", "physical", "物理"), "physics"),
    **dict.fromkeys(("ch", "chemistry", "chemical", "化学"), "chemistry"),
    **dict.fromkeys(("bi", "biology", "biological", "生物", "生物学"), "biology"),
    **dict.fromkeys(("ge", "geography", "geographical", "地理"), "geography"),
    **dict.fromkeys(("in", "is", "it", "information", "information science"), "information_science"),
    **dict.fromkeys(("information technology", "信息技术", "信息科技"), "information_science"),
}
"""Subjects by name; two letters as in file names."""
LEVELS = {
    **dict.fromkeys(("easy", "simple", "low", "简单", "容易", "较易", "易", "基础"), "easy"),
    **dict.fromkeys(("medium", "moderate", "mid", "middle", "normal", "中等", "适中", "一般", "中"), "medium"),
    **dict.fromkeys(("hard", "difficult", "high", "困难", "较难", "难", "偏难"), "hard"),
}
LAYERS = (
    ("subject", "discipline"),
    ("grade_level", "grade"),
    ("subfield",),
    ("curriculum",),
    ("topic",),
    ("knowledge",),
)
"""Columns of the taxonomy's six layers, from discipline to knowledge point."""
_FORM = re.compile(
    r"(?:.*?(?:^|_)(?P<code>[GPMJH]S[A-Z]{2})_)?(?P<form>[a-z_]+?)_(?P<modality>multi|single)_?modal", re.IGNORECASE
)
KEYS = COMMON_KEYS | {"category", "form", "stage", *LETTERS, *(name for layer in LAYERS for name in layer)}
"""Row keys read, by the published names and ours."""
_DYNAMIC = "dynamic"
_PATH = re.compile(r"->|→|＞|>|›|»|\\|/{1,2}|--|—")
_CHOICE_KEY = re.compile(r"[\s(（\[]*[A-Ja-j](?:[\s,，、;；.()（）\[\]和与]*[A-Ja-j])*[\s.。)）\]]*")


def question(row: SourceRow, beside: Beside, log: Log) -> Question:
    """Converts a row; raises BadRow."""
    data, name = row.data, _FORM.match(row.file.stem)
    id = row.id
    parts = [restore(text_of(data, name)) for name in ("passage", "question")]
    options = _columns(data) or options_of(data.get("options"), letters=True)[0]
    text, options, refs = take_all_inline("\n\n".join(filter(None, parts)), options, parse_list(data.get("images")))
    images = [beside.images.load(ref, row.folder) for ref in refs]
    if not (text or images):
        raise BadRow("it has no question")
    if name and name["modality"].lower() == "multi" and not images:
        log.note(row.where, id, "it stands among questions with images and has none")
    raw_type = _raw_type(data, name)
    key = [restore(entry) for entry in texts_of(data, "answer")] or placed_key(data, options)
    letters = [
        "".join(re.findall(r"[A-Za-z]", plain_width(entry))).upper()
        for entry in key
        if _CHOICE_KEY.fullmatch(plain_width(entry))
    ]
    kind = kind_of(raw_type) or (CHOICE if options and letters else None)
    if not options and kind in (CHOICE, *CHOICE_TYPES):
        text, options = split_options(text, set("".join(letters)))
    if kind is None:
        kind = FREE
        log.note(row.where, id, f"form {raw_type!r} is not known: taken as {kind}")
    question_type = settle(kind, several=len("".join(letters)) > 1, has_key=bool(key))
    answer = _answer(key, letters, text, question_type)
    written = asked_text(data, *ASKED) or asked_text(data, "solution")
    language = stated_language(data) or written_language(written, row.language, "en")
    text, options, images, change = place_marks(text, options, images)
    if change:
        log.note(row.where, id, change)
    taxonomy, points = _taxonomy(data, name)
    own = {
        "taxonomy": taxonomy,
        "difficulty": LEVELS.get((level := text_of(data, "difficulty")).lower(), level) or None,
        "source": source_of({"upstream_id": stated(data, "index"), **data}, row.origin),
    }
    return Question(
        id=id,
        benchmark="mdk12",
        language=language,
        subject=_subject(data, name),
        question_type=question_type,
        question_type_raw=raw_type,
        question=text,
        options=options,
        images=images,
        answer=answer,
        part_points=numbers_of(data, "part_points"),
        points=points_of(data, "points"),
        knowledge_points=points,
        year=_year(data, row, id, log),
        subsets=_subsets(data, row),
        attributes=Attributes(topic=text_of(data, "topic") or None),
        exam=text_of(data, "exam") or None,
        **plain_fields(row) | own,
    )


def _raw_type(data: Data, name: re.Match[str] | None) -> str | None:
    category = text_of(data, "category")
    own = text_of(data, "question_type", "form") or (category if kind_of(category) else "")
    return own or (name["form"].lower() if name else "") or category or None


def _subject(data: Data, name: re.Match[str] | None) -> str:
    for given in (text_of(data, "subject", "discipline"), text_of(data, "category")):
        if given.lower() in SUBJECTS:
            return SUBJECTS[given.lower()]
    code = SUBJECTS.get(name["code"][2:].lower(), "") if name and name["code"] else ""
    return code or text_of(data, "subject", "discipline").lower()


def _taxonomy(data: Data, name: re.Match[str] | None) -> tuple[list[str], list[str]]:
    knowledge = pieces_of(data, "knowledge_points", "knowledge")
    paths = [[piece.strip() for piece in _PATH.split(entry) if piece.strip()] for entry in knowledge]
    own = texts_of(data, "taxonomy")
    if not own and paths and len(paths[0]) > 2:
        own = paths[0]
    points = list(
        dict.fromkeys(path[-1] if len(path) > 2 else entry for path, entry in zip(paths, knowledge, strict=True))
    )
    if own:
        return own, points
    stage = STAGES.get(name["code"][:2].upper(), "") if name and name["code"] else ""
    layers = [text_of(data, *layer) for layer in LAYERS[:-1]]
    layers = [layers[0] or _subject(data, name), layers[1] or text_of(data, "stage") or stage, *layers[2:]]
    layers = [*layers, *points[:1]] if all(layers) else layers
    return layers[: next((place for place, layer in enumerate(layers) if not layer), len(layers))], points


def _columns(data: Data) -> list[Option]:
    texts = [restore(text_of(data, letter)) for letter in LETTERS]
    count = next((place for place, text in enumerate(texts) if not text), len(texts))
    return [Option(label=label, text=text) for label, text in zip(LETTERS[:count], texts, strict=False)]


def _answer(key: list[str], letters: list[str], text: str, question_type: str) -> list[str]:
    if question_type in CHOICE_TYPES:
        joined = "".join(letters)
        certain = key and len(letters) == len(key) and len({*joined}) == len(joined)
        return ["".join(sorted(joined))] if certain else key
    return free_key(text, key, question_type)


def _year(data: Data, row: SourceRow, id: str, log: Log) -> int | None:
    try:
        return whole_of(data, "year")
    except BadRow as error:
        log.note(row.where, id, f"{error}: left empty")
        return None


def _subsets(data: Data, row: SourceRow) -> list[str]:
    named = [name.lower() for name in pieces_of(data, "subsets")]
    own = [word for word in ("mini", "dynamic") if word in re.split(r"[\W_]+", row.file.stem.lower())]
    return list(dict.fromkeys([*named, *own]))


def _tables(question: Question, pages: Collection[PageKey]) -> Iterator[str]:
    if _DYNAMIC in question.subsets:  # a variant of a question in `full`
        yield _DYNAMIC
        return
    yield question.difficulty if question.difficulty in DIFFICULTIES else "unrated"
    if "mini" in question.subsets:
        yield "mini"


BUILDER = Builder(
    question,
    Layout({"full": (*DIFFICULTIES, "unrated"), **own_tables("mini", *DIFFICULTIES, _DYNAMIC)}, _tables),
    hub="IntJudge/MDK12",
    month="2025",
    keys=KEYS,
)
