"""Hostile inputs: the right answer or a clear error, and a page that says so."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.pages import DOCS, filled, read_record
from heterolda import HeteroscedasticProjection
from hostile.__main__ import parts
from hostile.inputs import benign
from hostile.runs import attempt, no_worse_than_lda, optimal, same
from hostile.table import CASES, GROUPS, Case


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_right_answer_or_a_clear_error(name):
    case = CASES[name]
    for setting, k, way in case.trials():
        complaint = case.complaint(attempt(setting, case.data(k), way))
        assert not complaint, (setting, k, way)
    for k in case.classes if "fit" in case.ways else ():
        check_components(case, case.data(k))


def check_components(case, data):
    """Components are finite or rejected."""
    try:
        model = HeteroscedasticProjection().fit(data.X, data.y, data.weight)
    except (TypeError, ValueError) as error:
        if "no feature varies" not in str(error) and not isinstance(case.right, str):
            raise
        return
    assert np.isfinite(model.transform(data.X)).all()
    assert np.isfinite(model.loadings_).all()
    assert 0 <= model.explained_.min() <= model.explained_.sum() <= 1 + 1e-9


SWAPPED = {"labels": lambda y: 1 - y, "probabilities": lambda p: p[:, ::-1]}


@pytest.mark.parametrize(
    ("right", "changes", "words"),
    [
        (None, {"error": KeyError("no")}, "raised KeyError"),
        (None, {"warnings": (UserWarning,)}, "UserWarning'>} instead of set()"),
        (None, {"scores": lambda scores: scores + np.inf}, "infinity"),
        (None, {"probabilities": lambda p: 2 * p}, "add up"),
        (None, {"labels": lambda labels: 1 - labels}, "likeliest"),
        (same, SWAPPED, "otherwise than for the twin"),
        (no_worse_than_lda, SWAPPED, "LDA's 79%"),
        ("squares", {}, "though there is no answer"),
        ("squares", {"error": ValueError("no")}, "said 'no' instead of 'squares'"),
    ],
)
def test_the_checks_find_defects(right, changes, words):
    run = attempt("global", benign(2).but(twin=benign(2)))
    new = {n: f(getattr(run, n)) if callable(f) else f for n, f in changes.items()}
    assert words in Case(benign, right).complaint(replace(run, **new))


def test_a_rule_that_is_not_the_best_is_found():
    run = replace(attempt("fisher", benign(2)), name="global")
    assert "is not the least" in Case(benign, optimal).complaint(run)


def test_the_page_has_what_the_results_say():
    results = read_record("hostile")
    text = (DOCS / "trust.md").read_text(encoding="utf-8")
    assert filled(text, parts(results)) == text
    assert results["groups"] == {title: list(group) for title, group in GROUPS.items()}
    assert list(results["rows"]) == list(CASES)
    for row, case in zip(results["rows"].values(), CASES.values(), strict=True):
        assert row["wrong"] == []
        assert row["trials"] == len([*case.trials()])
        assert bool(row["says"]) == isinstance(case.right, str)
