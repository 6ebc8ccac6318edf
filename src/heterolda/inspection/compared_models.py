"""Evaluate each classifier of a comparison on held-out rows."""

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
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils import column_or_1d

from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.smoothed import SmoothedLinearDiscriminant
from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import Array, Index
from heterolda.inspection.scoring import log_losses

# Regularization of QDA on standardized features if a covariance is singular. On five
# data sets its accuracy is at most 3 points below that with 0.001, and its log loss is
# lower; 0.1 loses up to 13 points.
_REG_PARAM = 0.01
_SINGULAR = (
    "the covariance of a class is singular, so it was run on standardized features "
    f"with reg_param={_REG_PARAM}"
)


def _defaults() -> dict[str, Any]:
    """Return the models that are compared by default."""
    return {
        "LDA": LinearDiscriminantAnalysis(),
        "GLD": GaussianLinearDiscriminant(),
        "GLD with shrinkage": GaussianLinearDiscriminant(shrinkage="cv"),
        "logistic regression": make_pipeline(
            StandardScaler(), LogisticRegression(max_iter=1000)
        ),
        "linear SVM": make_pipeline(StandardScaler(), LinearSVC(random_state=0)),
        "smoothed": SmoothedLinearDiscriminant(),  # type: ignore[no-untyped-call]
        "QDA": QuadraticDiscriminantAnalysis(),
    }


def check_models(models: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return classifiers by name, replacing None with the default of that name."""
    defaults = _defaults()
    if models is None:
        return defaults
    if not isinstance(models, Mapping) or not models:
        raise ParameterError(
            "models", f"must be a dict of classifiers by name, got {models!r:.50}"
        )
    chosen = {}
    for name, value in models.items():
        model = defaults.get(name) if value is None else value
        if model is None:
            raise ParameterError(
                "models",
                f": None is allowed only for {list(defaults)}, got {name!r}",
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
    """Predicted class indices and log losses of one model, -1 and NaN if missing."""

    predictions: Index
    log_loss: Array
    seconds: float  # mean time of a fit
    notes: tuple[str, ...]  # warnings
    failure: str | None


def evaluate(
    model: Any,
    X: Array,
    labels: NDArray[Any],
    folds: Index,
    report: Callable[[float], None],
) -> HeldOut:
    """Fit a model without each fold in turn, except -1, and predict that fold."""
    predictions, loss = np.full(len(X), -1), np.full(len(X), np.nan)
    seconds, failure = [], None
    classes, codes = np.unique(labels, return_inverse=True)
    fold_numbers = np.unique(folds[folds >= 0])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.simplefilter("always", RuntimeWarning)
        for k in fold_numbers:
            mask = folds == k
            try:
                begin = time.perf_counter()
                fitted = clone(model).fit(X[~mask], labels[~mask])
                seconds.append(time.perf_counter() - begin)
                predictions[mask], loss[mask] = _predict(
                    fitted, X[mask], codes[mask], classes
                )
            except Exception as error:
                failure = f"{type(error).__name__}: {error}"
                predictions[:], loss[:] = -1, np.nan
                break
            report(len(seconds) / len(fold_numbers))
    # The first message of each category.
    messages = {warning.category: str(warning.message) for warning in caught[::-1]}
    notes = tuple(messages.values())[::-1]
    is_plain_qda = type(model) is QuadraticDiscriminantAnalysis and not model.reg_param
    # Newer versions of scikit-learn raise an error instead of a warning.
    text = " ".join([failure or "", *notes])
    if is_plain_qda and ("not full rank" in text or "collinear" in text):
        qda = QuadraticDiscriminantAnalysis(reg_param=_REG_PARAM)
        result = evaluate(
            make_pipeline(StandardScaler(), qda), X, labels, folds, report
        )
        return replace(result, notes=(_SINGULAR, *result.notes))
    mean = float(np.mean(seconds)) if seconds else np.nan
    return HeldOut(predictions, loss, mean, notes, failure)


def _predict(
    fitted: Any, X: Array, truth: Index, classes: NDArray[Any]
) -> tuple[Index, Array]:
    """Return the predicted class indices and the log losses of held-out rows."""
    labels = column_or_1d(fitted.predict(X))
    predictions = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    if np.any(classes[predictions] != labels):
        raise ValueError("it predicts labels that are not classes: is it a classifier?")
    if not hasattr(fitted, "predict_proba"):
        return predictions, np.full(len(X), np.nan)
    chances = fitted.predict_proba(X)[np.arange(len(X)), truth]
    return predictions, log_losses(chances)
