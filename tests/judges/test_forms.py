r"""The forms that answers take: what says the same, what differs, and what only a reader can tell. No model.

Each line is a key and an answer. The forms come from what exams ask for (equations, inequalities, sets, points,
families of solutions, quantities, numerals), not from any labelled set.
"""

from __future__ import annotations

import pytest

from livek12.core.records import Question
from tests.judges.helpers import mark, outcome, question

SAME = r"""
y=2x+1 @ y-2x-1=0
2x-y+1=0 @ y=2x+1
\frac{x^2}{4}+\frac{y^2}{3}=1 @ 3x^2+4y^2=12
\frac{x^2}{4}+y^2=1 @ x^2+4y^2=4
x^2+y^2-2x=0 @ (x-1)^2+y^2=1
y^2=4x @ x=\frac{y^2}{4}
y = 3x - 2 @ 3x-2
b<a @ a>b
a>b>c @ c<b<a
-3\le x<5 @ [-3,5)
x\in[-3,5) @ -3≤x<5
\{x|-3\le x<5\} @ [-3,5)
x>2 或 x<-1 @ (-\infty,-1)\cup(2,+\infty)
x<-1 \text{ or } x>2 @ (-\infty,-1)\cup(2,+\infty)
\{x\mid x>2\text{ or }x<-1\} @ (-\infty,-1)\cup(2,\infty)
|x|<2 @ (-2,2)
|x-1|\le 3 @ [-2,4]
|x|>2 @ (-\infty,-2)\cup(2,\infty)
x\ne 0 @ (-\infty,0)\cup(0,+\infty)
(1,2)\cup(2,3) @ (2,3)\cup(1,2)
(-\infty,2] \cup [2,\infty) @ \mathbb{R}
x^2<4 @ -2<x<2
x^2-3x+2>0 @ x<1 or x>2
(1,2) @ P(1,2)
P(1,2) @ (1,2)
(1,2) @ (x,y)=(1,2)
x=1, y=2 @ (1,2)
(1,2) @ x=1,y=2
\left(\frac12,2\right) @ (0.5,2)
\{1,2,3\} @ 3,2,1
x=1 \text{ or } x=2 @ 1,2
x_1=1,x_2=2 @ x=1或x=2
x=1 or 2 @ 1, 2
x = \pm 2 @ 2, -2
\pm\sqrt{2} @ x=\sqrt2, x=-\sqrt2
1\pm i @ 1+i, 1-i
\begin{pmatrix}1&2\\3&4\end{pmatrix} @ \begin{bmatrix}1&2\\3&4\end{bmatrix}
\begin{pmatrix}1\\2\end{pmatrix} @ (1,2)
\begin{pmatrix}1\\2\end{pmatrix} @ \langle 1,2\rangle
\langle 1,2\rangle @ (1,2)
[1,2,3]^T @ \begin{pmatrix}1\\2\\3\end{pmatrix}
\vec{i}+2\vec{j} @ \vec i + 2\vec j
2\mathbf{i}+3\mathbf{j} @ 2\mathbf{i}+3\mathbf{j}
\begin{cases}x,&x\ge0\\-x,&x<0\end{cases} @ \begin{cases}-x,&x<0\\x,&x\ge0\end{cases}
\begin{cases}1,&n=1\\2n,&n\ge2\end{cases} @ a_n=\begin{cases}1,&n=1\\2n,&n\geqslant2\end{cases}
\log_2 8 @ 3
\log_{4} x @ \frac{\ln x}{2\ln 2}
\log_{\frac12} 4 @ -2
\ln(x^2 y) @ 2\ln x+\ln y
\sin^2 x @ \frac{1-\cos 2x}{2}
\sin 2x @ 2\sin x\cos x
\cos^{-1}(1/2) @ \frac{\pi}{3}
\arctan 1 @ \pi/4
\sin(x+\frac{\pi}{2}) @ \cos x
x=k\pi+\frac{\pi}{4}, k\in Z @ x=n\pi+\frac{\pi}{4}, n\in\mathbb{Z}
x=k\pi+\frac{\pi}{4}\ (k\in\mathbb{Z}) @ x=\frac{5\pi}{4}+k\pi, k\in\mathbb Z
k\pi, k\in\mathbb{Z} @ x=2k\pi \text{ or } x=2k\pi+\pi, k\in\mathbb{Z}
[k\pi-\frac{\pi}{3},k\pi+\frac{\pi}{6}](k\in Z) @ [-\frac{\pi}{3}+k\pi,\frac{\pi}{6}+k\pi], k∈Z
[2k\pi,2k\pi+\pi],k\in Z @ [2n\pi,(2n+1)\pi], n\in\mathbb{Z}
\frac{1}{2}=0.5 @ 0.5
\frac12 @ \frac{1}{2}=0.5
ab @ ba
2ab @ 2ba
\color{red}{5} @ 5
\textcolor{blue}{x+1} @ 1+x
\boxed{\dfrac{1}{2}} @ 1/2
\mathrm{e}^2 @ e^2
\text{5} @ 5
5\text{ cm} @ 5 cm
5\,\mathrm{m/s} @ 5 m/s
5\,\mathrm{m\cdot s^{-1}} @ 5 m/s
36 km/h @ 10 m/s
1 h @ 3600 s
1.5 km @ 1500 m
8.31 J/(mol·K) @ 8.31 J mol^{-1} K^{-1}
8.31 J/(mol\cdot K) @ 8.31 J\cdot mol^{-1}\cdot K^{-1}
25 ℃ @ 298.15 K
25^\circ C @ 25 °C
30^\circ @ \frac{\pi}{6}
30° @ 30度
5千克 @ 5 kg
5 kg @ 5000 g
10米/秒 @ 10 m/s
20摄氏度 @ 20℃
5킬로미터 @ 5 km
3000원 @ 3000
5 kPa @ 5000 Pa
1.6\times10^{-19} C @ 1.60e-19 C
2.0\times10^5 Pa @ 0.20 MPa
50\% @ 0.5
\frac{1}{3} @ 0.\overline{3}
0.\overline{3} @ 1/3
0.\dot{3} @ \frac13
0.1\overline{6} @ 1/6
0.(3) @ 1/3
2\frac{1}{2} @ 2.5
2 1/2 @ 5/2
5! @ 120
\binom{5}{2} @ 10
C_5^2 @ 10
\lfloor 3.7 \rfloor @ 3
\lceil 3.2\rceil @ 4
|-3| @ 3
\lvert x\rvert @ |x|
3+4i @ 4i+3
\frac{1}{i} @ -i
i^2 @ -1
\sqrt{-4} @ 2i
e^{i\pi} @ -1
1010_2 @ 1010_{2}
(1010)_2 @ 1010_2
101_{(2)} @ 101_2
3:4 @ 6:8
3:4 @ 3/4
1,000 @ 1000
12,345,678 @ 12345678
sqrt(2)/2 @ \frac{\sqrt2}{2}
x^2+1 @ x²+1
1/2*pi @ \frac{\pi}{2}
√2/2 @ \frac{\sqrt{2}}{2}
2×3 @ 6
π/2 @ \frac{\pi}{2}
x**2+1 @ x^2+1
\{1,\{2\}\} @ \{\{2\},1\}
1,3,5,\ldots,99 @ 1, 3, 5, \dots, 99
x\equiv 2\pmod 5 @ x ≡ 2 (mod 5)
x\equiv 2 \pmod{5} @ x\equiv 7\pmod 5
seven @ 7
twenty-one @ 21
x^2+C @ x^2+c
x^2+C @ C+x^2
x^3/3+C @ \frac{x^3}{3}+C_1
\frac{1}{x}+C @ x^{-1}+C
\frac{a+b}{c} @ (a+b)/c
2^{n+1}-2 @ 2(2^n-1)
a_n=2n+1 @ 2n+1
f(x)=x^2 @ f(t)=t^2
f(x)=x^2 @ x^2
S=\pi r^2 @ \pi r^2
\sqrt[3]{8} @ 2
\frac{\sqrt{6}-\sqrt{2}}{4} @ \sin 15^\circ
\tan 60^\circ @ \sqrt3
\frac{1}{\sqrt2} @ \frac{\sqrt2}{2}
\sqrt{3+2\sqrt2} @ 1+\sqrt2
(x+1)(x-1) @ x^2-1
x(x+2)(x-2) @ x^3-4x
\infty @ +\infty
\text{no solution} @ \emptyset
(-1,+\infty) @ x>-1
(0,1) @ 0<x<1
a<-1 @ (-\infty,-1)
a\geqslant 1 @ [1,+\infty)
m\le 1 @ (-\infty,1]
m=1 @ m = 1
\max=5 @ 5
8\pi \text{ cm}^2 @ 8\pi cm²
8π cm² @ 8\pi\ \text{cm}^2
x=2,\ y=3 @ y=3, x=2
\begin{cases}x=2\\y=3\end{cases} @ x=2, y=3
\begin{cases}x=2\\y=3\end{cases} @ (2,3)
\begin{cases} x=1,\\ y=2 \end{cases} @ \left\{\begin{array}{l}x=1\\y=2\end{array}\right.
3.0\times10^8 \mathrm{m/s} @ 3\times 10^8 m/s
\dfrac{4}{5} @ 0.8
-\dfrac{1}{2} @ \frac{-1}{2}
-\dfrac{1}{2} @ \frac{1}{-2}
12:30 @ 12:30
\frac{3}{4}\pi @ \frac{3\pi}{4}
120^{\circ} @ 120
\angle A=30^\circ @ 30°
\overrightarrow{AB} @ \vec{AB}
e^{2x} @ (e^x)^2
\exp(2x) @ e^{2x}
2\ln 3 @ \ln 9
\lg 2+\lg 5 @ 1
1+\frac{1}{2}+\frac{1}{4} @ 7/4
\cos 2\alpha @ 1-2\sin^2\alpha
9x^2-6x+1 @ (3x-1)^2
\sqrt{a^2b} @ \sqrt{b a^2}
n(n+1)/2 @ \frac{n^2+n}{2}
\frac{n(n+1)}{2} @ \binom{n+1}{2}
5 m @ 500 cm
5 Pa·m^2 @ 5 N
20 kW·h @ 72 MJ
3 m^2 @ 30000 cm^2
3 平方米 @ 3 m²
2.5 g/cm^3 @ 2500 kg/m^3
60 km/h @ 16.67 m/s
9.8 m/s^2 @ 9.8 米/秒²
5 J/mol·K @ 5 J/(mol·K)
\frac{\sqrt2}{2}\text{ m} @ 50\sqrt2\text{ cm}
28% @ 28
one hundred and five @ 105
infinitely many @ \infty
1,22 @ 1.22
0,5 @ 0.5
1.2 @ 1,2
2.5 kg @ 2,5 kg
1.234,5 @ 1234.5
3, 5 @ 5, 3
cosx @ \cos x
\frac{S_1}{S_2}=\frac12 @ \frac12
p=5,q=2;p=7,q=2 @ (7,2),(5,2)
A(1,2), B(3,4) @ (1,2), (3,4)
f(n)=n,g(n)=1 @ (f(n),g(n))=(n,1)
1\leq|z|\leq \frac{3}{2} @ z \in [-\frac{3}{2}, -1] \cup [1, \frac{3}{2}]
\frac{x-1}{x+2}\ge 0 @ (-\infty,-2)\cup[1,+\infty)
x>0, x\ne 1 @ (0,1)\cup(1,+\infty)
x>1 \text{ and } x<3 @ (1,3)
\sin^2 x+C @ -\cos^2 x+C
(1/a : (1/a - 2)) @ \frac{1}{1-2a}
x=\frac{k\pi}{2}, k\in Z @ x=k\pi \text{ or } x=k\pi+\frac{\pi}{2}, k\in Z
[1,2]^T @ \begin{pmatrix}1\\2\end{pmatrix}
A_5^2 @ 20
\begin{bmatrix}1\\2\end{bmatrix}^T @ \begin{bmatrix}1&2\end{bmatrix}
165.47 @ 165.5 g
2.653 m @ 2.65 m
1010_2 @ 1010
\mathbb{R}\setminus\{1\} @ x\ne 1
\mathbb{R}\setminus\{1,2\} @ (-\infty,1)\cup(1,2)\cup(2,\infty)
[0,3)\cup(3,\infty) @ [0,\infty) \setminus \{3\}
x\ne1 @ \mathbb{R} - \{1\}
\mathbb{R}\setminus[0,1] @ x<0 or x>1
(0,+\infty) @ \mathbb{R}^+
\mathbb{R} @ 全体实数
(-\infty,\infty) @ all real numbers
(-\infty,-1)\cup(3,+\infty) @ {x | x<-1 or x>3}
[1,4) @ {x∣1≤x<4}
\emptyset @ There is no solution.
does not exist @ DNE
2^{2023}-1 @ 2\cdot2^{2022}-1
4^{2007}\cdot 3 @ 3 \times 2^{4014}
\begin{pmatrix}1&2\\3&4\end{pmatrix} @ [[1,2],[3,4]]
\begin{pmatrix}1&2\\3&4\end{pmatrix} @ ((1,2),(3,4))
\begin{pmatrix}1\\2\end{pmatrix} @ [1,2]
\begin{pmatrix}1\\2\end{pmatrix} @ [[1],[2]]
35 @ C(7,3)
35 @ {7 \choose 3}
20 @ P(5,2)
101_2 @ 101 (base 2)
101_2 @ 101_{\text{two}}
y=\pm\frac{3}{4}x @ 3x\pm4y=0
f(x)=\sin 2x @ y=\sin 2x
16 @ 따라서 $k$의 값은 16이다.
0.4 @ \boxed{0.4\ }
40 @ 40 cm^2
60 km/h @ 시속 60km
3.0 m/s @ 每秒3.0米
(3,-2) @ the point (3,-2)
"""
DIFFERENT = r"""
y=2x+1 @ y=2x-1
y=2x+1 @ x=2y+1
x^2+y^2=4 @ x^2+y^2=2
a>b @ a<b
a\ge b @ a>b
[-3,5) @ [-3,5]
(0,9) @ [0,9)
[-3,2] @ (-\infty,-3]\cup[2,\infty)
-3\le x<5 @ -3<x\le 5
x>2 @ x\ge 2
|x|<2 @ |x|>2
|x|<2 @ x<2
\{1,2,3\} @ \{1,2\}
\{1,2\} @ \{1,2,3\}
(1,2) @ (2,1)
(1,2,3) @ (1,2)
x=1 @ x=1 or x=2
x=1 or x=2 @ x=1
x=\pm 2 @ 2
\begin{pmatrix}1&2\\3&4\end{pmatrix} @ \begin{pmatrix}1&3\\2&4\end{pmatrix}
\begin{pmatrix}1&2\\3&4\end{pmatrix} @ \begin{pmatrix}1&2\end{pmatrix}
\begin{cases}x,&x\ge0\\-x,&x<0\end{cases} @ \begin{cases}x,&x\ge0\\x,&x<0\end{cases}
f(x)=x^2 @ f(x)=x^3
f(x)=1 @ f(x)=x
\log_2 x @ \log_3 x
\sin x @ \cos x
x=k\pi @ x=2k\pi
x=k\pi+\frac{\pi}{4}, k\in Z @ x=k\pi-\frac{\pi}{4}, k\in Z
k\pi, k\in Z @ 2k\pi, k\in Z
x+2n+1 @ x+1
(a+5)(b+2) @ 5(b+2)
36 km/h @ 36 m/s
5 m @ 5 cm
5 kg @ 5 g
30^\circ @ \frac{\pi}{3}
8.31 J/(mol·K) @ 8.31 J/mol
50\% @ 5
\frac13 @ 0.4
2\frac12 @ 21/2
5! @ 24
\binom{5}{2} @ \binom{5}{1}
\lfloor 3.7\rfloor @ 4
3+4i @ 3-4i
1112112_3 @ 1112122_3
3:4 @ 4:3
1,000 @ 100
10^{10^{10^{10}}} @ 10^{10}
x\equiv 2\pmod 5 @ x\equiv 3\pmod 5
x\equiv 2\pmod 5 @ x\equiv 2\pmod 7
x^2+C @ x^3+C
2 @ 3
\sqrt2 @ \sqrt3
\frac{\pi}{2} @ 90
2ab @ 2a+b
(x+1)^2 @ x^2+1
d @ E
2.653 m @ 2.50
\emptyset @ \{0\}
0 @ \emptyset
\sqrt{x} @ x
x @ x^2
x @ -x
n^2 @ n
f(n)=n,g(n)=1 @ (f(n),g(n))=(n,2)
\{(1,2),(3,4)\} @ \{(1,2),(4,3)\}
p=5,q=2;p=7,q=2 @ (5,2),(7,3)
y+1=-(2x-1)^2 @ -4x^2+4x-1
3\pi @ 3
2\sqrt3 @ \sqrt3
\frac{a}{b} @ \frac{b}{a}
e^x @ e^{-x}
x>y @ y>x
\mathbb{R} @ (0,\infty)
5 @ x+2
12:30 @ 12:45
(1,2) @ 5
5 @ [0,5]
2x @ 3x
d @ b
1:2 @ 1:3
5 J @ 5 N
1 km @ 100 m
2.653 m @ 2.50 m
x=\frac{k\pi}{2}, k\in Z @ x=k\pi, k\in Z
[0,1) @ (0,1]
x\ge 1 @ x>1
\frac{x-1}{x+2}\ge 0 @ (-\infty,-2]\cup[1,+\infty)
1 @ -[0,1)
\{\varnothing\} @ \varnothing
\{1,\{2\}\} @ \{1,2\}
5,7 @ 5,8
1\pm\sqrt2 @ 1+\sqrt2, 1+\sqrt3
1,3,\ldots,99 @ 1,3,\ldots,97
x=1或x=2 @ x=2
10101_2 @ 10100_2
\frac{1}{2}=0.5 @ 0.8
infinitely many @ 3
one @ two
(1/a : (1/a - 2)) @ \frac{1}{a^2}-2
(P(x),Q(x))=(2Cx^2,x) @ (cx^2,x)
\sin^2 x+C @ \cos^2 x+C
\mathbb{R}\setminus\{1\} @ x\ne 2
\mathbb{R}\setminus\{1\} @ (-\infty,1)\cup[1,\infty)
\mathbb{R}\setminus\{1,2\} @ (-\infty,1)\cup(2,\infty)
[0,3)\cup(3,\infty) @ [0,\infty) \setminus \{4\}
x\ne1 @ \mathbb{R} - \{2\}
\mathbb{R}\setminus[0,1] @ x\le0 or x\ge1
\mathbb{R} @ \mathbb{R}^+
(-\infty,-1)\cup(3,+\infty) @ {x | x<-1 or x>2}
[1,4) @ {x∣1≤x≤4}
does not exist @ exists
2^{2023}-1 @ 2^{2023}+1
2^{2023}-1 @ 2^{2022}-1
4^{2007}\cdot 3 @ 3 \times 2^{4015}
\begin{pmatrix}1&2\\3&4\end{pmatrix} @ [[1,3],[2,4]]
\begin{pmatrix}1&2\\3&4\end{pmatrix} @ ((1,2),(4,3))
\begin{pmatrix}1&2\\3&4\end{pmatrix} @ (1,2,3,4)
\begin{pmatrix}1\\2\end{pmatrix} @ [2,1]
\begin{pmatrix}1\\2\end{pmatrix} @ [[2],[1]]
[1,2] @ \begin{pmatrix}1\\2\end{pmatrix}
21 @ C(7,3)
35 @ {7 \choose 2}
10 @ P(5,2)
101_2 @ 101 (base 3)
101_2 @ 110 (base 2)
y=\pm\frac{3}{4}x @ 3y=\pm4x
y=\pm\frac{3}{4}x @ 4y=3x
16 @ 구하는 값은 17이다.
40 @ 41 cm^2
60 km/h @ 시속 60m
60 km/h @ 每秒60千米
(3,-2) @ the point (-2,3)
"""
OPEN = r"""
25 ℃ @ 25 K
20度 @ 20℃
5 Hz @ 5 rad/s
2mg @ 2gs
5 m/s @ 5
28 @ 28%
0.5 @ 0.5%
1 @ 1%
0.\overline{3} @ 0.3
7=11a+c @ 5
a+b=5 @ 5
2x+z=1 @ 1
(1,2),(3,4) @ (1,2)
3,5 @ 3
3 @ 3, 5
x=3 @ 2x=6
(-2,2) @ x^2<4
[0,1] @ (0,1)
(2,+\infty) @ [2,+\infty)
[k\pi,k\pi+1] @ (k\pi,k\pi+1)
2ax @ 2bx
mv_0 @ mv
\frac{mg}{k} @ \frac{m}{k}
x^2+C @ x^2
v^2/R @ v^2/r
6:00 @ 18:00
2024-05-01 @ 2018
32349 @ 32, 349
1010 @ 1010_2
11_2 @ 3
CO @ OC
7 \times 10^{35} @ 7.1 \cdot 10^{35}
\begin{cases}x,&x\ge0\\-x,&x<0\end{cases} @ |x|
\ln(x^2) @ 2\ln x
1,3,\ldots,99 @ 1,3,5,\ldots,99
a>b @ x>y
x_1+x_2=3 @ 3
0.25 @ 0.3
1.27\% @ 1.3\%
1.5 @ 1,55
P(5,2) @ 20
A(3,1) @ 3
16 @ 16 이상이다
16 @ 구하는 값은 16이 아니다.
40 @ 40 m/s
2^{100000} @ 4^{50000}
f(x)=3 @ y=3
f(y)=y^2 @ y=y^2
g(x)=2x @ f(x)=2x
[0,+\infty) @ \mathbb{R}^+
x=1 @ no real roots
"""


