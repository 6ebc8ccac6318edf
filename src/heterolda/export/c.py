"""C headers of fitted classifiers."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heterolda.estimators.placement import host_of
from heterolda.exceptions import ParameterError
from heterolda.export._c_source import Source
from heterolda.export._rules import read_rules
from heterolda.foundations.files import written_whole

# Two underscores in a row are reserved in C++, and one at the end would make two.
_IDENTIFIER = re.compile(r"[A-Za-z](_?[A-Za-z0-9])*", re.ASCII)
_LONGEST_NAME = 40


@dataclass(frozen=True)
class CHeader:
    """A header written by `export_c`.

    Attributes
    ----------
    path : Path
        The file.
    name : str
        Prefix of all names in it.
    dtype : {"float", "double"}
        Type of the features.
    constant_bytes : int
        Size of the constants that a prediction needs, without labels.
    multiplications : int
        Maximum number of multiplications and divisions per prediction. A model that
        transforms features also needs a logarithm and an exponential for each.
    """

    path: Path
    name: str
    dtype: str
    constant_bytes: int
    multiplications: int


def export_c(
    model: Any,
    path: str | os.PathLike[str],
    dtype: str = "float",
    *,
    name: str | None = None,
) -> CHeader:
    """Write a fitted classifier as a C header that needs no library.

    The header defines ``int <name>_predict(const T *x)``, which returns the index of
    the class in ``<name>_classes``, or -1 if a feature or a score is not finite. It is
    valid C99 and C++11, includes only ``<stdint.h>`` and allocates no memory. A model
    that transforms features also includes ``<math.h>`` and is linked with ``-lm``.

    Parameters
    ----------
    model : estimator
        A GaussianLinearDiscriminant, a SmoothedLinearDiscriminant, a
        LocalNeighborhoodSearch, a BoundedErrorClassifier of a discriminant, or a
        pipeline of HeteroscedasticProjection steps that ends in one of the first
        three. The rules of a pipeline are converted to rules on the features, so C need
        not project.
    path : str or path-like
        File to write, whole or not at all.
    dtype : {"float", "double"}, default="float"
        Type of the features. "double" agrees with `predict`, except on rows within
        rounding of a threshold for discriminants, pipelines and models that transform
        features. "float" first subtracts the centres of the data.
    name : str or None, default=None
        Prefix of all names, an identifier. If None, it is made from the file name.

    Returns
    -------
    CHeader
        The file, its size and its cost.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from heterolda import GaussianLinearDiscriminant
    >>> from heterolda.export import export_c
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GaussianLinearDiscriminant().fit(X, y)
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> header = export_c(model, folder / "iris.h")
    >>> header.constant_bytes, header.multiplications
    (100, 12)
    >>> "int iris_predict(const float *x)" in header.path.read_text()
    True
    """
    if dtype not in ("float", "double"):
        raise ValueError(f"dtype must be 'float' or 'double', got {dtype!r}")
    path = Path(path)
    name = _name_of(path) if name is None else _check_name(name)
    model = host_of(model)
    source = Source(name, dtype, read_rules(model))
    code = source.code()
    with written_whole(path) as file:
        file.write((source.comment(model) + code).encode("ascii"))
    return CHeader(
        path=path,
        name=name,
        dtype=dtype,
        constant_bytes=source.constant_bytes,
        multiplications=source.multiplications,
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
            "name",
            f"{name!r} cannot be a prefix in C: use at most {_LONGEST_NAME} letters, "
            "digits and single underscores, beginning with a letter",
        )
    return name
