"""Names that users of linear discriminant analysis look for."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.utils import estimator_html_repr

import heterolda
from heterolda import GaussianLinearDiscriminant, LocalNeighborhoodSearch

pytestmark = pytest.mark.filterwarnings("ignore::heterolda.ModelMisfitWarning")
COLUMNS = ["class 1", "class 2", "feature", "coefficient", "standardised"]


@pytest.fixture
def four(make_classes):
    X, y = make_classes(n_classes=4, n=40, d=3)
    return X * [1e-3, 1, 1e3], np.array(["a", "b", "c", "d"])[y]


def pooled_variances(X, y, classes):
    """Variances of the features within some classes."""
    mask = np.isin(y, classes)
    groups = pd.DataFrame(X[mask]).groupby(y[mask])
    squares = (groups.var() * (groups.size() - 1).to_numpy()[:, None]).sum()
    return (squares / (mask.sum() - len(classes))).to_numpy()


@pytest.mark.parametrize("shrinkage", [None, (0.4, 0.3), "cv"])
def test_moments_are_those_of_the_shrunk_classes(four, shrinkage):
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
    # What was fitted, whatever set_params says later.
    before = model.covariance_
    assert_array_equal(model.set_params(shrinkage=1.0).covariance_, before)


def test_the_table_of_coefficients(four):
    X, y = four
    frame = pd.DataFrame(X, columns=["p", "q", "r"])
    model = GaussianLinearDiscriminant().fit(frame, y)
    table = model.summary()
    assert list(table) == COLUMNS
    rows = iter(table.itertuples(index=False))
    for (i, j), coef in zip(model.pairs_, model.coef_, strict=True):
        labels = model.classes_[[i, j]].tolist()
        weights = coef * np.sqrt(pooled_variances(X, y, labels))
        for k in np.argsort(-np.abs(weights)):
            first, second, name, *figures = next(rows)
            assert [first, second, name] == [*labels, "pqr"[k]]
            assert_allclose(figures, [coef[k], weights[k]])
    assert not list(rows)


def test_the_table_of_other_models(four, tmp_path):
    X, y = four
    ova = GaussianLinearDiscriminant(multiclass="ova").fit(X, y)
    table = ova.summary()
    assert set(table["class 1"]) == {"the rest"}
    first = table[table["class 2"] == "a"].sort_values("feature")
    deviations = np.sqrt(pooled_variances(X, y, [*"abcd"]))
    assert_allclose(first["standardised"], ova.coef_[0] * deviations)
    search = LocalNeighborhoodSearch(ova, max_iter=3).fit(X, y)
    assert search.summary()["standardised"].notna().all()
    # Nothing is known of the classes: all features in their order.
    other = LocalNeighborhoodSearch(LogisticRegression(), max_iter=3).fit(X, y)
    heterolda.save(ova, tmp_path / "model.json", include_statistics=False)
    for model in (other, heterolda.load(tmp_path / "model.json")):
        table = model.summary()
        assert table["standardised"].isna().all()
        assert_array_equal(table["coefficient"], model.coef_.ravel())


def test_attributes_that_are_not_known_do_not_exist(four, tmp_path):
    X, y = four
    waiting = GaussianLinearDiscriminant()
    waiting.partial_fit(X[y < "d"], y[y < "d"], [*"abcd"])
    heterolda.save(
        GaussianLinearDiscriminant().fit(X, y),
        tmp_path / "model.json",
        include_statistics=False,
    )
    for model, words in (
        (GaussianLinearDiscriminant(), "not fitted yet"),
        (waiting, r"classes \['d'\] still have"),
        (heterolda.load(tmp_path / "model.json"), "a file without class statistics"),
    ):
        for name in ("means_", "covariance_"):
            assert not hasattr(model, name)
            with pytest.raises(NotFittedError, match=words):
                getattr(model, name)
        estimator_html_repr(model)
