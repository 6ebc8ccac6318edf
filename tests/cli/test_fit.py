"""heterolda fit: the same model as from Python, and a summary that is true."""

import json
import re
import sys
from dataclasses import astuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import heterolda
from helpers.cli import KINDS, invoke, make_frame, names, succeed
from heterolda import (
    BoundedErrorClassifier,
    GaussianLinearDiscriminant,
    LocalNeighborhoodSearch,
)
from heterolda.cli.messages import StatusLine
from heterolda.data import fit_batches, gathering
from heterolda.estimators.held_out import held_out
from heterolda.foundations.draws import RowDraws
from heterolda.foundations.threads import silent, stages
from heterolda.statistics import samples

# Few rows of drawn classes: sometimes Fisher's rule is better by chance.
pytestmark = pytest.mark.filterwarnings(
    "ignore::heterolda.exceptions.ModelMisfitWarning"
)

FEATURES = names()
CHOSEN = "-t", "kind", "--columns", ",".join(FEATURES)
GAUSSIAN = *CHOSEN, "--method", "gaussian"


@pytest.fixture
def frame(rng):
    return make_frame(rng)


def write(frame, path):
    path = str(path)
    if path.endswith(".parquet"):
        frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False)
    return path


def fitted(frame, tmp_path, *options):
    data, path = write(frame, tmp_path / "data.csv"), tmp_path / "model.json"
    succeed("fit", data, *CHOSEN, "-o", path, *options)
    return heterolda.load(path)


def assert_same(model, other, frame):
    assert type(model) is type(other)
    assert_array_equal(model.classes_, other.classes_)
    for rules in zip(model._rules[:2], other._rules[:2], strict=True):
        assert_allclose(*rules, rtol=1e-8, atol=1e-10)
    X = frame[FEATURES]
    method = "predict_proba" if hasattr(other, "predict_proba") else "decision_function"
    assert_allclose(*(getattr(m, method)(X) for m in (model, other)), atol=1e-8)


@pytest.mark.parametrize("kind", ["parts", "stdin"])
def test_several_files_and_a_stream_give_the_model_of_the_array(frame, tmp_path, kind):
    out, stdin = tmp_path / "model.json", None
    if kind == "stdin":
        data, stdin = ["-", "--delimiter", "tab"], frame.to_csv(index=False, sep="\t")
        head = "standard input: 200 rows"
    else:
        data = [tmp_path / "part-[01].csv", tmp_path / "part-2.csv"]
        head = "and 1 more: 200 rows, 3 features, 4 classes in 'kind'"
        for k in range(3):
            write(frame[k::3], tmp_path / f"part-{k}.csv")
    arguments = "--target", "kind", "--exclude", "id", "--out", out
    assert head in succeed("fit", *data, *arguments, stdin=stdin)
    model = heterolda.load(out)
    assert model.feature_names_in_.tolist() == FEATURES
    if kind == "parts":
        frame = pd.concat([frame[k::3] for k in range(3)])
    expected = heterolda.SmoothedLinearDiscriminant()
    assert_same(model, expected.fit(frame[FEATURES], frame["kind"]), frame)


def test_held_out_accuracy_does_not_change_the_model(frame, tmp_path):
    data, path = write(frame, tmp_path / "d.csv"), tmp_path / "m.json"
    documents = []
    for options in (["--no-accuracy"], ["--cv", "3"], []):
        shown = succeed("fit", data, *CHOSEN, "-o", path, *options)
        assert ("Held-out accuracy" in shown) == (options != ["--no-accuracy"])
        documents.append(json.loads(path.read_text()))
        record = documents[-1]["model"].pop("fit_record_")
        assert (record["judgement"] is None) == (options == ["--no-accuracy"])
    assert documents[0] == documents[1] == documents[2]


def plain(**settings):
    return GaussianLinearDiscriminant(**settings)


