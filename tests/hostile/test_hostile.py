"""Hostile inputs: the right answer or a clear error, and a page that says so.

The cases are data, in `tests/hostile`. First, each is tried; then, the cases are
what they say, those who judge do complain, and the page has a row for each.
"""

import re
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import ndtr
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from heterolda import (
    GaussianLinearDiscriminant,
    HeteroscedasticProjection,
)
from heterolda.solvers import SOLVERS
from hostile.__main__ import DOCS, main
from hostile.case import Case
from hostile.cases import CASES, GROUPS
from hostile.contenders import NON_NORMAL, OURS, PEERS, Contender
from hostile.data import benign, variant
from hostile.judges import (
    Accurate,
    Checked,
    Constant,
    Judge,
    NoWorseThanLDA,
    Optimal,
    Refused,
    Same,
)
from hostile.reference import (
    error_of,
    least_error,
    least_errors,
    moments,
)
from hostile.report import KINDS, page, try_case
from hostile.trial import attempt
from hostile.ways import OF_ROWS, WAYS

# Four solvers try many rules by one routine and differ in what they try: one of them
# meets every input here, and the others in `make hostile`.
SAME_ROUTINE = ("c-hld", "r-hld-1")
ON_THE_COMMAND_LINE = [("global", 2), ("paper", 2)]
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def complaints(case, names):
    """What is wrong with the answers of some contenders, each with its settings."""
    return [
        f"{contender.name}, {k} classes, {complaint}"
        for contender, k in case.contenders()
        if contender.name in names
        for complaint in case.complaints(
            contender,
            k,
            # Every setting by commands would take minutes: `make hostile` does it.
            () if (contender.name, k) in ON_THE_COMMAND_LINE else ("command line",),
        )
    ]


@every_case
def test_the_right_answer_or_a_clear_error(case):
    assert complaints(case, ["global"]) == []


@every_case
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_components_are_finite_or_refused(case):
    for k in case.classes if "fit" in case.ways else ():
        data = case.make(k)
        refused = ""
        try:
            model = HeteroscedasticProjection().fit(data.X, data.y, data.weight)
        except (TypeError, ValueError) as error:
            refused = str(error)
        if refused:
            nothing = "no feature varies" in refused
            assert nothing or isinstance(case.must, Refused), refused
            continue
        assert np.isfinite(model.transform(data.X)).all()
        assert np.isfinite(model.loadings_).all()
        assert 0 <= model.explained_.min() <= model.explained_.sum() <= 1 + 1e-9


@pytest.mark.check
@every_case
def test_the_right_answer_or_a_clear_error_of_every_setting(case):
    assert complaints(case, set(OURS) - {"global", *SAME_ROUTINE}) == []


def test_every_estimator_solver_and_way_is_tried():
    names = {contender.name for case in CASES for contender, _ in case.contenders()}
    assert names == set(OURS) >= {*SOLVERS, *NON_NORMAL}
    ways = {
        way
        for case in CASES
        for contender, k in case.contenders()
        for way in case.ways_of(contender, k)
    }
    assert ways == set(WAYS) >= set(OF_ROWS)
    assert len({case.name for case in CASES}) == len(CASES) >= 80


# The cases are what they say.


def data_of(name, k=2):
    (case,) = [case for case in CASES if case.name == name]
    return case.make(k)


def errors_by_angle(data):
    """Least error for each direction in the plane, by brute force."""
    means, cov, priors = moments(data.X, data.y)
    angle = np.linspace(0, np.pi, 721)
    w = np.column_stack([np.cos(angle), np.sin(angle)])
    t = np.linspace(-8, 8, 2001)[:, None] - w @ means.mean(axis=0)
    error = error_of(w, t, means, cov, priors)
    return np.minimum(error, 1 - error).min(axis=0)


def test_there_are_two_equal_minima():
    error = errors_by_angle(data_of("two equal minima"))
    inside = error[1:-1]
    lowest = np.flatnonzero((inside < error[:-2]) & (inside < error[2:]))
    values = np.sort(inside[lowest])
    assert len(values) >= 2
    assert_allclose(values[0], values[1], rtol=1e-9)
    assert values[0] < error[180] - 0.02  # which is its own mirror image


def test_no_convex_combination_is_the_optimum():
    data = data_of("optimum beyond the convex combinations")
    two = means, cov, _ = moments(data.X, data.y)
    best = np.inf
    for s in np.linspace(0, 1, 201):
        w = np.linalg.solve(s * cov[0] + (1 - s) * cov[1], means[1] - means[0])
        t = np.linspace(-20, 20, 4001) * np.linalg.norm(w)
        best = min(best, error_of(np.tile(w, (len(t), 1)), t, *two).min())
    assert least_error(*two) < 0.9 * best


def test_no_line_beats_one_answer():
    data = data_of("the best rule always names one class")
    two = moments(data.X, data.y)
    assert least_error(*two) == min(two[2])


# The reference is right where the answer is known.


@pytest.mark.parametrize("d", [1, 2, 3])
def test_least_error_of_equal_covariances(rng, d):
    root = rng.normal(size=(d, d)) + 2 * np.eye(d)
    delta = rng.normal(size=d)
    cov = np.array([root @ root.T] * 2)
    distance = np.sqrt(delta @ np.linalg.solve(cov[0], delta))
    found = least_error(np.array([0 * delta, delta]), cov, [0.5, 0.5])
    assert_allclose(found, ndtr(-distance / 2), rtol=1e-5)


