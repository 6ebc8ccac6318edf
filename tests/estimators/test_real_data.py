"""The paper's real data: mean Bayes errors (Table 2) and accuracies (Table 3).

One trial of ten stratified folds. The paper's Table 2 holds 1000 times the mean error
of the pairs, divided by the number of rows. It reports means of 20 trials, so its last
printed digit may differ by one unit from ours.
"""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from heterolda import GaussianLinearDiscriminant, LocalNeighborhoodSearch
from heterolda.experiments.datasets import load_dataset
from heterolda.experiments.paper import printed_row

START = GaussianLinearDiscriminant(
    solver="fixed-point", choose_on="model", shrinkage=0.0, voting="weighted"
)
MODELS = {
    "pairwise-lda": clone(START).set_params(solver="fisher"),
    "c-hld": clone(START).set_params(solver="c-hld"),
    "algorithm-1": START,
    "gld": clone(START).set_params(solver="global"),
    "algorithm-2": LocalNeighborhoodSearch(START, voting="weighted"),
}
# By how many per cent the accuracies of one trial may differ.
WITHIN = {"vowels": 1.6, "zernike": 1.6, "spambase": 0.6, "wine_white": 0.6}
WITHIN |= {"satellite": 0.6, "segmentation": 0.6, "pendigits": 0.6}


@pytest.mark.parametrize("name", WITHIN)
def test_tables_2_and_3(data_dir, name):
    X, y = load_dataset(name, data_dir)
    errors = {method: [] for method in MODELS}
    hits = dict.fromkeys(MODELS, 0)
    with warnings.catch_warnings(action="ignore"):  # wine_white has a class of 5 rows
        folds = StratifiedKFold(10, shuffle=True, random_state=0)
        for train, test in folds.split(X, y):
            for method, model in MODELS.items():
                model.fit(X[train], y[train])
                hits[method] += np.sum(model.predict(X[test]) == y[test])
                if method != "algorithm-2":
                    errors[method].append(model.model_error_.mean())
            search = MODELS["algorithm-2"]
            assert np.all(search.n_errors_ <= search.n_errors_start_)
    proven = not np.isnan(MODELS["gld"].gap_).any()
    assert proven or name == "segmentation"  # next to singular
    for method in MODELS:
        accuracy = 100 * hits[method] / len(X)
        printed = printed_row(3, name).get(method)
        if printed is not None:
            within = max(WITHIN[name], method == "algorithm-2")
            assert accuracy == pytest.approx(printed, abs=within), method
        if method == "algorithm-2":
            continue
        entry = 1000 * np.mean(errors[method]) / len(X)
        printed = printed_row(2, name).get(method)
        if printed is not None:
            assert entry == pytest.approx(printed, abs=1.5e-4), method
        if proven:
            assert np.all(np.subtract(errors["gld"], errors[method]) <= 1e-9)