SETTINGS = {
    "--method gaussian --solver r-hld-1 --seed 3": plain(
        solver="r-hld-1", random_state=3
    ),
    "--method gaussian --shrinkage 0.3,0.1 --voting majority": plain(
        shrinkage=(0.3, 0.1), voting="majority"
    ),
    "--method gaussian --shrinkage cv --priors equal --multiclass ovr": plain(
        shrinkage="cv", priors="equal", multiclass="ovr"
    ),
    "--method gaussian --class-weight north=3": plain(class_weight={"north": 3}),
    "--method gaussian --costs north:south=10,east:west=2.5": plain(
        costs={"north": {"south": 10}, "east": {"west": 2.5}}
    ),
    "--criterion minimax": heterolda.SmoothedLinearDiscriminant(criterion="minimax"),
    "--method search": LocalNeighborhoodSearch(),
    "--shrinkage 0.3 --priors north=1,west=4,south=2,east=3": (
        heterolda.SmoothedLinearDiscriminant(shrinkage=0.3, priors=[0.3, 0.1, 0.2, 0.4])
    ),
    "--class-weight balanced --costs north:south=10": (
        heterolda.SmoothedLinearDiscriminant(
            class_weight="balanced", costs={"north": {"south": 10}}
        )
    ),
}


@pytest.mark.parametrize("options", SETTINGS)
def test_options_are_the_parameters_of_the_estimator(frame, tmp_path, options):
    model = fitted(frame, tmp_path, *options.split())
    assert_same(model, SETTINGS[options].fit(frame[FEATURES], frame["kind"]), frame)
    assert model.feature_names_in_.tolist() == FEATURES
    inner = getattr(model, "estimator_", model)
    assert inner.statistics_.feature_names.tolist() == FEATURES


def test_a_bound_of_one_class(rng, tmp_path):
    frame = make_frame(rng, n=60)
    two = frame[frame["kind"].isin(["north", "west"])]
    two = two.assign(w=rng.integers(1, 4, len(two)))
    on_rows = "--criterion", "neyman-pearson", "--max-error", "west=0.02"
    model = fitted(two, tmp_path, *on_rows)
    assert model.left_out_error_rates_[0, 1] <= 0.02

    X, y, w = two[FEATURES], two["kind"], two["w"]
    bound = "--max-error", "west=0.3", "--confidence", "0.9", "--seed", "3"
    options = "--sample-weight", "w", "--method", "gaussian"
    loaded = fitted(two, tmp_path, *bound, *options)
    model = BoundedErrorClassifier(
        max_error={"west": 0.3}, confidence=0.9, random_state=3
    ).fit(X, y, sample_weight=w)
    assert loaded.bound_ == model.bound_
    assert loaded.fit_record_.n_rows == w.sum()
    assert loaded.fit_record_.judgement is None
    assert_allclose(loaded.decision_function(X), model.decision_function(X), rtol=1e-8)
    sentence = "At most 30.0 % of west are wrong on new rows, with 90.0 % confidence"
    assert sentence in succeed("inspect", tmp_path / "model.json")
    west = y == "west"
    wrong = 100 * np.average((model.predict(X) != y)[west], weights=w[west])
    observed = f"west wrong: {wrong:.1f} % of {w[west].sum()} rows (bound: 30"
    evaluated = "evaluate", tmp_path / "model.json", tmp_path / "data.csv"
    assert observed in succeed(*evaluated, "--sample-weight", "w")


def test_weights_are_frequencies_and_missing_rows_can_be_dropped(frame, tmp_path, rng):
    frame["times"] = rng.integers(0, 4, len(frame))
    holes = frame.copy()
    holes.loc[[3, 50], "x1"] = np.nan
    holes.loc[7, "kind"] = None
    options = "--sample-weight", "times", "--missing", "drop", "--method", "gaussian"
    model = fitted(holes, tmp_path, *options)
    kept = frame.drop([3, 7, 50])
    # Left-out rows: a row of weight 3 is one row.
    expected = plain().fit(kept[FEATURES], kept["kind"], kept["times"])
    assert_same(model, expected, frame)


def figures(line):
    actual = re.findall(r"\d[\d,]*(?:\.\d+)?", line)
    return [float(number.replace(",", "")) for number in actual]


