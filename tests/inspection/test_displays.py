"""Every display is drawn, for two classes and for four, and holds what it shows."""

import numpy as np
import pytest
from matplotlib.contour import QuadContourSet
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chi2, multivariate_normal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from heterolda import (
    ClassStatistics,
    HeteroscedasticProjection,
    LocalNeighborhoodSearch,
    SmoothedLinearDiscriminant,
)
from heterolda import GaussianLinearDiscriminant as GLD
from heterolda.estimators.again import as_discriminant
from heterolda.foundations.wording import percent
from heterolda.inspection import (
    BoundaryDisplay,
    ClassMapDisplay,
    ErrorCurveDisplay,
    FrontierDisplay,
    ProjectionDisplay,
)

# Few rows of drawn classes: sometimes Fisher's rule is better by chance.
pytestmark = [
    pytest.mark.filterwarnings("ignore::heterolda.exceptions.ModelMisfitWarning"),
    pytest.mark.filterwarnings("ignore::heterolda.exceptions.TrivialRuleWarning"),
]

PAIRS = [ErrorCurveDisplay, FrontierDisplay, ProjectionDisplay, BoundaryDisplay]
TWO_MINIMA = ClassStatistics.from_moments(
    ["narrow", "wide"],
    [500, 500],
    [[0, 0], [1, 0.5]],
    [[[0.3, 0], [0, 1.5]], [[6, 1.4], [1.4, 0.5]]],
)


@pytest.fixture
def two(make_classes):
    X, y = make_classes(n_classes=2, n=150, d=3, spread=0.8)
    return X, np.array(["left", "right"])[y]


@pytest.mark.parametrize("classes", ["two", "four"])
@pytest.mark.parametrize("display", [*PAIRS, ClassMapDisplay])
def test_every_display_is_drawn(display, classes, request):
    X, y = request.getfixturevalue(classes)
    model = GLD().fit(X, y)
    shown = display.from_estimator(model, X, y)
    shown.figure_.canvas.draw()
    # The same without rows, and again on given axes.
    again = display.from_estimator(GLD().fit_statistics(model.statistics_))
    assert again.figure_ is not shown.figure_
    ax = again.figure_.add_subplot()
    assert shown.plot(ax=ax) is shown
    assert shown.ax_ is ax


def test_error_curve_shows_minima_landings_and_bound():
    model = GLD().fit_statistics(TWO_MINIMA)
    shown = ErrorCurveDisplay.from_estimator(model)
    least = model.model_error_[0]
    assert len(shown.minima) == 2
    assert shown.error.min() >= least * (1 - 1e-9)
    assert least * (1 - 1e-3) <= shown.bound <= least
    assert shown.landings["LDA"] == pytest.approx((np.pi / 4, 0.357), abs=1e-3)
    assert shown.landings["GLD"] == pytest.approx(tuple(shown.minima[0]), rel=1e-6)
    assert shown.trivial == 0.5
    # A minimum lies below any other place of the curve next to it.
    for place, error in shown.minima:
        near = np.abs(shown.theta - place) < 0.02
        assert shown.error[near].min() >= error - 1e-12
    uneven = GLD(priors=[0.8, 0.2]).fit_statistics(TWO_MINIMA)
    shown = ErrorCurveDisplay.from_estimator(uneven)
    lowest = shown.error.min(), shown.minima[:, 1].min()
    assert_allclose(lowest, uneven.model_error_[0], rtol=1e-3)


def test_special_pairs_are_drawn(rng):
    X, y = rng.normal(size=(80, 3)), np.repeat([0, 1], 40)
    X[y == 1] = 2 * X[y == 1] + 1
    centered = X[:40] - X[:40].mean(axis=0)
    proportional = np.vstack([X[:40], 3 * X[:40] + 1])
    equal = np.vstack([centered, -centered])
    separable = np.column_stack([y, X[:, 1:]])
    for rows in (X[:, :1], proportional, equal, separable):
        model = GLD().fit(rows, y)
        shown = ErrorCurveDisplay.from_estimator(model)
        theta, error = shown.landings["GLD"]
        on_curve = np.interp(theta, shown.theta, shown.error)
        assert on_curve == pytest.approx(error, 1e-3) or rows is separable
        FrontierDisplay.from_estimator(model, rows, y)
        ProjectionDisplay.from_estimator(model, rows, y)