def lines(table: str) -> list[tuple[str, str]]:
    pairs = [line.split(" @ ") for line in table.strip().splitlines()]
    return [(gold.strip(), answer.strip()) for gold, answer in pairs]


@pytest.mark.parametrize(("gold", "answer"), lines(SAME))
def test_the_same_in_another_form_is_accepted(gold: str, answer: str) -> None:
    assert outcome(gold, answer) == "accept"


@pytest.mark.parametrize(("gold", "answer"), lines(DIFFERENT))
def test_something_else_is_rejected(gold: str, answer: str) -> None:
    assert outcome(gold, answer) == "reject"


@pytest.mark.parametrize(("gold", "answer"), lines(OPEN))
def test_the_rest_is_left_to_a_reader(gold: str, answer: str) -> None:
    assert outcome(gold, answer) == "undecided"


def asked(text: str, gold: str) -> Question:
    return question("fill_in_blank", question=text, answer=[gold])


MONOTONY = [
    ("函数的单调递增区间是____", "[0,1]", "(0,1)", True),
    ("f(x) is increasing on ____", "(2,+\\infty)", "[2,+\\infty)", True),
    ("函数的单调递增区间是____", "[0,1]", "(0,2)", False), ("函数的值域是____", "[0,1]", "(0,1)", False),
]  # fmt: skip


