"""Lines that belong to no question: headers, footers, section titles, shared passages, answers, notices.

Contract: `marked` gives pages at most `LOOK` pages late, with headers and footers in blocks of their own: page numbers,
copyright notices, and lines in the margins whose pieces come again, numbers aside, at that height on a page near by. A
line that counts questions, or is the title of a section whose first question follows, is none.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, deque
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from livek12.core.question_types import chinese_names
from livek12.core.scripts import both_scripts, chinese_number
from livek12.core.text import squeezed
from livek12.dataset_builders.ingest.pages.blocks import PICTURE, UNREAD, Block, Box, Kind, Line, PageBlocks
from livek12.dataset_builders.ingest.questions.points import says_worth

LOOK: Final = 2
TOP: Final = 0.13
BOTTOM: Final = 0.88
_SIDE: Final = 0.06
_BOXES: Final = (
    r"草\s*稿\s*区|(?:[本一二三四五六七八九十]\s*题\s*)?[得题]\s*分|[评阅]\s*[卷分阅]\s*人?|复\s*[核查]\s*人?|密\s*封\s*线(?:\s*内\s*不\s*(?:要\s*)?答\s*题)?"
    r"|准\s*考\s*证\s*号|수\s*험\s*번\s*호"
)
FORM: Final = both_scripts(rf"(?:{_BOXES}|\s)+")
"""Words of the boxes for marks and for the candidate's number, which no question has."""
CANDIDATE: Final = both_scripts(rf"(?:{_BOXES}|姓\s*名|学\s*号|班\s*级|성\s*명|\s)+")
"""Those of boxes beside one for the candidate's number: tables of pupils have them too."""
_LOW: Final = 0.7
"""A number alone below all text is a page's from here, if near pages have theirs there."""
_NUMBER: Final = both_scripts(
    r"^(?:[\s\-–—·•.|/()（）第页共頁쪽,，。\d]|page|of){0,6}\d{1,4}(?:[\s\-–—·•.|/()（）第页共頁쪽,，\d]|page|of){0,16}$",
    re.IGNORECASE,
)
ASKED: Final = both_scripts(
    r"(?:[A-Z][\w-]*\s){0,2}(?:Question|Problem|Q|문항|문제|第)\s*#?\s*\d{1,3}\s*题?\s*[.:：．]?|\d{1,3}\s*[.．、)）]",
    re.IGNORECASE,
)
"""Numbers a question, on a line of its own: it comes again on the next page with another number."""
CONTINUED: Final = r"\W{0,3}(?i:cont(?:inued|'?d\b|\.)|续|계속)\W*(?:[(.)]|$)"
"""Behind its number: a head that comes again on the next page."""
_COUNTS: Final = both_scripts(
    rf"\s*(?:(?:Question|Problem|Q|문항|문제)\s*#?\s*\d{{1,3}}(?![\d/])(?!{CONTINUED})|第\s*\d{{1,3}}\s*题"
    r"|\d{1,3}\s?[.．、)）]\s*[^\W\d_]|\d{1,3}\s?[.．、]\s*[(（\[]|[一二三四五六七八九十]{1,3}\s?[、．]\s*\S)",
    re.IGNORECASE,
)
_FIRST: Final = re.compile(r"\s*(?:\S{1,8}\s)?\s*[(（]?1\s?[.．、)）:：](?!\d)")
_LISTED: Final = re.compile(r"\d{1,3}\s*(?:[)）]|[.．、]\s)\s*\d")
"""A numbered answer that is a number ("16. 2"), as the last line of a short key has it."""
_PAGE_OF: Final = both_scripts(r"第\s*\d+\s*[页頁]|共\s*\d+\s*[页頁]|\bpage\s+\d+|^\s*\d+\s*/\s*\d+\s*$", re.IGNORECASE)
_BRACKETED: Final = re.compile(r"[(（]\d{1,2}[)）]")
"""The number of a page where others have one too, else the marks of a part."""
_PAGED: Final = "paged"
"""Among what stands on the pages around: this page has its number at the place where they have theirs."""
_LARGE_HEAD: Final = 0.3
"""Of the page's height, from its edge: a table there may be a head that comes again."""
_LOWEST, _FAR = 0.91, 1.5
"""Of the page's height: a foot is below it; heights of its line that lie between it and the text."""
_LEVEL: Final = 0.01
"""Of the page's height: what differs by less stands side by side."""
_AT_END: Final = re.compile(r"(?<![\w.(（])\d{1,3}(?=\W*$)(?![)）])|^\d{1,3}(?![\w.)）])")
"""A page's number behind or before other words."""
_APART: Final = re.compile(r"\s{3,}|\t")
"""Between the pieces of a line."""
_BELONGS: Final = both_scripts(
    r"[^\W\d_]{0,2}[)）]|fig(?:ure|\.)?\s*\d|[图圖表]\s*\d|그림\s*\d|[<＜〈\[［【]\s*(?:그림|표|图)", re.IGNORECASE
)
"""Captions, and the end of a bracket of the line above, belong to questions though they come again."""
OPTIONS: Final = re.compile(r"\s*(?:[①-⑩]|[(（]?[A-Ha-h][)）.．、])")
"""Options may read the same on several pages, and stand at the foot of them."""
_COPYRIGHT: Final = re.compile(r"저작권|版权|版權|著作权|copyright|©|all rights reserved", re.IGNORECASE)


