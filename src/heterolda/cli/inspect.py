"""The command that puts a model into words and pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from heterolda.cli.data_source import check_outputs
from heterolda.cli.messages import (
    errors_in_one_line,
    print_result,
    print_to_stderr,
    usage_errors,
)
from heterolda.cli.options import WRITE, Debug, ModelFile
from heterolda.cli.parsing import split_names


def inspect(
    model: ModelFile,
    pair: Annotated[
        str | None,
        typer.Option(
            **WRITE, metavar="LABEL,LABEL", help="Show the rule of these two classes."
        ),
    ] = None,
    rules: Annotated[
        int,
        typer.Option(
            **WRITE,
            metavar="NUMBER",
            min=1,
            help="How many rules to show, the worst first.",
        ),
    ] = 3,
    tradeoff: Annotated[
        bool,
        typer.Option(
            "--tradeoff",
            **WRITE,
            help="Also list the error rates of other rules on the optimal trade-off.",
        ),
    ] = False,
    html: Annotated[
        Path | None,
        typer.Option(
            **WRITE,
            metavar="FILE",
            help="Write a page with tables and pictures instead. It needs no network.",
        ),
    ] = None,
    debug: Debug = False,
) -> None:
    """Describe the rules of a model in words or on a page.

    - `heterolda inspect iris.json`
    - `heterolda inspect iris.json --pair setosa,virginica`
    - `heterolda inspect iris.json --html iris.html`

    For each pair of classes: how many rows of each class the rule would miss if the
    classes were normal, the features that weigh most, their coefficients and the
    threshold.
    Weights are for features in units of their standard deviation within the classes.
    """
    with errors_in_one_line(debug):
        from heterolda.cli.evaluate_files import load_classifier
        from heterolda.inspection.model_facts import ModelFacts
        from heterolda.inspection.model_text import describe_model, write_card

        with usage_errors():
            labels = split_names(pair)
            if pair is not None and len(labels) != 2:
                raise ValueError(f"--pair {pair}: write two labels, LABEL,LABEL")
        check_outputs({"--html": html}, model)
        fitted = load_classifier(model)
        if not hasattr(fitted, "pairs_"):
            raise ValueError(
                f"{model} holds a pipeline, but inspect describes classifiers: load it "
                "in Python, save its last step to a file and inspect that"
            )
        facts = ModelFacts(fitted)
        pairs = facts.chosen_pairs((labels[0], labels[1]) if labels else None, rules)
        if html is None:
            print_result(describe_model(facts, str(model), pairs, tradeoff=tradeoff))
            return
        write_card(facts, model.name, html, pairs)
        print_to_stderr(f"the page is in {html}")
