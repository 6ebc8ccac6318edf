"""Small pictures as SVG that a page can contain and colour by its own style sheet.

Nothing here names a colour: shapes have classes, and the page's style sheet gives
these their colours in light and in dark.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise

__all__ = ["Picture", "Plot", "marker", "ticks"]

_MOST_TICKS = 6
_SHAPES = {
    "square": [(-0.85, -0.85), (0.85, -0.85), (0.85, 0.85), (-0.85, 0.85)],
    "diamond": [(0, -1.2), (1.2, 0), (0, 1.2), (-1.2, 0)],
    "up": [(0, -1.15), (1.1, 0.85), (-1.1, 0.85)],
    "down": [(0, 1.15), (1.1, -0.85), (-1.1, -0.85)],
    "left": [(-1.15, 0), (0.85, -1.1), (0.85, 1.1)],
    "star": [
        (r * math.sin(i * math.pi / 5), -r * math.cos(i * math.pi / 5))
        for i, r in enumerate([1.45, 0.62] * 5)
    ],
}


def marker(shape: str, x: float, y: float, size: float = 5) -> str:
    """A circle or one of the other shapes, without colour; `size` is its radius."""
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:.1f}"/>'
    points = " ".join(
        f"{x + size * dx:.1f},{y + size * dy:.1f}" for dx, dy in _SHAPES[shape]
    )
    return f'<polygon points="{points}"/>'


def ticks(
    low: float, high: float, *, log: bool = False, whole: bool = False
) -> list[float]:
    """Round numbers in an interval, in ascending order; `whole` numbers only.

    On a logarithmic axis powers of ten, or 1, 2 and 5 times these if they are few.
    """
    if log:
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        for factors in ([1], [1, 3], [1, 2, 5]):
            found = [f * 10.0**k for k in decades for f in factors]
            found = [t for t in found if low <= t <= high]
            if len(found) >= 3:
                break
        return found
    raw = (high - low) / _MOST_TICKS
    raw = max(raw, 1.0) if whole else raw
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(f * size for f in (1, 2, 5, 10) if f * size >= raw * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


class Picture:
    """Elements on a canvas, which the page scales.

    Title and description are for readers who cannot see it.
    """

    def __init__(self, width: float, height: float, title: str, description: str):
        self.width, self.height = width, height
        self.title, self.description = title, description
        self.parts: list[str] = []

    def line(self, points: Iterable[tuple[float, float]], css: str) -> None:
        """A line through points of the canvas."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f'<polyline class="{css}" points="{path}"/>')

    def text(
        self, x: float, y: float, text: str, css: str = "", anchor: str = "middle"
    ) -> None:
        """A word at a point of the canvas."""
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" class="{css}" text-anchor="{anchor}">'
            f"{escape(text)}</text>"
        )

    def mark(
        self, x: float, y: float, shape: str, css: str, hint: str, size: float = 5
    ) -> None:
        """A marker at a point of the canvas, with a hint for the pointer."""
        self.parts.append(
            f'<g class="{css}"><title>{escape(hint)}</title>'
            f"{marker(shape, x, y, size)}</g>"
        )

    def render(self) -> str:
        """The SVG element."""
        label = escape(f"{self.title}. {self.description}", quote=True)
        head = (
            f'<svg viewBox="0 0 {self.width:g} {self.height:g}" role="img" '
            f'aria-label="{label}">'
        )
        return "\n".join([head, *self.parts, "</svg>"])


class Plot(Picture):
    """A picture with a title and two axes; `whole` if both count things."""

    def __init__(
        self,
        title: str,
        description: str,
        x_range: tuple[float, float],
        y_range: tuple[float, float],
        x_label: str,
        y_label: str,
        *,
        log_x: bool = False,
        whole: bool = False,
        width: float = 380,
        height: float = 290,
    ):
        super().__init__(width, height, title, description)
        self.log_x = log_x
        self.x_range, self.y_range = x_range, y_range
        self.left, self.right = 60.0, width - 12
        self.top, self.bottom = 30.0, height - 44
        self.text(self.left, 18, title, "plot-title", "start")
        for value in ticks(*x_range, log=log_x, whole=whole):
            x = self.x(value)
            self.line([(x, self.top), (x, self.bottom)], "grid")
            self.text(x, self.bottom + 15, f"{value:g}", "tick")
        marks = ticks(*y_range, whole=whole)
        digits = _digits(marks)
        for value in marks:
            y = self.y(value)
            self.line([(self.left, y), (self.right, y)], "grid")
            self.text(self.left - 6, y + 3.5, f"{value:.{digits}f}", "tick", "end")
        corner = [(self.left, self.top), (self.left, self.bottom)]
        self.line([*corner, (self.right, self.bottom)], "axis")
        self.text((self.left + self.right) / 2, height - 8, x_label, "label")
        middle = (self.top + self.bottom) / 2
        self.parts.append(
            f'<text class="label" text-anchor="middle" '
            f'transform="translate(12 {middle:g}) rotate(-90)">{escape(y_label)}</text>'
        )

    def x(self, value: float) -> float:
        """Where a value lies on the canvas, from left to right."""
        low, high = self.x_range
        if self.log_x:
            value, low, high = map(math.log, (value, low, high))
        return self.left + (self.right - self.left) * (value - low) / (high - low)

    def y(self, value: float) -> float:
        """Where a value lies on the canvas, from top to bottom."""
        low, high = self.y_range
        return self.bottom - (self.bottom - self.top) * (value - low) / (high - low)

    def curve(self, x: Sequence[float], y: Sequence[float], css: str) -> None:
        """A line through points of the plot; what lies above it is cut off."""
        top = self.y_range[1]
        run: list[tuple[float, float]] = []
        for point in zip(x, y, strict=True):
            if point[1] <= top:
                run.append((self.x(point[0]), self.y(point[1])))
            elif run:
                self.line(run, css)
                run = []
        if run:
            self.line(run, css)

    def band(self, x0: float, x1: float, css: str) -> None:
        """A strip between two values of the horizontal axis."""
        low, high = self.x_range
        left, right = self.x(max(x0, low)), self.x(min(x1, high))
        self.parts.append(
            f'<rect class="{css}" x="{left:.1f}" y="{self.top:g}" '
            f'width="{right - left:.1f}" height="{self.bottom - self.top:g}"/>'
        )


def _digits(values: list[float]) -> int:
    """Decimal places that tell the values apart."""
    if all(value == round(value) for value in values):
        return 0
    steps = [b - a for a, b in pairwise(values)]
    return max(0, -math.floor(math.log10(min(steps)) + 1e-9)) if steps else 3
