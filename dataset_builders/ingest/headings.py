"""Lines that are no part of a question: section titles, shared passages, answers, notices; and names of elective parts.

Contract: each function looks at a line alone and says what it is; who belongs to what is for `segment` to decide.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from livek12.core.text import squeezed

if TYPE_CHECKING:
    from livek12.dataset_builders.ingest.stream import Stream

_LONGEST_TITLE = 160
_CHINESE = re.compile(
    r"\s*(?:[(（]\s*[一二三四五六七八九十]{1,3}\s*[)）]|[一二三四五六七八九十]{1,3}\s*[、．.,，])\s*\S"
    r"|\s*第\s*(?:[ⅠⅡⅢIVX]+|[一二三四五六七八九十]{1,2}|\d{1,2})\s*(?:卷|部分|大题|节)"
    r"|\s*[【\[]?\s*(?:选修|选考|必考|选做)(?:[一二三四\d][-—－–\d]*|题|部分)"
)
_PART_TITLE = re.compile(r"\s*[(（]\s*[一二三四五六七八九十]{1,3}\s*[)）]")
_TITLE_WORDS = re.compile(
    r"题|分[)）]|[数语英物化生政历地]|阅读|写作|听力|作文|表达|运用|实验|选择|填空|解答|判断|计算|默写|鉴赏|积累"
)
_KOREAN = re.compile(
    r"\s*[\[【<]?\s*(?:(?:\d\s*)?지\s*선다형|선다형|선택형|객관식|단답형|서답형|주관식|서술형|논술형)\s*(?:문항)?\s*[\]】>]?\s*(?:\([^)]*\))?\s*"
    r"|\s*[5５오]\s*지\s*선\s*다\s*형.{0,30}"
)
_ENGLISH = re.compile(r"\s*(?:Part|Section|SECTION|PART)\s+(?:[IVX]{1,5}|[A-H]|\d{1,2})\b(?!\s+of\b).{0,120}$")
_ENGLISH_TITLE = re.compile(
    r"\s*(?:multiple[- ]choice|free[- ]response|short[- ]answer|true(?:\s+or\s+|/)false|fill[- ]in[- ]the[- ]blanks?)"
    r"\s*(?:questions?)?\s*(?:\([^)]*\))?\s*[:.]?\s*",
    re.IGNORECASE,
)
_RANGE = r"(\d{1,3})\s*(?:[~～∼〜\-–—－至到]|to|and|和|、)\s*(\d{1,3})"
_PASSAGES = (
    re.compile(rf"\s*[\[【［]\s*{_RANGE}\s*[\]】］]"),
    re.compile(
        rf".*?(?:完成|回答|做|解答|答)\s*(?:下面|下列|后面|文后|第|各)?\s*第?\s*{_RANGE}\s*(?:各|小|两|三|四|五)*\s*题"
    ),
    re.compile(rf".*?\bquestions?\s+{_RANGE}\b.*", re.IGNORECASE),
)
_ANSWERS = re.compile(
    r"\s*[【\[（(]?\s*(?:\d{4}\s*年?.{0,40})?(?:参考答案|答案(?:与|和|及)(?:解析|评分|解答)|试题(?:答案|解析)|标准答案|正确答案表|정답\s*(?:및|과|표)"
    r"|정답과\s*해설|답안|answer\s*keys?|answers\s*(?:and|&)\s*(?:solutions|explanations)|answers|solutions|marking\s+scheme)"
    r".{0,40}$"
    r"|[^，。,.；;：:！？!?]{0,30}(?:参考答案|答案(?:与|和|及)(?:解析|评分|解答)|评分(?:标准|细则)|参考解答).{0,20}$",
    re.IGNORECASE,
)
_BARE_ANSWERS = re.compile(r"\s*[【\[]?\s*(?:答\s*案|정\s*답|answers?|key)\s*[】\]]?\s*[:：]?\s*", re.IGNORECASE)
_FIRST_ANSWER = re.compile(
    r"\s*(?:[一1１]\s*[、.．~～—–\-:：)）]|[(（第]\s*1|题\s*号|번\s*호|문항|No\b|Question)", re.IGNORECASE
)
_NOTICE = re.compile(
    r"\s*[*＊※◦]+\s*(?:확인\s*사항|시험이\s*시작|이\s*문제지|답안지의)|\s*(?:绝密|★?\s*启用前|.{0,3}注意事项\s*[:：]?\s*$)"
    r"|\s*[▶>※*]?\s*다음\s*(?:쪽|면|페이지|장)(?:으로|에)\s*(?:넘어|계속)"
    r"|\s*(?:GO|Go) ON TO THE NEXT PAGE|\s*Go on to the next page"
    r"|\s*(?:END OF (?:PAPER|TEST|EXAM|SECTION)|BLANK PAGE|Turn over)\b|\s*[（(]?\s*(?:全卷完|试卷结束|以下空白)"
)
_RULES = re.compile(
    r"\s*[★☆*※]?\s*(?:考生)?\s*(?:注意事项|考生须知|답안\s*작성\s*유의\s*사항|유의\s*사항|instructions?(?:\s+to\s+candidates)?)\s*[:：.]?",
    re.I,
)
_PART_NAME = re.compile(r"[(（〔]\s*([^()（）〔〕]{2,24}?)\s*[)）〕]")
_NO_NAME = re.compile(
    r"[홀짝]수형?|[A-Z가나]형|제?\d*교시|[AB]卷|共.*|.*[:：?？].*|\d.*|.*\d+(?:분|점|分|p)|.{0,2}回忆版|[a-z]{1,3}|[가나다라마]"
)
_FORM = re.compile(r"(?<![가-힣])(홀수|짝수)\s*형|[(（]\s*([AB])\s*[)）]?\s*(?:형|卷)")
_TITLE_PAGE = re.compile(r"교시|영역|문제지|시험|卷|部分|\bpaper\b|\bsection\b", re.IGNORECASE)
_LONGEST_HEADING = 50
TOP = 0.2
"""The part of a page, from above, in which its part of the paper is named."""


def is_section(text: str) -> bool:
    """Whether a line is the title of a section."""
    if len(text) > _LONGEST_TITLE:
        return False
    if _CHINESE.match(text):
        return bool(_TITLE_WORDS.search(text))
    return bool(_KOREAN.fullmatch(text) or _ENGLISH.match(text) or _ENGLISH_TITLE.fullmatch(text))


def is_part_of_section(text: str) -> bool:
    """Whether a section's title is that of a part, （一）, of the section before it."""
    return bool(_PART_TITLE.match(text))


