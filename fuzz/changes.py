"""Changes of files, at random: in their bytes, in their text or in their structure."""

from __future__ import annotations

import copy
import csv
import io

# Larger files may take more time and memory than the fuzzer grants.
MAX_BYTES = 1_000_000
# What may stand anywhere in a document, by chance or by malice.
VALUES = [
    *(None, True, False, 0, 1, -1, 2, 3, 2**31, 2**53, 2**63, 10**20),
    *(0.0, -0.0, 0.5, 1.0, -1.5, 1e-300, 5e-324, 1e300, -1e308, 1e308),
    *("", "a", "NaN", "Infinity", "-Infinity", "auto", "ovr", "trivial", "U9", "é"),
    *([], [0], [[0, 1]], [[0.0]], {}, {"map": []}, {"array": [1.0]}),
    {"settings": "Fisher"},
]
# What may stand in a cell of a table of text.
CELLS = [
    *("", " ", "0", "1", "-1", "1.0", "1,5", "0x10", "1e5", "1e308", "-1e308", "1e309"),
    *("5e-324", "inf", "-Infinity", "nan", "NA", "null", "None", "true", "False"),
    *("9" * 25, "1" * 400, "0." + "3" * 300, "1_000", "+2", " 3 ", "3\t", "١٢", "½"),
    *("north", "north ", "NORTH", "x0", "a\nb", "a\r\nb", '"', '""', "'", "=1+1"),
    *("\0", "\x1b[31m", "é", "e\u0301", "\u202e", "\ufeff", "\u2028", "\x85", "😀"),
    *("[bold]", "%s", "{0}", "../..", ";", "\\", "a,b", "a\tb", "z" * 5000),
]
# Tables do not grow beyond this size.
_MANY_CELLS = 2000
# What some editors and programs put before a text, and other encodings.
_MARKS = [b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\0", b"\n\n", b"\r", b" ", b"#"]
_ENCODINGS = ["utf-16", "utf-16-le", "utf-32", "utf-8-sig", "latin-1", "cp037", "utf-7"]


def places(value):
    """Return all containers and keys of a document."""
    pairs = []
    for key in value if isinstance(value, dict) else range(len(value)):
        pairs.append((value, key))
        if isinstance(value[key], dict | list):
            pairs += places(value[key])
    return pairs


def change_structure(document, rng):
    """Return a copy of a document with a value replaced, moved or left out."""
    document = copy.deepcopy(document)
    every = places(document)
    if not every:
        return rng.choice(VALUES)
    container, key = rng.choice(every)
    kind = rng.randrange(5)
    if kind == 0:
        del container[key]
    elif kind == 1 and isinstance(container, list):
        container.insert(key, container[key])
    elif kind == 2 and isinstance(container[key], int | float):
        container[key] *= rng.choice([-1, 0, 1e-200, 1e-9, 1.001, 2, 1e9, 1e200])
    elif kind == 3:
        other, there = rng.choice(every)
        container[key] = copy.deepcopy(other[there])
    else:
        container[key] = copy.deepcopy(rng.choice(VALUES))
    return document


def change_bytes(data, rng):
    """Return a copy of some bytes with a few of them changed, left out or added."""
    data = bytearray(data or b" ")
    for _ in range(rng.choice([1, 1, 2, 8])):
        at = rng.randrange(len(data))
        kind = rng.randrange(4)
        if kind == 0:
            data[at] = rng.randrange(256)
        elif kind == 1:
            data[at] = rng.choice(b'0123456789-+.eE"[]{},:tfn\\ \x00\xff')
        elif kind == 2:
            del data[at : at + rng.choice([1, 1, 10, 1000])]
            data = data or bytearray(b" ")
        else:
            start = rng.randrange(len(data))
            data[at:at] = data[start : start + rng.choice([1, 5, 100])]
    return bytes(data)


def change_table(data, rng, delimiter=","):
    """Return a table of text with cells, rows, columns or its encoding changed."""
    text = data.decode("utf-8", "replace")
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error:
        rows = []
    if not any(rows):
        return change_bytes(data, rng)
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        _change_rows(rows, rng)
    out = io.StringIO(newline="")
    quoting = rng.choice([csv.QUOTE_MINIMAL] * 6 + [csv.QUOTE_ALL])
    end = rng.choice(["\n"] * 6 + ["\r\n", "\r", "\n\n"])
    csv.writer(out, delimiter=delimiter, quoting=quoting, lineterminator=end).writerows(
        rows
    )
    return _disguised(out.getvalue(), rng, delimiter)[:MAX_BYTES]


def _change_rows(rows, rng):
    """Change a table in place; there is at least one cell."""
    row = rng.choice([row for row in rows if row] or [[""]])
    kind = rng.randrange(10)
    if kind <= 3 and row:
        row[rng.randrange(len(row))] = rng.choice(CELLS)
    elif kind == 4:  # a column at once: constant, missing, a copy, or very large
        j, other = (rng.randrange(max(1, len(rows[0]))) for _ in range(2))
        value = rng.choice(CELLS)
        for line in rows[rng.choice([0, 1]) :]:
            if max(j, other) < len(line):
                line[j] = rng.choice([value, value, line[other]])
    elif kind == 5:
        rows.insert(rng.randrange(len(rows) + 1), list(rng.choice(rows)))
    elif kind == 6 and len(rows) > 1:
        del rows[rng.randrange(len(rows))]
    elif kind == 7:
        row.append(rng.choice(CELLS)) if rng.random() < 0.5 else row.pop()
    elif kind == 8 and len(rows) * len(rows[0]) < _MANY_CELLS:
        rows.extend(list(row) for row in rows[1:] * rng.choice([1, 20, 300]))
    elif kind == 9 and len(rows[0]) < 10 and len(rows) < _MANY_CELLS:
        many = rng.choice([10, 100, 200])  # a fit needs the cube of their number
        for k, line in enumerate(rows):
            line[:0] = [f"c{j}" if k == 0 else str(j * k % 7) for j in range(many)]


def _disguised(text, rng, delimiter):
    """Return bytes of text, now and then with another separator or encoding."""
    kind, at = rng.randrange(20), rng.randrange(len(text) + 1)
    if kind == 0:
        text = text.replace(delimiter, rng.choice([";", "\t", "|", ", ", " "]))
    elif kind == 1:
        return text.encode(rng.choice(_ENCODINGS), "replace")
    elif kind == 2:
        return rng.choice(_MARKS) + text.encode("utf-8", "replace")
    elif kind == 3:
        text = text[:at]
    elif kind == 4:
        text = text[:at] + '"' + text[at:]
    elif kind == 5:
        text += rng.choice(["\x1a", "\0" * 100, '"', "\n" * 1000, "," * 10_000])
    return text.encode("utf-8", "replace")
