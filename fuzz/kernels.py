"""Compiled kernels: any arguments are rejected, or worked on within their bounds.

A "file" is the name of a kernel and a number, which all arguments are drawn from. What
the arguments are is read from the tables in the C sources; `SPECIAL` says what these do
not. `make sanitize` runs this with kernels that watch every access to memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.reader import Reader
from heterolda import kernels
from heterolda.kernels.score_distributions import N_EDGES

SOURCES = Path(__file__).parent.parent / "src" / "heterolda" / "kernels" / "c"
TYPES = {"d": "f8", "l": "i8", "b": "?", "c": "u1"}
SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33)
LARGE = 101  # at most one of the sizes
# Numbers below this are good arguments, which a kernel must accept.
SPOILED = 100

_FLOATS = (
    *(0.0, -0.0, 1.0, -1.0, 0.1, 5e-324, 1e-310, -1e-200, 1e150, 1e200, 1.7e308),
    *(-1.7e308, np.inf, -np.inf, np.nan),
)
_INTEGERS = (0, 1, 2, -1, 7, 255, 2**31, 2**32 + 1, 2**53, 2**62, 2**63 - 1, -(2**63))
_OBJECTS = (None, 0, 1.5, "text", b"bytes", [], [0.0], {}, ..., 2**70, -1, float("nan"))


@dataclass(frozen=True)
class Special:
    """Constraints of good arguments that are not in the table of a kernel."""

    # Of letters whose size follows from others: a function of the sizes so far.
    sizes: dict[str, Callable] = field(default_factory=dict)
    # Of arguments by name: a function of the source of chance and the sizes.
    values: dict[str, Callable] = field(default_factory=dict)
    before: tuple[Callable, ...] = ()  # arguments that are not in the table
    steady: tuple[str, ...] = ()  # numbers that say how long to work


def _below(letter: str, *shape: str) -> Callable:
    """Draw indices below a size."""
    return lambda rng, s: rng.integers(
        max(s[letter], 1), size=[s[c] if c.isalpha() else int(c) for c in shape]
    )


def _ascending(letter: str, length: str) -> Callable:
    """Draw bounds of parts, from zero to a size."""

    def make(rng: np.random.Generator, s: dict[str, int]) -> np.ndarray:
        inner = np.sort(rng.integers(s[letter] + 1, size=max(s[length] - 2, 0)))
        return np.concatenate([[0], inner, [s[letter]]])[: s[length]]

    return make


def _drawn(*shape: str, unless: Callable | None = None) -> Callable:
    """Draw normal numbers, or None if the sizes say so."""
    return lambda rng, s: (
        None if unless and unless(s) else rng.normal(size=[s[c] for c in shape])
    )


def _covariances(rng: np.random.Generator, s: dict[str, int]) -> np.ndarray:
    """Draw covariances, most of them positive definite and some singular."""
    factors = rng.normal(size=(s["k"], s["d"], max(s["d"] + rng.integers(-2, 3), 1)))
    return factors @ factors.swapaxes(1, 2)


def _block(rng: np.random.Generator, s: dict[str, int]) -> Any:
    """Draw rows as the local search keeps them."""
    n = int(rng.choice(SIZES)) * int(rng.choice([1, 1, 20]))
    X, weight = rng.normal(size=(n, s["v"] - 1)), rng.integers(3, size=n)
    weight = None if rng.random() < 0.5 else weight
    return kernels.compiled.algorithm2_block(X, rng.random(n) < 0.5, weight)


_FEW = {"k": lambda s: 2 + s["n"] % 5, "p": lambda s: s["k"] * (s["k"] - 1) // 2}
_OR_NONE = {"unless": lambda s: s["n"] % 2}
SPECIAL: dict[str, Special] = {
    "arc_directions": Special(
        sizes={
            "s": lambda s: s["d"] % 40,
            "g": lambda s: s["s"] + 1,
            "r": lambda s: s["d"] * (s["p"] % 2),
        },
        values={
            "pairs": _below("k", "p", "2"),
            "covariances": _covariances,
            "whitening": _drawn("p", "d", "d", unless=lambda s: s["p"] % 3),
        },
    ),
    "algorithm2_run": Special(
        sizes={"v": lambda s: 2 + s["i"] % 7, "c": lambda s: 2 * s["v"]},
        values={
            "state": lambda rng, s: np.zeros(4, np.int64),
            "step": lambda rng, s: 0.1,
            "until": lambda rng, s: s["i"],
        },
        before=(_block,),
    ),
    "couple": Special(
        sizes=_FEW | {"e": lambda s: s["d"] + 1},
        values={
            "scores": _drawn("n", "p", **_OR_NONE),
            "X": _drawn("n", "d"),
            "coef": _drawn("p", "d"),
            "intercept": _drawn("p"),
            "most": lambda rng, s: 30.0,
            "probabilities": _drawn("n", "k"),
            "guess": _drawn("e", "k", **_OR_NONE),
            "winners": lambda rng, s: np.zeros(s["n"], np.int64),
        },
    ),
    "score_distributions": Special(
        sizes={"b": lambda s: s["k"] + 1, "s": lambda s: N_EDGES},
        values={
            "bounds": _ascending("n", "b"),
            "pairs": _below("k", "p", "2"),
            "totals": lambda rng, s: rng.uniform(1, 50, s["k"]),
        },
    ),
    "smoothed_path": Special(
        sizes={"q": lambda s: s["r"] + 1},
        values={
            "n_first": lambda rng, s: int(rng.integers(s["n"] + 1)),
            "c": _drawn("r", **_OR_NONE),
            "first": _drawn("r", "r", **_OR_NONE),
            "second": _drawn("r", "r", **_OR_NONE),
        },
        steady=("max_iter",),
    ),
    "solve_pairs": Special(
        values={
            "pairs": _below("k", "p", "2"),
            "covariances": _covariances,
            "weights": lambda rng, s: rng.uniform(1, 50, s["k"]),
            "priors": lambda rng, s: rng.dirichlet([1, 1], s["p"]),
            "gap": lambda rng, s: float(rng.choice([1e-8, 1e-3, 0.5])),
            "whitening": _drawn("p", "d", "d", unless=lambda s: s["p"] % 2),
        },
    ),
}


@cache
def tables() -> dict[str, list[tuple[str, str, str | None]]]:
    """Return name, type and shape of all arguments; numbers have no shape."""
    kernel_tables, macros = {}, {}
    for path in sorted(SOURCES.glob("*.h")):
        text = path.read_text(encoding="utf-8")
        macros |= dict(re.findall(r"#define ([A-Z_]+)\b((?:.*\\\n)+.*)", text))
    for path in sorted(SOURCES.glob("*.c")):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S)
        for name, body in re.findall(r"\*py_(\w+)\([^)]*\)\s*\{(.*?)\n\}", text, re.S):
            table = re.search(r"Argument \w+\[\] = \{(.*?)\};", body, re.S)
            entries = re.findall(
                r'\{"(\w+)",\s*"(.!?)"(?:,\s*(?:"([^"]+)"|NULL))?\s*\}',
                re.sub(r"[A-Z_]{5,}", lambda m: macros[m[0]], table[1]),
            )
            kernel_tables[name] = [(*entry[:2], entry[2] or None) for entry in entries]
    return kernel_tables


def check(data: bytes) -> bool:
    """Call a kernel; return whether it took its arguments."""
    name, number = data.decode().split()
    rng = np.random.default_rng(int(number))
    spoiled = int(number) >= SPOILED
    arguments = good_arguments(name, rng, spoiled)
    for _ in range(rng.integers(1, 4) if spoiled else 0):
        spoil(arguments, name, rng)
    try:
        getattr(kernels.compiled, name)(*arguments)
    except (ValueError, TypeError, OverflowError, MemoryError, DeprecationWarning):
        if not spoiled:
            raise
        return False
    return True


def good_arguments(name: str, rng: np.random.Generator, empty: bool) -> list[Any]:
    """Draw arguments as the table asks for them; some sizes may be zero."""
    special, table = SPECIAL.get(name, Special()), tables()[name]
    letters = {c for _, _, shape in table for c in shape or "" if c.isalpha()}
    free = sorted(letters - set(special.sizes))
    sizes = {c: int(rng.choice((*SIZES, 0) if empty else SIZES)) for c in free}
    if free and rng.random() < 0.1:
        sizes[rng.choice(free)] = LARGE
    for letter, size in special.sizes.items():
        sizes[letter] = size(sizes)
    made = [
        special.values[argument](rng, sizes)
        if argument in special.values
        else _value(rng, kind, shape, sizes)
        for argument, kind, shape in table
    ]
    return [*(make(rng, sizes) for make in special.before), *made]


def _value(rng: np.random.Generator, kind: str, shape: str | None, sizes: dict) -> Any:
    if shape is None:
        return rng.random() if kind == "d" else int(rng.integers(4))
    if shape.endswith("?") and rng.random() < 0.3:
        return None
    lengths = [sizes.get(c) if c.isalpha() else int(c) for c in shape.rstrip("?")]
    if kind[0] == "d":
        values = rng.normal(size=lengths)
        if rng.random() < 0.3:
            values = values.round()  # ties
    else:
        values = rng.integers(2, size=lengths)
    return values.astype(TYPES[kind[0]])


def spoil(arguments: list[Any], name: str, rng: np.random.Generator) -> None:
    """Replace one argument, most often by one that is not good."""
    if not arguments or rng.random() < 0.02:
        arguments.append(None)
        return
    k = int(rng.integers(len(arguments)))
    old = arguments[k]
    if rng.random() < 0.02:
        del arguments[k]
    elif rng.random() < 0.05:
        arguments[k] = _OBJECTS[rng.integers(len(_OBJECTS))]
    elif rng.random() < 0.05:
        arguments[k] = arguments[rng.integers(len(arguments))]
    elif isinstance(old, np.ndarray) and old.dtype in map(np.dtype, TYPES.values()):
        change = rng.choice([_values] * 6 + [_another_size] * 2 + [_another_layout] * 2)
        arguments[k] = change(old, rng)
    elif isinstance(old, float):
        arguments[k] = float(rng.choice(_FLOATS))
    elif isinstance(old, int):
        special, table = SPECIAL.get(name, Special()), tables()[name]
        at = k - len(special.before)
        if 0 <= at < len(table) and table[at][0] not in special.steady:
            arguments[k] = int(rng.choice(_INTEGERS))


def _values(a: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Change some elements: not finite, huge, out of range, equal."""
    pool: list[Any] = [False, True]
    if a.dtype.kind == "f":
        pool = list(_FLOATS)
    elif a.dtype.kind in "iu":
        info = np.iinfo(a.dtype)
        near = [n + k for n in a.shape for k in (-1, 0, 1)]
        pool = [min(max(n, info.min), info.max) for n in (*_INTEGERS, *near)]
    with np.errstate(over="ignore"):
        few = np.array([pool[rng.integers(len(pool))] for _ in range(3)], a.dtype)
    where = rng.random(a.shape) < rng.choice([0.1, 0.5, 1.0])
    return np.where(where, few[rng.integers(3, size=a.shape)], a)