def short_title(text: str) -> str:
    """The name in a section's title: without its number, its points and its instructions."""
    bare = re.sub(r"^\s*[(（]?[一二三四五六七八九十]{1,3}[)）]?[、．.,，\s]*", "", text)
    return re.split(r"[(（:：。．,，]", bare, maxsplit=1)[0].strip()[:24]


def passage_range(text: str) -> tuple[int, int] | None:
    """The numbers of the questions that share what follows."""
    for pattern in _PASSAGES:
        if (match := pattern.match(text)) and int(match[1]) < int(match[2]) <= int(match[1]) + 20:
            return int(match[1]), int(match[2])
    return None


def begins_answers(text: str, below: str = "") -> bool:
    """Whether the rest of the paper is its key: by the title, or by a bare 答案 and the first number below it."""
    if _BARE_ANSWERS.fullmatch(text) and _FIRST_ANSWER.match(below):
        return True
    return len(text) <= 80 and bool(_ANSWERS.match(text))


def begins_rules(text: str) -> bool:
    """Whether a line is the title of the rules that candidates have to follow, which are numbered too."""
    return bool(_RULES.match(text))


def is_notice(text: str) -> bool:
    """Whether a line tells the candidate something about the paper, up to the end of its column."""
    return bool(_NOTICE.match(text))


def parts(stream: Stream) -> Mapping[int, str]:
    """The name of the part of the paper that each page belongs to, "" where there is none.

    An elective part is named in brackets at the top of its pages, or of its first where that is set as a title page; it
    goes on to the next part's. The only name of a paper that stands on its first page is its subject, no part. Where
    a file holds several forms of one paper (홀수형, 짝수형), the form's name goes first.
    """
    forms = _forms(stream)
    several = len({*forms.values()}) > 1
    begins = _begins(stream)
    pages = sorted(stream.headings)
    if len({*begins.values()}) == 1 and begins.get(pages[0]):
        begins = {}
    found, name = {}, ""
    for place, page in enumerate(pages):
        if place and forms[page] != forms[pages[place - 1]]:
            name = ""
        name = begins.get(page, name)
        found[page] = " ".join(word for word in (forms[page] if several else "", name) if word)
    return found


def _begins(stream: Stream) -> dict[int, str]:
    """The pages that name a part: on a title line, or on two pages running."""
    pages = sorted(stream.headings)
    named = {page: _names(stream, page) for page in pages}
    everything = squeezed("".join(text for page in pages for text in _texts(stream, page)))
    found: dict[int, str] = {}
    for page in pages:
        titled = {name for name, _ in named[page]} if any(title for _, title in named[page]) else set()
        near = {name for other in (page - 1, page + 1) for name, _ in named.get(other, ())}
        running = {name for name, _ in named[page]} & near
        if names := titled or running:  # a title printed over another line reads as no name that comes again
            found[page] = max(sorted(names), key=lambda name: (everything.count(f"({squeezed(name)})"), -len(name)))
    return found


def _forms(stream: Stream) -> dict[int, str]:
    """The form each page is of; a page that does not say is of the form before it."""
    found: dict[int, str] = {}
    last = ""
    for page in sorted(stream.headings):
        names = [match for text in _headings(stream, page) for match in _FORM.finditer(text)]
        if names:
            last = f"{names[0][1]}형" if names[0][1] else names[0][2]
        found[page] = last
    return found


def _texts(stream: Stream, page: int) -> list[str]:
    items = (item for item in (*stream.titles, *stream.items) if item.box.page == page)
    return [*stream.headings[page], *(item.text or item.block.text for item in items)]


def _headings(stream: Stream, page: int) -> list[str]:
    """What is printed at the top of a page, or was left out there as a header."""
    items = [*stream.titles, *stream.items]
    top = [item.text or item.block.text for item in items if item.box.page == page and item.box.bottom < TOP]
    lines = [line for text in (*stream.headings[page], *top) for line in text.split("\n")]
    return [line for line in lines if len(line) <= _LONGEST_HEADING]


def _names(stream: Stream, page: int) -> set[tuple[str, bool]]:
    """The names in brackets at the top of a page, and whether their line is that of a title page."""
    found = set()
    for text in _headings(stream, page):
        for match in _PART_NAME.finditer(text):
            name = " ".join(match[1].split())
            if name[:1].isalpha() and not _NO_NAME.fullmatch(squeezed(name)):
                found.add((name, bool(_TITLE_PAGE.search(text))))
    return found
