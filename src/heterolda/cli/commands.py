"""The commands: they parse, call and print."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated

import typer

from heterolda.cli.evaluate import evaluate
from heterolda.cli.export import export
from heterolda.cli.fit import fit
from heterolda.cli.group import OneLineGroup
from heterolda.cli.inspect import inspect
from heterolda.cli.predict import predict
from heterolda.cli.study import datasets, report, reproduce

__all__ = ["app"]

app = typer.Typer(
    name="heterolda",
    cls=OneLineGroup,
    rich_markup_mode="markdown",
    help="Linear discriminants for classes of unequal covariances.",
    epilog="Errors end with status 1 and one line, wrong usage with status 2.",
    context_settings={"help_option_names": ["--help", "-h"]},
)
_COMMANDS: dict[str, list[Callable[..., None]]] = {
    "Models": [fit, predict, evaluate, inspect, export],
    "The paper's study": [reproduce, datasets, report],
}
for _panel, _functions in _COMMANDS.items():
    for _function in _functions:
        app.command(rich_help_panel=_panel)(_function)


@app.callback(invoke_without_command=True)
def main(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and end.")
    ] = False,
) -> None:
    """What stands before a command."""
    if version:
        print(f"heterolda {sys.modules['heterolda'].__version__}")
    elif context.invoked_subcommand is None:
        print(context.get_help(), end="")
