"""Answers that say which variable they are: found by that name in whatever notation, in whatever order."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from pathlib import Path

import pytest

from livek12.core.records import Variable
from livek12.judges.rules.names import place_of, placed, unnamed
from livek12.tasks.extraction import extract
from tests.judges.helpers import mark, question

WRITTEN = {
    "v_x": ["v_x = 3", "$v_x$ = 3", "v_{x} = 3", r"v_{\text{x}}=3", r"\mathrm{v_x} = 3", "**v_x**: 3", "vₓ = 3"],
    "sigma_11": [
        r"\sigma_{11} = 3",
        "σ_11 = 3",
        "σ₁₁ = 3",
        "sigma_11: 3",
        r"\sigma_{1 1}\approx 3",
        r"$\sigma_{11}=3$",
    ],
    "epsilon_rr": [r"\varepsilon_{rr} = 3", r"\epsilon_{rr} = 3", "ε_{rr} = 3", r"\mathrm{epsilon\_rr} = 3"],
    "sigma_11_al": [
        r"\sigma_{11}^{\text{al}} = 3",
        r"\sigma_{11,al}=3",
        r"\sigma_{11}^{Al} = 3",
        r"\sigma^{al}_{11} = 3",
    ],
    "w_tilde_star": [r"\tilde{w}^{*} = 3", r"\tilde w^* = 3", r"\widetilde{w}^{\star} = 3", r"w^*_{tilde} = 3"],
    "l_prime": ["l' = 3", r"l^{\prime} = 3", "l′ = 3"],
    "nu_12": [r"\nu_{12} = 3", "ν₁₂ = 3", "nu12 = 3"],
    "p1": ["p_1 = 3", "P_1 = 3", "p1: 3", "$p_{1}$: 3"],
    "tS": ["t_S = 3", "t_{S} = 3"],
    "r(t)": ["r(t) = 3", r"r\left(t\right) = 3", "r = 3"],
    "omega": [r"\omega = 3", "ω = 3", r"\omega(t) = 3"],
    "focal_length": [r"\text{focal length} = 3", "Focal length: 3", "The focal length is: 3", "focal length ≈ 3"],
    "delta_T_f": [r"\Delta T_f = 3", "ΔT_f = 3", r"\delta T_{f} = 3"],
    "C_A": ["C_A = 3", "C_{A} = 3", r"\text{Heat capacity: } C_A = 3", "Heat capacity: $C_A = 3$", "heat $C_A = 3$"],
    "速度": ["速度为 3", "速度是3", "速度＝3", "速度：3", r"\text{速度} = 3"],
    "초기 속도": ["초기 속도는 3", "초기 속도: 3", "초기속도 = 3"],
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_name_is_found_in_whatever_notation(name: str) -> None:
    others = [other for other in WRITTEN if other != name]
    for text in WRITTEN[name]:
        assert place_of(text, [*others[:3], name, *others[3:]]) == 3, text
        assert unnamed(text, "3", name)[0].strip("$ ") == "3", text


@pytest.mark.parametrize(
    "text",
    [
        "3",
        "-3 m/s",
        "F = ma = 3",
        "1:2",
        "(x = 3)",
        "[v_x = 3]",
        "x = v_x",
        "a_1 = 3",
        "=",
        ":",
        "",
        "v_x",
        "$",
        "v",
        "\\",
    ],
)
def test_what_names_no_variable(text: str) -> None:
    assert place_of(text, ["v_x", "t", "a_2"]) is None


def test_a_name_that_fits_two_fits_none() -> None:
    assert place_of(r"\sigma = 3", ["sigma(x)", "sigma(t)"]) is None
    assert place_of(r"\sigma = 3", ["sigma(x)", "sigma"]) == 1
    assert place_of("r = 3", ["R", "r"]) == 1
    assert place_of("p = 3", ["P", "q"]) is None, "one letter in another case is another letter"
    assert place_of("T_2 = 3", ["t2", "T2"]) == 1


def test_answers_go_to_the_variables_they_name() -> None:
    names = ["v_x", "t", "s"]
    named = {"v_x": "v_x = 1", "t": "t: 2", "s": "$s = 3$"}
    for order in itertools.permutations(names):
        assert placed([named[name] for name in order], names) == ["v_x = 1", "t: 2", "$s = 3$"]
    assert placed(["t = 2", "1", "3"], names) == ["1", "t = 2", "3"], "the others keep their order"
    assert placed(["1", "2", "3"], names) == ["1", "2", "3"]
    assert placed(["t = 2", "t = 1", "3"], names) is None
    assert placed(["E = 9", "s = 3", "t = 2", "v_x = 1"], names) == ["v_x = 1", "t = 2", "s = 3"]
    assert placed(["E = 9", "3", "t = 2", "v_x = 1"], names) is None


def test_equations_keep_what_they_say_of_the_variable() -> None:
    assert unnamed("g = p = 1", "g = 2 = 2p", "g") == ("g = p = 1", "g = 2 = 2p")
    assert unnamed("g = g = 1", "g=3", "g") == ("1", "3")


def test_inequalities_keep_their_side() -> None:
    assert unnamed(r"t_{CLK} \ge 11", r"$\ge 11$", "tCLK") == (r"\ge 11", r"$\ge 11$")
    assert unnamed("a > 3", "a > 3", "a") == ("a > 3", "a > 3")
    assert unnamed("Phi_out = 0 for r ≥ a", r"\Phi_{out} = 0", "phi_out") == ("0 for r ≥ a", "0")


VARIABLES = [
    Variable(name="v_in", type="numeric", value="12 m/s"),
    Variable(name="v_out", type="formula", value=r"$\sqrt{2gh}$"),
    Variable(name="n", type="numeric", value="4"),
]
ASKED = question("short_answer", benchmark="cfe", language="en", variables=VARIABLES, answer=[])


def decided(text: str) -> list[str]:
    found = extract(text, ASKED, "stop")
    return [part.decision for part in mark(ASKED, *found.answers).parts]


RIGHT = {"v_in": "12 m/s", "v_out": r"\sqrt{2gh}", "n": "4"}
LATEX = {"v_in": r"v_{\text{in}}", "v_out": r"v_{\mathrm{out}}", "n": "n"}
A, R, U = "accept", "reject", "undecided"


@pytest.mark.parametrize("order", list(itertools.permutations(RIGHT)))
@pytest.mark.parametrize(
    "form",
    [
        lambda pairs: "Final answers: " + " ".join(rf"\boxed{{{name} = {value}}}" for name, value in pairs),
        lambda pairs: r"So \boxed{" + ", ".join(f"{name} = {value}" for name, value in pairs) + "}.",
        lambda pairs: "<answer>" + "; ".join(f"${name} = {value}$" for name, value in pairs) + "</answer>",
        lambda pairs: "Results:\n\n" + "\n".join(f"- **${name}$**: ${value}$" for name, value in pairs),
        lambda pairs: "Results:\n" + "\n".join(f"* ${name} = {value}$" for name, value in pairs),
    ],
)
def test_named_answers_are_right_in_any_order_and_wrong_under_another_name(
    order: tuple[str, ...], form: object
) -> None:
    assert decided(form([(LATEX[name], RIGHT[name]) for name in order])) == [A, A, A]  # type: ignore[operator]
    mixed = RIGHT | {"v_in": "4", "n": "12 m/s"}
    said = decided(form([(LATEX[name], mixed[name]) for name in order]))  # type: ignore[operator]
    assert said[1] == A and A not in (said[0], said[2])
    wrong = RIGHT | {"n": "5"}
    assert decided(form([(LATEX[name], wrong[name]) for name in order])) == [A, A, R]  # type: ignore[operator]


def test_answers_without_names_stand_in_order_and_what_fits_another_variable_is_left_open() -> None:
    assert decided(r"\boxed{12\,m/s} \boxed{\sqrt{2gh}} \boxed{4}") == [A, A, A]
    assert decided(r"\boxed{12\,m/s} \boxed{4} \boxed{\sqrt{2gh}}") == [A, U, U]
    assert decided(r"\boxed{12\,m/s} \boxed{\sqrt{gh}} \boxed{5}") == [A, R, R]
    assert decided(r"\boxed{4} \boxed{v_{out}=\sqrt{2gh}} \boxed{7}") == [U, A, R]
    assert decided(r"\boxed{E = 4} \boxed{\sqrt{2gh}} \boxed{12\,m/s}") == [U, A, U]
    assert decided(r"\boxed{v_{in} = 4} \boxed{v_{in} = 12\,m/s} \boxed{4}") == [U, U, U]


def test_lines_with_other_names_beside_named_ones() -> None:
    lines = "- $v_{in}$ = 12 m/s\n- exit speed: $\\sqrt{2gh}$\n- n: 4"
    assert decided("So:\n" + lines) == [A, A, A]
    assert decided("So:\n" + lines + "\n- height: 7 m") == [U, U, U]
    assert decided("So:\n- $v_{in}$ = 12 m/s\n- n: 5") == [A, R, R], "nothing is said of the third"


@pytest.mark.parametrize("style", ["{}", r"\text{{{}}}", r"\mathrm{{{}}}"])
def test_real_keys_are_right_under_their_names_and_wrong_under_others(style: str, shared_data: Path) -> None:
    rows = [
        row for part in ("text", "mm") for row in json.loads((shared_data / f"cfe_bench/CFE_{part}.json").read_text())
    ]
    counts: Counter[tuple[str, str]] = Counter()
    for row in rows:
        names, values = row["short_answer_variable"], row["short_answer_value"]
        if len(names) < 2:
            continue
        known = [Variable(name=name, value=value) for name, value in zip(names, values, strict=True)]
        asked = question("short_answer", benchmark="cfe", language="en", variables=known, answer=[])
        for truth, given in (("right", values), ("moved", values[1:] + values[:1])):
            said = reversed([(style.format(name), value.strip("$")) for name, value in zip(names, given, strict=True)])
            found = extract(" ".join(rf"\boxed{{{name} = {value}}}" for name, value in said), asked, "stop")
            for part, value in zip(mark(asked, *found.answers).parts, given, strict=True):
                if truth == "right" or value != part.gold:
                    counts[truth, part.decision] += 1
                assert (truth, part.decision) != ("right", "reject"), (row["id"], part)
    assert counts["right", "accept"] > 10 * counts["right", "undecided"]
    assert counts["moved", "accept"] <= 1, "two keys of one row say the same in other words"
    assert counts["moved", "reject"] > 150


@pytest.mark.parametrize("piece", ["v_in=", "v_in:", "$", "v_in≥", "(", "\\sigma_", "速度为", "*", "'", "= "])
def test_whatever_is_repeated_ends(piece: str) -> None:
    text = piece * 20_000
    assert place_of(text, ["v_in", "n"]) in (0, None)
    unnamed(text, text, "v_in")
    placed([text, text], ["v_in", "n"])
    extract(text, ASKED, "stop")
