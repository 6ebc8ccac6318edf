"""Export fitted classifiers as C headers."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template
from textwrap import fill
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.estimators.base import host_of
from heterolda.exceptions import ParameterError
from heterolda.export.c_text import comment, label_table, label_type, number, table
from heterolda.export.rules import Description, describe
from heterolda.foundations.files import PATH, atomic_write
from heterolda.foundations.validation import check_type
from heterolda.kernels.coupling import MAX_LOG_ODDS, MIN_LOG_ODDS
from heterolda.statistics.power import FARTHEST, PowerTransformation

# C++ reserves two consecutive underscores, and one at the end would make two.
_IDENTIFIER = re.compile(r"[A-Za-z](_?[A-Za-z0-9])*", re.ASCII)
_MAX_NAME = 40
_TYPES: dict[str, Any] = {"float": np.float32, "double": np.float64}
_REALS = {"least": MIN_LOG_ODDS, "far": FARTHEST}
# Largest log-odds: exponentials of these, and sums of them, are finite.
_MOST = {"float": 80.0, "double": MAX_LOG_ODDS}
_TOO_LARGE = (
    "model has scores or log-odds beyond the range of single precision: use "
    "dtype='double'"
)
_DECISIONS = {
    "binary": "the sign of one score",
    "pairs": "one-vs-one, probabilities of all pairs together",
    "votes": "one-vs-one, sums of votes",
    "one-vs-rest": "one-vs-rest, log-odds",
}


@dataclass(frozen=True)
class CHeader:
    """A header written by `to_c`.

    Attributes
    ----------
    path : Path
        The file.
    name : str
        Prefix of all names in it.
    dtype : {"float", "double"}
        Type of the features.
    label_type : str
        Type of the labels in ``<name>_classes``: ``int32_t`` or ``const char *``.
    constant_bytes : int
        Size of the constants that a prediction needs, without labels.
    multiplications : int
        Maximum number of multiplications and divisions per prediction. More than two
        classes also need an exponential for each pair, unless votes decide, and a model
        that transforms features a logarithm and an exponential for each feature.
    """

    path: Path
    name: str
    dtype: str
    label_type: str
    constant_bytes: int
    multiplications: int

    @property
    def usage(self) -> list[str]:
        """Return five lines of C that predict a row and print its label."""
        kind = self.label_type
        form, cast = {
            "const char *": ("%s", ""),
            "double": ("%.15g", ""),
        }.get(kind, ("%lld", "(long long)"))
        return [
            f'#include "{self.path.name}"  /* and <stdio.h> */',
            f"{self.dtype} x[{self.name}_n_features] = {{0}};  /* your features */",
            f"int k = {self.name}_predict(x);  /* -1 if there is no class */",
            "if (k >= 0)",
            f'    printf("{form}\\n", {cast}{self.name}_classes[k]);',
        ]


def to_c(
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
    of more than two classes whose pairs do not vote, or one that transforms features,
    also includes ``<math.h>`` and is linked with ``-lm``.

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
        features. "float" first subtracts the centers of the data, if known.
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
    >>> from heterolda import GaussianLinearDiscriminant, to_c
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GaussianLinearDiscriminant().fit(X, y)
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> header = to_c(model, folder / "iris.h")
    >>> header.constant_bytes, header.multiplications
    (184, 48)
    >>> "int iris_predict(const float *x)" in header.path.read_text()
    True
    """
    check_type("path", path, PATH, "a path")
    if dtype not in [*_TYPES]:
        raise ValueError(f"dtype must be 'float' or 'double', got {dtype!r}")
    path = Path(path)
    name = _name_of(path) if name is None else _check_name(name)
    model = host_of(model)
    source = _Source(name, dtype, describe(model))
    code = source.code()
    with atomic_write(path) as file:
        file.write((source.comment(model) + code).encode("ascii"))
    return CHeader(
        path=path,
        name=name,
        dtype=dtype,
        label_type=label_type(model.classes_),
        constant_bytes=source.constant_bytes,
        multiplications=source.multiplications,
    )


def _name_of(path: Path) -> str:
    """Return a prefix of names in C, made from the name of a file."""
    name = "_".join(re.findall("[A-Za-z0-9]+", path.stem)) or "model"
    name = name if name[0].isalpha() else f"model_{name}"
    return name[:_MAX_NAME].rstrip("_")


def _check_name(name: str) -> str:
    """Reject a prefix that is not valid in C and C++."""
    check_type("name", name, str, "a prefix in C")
    if not _IDENTIFIER.fullmatch(name) or len(name) > _MAX_NAME:
        raise ParameterError(
            "name",
            f"{name!r} cannot be a prefix in C: use at most {_MAX_NAME} letters, "
            "digits and single underscores, beginning with a letter",
        )
    return name


def _read_templates() -> dict[str, Template]:
    """Return the blocks of the template file, which explains its format."""
    text = files("heterolda.export").joinpath("c_templates.h").read_text("ascii")
    _, *parts = re.split(r"^//// (\S+)\n", text, flags=re.MULTILINE)
    notes = re.compile(r"^//.*\n", re.MULTILINE)
    blocks = zip(parts[::2], parts[1::2], strict=True)
    return {name: Template(notes.sub("", block).strip("\n")) for name, block in blocks}


_TEMPLATES = _read_templates()