def marked(pages: Iterable[PageBlocks]) -> Iterator[PageBlocks]:
    """The pages, with headers and footers marked."""
    behind: deque[set[str]] = deque(maxlen=LOOK)
    ahead: deque[tuple[PageBlocks, set[str]]] = deque()
    for page in pages:
        ahead.append((page, _keys(page)))
        if len(ahead) > LOOK:
            yield _first(ahead, behind)
    while ahead:
        yield _first(ahead, behind)


def _first(ahead: deque[tuple[PageBlocks, set[str]]], behind: deque[set[str]]) -> PageBlocks:
    page, keys = ahead.popleft()
    around = set().union(*behind, *(others for _, others in ahead))
    behind.append(keys)
    return _mark(page, around)


def _zone(box: Box) -> Kind | None:
    if box.bottom < TOP:
        return "header"
    return "footer" if box.top > BOTTOM else None


def _line_keys(line: Line) -> set[str]:
    """Pieces of a line in the margins; empty elsewhere."""
    zone = _zone(line.box)
    if not zone:
        return set()
    text = re.sub(rf"[\d\t]*{UNREAD}[\d\t{UNREAD}]*", "#", line.text.replace(PICTURE, "(picture)"))
    pieces = (re.sub(r"\d+", "#", re.sub(r"\s+", "", piece)) for piece in _APART.split(text))
    return {f"{zone}:{round(line.box.top * 50)}:{piece}" for piece in pieces if piece}


def _near(key: str) -> set[str]:
    zone, at, text = key.split(":", 2)
    return {f"{zone}:{int(at) + step}:{text}" for step in (-1, 0, 1)}


def _keys(page: PageBlocks) -> set[str]:
    keys = set(_foot(page).values())
    for block in page.blocks:
        if block.kind == "figure":
            keys.add(_figure_key(block))
        if block.kind == "table":
            keys.add(_table_key(block))
        for line in block.lines:
            body = set() if _zone(line.box) else {_shape(line), f"={squeezed(line.text)}"}
            keys |= {*_line_keys(line), _page_key(line), _whole_key(line), *body}
    keys.discard("")
    return keys


def _shape(line: Line) -> str:
    """A line of letters that counts, without its numbers: a running head stands in margins alone."""
    shape = squeezed(re.sub(r"\d+|\b[IVX]+\b", "#", line.text))
    return f"#{shape}" if re.search(r"[^\W\d_].*#", shape) else ""


def _figure_key(block: Block) -> str:
    box = block.box
    zone = _margin(box)
    return f"{zone}:{round(box.top * 50)}:figure{round(box.right * 20 - box.left * 20)}" if zone else ""


def _table_key(block: Block) -> str:
    """The cells of a table in the upper or lower part of its page: a head of boxes comes again as it is."""
    edge = block.box.bottom < _LARGE_HEAD or block.box.top > 1 - _LARGE_HEAD
    return f"table:{round(block.box.top * 50)}:{squeezed(block.text)}" if edge else ""


def _foot(page: PageBlocks) -> dict[int, str]:
    """Heights of the lines below all text and apart from it, by line, with the number that goes on with the pages."""
    lines = [line for block in page.blocks if block.kind in ("text", "caption", "table") for line in block.lines]
    others = (block.box for block in page.blocks if not block.lines)
    boxes = sorted([*(line.box for line in lines), *others], key=lambda box: box.top)
    reach, begin = 0.0, 1.0
    for box in boxes:
        if box.top > _LOWEST and box.top - reach > _FAR * (box.bottom - box.top):
            begin = min(begin, box.top)
        reach = max(reach, box.bottom)
    low = [line for line in lines if line.box.top >= begin]
    if any(is_running(line.text) or is_section(line.text) for line in low):
        return {}
    numbers = ((line, _AT_END.search(line.text)) for line in low)
    return {
        id(line): f"footer:{round(line.box.top * 50)}:apart{int(number[0]) - page.number}"
        for line, number in numbers
        if number
    }


