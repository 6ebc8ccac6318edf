"""Change the code in many small ways and see whether the tests notice.

python -m benchmarks.mutation [--again | --page]

What was tried is kept in the folder ``mutants``, so that a run goes on where it was
stopped; functions that have changed are tried again. Writes build/mutation.md.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from mutmut.mutation.data import SourceFileMutationData
from mutmut.mutation.diff_apply import get_diff_for_mutant
from mutmut.stats import status_by_exit_code
from mutmut.utils.file_utils import walk_mutatable_files

from benchmarks.mutation.report import SURVIVED, Mutant, page

PAGE = Path("build/mutation.md")
UNTRIED = "not checked", "check was interrupted by user"


def read_mutants() -> dict[str, Mutant]:
    """All changes and what became of them, by mutmut's names."""
    found = {}
    for path in sorted(walk_mutatable_files()):
        data = SourceFileMutationData(path=path)
        data.load()
        for name, code in data.exit_code_by_key.items():
            place, _, function = name.rpartition("__mutmut_")[0].rpartition(".x")
            status = status_by_exit_code[code]
            found[name] = Mutant(
                place.removeprefix("heterolda."),
                function.removeprefix("_").replace("ǁ", ".").strip("."),
                *(_change(name, path) if status in SURVIVED else ("", "")),
                status,
            )
    return found


def _change(name: str, path: Path) -> tuple[str, str]:
    """The lines that were changed, before and after; it takes a while to find them."""
    difference = get_diff_for_mutant(name, path=path).splitlines()[2:]
    before, after = (
        "\n".join(line[1:].strip() for line in difference if line[0] == sign)
        for sign in "-+"
    )
    return before, after


def main() -> int:
    """Try the mutants and write the page."""
    parser = argparse.ArgumentParser(
        "benchmarks.mutation", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--again", action="store_true", help="try survivors again")
    parser.add_argument("--page", action="store_true", help="write the page, no more")
    options = parser.parse_args()
    command = [str(Path(sys.executable).with_name("mutmut")), "run"]
    if options.again:
        found = read_mutants().items()
        command += [name for name, mutant in found if mutant.status in SURVIVED]
    if not options.page:
        code = subprocess.run(command).returncode
        if code:
            return code
    mutants = list(read_mutants().values())
    if any(mutant.status in UNTRIED for mutant in mutants):
        sys.exit("not all were tried: run the command again, it goes on")
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(mutants), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
