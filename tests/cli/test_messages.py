"""Errors and warnings that carry the parameters they speak of."""

import pickle

import pytest

from heterolda import (
    GaussianLinearDiscriminant,
    ParameterError,
)
from heterolda.cli.messages import in_options
from heterolda.data.table import Table

X, y = [[0.0, 1], [1, 3], [2, 0], [7, 5], [8, 8], [9, 5]], [0, 0, 0, 1, 1, 1]


def test_a_message_is_said_in_parameters_and_in_options():
    with pytest.raises(ParameterError) as caught:
        GaussianLinearDiscriminant(criterion="minimax", solver="fisher").fit(X, y)
    error = caught.value
    assert error.parameter == "criterion"
    assert str(error).startswith("criterion='minimax' needs solver='global'")
    assert in_options(error).startswith("--criterion minimax needs --solver global,")


def test_errors_of_files_are_about_no_parameter():
    with pytest.raises(ValueError, match="no column is named 'a'") as caught:
        Table("d.csv", columns=("a",)).resolve(["b"], "d.csv")
    assert not hasattr(caught.value, "parameter")
    assert in_options(caught.value) == str(caught.value)


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
