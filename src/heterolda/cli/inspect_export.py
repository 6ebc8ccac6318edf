"""The commands that put a model into words and pictures, and into C or ONNX."""

from __future__ import annotations

from pathlib import Path

import heterolda.cli.options as opt
from heterolda.cli.data_source import check_model, check_outputs
from heterolda.cli.messages import (
    errors_in_one_line,
    print_result,
    print_to_stderr,
    warnings_as_notes,
)
from heterolda.cli.parsing import UsageError, split_names

_ENDINGS = {".h": "c", ".onnx": "onnx"}


def inspect(
    model: opt.ModelFile,
    pair: opt.Pair = None,
    rules: opt.Rules = 3,
    tradeoff: opt.Tradeoff = False,
    html: opt.ModelPage = None,
    debug: opt.Debug = False,
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
        labels = split_names(pair)
        if pair is not None and len(labels) != 2:
            raise UsageError(f"--pair {pair}: write two labels, LABEL,LABEL")
        check_model(model)
        check_outputs({"--html": html}, model)
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
        pairs = facts.chosen_pairs((labels[0], labels[1]) if labels else None, rules)
        if html is None:
            print_result(describe_model(facts, str(model), pairs, tradeoff=tradeoff))
            return
        write_card(facts, model.name, html, pairs)
        print_to_stderr(f"the page is in {html}")


def export(
    model: opt.ModelFile,
    out: opt.ExportOut,
    to: opt.To = None,
    dtype: opt.Dtype = None,
    name: opt.Prefix = None,
    debug: opt.Debug = False,
) -> None:
    """Write a model as a C header or an ONNX graph.

    - `heterolda export iris.json --out iris.h`
    - `heterolda export iris.json --out iris.h --dtype double --name flower`
    - `heterolda export iris.json --out iris.onnx`

    In C, a pipeline of projections and a classifier becomes rules on its features. A
    projection alone can be exported to ONNX only.
    """
    with errors_in_one_line(debug):
        form = to or _ENDINGS.get(out.suffix.lower())
        if form is None:
            raise UsageError(f"--out {out}: add --to c or --to onnx")
        kind = dtype or opt.EXPORTS[form][0]
        if kind not in opt.EXPORTS[form]:
            options = ", ".join(opt.EXPORTS[form])
            raise UsageError(f"--dtype {kind}: for {form} it is one of {options}")
        if form != "c" and name is not None:
            raise UsageError("--name is for C: leave it out for ONNX")
        check_model(model)
        check_outputs({"--out": out}, model)
        with warnings_as_notes():
            print_result(_write(model, out, form, kind, name))


def _write(
    model: Path, out: Path, form: str, dtype: str, name: str | None
) -> list[str]:
    """Write the file, and return how it is used."""
    from heterolda.cli.models import load_model
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
