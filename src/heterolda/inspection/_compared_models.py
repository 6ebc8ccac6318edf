"""The classifiers of a comparison, and each of them on rows held out."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.recipes import recommended
from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import Array, Index
from heterolda.inspection.scoring import log_losses

# Where a covariance is singular QDA has this much of the identity, on standardized
# features. On five data sets the accuracy is at most 3 points below that with 0.001,
# and the log loss lower; 0.1 loses up to 13 points.
_REG_PARAM = 0.01
_SINGULAR = (
    "the covariance of some class is singular, so it was run on standardized features "
    f"with reg_param={_REG_PARAM}"
)


def _seven() -> dict[str, Any]:
    """Return the models that are compared by default."""
    return {
        "LDA": LinearDiscriminantAnalysis(),
        "GLD": GaussianLinearDiscriminant(),
        "GLD with shrinkage": GaussianLinearDiscriminant(shrinkage="cv"),
        "logistic regression": make_pipeline(
            StandardScaler(), LogisticRegression(max_iter=1000)
        ),
        "linear SVM": make_pipeline(StandardScaler(), LinearSVC(random_state=0)),
        "recommended()": recommended(),
        "QDA": QuadraticDiscriminantAnalysis(),
    }


def check_models(models: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return classifiers by name, with those of the seven where None is given."""
    ours = _seven()
    if models is None:
        return ours
    if not isinstance(models, Mapping) or not models:
        raise ParameterError(
            "models", f"must be a dict of classifiers by name, got {models!r:.50}"
        )
    chosen = {}
    for name, given in models.items():
        model = ours.get(name) if given is None else given
        if model is None:
            raise ParameterError(
                "models",
                f": None stands for one of {list(ours)}, and {name!r} is none of them",
            )
        if isinstance(model, type) or not hasattr(model, "predict"):
            raise ParameterError(
                "models",
                f": {name!r} must be a classifier such as LogisticRegression(), got "
                f"{model!r:.50}",
            )
        chosen[str(name)] = model
    return chosen


@dataclass(frozen=True)
class HeldOut:
    """Predicted class indices and log losses of all rows, by one model.

    They are -1 and NaN where there are none. `seconds` is the mean time of a fit,
    `notes` are the warnings, and `failure` is the reason if the model failed.
    """

    predictions: Index
    log_loss: Array
    seconds: float
    linear: bool
    notes: tuple[str, ...]
    failure: str | None


def evaluate(
    model: Any,
    X: Array,
    codes: Index,
    classes: NDArray[Any],
    folds: Index,
    report: Callable[[int], None],
) -> HeldOut:
    """Fit a model without each fold in turn, and predict that fold.

    Rows of fold -1 are never held out. `report` is called with the number of folds so
    far. What the model raises is its failure, and ends the evaluation. Plain QDA that
    meets singular covariances is run again with a little of the identity; scikit-learn
    raises an error, or once warned.
    """
    predictions, loss = np.full(len(codes), -1), np.full(len(codes), np.nan)
    seconds: list[float] = []
    linear, failure = False, None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.simplefilter("always", RuntimeWarning)
        for k in np.unique(folds[folds >= 0]):
            held = folds == k
            try:
                begin = time.perf_counter()
                fitted = clone(model).fit(X[~held], classes[codes[~held]])
                seconds.append(time.perf_counter() - begin)
                answers = _predict(fitted, X[held], codes[held], classes)
            except Exception as error:
                failure = f"{type(error).__name__}: {error}"
                break
            predictions[held], loss[held] = answers
            last = fitted.steps[-1][1] if isinstance(fitted, Pipeline) else fitted
            powers = getattr(last, "transformation_", None)
            linear = hasattr(last, "coef_") and powers is None
            report(len(seconds))
    if failure is not None:
        predictions[:], loss[:] = -1, np.nan
    # The first message of each kind of warning.
    notes = {warning.category: str(warning.message) for warning in caught[::-1]}
    mean = float(np.mean(seconds)) if seconds else np.nan
    said = tuple(notes.values())[::-1]
    plain = type(model) is QuadraticDiscriminantAnalysis and model.reg_param == 0
    all_said = " ".join([failure or "", *said])
    if plain and ("not full rank" in all_said or "collinear" in all_said):
        qda = QuadraticDiscriminantAnalysis(reg_param=_REG_PARAM)
        regular = make_pipeline(StandardScaler(), qda)
        result = evaluate(regular, X, codes, classes, folds, report)
        return replace(result, notes=(_SINGULAR, *result.notes))
    return HeldOut(predictions, loss, mean, linear, said, failure)


def _predict(
    fitted: Any, X: Array, truth: Index, classes: NDArray[Any]
) -> tuple[Index, Array]:
    """Return class indices of held-out rows, and the log loss at each."""
    labels = fitted.predict(X)
    places = np.searchsorted(classes, labels)
    predictions = np.minimum(places, len(classes) - 1)
    if np.any(classes[predictions] != labels):
        raise ValueError("it predicts what is not a class: is it a classifier?")
    if not hasattr(fitted, "predict_proba"):
        return predictions, np.full(len(X), np.nan)
    chances = fitted.predict_proba(X)[np.arange(len(X)), truth]
    return predictions, log_losses(chances)
