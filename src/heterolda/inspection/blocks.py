"""Blocks of text, tables and pictures, and how to show them on terminals and pages."""

from __future__ import annotations

import base64
import io
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from string import Template
from textwrap import wrap
from typing import Any

from heterolda.foundations.wording import (
    Markup,
    count,
    escape,
    percent,
    printable,
    text_table,
)
from heterolda.inspection.displays.base import pyplot

_WIDTH = 86  # of lines before an indent of two


@dataclass(frozen=True)
class Heading:
    """The heading of a section."""

    text: str


@dataclass(frozen=True)
class Paragraph:
    """Sentences on separate lines, in small print if they are notes."""

    lines: Sequence[str]
    small: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of text; the first cell of the head names them."""

    head: Sequence[str]
    rows: Sequence[Sequence[Any]]
    title: str = ""
    max_rows: int | None = None  # on a terminal; a page shows twice as many
    bars: bool = False  # the second cell of each row is a share
    folded: bool = False  # on a page, opens at a click on its title

    def shown(self, *, on_page: bool) -> tuple[list[list[str]], str]:
        """Return the cells to show, and a line on what is left out."""
        n_shown = (self.max_rows or len(self.rows)) * (2 if on_page else 1)
        rows, others = self.rows[:n_shown], self.rows[n_shown:]
        cells = [list(map(str, row)) for row in rows]
        more = f"and {count(len(others), f'more {self.head[0]}')}" if others else ""
        if self.bars:
            largest = max(row[1] for row in self.rows)
            for row, values in zip(cells, rows, strict=True):
                row[1] = _bar(values[1], largest) if on_page else percent(values[1])
            more += f" with {percent(sum(row[1] for row in others))}" if others else ""
        return cells, more


@dataclass(frozen=True)
class Figure:
    """A picture, which `draw` draws on a matplotlib figure; terminals leave it out."""

    draw: Callable[[Any], Any]
    caption: str
    about: str = ""  # the subject, for screen readers
    size: tuple[float, float] = 6.4, 4.4
    place: str = "pictures"  # next to others, or "map" or "wide"


Block = Heading | Paragraph | Table | Figure


class Shown:
    """A result that `print` and notebooks show as its blocks."""

    def _blocks(self) -> list[Block]:
        raise NotImplementedError

    def __str__(self) -> str:
        return to_text(self._blocks())

    def _repr_html_(self) -> str:
        return f"<div>{_section(self._blocks())}</div>"


def to_lines(blocks: Iterable[Block], *, wrapped: bool = False) -> list[str]:
    """Return lines for a terminal; blocks after a heading are indented and wrapped."""
    lines: list[str] = []
    indent, needs_gap = "", False
    for block in blocks:
        if isinstance(block, Heading):
            lines += ["", block.text]
            indent, needs_gap = "  ", False
            continue
        content: Sequence[str] = ()  # of a picture
        if isinstance(block, Table):
            content = _table_lines(block)
        elif isinstance(block, Paragraph):
            content = block.lines
            if wrapped or indent:
                content = [part for line in content for part in _wrapped(line)]
        if content:
            lines += [""] * needs_gap
            lines += [indent + line if line else "" for line in content]
            needs_gap = True
    return lines


def to_text(blocks: Iterable[Block]) -> str:
    """Return wrapped text, as `print` shows it."""
    return "\n".join(to_lines(blocks, wrapped=True))


def _wrapped(line: str) -> list[str]:
    return wrap(line, _WIDTH, break_long_words=False, break_on_hyphens=False)


def _table_lines(table: Table) -> list[str]:
    rows, more = table.shown(on_page=False)
    cells = [[cell.replace("\n", ", ") for cell in row] for row in rows]
    body = text_table([list(table.head), *cells] if table.head else cells)
    return [*_wrapped(table.title), *body, *([more] if more else [])]


def to_page(title: str, name: str, blocks: Iterable[Block]) -> str:
    """Return a self-contained HTML page; headings begin its sections."""
    sections: list[list[Block]] = [[]]
    for block in blocks:
        if isinstance(block, Heading):
            sections.append([])
        sections[-1].append(block)
    lead, *others = map(_section, sections)
    template = Template(Path(__file__).with_name("page.html").read_text("utf-8"))
    return template.substitute(
        title=escape(title),
        name=_breakable(name),
        lead=lead,
        body="\n".join(f"<section>\n{part}\n</section>" for part in others),
        version=escape(sys.modules["heterolda"].__version__),
    )


def _section(blocks: Sequence[Block]) -> str:
    """Return blocks as HTML, with consecutive pictures side by side."""
    parts: list[str] = []
    for place, group in groupby(blocks, lambda block: getattr(block, "place", "")):
        content = "\n".join(map(_block, group))
        parts.append(f'<div class="{place}">{content}</div>' if place else content)
    return "\n".join(parts)


def _block(block: Block) -> str:
    if isinstance(block, Heading):
        return f"<h2>{_breakable(block.text)}</h2>"
    if isinstance(block, Paragraph):
        kind = ' class="note"' if block.small else ""
        return "\n".join(f"<p{kind}>{_html(line)}</p>" for line in block.lines)
    if isinstance(block, Figure):
        caption = _html(block.caption)
        alt = f"{escape(block.about)}: {caption}" if block.about else caption
        image = f'<img alt="{alt}" src="{_picture(block)}">'
        return f"<figure>{image}<figcaption>{caption}</figcaption></figure>"
    rows, more = block.shown(on_page=True)
    head = "".join(f'<th scope="col">{_breakable(cell)}</th>' for cell in block.head)
    body = "\n".join(
        f'<tr><th scope="row">{_breakable(name)}</th>'
        + "".join(f"<td>{_html(cell)}</td>" for cell in cells)
        + "</tr>"
        for name, *cells in rows
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>"
    shown = f'<div class="scroll" tabindex="0">{table}</div>'
    title = _html(block.title)
    if block.folded:
        shown = f"<details><summary>{title}</summary>{shown}</details>"
    elif title:
        shown = f'<p class="note">{title}</p>{shown}'
    return shown + (f'<p class="note">{_html(more)}</p>' if more else "")


def _html(text: str) -> Markup:
    """Return text as HTML, with numbers and their signs on one line."""
    if isinstance(text, Markup):
        return text
    number = r"(?<=&lt;) (?=\d)|(?<=\d) (?=%|s$)"  # as in < 0.001 % and 0.12 s
    return Markup(re.sub(number, "&nbsp;", escape(text)))


def _bar(share: float, largest: float) -> Markup:
    """Return a share as a figure and as a bar."""
    width = 100 * share / largest if largest > 0 else 0.0
    return Markup(
        f"<span>{_html(percent(share))}</span>"
        f'<span class="bar"><i style="width:{width:.1f}%"></i></span>'
    )


def _breakable(name: str) -> Markup:
    """Return a name whose long words may wrap after punctuation."""

    def with_breaks(word: re.Match[str]) -> str:
        return re.sub(r"[_./:+-]+(?=\w)", r"\g<0><wbr>", word[0])

    return Markup(re.sub(r"\S{13,}", with_breaks, escape(name)))


def _picture(figure: Figure) -> str:
    """Draw a figure, and return it as a data URL."""
    plt: Any = pyplot()  # type: ignore[no-untyped-call]
    # Equal models give equal pages.
    settings = {"svg.hashsalt": "heterolda", "svg.fonttype": "path", "font.size": 11}
    with plt.rc_context(settings), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about glyphs that a font lacks
        # A figure of pyplot would open a window and stay in memory.
        canvas = plt.Figure(figsize=figure.size, layout="constrained")
        figure.draw(canvas)
        buffer = io.StringIO()
        metadata = {"Date": None, "Creator": None}
        style = {"format": "svg", "dpi": 150, "transparent": True}
        canvas.savefig(buffer, metadata=metadata, **style)
    image = printable(buffer.getvalue())  # it repeats labels as comments
    data = base64.b64encode(image.encode()).decode("ascii")
    return f"data:image/svg+xml;base64,{data}"
