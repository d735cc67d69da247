"""Claims, denials and what stands between them, by language: crossed, they make responses that take an answer back.

`{}` is the answer claimed (a label or a value), `{o}` another one.
"""

# ruff: noqa: E501
from __future__ import annotations

from collections.abc import Iterator

CLAIMS = {
    "zh": ["故选{}。", "答案是{}。", "**答案：{}**", "正确答案：{}", r"\boxed{{{}}}", "<answer>{}</answer>", "所以选{}。", "综上，本题应选{}。", "正确选项是{}。", "【答案】{}",
           "因此，本题答案为：{}。", "经计算，答案应该是{}。"],
    "en": ["The answer is {}.", "**Answer: {}**", "Final answer: {}", r"\boxed{{{}}}", r"So the answer is $\boxed{{{}}}$.", "<answer>{}</answer>",
           "The correct option is {}.", "Thus, the correct answer is {}.", "I choose {}.", "Therefore, the answer must be ({})."],
    "ko": ["정답은 {}입니다.", "정답: {}", "따라서 답은 {}이다.", r"\boxed{{{}}}", "<answer>{}</answer>", "최종 답: {}", "**정답: {}**"],
}  # fmt: skip
BETWEEN = {
    "zh": ["", " ", "\n", "\n\n", "\n解析：由题意列式，代入化简即可。\n", "以上就是解题过程。"],
    "en": ["", " ", "\n", "\n\n", "\nHere we used the formula for the slope.\n", " This follows from the formula above. "],
    "ko": ["", " ", "\n", "\n\n", "\n풀이: 식을 세우고 대입하면 된다.\n"],
}  # fmt: skip
NAMED = {
    "zh": ["但是{}不符合题意。", "不过仔细一看，{}是错误的。", "然而选项{}不对。", "可是{}不能选。", "但{}其实不是正确答案。", "所以应排除{}。", "因此不选{}。", "但是，答案不是{}。", "等等，{}错了。", "检查后发现{}不成立。",
           "其实{}并不正确。", "但{}与题意矛盾。",
           "但{}明显与已知条件不符。", "{}是干扰项。", "因此{}应排除。"],
    "en": ["But {} is wrong.", "However, {} is incorrect.", "Actually, {} is not correct.", "But {} isn't the right answer.",
           "Option {} cannot be correct.", "So we must rule out {}.", "But {} does not satisfy the condition.", "However, the answer is not {}.",
           "Wait, {} is false.", "On reflection {} can't be right.", "Checking again, {} fails.",
           "So {} has to be discarded.", "However, {} turns out to be false.", "Actually {} violates the second condition."],
    "ko": ["하지만 {}은 틀렸다.", "그러나 {}은 정답이 아니다.", "그런데 {}은 답이 될 수 없다.", "다시 보니 {}은 옳지 않다.", "따라서 {}을 제외한다.",
           "{}은 조건을 만족하지 않는다.", "그런데 {}은 모순이다."],
}  # fmt: skip
NAMED_VALUE = {
    "zh": ["但是{}不符合题意。", "不过仔细一看，{}是错误的。", "然而{}不对。", "但{}其实不是正确答案。", "所以{}应舍去。", "但是，答案不是{}。", "等等，{}错了。", "检查后发现{}不成立。"],
    "en": ["But {} is wrong.", "However, {} is incorrect.", "Actually, {} is not correct.", "But {} isn't the right answer.",
           "However, {} cannot be correct.", "But {} does not satisfy the condition.", "However, the answer is not {}.", "Wait, {} is wrong."],
    "ko": ["하지만 {}은 틀렸다.", "그러나 {}은 정답이 아니다.", "다시 보니 {}은 옳지 않다."],
}  # fmt: skip
UNNAMED = {
    "zh": ["这是错误的。", "但这个答案不对。", "（错误）", "等等，我算错了。", "不对，应该是{o}。", "抱歉，我算错了，应为{o}。", "更正：{o}", "其实应该是{o}。", "上面的答案有误。", "不，这不对。", "改为{o}。",
           "以上答案是错误的，请忽略。", "等一下，重新计算。", "该答案不正确。", "但我不确定，也可能是{o}。", "❌", "我前面写错了。", "这个结果显然不对。", "对不起，答案错了。",
           "我收回这个答案。", "请忽略上面的答案。", "啊，弄错了。", "以上作废。", "想了想还是选{o}吧。", "我的推理有漏洞。", "并非如此。"],
    "en": ["(this is wrong)", "Wait, actually it is {o}.", "Actually, it should be {o}.", "No, {o}.", "But that is incorrect.", "This is wrong.",
           "Correction: {o}.", "Hmm, wait, that's not right.", "Sorry, I made a mistake.", "Oops, I meant {o}.", "My answer above is wrong.",
           "However, this answer is incorrect.", "(incorrect)", "Scratch that.", "On second thought, it is {o}.", "Actually, {o}.", "I was wrong.",
           "It should be {o}.", "Hold on, that can't be right.", "Let me reconsider.", "But I'm not sure; it might also be {o}.",
           "The above answer is not correct.",
           "Nope, {o}.", "I take that back; it is {o}.", "Disregard the above.", "The previous conclusion is flawed.", "Wrong!", "I think I messed up the sign.", "That answer fails the check."],
    "ko": ["이 답은 틀렸다.", "아니, {o}이다.", "잠깐, 다시 계산하면 {o}이다.", "정정: {o}", "하지만 이것은 옳지 않다.", "(오답)", "죄송합니다, 실수했습니다.", "위의 답은 잘못되었다.",
           "아, 틀렸습니다.", "위 답은 무시해 주세요.", "이 결론은 옳지 않다.", "제 풀이에 오류가 있습니다."],
}  # fmt: skip
STANDING = {
    "zh": ["", "因为其他选项都不符合题意。", "解析：由题意列式，代入化简即可。", "希望对你有帮助！", "这个答案是正确的。", "注意单位的换算。", "有同学会误选{o}，这是错误的。", "{o}不符合题意。", "如果忽略摩擦，会得到错误的答案{o}。",
           "验证：代入原式成立。"],
    "en": ["", "The other options are wrong.", "This follows from the formula.", "I hope this helps!", "This is the correct answer.",
           "{o} is wrong.", "Many students choose {o}, but this is incorrect.", "Note that {o} would be wrong.", "Check: it satisfies the equation."],
    "ko": ["", "나머지는 틀리다.", "풀이: 식을 세우고 대입하면 된다.", "{o}은 틀렸다.", "따라서 정답이다."],
}  # fmt: skip
LABELS = {"zh": ("B", "C"), "en": ("B", "C"), "ko": ("③", "④")}
VALUES = [("12", "13"), ("$12$", "$13$"), (r"\frac{3}{4}", r"\frac{1}{2}"), ("-7", "7"), ("$x+1$", "$x-1$")]


def crossed(language: str, behind: dict[str, list[str]], answer: str, other: str) -> Iterator[str]:
    """All responses of a language that claim the answer and say one of these things behind it."""
    for claim in CLAIMS[language]:
        ended = claim[-1] in "。>" or "boxed" in claim
        of_labels = any(word in claim for word in ("选", "choose", "option"))
        for between in BETWEEN[language]:
            if (ended or between.startswith("\n")) and (len(answer) == 1 or not of_labels):
                yield from (claim.format(answer) + between + one.format(answer, o=other) for one in behind[language])
