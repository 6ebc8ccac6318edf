"""Columns that are not numbers: one message names them, and its advice works."""

import re
import shlex

import pandas as pd
import pytest

from helpers.cli import invoke, make_frame, succeed
from heterolda.data import statistics_from_batches

pytestmark = pytest.mark.filterwarnings("ignore::heterolda.ModelMisfitWarning")

FIT = "fit", "--no-accuracy"
IDS, PLACES = [f"p{k}" for k in range(200)], ["Rome", "New York", "Rome"]
DAYS = [f"2024-01-{k:02d}" for k in range(1, 29)]
# By the option that helps: columns with their values, and the first that is no number.
COLUMNS = {
    "--na": {
        "mark": (["1.5", "2", "4", "7", "?"], "row 5: '?'"),
        "n.d.": ([*"123456789" * 2, "n.d."], "row 19: 'n.d.'"),
        "typing error": ([*map(str, range(199)), "two"], "row 200: 'two'"),
    },
    "--categorical": {
        "city": (PLACES, "row 1: 'Rome'"),
        "code": (["1", "2", "A"], "row 3: 'A'"),
    },
    "--exclude": {
        "iso": (DAYS, "row 1: '2024-01-01'"),
        "american": (["12/1/2024 3:15 PM"], "row 1: '12/1/2024 3:15 PM'"),
        "hour": ([f"{k}:30" for k in range(24)], "row 1: '0:30'"),
        'the "id", in $HOME': (IDS, "row 1: 'p0'"),
        "unit": (["mm"], "row 1: 'mm'"),
        "empty": ([""], "empty"),
        "note": (["", "", "1;5 " + "see the note " * 5], "row 3: '1;5 see the note"),
    },
    None: {"number": (["1", "-2.5", "3e4", "20241231"], ""), "gaps": (["", "1"], "")},
}


def frame_with(rng, **columns):
    frame = make_frame(rng).drop(columns="id")
    for name, values in columns.items():
        cells = [values[k % len(values)] for k in range(len(frame))]
        frame.insert(0, name, cells)
    return frame


def advised(message):
    """The options that a message tells to add."""
    return shlex.split(re.search(r"[.,] (?:or )?[Aa]dd (--.*?)(; |$)", message)[1])


def message_of(*arguments):
    result = invoke(*arguments)
    assert result.exit_code in (1, 2), result.stderr
    *notes, said = result.stderr.splitlines()
    assert all(note.startswith("note: ") for note in notes)
    return said


def test_all_columns_are_named_and_the_advice_makes_the_next_command_work(
    rng, tmp_path
):
    path = tmp_path / "my data.csv"
    columns = {name: one for kind in COLUMNS.values() for name, one in kind.items()}
    reverse = {name: columns[name][0] for name in reversed(columns)}
    frame_with(rng, **reverse).to_csv(path, index=False)
    for command in (FIT, ("project",)):
        arguments = *command, path, "-t", "kind"
        said = message_of(*arguments)
        assert f"{path}: 12 columns are not all numbers: 'mark' (row" in said
        for name, (_, cell) in columns.items():
            assert f"'{name}' ({cell}" in said if cell else f"'{name}'" not in said
        options = advised(said)
        assert options[:4] == ["--na", "?,n.d.,two", "--categorical", "city,code"]
        assert options[-2:] == ["--missing", "em" if command == FIT else "drop"]
        succeed(*arguments, *options)
        # Given options are kept.
        given = "--exclude", "unit,x0", "--missing", "drop"
        more = advised(message_of(*arguments, *given))
        assert "--missing" not in more
        assert more[-1].startswith("unit,x0,")
    with pytest.raises(ValueError, match=r"leave them out with exclude=\['"):
        statistics_from_batches(path, "kind")


def test_decimal_marks_that_the_first_rows_do_not_show(rng, tmp_path):
    path = tmp_path / "d.csv"
    frame = frame_with(rng, v=[str(k) for k in range(200)])
    frame[["x0", "x1", "x2"]] = (10 * frame[["x0", "x1", "x2"]]).round().astype(int)
    late = frame.assign(v=[*map(str, range(199)), "1,5"])
    pd.concat([frame, frame, late]).to_csv(path, index=False, sep=";")
    said = message_of(*FIT, path, "-t", "kind")
    assert "'v' (row 600: '1,5'). Correct the file, or add --decimal" in said
    succeed(*FIT, path, "-t", "kind", *advised(said))


def test_models_need_numbers(rng, tmp_path):
    path, model, out = (tmp_path / name for name in ("d.csv", "m.json", "o.csv"))
    frame = frame_with(rng)
    frame.to_csv(path, index=False)
    succeed(*FIT, path, "-t", "kind", "-o", model)
    frame = frame.astype({"x1": object})
    frame.loc[7, "x1"] = "?"
    frame.to_csv(path, index=False)
    for command in ("evaluate", model, path), ("predict", model, path, "-o", out):
        said = message_of(*command)
        assert "1 column is not all numbers: 'x1' (row 8: '?')" in said
        assert advised(said) == ["--na", "?", "--missing", "em"]
        succeed(*command, *advised(said))


FIRST = {
    "5.1,3.5,1.4,0.2,setosa": True,
    ",".join([*map(str, range(1100, 1140, 4)), "kind"]): False,  # wavelengths
    "x0,x1,3,4,kind": False,
}


@pytest.mark.parametrize(("first", "is_row"), FIRST.items())
def test_a_first_line_that_may_be_a_row(rng, tmp_path, first, is_row):
    path = tmp_path / "d.data"
    d = first.count(",")
    frame = make_frame(rng, 80, d=d).drop(columns="id")
    rows = frame.to_csv(index=False, header=False)
    path.write_text(f"{first}\n{rows}".replace("west", first.split(",")[-1]))
    said = message_of("fit", path, "-t", "species")
    assert "no column is named 'species'; it" in said
    assert ("its first line was read as column names, '" in said) == is_row
    if is_row:
        target = f"column_{d + 1}"
        options = re.search("if it is a row, add (.*?);", said)[1].split()
        has_text = first[-1].isalpha()
        assert options == ["--no-header", *(["--target", target] if has_text else [])]
        assert "81 rows" in succeed(*FIT, path, "-t", target, *options)
    # If all goes well there is but a note.
    result = invoke(*FIT, path, "-t", first.split(",")[-1])
    assert result.exit_code == 0, result.stderr
    assert ("if it is a row, add --no-header" in result.stderr) == is_row
