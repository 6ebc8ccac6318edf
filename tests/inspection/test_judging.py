"""Judgements: a model and LDA on the same rows, and what follows from them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from heterolda import (
    Judgement,
    heteroscedasticity_report,
)
from heterolda.inspection.sentences import (
    most_frequent,
    verdict_sentence,
)

# Few rows of drawn classes: sometimes Fisher's rule is better by chance.
pytestmark = pytest.mark.filterwarnings("ignore::heterolda.ModelMisfitWarning")


def test_a_judgement_is_that_of_copies(rng):
    truth, ours, lda = rng.integers(0, 3, (3, 50))
    weight = rng.integers(0, 4, 50)
    found = Judgement.of("leave-one-out", truth, ours, lda, weight)
    copies = np.repeat(np.arange(50), weight)
    right, lda_right = (p[copies] == truth[copies] for p in (ours, lda))
    d = right.astype(int) - lda_right
    assert found.n_rows == len(copies)
    assert_allclose(
        [found.accuracy, found.lda_accuracy], [right.mean(), lda_right.mean()]
    )
    assert_allclose(found.difference, d.mean())
    assert_allclose(found.standard_error, d.std() / np.sqrt(len(copies)))
    assert Judgement.of("x", truth[copies], ours[copies], lda[copies]).accuracy == (
        pytest.approx(found.accuracy)
    )


def test_two_standard_errors_decide_and_swapping_the_two_swaps_the_verdict():
    for n, better in ((3, None), (5, "model")):
        ours = Judgement.from_counts("x", 100, 100 - n, n, 100)
        other = Judgement.from_counts("x", 100 - n, 100, n, 100)
        assert ours.better == better
        assert other.better == ("LDA" if better else None)
    assert Judgement.from_counts("x", 9, 9, 0, 10).better is None
    assert verdict_sentence(ours) == (
        "Use this model: it is better than LDA by 5.0 points, with a standard error of "
        "2.2 points."
    )
    assert verdict_sentence(other, lda="LDA (there)").startswith(
        "Use LDA (there): it is better than this model by 5.0 points"
    )
    none = Judgement.from_counts("x", 9, 9, 0, 10)
    assert verdict_sentence(none) == (
        "These rows cannot tell the two apart: the difference is 0.0 points, with a "
        "standard error of 0.0 points. Either will do; LDA is the simpler."
    )
    ahead = Judgement.from_counts("x", 97, 100, 3, 100)
    assert "apart: LDA is ahead by 3.0 points, with" in verdict_sentence(ahead)


def test_a_rule_no_better_than_one_answer_is_not_advised():
    truth = np.repeat(["ill", "well"], [30, 70])
    weights = np.array([30.0, 70.0])
    chance = Judgement.from_counts("x", 69, 70, 9, 100)
    constant = most_frequent(chance, ["ill", "well"], weights)
    assert constant == ("well", 0.7)
    assert most_frequent(chance, ["ill", "well"], weights / 2) is None
    said = verdict_sentence(chance, constant=constant)
    assert said.endswith(
        "points. Neither is better than always answering 'well' (70.00 %)."
    )
    assert "Either will do" in verdict_sentence(chance)
    worse = Judgement.from_counts("x", 69, 50, 19, 100)
    assert "But neither is better than" in verdict_sentence(worse, constant=constant)
    good = Judgement.from_counts("x", 71, 70, 9, 100)
    assert "Either will do" in verdict_sentence(good, constant=constant)
    X = np.random.default_rng(0).normal(size=(100, 2))
    report = heteroscedasticity_report(X, truth)
    assert "always answering 'well' (70.00 %)" in " ".join(report.verdict.split())
