"""What is installed, for reports of defects."""

import subprocess
import sys

import numpy as np
import pytest

import heterolda
from heterolda import kernels


def test_versions_and_kernels_are_shown(capsys, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    heterolda.show_versions()
    words = " ".join(capsys.readouterr().out.split())
    for name, value in {
        "heterolda": heterolda.__version__,
        "kernels": kernels.in_use(),
        "numpy": np.__version__,
        "python": sys.version.split()[0],
        "OMP_NUM_THREADS": "3",
    }.items():
        assert f"{name}: {value}" in words


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
