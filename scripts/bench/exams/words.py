"""Words of a paper around its questions, by language."""

from __future__ import annotations

from typing import Final

from livek12.scripts.bench.exams.content import Language

TITLES: Final[dict[Language, tuple[str, ...]]] = {
    "en": (
        "Northfield Examining Board, Spring 2026",
        "Riverside Placement Test 2026",
        "Eastvale State Assessment 2026",
    ),
    "zh": (
        "2026年普通高中毕业班质量检测（河湾卷）",
        "2026年初中学业水平考试（南浦卷）",
        "2026届高三年级联合测试（青山卷）",
    ),
    "ko": ("2026학년도 한강 모의평가 문제지", "2026학년도 새봄 학력평가 문제지", "2026학년도 들꽃 고사 문제지"),
}
SUBJECTS: Final[dict[Language, dict[str, str]]] = {
    "en": {"mathematics": "Mathematics", "sciences": "General Science", "both": "Mathematics and Science"},
    "zh": {"mathematics": "数 学", "sciences": "理科综合", "both": "综 合"},
    "ko": {"mathematics": "수학 영역", "sciences": "과학탐구 영역", "both": "통합 영역"},
}
INSTRUCTIONS: Final[dict[Language, tuple[str, ...]]] = {
    "en": (
        "1. Write your name and candidate number in the boxes above.",
        "2. Answer all of the questions. You may use a calculator.",
        "3. Hand in this paper together with your rough work.",
    ),
    "zh": ("1．答题前，请将姓名和考号填写清楚。", "2．请用黑色签字笔作答，超出答题区域无效。"
    "", "3．考试结束，请将试卷交回。"),
    "ko": ("◦ 문제지에 성명과 수험 번호를 정확히 "
    "적으시오.", "◦ 문항에 따라 배점이 다르니 배점을 참고하시오.", "◦ 계산은 여백을 이용하시오."),
}  # fmt: skip
INSTRUCTIONS_TITLE: Final[dict[Language, str]] = {"en": "INSTRUCTIONS", "zh": "注意事项：", "ko": "※ 유의 사항"}
HEADS: Final[dict[Language, str]] = {"en": "Unit Test", "zh": "质量检测试卷", "ko": "모의평가"}
FEET: Final[dict[Language, str]] = {"en": "Turn over", "zh": "请继续答题", "ko": "다음 쪽으로 넘어가시오"}
KINDS: Final[dict[Language, dict[str, str]]] = {
    "en": {
        "choice": "Multiple Choice",
        "blank": "Short Answer",
        "free": "Free Response",
        "reading": "Reading",
        "data": "Data",
        "cloze": "Cloze",
        "match": "Matching",
        "forms": "Word Forms",
    },
    "zh": {
        "choice": "选择题",
        "blank": "填空题",
        "free": "解答题",
        "reading": "阅读理解",
        "data": "材料题",
        "cloze": "完形填空",
        "match": "七选五",
        "forms": "语法填空",
    },
    "ko": {
        "choice": "선택형",
        "blank": "단답형",
        "free": "서술형",
        "reading": "독해",
        "data": "자료 해석",
        "cloze": "빈칸",
        "match": "문장 넣기",
        "forms": "어형",
    },
}
KEY_TITLES: Final[dict[Language, str]] = {"en": "Answer Key", "zh": "参考答案", "ko": "정답표"}
KEY_HEADS: Final[dict[Language, tuple[str, str, str]]] = {
    "en": ("Question", "Answer", "Points"),
    "zh": ("题号", "答案", "分值"),
    "ko": ("문항 번호", "정답", "배점"),
}
FORMS: Final[dict[Language, tuple[str, str]]] = {
    "en": ("Form A", "Form B"),
    "zh": ("A卷", "B卷"),
    "ko": ("홀수형", "짝수형"),
}
SHEET: Final[dict[Language, str]] = {"en": "Answer Sheet", "zh": "答题卡", "ko": "답안지"}
SEALED: Final = "学校：____  班级：____  姓名：____  ………密………封………线………内………不………要………答………题………"
HIDDEN: Final[dict[Language, tuple[str, ...]]] = {
    "en": ("draft seven of the editors", "91. Placeholder that nobody sees"),
    "zh": ("编辑用的第七稿", "91．读者看不到的占位文字"),
    "ko": ("편집용 일곱째 초고", "91. 보이지 않는 자리 표시"),
}
_CHINESE_NUMBERS: Final = "一二三四五六七八"


def section_title(
    language: Language,
    index: int,
    kind: str,
    count: int,
    points: int,
    total: int,
    counts: bool,
    bilingual: bool = False,
) -> str:
    """Title of a section."""
    name = KINDS[language][kind] + (f" {KINDS['en'][kind]}" if bilingual else "")
    if language == "en":
        title = f"Section {'I' * (index + 1)}: {name}"
        each = f", {points} mark{'s' if points > 1 else ''} each, {total} in total" if points else ""
        more = f" ({count} Questions{each})"
    elif language == "zh":
        title = f"{_CHINESE_NUMBERS[index]}、{name}"
        each = f"每小题{points}分，" if points else ""
        tail = "在每小题给出的四个选项中，只有一项是符合题目要求的。" if kind == "choice" else ""
        more = f"：本题共{count}小题，{each}{f'共{total}分' if total else ''}。{tail}".replace("，。", "。")
    else:
        title, more = f"{name} 문항", f" (총 {count} 문항{f', 각 {points}점' if points else ''})"
    return title + (more if counts else "")