def _margin(box: Box) -> Kind | None:
    """The zone of a picture, those beside the text included: strips that forbid to write there."""
    return _zone(box) or ("footer" if box.right < _SIDE or box.left > 1 - _SIDE else None)


def _mark(page: PageBlocks, around: set[str]) -> PageBlocks:
    texts = [line for block in page.blocks if block.kind in ("text", "caption", "table") for line in block.lines]
    own = [line for line in texts if not _NUMBER.match(line.text.strip()) and not _kind(line, around, 1.0)]
    ends = max((line.box.top for line in own), default=0.0)
    around = around | {_PAGED} if any(_is_paged(line, around) for line in texts) else around
    titles = {id(line) for line, below in pairwise(texts) if is_section(line.text) and _FIRST.match(below.text)}
    foot = _foot(page)
    blocks: list[Block] = []
    for block in page.blocks:
        if block.kind == "figure":
            key = _figure_key(block)
            beside = not _zone(block.box)
            again = bool(key) and bool(_near(key) & around) and (beside or len(block.text) < 12)
            blocks.append(replace(block, kind=_margin(block.box) or block.kind) if again else block)
        elif block.kind in ("text", "caption"):
            blocks += _parted(block, around, ends, titles, foot)
        elif block.kind == "table" and (key := _table_key(block)) and _near(key) & around:
            blocks.append(replace(block, kind=_zone(block.box) or "header"))
        else:
            blocks.append(block)
    return replace(page, blocks=blocks)


def _whole_key(line: Line) -> str:
    """A line that speaks of the exam, with its numbers, in the margins."""
    zone = _zone(line.box)
    return f"{zone}:{round(line.box.top * 50)}:={line.text}" if zone and speaks_of_exam(line.text) else ""


def _is_paged(line: Line, around: set[str]) -> bool:
    """A bare number at a place where near pages have one too."""
    key = _page_key(line)
    return bool(key) and bool(_near(key) & around)


def _is_page_of(text: str) -> bool:
    """Only the number of a page and of all pages, or words of the form, wherever they stand."""
    return bool(FORM.fullmatch(text)) or bool(
        _NUMBER.match(text) and len(re.findall(r"\d+", text)) == 2 and re.search(r"页|頁|쪽|page", text, re.I)
    )


def _page_key(line: Line) -> str:
    """The place of a line that is only a number; else ""."""
    zone = _zone(line.box) or ("footer" if line.box.top > _LOW else None)
    return f"{zone}:{round(line.box.top * 50)}:page" if zone and line.text.strip().isdecimal() else ""


def _parted(
    block: Block, around: set[str], ends: float, titles: Container[int], foot: Mapping[int, str]
) -> list[Block]:
    kinds = [
        _kind(line, around, ends, foot.get(id(line), "")) if id(line) not in titles else None for line in block.lines
    ]
    first = next((place for place, kind in enumerate(kinds) if kind != "header"), len(kinds))
    kinds = [kind if place < first or kind != "header" else None for place, kind in enumerate(kinds)]
    if not any(kinds):
        return [block]
    parts: list[Block] = []
    for line, margin in zip(block.lines, kinds, strict=True):
        kind = margin or block.kind
        if parts and parts[-1].kind == kind:
            last = parts[-1]
            parts[-1] = replace(last, lines=[*last.lines, line], box=last.box.joined(line.box))
        else:
            parts.append(replace(block, kind=kind, lines=[line], box=line.box))
    return parts