def test_frontier_holds_the_curve_and_the_rates_on_rows(two, rng):
    model = GLD(criterion="neyman-pearson", max_error={"left": 0.1}).fit(*two)
    of_model = clone(model).set_params(choose_on="model").fit(*two)
    (frontier,) = model.frontier_
    rows = rng.normal(size=(5000, 3))  # more than a block has
    labels = np.repeat(model.classes_, [4500, 500])
    shown = FrontierDisplay.from_estimator(model, rows, labels)
    assert shown.auc == frontier.auc
    for display in (shown, FrontierDisplay.from_estimator(of_model)):
        assert_allclose(display.points["model"][0], 0.1)
        on_curve = np.interp(0.1, shown.fpr, shown.tpr)
        assert on_curve == pytest.approx(display.points["model"][1], abs=0.01)
    assert model.chosen_on_rows_
    assert "rows" not in display.points
    e1, e2 = model.left_out_error_rates_[0]
    assert_allclose(shown.points["rows"], (e1, 1 - e2))
    legend = [text.get_text() for text in shown.ax_.get_legend().get_texts()]
    assert f"this rule, chosen by left-out rows: {percent(e1)}, {percent(e2)}" in legend
    assert shown.points["minimax"][0] == pytest.approx(1 - shown.points["minimax"][1])
    coef, intercept = frontier._rules(frontier._curve(300)[1:-1])
    for k, rates in enumerate(shown.empirical):
        scores = rows[labels == model.classes_[k]] @ coef.T + intercept
        assert_allclose(rates, [0, *np.mean(scores > 0, axis=0), 1], atol=1e-3)


def test_areas_along_the_normal_are_priors_and_errors(four):
    X, y = four
    model = GLD(priors=[0.1, 0.2, 0.3, 0.4]).fit(X, y)
    shown = ProjectionDisplay.from_estimator(model, X, y, pair=("east", "west"))
    ax, (bars_1, bars_2) = shown.ax_, shown.ax_.patches
    assert_allclose(shown.priors, [0.2, 0.8])
    back = ProjectionDisplay.from_estimator(model, X, y, pair=("west", "east"))
    assert_allclose(back.priors, [0.2, 0.8])
    worst = model.classes_[model.pairs_[model.model_error_.argmax()]]
    assert_array_equal(ProjectionDisplay.from_estimator(model).classes, worst)
    said = float(shown.error.partition(" %")[0].split()[-1])
    assert said == pytest.approx(100 * shown.priors @ shown.error_rates, abs=0.06)
    for i, bars in enumerate((bars_1, bars_2)):
        prior, line = shown.priors[i], ax.lines[i]
        area = np.trapezoid(line.get_ydata(), line.get_xdata())
        assert area == pytest.approx(prior, rel=0.01)
        data = bars.get_data()
        assert data.values @ np.diff(data.edges) == pytest.approx(prior)
        x, height = ax.collections[i].get_paths()[0].vertices.T
        wrong = abs(np.trapezoid(height, x))
        assert wrong == pytest.approx(prior * shown.error_rates[i], abs=1e-3)
        assert shown.classes[i] in line.get_label()


def log_densities(priors, means, covariances, points):
    """Naive logarithms of the densities of classes times their priors."""
    classes = zip(priors, means, covariances, strict=True)
    return [np.log(p) + multivariate_normal(m, S).logpdf(points) for p, m, S in classes]


