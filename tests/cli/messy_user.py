"""Somebody who knows no option takes messy files from fit to export.

He types the plain command, reads what it says, adds exactly the options that stand
there, and tries again. ``python -m tests.cli.messy_user`` counts his commands.
"""

from __future__ import annotations

import re
import shlex
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from heterolda import GaussianLinearDiscriminant
from tests.cli.messy_files import messy_files
from tests.helpers.cli import invoke

COMMANDS = ("fit", "predict", "evaluate", "export")
# What to read, and how; only of these are suggestions taken where a command succeeded.
_READING = {
    *("--no-header", "--na", "--delimiter", "--decimal", "--categorical", "--exclude"),
    *("--missing",),
}
_FLAGS = {"--no-header"}
_LISTS = {"--na", "--categorical", "--exclude"}
_MOST_TRIES = 8


@dataclass
class Attempt:
    """What came of one of the four commands.

    Attributes
    ----------
    succeeded : bool
        Whether it did in the end.
    typed : list of str
        The commands.
    said : list of str
        What each said on the standard error stream.
    output : str
        What the last one printed.
    """

    succeeded: bool = False
    typed: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    output: str = ""


def suggested(message, knows):
    """Options and values in a message; a value that it leaves open is known, or quoted.

    Of several values for the same option, the first is the one to try.
    """
    found = {}
    for match in re.finditer(r"--[a-z]+(?:-[a-z]+)*", message):
        option = match[0]
        if option in found:
            continue
        if option in _FLAGS:
            found[option] = None
            continue
        value = knows.get(option) or _value(message[match.end() :])
        if value is None:  # "its columns seem to be separated by ';': name it with ..."
            quoted = re.search(r"(?<!\w)'([^']+)'", message)
            value = quoted and quoted[1]
        if value:
            found[option] = value
    return found


def _value(rest):
    """The word that follows an option, as a shell would read it."""
    if not rest.startswith(" "):
        return None
    lexer = shlex.shlex(rest, posix=True, punctuation_chars=";")
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        word = lexer.get_token() or ""
    except ValueError:
        return None
    is_quoted = rest.lstrip()[:1] in "'\""
    word = word if is_quoted else word.rstrip(",.:;)")
    is_prose = not is_quoted and not re.search(r"[\d_,;|=.?-]", word)
    known = word in ("em", "drop", "keep", "auto", "tab", "space")
    return word if word and (known or not is_prose) else None


def attempt(words, knows):
    """Type a command until it succeeds, or says nothing that would be new."""
    tried, options = Attempt(), {}
    asked = False
    while len(tried.typed) < _MOST_TRIES:
        line = [*words, *(w for pair in options.items() for w in pair if w is not None)]
        result = invoke(*_last_wins(line))
        tried.typed.append(shlex.join(line))
        tried.said.append(result.stderr)
        tried.output, tried.succeeded = result.stdout, result.exit_code == 0
        new = suggested(result.stderr, knows)
        if tried.succeeded:
            new = {k: v for k, v in new.items() if k in _READING} if not asked else {}
            asked = True
        added = _added(options, new)
        if added == options:
            return tried
        options = added
    tried.succeeded = False
    return tried


def _last_wins(line):
    """A command in which the target that was typed first is given up for another."""
    if line.count("--target") > 1:
        at = line.index("--target")
        line = line[:at] + line[at + 2 :]
    return line


def _added(options, new):
    """The options so far and the new ones; lists grow."""
    options = dict(options)
    for option, value in new.items():
        if option in _LISTS and option in options:
            names = [*options[option].split(","), *value.split(",")]
            value = ",".join(dict.fromkeys(names))
        options[option] = value
    return options


def through(case, folder):
    """Take a file through all commands as far as they succeed."""
    folder = Path(folder, case.name)
    folder.mkdir()
    train, test, new = case.paths(folder)
    model = folder / "m.json"
    lines = {
        "fit": ["fit", train, "--target", case.target, "--out", model],
        "predict": ["predict", model, new, "--out", folder / "predicted.csv"],
        "evaluate": ["evaluate", model, test],
        "export": ["export", model, "--out", folder / "m.h"],
    }
    done = {}
    for name in COMMANDS:
        knows = case.knows if name == "fit" else {}
        done[name] = attempt([str(word) for word in lines[name]], knows)
        if not done[name].succeeded:
            break
    return done


def is_right(case, done, folder):
    """Whether predictions and accuracy are those of the clean table."""
    train, test, new = case.parts
    names = list(train.columns[:-1])
    clean = GaussianLinearDiscriminant(missing="em")
    if "--missing em" not in done["fit"].typed[-1]:
        train, test = train.dropna(), test.dropna()
    clean.fit(train[names].to_numpy(), train[case.label].to_numpy(str))
    accuracy = clean.score(test[names].to_numpy(), test[case.label].to_numpy(str))
    found = re.search(r"^accuracy +([\d.]+) %", done["evaluate"].output, re.MULTILINE)
    written = Path(folder, case.name, "predicted.csv").read_bytes()
    lines = _decoded(written).splitlines()[1:]
    if "--missing drop" in done["predict"].typed[-1]:
        new = new.dropna()
    lines = [line for line in lines if line.strip(";,|\t ")]
    decided = new.notna().all(axis=1).to_numpy()
    decided = decided | ("--missing keep" not in done["predict"].typed[-1])
    expected = clean.predict(new[names].to_numpy()[decided])
    cells = [line.replace('""', '"').rstrip('"') for line in lines]
    return (
        abs(float(found[1]) - 100 * accuracy) < 0.01
        and len(cells) == len(new)
        and all(
            cell.endswith(label.rstrip('"'))
            for cell, label in zip(np.array(cells)[decided], expected, strict=True)
        )
    )


def _decoded(data):
    """The text of a file of predictions."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252")


def main(*wanted):
    """Print a table of how many commands each file takes."""
    total = right = 0
    print("| file | fit | predict | evaluate | export | together |")
    print("|---|---|---|---|---|---|")
    cases = [case for case in messy_files() if not wanted or case.name in wanted]
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            done = through(case, folder)
            cells = [_count(done.get(name)) for name in COMMANDS]
            number = sum(len(one.typed) for one in done.values())
            if not all(one.succeeded for one in done.values()):
                cells.append("fails")
            elif not is_right(case, done, folder):
                cells.append("wrong")
            else:
                cells.append(str(number))
                total, right = total + number, right + 1
            print(f"| {case.title} | {' | '.join(cells)} |", flush=True)
            if wanted:
                for one in done.values():
                    for typed, said in zip(one.typed, one.said, strict=True):
                        print(f"$ {typed}\n{said}".replace(f"{folder}/", ""))
    print(f"\nTogether: {right} files, {total} commands.")
    if right < len(cases):
        print(f"{len(cases) - right} files are not done, or give wrong answers.")


def _count(found):
    if found is None:
        return ""
    return f"{len(found.typed)}{'' if found.succeeded else ', fails'}"


if __name__ == "__main__":
    main(*sys.argv[1:])
