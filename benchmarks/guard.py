"""How the default compares with linear discriminant analysis, and what the guard does.

python -m benchmarks.guard [--data FOLDER ...] [--sets NAMES] [--out FOLDER]

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

from benchmarks.pages import PEER, canvas, compose, in_order, png, section, write
from heterolda import GaussianLinearDiscriminant
from heterolda.foundations.files import written_whole

FOLDS, SHUFFLES = 10, 3
KEPT = Path("build/guard")
DOCS = Path(__file__).resolve().parent.parent / "docs"
PICTURE = (
    "![Points above or below LDA on each set: the default never far below, the model "
    "alone sometimes](images/guard.png)"
)
# Losses of the model beyond are drawn at the edge.
EDGE = 12.0
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
    opening = (
        "Can you replace scikit-learn's LDA by `GaussianLinearDiscriminant()` without "
        f"looking at the data first? On {len(results)} data sets (45 public ones and "
        "two made to mislead it) its default is more accurate than LDA by more than "
        f"two standard errors on {ahead}, and clearly less accurate (more than 1.5 "
        f"points and two standard errors) on {len(clear) or 'none'}"
        + (f": {', '.join(clear)}" if clear else "")
        + f". Its largest loss is {behind[worst][0]:.2f} points, on {worst} "
        f"(± {behind[worst][1]:.2f}). That is the guard's doing: without it, the "
        f"Gaussian model alone loses clearly on {alone} sets, by up to "
        f"{-min(losses):.2f} points. Every figure is of rows held out."
    )
    rows = []
    for name, one in results.items():
        n, d, classes, smallest = one["shape"]
        cells = [name, f"{n:,} x {d}, {classes}", str(smallest)]
        cells += [_number(one[method]["accuracy"]) for method in METHODS]
        for method in ("model", "default"):
            gain, error = one[method]["gain"], one[method]["error"]
            cells.append("-" if gain is None else f"{gain:+.2f} ± {error:.2f}")
        rows.append((*cells, f"{100 * one['guarded']:.0f} %"))
    about = (
        "Accuracy in %. *Default* is `GaussianLinearDiscriminant()`; *model* is the "
        "optimum of the Gaussian model alone, without the guard. Size is rows x "
        "features, classes; *smallest* counts the rows of the smallest class. "
        "Differences are in points, with the standard error over rows. *Guarded* is "
        "the share of pairs of classes that took Fisher's rule. A dash: the fit was "
        "refused because a class has a single row."
    )
    head = "set|size|smallest|LDA|model|default|model - LDA|default - LDA|guarded"
    return compose(
        "The default beside LDA",
        [opening],
        [section("Each set", about, head, rows)],
        [
            "Made by `python -m benchmarks.guard`; run it again instead of editing the "
            "page.",
            f"{FOLDS} stratified folds and {SHUFFLES} shuffles, the same for all "
            "methods; differences and their standard errors are paired, over rows.",
            "*LDA* is scikit-learn's `LinearDiscriminantAnalysis()`; *model* is "
            "`GaussianLinearDiscriminant(guard=False, shrinkage=0)`, which was the "
            "default before there was a guard.",
            "The two sets with *dummy* in their name are made up: three Gaussian "
            "features, and a fourth that is 1 in a small share of the rows of each "
            "class and 0 otherwise.",
        ],
        picture=PICTURE,
    )


def draw(results: dict[str, Any]) -> bytes:
    """The picture: differences to LDA, the sets in their order, as PNG."""
    gains = {
        name: (one["default"]["gain"], 2 * one["default"]["error"])
        for name, one in results.items()
    }
    figure, panels = canvas(3.9)
    panel = panels[0, 0]
    order = in_order(panel, gains, "the default, with two standard errors")
    alone = {k: results[n]["model"]["gain"] for k, n in enumerate(order)}
    alone = {k: gain for k, gain in alone.items() if gain is not None}
    style = {"markerfacecolor": "none", "markersize": 5, "color": PEER}
    clipped = [max(gain, -EDGE) for gain in alone.values()]
    panel.plot(list(alone), clipped, "D", label="without the guard", **style)
    for k, gain in alone.items():
        if gain < -EDGE:
            place = {"xytext": (6, 0), "textcoords": "offset points"}
            text = f"{order[k]}: {gain:.0f}"
            panel.annotate(text, (k, -EDGE), va="center", fontsize=9, **place)
    panel.set_ylabel("points above LDA")
    panel.set_xlabel(f"{len(order)} data sets, in order of the default's gain")
    figure.legend(loc="outside upper center", ncols=2, frameon=False, fontsize=9)
    return png(figure)


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
    parser.add_argument("--out", type=Path, default=DOCS)
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
    write(options.out, {"guard.md": page(results), "images/guard.png": draw(results)})
    print(options.out / "guard.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
