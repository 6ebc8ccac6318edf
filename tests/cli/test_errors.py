"""Bad invocations: one line, the right status, and nothing left behind."""

import gzip
import json
import pickle
import re
import shlex
import sys
import typing
from inspect import cleandoc

import numpy as np
import pytest
import typer
from sklearn.pipeline import make_pipeline

import heterolda
import heterolda.cli.options as opt
from helpers.cli import invoke, make_frame, names, succeed
from heterolda import (
    GaussianLinearDiscriminant,
    HeteroscedasticProjection,
    ParameterError,
)
from heterolda.cli.app import app
from heterolda.cli.messages import in_options
from heterolda.cli.project import Method
from heterolda.foundations import wording
from heterolda.solvers import SOLVERS

# Few rows of drawn classes: sometimes Fisher's rule is better by chance.
pytestmark = pytest.mark.filterwarnings("ignore::heterolda.ModelMisfitWarning")
FEATURES = names()
COMMANDS = typer.main.get_command(app).commands


def damaged_files(frame, model):
    """Contents of files that are wrong in some way."""
    good = frame.drop(columns="id").to_csv(index=False)
    return {
        "good.csv": good,
        "empty.csv": "",
        "header.csv": good.splitlines()[0] + "\n",
        "one-class.csv": re.sub("(north|east|south)\n", "west\n", good),
        "single.csv": "x0,x1,x2,kind\n1,2,3,centre\n3,2,1,west\n",
        "few.csv": "x0,kind\n1,west\n2,east\n3,west\n4,east\n",
        "words.csv": good + "1,two,3,west\n",
        "infinite.csv": good + "1,inf,3,west\n",
        "gap.csv": good + "1,,3,west\n",
        "no-label.csv": good + "1,2,3,\n",
        "twice.csv": good.replace("x1", "x0", 1),
        "ragged.csv": good + "1,2,3\n",
        "mixed.csv": good.replace("x1", "größe", 1).encode() + b"1,2,3,S\xfcd\n",
        "utf16.csv": good.encode("utf-16") + b"\0\xd8",
        "noise.csv": bytes(range(256)) * 20,
        "cut.csv.gz": gzip.compress(good.encode() * 50)[:400],
        "noise.parquet": b"PAR1" + bytes(100) + b"PAR1",
        "table.xlsx": "PK",
        "others.csv": "x0,x9,kind\n1,2,west\n",
        "taken.csv": good.replace("kind", "prediction", 1),
        "component.csv": good.replace("x1", "component_1", 1),
        "strange.csv": good + "1,2,3,mars\n",
        "double.csv": "a,x0,x1,x2,a\n1,2,3,4,5\n",
        "rest.csv": "x0,x1,x2,kind,also\n1,2,3,west,west\n",
        "no-target.csv": "x0,x1,x2\n1,2,3\n",
        "huge.csv": "x0,kind\n1e300,a\n-1e300,a\n1,b\n2,b\n",
        "cut.json": model[: len(model) // 2],
        "noise.json": bytes(range(256)),
        "other.json": '{"a": 1}',
        "version.json": json.dumps(json.loads(model) | {"version": 7}),
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bad")
    frame = make_frame(np.random.default_rng(0))
    projection = HeteroscedasticProjection(2)
    for name, model in {
        "model": GaussianLinearDiscriminant(),
        "projection": projection,
        "pipeline": make_pipeline(projection, GaussianLinearDiscriminant()),
    }.items():
        heterolda.save(
            model.fit(frame[FEATURES], frame["kind"]), folder / f"{name}.json"
        )
    text = (folder / "model.json").read_text()
    for name, content in damaged_files(frame, text).items():
        data = content if isinstance(content, bytes) else content.encode()
        (folder / name).write_bytes(data)
    (folder / "folder").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield folder


# Status, command and what it says; FIT, BOUND and PROJECT stand for some options.
SHORT = {
    "FIT": "-t kind -o new.json",
    "PROJECT": "-t kind -o out.csv",
    "BOUND": "-t kind --max-error north=.1 --confidence",
}
BAD = r"""
1 | fit nothing.csv FIT | there is no file 'nothing.csv'
1 | fit 'none*.csv' FIT | there is no file
1 | fit folder FIT | the folder 'folder' has no file that ends in
1 | fit table.xlsx FIT | table.xlsx cannot be read as an Excel workbook
1 | fit empty.csv FIT | empty.csv is empty
1 | fit header.csv FIT | the data have no rows
1 | fit one-class.csv FIT | at least 2 classes are needed, got 1
1 | fit single.csv FIT | classes ['centre', 'west'] have a total
1 | fit words.csv FIT | words.csv: 1 column is not all numbers: 'x1' (row 201: 'two')
1 | fit infinite.csv FIT | infinite.csv: column 'x1', row 201 is infinite
1 | fit gap.csv FIT | gap.csv: column 'x1', row 201 is miss.* --missing drop
1 | fit no-label.csv FIT | no-label.csv: column 'kind', row 201 is miss
1 | fit twice.csv FIT | twice.csv: several columns are named ['x0']
1 | fit ragged.csv FIT | ragged.csv: row 201 has 3 cells, but there are 4
1 | fit mixed.csv FIT | in UTF-8 with bytes of another encoding, such as 0xfc
1 | fit utf16.csv FIT | begins as text in UTF-16, but is damaged
1 | fit noise.csv FIT | noise.csv is not a text file
1 | fit cut.csv.gz FIT | cut.csv.gz cannot be read
1 | fit noise.parquet FIT | noise.parquet cannot be read
1 | fit good.csv others.csv FIT | others.csv: its columns are not those of
1 | fit huge.csv FIT | ^heterolda: (?!X).*(large|overflow|square)
2 | fit good.csv -t sort | no column is named 'sort'.* column of the labels with --targe
2 | fit good.csv FIT --columns x0,x7 | no column is named 'x7'
1 | fit good.csv FIT --exclude x0,x1,x2 | there is no column besides
2 | fit good.csv FIT --columns kind | --columns, exclude, target and sample_weight name
2 | fit good.csv FIT --columns x0,x1 --exclude x1 | use only one of them
2 | fit good.csv FIT --sample-weight kind | name ['kind'] more than once
1 | fit good.csv FIT --sample-weight x0 | good.csv: column 'x0' has negative values
1 | fit words.csv -t x0 | column 'x0' is a measurement and not a class
2 | fit good.csv FIT --solver best | '--solver': 'best' is not one of 'global', 'fixed
2 | fit good.csv FIT --decimal x | '--decimal': 'x' is not one of '.', ','
2 | fit good.csv FIT --delimiter ;; | --delimiter ;;: must be one character
2 | fit good.csv FIT --cv 1 | --cv
2 | fit good.csv FIT --bogus | --bogus
2 | fit good.csv FIT --shrinkage much | --shrinkage must be .* range \[0.0, 1.0\], got '
2 | fit good.csv FIT --shrinkage 0.1,2 | --shrinkage must be two numbers in
2 | fit good.csv FIT --costs north=3 | write TRUE:DECIDED=COST
2 | fit good.csv FIT --costs north:mars=3 | --costs: 'mars' is not one of the
2 | fit good.csv FIT --costs a:b=2,a:b=3 | --costs: 'a:b' is given more than once
2 | fit good.csv FIT --priors north | write LABEL=NUMBER
2 | fit good.csv FIT --priors north=1 | --priors must have each of the classes
2 | fit empty.csv FIT --priors north=1,east=0 | --priors must be positive
2 | fit good.csv FIT --priors north=1,east=1,south=1,west=0 | be positive
2 | fit good.csv FIT --priors up=1 | --priors: 'up' is not one of the
2 | fit good.csv FIT --priors a=1,b=2,a=3 | --priors: 'a' is given more than once
2 | fit good.csv FIT --max-error north=.1 | --max-error is for two
2 | fit good.csv FIT --confidence .9 | --confidence needs .* add --max-error
2 | fit good.csv BOUND 2 | --confidence must be a float in the range
2 | fit good.csv BOUND .9 --criterion minimax | --criterion cannot be combined with --co
1 | fit good.csv BOUND .9 | y has 4 classes: merge all but the bounded one
2 | fit good.csv BOUND .9 --max-error a=.1,b=.1 | --max-error must bound one of the two
2 | fit good.csv BOUND .9 --max-error north=1 | --max-error must be a number strictly b
2 | fit good.csv FIT --criterion neyman-pearson | neyman-pearson needs .*--max-error
2 | fit good.csv FIT --criterion minimax --solver fisher | --criterion minimax needs --s
2 | fit good.csv FIT --refine --costs north:west=2 | weigh errors with --class-weight
2 | fit good.csv FIT --class-weight balanced | --class-weight needs --refine
2 | fit good.csv FIT --recommended --refine | --refine cannot be combined with --rec
2 | fit good.csv FIT --recommended --voting majority | --voting cannot be combined
2 | fit good.csv FIT --recommended --costs north:west=2 | weigh errors with --priors
2 | fit good.csv FIT --recommended --multiclass ova | --multiclass cannot be combined
2 | fit good.csv FIT --recommended --missing em | --refine, which need complete rows
2 | fit good.csv FIT --refine --missing em | --recommended or --refine, which need
2 | fit good.csv FIT --categorical kind | 'kind' is the target
2 | fit good.csv FIT --categorical x0,x0 | 'x0' is named twice
2 | fit good.csv FIT --categorical town | no column is named 'town'
2 | fit good.csv | --target
2 | fit | DATA
2 | fitt good.csv | No such command 'fitt'
2 | fit - good.csv FIT | name no other data with it
2 | fit good.csv -t kind -o - | --out: name a file, not -
1 | fit good.csv -t kind -o nowhere/new.json | the folder 'nowhere' does not
1 | fit good.csv -t kind -o folder | 'folder' is a folder
1 | compare gap.csv -t kind -o out.png | column 'x1', row 201 is .* --missing drop$
1 | compare few.csv -t kind | heterolda: no class has three different rows
2 | compare good.csv -t kind --cv 1 | --cv
2 | compare good.csv -t kind -o model.json | --out model.json: name a .png
1 | project component.csv PROJECT --columns x0 | already a column 'component_1': choose
1 | project component.csv PROJECT --id component_1 | column 'component_1': rename it
2 | project good.csv PROJECT --components 0 | --components
2 | project good.csv PROJECT --components 4 | --components 4 is more than
2 | project few.csv PROJECT --components 2 --method fisher | --components 2
2 | project good.csv PROJECT --method lda | --method
2 | project good.csv PROJECT --shrinkage cv | --shrinkage must be a str among {'aut
1 | project good.csv -t kind --html folder | 'folder' is a folder
2 | project good.csv -t kind --html - | --html: name a file
1 | project gap.csv PROJECT | out with --missing drop$
2 | predict model.json good.csv -o out.xlsx | which opens in Excel
1 | predict nothing.json good.csv | nothing.json: No such file or directory
1 | predict cut.json good.csv | 'cut.json' is not a readable file .* not JSON
1 | predict noise.json good.csv | noise.json is not a model file written by
1 | predict other.json good.csv | 'other.json' is not a readable file
1 | predict version.json good.csv | version 7, .* reads only version 1: save
1 | predict model.json others.csv -o out.csv | no column is named 'x1', 'x2'
1 | predict model.json gap.csv -o out.csv | column 'x1', row 201 is missing
1 | predict model.json double.csv -o out.csv | several columns are named
1 | predict model.json words.csv -o o.parquet | 'x1' (row 201: 'two')
1 | predict model.json ragged.csv -o out.csv.gz | ragged.csv: row 201 has 3
1 | predict model.json taken.csv -o out.csv | already a column 'prediction'
2 | predict model.json good.csv --id name -o out.csv | no column is named 'name'
2 | predict model.json good.csv --columns x0,x1 | --columns names 2 columns
1 | predict projection.json good.csv | projection.json holds a projection
1 | evaluate good.csv good.csv | good.csv is not a model file written by
1 | evaluate model.json header.csv | the data have no rows
1 | evaluate model.json strange.csv | labels ['mars'] that are not classes
1 | evaluate model.json rest.csv | name the column of the labels with --target
1 | evaluate model.json no-target.csv | there is no column left for the labels
2 | evaluate model.json no-target.csv -t kind | no column is named 'kind'
1 | evaluate projection.json good.csv | does not predict classes: save a class
2 | inspect model.json --pair north | write two labels
2 | inspect model.json --pair north,mars | there is no pair 'north' and 'mars'
2 | inspect model.json --rules 0 | --rules
1 | inspect projection.json | does not predict classes
1 | inspect pipeline.json | holds a pipeline, .* save its last step to a file
2 | export model.json -o rule.txt | add --to c or --to onnx
2 | export model.json -o rule.h --dtype float16 | one of float, double
2 | export model.json -o rule.onnx --name me | --name is for C
2 | export model.json -o rule.h --name 7up | name '7up'
1 | export projection.json -o rule.h | got HeteroscedasticProjection
2 | reproduce --datasets iris --methods best --out o | unknown method 'best'
2 | reproduce --datasets irises --out o | unknown data set 'irises'
2 | reproduce --data good.csv --out o | --data and --target belong together
2 | reproduce --data good.csv --data good.csv -t kind | two data sets have the name
2 | reproduce --methods a:b --out o | --methods a:b: cannot make this classifier
1 | datasets --write liver --data-dir x | --data-dir: 'x' is not a folder
2 | datasets --write irises | no data set has this name
1 | report folder | run.json does not exist
"""
BAD = [tuple(re.split(r" \| ", line, maxsplit=2)) for line in BAD.strip().splitlines()]


def listing(folder):
    return sorted((p.name, p.stat().st_mtime_ns) for p in folder.iterdir())


@pytest.mark.parametrize(("status", "line", "message"), BAD)
def test_bad_invocations_say_why_in_one_line(folder, status, line, message):
    before = listing(folder)
    words = re.sub("FIT|PROJECT|BOUND", lambda match: SHORT[match[0]], line)
    result = invoke(*shlex.split(words))
    assert result.exit_code == int(status), (result.stderr, result.exception)
    *notes, said = result.stderr.splitlines()
    assert all(note.startswith("note: ") for note in notes)
    assert said.startswith("heterolda")
    assert message in said or re.search(message, said), said
    assert result.stdout == ""
    assert listing(folder) == before


def test_a_traceback_is_shown_if_asked_for(folder):
    shown = invoke("predict", "nothing.json", "good.csv", "--debug")
    assert shown.exit_code == 1
    assert "Traceback" in shown.stderr


@pytest.mark.parametrize(
    ("parameter", "problem", "python", "options"),
    [
        ("priors", "must", "priors must", "--priors must"),
        ("X", ": the values", "X: the values", "the values"),
        ("path", "'a' is not", "path 'a' is not", "'a' is not"),
        (
            "max_error",
            "={'a': 0.1} needs method='error', or use A(method='fisher')",
            "max_error={'a': 0.1} needs method='error', or use A(method='fisher')",
            "--max-error a=0.1 needs --method error, or use A(method='fisher')",
        ),
        (
            "n_components",
            "=7 is many: use columns=..., exclude=['a', 'b c']",
            "n_components=7 is many: use columns=..., exclude=['a', 'b c']",
            "--components 7 is many: use --columns, --exclude 'a,b c'",
        ),
    ],
)
def test_errors_of_parameters_and_of_options(parameter, problem, python, options):
    error = ParameterError(parameter, problem)
    assert str(error) == python
    assert in_options(error) == options
    again = pickle.loads(pickle.dumps(error))
    assert (again.args, again.parameter) == (error.args, error.parameter)


def test_names_may_have_commas_and_line_breaks():
    names = ("a", "b,c", "d\ne", "f")
    assert opt.split_names('a, "b,c","d\ne" ,f') == names
    assert opt.split_names(opt.join_names(names)) == names


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (opt.Solver, tuple(SOLVERS)),
        (opt.Criterion, wording.CRITERIA),
        (opt.Multiclass, wording.MULTICLASS),
        (opt.Voting, wording.VOTINGS),
        (opt.Missing, wording.MISSING_IN_FILES),
        (Method, wording.PROJECTIONS),
    ],
)
def test_the_words_of_options_are_those_of_the_library(option, words):
    kind, *_ = typing.get_args(option)
    kind = kind if typing.get_origin(kind) is typing.Literal else kind.__args__[0]
    assert typing.get_args(kind) == words


