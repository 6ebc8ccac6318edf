r"""Why rows are classified as they are: contributions of the features to log-odds.

In the pair of the predicted class and its closest rival, let s be the score, positive
for the predicted class, and :math:`x_0` a point at which it is 0: on the segment
between the means of the classes or, if it does not cross the hyperplane, the projection
of the nearer mean m along S w, with the covariance S of its class. On the side of the
row, log-odds are :math:`a + b s`, and

.. math:: \log\frac{p}{1 - p} = a + \sum_i b w_i (x_i - x_{0,i}).

With more than two classes these are the log-odds of the pair, not those of
`predict_proba`, which follow from all pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.foundations.arrays import Array, Index
from heterolda.kernels.coupling import Curve
from heterolda.statistics.typicality import ClassDistances


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why rows are classified as they are, and how unlike the rows of the fit they are.

    Parameters
    ----------
    features : ndarray of str of shape (n_features,)
        Names of the features, or their indices as text.
    values : ndarray of shape (n_samples, n_features)
        The rows.
    predicted, rival : ndarray of shape (n_samples,)
        The predicted class, and the class whose pair with it is explained: the second
        likeliest. In one-vs-rest models it is "the rest".
    log_odds : ndarray of shape (n_samples,)
        Log-odds of the predicted class in this pair. For two classes they are those of
        `predict_proba`.
    offset : ndarray of shape (n_samples,)
        What no feature contributes.
    contributions : ndarray of shape (n_samples, n_features)
        What each feature contributes: ``offset + contributions.sum(axis=1)`` is
        `log_odds`. If features are transformed, they are exact for the transformed
        features.
    flip_feature : ndarray of int of shape (n_samples,)
        Index of the feature whose change alone, the smallest in deviations of its
        class, makes `predict` return another class; -1 if there is none.
    flip_value : ndarray of shape (n_samples,)
        The value of this feature with which it does; NaN if there is none.
    typicality : ndarray of shape (n_samples,)
        As the method of that name returns it.
    unlike : ndarray of int of shape (n_samples,)
        Index of the feature that makes the row most unlike its nearest class: given all
        other features, its value is the most improbable.

    See Also
    --------
    GaussianLinearDiscriminant.explain : Returns it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from heterolda import GaussianLinearDiscriminant
    >>> data = load_iris(as_frame=True)
    >>> model = GaussianLinearDiscriminant().fit(data.data, data.target)
    >>> why = model.explain(data.data[100:101])
    >>> total = why.offset + why.contributions.sum(axis=1)
    >>> why.predicted, bool(abs(total - why.log_odds)[0] < 1e-9)
    (array([2]), True)
    """

    features: NDArray[Any]
    values: Array
    predicted: NDArray[Any]
    rival: NDArray[Any]
    log_odds: Array
    offset: Array
    contributions: Array
    flip_feature: Index
    flip_value: Array
    typicality: Array
    unlike: Index

    def __len__(self) -> int:
        return len(self.values)

    def text(self, n_features: int = 3) -> list[str]:
        """Return the largest contributions to each row, as text."""
        largest = np.argsort(-np.abs(self.contributions), axis=1, kind="stable")
        parts = zip(self.values, self.contributions, largest, strict=True)
        return [
            ", ".join(
                f"{self.features[i]} = {row[i]:.6g} ({given[i]:+.1f})"
                for i in order[:n_features]
            )
            for row, given, order in parts
        ]

    def to_frame(self) -> Any:
        """Return a data frame with a row for each row; needs pandas."""
        import pandas as pd

        names = "predicted", "rival", "log_odds", "offset", "typicality"
        columns = {name: getattr(self, name) for name in names}
        named = [self.features[i] if i >= 0 else None for i in self.flip_feature]
        columns |= {"flip_feature": named}
        columns |= {"flip_value": self.flip_value, "unlike": self.features[self.unlike]}
        frame = pd.DataFrame(columns)
        given = [f"contribution of {name}" for name in self.features]
        return frame.join(pd.DataFrame(self.contributions, columns=given))


def contributions(
    X: Array,
    coef: Array,
    intercept: Array,
    pairs: Index,
    distances: ClassDistances,
    curve: Curve,
) -> tuple[Array, Array, Array]:
    """Return log-odds of the second class, offsets and contributions.

    Rules, the classes of their pairs and the curve are those of each row; a class of -1
    stands for all classes together.
    """
    scores = np.einsum("nd,nd->n", X, coef) + intercept
    log_odds = curve.log_odds(scores[None])[0]
    sides = [distances.center_and_direction(coef, side) for side in pairs.T]
    at = [np.einsum("nd,nd->n", mean, coef) + intercept for mean, _ in sides]
    (first, along1), (second, along2) = sides
    with np.errstate(divide="ignore", invalid="ignore"):
        between = ((at[0] < 0) & (at[1] > 0))[:, None]
        share = (at[0] / (at[0] - at[1]))[:, None]
        nearer = (np.abs(at[0]) <= np.abs(at[1]))[:, None]
        mean, along = np.where(nearer, (first, along1), (second, along2))
        step = np.where(nearer[:, 0], *at) / np.einsum("nd,nd->n", along, coef)
        zero = np.where(
            between, first + share * (second - first), mean - step[:, None] * along
        )
        offset = np.where(scores > 0, curve.offset[1], -curve.offset[0])
        given = ((log_odds - offset) / scores)[:, None] * coef * (X - zero)
    given = np.where(np.isfinite(given), given, 0.0)
    return log_odds, log_odds - given.sum(axis=1), given
