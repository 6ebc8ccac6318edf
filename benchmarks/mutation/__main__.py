"""Change the code in many small ways and see whether the tests notice.

python -m benchmarks.mutation

What was tried is kept in the folder ``mutants``, so that a run goes on where it was
stopped; functions that have changed are tried again. Prints a table by module.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

from mutmut.mutation.data import SourceFileMutationData
from mutmut.stats import status_by_exit_code
from mutmut.utils.file_utils import walk_mutatable_files

# In mutmut's words; the last two are those that a run has not come to.
UNNOTICED = "survived", "no tests", "not checked", "check was interrupted by user"


def main() -> int:
    """Try the mutants and print what became of them."""
    code = subprocess.run([Path(sys.executable).with_name("mutmut"), "run"]).returncode
    if code:
        return code
    modules: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for path in sorted(walk_mutatable_files()):
        data = SourceFileMutationData(path=path)
        data.load()
        for exit_code in data.exit_code_by_key.values():
            modules[path.as_posix()][status_by_exit_code[exit_code]] += 1
    modules["all"] = sum(modules.values(), Counter())
    print("| module | changes | noticed |", "|---|---|---|", sep="\n")
    for module, counts in modules.items():
        lost = sum(counts[status] for status in UNNOTICED) / counts.total()
        print(f"| `{module}` | {counts.total():,} | {1 - lost:.1%} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
