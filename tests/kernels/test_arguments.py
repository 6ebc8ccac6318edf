"""Compiled kernels reject arguments that do not fit, whatever Python passes.

The good ones are drawn by the fuzzer, from the tables in the sources.
"""

import numpy as np
import pytest

from fuzz.kernels import SPECIAL, Special, good_arguments, tables
from heterolda import kernels as package

compiled = package.compiled
if compiled is None:
    pytest.skip("nothing was compiled", allow_module_level=True)

NAMES = [name for name in tables() if name != "algorithm2_block"]
SPOILED = (
    lambda a: a.astype(np.complex128),
    lambda a: a[..., None],
    lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    lambda a: a[..., 1:].copy(),
    lambda a: a.tolist(),
)


def draw(name, rng):
    """Return good arguments by name; a block of rows is the first."""
    values = good_arguments(name, rng, False)
    before = len(SPECIAL.get(name, Special()).before)
    names = ["block"] * before + [argument for argument, _, _ in tables()[name]]
    return dict(zip(names, values, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_arrays_that_do_not_fit_are_rejected(name, rng):
    kernel, good = getattr(compiled, name), draw(name, rng)
    kernel(*good.values())
    n_arrays = 0
    for argument, value in good.items():
        if isinstance(value, np.ndarray) and value.size > 1:
            n_arrays += 1
            for spoiled in SPOILED:
                with pytest.raises((ValueError, TypeError)):
                    kernel(*(good | {argument: spoiled(value)}).values())
    assert n_arrays > 0
    with pytest.raises(TypeError, match="arguments are needed"):
        kernel(*list(good.values())[:-1])


def test_an_array_that_is_written_to_is_no_other(rng):
    good = draw("solve_pairs", rng)
    with pytest.raises(ValueError, match="must be a separate array"):
        compiled.solve_pairs(*(good | {"error": good["intercept"]}).values())


def longer(*names):
    """Return a change that makes vectors longer by one."""
    return lambda a: {name: np.resize(a[name], len(a[name]) + 1) for name in names}


def all_are(name, value, other=None):
    """Return a change that sets all entries to a number, plus the length of another."""
    return lambda a: {
        name: np.full_like(a[name], value + (0 if other is None else len(a[other])))
    }


def now(**changes):
    return lambda a: changes


BAD = {
    "algorithm2_run": [
        lambda a: {"until": a["log"].shape[1] + 1},
        lambda a: {"v": np.ones(len(a["v"]) + 1), "changes": a["changes"][:-1]},
        lambda a: {"v": a["v"][:-1].copy(), "changes": a["changes"][:-2].copy()},
        *[now(step=step) for step in (0.0, -1.0, np.nan, np.inf)],
        *[
            now(state=np.array(s))
            for s in ([-1, 9, 9, 0], [99, 9, 9, 0], [1, 9, 9, -1])
        ],
    ],
    "couple": [
        now(scores=None, X=None),
        now(scores=None, coef=None),
        now(guess=None, probabilities=None),
        *[
            lambda a, name=name: {"guess": a["X"].T[:0].copy(), name: None}
            for name in ("X", "winners", "coef", "probabilities")
        ],
        *[now(most=most) for most in (800.0, np.nan)],
        lambda a: {"probabilities": a["probabilities"][:, 1:].copy()},
    ],
    "arc_directions": [
        all_are("pairs", 0, "means"),
        all_are("pairs", -1),
        longer("positions"),
        lambda a: {"basis": np.ones((*a["w"].shape[::2], 2 + a["w"].shape[2]))},
    ],
    "score_distributions": [
        lambda a: {"bounds": a["bounds"][::-1] + len(a["Z"])},
        longer("bounds"),
        all_are("pairs", 0, "totals"),
        all_are("pairs", -1),
        lambda a: {"F": a["F"][..., 1:].copy()},
    ],
    "smoothed_path": [
        now(n_first=-1),
        lambda a: {"n_first": len(a["share"]) + 1},
        lambda a: {"start": a["start"][1:].copy(), "rules": a["rules"][:, 1:].copy()},
        lambda a: {"c": np.ones(len(a["columns"])), "first": None, "second": None},
    ],
    "solve_pairs": [
        all_are("pairs", 0, "means"),
        all_are("pairs", -1),
        *[now(gap=gap) for gap in (1e-9, np.nan)],
    ],
}


@pytest.mark.parametrize("name", BAD)
def test_values_that_do_not_fit_are_rejected(name, rng):
    for change in BAD[name]:
        good = draw(name, rng)
        with pytest.raises(ValueError, match=r"must|need|out of range|do not fit"):
            getattr(compiled, name)(*(good | change(good)).values())
