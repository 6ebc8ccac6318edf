"""Pieces of C text: numbers, arrays, strings and comments that no name can break."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

_WIDTH = 88
# The longest string that C99 promises to take.
_LONGEST_STRING = 4095
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f\\]")
# What would begin or end a comment, or be a trigraph, is parted by a space.
_RISKY = re.compile(r"\*(?=/)|/(?=\*)|\?(?=\?)")


def number(value: Any) -> str:
    """A number as a constant of C that is read as the very same number.

    A float32 gets the suffix of `float`.
    """
    if isinstance(value, np.float32):
        return f"{value!s}f"
    if isinstance(value, float):
        return repr(float(value))
    whole = int(value)
    if whole == -(2**63):  # C has no negative constants, and 2^63 is too large
        return "(-9223372036854775807 - 1)"
    return f"{whole}u" if whole >= 2**63 else str(whole)


def table(kind: str, name: str, values: NDArray[Any]) -> str:
    """A constant array of one or two dimensions."""
    size = "".join(f"[{n}]" for n in values.shape)
    if values.ndim == 1:
        body = _wrap("    ", map(number, values))
    else:
        rows = (_wrap("    {", map(number, row)) + "}" for row in values)
        body = ",\n".join(rows)
    return f"static const {kind} {name}{size} = {{\n{body}\n}};\n"


def label_table(name: str, classes: NDArray[Any]) -> str:
    """The labels as an array of strings, integers or doubles."""
    values = classes.tolist()
    if all(isinstance(value, str) for value in values):
        body = ",\n".join(f"    {string(value)}" for value in values)
        return f"static const char *const {name}[{len(values)}] = {{\n{body}\n}};\n"
    if all(isinstance(value, int) for value in values):
        kinds = {"int32_t": 2**31, "int64_t": 2**63}
        fits = [k for k, n in kinds.items() if -n <= values[0] and values[-1] < n]
        return table(fits[0] if fits else "uint64_t", name, classes)
    if all(isinstance(value, float) for value in values):
        return table("double", name, classes)
    raise ValueError(
        f"classes_ has labels {values}, which are neither all strings nor all numbers: "
        "convert them to str before the fit"
    )


def string(text: str) -> str:
    """A string of C, in UTF-8, of text without the code zero, which would end it."""
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"classes_ has the label {text!r}, which is not valid text: {error}"
        ) from error
    if 0 in data or len(data) > _LONGEST_STRING:
        raise ValueError(
            f"classes_ has the label {text[:20]!r}..., which C cannot hold: it has a "
            f"null character, or more than {_LONGEST_STRING} bytes"
        )
    plain = set(range(32, 127)) - set(b'"\\?')
    # Three octal digits end an escape, whatever follows.
    return '"' + "".join(chr(b) if b in plain else f"\\{b:03o}" for b in data) + '"'


def comment_text(text: str) -> str:
    """Text that can stand in a comment: printable ASCII that does not end it.

    Other characters, and the backslash, are escaped as in Python.
    """
    escaped = _UNPRINTABLE.sub(lambda found: f"\\x{ord(found[0]):02x}", str(text))
    plain = escaped.encode("ascii", "backslashreplace").decode()
    return _RISKY.sub(lambda found: found[0] + " ", plain)


def comment(lines: Iterable[str]) -> str:
    """A comment of lines that may hold any text."""
    body = (f" * {comment_text(line)}".rstrip() for line in lines)
    return "\n".join(["/*", *body, " */", ""])


def _wrap(begin: str, items: Iterable[str]) -> str:
    """Items on as many lines as they need."""
    return textwrap.fill(
        ", ".join(items),
        _WIDTH - 2,  # for what closes a row
        initial_indent=begin,
        subsequent_indent=" " * len(begin),
        break_long_words=False,
        break_on_hyphens=False,
    )
