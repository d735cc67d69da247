"""Attacks by value: answers that look like the key, and unusual right ones, a table a class.

A line is `key @ answer`, or `key @ answer @ demand: expression` (see `attack_rows.DEMANDS`); `|` begins the right ones.
`«a»` and its like are drawn for each row (`attack_rows.numbers`): a > b and c are coprime, from 3 to 19, so that no
label turns true by chance. All lines are our own.
"""

from __future__ import annotations

VALUES: dict[str, str] = {
    "a variable as a unit": r"""
«a»t @ «a»t+1
a_n=«a»m @ a_n=«a»m+1
«a» m @ «a» m + 1
«a»s @ «a»s-1
«a»g @ «a»g+«b»
x=«a»h @ x=«a»h+2
«a»L @ «a»L-«c»
«a»N+«b» @ «a»N
|
«a»t+1 @ 1+«a»t
«a»m @ m\cdot «a»
a_n=«a»m @ «a»m
«a» m @ «a»\ \mathrm{m}
""",
    "equal near zero only": r"""
|x-«30a»| @ «30a»-x
\ln|x+«30a»| @ \ln(x+«30a»)
\sqrt{(t-«60b»)^2} @ «60b»-t
|x|-x @ 0
\frac{|x+«30c»|}{x+«30c»} @ 1
\lfloor \frac{x}{«60a»} \rfloor @ 0
\max(x,«30a») @ «30a»
\arcsin(\sin x) @ x
\sqrt[4]{(x-«30b»)^4} @ x-«30b»
|x-«30a»|+|x+«30a»| @ «60a»
|
|x-«30a»| @ |«30a»-x|
\ln|x+«30a»| @ \ln|-x-«30a»|
\sqrt{(t-«60b»)^2} @ |t-«60b»|
\sqrt[4]{(x-«30b»)^4} @ |x-«30b»|
\sqrt{x^2} @ |x|
""",
    "sign": r"""
«a» @ -«a»
-\frac{«a»}{«b»} @ \frac{«a»}{«b»}
«a»x-«b» @ «a»x+«b»
x^2-«a»x+«b» @ x^2+«a»x+«b»
«a»-\sqrt{«b»} @ «a»+\sqrt{«b»}
\frac{1-x}{x+«a»} @ \frac{x-1}{x+«a»}
e^{-«a»x} @ e^{«a»x}
«a».5 @ -«a».5
|
-\frac{«a»}{«b»} @ \frac{-«a»}{«b»}
«a»-\sqrt{«b»} @ -(\sqrt{«b»}-«a»)
\frac{1-x}{x+«a»} @ -\frac{x-1}{x+«a»}
""",
    "off by one": r"""
«a» @ «a+1»
«h» @ «h-1»
«a»n-1 @ «a»n
\frac{n(n+1)}{2} @ \frac{n(n-1)}{2}
2^{n+1}-1 @ 2^n-1
«a»x+«b» @ «a»x+«b+1»
\binom{n}{«a»} @ \binom{n}{«a+1»}
«a»! @ «a+1»!
\log_2 «a» @ \log_2 «a+1»
|
\frac{n(n+1)}{2} @ \frac{n^2+n}{2}
2^{n+1}-1 @ 2\cdot 2^n-1
\binom{n}{2} @ \frac{n(n-1)}{2}
""",
    "exponent": r"""
x^{«a»} @ x^{«a+1»}
«a»\times 10^{«b»} @ «a»\times 10^{«b+1»}
1.«a»\times 10^{-«b»} @ 1.«a»\times 10^{«b»}
2^{«a»} @ «2a»
x^2+«a» @ x^3+«a»
\frac{1}{x^2} @ \frac{1}{x}
10^{«b»} @ 10«b»
\sqrt{«a»} @ \sqrt[3]{«a»}
(x+1)^{«b»} @ x^{«b»}+1
|
«a»\times 10^{3} @ «a»000
\frac{1}{x^2} @ x^{-2}
\sqrt{«a»} @ «a»^{1/2}
2^{«b»} @ 4^{«b»/2}
""",
    "turned over": r"""
\frac{«a»}{«b»} @ \frac{«b»}{«a»}
\frac{x}{«a»} @ \frac{«a»}{x}
\frac{\sqrt{«a»}}{«b»} @ \frac{«b»}{\sqrt{«a»}}
«a»:«b» @ «b»:«a»
x^y @ y^x
\log_{«a»}«b» @ \log_{«b»}«a»
a-b @ b-a
\frac{\sin x}{\cos x} @ \frac{\cos x}{\sin x}
|
\frac{«a»}{«b»} @ «a»/«b»
\frac{\sqrt{«a»}}{«b»} @ \frac{1}{«b»}\sqrt{«a»}
\log_{«a»}«b» @ \frac{\ln «b»}{\ln «a»}
«a»:«b» @ «2a»:«2b»
""",
    "something dropped": r"""
«a»\pi @ «a»
«a»\sqrt{2} @ «a»
\sqrt{«a»} @ «a»
x^2+«a»x+«b» @ x^2+«b»
\frac{«a»\pi}{«b»} @ \frac{\pi}{«b»}
«a»+«b»i @ «a»+«b»
\ln «a» @ «a»
\sin «a»x @ \sin x
e^{«a»x} @ e^x
«a»! @ «a»
|«a»-x| @ «a»-x
\pm «a» @ «a»
|
«a»\pi @ \pi\cdot «a»
\sqrt{«a»} @ \frac{«a»}{\sqrt{«a»}}
\pm «a» @ «a», -«a»
""",
    "digits": r"""
«a».14 @ «a».41
«a»27 @ «a»72
3.«a»9 @ 3.«a»
1«h» @ 1«i»
0.0«a» @ 0.«a»
0.\overline{«a»} @ 0.«a»
1\frac{«a»}{19} @ \frac{1«a»}{19}
«a»\frac{1}{2} @ \frac{«a»}{2}
1011_2 @ 1011_3
|
0.\overline{3} @ \frac{1}{3}
«a».50 @ «a».5
1\frac{1}{2} @ \frac{3}{2}
0.125 @ \frac{1}{8}
«a» @ «a».0
""",
    "thousands, decimals and lists": r"""
1,2 @ 1.2
1,«h» @ 1.«h»
«a»,«b»,«c» @ «a»«b»«c»
12«h» @ 12.«h»
1«h» @ 1; «h»
70,«i» @ 70.«i»
1.«h» @ 1,«h»,000
«a».«b» @ «a»; «b»
123456 @ 123,45
|
1234567 @ 1,234,567
1234567 @ 1{,}234{,}567
1234567 @ 1\,234\,567
12345.5 @ 12,345.5
«a»000000 @ «a»,000,000
""",
    "units": r"""
«a» cm @ «a» m
«a» cm @ «a» cm^2
«a» km/h @ «a» m/s
«a» kg @ «a» g
«a»\text{ J} @ «a»\text{ W}
«a»\ \Omega @ «a»\ \mathrm{k\Omega}
«a» mol/L @ «a» mol
30^\circ @ 30\text{ rad}
70 cm @ 7.5 m
«a»\text{ min} @ «a»\text{ h}
|
70 cm @ 0.7 m
5 m/s @ 18 km/h
180^\circ @ \pi
«a» kg @ «a»000 g
«a»\text{ min} @ «60a»\text{ s}
«a» cm^2 @ «a»\,\mathrm{cm}^{2}
""",
    "per cent": r"""
25\% @ 0.25\%
0.5 @ 0.5\% @ chance: B
\frac{1}{4} @ 2.5\%
12.5\% @ 1.25
0.35 @ 36\%
|
25\% @ 0.25
25\% @ \frac{1}{4}
0.5 @ 50\% @ chance: D
\frac{3}{4} @ 75\%
""",
    "brackets of intervals": r"""
[1,«a+1») @ (1,«a+1»]
[-«a»,«b»] @ (-«a»,«b»)
(0,«a») @ [0,«a»]
(-\infty,«a») @ (-\infty,«a»]
(«a»,+\infty) @ (-\infty,«a»)
x\ge «a» @ x>«a»
x<«a» @ x>«a»
(-\infty,-«a»)\cup(«a»,+\infty) @ (-«a»,«a»)
(-1,«a»] @ (-1,«a»)\cup\{«a+1»\}
[-«a»,«b»] @ [-«b»,«a»]
\{x\mid x>«a»\} @ \{x\mid x\ge «a»\}
|
[1,«a+1») @ 1\le x<«a+1»
(-\infty,«a») @ x<«a»
[-«a»,«b»] @ \left[-«a»,\ «b»\right]
(«a»,+\infty) @ \{x\mid x>«a»\}
(0,«a») @ \{x: 0<x<«a»\}
(-\infty,-«a»)\cup(«a»,+\infty) @ x<-«a» \text{ or } x>«a»
""",
    "order of tuples": r"""
(«a»,«b») @ («b»,«a»)
(«a»,«b»,«c») @ («a»,«c»,«b»)
(-«a»,«b») @ («a»,-«b»)
\langle «a»,«b» \rangle @ \langle «b»,«a» \rangle
x=«a», y=«b» @ x=«b», y=«a»
\begin{pmatrix}«a»\\«b»\end{pmatrix} @ \begin{pmatrix}«b»\\«a»\end{pmatrix}
(«a»,«b») @ «a»
(«a»,«b») @ \{«a+1»,«b»\}
P(«a»,«b») @ P(«b»,«a»)
|
(«a»,«b») @ \left(«a»,\,«b»\right)
(«a»,«b») @ (\frac{«2a»}{2},«b»)
x=«a», y=«b» @ y=«b», x=«a»
\langle «a»,«b» \rangle @ («a»,«b»)
""",
    "names of angles and vectors": r"""
\angle ABC @ \angle ACB
\angle ABC=«10a»^\circ @ \angle ACB=«10a»^\circ
\overrightarrow{AB} @ \overrightarrow{BA}
\vec{a}+\vec{b} @ \vec{a}-\vec{b}
\triangle ABC\cong\triangle DEF @ \triangle ABC\cong\triangle DFE
AB=CD @ AB=CE
\overrightarrow{OA} @ \overrightarrow{OB}
\angle AOB @ \angle AOC
l\parallel m @ l\perp m
|
\angle ABC @ \angle CBA
\overrightarrow{AB} @ -\overrightarrow{BA}
\vec{a}+\vec{b} @ \vec{b}+\vec{a}
""",
    "names of functions and variables": r"""
f(x)=x @ f(y)=x
f(x)=x^2+«a» @ f(x)=t^2+«a»
f(x)=«a»x @ f(y)=«a»x
y=«a»x @ x=«a»y
f'(x)=«a»x @ f(x)=«a»x
x_1=«a» @ x_2=«a»
a_{n+1} @ a_n+1
x=«a» @ y=«a»
S_n=n^2 @ a_n=n^2
f(x)=\sin x @ f^{-1}(x)=\sin x
|
f(x)=x^2+«a» @ x^2+«a»
f(x)=x^2+«a» @ f(x)=«a»+x^2
y=«a»x @ y=x\cdot «a»
x=«a» @ «a»
""",
    "some of the values": r"""
\{«a»,«b»,«c»\} @ \{«a»,«b»\}
«a»,«b» @ «a»
x=«a»\text{ or }x=«b» @ x=«a»
x_1=«a», x_2=-«b» @ x=«a»
\pm «a» @ -«a»
(-«a»,0)\cup(0,«b») @ (0,«b»)
\{-1,0,«a»\} @ \{0,«a»\}
(«a»,1),(«b»,2) @ («a»,1)
x=«a»+2k\pi @ x=«a»
|
\{«a»,«b»,«c»\} @ \{«c»,«a»,«b»\}
x=«a»\text{ or }x=«b» @ x=«b»\text{ or }x=«a»
\{«a»,«b»\} @ «a» \text{ and } «b»
x_1=«a», x_2=-«b» @ x_1=-«b», x_2=«a»
""",
    "extra values": r"""
\{«a»,«b»\} @ \{«a»,«b»,«c»\}
«a» @ «a», «b»
x=«a» @ x=«a»\text{ or }x=«b»
«a» @ \pm «a»
\emptyset @ \{«a»\}
\emptyset @ \{0\}
[«a»,+\infty) @ (-\infty,-1]\cup[«a»,+\infty)
(«a»,1) @ («a»,1),(«b»,2)
x=«a» @ x=«a»+k\pi
|
\{«a»,«b»\} @ \{«a»,«b»,«a»\}
\emptyset @ \varnothing
\emptyset @ \{\}
""",
    "equations and inequalities": r"""
x+«a»y=«b» @ x+«a»y=«b+1»
y=«a»x+1 @ y=«a»x-1
x^2+y^2=«a» @ x^2-y^2=«a»
\frac{x^2}{«a»}+\frac{y^2}{«b»}=1 @ \frac{x^2}{«b»}+\frac{y^2}{«a»}=1
a_1<a_2 @ a_1>a_2
y=«a»x @ y\ge «a»x
x=«a» @ x\ne «a»
(x-«a»)^2+y^2=1 @ (x+«a»)^2+y^2=1
x=«a»y @ x=«a»y^2
|
x+«a»y=«b» @ 2x+«2a»y=«2b»
x+«a»y=«b» @ x+«a»y-«b»=0
y=«a»x+1 @ «a»x-y+1=0
\frac{x^2}{4}+y^2=1 @ x^2+4y^2=4
""",
    "matrices and complex numbers": r"""
\begin{pmatrix}«a»&1\\0&«b»\end{pmatrix} @ \begin{pmatrix}«a»&0\\1&«b»\end{pmatrix}
\begin{pmatrix}«a»&1\\0&«b»\end{pmatrix} @ \begin{pmatrix}«a»&1\\0&-«b»\end{pmatrix}
\begin{pmatrix}1&2\\3&«a»\end{pmatrix} @ \begin{vmatrix}1&2\\3&«a»\end{vmatrix}
«a»+«b»i @ «a»-«b»i
«a»+«b»i @ «b»+«a»i
«a»i @ «a»
e^{i\pi/«a»} @ e^{-i\pi/«a»}
|
«a»+«b»i @ «b»i+«a»
\begin{pmatrix}«a»&1\\0&«b»\end{pmatrix} @ \begin{bmatrix}«a»&1\\0&«b»\end{bmatrix}
""",
    "sets and logic": r"""
A\cup B @ A\cap B
A\subset B @ B\subset A
\{x\mid x>0\} @ \{x\mid x<0\}
\mathbb{Z} @ \mathbb{N}
A\setminus B @ B\setminus A
p\wedge q @ p\vee q
\forall x>0 @ \exists x>0
x\in A @ x\notin A
\{\{«a»\}\} @ \{«a»\}
|
A\cup B @ B\cup A
\{x\mid x>0\} @ (0,+\infty)
""",
    "chemistry": r"""
H_2SO_4 @ H_2SO_3
\mathrm{Fe^{2+}} @ \mathrm{Fe^{3+}}
2H_2+O_2=2H_2O @ H_2+O_2=H_2O
CO_2 @ CO
\mathrm{NaHCO_3} @ \mathrm{Na_2CO_3}
\mathrm{Cl^-} @ \mathrm{Cl_2}
CH_3CH_2OH @ CH_3OH
\mathrm{OH^-} @ \mathrm{H^+}
|
H_2SO_4 @ \mathrm{H_2SO_4}
2H_2+O_2=2H_2O @ \mathrm{2H_2+O_2\rightarrow 2H_2O}
\mathrm{Fe^{2+}} @ Fe^{2+}
""",
    "the form asked for": r"""
(x+«a»)(x-«b») @ x^2+«a-b»x-«ab» @ factor: x^2+«a-b»x-«ab»
(x+«a»)^2 @ x^2+«2a»x+«aa» @ factor: x^2+«2a»x+«aa»
2(x-«a»)(x+«a») @ (2x-«2a»)(x+«a») @ factor: 2x^2-«2aa»
x^2+«2a»x+«aa» @ (x+«a»)^2 @ expand: (x+«a»)^2
x^2-«aa» @ (x-«a»)(x+«a») @ expand: (x-«a»)(x+«a»)
\frac{2}{3} @ \frac{8}{12} @ simplify: \frac{8}{12}
\frac{«a»}{«b»} @ \frac{«2a»}{«2b»} @ reduce: \frac{«2a»}{«2b»}
3.2\times 10^{-5} @ 0.000032 @ scientific: 0.000032
8.5\times 10^{6} @ 8500000 @ scientific: 8500000
\frac{\sqrt{2}}{2} @ \frac{1}{\sqrt{2}} @ rationalise: \frac{1}{\sqrt{2}}
\frac{\sqrt{3}}{3} @ \frac{1}{\sqrt{3}} @ rationalise: \frac{1}{\sqrt{3}}
2\sqrt{3} @ \sqrt{12} @ simplify: \sqrt{12}
1.41 @ \sqrt{2} @ places: \sqrt{2}
\sqrt{2} @ 1.41421356 @ exact: \sqrt{2}
\frac{1}{3} @ 0.333333 @ exact: 1\div 3
|
(x+«a»)(x-«b») @ (x-«b»)(x+«a») @ factor: x^2+«a-b»x-«ab»
x^2+«2a»x+«aa» @ «aa»+«2a»x+x^2 @ expand: (x+«a»)^2
\frac{2}{3} @ 2/3 @ simplify: \frac{8}{12}
3.2\times 10^{-5} @ 3.2\cdot 10^{-5} @ scientific: 0.000032
\frac{\sqrt{2}}{2} @ \frac12\sqrt2 @ rationalise: \frac{1}{\sqrt{2}}
2\sqrt{3} @ \sqrt{3}\cdot 2 @ simplify: \sqrt{12}
""",
    "the question restated": r"""
4 @ 2+2 @ compute: 2+2
«a+b» @ «a»+«b» @ compute: «a»+«b»
120 @ 5! @ compute: 5!
«ab» @ «a»\times «b» @ compute: «a»\times «b»
3 @ \sqrt{9} @ compute: \sqrt{9}
\frac{1}{2} @ \sin 30^\circ @ compute: \sin 30^\circ
10 @ \binom{5}{2} @ compute: \binom{5}{2}
«2a»x @ «a»x+«a»x @ simplify: «a»x+«a»x
x+1 @ \frac{x^2-1}{x-1} @ simplify: \frac{x^2-1}{x-1}
x=«a» @ x-«a»=0 @ solve: x-«a»=0
x=«a» @ «b»x=«ab» @ solve: «b»x=«ab»
5050 @ \sum_{k=1}^{100}k @ compute: \sum_{k=1}^{100}k
6x @ \frac{d}{dx}(3x^2) @ compute: \frac{d}{dx}(3x^2)
|
«a+b» @ «a»+«b»=«a+b» @ compute: «a»+«b»
120 @ 5!=120 @ compute: 5!
«2a»x @ «a»x+«a»x=«2a»x @ simplify: «a»x+«a»x
x=«a» @ x-«a»=0 \Rightarrow x=«a» @ solve: x-«a»=0
""",
}  # fmt: skip