def _kind(line: Line, around: set[str], ends: float, foot: str = "") -> Kind | None:
    """Header or footer, if a line is one; `foot` is its place, if it is apart at the foot of its page.

    A bare number above the end of the text is none, nor one at another place than on other pages.
    """
    zone = _zone(line.box)
    text = line.text.strip()
    if not zone and ((line.box.top > ends and _is_paged(line, around)) or _is_page_of(text)):
        return "footer"
    asks = (
        ASKED.fullmatch(text)
        or counts_questions(text)
        or passage_range(text)
        or _LISTED.match(text)
        or says_worth(text)
        or (_shape(line) in around and f"={squeezed(line.text)}" not in around)
    )
    whole = _whole_key(line)
    if zone and whole and _near(whole) & around:
        return zone
    if not zone or asks or _BELONGS.match(text) or OPTIONS.match(text):
        return None
    if _COPYRIGHT.search(text) or (len(text) < 40 and _PAGE_OF.search(text)) or (foot and _near(foot) & around):
        return zone
    keys = _line_keys(line)
    marks = bool(_BRACKETED.fullmatch(text)) and not any(_near(key) & around for key in keys)
    elsewhere = _PAGED in around and text.isdecimal() and not _is_paged(line, around)
    if _NUMBER.match(text) and not marks and not elsewhere and (zone == "header" or line.box.top > ends - _LEVEL):
        return zone
    pieces = {key: key.split(":", 2)[2] for key in keys}
    again = any(len(piece) > 1 for piece in pieces.values()) and all(
        piece == "#" or _near(key) & around for key, piece in pieces.items()
    )
    return zone if again else None