def test_boundary_rules_divide_the_plane_as_they_divide_space(two):
    X, y = two[0][:, :2], two[1]
    model = GLD().fit(X, y)
    shown = BoundaryDisplay.from_estimator(model, X, y)
    points = np.concatenate(shown.points)
    rows = np.concatenate([X[y == label] for label in model.classes_])
    lda, search = GLD(solver="fisher").fit(X, y), LocalNeighborhoodSearch().fit(X, y)
    for name, peer in (("this rule", model), ("LDA", lda), ("Algorithm 2", search)):
        a, b, c = shown.rules[name]
        side = points @ [a, b] + c
        clear = np.abs(side) > 1e-9 * np.abs(side).max()
        predicted = model.classes_[(side > 0).astype(int)]
        assert_array_equal(predicted[clear], peer.predict(rows)[clear])
        # What is drawn is where the side changes.
        (line,) = [x for x in shown.ax_.lines if x.get_label().startswith(name)]
        ends = [line.get_xy1(), line.get_xy2()]
        assert_allclose(np.array(ends) @ [a, b] + c, 0, atol=1e-9)
    # The rule of the discriminant is upright: its normal is the first axis.
    a, b, _ = shown.rules["this rule"]
    assert abs(b) < 1e-9 * abs(a)
    # On the quadratic boundary both normal densities times priors are equal.
    (contour,) = shown.ax_.collections[2:]
    places = np.concatenate([path.vertices for path in contour.get_paths()])
    classes = shown.priors, shown.means, shown.covariances
    assert_allclose(*log_densities(*classes, places), atol=0.1)


def test_boundaries_without_all_of_their_lines(rng):
    X, y = rng.normal(size=(60, 3)), np.repeat([0, 1], 30)
    X[y == 1] += 1
    X[y == 0, 1] = 0.5
    shown = BoundaryDisplay.from_estimator(GLD().fit(X, y))  # singular covariances
    assert set(shown.rules) == {"LDA", "this rule"}
    # Equal means: Fisher's rule has no normal, and a division by zero was drawn.
    moments = [0, 1], [50, 50], np.zeros((2, 2)), [np.eye(2), np.diag([9.0, 0.2])]
    model = GLD().fit_statistics(ClassStatistics.from_moments(*moments))
    assert set(BoundaryDisplay.from_estimator(model).rules) == {"this rule"}


def test_the_map_has_the_regions_of_the_quadratic_rule_and_ellipses(four, rng):
    X, y = four
    priors = [0.1, 0.2, 0.3, 0.4]
    projection = HeteroscedasticProjection(3, priors=priors).fit(X, y)
    shown = ClassMapDisplay.from_estimator(projection, X, y)
    kept = 100 * projection.explained_[:2].sum()
    assert shown.ax_.get_title() == f"2 components keep {kept:.1f} % of the separation"
    A = projection.scalings_[:, :2]
    means = (projection.statistics_.means - projection.mean_) @ A
    covariances = A.T @ projection.statistics_.covariances("auto") @ A
    (image,) = shown.ax_.images
    left, right, low, high = image.get_extent()
    winners = image.get_array()
    for _ in range(200):
        i, j = rng.integers(0, len(winners), 2)
        steps = np.array([j, i]) / (len(winners) - 1)
        point = [left, low] + steps * [right - left, high - low]
        logs = log_densities(priors, means, covariances, point)
        assert logs[winners[i, j]] >= max(logs) - 1e-6
    projected = projection.transform(X)[:, :2]
    for k, label in enumerate(projection.classes_):
        assert_allclose(shown.points[k], projected[y == label], atol=1e-12)
    # Ellipses hold half of each class, and names stand on them.
    assert [text.get_text() for text in shown.ax_.texts] == shown.classes.tolist()
    for k, ellipse in enumerate(shown.ax_.patches):
        edge = ellipse.get_patch_transform().transform(ellipse.get_path().vertices)
        places = [*edge[::3], shown.ax_.texts[k].xy]  # others are not on the curve
        apart = np.array(places) - shown.means[k]
        squares = np.sum(apart @ np.linalg.inv(shown.covariances[k]) * apart, axis=1)
        assert_allclose(squares, chi2.ppf(0.5, 2), rtol=1e-3)
    # A discriminant has a projection with its own priors.
    model = GLD(priors=priors).fit(X, y)
    own = HeteroscedasticProjection(2, priors=priors).fit_statistics(model.statistics_)
    assert_allclose(ClassMapDisplay.from_estimator(model).explained, own.explained_)


