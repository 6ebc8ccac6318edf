"""Commands run in this process on files that may be anything, and their defects."""

from __future__ import annotations

import json
import math
import os
import tempfile
import unicodedata
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from typer.testing import CliRunner

from fuzz.reader import is_worded
from heterolda.cli import messages
from heterolda.cli.app import app

_LONGEST_LINE = 2000  # characters of a line that can still be read
_RUNNER = CliRunner()


@contextmanager
def a_folder(**files):
    """Make a folder of files the current one; their contents are bytes."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        for key, data in files.items():
            Path(name, key.replace("_", ".")).write_bytes(data)
        os.chdir(name)
        try:
            yield Path(name)
        finally:
            os.chdir(before)


def run(*words, stdin=None):
    """Run a command; return what it prints, or None if it rejects the file.

    Anything but success or one clear line is a defect, and so are files that a command
    leaves behind that fails.
    """
    errors, reason = [], messages.reason

    def noted(error):
        errors.append(error)
        return reason(error)

    before = set(os.listdir())
    with mock.patch.object(messages, "reason", noted):
        result = _RUNNER.invoke(app, list(words), input=stdin)
    if isinstance(result.exception, Exception):
        raise result.exception
    for error in errors:
        if not is_worded(error):
            raise error
    stderr = result.stderr
    assert result.exit_code in (0, 1, 2), f"the status is {result.exit_code}"
    assert "Traceback" not in stderr + result.stdout
    controls = {c for c in stderr if unicodedata.category(c) == "Cc"} - {"\n"}
    assert not controls, f"the terminal gets {controls}"
    lines = stderr.splitlines()
    assert all(len(line) <= _LONGEST_LINE for line in lines), "a very long message"
    new = set(os.listdir()) - before
    assert not any(name.startswith(".") for name in new), f"{new} are left behind"
    # Before its error, a command may print notes.
    errors = [line for line in lines if line.startswith("heterolda")]
    assert errors == ([] if result.exit_code == 0 else lines[-1:]), stderr
    assert errors or result.exit_code == 0, "it says nothing"
    return result.stdout if result.exit_code == 0 else None


def check_json(text):
    """Reject JSON with NaN or infinity."""

    def reject(word):
        raise AssertionError(f"the output has {word}")

    return json.loads(text, parse_constant=reject)


def check_probabilities(names, rows):
    """Reject predictions that contradict the probabilities of their rows."""
    where = [j for j, name in enumerate(names) if name.startswith("probability_")]
    at = names.index("prediction")
    for row in rows:
        values = [float(str(row[j]).replace(",", ".")) for j in where]
        assert all(math.isfinite(p) and 0 <= p <= 1 for p in values), values
        assert abs(sum(values) - 1) < 1e-9, values
        winner = names[where[values.index(max(values))]]
        assert winner == f"probability_{row[at]}", (winner, row[at])
