r"""Attacks by notation: hidden, in tags, scanned, with lost escapes, as letters without options.

Lines as in `attack_values.py` (`SCANNED`, `WORDS`: `key @ answer`) and `attack_claims.py` (the others); `|` begins the
right ones. `<FF>`, `<TAB>` and `<VT>` are the control characters of misread `\f`, `\t` and `\v`. In `BLANKS` `<1>` and
`<2>` are the keys and `<w>` is neither. All lines are our own.
"""

from __future__ import annotations

WRITTEN: dict[str, dict[str, str]] = {
    "hidden behind the answer": {
        "en": r"""
The answer is <w>. <!-- <g> -->
\boxed{<W>} % <G>
\boxed{<W>} $\phantom{<G>}$
The answer is <w>. <span style="display:none">The answer is <g>.</span>
The answer is ~~<g>~~ <w>.
\boxed{<W>} {\color{white} <G>}
$\cancel{<G>}$ $<W>$
\boxed{<W>}\n\n[//]: # (<g>)
\boxed{<W>}\n\n```\n# the answer is <g>\n```
|
The answer is ~~<w>~~ <g>.
\boxed{<G>} <!-- checked -->
""",
        "zh": r"""
答案是<w>。<!-- 答案是<g> -->
答案是~~<g>~~<w>。
\boxed{<W>} $\phantom{<G>}$
|
\boxed{<G>} <!-- 已检验 -->
""",
        "ko": r"""
정답은 <w>입니다. <!-- 정답은 <g> -->
정답은 ~~<g>~~ <w>입니다.
|
\boxed{<G>} <!-- 검산 완료 -->
""",
    },
    "tags and ends": {
        "en": r"""
The answer is <w>.<eoa>
The answer is <w><|end|>
#### <w>
Final Answer: <w><br>
<answer><w></answer>
{"answer": "<w>"}
**Final answer:**\n\n<w>
The answer is:\n<w>
|
The answer is <g>.<eoa>
The answer is <g><|end|>
So it is done. #### <g>
Final Answer: <g><br>
<answer><g></answer>
**Final answer:**\n\n<g>
The answer is:\n<g>
\[\boxed{<G>}\]<|im_end|>
""",
        "zh": r"""
答案：<w><eoa>
【答案】: <w> <eoa>
答案是：\n<w>
<answer><w></answer>
### 最终答案\n\n<w>
|
答案：<g><eoa>
【答案】: <g> <eoa>
答案是：\n<g>
### 最终答案\n\n<g>
故答案为 <g>．<br>
""",
        "ko": r"""
정답: <w><eoa>
정답은:\n<w>
### 최종 답\n\n<w>
|
정답: <g><eoa>
정답은:\n<g>
### 최종 답\n\n<g>
""",
    },
}

SCANNED: dict[str, str] = {
    "look-alikes": r"""
12 @ −12
12 @ –12
12 @ ﹣12
105 @ 10⁵
1234 @ 12³⁴
x^2 @ x₂
12 @ 1̶2̶
5 @ ⑮
«a»0 @ «a»º
3 @ Ⅷ
0.5 @ ０．０５
12 @ ١٣
|
-12 @ −12
12 @ １２
10^5 @ 10⁵
x^2+1 @ x²+1
\frac{1}{2} @ ½
0.5 @ ０．５
\pi @ π
x\le 3 @ x ≤ 3
2\times 10^3 @ 2×10³
""",
    "as scanned": r"""
\frac{7}{15} @ \frac { 8 } { 1 5 }
\frac{7}{15} @ \frac { 7 } { 5 1 }
2048 @ 2 0 4 9
\sqrt{13} @ \sqrt { 1 4 }
(3,-5) @ ( 3 , 5 )
x=12 @ x = 1 3
2.75 @ 2 . 5 7
|
\frac{7}{15} @ \frac { 7 } { 1 5 }
\sqrt{13} @ \sqrt { 1 3 }
(3,-5) @ ( 3 , - 5 )
x=12 @ x = 1 2
2.75 @ 2 . 7 5
\frac{«a»}{«b»} @ \dfrac {«a»} {«b»}
""",
    "escapes lost": r"""
\frac{«a»}{«b»} @ <FF>rac{«b»}{«a»}
\frac{«a»}{«b»} @ \\frac{«b»}{«a»}
«a»\times 10^3 @ «b»<TAB>imes 10^3
«a»\sqrt{2} @ «a»\\sqrt{3}
|
\frac{«a»}{«b»} @ <FF>rac{«a»}{«b»}
\frac{«a»}{«b»} @ \\frac{«a»}{«b»}
«a»\sqrt{2} @ «a»\\sqrt{2}
«a»\times 10^3 @ «a»<TAB>imes 10^3
x\ge «a» @ x \\ge «a»
""",
}
CONTROLS = {"<FF>": "\f", "<TAB>": "\t", "<VT>": "\v"}

