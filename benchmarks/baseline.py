"""Record where the package stands, for later changes to be compared with.

python -m benchmarks.baseline [SECTION ...]

The sections are speed, accuracy, wide and mutation; by default all of them. Missing
values and projections were measured by code that is gone: compare with
benchmarks/results/held_out.csv. Each replaces its part of benchmarks/baseline.json,
with the commit, so that a run can be stopped and continued. Speed wants an idle
machine; HETEROLDA_DATA names the folder of the public sets. `mutation` needs mutmut and
takes an hour.
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

import heterolda
from benchmarks import cases, local_search
from benchmarks.accuracy import sets
from benchmarks.held_out.runner import SMALLEST
from benchmarks.held_out.wide import WIDE
from benchmarks.methods import TRAINING_ROWS, fitting, predicting
from benchmarks.report import machine
from benchmarks.runner import FULL, Case, Method
from benchmarks.shapes import PAPER_SHAPES, Shape

FILE = Path(__file__).with_name("baseline.json")
MODELS = {
    "default": heterolda.GaussianLinearDiscriminant,
    "recommended": heterolda.recommended,
    "LDA": LinearDiscriminantAnalysis,
}
# Of these groups of `make bench`; the others measure peers or processes.
GROUPS = {
    *(cases.FIT_DRAWN, cases.FIT_REAL, cases.FIT_LARGE, cases.FIT_WIDE),
    *(cases.PREDICT, cases.ONE_ROW, cases.GUARD, cases.PROJECT, local_search.GROUP),
}
MUTATED = "heterolda.solvers.", "heterolda.estimators.votes."
MUTANTS, MUTATION_SECONDS = 600, 3600


def speed() -> dict[str, Any]:
    """Ratios of our times to a peer's, with our median seconds."""
    settings = replace(FULL, budget=3.0, minimum=1)
    chosen = [c for c in cases.all_cases() if getattr(c, "group", "") in GROUPS]
    lda = fitting("LDA svd")
    two = Shape(10_000, 20, 2)
    chosen += [Case("proba", s, _proba("global"), _proba("LDA svd")) for s in SHAPES]
    chosen += [
        Case("recommended", shape, fitting("recommended"), lda)
        for shape in (*SHAPES[:2], SHAPES[3], two, cases.PLANTS)
    ]
    found = {}
    for number, case in enumerate(chosen, 1):
        say(f"[{number}/{len(chosen)}] {case.name}")
        row = case.run(settings)
        if row["ratio"] is not None:
            seconds = float(np.median(row["ours_seconds"]))
            found[case.name] = {"ratio": row["ratio"], "seconds": seconds}
    return found


SHAPES = [s for s in PAPER_SHAPES if s.name in ("D1", "liver", "zernike", "vowels")]
SHAPES += [s for s in PAPER_SHAPES if s.name in ("spambase", "letters")]


def _proba(name: str) -> Method:
    def prepare(X: Any, y: Any, settings: Any) -> Callable[[], Any]:
        rows = X[:TRAINING_ROWS], y[:TRAINING_ROWS]
        # A bound method: its estimator is what `predicting` fits.
        model = predicting(name).prepare(*rows, settings).func.__self__
        return lambda: model.predict_proba(X)

    return Method(f"predict_proba {name}", prepare)


def accuracy() -> dict[str, Any]:
    """Accuracy in % and log loss of one shuffle of five folds on every public set."""
    return {name: _held_out(name, *sets.load(name)) for name in sets.SETS}


def wide_data() -> dict[str, Any]:
    """The same on wide sets, by two shuffles."""
    found = {}
    for name, rows in WIDE.sets.items():
        X, labels = rows()
        y = np.unique(labels, return_inverse=True)[1]
        found[name] = _held_out(name, X, y, shuffles=2)
    return found


def _held_out(name: str, X: Any, y: Any, shuffles: int = 1) -> dict[str, Any]:
    found = {}
    for method, make in MODELS.items():
        hits, losses = [], []
        for seed in range(shuffles):
            folds = StratifiedKFold(5, shuffle=True, random_state=seed)
            for train, test in folds.split(X, y):
                model = make().fit(X[train], y[train])
                hits.append(model.predict(X[test]) == y[test])
                proba = model.predict_proba(X[test])
                place = np.searchsorted(model.classes_, y[test])
                own = proba[np.arange(len(test)), place]
                losses.append(-np.log(own.clip(SMALLEST, 1.0)))
        found[method] = {
            "accuracy": 100 * float(np.concatenate(hits).mean()),
            "log_loss": float(np.concatenate(losses).mean()),
        }
        say(f"{name}, {method}: {found[method]}")
    return found


def mutation() -> dict[str, Any]:
    """What became of a random sample of mutants, by module, as far as an hour goes."""
    from mutmut.mutation.data import SourceFileMutationData
    from mutmut.stats import status_by_exit_code
    from mutmut.utils.file_utils import walk_mutatable_files

    command = [str(Path(sys.executable).with_name("mutmut")), "run"]

    def statuses() -> dict[str, str]:
        found = {}
        for path in walk_mutatable_files():
            data = SourceFileMutationData(path=path)
            data.load()
            found |= data.exit_code_by_key
        return {name: status_by_exit_code[code] for name, code in found.items()}

    if not Path("mutants").exists():
        subprocess.run([*command, "heterolda.solvers.rules.*"], check=True)
    names = [name for name in sorted(statuses()) if name.startswith(MUTATED)]
    names = np.random.default_rng(0).choice(names, MUTANTS, replace=False).tolist()
    try:
        subprocess.run([*command, *names], timeout=MUTATION_SECONDS)
    except subprocess.TimeoutExpired:
        say("the hour is over")
    sample, by_module = set(names), defaultdict(Counter)
    for name, status in statuses().items():
        if name in sample:
            by_module[name.partition(".x")[0]][status] += 1
    return {module: dict(counts) for module, counts in sorted(by_module.items())}


SECTIONS = {
    "speed": speed,
    "accuracy": accuracy,
    "wide": wide_data,
    "mutation": mutation,
}


def say(text: str) -> None:
    """Show progress."""
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    """Measure the sections that are asked for."""
    chosen = sys.argv[1:] or list(SECTIONS)
    if unknown := sorted(set(chosen) - set(SECTIONS)):
        sys.exit(f"no section {unknown}; there are {', '.join(SECTIONS)}")
    for name in chosen:
        threads = 2 if name == "speed" else 1
        with threadpool_limits(threads), warnings.catch_warnings(action="ignore"):
            found = SECTIONS[name]()
            git = ["git", "rev-parse", "--short", "HEAD"]
            commit = subprocess.run(git, capture_output=True, text=True).stdout.strip()
            part = {"commit": commit, "machine": machine(), "results": found}
        record = json.loads(FILE.read_text()) if FILE.exists() else {}
        record[name] = part
        FILE.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
