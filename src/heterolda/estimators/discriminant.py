"""The discriminant of Gaussian classes, on which the other estimators build."""

# The estimators follow scikit-learn, which has no types.
# mypy: ignore-errors
from __future__ import annotations

from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from heterolda.estimators.base import (
    CLASS_WEIGHT,
    PRIORS,
    SHRINKAGE,
    LinearClassifier,
    host_of,
    put_on,
)
from heterolda.estimators.chosen import chosen
from heterolda.estimators.gathering import (
    can_be_solved,
    check_has_statistics,
    check_statistics,
    feature_mask,
    forget_fit,
    keep_statistics,
    labels_of,
    sampled_rows,
    training_rows,
    with_chunk,
)
from heterolda.estimators.gaussians import check_parameters, gaussians
from heterolda.estimators.in_use import InUse, distances_of
from heterolda.estimators.operating_point import OperatingPoint
from heterolda.estimators.votes import committee_of
from heterolda.estimators.warn import warn_of_fit
from heterolda.foundations.arrays import device_of
from heterolda.foundations.collections import lazy_backend
from heterolda.foundations.sklearn_private import HasMethods, StrOptions, fit_context
from heterolda.foundations.wording import CRITERIA, MISSING, MULTICLASS, VOTINGS, listed
from heterolda.solvers import Solver
from heterolda.statistics.shrinkage import needs_no_rows
from heterolda.statistics.typicality import far_rows


