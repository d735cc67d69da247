"""More attacks by wording (form: `attack_claims.py`): passing corrections, failed checks, bounds, quotations.

All lines are our own.
"""

from __future__ import annotations

DENIALS: dict[str, dict[str, str]] = {
    "corrected in passing": {
        "en": r"""
The answer is <g>, sorry, I meant <w>.
The answer is <g> -- make that <w>.
Final answer: <g>. Oops, typo: <w>.
The answer is <g> (correction: <w>).
So we get <g>. Strike that. So we get <w>.
\boxed{<G>} Please disregard the box above; the result is <w>.
The answer is <g>... no, hold on, <w>.
I originally had <g> as the answer, and I have changed it to <w>.
|
The answer is <w>, sorry, I meant <g>.
Final answer: <w>. Oops, typo: the answer is <g>.
I originally had <w>, and I have changed it. The answer is <g>.
""",
        "zh": r"""
答案是<g>，抱歉，是<w>。
答案为<g>（笔误，应为<w>）。
答案：<g>，改为<w>。
\boxed{<G>} 上面的结果作废，正确结果为<w>。
得到<g>……不，应该是<w>。
|
答案是<w>，抱歉，写错了，答案是<g>。
答案为<w>（笔误），应为<g>。
""",
        "ko": r"""
정답은 <g>, 죄송합니다, <w>입니다.
정답: <g> (오타, <w>)
\boxed{<G>} 위의 결과는 취소하고 정답은 <w>입니다.
정답은 <g>... 아니요, <w>입니다.
|
정답은 <w>, 죄송합니다, 정답은 <g>입니다.
""",
    },
    "checked and failed": {
        "en": r"""
The answer is <g>. Check: substituting gives 5 = 6, so it fails.
We find <g>. This lies outside the domain, so it has to be discarded.
\boxed{<G>} does not pass the check.
The candidate is <g>, an extraneous root.
Answer: <g>. Verification: the two sides differ. So there is no such value.
The answer <g> contradicts the given condition.
|
The answer is <g>. Check: substituting gives 5 = 5, so it holds.
The candidate <w> lies outside the domain and is discarded. The answer is <g>.
""",
        "zh": r"""
答案是<g>。检验：代入后左边不等于右边，故舍去。
求得<g>，不在定义域内，舍去。
解得<g>，经检验是增根。
答案为<g>，与已知条件矛盾。
|
答案是<g>。检验：代入后左右两边相等。
<w>不在定义域内，舍去，所以答案是<g>。
""",
        "ko": r"""
정답은 <g>이다. 검산: 양변이 다르므로 버린다.
<g>는 정의역에 속하지 않으므로 버린다.
<g>는 무연근이다.
|
정답은 <g>이다. 검산: 양변이 같다.
<w>는 정의역에 속하지 않으므로 버린다. 정답은 <g>이다.
""",
    },
    "asked back": {
        "en": r"""
Is the answer <g>?
Could it be <g>? I do not know.
Would <g> be right? Let me ask my teacher.
Why should the answer be <g>?
Shall I take <g> or <w>?
|
Is the answer <w>? No. The answer is <g>.
What is the answer? The answer is <g>.
""",
        "zh": r"""
答案是<g>吗？
难道答案是<g>？
为什么答案是<g>？
应取<g>还是<w>？
|
答案是<w>吗？不是。答案是<g>。
""",
        "ko": r"""
정답이 <g>인가요?
왜 정답이 <g>일까?
<g>인가 <w>인가?
|
정답이 <w>인가? 아니다. 정답은 <g>이다.
""",
    },
    "bounded, not named": {
        "en": r"""
The answer is more than <g>.
The answer is at most <g>.
The answer is close to <g>.
The answer lies between <g> and <w>.
The answer is anything but <g>.
The answer differs from <g>.
The answer is half of <g>.
|
The answer is neither more nor less than <g>: it is <g>.
""",
        "zh": r"""
答案大于<g>。
答案至多为<g>。
答案接近<g>。
答案介于<g>与<w>之间。
答案不等于<g>。
答案是<g>的一半。
|
答案正好等于<g>。
""",
        "ko": r"""
정답은 <g>보다 크다.
정답은 많아야 <g>이다.
정답은 <g>에 가깝다.
정답은 <g>와 <w> 사이에 있다.
정답은 <g>와 다르다.
|
정답은 <g>와 같다.
""",
    },
    "quoted from the task": {
        "en": r"""
The task says: "Put your final answer in a box, such as \boxed{<G>}."
You asked me to answer in the form "The answer is <g>".
As in the example of the task, one would write \boxed{<G>}.
A sample solution ended with "the answer is <g>"; mine ends with <w>.
I was told to reply "<g>", but the answer is <w>.
|
The task says: "Put your final answer in a box." \boxed{<G>}
A sample solution ended with "the answer is <w>"; but the answer is <g>.
""",
        "zh": r"""
题目要求：“请把最终答案写在框里，例如\boxed{<G>}”。
题目的示例写的是“答案是<g>”。
示例答案是<g>，而本题答案是<w>。
|
题目要求把最终答案写在框里：\boxed{<G>}
""",
        "ko": r"""
문제에 따르면 "최종 답을 \boxed{<G>}와 같이 쓰시오."
예시의 답은 <g>이고, 이 문제의 답은 <w>이다.
|
문제에 따라 최종 답을 상자에 쓴다: \boxed{<G>}
""",
    },
    "another quantity": {
        "en": r"""
The perimeter is <g>, and the area asked for is <w>.
The answer to part (a) is <g>; the answer to the question is <w>.
The minimum is <g>. The maximum, which is asked for, is <w>.
Given: <g>. Wanted: <w>.
In last year's problem the answer was <g>. Here it is <w>.
|
The perimeter is <w>, and the area asked for is <g>.
The minimum is <w>. The maximum, which is asked for, is <g>.
""",
        "zh": r"""
周长为<g>，所求面积为<w>。
最小值为<g>，所求最大值为<w>。
已知量为<g>，答案为<w>。
去年那道题的答案是<g>，本题答案是<w>。
|
周长为<w>，所求面积为<g>。
去年那道题的答案是<w>，本题答案是<g>。
""",
        "ko": r"""
둘레는 <g>이고, 구하는 넓이는 <w>이다.
작년 문제의 답은 <g>였고 이 문제의 답은 <w>이다.
|
둘레는 <w>이고, 구하는 넓이는 <g>이다.
작년 문제의 답은 <w>였고 이 문제의 답은 <g>이다.
""",
    },
    "given up": {
        "en": r"""
I give up. It is not <g>, that much I know.
I could not finish the computation; <g> appeared on the way.
No value works, not even <g>.
The answer does not exist; <g> was a false lead.
I don't know. <g> is what I would have to prove.
|
I nearly gave up, but the answer is <g>.
""",
        "zh": r"""
我放弃了，只知道不是<g>。
计算没有完成，过程中出现过<g>。
没有符合条件的值，<g>也不行。
我不知道，<g>有待证明。
|
差点放弃，但最后求得答案是<g>。
""",
        "ko": r"""
포기합니다. <g>가 아닌 것만 압니다.
계산을 끝내지 못했다. 도중에 <g>가 나왔다.
조건에 맞는 값이 없다. <g>도 안 된다.
모르겠습니다. <g>는 증명해야 합니다.
|
포기할 뻔했지만 정답은 <g>이다.
""",
    },
}

