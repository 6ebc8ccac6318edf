"""Try every hostile input and write the page docs/hostile.md.

PYTHONPATH=tests python -m hostile [--output FOLDER]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.pages import write
from hostile.report import draw, page, try_all

DOCS = Path(__file__).resolve().parents[2] / "docs"


def main(arguments: list[str] | None = None) -> int:
    """Write the page; the status is 1 if ours did anything that it should not."""
    parser = argparse.ArgumentParser("hostile", description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, default=DOCS, help="folder")
    options = parser.parse_args(arguments)
    groups = try_all(lambda name: print(name, file=sys.stderr, flush=True))
    picture = {"images/hostile.png": draw(groups)}
    write(options.output, {"hostile.md": page(groups)} | picture)
    complaints = [c for rows in groups.values() for r in rows for c in r.complaints]
    print(options.output / "hostile.md")
    print(f"{len(complaints)} complaints", *complaints, sep="\n")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
