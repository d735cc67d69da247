"""Least squares beside statsmodels: coefficients, standard errors and p to 1e-9."""

from __future__ import annotations

import math

import pytest

from livek12.core.statistics import least_squares, unit_variance

X = [
    *([-0.802, -1.324, -0.248, 0.42, 1.136], [0.11, -0.553, -0.785, 0.749, 1.635], [0.273, -1.233, -0.958, 1.6, 0.203]),
    *([-1.732, -0.084, -1.163, -0.629, -0.488], [-0.713, 0.553, -0.063, -0.589, 0.41]),
    *([0.83, -1.643, -0.257, -0.981, -0.173], [-1.289, 0.021, -0.038, -0.304, -1.048]),
    *([-0.396, -1.091, -1.355, 0.225, -1.109], [1.17, 0.717, -1.998, 0.272, -1.102]),
    *([0.033, 0.044, -1.988, -0.233, -0.256], [0.962, -1.181, 0.738, -1.099, -0.331]),
    *([-0.84, 1.449, 0.568, 2.432, 0.642], [0.845, 0.841, -0.607, -0.07, 1.35], [-0.397, 0.189, -0.021, 0.609, -0.365]),
]
Y = [0.6258, 0.5261, 0.5429, 0.6168, 0.5563, 0.4768, 0.566, 0.5478, 0.3996, 0.4843, 0.453, 0.4607, 0.403, 0.4907]
STATSMODELS = {  # OLS(Y, add_constant(X)) of statsmodels 0.15.0
    "coefficients": [
        *(0.48330047163079026, -0.07284944169057264, -0.04093390948730867),
        *(-0.01340532636803058, -0.004090921931447368, 0.01426389543470661),
    ],
    "errors": [
        *(0.0075363035251665034, 0.006789972637101415, 0.006470221892148201),
        *(0.007276943830697276, 0.006641444414227214, 0.007160018125408107),
    ],
    "p": [
        *(3.887844873323686e-12, 5.0077762096046385e-06, 0.00022624161373550533),
        *(0.10270391457808853, 0.5550316121974384, 0.08150005042726076),
    ],
}


def columns() -> list[list[float]]:
    return [list(column) for column in zip(*X, strict=True)]


def test_as_statsmodels_recorded_it() -> None:
    fit = least_squares(Y, columns())
    assert fit is not None
    for name, expected in STATSMODELS.items():
        assert getattr(fit, name) == pytest.approx(expected, abs=1e-9)
    assert fit.r2 == pytest.approx(0.945864160114745, abs=1e-12)
    assert fit.freedom == 8


def test_as_statsmodels_says_now() -> None:
    api = pytest.importorskip("statsmodels.api", reason="statsmodels is not installed; the recorded values stand above")
    import numpy as np

    rng = np.random.default_rng(0)
    for _ in range(20):
        x, y = rng.normal(size=(30, 4)), rng.normal(size=30)
        theirs, ours = api.OLS(y, api.add_constant(x)).fit(), least_squares(y.tolist(), x.T.tolist())
        assert ours is not None
        assert ours.coefficients == pytest.approx(theirs.params, abs=1e-9)
        assert ours.errors == pytest.approx(theirs.bse, abs=1e-9)
        assert ours.p == pytest.approx(theirs.pvalues, abs=1e-9)


def test_what_cannot_be_fitted_is_nothing() -> None:
    column = [1.0, 2.0, 3.0, 5.0]
    assert least_squares([1, 2, 3, 4], [column, [2 * value for value in column]]) is None
    assert least_squares([1, 2], [[1, 2]]) is None


def test_unit_variance() -> None:
    scaled = unit_variance([1.0, 2.0, 6.0])
    assert scaled is not None
    assert math.fsum(scaled) == pytest.approx(0)
    assert math.fsum(value * value for value in scaled) / 3 == pytest.approx(1)
    assert unit_variance([0.1] * 3) is None
