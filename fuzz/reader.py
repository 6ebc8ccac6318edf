"""What the fuzzer knows of a reader of files."""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from fuzz.changes import MOST_BYTES


@dataclass(frozen=True)
class Reader:
    """A reader of files, and what is known of its files.

    Attributes
    ----------
    name : str
        How ``make fuzz READER=...`` names it.
    ending : str
        Of its files.
    seeds : callable
        Gives the contents of good files.
    change : callable
        Takes a content and a source of chance; gives another content.
    check : callable
        Takes a content and says whether it was accepted. Whatever it raises is a
        defect of the reader.
    """

    name: str
    ending: str
    seeds: Callable[[], list[bytes]]
    change: Callable[[bytes, Random], bytes]
    check: Callable[[bytes], bool]

    def inputs(self, rng):
        """Contents without end: the seeds, then changes of them and of each other."""
        pool = self.seeds()
        yield from pool
        first = len(pool)
        while True:
            data = self.change(rng.choice(pool), rng)[:MOST_BYTES]
            yield data
            # A few changes stay, so that later ones start from them.
            if rng.random() < 0.02 and len(data) < 20_000:
                if len(pool) > 2 * first + 20:
                    del pool[rng.randrange(first, len(pool))]
                pool.append(data)


_PLAIN = ValueError, OSError, FileNotFoundError, IsADirectoryError


def is_worded(error):
    """Whether an error is a plain one, raised on purpose by heterolda itself.

    Errors that pass through from NumPy or Arrow are not: they do not speak of files.
    """
    ours = type(error).__module__.startswith("heterolda.")
    if not ours and type(error) not in _PLAIN:
        return False
    last = traceback.extract_tb(error.__traceback__)[-1]
    line = linecache.getline(last.filename, last.lineno).strip()
    return "heterolda" in last.filename and line.startswith("raise")
