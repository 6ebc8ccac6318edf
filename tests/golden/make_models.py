"""Write the model files of the current version, and what they predict.

Run it once when the version rises: ``python tests/golden/make_models.py``. Files of a
version that has been released stay as they are.
"""

from pathlib import Path

import numpy as np
import pandas as pd

import heterolda
from heterolda import (
    FitRecord,
    GaussianLinearDiscriminant,
    Global,
    Judgement,
    recommended,
)
from heterolda.export._json_file import write_json
from heterolda.export.model_file import VERSION

FOLDER = Path(__file__).parent


def make_data(rng, n_classes, d, n=40):
    y = np.repeat(np.arange(n_classes), n)
    shapes, centres = (
        rng.normal(size=(n_classes, d, d)),
        rng.normal(size=(n_classes, d)),
    )
    return (rng.normal(size=(len(y), 1, d)) @ shapes[y])[:, 0] + 2 * centres[y], y


def make_models():
    """Name, model and rows to predict."""
    rng = np.random.default_rng(20)
    X, y = make_data(rng, 2, 3)
    frame = pd.DataFrame(X, columns=["Länge", "width", "height"])
    costs = {"ill": {"well": 5}}
    discriminant = GaussianLinearDiscriminant(
        solver=Global(gap=1e-6), priors=[0.3, 0.7], costs=costs
    )
    discriminant.fit(frame, np.array(["ill", "well"])[y])
    judgement = Judgement("leave-one-out", 80.0, 0.9, 0.875, 0.0125)
    discriminant.fit_record_ = FitRecord(
        "state", "patients.csv", "2026-11-30", 80.0, judgement
    )
    yield "discriminant", discriminant, frame
    X, y = make_data(rng, 4, 2)
    yield "search", recommended(random_state=3, class_weight={0: 2.5}).fit(X, y), X


def main():
    expected = {}
    for name, model, X in make_models():
        heterolda.save(model, FOLDER / f"model_{VERSION}_{name}.json")
        rows = X[::9].round(3)
        expected[name] = {"rows": np.asarray(rows).tolist()}
        for method in ("predict", "predict_proba", "decision_function"):
            expected[name][method] = getattr(model, method)(rows).tolist()
    write_json(FOLDER / f"expected_{VERSION}.json", expected)


if __name__ == "__main__":
    main()
