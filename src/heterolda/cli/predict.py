"""The command that predicts the classes of rows in files, batch by batch."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, Literal

import heterolda.cli.options as opt
from heterolda.cli.files import check_files
from heterolda.cli.messages import StatusLine, note, print_to_stderr
from heterolda.data.files import STANDARD_STREAM, check_written
from heterolda.foundations.wording import count, names_text

Typicality = Annotated[
    bool,
    opt.write(
        None,
        "Add how typical each row is of its likeliest class: the share of rows "
        "left out of the fit that are as far from it.",
        "--typicality",
    ),
]
Explain = Annotated[
    int | None,
    opt.write(
        "NUMBER",
        "Add the largest contributions to the prediction, this many, as text.",
        "--explain",
        min=1,
    ),
]
FailUnlike = Annotated[
    float | None,
    opt.write(
        "SHARE",
        "Exit with status 3 if more than this share of the rows is unlike the rows "
        "of the fit (typicality below 0.001).",
        "--fail-unlike",
        min=0,
        max=1,
    ),
]
Identifier = Annotated[
    Sequence[str] | None,
    opt.write(
        "NAMES",
        "Write only these columns and the results.",
        "--id",
        parser=opt.split_names,
    ),
]


def predict(
    *,
    model: opt.ModelFile,
    data: opt.Data,
    missing: Annotated[
        Literal["error", "em", "keep", "drop"] | None,
        opt.read(
            None,
            "Rows with missing values: stop with an error, classify them by the values "
            "they have (em), keep them with an empty prediction, or drop them. By "
            "default em for models fitted that way, otherwise error.",
        ),
    ] = None,
    reading: opt.Reading,
    out: Annotated[
        str,
        opt.write(
            "FILE",
            "A .csv, .tsv (also .gz) or .parquet file. By default, and with -, CSV on "
            "standard output.",
            "--out",
            "-o",
            show_default=False,
        ),
    ] = STANDARD_STREAM,
    proba: Annotated[
        bool, opt.write(None, "Add the probability of each class.", "--proba")
    ] = False,
    typicality: Typicality = False,
    explain: Explain = None,
    fail_unlike: FailUnlike = None,
    identifier: Identifier = None,
) -> None:
    """Predict the class of each row of a table, in a new column.

    - `heterolda predict iris.json new.csv --out predicted.csv`
    - `heterolda predict iris.json new.parquet --id sample --proba -o p.parquet`
    - `cat new.csv | heterolda predict iris.json - | head`

    Columns are found by name, in any order. Columns that the model does not use are
    copied unchanged, in text files character by character. Rows keep their order. Files
    are read and written in pieces, so they may be larger than memory. A note says how
    many rows are unlike those of the fit, and by which columns.
    """
    check_written(out)
    to_stdout = out == STANDARD_STREAM
    check_files({"out": out}, model, data=data)
    text = reading.format
    import typer

    import heterolda.cli.models as models
    from heterolda.cli.answers import Answers
    from heterolda.data.reading import Pass
    from heterolda.estimators.typical_rows import knower_of

    fitted = models.load_classifier(model, proba=proba)
    answers = Answers(fitted, proba, typicality, explain)
    if knower_of(fitted) is None and (typicality or fail_unlike is not None):
        raise ValueError(
            f"{model} has no class statistics, which --typicality and --fail-unlike "
            "need: save it with them"
        )
    answers.policy = policy = models.missing_for(fitted, missing)
    complete = "em" if policy == "keep" else policy
    table = models.model_table(fitted, data, text, missing=complete, keep=True)
    selected, unlike = identifier or (), answers.unlike

    rows = Pass(table)
    with StatusLine(quiet=to_stdout and sys.stdout.isatty()) as status:
        show = status.doing("predicting")
        columns = (), answers.names, answers
        n_rows = models.write_answers(rows, out, selected, *columns, show)
    used = {*rows.file.columns, *selected}
    unused = [name for name in rows.file.schema.names if name not in used]
    if unused:
        note(f"the model does not use {names_text(unused)}")
    note(*rows.unseen_notes(), *models.missing_notes(answers.n_incomplete))
    if rows.n_dropped:
        note(f"dropped {count(rows.n_dropped, 'row')} with missing values")
    if unlike.with_unseen(rows.unseen).are_many:
        note(str(unlike))
    if not to_stdout:
        print_to_stderr(f"wrote {count(n_rows, 'row')} to {out}")
    if fail_unlike is not None and unlike.share > fail_unlike:
        raise typer.Exit(3)
