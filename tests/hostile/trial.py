"""One trial: fit and predict, with all that is raised, warned of and returned."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from hostile.contenders import Contender
from hostile.data import Data
from hostile.ways import WAYS

# Errors that speak to the user, besides our own. Their other subclasses, such as
# AxisError, do not, nor do those that were raised in these packages. A peer may raise a
# LinAlgError itself.
_CLEAR = (ValueError, TypeError, NotFittedError)
_INSIDE = ("numpy", "scipy")


@dataclass(frozen=True)
class Trial:
    """What came of it.

    Attributes
    ----------
    contender : Contender
        Who was tried.
    data : Data
        With what.
    model : estimator or None
        Fitted, unless there was an error.
    error : Exception or None
        What was raised.
    warnings : tuple of type
        Categories of the warnings, each message once.
    way : str
        How it was fitted.
    labels, probabilities, scores : ndarray or None
        Predictions.
    """

    contender: Contender
    data: Data
    model: Any = None
    error: Exception | None = None
    warnings: tuple[type[Warning], ...] = ()
    way: str = "fit"
    labels: Any = None
    probabilities: Any = None
    scores: Any = None

    @property
    def guarded(self) -> Any:
        """Pairs whose rule is, or may be, Fisher's, as rows speak against the model."""
        model = getattr(self.model, "estimator_", self.model)
        unknown = np.full(
            len(getattr(model, "pairs_", [0])), self.way == "command line"
        )
        return getattr(model, "guarded_", unknown)

    @property
    def accuracy(self) -> float:
        """Share of the rows that are predicted right."""
        return float(np.mean(self.labels == self.data.labels))


def attempt(contender: Contender, data: Data, way: str = "fit") -> Trial:
    """Fit in some way and predict."""
    found: dict[str, Any] = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = WAYS[way](contender.build(**data.settings), data)
            found["model"] = model
            found["labels"] = np.asarray(model.predict(data.to_predict))
            found["probabilities"] = np.asarray(model.predict_proba(data.to_predict))
            found["scores"] = np.asarray(model.decision_function(data.to_predict))
        except Exception as error:
            found["error"] = error
    messages = {str(w.message): w.category for w in caught}
    return Trial(contender, data, warnings=tuple(messages.values()), way=way, **found)


def is_clear(error: Exception) -> bool:
    """Whether an error was meant for the user."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    name = "" if trace is None else trace.tb_frame.f_globals.get("__name__", "")
    package = name.partition(".")[0]
    if type(error) is np.linalg.LinAlgError:
        return package == "sklearn"
    ours = type(error).__module__.startswith("heterolda.")
    return (ours or type(error) in _CLEAR) and package not in _INSIDE


@lru_cache(maxsize=512)
def benign_trial(contender: Contender, data: Data, way: str) -> Trial:
    """The trial of a twin, which several cases share."""
    return attempt(contender, data, way)


def unsound(trial: Trial) -> str | None:
    """What no fitted classifier may do, whatever the data; None if all is well."""
    if trial.error is not None:
        return f"raised {trial.error!r}"
    alien = [w for w in trial.warnings if issubclass(w, RuntimeWarning)]
    if alien:
        return "gave a RuntimeWarning"
    p = trial.probabilities
    if not (np.isfinite(p).all() and np.isfinite(trial.scores).all()):
        return "gave probabilities or scores that are not finite"
    rounding = 1e-6 if p.dtype == np.float32 else 1e-9
    if p.min() < 0 or np.abs(p.sum(axis=1, dtype=float) - 1).max() > rounding:
        return "gave probabilities that do not add up to one"
    if trial.contender.is_peer:
        return None
    if p.min() == 0:
        return "gave a probability of zero, whose logarithm is infinite"
    if np.any(trial.model.classes_[p.argmax(axis=1)] != trial.labels):
        return "predicted another class than that of the largest probability"
    fitted = vars(trial.model)
    for name in ("coef_", "intercept_", "bayes_error_", "n_errors_"):
        if not np.isfinite(fitted.get(name, 0)).all():
            return f"has a {name} that is not finite"
    return _miscounted(trial) if trial.contender.searches else None


def _miscounted(trial: Trial) -> str | None:
    """Whether a search of two classes counts the errors that it makes."""
    data, model = trial.data, trial.model
    if len(model.classes_) > 2 or data.weight is not None or data.rows is not None:
        return None
    errors = np.count_nonzero(trial.labels != data.labels)
    if errors != model.n_errors_[0]:
        return f"counts {model.n_errors_[0]} errors, but makes {errors}"
    if model.n_errors_[0] > model.n_errors_start_[0]:
        return "makes more errors than its start"
    return None
