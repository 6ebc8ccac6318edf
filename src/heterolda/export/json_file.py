"""JSON files that people can read, and that strangers may have written."""

from __future__ import annotations

import json
import os
import stat
from collections import Counter
from collections.abc import Iterator
from typing import Any

from heterolda.foundations.files import written_whole

# Limits of what is read: they bound the time and the memory that any file can take.
MOST_BYTES = 1 << 30
# Numbers, texts, lists and objects all come with one of these. A list of nothing takes
# twenty times its size in memory, so there may be fewer lists than numbers.
MOST_MARKS = {",": 1 << 26, '"': 1 << 23, "[": 1 << 22, "{": 1 << 20}
# 2**64 and a sign need no more.
_MOST_DIGITS = 21

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def write_json(path: str | os.PathLike[str], document: dict[str, Any]) -> None:
    """Write a JSON file, whole or not at all."""
    text = json_text(document)
    with written_whole(path) as file:
        file.write(text)


def json_text(document: dict[str, Any]) -> bytes:
    """JSON with an indent and one row of numbers per line.

    The same document gives the same text; more than `parse_json` reads is refused.
    """
    text = "".join(_layout(document, 0)).encode() + b"\n"
    try:
        _check_size(len(text))
        _check_marks(text)
    except ValueError as error:
        raise ValueError(f"the model is too large for a model file: {error}") from None
    return text


def _layout(value: Any, depth: int) -> Iterator[str]:
    """Return the text of a value, in parts; lists of plain values stay on one line."""
    nested = isinstance(value, dict) or (
        isinstance(value, list) and not {dict, list}.isdisjoint(map(type, value))
    )
    if not nested or not value:
        yield _ENCODER.encode(value)
        return
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    items = value.items() if isinstance(value, dict) else ((None, v) for v in value)
    margin = "\n" + "  " * (depth + 1)
    yield opening
    for k, (key, item) in enumerate(items):
        yield ("," if k else "") + margin
        if key is not None:
            yield _ENCODER.encode(key) + ": "
        yield from _layout(item, depth + 1)
    yield "\n" + "  " * depth + closing


def read_json(path: str | os.PathLike[str]) -> Any:
    """Read a JSON file that may be damaged or hostile.

    No number is NaN; one that is too large is infinity. A ValueError says what is
    wrong.
    """
    status = os.stat(path)  # before it is opened: a pipe would wait for its writer
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("it is not a regular file")
    _check_size(status.st_size)
    with open(path, "rb") as file:
        return parse_json(file.read(status.st_size))


def parse_json(data: bytes) -> Any:
    """Parse the content of a JSON file; see `read_json`."""
    _check_marks(data)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8 text: {error.reason}") from None
    try:
        return json.loads(
            text,
            parse_int=_whole_number,
            parse_constant=_refuse_constant,
            object_pairs_hook=_without_duplicates,
        )
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON: {error}") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _check_size(size: int) -> None:
    if size > MOST_BYTES:
        raise ValueError(f"it is larger than {MOST_BYTES >> 20} MiB")


def _check_marks(data: bytes) -> None:
    """Refuse what would take far more memory than its size."""
    for mark, most in MOST_MARKS.items():
        if data.count(mark.encode()) > most:
            raise ValueError(f"it has more than {most} of the character {mark}")


def _whole_number(text: str) -> int:
    """Return an integer of a decent size: others take quadratic time."""
    if len(text) > _MOST_DIGITS:
        raise ValueError(f"it has an integer of {len(text)} digits")
    return int(text)


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"{text} is not a JSON number")


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        ((key, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"it has the key {key[:40]!r} twice in one object")
    return content
