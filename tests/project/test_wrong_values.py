"""Wrong values of the parameters of public functions and classes."""

from inspect import signature

import numpy as np
import pytest

import heterolda
from heterolda import BoundedErrorClassifier, GaussianLinearDiscriminant

X = np.random.default_rng(0).normal(size=(40, 3)) + np.repeat([[0], [1]], 20, axis=0)
Y = np.repeat([0, 1], 20)
WRONG = [object(), -7, "nonsense", [object()], float("nan")]
# What scikit-learn checks has its messages, and some of these values are right.
SKIPPED = {
    ("LocalNeighborhoodSearch", "n_jobs"),
    *(("compare", name) for name in ("X", "y")),
    *(("heteroscedasticity_report", name) for name in ("X", "y", "sample_weight")),
    ("to_c", "name"),
}


def estimators():
    for name in heterolda.__all__:
        cls = getattr(heterolda, name)
        if hasattr(cls, "fit"):
            needed = {}
            if cls is BoundedErrorClassifier:
                needed = {"estimator": GaussianLinearDiscriminant()}
                needed["max_error"] = {1: 0.2}
            yield name, lambda cls=cls, **given: cls(**given).fit(X, Y), cls, needed


def functions(path):
    model = GaussianLinearDiscriminant().fit(X, Y)
    heterolda.save(model, path)
    rows, one = {"X": X, "y": Y}, {"model": model, "path": path}
    given = {"compare": rows, "heteroscedasticity_report": rows}
    given |= {"save": one, "to_c": one, "load": {"path": path}}
    given["to_onnx"] = {"model": model}
    for name, needed in given.items():
        function = getattr(heterolda, name)
        yield name, function, function, needed


@pytest.mark.filterwarnings("ignore")
def test_errors_name_the_parameter(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    silent = []
    for name, call, described, needed in (
        *estimators(),
        *functions(tmp_path / "model.json"),
    ):
        for parameter in signature(described).parameters:
            for value in WRONG:
                if (name, parameter) in SKIPPED or (parameter, type(value)) == (
                    "path",
                    str,
                ):
                    continue
                try:
                    call(**needed | {parameter: value})
                except (ValueError, TypeError) as error:
                    if parameter not in str(error):
                        silent.append((name, parameter, value, str(error)))
                else:
                    silent.append((name, parameter, value, "accepted"))
    assert not silent