CHOICES: dict[str, dict[str, str]] = {
    "options in other words": {
        "en": r"""
<G> looks tempting but fails.
I eliminated <G> first.
Everything except <G>.
<G> would be right if the sign were positive.
A careless reader picks <G>; I pick <W>.
Options <G> and <W> cancel out; choose <V>.
Answer: ~~<G>~~ <W>
The only false option is <G>.
Perhaps <G>. Perhaps <W>.
Had the sign been positive, the answer would be <G>. As it is, the answer is <W>.
|
Eliminating the others leaves <G>.
Everything except <G> fails, so the answer is <G>.
<W> looks tempting but fails. The answer is <G>.
Answer: ~~<W>~~ <G>
A careless reader picks <W>; the answer is <G>.
""",
        "zh": r"""
<G>看似正确，实则错误。
首先排除<G>。
除<G>外都正确。
若符号为正，则选<G>；本题选<W>。
粗心的同学会选<G>，正确答案是<W>。
只有<G>是错误的。
|
除<G>外都错误，故选<G>。
逐一排除后只剩<G>，故选<G>。
<W>看似正确，实则错误，故选<G>。
粗心的同学会选<W>，正确答案是<G>。
""",
        "ko": r"""
<G>는 맞아 보이지만 틀렸다.
먼저 <G>를 제외한다.
<G>를 제외하고 모두 옳다.
흔히 <G>를 고르지만 정답은 <W>이다.
|
<G>를 제외하고 모두 틀리므로 정답은 <G>이다.
하나씩 제외하면 <G>만 남으므로 정답은 <G>이다.
흔히 <W>를 고르지만 정답은 <G>이다.
""",
    },
}