_LONGEST_TITLE = 160
_CHINESE = both_scripts(
    r"\s*(?:[(（]\s*[一二三四五六七八九十]{1,3}\s*[)）]|[一二三四五六七八九十]{1,3}\s*[、．.,，:：])\s*\S"
    r"|\s*[一二三四五六七八九十]{1,2}\s*(?:[单多]项)?(?:选择|填空|判断|简答)"
    r"|\s*第\s*(?:[ⅠⅡⅢIVX]+|[一二三四五六七八九十]{1,2}|\d{1,2})\s*(?:卷|部分|大题|节)"
    r"|\s*非?选择题部分\s*$|\s*[【\[]?\s*(?:选修|选考|必考|选做)(?:[一二三四\d][-—－–\d]*|题|部分)"
)
_FORMAL_WORD = both_scripts(r"\s*[伍陆陸拾](?!.*(?:题|分[)）]))")
"""A numeral that is as likely a word or a name, but for the title of questions."""
_BARE_TITLE = both_scripts(r"\s*[一二三四五六七八九十]{1,3}\s*[、．.]\s*[一-鿿]{2,6}\s?(?:\s+.*)?")
_CHINESE_NUMBER = both_scripts(r"\s*(?:第\s*)?([一二三四五六七八九十])\s*[、．.题]\s*")
_PART_TITLE = both_scripts(r"\s*[(（]\s*[一二三四五六七八九十]{1,3}\s*[)）]")
_TITLE_WORDS = both_scripts(
    r"题|分[)）]|选修|选考|必考|选做|[数语英物化生政历地]|阅读|写作|听力|作文|表达|运用|实验|选择|填空|解答|判断|计算|默写|鉴赏|积累"
)
_KOREAN = re.compile(
    r"\s*[\[【<]?\s*(?:(?:\d\s*)?지\s*선다형|선다형|선택형|객관식|단답형|서답형|주관식|서술형|논술형)\s*(?:문항|\d{1,2}\s*[~∼～-]\s*\d{1,2}번?)?\s*[\]】>]?\s*(?:\([^)]*\))?\s*"
    r"|\s*[5５오]\s*지\s*선\s*다\s*형.{0,30}"
)
_ENGLISH = re.compile(r"\s*(Part|Section|SECTION|PART)\s+(?:[-–—]\s*)?([IVX]{1,5}|[A-H]|\d{1,2})\b(?!\s+of\b).{0,120}$")
_ENGLISH_TITLE = re.compile(
    r"\s*(?:multiple[- ]choice|free[- ]response|short[- ]answer|true(?:\s+or\s+|/)false|fill[- ]in[- ]the[- ]blanks?)"
    r"\s*(?:questions?)?\s*(?:\([^)]*\))?\s*[:.]?\s*",
    re.IGNORECASE,
)
_TYPE_NAME = rf"(?:{'|'.join(chinese_names())})\s*[:：]?"
_TYPE_TITLE = both_scripts(
    rf"{_TYPE_NAME}\s*(?:[(（][^()（）]*[)）])?|选择|填空|判断|简答|附\s*[录表][:：]?|A(?:ppendix|PPENDIX)"
)
"""The name of a type, or of what stands behind all questions, alone."""
NUMBERED_TYPE = both_scripts(rf"\s*\d{{1,2}}\s*[.．、]?\s*[一-鿿]{{0,4}}?{_TYPE_NAME}\s*(?:[(（].*)?")
"""The name of a type behind a number, perhaps with points."""
_NEXT = re.compile(
    r".{0,12}\b(?:next|following)\s+(?:(two|three|four|five|[2-5])\s+(?:questions|problems)|(?:question|problem))\b",
    re.IGNORECASE,
)
_SINGLE = re.compile(r"(?=(?:\S+\s+){4}).*?\b(?:question|problem)\s+(?:no\.?\s*|number\s+)?(\d{1,3})\b(?![-–.)])", re.I)
_BROKEN = re.compile(r"(?:\d\s*(?:[~～∼〜\-–—－至到]|to|and)|\bquestions?|第)\s*$", re.IGNORECASE)
"""The end of a line within the numbers of a passage."""
_RANGE = r"(\d{1,3})\s*(?:[~～∼〜\-–—－至到]|to|and|和|、)\s*(\d{1,3})"
_PASSAGES = (
    re.compile(rf"\s*[\[【［]\s*(?:[가-힣]{{2,4}}\s*)?{_RANGE}\s*[\]】］]"),
    re.compile(rf"\s*[(（]\s*{_RANGE}\s*[)）]\s*(?=[A-Z][a-z]+\s|[一-鿿가-힣]{{2}})"),
    re.compile(r"\s*[\[【［]\s*(\d{1,3})(?:\s*□\s*|\s+)(\d{1,3})\s*[\]】］]\s*(?=[^\W\d_])"),  # "~" without a letter
    both_scripts(
        rf".*?(?:完成|回答|做|解答|答)\s*(?:下面|下列|后面|文后|第|各)?\s*第?\s*{_RANGE}\s*(?:各|小|两|三|四|五)*\s*题"
    ),
    re.compile(rf".*?\b(?:questions?|problems?)\s+{_RANGE}\b.*", re.IGNORECASE),
)
_ANSWERS = both_scripts(
    r"\s*[【\[（(]?\s*(?:\d{4}\s*年?.{0,40})?(?:参考答案|答案(?:与|和|及)(?:解析|评分|解答)|试题(?:答案|解析)|标准答案|正确答案表|정\s*답\s*(?:및|과|표|확인\s*$)"
    r"|정답과\s*해설|답안|answer\s*keys?|answers\s*(?:and|&)\s*(?:solutions|explanations)|answers|solutions|(?:the\s)?solution\s(?:of|to|for)\s(?:the\s)?(?:mid|final|exam|test|quiz|paper)|correction(?=[\W\d]*$)|marking\s+scheme)"
    r".{0,40}$"
    r"|[^，。,.；;：:！？!?]{2,40}试[卷题](?:\s*[(（].{1,3}[)）]|\s*[A-Z]\s*卷)?\s*答案\s*$"
    r"|[^，。,.；;！？!?]{0,30}(?:参考答案|答案(?:与|和|及)(?:解析|评分|解答)|评[分阅](?:标准|细则)|参考解答).{0,20}$",
    re.IGNORECASE,
)
_FIRST_KEY, _SECOND_KEY = (re.compile(rf"\s*{n}\s*[)）.．、]\s*[\[【]\s*(?:정답|답|答案)\s*[\]】]") for n in (1, 2))
"""The first answers of a list behind a paper without a title."""
_BARE_ANSWERS = re.compile(r"\s*[【\[]?\s*(?:答\s*案|정\s*답|answers?|key)\s*[】\]]?\s*[:：]?\s*", re.IGNORECASE)
_ANSWER_WORDS = both_scripts(
    r"(?:参考)?答案|解答|解析|정답|해설|풀이|\b(?:with\s+)?(?:suggested\s|sample\s|model\s)?(?:solutions?|answers?)\b(?!\s+questions?\b)",
    re.I,
)
"""Words behind the title of a paper that is printed with its answers."""
_LONGEST_NAME = 60
"""Letters of a title above the answers."""
_SHORTEST_TITLE = 8
"""Letters of such a title."""
_FIRST_ANSWER = both_scripts(
    r"\s*(?:[一1１]\s*[、.．~～—–\-:：)）]|[(（第]\s*1|题\s*号|번\s*호|문항|No\b|Question)", re.IGNORECASE
)
_NOTICE = both_scripts(
    r"\s*[*＊※◦]+\s*(?:확인\s*사항|시험이\s*시작|이\s*문제지|답안지의)|\s*(?:绝密|★?\s*启用前|.{0,3}注意事项\s*[:：]?\s*$)"
    r"|\s*[▶>※*]?\s*다음\s*(?:쪽|면|페이지|장)(?:으로|에)\s*(?:넘어|계속)"
    r"|\s*이제\s*듣기\s*(?:문제|평가)[가는]?\s*(?:모두\s*)?끝"
    r"|\s*(?:GO|Go) ON TO THE NEXT PAGE|\s*Go on to the next page"
    r"|[\W_]*(?:(?i:end of (?:the )?(?:question )?(?:paper|test|exam(?:ination)?|section|quiz|midterm|final))"
    r"|BLANK PAGE|(?:\[?Please )?(?i:turn over))\b"
    r"|[\W_]*(?:全卷完|试[卷题](?:到此)?结束|以下空白|(?:背面)?尚有试题)"
    r"|Permission to reproduce\b|(?i:do not write (?!in (?:pencil|red)))"
    r"|(?:MIT OpenCourseWare|For information about citing)\b"
)
END = both_scripts(r"[*＊—–~=\s-]{2,}(?i:(?:the )?end|fin|完|끝)[*＊—–~=\s-]{2,}|(?:The End|THE END)\W*")
"""The last line of a paper; elsewhere a title or a line of code."""
ANSWER_HEAD = both_scripts(
    r"(?:^|\n)\s*(?:[【\[［〖]\s*(?:答案|正确答案|参考答案|正解|정답)\s*[】\]］〗]"
    r"|(?:(?:[^\w\s(（\[【〔]{1,2}\s?)?(?:(?:参考|正确)?答案(?:要点|[与和及]解析)?|思路[与和]解答|정?답)"
    r"|(?:\W{1,3}\s?)?(?:[A-Z][a-z]+ ){0,2}Answer(?:\s+Key)?)\s*[:：]|Ans\s*[.:：]"
    r"|(?-i:Answers?\.(?=\s+[A-Z({\[$]|\s*(?:\n|$))|Answer(?=\s+[a-h]\.\s)))\s*",
    re.IGNORECASE,
)
SOLUTION_HEAD = both_scripts(
    r"(?:^|\n|\s|(?<=\s))(?:[【\[［〖<＜]\s*(?:解析|详解|解答|分析|点评|试题解析|学?解|小问\s*\d\s*详解|해설|풀이)\s*[】\]］〗>＞]"
    r"|(?<=\n)\s*(?:解|(?<=[。.．?？;；]\n)证明)\s*[:：]|(?<=\n)\s*解法\s*[一二三四五\d]?\s*(?:[:：]|(?=\n|$))"
    r"|(?:解析|解答|详解|분석|해설|풀이|Solution(?: sketch| outline)?|Explanation)\s*[:：]"
    r"|(?<=\n)\W{0,3}(?:해설|解析|详解)[ \t]*(?=\n))\s*",
    re.IGNORECASE,
)
SOLVED: Final = both_scripts(
    r"(?:^|\n|(?<=[.．。)）])[ \t]{0,9})[ \t]{0,9}(?:解法\s*[一二三四五\d]?\s*(?:[:：]|(?=\n|$))"
    r"|(?:解|(?<=[。.．?？;；]\n)证明)\s*[:：]"
    r"|풀이\s*[:：]?(?=\s)"
    r"|(?:(?:Sample|Model|Suggested|Expected)\s+(?:answer|solution)s?\b"
    r"|(?:Solution(?: sketch| outline)?|Proof)s?\s*[:.](?=\s))"
    r"|(?:The\s+)?correct\s+answers?\s+(?:is|are)\s*:"
    r"|(?:(?!Short)[A-Z][a-z]+ ){0,2}(?:Answers?|Ans)\s*[:：][ \t]*(?=[^\s._…＿])"
    r"|【(?:答案|解析|详解|解答)】|(?:总结|评分标准)\s*[:：])"
    r"|\bRUBRIC\b|\b(?:award|deduct)\w* (?:\d|half|full|zero) marks?\b"
    r"|\bmarks? for (?:getting|identifying|each correct)",
    re.IGNORECASE,
)
"""The head of an answer or solution; "Answer: ____" is a place to write."""
_LIST_NUMBER = both_scripts(
    r"^\s*(?:[(（]?[一二三四五六七八九十]{1,3}[)）]?[、．.,，:：\s]*|\d{1,2}[、．.]\s*(?:[(（][^()（）]*[)）])?\s*)"
)
_INSTRUCTIONS = re.compile(r"[(（:：。．,，]")
INSTRUCTS = both_scripts(
    r"\b(?:(?:answer|question|mark|point|exam|student|candidate|pencil|calculator|cheat|cop(?:y|ied|ying)|device|grade)\w*"
    r"|attempts?|choose|write|tests?|submi(?:t|ssion)\w*|allowed|permitted|minutes|university|semester|pages?|papers?|instructions?)\b"
    r"|(?<!问)题|卷|\d\s*分|得分|考[试生]|学位|姓\s*名|문항|문제|점수|\d\s*점|시험|답안|제출|감독|모의고사|들려|测试|联考|注意事项",
    re.I,
)
"""Words of titles, covers and rules."""
RULES = both_scripts(
    r"\s*[★☆*※]?\s*(?:请?考生)?\s*(?:注意事项|注意|注(?=\s*[:：])|须知|考生须知|考试须知|答题须知|답안\s*작성\s*유의\s*사항|유의\s*사항|instructions?(?:\s+to\s+candidates)?)\s*[:：.]?",
    re.I,
)
"""The title of the rules for candidates, which are numbered too."""


