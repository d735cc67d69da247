"""Candidates for the rules: measured features, an excerpt, and a text hash.

Contract: `measure` is bounded in time; None means unstated. The hash ignores image marks and white space, so it also
fits runs without pictures.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from livek12.core.languages import HANGUL, IDEOGRAPHS
from livek12.core.question_types import CHOICE_TYPES
from livek12.core.records import IMAGE_MARK, Question, canonical_json
from livek12.dataset_builders.proposals import whole_text

Features = dict[str, float | None]
MAX_CHARACTERS = 20_000
"""Longer texts are measured by their beginning."""
EXCERPT = 1_500
"""Characters of a question in a sheet; a spreadsheet cell holds at most 32,767."""
Among = Literal["subject", "kind", "paper"]

_FORMULA = re.compile(r"\$\$?[^$]{1,400}\$\$?|\\\(.{0,400}?\\\)|\\\[.{0,400}?\\\]", re.DOTALL)
_FIGURE = re.compile(
    r"(?:装置|仪器)\s?([ⅠⅡⅢⅣI1-9甲乙丙丁①②③④]{1,3})|([甲乙丙丁])图|图(?![象像线形书片画])\s?(?:[(（]?([0-9１-９甲乙丙丁a-dA-D一二三四ⅠⅡⅢⅣ①②③④]{1,2})[)）]?)?"
    r"|\b(?:fig(?:ure|\.)?|diagram|graph|picture|apparatus)s?\s?\(?(\d{1,2}|[IV]{1,3}\b|[a-dA-D](?![a-z]))?\)?"
    r"|그림\s?(?:[(（]?([0-9가-라])[)）]?)?",
    re.IGNORECASE,
)
_GRAPH = re.compile(
    r"图[象像线]|[横纵]轴|坐标系|曲线|折线|柱[状形]图|坐标图|波形|示意图|流程图|[-–—~]\s?[a-zA-Z]\$?\s?图|系谱图|装置"
    r"|\b(?:curves?|graphs?|plots?|charts?|plotted|waveforms?|apparatus"
    r"|flow\s?(?:charts?|diagrams?)|pedigrees?|(?:horizontal|vertical) axis)\b|그래프|도표|곡선",
    re.IGNORECASE,
)
_TABLE_ROW = re.compile(
    r"^[ \t]*\|[^\n]*\|[ \t]*$|<tr[\s>]|^[^\n&]{1,200}&[^\n]{0,400}\\\\", re.MULTILINE | re.IGNORECASE
)
_CLAUSE = re.compile(r"[，。；！？,;!?\n]|\.(?=\s|$)")
_ASKS = re.compile(
    r"求|证明|[（(]\s*(?:\\q?quad|\s)*[)）]|_{2,}|[是为]\s*$|正确|错误|下列|哪|多少|何|\b(?:find|prove|show|determine|calculate|"
    r"what|which|how|why|correct|incorrect|following)\b|구하|고르|옳|무엇|것은",
    re.IGNORECASE,
)
_JUDGES = re.compile(
    r"(?:说法|叙述|判断|结论|描述|推断|分析|选项|离子方程式|命题|操作|解释|关系)[^。\n]{0,40}?(?:正确|错误|合理|符合|成立)"
    r"|(?:不正确|不合理|不能|正确|错误)的(?:有|是)"
    r"|which (?:of the following|statements?|options?|equations?)[^.?\n]{0,80}(?:correct|true|false|wrong)"
    r"|(?:옳|맞|틀린|않)[^\n]{0,6}것",
    re.IGNORECASE,
)
_CIRCLED = re.compile(r"[①②③④⑤⑥]|(?<![가-힣])[ㄱㄴㄷㄹㅁ]\s?[.)]")
_STEP = re.compile(
    r"∴|∵|因此|所以|故|从而|可得|解得|则有|[,，。；]\s?则|由此|⇒|\\(?:therefore|because|Rightarrow)\b"
    r"|\b(?:therefore|hence|thus|so that|it follows|we (?:get|have|obtain))\b|따라서|그러므로|이므로",
    re.IGNORECASE,
)
_PART = re.compile(r"[(（]\s?(\d{1,2}|[ivx]{1,4}|Ⅰ|Ⅱ|Ⅲ|Ⅳ)\s?[)）]")
_PROOF = re.compile(r"证明|求证|\bprove\b|\bshow that\b|\bproof\b|증명", re.IGNORECASE)
_REASON = re.compile(
    r"说明理由|写出.{0,8}过程|推导|论证|为什么|依据是|\b(?:justify|derive|explain why|give reasons?|deduce)\b"
    r"|이유|유도",
    re.IGNORECASE,
)
_AIM = re.compile(
    r"最[大小值]|取值范围|是否存在|探究|讨论|通项|轨迹|单调|极值|说明理由|设计"
    r"|\b(?:maxim\w+|minim\w+|range of|exists?|discuss|justify|design|explain)\b|최댓값|최솟값|범위",
    re.IGNORECASE,
)
_WORDS = re.compile(r"[^\W\d_]", re.UNICODE)
_ROMAN = {"i": 1, "ii": 2, "iii": 3, "iv": 4, "v": 5, "vi": 6, "ⅰ": 1, "ⅱ": 2, "ⅲ": 3, "ⅳ": 4}
_LINE = 80
_FEWEST_OPTIONS = 3


@dataclass(frozen=True)
class Candidate:
    """A question for the rules.

    Attributes:
        paper: comparison group for points.
        words: text for word lists; at most `MAX_CHARACTERS`.
    """

    id: str
    language: str
    subject: str
    paper: str | None
    question_type: str
    text_sha256: str
    excerpt: str
    words: str
    features: Features

    @property
    def is_choice(self) -> bool:
        """True for a choice or true/false question."""
        return self.question_type in CHOICE_TYPES or self.question_type == "true_false"


def candidate(question: Question) -> Candidate:
    """Builds the candidate of a question."""
    text = whole_text(question.question, question.options)
    return Candidate(
        id=question.id,
        language=question.language,
        subject=question.subject,
        paper=question.paper_id or question.exam,
        question_type=question.question_type,
        text_sha256=text_sha256(question),
        excerpt=text if len(text) <= EXCERPT else text[: EXCERPT - 1] + "…",
        words=text[:MAX_CHARACTERS],
        features=measure(question),
    )


def text_sha256(question: Question) -> str:
    """Hash of question and options, without image marks and white space."""
    texts = [question.question, *(text for option in question.options for text in (option.label, option.text))]
    return hashlib.sha256(canonical_json(["".join(_unmarked(text).split()) for text in texts]).encode()).hexdigest()


def measure(question: Question) -> Features:
    """Features of a question, in counts, characters and points.

    `figure_distance` is the printed lines from a paragraph that points to a figure to the nearest image, None without
    placed images; `judges_statements` is 0 or 1.
    """
    stem = question.question[:MAX_CHARACTERS]
    plain = _FORMULA.sub("§", stem)
    options = [_unmarked(option.text)[:MAX_CHARACTERS] for option in question.options]
    solution = (question.solution or "")[:MAX_CHARACTERS]
    flow = len(question.reasoning_flow)
    return {
        "pages": len(question.page_numbers) or None,
        **_pictures(question, stem),
        "figures_named": len({name.lower() for names in _FIGURE.findall(plain) for name in names if name}),
        "graph_words": len(_GRAPH.findall(stem)),
        "table_rows": len(_TABLE_ROW.findall(plain)),
        "options": len(options),
        "statement_options": sum(_is_statement(text) for text in options),
        "judges_statements": int(bool(_JUDGES.search(plain))),
        "listed_statements": len(set(_CIRCLED.findall(plain))),
        "premises": sum(len(c.strip()) > 1 and not _ASKS.search(c) for c in _CLAUSE.split(_unmarked(plain))),
        "knowledge_points": len(question.knowledge_points) or None,
        "parts": _parts(question, plain),
        "proof_words": len(_PROOF.findall(plain)) + int(question.question_type == "proof"),
        "reason_words": len(_REASON.findall(plain)),
        "aims": len(set(_AIM.findall(plain))),
        "question_length": len("".join(_unmarked(stem).split())),
        "solution_length": len("".join(solution.split())) or None,
        "solution_steps": (max(flow, len(_STEP.findall(solution))) or None) if solution or flow else None,
        "points": question.points,
    }


def _pictures(question: Question, stem: str) -> Features:
    lines = [line for line in stem.split("\n") if IMAGE_MARK in line]
    return {
        "images": len(question.images),
        "option_images": _option_images(question),
        "inline_images": sum(_between_words(line) for line in lines),
        "figure_distance": _distance(stem),
    }


def _option_images(question: Question) -> int:
    if question.question_type in CHOICE_TYPES and not question.options and len(question.images) >= _FEWEST_OPTIONS:
        return len(question.images)
    return sum(option.text.count(IMAGE_MARK) for option in question.options)


def _between_words(line: str) -> int:
    worded = [place for place, piece in enumerate(line.split(IMAGE_MARK)) if _WORDS.search(piece)]
    return worded[-1] - worded[0] if worded else 0


def _distance(stem: str) -> float | None:
    """A line has 80 half-width characters; a formula ten, an image none."""
    printed = _FORMULA.sub("x" * 10, stem)
    marks = [match.span() for match in re.finditer(re.escape(IMAGE_MARK), printed)][:100]
    words = [
        (printed.rfind("\n", 0, match.start()) + 1, (printed + "\n").index("\n", match.end()))
        for match in _FIGURE.finditer(printed)
    ][:100]
    if not marks or not words:
        return None
    before = list(accumulate((_width(letter) for letter in printed), initial=0.0))
    gaps = (min(before[max(word[0], mark[0])] - before[min(word[1], mark[1])] for mark in marks) for word in words)
    return max(0.0, *gaps)


def _width(letter: str) -> float:
    return (2 if letter > "\u2e7f" else 1) / _LINE


def _is_statement(text: str) -> bool:
    words = _WORDS.findall(_FORMULA.sub("", text))
    ideographs = len(re.findall(f"[{IDEOGRAPHS}{HANGUL}]", "".join(words)))
    return ideographs >= 6 or len(_FORMULA.sub("", text).split()) >= 5


def _parts(question: Question, plain: str) -> int:
    stated = max(len(question.part_points), len(question.variables))
    if question.question_type in CHOICE_TYPES:
        return max(1, stated)
    labels = _PART.findall(plain)
    numbers = {int(label) if label.isdigit() else _ROMAN.get(label.lower()) for label in labels}
    run = 0
    while run + 1 in numbers:
        run += 1
    return max(1, stated, run)


def _unmarked(text: str) -> str:
    return text.replace(IMAGE_MARK, " ")


@dataclass
class Standing:
    """Rank of features within language and subject, or paper."""

    _values: dict[tuple[str, str], list[float]]

    SMALLEST = 4

    @classmethod
    def of(cls, candidates: Iterable[Candidate]) -> Standing:
        """Builds the ranking from all candidates."""
        values: dict[tuple[str, str], list[float]] = {}
        for item in candidates:
            for group in _groups(item).values():
                for feature, value in item.features.items():
                    if value is not None:
                        values.setdefault((group, feature), []).append(value)
        return cls(
            {key: sorted(group_values) for key, group_values in values.items() if len(group_values) >= cls.SMALLEST}
        )

    def place(self, item: Candidate, feature: str, among: Among = "subject") -> tuple[float, bool] | None:
        """Share of the group below the value, and True if in the top quarter and above the median.

        None if fewer than `SMALLEST` questions have the feature. The kind is the subject's choices, or its others;
        unknown and small papers fall back to the subject.
        """
        value, groups = item.features.get(feature), _groups(item)
        values = self._values.get((groups.get(among, ""), feature)) or self._values.get((groups["subject"], feature))
        if value is None or not values:
            return None
        last = len(values) - 1
        return bisect_left(values, value) / len(values), value >= values[3 * last // 4] and value > values[last // 2]


def _groups(item: Candidate) -> dict[Among, str]:
    subject = [item.language, item.subject]
    groups: dict[Among, str] = {"subject": canonical_json(subject), "kind": canonical_json([*subject, item.is_choice])}
    if item.paper:
        groups["paper"] = canonical_json([*subject, "paper", item.paper])
    return groups
