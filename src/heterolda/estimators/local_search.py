"""The meta-estimator that reduces the training errors of linear rules."""

# The estimators follow scikit-learn, which has no types.
# mypy: ignore-errors
from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import combinations
from numbers import Integral, Real

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import MetaEstimatorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state

from heterolda.data.lazy import lazy_backend
from heterolda.estimators.base import LinearClassifier
from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.placement import settle
from heterolda.estimators.progress import SearchProgress
from heterolda.estimators.smooth_search import Choice, cross_validate
from heterolda.estimators.starts import fit_start
from heterolda.estimators.warn import warn_of_interruption
from heterolda.exceptions import ParameterError
from heterolda.foundations.arrays import device_of, on_host
from heterolda.foundations.sklearn_private import (
    CallbackSupportMixin,
    HasMethods,
    Interval,
    Options,
    StrOptions,
    fit_context,
)
from heterolda.foundations.validation import validate_parameters
from heterolda.foundations.wording import STRATEGIES, VOTINGS
from heterolda.search.pair_search import search_pair
from heterolda.search.refinement import refine_rows
from heterolda.search.selection import NONE, list_candidates
from heterolda.search.training_data import TrainingData
from heterolda.solvers import all_pairs
from heterolda.solvers.rules import Rules
from heterolda.statistics.power import PowerTransformation
from heterolda.statistics.rows import validated


