"""How help is printed: examples first, then options in groups that answer questions."""

from __future__ import annotations

import textwrap
from inspect import cleandoc
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

_REST = "Other"  # the last group, with what has no group of its own
_NO_BREAK = "\xa0"
_WIDTH = 24  # of names of options; longer ones have a line for themselves


class Command(TyperCommand):
    """A command whose docstring is a summary, a list of examples and paragraphs."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write all of the help."""
        needed = [_names(p).rpartition(", ")[2] for p in self.params if p.required]
        formatter.write_usage(ctx.command_path, " ".join([*needed, "[OPTIONS]"]))
        _write_text(self.help, formatter)
        _write_options(self.get_params(ctx), formatter)


class Group(TyperGroup):
    """A group of commands, with its help in the same form."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write all of the help."""
        formatter.write_usage(ctx.command_path, "COMMAND [OPTIONS]")
        _write_text(self.help, formatter)
        panels: dict[str, Any] = {}
        names = self.list_commands(ctx)
        for name in names:
            command: Any = self.get_command(ctx, name)
            summary = cleandoc(command.help).partition("\n")[0]
            panels.setdefault(command.rich_help_panel, []).append((name, summary))
        for panel, rows in panels.items():
            _write_section(panel, rows, formatter, max(map(len, names)))
        _write_options(self.get_params(ctx), formatter)
        formatter.write_paragraph()
        formatter.write_text(self.epilog)


def _write_text(text: str | None, formatter: Any) -> None:
    """Write a docstring: its second paragraph is a list of examples."""
    summary, examples, *others = cleandoc(text or "").split("\n\n")
    formatter.write_paragraph()
    formatter.write_text(summary)
    with formatter.section(typer.style("Examples", bold=True)):
        for line in examples.splitlines():
            formatter.write(f"  {line.removeprefix('- ').strip('`')}\n")
    for paragraph in others:
        formatter.write_paragraph()
        formatter.write_text(" ".join(paragraph.split()))


def _write_options(params: list[Any], formatter: Any) -> None:
    """Write arguments and options by group, in the order of the signature."""
    panels: dict[str, list[tuple[str, str]]] = {}
    for param in params:
        panel = getattr(param, "rich_help_panel", None) or _REST
        text = f"{param.help}{_default(param)}"
        panels.setdefault(panel, []).append((_names(param), text))
    rest = panels.pop(_REST)
    for panel, rows in [*panels.items(), (_REST, rest)]:
        _write_section(panel, rows, formatter, _WIDTH)


def _write_section(
    name: str, rows: list[tuple[str, str]], formatter: Any, width: int
) -> None:
    """Write names and texts in two columns; names of options are not broken."""
    room = formatter.width - width - 4
    with formatter.section(typer.style(name, bold=True)):
        for first, text in rows:
            lines = textwrap.wrap(text, room, break_on_hyphens=False)
            pairs = [(first, ""), *(("", line) for line in lines)]
            if len(first) <= width:
                pairs[:2] = [(first, lines[0])]
            for left, right in pairs:
                line = f"  {left:{width}}  {right}".rstrip()
                formatter.write(line.replace(_NO_BREAK, " ") + "\n")


def _names(param: Any) -> str:
    """How an argument or an option is written, the short name first."""
    value: str = param.metavar or param.name.upper()
    if param.param_type_name == "argument":
        return value + ("..." if param.nargs == -1 else "")
    is_on = param.is_flag and param.default is True
    names = sorted(param.secondary_opts if is_on else param.opts, key=len)
    return ", ".join(names) + ("" if param.is_flag else f" {value}")


def _default(param: Any) -> str:
    """The default in brackets, where there is one to show."""
    shown = getattr(param, "show_default", False)
    default = shown if isinstance(shown, str) else param.default
    if not shown or param.required or isinstance(default, bool):
        return ""
    is_value = isinstance(default, str | int | float | Path)
    words = f"[default: {default}]".replace(" ", _NO_BREAK)
    return f" {words}" if is_value else ""
