"""Columns that are not numbers: one message names them, and its advice works."""

import re
import shlex

import pandas as pd
import pyarrow as pa
import pytest

from helpers.cli import invoke, make_frame, succeed
from heterolda.data import statistics_from_batches

pytestmark = [
    pytest.mark.filterwarnings("ignore::heterolda.ModelMisfitWarning"),
]


FIT = "fit", "--no-accuracy"


def column(values, n=200):
    return [values[k % len(values)] for k in range(n)]


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
        "yes": (["yes", "no"], "row 1: 'yes'"),
    },
    "--exclude": {
        "iso": (DAYS, "row 1: '2024-01-01'"),
        "german": (["1.12.2024", "2.12.2024"], "row 1: '1.12.2024'"),
        "american": (["12/1/2024 3:15 PM"], "row 1: '12/1/2024 3:15 PM'"),
        "hour": ([f"{k}:30" for k in range(24)], "row 1: '0:30'"),
        "id": (IDS, "row 1: 'p0'"),
        "distance": ([f"{k} km" for k in range(90)], "row 1: '0 km'"),
        "unit": (["mm"], "row 1: 'mm'"),
        "empty": ([""], "empty"),
        "note": (
            ["", "", "1;5 " + "see the note " * 5],
            "row 3: '1;5 see the note see",
        ),
    },
    None: {"number": (["1", "-2.5", "3e4", "20241231"], ""), "gaps": (["", "1"], "")},
}


def frame_with(rng, **columns):
    frame = make_frame(rng).drop(columns="id")
    for name, values in columns.items():
        frame.insert(0, name, column(values, len(frame)))
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


def test_all_columns_are_named_with_their_first_cells(rng, tmp_path):
    path = tmp_path / "d.csv"
    columns = {name: one for kind in COLUMNS.values() for name, one in kind.items()}
    reverse = {name: columns[name][0] for name in reversed(columns)}
    frame_with(rng, **reverse).to_csv(path, index=False)
    said = message_of("fit", path, "-t", "kind")
    assert said.startswith(f"heterolda: {path}: 15 columns are not all numbers: 'mark'")
    for name, (_, cell) in columns.items():
        assert f"'{name}' ({cell}" in said if cell else f"'{name}'" not in said
    names = {option: ",".join(kind) for option, kind in COLUMNS.items()}
    out = "--exclude", names["--exclude"], "--missing", "em"
    line = "--na", "?,n.d.,two", "--categorical", names["--categorical"], *out
    assert said.endswith(". Correct the file, or add " + shlex.join(line))
    succeed(*FIT, path, "-t", "kind", *line)


def test_the_options_to_add_make_the_next_command_work(rng, tmp_path):
    """All columns at once, with names that a shell and csv would take apart."""
    path = tmp_path / "my data.csv"
    odd = 'the "day", in $HOME'
    columns = {"id": IDS, odd: DAYS}
    frame = frame_with(rng, **columns, q=["1.5", "2", "4", "7", "?"], u=["mm"])
    frame.to_csv(path, index=False)
    for command in (FIT, ("compare", "--cv", "2"), ("project",)):
        arguments = *command, path, "-t", "kind"
        said = message_of(*arguments)
        assert "4 columns are not all numbers" in said
        options = advised(said)
        assert options[:2] == ["--na", "?"]
        assert options[-2:] == ["--missing", "em" if command == FIT else "drop"]
        succeed(*arguments, *options)
        # What the user leaves out already stays so, and gaps that are provided for.
        given = "--exclude", "u,x0", "--missing", "drop"
        more = advised(message_of(*arguments, *given))
        assert "--missing" not in more
        if command == FIT:
            assert "3 features" in succeed(*arguments, *given, *more)
    named = "--columns", f'x0,x1,"{odd.replace(chr(34), chr(34) * 2)}"'
    options = advised(message_of("fit", path, "-t", "kind", *named))
    assert options == ["--columns", "x0,x1"]
    succeed(*FIT, path, "-t", "kind", *named, *options)
    # In the library there are parameters, and rows that are read once are no matter.
    for source in (path, pa.Table.from_pandas(frame).to_reader()):
        message = r"'u' \(row 1: 'mm'\).*leave them out with exclude=\['u', 'q', "
        with pytest.raises(ValueError, match=message):
            statistics_from_batches(source, "kind")


