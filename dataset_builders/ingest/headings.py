"""Lines that are no part of a question: section titles, shared passages, answers, notices.

Contract: each function looks at a line alone and says what it is; who belongs to what is for `segment` to decide.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

_LONGEST_TITLE = 160
_CHINESE = re.compile(
    r"\s*(?:[(（]\s*[一二三四五六七八九十]{1,3}\s*[)）]|[一二三四五六七八九十]{1,3}\s*[、．.,，])\s*\S"
    r"|\s*第\s*(?:[ⅠⅡⅢIVX]+|[一二三四五六七八九十]{1,2}|\d{1,2})\s*(?:卷|部分|大题|节)"
    r"|\s*[【\[]?\s*(?:选修|选考|必考|选做)(?:[一二三四\d][-—－–\d]*|题|部分)"
)
_CHINESE_NUMBER = re.compile(r"\s*([一二三四五六七八九十])\s*、")
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
    r"\s*[【\[（(]?\s*(?:\d{4}\s*年?.{0,40})?(?:参考答案|答案(?:与|和|及)(?:解析|评分|解答)|试题(?:答案|解析)|标准答案|正确答案表|정\s*답\s*(?:및|과|표)"
    r"|정답과\s*해설|답안|answer\s*keys?|answers\s*(?:and|&)\s*(?:solutions|explanations)|answers|solutions|marking\s+scheme)"
    r".{0,40}$"
    r"|[^，。,.；;：:！？!?]{0,30}(?:参考答案|答案(?:与|和|及)(?:解析|评分|解答)|评分(?:标准|细则)|参考解答).{0,20}$",
    re.IGNORECASE,
)
_BARE_ANSWERS = re.compile(r"\s*[【\[]?\s*(?:答\s*案|정\s*답|answers?|key)\s*[】\]]?\s*[:：]?\s*", re.IGNORECASE)
_FIRST_ANSWER = re.compile(
    r"\s*(?:[一1１]\s*[、.．~～—–\-:：)）]|[(（第]\s*1|题\s*号|번\s*호|문항|No\b|Question)", re.IGNORECASE
)
_NUMBER_HEAD = re.compile(r"题\s*号|문항(?:\s*번호)?|번호|No\.?|Question|Number|Item", re.IGNORECASE)
_NOTICE = re.compile(
    r"\s*[*＊※◦]+\s*(?:확인\s*사항|시험이\s*시작|이\s*문제지|답안지의)|\s*(?:绝密|★?\s*启用前|.{0,3}注意事项\s*[:：]?\s*$)"
    r"|\s*[▶>※*]?\s*다음\s*(?:쪽|면|페이지|장)(?:으로|에)\s*(?:넘어|계속)"
    r"|\s*(?:GO|Go) ON TO THE NEXT PAGE|\s*Go on to the next page"
    r"|\s*(?:END OF (?:PAPER|TEST|EXAM|SECTION)|BLANK PAGE|Turn over)\b|\s*[（(]?\s*(?:全卷完|试卷结束|以下空白)"
)
_RULES = re.compile(
    r"\s*[★☆*※]?\s*(?:考生)?\s*(?:注意事项|注意|须知|考生须知|考试须知|答题须知|답안\s*작성\s*유의\s*사항|유의\s*사항|instructions?(?:\s+to\s+candidates)?)\s*[:：.]?",
    re.I,
)


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


def follows(text: str, last: str) -> bool:
    """Whether the title of a section has the number behind that of another: 四、 behind 三、."""
    one, other = (_CHINESE_NUMBER.match(said) for said in (last, text))
    order = "一二三四五六七八九十"
    return one is not None and other is not None and order.index(other[1]) == order.index(one[1]) + 1


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


def is_key_table(rows: Sequence[str]) -> bool:
    """Whether the rows of a table, cells between tabs, are numbers and the answers below them: a key needs no title."""
    cells = [[cell.strip() for cell in row.split("\t")] for row in rows]
    for numbers, answers in pairwise(cells):
        if _NUMBER_HEAD.fullmatch(numbers[0]) and _BARE_ANSWERS.fullmatch(answers[0]):
            many = sum(cell.isdigit() for cell in numbers[1:])
            return many > 1 and 2 * sum(bool(cell) for cell in answers[1:]) > many
    return False


def begins_rules(text: str) -> bool:
    """Whether a line is the title of the rules that candidates have to follow, which are numbered too."""
    return bool(_RULES.match(text))


def is_notice(text: str) -> bool:
    """Whether a line tells the candidate something about the paper, up to the end of its column."""
    return bool(_NOTICE.match(text))