@pytest.mark.parametrize(
    ("words", "package"),
    [
        ("fit good.csv -t kind -o new.json", "this needs pyarrow"),
        ("fit - -t kind", "this needs pyarrow"),
        ("compare - -t kind", "this needs pyarrow"),
        ("project - -t kind -o new.csv", "this needs pyarrow"),
        ("predict model.json good.csv", "this needs pyarrow"),
        ("evaluate model.json -", "this needs pyarrow"),
        ("compare good.csv -t kind -o new.png", "pictures need matplotlib"),
        ("project good.csv -t kind --html new.html", "pictures need matplotlib"),
        ("inspect model.json --html new.html", "pictures need matplotlib"),
        ("export model.json -o new.onnx", "export to ONNX needs skl2onnx"),
    ],
)
def test_what_is_not_installed_is_named_at_once(folder, monkeypatch, words, package):
    for name in ("pyarrow", "matplotlib", "matplotlib.pyplot", "skl2onnx"):
        monkeypatch.setitem(sys.modules, name, None)
    # It must not wait for the end of a stream.
    monkeypatch.delattr("shutil.copyfileobj")
    result = invoke(*words.split(), stdin="x0,kind\n")
    assert result.exit_code == 1
    install = f"pip install {package.split()[-1]}"
    assert result.stderr == f"heterolda: {package}: {install}\n"
    assert not list(folder.glob("new.*"))


@pytest.mark.parametrize("words", [[], *([name] for name in COMMANDS)])
def test_help_fits_the_screen_and_has_all_options(words, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown = succeed(*words, "--help")
    assert max(map(len, shown.splitlines())) <= 80
    if not words:
        assert all(name in shown for name in COMMANDS)
        assert shown == succeed() == succeed("-h") == succeed("--help", "fit")
        assert "--install-completion" in shown
        return
    for param in COMMANDS[words[0]].params:
        assert param.opts[0] in shown or param.secondary_opts or param.metavar in shown


@pytest.mark.parametrize("name", COMMANDS)
def test_three_examples_come_first_and_are_right(name, capsys):
    examples = cleandoc(COMMANDS[name].help).split("\n\n")[1].splitlines()
    assert len(examples) == 3
    for line in examples:
        ours = shlex.split(line.removeprefix("- ").strip("`"))
        ours = ours[ours.index("heterolda") :]
        ours = ours[: ours.index("|")] if "|" in ours else ours
        assert ours[1] == name
        COMMANDS[name].make_context(name, ours[2:])  # the options exist
        assert capsys.readouterr().err == ""
