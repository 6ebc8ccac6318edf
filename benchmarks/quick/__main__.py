"""Compare the speed of the working tree with that of a base commit, and with peers.

python -m benchmarks.quick [WORD ...]

The file benchmarks/base names the commit. Both trees run in processes of their own with
one thread and take turns, case by case, so that other load on the machine slows both.
The figure is processor time, and its ratio to that of the base and of peers: the median
over the turns. The status is 1 if the rule of CONTRIBUTING.md is broken in two runs.
WORDs select the groups and cases whose names contain one of them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from benchmarks.quick.base import BASE, ROOT, base_tree, has_kernels
from benchmarks.quick.rule import (
    CASE_LIMIT,
    GROUP_LIMIT,
    Key,
    Ratios,
    too_slow_twice,
    with_means,
)
from benchmarks.quick.worker import DIAL, GLD, LDA, LOGISTIC, NAIVE, SEARCH
from benchmarks.shapes import Shape, gaussian_classes
from benchmarks.timing import Seconds, child_environment, in_turns
from heterolda.experiments import load_dataset
from heterolda.experiments.datasets import CATALOG, dataset_source

# Processor seconds of all turns of both trees, and the least number of turns; seconds
# of all turns with a peer, and of a tree in one turn, where shorter calls are repeated.
_BUDGET, _LEAST, _PEER_BUDGET, _TURN = 2.0, 4, 0.2, 0.03

SETS = "iris", "digits", "vowels", "segmentation", "satellite", "letters"
DRAWN = Shape(20_000, 20, 5), Shape(300, 10, 2)
SEARCHED = Shape(300, 10, 2), Shape(5_000, 5, 2)
DIALED = "iris", "liver", "vowels"


class Case(NamedTuple):
    """A call of ours, compared with the same call in the base and with peers."""

    group: str
    data: str  # name of a set, label of a shape, or empty
    task: str
    model: str
    peers: tuple[str, ...]

    @property
    def key(self) -> Key:
        """Return what the rule knows the case by."""
        return self.group, self.data or self.task


def all_cases() -> list[Case]:
    """Return the cases, of the sets that are on this machine."""
    data = [*filter(_is_here, SETS), *(shape.label for shape in DRAWN)]
    cases = [
        Case(task, name, task, GLD, (LDA, LOGISTIC))
        for task in ("fit", "predict")
        for name in data
    ]
    cases += [Case("dial", name, "fit", DIAL, ()) for name in filter(_is_here, DIALED)]
    cases += [Case("LNS", s.label, "fit", SEARCH, (NAIVE,)) for s in SEARCHED]
    return [*cases, Case("import", "", "import", GLD, (LDA,))]


def _is_here(name: str) -> bool:
    return dataset_source(name) in ("bundled", "file")


class Process:
    """A process that measures calls with the heterolda of one tree."""

    def __init__(self, tree: Path) -> None:
        path = {"PYTHONPATH": str(tree / "src"), "PYTHONHASHSEED": "0"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.quick.worker"],
            cwd=ROOT,
            env=child_environment(threads=1) | path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        package = Path(self._answer())
        if not package.is_relative_to(tree):
            sys.exit(f"imports heterolda from {package}, not from {tree}")

    def _answer(self) -> Any:
        line = self._process.stdout.readline()  # type: ignore[union-attr]
        if not line:
            sys.exit("a measuring process has ended; its error is above")
        return json.loads(line)

    def seconds(self, *request: Any) -> Seconds:
        """Return the processor seconds of a call."""
        pipe: Any = self._process.stdin
        pipe.write(json.dumps(request) + "\n")
        pipe.flush()
        return Seconds(self._answer())

    def repeated(self, *request: str) -> partial[Seconds]:
        """Return a call that measures as many calls in a row as a turn needs."""
        times = 1
        if request[0] != "import" and self.seconds(*request, 1) < 10 * _TURN:  # loads
            times = int(_TURN / self.seconds(*request, 1))
        return partial(self.seconds, *request, min(max(times, 1), 1000))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._process.communicate()


def compare(trees: Iterable[Path], cases: Collection[Case], folder: Path) -> Ratios:
    """Measure cases in the working tree and the base; print and return the ratios."""
    ratios: Ratios = {}
    with ExitStack() as stack:
        ours, base = (stack.enter_context(Process(tree)) for tree in trees)
        for case in cases:
            path = str(_file(case.data, folder)) if case.data else ""
            mine = ours.repeated(case.task, case.model, path)
            times = in_turns(mine, partial(base.seconds, *mine.args), _BUDGET, _LEAST)
            ratios[case.key] = times["ratio"]
            milliseconds = 1000 * times["seconds"] / mine.args[-1]
            text = f"{case.group:8}{case.key[1]:28}{milliseconds:10.3f} ms"
            text += f"{times['ratio']:8.3f} of the base"
            for peer in case.peers:
                other = ours.repeated(case.task, peer, path)
                ratio = in_turns(mine, other, _PEER_BUDGET, least=1)["ratio"]
                ratio *= other.args[-1] / mine.args[-1]
                text += f"{ratio:9.3g} of {peer}"
            print(text, flush=True)
    return ratios


def _file(data: str, folder: Path) -> Path:
    """Return the file of a set or of drawn rows, written first if necessary."""
    path = folder / f"{data}.npz"
    if not path.exists():
        drawn = {shape.label: shape for shape in (*DRAWN, *SEARCHED)}
        load = load_dataset if data in CATALOG else lambda s: gaussian_classes(drawn[s])
        X, y = load(data)
        np.savez(path, X=X, y=y)
    return path


def broken_rule(trees: Collection[Path], cases: Collection[Case]) -> bool:
    """Compare the trees and print the conclusion; return whether the rule is broken."""
    by_key = {case.key: case for case in cases}

    with tempfile.TemporaryDirectory() as folder:

        def measure(keys: Collection[Key]) -> Ratios:
            if len(keys) < len(by_key):
                print("\nAgain, in new processes:")
            ratios = compare(trees, [by_key[key] for key in keys], Path(folder))
            for (group, case), ratio in with_means(ratios).items():
                if not case:
                    print(f"{group:8}{'geometric mean':28}{ratio:21.3f} of the base")
            return ratios

        broken = too_slow_twice(measure, by_key)
    for (group, case), ratios in broken.items():
        first, second = (f"{ratio:.3f}" for ratio in ratios)
        limit = CASE_LIMIT if case else GROUP_LIMIT
        name = f"{group} {case or '(geometric mean)'}"
        print(f"FAIL: {name}: {first} and then {second} of the base, limit {limit}")
    if not broken:
        print(
            f"The rule holds: no group above {GROUP_LIMIT} of the base, and no case "
            f"above {CASE_LIMIT}, in two runs."
        )
    return bool(broken)


def main(words: list[str]) -> None:
    """Compare the selected cases with the base commit."""
    cases = all_cases()
    cases = [
        case for case in cases if any(w in " ".join(case.key) for w in words or [""])
    ]
    if not cases:
        sys.exit(f"no case has a name with {' or '.join(words)}")
    base = base_tree(BASE.read_text("utf-8").strip())
    if has_kernels(ROOT) != has_kernels(base):
        sys.exit("only one tree has compiled kernels: run 'make bench-quick' again")
    begin = time.perf_counter()
    broken = broken_rule((ROOT, base), cases)
    print(f"{time.perf_counter() - begin:.0f} s")
    sys.exit(int(broken))


if __name__ == "__main__":
    main(sys.argv[1:])
