"""The commands: they parse, call and print."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from heterolda.commands.evaluating import evaluate
from heterolda.commands.exporting import export
from heterolda.commands.fitting import fit
from heterolda.commands.group import OneLineGroup
from heterolda.commands.inspecting import inspect
from heterolda.commands.predicting import predict
from heterolda.commands.study import datasets, report, reproduce

__all__ = ["app"]

_MODELS = "Models"
_STUDY = "The paper's study"

app = typer.Typer(
    name="heterolda",
    cls=OneLineGroup,
    rich_markup_mode="markdown",
    help="Linear discriminants for classes of unequal covariances.",
    epilog="Errors end with status 1 and one line, wrong usage with status 2.",
    context_settings={"help_option_names": ["--help", "-h"]},
)
for _command in (fit, predict, evaluate, inspect, export):
    app.command(rich_help_panel=_MODELS)(_command)
for _command in (reproduce, datasets, report):
    app.command(rich_help_panel=_STUDY)(_command)


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