def test_names_of_a_map_do_not_cover_each_other():
    same = ClassStatistics.from_moments(
        list("abcd"), [9] * 4, np.zeros((4, 2)), [np.eye(2)] * 4
    )
    shown = ClassMapDisplay.from_estimator(GLD().fit_statistics(same))
    places = [name.xy for name in shown.ax_.texts]
    assert len(np.unique(np.round(places, 6), axis=0)) == 4


def test_rejections(two, four):
    X, y = two
    model = GLD().fit(X, y)
    ovr = GLD(multiclass="ovr", priors=[0.25] * 4).fit(*four)
    single = HeteroscedasticProjection(1).fit(X, y)
    for display, given, error, message in [
        (PAIRS[0], [LogisticRegression().fit(X, y)], TypeError, "must be a Gaussian"),
        (PAIRS[0], [GLD()], NotFittedError, "not fitted"),
        (PAIRS[0], [ovr], ValueError, "multiclass='ovo'"),
        (PAIRS[0], [model, X], ValueError, "X and y belong together"),
        (PAIRS[0], [model, X[:1], ["up"]], ValueError, r"labels \['up'\] that are not"),
        (FrontierDisplay, [model, X[:1], y[:1]], ValueError, "no rows of one of"),
        (BoundaryDisplay, [GLD().fit(X[:, :1], y)], ValueError, "at least two feat"),
        (ClassMapDisplay, [LogisticRegression()], TypeError, "must be a Heterosced"),
        (ClassMapDisplay, [single], ValueError, "fit it with n_components=2"),
    ]:
        with pytest.raises(error, match=message):
            display.from_estimator(*given)


@pytest.mark.parametrize("display", [*PAIRS, ClassMapDisplay])
def test_displays_of_the_dial_are_those_of_its_transformed_features(display, rng):
    y = np.arange(900) % 3
    X = np.exp(rng.normal(size=(900, 3)) + np.eye(3)[y])
    model = SmoothedLinearDiscriminant().fit(X, y)
    shown = display.from_estimator(model)
    if display is not ClassMapDisplay:
        assert "of the transformed features" in shown.ax_.get_title()
    # Without powers, they are those of a discriminant with the same rules.
    T = model.transformation_.transform(X)
    plain = SmoothedLinearDiscriminant(transformation=None).fit(T, y)
    one, gld = (
        display.from_estimator(m, T, y) for m in (plain, as_discriminant(plain))
    )
    assert "transformed" not in one.ax_.get_title()
    for name, value in vars(gld).items():
        if isinstance(value, np.ndarray):
            assert_array_equal(getattr(one, name), value)


def test_powers_bend_the_boundary_in_the_plane_of_the_features(rng):
    y = np.arange(800) % 2
    X = np.exp(rng.normal(size=(800, 2)) * [1, 0.8] + 1.2 * y[:, None])
    model = SmoothedLinearDiscriminant().fit(X, y)
    assert not hasattr(model, "coef_")
    display = BoundaryDisplay.from_estimator(model, X, y)
    # With two features the plane is that of the features: the line divides the rows.
    (curve,) = (
        c.get_paths()[0].vertices
        for c in display.ax_.collections
        if isinstance(c, QuadContourSet) and c.get_linewidth()[0] > 2
    )
    scores = model.decision_function(display._features(curve))
    assert_allclose(scores, 0, atol=0.1)
    steps = np.diff(curve[:: len(curve) // 4], axis=0)
    assert np.ptp(np.arctan2(*steps.T)) > 0.05
    assert_allclose(display._features(display.points[0]), X[y == 0])
    with pytest.raises(ValueError, match="y needs rows of both"):
        BoundaryDisplay.from_estimator(model, X[y == 0], y[y == 0])
