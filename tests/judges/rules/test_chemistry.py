"""Formulas, ions, equations, electron configurations: one substance in any notation, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livek12.judges.rules.chemistry import read_reaction, read_terms
from tests.judges.helpers import decide, outcome

SAME = [
    ("H_2SO_4", "H₂SO₄"),
    ("H_2SO_4", "H2SO4"),
    (r"$\mathrm{H_2SO_4}$", r"\ce{H2SO4}"),
    ("H_{2}SO_{4}", r"\text{H}_2\text{SO}_4"),
    ("SO_4^{2-}", "SO₄²⁻"),
    ("SO_4^{2-}", "SO4^2-"),
    ("SO_4^{2-}", "SO42-"),
    ("SO_{4}^{2−}", r"\ce{SO4^{2-}}"),
    ("Fe^{3+}", "Fe3+"),
    ("NH_4^+", "NH4+"),
    ("OH^-", "OH-"),
    ("H_3O^+", "H₃O⁺"),
    ("Na^+", r"\mathrm{Na}^{+}"),
    (r"\text{K}_3\left[\text{Fe}(\text{CN})_6\right]", "K3[Fe(CN)6]"),
    ("Ca(OH)_2", r"\mathrm{Ca(OH)_2}"),
    ("CuSO_4·5H_2O", r"CuSO_4\cdot 5H_2O"),
    ("CuSO_4·5H_2O", "CuSO4•5H2O"),
    ("CH_3CH_2OH", "CH3-CH2-OH"),
    ("CH_2=CH_2", "CH2=CH2"),
    ("^{235}_{92}U", r"{}_{92}^{235}\mathrm{U}"),
    ("SiO_2", "SiO2(s)"),
    ("ZnSO_4、K_2SO_4", r"$\mathrm{K_2SO_4}$ 和 $\mathrm{ZnSO_4}$"),
]
OTHER = [
    ("H_2SO_4", "H_2SO_3"),
    ("Fe^{2+}", "Fe^{3+}"),
    ("Fe^{2+}", "Fe"),
    ("Cl^-", "Cl_2"),
    ("NaCl", "KCl"),
    ("CO_2", "CO"),
    ("CuSO_4·5H_2O", "CuSO_4"),
    ("Fe_2O_3", r"\ce{Fe3O4}"),
    ("^{14}C", "^{12}C"),
    ("ZnSO_4、K_2SO_4", "NaCl、KCl"),
]
OPEN = [
    ("CH_3COOH", "C_2H_4O_2"),
    ("C_2H_5OH", "CH_3CH_2OH"),
    ("CH_3OCH_3", "C_2H_5OH"),
    ("H_2SO_4", "硫酸"),
    ("NaOH", "氢氧化钠溶液"),
    ("CaCO_3(s)", "CaCO_3"),
    ("ZnSO_4、K_2SO_4", "ZnSO_4"),
    ("R-OH", "ROH'"),
    ("CO", "Co"),
    ("CH_3COOC_2H_5", "C_2H_5OOCCH_3"),
    ("HCOOCH_3", "CH_3COOH"),
]


@pytest.mark.parametrize(("gold", "answer"), SAME)
def test_one_substance_in_any_notation(gold: str, answer: str) -> None:
    assert outcome(gold, answer, "fill_in_blank") == "accept"
    assert outcome(answer, gold, "fill_in_blank") in {"accept", "undecided"}


@pytest.mark.parametrize(("gold", "answer"), OTHER)
def test_another_substance_is_wrong(gold: str, answer: str) -> None:
    assert outcome(gold, answer, "fill_in_blank") == "reject"


@pytest.mark.parametrize(("gold", "answer"), OPEN)
def test_what_may_be_the_same_substance_is_left_open(gold: str, answer: str) -> None:
    assert outcome(gold, answer, "fill_in_blank") == "undecided"


WATER = "2H_2+O_2=2H_2O"
BURNT = r"2H_2+O_2\xlongequal{点燃}2H_2O"
COBALT = (
    r"$3\text{Co}^{2+}+{\text{MnO}}_4^-+7\text{H}_2\text{O}=3\text{Co}(\text{OH})_3\downarrow "
    r"+\text{MnO}_2\downarrow +5\text{H}^+$"
)
COPPER = "Cu+2H2SO4(浓)=CuSO4+SO2↑+2H2O"
COAL = "C(s)+O2(g)=CO2(g)  ΔH=-393.5kJ/mol"
EQUATIONS = [
    (WATER, "O2 + 2H2 → 2H2O", "accept"),
    (WATER, r"2\text{H}_2+\text{O}_2=\!=\!=2\text{H}_2\text{O}", "accept"),
    (WATER, r"\ce{2H2 + O2 -> 2H2O}", "accept"),
    (WATER, "2H2(g) + O2(g) = 2H2O(l)", "accept"),
    (WATER, BURNT, "accept"),
    (WATER, "H_2+O_2=H_2O", "reject"),
    (WATER, "2H_2+O_2=H_2O", "reject"),
    (WATER, r"H_2+\frac12O_2=H_2O", "undecided"),
    (WATER, "4H_2+2O_2=4H_2O", "undecided"),
    (WATER, "2H_2O=2H_2+O_2", "undecided"),
    (WATER, "H_2O_2=H_2O_2", "undecided"),
    (BURNT, r"2H_2+O_2\overset{\text{点燃}}{=}2H_2O", "accept"),
    (BURNT, "2H2+O2 =点燃= 2H2O", "accept"),
    (BURNT, "2H2+O2=2H2O", "undecided"),
    (BURNT, r"2H_2+O_2\xrightarrow{\Delta}2H_2O", "undecided"),
    (COBALT, "3Co2+ + MnO4- + 7H2O = 3Co(OH)3↓ + MnO2↓ + 5H+", "accept"),
    (COBALT, "3Co2+ + MnO4- + 7H2O = 3Co(OH)3 + MnO2 + 5H+", "undecided"),
    (COBALT, "3Co2+ + MnO4- + 7H2O = 3Co(OH)3↓ + MnO2↓ + 4H+", "reject"),
    ("N_2+3H_2⇌2NH_3", r"N2 + 3H2 \rightleftharpoons 2NH3", "accept"),
    ("N_2+3H_2⇌2NH_3", "N2+3H2=2NH3", "undecided"),
    ("Fe-2e^-=Fe^{2+}", "Fe = Fe2+ + 2e-", "accept"),
    ("Zn-2e^-=Zn^{2+}", "Zn - 2e⁻ → Zn²⁺", "accept"),
    ("O_2+4e^-+2H_2O=4OH^-", "O2 + 2H2O + 4e− = 4OH−", "accept"),
    ("O_2+4e^-+2H_2O=4OH^-", "O2 + 2H2O + 2e− = 4OH−", "reject"),
    (r"4NH_3+5O_2\xrightarrow[\Delta]{催化剂}4NO+6H_2O", r"4NH3+5O2 \xlongequal[加热]{催化剂} 4NO + 6H2O", "accept"),
    (r"2KMnO_4\overset{\Delta}{=\!=\!=}K_2MnO_4+MnO_2+O_2\uparrow", "2KMnO4 =△= K2MnO4 + MnO2 + O2↑", "accept"),
    ("CH_2=CH_2+Br_2→CH_2BrCH_2Br", "CH2=CH2 + Br2 → CH2BrCH2Br", "accept"),
    ("^{235}_{92}U+^1_0n→^{141}_{56}Ba+^{92}_{36}Kr+3^1_0n", "^{235}U + ^1_0n → ^{141}Ba + ^{92}Kr + 3^1_0n", "accept"),
    (WATER, "氢气在氧气中燃烧", "undecided"),
    (COPPER, "Cu + 2H₂SO₄(浓) == △ == CuSO₄ + SO₂↑ + 2H₂O", "accept"),
    (COPPER, "Cu + 2H2SO4 (conc.) = CuSO4 + SO2↑ + 2H2O", "accept"),
    (COPPER, "Cu+2H2SO4(稀)=CuSO4+SO2↑+2H2O", "undecided"),
    (COPPER, "Cu+H2SO4(浓)=CuSO4+SO2↑+2H2O", "reject"),
    ("2KClO_3=2KCl+3O_2", "2KClO3 =MnO2,△= 2KCl + 3O2↑", "accept"),
    (COAL, r"O_2(g)+C(s)=CO_2(g) \Delta H=-393.5 kJ·mol^{-1}", "accept"),
    (COAL, "C(s)+O2(g)=CO2(g)；△H = +393.5 kJ/mol", "reject"),
    (COAL, "C(s)+O2(g)=CO2(g)", "undecided"),
]


@pytest.mark.parametrize(("gold", "answer", "expected"), EQUATIONS)
def test_equations(gold: str, answer: str, expected: str) -> None:
    assert outcome(gold, answer, "fill_in_blank") == expected


SHELLS = [
    ("[Ar]3d^{10}4s^1", "1s^22s^22p^63s^23p^63d^{10}4s^1", "accept"),
    ("[Ar]3d^84s^2", "1s²2s²2p⁶3s²3p⁶4s²3d⁸", "accept"),
    ("[Ar]3d^84s^2", r"[\mathrm{Ar}]3\mathrm{d}^{8}4\mathrm{s}^{2}", "accept"),
    ("[Ar]3d^84s^2", "[Ar]3d^94s^1", "reject"),
    ("[Ar]3d^84s^2", "3d^84s^2", "undecided"),
    ("3d^84s^2", "3d^{8}4s^{2}", "accept"),
    ("2s^22p^4", "2s^22p^5", "reject"),
]


@pytest.mark.parametrize(("gold", "answer", "expected"), SHELLS)
def test_electron_configurations(gold: str, answer: str, expected: str) -> None:
    assert outcome(gold, answer, "fill_in_blank") == expected


@pytest.mark.parametrize(
    "text", ["", "A", "x+1", "R-OH", "增大", "P(X)", "F=ma", "CH2", "3", "AaBb", r"\frac{1}{2}", "{}}{", "((((("]
)
def test_what_is_no_chemistry_goes_on(text: str) -> None:
    assert decide(text, "x", "fill_in_blank").by != "chemistry"
    assert decide("x", text, "fill_in_blank").by != "chemistry"


def test_letters_of_physics_are_no_substances() -> None:
    assert decide("UI", "IU").by != "chemistry"
    assert decide("P=UI", "P=IU").by != "chemistry"


def test_a_choice_is_not_read_as_chemistry() -> None:
    assert outcome("B", "NaCl", "single_choice") == "undecided"


ATOMS = st.sampled_from(["H", "C", "O", "N", "Na", "Cl", "Fe", "Cu", "S"])
FORMULA = st.lists(st.tuples(ATOMS, st.integers(1, 12)), min_size=1, max_size=5)


@given(FORMULA)
def test_any_notation_of_indices_reads_alike(atoms: list[tuple[str, int]]) -> None:
    plain = "".join(name + (str(count) if count > 1 else "") for name, count in atoms)
    latex = "".join(rf"\mathrm{{{name}}}" + (f"_{{{count}}}" if count > 1 else "") for name, count in atoms)
    assert read_terms(plain) == read_terms(latex) != []


@given(st.text(st.sampled_from("HOCNa2l3+-=^_{}()[]→e·↑ \\"), max_size=60))
def test_any_text_is_read_or_refused_within_bounds(text: str) -> None:
    assert len(read_terms(text)) <= 64
    assert len(read_reaction(text)) <= 256
