"""Figures of matplotlib as SVG that a page can contain and colour by its style sheet.

Nothing here names a colour: shapes have classes, and the page's style sheet gives
these their colours in light and in dark. In matplotlib, the `gid` of a shape holds its
classes and, after a bar, a hint for the pointer, escaped: it may hold quotes.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape, unescape
from typing import Any, cast

import numpy as np

try:
    from matplotlib import rc_context, style
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, MaxNLocator, ScalarFormatter
except ImportError as error:
    message = "pictures need matplotlib: pip install matplotlib"
    raise ImportError(message) from error

__all__ = ["Axes", "canvas", "line", "mark", "plain_style", "plot", "render", "text"]

# Words are text of the page, and names from files are not formulas.
_SETTINGS = {"svg.fonttype": "none", "text.parse_math": False}
# Markers that look small or large for their size.
_SIZES = {"*": 1.4, "D": 0.8}


@contextmanager
def plain_style() -> Iterator[None]:
    """Draw alike, whatever style the user has chosen for other figures."""
    with style.context(["default", _SETTINGS]):
        yield


def canvas(width: float, height: float) -> Axes:
    """Axes without scales, in units of the picture, from the upper left corner."""
    axes = _figure(width, height).add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.set_axis_off()
    return axes


def _figure(width: float, height: float) -> Figure:
    """A figure whose pixels are the units of the picture."""
    return Figure(figsize=(width / 72, height / 72), dpi=72)


def plot(
    title: str,
    x_range: tuple[float, float],
    y_range: tuple[float, float],
    x_label: str,
    y_label: str,
    *,
    log_x: bool = False,
    whole: bool = False,
) -> Axes:
    """Axes with scales, a grid and a title; `whole` if both count things."""
    axes = _figure(380, 290).add_axes((60 / 380, 44 / 290, 308 / 380, 216 / 290))
    axes.set(xlim=x_range, ylim=y_range, xscale="log" if log_x else "linear")
    axes.set_title(title, loc="left", gid="plot-title|", size=14, pad=10)
    axes.set_xlabel(x_label, gid="label|", size=12, labelpad=8)
    axes.set_ylabel(y_label, gid="label|", size=12, labelpad=8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_gid("axis|")
    axes.grid(True, clip_on=False, gid="grid|")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10], integer=whole))
        axis.set_major_formatter(ScalarFormatter(useOffset=False))
    if log_x:
        axes.xaxis.set_major_locator(_decades(*x_range))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.minorticks_off()
    axes.tick_params(length=0, labelsize=11, pad=6)
    for label in [*axes.get_xticklabels(), *axes.get_yticklabels()]:
        label.set_gid("tick|")
    return axes


def _decades(low: float, high: float) -> LogLocator:
    """Powers of ten, or 1, 2 and 5 times these if they are few."""
    for factors in ((1,), (1, 3), (1, 2, 5)):
        locator = LogLocator(subs=factors)
        if sum(low <= tick <= high for tick in locator.tick_values(low, high)) >= 3:
            break
    return locator


def line(axes: Axes, x: Any, y: Any, css: str) -> None:
    """A line through points; what lies above the plot is cut off."""
    inside = np.where(np.asarray(y) <= max(axes.get_ylim()), y, np.nan)
    axes.plot(x, inside, gid=f"{css}|", clip_on=False)


def text(
    axes: Axes, x: float, y: float, words: str, css: str, anchor: str = "center"
) -> None:
    """Words at a point; `anchor` says which end of them, or the centre."""
    axes.text(x, y, words, ha=anchor, gid=f"{css}|")


def mark(
    axes: Axes, x: float, y: float, shape: str, css: str, hint: str, size: float = 5
) -> None:
    """A marker with a hint for the pointer."""
    size *= 2 * _SIZES.get(shape, 1)
    axes.plot(x, y, shape, ms=size, gid=f"{css}|{escape(hint)}", clip_on=False)


def render(axes: Axes, title: str, description: str = "") -> str:
    """The SVG element, with words for readers who cannot see it.

    Without a description it is hidden from them: it stands beside its title.
    """
    file, figure = io.StringIO(), cast("Figure", axes.figure)
    words = f"{title}. {description}"
    # The salt makes identifiers the same every time, and others in every picture.
    with warnings.catch_warnings(), rc_context({"svg.hashsalt": words}):
        warnings.simplefilter("ignore")  # the browser has other fonts
        figure.savefig(file, format="svg", metadata={"Date": None})
    # The first definitions are a style, which would hold for the whole page.
    content = file.getvalue().partition("</defs>")[2].removesuffix("</svg>\n")
    content = content.replace("xlink:href", "href")
    content = re.sub(r'(<[^<>]*) style="([^"]*)"', _without_style, content)
    content = re.sub(r'<g id="(?:([^"|]*)\|)?([^"]*)">', _group, content)
    content = re.sub(r'<g id="[^"]*"/>|\s*\n\s*', " ", content)
    label = f'role="img" aria-label="{escape(words)}"'
    label = label if description else 'aria-hidden="true"'
    width, height = 72 * figure.get_size_inches()
    return f'<svg viewBox="0 0 {width:g} {height:g}" {label}>{content}</svg>'


def _without_style(tag: re.Match[str]) -> str:
    anchor = re.search(r"text-anchor: (\w+)", tag[2])
    return tag[1] + (f' text-anchor="{anchor[1]}"' if anchor else "")


def _group(group: re.Match[str]) -> str:
    css, hint = group[1], group[2]
    if css is None:
        return "<g>"
    return f'<g class="{css}">' + (f"<title>{unescape(hint)}</title>" if hint else "")