_WORDS: Final = re.compile(r"[A-Za-zÀ-ɏ]{2,}")
_FEWEST_WORDS, _FEWEST_SIGNS = 7, 16
"""Words of a line in a picture, or Chinese or Korean characters, that are running text: labels are shorter."""


def begins_answer(text: str) -> bool:
    """Checks for the head of an answer or solution."""
    return bool(ANSWER_HEAD.match(text) or SOLUTION_HEAD.match(f"\n{text}\n"))


def counts_questions(text: str) -> bool:
    """Checks for a question's number at the beginning of a line, or of a piece of it."""
    return any(map(_COUNTS.match, (text, *_APART.split(text))))


def is_section(text: str) -> bool:
    """Checks for the title of a section."""
    if len(text) > _LONGEST_TITLE:
        return False
    if _CHINESE.match(text):
        return not _FORMAL_WORD.match(text) and bool(_TITLE_WORDS.search(text) or _BARE_TITLE.fullmatch(text))
    return bool(_KOREAN.fullmatch(text) or rank_of(text) or _ENGLISH_TITLE.fullmatch(text)) or is_type_name(text)


def is_type_name(text: str) -> bool:
    """Checks for the name of a type or an appendix alone, perhaps with a note beside it."""
    return bool(_TYPE_TITLE.fullmatch(_APART.split(text.strip())[0]))


