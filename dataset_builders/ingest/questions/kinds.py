"""Types of questions, by section title, own words, options and blanks; and subjects.

Contract: gives a kind of `question_types` and its confidence; the key may decide between open ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from livek12.core.languages import language_of
from livek12.core.question_types import CHOICE, CHOICE_TYPES, FREE, QuestionType, chinese_names, kind_of, settle
from livek12.core.records import Language
from livek12.core.scripts import both_scripts, simplified
from livek12.dataset_builders.ingest.questions.headings import speaks_of_exam
from livek12.dataset_builders.ingest.templates import Template
from livek12.dataset_builders.reading.text import count_blanks

_WORDS = {
    "math": "数学 수학 mathematics math maths",
    "physics": "物理 물리학 물리 physics",
    "chemistry": "化学 화학 chemistry",
    "biology": "生物 생명과학 생물 biology",
    "chinese": "语文",
    "korean": "국어",
    "english": "英语 영어 english",
    "history": "历史 한국사 세계사 동아시아사 역사 history",
    "geography": "地理 한국지리 세계지리 지리 geography",
    "politics": "政治 思想政治 道德与法治 정치와법 정치 politics",
    "earth science": "지구과학",
    "economics": "경제 economics",
    "ethics": "생활과윤리 윤리와사상 윤리",
}
_BY_WORD = {word: subject for subject, words in _WORDS.items() for word in words.split()}


def subject_of(text: str) -> str:
    """The only subject that a text names."""
    words = set(re.split(r"[\W\d_]+", text.lower()))
    bare = re.sub(r"\s+|수\s*학\s*능\s*력", "", simplified(text))  # of 대학수학능력시험, the exam's own name
    subjects = {subject for word, subject in _BY_WORD.items() if (word in words if word.isascii() else word in bare)}
    return subjects.pop() if len(subjects) == 1 else ""


_NAMES = both_scripts(
    rf"{'|'.join(chinese_names())}|[5５오]?\s*지?\s*선다형|객관식|단답형|서답형|주관식|서술형|논술형"
    r"|multiple[- ]choice|free[- ]response|short[- ]answer"
    r"|true(?:\s+or\s+|/)false|fill[- ]in[- ]the[- ]blanks?|(?<!& )(?<!and )\bproofs?"
    rf"|(?:(?<=[一二三四五六七八九十][、．.])|^)\s*(?:{'|'.join(name[:-1] for name in chinese_names())})"
    r"(?:对错|正误|是非)?(?=\s*(?:[第(（：:\n]|$))",
    re.IGNORECASE,
)
_CODE = re.compile(r"```.*?```|\b__[A-Za-z]\w*?__(?!\w)", re.DOTALL)
_NOT_CHOICE = "非选择题"
"""Says only what its questions are not."""
_SINGLE = both_scripts(r"只有\s*一\s*[项个]|只有一个选项|choose\s+(?:the\s+)?(?:one|best)|one\s+correct", re.IGNORECASE)
_SEVERAL = both_scripts(
    r"有多[项个]|多项符合|有选错的得\s*0|全部选对|一[项个]或[者几多两]|不止一[项个]|all\s+that\s+apply|one\s+or\s+more",
    re.IGNORECASE,
)
_ASKS_SEVERAL = both_scripts(
    r"[（(]\s*(?:多选|不定项|双选)|多选[）)，,]|select\s+all|choose\s+all|all\s+that\s+apply|모두\s*(?:고르|선택하)(?:시오|세요|면)|모두\s*(?:골라|선택해)"
    r"|\b(?:choose|select|indicate|mark|circle|check|tick|identify)\s+(?:them\s+)?all\b"
    r"|\b(?:multiple|several|more\s+than\s+one)\s+(?:correct\s+)?(?:answers?|options?)\b",
    re.IGNORECASE,
)
_TRUE_FALSE = both_scripts(
    r"true\s+or\s+false|判断(?:下列|以下|下面|该)?.{0,12}(?:正确|对错|正误)|填[“\"]?(?:正确|对|√)[”\"]?或|참\s*[,또]|○\s*[,/또]?\s*×",
    re.IGNORECASE,
)
_TO_WORK = both_scripts(
    r"(?:^|[，,。.：:；;\n])\s*(?:试|求证|证明|计算|求(?!导))|\b(?:prove|show)\s+that|(?:시오|하라)\s*[.。]?\s*$", re.I
)
"""Asks for more than to judge a statement."""
_HOW_MANY = re.compile(r"\bhow many\b|몇\s?(?:가지|개|번|명)|多少[种個个]|有[几幾][种種个個]", re.IGNORECASE)
_PROVES = both_scripts(
    r"求证|证明|\bprove|show\s+that|증명|(?:[임함됨음]|것)을\s*(?:보[이여](?:시오|라|고)|확인하시오)", re.IGNORECASE
)
_TELLS = both_scripts(r"\b(?:describe|explain|propose|justify|discuss)\b|简述|论述", re.IGNORECASE)
"""Asks for a text, which no blank holds."""
_ASKS = both_scripts(
    rf"求(?!证)|计算|判断|写出|多少|[?？]|find|calculate|determine|구하|{_TELLS.pattern}", re.IGNORECASE
)
_WRITES = both_scripts(
    r"서술하|설명하시오|논하|쓰고|쓰시오|说明|简述|论述|叙述|分析|[绘画]出|explain|describe|justify|discuss|state\b|outline"
    r"|\b(?:write|draw|sketch|give|define|list|complete|implement|suggest|compare|derive|determine)\b",
    re.IGNORECASE,
)
_IN_WORDS = both_scripts(r"(?:简答|综合|问答|论述|名词解释)题|서술형|논술형")
"""Types of questions whose answers are sentences."""
_WORKS_OUT = both_scripts(
    r"求|计算|证明|说明|简述|论述|find|calculate|explain|describe|prove|구하|서술|설명하", re.IGNORECASE
)
VERBS = (
    "find|show|prove|explain|state|calculate|determine|describe|write|sketch|solve|draw|evaluate|estimate|justify|identify"
    "|discuss|compute|derive|list|define|implement|design|compare|construct|convert|express|give|how|why"
)
"""Begin a demand, hardly ever an option."""
_MORE_VERBS = (
    "what|which|who|whom|whose|when|where|name|complete|suggest|outline|simplify|factori[sz]e|factor|expand|differentiate"
    "|integrate|fill|match|label|plot|illustrate|propose|analy[sz]e|summari[sz]e|translate|consider|verify|check|deduce"
    "|predict|indicate|specify|answer|choose|select|mark|circle|tick|rewrite|correct|use|work out|trace|obtain|classify"
    "|distinguish|contrast|comment|assess|formulate|represent|arrange|count|modify|fix|add|print|read|examine|declare|initiali[sz]e|produce|create"
)
_DEMANDS = both_scripts(
    r"(?:^|[.?!:;,)\]]\s|\n[ \t]*|\b(?:please|then|and|to|or|hence|also|now|briefly)\s)"
    rf"(?:(?:[(\[]?\w{{1,3}}[.)\]、]|[●•▪◦-])\s?)?(?:{VERBS}|{_MORE_VERBS})\b"
    r"|[求请哪几吗]|(?<!考)试(?![卷题])|证明|计算|判断|写出|画出|说明|[简论叙阐]述|分析|解释|比较|列[举出]|指出|给出|设计|编[写程]|实现|完成|回答|推?导出"
    r"|讨论|构造|选择(?!题)|填(?!空题)|翻译|多少|什么|如何|为何|是否|怎|谈谈|应[为是]|解方程|解不等式|化简|验证|展开|研究|考察|探究|确定"
    r"|시오|세요|[가까라은는기]\s{0,2}[.?。]?\s{0,2}(?:[\[(]|$|\n)"
    r"|true or false|_{2}|[(（]\s{0,9}[)）]|▲|[?？]|[=:：→]\s{0,3}(?:$|<image>)",
    re.IGNORECASE,
)
"""A question mark, a room for an answer, or a verb of asking where a demand has one: in English, at its beginning."""
_PART = re.compile(r"(?<![\w\\}])[(（]\s*(?:\d{1,2}|[ivxⅰⅱⅲ]{1,4}|[a-h])\s*[)）]")
_PARENTHESIS = re.compile(r"[(（]\s*[)）]\s*[。．.]?\s*(?:<image>\s*)*$")


def section_type(title: str) -> str | None:
    """The printed name of a type in a section's title or instructions."""
    match = _NAMES.search(title)
    name = " ".join(match[0].split()) if match else None
    bare = name and "一" <= name[0] <= "鿿" and simplified(name[-1]) != "题"
    return re.sub("(?:对错|正误|是非)?$", "题", name, count=1) if name and bare else name