def test_error_of_a_class_without_variance():
    means, cov = np.array([[0.0], [1.0]]), np.array([[[0.0]], [[1.0]]])
    error = error_of(np.ones((1, 1)), np.array([-0.5]), means, cov, [0.5, 0.5])
    assert_allclose(error, 0.5 * ndtr(-0.5))


def test_least_errors_of_lines(rng):
    X, y = rng.integers(0, 3, size=(40, 2)).astype(float), rng.integers(0, 2, 40)
    w = rng.normal(size=(20000, 2))
    t = rng.uniform(-6, 6, size=20000)
    wrong = np.count_nonzero((t < X @ w.T) != y[:, None], axis=0)
    assert least_errors(X, y) == min(wrong.min(), (len(y) - wrong).min())


# Those who judge do complain.


class Bad(LinearDiscriminantAnalysis):
    """A classifier with one defect, by name."""

    def __init__(self, defect=None):
        super().__init__()
        self.defect = defect

    def fit(self, X, y):
        if self.defect == "refuses":
            raise ValueError("no")
        if self.defect == "internal":
            np.linalg.cholesky(-np.eye(2))
        if self.defect in ("warns", "overflows"):
            kind = {"warns": UserWarning, "overflows": RuntimeWarning}[self.defect]
            warnings.warn("well", kind, stacklevel=1)
        return super().fit(X, y)

    def predict(self, X):
        labels = super().predict(X)
        return 1 - labels if self.defect == "inverts" else labels

    def predict_proba(self, X):
        p = super().predict_proba(X)
        if self.defect == "NaN":
            return np.full_like(p, np.nan)
        if self.defect == "more than one":
            return 2 * p
        return p[:, ::-1] if self.defect == "inverts" else p


def trial_of(defect, data=None):
    bad = Contender("bad", lambda **settings: Bad(defect, **settings))
    return attempt(bad, data or benign(2))


@pytest.mark.parametrize(
    ("defect", "words"),
    [
        ("refuses", "raised"),
        ("internal", "raised LinAlgError"),
        ("overflows", "RuntimeWarning"),
        ("warns", "UserWarning"),
        ("NaN", "not finite"),
        ("more than one", "add up"),
    ],
)
def test_a_defect_is_found(defect, words):
    assert Judge()(trial_of(None)) is None
    assert words in Judge()(trial_of(defect))


@pytest.mark.parametrize(
    ("judge", "words"),
    [
        (Same(), "instead of"),
        (Accurate(least=0.7), "instead of 70%"),
        (Constant(label=0), "too"),
        (Checked(check=lambda trial: "no"), "no"),
        (Refused(words="squares"), "though there is no answer"),
        (Judge(warns=UserWarning), "instead of ['UserWarning']"),
        (NoWorseThanLDA(), "instead of 79%"),
    ],
)
def test_a_wrong_answer_is_found(judge, words):
    other = variant(y=lambda data: 1 - data.y)(2)
    assert words in judge(trial_of("inverts", benign(2).but(twin=other)))


def test_a_rule_that_is_not_the_best_is_found():
    class Fisher(GaussianLinearDiscriminant):
        def fit(self, X, y):
            self.set_params(solver="fisher")
            return super().fit(X, y)

    class Boasting(GaussianLinearDiscriminant):
        def fit(self, X, y):
            super().fit(X, y)
            self.bayes_error_ = self.bayes_error_ / 2
            return self

    for kind, words in ((Fisher, "brute force found"), (Boasting, "but has")):
        assert words in Optimal()(attempt(Contender("global", kind), benign(2)))


# The page.


def cells(line):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def test_the_page_has_the_rows_of_the_cases():
    text = (DOCS / "hostile.md").read_text(encoding="utf-8")
    tables = text.split("\n## ")[2:]
    *tables, details, _ = tables
    said = dict(cells(x) for x in details.splitlines() if x.startswith("|"))
    assert [table.partition("\n")[0] for table in tables] == list(GROUPS)
    for table, cases in zip(tables, GROUPS.values(), strict=True):
        head, _, *rows = (cells(x) for x in table.splitlines() if x.startswith("|"))
        assert head == ["input", "heterolda", *PEERS]
        assert [row[0] for row in rows] == [case.name for case in cases]
        for row, case in zip(rows, cases, strict=True):
            if isinstance(case.must, Refused):
                assert row[1] == "clear error"
                assert said[case.name]
            elif any(isinstance(judge, Refused) for judge in case.but.values()):
                assert "refused" in said[case.name]
    runs = [(c, one) for c in CASES for one in c.contenders()]
    trials = sum(len(c.ways_of(*one)) for c, one in runs)
    assert f"{len(CASES)} inputs, {trials} trials of ours, 0 complaints." in text


def test_a_row_of_the_page(tmp_path, monkeypatch):
    negative, mixed = (
        next(case for case in CASES if case.name == name)
        for name in ("weights that are negative", "labels of mixed types")
    )
    row = try_case(negative)
    assert row.complaints == []
    assert set(row.peers.values()) == {("not offered", "not offered")}
    assert row.ours.startswith("refused: sample_weight has negative values")
    spoiled = Case("spoiled", mixed.make, Accurate(), ways=("fit",), only=("fisher",))
    text = page({"Some": [row, try_case(spoiled)]})
    assert "fisher (2 classes, fit): raised TypeError" in text
    for kind in KINDS:
        assert f"| {kind} |" in text

    monkeypatch.setattr("hostile.report.GROUPS", {"Good": [negative], "Bad": [spoiled]})
    assert main(["--output", str(tmp_path)]) == 1
    assert "spoiled" in (tmp_path / "hostile.md").read_text(encoding="utf-8")
