"""What a fitted classifier says of new rows, besides their classes."""

# The estimators follow scikit-learn, which has no types.
# mypy: ignore-errors
from __future__ import annotations

import numpy as np

from heterolda.estimators.base import OTHERS, accepts_lazy, host_of
from heterolda.estimators.gathering import check_has_statistics
from heterolda.estimators.gaussians import Gaussians
from heterolda.estimators.reasons import Explanation, contributions
from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import (
    blocks,
    dense,
    device_of,
    to_host,
)
from heterolda.foundations.validation import NUMERIC_TYPES, validate_more_rows
from heterolda.kernels.coupling import Curve
from heterolda.statistics.frequencies import estimated_frequencies
from heterolda.statistics.shrinkage import Shrinkage
from heterolda.statistics.typicality import ClassDistances
from heterolda.statistics.wide import in_span

# Number of values of rows that are made dense at a time.
_BLOCK = 1 << 20
# A flip goes beyond the threshold by this share of the way.
_BEYOND = 1e-6


def distances_of(model: Gaussians) -> ClassDistances:
    """Return the distances of rows from Gaussian classes."""
    return ClassDistances(model.stats, model.shrinkage, model.span)


class Typical:
    """An estimator with class statistics that says how typical rows are."""

    @accepts_lazy
    def typicality(self, X):
        r"""Return how typical rows are of the class that they are most typical of.

        Parameters
        ----------
        X : {array-like, sparse, dask collection} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples,)
            The largest over the classes of the share of rows, left out of the fit, that
            are as far from their class: below 0.01 for about one in a hundred new rows
            of a class, or fewer. Distances are
            :math:`(x - m)' S^{-1} (x - m)`, with the covariances in use. Up to 1,000
            rows of each class were drawn in `fit`; beyond the farthest of them, and in
            models without rows, shares follow the distribution of Gaussian classes.
            With missing values, the observed features decide.
        """
        self._check_ready()
        return self._typical(self._numbers(X))[0]

    def _typical(self, X):
        """Return typicality, and the feature that makes each row most unlike."""
        start, distances = self._classes()
        step = max(1, _BLOCK // X.shape[1])
        parts = [
            distances.typicality(self._as_measured(dense(X[rows])), start._far_rows)
            for rows in blocks(X.shape[0], step)
        ]
        return tuple(np.concatenate(part) for part in zip(*parts, strict=True))

    def _numbers(self, X):
        """Return validated rows in NumPy, perhaps with missing values."""
        finite = "allow-nan" if getattr(self, "missing", None) == "em" else True
        X = to_host(X) if device_of(X) is not None else X
        checks = {"dtype": NUMERIC_TYPES, "accept_sparse": "csr"}
        return validate_more_rows(self, X, ensure_all_finite=finite, **checks)

    def _as_measured(self, X):
        """Return rows of the features in which distances are measured."""
        return X.astype(np.float64, copy=False)


class InUse(Typical):
    """A classifier that says, too, why rows are of a class, and how frequent it is."""

    def explain(self, X):
        r"""Return why rows are classified as they are.

        In the pair of the predicted class and the second likeliest, the log-odds on the
        side of the row are a line :math:`a + b s` in the score. With a point
        :math:`x_0` at which the score is 0, between the means of the classes, they are
        the offset a and the contributions :math:`b w_i (x_i - x_{0,i})` of the
        features.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data without missing values.

        Returns
        -------
        heterolda.inspection.Explanation
            Contributions, and the smallest change of one feature that changes the
            prediction.
        """
        self._check_ready()
        model, (_, distances) = host_of(self), self._classes()
        rows = dense(self._numbers(X)).astype(np.float64, copy=False)
        if np.isnan(rows).any():
            raise ParameterError(
                "X", "has missing values, and only complete rows can be explained"
            )
        Z = model._as_solved(rows)
        predicted, pair, sign = model._closest(rows)
        (coef, intercept, _), pairs = model._rules, model.pairs_[pair]
        coef, intercept = coef[pair], intercept[pair]
        curve = Curve(*(part[..., pair] for part in model._committee.curve))
        parts = contributions(Z, coef, intercept, pairs, distances, curve)
        log_odds, offset, given = (sign * part.T for part in parts)
        other = np.where(sign > 0, pairs[:, 0], pairs[:, 1])
        rival = np.append(self.classes_, OTHERS) if other.min() < 0 else self.classes_
        names = getattr(self, "feature_names_in_", np.arange(rows.shape[1]))
        return Explanation(
            names.astype(str),
            rows,
            self.classes_[predicted],
            rival[other],
            log_odds,
            offset,
            given.T,
            *model._flips(Z, rows, coef, intercept, predicted, distances),
            *model._typical(rows),
        )

    def estimate_priors(self, X):
        r"""Estimate the frequencies of the classes in rows without labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows in which the classes look as in the fit, but may be more or less
            frequent.

        Returns
        -------
        heterolda.inspection.Frequencies
            Frequencies of the largest likelihood [1]_, with intervals. For rules that
            suit them, use ``model.with_operating_point(priors=...)`` with their
            `as_priors`.

        References
        ----------
        .. [1] M. Saerens, P. Latinne and C. Decaestecker (2002), "Adjusting the outputs
           of a classifier to new a priori probabilities", Neural Computation 14, 21-41.
        """
        self._check_ready()
        weights = self._classes()[0].statistics_.weights
        model, n_fit = host_of(self)._for_priors(), float(weights.sum())
        priors = getattr(model, "priors_", weights / n_fit)
        p = np.asarray(model.predict_proba(X), np.float64)
        return estimated_frequencies(p, priors, n_fit, self.classes_)

    def _classes(self):
        """Return the estimator that knows the classes, and distances from them."""
        start = getattr(self, "estimator_", self)
        if not isinstance(start, InUse):
            raise AttributeError(
                f"{type(start).__name__} has no statistics of the classes, which this "
                "method needs: start from GaussianLinearDiscriminant"
            )
        check_has_statistics(start, "this method")
        shrinkage = start._settings["shrinkage"]
        stats, span = in_span(start.statistics_, shrinkage)
        amounts = Shrinkage.of(stats, shrinkage, start.shrinkage_)
        return start, ClassDistances(stats, amounts, span)

    def _as_measured(self, X):
        """Return rows of the features in which distances are measured.

        Rules see values up to the limit of the transformation, distances all of them.
        """
        powers = self._rules[2]
        rows = self._as_solved(X)
        return rows if powers is None else rows + powers.beyond(X)

    def _as_solved(self, X):
        """Return rows of the features for which the rules were solved."""
        powers = self._rules[2]
        X = X.astype(np.float64, copy=False)
        return X if powers is None else powers.apply(X)

    def _closest(self, rows):
        """Return predicted classes, pairs with the closest rivals, and their signs."""
        n = np.arange(len(rows))
        if len(self.classes_) == 2 or self.pairs_[0, 0] < 0:
            best = self._apply_to_complete(rows, "winners")
            if len(self.classes_) > 2:
                return best, best, np.ones(len(rows))
            return best, np.zeros(len(rows), np.intp), np.where(best, 1.0, -1.0)
        method = "decisions" if self._votes() else "probabilities"
        scores = self._apply_to_complete(rows, method)
        best = scores.argmax(axis=1)
        scores[n, best] = -np.inf
        rival = scores.argmax(axis=1)
        place = np.zeros((len(self.classes_),) * 2, np.intp)
        place[self.pairs_[:, 0], self.pairs_[:, 1]] = np.arange(len(self.pairs_))
        pair = place[np.minimum(best, rival), np.maximum(best, rival)]
        return best, pair, np.where(best > rival, 1.0, -1.0)

    def _flips(self, Z, rows, coef, intercept, predicted, distances):
        """Return the features whose change alone changes predictions, and values."""
        n, deviations = np.arange(len(rows)), distances.deviations[predicted]
        scores = np.einsum("nd,nd->n", Z, coef) + intercept
        with np.errstate(divide="ignore", invalid="ignore"):
            change = -scores[:, None] / coef
            size = np.abs(change) / deviations
        place = np.where(np.isfinite(size), size, np.inf).argmin(axis=1)
        values = Z[n, place] + (1 + _BEYOND) * change[n, place]
        powers = self._rules[2]
        if powers is not None:
            values = powers.inverse(values, place)
        changed = rows.copy()
        changed[n, place] = values
        possible = np.isfinite(values)
        changed[~possible] = rows[~possible]
        flips = self._apply_to_complete(changed, "winners") != predicted
        return np.where(flips, place, -1), np.where(flips, values, np.nan)

    def _for_priors(self):
        """Return a model whose probabilities refer to its priors, not to costs."""
        is_bayes = getattr(self, "criterion", "bayes") == "bayes"
        if is_bayes and getattr(self, "costs", None) is None:
            return self
        try:
            return self.with_operating_point()
        except (AttributeError, ValueError) as error:
            raise ParameterError(
                "costs",
                "change the probabilities of this model, so that frequencies do not "
                "follow from them: fit a model without costs",
            ) from error