VALUES: dict[str, str] = {
    "equal at most points": r"""
\lceil x \rceil @ \lfloor x \rfloor+1
e^{-(x-«30a»)^2} @ 0
|x-«30a»|-|x-«30a»-1| @ -1
\min(x,«30b») @ x
(x^2)^{3/2} @ x^3
\sqrt{(x-«a»)^2(x+«b»)^2} @ (x-«a»)(x+«b»)
\operatorname{sgn}(x+«60a») @ 1
(-1)^n @ 1
\cos(2\pi x) @ 1
\frac{x}{|x|}\cdot x @ x
\sqrt{1-\cos^2 x} @ \sin x
\sqrt{x^2+10^{-9}} @ |x|
\log_{10}(x^2) @ 2\log_{10}(-x)
x+10^{-12} @ x
\max(x,«30a»)+\min(x,«30a») @ 2x
|
\lceil x \rceil @ -\lfloor -x \rfloor
\sqrt{1-\cos^2 x} @ |\sin x|
\max(x,«30a»)+\min(x,«30a») @ x+«30a»
(x^2)^{3/2} @ |x|^3
|x-«a»|+|«a»-x| @ 2|x-«a»|
""",
    "letters and numbers run together": r"""
«a»t @ «a»t^2
«a»x+«b»y @ «a»y+«b»x
v=«a»t @ v=«a»t+«b»
2^{«b»}m @ 2^{«b»}m^2
«a»ab @ «a»a+b
«a»h+1 @ «a»h^{1}
«a» km @ «a» k m^2
«a»/t @ «a»t
3g+«a» @ «a»g+3
«a»mn @ «a»m-n
W=«a»J @ W=«a»J+1
|
«a»ab @ «a»ba
«a»x+«b»y @ «b»y+«a»x
v=«a»t @ v=t\cdot «a»
«a»/t @ «a»t^{-1}
""",
    "numbers that look alike": r"""
1.0«a» @ 1.«a»
10,«h» @ 10.«h»
«a»e3 @ «a»3
0.1 @ 0.01
1«a»/«b» @ 1-«a»/«b»
(«a») @ -(«a»)
2«h» @ 2.«h»
«a»^«b» @ «a»«b»
\sqrt{«a»}«b» @ \sqrt{«a»«b»}
\frac{1}{2}«a» @ \frac{1}{2«a»}
|
(«a») @ «a»
«a».0 @ «a»
\sqrt{«a»}«b» @ «b»\sqrt{«a»}
\frac{1}{2}\cdot «2a» @ «a»
+«a» @ «a»
""",
}
