"""The newcomer's command `make demo`."""

import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("kernels", ["compiled", "numpy"])
def test_the_demo_runs(kernels, tmp_path):
    if kernels == "compiled":
        pytest.importorskip("heterolda.kernels._compiled")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = re.search(r"^demo:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)[1]
    reproduce, report = (
        line.replace("build/demo", str(tmp_path)).split()[1:]
        for line in recipe.splitlines()
    )
    run = partial(
        subprocess.run,
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"HETEROLDA_KERNELS": kernels},
    )
    command = [sys.executable, "-W", "error", "-m", "heterolda"]
    tables = run([*command, *reproduce, "--folds", "2"]).stdout
    for name in ("D1", "D2", "breast_cancer", "wine", "digits"):
        assert len(re.findall(rf"^{name} ", tables, re.MULTILINE)) >= 3
    last = run([*command, *report]).stdout.splitlines()[-1]
    assert last == str(tmp_path / "report.html")
    assert "</html>" in Path(last).read_text(encoding="utf-8")
