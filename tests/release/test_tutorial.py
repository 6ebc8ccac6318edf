"""The tutorial is executed: every command, and what it shows is compared."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

DAY = re.compile(r"\d{4}-\d\d-\d\d")
PAGE = Path(__file__).parents[2] / "docs" / "guide" / "tutorial.md"


def commands(text):
    """Commands of the page with the lines that they show."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append(([line[2:]], []))
            elif line.startswith(">"):
                found[-1][0].append(line[2:])
            else:
                found[-1][1].append(line)
    return found


def test_the_tutorial_is_true(tmp_path):
    missing = [name for name in ("bash", "awk", "gcc") if shutil.which(name) is None]
    if missing:
        pytest.skip(f"the tutorial needs {', '.join(missing)}")
    programs, work = tmp_path / "programs", tmp_path / "work"
    programs.mkdir()
    work.mkdir()
    program = programs / "heterolda"
    program.write_text(
        f'#!/bin/sh\nexec {sys.executable} -W error -m heterolda.cli "$@"\n'
    )
    program.chmod(0o755)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    script = commands(PAGE.read_text(encoding="utf-8"))
    ours = [lines[0].split()[1] for lines, _ in script if "heterolda" in lines[0][:9]]
    five = ["fit", "evaluate", "inspect", "export", "predict"]
    assert ours == ["datasets", *five, "project"]
    for lines, shown in script:
        run = subprocess.run(
            ["bash", "-c", "\n".join(lines)],
            cwd=work,
            env=os.environ | {"PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert run.returncode == 0, run.stdout
        found = DAY.sub("DAY", run.stdout).splitlines()
        assert found == [DAY.sub("DAY", line) for line in shown], lines[0]
