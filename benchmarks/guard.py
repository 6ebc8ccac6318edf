"""How the default compares with linear discriminant analysis, and what the guard does.

python -m benchmarks.guard [--data FOLDER ...] [--sets NAMES] [--out FILE]

The folders hold gzip CSV files whose last column is `target`; by default that of
HETEROLDA_DATA and its subfolder `more`. Results of each set are kept beside the page's
source in build/guard, so that an interrupted run goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import StratifiedKFold

from heterolda import GaussianLinearDiscriminant
from heterolda.foundations.files import written_whole

FOLDS, SHUFFLES = 10, 3
KEPT = Path("build/guard")
PAGE = Path(__file__).resolve().parent.parent / "docs" / "guard.md"
METHODS = {
    "LDA": LinearDiscriminantAnalysis,
    "model": lambda: GaussianLinearDiscriminant(guard=False, shrinkage=0.0),
    "default": GaussianLinearDiscriminant,
}


def dummies(first: float, second: float) -> tuple[np.ndarray, np.ndarray]:
    """Three Gaussian features, and one that is 1 in shares of the two classes."""
    rng = np.random.default_rng(0)
    y = np.arange(1000) % 2
    X = rng.normal(size=(1000, 4))
    X[:, :3] += 0.52 * y[:, None]
    X[:, 3] = rng.random(1000) < np.where(y == 0, first, second)
    return X, y


def sets(folders: list[Path]) -> dict[str, Any]:
    """Names, and what returns the rows and labels."""
    found: dict[str, Any] = {
        "dummy in 1 % and 0 %": lambda: dummies(0.01, 0.0),
        "dummy in 10 % and 1 %": lambda: dummies(0.1, 0.01),
    }
    for folder in folders:
        for path in sorted(folder.glob("*.csv.gz")):
            found[path.name.removesuffix(".csv.gz")] = lambda path=path: read(path)
    return found


def read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Rows and labels of a file."""
    import pandas as pd

    table = pd.read_csv(path)
    return table.drop(columns="target").to_numpy(float), table["target"].to_numpy()


def measure(X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Errors of each method on rows held out, the share of guarded pairs, times."""
    wrong = {name: np.zeros(len(y)) for name in METHODS}
    seconds = dict.fromkeys(METHODS, 0.0)
    refused: list[str] = []
    guarded = 0.0
    for seed in range(SHUFFLES):
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
        for train, test in folds.split(X, y):
            for name, make in METHODS.items():
                if name in refused:
                    continue
                begin = time.perf_counter()
                try:
                    model = make().fit(X[train], y[train])
                except ValueError:
                    refused.append(name)
                    continue
                seconds[name] += time.perf_counter() - begin
                wrong[name][test] += model.predict(X[test]) != y[test]
                guarded += np.mean(model.guarded_) if name == "default" else 0.0
    sizes = np.unique(y, return_counts=True)[1]
    result: dict[str, Any] = {
        "shape": [*X.shape, len(sizes), int(sizes.min())],
        "guarded": guarded / FOLDS / SHUFFLES,
        "seconds": seconds,
    }
    for name in METHODS:
        share = wrong[name] / SHUFFLES
        gain = (wrong["LDA"] - wrong[name]) / SHUFFLES
        known = name not in refused
        result[name] = {
            "accuracy": 100 * (1 - share.mean()) if known else None,
            "gain": 100 * gain.mean() if known else None,
            "error": 100 * gain.std(ddof=1) / np.sqrt(len(y)) if known else None,
        }
    return result


def page(results: dict[str, Any]) -> str:
    """The page, with a table of all sets and what holds."""
    behind = {
        name: (-one["default"]["gain"], one["default"]["error"])
        for name, one in results.items()
    }
    clear = {name: b for name, b in behind.items() if b[0] > max(1.5, 2 * b[1])}
    worst = max(behind, key=lambda name: behind[name][0])
    losses = [one["model"]["gain"] for one in results.values() if one["model"]["gain"]]
    alone = sum(_clear(one["model"]) for one in results.values())
    ahead = sum(
        one["default"]["gain"] > 2 * one["default"]["error"] for one in results.values()
    )
    lines = [
        "# The default beside LDA",
        "",
        "Made by `python -m benchmarks.guard`; do not edit. Accuracy in % on rows held "
        f"out, {FOLDS} stratified folds, {SHUFFLES} shuffles, the same for all. *LDA* "
        "is scikit-learn's at its defaults. *Model* is the certified optimum of the "
        "Gaussian model alone, `GaussianLinearDiscriminant(guard=False, shrinkage=0)`, "
        "which was the default before there was a guard; *default* is "
        "`GaussianLinearDiscriminant()`. Differences are to LDA on the same rows, in "
        "points, with the standard error of the paired difference over rows. *Guarded* "
        "is the mean share of pairs that took Fisher's rule. A dash: the fit was "
        "refused, some class having a single row.",
        "",
        f"- More than 1.5 points and two standard errors below LDA: the default on "
        f"{len(clear)} of {len(results)} sets"
        + (f" ({', '.join(clear)})" if clear else "")
        + f"; the model alone on {alone}.",
        f"- The default's largest loss: {behind[worst][0]:.2f} points on {worst} "
        f"(± {behind[worst][1]:.2f}); the model's: {-min(losses):.2f}.",
        f"- More than two standard errors above LDA: the default on {ahead} sets.",
        "",
        "| set | rows | features | classes | smallest | LDA | model | default | "
        "model - LDA | default - LDA | guarded |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, one in results.items():
        cells = [name, *map(str, one["shape"])]
        cells += [_number(one[method]["accuracy"]) for method in METHODS]
        for method in ("model", "default"):
            gain, error = one[method]["gain"], one[method]["error"]
            cells.append("-" if gain is None else f"{gain:+.2f} ± {error:.2f}")
        cells.append(f"{100 * one['guarded']:.0f} %")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _clear(one: dict[str, Any]) -> bool:
    return one["gain"] is not None and -one["gain"] > max(1.5, 2 * one["error"])


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def main(arguments: list[str] | None = None) -> int:
    """Measure what is missing, then write the page."""
    parser = argparse.ArgumentParser("benchmarks.guard", description=__doc__)
    home = os.environ.get("HETEROLDA_DATA")
    known = [Path(home), Path(home) / "more"] if home else []
    parser.add_argument("--data", type=Path, nargs="*", default=known)
    parser.add_argument("--sets", help="names separated by commas (default: all)")
    parser.add_argument("--out", type=Path, default=PAGE)
    options = parser.parse_args(arguments)
    found = sets(options.data)
    names = options.sets.split(",") if options.sets else list(found)
    KEPT.mkdir(parents=True, exist_ok=True)
    results = {}
    for name in names:
        kept = KEPT / f"{name.replace(' ', '_').replace('%', '')}.json"
        if not kept.exists():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = measure(*found[name]())
            with written_whole(kept) as file:
                file.write(json.dumps(result).encode())
        results[name] = json.loads(kept.read_text())
        gain = results[name]["default"]
        print(f"{name}: {gain['gain']:+.2f} ± {gain['error']:.2f}", file=sys.stderr)
    with written_whole(options.out) as file:
        file.write(page(results).encode())
    print(options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
