"""Save fitted models as JSON files, without pickle."""

from __future__ import annotations

import json
import math
import os
import stat
import sys
from typing import Any

from sklearn.pipeline import Pipeline

from heterolda.estimators.base import host_of
from heterolda.export.models import TABLE, model_to_json, own_steps, read_model
from heterolda.export.schema import Place, check_object
from heterolda.foundations.files import PATH, atomic_write, unreadable
from heterolda.foundations.validation import check_type

FORMAT = "heterolda-model"
VERSION = 1  # of the files that are written and read
# Limits on files bound the time and memory to read one.
MAX_BYTES = 1 << 30
# Every number, text, list and object comes with one of these characters. An empty list
# takes twenty times its size in memory, so fewer lists than numbers are allowed.
MAX_COUNTS = {",": 1 << 26, '"': 1 << 23, "[": 1 << 22, "{": 1 << 20}
_MAX_REASON = 400  # characters of an error


def save(
    model: Any, path: str | os.PathLike[str], *, include_statistics: bool = True
) -> None:
    """Write a fitted model to a JSON file, whole or not at all.

    Parameters
    ----------
    model : estimator
        A GaussianLinearDiscriminant, a SmoothedLinearDiscriminant, a
        LocalNeighborhoodSearch, a HeteroscedasticProjection, a Pipeline of projections
        that may end in one of the classifiers, or a BoundedErrorClassifier of a
        discriminant. If the initial estimator of a search is not a discriminant, only
        its name is saved. A `random_state` that is a generator becomes None.
    path : str or path-like
        The file.
    include_statistics : bool, default=True
        Whether to save the class statistics: weights, means and scatter. Projections
        and predictions for complete rows do not need them. Predictions for rows with
        missing values, `partial_fit`, `with_operating_point`, `for_features` and
        `frontier_` do.

    See Also
    --------
    load : Read the file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import heterolda
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> model = heterolda.GaussianLinearDiscriminant().fit(X, y)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "wine.json"
    >>> heterolda.save(model, path)
    >>> bool((heterolda.load(path).predict(X) == model.predict(X)).all())
    True
    """
    check_type("path", path, PATH, "a path")
    check_type("include_statistics", include_statistics, bool, "True or False")
    document = to_document(model, include_statistics=include_statistics)
    try:
        from_document(document)
        content = json_text(document)
    except ValueError as error:
        raise ValueError(f"model cannot be saved in a model file: {error}") from error
    with atomic_write(path) as file:
        file.write(content)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a fitted model from a file written by `save`.

    Untrusted files are safe: nothing in them is executed, and anything that is not a
    model is an error.

    Parameters
    ----------
    path : str or path-like
        The file, of at most 1 GiB.

    Returns
    -------
    estimator
        The model. Its predictions or components equal those of the saved model to the
        last bit.

    See Also
    --------
    save : Write the file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import heterolda
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.json"
    >>> X, y = [[1], [2], [3], [4], [6], [8]], ["low"] * 3 + ["high"] * 3
    >>> heterolda.save(heterolda.GaussianLinearDiscriminant().fit(X, y), path)
    >>> heterolda.load(path).predict([[1.5], [7]])
    array(['low', 'high'], dtype='<U4')
    """
    check_type("path", path, PATH, "a path")  # not the number of an open file
    name = os.fspath(path)
    try:
        status = os.stat(name)  # opening a pipe would block
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("it is not a regular file")
        _check_bytes(status.st_size)
        with open(name, "rb") as file:
            return from_document(parse_json(file.read(status.st_size)))
    except MemoryError as error:
        reason = ValueError("it needs more memory than is available")
        raise unreadable(name, "a heterolda model", reason) from error
    except ValueError as error:
        message = str(error)
        short = (
            message if len(message) <= _MAX_REASON else f"{message[:_MAX_REASON]} ..."
        )
        raise unreadable(name, "a heterolda model", ValueError(short)) from error


def to_document(model: Any, *, include_statistics: bool = True) -> dict[str, Any]:
    """Convert a fitted model to the JSON value that `save` writes."""
    model = host_of(model)
    if type(model) is Pipeline:
        own_steps(model, "save the whole pipeline with skops")
    elif type(model) not in TABLE:
        *first, last = (cls.__name__ for cls in TABLE)
        raise TypeError(
            f"model must be a {', a '.join(first)} or a {last}, got "
            f"{type(model).__name__}: for a parameter search, save best_estimator_"
        )
    return {
        "format": FORMAT,
        "version": VERSION,
        "heterolda": sys.modules["heterolda"].__version__,
        "model": model_to_json(model, include_statistics),
    }


def from_document(document: Any) -> Any:
    """Convert a JSON value to a fitted model, or raise ValueError."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f'it has no "format": "{FORMAT}"')
    version = document.get("version")
    if type(version) is not int or version != VERSION:
        raise ValueError(
            f"it has version {str(version)[:60]}, and this release reads only version "
            f"{VERSION}: save the model again with this release"
        )
    check_object(document, Place("it"), ("format", "version", "heterolda", "model"))
    return read_model(document["model"], Place("model"))


def json_text(document: dict[str, Any]) -> bytes:
    """Return a document as JSON, in UTF-8."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False)
    content = text.encode() + b"\n"
    _check_size(content)
    return content


def parse_json(data: bytes) -> Any:
    """Parse JSON that may be damaged or hostile, or raise ValueError."""
    _check_size(data)
    try:
        # NaN is read as infinity, which no kind of value allows. Long integers are read
        # as floats, since converting a million digits takes minutes.
        return json.loads(
            data.decode(),
            parse_int=lambda digits: int(digits) if len(digits) < 22 else float(digits),
            parse_constant=lambda name: math.inf,
        )
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8 text: {error.reason}") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON: {error}") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _check_bytes(size: int) -> None:
    if size > MAX_BYTES:
        raise ValueError(f"it is larger than {MAX_BYTES >> 20} MiB")


def _check_size(data: bytes) -> None:
    """Reject data that are too large, or would take far more memory than their size."""
    _check_bytes(len(data))
    for character, limit in MAX_COUNTS.items():
        if data.count(character.encode()) > limit:
            raise ValueError(f"it has more than {limit} of the character {character}")
