"""Try what each estimator takes, and write the table of docs/guide/choose.md.

PYTHONPATH=tests python -m helpers.takes
"""

import warnings
from inspect import signature

import dask.array as da
import numpy as np
import pandas as pd
import pyarrow as pa
from scipy.sparse import csr_array

from benchmarks.pages import publish, section_table
from heterolda import (
    BoundedErrorClassifier,
    GaussianLinearDiscriminant,
    HeteroscedasticProjection,
    LocalNeighborhoodSearch,
    SmoothedLinearDiscriminant,
)
from heterolda.data import fit_batches

ESTIMATORS = {
    "Gaussian": GaussianLinearDiscriminant(),
    "Smoothed": SmoothedLinearDiscriminant(),
    "Search": LocalNeighborhoodSearch(max_iter=5),
    "Projection": HeteroscedasticProjection(1),
    "Bounded": BoundedErrorClassifier(max_error=0.3),
}
_RNG = np.random.default_rng(0)
_Y = np.arange(160) % 2
_X = _RNG.normal(size=(160, 3)) + 2 * _Y[:, None]
_HOLES = np.where(_RNG.random(_X.shape) < 0.1, np.nan, _X)
_NAMES = ["a", "b", "c"]


def _fit(X, y=_Y, **weights):
    """Fit and use an estimator."""

    def use(model):
        model.fit(X, y, **weights)
        getattr(model, "predict", getattr(model, "transform", None))(X)

    return use


def _on_device(model):
    import array_api_strict as xp

    _fit(xp.asarray(_X), xp.asarray(_Y))(model)


def _from_file(model):
    table = pa.table({**dict(zip(_NAMES, _X.T, strict=True)), "kind": _Y})
    fit_batches(model, table, "kind")


def _with_em(model):
    inner = model.get_params()
    if "missing" in inner:
        model.set_params(missing="em")
    elif isinstance(model, BoundedErrorClassifier):
        model.set_params(estimator=GaussianLinearDiscriminant(missing="em"))
    _fit(_HOLES)(model)


_ONE = np.r_[0:160:2, 1]  # one row of the second class
# What to do with an unfitted estimator, by the words of the page.
DATA = {
    "arrays": _fit(_X),
    "data frames": _fit(pd.DataFrame(_X, columns=_NAMES)),
    "sparse rows": _fit(csr_array(_X)),
    'missing values, `missing="em"` where there is such a parameter': _with_em,
    "weights": _fit(_X, sample_weight=1 + _Y),
    "Dask collections": _fit(da.from_array(_X, chunks=40), da.from_array(_Y, 40)),
    "files larger than memory, by `fit_batches`": _from_file,
    "arrays on a GPU": _on_device,
    "fewer rows than features": _fit(_RNG.normal(size=(160, 200)) + _Y[:, None]),
    "a class of one row": _fit(_X[_ONE], _Y[_ONE]),
    "more than two classes": _fit(_X, np.arange(160) % 3),
}
PARAMETERS = "priors", "class_weight", "costs", "criterion", "covariance_estimator"
METHODS = (
    *("predict_proba", "transform", "with_operating_point", "partial_fit"),
    *("fit_statistics", "for_features"),
)


def attempt(model, use):
    """Return the error of a use, or None."""
    try:
        with warnings.catch_warnings(action="ignore"):
            use(model)
    except (ValueError, TypeError) as error:
        return error
    return None


def table(answers):
    """Return the table of the page, given the errors by words and estimator."""
    rows = [
        (words, *("no" if answers[words, name] else "yes" for name in ESTIMATORS))
        for words in DATA
    ]
    fitted = {name: _fitted(model) for name, model in ESTIMATORS.items()}
    for word in (*PARAMETERS, *METHODS):
        cells = (
            "yes" if word in signature(type(m)).parameters or hasattr(m, word) else "no"
            for m in fitted.values()
        )
        kind = "method" if word in METHODS else "parameter"
        rows.append((f"{kind} `{word}`", *cells))
    return section_table("|".join(["takes", *ESTIMATORS]), rows)


def _fitted(model):
    with warnings.catch_warnings(action="ignore"):
        return model.fit(_X, _Y)


if __name__ == "__main__":
    from sklearn import config_context
    from sklearn.base import clone

    with config_context(array_api_dispatch=True):
        tried = {
            (words, name): attempt(clone(model), use)
            for words, use in DATA.items()
            for name, model in ESTIMATORS.items()
        }
    for place, error in tried.items():
        if error:
            print(*place, f"{type(error).__name__}: {error}", sep=" | ")
    publish("guide/choose", {"takes": table(tried)})
