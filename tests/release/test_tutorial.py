"""Pages of commands are executed: every command, and what it shows is compared."""

import re
import shlex
import shutil
import subprocess
import textwrap
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from heterolda.cli.app import app

DAY = re.compile(r"\d{4}-\d\d-\d\d")
JUDGED = ["project", "fit", "inspect", "evaluate"]
DOCS = Path(__file__).parents[2] / "docs"


def commands(text):
    """Commands of the page with the lines that they show."""
    actual = []
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                actual.append(([line[2:]], []))
            elif line.startswith(">"):
                actual[-1][0].append(line[2:])
            else:
                actual[-1][1].append(line)
    return actual


def lines_of(text, width):
    """Lines without days, broken as the page breaks those that are too long."""
    for line in DAY.sub("DAY", text).splitlines():
        yield from textwrap.wrap(line, width, break_on_hyphens=False) or [line]


def run(command):
    """Run a command by bash, what is ours of it in this process; status and output."""
    result, shown, status = StringIO(), StringIO(), 0
    if command.startswith("heterolda "):
        words, rest = re.fullmatch("(?s)(.*?)( [|>] .*)?", command).groups()
        with (
            redirect_stdout(result if rest else shown),
            redirect_stderr(shown),
            pytest.raises(SystemExit) as end,
        ):
            app(shlex.split(words.replace("\\\n", ""))[1:])
        status, command = end.value.code, f"cat {rest or ''}"
    bash = ["bash", "-c", f"exec 2>&1; {command}"]
    done = subprocess.run(bash, input=result.getvalue(), stdout=-1, text=True)
    return status or done.returncode, shown.getvalue() + done.stdout


@pytest.mark.parametrize(
    ("page", "width", "names"),
    [
        ("index", 62, ["fit", "predict", "inspect"]),  # in a column
        ("guide/tutorial", 88, [*JUDGED, "fit", "evaluate", "predict", "export"]),
        ("guide/files", 88, ["fit", "predict", "fit", "fit"]),
    ],
)
def test_pages_of_commands_are_true(page, width, names, tmp_path, monkeypatch):
    missing = [name for name in ("bash", "awk", "gcc") if shutil.which(name) is None]
    if missing:
        pytest.skip(f"the pages need {', '.join(missing)}")
    monkeypatch.chdir(tmp_path)
    script = commands((DOCS / f"{page}.md").read_text(encoding="utf-8"))
    ours = [lines[0].split()[1] for lines, _ in script if "heterolda" in lines[0][:9]]
    assert ours == ["datasets", *names]
    for lines, shown in script:
        status, output = run("\n".join(lines))
        # Pages show some errors; all others are not what stands there.
        assert status == output.startswith("heterolda:"), output
        actual, expected = (
            list(lines_of(text, width)) for text in (output, "\n".join(shown))
        )
        if expected[-1:] == ["..."]:  # and more
            actual[len(expected) - 1 :] = ["..."]
        assert actual == expected, lines[0]