class GaussianLinearDiscriminant(OperatingPoint, InUse, LinearClassifier):
    r"""Linear classifier of minimum Bayes error for Gaussian classes.

    The class covariances may be unequal. For two classes with means :math:`m_k`,
    covariances :math:`S_k` and priors :math:`p_k`, it finds the hyperplane
    :math:`w \cdot x = w_0` that minimizes

    .. math::
        p_e = p_1 \Phi\Bigl(\frac{w_0 - w \cdot m_1}{\sqrt{w' S_1 w}}\Bigr)
            + p_2 \Phi\Bigl(\frac{w \cdot m_2 - w_0}{\sqrt{w' S_2 w}}\Bigr),

    equation (19) of [1]_. The optimum is global, and `gap_` bounds how far the result
    can be from it. More than two classes are separated pair by pair. The model needs
    only the weight, mean and covariance of each class, gathered in one pass over the
    data.

    Parameters
    ----------
    solver : str or settings object, default="global"
        - "global": the global optimum, with a certificate (:class:`Global`);
        - "fixed-point": the paper's Algorithm 1 (:class:`FixedPoint`);
        - "c-hld": a grid of convex combinations (:class:`Grid`);
        - "r-hld-1", "r-hld-2": random combinations (:class:`RandomSearch`);
        - "fisher": linear discriminant analysis of each pair (:class:`Fisher`).

        Pass an object such as ``FixedPoint(max_iter=50)`` to change a solver's
        settings.
    choose_on : {"rows", "model"}, default="rows"
        What decides between the rules on the curve of admissible rules. "model" takes
        the optimum for the fitted Gaussians. With "rows", `fit` replaces it by the
        point of the curve with the fewest smoothed errors on left-out rows, if that
        gains more than a standard error; see Notes. With fewer than two degrees of
        freedom per feature (see `shrinkage`), left-out rows only set the threshold.
        Needs rows and a solver that follows the curve: "global".
    priors : array-like of shape (n_classes,), dict, "equal" or None, default=None
        Class priors: positive numbers, normalized to sum to one. An array follows the
        order of `classes_`; a dictionary ``{label: p}`` or a pandas Series must name
        all classes. If None, they are the class frequencies.
    class_weight : dict, "balanced" or None, default=None
        Factors of the priors, ``{label: factor}``, 1 for labels that are left out; with
        "balanced" the inverse frequencies. Unlike a `sample_weight`, they change
        decisions only, not the statistics: ``class_weight={"ill": 10}`` equals
        ``priors={"ill": 10 * p, "well": 1 - p}``, with p the frequency of the ill.
    shrinkage : float in [0, 1], pair of floats, "auto", "cv" or None, default="auto"
        How far to shrink the class covariances; "auto" is not Ledoit and Wolf's, as in
        scikit-learn. See :meth:`ClassStatistics.covariances`.

        - "auto": what suits the number of rows: "cv" if the pooled covariance has fewer
          than eight degrees of freedom per feature and there are rows to choose by,
          which a :class:`SmallClassWarning` says; otherwise none, but the pooled
          covariance has the weight ``d / (n_k + d)`` in classes of at most d + 1 rows;
        - "cv": choose both weights, the first for each class, by the likelihood of
          left-out rows. Only `fit` has the rows to do this;
        - float: weight of the pooled covariance in each class covariance;
        - ``(to_pooled, to_diagonal)``: first shrink the pooled covariance toward its
          diagonal, by the second weight;
        - None or 0: none. A class of at most d + 1 rows then has a singular covariance:
          directions in which its rows do not differ count as known exactly. A class of
          one row is an error.
    covariance_estimator : covariance estimator, default=None
        An estimator with `fit` and `covariance_`, such as those of
        :mod:`sklearn.covariance`. A clone is fitted to the rows of each class. Its
        `covariance_`, and its `location_` if it has one, replace the covariance and
        mean of the class. ``MinCovDet(random_state=0)`` resists outliers; `LedoitWolf`
        and `OAS` shrink, and expect features on a common scale. Requires
        ``shrinkage="auto"`` or None, rows in memory and a call of `fit`;
        `sample_weight` must then be whole numbers.
    missing : {"error", "em"}, default="error"
        How to treat NaN. "em" treats it as missing at random: `fit` finds the
        maximum-likelihood means and covariances (:meth:`ClassStatistics.from_data`),
        and an incomplete row is classified by the rule of its observed features, as
        :meth:`for_features` gives it. If one call has too many patterns of missing
        values to solve them all (2,000, or fewer with many classes and features), rows
        of the rarest are completed by their conditional means.
    multiclass : {"ovo", "ovr"}, default="ovo"
        One rule for each pair of classes, or one for each class against all others.
    voting : {"probability", "weighted", "majority"}, default="probability"
        For "ovo" only: how the pairs decide among more than two classes. By default the
        class of largest probability wins, given the log-odds of all pairs together.
        Otherwise each pair votes for a class with weight :math:`1 - p_e` ("weighted",
        as in [1]_) or one ("majority"); exact ties are broken by the sums of the pairs'
        scores. There are then no probabilities.
    criterion : {"bayes", "minimax", "neyman-pearson"}, default="bayes"
        What each pair's rule minimizes: the error (or expected cost); the larger of the
        two error rates; or the error rate of one class while the other's stays within
        `max_error` (two classes only). The last two require ``solver="global"``.
    costs : array-like of shape (n_classes, n_classes), dict or None, default=None
        For "bayes": ``costs[i][j]`` is the cost of predicting j when i is true, in
        nested dictionaries or a data frame keyed by label, or a matrix in the order of
        `classes_`. ``{i: cost}`` is the cost of every error in class i. Entries missing
        from a dictionary cost 1; correct predictions cost 0. Within each pair, costs
        multiply the priors.
    max_error : dict or None, default=None
        For "neyman-pearson": ``{label: q}``, the largest allowed error rate of one
        class. The bound holds under the fitted Gaussian model;
        :class:`BoundedErrorClassifier` has one that holds on new rows.
    random_state : int, RandomState instance or None, default=0
        Seed for drawing at most 1,000 rows of each class that choose the rules, and for
        the random trials of "r-hld-1" and "r-hld-2".

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    priors_ : ndarray of shape (n_classes,)
        Class priors, times the class weights.
    means_ : ndarray of shape (n_classes, n_features)
        Class means.
    covariance_ : ndarray of shape (n_classes, n_features, n_features)
        Class covariances after shrinkage.
    statistics_ : ClassStatistics
        Weights, means and scatter of the classes.
    shrinkage_ : Shrinkage or None
        The shrinkage that rows chose, if they did: `to_pooled`, the weight of the
        pooled covariance in each class, and `to_diagonal`, the weight of the diagonal
        in the pooled covariance.
    pairs_ : ndarray of shape (n_pairs, 2)
        Class indices (i, j), i < j, of each rule. For "ovr" with three or more
        classes, rule k has (-1, k): all others against class k.
    coef_ : ndarray of shape (n_pairs, n_features)
        Normals of the hyperplanes. A positive score ``coef_ @ x + intercept_``
        means the second class of the pair.
    intercept_ : ndarray of shape (n_pairs,)
        Offsets of the hyperplanes.
    model_error_ : ndarray of shape (n_pairs,)
        Plug-in error of each rule: the error under the fitted Gaussian model and the
        priors, not an error rate on rows.
    left_out_error_ : ndarray of shape (n_pairs,)
        Smoothed error of each rule on left-out rows, with the priors. As the least
        error on the curve it flatters: in the mean of 44 public sets it is 8.3 % where
        the same pairs have 8.7 % on rows held out of the fit; 8.8 % and 9.5 % for pairs
        in `chosen_on_rows_`. NaN without rows. For an honest estimate, use
        ``1 - cross_val_score(model, X, y).mean()``.
    left_out_error_rates_ : ndarray of shape (n_pairs, 2)
        The same for each class of a pair.
    chosen_on_rows_ : ndarray of bool of shape (n_pairs,)
        Pairs whose rows chose another rule than the model's.
    error_rates_ : ndarray of shape (n_pairs, 2)
        Plug-in error rates of the first and the second class of each pair.
    expected_cost_ : ndarray of shape (n_pairs,)
        Expected cost of each rule; equal to the error if there are no costs.
    gap_ : ndarray of shape (n_pairs,)
        Certificate, (value - proven lower bound) / value, of what the criterion
        minimizes: error, cost, the larger error rate (minimax) or the unconstrained
        one (neyman-pearson). NaN for solvers without a certificate, for pairs whose
        rows chose another rule, and where rounding may change the error by more than
        1e-6, with a :class:`PrecisionWarning`. A variance that cannot be distinguished
        from zero is raised to 1e-7 of that of both classes, with a
        :class:`ModelMisfitWarning` if there are no rows to check. Directions that
        float64 cannot resolve are not covered, such as the difference of two features
        that agree in eight digits; a :class:`PrecisionWarning` says if the class means
        differ along them.
    frontier_ : sequence of Frontier
        The optimal trade-off between the two error rates of each pair.
    trivial_ : ndarray of bool of shape (n_pairs,)
        Pairs whose rule always predicts the likelier class (by priors times costs):
        with "global" because no hyperplane does better, with other solvers because
        they found none. For "ovr" their scores are those of linear discriminant
        analysis, so that classes can still be compared.
    n_iter_ : ndarray of int of shape (n_pairs,)
        Iterations, trials or evaluations that the solver spent on each pair.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str of shape (n_features,)
        Names of the features, if X had string column names.

    See Also
    --------
    sklearn.discriminant_analysis.LinearDiscriminantAnalysis : Equal covariances.
    sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis : The optimal
        quadratic rule.
    HeteroscedasticProjection : Dimension reduction, the `transform` of LDA.

    Notes
    -----
    If the class covariances are equal, the rule is that of linear discriminant
    analysis. For two classes the score is then the log-odds, with the unbiased pooled
    covariance (divisor n - 2).

    Left-out rows are scored in closed form: without a row, the covariances keep their
    divisors, and a rule its position on the curve. Each score becomes a Gaussian whose
    width is a share :math:`n_k^{-1/3}` of its class. That gives the error rates of 16
    directions at all thresholds; they are averaged over neighboring directions. Pairs
    with fewer than three rows per feature keep the optimum. One-vs-rest rules, fits
    with EM, and covariance estimators use scores of training rows. A row of weight 3 is
    left out as a whole.

    For two classes, `predict_proba` is the probability given the *score*, not given all
    of x: on each side of the threshold, log-odds are linear in the score, fitted to
    the distributions of left-out scores; without rows, they are those of the two
    Gaussians along the normal. For more classes, those of all pairs are combined, as
    the guide's page on theory says. With `costs` or another criterion they refer to
    the priors for which the threshold is optimal along that normal, so that `predict`
    is still their argmax.

    References
    ----------
    .. [1] K. S. Gyamfi, J. Brusey, A. Hunt and E. Gaura (2017), "Linear classifier
       design under heteroscedasticity in Linear Discriminant Analysis", Expert
       Systems with Applications 79, 44-52.

    Examples
    --------
    >>> import numpy as np
    >>> from heterolda import GaussianLinearDiscriminant
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(size=(200, 2)), rng.normal(1, 3, size=(200, 2))])
    >>> y = np.repeat([0, 1], 200)
    >>> model = GaussianLinearDiscriminant().fit(X, y)
    >>> model.predict([[0, 0], [4, 4]])
    array([0, 1])
    >>> bool(model.gap_[0] <= 1e-3)
    True
    """

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn's convention)
        "solver": "no_validation",  # resolve_solver lists the valid names
        "choose_on": [StrOptions({"rows", "model"})],
        "priors": PRIORS,
        "class_weight": CLASS_WEIGHT,
        "shrinkage": SHRINKAGE,
        "covariance_estimator": [HasMethods("fit"), None],
        "missing": [StrOptions(set(MISSING))],
        "multiclass": [StrOptions(set(MULTICLASS))],
        "voting": [StrOptions(set(VOTINGS))],
        "criterion": [StrOptions(set(CRITERIA))],
        "costs": ["array-like", dict, None],
        "max_error": [dict, None],
        "random_state": ["random_state"],
    }

    _fitted_with = "solver", "shrinkage", "criterion", "costs"

    def __init__(
        self,
        *,
        solver: str | Solver = "global",
        choose_on="rows",
        priors=None,
        class_weight=None,
        shrinkage="auto",
        covariance_estimator=None,
        missing="error",
        multiclass="ovo",
        voting="probability",
        criterion="bayes",
        costs=None,
        max_error=None,
        random_state=0,
    ):
        self.solver = solver
        self.choose_on = choose_on
        self.priors = priors
        self.class_weight = class_weight
        self.shrinkage = shrinkage
        self.covariance_estimator = covariance_estimator
        self.missing = missing
        self.multiclass = multiclass
        self.voting = voting
        self.criterion = criterion
        self.costs = costs
        self.max_error = max_error
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing == "em"
        return tags

    def __getstate__(self):
        # The rules that predictions have solved are not copied.
        state = super().__getstate__()
        return {**state, "_by_pattern": {}} if "_by_pattern" in state else state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse, dask collection} of shape (n_samples, n_features)
            Training data.
        y : array-like or dask collection of shape (n_samples,)
            Class labels.
        sample_weight : array-like or dask collection, default=None
            Frequencies: a row of weight 3 counts as three copies. If the mean of the
            positive weights is below one, the weights are scaled to a mean of one.

        Returns
        -------
        GaussianLinearDiscriminant
            The fitted estimator.
        """
        forget_fit(self)
        lazy = lazy_backend(X)
        if lazy is not None and needs_no_rows(self):
            data = X, y, sample_weight, self.random_state
            return self._fit_sampled(*lazy.statistics_and_sample(*data))
        stats_and_rows = training_rows(self, X, y, sample_weight)
        return put_on(self._fit(*stats_and_rows), device_of(X))

    def _fit_sampled(self, statistics, sample):
        """Fit to statistics and a sample of rows that are not in memory."""
        self._validate_params()
        needs_no_rows(self)
        return self._fit(*sampled_rows(statistics, sample))

    @available_if(needs_no_rows)
    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, classes=None, sample_weight=None, *, decay=None):
        """Add a chunk of data to the statistics and solve all pairs again.

        To gather many chunks and solve once, use :meth:`ClassStatistics.update` and
        :meth:`fit_statistics`.

        Parameters
        ----------
        X : {array-like, sparse, dask collection} of shape (n_samples, n_features)
            A chunk of data. It may be empty, and need not contain every class.
        y : array-like or dask collection of shape (n_samples,)
            Class labels.
        classes : array-like of shape (n_classes,), default=None
            All labels that will ever occur. Required in the first call.
        sample_weight : array-like or dask collection, default=None
            Frequencies. Unlike in `fit`, they are never scaled.
        decay : float in (0, 1] or None, default=None
            Factor by which the weight of all earlier rows is multiplied first, to
            forget them gradually. See :meth:`ClassStatistics.decayed`.

        Returns
        -------
        GaussianLinearDiscriminant
            The estimator. It cannot predict until every class has rows, and some class
            (with ``shrinkage=0`` every class) a total weight above 1.
        """
        labels = labels_of(self, classes)
        check_parameters(self, labels)
        stats = with_chunk(self, X, y, sample_weight, decay, labels)
        if can_be_solved(stats, self.shrinkage):
            self._fit(stats)
        else:
            forget_fit(self)
            keep_statistics(self, stats)
        return put_on(self, device_of(X))

    @fit_context(prefer_skip_nested_validation=True)
    def fit_statistics(self, statistics):
        """Fit from class statistics instead of data.

        Parameters
        ----------
        statistics : ClassStatistics
            Statistics gathered in chunks, merged from several sites, or given as
            moments.

        Returns
        -------
        GaussianLinearDiscriminant
            The fitted estimator.
        """
        needs_no_rows(self)
        return self._fit(check_statistics(statistics))

    def _fit(self, stats, rows=None):
        """Fit to statistics, and to rows if there are any."""
        model, rows = gaussians(self, stats, rows)
        choice = chosen(model, rows if self.choose_on == "rows" else None)
        warn_of_fit(model, choice, rows)
        far = far_rows(distances_of(model), rows, self.random_state)
        return self._write(model, choice, far)

    def _gaussian(self):
        """Return the discriminant itself."""
        return self

    def _write(self, model, choice, far_rows=None):
        """Write the fitted attributes."""
        self.chosen_on_rows_ = choice.on_rows
        return super()._write(model, choice, far_rows)

    def _decide_by(self, rules, error_rates, expected_cost, log_odds):
        """Write the attributes of the rules, and the committee that predicts."""
        self.coef_ = rules.coef
        self.intercept_ = rules.intercept
        self.model_error_ = rules.error
        self.error_rates_ = error_rates
        self.expected_cost_ = expected_cost
        self.gap_ = rules.gap
        self.trivial_ = rules.trivial
        self.n_iter_ = rules.n_iter
        self._committee = committee_of(rules, self.pairs_, self.voting, log_odds)
        self._by_pattern = {}  # rules of incomplete rows, once solved

    def _check_ready(self):
        """Raise an error until `partial_fit` has rows of all classes."""
        check_is_fitted(self, ["statistics_", "coef_"], all_or_any=any)
        if not hasattr(self, "coef_"):
            stats = self.statistics_
            raise NotFittedError(
                "this GaussianLinearDiscriminant cannot predict yet: classes "
                f"{listed(stats.classes[stats.weights <= 1])} still have a total "
                "weight of 1 or less; call partial_fit with more samples of them"
            )

    @property
    def means_(self):
        """Return the class means, of shape (n_classes, n_features)."""
        self._check_ready()
        check_has_statistics(self)
        return self.statistics_.means

    @property
    def covariance_(self):
        """Return the class covariances, (n_classes, n_features, n_features), shrunk.

        With fewer rows than features, large ones are not available as an attribute: use
        ``statistics_.covariances()``.
        """
        self._check_ready()
        check_has_statistics(self)
        from heterolda.estimators.again import covariances_of

        return covariances_of(host_of(self))

    @property
    def frontier_(self):
        """Return the optimal trade-off of each pair, a sequence of :class:`Frontier`.

        Each is computed when accessed. With "ovr" and more than two classes there is
        none, because the mixture of all other classes is not Gaussian.
        """
        self._check_ready()
        if self.pairs_[0, 0] < 0:
            raise AttributeError("frontier_ needs pairs of classes: use 'ovo'")
        check_has_statistics(self)
        from heterolda.estimators.again import Frontiers

        return Frontiers(host_of(self))

    def for_features(self, features):
        """Return the fitted model for a subset of the features.

        Parameters
        ----------
        features : array-like of bool, int or str
            The features to keep, as a mask, indices or names. They stay in the order
            of this fit.

        Returns
        -------
        GaussianLinearDiscriminant
            A new estimator, fitted to the moments of these features with the same
            parameters, and with its own certificate `gap_`. Covariances are shrunk as
            in this fit. Pairs in `chosen_on_rows_` keep their position on the curve and
            the priors for which their threshold is best. Probabilities are those of the
            Gaussian model.
        """
        self._check_ready()
        check_has_statistics(self)
        names = getattr(self, "feature_names_in_", None)
        mask = feature_mask(features, self.n_features_in_, names)
        from heterolda.estimators.again import restricted_to

        model = restricted_to(host_of(self), mask)
        return put_on(model, device_of(self.coef_, always=True))