def says_choice(section: str) -> bool | None:
    """Checks for a section whose questions have options; None where it names no type."""
    if "选择" in simplified(section).replace("非选择", "") or "선다" in section:
        return True
    raw = section_type(section)
    return kind_of(_plain(raw)) in (CHOICE, *CHOICE_TYPES) if raw and simplified(raw) != _NOT_CHOICE else None


def type_of(
    text: str, has_options: bool, section: str, language: Language, template: Template
) -> tuple[str, str | None, float]:
    """Kind, printed name (or None), and confidence of the kind, by the text and the section's instructions."""
    raw = section_type(section)
    if raw is None and (own := template.type_in(section)) and (has_options or own[1].kind not in CHOICE_TYPES):
        return own[1].kind, own[0], 1.0
    if has_options:
        return _choice(text, section, raw), raw, 1.0
    kind = kind_of(_plain(raw)) if raw and simplified(raw) != _NOT_CHOICE else None
    if kind == "proof" and asks(text) and not _PROVES.search(text):
        kind = FREE
    if kind in (CHOICE, *CHOICE_TYPES):
        return _choice(text, section, raw), raw, 1.0
    blanks = count_blanks(_CODE.sub("", text))
    if kind == "fill_in_blank" or (kind is None and blanks):
        return "fill_in_blank", raw, 1.0 if kind or not _TELLS.search(text) else 0.4
    if kind == FREE and blanks and not _WORKS_OUT.search(text):
        return "fill_in_blank", raw, 0.8
    parts = [match.start() for match in _PART.finditer(text)]
    judges = None if _HOW_MANY.search(text) else _TRUE_FALSE.search(text)
    if judges and (len(parts) < 2 or judges.start() < parts[0]):
        return "true_false", raw, 0.9
    if kind == "true_false" and _TO_WORK.search(text):
        kind = FREE
    if kind in (FREE, None) and _is_proof(text):
        return "proof", raw, 0.9
    if kind not in (FREE, None):
        return str(kind), raw, 1.0
    if _PARENTHESIS.search(text) and not _PART.search(text):
        return CHOICE, raw, 1.0
    evidence = raw or asks(text) or demanding(section.split("\n"))
    head = text.partition("\n")[0]
    short = language_of(language).short and not (_WRITES.search(text) or _IN_WORDS.search(f"{section}\n{head}"))
    return "short_answer" if short else FREE, raw, 0.8 if evidence else 0.4


