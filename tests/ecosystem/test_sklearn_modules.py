"""scikit-learn's own tests with our classifier in the place of theirs."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import sklearn
from sklearn.utils.fixes import parse_version

TESTS = Path(__file__).parents[1]
MODULES = [
    "sklearn.ensemble.tests.test_stacking",
    "sklearn.ensemble.tests.test_voting",
    "sklearn.ensemble.tests.test_weight_boosting",
    "sklearn.feature_selection.tests.test_from_model",
    "sklearn.feature_selection.tests.test_rfe",
    "sklearn.feature_selection.tests.test_sequential",
    "sklearn.inspection.tests.test_permutation_importance",
    "sklearn.model_selection.tests.test_classification_threshold",
    "sklearn.semi_supervised.tests.test_self_training",
    "sklearn.tests.test_calibration",
    "sklearn.tests.test_multiclass",
    "sklearn.tests.test_multioutput",
    "sklearn.tests.test_pipeline",
]
SETTINGS = """[pytest]
addopts = -q --tb=short -p no:cacheprovider -p ecosystem.stand_in
filterwarnings =
    ignore::heterolda.SmallClassWarning
    ignore::heterolda.TrivialRuleWarning
"""


@pytest.mark.check
@pytest.mark.skipif(
    parse_version(sklearn.__version__) < parse_version("1.9"),
    reason="left_out.py is about the tests of scikit-learn 1.9",
)
def test_it_stands_in_for_scikit_learns_classifiers(tmp_path):
    # In a process of its own: `stand_in.py` changes scikit-learn.
    if find_spec("sklearn.tests") is None:
        pytest.skip("scikit-learn is installed without its tests")
    settings = tmp_path / "pytest.ini"
    settings.write_text(SETTINGS)
    command = [sys.executable, "-m", "pytest", "-c", settings, "--pyargs", *MODULES]
    path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    changed = {"PYTHONPATH": path, "SKLEARN_SEED": "0", "PYTEST_ADDOPTS": ""}
    run = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, env=os.environ | changed
    )
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]
