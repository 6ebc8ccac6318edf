"""The command that turns a model into C or ONNX."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from heterolda.cli.data_source import check_outputs
from heterolda.cli.messages import (
    errors_in_one_line,
    print_result,
    usage_errors,
    warnings_as_notes,
)
from heterolda.cli.options import WRITE, Debug, ModelFile, one_of

# The types of features that each form has, the default first.
_TYPES = {"c": ("float", "double"), "onnx": ("float32", "float64")}
_ENDINGS = {".h": "c", ".onnx": "onnx"}


def export(
    model: ModelFile,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", **WRITE, metavar="FILE", help="The file to write."),
    ],
    to: Annotated[
        str | None,
        one_of(
            tuple(_TYPES),
            "A C header that needs no library, or an ONNX graph. By default as the "
            "file name says: .h or .onnx.",
            **WRITE,
        ),
    ] = None,
    dtype: Annotated[
        str | None,
        typer.Option(
            **WRITE,
            metavar="TYPE",
            help="Type of the features: float or double for C, float32 or float64 "
            "for ONNX.",
            show_default="float or float32",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            **WRITE,
            metavar="PREFIX",
            help="For C: prefix of all names. By default taken from the file name.",
        ),
    ] = None,
    debug: Debug = False,
) -> None:
    """Write a model as a C header or an ONNX graph.

    - `heterolda export iris.json --out iris.h`
    - `heterolda export iris.json --out iris.h --dtype double --name flower`
    - `heterolda export iris.json --out iris.onnx`

    In C, a pipeline of projections and a classifier becomes rules on its features. A
    projection alone can be exported to ONNX only.
    """
    with errors_in_one_line(debug):
        with usage_errors():
            form = to or _ENDINGS.get(out.suffix.lower())
            if form is None:
                raise ValueError(f"--out {out}: add --to c or --to onnx")
            kind = dtype or _TYPES[form][0]
            if kind not in _TYPES[form]:
                options = ", ".join(_TYPES[form])
                raise ValueError(f"--dtype {kind}: for {form} it is one of {options}")
            if form != "c" and name is not None:
                raise ValueError("--name is for C: leave it out for ONNX")
        check_outputs({"--out": out}, model)
        with warnings_as_notes():
            print_result(_write(model, out, form, kind, name))


def _write(
    model: Path, out: Path, form: str, dtype: str, name: str | None
) -> list[str]:
    """Write the file, and say how it is used."""
    from heterolda.cli.evaluate_files import load_model
    from heterolda.estimators.fit_record import feature_meanings
    from heterolda.export import export_c, to_onnx
    from heterolda.foundations.wording import names_text
    from heterolda.inspection.model_facts import feature_names

    fitted = load_model(model)
    names = list(map(_one_line, feature_names(fitted)))
    meanings = list(map(_one_line, feature_meanings(fitted) or names))
    features = [f"features, in this order: {names_text(names)}"]
    features += [f"{a}: {b}" for a, b in zip(names, meanings, strict=True) if a != b]
    marks = getattr(getattr(fitted, "fit_record_", None), "marks", ())
    if marks:
        shown = ", ".join(map(_one_line, marks))
        features.append(f"missing values, which it does not take: {shown}")
    if form == "onnx":
        to_onnx(fitted, out, dtype)
        predicts = hasattr(fitted, "predict_proba")
        outputs = "outputs label and probabilities" if predicts else "output components"
        return [f"{out}: input X of {dtype}, {outputs}", *features]
    header = export_c(fitted, out, dtype, name=name)
    labels = enumerate(map(_one_line, map(str, fitted.classes_.tolist())))
    if getattr(fitted, "transformation_", None) is not None:
        features.insert(0, "it transforms features with <math.h>: link with -lm")
    return [
        f"{out}: int {header.name}_predict(const {dtype} *x), with "
        f"{header.constant_bytes} bytes of constants and at most "
        f"{header.multiplications} multiplications",
        *features,
        f"answers: {', '.join(f'{k} is {label}' for k, label in labels)}",
        f"{header.name}_classes has these labels as {header.label_type}; in C:",
        *(f"    {line}" for line in header.usage),
    ]


def _one_line(text: str) -> str:
    """Return text on one line: a line feed in a name would look like another line."""
    return text.replace("\n", "\\n")
