"""What `pip install .` brings, without extras: the size of all files, by package."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import heterolda
from benchmarks.runner import Settings

MOST = 300e6  # bytes


@dataclass(frozen=True)
class Installed:
    """The table of sizes."""

    kind = "installed"
    name = "installed size"

    def run(self, settings: Settings) -> dict[str, Any]:
        """Sum up the files of heterolda and of all that it needs."""
        sizes = {name: _size(name) for name in sorted(needed("heterolda"))}
        total = sum(sizes.values())
        return {
            "sizes": sizes,
            "total": total,
            "ratio": total / 1e6,
            "target": MOST / 1e6,
            "full_size": True,
            "met": total <= MOST,
        }


def measurements() -> list[Installed]:
    """The one table."""
    return [Installed()]


def needed(name: str) -> set[str]:
    """A package and what it needs, extras left out."""
    found, waiting = set(), [name]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            for text in distribution(one).requires or []:
                if ";" not in text:
                    waiting.append(re.match(r"[\w.-]+", text)[0].lower())
    return found


def _size(name: str) -> int:
    """Bytes of the files of a package; of ours, those of its sources."""
    if name == "heterolda":
        folder = Path(heterolda.__file__).parent
        paths = [path for path in folder.rglob("*") if path.is_file()]
    else:
        paths = [Path(file.locate()) for file in distribution(name).files or []]
    return sum(path.stat().st_size for path in paths if path.exists())