class _Source:
    """The code of a header in the making, with its size and cost."""

    def __init__(self, name: str, dtype: str, rules: Description) -> None:
        n_rules, d = rules.coef.shape
        self.rules, self.dtype = rules, dtype
        self.constant_bytes, self.multiplications = 0, n_rules * d
        self.blocks: list[str] = []
        self.words = {
            "name": name,
            "d": str(d),
            "k": str(len(rules.classes)),
            "p": str(n_rules),
            "last": str(d - 1),
            "real": dtype,
            "feature": "x[j]",
            "decide": "decide" if rules.powers else "predict",
            "weight": "1",
            "suffix": "f" if dtype == "float" else "",
            "most": number(_TYPES[dtype](_MOST[dtype])),
            **{key: number(_TYPES[dtype](value)) for key, value in _REALS.items()},
        }

    def code(self) -> str:
        """Return labels, constants and functions, between guards."""
        rules, exact = self.rules, self.dtype == "double"
        needs_math = bool(rules.powers) or rules.kind == "pairs"
        self._add("begin", *["begin-math"] * needs_math)
        self._add(*["begin-exact"] * exact, "sizes")
        self.blocks.append(label_table(f"{self.words['name']}_classes", rules.classes))
        self._add_scores()
        if rules.kind == "votes":
            self._add_vote_weights()
        elif rules.kind != "binary":
            self._add_log_odds()
        self._add(rules.kind)
        if rules.powers:
            self._add_powers(rules.powers)
        self._add(*["end-exact"] * exact, "end")
        return "\n\n".join(block.strip("\n") for block in self.blocks) + "\n"

    def comment(self, model: Any) -> str:
        """Return the comment above the code: its origin, cost and use."""
        topics = [
            f"Model: {' '.join(repr(model).split())}",
            *self.rules.origin,
            f"Decision: {_DECISIONS[self.rules.kind]}",
            f"Constants: {self.constant_bytes} bytes",
            f"Multiplications: {self.multiplications} per decision",
        ]
        lines = [
            fill(topic, 80, subsequent_indent="    ", break_on_hyphens=False)
            for topic in topics
        ]
        self.words |= {
            "version": sys.modules["heterolda"].__version__,
            "origin": "\n".join(lines),
        }
        names = self.rules.features or []
        shown = [f"    x[{j}]: {name}" for j, name in enumerate(names)]
        lines = _TEMPLATES["comment"].substitute(self.words).split("\n")
        return comment([*lines, *(shown or ["    without names"])])

    def _add(self, *names: str) -> None:
        self.blocks += [_TEMPLATES[name].substitute(self.words) for name in names]

    def _add_table(self, name: str, values: NDArray[Any]) -> str:
        """Add an array of constants, and return its name.

        Numbers get the type of the features; it is an error if they do not fit.
        """
        if values.dtype.kind == "f":
            kind = self.dtype
            with np.errstate(over="ignore", under="ignore"):
                values = values.astype(_TYPES[kind])
            if not np.isfinite(values).all():
                raise ValueError(_TOO_LARGE)
        else:
            kind = "uint64_t"
        full = f"{self.words['name']}_{name}"
        self.blocks.append(table(kind, full, values))
        self.constant_bytes += values.nbytes
        return full

    def _add_scores(self) -> None:
        coef: NDArray[Any] = self.rules.coef
        offset: NDArray[Any] = self.rules.intercept
        if self.dtype == "float" and not self.rules.powers:
            center, coef, offset = self.rules.in_single()
            self.words["feature"] = f"(x[j] - {self._add_table('center', center)}[j])"
        self._add_table("coef", coef)
        self._add_table("offset", offset)
        self._add("score")

    def _add_powers(self, powers: PowerTransformation) -> None:
        center, scale = powers.center, powers.scale
        suffix = self.words["suffix"]
        if suffix and (scale < np.finfo(np.float32).tiny).any():
            raise ValueError(_TOO_LARGE)
        names = self._add_table("center", center), self._add_table("scale", scale)
        unit = "(x - {}[j]) / {}[j]".format(*names)
        self._add_table("lambda", powers.lambdas)
        if suffix:
            with np.errstate(over="ignore"):
                rounded = center.astype(np.float32).astype(np.float64)
            shift = self._add_table("shift", (rounded - center) / scale)
            unit = f"{unit} + {shift}[j]"
        self.words["unit"] = unit
        self._add("transformed")
        self.multiplications += 3 * len(center)

    def _add_vote_weights(self) -> None:
        # Whole numbers make sums and ties exact.
        integers = np.ldexp(self.rules.vote_weights, 53).astype(np.int64)
        integers //= max(np.gcd.reduce(integers), 1)
        if np.any(integers != 1):
            self.words["weight"] = f"{self._add_table('weight', integers)}[rule]"

    def _add_log_odds(self) -> None:
        curve = self.rules.curve
        tails = [-curve.low, curve.high]
        sides = np.array([curve.offset, curve.slope, tails, curve.step])
        values = np.vstack([curve.bend, np.swapaxes(sides, 0, 1).reshape(8, -1)]).T
        real = np.finfo(_TYPES[self.dtype])
        values = np.minimum(values, float(real.max))
        if (values[:, [3, 7]] <= float(real.smallest_subnormal) / 2).any():
            raise ValueError(_TOO_LARGE)
        self._add_table("posterior", values)
        self._add("log-odds")
        self.multiplications += 5 * len(values)
        if self.rules.kind == "pairs":
            self.multiplications += 5 * len(values) + 2 * len(self.rules.classes)
