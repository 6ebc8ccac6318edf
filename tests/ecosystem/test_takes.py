"""Each estimator takes a kind of data, or rejects it in a clear line."""

from itertools import product

import pytest
from sklearn.base import clone

from benchmarks.pages import DOCS
from helpers.takes import DATA, ESTIMATORS, METHODS, attempt, table
from heterolda import SmoothedLinearDiscriminant

_ANSWERS = {}


@pytest.mark.parametrize(("words", "name"), [*product(DATA, ESTIMATORS)])
def test_data_are_taken_or_rejected_in_a_clear_line(words, name, request):
    if "GPU" in words:
        pytest.importorskip("array_api_strict")
        request.getfixturevalue("dispatch")
    error = attempt(clone(ESTIMATORS[name]), DATA[words])
    _ANSWERS[words, name] = error
    if error is not None:
        said = str(error)
        assert "\n" not in said
        assert 20 < len(said) < 250, said


def test_the_page_has_the_table():
    if len(_ANSWERS) < len(DATA) * len(ESTIMATORS):
        pytest.skip("the data have not all been tried")
    page = (DOCS / "guide/choose.md").read_text(encoding="utf-8")
    assert table(_ANSWERS) in page


def test_what_the_dial_cannot_have_names_what_has_it():
    model = SmoothedLinearDiscriminant()
    for name in {*METHODS, "covariance_estimator"} - {
        *("predict_proba", "transform", "with_operating_point")
    }:
        assert not hasattr(model, name)
        with pytest.raises(AttributeError, match=f"no {name}.*: use GaussianLinearD"):
            getattr(model, name)
