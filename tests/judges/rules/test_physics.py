"""Physics notation: names, aligned rows, marks and indices, vectors, angles, units of particles, powers in words."""

from __future__ import annotations

import pytest

from tests.judges.helpers import outcome

ACCEPT = [
    (r"x_1'+y", r"y+x'_1"), (r"x^2_1", r"x_1^2"), (r"E^{(1)}_0", r"E_0^{(1)}"), (r"I_\text{Moon}", r"I_{\text{Moon}}"),
    (r"M_\odot c^2", r"c^2M_{\odot}"), (r"\hat{\mathbf{r}}\cos\theta", r"\cos\theta\mathbf{\hat r}"),
    (r"\mathbf{e}_x", r"\mathbf{\hat x}"), (r"\hat{e}_\theta", r"\mathbf{e}_\theta"),
    (r"(\frac{\partial S}{\partial T})_V", r"\left(\partial S/\partial T\right)_V"),
    (r"\langle x\rangle = 3kT", "3kT"),
    (r"\langle (E-\langle E\rangle)^2\rangle", r"\langle(E-\langle E\rangle)^2\rangle"),
    (r"\begin{aligned}x&=3\\y&=4\end{aligned}", "x=3, y=4"),
    (r"\begin{align*}E&=\frac{mv^2}{2}\\&=8\text{ J}\end{align*}", "8 J"), (r"T \sim 5\text{ K}", "5 K"),
    (r"\vec F=(1,2,3)", r"\hat i+2\hat j+3\hat k"), (r"2\hat i-\hat j", "(2,-1)"), ("v/c = 0.6", "0.6"),
    (r"E=\frac{\pi^2\hbar^2}{2ma^2}", r"E_1=\frac{\hbar^2\pi^2}{2ma^2}"), ("c_p = c+k", "c_P=c+k"),
    (r"E_b=\frac{mV_0^2}{2\hbar^2}", r"E_{\text{binding}}=\frac{mV_0^2}{2\hbar^2}"),
    (r"E(n_x,n_y)=\hbar\omega(n_x+n_y+1)", r"E_{n_x,n_y}=\hbar\omega(n_x+n_y+1)"),
    ("M(A,Z)=Zm+k", "M(A,Z)=k+mZ"), (r"aT^4+\delta(A,Z)", r"\delta(A,Z)+aT^4"),
    ("30°", "0.5236 rad"), ("0.524 rad", "30°"),
    ("1.92 GeV/c", "1920 MeV/c"), ("938 MeV/c^2", r"0.938\ \text{GeV}/c^2"),
    (r"(b) \, E = 6.2\times10^3\,\text{J}", "6200 J"),
    ("3e8 m/s", "3 times 10 to the 8 m/s"), ("5e-3", "5乘以10的负3次方"), ("2e4", "2 곱하기 10의 4승"),
    (r"\frac{Q}{4\pi\epsilon_0r^2}", r"\frac{kQ}{r^2}"), (r"h\nu", r"\hbar\omega"),
    (r"\frac{NkT}{V}", r"\frac{Nk_BT}{V}"),
    (r"\left(e^{\mu B/kT}+e^{-\mu B/kT}\right)^N", r"(2\cosh(\beta\mu B))^N"),
    (r"\frac{mv_0^2}{R_0}", r"\frac{mv_o^2}{R_o}"),
    (r"W_e=\frac{Q^2}{8\pi\epsilon_0b}", r"U=\frac{Q^2}{8\pi\epsilon_0b}"),
    (r"e^{-\frac{E}{kT}}", "e^{-E/kT}"), (r"E_{\nu \, \text{kin}} = 2.5\,\text{MeV}", "2.5 MeV"),
]  # fmt: skip
REJECT = [
    (r"p_f = 2.0\times10^5\text{ N/m}^2", r"T_f=301\text{ K}"), (r"\omega=\sqrt{k/m}", r"T=2\pi\sqrt{m/k}"),
    (r"76.2\text{ J}", r"\frac{1}{2}mv^2"), (r"76.2\text{ J}", "T_2"),
    (r"\frac{3Q^2}{5R}", r"-1.0\text{ J}"), (r"\cos\theta=\frac{1}{\beta n}", "10^{-3}"),
    (r"F=\frac{GMm}{r^2}", r"F=\frac{Gm\rho}{r}"), (r"I_0e^{-\mu x}", r"\frac{I_0x}{\lambda}"),
    (r"n=\frac{1}{e^{\beta\epsilon}-1}", r"n=\frac{qE_1}{m\omega^2}"),
    (r"T_f=\sqrt{T_1T_2}", r"v=\frac{\omega_2}{k_z}"),
    (r"16I_0", "1.876"), ("0", r"\frac{mv_0^2}{2}"),
    (r"\frac{I}{I_0}=\frac{1}{4n^2-1}", r"\text{Numerical methods are required.}"),
    (r"E'=\frac{e^2F^2}{2k}", "0"), (r"T_f=T_0e^{-al}", "T_f"), (r"11.2\text{ km}", r"\left[3\ \text{kg/m}^3\right]"),
    ("I/I_0=31.6", "The particle's Electron-Nucleus scattering"),
    (r"2.4\text{ K}", r"\text{Boiling begins early}"), (r"152\text{ MeV}", r"a_VA-\hat{a}A^{2/3}"),
    (r"(1,2)", r"\hat i+3\hat j"), ("30°", "0.6 rad"), ("0.82 GeV/c", "0.75 GeV/c"),
    (r"E'=\frac{2e^2r^2}{5a^3}", r"E_{\text{shift}}"),
    (r"\langle x\rangle=0", r"\frac{1}{2}m\gamma^2x^2"), (r"W=\frac{q^2}{16\pi a}", r"F=\frac{e^2q^2}{a^2}"),
    (r"E(r)=\frac{V_0}{r\ln(b/a)}", r"V(r)=\frac{V_0\ln(b/r)}{\ln(b/a)}"),
    (r"\text{Coulomb repulsion in heavy nuclei}", r"\Delta E=208\text{ MeV}"),
]  # fmt: skip
OPEN = [
    (r"\omega=\sqrt{k/m}", r"f=\frac{1}{2\pi}\sqrt{k/m}"), ("E_1=a+b", "E_2=a+b"), ("E_1=a+b", "E_12=a+b"),
    (r"\omega=\frac{a}{bc}", r"f=\frac{a}{bc}"),
    (r"9.8\text{ m/s}^2", "the acceleration of free fall"), ("2.5 km", "twenty five hundred meters"),
    (r"1\text{ A}", r"1.06\times10^{-10}\text{ m}"),
    (r"5\text{ GeV}/c", r"\left[5\ \text{MeV}\right]"), (r"E_1=\frac{ab}{c}", r"E_2=\frac{ab}{c}"),
    (r"P\cos x+Q\sin x", r"A\cos t+B\sin t"),
    (r"\frac{m_1v_1}{m_2}", "The mass times the speed"), ("16I_0", "16"), (r"nkT", r"\frac{NkT}{V}"), ("x=1", "y=1"),
    ("76.2 J", "B"), ("5", "AB"),
    (r"2\sqrt3", r"2\sqrt3 m"), (r"F=\frac{mv^2}{r}\hat r", r"a=\frac{v^2}{R}"), ("1.92 GeV/c", "1.92 GeV"),
    ("1.6e4 light years", "1.5e22 cm"), ("8080 g N", "79184 N"), ("3 kT", "9 J"), ("5 gadgets", "7 cm"),
    (r"|n\rangle\langle m|", r"|m\rangle\langle n|"),
    (r"(\frac{\partial S}{\partial T})_V", r"(\frac{\partial S}{\partial T})_p"),
    (r"\langle n|H|m\rangle", r"\langle m|H|n\rangle"), (r"[F(x)]_0^1", "[F(x)]_0"), (r"\frac{1}{2x}", "1/2x"),
    ("60, 72", "72 mph"),
    (r"\frac{16}{7}", "rac{16}{7}"), ("2.74", "2,74 $ a"), (r"10^3\,\Omega", "1000"),
    ("0.2357", r"\frac{1}{3\sqrt2} a"),
    (r"\triangle ABC\cong\triangle DEF", r"\triangle ABC\cong\triangle DFE"),
    (r"a=\frac{\hbar^2}{me^2}=5.29\times10^{-9}\text{ cm}", r"a_0=\frac{\hbar^2}{me^2}"),
    (r"\frac{m^2c^3a_0^3}{4e^4}", r"1.6\times10^{-11}\text{ s}"),
    (r"\frac{M_e}{V_e}=\frac{M_m}{V_m}", r"\rho_e=\rho_m"), ("f'(x)=7x", "f(x)=7x"), ("R-OH", "ROH'"),
    (r"\text{the entropy of the gas}", "S"),
    ("e^{E/kT}", "e^{ET/k}"), (r"\frac{kq^2}{r}", r"\frac{KQ^2}{d}"), (r"\frac{E}{kT}", "0.5c"),
]  # fmt: skip


@pytest.mark.parametrize(("gold", "answer"), ACCEPT)
def test_physics_in_other_notation_is_accepted(gold: str, answer: str) -> None:
    assert outcome(gold, answer) == "accept"


@pytest.mark.parametrize(("gold", "answer"), REJECT)
def test_another_quantity_is_rejected(gold: str, answer: str) -> None:
    assert outcome(gold, answer) == "reject"


@pytest.mark.parametrize(("gold", "answer"), OPEN)
def test_what_may_be_the_same_quantity_is_left_open(gold: str, answer: str) -> None:
    assert outcome(gold, answer) == outcome(answer, gold) == "undecided"


@pytest.mark.parametrize("words", ["I can say a word.", "A few general questions", "one file", "1 ms per verdict"])
def test_prose_that_reads_as_a_product_is_no_formula(words: str) -> None:
    assert outcome("7", words) == "undecided"


def test_a_number_in_words_is_no_formula() -> None:
    assert outcome("2.5 km", "two point five kilometers") == "undecided"


def test_a_key_may_be_one_of_the_values_of_an_answer() -> None:
    assert outcome(r"R = 10^3\,\Omega", "R=1000, L=0.25, C=3") == "undecided"