@pytest.mark.parametrize(("text", "gold", "answer", "right"), MONOTONY)
def test_where_a_function_rises_either_bracket_will_do(text: str, gold: str, answer: str, right: bool | None) -> None:
    assert mark(asked(text, gold), answer).correct is right


ALL_ASKED = [
    ("Find all real values of x.", "2, 3", "2", False), ("Find all real values of x.", "2, 3", "3,2", True),
    ("Find the sum of all values of x.", "2, 3", "2", None), ("求所有满足条件的x的值", "2, 3", "x=2", False),
    ("모든 x의 값을 구하시오.", "2, 3", "3", False), ("Solve x.", "2, 3", "2", None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "gold", "answer", "right"), ALL_ASKED)
def test_where_all_values_are_asked_one_is_not_enough(text: str, gold: str, answer: str, right: bool | None) -> None:
    assert mark(question("short_answer", question=text, answer=[gold]), answer).correct is right


ASKED = [
    ("How many meters is it?", "2.65 m", "2.65", True), ("How many meters is it?", "2.65 m", "265", False),
    ("How many meters is it?", "2.65 km", "2650", True), ("求速度（单位：m/s）", "10 m/s", "10", True),
    ("这段路长多少千米？", "5 km", "5", True), ("거리는 몇 미터인가?", "5 m", "5", True),
    ("Find the length.", "5 m", "5", None),
    ("How many meters or feet?", "5 N", "5", None), ("这个力是多少？", "5 N", "5", None),
    ("How many meters is it, and what is the force?", "5 N", "5", None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "gold", "answer", "right"), ASKED)