def test_the_summary_is_true(frame, tmp_path):
    shown = succeed("fit", write(frame, tmp_path / "data.csv"), *GAUSSIAN)
    X, y = frame[FEATURES], frame["kind"]
    model, lda = plain().fit(X, y), plain(solver="fisher").fit(X, y)
    for kind in KINDS:
        assert re.search(rf"^{kind} +50 +25\.0 %$", shown, re.MULTILINE)
    lines = shown.splitlines()
    head = next(k for k, line in enumerate(lines) if line.startswith("pair "))
    for k, line in zip(
        np.argsort(-model.model_error_), lines[head + 1 :], strict=False
    ):
        first, second = model.classes_[model.pairs_[k]]
        assert line.startswith(f"{first} or {second}")
        values = [lda.model_error_[k], model.gap_[k], *model.error_rates_[k]]
        expected = 100 * np.array([model.model_error_[k], *values])
        assert_allclose(figures(line), expected, atol=0.0501)
        assert re.search(rf" % of {first}, \S.* % of {second}$", line)
    assert "not saved" in shown


def test_the_model_remembers_its_data(frame, tmp_path):
    parts = [write(frame[k::2], tmp_path / f"{k}.csv") for k in range(2)]
    path = tmp_path / "model.json"
    succeed("fit", *parts, *CHOSEN, "-o", path)
    record = heterolda.load(path).fit_record_
    assert (record.target, record.data) == ("kind", "0.csv and 1 more")
    assert record.n_rows == record.judgement.n_rows == 200
    shown = succeed("inspect", path)
    assert "Held-out accuracy (10-fold cross-validation, 200 rows)" in shown
    assert "Fitted to 0.csv and 1 more (200 rows, target 'kind') on" in shown
    # The target is known; that of another table can be named.
    text = frame.drop(columns="id").to_csv(index=False)
    shown = succeed("evaluate", path, "-", stdin=text)
    other = text.replace("kind", "sort")
    assert succeed("evaluate", path, "-", "--target", "sort", stdin=other) == shown


@pytest.mark.parametrize("method", ["gaussian", "search", "smoothed"])
def test_cross_validation_is_that_of_the_rows(frame, tmp_path, rng, method):
    frame = frame.assign(times=rng.integers(1, 3, len(frame)))
    data = write(frame, tmp_path / "data.parquet")
    arguments = [*CHOSEN, "--sample-weight", "times", "--cv", "4", "--method", method]
    shown = succeed("fit", data, *arguments, "-o", tmp_path / "m.json")
    model = {
        "gaussian": plain(),
        "search": LocalNeighborhoodSearch(),
        "smoothed": heterolda.SmoothedLinearDiscriminant(),
    }[method]
    X, y, w = (frame[part].to_numpy() for part in (FEATURES, "kind", "times"))
    expected = held_out(model.fit(X, y, w), X, y, w, n_folds=4)[0]
    fit_record = heterolda.load(tmp_path / "m.json").fit_record_
    assert fit_record.n_rows == w.sum()
    record = fit_record.judgement
    assert record.method == expected.method
    assert_allclose(astuple(record)[1:], astuple(expected)[1:], rtol=1e-9)
    assert f"{w.sum()} rows): {100 * expected.accuracy:.2f} %; LDA on the same" in shown


def test_of_many_rows_a_sample_is_held_out(frame, tmp_path, monkeypatch):
    monkeypatch.setattr(samples, "MAX_SAMPLE_ROWS", 50)
    monkeypatch.setattr(samples, "MAX_ROWS", 20)
    data = write(frame, tmp_path / "data.csv")
    shown = succeed("fit", data, *GAUSSIAN, "-o", tmp_path / "m.json")
    assert "Held-out accuracy (10-fold cross-validation, 200 rows): " in shown
    X, y = frame[FEATURES].to_numpy(), frame["kind"].to_numpy(dtype=str)
    draws, codes = RowDraws(0, 10), np.unique(y, return_inverse=True)[1]
    folds, rows = draws.folds(codes), draws.keys(codes).argsort()[:50]
    right = np.zeros(len(y), bool)
    for k in range(10):
        again = plain(choose_on="model").fit(X[folds != k], y[folds != k])
        right[folds == k] = again.predict(X[folds == k]) == y[folds == k]
    actual = heterolda.load(tmp_path / "m.json").fit_record_.judgement
    assert abs(actual.accuracy - right[rows].mean()) < 0.05  # but for the choice
    assert "(5-fold cross" in succeed("fit", data, *GAUSSIAN, "--cv", "5")
    # Weights of a small mean are scaled to one, those of the folds as well.
    write(frame.assign(w=0.01), data)
    options = "--sample-weight", "w", "-o", tmp_path / "w.json"
    succeed("fit", data, *GAUSSIAN, *options)
    weighted = heterolda.load(tmp_path / "w.json").fit_record_.judgement
    assert weighted.n_rows == pytest.approx(200)
    assert weighted.accuracy == pytest.approx(actual.accuracy)