class LocalNeighborhoodSearch(
    CallbackSupportMixin, MetaEstimatorMixin, LinearClassifier
):
    r"""Improve any linear classifier by searching for fewer training errors.

    Algorithm 2 of [1]_, for data that are not normal. It starts from the rule
    :math:`v = (w_0, w)` of a linear classifier. Each iteration moves to the neighbour
    :math:`v_i \pm 0.1 |v_i|` with the fewest training errors, even if it has no fewer
    than the current rule. The result is the best rule seen. More than two classes are
    searched pair by pair, on the rows of the pair.

    Parameters
    ----------
    estimator : classifier, default=None
        Linear classifier to start from. It is cloned and fitted. If None,
        `GaussianLinearDiscriminant()`. With more than two classes, any other classifier
        is fitted to each pair of classes. A fitted classifier wrapped in
        :class:`~sklearn.frozen.FrozenEstimator` is used as it is; the rule of two
        classes is then the difference of their scores. Its priors affect the start
        only; to change the cost of errors, use `class_weight`.
    strategy : {"paper", "smooth"}, default="paper"
        - "paper": Algorithm 2;
        - "smooth": the mean of rules that minimise smooth losses; see Notes.
    step : float in (0, 1], default=0.1
        Length of a step, relative to the coefficient.
    max_iter : int, default=1000
        Maximum number of iterations of Algorithm 2; the first evaluates the start.
    patience : int, default=100
        Maximum number of iterations of Algorithm 2 without a new lowest error count.
    loss : {"auto", "error", "logistic", "ridge", "none"}, default="auto"
        For "smooth": the loss to minimise. "error" is a logistic step, "logistic" the
        logistic loss, "ridge" the logistic loss anchored at zero instead of the start.
        "none" keeps the start. "auto" tries all of them.
    bandwidth : float in [1e-6, 1e6] or "auto", default="auto"
        For "smooth": the width h. "auto" means 1/4 for "error", 1/2 for "logistic" and
        1 for "ridge".
    anchor : float in (0, 1e6], infinity or "auto", default="auto"
        For "smooth": the strength :math:`\kappa` of the anchor. Infinity keeps the
        start. "auto" tries 0.003 and 0.3 (2, 20 and 200 for "ridge"), and infinity.
    transformation : {None, "auto"}, default=None
        "auto" first transforms features that are not Gaussian within the classes, by
        Yeo and Johnson's power transformation [2]_; see Notes. Features are left as
        they are if there are no more rows than features or, with "smooth", if held-out
        rows are classified better that way. Requires a start that is not fitted yet.
    voting : {"auto", "weighted", "majority", "coupled"}, default="auto"
        With more than two classes: a pair's vote has the weight :math:`1 - p_e`
        ("weighted") or one ("majority"), or the class with the largest coupled
        probability wins ("coupled"). "auto" uses the `voting` of the start, or
        "weighted" if it has none; with "smooth", cross-validation chooses between that
        and "coupled".
    class_weight : dict, "balanced" or None, default=None
        Cost of an error in each class, ``{label: weight}``; missing labels have weight
        1. With "balanced" all classes have the same total cost. The weights multiply
        the error counts and the priors of the start (its sample weights, if it has no
        priors), but not the class statistics.
    n_jobs : int or None, default=None
        Number of threads over pairs, or over rows if there are fewer pairs. -1 means
        all processors. The result does not depend on it.
    random_state : int, RandomState instance or None, default=0
        Seed of the folds of "smooth". It is not passed on to the start.
    verbose : int, default=0
        1 prints a line for each pair, 2 also the progress of each search. With
        scikit-learn 1.9 or newer, `set_callbacks(ProgressBar())` shows progress bars.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    estimator_ : classifier
        The fitted start; a :class:`~sklearn.multiclass.OneVsOneClassifier` if one was
        fitted to each pair. With a transformation, it takes the transformed features,
        ``transformation_.apply(X)``.
    transformation_ : PowerTransformation or None
        Transformation of the features, with the `centre`, `scale` and power (`lambdas`)
        of each; None if features are left as they are. `coef_` and `intercept_` refer
        to the transformed features, ``transformation_.apply(X)``; all methods take
        untransformed features.
    pairs_ : ndarray of shape (n_pairs, 2)
        Class indices (i, j), i < j, of each rule.
    coef_ : ndarray of shape (n_pairs, n_features)
        Normals of the hyperplanes; a positive score means the second class.
    intercept_ : ndarray of shape (n_pairs,)
        Offsets of the hyperplanes.
    n_errors_, n_errors_start_ : ndarray of shape (n_pairs,)
        Training errors of each rule and of its start, on the rows of its pair.
        Integers, unless there are weights.
    n_iter_ : ndarray of int of shape (n_pairs,)
        Number of iterations of each search.
    history_ : list of ndarray
        For each pair, the errors of the current rule at each iteration; for "smooth",
        those of the averaged candidates, one after the other.
    selection_ : dict
        For "smooth", what cross-validation chose:

        - `loss`, `bandwidth` and `anchor` of the best candidate in the mean, and the
          `voting` of the mean;
        - `error`: estimated error rate on new rows. Each row is held out and judged by
          what the other folds would choose;
        - `transformed`: whether features are transformed;
        - `candidates`: all candidates, each with its `weight` in the mean and its own
          held-out error (the smallest of which is optimistic);
        - `reason`: a sentence that says what was chosen and why.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str of shape (n_features,)
        Names of the features, if X had string column names.

    See Also
    --------
    GaussianLinearDiscriminant : The default start.

    Notes
    -----
    The vote of a pair has the weight :math:`1 - p_e` of the start if that is a
    `GaussianLinearDiscriminant`, and otherwise its accuracy: on the training rows, or
    for "smooth" on held-out rows. `predict_proba` models the scores of each class along
    each normal as Gaussian, with the priors that put the threshold where the search
    put it. For "smooth", the log-odds of a pair have an offset and a slope on each side
    of the threshold, fitted to the held-out rows.

    Steps of "paper" are relative to the coefficients, so the result depends on the
    origin of the data, but not on their units. Once the start is fitted,
    KeyboardInterrupt ends the fit with the best rules so far and a warning. During the
    cross-validation of "smooth" it ends only that: the start is fitted to all rows,
    without transformation, and kept.

    "smooth" minimises, over the rules of a pair with margins :math:`m_j`,

    .. math::
        \frac1n \sum_j \ell(m_j / h)
        + \kappa \frac{r + 1}{n - r - 1} \cdot \frac1n \sum_j (m_j - m_j^{start})^2,

    with :math:`\ell(x) = 1 / (1 + e^x)` or :math:`\log(1 + e^{-x})`. Margins are in
    units of their median size at the start; r is the rank of the data. A pair with at
    most r + 1 rows keeps its start. The rule of "ridge" minimises

    .. math:: \frac1n \sum_j \log(1 + e^{-m_j / h}) + \frac{\kappa}{n} \|u\|^2,

    where u holds the coefficients of the standardised features and a tenth of the
    offset. It needs no start. It is invariant to units and origins of the features; the
    other rules are invariant to all linear maps, if the start is.

    All candidates, with each way of voting, are cross-validated in five folds (three,
    with 2,000 rows or more and 20 for each coefficient of a class). The final rule is
    the mean of the candidates whose held-out errors, with some way of voting, are
    within one standard error of the fewest. Before averaging, each is divided by the
    median size of its margins on these rows, which also choose the voting of the mean
    and calibrate it.

    ``transformation="auto"`` maps a feature with mean c and standard deviation s, with
    :math:`z = (x - c) / s`, to

    .. math::
        \frac{(1 + z)^\lambda - 1}{\lambda} \text{ if } z \ge 0, \qquad
        -\frac{(1 - z)^{2 - \lambda} - 1}{2 - \lambda} \text{ if } z < 0,

    and to :math:`\pm\log(1 + |z|)` where the exponent is 0. The power
    :math:`\lambda \in [-2, 4]` maximises, to two digits, the likelihood of Gaussian
    classes, each with its own mean and variance. It is 1, which changes only the units,
    for features with two values and wherever the Bayesian information criterion does
    not prefer another. With "smooth", powers are found without the rows of each fold,
    and features are left as they are if linear discriminant analysis of the
    untransformed features makes fewer errors on held-out rows, by more than half a
    standard error.

    Rows on a device, such as a GPU, are copied to NumPy for the fit. Fitted arrays are
    on the device, except `history_`.

    References
    ----------
    .. [1] K. S. Gyamfi, J. Brusey, A. Hunt and E. Gaura (2017), "Linear classifier
       design under heteroscedasticity in Linear Discriminant Analysis", Expert
       Systems with Applications 79, 44-52.
    .. [2] I.-K. Yeo and R. A. Johnson (2000), "A new family of power transformations
       to improve normality or symmetry", Biometrika 87, 954-959.

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
        "strategy": [StrOptions(set(STRATEGIES))],
        "step": [Interval(Real, 0, 1, closed="right")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "patience": [Interval(Integral, 1, None, closed="left")],
        "loss": [StrOptions({"auto", "error", "logistic", "ridge", "none"})],
        "bandwidth": [Interval(Real, 1e-6, 1e6, closed="both"), StrOptions({"auto"})],
        "anchor": [
            Interval(Real, 0, 1e6, closed="right"),
            Options(Real, {np.inf}),
            StrOptions({"auto"}),
        ],
        "transformation": [StrOptions({"auto"}), None],
        "voting": [StrOptions({"auto", *VOTINGS})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator=None,
        *,
        strategy="paper",
        step=0.1,
        max_iter=1000,
        patience=100,
        loss="auto",
        bandwidth="auto",
        anchor="auto",
        transformation=None,
        voting="auto",
        class_weight=None,
        n_jobs=None,
        random_state=0,
        verbose=0,
    ):
        self.estimator = estimator
        self.strategy = strategy
        self.step = step
        self.max_iter = max_iter
        self.patience = patience
        self.loss = loss
        self.bandwidth = bandwidth
        self.anchor = anchor
        self.transformation = transformation
        self.voting = voting
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _validate_params(self):
        validate_parameters(self)

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None):
        """Fit the start and improve its rules.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data, in memory. Of larger data, such as a dask collection, pass a
            sample.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like, default=None
            Frequencies: a row of weight 3 counts as three copies. If the mean of the
            positive weights is below one, the weights are scaled to a mean of one.

        Returns
        -------
        LocalNeighborhoodSearch
            The fitted estimator.
        """
        if lazy_backend(X) is not None:
            raise TypeError(
                "LocalNeighborhoodSearch needs rows in memory. Draw a sample, such as "
                "X.sample(frac=0.01).compute() of a data frame or X[::100].compute() "
                "of an array, and fit it to that."
            )
        device = device_of(X)
        data = self._training_data(*on_host(X, y, sample_weight))
        X, y = data.X, data.labels
        self._check_transformation()
        labels = list(combinations(data.classes.tolist(), 2))
        max_reports = self.max_iter if self.strategy == "paper" else None
        progress = SearchProgress(self, labels, max_reports, self.verbose)
        progress.begin(X, y)

        choice = transformation = None
        if self.strategy == "smooth":
            choice = self._choose(data, progress)
        if choice is None or choice.transforms:
            transformation = self._find_transformation(data)
        data = data.transformed(transformation)
        start = self._fit_start(data)
        if choice is None:
            search = self._paper_search(data, start)
        else:
            search = self._smooth_search(data, start, choice)
        results = progress.search_pairs(search, effective_n_jobs(self.n_jobs))
        self._set_fitted_attributes(data, start, results, choice, transformation)
        progress.end(X, y)
        if progress.stop.is_set():
            warn_of_interruption(progress.n_done, len(self.pairs_))
        if isinstance(self.estimator_, GaussianLinearDiscriminant):
            settle(self.estimator_, device)
        return settle(self, device)

    def _training_data(self, X, y, sample_weight):
        """Valid rows with their labels and weights."""
        rows = validated(X, y, sample_weight, estimator=self, sparse=False)
        names = getattr(self, "feature_names_in_", None)
        return TrainingData.from_rows(rows, self.class_weight, names)

    def _check_transformation(self):
        """Refuse transformations that would not do what they say."""
        frozen = isinstance(self.estimator, FrozenEstimator)
        if self.transformation is not None and frozen:
            raise ParameterError(
                "transformation",
                f"={self.transformation!r} needs to fit the start, but estimator is "
                "already fitted, to untransformed features: pass it unfitted, or "
                "transform X yourself",
            )

    def _given_start(self):
        """The classifier to start from."""
        given = self.estimator
        return GaussianLinearDiscriminant() if given is None else given

    def _find_transformation(self, data):
        """The transformation that features need, if any; rows must not be fewer."""
        if self.transformation is None or data.totals.sum() <= data.X.shape[1]:
            return None
        found = PowerTransformation.fit(data.X, data.codes, data.weights)
        return None if np.all(found.lambdas == 1) else found

    def _fit_start(self, data):
        """The rules to start from."""
        return fit_start(self._given_start(), data, self.n_jobs)

    def _paper_search(self, data, start):
        """The search of pair k for the strategy "paper"."""
        pairs = all_pairs(len(data.classes))
        options = {
            "step": self.step,
            "max_iter": self.max_iter,
            "patience": self.patience,
            "threads": max(1, effective_n_jobs(self.n_jobs) // len(pairs)),
        }

        def search(k, report):
            v = np.append(start.intercept[k], -start.coef[k])
            return search_pair(data.pair(*pairs[k]), v, **options, report=report)

        return search

    def _smooth_search(self, data, start, choice):
        """The refinement of pair k for the strategy "smooth"."""
        pairs = all_pairs(len(data.classes))
        factors = choice.factors
        if factors is None:
            factors = np.ones((len(pairs), 1))

        def search(k, report):
            two = data.pair(*pairs[k])
            rule = start.coef[k], start.intercept[k]
            return refine_rows(two, *rule, choice.candidates, factors[k], report)

        return search

    def _choose(self, data, progress):
        """The smooth refinement to take, by cross-validation."""
        rng = check_random_state(self.random_state)
        candidates = list_candidates(self.loss, self.bandwidth, self.anchor)
        votings = self._votings()
        if len(data.classes) == 2:  # one pair needs no vote
            votings = votings[:1]
        fits = self._find_transformation, self._fit_start
        run = partial(progress.run_all, n_jobs=effective_n_jobs(self.n_jobs))
        try:
            choice = cross_validate(data, *fits, candidates, votings, rng, run)
            if self.verbose:
                chosen = choice.record()
                print(f"{chosen['reason']} Expected error: {chosen['error']:.4f}")
        except KeyboardInterrupt:
            progress.stop.set()
            choice = Choice((NONE,), votings[0])
        return choice

    def _votings(self):
        """Ways of voting to choose from; where nothing is chosen, the first."""
        if self.voting != "auto":
            return [self.voting]
        return [getattr(self._given_start(), "voting", "weighted"), "coupled"]

    def _set_fitted_attributes(self, data, start, results, choice, transformation):
        """Write what was found."""
        classes = data.classes
        kind = np.int64 if data.error_weights() is None else np.float64
        for name in ("fit_record_", "selection_"):
            vars(self).pop(name, None)  # of an earlier fit
        self.classes_ = classes
        self.estimator_ = start.estimator
        self.transformation_ = transformation
        self.pairs_ = all_pairs(len(classes))
        self.coef_ = np.array([-r.rule[1:] for r in results])
        self.intercept_ = np.array([r.rule[0] for r in results])
        self.n_errors_start_ = np.array([r.errors_start for r in results], kind)
        self.n_errors_ = np.array([r.errors for r in results], kind)
        self.n_iter_ = np.array([len(r.history) for r in results])
        self.history_ = [r.history for r in results]
        if choice is None:
            choice = Choice((NONE,), self._votings()[0])
        else:
            transforms = transformation is not None  # perhaps only some folds do
            self.selection_ = replace(choice, transforms=transforms).record()
        error = choice.error if start.error is None else start.error
        if error is None:
            error = np.array([r.error_rate for r in results])
        planes = Rules.from_projections(
            self.coef_,
            self.intercept_,
            error,
            n_iter=self.n_iter_,
            means=np.array([r.means for r in results]),
            deviations=np.array([r.deviations for r in results]),
        )
        units = np.array([r.unit for r in results])
        self._committee = choice.committee(planes, self.pairs_, units)
        initial = getattr(start.estimator, "_committee", None)
        if initial is not None and choice.log_odds is None:
            temperature = initial.temperature
            self._committee = replace(self._committee, evidence=temperature)
