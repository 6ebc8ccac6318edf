"""The discriminant of Gaussian classes, on which the other estimators build."""

# The estimators follow scikit-learn, which has no types.
# mypy: ignore-errors
from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from sklearn.base import clone
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
from heterolda.estimators.calibration import Evidence
from heterolda.estimators.gathering import (
    check_has_statistics,
    check_statistics,
    forget_fit,
    keep_statistics,
    training_rows,
    with_chunk,
)
from heterolda.estimators.guard import ScoresByClass, guarded_rules, with_rivals
from heterolda.estimators.missing import feature_mask, restricted
from heterolda.estimators.pair_problem import PairProblem, check_parameters
from heterolda.estimators.thresholds import Thresholds, has_few_rows
from heterolda.estimators.votes import committee_of
from heterolda.estimators.warn import (
    warn_of_fit,
    warn_of_plug_in,
    warn_of_trivial_rules,
)
from heterolda.foundations.arrays import device_of, on_host
from heterolda.foundations.collections import lazy_backend
from heterolda.foundations.sklearn_private import HasMethods, StrOptions, fit_context
from heterolda.foundations.validation import check_several_classes
from heterolda.foundations.wording import CRITERIA, MISSING, MULTICLASS, VOTINGS, listed
from heterolda.solvers import Solver
from heterolda.statistics.covariances import too_small
from heterolda.statistics.estimated import estimated_statistics
from heterolda.statistics.rows import all_labels
from heterolda.statistics.samples import as_frequencies, sampled
from heterolda.statistics.shrinkage import Shrinkage, chosen_on_rows, needs_no_rows
from heterolda.statistics.wide import in_coordinates, in_span
from heterolda.tradeoff.frontier import Frontier

_SAME = object()
# Covariances of few rows are not computed if they have more values than this.
_MAX_VALUES = 4_000_000
# Parameters that set_params must not change in a fitted model.
_FITTED_WITH = "solver", "shrinkage", "criterion", "costs"


