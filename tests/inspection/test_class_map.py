"""A map of all classes shows what it says, for any number of them and any eyes."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from numpy.testing import assert_allclose
from scipy.stats import chi2, multivariate_normal
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from heterolda import (
    ClassMapDisplay,
    ClassStatistics,
    GaussianLinearDiscriminant,
    HeteroscedasticProjection,
)
from heterolda.export import load, save
from heterolda.inspection.projection_text import write_map_page

# Few rows of drawn classes: sometimes Fisher's rule is better by chance.
pytestmark = pytest.mark.filterwarnings("ignore::heterolda.ModelMisfitWarning")


@pytest.fixture
def alphabet(rng):
    """26 classes whose means are close to each other, and equal for some."""
    means = rng.normal(size=(26, 4))
    means[3] = means[4] = means[5]
    roots = rng.normal(size=(26, 4, 4))
    moments = list("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), [60] * 26, means, roots @ roots.mT
    return ClassStatistics.from_moments(*moments)


def test_regions_are_those_of_the_quadratic_rule(four, rng):
    X, y = four
    priors = [0.1, 0.2, 0.3, 0.4]
    projection = HeteroscedasticProjection(3, priors=priors).fit(X, y)
    shown = ClassMapDisplay.from_estimator(projection)
    low, high = np.transpose([shown.ax_.get_xlim(), shown.ax_.get_ylim()])
    points = rng.uniform(low, high, (2000, 2))
    # The naive rule, from the covariances of the projection.
    A = projection.scalings_[:, :2]
    means = (projection.statistics_.means - projection.mean_) @ A
    covariances = A.T @ projection.statistics_.covariances("auto") @ A
    logs = [
        np.log(p) + multivariate_normal(m, S).logpdf(points)
        for p, m, S in zip(priors, means, covariances, strict=True)
    ]
    second, first = np.sort(logs, axis=0)[-2:]
    clear, winner = first - second > 0.05, np.argmax(logs, axis=0)
    assert len(shown.regions_[0]) >= len(np.unique(winner))
    colours = [to_rgb(ellipse.get_edgecolor()) for ellipse in shown.ellipses_[0]]
    for region in shown.regions_[0]:
        k = colours.index(to_rgb(region.get_facecolor()[0]))
        inside = region.get_paths()[0].contains_points(points)
        assert np.mean((inside == (winner == k))[clear]) > 0.995


def test_ellipses_hold_half_of_each_class_and_names_stand_there(four):
    model = GaussianLinearDiscriminant().fit(*four)
    shown = ClassMapDisplay.from_estimator(model, *four)
    assert [label.get_text() for label in shown.labels_[0]] == model.classes_.tolist()
    for k, ellipse in enumerate(shown.ellipses_[0]):
        edge = ellipse.get_patch_transform().transform(ellipse.get_path().vertices)
        apart = edge[::3] - shown.means[k]  # those between are not on the curve
        squares = np.sum(apart @ np.linalg.inv(shown.covariances[k]) * apart, axis=1)
        assert_allclose(squares, chi2.ppf(0.5, 2), rtol=1e-3)
        place = shown.labels_[0][k].xy - shown.means[k]
        assert place @ np.linalg.inv(shown.covariances[k]) @ place < chi2.ppf(0.51, 2)


def test_the_first_components_of_a_projection_or_just_so_many(four):
    X, y = four
    projection = HeteroscedasticProjection(4).fit(X, y)
    for n in (2, 3):
        shown = ClassMapDisplay.from_estimator(projection, X, y, components=n)
        first = np.ravel(np.array(shown.ax_, dtype=object))[0]
        kept = 100 * projection.explained_[:n].sum()
        title = f"{n} components keep {kept:.1f} % of the separation"
        assert first.get_title() == title
        for k, label in enumerate(projection.classes_):
            assert_allclose(
                shown.points[k], projection.transform(X[y == label])[:, :n], atol=1e-12
            )
            assert_allclose(shown.means[k], shown.points[k].mean(axis=0), atol=1e-9)
    starts = [[ax.get_xlabel()[:11], ax.get_ylabel()[:11]] for ax in shown.ax_]
    pairs = [[1, 2], [1, 3], [2, 3]]
    assert starts == [[f"component {k}" for k in pair] for pair in pairs]
    model = GaussianLinearDiscriminant(priors=[0.1, 0.2, 0.3, 0.4]).fit(X, y)
    own = HeteroscedasticProjection(2, priors=model.priors_)
    own.fit_statistics(model.statistics_)
    shown = ClassMapDisplay.from_estimator(model)
    assert_allclose(shown.explained, own.explained_)
    settings = {"method": "fisher", "shrinkage": None}
    shown = ClassMapDisplay.from_statistics(model.statistics_, **settings)
    lda = HeteroscedasticProjection(2, **settings).fit(X, y)
    assert_allclose(shown.explained, lda.explained_)


def test_classes_of_equal_means_have_names_in_their_own_regions():
    moments = ["core", "ring"], [99, 99], np.zeros((2, 3)), [np.eye(3), 9 * np.eye(3)]
    shown = ClassMapDisplay.from_statistics(ClassStatistics.from_moments(*moments))
    core, ring = (label.xy for label in shown.labels_[0])
    (inner, _) = shown.regions_[0]
    assert inner.get_paths()[0].contains_point(core)
    assert not inner.get_paths()[0].contains_point(ring)


def test_names_are_shown_where_a_feature_gives_the_label_away(rng):
    """Regions are narrower than the grid on which the rule is evaluated."""
    X, y = rng.normal(size=(200, 4)), np.arange(200) % 5
    projection = HeteroscedasticProjection(2).fit(np.c_[X, y], y)
    shown = ClassMapDisplay.from_estimator(projection)
    assert_allclose([label.xy for label in shown.labels_[0]], shown.means)
    # Nor does Matplotlib hide a name at the edge.
    assert all(label.get_annotation_clip() is False for label in shown.labels_[0])


def test_names_of_many_classes_do_not_overlap(alphabet):
    shown = ClassMapDisplay.from_statistics(alphabet)
    shown.figure_.canvas.draw()
    boxes = [label.get_bbox_patch().get_window_extent() for label in shown.labels_[0]]
    corners = np.array([[box.min, box.max] for box in boxes])
    low = np.maximum(corners[:, None, 0], corners[None, :, 0])
    high = np.minimum(corners[:, None, 1], corners[None, :, 1])
    hidden = np.prod(np.maximum(high - low, 0), axis=-1)
    np.fill_diagonal(hidden, 0)
    # The layout of the figure comes later and may move names by a little.
    assert hidden.max() < 0.15 * np.prod(corners[0, 1] - corners[0, 0])


def test_no_two_classes_look_the_same(alphabet, rng):
    X = rng.normal(size=(78, 4))
    shown = ClassMapDisplay.from_statistics(alphabet, X, np.tile(alphabet.classes, 3))
    looks = {
        (tuple(dots.get_facecolor()[0][:3]), dots.get_paths()[0].vertices.tobytes())
        for dots in shown.scatters_[0]
    }
    assert len(looks) == 26
    assert len({colour for colour, _ in looks}) == 8


def test_refusals(four, tmp_path):
    X, y = four
    model = GaussianLinearDiscriminant().fit(X, y)
    one = GaussianLinearDiscriminant().fit(X[:, :1], y)
    pipeline = make_pipeline(StandardScaler(), HeteroscedasticProjection(2)).fit(X, y)
    save(pipeline[-1], tmp_path / "bare.json", include_statistics=False)
    bare, single = load(tmp_path / "bare.json"), HeteroscedasticProjection(1).fit(X, y)
    panel = {"components": 3, "ax": plt.subplots()[1]}
    for given, settings, error, message in [
        ([pipeline], {}, TypeError, r"the fitted step, such as pipeline\[-1\]"),
        ([bare], {}, NotFittedError, "without class statistics"),
        ([LogisticRegression()], {}, TypeError, "HeteroscedasticProjection or a Gauss"),
        ([HeteroscedasticProjection()], {}, NotFittedError, "not fitted"),
        ([model], {"components": 4}, ValueError, "components must be 2 or 3, got 4"),
        ([pipeline[-1]], {"components": 1}, ValueError, "must be 2 or 3, got 1"),
        ([single], {}, ValueError, "only 1: fit it with n_components=2"),
        ([one], {}, ValueError, "there is only 1: ProjectionDisplay"),
        ([model], panel, ValueError, "for each of the 3 panels, got 1"),
        ([model, X[:1], ["up"]], {}, ValueError, r"labels \['up'\] that are not among"),
    ]:
        with pytest.raises(error, match=message):
            ClassMapDisplay.from_estimator(*given, **settings)
    with pytest.raises(TypeError, match="must be a ClassStatistics"):
        ClassMapDisplay.from_statistics(X)


def test_extreme_classes_are_drawn(rng):
    """One that never wins, one that does not vary, equal ones, and no rows of one."""
    point, wide = np.diag([0.0, 1.0]), np.diag([4.0, 9.0])
    moments = (
        ["rare", "flat", "twin", "$twin_2$"],
        [4, 4000, 4000, 4000],
        [[0, 0], [1, 0], [0, 1], [0, 1]],
        [np.eye(2), point, wide, wide],
    )
    statistics = ClassStatistics.from_moments(*moments)
    X = rng.normal(size=(9, 2))
    shown = ClassMapDisplay.from_statistics(statistics, X, ["flat"] * 9)
    shown.figure_.canvas.draw()
    assert len(shown.labels_[0]) == 4
    assert len(shown.scatters_[0]) == 1


def test_the_page_of_a_projection(four, tmp_path):
    X, y = four
    y = np.where(y == "west", "<b>west", y)
    path = tmp_path / "map.html"
    for n, pictures in ((1, 0), (4, 1)):
        projection = HeteroscedasticProjection(n).fit(X, y)
        write_map_page(projection, X, y, path, "<data>.csv")
        text = path.read_text(encoding="utf-8")
        assert "://" not in text
        assert "<b>" not in text
        assert "&lt;data&gt;.csv: map of the classes" in text
        assert text.count("<img ") == pictures
        assert f"keep {100 * projection.explained_.sum():.1f} % of the" in text
        # The features that weigh most come first.
        sizes = np.abs(projection.scalings_[:, 0]) * X.std(axis=0)
        share = 100 * sizes.max() / sizes.sum()
        head = text.index('<p class="note">Component 1</p>')
        first = text.index('<th scope="row">', head)
        assert f"x{sizes.argmax()}</th><td><span>{share:.1f} %" in text[first:][:200]
    assert "Points are rows" in text
