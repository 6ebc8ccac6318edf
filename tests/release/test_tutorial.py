"""Pages of commands are executed: every command, and what it shows is compared."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

DAY = re.compile(r"\d{4}-\d\d-\d\d")
JUDGED = ["project", "fit", "inspect", "evaluate"]
DOCS = Path(__file__).parents[2] / "docs"


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


def lines_of(text):
    """Lines without days; pages break those that are longer than 88 characters."""
    for line in DAY.sub("DAY", text).splitlines():
        yield from textwrap.wrap(line, 88, break_on_hyphens=False) or [line]


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("index", ["fit", "predict", "inspect"]),
        ("guide/tutorial", [*JUDGED, "fit", "evaluate", "predict", "export"]),
        ("guide/files", ["fit", "predict", "fit", "fit"]),
    ],
)
def test_pages_of_commands_are_true(page, names, tmp_path):
    missing = [name for name in ("bash", "awk", "gcc") if shutil.which(name) is None]
    if missing:
        pytest.skip(f"the pages need {', '.join(missing)}")
    programs, work = tmp_path / "programs", tmp_path / "work"
    programs.mkdir()
    work.mkdir()
    program = programs / "heterolda"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -W error -m heterolda "$@"\n')
    program.chmod(0o755)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    script = commands((DOCS / f"{page}.md").read_text(encoding="utf-8"))
    ours = [lines[0].split()[1] for lines, _ in script if "heterolda" in lines[0][:9]]
    assert ours == ["datasets", *names]
    for lines, shown in script:
        run = subprocess.run(
            ["bash", "-c", "\n".join(lines)],
            cwd=work,
            env=os.environ | {"PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        # Pages show some errors; all others are not what stands there.
        assert run.returncode == run.stdout.startswith("heterolda:"), run.stdout
        found, expected = list(lines_of(run.stdout)), list(lines_of("\n".join(shown)))
        if expected[-1:] == ["..."]:  # and more
            found[len(expected) - 1 :] = ["..."]
        assert found == expected, lines[0]
