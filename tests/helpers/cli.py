"""The command line and tables for it."""

import csv
import functools
import io
import subprocess
import sys

import numpy as np
import pandas as pd
import typer.testing

from heterolda.cli.app import app

# A runner would create all commands again at each call.
typer.testing._get_command = functools.cache(typer.main.get_command)
KINDS = ["north", "south", "east", "west"]


def invoke(*arguments, stdin=None):
    """Run a command in this process."""
    return typer.testing.CliRunner().invoke(
        app, [str(a) for a in arguments], input=stdin
    )


def succeed(*arguments, stdin=None):
    """Run a command that must not fail; what it prints."""
    result = invoke(*arguments, stdin=stdin)
    assert result.exit_code == 0, (result.stderr, result.exception)
    return result.stdout


def command(*arguments):
    """The words of a command in a process of its own, where warnings are errors."""
    words = [sys.executable, "-W", "error", "-m", "heterolda", *arguments]
    return [str(word) for word in words]


def start(*arguments, **settings):
    """Start a command in a process of its own."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command(*arguments), **(pipes | settings))


def make_frame(rng, n=200, kinds=KINDS, d=3):
    """Classes of unequal covariance, shuffled, with a text column of identifiers."""
    y = np.arange(n) % len(kinds)
    shapes = rng.normal(size=(len(kinds), d, d))
    centers = 1.5 * rng.normal(size=(len(kinds), d))
    X = (rng.normal(size=(n, 1, d)) @ shapes[y])[:, 0] + centers[y]
    frame = pd.DataFrame(X, columns=names(d))
    frame.insert(0, "id", [f"{k:05d}" for k in range(n)])
    frame["kind"] = np.array(kinds)[y]
    return frame.iloc[rng.permutation(n)].reset_index(drop=True)


def names(d=3):
    """Names of the features."""
    return [f"x{j}" for j in range(d)]


def rows_of(text, delimiter=","):
    """Records of CSV text, by Python's own reader."""
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
