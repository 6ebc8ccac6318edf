"""The newcomer's command `make demo`."""

import re
from pathlib import Path

from helpers.cli import succeed

ROOT = Path(__file__).parents[2]


def test_the_demo_runs(tmp_path):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = re.search(r"^demo:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)[1]
    reproduce, report = (
        line.replace("build/demo", str(tmp_path)).split()[1:]
        for line in recipe.splitlines()
    )
    tables = succeed(*reproduce, "--folds", "2")
    for name in ("D1", "D2", "breast_cancer", "wine", "digits"):
        assert len(re.findall(rf"^{name} ", tables, re.MULTILINE)) >= 3
    last = succeed(*report).splitlines()[-1]
    assert last == str(tmp_path / "report.html")
    assert "</html>" in Path(last).read_text(encoding="utf-8")
