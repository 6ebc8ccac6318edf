"""The code of an exported header: which constants and which functions."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from importlib.resources import files
from string import Template
from textwrap import wrap
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from heterolda.estimators.bounded_error import linear_form
from heterolda.estimators.fit_record import feature_meanings, fewer_rows_than_features
from heterolda.export._c_text import comment, label_table, number, table
from heterolda.export._rules import Rules, said_of_gaps
from heterolda.foundations.arrays import Array
from heterolda.kernels.coupling import LEAST_LOG_ODDS, MOST_LOG_ODDS
from heterolda.statistics.power import FARTHEST, PowerTransformation

_TYPES: dict[str, Any] = {"float": np.float32, "double": np.float64}
_BYTES = {"float": 4, "double": 8, "uint64_t": 8}
# Terms of the power series of the exponential function, for |x| <= ln(2) / 2.
_TERMS = {"float": 8, "double": 13}
_REALS = {
    "most": MOST_LOG_ODDS,
    "least": LEAST_LOG_ODDS,
    "log2e": 1.4426950408889634,
    # ln 2 is in two parts, of which the first times a small whole number is exact.
    "ln2_high": 0.693359375,
    "ln2_low": -2.121944400546905828e-4,
    "half": 0.5,
}
_TOO_LARGE = (
    "model has scores or log-odds beyond the range of single precision: use "
    "dtype='double'"
)
_DECISIONS = {
    "binary": "the sign of one score",
    "votes": "one-vs-one, sums of votes",
    "coupled": "one-vs-one, coupled probabilities",
    "one-vs-all": "one-vs-all, log-odds",
}


def _read_templates() -> dict[str, str]:
    """The blocks of the file of templates, by name; the file says how it is written."""
    text = files("heterolda.export").joinpath("_c_templates.h").read_text("ascii")
    _, *parts = re.split(r"^//// (\S+)\n", text, flags=re.MULTILINE)
    notes = re.compile(r"^//.*\n", re.MULTILINE)
    blocks = zip(parts[::2], parts[1::2], strict=True)
    return {name: notes.sub("", block).strip("\n") for name, block in blocks}


_TEMPLATES = _read_templates()


@dataclass
class Source:
    """The code of a header while it is being written, with its size and its cost."""

    name: str
    dtype: str
    rules: Rules
    constant_bytes: int = 0
    multiplications: int = 0

    def code(self) -> str:
        """Labels, constants and functions, between guards."""
        (n_rules, d), k = self.rules.coef.shape, len(self.rules.classes)
        kind = self.rules.kind
        self._real = _TYPES[self.dtype]
        self._words = {
            "name": self.name,
            "d": str(d),
            "k": str(k),
            "p": str(n_rules),
            "real": self.dtype,
            "feature": "x[j]",
            "decide": "decide" if self.rules.transformation else "predict",
            "weight": "1",
            "terms": str(_TERMS[self.dtype]),
            **{key: number(self._real(value)) for key, value in _REALS.items()},
        }
        self._blocks: list[str] = []
        self.multiplications = n_rules * d
        self._add("begin")
        if self.rules.transformation:
            self._add("begin-transformed")
        if self.dtype == "double":
            self._add("begin-exact")
        self._add("sizes")
        self._blocks.append(label_table(f"{self.name}_classes", self.rules.classes))
        self._add_scores()
        if kind == "votes":
            self._add_vote_weights()
        elif kind != "binary":
            self._add_log_odds()
        if kind == "coupled":
            self._add("exponential")
            # Two powers per rule, each with three products, terms, and seven squarings.
            self.multiplications += 2 * n_rules * (3 + 2 * _TERMS[self.dtype] + 14)
        self._add(kind)
        if self.rules.transformation:
            self._add_transformation(self.rules.transformation)
        if self.dtype == "double":
            self._add("end-exact")
        self._add("end")
        return "\n\n".join(block.strip("\n") for block in self._blocks) + "\n"

    def comment(self, model: Any) -> str:
        """What stands above the code: its origin, cost and use; after `code` only."""
        rules, d = self.rules, self.rules.coef.shape[1]
        names = feature_meanings(model)
        features, gaps = enumerate(names or []), said_of_gaps(model)
        shown = [f"    x[{j}]: {name}" for j, name in features] or ["    without names"]
        self._words |= {
            "version": sys.modules["heterolda"].__version__,
            "model": " ".join(repr(model).split()),
            "provenance": _provenance(linear_form(model)),
            "decision": _DECISIONS[rules.kind],
            "constant_bytes": str(self.constant_bytes),
            "multiplications": str(self.multiplications),
            "gaps": "\n".join(["", *wrap(gaps, 80), ""]) if gaps else "",
            "last": str(d - 1),
        }
        lines = self._filled("comment").split("\n")
        return comment([*lines, *shown])

    def _filled(self, name: str) -> str:
        """A block of the templates, with words in its placeholders."""
        return Template(_TEMPLATES[name]).substitute(self._words)

    def _add(self, name: str) -> None:
        """Add a block of the templates."""
        self._blocks.append(self._filled(name))

    def _add_table(self, kind: str, name: str, values: NDArray[Any]) -> None:
        """Add constants that decisions need."""
        self._blocks.append(table(kind, f"{self.name}_{name}", values))
        self.constant_bytes += _BYTES[kind] * values.size

    def _add_scores(self) -> None:
        arrays: list[NDArray[Any]] = [self.rules.coef, self.rules.intercept]
        if self.dtype == "float":
            centre, *arrays = self.rules.centred()
            if centre.any():
                self._add_table("float", "centre", centre)
                self._words["feature"] = f"(x[j] - {self.name}_centre[j])"
        self._add_table(self.dtype, "coef", arrays[0])
        self._add_table(self.dtype, "offset", arrays[1])
        self._add("score")

    def _add_transformation(self, given: PowerTransformation) -> None:
        unit = f"(x - {self.name}_centre[j]) / {self.name}_scale[j]"
        tables: dict[str, NDArray[Any]] = {
            "centre": given.centre,
            "scale": given.scale,
            "lambda": given.lambdas,
        }
        suffix = ""
        if self.dtype == "float":
            unit, suffix = f"{unit} + {self.name}_shift[j]", "f"
            least = float(np.finfo(np.float32).tiny)
            tables = {key: _single(values) for key, values in tables.items()}
            tables["scale"] = _single(given.scale, least)
            missing = (tables["centre"] - given.centre) / given.scale
            tables["shift"] = _single(missing)
        for key, values in tables.items():
            self._add_table(self.dtype, key, values)
        self._words |= {
            "unit": unit,
            "far": number(self._real(FARTHEST)),
            "log1p": f"log1p{suffix}",
            "expm1": f"expm1{suffix}",
        }
        self._add("transformed")
        self.multiplications += 3 * len(given.lambdas)

    def _add_vote_weights(self) -> None:
        # Whole numbers, so that sums are exact, and ties are ties, in any format.
        whole = np.ldexp(self.rules.vote_weights, 53).astype(np.int64)
        whole //= max(np.gcd.reduce(whole), 1)
        if np.any(whole != 1):
            self._add_table("uint64_t", "weight", whole)
            self._words["weight"] = f"{self.name}_weight[rule]"

    def _add_log_odds(self) -> None:
        curve = self.rules.log_odds.curve
        tails = [-curve.low, curve.high]
        sides = np.array([curve.offset, curve.slope, tails, curve.step])
        values = np.vstack([curve.bend, np.swapaxes(sides, 0, 1).reshape(8, -1)]).T
        values = np.minimum(values, float(np.finfo(self._real).max))
        single = _single(values) if self.dtype == "float" else values
        if (single[:, [3, 7]] == 0).any():
            raise ValueError(_TOO_LARGE)
        self._add_table(self.dtype, "posterior", single)
        self._add("log-odds")
        self.multiplications += 5 * len(values)


def _provenance(model: Any) -> str:
    """How the rules were found, and how good they are where they were."""
    if isinstance(model, Pipeline):
        return _provenance(model[-1])
    if hasattr(model, "n_errors_"):
        return f"Errors:          {model.n_errors_.sum():g} in training, over all rules"
    if hasattr(model, "held_out_error_"):
        said = f"Expected error:  {model.held_out_error_:.4g}, from rows held out"
        if model.transformation_ is None:
            return said
        return (
            f"{said}\nTransformation:  a power of each feature, by a logarithm "
            "and an\n                 exponential of <math.h>: link with -lm"
        )
    error, bound = model.bayes_error_, getattr(model, "bound_", None)
    said = "" if bound is None else f"Bound:           {bound}\n"
    said += f"Solver:          {model._settings['solver']}"
    if fewer_rows_than_features(model, getattr(model, "statistics_", None)):
        return said
    return (
        f"{said}\nPlug-in error:   {error.mean():.4g} is the mean over the rules, "
        f"{error.max():.4g} the largest, under the Gaussian model"
    )


def _single(values: Array, least: float = 0.0) -> NDArray[np.float32]:
    """Numbers in single precision, or a word that they do not fit."""
    with np.errstate(over="ignore", under="ignore"):
        single = values.astype(np.float32)
    if not np.isfinite(single).all() or (np.abs(single) < least).any():
        raise ValueError(_TOO_LARGE)
    return single
