"""The code of an exported header: which constants and which functions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray

import heterolda.export.c_code as c_code
from heterolda.estimators.posterior import LEAST_LOG_ODDS, MOST_LOG_ODDS, LogOdds
from heterolda.export.c_text import label_table, number, table
from heterolda.export.fitted import Rules
from heterolda.export.fixed_point import LARGEST, FixedPoint

Array = NDArray[np.float64]

_TYPES: dict[str, Any] = {"float": np.float32, "double": np.float64}
_BYTES = {"int8_t": 1, "int16_t": 2, "float": 4, "double": 8}
_BYTES |= {"int64_t": 8, "uint64_t": 8}
_LIMITS = {"most": MOST_LOG_ODDS, "least": LEAST_LOG_ODDS}
# Least size of the steps of whole scores: far from where single precision ends.
_LEAST_STEP = 1e-30
# Terms of the power series of the exponential function, for |x| <= ln(2) / 2.
_TERMS = {"float": 8, "double": 13}
# ln 2 is in two parts, of which the first times a small whole number is exact.
_EXPONENTIAL = {
    "log2e": 1.4426950408889634,
    "ln2_high": 0.693359375,
    "ln2_low": -2.121944400546905828e-4,
    "half": 0.5,
}


@dataclass
class Source:
    """The code of a header while it is being written.

    Attributes
    ----------
    name, dtype : str
        As in `export_c`.
    rules : Rules
        The rules.
    fixed : FixedPoint or None
        For "int16", the rules in whole numbers.
    constant_bytes, multiplications : int
        Size and cost of what is written so far.
    """

    name: str
    dtype: str
    rules: Rules
    fixed: FixedPoint | None
    constant_bytes: int = 0
    multiplications: int = 0

    def text(self) -> str:
        """All of it: labels, constants and functions, between guards."""
        n_rules, d = self.rules.coef.shape
        k = len(self.rules.classes)
        real = "float" if self.fixed else self.dtype
        self._real = _TYPES[real]
        self._words = {
            "name": self.name,
            "d": str(d),
            "k": str(k),
            "p": str(n_rules),
            "input": "int16_t" if self.fixed else self.dtype,
            "score": real,
            "real": real,
            "decide": f"{self.name}_predict",
            "call": f"{self.name}_score",
            "compared": "s",
        }
        sizes = f"{self.name}_n_features = {d}, {self.name}_n_classes = {k}"
        self._parts = [
            f"enum {{ {sizes} }};\n\n",
            label_table(f"{self.name}_classes", self.rules.classes),
        ]
        self.multiplications = n_rules * d
        self._write_scores()
        decide = {
            "binary": self._write_binary,
            "votes": self._write_votes,
            "one-vs-all": self._write_one_vs_all,
            "coupled": self._write_coupled,
        }
        decide[self.rules.kind]()
        if not self._words["decide"].endswith("_predict"):
            self._function(c_code.CENTRED)
        guard = f"HETEROLDA_{self.name}_H"
        begin = f"#ifndef {guard}\n#define {guard}\n\n#include <stdint.h>\n\n"
        body = "".join(self._parts)
        if self.dtype == "double":
            body = c_code.BEGIN_EXACT + body + c_code.END_EXACT
        return begin + body + "\n#endif\n"

    def _constants(self, kind: str, name: str, values: NDArray[Any]) -> None:
        """Add a table that decisions need."""
        self._parts.append("\n" + table(kind, f"{self.name}_{name}", values))
        self.constant_bytes += _BYTES[kind] * values.size

    def _function(self, template: str, **words: str) -> None:
        """Add a function."""
        check = "" if self.fixed else c_code.CHECK
        code = re.sub(
            r"( *)CHECK\n", lambda at: check.replace("INDENT", at[1]), template
        )
        self._parts.append(Template(code).substitute(self._words, **words))

    def _numbers(self, values: dict[str, float]) -> dict[str, str]:
        """Constants of the functions, in their type."""
        return {key: number(self._real(value)) for key, value in values.items()}

    def _write_scores(self) -> None:
        if self.fixed is not None:
            self._write_whole_scores(self.fixed)
            return
        arrays: list[NDArray[Any]] = [self.rules.coef, self.rules.intercept]
        if self.dtype == "float":
            centre, *arrays = self.rules.centred()
            if centre.any():
                self._constants("float", "centre", centre)
                self._words["decide"] = f"{self.name}_decide"
        self._constants(self.dtype, "coef", arrays[0])
        self._constants(self.dtype, "offset", arrays[1])
        self._function(c_code.SCORE)

    def _write_whole_scores(self, fixed: FixedPoint) -> None:
        self._constants("int16_t", "coef", fixed.coef)
        self._constants("int64_t", "offset", fixed.offset)
        self._function(c_code.WHOLE_SCORE)
        if self.rules.kind in ("binary", "votes"):
            self._words |= {"score": "int64_t", "call": f"{self.name}_sum"}
        else:
            step = _single(np.ldexp(1.0, -fixed.exponent), least=_LEAST_STEP)
            self._constants("float", "step", step)
            self._function(c_code.SCALED_SCORE)
            self.multiplications += len(step)
        if self.rules.kind == "votes":
            self._constants("int8_t", "shift", fixed.shifts(self.rules.pairs))
            self._function(c_code.SHIFTED)
            self._words["compared"] = f"{self.name}_shifted(s, rule)"
        for part in ("zero", "unit"):
            values = getattr(fixed, part)
            self._parts.append("\n" + table("double", f"{self.name}_{part}", values))
        self._function(c_code.QUANTISE, largest=f"{LARGEST}.0", edge=f"{LARGEST}.5")

    def _write_binary(self) -> None:
        self._function(c_code.BINARY)

    def _write_votes(self) -> None:
        # Whole numbers, so that sums are exact, and ties are ties, in any format.
        whole = np.ldexp(self.rules.vote_weights, 53).astype(np.int64)
        whole //= max(np.gcd.reduce(whole), 1)
        weight = "1"
        if np.any(whole != 1):
            self._constants("uint64_t", "weight", whole)
            weight = f"{self.name}_weight[rule]"
        self._function(c_code.VOTES, weight=weight)

    def _write_one_vs_all(self) -> None:
        self._write_log_odds()
        self._function(c_code.ONE_VS_ALL)

    def _write_coupled(self) -> None:
        self._write_log_odds()
        terms = _TERMS[self._words["real"]]
        constants = self._numbers(_EXPONENTIAL)
        self._function(c_code.EXPONENTIAL, terms=str(terms), **constants)
        self._function(c_code.COUPLED, **self._numbers(_LIMITS))
        # Two powers a rule, each with three products, terms, and seven squarings.
        self.multiplications += 2 * len(self.rules.coef) * (3 + 2 * terms + 14)

    def _write_log_odds(self) -> None:
        it, real = self.rules.log_odds, self._words["real"]
        if isinstance(it, LogOdds):
            values = np.column_stack([it.bend, it.slope, it.low, it.high])
            template = c_code.PARABOLA
        else:
            values = np.stack([it.offset, it.slope], axis=1).reshape(4, -1).T
            template = c_code.SIDES
        largest = float(np.finfo(self._real).max)
        values = np.where(np.isinf(values), np.copysign(largest, values), values)
        self._constants(
            real, "posterior", _single(values) if real == "float" else values
        )
        self._function(template, **self._numbers(_LIMITS))
        self.multiplications += 2 * len(values)


def _single(values: Array, least: float = 0.0) -> NDArray[np.float32]:
    """Numbers in single precision, or a word that they do not fit."""
    with np.errstate(over="ignore", under="ignore"):
        single = values.astype(np.float32)
    if not np.isfinite(single).all() or (np.abs(single) < least).any():
        raise ValueError(
            "model has scores or log-odds beyond the range of single precision: use "
            "dtype='double'"
        )
    return single
