"""Pairs that differ by what is easily dropped: an order of points, a currency, a word behind a number, a condition."""

from __future__ import annotations

import pytest

from tests.judges.helpers import outcome

ACCEPTED = r"""
∠ABC @ ∠CBA
\angle A B C @ \angle ABC
△ABC @ △BCA
\overline{AB} @ \overline{BA}
\overrightarrow{AB} @ -\overrightarrow{BA}
f(x)=x^2+1 @ f(t)=t^2+1
70,110 @ 110, 70
110, 70 @ 70,110
1,000 @ 1000
5th @ 5
5 @ 5 red apples
(3,4) @ x, y = 3, 4
5 @ 面积是5平方米
0,5 @ 0.5
\$0.75 @ 75 cents
\$5 @ 5 dollars
5 @ \$5
4/5 @ 4 fifths
3/4 @ three quarters
1/2 @ one half
2.5 @ two and a half
3000000 @ 3 million
4 @ 4 apples
4th @ 4
first @ 1st
第一 @ 第1
첫 번째 @ 1번째
3:00 PM @ 15:00
下午3点30分 @ 3:30 PM
9:15 @ 9:15
2:3 @ 4:6
7:10 @ 14 : 20
2^3 7^2 @ 392
2^6 3^5 @ 2^6\times3^5
\{x\in\mathbb{R}|x<5\} @ \{x|x<5\}
x=k\pi, k\in Z @ x=k\pi
\frac { 7 } { 1 5 } @ \frac{7}{15}
x ^ { 1 2 } @ x^{12}
\sqrt { 1 5 } @ \sqrt{15}
5 \times 1 0 ^ { 3 } @ 5000
\frac{1}{2} @ \x0crac{1}{2}
10 @ \x08inom{5}{2}
12 @ 3\times 4
\alpha @ \x07lpha
\{1\}\cupdot\{2\} @ \{1,2\}
\{1,2,3\}\setminus\{2\} @ \{1,3\}
R\{0\} @ (-\infty,0)\cup(0,\infty)
A\setminus B @ A-B
A\cup B @ B\cup A
xy=1 @ y=\frac{1}{x}
(x-1)y=x+1 @ y=\frac{x+1}{x-1}
y=2x-1 @ 2x-y-1=0
2x-y-1=0 @ y=2x-1
\\frac{1}{2} @ \frac12
∛8 @ 2
\csch x @ \frac{1}{\sinh x}
Abs(x-1) @ |x-1|
星期一 @ Monday
Quadrant II @ 第二象限
互相平行 @ 平行
-5 @ negative five
5 @ 다섯 개
1/2 @ half
9 @ 长度为9
odd @ an odd integer
Tuesday @ on Tuesday
rises @ it rises
乙 @ 乙同学
菱形 @ 是菱形
오른쪽 @ 오른쪽으로
"""
REJECTED = r"""
\overrightarrow{AB} @ \overrightarrow{BA}
\angle ABC=2\angle ACB @ \angle ACB=2\angle ABC
5 dollars @ 5 cents
4 @ 4 fifths
4th @ 5th
1st @ second
第一 @ 第二
첫째 @ 두 번째
11:00 @ 1:00
12:00 p.m. @ 11:00 p.m.
3:00 PM @ 3:00 AM
2^6 3^5 @ 2^6\cdot 3^4
Monday @ Tuesday
星期一 @ 周二
red @ blue
红色 @ 蓝
奇数 @ 偶数
odd @ even
May @ June
第一象限 @ 第二象限
甲 @ 乙
5 @ minus five
3 @ 네 개
甲 @ 乙同学
Tuesday @ on Monday
平行四边形 @ 是菱形
오른쪽 @ 왼쪽으로
5 million @ 6
\frac { 7 } { 1 5 } @ \frac{7}{16}
\{1\}\cup\{2\} @ \{1,3\}
\{1,2,3\}\setminus\{2\} @ \{1,2\}
xy=1 @ xy=2
1, 2 @ 1.2
"""
OPEN = r"""
y=3x-4 @ x(y-3x+4)=0
y=3x-4 @ (y-3x+4)(x-5)=0
y=3x-4 @ \sin x(y-3x+4)=0
a_n=2n+1 @ n(a_n-2n-1)=0
∠ABC @ ∠ACB
∠ABC=30^\circ @ ∠ACB=30^\circ
△ABC≌△DEF @ △ABC≌△DFE
f(x)=x @ f(y)=x
f(x)=17x @ f(y)=17x
f(x)=x+a @ f(a)=x+a
1,2 @ 1.2
3,5 @ 5,3
12,75 @ 75,12
1.2 @ 1,3
2.5 kg @ 2,7 kg
2,5 @ 2.5
\$5 @ 5元
€5 @ £5
0.75 @ 75 cents
5 million @ 5
4 @ 4 cubed
4 @ 4 factorial
4 @ 4 halved
4 @ 4 thousands
4 @ 4 dozens
4 @ 4 below zero
4 @ 4 recurring
3:00 PM @ 3:00
2:30 @ 1:15
1:0 @ 2:0
7:10 @ 14:20
2, 4, 6, ... @ 2, 4, 6
2, 4, 6 @ 2, 4, 6, …
\{x|x>2, x\in\mathbb{N}\} @ \{x|x>2\}
\{x|x>2\} @ \{x\in\mathbb{Z}|x>2\}
n\ge 2, n\in N^* @ n\ge2
7\frac{5}{5} @ 8
7\frac{5}{5} @ 7
A\setminus B @ B\setminus A
(-27)^{1/3} @ -3
1 2 @ 12
5 @ 5 wrong answers
5 @ 5 incorrect
9 @ 答案的三倍是9
9 @ 它的倒数是9
9 @ 오답은 9
odd @ it is not odd
奇数 @ 不是奇数
平行 @ 不平行
[1,3] @ (1,3)
6850 : 6950 @ 6900
0.85 - 0.89 @ 0.87
6850–6950 @ 6900
7 @ 07xxx xxxxxx
0 @ 07xxx xxxxxx
1/6 @ The odds are 1:6.
5 @ 5 pairs
5 @ 5 away from zero
5 @ 5th
5 @ 第5个
4 @ x的平方是4
4 @ x의 제곱은 4이다
-3 @ The profit is a loss of 3.
"""


def lines(table: str) -> list[tuple[str, str]]:
    for name, char in (("x0c", "\x0c"), ("x08", "\x08"), ("x07", "\x07")):
        table = table.replace(f"\\{name}", char)
    return [(line.partition(" @ ")[0], line.partition(" @ ")[2]) for line in table.strip().split("\n")]


CASES = [
    (*line, said)
    for table, said in ((ACCEPTED, "accept"), (REJECTED, "reject"), (OPEN, "undecided"))
    for line in lines(table)
]


@pytest.mark.parametrize(("gold", "answer", "said"), CASES)
def test_what_is_easily_dropped_counts(gold: str, answer: str, said: str) -> None:
    assert outcome(gold, answer, "fill_in_blank") == said