class GaussianLinearDiscriminant(LinearClassifier):
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
    guard : bool, default=True
        Whether to check the model against the rows. If a pair's rule makes over 3 %
        more errors on its rows than Fisher's rule does, the pair uses Fisher's rule
        and `guarded_` is True; a :class:`ModelMisfitWarning` follows if the difference
        is beyond chance. A class with fewer than five rows per feature is checked on
        left-out rows, against linear discriminant analysis of all classes.
        With fewer than two degrees of freedom per feature (see `shrinkage`), scores of
        left-out rows set the thresholds instead. The guard acts only in `fit`, with
        ``solver="global"`` and ``criterion="bayes"``.
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
        Seed for drawing the sample of large classes whose errors are counted, and for
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
        priors, not an error rate on rows. Where left-out rows set the threshold, it is
        the error of Gaussian scores with their moments.
    error_rates_ : ndarray of shape (n_pairs, 2)
        Plug-in error rates of the first and the second class of each pair.
    expected_cost_ : ndarray of shape (n_pairs,)
        Expected cost of each rule; equal to the error if there are no costs.
    gap_ : ndarray of shape (n_pairs,)
        Certificate, (value - proven lower bound) / value, of what the criterion
        minimizes: error, cost, the larger error rate (minimax) or the unconstrained
        one (neyman-pearson). NaN for solvers without a certificate, where left-out
        rows set the threshold, and where rounding may change the error by more than
        1e-6, with a :class:`PrecisionWarning`. A variance that cannot be distinguished
        from zero is raised to 1e-7 of that of both classes, with a
        :class:`ModelMisfitWarning` if there are no rows to check. Directions that
        float64 cannot resolve are not covered, such as the difference of two features
        that agree in eight digits; a :class:`PrecisionWarning` says if the class means
        differ along them.
    guarded_ : ndarray of bool of shape (n_pairs,)
        Pairs that use the rule for equal covariances (see `guard`). Their
        `model_error_` and `gap_` are those of the rule in use.
    temperature_ : float
        The logarithms of all probabilities are divided by it. It is at least 1, and
        larger where rows are less sure of their class than the Gaussian model is: it
        maximizes the likelihood of up to 1,000 training rows, of left-out rows where a
        class has fewer than five per feature. It is 1 without rows, with
        ``guard=False`` or another solver than "global", and where training rows have
        missing values.
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

    `predict_proba` uses the Gaussian model along each hyperplane's normal. For two
    classes it is therefore the probability given the *score*, not given all of x. For
    more, those of all pairs are combined, as the guide's page on theory says. With
    `costs` or another criterion it refers to the priors for which the threshold is
    optimal along that normal, so that `predict` is still its argmax.

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
        "guard": ["boolean"],
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

    def __init__(
        self,
        *,
        solver: str | Solver = "global",
        guard=True,
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
        self.guard = guard
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
        stats, rows = training_rows(self, X, y, sample_weight)
        if self.covariance_estimator is not None:
            stats = estimated_statistics(self, stats, rows)
        return put_on(self._solve(stats, rows), device_of(X))

    def _fit_sampled(self, statistics, sample):
        """Fit to statistics and a sample of rows that are not in memory."""
        self._validate_params()
        needs_no_rows(self)
        stats, sample = as_frequencies(statistics.without_empty_classes(), sample)
        return self._solve(stats, sample.rows(stats.classes))

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
        earlier = None
        if hasattr(self, "classes_"):
            check_has_statistics(self)
            earlier = self.statistics_.classes
        labels = all_labels(*on_host(classes), earlier)
        check_parameters(self, labels)
        stats = with_chunk(self, X, y, sample_weight, decay, labels)
        if too_small(stats.weights, self.shrinkage).any():
            forget_fit(self)
            keep_statistics(self, stats)
        else:
            self._solve(stats)
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
        return self._solve(check_statistics(statistics))

    def _solve(self, stats, rows=None):
        """Solve all pairs, let rows check the rules, and write the attributes."""
        check_several_classes(stats.n_classes)
        inside, span, rows = in_coordinates(stats, self.shrinkage, rows)
        chosen = chosen_on_rows(self.shrinkage, inside, rows)
        problem = PairProblem.of(self, stats, chosen, span)
        sample = None
        if self.guard and rows is not None:
            sample = sampled(rows, self.random_state)
        guarded, thresholds, evidence = np.zeros(len(problem.pairs), bool), None, 1.0
        left_out: ScoresByClass = {}
        if sample is not None and problem.has_few_rows:
            thresholds, rules, left_out = Thresholds.of(problem, sample)
        else:
            rules = problem.solve()
            if sample is not None and problem.is_guarded:
                rules, guarded, left_out = guarded_rules(rules, problem, sample)
        rated = problem.rate(rules)
        # Values filled in by regression make the class of a row look too certain.
        complete = stats.estimated_by != "EM"
        if sample is not None and problem.follows_optimum and complete:
            evidence = Evidence.of(rated.planes, problem, sample, left_out)
        warn_of_fit(problem, rated.planes, rows)
        return self._keep(problem, rated, guarded, evidence, thresholds)

    def _keep(self, problem, rated, guarded, evidence, thresholds):
        """Write the fitted attributes."""
        for name in ("fit_record_", "_thresholds"):  # of an earlier fit
            vars(self).pop(name, None)
        keep_statistics(self, problem.features)
        self.shrinkage_ = problem.chosen
        self.priors_ = problem.priors
        self.pairs_ = problem.pairs
        self.guarded_ = guarded
        rules, span = rated.planes, problem.span
        rules = rules if span is None else span.in_features(rules)
        self._decide_by(rules, rated.error_rates, rated.expected_cost, evidence)
        if thresholds is not None:  # for other operating points
            self._thresholds = thresholds
        # Later calls of set_params do not change these.
        self._settings = {name: getattr(self, name) for name in _FITTED_WITH}
        return self

    def _decide_by(self, rules, error_rates, expected_cost, evidence):
        """Write the attributes of the rules, and the committee that predicts."""
        self.coef_ = rules.coef
        self.intercept_ = rules.intercept
        self.model_error_ = rules.error
        self.error_rates_ = error_rates
        self.expected_cost_ = expected_cost
        self.gap_ = rules.gap
        self.trivial_ = rules.trivial
        self.n_iter_ = rules.n_iter
        self._committee = committee_of(rules, self.pairs_, self.voting, evidence)
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
        self, stats = host_of(self), self.statistics_
        # `dir` and the HTML of an estimator read all attributes.
        if stats.factors and stats.n_classes * stats.n_features**2 > _MAX_VALUES:
            raise AttributeError(
                f"covariance_ of {stats.n_features} features would be large: use "
                "statistics_.covariances()"
            )
        fixed = self._settings["shrinkage"], self.shrinkage_
        return Shrinkage.of(stats, *fixed).covariances(stats)

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
        return Frontiers(host_of(self))

    def with_operating_point(
        self, criterion="bayes", *, costs=None, max_error=None, priors=_SAME
    ):
        """Return a fitted copy at another point of the optimal trade-off.

        Parameters
        ----------
        criterion : {"bayes", "minimax", "neyman-pearson"}, default="bayes"
            As in the constructor.
        costs, max_error
            As in the constructor.
        priors : array-like of shape (n_classes,), dict, "equal" or None
            As in the constructor. If not given, the priors of this estimator.

        Returns
        -------
        GaussianLinearDiscriminant
            A new estimator, computed from the class statistics without any data. It
            equals one fitted to the same data with these parameters and
            ``guard=False``, and so lies on the optimal curve of the model. Covariances
            are shrunk as in this fit. With few rows, scores of left-out rows set its
            threshold, too, unless this estimator was loaded from a file, which does not
            store these scores.
        """
        self._check_ready()
        check_has_statistics(self)
        if has_few_rows(self) and getattr(self, "_thresholds", None) is None:
            warn_of_plug_in()
        point = {"criterion": criterion, "costs": costs, "max_error": max_error}
        if priors is not _SAME:
            point["priors"] = priors
        moved = solve_again(host_of(self), point)
        return put_on(moved, device_of(self.coef_, always=True))

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
            in this fit, and pairs that are `guarded_` stay so.
        """
        self._check_ready()
        check_has_statistics(self)
        names = getattr(self, "feature_names_in_", None)
        mask = feature_mask(features, self.n_features_in_, names)
        restricted_model = host_of(self)._for_features(mask)
        return put_on(restricted_model, device_of(self.coef_, always=True))

    def _fitted_with(self):
        """Return the parameters of the fit, ignoring later calls of set_params."""
        multiclass = MULTICLASS[int(self.pairs_[0, 0] < 0)]
        are_frequencies = self.priors is None and self.class_weight is None
        priors = None if are_frequencies else self.priors_
        fixed = {"multiclass": multiclass, "priors": priors, "class_weight": None}
        return self._settings | fixed

    def _for_features(self, mask):
        """Return the model for a mask of features, which may all be False."""
        stats = restricted(self.statistics_, mask)
        return solve_again(self, self._fitted_with(), stats, self.guarded_)


def solve_again(model, parameters, stats=None, guarded=None):
    """Return a copy of a fitted model with other parameters, solved without rows.

    Choices made on rows are kept: shrinkage, temperature, any `guarded` pairs, and
    thresholds, unless the statistics are new.
    """
    thresholds = getattr(model, "_thresholds", None) if stats is None else None
    stats = model.statistics_.copy() if stats is None else stats
    fixed = {"shrinkage": model._settings["shrinkage"]} | parameters
    copy = clone(model).set_params(**fixed)
    copy._validate_params()
    _, span = in_span(stats, copy.shrinkage)
    problem = PairProblem.of(copy, stats, model.shrinkage_, span)
    if thresholds is None:
        rules = problem.solve()
    else:
        rules = thresholds.at(problem.criterion.solver, problem.moments.pair_priors)
    guarded = np.zeros(len(problem.pairs), bool) if guarded is None else guarded
    rated = problem.rate(with_rivals(rules, problem, guarded))
    warn_of_trivial_rules(problem, rated.planes)
    return copy._keep(problem, rated, guarded, model._committee.temperature, thresholds)


class Frontiers(Sequence):
    """Frontiers of all pairs, each computed when accessed."""

    def __init__(self, model):
        self._model = model

    @cached_property
    def _moments(self):
        """Return statistics, covariances and priors of the classes, and their span."""
        model = self._model
        if has_few_rows(model):
            warn_of_plug_in()
        shrinkage = model._settings["shrinkage"]
        stats, span = in_span(model.statistics_, shrinkage)
        cov = Shrinkage.of(stats, shrinkage, model.shrinkage_).covariances(stats)
        return (stats, cov, model.priors_), span

    def __len__(self):
        return len(self._model.pairs_)

    def __getitem__(self, k):
        if isinstance(k, slice):
            return [self[i] for i in range(*k.indices(len(self)))]
        moments, span = self._moments
        return Frontier._of_pair(*moments, self._model.pairs_[k], span)
