"""Errors and warnings that users may want to catch or filter by name."""

from __future__ import annotations

__all__ = [
    "MissingRowsWarning",
    "ModelMisfitWarning",
    "ParameterError",
    "PrecisionWarning",
    "ReadingWarning",
    "SimilarLabelsWarning",
    "SmallClassWarning",
    "TrivialRuleWarning",
]


class ParameterError(ValueError):
    """Report a parameter with an invalid value.

    Parameters
    ----------
    parameter : str
        Name of the parameter.
    problem : str
        The problem and its remedy, such as "must be positive: ...". The message is the
        name followed by the problem.

    Examples
    --------
    >>> from heterolda import GaussianLinearDiscriminant
    >>> from heterolda.exceptions import ParameterError
    >>> X, y = [[0], [1], [4], [6]], [0, 0, 1, 1]
    >>> try:
    ...     GaussianLinearDiscriminant(priors=[0.5, 0]).fit(X, y)
    ... except ParameterError as error:
    ...     print(error.parameter, error, sep="; ")
    priors; priors must be positive, got [0.5, 0.0]: leave a class that never ...
    """

    def __init__(self, parameter: str, problem: str) -> None:
        super().__init__(parameter, problem)
        self.parameter = parameter

    def __str__(self) -> str:
        between = "" if self.args[1][0] in ",:=" else " "
        return between.join(self.args)


class SmallClassWarning(UserWarning):
    """Warn that a class has few samples for the number of features.

    Examples
    --------
    >>> import warnings
    >>> from heterolda import GaussianLinearDiscriminant
    >>> from heterolda.exceptions import SmallClassWarning
    >>> X = [[0, 1], [1, 3], [2, 0], [7, 5], [8, 8], [9, 5]]
    >>> y = [0, 0, 0, 1, 1, 1]
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", SmallClassWarning)
    ...     GaussianLinearDiscriminant().fit(X, y)
    Traceback (most recent call last):
    heterolda.exceptions.SmallClassWarning: there are fewer than 8 rows per feature...
    """


class TrivialRuleWarning(UserWarning):
    """Warn that the rule of a pair always predicts the same class.

    Examples
    --------
    >>> import warnings
    >>> from heterolda import ClassStatistics, GaussianLinearDiscriminant
    >>> rare = ClassStatistics.from_moments([0, 1], [99, 2], [[0], [0]], [[[1]], [[1]]])
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     GaussianLinearDiscriminant().fit_statistics(rare).trivial_
    array([ True])
    >>> caught[0].category.__name__
    'TrivialRuleWarning'
    """


class ModelMisfitWarning(UserWarning):
    """Warn that the classes are not Gaussian, so the model may mislead.

    Examples
    --------
    A feature that is 1 in two rows of one class and 0 in all others:

    >>> import warnings
    >>> import numpy as np
    >>> from heterolda import GaussianLinearDiscriminant
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(200, 2)), np.repeat([0, 1], 100)
    >>> X[:, 0] += y
    >>> X[:, 1] = np.arange(200) < 2
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     GaussianLinearDiscriminant().fit(X, y).chosen_on_rows_
    array([ True])
    >>> caught[0].category.__name__
    'ModelMisfitWarning'
    """


class PrecisionWarning(UserWarning):
    """Warn that features vary by little more than float64 rounding.

    Examples
    --------
    >>> import warnings
    >>> from heterolda import GaussianLinearDiscriminant
    >>> X = [[1e16 + k] for k in (0, 2, 4, 8, 10, 12)]
    >>> y = [0, 0, 0, 1, 1, 1]
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     GaussianLinearDiscriminant().fit(X, y).predict(X)
    array([0, 0, 0, 1, 1, 1])
    >>> "PrecisionWarning" in [warning.category.__name__ for warning in caught]
    True
    """


class ReadingWarning(UserWarning):
    """Warn that a file was read in a way that you might not expect.

    Examples are decimal commas, an encoding other than UTF-8, and a column without a
    name that was left out.

    Examples
    --------
    >>> import os, tempfile, warnings
    >>> from heterolda.data import statistics_from_batches
    >>> rows = "x;kind", "1,5;a", "2,5;a", "7,0;b", "9,5;b"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "table.csv")
    ...     with open(path, "w") as file:
    ...         file.writelines(f"{row}{os.linesep}" for row in rows)
    ...     with warnings.catch_warnings(record=True) as caught:
    ...         warnings.simplefilter("always")
    ...         statistics_from_batches(path, "kind").means.ravel()
    array([2.  , 8.25])
    >>> caught[0].category.__name__
    'ReadingWarning'
    """


class MissingRowsWarning(UserWarning):
    """Warn that rows with missing values were left out, as requested.

    Examples
    --------
    >>> import warnings
    >>> import pyarrow as pa
    >>> from heterolda.data import statistics_from_batches
    >>> table = pa.table({"x": [1.0, None, 3.0, 5.0], "kind": ["a", "a", "b", "b"]})
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     statistics_from_batches(table, "kind", missing="drop").weights
    array([1., 2.])
    >>> caught[0].category.__name__
    'MissingRowsWarning'
    """


class SimilarLabelsWarning(UserWarning):
    """Warn that labels differ only in white space, case or how a number is written.

    Examples
    --------
    >>> import warnings
    >>> import pyarrow as pa
    >>> from heterolda.data import statistics_from_batches
    >>> table = pa.table({"x": [1.0, 2.0, 3.0, 5.0], "kind": ["a", "a ", "a", "b"]})
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     statistics_from_batches(table, "kind").classes
    array(['a', 'a ', 'b'], dtype='<U2')
    >>> caught[0].category.__name__
    'SimilarLabelsWarning'
    """
