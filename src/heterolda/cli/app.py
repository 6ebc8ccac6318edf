"""Assemble the commands; report errors as one line with status 2 (usage) or 1."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import is_dataclass
from inspect import Parameter, Signature, signature
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from heterolda.cli.compare import compare
from heterolda.cli.evaluate import evaluate
from heterolda.cli.fit import fit
from heterolda.cli.inspect_export import export, inspect
from heterolda.cli.messages import (
    INTERRUPTED,
    errors_in_one_line,
    print_to_stderr,
    warnings_as_notes,
)
from heterolda.cli.monitor import monitor
from heterolda.cli.options import Debug
from heterolda.cli.predict import predict
from heterolda.cli.project import project
from heterolda.cli.study import datasets, report, reproduce

_KEYWORD = Parameter.KEYWORD_ONLY


class OneLineGroup(TyperGroup):
    """A group of commands that reports wrong usage in one line."""

    def main(self, *args: Any, **settings: Any) -> Any:
        """Run a command and end the program."""
        settings["standalone_mode"] = False  # errors are raised
        try:
            status = super().main(*args, **settings)
            sys.stdout.flush()
        except OSError as error:  # commands catch their own, so the output is closed
            # Discard the buffer, or there would be another error at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            if not isinstance(error, BrokenPipeError):
                print_to_stderr(f"heterolda: {error.strerror or error}")
            status = 1
        except Exception as error:
            # The class of these errors depends on the release of typer.
            if not hasattr(error, "format_message"):
                raise
            context = getattr(error, "ctx", None)
            path = "heterolda" if context is None else context.command_path
            message = " ".join(error.format_message().split()).rstrip(".")
            message = message.replace("Value error, ", "")  # pydantic's prefix
            print_to_stderr(f"{path}: {message} (see {path} --help)")
            status = getattr(error, "exit_code", 2)
        if status == INTERRUPTED:  # typer is silent about it
            print_to_stderr("heterolda: interrupted")
        sys.exit(status if isinstance(status, int) else 0)


def _command(function: Callable[..., None]) -> Callable[..., None]:
    """Wrap a function as a typer command; fields of dataclasses become options."""
    groups: dict[str, Any] = {}
    options: list[Parameter] = []
    for parameter in signature(function, eval_str=True).parameters.values():
        group: Any = parameter.annotation
        if is_dataclass(group):
            members = signature(group, eval_str=True).parameters  # type: ignore[arg-type]
            groups[parameter.name] = group, list(members)
            options += members.values()
        else:
            options.append(parameter)
    options.append(Parameter("debug", _KEYWORD, default=False, annotation=Debug))
    parameters = [parameter.replace(kind=_KEYWORD) for parameter in options]
    names = {parameter.name for parameter in parameters}

    def run(*, debug: bool, **values: Any) -> None:
        for name, (group, members) in groups.items():
            values[name] = group(**{key: values.pop(key) for key in members})
        with errors_in_one_line(names, debug=debug), warnings_as_notes():
            function(**values)

    run.__name__, run.__doc__ = function.__name__, function.__doc__
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


_HELP = """Classify the rows of a table by the best linear rule.

- `heterolda datasets --write iris --out iris.csv`
- `heterolda fit iris.csv --target class --out iris.json`
- `heterolda predict iris.json iris.csv --out predicted.csv`

The classes may differ in spread (covariance) as well as in mean. Every command
describes its options: heterolda fit --help.
"""
app = typer.Typer(
    name="heterolda",
    cls=OneLineGroup,
    rich_markup_mode="markdown",
    help=_HELP,
    add_completion=False,
    pretty_exceptions_enable=False,
    epilog="An error prints one line and sets the exit status: 2 if the command is "
    "wrong (unknown or contradictory options, a class or column that does not exist, "
    "an output file that is also an input), 1 if a file or its data are wrong, 3 if "
    "--fail-unlike or --fail-above finds too many unlike rows.",
    context_settings={"help_option_names": ["--help", "-h"]},
)
_COMMANDS: dict[str, list[Callable[..., None]]] = {
    "Models": [fit, compare, predict, evaluate, monitor, inspect, export, project],
    "The paper's study": [reproduce, datasets, report],
}
for _panel, _functions in _COMMANDS.items():
    for _function in _functions:
        app.command(rich_help_panel=_panel)(_command(_function))


@app.callback(invoke_without_command=True)
def main(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.")
    ] = False,
    show_versions: Annotated[
        bool,
        typer.Option(
            "--show-versions", help="Show the versions of all dependencies and exit."
        ),
    ] = False,
) -> None:
    """Show versions, or the help if no command is given."""
    if version:
        print(f"heterolda {sys.modules['heterolda'].__version__}")
    elif show_versions:
        sys.modules["heterolda"].show_versions()
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())
    else:
        return
    raise typer.Exit
