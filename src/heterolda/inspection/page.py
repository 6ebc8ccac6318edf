"""Pages that need no network: their skeleton, tables, and pictures within them."""

from __future__ import annotations

import base64
import io
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from heterolda.foundations.wording import Markup, html_table, percent
from heterolda.inspection.displays.base import pyplot

_MOST_FEATURES = 20
_LONGEST = 24  # letters of a word that stays in one line on a phone


def page(title: str, name: str, lead: Sequence[str], body: Sequence[str]) -> str:
    """A page as HTML, from a name in words and other parts that are HTML."""
    template = Template(Path(__file__).with_suffix(".html").read_text("utf-8"))
    return template.substitute(
        title=escape(title),
        name=_breakable(name),
        lead="\n".join(lead),
        body="\n".join(body),
        version=escape(sys.modules["heterolda"].__version__),
    )


def section(title: str, *parts: str) -> str:
    """A section with a heading in words."""
    lines = [f"<section>\n<h2>{_breakable(title)}</h2>", *parts, "</section>"]
    return "\n".join(lines)


def paragraph(text: str) -> str:
    """A paragraph."""
    return f"<p>{escape(text)}</p>"


def note(text: str) -> str:
    """A paragraph in smaller letters."""
    return f'<p class="note">{escape(text)}</p>'


def features_table(head: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> str:
    """Names and shares of features, the largest first and as bars, with more cells."""
    shares = [share for _, share, *_ in rows]
    shown = table(
        head,
        [
            [name, bar(share, shares[0]), *cells]
            for name, share, *cells in rows[:_MOST_FEATURES]
        ],
    )
    rest = shares[_MOST_FEATURES:]
    if not rest:
        return shown
    return shown + note(
        f"The {_MOST_FEATURES} of {len(shares):,} features with the largest weights; "
        f"the others share {percent(sum(rest))} of the weight."
    )


def bar(share: float, largest: float) -> Markup:
    """A share as a figure and as a bar."""
    width = 100 * share / largest if largest > 0 else 0.0
    return Markup(
        f"<span>{percent(share)}</span>"
        f'<span class="bar"><i style="width:{width:.1f}%"></i></span>'
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; a cell is text, or a bar. Names in the first column may wrap."""
    named = [[_breakable(name), *cells] for name, *cells in rows]
    content = html_table([_breakable(cell) for cell in head], named)
    return f'<div class="scroll" tabindex="0">{content}</div>'


def folded(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table that opens when its title is pressed."""
    return f"<details><summary>{escape(title)}</summary>{table(head, rows)}</details>"


def _breakable(name: str) -> Markup:
    """A name that may wrap where its parts end, and inside of very long words."""
    shown = re.sub(r"_+(?=\w)|[./:-]+(?=[^\W\d])", r"\g<0><wbr>", escape(name))
    return Markup(re.sub(rf"\w{{{_LONGEST},}}", _in_pieces, shown))


def _in_pieces(word: re.Match[str]) -> str:
    return "<wbr>".join(re.findall(rf"\w{{1,{_LONGEST // 3}}}", word[0]))


def figure(picture: str, caption: str, about: str = "") -> str:
    """A picture with its caption; `about` is what it is of, for those who listen."""
    alt = escape(f"{about}: {caption}" if about else caption)
    return (
        f'<figure><img alt="{alt}" src="{picture}"><figcaption>{escape(caption)}'
        "</figcaption></figure>"
    )


def picture(draw: Callable[[Any], Any], size: tuple[float, float] = (6.4, 4.4)) -> str:
    """What is drawn on a figure of this size, as an address that holds the picture."""
    plt: Any = pyplot()  # type: ignore[no-untyped-call]
    # The same model makes the same page.
    settings = {"svg.hashsalt": "heterolda", "svg.fonttype": "path", "font.size": 11}
    with plt.rc_context(settings), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of glyphs that a font lacks
        # Not one of pyplot's, which would open a window and stay in memory.
        canvas = plt.Figure(figsize=size, layout="constrained")
        draw(canvas)
        buffer = io.BytesIO()
        canvas.savefig(
            buffer,
            format="svg",
            dpi=150,  # of points, where there are many
            transparent=True,
            metadata={"Date": None, "Creator": None},
        )
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    return f"data:image/svg+xml;base64,{data}"