def test_the_unit_that_a_question_asks_for_may_be_left_out(
    text: str, gold: str, answer: str, right: bool | None
) -> None:
    assert mark(asked(text, gold), answer).correct is right


ORDERS = [
    ("x=1 或 x=-2", "-2,1", True),
    ("x=1 或 x=-2", "-2,2", False),
    ("x=2,y=5", "y=5,x=2", True),
    ("x=2,y=5", "y=2,x=5", False),
    ("x=2,y=5", "5,2", None),
    ("2,5", "5,2", None),
    (r"x=k\pi+\frac{\pi}{4}, k\in\mathbb{Z}", r"\frac{\pi}{4}+n\pi,n\in Z", True),
    (r"x=k\pi+\frac{\pi}{4}, k\in\mathbb{Z}", r"\frac{\pi}{3}+n\pi,n\in Z", False),
]


def test_a_key_of_one_line_may_number_its_blanks() -> None:
    assert mark(question("fill_in_blank", answer=["(1) 2 (2) 3"]), "2；3").correct is True
    assert mark(question("fill_in_blank", answer=["(1) 2 (2) 3"]), "2；4").correct is False
    assert mark(question("fill_in_blank", answer=["(1, 2)"]), "(1,2)").correct is True


@pytest.mark.parametrize(("gold", "answer", "right"), ORDERS)
def test_alternatives_and_named_values_have_no_order(gold: str, answer: str, right: bool | None) -> None:
    assert mark(question("fill_in_blank", answer=[gold]), answer).correct is right