def test_of_many_rows_some_are_drawn_and_the_moments_are_those_of_all(
    frame, tmp_path, monkeypatch
):
    frame = frame.assign(**{name: frame[name] ** 3 for name in FEATURES})
    data, path = write(frame, tmp_path / "data.csv"), tmp_path / "m.json"
    monkeypatch.setattr(samples, "MAX_ROWS", 20)
    monkeypatch.setattr(gathering.draw_rows, "__defaults__", (silent, 0, 100))
    rules = []
    for seed in "001":
        options = *CHOSEN, "--seed", seed, "--out", path, "--cv", "2"
        result = invoke("fit", data, *options)
        assert "a random sample of 100 of 200 rows, means and cov" in result.stderr
        model = heterolda.load(path)
        assert model.fit_record_.n_rows == 200
        assert model.fit_record_.judgement.n_rows == 100
        transformed = model.transformation_.transform(frame[FEATURES])
        north = (frame["kind"] == "north").to_numpy()
        means, k = transformed[north].mean(axis=0), list(model.classes_).index("north")
        assert_allclose(model.statistics_.means[k], means)
        rules.append(model.transformed_coef_.tolist())
    assert rules[0] == rules[1] != rules[2]
    # A stream cannot be read again.
    batches = iter(pa.Table.from_pandas(frame[[*FEATURES, "kind"]]).to_batches(50))
    with pytest.raises(TypeError, match="rows again, but there are too many rows to"):
        fit_batches(heterolda.SmoothedLinearDiscriminant(), batches, "kind")


def test_a_terminal_shows_each_stage_of_a_fit(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with StatusLine() as status:
        status.doing("reading")("3 rows", np.nan)
        stages()("descending")  # at once, as it may take long
        status("cross-validating", 0.5)
        stages()("descending again")
    shown = capsys.readouterr().err.split("\r\x1b[K")
    assert [text for text in shown if text] == ["reading: 3 rows", "descending"]


def test_warnings_are_plain_notes_and_said_once(rng, tmp_path):
    few = make_frame(rng, 60, d=5).drop(columns="id")
    few["x0"] = few["x0"].where(few.index != 1)
    data = write(few, tmp_path / "few.csv")
    result = invoke("fit", data, "-t", "kind", "--missing", "drop")
    note = "note: 1 of 60 rows have missing values and were left out\n"
    assert result.stderr == note
    assert result.stdout.count("fewer than five rows per feature") == 1


def test_labels_that_are_numbers_can_be_named(tmp_path, rng):
    frame = make_frame(rng, kinds=["1", "2", "30", "-4"])
    model = fitted(frame, tmp_path, "--costs", "30:-4=7,1:2=0.5")
    assert model.classes_.tolist() == [-4, 1, 2, 30]
    assert model.costs == {30: {-4: 7}, 1: {2: 0.5}}
    both = pd.DataFrame({"x": rng.normal(size=40), "kind": np.arange(40) % 2 == 0})
    data, out = write(both, tmp_path / "b.parquet"), tmp_path / "b.json"
    succeed("fit", data, "-t", "kind", "--priors", "true=0.3,False=0.7", "-o", out)
    assert_allclose(heterolda.load(out).priors_, [0.7, 0.3])