def _another_size(a: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Add or remove a row, a column, all rows or a dimension."""
    if a.ndim == 0 or rng.random() < 0.2:
        return [a.ravel(), a[None], a.reshape(-1, 1), np.float64(1)][rng.integers(4)]
    axis = int(rng.integers(a.ndim))
    length = int(rng.choice([0, 1, max(a.shape[axis] - 1, 0), a.shape[axis] + 1]))
    return np.resize(a, (*a.shape[:axis], length, *a.shape[axis + 1 :]))


def _another_layout(a: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Make an array unaligned, of another type, strided or read-only."""
    kind = rng.integers(4)
    if kind == 0:
        room = np.zeros(a.nbytes + 1, np.uint8)[1:].view(a.dtype).reshape(a.shape)
        room[...] = a
        return room
    if kind == 1:
        return np.zeros(a.shape, rng.choice(["<f4", ">f8", "<i4", "<i8", "<c16", "O"]))
    if kind == 2 and a.ndim:
        return [np.repeat(a, 2, axis=-1)[..., ::2], a[::-1], a.T][rng.integers(3)]
    a = a.copy()
    a.flags.writeable = False
    return a


def change(data: bytes, rng: Any) -> bytes:
    """Return other arguments of the same kernel."""
    low, high = (0, SPOILED) if rng.random() < 0.02 else (SPOILED, 2**60)
    return b"%s %d" % (data.split()[0], rng.randrange(low, high))


def _seeds() -> list[bytes]:
    return [f"{name} {k}".encode() for name in tables() for k in range(5)]


READER = Reader("kernels", ".txt", _seeds, change, check)