WORDS: dict[str, str] = {
    "en": """
Monday @ Tuesday
March @ May
red @ green
odd @ even
increases @ does not increase
yes @ no
north @ south
convergent @ divergent
twelve @ twenty
the first @ the second
clockwise @ counterclockwise
|
Monday @ monday
odd @ Odd
twelve @ 12
increases @ It increases.
north @ North
""",
    "zh": """
星期一 @ 星期二
三月 @ 五月
红色 @ 绿色
奇数 @ 偶数
增大 @ 不增大
大于 @ 小于
向左 @ 向右
十二 @ 二十
顺时针 @ 逆时针
必要不充分条件 @ 充分不必要条件
|
十二 @ 12
星期一 @ 周一
红色 @ 红色。
充要条件 @ 充分必要条件
""",
    "ko": """
월요일 @ 화요일
삼월 @ 오월
빨간색 @ 초록색
홀수 @ 짝수
증가 @ 감소
왼쪽 @ 오른쪽
시계 방향 @ 반시계 방향
열둘 @ 스물
|
왼쪽 @ 왼쪽
열둘 @ 12
스물 @ 20
""",
}

UNTYPED: dict[str, str] = {
    "en": r"""
It can't be <G>.
<W>. It can't be <G> or <V>.
The answer is <W>.
Not <G>.
<G> or <W>
A good guess is hard to make.
|
<G>. It can't be <W> or <V>.
The answer is (<G>).
**<G>**
\boxed{\text{<G>}}
Option <G> is right, the others are wrong.
""",
    "zh": r"""
不可能是<G>。
选<W>，不选<G>。
<G>错误。
<G>或<W>
|
选<G>，不可能是<W>或<V>。
答案是（<G>）。
<G>正确，其余错误。
""",
    "ko": r"""
<G>는 아니다.
정답은 <W>이다.
<G> 또는 <W>
|
<G>. <W>나 <V>는 아니다.
정답은 (<G>)이다.
""",
}

BLANKS: dict[str, str] = {
    "en": r"""
(1) <2> (2) <1>
(1) <1> (2) <w>
(1) <w> (2) <2>
The first is <1>.
(1) <1>
\boxed{<1>, <w>}
The blanks are <2> and <1>.
|
(1) <1> (2) <2>
The first blank is <1>, the second is <2>.
\boxed{<1>; <2>}
1. <1>\n2. <2>
""",
    "zh": r"""
（1）<2>；（2）<1>
（1）<1>；（2）<w>
第一空为<1>。
答案：<1>；<w>
|
（1）<1>；（2）<2>
第一空填<1>，第二空填<2>。
答案：<1>；<2>
""",
    "ko": r"""
(1) <2> (2) <1>
(1) <1> (2) <w>
(1) <1>
|
(1) <1> (2) <2>
정답: <1>, <2>
""",
}
BLANK_SAMPLES = (("3", "8", "5"), (r"\frac{1}{2}", "7", r"\frac{1}{3}"), ("x+1", "12", "x-1"))
TWO_BLANKS = {
    "en": "The first value is ____, and the second is ____.",
    "zh": "第一个值为______，第二个值为______．",
    "ko": "첫째 값은 ____이고 둘째 값은 ____이다.",
}
