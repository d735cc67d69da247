"""Transforms of pictures, types and words, by rule or by a model, and the judge of the results.

Contract: padding keeps all pixels; inversion is 255 minus each channel except under noise. Pictures are as engines show
them: upright, RGB, on white. A type is converted by rule only if the stem does not ask for the best option or refer to
options, and no options name each other, are alike or empty; new keys are never old letters. A model's reply must be
exactly the requested object, and keep numbers, formulas, figures, blanks and parts; otherwise Unreadable is raised. The
judge compares the meaning: a variant needs the same one, and a valid key. (MDK12-Bench, "Dynamic evaluation" and
"Question type conversion".)
"""

from __future__ import annotations

import io
import json
import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from livek12.core.languages import HANGUL, IDEOGRAPHS
from livek12.core.prompts import fenced, harmless, joined_parts, load_prompt, text_message, text_part, without_marks
from livek12.core.question_types import CHOICE_TYPES
from livek12.core.records import IMAGE_MARK, Image, Key, Message, Option, Part, Question, Request, Sampling
from livek12.core.replies import Json, Unreadable, a_bool, a_list, a_text, fields_of, object_schema, parse_object
from livek12.core.text import one_line
from livek12.dataset_builders.proposals import figure_parts, number_figures, whole_text
from livek12.dataset_builders.proposals.translation.checks import (
    MAX_TEXT,
    Texts,
    figure_marks,
    marked,
    numbered,
    problems_in_words,
)
from livek12.engines.images import BadImage, check_image

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
    """Pixels on each side, and their colour."""

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
    from PIL import Image as PIL

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
    import numpy as np
    from PIL import Image as PIL

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
    gone: Mapping[str, Any] = {
        "question_type_raw": question_type,
        "solution": None,
        "solution_images": [],
        "scheme": [],
    }
    gone = {**gone, "part_units": [], "options": [], "answer_images": [], "variables": [], "reasoning_flow": []}
    points = {} if source.points is None else {"part_points": [source.points]}
    return source.model_copy(update={**gone, **points, "question_type": question_type, **changes})


def plain(text: str) -> str:
    """Normalises an option for comparison."""
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
        and all(0 < len(text) <= _LONGEST and plain(text) for text in texts)
        and not any(re.fullmatch(r"[a-j]", plain(text)) or _OTHERS.search(text) for text in texts)
        and len(set(map(plain, texts))) == len(texts)
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
    # Draw true or false evenly, then a matching option.
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


def can_be_asked(question: Question, transform: str) -> bool:
    """True if a model can make this transform."""
    texts = _texts(question)
    if sum(map(len, texts.values())) > MAX_TEXT or not _SAYS_SOMETHING.search(question.question):
        return False
    return transform in _REPHRASED or bool(_target(question))


def writing_request(question: Question, transform: str) -> Request:
    """Builds the model's request."""
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


def transformed(question: Question, transform: str, reply: str, random: Random) -> Question:
    """Applies a reply; raises Unreadable with the fault."""
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
    if all(plain(fields[name]) == plain(text) for name, text in texts.items()):
        raise Unreadable("changes nothing")
    options = [Option(label=option.label, text=marked(fields[f"option_{option.label}"])) for option in question.options]
    if len({plain(option.text) for option in options}) < len({plain(option.text) for option in question.options}):
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
    if len(wrong) != 3 or len({plain(text) for text in texts}) != 4 or not all(map(plain, texts)):
        raise Unreadable("gives no three wrong options that differ from the key and each other")
    if any(len(text) > _LONGEST_ANSWER or IMAGE_MARK in text for text in wrong):
        raise Unreadable("gives a wrong option that is too long or has a figure")
    random.shuffle(texts)
    options = [Option(label=label, text=text) for label, text in zip("ABCD", texts, strict=True)]
    letter = "ABCD"[texts.index(key)]
    return _in_type(question, CHOICE, options=options, answer=[letter])


@dataclass(frozen=True)
class Sameness:
    """Judgement of a variant."""

    same_meaning: bool
    key_holds: bool
    why: str

    @property
    def stays(self) -> bool:
        """True if the variant is kept."""
        return self.same_meaning and self.key_holds


def judging_request(source: Question, variant: Question, transforms: Sequence[str], key: str) -> Request:
    """Builds the judge's request; `key` names it."""
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


def read_judgement(reply: str) -> Sameness:
    """Parses a reply; raises Unreadable."""
    fields = fields_of(parse_object(reply), "same_meaning", "key_holds", "why")
    why = one_line(a_text(fields["why"], "why"), 300)
    return Sameness(a_bool(fields["same_meaning"], "same_meaning"), a_bool(fields["key_holds"], "key_holds"), why)


def _described(question: Question, name: str) -> str:
    key = json.dumps(question.answer, ensure_ascii=False)
    text = f"Type: {question.question_type}\n{whole_text(question.question, question.options)}\nKey: {key}"
    return fenced(harmless(number_figures(text, f"[{name}, figure {{}}]")))[1]
