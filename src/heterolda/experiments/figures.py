"""The pictures of the report, as SVG."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heterolda.experiments.methods import METHODS
from heterolda.experiments.pairs import PairStudy
from heterolda.experiments.ranks import Comparison
from heterolda.experiments.results import Results
from heterolda.experiments.svg import Picture, Plot

__all__ = ["SHAPES", "css_class", "curve", "history", "ranking", "trade_off"]

# Methods of a family share a colour, which the page's style sheet gives them.
SHAPES = {
    "LDA": "circle",
    "C-HLD": "diamond",
    "R-HLD-1": "up",
    "R-HLD-2": "down",
    "GLD": "circle",
    "LNS": "circle",
    "SVM": "square",
    "GLD-global": "star",
    "global+LNS": "star",
    "LinearDiscriminantAnalysis": "square",
    "LogisticRegression": "up",
    "LinearSVC": "diamond",
}
# Where solvers agree, all their markers shall be seen.
_SIZES = {"LDA": 5, "C-HLD": 4.5, "GLD": 6, "GLD-global": 8}


def css_class(method: str) -> str:
    """The class that gives a method its colour."""
    return f"m m-{list(METHODS).index(method)}" if method in METHODS else "m m-other"


def pareto_front(points: dict[str, tuple[float, float]]) -> list[str]:
    """Methods than which no other is both faster and more accurate.

    They come from the fastest to the most accurate; of equals all are in.
    """
    front = [
        name
        for name, (time, score) in points.items()
        if not any(
            t <= time and s >= score and (t, s) != (time, score)
            for t, s in points.values()
        )
    ]
    return sorted(front, key=lambda name: points[name])


def trade_off(results: Results, dataset: str) -> str | None:
    """Accuracy against training time on a data set, with the Pareto front.

    None without a complete result.
    """
    cells = {m: results.cells.get((dataset, m)) for m in results.methods}
    points = {
        method: (max(cell.fit_seconds, 1e-9), float(cell.accuracies.mean()))
        for method, cell in cells.items()
        if cell is not None and cell.complete
    }
    if not points:
        return None
    times, scores = zip(*points.values(), strict=True)
    front = pareto_front(points)
    spread = max(max(scores) - min(scores), 0.5)
    plot = Plot(
        dataset,
        "Accuracy against training time. On the Pareto front: " + ", ".join(front),
        (min(times) / 1.6, max(times) * 2.2),
        (min(scores) - 0.08 * spread, max(scores) + 0.12 * spread),
        "training time of a fold, s",
        "accuracy, %",
        log_x=True,
    )
    steps: list[tuple[float, float]] = []
    for name in front:
        x, y = plot.x(points[name][0]), plot.y(points[name][1])
        steps += [(x, steps[-1][1]), (x, y)] if steps else [(x, y)]
    plot.line([*steps, (plot.right, steps[-1][1])], "front")
    for name, (time, score) in points.items():
        on_front = " on-front" if name in front else ""
        hint = f"{name}: {score:.2f} %, {time:.3g} s"
        plot.mark(
            plot.x(time),
            plot.y(score),
            SHAPES.get(name, "left"),
            css_class(name) + on_front,
            hint,
        )
    _label_front(plot, [(name, *points[name]) for name in front])
    return plot.render()


def _label_front(plot: Plot, front: list[tuple[str, float, float]]) -> None:
    """Names beside the points, moved up where they would overlap."""
    taken: list[tuple[float, float, float]] = []
    for name, time, score in front:
        x, y = plot.x(time), plot.y(score) - 9
        width = 6.2 * len(name)
        x = min(max(x, plot.left + width / 2), plot.right - width / 2)
        left, right = x - width / 2, x + width / 2
        for a, b, other in sorted(taken, key=lambda box: -box[2]):
            if left < b and a < right and abs(y - other) < 11:
                y = other - 11
        if y > plot.top:
            taken.append((left, right, y))
            plot.text(x, y, name, "front-name")


def ranking(comparison: Comparison, title: str) -> str:
    """A critical-difference diagram, the best method on the left.

    Thick lines join methods that cannot be told apart.
    """
    k, names = len(comparison.methods), comparison.methods
    half = (k + 1) // 2
    top, step = 62.0, 20.0
    below = top + 16 + 9 * len(comparison.cliques)
    width = 760.0
    order = ", ".join(
        f"{name} {rank:.2f}" for name, rank in zip(names, comparison.ranks, strict=True)
    )
    picture = Picture(width, below + step * half + 14, title, f"Average ranks: {order}")

    def x(rank: float) -> float:
        return 170 + (width - 340) * (rank - 1) / max(k - 1, 1)

    picture.line([(x(1), top), (x(k), top)], "axis")
    for rank in range(1, k + 1):
        picture.line([(x(rank), top - 5), (x(rank), top)], "axis")
        picture.text(x(rank), top - 10, str(rank), "tick")
    end = x(min(1 + comparison.critical_difference, k))
    picture.line(
        [(x(1), 18), (x(1), 26), (x(1), 22), (end, 22), (end, 18), (end, 26)], "axis"
    )
    distance = f"CD = {comparison.critical_difference:.2f}"
    picture.text((x(1) + end) / 2, 14, distance, "label")
    for i, (name, rank) in enumerate(zip(names, comparison.ranks, strict=True)):
        left = i < half
        y = below + step * (i if left else k - 1 - i) + 8
        edge = 150.0 if left else width - 150
        picture.line(
            [(x(rank), top), (x(rank), y), (edge, y)], f"stem {css_class(name)}"
        )
        text = f"{name}  {rank:.2f}" if left else f"{rank:.2f}  {name}"
        anchor, shift = ("end", -6) if left else ("start", 6)
        picture.text(edge + shift, y + 4, text, css_class(name), anchor)
    for i, (first, last) in enumerate(comparison.cliques):
        y = top + 10 + 9 * i
        ends = x(comparison.ranks[first]) - 4, x(comparison.ranks[last]) + 4
        picture.line([(ends[0], y), (ends[1], y)], "clique")
    return picture.render()


def curve(study: PairStudy) -> str:
    """The error of a pair against s, and what the solvers choose."""
    error, chosen = 100 * study.error, study.choices
    least = min([100 * study.best_error.min(), *(100 * e for _, e in chosen.values())])
    common = error[(study.s >= 0.1) & (study.s <= 0.9)].max()
    most = max([common, *(100 * e for _, e in chosen.values())])
    most = min(most, 110 * study.trivial_error)
    spread = max(most - least, 1e-3 * most, 1e-9)
    first, second = study.classes
    plot = Plot(
        f"{study.dataset}: {first} and {second}",
        "Error against s. "
        + ", ".join(f"{m}: s {s:.3f}, {100 * e:.3f} %" for m, (s, e) in chosen.items()),
        (float(study.s[0]), float(study.s[-1])),
        (least - 0.1 * spread, most + 0.12 * spread),
        "s, weight of the first covariance",
        "error, %",
    )
    plot.band(0, 1, "band")
    plot.curve(study.s.tolist(), (100 * study.best_error).tolist(), "best-curve")
    plot.curve(study.s.tolist(), error.tolist(), "curve")
    for method, (s, e) in reversed(chosen.items()):
        x, y = plot.x(min(max(s, study.s[0]), study.s[-1])), plot.y(100 * e)
        hint = f"{method}: s = {s:.3f}, error {100 * e:.3f} %"
        css = f"{css_class(method)} on-front"
        plot.mark(x, y, SHAPES[method], css, hint, _SIZES.get(method, 3.5))
    return plot.render()


def history(study: PairStudy) -> str:
    """Training errors at each iteration of the local searches of a pair.

    Thin lines are for the current rule, thick ones for the best so far.
    """
    counts = np.concatenate(list(study.histories.values()))
    longest = max(map(len, study.histories.values()))
    spread = max(float(np.ptp(counts)), 5.0)
    first, second = study.classes
    plot = Plot(
        f"{study.dataset}: {first} and {second}",
        ", ".join(
            f"{m}: from {h[0]:g} to {h.min():g} training errors in {len(h)} iterations"
            for m, h in study.histories.items()
        ),
        (1.0, max(longest, 2.0)),
        (max(counts.min() - 0.1 * spread, -0.02 * spread), counts.max() + 0.1 * spread),
        "iteration",
        f"training errors of {study.n}",
        whole=True,
    )
    for method, errors in study.histories.items():
        iterations = np.arange(1, len(errors) + 1)
        best = np.minimum.accumulate(errors)
        for values, css in ((errors, "current"), (best, "lowest")):
            keep = _corners(values)
            plot.curve(
                iterations[keep].tolist(),
                values[keep].tolist(),
                f"{css} {css_class(method)}",
            )
        hint = f"{method}: {best[-1]:g} errors after {len(errors)} iterations"
        plot.mark(
            plot.x(len(errors)),
            plot.y(best[-1]),
            SHAPES[method],
            f"{css_class(method)} on-front",
            hint,
        )
    return plot.render()


def _corners(values: NDArray[np.float64]) -> NDArray[np.intp]:
    """Indices at which a line through the values turns, and its ends."""
    turns = np.flatnonzero(np.diff(values, 2)) + 1
    return np.unique([0, *turns, len(values) - 1])
