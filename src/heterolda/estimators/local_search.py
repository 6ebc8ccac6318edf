"""The meta-estimator that refines linear rules by their training errors."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from heterolda.data.lazy import lazy_backend
from heterolda.estimators.prediction import LinearRules
from heterolda.estimators.search_steps import SearchSteps
from heterolda.estimators.starts import hold_out, training_data
from heterolda.foundations.sklearn_private import (
    CallbackSupportMixin,
    HasMethods,
    Interval,
    Options,
    StrOptions,
    fit_context,
)
from heterolda.foundations.validation import NUMERIC_TYPES, check_sample_weight
from heterolda.solvers.hyperplanes import settle_ties


class LocalNeighborhoodSearch(
    SearchSteps,
    LinearRules,
    CallbackSupportMixin,
    MetaEstimatorMixin,
    ClassifierMixin,
    BaseEstimator,
):
    r"""Refine the rules of any linear classifier by their training errors.

    Algorithm 2 of [1]_, for data that are not normal: from the rule
    :math:`v = (w_0, w)` of a linear classifier the search goes, in each iteration, to
    that neighbour :math:`v_i \pm 0.1 |v_i|` with the fewest training errors, even if
    it has no fewer than the current one, and in the end returns the best rule it ever
    saw. More than two classes are refined pair by pair, on the rows of the pair.

    Parameters
    ----------
    estimator : classifier, default=None
        Where the search starts: a linear classifier, which is cloned and fitted.
        `GaussianLinearDiscriminant()` by default. With more than two classes, a
        classifier other than `GaussianLinearDiscriminant` is fitted to each pair of
        classes. A fitted classifier in a :class:`~sklearn.frozen.FrozenEstimator` is
        taken as it is; the difference of two classes' scores is then their rule.
    strategy : {"paper", "exact", "smooth"}, default="paper"
        "paper" is Algorithm 2. "exact" follows it with searches along the
        coordinates, each over all real steps, from several starts; it takes longer,
        never ends with more training errors, and overfits more easily. "smooth"
        minimises a smooth count of the errors, anchored at the start; see Notes.
    step : float in (0, 1], default=0.1
        Length of a step, relative to the coefficient.
    max_iter : int, default=1000
        Most iterations of Algorithm 2; evaluating the start is the first.
    patience : int, default=100
        Most iterations of Algorithm 2 without a new lowest count.
    n_restarts : int, default=10
        For "exact": number of perturbed starts.
    loss : {"auto", "error", "logistic", "none"}, default="auto"
        For "smooth": what is minimised, a logistic step or the logistic loss. "none"
        keeps the start. "auto" chooses by cross-validation.
    bandwidth : float in [1e-6, 1e6] or "auto", default="auto"
        For "smooth": the width h; "auto" means 1/4 for "error", 1/2 for "logistic".
    anchor : float in (0, 1e6], infinity or "auto", default="auto"
        For "smooth": the strength :math:`\kappa` of the anchor; infinity keeps the
        start. "auto" chooses by cross-validation, infinity included.
    voting : {"auto", "weighted", "majority", "coupled"}, default="auto"
        With more than two classes: a pair's vote counts :math:`1 - p_e`, or one, or
        the class of the largest coupled probability wins. "auto" is the `voting` of
        the start (or else "weighted"); for "smooth" it chooses between that and
        "coupled" by cross-validation.
    class_weight : dict, "balanced" or None, default=None
        What an error in each class costs, as ``{label: weight}``; labels left out
        weigh 1. "balanced" makes all classes cost the same in total. It multiplies
        the priors of the start (the sample weights, if it knows no priors) and the
        error counts, never the class statistics.
    early_stopping : bool, default=False
        Whether to hold out rows, and of all the rules that were the best so far to
        take the one with the fewest errors there. The start is fitted without them.
        Not for "smooth".
    validation_fraction : float in (0, 1), default=0.1
        Share of the rows of each class that `early_stopping` holds out, whatever
        their weights; at least one of each.
    prefit : bool, default=False
        Whether `estimator` is fitted already; the same as a `FrozenEstimator`.
    n_jobs : int or None, default=None
        Number of threads over pairs, or over rows if the pairs are fewer. -1 means
        all processors. The result does not depend on it.
    random_state : int, RandomState instance or None, default=0
        For the restarts of "exact", the rows held out and the folds. A start with
        randomness of its own has a `random_state` of its own.
    verbose : int, default=0
        1 prints a line for each pair, 2 the course of each search, too. With
        scikit-learn 1.9 or newer, `set_callbacks(ProgressBar())` shows bars.
    copy : bool, default=True
        Whether to keep a scaled copy of the rows in single precision, half the size
        of the data, which makes the search faster. Data that are not C-contiguous
        float64, and the rows of each pair of more than two classes, are copied in
        any case.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    estimator_ : classifier
        The fitted start. A classifier that was fitted to each pair is a
        :class:`~sklearn.multiclass.OneVsOneClassifier` of them.
    pairs_ : ndarray of shape (n_pairs, 2)
        Class indices (i, j), i < j, of each rule.
    coef_ : ndarray of shape (n_pairs, n_features)
        Normals of the hyperplanes; a positive score means the second class.
    intercept_ : ndarray of shape (n_pairs,)
        Their offsets.
    n_errors_, n_errors_start_ : ndarray of shape (n_pairs,)
        Training errors of each rule and of its start, each on the rows of its pair.
        Integers, unless there are weights.
    n_errors_held_out_ : ndarray of shape (n_pairs,)
        Errors among the rows held out, with `early_stopping`.
    n_iter_ : ndarray of int of shape (n_pairs,)
        Iterations of each search.
    history_ : list of ndarray
        For each pair the errors of the current rule at each iteration.
    selection_ : dict
        For "smooth": the chosen `loss`, `bandwidth`, `anchor` and `voting` and their
        cross-validated `error`; `candidates` is the list of all that there were.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str of shape (n_features,)
        Names of the features, if X had string column names.

    See Also
    --------
    GaussianLinearDiscriminant : The default start.

    Notes
    -----
    The rules of a pair vote with the weight :math:`1 - p_e` of the start if that is
    a `GaussianLinearDiscriminant`, and with their accuracy otherwise: on the training
    rows, or for "smooth" on those held out. `predict_proba` takes the scores of each
    class along each normal as Gaussian, with those priors that put the threshold where
    the search has put it. For "smooth" the log-odds of a pair have an offset and a
    slope on each side of the threshold, which fit the rows held out.

    Except for "smooth", steps are relative to the coefficients, so that the result
    depends on the origin of the data, but not on their units. Once the start is
    fitted, KeyboardInterrupt ends the fit with the best rules so far and a warning.

    "smooth" minimises, over the rules of a pair with margins :math:`m_j`,

    .. math::
        \frac1n \sum_j \ell(m_j / h)
        + \kappa \frac{r + 1}{n} \cdot \frac1n \sum_j (m_j - m_j^{start})^2,

    with :math:`\ell(x) = 1 / (1 + e^x)` or :math:`\log(1 + e^{-x})`; margins are in
    units of their median size at the start, r is the rank of the data. It is invariant
    to linear maps of the features, if the start is.

    References
    ----------
    .. [1] K. S. Gyamfi, J. Brusey, A. Hunt and E. Gaura (2017), "Linear classifier
       design under heteroscedasticity in Linear Discriminant Analysis", Expert
       Systems with Applications 79, 44-52.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from heterolda import LocalNeighborhoodSearch
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> search = LocalNeighborhoodSearch().fit(X, y)
    >>> bool(search.n_errors_[0] < search.n_errors_start_[0])
    True
    """

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn's convention)
        "estimator": [HasMethods("fit"), None],
        "strategy": [StrOptions({"paper", "exact", "smooth"})],
        "step": [Interval(Real, 0, 1, closed="right")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "patience": [Interval(Integral, 1, None, closed="left")],
        "n_restarts": [Interval(Integral, 0, None, closed="left")],
        "loss": [StrOptions({"auto", "error", "logistic", "none"})],
        "bandwidth": [Interval(Real, 1e-6, 1e6, closed="both"), StrOptions({"auto"})],
        "anchor": [
            Interval(Real, 0, 1e6, closed="right"),
            Options(Real, {np.inf}),
            StrOptions({"auto"}),
        ],
        "voting": [StrOptions({"auto", "weighted", "majority", "coupled"})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "prefit": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "copy": ["boolean"],
    }

    def __init__(
        self,
        estimator=None,
        *,
        strategy="paper",
        step=0.1,
        max_iter=1000,
        patience=100,
        n_restarts=10,
        loss="auto",
        bandwidth="auto",
        anchor="auto",
        voting="auto",
        class_weight=None,
        early_stopping=False,
        validation_fraction=0.1,
        prefit=False,
        n_jobs=None,
        random_state=0,
        verbose=0,
        copy=True,
    ):
        self.estimator = estimator
        self.strategy = strategy
        self.step = step
        self.max_iter = max_iter
        self.patience = patience
        self.n_restarts = n_restarts
        self.loss = loss
        self.bandwidth = bandwidth
        self.anchor = anchor
        self.voting = voting
        self.class_weight = class_weight
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.prefit = prefit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.copy = copy

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None):
        """Fit the start and refine its rules.

        Parameters
        ----------
        X : array-like or dask collection of shape (n_samples, n_features)
            Training data, real numbers. The rows of a dask collection stay where they
            are, and only the strategy "paper" can search them.
        y : array-like or dask collection of shape (n_samples,)
            Class labels.
        sample_weight : array-like or dask collection, default=None
            Frequencies: weight 3 equals three copies of the row.

        Returns
        -------
        LocalNeighborhoodSearch
            The fitted estimator.
        """
        lazy = lazy_backend(X)
        if lazy is not None:
            return self._fit_in_passes(lazy.DaskRows(X, y, sample_weight))
        X, y = validate_data(self, X, y, dtype=NUMERIC_TYPES)
        weight = check_sample_weight(sample_weight, len(X))
        names = getattr(self, "feature_names_in_", None)
        data = training_data(X, y, weight, self.class_weight, names)
        pairs = np.column_stack(np.triu_indices(len(data.classes), 1))
        if self.strategy == "smooth" and self.early_stopping:
            raise ValueError(
                'early_stopping is for the strategies "paper" and "exact": "smooth" '
                "holds out rows of its own accord"
            )
        progress = self._progress(data.classes, pairs)
        progress.begin(X, y)

        random_state = check_random_state(self.random_state)
        held_out = choice = None
        units = 1.0
        if self.early_stopping:
            fraction = self.validation_fraction
            data, held_out = hold_out(data, fraction, random_state)
        start = self._fit_start(data)
        if self.strategy == "smooth":
            choice = self._choose(data, start, pairs, random_state, progress)
            refined, units = self._refine_smoothly(
                data, start, pairs, choice.candidate, progress
            )
        else:
            seed = random_state.randint(2**31 - 1) if self.strategy == "exact" else 0
            refined = self._refine_pairs(data, held_out, start, pairs, seed, progress)
        self._keep(
            data.classes,
            start,
            refined,
            counted=data.error_weights() is None,
            held_out=held_out is not None,
            choice=choice,
            units=units,
        )
        self._end(progress, X, y)
        return self

    @fit_context(prefer_skip_nested_validation=False)
    def _fit_distant(self, rows):
        """Fit to rows in files; see :func:`heterolda.data.fit_batches`."""
        return self._fit_in_passes(rows)

    def _scores(self, rows, normals):
        """Scores whose sign is that of the counts, also for rows on the threshold."""
        scores = super()._scores(rows, normals)
        return settle_ties(scores, rows, self.coef_, self.intercept_)