def is_part_of_section(text: str) -> bool:
    """Checks for the title of a part, （一）, of the section before."""
    return bool(_PART_TITLE.match(text))


_RANKS: Final = (("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X"), tuple("ABCDEFGH"))
_NUMBERED_TITLE: Final = re.compile(
    r"\s*(\d{1,2})(?:[.．]?\s+[A-Z]|、\s*[^\W\d_]|[^\W\d_a-zA-Z])[^.?!$。？！]{1,60}(?:(?<=[)）])[.．])?"
)
_RANKED: Final = re.compile(
    r"\s*(?:([A-Z]{2,}|[A-Z][a-z]{2,})\s*[-–—\s]\s*)??([IVX]{1,4}|[A-H])\s*(?:[.．:：、)）–—-]|$)"
)
_BY_NAME: Final = both_scripts(
    r"\s*(第|(?i:question|problem)|문\s?제)\s*(\d{1,2}|[一二三四五六七八九十])(?:\s*[题題]|(?!\w))"
)


def rank_of(text: str) -> tuple[str, int] | None:
    """Word and rank of an English title: "Part B" has ("part", 2)."""
    match = _ENGLISH.match(text) if len(text) <= _LONGEST_TITLE else None
    if not match or f"   {match[1]} " in text[match.end(1) :]:  # labels of a figure
        return None
    roman, name = _RANKS[0], match[2]
    rank = int(name) if name.isdecimal() else roman.index(name) + 1 if name in roman else ord(name[0]) - ord("A") + 1
    return match[1].lower(), rank


def rank_by_name(text: str) -> list[tuple[str, int]]:
    """Word and rank of a line that names a question: 第二题, Problem 2."""
    match = _BY_NAME.match(text)
    return (
        [(match[1].casefold(), (int(match[2]) if match[2].isdecimal() else chinese_number(match[2])) - 1)]
        if match
        else []
    )


