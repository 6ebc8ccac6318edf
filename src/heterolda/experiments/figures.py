"""The pictures of the report, as SVG."""

from __future__ import annotations

import numpy as np

from heterolda.experiments import svg
from heterolda.experiments.methods import METHODS, title
from heterolda.experiments.pairs import PairStudy
from heterolda.experiments.ranks import Comparison
from heterolda.experiments.results import Results
from heterolda.foundations.wording import count

__all__ = ["css_class", "curve", "history", "marker", "ranking", "trade_off"]

# Markers of matplotlib. Methods of a family share a colour, which the page's style
# sheet gives them.
_SHAPES = {
    "LDA": "o",
    "C-HLD": "D",
    "R-HLD-1": "^",
    "R-HLD-2": "v",
    "GLD": "o",
    "LNS": "o",
    "SVM": "s",
    "GLD-global": "*",
    "global+LNS": "*",
    "LinearDiscriminantAnalysis": "s",
    "LogisticRegression": "^",
    "LinearSVC": "D",
}
_OTHER_SHAPE = "<"
# Where solvers agree, all their markers shall be seen.
_SIZES = {"LDA": 5, "C-HLD": 4.5, "GLD": 6, "GLD-global": 8}


def css_class(method: str) -> str:
    """The class that gives a method its colour."""
    return f"m m-{list(METHODS).index(method)}" if method in METHODS else "m m-other"


@svg.plain_style()
def marker(method: str) -> str:
    """The marker of a method, for the legend."""
    axes = svg.canvas(18, 18)
    shape, css = _SHAPES.get(method, _OTHER_SHAPE), f"{css_class(method)} on-front"
    svg.mark(axes, 9, 9, shape, f"{css} picked", "")
    return svg.render(axes, title(method))


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


@svg.plain_style()
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
    axes = svg.plot(
        dataset,
        (min(times) / 1.6, max(times) * 2.2),
        (min(scores) - 0.08 * spread, max(scores) + 0.12 * spread),
        "training time of a fold, s",
        "accuracy, %",
        log_x=True,
    )
    steps = [points[name] for name in front]
    x = np.repeat([*(t for t, _ in steps), axes.get_xlim()[1]], 2)[1:-1]
    svg.line(axes, x, np.repeat([score for _, score in steps], 2), "front")
    for name, (time, score) in points.items():
        css = css_class(name) + (" on-front" if name in front else "")
        hint = f"{title(name)}: {score:.2f} %, {time:.3g} s"
        svg.mark(axes, time, score, _SHAPES.get(name, _OTHER_SHAPE), css, hint)
    _label_front(axes, [(title(name), *points[name]) for name in front])
    words = "Accuracy against training time. On the Pareto front: "
    words += ", ".join(map(title, front))
    return svg.render(axes, dataset, words)


def _label_front(axes: svg.Axes, front: list[tuple[str, float, float]]) -> None:
    """Names above the points, moved up where they would overlap."""
    taken: list[tuple[float, float, float]] = []
    for name, time, score in front:
        x, y = axes.transData.transform((time, score)) + np.array([0, 9])
        width = 6.2 * len(name)
        x = min(max(x, axes.bbox.x0 + width / 2), axes.bbox.x1 - width / 2)
        left, right = x - width / 2, x + width / 2
        for a, b, other in sorted(taken, key=lambda box: box[2]):
            if left < b and a < right and abs(y - other) < 11:
                y = other + 11
        if y < axes.bbox.y1:
            taken.append((left, right, y))
            x, y = axes.transData.inverted().transform((x, y))
            svg.text(axes, x, y, name, "front-name")


