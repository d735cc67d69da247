"""Variants of questions, by rule or by a model (MDK12-Bench, "Dynamic evaluation" and "Question type conversion").

Contract: padding keeps all pixels; inversion spares noise. Pictures are as engines show them: upright, RGB, on white. A
rule converts a type only if the stem does not ask for the best option or refer to options, and no options name each
other, are alike or empty; new keys are never old letters. A model's reply must keep numbers, formulas, figures, blanks
and parts. Draws depend on seed and id only; equal draws give equal bytes. Replies are cached before parsing. A variant
with a failed request is missing until the command is repeated.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image as PIL

from livek12.core.errors import UserError
from livek12.core.files import write_atomically
from livek12.core.languages import HANGUL, IDEOGRAPHS
from livek12.core.prompts import fenced, harmless, joined_parts, load_prompt, text_message, text_part, without_marks
from livek12.core.question_types import CHOICE_TYPES
from livek12.core.questions import iter_questions
from livek12.core.records import (
    IMAGE_MARK,
    Image,
    Key,
    Message,
    Option,
    Part,
    Question,
    Request,
    Review,
    Sampling,
    Variant,
)
from livek12.core.replies import Json, Unreadable, a_bool, a_list, a_text, fields_of, object_schema, parse_object
from livek12.core.store import Store
from livek12.dataset_builders.base import Log, Records, one_line
from livek12.dataset_builders.proposals import figure_parts, number_figures, whole_text
from livek12.dataset_builders.proposals.translation.checks import (
    MAX_TEXT,
    Texts,
    figure_marks,
    marked,
    numbered,
    problems_in_words,
)
from livek12.dataset_builders.registry import builder_of
from livek12.dataset_builders.writing.card import VARIANTS
from livek12.dataset_builders.writing.data_set import check_out, write
from livek12.engines.arguments import bound
from livek12.engines.asking import REPLIES, Asker, ModelSpec, Reply
from livek12.engines.images import BadImage, check_image
from livek12.engines.openai.picture_edits import Edit, NoPicture, PictureEditor

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

LEAST_PADDING, MOST_PADDING = 0.1, 0.2
"""Shares of width (left, right) or height (top, bottom) added to each side."""
COLOURS = {"black": 0, "white": 255, "grey": 128}
LEAST_NOISE, MOST_NOISE = 0.01, 0.05
"""Shares of pixels that become black or white. The article names no bounds: these keep print legible."""
_SMALLEST = 5
"""With fewer pixels, no whole number is within 10 % to 20 %."""
Conversion = Callable[[Question, Random], Question]
FILL, TRUE_FALSE, CHOICE = "fill_in_blank", "true_false", "single_choice"
_TRUTH = {"zh": ("对", "错", "。"), "en": ("True", "False", ".")}
_ONE = {
    "zh": "{stem}\n\n有人这样回答这道题：{option}\n\n判断：这个回答是正确的。",
    "en": "{stem}\n\nSomebody answers this question: {option}\n\nTrue or false: this answer is right.",
}
_AMONG = {
    "zh": "{stem}\n\n有人从这道题的选项中选了这一项：{option}\n\n判断：这一项是正确选项之一。",
    "en": "{stem}\n\nSomebody picks this option: {option}\n\nTrue or false: it is one of the right options.",
}
_BY_RANK = re.compile(
    r"最|更|接近|大约|约为|估计|以上|\b(?:best|most|least|closest|nearest|better|approximately|about|estimate)\b", re.I
)
"""Stems whose answer is relative to the others, or approximate."""
_ABOUT_OPTIONS = re.compile(
    r"选项|[A-J]\s*[、,，和与或]\s*[A-J]|[A-J]\s*(?:项|图|选)|\b(?:options?|choices?|answers?)\b|\bdiagrams?\s+[A-J]\b",
    re.I,
)
_OTHERS = re.compile(
    r"以上|上述|[都均](?:对|正确|错|不)|无法确定|不能确定|\b(?:above|none|neither|both|all of|cannot be)\b"
    r"|\b[A-J]\s*(?:,|、|and|or|和|与|或)\s*[A-J]\b",
    re.I,
)
"""Options about other options."""
_OF_THOSE = re.compile(
    r"下列|以下|下面|下图|如下|其中|哪|可能|可以|不|错|说法|正确|\b(?:which|following|could|may|might|can|possible|not|except"
    r"|incorrect|false|true|statements?)\b|n't\b",
    re.I,
)
"""Stems that need their options for a unique answer."""
_MATHS = re.compile(rf"\$[^$=<>≤≥≠,，;；、{IDEOGRAPHS}]{{1,120}}\$")
_VALUE = re.compile(r"[-+−]?\d[\d./]*\s*(?:%|[A-Za-zμΩ°℃/²³·^-]{0,12}|[\u4e00-\u9fff]{0,2})")
_RELATION = re.compile(r"\\(?:[lg]eq?(?:slant)?|neq?|approx|sim|in|cup|cap|text|begin|to)\b")
_ASKS = re.compile(r"(?:为|是|等于|有|值|[=＝])\s*\$?\s*$|\b(?:is|are|was|equals?|has|to be)\s*\$?\s*$|[?？]\s*$", re.I)
"""Endings of stems that ask for a value."""
_BLANK = re.compile(r"[(（]\s*[)）]|_{2,}")
_END_BLANK = re.compile(r"\s*(?:[(（]\s*[)）]|_{2,})?\s*[.。:：?？]?\s*$")
_LONGEST = 400
WORDS, PARAPHRASE, TYPE = "words", "paraphrase", "type"
PACKAGE = "livek12.dataset_builders.proposals.variants"
_TEXT = {"type": "string"}
_REPHRASED = (WORDS, PARAPHRASE)
_LONGEST_ANSWER = 200
_UNDERSCORES = re.compile(r"_{2,}")
_SAYS_SOMETHING = re.compile(rf"[A-Za-z]{{3,}}|[{IDEOGRAPHS}{HANGUL}]{{2,}}")
MAX_TOKENS = 4096
_BOOL = {"type": "boolean"}


@dataclass(frozen=True)
class Padding:
    """Pixels on each side; colour."""

    left: int
    top: int
    right: int
    bottom: int
    colour: str


@dataclass(frozen=True)
class Noise:
    """Noise pixels by row-major index: salt is white, pepper black."""

    density: float
    salt: list[int]
    pepper: list[int]


def padding_of(size: tuple[int, int], random: Random) -> Padding:
    """Draws a padding for a width and height; BadImage if 10 to 20 % is below a pixel."""
    if min(size) < _SMALLEST:
        raise BadImage(f"has {size[0]} x {size[1]} pixels, too few to pad by 10 to 20 %")
    left, top, right, bottom = (_side(length, random) for length in (*size, *size))
    return Padding(left, top, right, bottom, random.choice(list(COLOURS)))


def _side(length: int, random: Random) -> int:
    least, most = math.ceil(length * LEAST_PADDING - 1e-9), math.floor(length * MOST_PADDING + 1e-9)
    return min(max(round(length * random.uniform(LEAST_PADDING, MOST_PADDING)), least), most)


def padded(picture: Picture, padding: Padding) -> Picture:
    """Centres a picture in a padded one."""
    width, height = picture.size
    size = (width + padding.left + padding.right, height + padding.top + padding.bottom)
    whole = PIL.new("RGB", size, (COLOURS[padding.colour],) * 3)
    whole.paste(picture, (padding.left, padding.top))
    return whole


def noise_of(size: tuple[int, int], random: Random) -> Noise:
    """Draws noise for a width and height: a density, then pixels, each white or black."""
    density = random.uniform(LEAST_NOISE, MOST_NOISE)
    pixels = size[0] * size[1]
    places = random.sample(range(pixels), round(density * pixels))
    white = [random.random() < 0.5 for _ in places]
    salt = [place for place, light in zip(places, white, strict=True) if light]
    return Noise(density, salt, [place for place, light in zip(places, white, strict=True) if not light])


def inverted(picture: Picture, noise: Noise) -> Picture:
    """Negative of the picture under noise."""
    values = 255 - np.asarray(picture, dtype=np.uint8)
    flat = values.reshape(-1, 3)
    flat[noise.salt] = 255
    flat[noise.pepper] = 0
    return PIL.fromarray(flat.reshape(values.shape))


def pad(image: Image, random: Random) -> tuple[Image, str]:
    """Pads a picture and describes the draw; raises BadImage."""
    picture = check_image(image)
    drawn = padding_of(picture.size, random)
    sides = f"left={drawn.left} top={drawn.top} right={drawn.right} bottom={drawn.bottom}"
    return png(padded(picture, drawn)), f"{sides} colour={drawn.colour}"


def invert(image: Image, random: Random) -> tuple[Image, str]:
    """Inverts a picture with noise and describes the draw; raises BadImage."""
    picture = check_image(image)
    drawn = noise_of(picture.size, random)
    return png(inverted(picture, drawn)), f"noise={drawn.density:.6f} pixels={len(drawn.salt) + len(drawn.pepper)}"


def png(picture: Picture) -> Image:
    """Lossless, reproducible encoding."""
    data = io.BytesIO()
    picture.save(data, "PNG")
    return Image(bytes=data.getvalue())


def conversions(question: Question) -> dict[str, Conversion]:
    """Sound conversions by new type."""
    if not _is_plain_choice(question):
        return {}
    rules: dict[str, Conversion] = {TRUE_FALSE: _to_true_false}
    if question.question_type == CHOICE and _asks_for_a_value(question):
        rules[FILL] = _to_fill
    return dict(sorted(rules.items()))


def _in_type(source: Question, question_type: str, /, **changes: Any) -> Question:
    gone = Question.empty("solution", "solution_images", "scheme", "part_units", "options", "answer_images")
    gone |= Question.empty("variables", "reasoning_flow") | {"question_type_raw": question_type}
    points = {} if source.points is None else {"part_points": [source.points]}
    return source.model_copy(update={**gone, **points, "question_type": question_type, **changes})


def _plain(text: str) -> str:
    return re.sub(r"[\s$]+", "", unicodedata.normalize("NFKC", text)).rstrip(".。;；,，").casefold()


def _is_plain_choice(question: Question) -> bool:
    labels = [option.label for option in question.options]
    key = "".join(question.answer)
    several = question.question_type == "multiple_choice"
    texts = [option.text for option in question.options]
    return (
        question.question_type in CHOICE_TYPES
        and question.language in _TRUTH
        and len(question.answer) == 1
        and len(set(labels)) == len(labels) >= 2
        and bool(key)
        and set(key) <= set(labels)
        and not {"T", "F"} & set(labels)  # read as true and false
        and (len(key) >= 1 if several else len(key) == 1)
        and all(0 < len(text) <= _LONGEST and _plain(text) for text in texts)
        and not any(re.fullmatch(r"[a-j]", _plain(text)) or _OTHERS.search(text) for text in texts)
        and len(set(map(_plain, texts))) == len(texts)
        and not _BY_RANK.search(question.question)
        and not _ABOUT_OPTIONS.search(question.question)
        and len(_BLANK.findall(question.question)) <= 1
        and question.question.count(IMAGE_MARK) + sum(text.count(IMAGE_MARK) for text in texts) == len(question.images)
    )


def _asks_for_a_value(question: Question) -> bool:
    texts = [option.text.strip() for option in question.options]
    stem = without_marks(question.question)
    before = stem[: blank.start()] if (blank := _BLANK.search(stem)) else stem
    return (
        bool(_ASKS.search(before))
        and not _OF_THOSE.search(stem)
        and all((_MATHS.fullmatch(text) and not _RELATION.search(text)) or _VALUE.fullmatch(text) for text in texts)
    )


def _to_fill(question: Question, random: Random) -> Question:
    (right,) = (option for option in question.options if option.label == question.answer[0])
    stem = question.question
    if _BLANK.search(stem):
        stem = _BLANK.sub("____", stem)
    else:
        stem = _END_BLANK.sub("", stem) + " ____" + _TRUTH[question.language][2]
    return _in_type(question, FILL, question=stem, answer=[right.text.strip()])


def _to_true_false(question: Question, random: Random) -> Question:
    key = question.answer[0]
    # True or false evenly, then a matching option.
    right = [option for option in question.options if option.label in key]
    wrong = [option for option in question.options if option.label not in key]
    truth = random.random() < 0.5 or not wrong
    option = random.choice(right if truth else wrong)
    forms = _ONE if question.question_type == CHOICE else _AMONG
    text = forms[question.language].format(stem=question.question.strip(), option=option.text.strip())
    key_text = _TRUTH[question.language][0 if truth else 1]
    return _in_type(question, TRUE_FALSE, question=text, answer=[key_text], images=_shown(question, option))


def _shown(question: Question, option: Option) -> list[Any]:
    place = question.question.count(IMAGE_MARK)
    shown = list(question.images[:place])
    for candidate in question.options:
        count = candidate.text.count(IMAGE_MARK)
        if candidate == option:
            shown += question.images[place : place + count]
        place += count
    return shown


def _can_be_asked(question: Question, transform: str) -> bool:
    texts = _texts(question)
    if sum(map(len, texts.values())) > MAX_TEXT or not _SAYS_SOMETHING.search(question.question):
        return False
    return transform in _REPHRASED or bool(_target(question))


def _writing_request(question: Question, transform: str) -> Request:
    file, body, schema = _wanted(question, transform)
    shown = json.dumps(body, ensure_ascii=False, indent=1)
    return Request(
        key=Key(task=f"vary/{transform}", question_id=question.id),
        messages=[
            text_message("system", load_prompt(PACKAGE, f"{file}.txt").text.strip()),
            text_message("user", shown),
        ],
        sampling=Sampling(temperature=0.0, max_tokens=min(8192, 600 + 2 * len(shown))),
        answer_schema=schema,
    )


def _transformed(question: Question, transform: str, reply: str, random: Random) -> Question:
    fields = parse_object(reply)
    if transform in _REPHRASED:
        return _rephrased(question, fields)
    return _filled(question, fields) if _target(question) == FILL else _with_options(question, fields, random)


def _target(question: Question) -> str:
    if not question.answer or len(question.answer) > 1 or not question.answer[0].strip():
        return ""
    if question.question_type in CHOICE_TYPES:
        return (
            FILL if question.options and IMAGE_MARK not in "".join(option.text for option in question.options) else ""
        )
    if question.question_type == TRUE_FALSE:
        return FILL
    short = len(question.answer[0]) <= _LONGEST_ANSWER and not question.answer_images
    return CHOICE if short and question.question_type in (FILL, "short_answer") else ""


def _texts(question: Question) -> Texts:
    named = {"question": question.question, **{f"option_{option.label}": option.text for option in question.options}}
    return {name: numbered(text) for name, text in named.items()}


def _wanted(question: Question, transform: str) -> tuple[str, Json, Json]:
    texts = _texts(question)
    if transform in _REPHRASED:
        return transform, dict(texts), object_schema(**dict.fromkeys(texts, _TEXT))
    if _target(question) == FILL:
        shown = {"type": question.question_type, **texts, "key": question.answer[0]}
        return "fill", shown, object_schema(question=_TEXT, answer=_TEXT)
    schema = {"type": "array", "items": _TEXT, "minItems": 3, "maxItems": 3}
    return "choice", {"question": texts["question"], "key": question.answer[0]}, object_schema(wrong=schema)


def _rephrased(question: Question, reply: Json) -> Question:
    texts = _texts(question)
    fields = {name: a_text(value, name) for name, value in fields_of(reply, *texts).items()}
    for name, text in texts.items():
        if faults := problems_in_words(text, fields[name]) if fields[name] != text else []:
            raise Unreadable(f"changes more than words in {name}: {'; '.join(faults[:3])}")
    if all(_plain(fields[name]) == _plain(text) for name, text in texts.items()):
        raise Unreadable("changes nothing")
    options = [Option(label=option.label, text=marked(fields[f"option_{option.label}"])) for option in question.options]
    if len({_plain(option.text) for option in options}) < len({_plain(option.text) for option in question.options}):
        raise Unreadable("makes two options alike")
    return question.model_copy(update={"question": marked(fields["question"]), "options": options})


def _filled(question: Question, reply: Json) -> Question:
    fields = fields_of(reply, "question", "answer")
    text, answer = a_text(fields["question"], "question").strip(), a_text(fields["answer"], "answer").strip()
    if not 0 < len(answer) <= _LONGEST_ANSWER or IMAGE_MARK in answer or figure_marks(answer):
        raise Unreadable("gives no short answer in words")
    if re.fullmatch(r"[A-Ja-j]+|true|false|对|错|正确|错误", answer, re.IGNORECASE):
        raise Unreadable(f"gives {answer!r} as the answer, which belongs to the old type")
    if len(_UNDERSCORES.findall(text)) != 1 or len(text) > 8 * len(question.question) + 400:
        raise Unreadable("gives no text with exactly one blank")
    if figure_marks(text) != figure_marks(numbered(question.question)):
        raise Unreadable("does not keep the figures of the question")
    return _in_type(question, FILL, question=marked(text), answer=[answer])


def _with_options(question: Question, reply: Json, random: Random) -> Question:
    key = question.answer[0].strip()
    wrong = [
        a_text(wrong_text, "a wrong option").strip()
        for wrong_text in a_list(fields_of(reply, "wrong")["wrong"], "wrong")
    ]
    texts = [key, *wrong]
    if len(wrong) != 3 or len({_plain(text) for text in texts}) != 4 or not all(map(_plain, texts)):
        raise Unreadable("gives no three wrong options that differ from the key and each other")
    if any(len(text) > _LONGEST_ANSWER or IMAGE_MARK in text for text in wrong):
        raise Unreadable("gives a wrong option that is too long or has a figure")
    random.shuffle(texts)
    options = [Option(label=label, text=text) for label, text in zip("ABCD", texts, strict=True)]
    letter = "ABCD"[texts.index(key)]
    return _in_type(question, CHOICE, options=options, answer=[letter])


def _judging_request(source: Question, variant: Question, transforms: Sequence[str], key: str) -> Request:
    values = {
        "transforms": ", ".join(transforms),
        "question": _described(source, "question"),
        "variant": _described(variant, "variant"),
        "form": '{"same_meaning": true|false, "key_holds": true|false, "why": "one sentence"}',
    }
    parts: list[Part] = [text_part(load_prompt(PACKAGE, "judge.txt").filled(values).strip())]
    for name, question in (("question", source), ("variant", variant)):
        parts += figure_parts(question.images, f"[{name}, figure {{}}]")
    return Request(
        key=Key(task="vary/judge", question_id=key),
        messages=[Message(role="user", content=joined_parts(parts))],
        images={image.sha256: image for question in (source, variant) for image in question.images},
        sampling=Sampling(temperature=0.0, max_tokens=MAX_TOKENS),
        answer_schema=object_schema(same_meaning=_BOOL, key_holds=_BOOL, why={"type": "string"}),
    )


def _read_judgement(reply: str) -> str:
    """Fault of the variant; "" for none."""
    fields = fields_of(parse_object(reply), "same_meaning", "key_holds", "why")
    why = one_line(a_text(fields["why"], "why"), 300)
    same, holds = (a_bool(fields[name], name) for name in ("same_meaning", "key_holds"))
    return "" if same and holds else f"{'its key does not hold' if same else 'its meaning changed'}: {why}"


def _described(question: Question, name: str) -> str:
    key = json.dumps(question.answer, ensure_ascii=False)
    text = f"Type: {question.question_type}\n{whole_text(question.question, question.options)}\nKey: {key}"
    return fenced(harmless(number_figures(text, f"[{name}, figure {{}}]")))[1]


PAD, INVERT, STYLE = "pad", "invert", "style"
OF_PICTURES = (PAD, INVERT, STYLE)
OF_TEXT = (WORDS, PARAPHRASE, TYPE)
TRANSFORMS = (*OF_PICTURES, *OF_TEXT)
"""MDK12-Bench, "Dynamic evaluation": three of pictures, three of text."""
SHARE = 0.5
"""Half of the questions ("Dynamic evaluation results")."""
KIND = "dynamic"
_DRAWN = {PAD: pad, INVERT: invert}
Step = Callable[[], None]
NO_REPLY, UNUSABLE, NO_PICTURE = "no reply", "unusable reply", "unusable picture"
MEANING, UNJUDGED = "meaning changed", "not judged"
BENCHMARK = "mdk12"
CONFIG = "mini"
_NOTHING = "no transform"


@dataclass(frozen=True)
class Changes:
    """Transforms of a question.

    Attributes:
        picture, text: of all its pictures, and of its text; "" for none.
        rule: new type by a sound rule, if `text` is `type`.
    """

    picture: str = ""
    text: str = ""
    rule: str = ""

    @property
    def transforms(self) -> list[str]:
        """Names of the transforms, pictures first."""
        return [name for name in (self.picture, self.text) if name]


def _random_of(seed: int, *what: str) -> Random:
    return Random(int.from_bytes(hashlib.sha256("\0".join([str(seed), *what]).encode()).digest()[:8], "big"))


def sample(ids: Sequence[str], share: float, seed: int) -> set[str]:
    """Draws a share of the ids; raises UserError."""
    if not 0 < share <= 1:
        raise UserError(f"--share {share}: give a share of the questions above 0 and up to 1")
    ranked = sorted(ids, key=lambda id: _random_of(seed, id, "sample").random())
    return set(ranked[: max(1, round(share * len(ids)))])


def plan(question: Question, seed: int, offered: Collection[str], model: bool) -> Changes:
    """Draws one transform each of pictures and text, evenly among the possible ones in `offered`."""
    pictures = [name for name in OF_PICTURES if name in offered and question.images]
    rules = conversions(question) if TYPE in offered else {}
    texts = [
        name
        for name in OF_TEXT
        if name in offered and ((name == TYPE and rules) or (model and _can_be_asked(question, name)))
    ]
    picture = _random_of(seed, question.id, "picture").choice(pictures) if pictures else ""
    text = _random_of(seed, question.id, "text").choice(texts) if texts else ""
    rule = _random_of(seed, question.id, "rule").choice(list(rules)) if text == TYPE and rules else ""
    return Changes(picture, text, rule)


def _why_none(question: Question, offered: Collection[str], model: bool) -> str:
    reasons = []
    if set(offered) & set(OF_PICTURES) and not question.images:
        reasons.append("it has no pictures")
    if set(offered) & set(OF_TEXT):
        kind = question.question_type
        reasons.append(
            f"no rule converts its type ({kind}) soundly" if TYPE in offered else "its text cannot be varied"
        )
        reasons[-1] += "" if model else " and there is no --model"
    return " and ".join(reasons) or "nothing is offered"


@dataclass
class Made:
    """A question and its variant.

    Attributes:
        text: new text, type and key with the old pictures.
        drawn: draws for each picture, and the new type.
        dropped: reason for no variant.
        failed: a repeated request may succeed.
    """

    question: Question
    plan: Changes
    text: Question | None = None
    drawn: dict[str, Any] = field(default_factory=dict)
    dropped: str = ""
    why: str = ""
    failed: bool = False

    def drop(self, reason: str, why: str, failed: bool = False) -> None:
        """Drops the variant."""
        self.dropped, self.why, self.failed = reason, one_line(why, 300), failed

    @property
    def redrawn(self) -> bool:
        """True if a model redraws its pictures."""
        return self.plan.picture == STYLE and not self.dropped

    @property
    def id(self) -> str:
        """Id of the variant."""
        return f"{self.question.id}:{KIND}"


class Maker:
    """Maker of variants; `editor` is the model for pictures."""

    def __init__(self, seed: int, editor: PictureEditor | None = None) -> None:
        self._seed, self._editor = seed, editor

    def texts(self, made: Iterable[Made], writer: Asker | None, step: Step) -> None:
        """Makes the new texts, by rule or model; raises UserError if the model cannot run."""
        waiting: dict[str, Made] = {}
        for item in made:
            if item.plan.text and not item.plan.rule:
                waiting[item.question.id] = item
                continue
            item.text = self._by_rule(item)
            step()
        if waiting and writer:
            requests = (_writing_request(item.question, item.plan.text) for item in waiting.values())
            for reply in writer.replies(requests, lambda key, text: self._read(waiting, key, text)):
                _take_text(waiting[reply.key.question_id], reply)
                step()

    def redraw(self, made: Iterable[Made], step: Step) -> None:
        """Redraws `style` pictures by the model; raises UserError if it cannot run."""
        if self._editor is None:
            return
        waiting: list[Made] = []

        def edits() -> Iterator[Edit]:
            for item in made:
                images = item.text.images if item.text and item.redrawn else ()
                for number, image in enumerate(images, 1):
                    waiting.append(item)
                    yield self._edit(item, number, image)

        for _, came in self._editor.redraw(edits()):
            item = waiting.pop(0)
            if isinstance(came, NoPicture) and not item.dropped:
                item.drop(NO_REPLY if came.failed else NO_PICTURE, f"{STYLE}: {came}", came.failed)
            step()

    def judge(self, made: Iterable[Made], judge: Asker, step: Step) -> None:
        """Drops variants of another meaning; raises UserError if the judge cannot run."""
        waiting: dict[str, Made] = {}

        def requests() -> Iterator[Request]:
            for item in made:
                variant = self.variant(item)
                if variant is None:
                    step()
                    continue
                waiting[item.id] = item
                yield _judging_request(item.question, variant, item.plan.transforms, item.id)

        for reply in judge.replies(requests(), lambda _, text: _read_judgement(text)):
            item = waiting.pop(reply.key.question_id)
            if reply.value is None:
                item.drop(UNJUDGED, f"judge: {reply.problem}", reply.failed)
            elif reply.value:
                item.drop(MEANING, f"judge: {reply.value}")
            step()

    def variant(self, item: Made) -> Question | None:
        """Complete variant; None if dropped, with the reason in `item`."""
        if item.dropped or item.text is None:
            return None
        try:
            images = [self._picture(item, number, image) for number, image in enumerate(item.text.images, 1)]
        except BadImage as error:
            item.drop(NO_PICTURE, f"{item.plan.picture}: a picture {error}")
            return None
        source = item.question
        return item.text.model_copy(
            update={
                "id": item.id,
                "images": images,
                "subsets": [*(name for name in source.subsets if name != KIND), KIND],
                "review": Review(),
                "variant": Variant(of=source.id, kind=KIND, transforms=item.plan.transforms),
            }
        )

    def _by_rule(self, item: Made) -> Question:
        if not item.plan.rule:
            return item.question
        item.drawn["type"] = {"to": item.plan.rule, "by": "rule"}
        return conversions(item.question)[item.plan.rule](
            item.question, _random_of(self._seed, item.question.id, "option")
        )

    def _read(self, waiting: Mapping[str, Made], key: Key, text: str) -> Question:
        item = waiting[key.question_id]
        random = _random_of(self._seed, item.question.id, "option")
        return _transformed(item.question, item.plan.text, text, random)

    def _picture(self, item: Made, number: int, image: Image) -> Image:
        transform = item.plan.picture
        if not transform:
            return image
        if transform == STYLE:
            came = self._editor.known(self._edit(item, number, image)) if self._editor else None
            if came is None:
                raise BadImage("was not redrawn")
            return came
        changed, drawn = _DRAWN[transform](image, _random_of(self._seed, item.question.id, "picture", str(number)))
        item.drawn.setdefault("pictures", {})[str(number)] = drawn
        return changed

    def _edit(self, item: Made, number: int, image: Image) -> Edit:
        return Edit(image, _random_of(self._seed, item.question.id, "picture", str(number)).randrange(2**31))


def _take_text(item: Made, reply: Reply[Question]) -> None:
    if reply.value is None:
        item.drop(NO_REPLY if reply.failed else UNUSABLE, f"{item.plan.text}: {reply.problem}", reply.failed)
        return
    item.text = reply.value
    if item.plan.text == TYPE:
        item.drawn["type"] = {"to": reply.value.question_type, "by": "model"}


@dataclass(frozen=True)
class VaryOptions:
    """Options of variation.

    Attributes:
        transforms: names among `TRANSFORMS`; empty for all.
        share: of the config's questions.
        style: endpoint that redraws pictures.
    """

    transforms: Sequence[str] = ()
    share: float = SHARE
    seed: int = 0
    config: str = CONFIG
    model: ModelSpec | None = None
    judge: ModelSpec | None = None
    style: ModelSpec | None = None


@dataclass
class VaryReport:
    """Result of variation.

    Attributes:
        made: variants by transform; two transforms count twice.
        dropped: drawn questions without a variant, by transform and reason, counted likewise.
        left_out: the same by reason, counted once.
        failed: variants that a repetition may add.
    """

    questions: int = 0
    drawn: int = 0
    variants: int = 0
    made: dict[str, int] = field(default_factory=dict)
    dropped: dict[str, dict[str, int]] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failed: int = 0


def vary(
    data: str, out: Path, options: VaryOptions, begin: Callable[[str, int], Step] = lambda what, total: lambda: None
) -> VaryReport:
    """Writes a dataset with a variant of each drawn question."""
    if Path(data).is_dir() and Path(data).resolve() == out.resolve():
        raise UserError(f"{out}: is the data set that is varied; choose another --out")
    report = VaryReport()
    offered = _offered(options, report)
    check_out(out.absolute(), BENCHMARK)
    made = _drawn(data, options, offered, report)
    with ExitStack() as stack:
        editor = stack.enter_context(closing(_editor(options.style, _store(out)))) if options.style else None
        maker = Maker(options.seed, editor)
        with _asking(options.model, out) as writer:  # one model at a time: two may not fit in memory
            maker.texts(made, writer, begin("texts", len(made)))
        if editor:
            maker.redraw(made, begin("pictures", sum(len(item.question.images) for item in made if item.redrawn)))
        with _asking(options.judge, out) as judge:
            if judge:
                maker.judge(made, judge, begin("judging", len(made)))
        log = Log()
        write(
            BENCHMARK,
            _records(made, maker),
            builder_of(BENCHMARK).layout,
            out,
            log,
            begin("writing", len(made) + sum(not item.dropped for item in made)),
            data,
            beside=lambda folder: write_atomically(
                folder / VARIANTS, (json.dumps(row, ensure_ascii=False) + "\n" for row in _rows(made))
            ),
        )
    return _counted(report, made)


def _offered(options: VaryOptions, report: VaryReport) -> list[str]:
    if unknown := [name for name in options.transforms if name not in TRANSFORMS]:
        raise UserError(f"--transforms: {unknown[0]!r} is none; there are {', '.join(TRANSFORMS)}")
    wanted = [name for name in TRANSFORMS if name in (options.transforms or TRANSFORMS)]
    texts = [name for name in (WORDS, PARAPHRASE) if name in wanted]
    if texts and not options.model:
        report.notes.append(f"no {' and no '.join(texts)}: give --model, the model that writes")
    if TYPE in wanted and not options.model:
        report.notes.append("type conversions by rule only: for the others give --model")
    if STYLE in wanted and not options.style:
        report.notes.append("no style: give --style-model, an endpoint that redraws pictures")
    if not options.judge:
        report.notes.append("nobody checks that meanings stay the same: give --judge")
    possible = [name for name in wanted if not (name in texts and not options.model)]
    possible = [name for name in possible if name != STYLE or options.style]
    if not possible:
        raise UserError(f"nothing can be varied: {report.notes[0]}")
    return possible


def _drawn(data: str, options: VaryOptions, offered: Sequence[str], report: VaryReport) -> list[Made]:
    configs = (f"{BENCHMARK}_{options.config}", options.config)
    # Two passes, to save memory.
    ids = [question.id for question in iter_questions(data, configs, BENCHMARK) if question.variant is None]
    if not ids:
        raise UserError(f"{data}: config {options.config} has no question of {BENCHMARK} that is no variant itself")
    drawn = sample(ids, options.share, options.seed)
    report.questions, report.drawn = len(ids), len(drawn)
    made = []
    for question in iter_questions(data, configs, BENCHMARK):
        if question.id not in drawn:
            continue
        model = options.model is not None
        item = Made(question, plan(question, options.seed, offered, model))
        if not item.plan.transforms:
            item.drop(_NOTHING, _why_none(question, offered, model))
        made.append(item)
    return made


@contextmanager
def _asking(spec: ModelSpec | None, out: Path) -> Iterator[Asker | None]:
    if spec is None:
        yield None
        return
    with closing(spec.start()) as engine, closing(Asker(engine, _store(out))) as asker:
        yield asker


def _store(out: Path) -> Store:
    return Store(f"{out.name}.{REPLIES}", out.absolute().parent)


def _editor(spec: ModelSpec, store: Store) -> PictureEditor:
    if spec.runs_on != "openai":
        raise UserError("--style-model: only an endpoint redraws pictures: give MODEL@openai:base_url=…")
    prompt = load_prompt(PACKAGE, "style.txt").text.strip()
    return PictureEditor(spec.model, prompt, store, **bound(PictureEditor, "style", spec.engine_args))


def _records(made: Sequence[Made], maker: Maker) -> Records:
    for item in made:
        yield item.question
        variant = maker.variant(item)
        if variant is not None:
            yield variant


def _rows(made: Sequence[Made]) -> Iterator[dict[str, Any]]:
    for item in made:
        row: dict[str, Any] = {"of": item.question.id, "transforms": item.plan.transforms, **item.drawn}
        yield {**row, "dropped": item.dropped, "why": item.why} if item.dropped else {"id": item.id, **row}


def _counted(report: VaryReport, made: Sequence[Made]) -> VaryReport:
    kept = Counter[str]()
    dropped: dict[str, Counter[str]] = {}
    for item in made:
        if not item.dropped:
            kept.update(item.plan.transforms)
            continue
        report.lines.append(f"{item.question.id}: no variant: {item.dropped}: {item.why}")
        for name in item.plan.transforms or ["none"]:
            dropped.setdefault(name, Counter())[item.dropped] += 1
    report.variants = sum(not item.dropped for item in made)
    report.made = {name: kept[name] for name in TRANSFORMS if kept[name]}
    report.dropped = {name: dict(dropped[name]) for name in (*TRANSFORMS, "none") if name in dropped}
    report.left_out = dict(Counter(item.dropped for item in made if item.dropped))
    report.failed = sum(item.failed for item in made)
    return report
