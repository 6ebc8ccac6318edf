"""The paper's real data: mean Bayes errors (Table 2) and accuracies (Table 3).

One trial of ten stratified folds. The paper's Table 2 holds 1000 times the mean error
of the pairs, divided by the number of rows. It reports means of 20 trials, so its last
printed digit may differ by one unit from ours.
"""

import warnings
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import StratifiedKFold

from heterolda import (
    GaussianLinearDiscriminant,
    LocalNeighborhoodSearch,
    SmallClassWarning,
    TrivialRuleWarning,
)

# Table 2 and Table 3 of the paper: LDA, C-HLD, GLD.
TABLE_2 = {
    "vowels": (0.0339, 0.0326, 0.0326),
    "segmentation": (0.0037, 0.0029, 0.0029),
    "spambase": (0.0253, 0.0228, 0.0228),
    "wine_white": (0.0162, 0.0201, 0.0154),
    "satellite": (0.0046, 0.0039, 0.0039),
    "pendigits": (0.0002, 0.0002, 0.0002),
    "zernike": (0.0054, 0.0051, 0.0050),
    "letters": (0.0007, 0.0007, 0.0007),
    "shuttle": (0.0001, 0.0001, 0.0001),
}
TABLE_3 = {
    "vowels": (73.64, 74.14, 74.14),
    "segmentation": (94.33, 94.59, 94.59),
    "spambase": (88.76, 88.29, 88.26),
    "wine_white": (53.41, 46.59, 53.55),
    "satellite": (85.69, 86.06, 86.08),
    "pendigits": (96.74, 96.99, 97.01),
    "zernike": (84.00, 83.90, 84.80),
    "letters": (81.67, 81.87, 81.88),
    "shuttle": (94.10, 96.60, 96.59),
}
WITHIN = {"vowels": 1.6, "zernike": 1.6}  # one trial of a small set scatters more
METHODS = ["fisher", "c-hld", "fixed-point", "global"]


# Table 3: GLD refined by local neighbourhood search.
TABLE_3_LNS = {
    "shuttle": 97.91,
    "segmentation": 94.89,
    "spambase": 90.28,
    "wine_white": 54.14,
    "pendigits": 97.41,
    "satellite": 86.65,
    "letters": 82.25,
}


@contextmanager
def known_warnings():
    """wine_white has a class of 5 rows: fewer than folds, and than features."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class")
        warnings.simplefilter("ignore", SmallClassWarning)
        warnings.simplefilter("ignore", TrivialRuleWarning)
        yield


def load_folds(data_dir, name):
    frame = pd.read_csv(data_dir / f"{name}.csv.gz")
    X, y = frame.drop(columns="target").to_numpy(float), frame["target"].to_numpy()
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    with known_warnings():
        return X, y, list(folds.split(X, y))


@pytest.mark.parametrize("name", TABLE_2)
def test_tables_2_and_3(data_dir, name):
    X, y, folds = load_folds(data_dir, name)
    errors, hits = np.zeros((4, 10)), np.zeros(4)
    for fold, (train, test) in enumerate(folds):
        for k, solver in enumerate(METHODS):
            model = GaussianLinearDiscriminant(
                solver=solver, guard=False, shrinkage=0.0
            )
            with known_warnings():
                model.fit(X[train], y[train])
            errors[k, fold] = model.bayes_error_.mean()
            hits[k] += np.sum(model.predict(X[test]) == y[test])
        proven = not np.isnan(model.gap_).any()  # of the last, the global optimum
        assert proven or name == "segmentation"  # next to singular
        assert errors[3, fold] <= errors[:3, fold].min() + 1e-9 or not proven
    entries = 1000 * errors.mean(axis=1) / len(X)
    units = np.abs(entries[:3] - TABLE_2[name]) / 1e-4
    assert np.all(units <= 1.5), f"{name}: {entries} against {TABLE_2[name]}"
    accuracy = 100 * hits / len(X)
    difference = np.abs(accuracy[:3] - TABLE_3[name])
    assert np.all(difference <= WITHIN.get(name, 0.6)), (
        f"{name}: {accuracy} against {TABLE_3[name]}"
    )


@pytest.mark.parametrize("name", TABLE_3_LNS)
def test_local_search_reaches_table_3(data_dir, name):
    X, y, folds = load_folds(data_dir, name)
    start = GaussianLinearDiscriminant(solver="fixed-point", shrinkage=0.0)
    search = LocalNeighborhoodSearch(start)
    hits = 0
    for train, test in folds:
        with known_warnings():
            search.fit(X[train], y[train])
        assert np.all(search.n_errors_ <= search.n_errors_start_)
        hits += np.sum(search.predict(X[test]) == y[test])
    assert 100 * hits / len(X) == pytest.approx(TABLE_3_LNS[name], abs=1.0)
