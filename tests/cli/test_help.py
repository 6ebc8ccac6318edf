"""Help that can be read in a terminal, by people who do not use Python."""

import re
import shlex

import pytest
import typer

from helpers.cli import succeed
from heterolda.cli.commands import app

COMMANDS = typer.main.get_command(app).commands
GROUPS = [
    *("What to read", "What to fit", "How good is it", "What to write"),
    *("For experts", "Other"),
]


def sections(text):
    """What stands below each heading, and before the first."""
    parts = re.split(r"^(\S.*):\n(?=  )", text, flags=re.MULTILINE)
    return {"": parts[0]} | dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("words", [[], *([name] for name in COMMANDS)])
def test_help_fits_the_screen_and_has_no_words_of_python(words, width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    shown = succeed(*words, "--help")
    assert max(map(len, shown.splitlines())) <= width
    assert not re.search(r"<\w|list\[|\bbool\b|\brequired\b|None|x[<>]=|╭", shown)
    assert "\xa0" not in shown
    assert not re.search(r"--\w+-$", shown, re.MULTILINE)  # no option is broken


@pytest.mark.parametrize("name", COMMANDS)
def test_three_examples_come_first_and_are_right(name, capsys):
    shown = sections(succeed(name, "--help"))
    usage, summary, rest = shown[""].split("\n", 2)[0], *shown[""].split("\n")[2:4]
    assert usage.startswith("Usage: ")
    assert summary == COMMANDS[name].callback.__doc__.splitlines()[0]
    assert rest == ""
    assert list(shown)[1] == "Examples"
    examples = shown["Examples"].partition("\n\n")[0].splitlines()
    assert len(examples) == 3
    for line in examples:
        ours = shlex.split(line.split("|", 1)[-1] if "- " in line else line)
        ours = ours[ours.index("heterolda") :]
        ours = ours[: ours.index("|")] if "|" in ours else ours
        assert ours[1] == name
        COMMANDS[name].make_context(name, ours[2:])  # the options exist
        assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_a_group_in_the_order_of_questions(name):
    shown = sections(succeed(name, "--help"))
    found = [group for group in shown if group not in ("", "Examples")]
    assert found == [group for group in GROUPS if group in found]
    named = re.findall(r"^  (?:-\w, )?(--[\w-]+)", "".join(shown.values()), re.M)
    expected = [p.opts[0] for p in COMMANDS[name].params if "--" in p.opts[0]]
    expected = [o.replace("--accuracy", "--no-accuracy") for o in expected]
    assert named == [*expected, "--help"]
    assert shown["Other"].split()[0] == "--debug"
    assert len(shown["Other"].splitlines()) == 2


def test_a_fit_is_explained_from_the_plain_to_the_special():
    shown = sections(succeed("fit", "--help"))
    assert list(shown)[2:] == GROUPS
    assert shown["What to read"].split()[:2] == ["DATA...", "Files:"]
    assert shown["What to fit"].split()[0] == "--recommended"
    assert "--solver global|fixed-point|" in shown["For experts"]
    assert "[default: global]" in shown["For experts"]
    assert "--no-accuracy" in shown["How good is it"]


def test_the_commands_have_a_line_each():
    shown = sections(succeed("--help"))
    assert len(shown["Examples"].partition("\n\n")[0].splitlines()) == 3
    lines = (shown["Models"] + shown["The paper's study"]).splitlines()
    assert [line.split()[0] for line in lines if line] == list(COMMANDS)
    assert shown == sections(succeed())
