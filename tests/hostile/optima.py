"""Problems whose optimum is hard to find, or is none; and searches on ties."""

from __future__ import annotations

from functools import cache

import numpy as np

from heterolda import TrivialRuleWarning
from hostile.case import Case
from hostile.classes import LOCAL_SOLVERS
from hostile.data import Data, exact_moments, grouped
from hostile.judges import Accurate, Checked, Constant, Judge, Optimal
from hostile.reference import least_errors
from hostile.trial import Trial, attempt


@cache
def _trivial(k: int) -> Data:
    """A rare class in the middle of a wide one."""
    rng = np.random.default_rng(7)
    y = (np.arange(200) % 10 == 0).astype(int)
    X = rng.normal(size=(200, 2)) * np.where(y == 1, 0.8, 2.0)[:, None]
    return Data(X + 0.3 * y[:, None], y)


@cache
def _separated(k: int) -> Data:
    X, y, _ = grouped(k, 40, 3)
    return Data(X + 1e6 * y[:, None], y)


@cache
def _two_minima(k: int) -> Data:
    """Swapping the axes and the classes changes nothing: minima come in pairs."""
    z, _, _ = grouped(1, 80, 2)
    first = exact_moments(z, [0, 0], np.diag([1.0, 0.01]))
    second = exact_moments(z, [0, 0], np.diag([1.0, 0.01]))[:, ::-1] + [0.45, 0.45]
    X = np.stack([first, second], axis=1).reshape(-1, 2)
    return Data(X, np.arange(len(X)) % 2)


@cache
def _outside(k: int) -> Data:
    """The best weights of the covariances have different signs."""
    z, _, _ = grouped(1, 200, 2)
    first = exact_moments(z[:180], [0, 0], np.diag([1.0, 8.0]))
    second = exact_moments(z[180:], [0.5, 2.0], np.diag([8.0, 0.05]))
    return Data(np.vstack([first, second]), np.repeat([0, 1], [180, 20]))


@cache
def _ties(k: int) -> Data:
    """Thousands of rows on few points of a grid, many of them of both classes."""
    rng = np.random.default_rng(7)
    y = np.arange(4000) % 2
    return Data((rng.integers(0, 3, size=(4000, 2)) + y[:, None]).astype(float), y)


def _fewest_errors(trial: Trial) -> str | None:
    """Compare the errors of a search with those of all lines through the points."""
    if not trial.contender.searches:
        return None
    fewest, errors = least_errors(trial.data.X, trial.data.y), trial.model.n_errors_[0]
    if errors < fewest:
        return f"counts {errors} errors, but every line makes {fewest} or more"
    return None


def _as_before(trial: Trial) -> str | None:
    """The same bit for bit in a second fit, and the least error."""
    again = attempt(trial.contender, trial.data)
    first = attempt(trial.contender, trial.data)
    for name in ("coef_", "intercept_"):
        if np.any(getattr(first.model, name) != getattr(again.model, name)):
            return f"has another {name} in a second fit"
    return Optimal().examine(trial)


CASES = [
    Case(
        "the best rule always names one class",
        _trivial,
        Constant(warns=TrivialRuleWarning),
        but={
            **dict.fromkeys(LOCAL_SOLVERS, Optimal()),
            "fixed-point": Constant(warns=TrivialRuleWarning),
            **dict.fromkeys(("minimax", "peers"), Judge()),
        },
        classes=(2,),
    ),
    Case("classes 1e6 standard deviations apart", _separated, Accurate()),
    Case("two equal minima", _two_minima, Checked(check=_as_before), classes=(2,)),
    Case("optimum beyond the convex combinations", _outside, Optimal(), classes=(2,)),
    Case("4000 rows on 14 points", _ties, Checked(check=_fewest_errors), classes=(2,)),
]
