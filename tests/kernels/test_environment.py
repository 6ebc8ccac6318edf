"""The environment chooses the kernels."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("value", "said"),
    [("numpy", "NumPy (HETEROLDA_KERNELS=numpy)"), ("fast", "got 'fast'")],
)
def test_the_environment_chooses_the_kernels(value, said):
    code = "from heterolda import kernels; print(kernels.in_use())"
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={"HETEROLDA_KERNELS": value, "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert said in run.stdout + run.stderr
