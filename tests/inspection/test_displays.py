"""Every display is drawn, for two classes and for four, and holds what it shows."""

import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from heterolda import (
    BoundaryDisplay,
    ClassMapDisplay,
    ClassStatistics,
    ErrorCurveDisplay,
    FrontierDisplay,
    LocalNeighborhoodSearch,
    ProjectionDisplay,
)
from heterolda import GaussianLinearDiscriminant as GLD

# Few rows of drawn classes: sometimes Fisher's rule is better by chance.
pytestmark = [
    pytest.mark.filterwarnings("ignore::heterolda.ModelMisfitWarning"),
    pytest.mark.filterwarnings("ignore::heterolda.TrivialRuleWarning"),
]

DISPLAYS = [ErrorCurveDisplay, FrontierDisplay, ProjectionDisplay, BoundaryDisplay]
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


def axes_of(display):
    return np.ravel(np.array(display.ax_, dtype=object))


@pytest.mark.parametrize("classes", ["two", "four"])
@pytest.mark.parametrize("display", [*DISPLAYS, ClassMapDisplay])
def test_every_display_is_drawn(display, classes, request, tmp_path):
    X, y = request.getfixturevalue(classes)
    model = GLD().fit(X, y)
    shown = display.from_estimator(model, X, y)
    axes = axes_of(shown)
    assert all(ax.figure is shown.figure_ for ax in axes)
    shown.figure_.savefig(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 5000
    # The same from statistics, without data, and again on given axes.
    again = display.from_statistics(model.statistics_)
    assert again.figure_ is not shown.figure_
    assert axes_of(again)[0].get_title()
    _, grid = plt.subplots(1, len(axes), squeeze=False)
    assert shown.plot(ax=grid[0, 0] if len(axes) == 1 else grid[0]) is shown
    assert shown.figure_ is grid[0, 0].figure


@pytest.mark.parametrize("display", DISPLAYS)
def test_pairs_are_chosen_by_labels(display, four):
    X, y = four
    model = GLD().fit(X, y)
    worst = tuple(model.classes_[model.pairs_[model.bayes_error_.argmax()]])
    chosen = ("north", "west")
    for pair, names in ((chosen, chosen), (chosen[::-1], chosen), (None, worst)):
        first = axes_of(display.from_estimator(model, X, y, pair=pair))[0]
        assert first.get_title().startswith(" or ".join(names))
    for pair in (("north", "north"), ("north", "up"), ("north",), 3):
        with pytest.raises(ValueError, match="pair must be two different labels"):
            display.from_estimator(model, pair=pair)


def test_error_curve_shows_minima_landings_and_bound():
    shown = ErrorCurveDisplay.from_statistics(TWO_MINIMA)
    model = GLD().fit_statistics(TWO_MINIMA)
    least = model.bayes_error_[0]
    assert len(shown.minima) == 2
    assert shown.error.min() >= least * (1 - 1e-9)
    assert shown.minima[:, 1].min() == pytest.approx(least, rel=1e-9)
    assert shown.bound == pytest.approx(least * (1 - model.gap_[0]))
    assert shown.landings["LDA"] == pytest.approx((np.pi / 4, 0.357), abs=1e-3)
    assert shown.landings["GLD"] == pytest.approx(tuple(shown.minima[0]), rel=1e-6)
    assert set(shown.markers_) == set(shown.landings)
    assert_allclose(shown.line_.get_ydata(), shown.error)
    assert shown.trivial == 0.5
    # A minimum lies below any other place of the curve next to it.
    for place, error in shown.minima:
        near = np.abs(shown.theta - place) < 0.02
        assert shown.error[near].min() >= error - 1e-12


@pytest.mark.parametrize("case", ["one feature", "proportional", "separable", "equal"])
def test_error_curve_of_special_pairs(rng, case):
    X, y = rng.normal(size=(80, 3)), np.repeat([0, 1], 40)
    X[y == 1] = 2 * X[y == 1] + 1
    if case == "one feature":
        X = X[:, :1]
    elif case == "proportional":
        X[40:] = 3 * X[:40] + 1
    elif case == "separable":
        X[:, 0] = y
    else:
        X[40:] = -X[:40]
        X -= np.array([X[y == k].mean(axis=0) for k in (0, 1)])[y]
    model = GLD().fit(X, y)
    shown = ErrorCurveDisplay.from_estimator(model)
    if case in ("one feature", "proportional"):
        theta, error = shown.landings["GLD"]
        assert np.interp(theta, shown.theta, shown.error) == pytest.approx(error, 1e-3)
    FrontierDisplay.from_estimator(model, X, y)
    ProjectionDisplay.from_estimator(model, X, y)


def test_frontier_holds_the_curve_and_the_rates_on_data(two, rng):
    model = GLD(criterion="neyman-pearson", max_error={"left": 0.1}).fit(*two)
    assert FrontierDisplay.from_estimator(model).empirical_line_ is None
    (frontier,) = model.frontier_
    rows = rng.normal(size=(5000, 3))  # more than a block has
    labels = np.repeat(model.classes_, [4500, 500])
    shown = FrontierDisplay.from_estimator(model, rows, labels)
    assert shown.auc == frontier.auc
    assert_allclose(shown.points["this rule"][0], 0.1)
    assert shown.points["minimax"][0] == pytest.approx(1 - shown.points["minimax"][1])
    assert_array_equal(shown.empirical_line_.get_xdata(), shown.empirical[0])
    coef, intercept = frontier._rules(frontier._curve(300)[1:-1])
    for k, rates in enumerate(shown.empirical):
        scores = rows[labels == model.classes_[k]] @ coef.T + intercept
        assert_allclose(rates, [0, *np.mean(scores > 0, axis=0), 1], atol=1e-3)
        assert rates.shape == shown.fpr.shape


@pytest.mark.parametrize("settings", [{}, {"criterion": "minimax"}])
def test_frontier_shows_a_rule_once(settings):
    shown = FrontierDisplay.from_estimator(GLD(**settings).fit_statistics(TWO_MINIMA))
    assert set(shown.points_) == {"least error", "minimax"}


def test_frontier_shows_the_rule_of_another_solver_below_the_curve():
    fisher = GLD(solver="fisher").fit_statistics(TWO_MINIMA)
    shown = FrontierDisplay.from_estimator(fisher)
    first, second = fisher.error_rates_[0]
    assert shown.points["this rule"] == (first, 1 - second)
    assert np.interp(first, shown.fpr, shown.tpr) > 1 - second + 0.01
    assert set(shown.points_) == {"least error", "minimax", "this rule"}


def test_projections_come_worst_first_with_their_error_rates(four):
    X, y = four
    model = GLD(priors=[0.1, 0.2, 0.3, 0.4]).fit(X, y)
    shown = ProjectionDisplay.from_estimator(model, X, y)
    errors = [panel["error"] for panel in shown.panels]
    assert_allclose(errors, np.sort(model.bayes_error_)[::-1])
    assert len(shown.ax_) == 6
    for k, panel in enumerate(shown.panels):
        assert panel["priors"] @ panel["error_rates"] == pytest.approx(panel["error"])
        # The area below a density is its prior, as is that of the histogram, and the
        # shaded one is what is wrong.
        for i, prior in enumerate(panel["priors"]):
            line, bars = shown.lines_[k][i], shown.histograms_[k][i].get_data()
            area = np.trapezoid(line.get_ydata(), line.get_xdata())
            assert area == pytest.approx(prior, rel=0.01)
            assert bars.values @ np.diff(bars.edges) == pytest.approx(prior)
            (path,) = shown.areas_[k][i].get_paths()
            x, height = path.vertices.T
            wrong = abs(np.trapezoid(height, x))
            assert wrong == pytest.approx(prior * panel["error_rates"][i], abs=1e-3)
        labels = [text.get_text() for text in shown.ax_[k].get_legend().get_texts()]
        assert all("wrong" in label for label in labels)
    few = ProjectionDisplay.from_estimator(model, max_panels=2)
    assert len(few.panels) == 2
    with pytest.raises(ValueError, match="one axes for each of the 2 panels, got 1"):
        few.plot(ax=plt.subplots()[1])
    for wrong in (0, -1, 2.5):
        with pytest.raises(ValueError, match="max_panels must be an integer of at"):
            ProjectionDisplay.from_estimator(model, max_panels=wrong)


def test_trivial_rules(rng):
    X = np.concatenate([rng.normal(size=(30, 2)), 4 * rng.normal(size=(3000, 2))])
    y = np.repeat(["rare", "usual"], [30, 3000])
    model = GLD().fit(X, y)
    shown = ProjectionDisplay.from_estimator(model, X, y)
    assert "always usual" in shown.ax_.texts[0].get_text()
    curve = ErrorCurveDisplay.from_estimator(model)
    end = model.frontier_[0].theta_range[1]
    assert curve.landings["GLD"] == (end, model.bayes_error_[0])
    FrontierDisplay.from_estimator(model, X, y)
    with pytest.raises(ValueError, match="no normal"):
        BoundaryDisplay.from_estimator(model, X, y)


def test_boundary_rules_divide_the_plane_as_they_divide_space(two, rng):
    X, y = two[0][:, :2], two[1]
    model = GLD().fit(X, y)
    shown = BoundaryDisplay.from_estimator(model, X, y)
    assert set(shown.lines_) == {"LDA", "GLD", "LNS"}
    points = np.concatenate(shown.points)
    rows = np.concatenate([X[y == label] for label in model.classes_])
    lda, search = GLD(solver="fisher").fit(X, y), LocalNeighborhoodSearch().fit(X, y)
    for name, peer in (("GLD", model), ("LDA", lda), ("LNS", search)):
        a, b, c = shown.rules[name]
        side = points @ [a, b] + c
        clear = np.abs(side) > 1e-9 * np.abs(side).max()
        predicted = model.classes_[(side > 0).astype(int)]
        assert_array_equal(predicted[clear], peer.predict(rows)[clear])
    # The rule of the discriminant is upright: its normal is the first axis.
    a, b, _ = shown.rules["GLD"]
    assert abs(b) < 1e-9 * abs(a)
    # The quadratic boundary is that of the two normal densities.
    s, t, odds = shown.quadratic
    means, cov = model.statistics_.means, model.statistics_.covariances()
    pooled = np.sqrt(np.diag(np.tensordot([0.5, 0.5], cov, axes=1)))
    normal = model.coef_[0] * pooled / np.linalg.norm(model.coef_[0] * pooled)
    other = np.array([-normal[1], normal[0]])
    classes = [multivariate_normal(means[k], cov[k]) for k in (0, 1)]
    for i, j in rng.integers(0, 201, (20, 2)):
        sides = [s[i, j] * normal + sign * t[i, j] * other for sign in (1, -1)]
        places = means.mean(axis=0) + pooled * np.array(sides)
        expected = classes[1].logpdf(places) - classes[0].logpdf(places)
        assert np.min(np.abs(odds[i, j] - expected)) < 1e-6 * (1 + np.abs(odds[i, j]))


def test_boundaries_without_some_of_their_lines(rng):
    X, y = rng.normal(size=(60, 3)), np.repeat([0, 1], 30)
    X[y == 1] += 1
    X[y == 0, 1] = 0.5
    shown = BoundaryDisplay.from_estimator(GLD().fit(X, y))  # singular covariances
    assert shown.quadratic is None
    assert set(shown.lines_) == {"LDA", "GLD"}
    X = np.column_stack([X, X[:, 0]])
    BoundaryDisplay.from_estimator(GLD().fit(X, y), X, y)
    # Equal means: Fisher's rule has no normal, and a division by zero was drawn.
    moments = [0, 1], [50, 50], np.zeros((2, 2)), [np.eye(2), np.diag([9.0, 0.2])]
    shown = BoundaryDisplay.from_statistics(ClassStatistics.from_moments(*moments))
    assert set(shown.lines_) == {"GLD"}
    shown.figure_.canvas.draw()


@pytest.mark.parametrize(
    ("parameters", "names"),
    [
        ({"solver": "fisher"}, {"LDA"}),
        ({"solver": "fixed-point"}, {"LDA", "Algorithm 1"}),
        ({"criterion": "minimax"}, {"LDA", "GLD, minimax"}),
        ({"costs": {"left": {"right": 2}}}, {"LDA", "GLD with costs"}),
    ],
)
def test_boundaries_have_the_names_of_what_was_fitted(two, parameters, names):
    model = GLD(**parameters).fit(*two)
    assert set(BoundaryDisplay.from_estimator(model).lines_) == names
    model.set_params(solver="c-hld", criterion="bayes", costs=None)
    assert set(BoundaryDisplay.from_estimator(model).lines_) == names


@pytest.mark.parametrize("display", DISPLAYS)
def test_refusals(display, two, four):
    X, y = two
    model = GLD().fit(X, y)
    ova = GLD(multiclass="ova", priors=[0.25] * 4).fit(*four)
    for given, error, message in [
        ([LogisticRegression().fit(X, y)], TypeError, "must be a GaussianLinearDiscr"),
        ([GLD()], NotFittedError, "not fitted"),
        ([ova], ValueError, "multiclass='ovo'"),
        ([model, X], ValueError, "X without y"),
        ([model, None, y], ValueError, "y without X"),
        ([model, X[:, :2], y], ValueError, "2 features, but"),
        ([model, X, y[:-1]], ValueError, "inconsistent numbers of samples"),
        ([model, np.where(X > 1, np.nan, X), y], ValueError, "NaN"),
        ([model, X, np.column_stack([y, y])], ValueError, "1d array"),
        ([model, X[:1], ["up"]], ValueError, r"labels \['up'\] that are not among"),
    ]:
        with pytest.raises(error, match=message):
            display.from_estimator(*given)
    if display is BoundaryDisplay:
        with pytest.raises(ValueError, match="at least two features"):
            display.from_estimator(GLD().fit(X[:, :1], y))


def test_an_absent_class_has_no_empirical_curve(four):
    X, y = four
    model = GLD().fit(X, y)
    data = X[y != "west"], y[y != "west"]
    with pytest.raises(ValueError, match=r"no rows of the classes \['west'\]"):
        FrontierDisplay.from_estimator(model, *data, pair=("north", "west"))
    FrontierDisplay.from_estimator(model, *data, pair=("north", "south"))
    shown = BoundaryDisplay.from_estimator(model, *data, pair=("north", "west"))
    assert "LNS" not in shown.lines_
    ProjectionDisplay.from_estimator(model, *data)


@pytest.mark.check
def test_displays_without_matplotlib_say_what_to_install():
    code = (
        "import sys\n"
        "sys.modules['matplotlib'] = sys.modules['matplotlib.pyplot'] = None\n"
        "import heterolda as h\n"
        "s = h.ClassStatistics.from_moments([0, 1], [9, 9], [[0, 0], [1, 1]],"
        " [[[1, 0], [0, 1]], [[2, 0], [0, 1]]])\n"
        "for name in [n for n in h.__all__ if n.endswith('Display')]:\n"
        "    try:\n"
        "        getattr(h, name).from_statistics(s)\n"
        "    except ImportError as error:\n"
        "        print(error)\n"
    )
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout.count("pip install matplotlib") == 5