def test_decimal_marks_that_the_first_rows_do_not_show(rng, tmp_path):
    path = tmp_path / "d.csv"
    frame = frame_with(rng, v=[str(k) for k in range(200)])
    frame[["x0", "x1", "x2"]] = (10 * frame[["x0", "x1", "x2"]]).round().astype(int)
    late = frame.assign(v=[*map(str, range(199)), "1,5"])
    pd.concat([frame, frame, late]).to_csv(path, index=False, sep=";")
    for command in (FIT, ("project",)):
        said = message_of(*command, path, "-t", "kind")
        assert "'v' (row 600: '1,5'). Correct the file, or add --decimal" in said
        succeed(*command, path, "-t", "kind", *advised(said))
    # Columns with both cannot be read in one way.
    late = late.assign(x0=late["x0"] + 0.5)
    pd.concat([frame, frame, late]).to_csv(path, index=False, sep=";")
    assert advised(message_of(*FIT, path, "-t", "kind")) == ["--decimal", ","]
    fit = *FIT, path, "-t", "kind", "--decimal", ","
    options = advised(message_of(*fit))
    assert options == ["--exclude", "x0"]
    succeed(*fit, *options)


def test_many_columns_and_long_names_stay_in_bounds(rng, tmp_path):
    path = tmp_path / "d.csv"
    names = [f"{'long ' * 20}{k}" for k in range(40)]
    frame = frame_with(rng, **dict.fromkeys(names, IDS))
    frame.to_csv(path, index=False)
    said = message_of("fit", path, "-t", "kind")
    assert "40 columns are not all numbers: 'long" in said
    assert "(row 1: 'p0') and 20 more. Correct" in said
    succeed(*FIT, path, "-t", "kind", *advised(said))
    frame[[*names, "kind"]].to_csv(path, index=False)
    said = message_of("fit", path, "-t", "kind")
    assert said.endswith(". Add columns of numbers or categories")


def test_models_know_what_must_be_numbers(rng, tmp_path):
    path, model, out = (tmp_path / name for name in ("d.csv", "m.json", "o.csv"))
    frame = frame_with(rng)
    frame.to_csv(path, index=False)
    succeed(*FIT, path, "-t", "kind", "-o", model)
    frame = frame.astype({"x1": object})
    frame.loc[7, "x1"] = "?"
    frame.to_csv(path, index=False)
    commands = ("evaluate", model, path), ("predict", model, path, "-o", out)
    for command in commands:
        said = message_of(*command)
        assert "1 column is not all numbers: 'x1' (row 8: '?')" in said
        assert advised(said) == ["--na", "?", "--missing", "em"]
        succeed(*command, *advised(said))
    kept = *commands[1], "--missing", "keep"
    assert advised(message_of(*kept)) == ["--na", "?"]
    succeed(*kept, "--na", "?")
    assert pd.read_csv(out)["prediction"].isna().sum() == 1


FIRST = {
    "5.1,3.5,1.4,0.2,setosa": True,
    "5,3,1,0,4": True,
    "1,0,0,0,a": True,  # the same number more than once
    "0,1,2,3,kind": False,  # as pandas numbers columns
    "1,2,3,4,kind": False,
    ",".join([*map(str, range(1100, 1140, 4)), "kind"]): False,  # wavelengths
    "x0,x1,3,4,kind": False,
}


@pytest.mark.parametrize(("first", "is_row"), FIRST.items())
def test_a_first_line_that_may_be_a_row(rng, tmp_path, first, is_row):
    path, model = tmp_path / "d.data", tmp_path / "m.json"
    d = first.count(",")
    frame = make_frame(rng, 80, d=d).drop(columns="id")
    rows = frame.to_csv(index=False, header=False)
    path.write_text(f"{first}\n{rows}".replace("west", first.split(",")[-1]))
    said = message_of("fit", path, "-t", "species")
    assert re.search("no column is named 'species'; it|several .* named .*; it", said)
    assert ("its first line was read as column names, '" in said) == is_row
    if is_row:
        assert f"the columns are then column_1 to column_{d + 1}" in said
        options = re.search("if it is a row, add (.*?),", said)[1].split()
        has_text = first[-1].isalpha()
        target = f"column_{d + 1}"
        assert options == ["--no-header", *(["--target", target] if has_text else [])]
        shown = succeed(*FIT, path, "-t", target, *options, "-o", model)
        assert "81 rows" in shown
        assert "81 rows" in succeed("evaluate", model, path, "--no-header")
    name = first.split(",")[-1]
    if len(set(first.split(","))) < d + 1:
        said = message_of("fit", path, "-t", name)
        assert "several columns are named ['0']; its first line was read" in said
        return
    # If all goes well there is but a note.
    result = invoke(*FIT, path, "-t", name)
    assert result.exit_code == 0, result.stderr
    assert ("if it is a row, add --no-header" in result.stderr) == is_row
