"""Errors and warnings that users may want to catch or filter by name."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.foundations.wording import listed

# Distance of neighbouring numbers, in standard deviations, that draws no warning.
_MOST_ROUNDING = 0.01
# Warnings point at the line that called fit, through fit, its decorator and _solve.
_STACKLEVEL = 5


@dataclass(frozen=True)
class Setting:
    """A parameter that a message speaks of, with the value that it names or advises.

    Attributes
    ----------
    parameter : str
        Its name.
    value : object or None
        The value; None where the message speaks of the parameter only.
    """

    parameter: str
    value: object = None

    def __str__(self) -> str:
        return self.parameter + ("" if self.value is None else f"={self.value!r}")


class _SpeaksOfSettings(Exception):
    """A message made of text and settings, for programs with other names for these."""

    def __str__(self) -> str:
        return "".join(map(str, self.args))

    @property
    def settings(self) -> tuple[Setting, ...]:
        """The settings that the message speaks of."""
        return tuple(piece for piece in self.args if isinstance(piece, Setting))


class ParameterError(_SpeaksOfSettings, ValueError):
    """A parameter has a value that cannot be used.

    Parameters
    ----------
    *message : str or Setting
        The pieces of the message. The first setting is the parameter to blame, others
        are those that the message advises.

    Attributes
    ----------
    parameter : str
        Name of the parameter.
    settings : tuple of Setting
        All parameters that the message speaks of, and the values that it gives them.

    Examples
    --------
    >>> from heterolda import GaussianLinearDiscriminant, ParameterError
    >>> X, y = [[0], [1], [4], [6]], [0, 0, 1, 1]
    >>> try:
    ...     GaussianLinearDiscriminant(priors=[0.5, 0.6]).fit(X, y)
    ... except ParameterError as error:
    ...     print(error.parameter, error, sep="; ")
    priors; priors must sum to one, got a sum of 1.1: divide them by it
    """

    @property
    def parameter(self) -> str:
        """Name of the parameter to blame."""
        return self.settings[0].parameter


class SmallClassWarning(_SpeaksOfSettings, UserWarning):
    """A class has too few samples for its covariance to be trusted unregularised.

    Examples
    --------
    >>> import warnings
    >>> from heterolda import GaussianLinearDiscriminant, SmallClassWarning
    >>> X, y = [[0, 1], [1, 3], [2, 0], [7, 5], [8, 8]], [0, 0, 0, 1, 1]
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", SmallClassWarning)
    ...     GaussianLinearDiscriminant().fit(X, y)
    Traceback (most recent call last):
    heterolda.exceptions.SmallClassWarning: classes [1] have fewer samples than ...
    """


class TrivialRuleWarning(UserWarning):
    """For some pair the rule is always to choose the same class.

    Examples
    --------
    >>> import warnings
    >>> from heterolda import ClassStatistics, GaussianLinearDiscriminant
    >>> rare = ClassStatistics.from_moments([0, 1], [99, 2], [[0], [0]], [[[1]], [[1]]])
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     GaussianLinearDiscriminant().fit_statistics(rare).trivial_
    array([ True])
    >>> caught[0].category.__name__
    'TrivialRuleWarning'
    """


class PrecisionWarning(UserWarning):
    """A feature varies so little, for its size, that float64 holds few digits of it.

    Examples
    --------
    >>> import warnings
    >>> from heterolda import GaussianLinearDiscriminant
    >>> X, y = [[1e16], [1e16 + 2], [1e16 + 6], [1e16 + 8]], [0, 0, 1, 1]
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     GaussianLinearDiscriminant().fit(X, y).predict(X)
    array([0, 0, 1, 1])
    >>> caught[0].category.__name__
    'PrecisionWarning'
    """


class SearchInterruptedWarning(UserWarning):
    """A search was interrupted, and the estimator has the best rules so far.

    Examples
    --------
    To stop the program after Ctrl-C instead, make it an error:

    >>> import warnings
    >>> from heterolda import LocalNeighborhoodSearch, SearchInterruptedWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", SearchInterruptedWarning)
    ...     search = LocalNeighborhoodSearch().fit([[0], [1], [4], [6]], [0, 0, 1, 1])
    """


class MissingRowsWarning(UserWarning):
    """Rows with missing values were left out, as asked for.

    Examples
    --------
    >>> import warnings
    >>> import pyarrow as pa
    >>> from heterolda.data import statistics_from_batches
    >>> table = pa.table({"x": [1.0, None, 3.0, 5.0], "kind": ["a", "a", "b", "b"]})
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     statistics_from_batches(table, "kind", missing="drop").weights
    array([1., 2.])
    >>> caught[0].category.__name__
    'MissingRowsWarning'
    """


class SimilarLabelsWarning(UserWarning):
    """Labels of different classes differ only in blanks, or in how a number is written.

    Examples
    --------
    >>> import warnings
    >>> import pyarrow as pa
    >>> from heterolda.data import statistics_from_batches
    >>> table = pa.table({"x": [1.0, 2.0, 3.0, 5.0], "kind": ["a", "a ", "a", "b"]})
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     statistics_from_batches(table, "kind").classes
    array(['a', 'a ', 'b'], dtype='<U2')
    >>> caught[0].category.__name__
    'SimilarLabelsWarning'
    """


def warn_of_similar_labels(labels: Iterable[Any]) -> None:
    """Name the labels that somebody may have meant to be the same.

    Parameters
    ----------
    labels : iterable
        All labels; only text is looked at.
    """
    alike: dict[object, list[str]] = {}
    for label in labels:
        if isinstance(label, str):
            alike.setdefault(_essence(label), []).append(label)
    groups = [group for group in alike.values() if len(group) > 1]
    if groups:
        names = "; ".join(" and ".join(map(repr, group[:5])) for group in groups[:5])
        warnings.warn(
            f"these labels look alike, but are different classes: {names}. If they "
            "should be the same, write them alike",
            SimilarLabelsWarning,
            stacklevel=4,
        )


def _essence(label: str) -> object:
    """A label without blanks around it, as a number if it is one."""
    try:
        return float(label)
    except ValueError:
        return label.strip()


def warn_of_weak_moments(
    classes: NDArray[Any],
    weights: NDArray[np.float64],
    means: NDArray[np.float64],
    covariances: NDArray[np.float64],
    shrunk: bool,
) -> None:
    """Warn of classes with too few samples and of features too far from zero.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        Labels.
    weights : ndarray of shape (n_classes,)
        Total weights.
    means : ndarray of shape (n_classes, n_features)
        Class means.
    covariances : ndarray of shape (n_classes, n_features, n_features)
        Class covariances.
    shrunk : bool
        Whether these make up for few samples.
    """
    small = classes[weights < means.shape[1] + 1]
    if len(small) and not shrunk:
        warning = SmallClassWarning(
            f"classes {listed(small)} have fewer samples than features plus one, so "
            "their covariances are singular by accident and the fit may exploit it: "
            "use ",
            Setting("shrinkage", "auto"),
            ", or fewer features",
        )
        warnings.warn(warning, stacklevel=_STACKLEVEL)
    variances = np.einsum("kii->ki", covariances)
    coarse = np.spacing(np.abs(means)) > _MOST_ROUNDING * np.sqrt(variances)
    far = np.flatnonzero(np.any(coarse & (variances > 0), axis=0))
    if len(far):
        warnings.warn(
            f"features {listed(far)} lie so far from zero, for how little they vary, "
            "that rounding to float64 takes a share of what they tell: subtract a "
            "constant from them where they come from",
            PrecisionWarning,
            stacklevel=_STACKLEVEL,
        )


def warn_of_trivial_rules(
    classes: NDArray[Any], pairs: NDArray[np.intp], *, costs: bool = False
) -> None:
    """Give one warning that names the pairs without a useful hyperplane.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        Labels.
    pairs : ndarray of shape (n_trivial, 2)
        Class indices of the pairs; -1 stands for all other classes.
    costs : bool, default=False
        Whether costs were given, which may be the reason.
    """
    if len(pairs):
        labels = [*map(repr, classes.tolist()), "the rest"]
        names = "; ".join(f"{labels[i]} and {labels[j]}" for i, j in pairs[:5])
        more = f" and {len(pairs) - 5} more" if len(pairs) > 5 else ""
        answer, remedy = (
            "choosing the likelier class",
            "Pass other priors if the rarer class matters more than its frequency says",
        )
        if costs:
            answer, remedy = (
                "giving the same answer, under these priors and costs,",
                "Pass less unequal costs, or other priors, if both answers matter",
            )
        warnings.warn(
            f"the solver found no hyperplane that beats always {answer} for: "
            f"{names}{more}. {remedy}",
            TrivialRuleWarning,
            stacklevel=_STACKLEVEL,
        )


def warn_of_missing_rows(n_dropped: int, n_rows: int) -> None:
    """Say how many rows were left out, if any were.

    Parameters
    ----------
    n_dropped, n_rows : int
        Number of rows that were left out, and of those that were not.
    """
    if n_dropped:
        warnings.warn(
            f"{n_dropped} of {n_dropped + n_rows} rows have missing values and were "
            "left out",
            MissingRowsWarning,
            stacklevel=3,
        )


def warn_of_interruption(n_done: int, n_pairs: int) -> None:
    """Say how far a search came that was interrupted.

    Parameters
    ----------
    n_done, n_pairs : int
        Number of pairs whose search had ended, and of all.
    """
    warnings.warn(
        f"interrupted after {n_done} of {n_pairs} pairs of classes: the others keep "
        "the best rule found so far, or their start; the estimator is fitted and "
        "usable",
        SearchInterruptedWarning,
        stacklevel=_STACKLEVEL,
    )
