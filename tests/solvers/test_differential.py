"""The global optimum against all angles of the plane and descents from many starts."""

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.special import ndtr

from helpers.problems import fit, random_covariance
from helpers.reference import Problem

# Slow when traced; quicker tests take the same branches.
pytestmark = [
    pytest.mark.no_cover,
    pytest.mark.filterwarnings("ignore::heterolda.ModelMisfitWarning"),
]


def draw(rng, d, condition, nearly_equal=False):
    S1, S2 = (random_covariance(rng, d, condition) for _ in range(2))
    if nearly_equal:
        S2 = S1 + 10.0 ** rng.uniform(-15, -2) * S2
    shift = np.linalg.cholesky(S1 + S2) @ rng.uniform(-2, 2, d)
    p1 = 10.0 ** rng.uniform(-3, np.log10(0.5))
    return Problem(shift, np.zeros(d), S1, S2, rng.choice([p1, 1 - p1]))


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
        p = draw(rng, 2, 1e4)
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
        assert fit(p).bayes_error_[0] == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("nearly_equal", [False, True])
def test_descent_from_many_starts_ends_at_the_optimum(rng, nearly_equal):
    for d in (1, 2, 3, 5):
        p = draw(rng, d, 100.0, nearly_equal)
        whiten = np.linalg.inv(np.linalg.cholesky(p.S1 + p.S2)).T
        delta = whiten.T @ (p.m1 - p.m2)
        T1, T2 = (whiten.T @ S @ whiten for S in (p.S1, p.S2))

        def error(v, p=p, delta=delta, T1=T1, T2=T2):
            """The error and its gradient, in whitened features around the mean of 2."""
            u, t = v[:-1], v[-1]
            s1, s2 = np.sqrt(u @ T1 @ u), np.sqrt(u @ T2 @ u)
            z1, z2 = (t - u @ delta) / s1, t / s2
            d1, d2 = (q * np.exp(-z * z / 2) for q, z in ((p.p1, z1), (p.p2, z2)))
            slope = -d1 * (delta / s1 + z1 * (T1 @ u) / s1**2)
            slope = np.append(slope + d2 * z2 * (T2 @ u) / s2**2, d1 / s1 - d2 / s2)
            return p.p1 * ndtr(z1) + p.p2 * ndtr(-z2), slope / np.sqrt(2 * np.pi)

        best = min(p.p1, p.p2)
        for start in rng.normal(size=(30, d + 1)):
            start[:-1] += np.sign(start[-1]) * delta
            settings = {"jac": True, "method": "BFGS", "options": {"gtol": 1e-9}}
            best = min(best, minimize(error, start, **settings).fun)
        ours = fit(p).bayes_error_[0]
        assert ours <= best * (1 + 1e-12)
        assert best <= ours * (1 + 1e-6)