def rank_in_series(text: str) -> list[tuple[str, int]]:
    """Words and ranks of a line as the head of a section, by Roman numerals, letters and digits: GROUP-B, II."""
    if digits := _NUMBERED_TITLE.fullmatch(text):
        return [("#", int(digits[1]) - 1)]
    if not (match := _RANKED.match(unicodedata.normalize("NFKC", text[:20]))):
        return []
    word = (match[1] or "").casefold()
    return [(f"{word}{place}", names.index(match[2])) for place, names in enumerate(_RANKS) if match[2] in names]


def numeral(text: str) -> tuple[int, int] | None:
    """The value and end of the Chinese numeral that counts a line."""
    match = _CHINESE_NUMBER.match(text)
    return (chinese_number(match[1]), match.end()) if match else None


def follows(text: str, last: str) -> bool:
    """Checks that a section's title has the number behind another's: 四、 behind 三、, Part C behind Part B."""
    before, other = numeral(last), numeral(text)
    if before is not None and other is not None and other[0] == before[0] + 1:
        return ("第" in last[: before[1]]) == ("第" in text[: other[1]])
    ranks = rank_of(last), rank_of(text)
    return ranks[0] is not None and ranks[1] == (ranks[0][0], ranks[0][1] + 1)


def short_titles(titles: Sequence[str]) -> list[str]:
    """Sections' titles without points and instructions, with their numbers only where others are alike."""
    names = {title: _LIST_NUMBER.sub("", title) for title in titles}
    short = {title: _INSTRUCTIONS.split(name, maxsplit=1)[0].strip()[:24] for title, name in names.items()}
    alike = Counter(short.values())
    whole = {title: re.split(r"[(（:：。]", title, maxsplit=1)[0].strip()[:24] for title in titles}
    return [whole[title] if alike[short[title]] > 1 else short[title] for title in titles]


def passage_range(text: str) -> tuple[int, int] | None:
    """Numbers of the questions that share the following passage."""
    for pattern in _PASSAGES:
        if (match := pattern.match(text)) and int(match[1]) < int(match[2]) <= int(match[1]) + 20:
            return int(match[1]), int(match[2])
    return None


def named_questions(text: str, below: str, following: int) -> tuple[int, int] | None:
    """Numbers of the questions that a line names, perhaps with the line below it, or of the question that follows."""
    if match := _NEXT.match(text):
        many = {"two": 2, "three": 3, "four": 4, "five": 5}.get((match[1] or "").lower()) or int(match[1] or 1)
        return following, following + many - 1
    if numbers := passage_range(f"{text}{below}" if _BROKEN.search(text) else text):
        return numbers
    single = _SINGLE.match(f"{text} {below}" if _BROKEN.search(text) else text)
    return (following, following) if single and int(single[1]) == following else None


def begins_answers(text: str, below: str = "") -> bool:
    """Checks for the beginning of the key: a title, a bare 答案 and the first number below it, or two answers."""
    if (_BARE_ANSWERS.fullmatch(text) and _FIRST_ANSWER.match(below)) or (
        _FIRST_KEY.match(text) and _SECOND_KEY.match(below)
    ):
        return True
    return len(text) <= 80 and not text.lstrip()[:1].islower() and bool(_ANSWERS.match(text))


def title_answered(text: str) -> str | None:
    """The letters of the title that a line repeats with a word for its answers; None for other lines."""
    bare, words = _ANSWER_WORDS.subn("", text if len(text) <= _LONGEST_TITLE else "")
    letters = re.sub(r"\W+", "", bare)
    return letters if words and len(letters) > _SHORTEST_TITLE else None


def names_answers(text: str) -> bool:
    """Checks for a short line with a word for answers that ends no sentence."""
    return len(text) <= _LONGEST_NAME and bool(_ANSWER_WORDS.search(text)) and text[-1] not in ".。?？:："


def is_running(text: str) -> bool:
    """Checks that a line is a sentence or a piece of one, no label of a figure."""
    for piece in re.split(r"\s{3,}|\t", text):
        signs = sum("一" <= sign <= "鿿" or "가" <= sign <= "힣" for sign in piece)
        if len(_WORDS.findall(piece)) >= _FEWEST_WORDS or signs >= _FEWEST_SIGNS:
            return True
    return False


def width(text: str) -> int:
    """Letters of a text, one of Chinese or Korean counting two."""
    return sum(1 if sign.isascii() else 2 for sign in text)


def speaks_of_exam(text: str) -> bool:
    """Checks for two words of the exam, which make a rule of a line."""
    return len(INSTRUCTS.findall(text)) > 1


def is_notice(text: str) -> bool:
    """Checks for a notice to the candidate, up to the end of its column."""
    return bool(_NOTICE.match(text))
