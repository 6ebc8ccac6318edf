"""The committed results of the paper's study agree with its printed figures."""

import pytest

from benchmarks.pages import DOCS
from benchmarks.reproduction import LIMIT_OF_D1
from heterolda import ClassStatistics, GaussianLinearDiscriminant
from heterolda.experiments import make_d1
from heterolda.experiments.paper import printed_row
from heterolda.experiments.results import read_results

FOLDER = DOCS / "reproduction"
METHODS = ["pairwise-lda", "c-hld", "algorithm-1"]
NEAR = ["shuttle", "segmentation", "spambase", "wine_white"]
NEAR += ["pendigits", "satellite", "letters"]
SMALL = ["liver", "vowels", "zernike", "D1"]
TABLE_2 = ["vowels", "zernike", *NEAR[1:]]


@pytest.fixture(scope="module")
def results():
    return read_results(FOLDER)


def test_the_run_is_complete(results):
    assert len(results.datasets) == 12
    assert len(results.cells) == 12 * 12
    fewer = {key: len(c.rows) for key, c in results.cells.items() if not c.complete}
    assert fewer == {("shuttle", "svm"): 20, ("letters", "svm"): 50}


def test_figures_are_those_of_tables_2_and_3(results):
    for dataset in [*NEAR, *SMALL]:
        for method in METHODS:
            if (dataset, method) == ("D1", "algorithm-1"):
                continue  # Algorithm 1 fails on some draws of D1, see docs/paper.md
            cell = results.cells[dataset, method]
            printed = printed_row(3, dataset).get(method)
            within = 0.6 if dataset in NEAR else 1.6
            assert cell.accuracies.mean() == pytest.approx(printed, abs=within)
            if dataset not in TABLE_2:
                continue
            units = 2 if (dataset, method) == ("wine_white", "c-hld") else 1
            ours = round(1000 * cell.bayes_error / cell.n, 4)
            printed = printed_row(2, dataset).get(method)
            assert abs(ours - printed) <= units * 1e-4 + 1e-9


def test_the_global_optimum_is_never_above_algorithm_1(results):
    for dataset in results.datasets:
        ours = {r.key[2:]: r for r in results.cells[dataset, "gld"].rows}
        theirs = {r.key[2:]: r for r in results.cells[dataset, "algorithm-1"].rows}
        assert ours.keys() == theirs.keys()
        for key, row in ours.items():
            # Singular covariances, as in segmentation, are known to rounding errors.
            assert row.bayes_error <= theirs[key].bayes_error * (1 + 1e-7)


def test_no_linear_rule_is_better_on_d1_than_the_page_says():
    draws = (ClassStatistics.from_data(*make_d1(random_state=k)) for k in range(100))
    model = GaussianLinearDiscriminant().fit_statistics(sum(draws))
    assert 100 * (1 - model.model_error_[0]) == pytest.approx(LIMIT_OF_D1, abs=0.1)
