"""C headers of fitted classifiers."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from heterolda.estimators.placement import host_of
from heterolda.exceptions import ParameterError, Setting
from heterolda.export._c_source import Source
from heterolda.export._int16 import to_int16
from heterolda.export._rules import read_rules
from heterolda.foundations.files import written_whole
from heterolda.foundations.types import Array

# Two underscores in a row are reserved in C++, and one at the end would make two.
_IDENTIFIER = re.compile(r"[A-Za-z](_?[A-Za-z0-9])*", re.ASCII)
_LONGEST_NAME = 40


@dataclass(frozen=True)
class CHeader:
    """What `export_c` has written.

    Attributes
    ----------
    path : Path
        The file.
    name : str
        Prefix of all names in it.
    dtype : {"float", "double", "int16"}
        Type of the features.
    constant_bytes : int
        Size of the constants that a decision needs; labels and what turns features into
        whole numbers come on top where they are used.
    multiplications : int
        Most multiplications and divisions of a decision. A model that transforms
        features needs a logarithm and an exponential of each, besides.
    zero, unit : ndarray of shape (n_features,) or None
        For "int16": a feature x is ``(x - zero) / unit``, rounded to a whole number.
    """

    path: Path
    name: str
    dtype: str
    constant_bytes: int
    multiplications: int
    zero: Array | None = None
    unit: Array | None = None


def export_c(
    model: Any,
    path: str | os.PathLike[str],
    dtype: str = "float",
    *,
    name: str | None = None,
    ranges: ArrayLike | None = None,
    units: ArrayLike | None = None,
) -> CHeader:
    """Write a fitted classifier as a C header that needs no library.

    The header has ``int <name>_predict(const T *x)``, which returns the place of the
    class among the labels ``<name>_classes``, and -1 for features that are not finite
    or make scores that are not. It is C99 and C++11, includes only ``<stdint.h>`` and
    allocates nothing. That of a model which transforms features includes ``<math.h>``,
    too, and is linked with ``-lm``.

    Parameters
    ----------
    model : estimator
        A GaussianLinearDiscriminant, a LocalNeighborhoodSearch, a
        BoundedErrorClassifier of a discriminant, or a pipeline of
        HeteroscedasticProjection steps that ends in one of the first two: its rules on
        components become rules on features, so that nothing is left to be projected.
    path : str or path-like
        File to write, whole or not at all.
    dtype : {"float", "double", "int16"}, default="float"
        Type of the features. "double" decides as `predict` does, but for discriminants,
        pipelines and models that transform features on rows within rounding of a
        threshold; "float" subtracts the centres of the data first; "int16" is fixed
        point, with sums of 64 bits, and has ``<name>_quantise`` to make whole features
        of double ones, but cannot transform them.
    name : str or None, default=None
        Prefix of all names, an identifier. None makes one of the file's name.
    ranges : array-like of shape (n_features, 2) or None, default=None
        For "int16": the least and the largest value of each feature. By default the
        means of the classes and eight standard deviations around them.
    units : float, array-like of shape (n_features,) or None, default=None
        For "int16", instead of ranges: the features are whole multiples of these, as
        a sensor delivers them. For a model that was fitted to its readings it is 1.

    Returns
    -------
    CHeader
        What was written, its size and its cost.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from heterolda import GaussianLinearDiscriminant
    >>> from heterolda.export import export_c
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GaussianLinearDiscriminant().fit(X, y)
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> header = export_c(model, folder / "iris.h", "int16")
    >>> header.constant_bytes, header.multiplications
    (75, 12)
    >>> "int iris_predict(const int16_t *x)" in header.path.read_text()
    True
    """
    if dtype not in ("float", "double", "int16"):
        raise ValueError(f"dtype must be 'float', 'double' or 'int16', got {dtype!r}")
    if dtype != "int16" and (ranges is not None or units is not None):
        raise ValueError(f"ranges and units are for dtype='int16', not for {dtype!r}")
    path = Path(path)
    name = _name_of(path) if name is None else _check_name(name)
    model = host_of(model)
    rules = read_rules(model)
    int16 = to_int16(rules, ranges, units) if dtype == "int16" else None
    source = Source(name, dtype, rules, int16)
    code = source.code()
    with written_whole(path) as file:
        file.write((source.comment(model) + code).encode("ascii"))
    return CHeader(
        path=path,
        name=name,
        dtype=dtype,
        constant_bytes=source.constant_bytes,
        multiplications=source.multiplications,
        zero=getattr(int16, "zero", None),
        unit=getattr(int16, "unit", None),
    )


def _name_of(path: Path) -> str:
    """What names can begin with, by the name of a file."""
    name = "_".join(re.findall("[A-Za-z0-9]+", path.stem)) or "model"
    name = name if name[0].isalpha() else f"model_{name}"
    return name[:_LONGEST_NAME].rstrip("_")


def _check_name(name: str) -> str:
    """Refuse what cannot be the beginning of a name in C and C++."""
    if not _IDENTIFIER.fullmatch(name) or len(name) > _LONGEST_NAME:
        raise ParameterError(
            Setting("name"),
            f" {name!r} cannot begin names in C: use at most {_LONGEST_NAME} letters, "
            "digits and single underscores, a letter first",
        )
    return name
