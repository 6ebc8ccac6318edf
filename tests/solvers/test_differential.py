"""The global optimum against all angles of the plane, by brute force."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import ndtr

from helpers.problems import fit, random_covariance
from helpers.reference import Problem

# Slow when traced; quicker tests take the same branches.
pytestmark = [
    pytest.mark.no_cover,
    pytest.mark.filterwarnings("ignore::heterolda.exceptions.ModelMisfitWarning"),
]


def draw(rng):
    S1, S2 = (random_covariance(rng, 2, 1e4) for _ in range(2))
    shift = np.linalg.cholesky(S1 + S2) @ rng.uniform(-2, 2, 2)
    p1 = 10.0 ** rng.uniform(-3, np.log10(0.5))
    return Problem(shift, np.zeros(2), S1, S2, rng.choice([p1, 1 - p1]))


def least_errors(p, w):
    """Least error along each column of w, with any threshold; naive formulas."""
    D = (p.m1 - p.m2) @ w
    s1, s2 = (np.sqrt(np.sum(w * (S @ w), axis=0)) for S in (p.S1, p.S2))
    # The weighted densities are equal where a t^2 + b t + c = 0; t from the mean of 2.
    a = 1 / s1**2 - 1 / s2**2
    b = -2 * D / s1**2
    c = D**2 / s1**2 - 2 * np.log(p.p1 * s2 / (p.p2 * s1))
    best = np.full(len(D), min(p.p1, p.p2))
    with np.errstate(invalid="ignore", divide="ignore"):
        root = np.sqrt(b * b - 4 * a * c)
        q = -0.5 * (b + np.copysign(root, b))
        for t in (q / a, c / q):
            error = p.p1 * ndtr((t - D) / s1) + p.p2 * ndtr(-t / s2)
            best = np.fmin(best, error)
    return best


def test_no_angle_of_the_plane_is_better(rng):
    for _ in range(40):
        p = draw(rng)
        whiten = np.linalg.inv(np.linalg.cholesky(p.S1 + p.S2)).T

        def along(angle, p=p, whiten=whiten):
            return least_errors(p, whiten @ [np.cos(angle), np.sin(angle)])

        angles, step = np.linspace(0, 2 * np.pi, 5000, endpoint=False, retstep=True)
        errors = along(angles)
        dips = (errors < np.roll(errors, 1)) & (errors <= np.roll(errors, -1))
        fine = [
            minimize_scalar(
                lambda x, along=along: along(np.array([x]))[0],
                bounds=(angle - step, angle + step),
                method="bounded",
                options={"xatol": 1e-12},
            ).fun
            for angle in angles[dips]
        ]
        best = min([errors.min(), *fine])
        assert fit(p).model_error_[0] == pytest.approx(best, rel=1e-9)
