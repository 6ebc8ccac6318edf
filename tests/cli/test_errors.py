"""Bad commands: one line, the right status, and nothing left behind."""

import gzip
import re
import shlex
import subprocess
import sys
import typing
from inspect import cleandoc
from pathlib import Path

import numpy as np
import pytest
import typer
from sklearn.pipeline import make_pipeline

import heterolda
import heterolda.cli.options as opt
from helpers.cli import invoke, make_frame, names, succeed
from heterolda import GaussianLinearDiscriminant, HeteroscedasticProjection
from heterolda.cli.app import app
from heterolda.cli.fit import Settings
from heterolda.cli.messages import in_options
from heterolda.exceptions import ParameterError
from heterolda.foundations import wording
from heterolda.solvers import SOLVERS

# Few rows of drawn classes: sometimes Fisher's rule is better by chance.
pytestmark = pytest.mark.filterwarnings(
    "ignore::heterolda.exceptions.ModelMisfitWarning"
)
COMMANDS = typer.main.get_command(app).commands


def tables(good):
    return {
        "good.csv": good,
        "empty.csv": "",
        "one-class.csv": re.sub("(north|east|south)\n", "west\n", good),
        "words.csv": good + "1,two,3,west\n",
        "missing.csv": good + "1,,3,west\n",
        "cut.csv.gz": gzip.compress(good.encode() * 50)[:400],
        "others.csv": "x0,x9,kind\n1,2,west\n",
        "taken.csv": good.replace("kind", "prediction", 1),
        "component.csv": good.replace("x1", "component_1", 1),
        "strange.csv": good + "1,2,3,mars\n",
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bad")
    frame = make_frame(np.random.default_rng(0))
    X, y = frame[names()], frame["kind"]
    projection = HeteroscedasticProjection(2)
    pipeline = make_pipeline(projection, GaussianLinearDiscriminant())
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name in ("folder", "parts/deep", "run", "sets"):
            Path(name).mkdir(parents=True)
        for name in ("model.json", "m.html"):
            heterolda.save(GaussianLinearDiscriminant().fit(X, y), name)
        bare = GaussianLinearDiscriminant().fit(X.to_numpy(), y)
        heterolda.save(bare, "bare.json")
        heterolda.save(projection.fit(X, y), "projection.json")
        heterolda.save(pipeline.fit(X, y), "pipeline.json")
        good = frame.drop(columns="id").to_csv(index=False)
        model = Path("model.json").read_text(encoding="utf-8")
        contents = tables(good) | {
            "parts/deep/b.csv": good,
            "cut.json": model[: len(model) // 2],
            **dict.fromkeys(["run/results.csv", "run/run.json"], "of a study"),
            "sets/liver.csv.gz": "a set",
        }
        for name, content in contents.items():
            Path(name).write_bytes(
                content if isinstance(content, bytes) else content.encode()
            )
        for name, target in {
            **{"soft.csv": "good.csv", "twice-soft.csv": "soft.csv"},
            **{"soft.h": "model.json", "linked": "parts", "soft.png": "good.csv"},
            **{"soft.html": "run/results.csv"},
        }.items():
            Path(name).symlink_to(target)
        yield folder


# Status, command and what it says; words in capitals stand for some options.
SHORT = {
    "FIT": "-t kind -o new.json",
    "PROJECT": "-t kind -o out.csv",
    "GLD": "-t kind -o new.json --method gaussian",
    "BOUND": "-t kind --method gaussian --max-error north=.1 --confidence",
}
BAD = r"""
1 | fit empty.csv FIT | empty.csv is empty
1 | fit one-class.csv FIT | at least 2 classes are needed, got 1
1 | fit words.csv FIT | words.csv: 1 column is not all numbers: 'x1' (row 201: 'two')
1 | fit missing.csv FIT | column 'x1', row 201 is miss.* --missing drop
1 | fit cut.csv.gz FIT | cut.csv.gz cannot be read
2 | fit good.csv -t sort | no column is named 'sort'.* label column with --targe
2 | fit good.csv FIT --columns kind | --columns and the other options
2 | fit good.csv FIT --columns x0,x1 --exclude x1 | use only one of them
2 | fit good.csv FIT --delimiter ;; | write one character, such as
2 | fit empty.csv FIT --shrinkage 0.1,2 | --shrinkage must be two numbers in
2 | fit good.csv FIT --costs north=3 | write TRUE:DECIDED=COST
2 | fit good.csv FIT --costs north:mars=3 | --costs: 'mars' is not one of the
2 | fit good.csv FIT --costs east:west=-3 | --costs must not be negative
2 | fit good.csv FIT --costs a:b=2,a:b=3 | '--costs': 'a:b' is given more than once
2 | fit good.csv FIT --priors north | write LABEL=NUMBER
2 | fit good.csv FIT --priors north=1 | --priors must have each of the classes
2 | fit good.csv FIT --max-error north=.1 | --max-error is not enough: add --confidence
2 | fit good.csv GLD --confidence .9 | --confidence is not enough: add --max-error
2 | fit empty.csv BOUND 2 | --confidence must be a float in the range
1 | fit good.csv BOUND .9 | y has 4 classes: merge all but the bounded one
2 | fit good.csv FIT --criterion neyman-pearson | is for two classes: with 4, several
2 | fit good.csv GLD --criterion minimax --solver fisher | --criterion minimax needs --
2 | fit good.csv FIT --cv 5 --no-accuracy | --cv cannot be combined with --no-accuracy
2 | fit good.csv BOUND .9 --criterion minimax | --criterion cannot be combined with --co
2 | fit good.csv FIT --solver fisher | --method smoothed: add --method gaussian
2 | fit good.csv FIT --max-error north=.1 --confidence .9 | : add --method gauss
2 | fit good.csv FIT --voting majority | --voting .*: add --method gaussian
2 | fit good.csv FIT --multiclass ovr | --multiclass .*: add --method gaussian
2 | fit good.csv FIT --class-weight north=x | write LABEL=NUMBER
2 | fit good.csv FIT --class-weight mars=2 | --class-weight: 'mars' is not one of the
2 | fit good.csv FIT --method search --missing em | --missing em cannot be combined
2 | fit good.csv FIT --categorical kind | --categorical .*'kind'
2 | fit good.csv -t kind -o - | --out must name a file, got -
1 | fit good.csv -t kind -o folder | 'folder' is a folder
1 | compare missing.csv -t kind -o out.png | column 'x1', row 201 is .* --missing drop$
2 | compare good.csv -t kind -o model.json | 'model.json': name a .png or .svg file
1 | project component.csv PROJECT --columns x0 | already a column 'component_1'
2 | project good.csv PROJECT --components 4 | --components 4 is more than
2 | project good.csv -t kind --html map.pdf | 'map.pdf': name a .html or .htm file
2 | predict model.json good.csv -o out.xlsx | which opens in Excel
1 | predict nothing.json good.csv | nothing.json: No such file or directory
1 | predict cut.json good.csv | 'cut.json' is not a readable file .* not JSON
1 | predict bare.json good.csv | has no feature names: set the attribute
2 | predict model.json others.csv -o out.csv | no column is named 'x1', 'x2'
1 | predict model.json words.csv | not all numbers.*or add --na two --missing em$
1 | reproduce --data words.csv -t kind --out new.d | 'two'\)\. Correct the file$
1 | predict model.json taken.csv -o out.csv | already a column 'prediction'
2 | predict model.json good.csv --id name -o out.csv | no column is named 'name'
1 | predict projection.json good.csv | projection.json holds a projection
1 | evaluate model.json strange.csv -t kind | labels ['mars'] that are not classes
2 | evaluate model.json good.csv | --target is needed: model.json does not name
2 | inspect model.json --pair north | write two labels
2 | inspect model.json --pair north,mars | there is no pair 'north' and 'mars'
1 | inspect pipeline.json | holds a pipeline, .* save its last step to a file
2 | export model.json -o rule.txt | 'rule.txt': name a .h or .onnx file
2 | export model.json -o rule.h --dtype float16 | must be float or double for .h
2 | export model.json -o rule.onnx --name me | --name is for C
1 | export projection.json -o rule.h | got HeteroscedasticProjection
1 | datasets --write liver --data-dir x | --data-dir: 'x' is not a folder
2 | datasets --write irises | --write has no 'irises'
1 | report folder | folder/results.csv: No such file
2 | export model.json -o soft.h | , which is read: name
2 | inspect m.html --html ./folder/../m.html | , which is read: name
2 | predict model.json good.csv -o twice-soft.csv | , which is read: name
2 | predict model.json parts -o linked/deep/b.csv | , which is read: name
2 | fit soft.csv -t kind -o good.csv | , which is read: name
2 | compare good.csv -t kind -o soft.png | , which is read: name
2 | project good.csv -t kind -o good.csv | , which is read: name
2 | report run --out soft.html | , which is read: name
2 | datasets --write liver --data-dir sets -o sets/liver.csv.gz | , which is read: name
"""
BAD = [tuple(re.split(r" \| ", line, maxsplit=2)) for line in BAD.strip().splitlines()]


def contents(folder):
    return {p: p.is_file() and p.read_bytes() for p in folder.rglob("*")}


@pytest.mark.parametrize(("status", "line", "message"), BAD)
def test_bad_commands_say_why_in_one_line(folder, status, line, message):
    before = contents(folder)
    words = re.sub("FIT|GLD|PROJECT|BOUND", lambda match: SHORT[match[0]], line)
    result = invoke(*shlex.split(words))
    assert result.exit_code == int(status), (result.stderr, result.exception)
    *notes, said = result.stderr.splitlines()
    assert all(note.startswith("note: ") for note in notes)
    assert said.startswith("heterolda")
    assert message in said or re.search(message, said), said
    assert contents(folder) == before


def test_other_files_are_replaced_and_links_followed(folder, tmp_path):
    old, link, lost = (tmp_path / name for name in ("old.csv", "link.csv", "lost.csv"))
    old.write_text("old")
    assert invoke("predict", "model.json", "words.csv", "-o", old).exit_code == 1
    assert old.read_text() == "old"
    link.symlink_to("old.csv")
    succeed("predict", "model.json", "good.csv", "-o", link)
    assert link.is_symlink()
    assert old.read_text().startswith("x0,x1,x2,kind,prediction\n")
    # Another name of the same data is replaced; the data stay.
    copy, before = tmp_path / "copy.csv", Path("good.csv").read_bytes()
    copy.write_bytes(before)
    (tmp_path / "hard.csv").hardlink_to(copy)
    succeed("predict", "model.json", copy, "-o", tmp_path / "hard.csv")
    assert copy.read_bytes() == before
    lost.symlink_to("gone/new.csv")
    result = invoke("predict", "model.json", "good.csv", "-o", lost)
    assert result.exit_code == 1
    assert f"'{lost}' is a link to '{tmp_path}/gone/new.csv', and" in result.stderr


def test_a_traceback_is_shown_if_asked_for(folder):
    shown = invoke("predict", "nothing.json", "good.csv", "--debug")
    assert shown.exit_code == 1
    assert "Traceback" in shown.stderr


def test_parameters_are_named_as_options():
    problem = "={'a': 0.1} needs method='error', or use A(method='fisher')"
    expected = "--max-error a=0.1 needs --method error, or use A(method='fisher')"
    assert in_options(ParameterError("max_error", problem)) == expected
    problem = "=7: exclude=['a', 'b c'], or use SmoothedLinearDiscriminant()"
    expected = "--components 7: --exclude 'a,b c', or use --method smoothed"
    assert in_options(ParameterError("n_components", problem)) == expected


def test_names_may_have_commas_and_line_breaks():
    names = ("a", "b,c", "d\ne", "f")
    assert opt.split_names('a, "b,c","d\ne" ,f') == names
    assert opt.split_names(opt.join_names(names)) == names


def test_the_words_of_options_are_those_of_the_library():
    hints = typing.get_type_hints(Settings)
    for name, words in {
        "solver": tuple(SOLVERS),
        "criterion": wording.CRITERIA,
        "multiclass": wording.MULTICLASS,
    }.items():
        assert typing.get_args(hints[name]) == words
    missing = typing.get_args(opt.MissingOrEM)[0]
    assert typing.get_args(missing) == wording.MISSING_IN_FILES


@pytest.mark.parametrize(
    ("words", "package"),
    [
        ("fit - -t kind", "this needs pyarrow"),
        ("predict model.json good.csv", "this needs pyarrow"),
        ("compare good.csv -t kind -o new.png", "pictures need matplotlib"),
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


@pytest.mark.parametrize("package", ["typer", "rich"])
def test_without_its_packages_the_command_says_how_to_install_them(package):
    start = "from heterolda.cli import main; main()"
    code = f"import sys; sys.modules[{package!r}] = None; {start}"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (1, "")
    install = 'pip install "heterolda[cli]"'
    assert run.stderr == f"heterolda: the command needs typer and rich: {install}\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_all_options_and_examples_that_are_right(name, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    shown = succeed(name, "--help")
    for param in COMMANDS[name].params:
        assert param.opts[0] in shown or param.secondary_opts or param.metavar in shown
    examples = cleandoc(COMMANDS[name].help).split("\n\n")[1].splitlines()
    assert len(examples) >= 2
    for line in examples:
        words = shlex.split(line.removeprefix("- ").strip("`"))
        words = words[words.index("heterolda") :]
        words = words[: words.index("|")] if "|" in words else words
        assert words[1] == name
        COMMANDS[name].make_context(name, words[2:])  # the options exist
        assert capsys.readouterr().err == ""


# Status of each command, and what it must not import.
LARGE = {"sklearn", "scipy", "numpy", "pyarrow", "matplotlib"}
QUICK = {
    "--version": 0,
    "fit --help": 0,
    "fit good.csv -t kind --cv 1": 2,
    "fit good.csv -t kind --method smoothed --solver fisher": 2,
    "fit nothing.csv -t kind": 1,
    "predict nothing.json good.csv": 1,
}
WITHOUT_PICTURES = (
    *("fit good.csv -t kind", "predict model.json good.csv", "inspect model.json"),
    *("evaluate model.json good.csv -t kind", "export model.json -o OUT/m.h"),
    *("project good.csv -t kind", "compare good.csv -t kind --cv 2", "datasets"),
)


@pytest.mark.parametrize(
    ("status", "unwanted"),
    [
        (QUICK, LARGE),
        pytest.param(
            *(dict.fromkeys(WITHOUT_PICTURES, 0), {"matplotlib"}),
            marks=pytest.mark.check,
        ),
    ],
)
def test_commands_import_nothing_that_they_do_not_need(
    folder, tmp_path, status, unwanted
):
    code = (
        "import sys; from heterolda.cli import main\n"
        "for line in sys.argv[1:]:\n"
        "    sys.argv = ['heterolda', *line.split()]\n"
        "    try: main()\n"
        "    except SystemExit as end: print(end.code, file=sys.stderr)\n"
        "print(*sys.modules)"
    )
    lines = [line.replace("OUT", str(tmp_path)) for line in status]
    words = [sys.executable, "-W", "error", "-c", code, *lines]
    done = subprocess.run(words, capture_output=True, text=True)
    ended = re.findall(r"^\d$", done.stderr, re.MULTILINE)
    assert ended == [*map(str, status.values())], done.stderr
    loaded = {name.partition(".")[0] for name in done.stdout.split("\n")[-2].split()}
    assert not loaded & unwanted


def test_the_help_lists_all_commands():
    shown = succeed("--help")
    assert shown == succeed()
    assert all(name in shown for name in COMMANDS)
    assert succeed("--version") == f"heterolda {heterolda.__version__}\n"
