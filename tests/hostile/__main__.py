"""Try every hostile input and write the page docs/hostile.md.

PYTHONPATH=tests python -m hostile [--output FILE]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from heterolda.foundations.files import written_whole
from hostile.report import page, try_all

PAGE = Path(__file__).resolve().parents[2] / "docs" / "hostile.md"


def main(arguments: list[str] | None = None) -> int:
    """Write the page; the status is 1 if ours did anything that it should not."""
    parser = argparse.ArgumentParser("hostile", description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, default=PAGE, help="the page")
    options = parser.parse_args(arguments)
    groups = try_all(lambda name: print(name, file=sys.stderr, flush=True))
    with written_whole(options.output) as file:
        file.write(page(groups).encode())
    complaints = [c for rows in groups.values() for r in rows for c in r.complaints]
    print(options.output)
    print(f"{len(complaints)} complaints", *complaints, sep="\n")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
