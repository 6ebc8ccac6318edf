"""The linear discriminant of smoothed rows, for data that are not normal."""

# The estimators follow scikit-learn, which has no types.
# mypy: ignore-errors
from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from heterolda.estimators.base import PRIORS, SHRINKAGE, LinearClassifier, put_on
from heterolda.estimators.calibration import sided_log_odds
from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.gathering import forget_fit, rows_in_memory
from heterolda.estimators.power_transformer import transformer_of
from heterolda.estimators.votes import committee_of
from heterolda.estimators.width_choice import Candidates, choose, transformed
from heterolda.foundations.arrays import device_of
from heterolda.foundations.sklearn_private import Interval, StrOptions, fit_context
from heterolda.foundations.validation import check_priors
from heterolda.search.scored import scored_rules
from heterolda.search.smoothed import RIDGES, WIDTHS
from heterolda.solvers import all_pairs


class SmoothedLinearDiscriminant(LinearClassifier):
    r"""Linear discriminant that minimizes a smoothed error, for non-normal data.

    For a width :math:`h \in (0, 1]`, each row :math:`x_j` of class k becomes a Gaussian
    with the mean :math:`m_k + \sqrt{1 - h^2} (x_j - m_k)` and the covariance
    :math:`h^2 S_k`, so that each class keeps its mean and covariance. The rule of two
    classes has the smallest error under these mixtures. With ``width=1`` that is the
    optimum for two Gaussians, :class:`GaussianLinearDiscriminant`, with its
    certificate; as the width goes to 0, the error becomes the share of training errors,
    which :class:`LocalNeighborhoodSearch` reduces. With more than two classes, the
    log-odds of all pairs together give their probabilities.

    Parameters
    ----------
    width : float in (0, 1] or "cv", default="cv"
        Width of the Gaussians, relative to their class. With "cv", the rule is the mean
        of the candidates that make nearly the fewest errors on held-out rows; see
        Notes.
    transformation : {"auto", None}, default="auto"
        "auto" transforms features that are not Gaussian within the classes, by Yeo and
        Johnson's power transformation [1]_, unless held-out rows are classified better
        without it, and limits outliers.
    shrinkage : float in [0, 1], pair of floats, "auto", "cv" or None, default="cv"
        Shrinkage of the covariances :math:`S_k`, as in
        :class:`GaussianLinearDiscriminant`.
    priors : array-like of shape (n_classes,), dict, "equal" or None, default=None
        Class priors; relative frequencies if None.
    n_jobs : int or None, default=None
        Number of threads to use across folds. -1 means all processors. The result does
        not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    width_ : float
        The width with the fewest errors on held-out rows.
    path_ : list of dict
        The candidates: the `width` of each, or else the penalty `ridge` of a logistic
        regression, its `error` on held-out rows, the `standard_error` of that error,
        and its `weight` in the mean.
    held_out_error_ : float
        Estimated error rate on new rows: each row is held out and predicted by the
        candidates that the other folds would choose. NaN if no row can be held out.
    smoothed_error_ : ndarray of shape (n_pairs,)
        Smoothed error of the rule of each pair, averaged over the widths in the mean.
    temperature_ : float
        Number, at least 1, that divides the logarithms of probabilities, to fit the
        held-out rows; 1 with two classes.
    transformation_ : ClassPowerTransformer or None
        Fitted transformer of the features, with the `center_`, `scale_` and power
        (`lambdas_`) of each; None if features are left as they are. All methods take
        untransformed features.
    pairs_ : ndarray of shape (n_pairs, 2)
        Class indices (i, j), i < j, of each rule.
    transformed_coef_ : ndarray of shape (n_pairs, n_features)
        Normals of the hyperplanes, for ``transformation_.transform(X)``, or for X if
        `transformation_` is None. A positive score means the second class.
    transformed_intercept_ : ndarray of shape (n_pairs,)
        Offsets of these hyperplanes.
    coef_, intercept_ : ndarray
        The same, if `transformation_` is None; otherwise scores are not linear in the
        features, and there is no such attribute.
    priors_ : ndarray of shape (n_classes,)
        Class priors.
    estimator_ : GaussianLinearDiscriminant
        The discriminant of ``transformation_.transform(X)``: the certified optimum for
        Gaussian classes, where the path begins. It takes the transformed features.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str of shape (n_features,)
        Names of the features, if X had string column names.

    See Also
    --------
    GaussianLinearDiscriminant : The optimum for Gaussian classes, ``width=1``.
    LocalNeighborhoodSearch : Fewer training errors, Algorithm 2.

    Notes
    -----
    The smoothed error of a rule :math:`(w, w_0)`, with
    :math:`s_j = w \cdot m_k + \sqrt{1 - h^2}\, w \cdot (x_j - m_k)` and
    :math:`\sigma_k^2 = w' S_k w`, is

    .. math::
        p_h = \pi_1 \operatorname{mean}_j \Phi\Big(\frac{w_0 - s_j}{h \sigma_1}\Big)
        + \pi_2 \operatorname{mean}_j \Phi\Big(\frac{s_j - w_0}{h \sigma_2}\Big),

    over the rows of the first and of the second class. It is invariant under affine
    maps of the features. The rule of a width is found by descent from that of the next
    larger one on the path, the first from the certified optimum. A constant feature
    changes nothing; a copy of a feature, although redundant, counts twice in ridge
    penalties, in shrinkage to the diagonal and in the distances by which folds are
    dealt.

    The candidates of "cv" are ten widths from 1 to 0.002 and, for classes of few rows,
    three logistic regressions with a ridge penalty. All are fitted without each of five
    folds. The final rule is the mean of those whose errors on held-out rows are within
    one standard error of the fewest, each divided by the mean size of its scores. On
    each side of its threshold, log-odds are linear in the score, fitted to these rows.

    A feature with the mean c and the standard deviation s, neither of which depends on
    outliers, becomes, with :math:`z = (x - c) / s` limited to :math:`\pm 10`,

    .. math::
        \frac{(1 + z)^\lambda - 1}{\lambda} \text{ if } z \ge 0, \qquad
        -\frac{(1 - z)^{2 - \lambda} - 1}{2 - \lambda} \text{ if } z < 0,

    and :math:`\pm\log(1 + |z|)` where the exponent is 0. The power
    :math:`\lambda \in [-2, 4]` maximizes, to two digits, the likelihood of Gaussian
    classes. It is 1 wherever the Bayesian information criterion does not prefer
    another.

    References
    ----------
    .. [1] I.-K. Yeo and R. A. Johnson (2000), "A new family of power transformations
       to improve normality or symmetry", Biometrika 87, 954-959.
    .. [2] O. Chapelle, J. Weston, L. Bottou and V. Vapnik (2000), "Vicinal risk
       minimization", Advances in Neural Information Processing Systems 13, 416-422.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from heterolda import SmoothedLinearDiscriminant
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SmoothedLinearDiscriminant().fit(X, y)
    >>> bool(model.held_out_error_ < 0.04)
    True
    """

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn's convention)
        "width": [Interval(Real, 0, 1, closed="right"), StrOptions({"cv"})],
        "transformation": [StrOptions({"auto"}), None],
        "shrinkage": SHRINKAGE,
        "priors": PRIORS,
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        width="cv",
        *,
        transformation="auto",
        shrinkage="cv",
        priors=None,
        n_jobs=None,
    ):
        self.width = width
        self.transformation = transformation
        self.shrinkage = shrinkage
        self.priors = priors
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data, in memory. If they are larger, such as a Dask collection,
            pass a sample.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like, default=None
            Frequencies: a row of weight 3 counts as three copies. If the mean of the
            positive weights is below one, the weights are scaled to a mean of one.

        Returns
        -------
        SmoothedLinearDiscriminant
            The fitted estimator.
        """
        forget_fit(self)
        rows = rows_in_memory(self, X, y, sample_weight)
        priors = check_priors(self.priors, rows.classes, rows.totals)
        initial = GaussianLinearDiscriminant(
            shrinkage=self.shrinkage, priors=priors, guard=False
        )
        if self.width == "cv":
            candidates = Candidates(initial, WIDTHS, ridges=RIDGES)
        else:  # one candidate, at the end of its path
            larger = [width for width in WIDTHS if width > self.width]
            candidates = Candidates(initial, (*larger, self.width), len(larger))
        transforms = self.transformation is not None
        choice = choose(rows, candidates, transforms=transforms, n_jobs=self.n_jobs)
        rows = transformed(rows, choice.powers)
        initial.fit(rows.X, rows.labels, sample_weight=rows.weights)
        if hasattr(self, "feature_names_in_"):
            initial.feature_names_in_ = self.feature_names_in_
        path = candidates.needed(choice.chosen).fit(rows, initial.shrinkage_)
        coef, intercept, error = path.mean(choice.chosen)
        pairs = all_pairs(len(rows.classes))
        # Of pairs that no feature separates, the log-odds are those of the priors.
        trivial, log_odds = ~coef.any(axis=1), choice.log_odds
        first, second = np.log(priors[pairs]).T
        intercept = np.where(trivial, second - first, intercept)
        if log_odds is not None:
            offset = np.where(trivial, 0.0, log_odds.offset)
            slope = np.where(trivial, 1.0, log_odds.slope)
            log_odds = sided_log_odds(offset, slope)
        n_iter = np.zeros(len(pairs), np.intp)
        rules = scored_rules(rows, coef, intercept, error, n_iter)
        weights = np.bincount(choice.chosen, minlength=len(choice.errors))
        figures = {
            "error": choice.errors,
            "standard_error": choice.deviations,
            "weight": weights / len(choice.chosen),
        }
        self.classes_ = rows.classes
        self.estimator_ = initial
        self.priors_ = priors
        self.pairs_ = pairs
        self.transformed_coef_ = coef
        self.transformed_intercept_ = intercept
        self.transformation_ = transformer_of(choice.powers, self)
        self.smoothed_error_ = error
        self.path_ = [
            setting | {key: float(column[k]) for key, column in figures.items()}
            for k, setting in enumerate(candidates.settings)
        ]
        widths = [row for row in self.path_ if row["width"]]
        best = min(widths, key=lambda row: (row["error"], -row["width"]))
        self.width_ = best["width"]  # the largest if several tie
        self.held_out_error_ = choice.estimate
        calibration = 1.0 if trivial.all() else choice.temperature, log_odds
        self._committee = committee_of(rules, pairs, "probability", *calibration)
        put_on(initial, device_of(X))
        return put_on(self, device_of(X))

    @property
    def coef_(self):
        """Return the normals of the hyperplanes, if features are not transformed."""
        return self._if_linear("coef_")

    @property
    def intercept_(self):
        """Return the offsets of the hyperplanes, if features are not transformed."""
        return self._if_linear("intercept_")

    def _if_linear(self, name):
        """Return an attribute of the rules if scores are linear in the features."""
        self._check_ready()
        if self.transformation_ is not None:
            raise AttributeError(
                f"{name} does not exist, because this model is not linear in its "
                f"features: use transformed_{name} with transformation_.transform(X), "
                "or fit with transformation=None"
            )
        return getattr(self, f"transformed_{name}")

    @property
    def _rules(self):
        """Return normals, offsets, and the powers of the features or None."""
        powers = None if self.transformation_ is None else self.transformation_._powers
        return self.transformed_coef_, self.transformed_intercept_, powers


def recommended(**overrides: Any) -> SmoothedLinearDiscriminant:
    """Return a linear classifier with settings that suit most data.

    This is a :class:`SmoothedLinearDiscriminant`, which chooses its width, and whether
    to transform features, on held-out rows. Features need no scaling. After `fit`,
    ``held_out_error_`` estimates the error rate on new rows.

    Parameters
    ----------
    **overrides
        Parameters of `SmoothedLinearDiscriminant`.

    Returns
    -------
    SmoothedLinearDiscriminant
        An unfitted estimator.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> from heterolda import recommended
    >>> X, y = load_wine(return_X_y=True)
    >>> bool(cross_val_score(recommended(), X, y).mean() > 0.95)
    True
    >>> recommended(width=0.5).width
    0.5
    """
    return SmoothedLinearDiscriminant(**overrides)
