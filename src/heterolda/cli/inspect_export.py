"""The commands that describe a model, and export it to C or ONNX."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

import heterolda.cli.options as opt
from heterolda.cli.files import check_files
from heterolda.cli.messages import print_result, print_to_stderr
from heterolda.exceptions import ParameterError
from heterolda.foundations.wording import names_text

# Types of features in each kind of file, the default first.
_DTYPES = {".h": ("float", "double"), ".onnx": ("float32", "float64")}


def _two_labels(text: str) -> Sequence[str]:
    labels = opt.split_names(text)
    if len(labels) != 2:
        raise typer.BadParameter(f"{text!r}: write two labels, LABEL,LABEL")
    return labels


def inspect(
    model: opt.ModelFile,
    pair: Annotated[
        Sequence[str] | None,
        opt.write(
            "LABEL,LABEL", "Show the rule of these two classes.", parser=_two_labels
        ),
    ] = None,
    rules: Annotated[
        int, opt.write("NUMBER", "Number of rules to show, worst first.", min=1)
    ] = 3,
    html: Annotated[
        Path | None,
        opt.write(
            "FILE",
            "Write a page with tables and pictures instead. It needs no network.",
            parser=opt.page,
        ),
    ] = None,
) -> None:
    """Describe the rules of a model as text or on a page.

    - `heterolda inspect iris.json`
    - `heterolda inspect iris.json --pair setosa,virginica`
    - `heterolda inspect iris.json --html iris.html`

    For each pair of classes: the share of each class that the rule would miss if the
    classes were normal, the features that weigh most, their coefficients and the
    threshold. Weights are for features in units of their standard deviation within the
    classes.
    """
    check_files({"html": html}, model)
    from heterolda.cli.models import load_classifier
    from heterolda.inspection.model_facts import ModelFacts
    from heterolda.inspection.model_text import describe_model, write_card

    fitted = load_classifier(model)
    if not hasattr(fitted, "pairs_"):
        raise ValueError(
            f"{model} holds a pipeline, but inspect describes classifiers: load it "
            "in Python, save its last step to a file and inspect that"
        )
    facts = ModelFacts(fitted)
    pairs = facts.chosen_pairs((pair[0], pair[1]) if pair else None, rules)
    if html is None:
        print_result(describe_model(facts, str(model), pairs))
        return
    write_card(facts, model.name, html, pairs)
    print_to_stderr(f"the page is in {html}")


def export(
    model: opt.ModelFile,
    out: Annotated[
        Path,
        opt.write(
            "FILE",
            "The file to write: .h for a C header that needs no library, .onnx for an "
            "ONNX graph.",
            "--out",
            "-o",
            parser=opt.file_named(*_DTYPES),
        ),
    ],
    dtype: Annotated[
        str | None,
        opt.write(
            "TYPE",
            "Type of the features: float or double for C, float32 or float64 for ONNX.",
            show_default="float or float32",
        ),
    ] = None,
    name: Annotated[
        str | None,
        opt.write(
            "PREFIX", "For C: prefix of all names. By default taken from the file name."
        ),
    ] = None,
) -> None:
    """Write a model as a C header or an ONNX graph.

    - `heterolda export iris.json --out iris.h`
    - `heterolda export iris.json --out iris.h --dtype double --name flower`
    - `heterolda export iris.json --out iris.onnx`

    In C, a pipeline of projections and a classifier becomes rules on its features. A
    projection alone can be exported to ONNX only.
    """
    form = out.suffix.lower()
    kind = dtype or _DTYPES[form][0]
    if kind not in _DTYPES[form]:
        choices = " or ".join(_DTYPES[form])
        raise ParameterError("dtype", f"must be {choices} for {form}, got {kind}")
    if form == ".onnx" and name is not None:
        raise ParameterError("name", "is for C: leave it out for ONNX")
    check_files({"out": out}, model)
    from heterolda.export import load, to_onnx

    fitted = load(model)
    if form == ".onnx":
        to_onnx(fitted, out, kind)
        predicts = hasattr(fitted, "predict")
        outputs = "outputs label and probabilities" if predicts else "output components"
        lines = [f"{out}: input X of {kind}, {outputs}", *_features(fitted)]
    else:
        lines = _write_c(fitted, out, kind, name)
    print_result(line.replace("\n", "\\n") for line in lines)


def _write_c(model: Any, out: Path, dtype: str, name: str | None) -> list[str]:
    """Write a header, and return lines on its use."""
    from heterolda.export import to_c

    header = to_c(model, out, dtype, name=name)
    answers = [f"{k} is {label}" for k, label in enumerate(model.classes_.tolist())]
    powers = getattr(model, "transformation_", None) is not None
    return [
        f"{out}: int {header.name}_predict(const {dtype} *x), with "
        f"{header.constant_bytes} bytes of constants and at most "
        f"{header.multiplications} multiplications",
        *(["it transforms features with <math.h>: link with -lm"] if powers else []),
        *_features(model),
        f"answers: {', '.join(answers)}",
        f"{header.name}_classes has these labels as {header.label_type}; in C:",
        *(f"    {line}" for line in header.usage),
    ]


def _features(model: Any) -> list[str]:
    """Return lines on the features of a model, their meanings and NA strings."""
    from heterolda.estimators.fit_record import feature_meanings
    from heterolda.inspection.model_facts import feature_names

    names = list(map(str, feature_names(model)))
    meanings = feature_meanings(model) or names
    lines = [f"features, in this order: {names_text(names)}"]
    lines += [f"{a}: {b}" for a, b in zip(names, meanings, strict=True) if a != b]
    marks = getattr(getattr(model, "fit_record_", None), "marks", ())
    if marks:
        lines.append(f"missing values, which it does not take: {', '.join(marks)}")
    return lines
