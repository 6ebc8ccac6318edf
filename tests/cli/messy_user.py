"""Somebody who knows no option takes messy files from fit to export.

He types the plain command, reads what it says, adds exactly the options that stand
there, and tries again. ``python -m tests.cli.messy_user`` counts his commands.
"""

from __future__ import annotations

import csv
import re
import shlex
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from heterolda import GaussianLinearDiscriminant
from tests.cli.messy_files import messy_files
from tests.helpers.cli import invoke

GAUSSIAN = "--method", "gaussian"
COMMANDS = ("fit", "predict", "evaluate", "export")
_LISTS = {"--na", "--categorical", "--exclude"}
# What to read, and how: only these are taken from the notes of a successful command.
_FLAGS = {"--no-header", "--skip-repeated-header"}
_READING = _LISTS | _FLAGS | {"--delimiter", "--decimal", "--missing"}
_MAX_TRIES = 8


@dataclass
class Attempt:
    """What came of one command: what was typed, what it said, what it printed."""

    succeeded: bool = False
    typed: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    output: str = ""


def suggested(message, knows):
    """Return the options in a message, with values for those that it leaves open.

    Of several values for the same option, the first is the one to try.
    """
    options = {}
    for match in re.finditer(r"--[a-z]+(?:-[a-z]+)*", message):
        option = match[0]
        if option in _FLAGS:
            options[option] = None
        elif option not in options:
            quoted = re.search(r"(?<!\w)'([^']+)'", message)
            value = knows.get(option) or _value(message[match.end() :])
            if value or quoted:  # "seem to be separated by ';': name it with ..."
                options[option] = value or quoted[1]
    return options


def _value(text):
    """Return the word that follows an option, as a shell would read it."""
    if not text.startswith(" "):
        return None
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";")
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        word = lexer.get_token() or ""
    except ValueError:
        return None
    if text.lstrip()[:1] in "'\"":
        return word
    word = word.rstrip(",.:;)")
    is_value = word in ("em", "drop", "keep", "tab", "space")
    return word if is_value or re.search(r"[\d_,;|=.?-]", word) else None


def attempt(words, knows):
    """Type a command until it succeeds, or says nothing that would be new."""
    tried, options, succeeded_before = Attempt(), {}, False
    while len(tried.typed) < _MAX_TRIES:
        line = [*words, *(w for pair in options.items() for w in pair if w is not None)]
        if line.count("--target") > 1:  # the first is given up for another
            at = line.index("--target")
            del line[at : at + 2]
        result = invoke(*line)
        tried.typed.append(shlex.join(line))
        tried.said.append(result.stderr)
        tried.output, tried.succeeded = result.stdout, result.exit_code == 0
        new = suggested(result.stderr, knows)
        if tried.succeeded:
            wanted = set() if succeeded_before else _READING
            new = {option: new[option] for option in new.keys() & wanted}
            succeeded_before = True
        more = _added(options, new)
        if more == options:
            return tried
        options = more
    tried.succeeded = False
    return tried


def _added(options, new):
    """Return the options so far and the new ones; lists grow."""
    options = dict(options)
    for option, value in new.items():
        if option in _LISTS and option in options:
            names = [*options[option].split(","), *value.split(",")]
            value = ",".join(dict.fromkeys(names))
        options[option] = value
    return options


def through(case, folder):
    folder = Path(folder, case.name)
    folder.mkdir()
    train, test, new = case.paths(folder)
    model = folder / "m.json"
    done = {}
    for words in (
        ["fit", train, "--target", case.target, "--out", model, *GAUSSIAN],
        ["predict", model, new, "--out", folder / "predicted.csv"],
        ["evaluate", model, test],
        ["export", model, "--out", folder / "m.h"],
    ):
        name = words[0]
        done[name] = attempt([*map(str, words)], case.knows if name == "fit" else {})
        if not done[name].succeeded:
            break
    return done


def is_right(case, done, folder):
    """Return whether predictions and accuracy are those of the clean table."""
    train, test, new = case.parts
    *names, label = train.columns
    typed = {name: tried.typed[-1] for name, tried in done.items()}
    if "--missing em" not in typed["fit"]:
        train, test = train.dropna(), test.dropna()
    clean = GaussianLinearDiscriminant(missing="em")
    clean.fit(train[names].to_numpy(), train[label].to_numpy(str))
    accuracy = clean.score(test[names].to_numpy(), test[label].to_numpy(str))
    shown = re.search(r"^accuracy +([\d.]+) %", done["evaluate"].output, re.MULTILINE)
    if "--missing drop" in typed["predict"]:
        new = new.dropna()
    expected = clean.predict(new[names].to_numpy())
    if "--missing keep" in typed["predict"]:
        expected[new[names].isna().any(axis=1)] = ""
    answers = _last_column(Path(folder, case.name, "predicted.csv").read_bytes())
    return abs(float(shown[1]) - 100 * accuracy) < 0.01 and answers == expected.tolist()


def _last_column(data):
    """Return the predictions in a file, whatever its format."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        lines = data.decode("utf-16").splitlines()
    else:
        text = data.decode("utf-8-sig", "replace")
        is_utf8 = "\ufffd" not in text
        lines = (text if is_utf8 else data.decode("cp1252")).splitlines()
    delimiter = re.search('(.)"?prediction', "\n".join(lines))[1]
    return [row[-1] for row in csv.reader(lines[1:], delimiter=delimiter) if any(row)]


def main():
    """Print a table of how many commands each file takes."""
    print("| file | fit | predict | evaluate | export | together |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for case in messy_files():
            done = through(case, folder)
            counts = [len(tried.typed) for tried in done.values()]
            succeeded = all(tried.succeeded for tried in done.values())
            is_done = succeeded and is_right(case, done, folder)
            cells = [*counts, sum(counts) if is_done else "fails"]
            print(f"| {case.title} | {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    main()
