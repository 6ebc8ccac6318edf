"""What must come out of a case. A judge returns a complaint, or None."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from heterolda import ModelMisfitWarning
from hostile.data import Data
from hostile.reference import error_of, least_error, moments
from hostile.trial import Trial, benign_trial, is_clear, unsound
from hostile.ways import OF_STATISTICS

# What the certificate promises; and what a variance that cannot be told from zero,
# which counts as a share of 1e-7, may change in an error.
_GAP, _FLOOR = 1e-3, 3e-4


@dataclass(frozen=True, kw_only=True)
class Judge:
    """A fitted classifier that does nothing that none may do.

    Attributes
    ----------
    warns : type or None
        The one warning that must be given; there may be no other.
    told : type or None
        Another one, which those must give who have the statistics only, and others may
        who do not have all rows at once.
    may : type or None
        One that may be given.
    """

    warns: type[Warning] | None = None
    told: type[Warning] | None = None
    may: type[Warning] | None = None

    def __call__(self, trial: Trial) -> str | None:
        """A complaint, or None."""
        complaint = unsound(trial)
        if complaint:
            return complaint
        wanted = {self.warns} - {None}
        given = set(trial.warnings) - {self.may}
        if trial.way in OF_STATISTICS:
            wanted |= {self.told} - {None}
        elif trial.way != "fit":
            given -= {self.told}
        if trial.guarded.any():
            given -= {ModelMisfitWarning}
        if given != wanted and not trial.contender.is_peer:
            names = [w.__name__ for w in trial.warnings]
            return f"warned of {names} instead of {[w.__name__ for w in wanted]}"
        return self.examine(trial)

    def examine(self, trial: Trial) -> str | None:
        """What else is wrong."""
        return None


@dataclass(frozen=True, kw_only=True)
class Same(Judge):
    """The answers for the twin.

    Algorithm 2 goes another way in other coordinates: it must not lose what
    the start of the twin has.

    Attributes
    ----------
    tolerance : float
        Share of rows, next to the thresholds, that may be answered otherwise.
    accuracy : bool
        Whether it is the share by which the accuracy may be lower.
    """

    tolerance: float = 0.0
    accuracy: bool = False

    def examine(self, trial: Trial) -> str | None:
        """Compare with the twin."""
        # Statistics have no rows that could speak against the model, the others have.
        way = {"partial_fit": "statistics"}.get(trial.way, trial.way)
        way = way if way in OF_STATISTICS else "fit"
        twin = benign_trial(trial.contender, trial.data.twin, way)
        if twin.error is not None:
            return None if trial.contender.is_peer else f"twin: {twin.error!r}"
        before, allowed = twin.accuracy, self.tolerance
        if trial.contender.name == "paper":
            start = twin.model.estimator_
            before = min(before, start.score(twin.data.X, twin.data.y))
            lost, allowed = before - trial.accuracy, allowed + 0.01
        elif self.accuracy:
            lost = before - trial.accuracy
        else:
            lost = float(np.mean(_codes(twin) != _codes(trial)))
        if lost > allowed:
            return f"accuracy {trial.accuracy:.0%} instead of {before:.0%}"
        return None


def _codes(trial: Trial) -> Any:
    """Answers as places of the classes, whatever the labels are called."""
    return np.searchsorted(trial.model.classes_, trial.labels)


@dataclass(frozen=True, kw_only=True)
class Accurate(Judge):
    """An accuracy of no less than a bound."""

    least: float = 1.0

    def examine(self, trial: Trial) -> str | None:
        """Count."""
        if trial.accuracy < self.least:
            return f"accuracy {trial.accuracy:.0%} instead of {self.least:.0%}"
        return None


@dataclass(frozen=True, kw_only=True)
class NoWorseThanLDA(Judge):
    """An accuracy on other rows that is not clearly below that of LDA, or a warning."""

    def __call__(self, trial: Trial) -> str | None:
        """Compare with LDA, row by row."""
        complaint = unsound(trial)
        if complaint:
            return complaint
        others = set(trial.warnings) - {ModelMisfitWarning}
        if others and not trial.contender.is_peer:
            return f"warned of {[w.__name__ for w in others]}"
        data = trial.data
        lda = LinearDiscriminantAnalysis().fit(data.X, data.y).predict(data.to_predict)
        right, theirs = trial.labels == data.labels, lda == data.labels
        worse = np.mean(theirs.astype(int) - right)
        error = np.std(theirs.astype(int) - right) / np.sqrt(len(right))
        if worse > 0.015 + 2 * error and ModelMisfitWarning not in trial.warnings:
            return f"accuracy {trial.accuracy:.0%} instead of {np.mean(theirs):.0%}"
        return None


@dataclass(frozen=True, kw_only=True)
class Constant(Judge):
    """The same answer for all rows."""

    label: Any = 0

    def examine(self, trial: Trial) -> str | None:
        """Look at the answers."""
        wrong = np.unique(trial.labels[trial.labels != self.label])
        return f"answers {wrong.tolist()}, too" if len(wrong) else None


@dataclass(frozen=True, kw_only=True)
class Optimal(Judge):
    """The least error under the Gaussian model, by brute force, and reported as it is.

    Other solvers than "global" need not find it; but no error may be below it, and
    none may be reported below that of the rule.
    """

    def examine(self, trial: Trial) -> str | None:
        """Evaluate the rules of all pairs."""
        model, data = trial.model, trial.data
        if trial.contender.is_peer or not hasattr(trial.model, "bayes_error_"):
            return None
        if trial.contender.name.startswith("shrinkage"):
            return None
        for k in {0, len(model.pairs_) - 1}:
            if trial.guarded[k]:
                continue
            pair = tuple(model.pairs_[k].tolist())
            two = _two(data, pair)
            error = float(error_of(model.coef_[k], model.intercept_[k], *two))
            best, reported = _least(data, pair), model.bayes_error_[k]
            if error < best - 1e-6:
                return f"has {error:.6f}: brute force found only {best:.6f}"
            if reported < error - _FLOOR:
                return f"reports {reported:.6f}, but has {error:.6f}"
            if trial.contender.name == "global":
                if error > best * (1 + _GAP) + _FLOOR:
                    return f"has {error:.6f}: brute force found {best:.6f}"
                if reported > error + _FLOOR:
                    return f"reports {reported:.6f}, but has {error:.6f}"
        return None


def _two(data: Data, pair: tuple[int, int]) -> tuple[Any, Any, Any]:
    """Moments and priors of two classes."""
    means, cov, priors = moments(data.X, data.y)
    priors = np.asarray(data.settings.get("priors", priors))
    two = list(pair)
    return means[two], cov[two], priors[two] / priors[two].sum()


@lru_cache(maxsize=256)
def _least(data: Data, pair: tuple[int, int]) -> float:
    return least_error(*_two(data, pair))


@dataclass(frozen=True, kw_only=True)
class Refused(Judge):
    """A clear error whose message has some words."""

    words: str = ""

    def __call__(self, trial: Trial) -> str | None:
        """Look at the error."""
        error = trial.error
        if error is None:
            return "answered, though there is no answer"
        if not is_clear(error):
            return f"raised {type(error).__name__}: {error}"
        if not trial.contender.is_peer and not re.search(self.words, str(error)):
            return f"said {str(error)!r} instead of {self.words!r}"
        return None


@dataclass(frozen=True, kw_only=True)
class Fair(Judge):
    """An answer or a clear error: of peers, where either is right."""

    def __call__(self, trial: Trial) -> str | None:
        """Look at the error, if there is one."""
        if trial.error is not None and is_clear(trial.error):
            return None
        return unsound(trial)


@dataclass(frozen=True, kw_only=True)
class Checked(Judge):
    """Whatever a function finds; for ours only."""

    check: Callable[[Trial], str | None] = lambda trial: None

    def examine(self, trial: Trial) -> str | None:
        """Ask the function."""
        return None if trial.contender.is_peer else self.check(trial)
