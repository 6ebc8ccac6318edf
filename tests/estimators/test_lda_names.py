"""Names that users of linear discriminant analysis look for."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

import heterolda
from heterolda import (
    ClassStatistics,
    GaussianLinearDiscriminant,
    LocalNeighborhoodSearch,
)

pytestmark = pytest.mark.filterwarnings("ignore::heterolda.ModelMisfitWarning")
COLUMNS = ["class 1", "class 2", "feature", "coefficient", "standardised"]


@pytest.fixture
def four(make_classes):
    X, y = make_classes(n_classes=4, n=40, d=3)
    return X * [1e-3, 1, 1e3], np.array(["a", "b", "c", "d"])[y]


def pooled(X, y, two):
    """Variances of the features within some classes, with pandas."""
    pd = pytest.importorskip("pandas")
    some = np.isin(y, two)
    groups = pd.DataFrame(X[some]).groupby(y[some])
    squares = (groups.var() * (groups.size() - 1).to_numpy()[:, None]).sum()
    return (squares / (some.sum() - len(two))).to_numpy()


@pytest.mark.parametrize("shrinkage", [None, (0.4, 0.3), "cv"])
def test_moments_are_those_of_the_shrunk_classes(four, shrinkage, tmp_path):
    X, y = four
    model = GaussianLinearDiscriminant(guard=False, shrinkage=shrinkage).fit(X, y)
    share, diagonal = (0, 0) if shrinkage is None else (0.4, 0.3)
    if shrinkage == "cv":
        share = model.shrinkage_.to_pooled[:, None, None]
        diagonal = model.shrinkage_.to_diagonal
    own = np.array([np.cov(X[y == k].T) for k in "abcd"])
    target = own.mean(axis=0)  # the classes have as many rows each
    target += diagonal * (np.diag(np.diag(target)) - target)
    assert_allclose(model.covariance_, (1 - share) * own + share * target, rtol=1e-9)
    assert_allclose(model.means_, [X[y == k].mean(axis=0) for k in "abcd"])
    assert (model.shrinkage_ is None) == (shrinkage != "cv")
    loaded = heterolda.load(save(model, tmp_path))
    assert_allclose(loaded.covariance_, model.covariance_, rtol=1e-9)
    # What was fitted, whatever set_params says later.
    before = model.covariance_
    assert_array_equal(model.set_params(shrinkage=1.0).covariance_, before)


def save(model, folder, **options):
    heterolda.save(model, folder / "model.json", **options)
    return folder / "model.json"


def test_the_table_of_coefficients(four):
    pd = pytest.importorskip("pandas")
    X, y = four
    frame = pd.DataFrame(X, columns=["p", "q", "r"])
    model = GaussianLinearDiscriminant().fit(frame, y)
    table = model.summary()
    assert list(table) == COLUMNS
    assert len(table) == 6 * 3
    rows = iter(table.itertuples(index=False))
    for (i, j), coef in zip(model.pairs_, model.coef_, strict=True):
        two = model.classes_[[i, j]].tolist()
        weights = coef * np.sqrt(pooled(X, y, two))
        for k in np.argsort(-np.abs(weights)):
            first, second, name, *figures = next(rows)
            assert [first, second, name] == [*two, "pqr"[k]]
            assert_allclose(figures, [coef[k], weights[k]])
    # Units do not matter.
    other = GaussianLinearDiscriminant().fit(1e5 * X, y).summary()
    assert_allclose(other["standardised"], table["standardised"], rtol=1e-6)
    assert other["feature"].tolist() == ["pqr".index(k) for k in table["feature"]]


def test_the_table_of_other_models(four, tmp_path):
    X, y = four
    ova = GaussianLinearDiscriminant(multiclass="ova").fit(X, y)
    table = ova.summary()
    assert set(table["class 1"]) == {"the rest"}
    assert table["class 2"].tolist() == [k for k in "abcd" for _ in range(3)]
    first = table[table["class 2"] == "a"].sort_values("feature")
    deviations = np.sqrt(pooled(X, y, [*"abcd"]))
    assert_allclose(first["standardised"], ova.coef_[0] * deviations)
    search = LocalNeighborhoodSearch(ova, max_iter=3).fit(X, y)
    table = search.summary()
    assert_allclose(np.sort(table["coefficient"]), np.sort(search.coef_.ravel()))
    assert table["standardised"].notna().all()
    frozen = LocalNeighborhoodSearch(FrozenEstimator(search.estimator_), max_iter=3)
    assert frozen.fit(X, y).summary()["standardised"].notna().all()
    # Nothing is known of the classes: all features in their order.
    other = LocalNeighborhoodSearch(LogisticRegression(), max_iter=3).fit(X, y)
    for model in (other, heterolda.load(save(ova, tmp_path, include_statistics=False))):
        table = model.summary()
        assert table["standardised"].isna().all()
        assert_array_equal(table["coefficient"], model.coef_.ravel())
        assert table["feature"].tolist() == [0, 1, 2] * len(model.coef_)
    # Two single rows have no deviations of their own.
    few = ClassStatistics.from_data(
        [[0.0], [2.0], [5.0], [9.0], [7.0]], ["a", "a", "b", "c", "d"]
    )
    with pytest.warns(heterolda.SmallClassWarning):
        model = GaussianLinearDiscriminant().fit_statistics(few)
    ratio = model.summary()["standardised"] / model.coef_.ravel()
    assert_allclose(ratio, np.sqrt(2))
