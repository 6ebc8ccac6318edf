"""Change the code in many small ways and see whether the tests notice.

python -m benchmarks.mutation [--most 400] [--modules pencil,votes]

The modules are those whose branches are counted. What was tried is kept in a folder, so
that a run goes on where it was stopped; changed modules are tried again. Survivors are
tried again with --again, after tests were added. Writes docs/mutation.md.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from pathlib import Path
from typing import Any

from benchmarks.mutation.mutants import Mutant, mutants
from benchmarks.mutation.report import page
from benchmarks.mutation.runner import make_plan, prepare, try_mutant

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "heterolda"
MODULES = (
    "statistics",
    "pencil",
    "solvers",
    "solvers.fisher",
    "solvers.fixed_point",
    "solvers.global_search",
    "solvers.grid",
    "solvers.pieces",
    "solvers.random_search",
    "solvers.trials",
    "votes",
    "refine",
)
BUDGET = 20.0  # seconds of tests for each mutant, most of which need less than one
SEED = 2017  # of the order in which mutants are tried


def path_of(module: str) -> Path:
    """The file of a module."""
    path = PACKAGE / module.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def all_mutants(modules: list[str]) -> list[Mutant]:
    """All changes to some modules, in an order that makes any beginning a sample."""
    found = [
        mutant
        for module in modules
        for mutant in mutants(
            f"heterolda.{module}", path_of(module).read_text(encoding="utf-8")
        )
    ]
    random.Random(SEED).shuffle(found)
    return found


class Results:
    """Outcomes on disk, one line each."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.outcomes: dict[str, str] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                self.outcomes |= json.loads(line)

    def add(self, key: str, outcome: str) -> None:
        """Keep an outcome."""
        self.outcomes[key] = outcome
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({key: outcome}) + "\n")


def run(options: Any, chosen: list[Mutant], results: Results) -> None:
    """Try what was not tried yet."""
    again = {"passed"} if options.again else set()
    todo = [m for m in chosen if results.outcomes.get(m.key) in {None, *again}]
    if not todo:
        return
    prepare()
    files = [str(path_of(module)) for module in MODULES]
    plan = make_plan(ROOT, files, options.folder / "plan.json")
    for number, mutant in enumerate(todo, 1):
        file = str(path_of(mutant.module.removeprefix("heterolda.")))
        tests = plan.tests_of(file, *mutant.lines, BUDGET)
        outcome = try_mutant(ROOT, mutant, tests, 3 * BUDGET) if tests else "passed"
        results.add(mutant.key, outcome)
        where = f"{mutant.module}:{mutant.lines[0]}"
        print(f"[{number}/{len(todo)}] {where} {outcome}", file=sys.stderr, flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Try the mutants and write the page."""
    parser = argparse.ArgumentParser(
        "benchmarks.mutation", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--modules", default=",".join(MODULES))
    parser.add_argument("--most", type=int, help="try so many, chosen at random")
    parser.add_argument("--again", action="store_true", help="try survivors again")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "mutation")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "mutation.md")
    options = parser.parse_args(arguments)
    modules = options.modules.split(",")
    unknown = set(modules) - set(MODULES)
    if unknown:
        parser.error(f"--modules must be among {', '.join(MODULES)}")
    options.folder.mkdir(parents=True, exist_ok=True)
    every = all_mutants(modules)
    chosen = every[: options.most]
    results = Results(options.folder / "results.jsonl")
    try:
        run(options, chosen, results)
    except KeyboardInterrupt:
        print("interrupted: run the command again to go on", file=sys.stderr)
        return 130
    outcomes = [(mutant, results.outcomes[mutant.key]) for mutant in chosen]
    options.page.write_text(page(outcomes, len(every)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
