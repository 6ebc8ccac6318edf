"""Tables of figures, one row of lines for each data set, as text of several kinds."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass

from heterolda.experiments.methods import title

__all__ = [
    "FORMATS",
    "INCOMPLETE",
    "LIMITED",
    "MISSING",
    "Line",
    "ResultTable",
    "TableRow",
]

LIMITED, INCOMPLETE, MISSING = "†", "‡", "–"

_WIDTH = 100


@dataclass(frozen=True)
class Line:
    """A line that every row of a table has."""

    key: str  # of the figures
    heading: str  # what readers see
    digits: int | None  # decimal places; None for three significant digits
    signed: bool = False  # whether a plus sign is shown
    of_paper: bool = False  # whether the figures are the paper's

    def write(self, value: float) -> str:
        """The figure as it is printed."""
        digits = self.digits
        if digits is None:
            size = math.floor(math.log10(abs(value))) if value else 0
            digits = max(0, 2 - size)
        text = f"{value:.{digits}f}"
        if float(text) == 0:
            return text.lstrip("-")
        return f"+{text}" if self.signed and value > 0 else text


@dataclass(frozen=True)
class TableRow:
    """The figures of a data set."""

    dataset: str
    label: str  # the paper's letter, or an empty string
    figures: dict[str, dict[str, float]]  # by key of the line and by method
    best: set[str]  # methods with the best of our figures
    paper_best: set[str]  # and of the paper's
    marks: dict[str, str]  # by method, a sign that refers to a note

    @property
    def name(self) -> str:
        """Name and letter."""
        return f"{self.dataset} {self.label}".rstrip()


@dataclass(frozen=True)
class ResultTable:
    """A table of the study."""

    number: int  # the paper's
    title: str
    caption: str
    methods: list[str]  # the columns, by their keys
    lines: list[Line]  # of each row; the first has the figures that are compared
    rows: list[TableRow]  # the data sets
    notes: list[str]

    @property
    def heads(self) -> list[str]:
        """Headings of the methods."""
        return [title(method) for method in self.methods]

    def entry(
        self, row: TableRow, line: Line, method: str, best: Callable[[str], str]
    ) -> str:
        """A figure as text, made prominent by `best` where it is the best."""
        value = row.figures[line.key].get(method)
        main = line is self.lines[0]
        if value is None:
            return MISSING if main else ""
        text = line.write(value)
        if method in (row.best if main else row.paper_best if line.of_paper else ()):
            text = best(text)
        return text + (row.marks.get(method, "") if main else "")

    def body(self, best: Callable[[str], str]) -> list[list[str]]:
        """Rows of text, each with the set, the line and a figure for each method."""
        rows = []
        for row in self.rows:
            name = row.name
            for line in self.lines:
                entries = [self.entry(row, line, m, best) for m in self.methods]
                if any(entries):
                    rows.append([name, line.heading, *entries])
                    name = ""
        return rows


def as_text(table: ResultTable) -> str:
    """For terminals: no wider than 100 columns, the best figures with an asterisk."""
    rows = table.body(lambda text: f"{text}*")
    head = ["", "", *table.heads]
    signs = (LIMITED, INCOMPLETE, "*")

    def width(j: int) -> int:
        # A figure without a sign keeps its place, so that digits stand in columns.
        column = [row[j] for row in [head, *rows]]
        return max(len(text) + (not text.endswith(signs)) for text in column)

    def cell(text: str, j: int) -> str:
        if j < 2:
            return text.ljust(width(j))
        return (text if text.endswith(signs) else f"{text} ").rjust(width(j))

    parts = [f"Table {table.number}. {table.title}", *_wrapped(table.caption), ""]
    for columns in _panels([width(j) for j in range(len(head))]):
        parts.append("  ".join(cell(head[j], j) for j in columns).rstrip())
        for row in rows:
            if row[0] and parts[-1]:
                parts.append("-" * (sum(width(j) + 2 for j in columns) - 2))
            if any(row[j] for j in columns[2:]):
                parts.append("  ".join(cell(row[j], j) for j in columns).rstrip())
        parts.append("")
    for note in [*table.notes, "* best of its line"]:
        parts += _wrapped(note)
    return "\n".join(parts) + "\n"


def _panels(widths: list[int]) -> list[list[int]]:
    """Columns of each panel: the first two, and as many others as have room."""
    panels: list[list[int]] = []
    room = 0
    for j in range(2, len(widths)):
        if not panels or widths[j] + 2 > room:
            panels.append([0, 1])
            room = _WIDTH - widths[0] - widths[1] - 2
        panels[-1].append(j)
        room -= widths[j] + 2
    return panels


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH - 12, subsequent_indent="  ")


def as_markdown(table: ResultTable) -> str:
    """A table of GitHub's kind, the best figures in bold."""
    rows = table.body(lambda text: f"**{text}**")
    rows = [["Data set", "", *table.heads], *rows]
    rule = ["---", "---", *("---:" for _ in table.methods)]
    body = [f"| {' | '.join(row)} |" for row in [rows[0], rule, *rows[1:]]]
    notes = [f"- {note}" for note in table.notes]
    head = f"**Table {table.number}. {table.title}.** {table.caption}"
    return "\n".join([head, "", *body, "", *notes]).rstrip() + "\n"


def as_latex(table: ResultTable) -> str:
    """A table environment as in the paper, the best figures in bold."""
    rows = table.body(lambda text: rf"\textbf{{{text}}}")
    columns = "ll" + "r" * len(table.methods)
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_tex(table.title)}. {_tex(table.caption)}}}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\hline",
        " & ".join(["Data set", "", *map(_tex, table.heads)]) + r" \\",
        r"\hline",
    ]
    for row in rows:
        escaped = [_tex(row[0]), _tex(row[1]), *map(_signs, row[2:])]
        lines.append(" & ".join(escaped) + r" \\")
    lines += [r"\hline", r"\end{tabular}"]
    lines += [rf"\par {_tex(note)}" for note in table.notes]
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def _tex(text: str) -> str:
    for sign in "&%_#":
        text = text.replace(sign, f"\\{sign}")
    return _signs(text)


def _signs(text: str) -> str:
    """Signs that LaTeX has commands for; a minus sign needs mathematics."""
    text = text.replace(LIMITED, r"\dag{}").replace(INCOMPLETE, r"\ddag{}")
    text = text.replace(MISSING, "--")
    is_number = text[:1] in ("+", "-") and text[1:2].isdigit()
    return f"${text}$" if is_number else text


FORMATS: dict[str, Callable[[ResultTable], str]] = {
    "text": as_text,
    "markdown": as_markdown,
    "latex": as_latex,
}
