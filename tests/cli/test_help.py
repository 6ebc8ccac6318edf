"""Help that can be read in a terminal, and examples in it that are right."""

import shlex
from inspect import cleandoc

import pytest
import typer

from helpers.cli import succeed
from heterolda.cli.commands import app

COMMANDS = typer.main.get_command(app).commands


@pytest.mark.parametrize("words", [[], *([name] for name in COMMANDS)])
def test_help_fits_the_screen_and_has_all_options(words, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown = succeed(*words, "--help")
    assert max(map(len, shown.splitlines())) <= 80
    if not words:
        assert all(name in shown for name in COMMANDS)
        assert shown.strip() == succeed().strip()
        return
    for param in COMMANDS[words[0]].params:
        assert param.opts[0] in shown or param.secondary_opts or param.metavar in shown


@pytest.mark.parametrize("name", COMMANDS)
def test_three_examples_come_first_and_are_right(name, capsys):
    examples = cleandoc(COMMANDS[name].help).split("\n\n")[1].splitlines()
    assert len(examples) == 3
    for line in examples:
        ours = shlex.split(line.removeprefix("- ").strip("`"))
        ours = ours[ours.index("heterolda") :]
        ours = ours[: ours.index("|")] if "|" in ours else ours
        assert ours[1] == name
        COMMANDS[name].make_context(name, ours[2:])  # the options exist
        assert capsys.readouterr().err == ""