@svg.plain_style()
def ranking(comparison: Comparison, heading: str) -> str:
    """A critical-difference diagram, the best method on the left.

    Thick lines join methods that cannot be told apart.
    """
    k, names = len(comparison.methods), comparison.methods
    half = (k + 1) // 2
    top, step = 62.0, 20.0
    below = top + 16 + 9 * len(comparison.cliques)
    width = 880.0
    order = ", ".join(
        f"{title(name)} {rank:.2f}"
        for name, rank in zip(names, comparison.ranks, strict=True)
    )
    axes = svg.canvas(width, below + step * half + 14)

    def x(rank: float) -> float:
        return 230 + (width - 460) * (rank - 1) / max(k - 1, 1)

    svg.line(axes, [x(1), x(k)], [top, top], "axis")
    for rank in range(1, k + 1):
        svg.line(axes, [x(rank), x(rank)], [top - 5, top], "axis")
        svg.text(axes, x(rank), top - 10, str(rank), "tick")
    end = x(min(1 + comparison.critical_difference, k))
    ends = [x(1), x(1), x(1), end, end, end]
    svg.line(axes, ends, [18, 26, 22, 22, 18, 26], "axis")
    distance = f"CD = {comparison.critical_difference:.2f}"
    svg.text(axes, (x(1) + end) / 2, 14, distance, "label")
    for i, (name, rank) in enumerate(zip(names, comparison.ranks, strict=True)):
        left = i < half
        y = below + step * (i if left else k - 1 - i) + 8
        edge = 210.0 if left else width - 210
        svg.line(axes, [x(rank), x(rank), edge], [top, y, y], f"stem {css_class(name)}")
        shown = title(name)
        words = f"{shown}  {rank:.2f}" if left else f"{rank:.2f}  {shown}"
        anchor, shift = ("right", -6) if left else ("left", 6)
        svg.text(axes, edge + shift, y + 4, words, css_class(name), anchor)
    for i, (first, last) in enumerate(comparison.cliques):
        y = top + 10 + 9 * i
        from_, to = x(comparison.ranks[first]) - 4, x(comparison.ranks[last]) + 4
        svg.line(axes, [from_, to], [y, y], "clique")
    return svg.render(axes, heading, f"Average ranks: {order}")


@svg.plain_style()
def curve(study: PairStudy) -> str:
    """The error of a pair against s, and what the solvers choose."""
    error, chosen = 100 * study.error, study.choices
    least = min([100 * study.best_error.min(), *(100 * e for _, e in chosen.values())])
    common = error[(study.s >= 0.1) & (study.s <= 0.9)].max()
    most = max([common, *(100 * e for _, e in chosen.values())])
    most = min(most, 110 * study.trivial_error)
    spread = max(most - least, 1e-3 * most, 1e-9)
    low, high = float(study.s[0]), float(study.s[-1])
    axes = svg.plot(
        study.title,
        (low, high),
        (least - 0.1 * spread, most + 0.12 * spread),
        "s, weight of the first covariance",
        "error, %",
    )
    axes.axvspan(max(0, low), min(1, high), gid="band|", clip_on=False)
    svg.line(axes, study.s, 100 * study.best_error, "best-curve")
    svg.line(axes, study.s, error, "curve")
    for method, (s, e) in reversed(chosen.items()):
        hint = f"{title(method)}: s = {s:.3f}, error {100 * e:.3f} %"
        css, size = f"{css_class(method)} on-front", _SIZES.get(method, 3.5)
        x = min(max(s, low), high)
        svg.mark(axes, x, 100 * e, _SHAPES[method], css, hint, size)
    words = (f"{title(m)}: s {s:.3f}, {100 * e:.3f} %" for m, (s, e) in chosen.items())
    return svg.render(axes, study.title, "Error against s. " + ", ".join(words))


@svg.plain_style()
def history(study: PairStudy) -> str:
    """Training errors at each iteration of the local searches of a pair.

    Thin lines are for the current rule, thick ones for the best so far.
    """
    counts = np.concatenate(list(study.histories.values()))
    longest = max(map(len, study.histories.values()))
    spread = max(float(np.ptp(counts)), 5.0)
    axes = svg.plot(
        study.title,
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
            svg.line(axes, iterations, values, f"{css} {css_class(method)}")
        course = count(len(errors), "iteration")
        hint = f"{title(method)}: {best[-1]:g} errors after {course}"
        css = f"{css_class(method)} on-front"
        svg.mark(axes, len(errors), best[-1], _SHAPES[method], css, hint)
    words = (
        f"{title(m)}: from {h[0]:g} to {h.min():g} training errors in "
        f"{count(len(h), 'iteration')}"
        for m, h in study.histories.items()
    )
    return svg.render(axes, study.title, ", ".join(words))
