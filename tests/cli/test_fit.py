"""heterolda fit: the same model as from Python, and a summary that is true."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import heterolda
from helpers.cli import KINDS, invoke, make_frame, names, succeed
from heterolda import GaussianLinearDiscriminant, LocalNeighborhoodSearch
from heterolda.cli.cross_validation import Folds
from heterolda.estimators.discriminant import solved_again
from heterolda.inspection import model_facts

FEATURES = names()


@pytest.fixture
def frame(rng):
    return make_frame(rng)


def write(frame, path):
    path = str(path)
    if path.endswith(".parquet"):
        frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False, sep="\t" if ".tsv" in path else ",")
    return path


def fitted(frame, tmp_path, *options, columns=FEATURES):
    """The model that the command makes of a table."""
    data = write(frame, tmp_path / "data.csv")
    chosen = ["--columns", ",".join(columns)] if columns else []
    path = tmp_path / "model.json"
    succeed("fit", data, "-t", "kind", "-o", path, *chosen, *options)
    return heterolda.load(path)


def same(model, other, frame):
    assert type(model) is type(other)
    assert_array_equal(model.classes_, other.classes_)
    assert_allclose(model.coef_, other.coef_, rtol=1e-8, atol=1e-10)
    assert_allclose(model.intercept_, other.intercept_, rtol=1e-8, atol=1e-10)
    X = frame[FEATURES]
    assert_array_equal(model.predict(X), other.predict(X))
    assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=1e-8)


@pytest.mark.parametrize("kind", ["csv", "tsv", "csv.gz", "parquet", "parts", "stdin"])
def test_files_of_any_kind_give_the_model_of_the_array(frame, tmp_path, kind):
    out = tmp_path / "model.json"
    arguments = ["--target", "kind", "--exclude", "id", "--out", out]
    if kind == "stdin":
        text = frame.to_csv(index=False, sep="\t")
        text = succeed("fit", "-", "--format", "tsv", *arguments, stdin=text)
        assert text.startswith("standard input: 200 rows")
    elif kind == "parts":
        for k in range(3):
            write(frame[k::3], tmp_path / f"part-{k}.csv")
        shown = succeed(
            "fit", tmp_path / "part-[01].csv", tmp_path / "part-2.csv", *arguments
        )
        assert "and 1 more: 200 rows, 3 features, 4 classes in 'kind'" in shown
    else:
        succeed("fit", write(frame, tmp_path / f"data.{kind}"), *arguments)
    model = heterolda.load(out)
    assert model.feature_names_in_.tolist() == FEATURES
    same(model, GaussianLinearDiscriminant().fit(frame[FEATURES], frame["kind"]), frame)


def test_cross_validation_does_not_change_the_model(frame, tmp_path):
    data, plain, crossed = (tmp_path / name for name in ("d.csv", "a.json", "b.json"))
    write(frame, data)
    succeed("fit", data, "-t", "kind", "--exclude", "id", "-o", plain, "--no-accuracy")
    succeed("fit", data, "-t", "kind", "--exclude", "id", "-o", crossed, "--cv", "3")
    assert plain.read_bytes() == crossed.read_bytes()


SETTINGS = {
    "--solver fixed-point": {"solver": "fixed-point"},
    "--solver r-hld-1 --seed 3": {"solver": "r-hld-1", "random_state": 3},
    "--shrinkage 0.25": {"shrinkage": 0.25},
    "--shrinkage auto --voting majority": {"shrinkage": "auto", "voting": "majority"},
    "--shrinkage cv": {"shrinkage": "cv"},
    "--priors equal": {"priors": [0.25] * 4},
    "--priors north=.1,west=.4,south=0.2,east=.3": {"priors": [0.3, 0.1, 0.2, 0.4]},
    '--priors {"north":0.1,"west":0.4,"south":0.2,"east":0.3}': {
        "priors": [0.3, 0.1, 0.2, 0.4]
    },
    "--costs north:south=10,east:west=2.5": {
        "costs": {"north": {"south": 10}, "east": {"west": 2.5}}
    },
    '--costs {"north":{"south":10}}': {"costs": {"north": {"south": 10}}},
    "--criterion minimax": {"criterion": "minimax"},
    "--multiclass ova": {"multiclass": "ova"},
}


@pytest.mark.parametrize("options", SETTINGS)
def test_options_are_the_parameters_of_the_estimator(frame, tmp_path, options):
    model = fitted(frame, tmp_path, *options.split())
    expected = GaussianLinearDiscriminant(**SETTINGS[options])
    same(model, expected.fit(frame[FEATURES], frame["kind"]), frame)


def test_a_bound_of_one_class(frame, tmp_path):
    two = frame[frame["kind"].isin(["north", "west"])].assign(
        kind=lambda f: (f["kind"] == "west").astype(int)
    )
    options = ["--criterion", "neyman-pearson", "--max-error", "1=0.02"]
    model = fitted(two, tmp_path, *options)
    assert model.classes_.tolist() == [0, 1]
    assert model.error_rates_[0, 1] == pytest.approx(0.02, rel=1e-6)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--refine"], LocalNeighborhoodSearch(GaussianLinearDiscriminant())),
        (
            ["--strategy", "exact", "--class-weight", "west=4", "--seed", "5"],
            LocalNeighborhoodSearch(
                GaussianLinearDiscriminant(),
                strategy="exact",
                class_weight={"west": 4},
                random_state=5,
            ),
        ),
        (["--recommended"], heterolda.recommended()),
    ],
    ids=["paper", "exact", "recommended"],
)
def test_refinement_is_that_of_python(frame, tmp_path, options, expected):
    model = fitted(frame, tmp_path, *options)
    same(model, expected.fit(frame[FEATURES], frame["kind"]), frame)
    assert model.feature_names_in_.tolist() == FEATURES
    assert model.estimator_.statistics_.feature_names.tolist() == FEATURES


def test_weights_are_frequencies_and_missing_rows_can_be_dropped(frame, tmp_path, rng):
    times = rng.integers(0, 4, len(frame))
    weighted = frame.assign(times=times)
    model = fitted(weighted, tmp_path, "--sample-weight", "times")
    copies = frame.loc[frame.index.repeat(times)]
    same(
        model, GaussianLinearDiscriminant().fit(copies[FEATURES], copies["kind"]), frame
    )
    holes = frame.copy()
    holes.loc[[3, 50], "x1"] = np.nan
    holes.loc[7, "kind"] = None
    model = fitted(holes, tmp_path, "--missing", "drop")
    left = holes.dropna()
    assert len(left) == len(frame) - 3
    same(model, GaussianLinearDiscriminant().fit(left[FEATURES], left["kind"]), frame)


def figures(line):
    return [float(x.replace(",", "")) for x in re.findall(r"[\d,]+(?:\.\d+)?", line)]


def test_the_summary_is_true(frame, tmp_path):
    data = write(frame, tmp_path / "data.csv")
    shown = succeed("fit", data, "-t", "kind", "--exclude", "id")
    X, y = frame[FEATURES], frame["kind"]
    model = GaussianLinearDiscriminant().fit(X, y)
    lda = GaussianLinearDiscriminant(solver="fisher").fit(X, y)
    for kind in KINDS:
        assert re.search(rf"^{kind} +50 +25\.0 %$", shown, re.MULTILINE)
    order = np.argsort(-model.bayes_error_)
    lines = shown.splitlines()
    head = next(k for k, line in enumerate(lines) if line.startswith("pair "))
    for k, line in zip(order, lines[head + 1 :], strict=False):
        pair = " or ".join(model.classes_[model.pairs_[k]])
        assert line.startswith(pair)
        values = [*model.error_rates_[k], model.gap_[k], lda.bayes_error_[k]]
        expected = 100 * np.array([model.bayes_error_[k], *values])
        assert_allclose(figures(line), expected, atol=0.0501)
    left = lda.bayes_error_ - model.bayes_error_
    worst = left.argmax()
    sentence = next(line for line in lines if line.startswith("LDA would leave"))
    assert_allclose(figures(sentence)[0], 100 * left[worst], atol=0.05)
    assert ("next to nothing" in sentence) == (left[worst] < 1e-3)
    if left[worst] >= 1e-3:
        share = left[worst] / lda.bayes_error_[worst]
        assert_allclose(figures(sentence)[1], 100 * share, atol=0.05)
    right = int((model.predict(X) == y).sum())
    assert f"Training accuracy: {right / 2:.2f} % ({right} of 200 rows" in shown
    assert "not saved" in shown


def test_rivals_are_solved_once(frame, tmp_path, monkeypatch):
    calls = []

    def counted(*arguments):
        calls.append(arguments)
        return solved_again(*arguments)

    monkeypatch.setattr(model_facts, "solved_again", counted)
    data = write(frame, tmp_path / "data.csv")
    succeed("fit", data, "-t", "kind", "--exclude", "id", "-o", tmp_path / "m.json")
    assert len(calls) == 1
    succeed("inspect", tmp_path / "m.json", "--html", tmp_path / "m.html")
    assert len(calls) == 2


def test_what_lda_itself_leaves(frame, tmp_path):
    data = write(frame, tmp_path / "data.csv")
    shown = succeed("fit", data, "-t", "kind", "--exclude", "id", "--solver", "fisher")
    assert re.search(r"^pair .* gap +best$", shown, re.MULTILINE)
    assert "LDA leaves" in shown


def test_many_pairs_are_cut_off_and_counted(rng, tmp_path):
    kinds = [f"class {k}" for k in range(14)]
    data = write(make_frame(rng, 1400, kinds), tmp_path / "data.parquet")
    shown = succeed("fit", data, "-t", "kind", "--exclude", "id")
    assert "and 4 more classes" in shown
    assert len(re.findall(r"^class \d+ or class \d+ ", shown, re.MULTILINE)) == 10
    assert "and 81 more pairs, none with more than" in shown


@pytest.mark.parametrize("refine", [False, True])
def test_cross_validation_is_that_of_the_rows(frame, tmp_path, rng, refine):
    frame = frame.assign(times=rng.integers(1, 3, len(frame)))
    data = write(frame, tmp_path / "data.parquet")
    arguments = ["-t", "kind", "--exclude", "id", "--sample-weight", "times"]
    arguments += ["--cv", "4", *(["--refine"] if refine else [])]
    shown = succeed("fit", data, *arguments)
    model = LocalNeighborhoodSearch() if refine else GaussianLinearDiscriminant()
    X, w = frame[FEATURES].to_numpy(), frame["times"].to_numpy()
    classes, y = np.unique(frame["kind"].to_numpy(dtype=str), return_inverse=True)
    # The k-th row of class c is in fold (k + c) mod 4.
    fold = np.array([(y[:i] == c).sum() + c for i, c in enumerate(y)]) % 4
    right = np.zeros(4)
    for k in range(4):
        test = fold == k
        one = clone(model).fit(X[~test], classes[y[~test]], w[~test])
        right[k] = w[test] @ (one.predict(X[test]) == classes[y[test]])
    total = np.bincount(fold, w)
    shares = 100 * right / total
    expected = (
        f"{100 * right.sum() / total.sum():.2f} % ({right.sum():g} of {total.sum():g} "
        f"rows in 4 folds, from {shares.min():.1f} to {shares.max():.1f} %)"
    )
    assert f"Cross-validated accuracy: {expected}" in shown


def test_folds_do_not_depend_on_batches_and_are_stratified(rng):
    truth = rng.integers(0, 4, 1000)
    whole = Folds(7, 4).deal(truth)
    parts, dealt = np.array_split(truth, 13), Folds(7, 4)
    assert_array_equal(np.concatenate([dealt.deal(part) for part in parts]), whole)
    for k in range(4):
        assert np.ptp(np.bincount(whole[truth == k], minlength=7)) <= 1


def test_warnings_are_plain_notes(rng, tmp_path):
    few = make_frame(rng, 12, d=5)
    data = write(few, tmp_path / "few.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = invoke("fit", data, "-t", "kind", "--exclude", "id")
    assert result.exit_code == 0
    assert result.stderr.startswith("note: classes ['east', 'north', 'south', 'west']")
    assert "use --shrinkage auto, or fewer features" in result.stderr
    assert "Warning" not in result.stderr
    assert result.stderr.count("\n") == 1
    holes = few.assign(x0=few["x0"].where(few.index != 1))
    result = invoke(
        "fit", write(holes, data), "-t", "kind", "--exclude", "id", "--missing", "drop"
    )
    assert "note: 1 of 12 rows have missing values and were left out" in result.stderr
    data = write(make_frame(rng, 100), tmp_path / "enough.csv")
    for options, at_once in (
        (["--refine"], False),
        (["--refine", "--cv", "2"], True),
        (["--strategy", "exact"], True),
        (["--shrinkage", "cv"], True),
    ):
        result = invoke("fit", data, "-t", "kind", "--exclude", "id", *options)
        assert ("need all rows at once" in result.stderr) == at_once


def test_names_with_commas_are_protected_by_quotes(frame, tmp_path):
    odd = frame.rename(columns={"x0": "a,b", "x1": 'say "x"'})
    data = write(odd, tmp_path / "data.csv")
    out = tmp_path / "model.json"
    columns = ["--columns", '"a,b", x2']
    succeed("fit", data, "-t", "kind", *columns, "-o", out)
    assert heterolda.load(out).feature_names_in_.tolist() == ["a,b", "x2"]


def test_labels_that_are_numbers_can_be_named(tmp_path, rng):
    frame = make_frame(rng, kinds=["1", "2", "30", "-4"])
    model = fitted(frame, tmp_path, "--costs", "30:-4=7,1:2=0.5")
    assert model.classes_.tolist() == [-4, 1, 2, 30]
    assert model.costs == {30: {-4: 7}, 1: {2: 0.5}}
    both = pd.DataFrame({"x": rng.normal(size=40), "kind": np.arange(40) % 2 == 0})
    both.to_parquet(tmp_path / "b.parquet")
    out = tmp_path / "b.json"
    succeed(
        "fit",
        tmp_path / "b.parquet",
        "-t",
        "kind",
        "--priors",
        "true=0.3,False=0.7",
        "-o",
        out,
    )
    assert_allclose(heterolda.load(out).priors_, [0.7, 0.3])
