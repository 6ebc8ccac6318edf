"""Wrong values of the parameters of public functions, classes and methods."""

from inspect import signature

import numpy as np
import pandas as pd
import pytest

import heterolda
from heterolda import ClassStatistics, data, experiments, inspection, solvers

GLD = heterolda.GaussianLinearDiscriminant
X = np.random.default_rng(0).normal(size=(40, 3)) + np.repeat([[0], [1]], 20, axis=0)
Y = np.repeat([0, 1], 20)
ROWS = {"X": X, "y": Y}
WRONG = [object(), -7, "nonsense", [object()], float("nan")]
# Records that the library makes; users read their attributes.
RECORDS = {
    *("BoxTest", "CHeader", "Category", "Comparison", "ErrorBound", "Evaluation"),
    *("FitRecord", "HeteroscedasticityReport", "OperatingPoint", "Results"),
    *("Explanation", "Frequencies", "Monitoring"),
    *heterolda.exceptions.__all__,
}
# Every parameter but these; what scikit-learn checks, such as rows and labels, has its
# messages. Some of the values are right, and matplotlib checks axes.
SKIPPED = {"X", "y", "ax", "kwargs", "progress"}
PATHS = "path", "folder", "out", "source"
RIGHT = {
    ("LocalNeighborhoodSearch", "n_jobs"),
    ("heteroscedasticity_report", "sample_weight"),
    ("to_c", "name"),
    ("RandomSearch", "low"),
    ("make_d2", "shift"),
    ("load_dataset", "random_state"),  # of sets that are drawn
    ("Study", "data_dir"),  # of sets in files
}


def public():
    """Yield what users call: its name, what is called, and arguments it needs."""
    model = GLD().fit(X, Y)
    stats = model.statistics_
    frame = pd.DataFrame(X, columns=[*"abc"]).assign(kind=Y)
    stats.save("stats.npz")
    heterolda.save(model, "model.json")
    study = {"datasets": {"mine": (X, Y)}, "methods": ["lda"]}
    results = experiments.Study(**study, folds=2).run("study")
    of_rows = {"source": frame, "target": "kind"}
    one = {"model": model, "path": "model.json"}
    needed = {
        "compare": ROWS,
        "evaluate": {"model": GLD(), **ROWS},
        "heteroscedasticity_report": ROWS,
        "save": one,
        "to_c": one,
        "load": {"path": "model.json"},
        "to_onnx": {"model": model},
        "show_versions": {},
        "fit_batches": {"estimator": GLD(), **of_rows},
        "statistics_from_batches": of_rows,
        "make_d1": {},
        "make_d2": {},
        "load_dataset": {"name": "liver"},
        "Study": study,
        "monitor": {"model": model, **ROWS},
        "read_results": {"folder": "study"},
        "write_report": {"folder": "study"},
        "render_table": {"results": results, "table": 3},
    }
    bound = {"estimator": GLD(), "max_error": {1: 0.2}}
    for place in (
        heterolda,
        inspection,
        solvers,
        heterolda.exceptions,
        data,
        experiments,
    ):
        for name in set(place.__all__) - RECORDS - {"ClassStatistics", "Frontier"}:
            call = getattr(place, name)
            if hasattr(call, "fit"):
                given = bound if name == "BoundedErrorClassifier" else {}
                yield name, lambda c=call, **k: c(**k).fit(X, Y), given, call
            elif place is solvers:
                yield name, lambda c=call, **k: GLD(solver=c(**k)).fit(X, Y), {}, call
            elif name.endswith("Display"):
                call, given = call.from_estimator, {"estimator": model, **ROWS}
                if name == "ClassMapDisplay":
                    plane = heterolda.HeteroscedasticProjection(2).fit(X, Y)
                    given["estimator"] = plane
                given = {
                    k: v for k, v in given.items() if k in signature(call).parameters
                }
                yield name, call, given, call
            else:
                yield name, call, needed[name], call
    moments = stats.classes, stats.weights, stats.means, stats.covariances()
    names = "classes", "counts", "means", "covariances"
    for call, given in (
        (ClassStatistics.from_data, ROWS),
        (ClassStatistics.from_moments, dict(zip(names, moments, strict=True))),
        (ClassStatistics.load, {"path": "stats.npz"}),
        (stats.copy().update, ROWS),
        (stats.covariances, {}),
        (stats.decayed, {}),
        (stats.save, {"path": "stats.npz"}),
        (inspection.Frontier.from_statistics, {"statistics": stats}),
        (model.frontier_[0].at, {}),
        (GLD().partial_fit, {**ROWS, "classes": [0, 1]}),
        (GLD().fit_statistics, {"statistics": stats}),
        (model.with_operating_point, {}),
        (model.for_features, {"features": [0]}),
        *((kind().fit, ROWS) for kind in (GLD, heterolda.SmoothedLinearDiscriminant)),
    ):
        yield call.__qualname__, call, given, call


@pytest.mark.filterwarnings("ignore")
def test_errors_name_the_parameter(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    silent = []
    for name, call, needed, described in public():
        for parameter in set(signature(described).parameters) - SKIPPED:
            for value in WRONG:
                is_path = value == "nonsense" and parameter in PATHS
                if (name, parameter) in RIGHT or is_path:
                    continue
                try:
                    call(**needed | {parameter: value})
                except (ValueError, TypeError) as error:
                    if parameter not in str(error):
                        silent.append((name, parameter, value, str(error)))
                except Exception as error:  # of another kind
                    silent.append((name, parameter, value, repr(error)))
                else:
                    silent.append((name, parameter, value, "accepted"))
    assert not silent, "\n".join(map(str, silent))