def asks(text: str) -> bool:
    """Checks for a question mark, a room for an answer, or a verb of asking where a demand has one."""
    return bool(_DEMANDS.search(_CODE.sub("", text).strip()) or "__" in text)


def solves(head: re.Match[str]) -> bool:
    """Checks a head of a solution: 证明： is the task where nothing above it asks."""
    return not head[0].strip().startswith("证明") or asks(head.string[: head.start()])


def demanding(lines: Iterable[str]) -> list[str]:
    """Lines of a title and its instructions that demand something, and do not speak of the exam."""
    return [line for line in lines if asks(line) and not speaks_of_exam(re.split("[(（]", line)[0])]


def settled(kind: str, answer: list[str]) -> QuestionType:
    """The canonical type, once the key is known."""
    letters = "".join(answer[0].split()) if len(answer) == 1 else ""
    several = bool(re.fullmatch(r"[A-J]{2,}|[1-9]{2,}", letters))
    return settle(kind, several=several, has_key=bool(answer))


def _plain(raw: str) -> str:
    return "선다형" if "선다형" in raw else re.sub(r"[-\s]+", "", raw) if raw.isascii() else raw


def _choice(text: str, section: str, raw: str | None) -> str:
    if _ASKS_SEVERAL.search(text):
        return "multiple_choice"
    named = kind_of(_plain(raw)) if raw else None
    if named in CHOICE_TYPES:
        return str(named)
    if _SEVERAL.search(section) and not _SINGLE.search(section):
        return "multiple_choice"
    return "single_choice" if _SINGLE.search(section) or (raw and "선다형" in raw) else CHOICE


def _is_proof(text: str) -> bool:
    """Checks that each part that asks asks for a proof, or that what stands above the parts does."""
    starts = [match.start() for match in _PART.finditer(text)] or [len(text)]
    pieces = [text[begin:end] for begin, end in zip([0, *starts], [*starts, len(text)], strict=True)]
    asking = [piece for piece in pieces if _PROVES.search(piece) or _ASKS.search(piece)]
    return bool(asking) and all(_PROVES.search(piece) and not _ASKS.search(piece) for piece in asking)
