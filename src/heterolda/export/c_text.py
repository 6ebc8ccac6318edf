"""Write numbers, arrays, strings and comments as C; no name can break them."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

_WIDTH = 86  # without the end of a row
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f\\]")
# Ends and starts of comments, and trigraphs; a space splits them.
_RISKY = re.compile(r"\*(?=/)|/(?=\*)|\?(?=\?)")


def number(value: Any) -> str:
    """Return an exact C constant; a float32 gets the suffix f."""
    if isinstance(value, np.float32):
        return f"{value!s}f"
    if isinstance(value, float):
        return repr(float(value))
    return str(int(value))


def table(kind: str, name: str, values: NDArray[Any]) -> str:
    """Return a constant array of one or two dimensions."""
    size = "".join(f"[{n}]" for n in values.shape)
    if values.ndim == 1:
        body = _wrap("    ", map(number, values))
    else:
        body = ",\n".join(_wrap("    {", map(number, row)) + "}" for row in values)
    return f"static const {kind} {name}{size} = {{\n{body}\n}};\n"


def label_table(name: str, classes: NDArray[Any]) -> str:
    """Return an array of the labels."""
    kind = label_type(classes)
    if kind != "const char *":
        return table(kind, name, classes)
    body = ",\n".join(f"    {string(label)}" for label in classes.tolist())
    return f"static const char *const {name}[{len(classes)}] = {{\n{body}\n}};\n"


def label_type(classes: NDArray[Any]) -> str:
    """Return the type of the labels in C."""
    values = classes.tolist()
    if all(isinstance(value, str) for value in values):
        return "const char *"
    if all(isinstance(value, float) for value in values):
        return "double"
    for kind, n in {"int32_t": 2**31, "int64_t": 2**63}.items():
        if all(isinstance(value, int) and -n < value < n for value in values):
            return kind
    raise ValueError(
        f"classes_ has labels {values}, which are neither all strings nor all numbers "
        "of a type of C: convert them to str before the fit"
    )


def string(text: str) -> str:
    """Return text as a C string in UTF-8; null characters are an error."""
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"classes_ has the label {text!r}, which is not valid text: {error}"
        ) from error
    if 0 in data:
        raise ValueError(
            f"classes_ has the label {text!r} with a null character, which C strings "
            "cannot contain: rename it before the fit"
        )
    printable = set(range(32, 127)) - set(b'"\\?')
    # An escape ends after three octal digits, whatever follows.
    return '"' + "".join(chr(b) if b in printable else f"\\{b:03o}" for b in data) + '"'


def comment(lines: Iterable[str]) -> str:
    """Return a comment of lines of any text.

    Characters other than printable ASCII, and the backslash, are escaped as in Python.
    """
    body = []
    for line in lines:
        text = _UNPRINTABLE.sub(lambda match: f"\\x{ord(match[0]):02x}", line)
        text = text.encode("ascii", "backslashreplace").decode()
        body.append(f" * {_RISKY.sub(lambda match: match[0] + ' ', text)}".rstrip())
    return "\n".join(["/*", *body, " */", ""])


def _wrap(begin: str, items: Iterable[str]) -> str:
    return textwrap.fill(
        ", ".join(items),
        _WIDTH,
        initial_indent=begin,
        subsequent_indent=" " * len(begin),
        break_long_words=False,
        break_on_hyphens=False,
    )
