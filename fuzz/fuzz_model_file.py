"""Fuzzing of the reader of model files: ``make fuzz``, or ``make fuzz SECONDS=3600``.

With atheris, where that can be installed, coverage guides the changes. Without it they
are made at random, in the bytes or in the structure of a file, for the same time.
"""

from __future__ import annotations

import copy
import inspect
import json
import random
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from heterolda import GaussianLinearDiscriminant, Grid, LocalNeighborhoodSearch
from heterolda.export import (
    fields,
    json_file,
    model_file,
    models,
    parameters,
    rules,
)
from heterolda.export.json_file import json_text, parse_json
from heterolda.export.model_file import from_document, to_document

SEEDS = Path(__file__).parent.parent / "tests" / "data"
METHODS = "predict", "decision_function", "predict_proba", "predict_log_proba"
# What may stand anywhere in a document, by chance or by malice.
VALUES = [
    *(None, True, False, 0, 1, -1, 2, 3, 2**31, 2**53, 2**63, 10**20),
    *(0.0, -0.0, 0.5, 1.0, -1.5, 1e-300, 5e-324, 1e300, -1e308, 1e308),
    *("", "a", "NaN", "Infinity", "-Infinity", "auto", "ova", "trivial", "U9", "é"),
    *([], [0], [[0, 1]], [[0.0]], {}, {"map": []}, {"array": [1.0]}),
    {"settings": "Fisher"},
]


def check(data):
    """Whether a file is a model. If so, it predicts numbers, and its copy is the same.

    Parameters
    ----------
    data : bytes
        The content of a file. Any error but a ValueError is a defect.

    Returns
    -------
    bool
        Whether it was read.
    """
    try:
        model = from_document(parse_json(data))
    except ValueError:
        return False
    d = model.n_features_in_
    X = np.vstack([np.zeros(d), np.ones(d), -1e3 * np.ones(d), np.full(d, 1e200)])
    X[3, ::2] *= -1
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        for method in METHODS:
            values = getattr(model, method)(X)
            assert len(values) == len(X)
            if method == "predict":
                assert set(values.tolist()) <= set(model.classes_.tolist())
            else:
                assert np.isfinite(values).all(), f"{method} is not finite"
    document = to_document(model)
    again = from_document(parse_json(json_text(document)))
    assert to_document(again) == document
    return True


def seeds():
    """Files of many kinds of models, to begin with."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 12)
    X = rng.normal(size=(48, 2)) * (1 + y[:, None]) + 2 * y[:, None]
    logistic = LogisticRegression()
    models = [
        GaussianLinearDiscriminant(multiclass="ova", solver=Grid(), shrinkage="cv"),
        GaussianLinearDiscriminant(
            costs=np.ones((4, 4)) - np.eye(4), voting="majority"
        ),
        LocalNeighborhoodSearch(logistic, class_weight={1: 2.0}, early_stopping=True),
        LocalNeighborhoodSearch(
            FrozenEstimator(GaussianLinearDiscriminant().fit(X, y))
        ),
    ]
    found = [path.read_bytes() for path in sorted(SEEDS.glob("model_*.json"))]
    for model in models:
        found.append(json_text(to_document(model.fit(X, y))))
    return found


def places(value, found=None):
    """All containers and keys of a document."""
    found = [] if found is None else found
    keys = value if isinstance(value, dict) else range(len(value))
    for key in keys:
        found.append((value, key))
        if isinstance(value[key], dict | list):
            places(value[key], found)
    return found


def change_structure(document, rng):
    """A copy of a document with a value replaced, left out, moved or doubled."""
    document = copy.deepcopy(document)
    every = places(document)
    container, key = rng.choice(every)
    kind = rng.randrange(5)
    if kind == 0:
        del container[key]
    elif kind == 1 and isinstance(container, list):
        container.insert(key, container[key])
    elif kind == 2 and isinstance(container[key], int | float):
        container[key] *= rng.choice([-1, 0, 1e-200, 1e-9, 1.001, 2, 1e9, 1e200])
    elif kind == 3:
        other, there = rng.choice(every)
        container[key] = copy.deepcopy(other[there])
    else:
        container[key] = copy.deepcopy(rng.choice(VALUES))
    return document


def change_bytes(data, rng):
    """A copy of some bytes with a few of them changed, left out or added."""
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 8])):
        at = rng.randrange(len(data))
        kind = rng.randrange(4)
        if kind == 0:
            data[at] = rng.randrange(256)
        elif kind == 1:
            data[at] = rng.choice(b'0123456789-+.eE"[]{},:tfn\\ \x00\xff')
        elif kind == 2:
            del data[at : at + rng.choice([1, 1, 10, 1000])]
            data = data or bytearray(b" ")
        else:
            start = rng.randrange(len(data))
            data[at:at] = data[start : start + rng.choice([1, 5, 100])]
    return bytes(data)


def run_without_atheris(seconds, seed):
    """Change the seeds at random for some time."""
    rng = random.Random(seed)
    files = seeds()
    documents = [json.loads(data) for data in files]
    n = accepted = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        n += 1
        which = rng.randrange(len(files))
        if rng.random() < 0.5:
            data = change_bytes(files[which], rng)
        else:
            changed = documents[which]
            for _ in range(rng.choice([1, 1, 1, 2, 3])):
                changed = change_structure(changed, rng)
            data = json.dumps(changed).encode()
        try:
            accepted += check(data)
        except BaseException:
            culprit = Path("build/fuzz/crash.json")
            culprit.parent.mkdir(parents=True, exist_ok=True)
            culprit.write_bytes(data)
            print(f"file {n} of seed {seed} is a defect: {culprit}")
            raise
    print(f"{n} files, {accepted} of them models, no defect (seed {seed})")


def functions_of(module):
    """Functions that a module defines, methods of its classes included."""
    for item in vars(module).values():
        if getattr(item, "__module__", None) == module.__name__:
            members = vars(item).values() if inspect.isclass(item) else [item]
            yield from filter(inspect.isfunction, members)


def run_with_atheris(atheris, seconds):
    """Let coverage of the reader guide the changes, half of them in the structure."""
    for module in (fields, json_file, model_file, models, parameters, rules):
        for function in functions_of(module):
            atheris.instrument_func(function)
    corpus = Path("build/fuzz/corpus")
    corpus.mkdir(parents=True, exist_ok=True)
    for k, data in enumerate(seeds()):
        (corpus / f"seed{k}").write_bytes(data)

    def mutate(data, max_size, seed):
        rng = random.Random(seed)
        try:
            document = parse_json(data)
        except ValueError:
            document = None
        if rng.random() < 0.5 or not isinstance(document, dict) or not document:
            return atheris.Mutate(data, max_size)
        return json.dumps(change_structure(document, rng)).encode()[:max_size]

    def check_one(data):
        check(data)

    limits = [f"-max_total_time={seconds}", "-max_len=50000", "-timeout=10"]
    options = [*limits, "-artifact_prefix=build/fuzz/", str(corpus)]
    atheris.Setup([sys.argv[0], *options], check_one, custom_mutator=mutate)
    atheris.Fuzz()


def main():
    """Run for the number of seconds on the command line."""
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    try:
        import atheris
    except ImportError:
        print("atheris is not installed: files are changed without its guidance")
        run_without_atheris(seconds, seed=int(time.time()))
    else:
        run_with_atheris(atheris, seconds)


if __name__ == "__main__":
    main()
