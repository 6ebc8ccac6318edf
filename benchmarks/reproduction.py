"""The paper's study as docs/paper.md shows it: its table, and a picture.

python -m benchmarks.reproduction

The results are in docs/reproduction; `heterolda reproduce` made them.
"""

from __future__ import annotations

import sys

from benchmarks.pages import DOCS, OURS, PEER, canvas, png, publish, section_table
from heterolda.experiments import Results, read_results
from heterolda.experiments.paper import printed_figure

# Methods of the study, and their names on the page.
BOTH = {"pairwise-lda": "pairwise LDA", "algorithm-1": "Algorithm 1"}
BOTH |= {"algorithm-2": "Algorithm 2", "svm": "SVM"}
OURS_ONLY = {"gld": "GLD", "lda": "LDA"}


def results() -> Results:
    """Return the results of the study."""
    return read_results(DOCS / "reproduction")


def parts(found: Results) -> dict[str, str]:
    """Return the parts of the page."""
    rows = []
    for name in found.datasets:
        cells = [name]
        for method in BOTH:
            ours = found.cells[name, method].accuracies.mean()
            cells.append(f"{ours:.1f} ({printed_figure(3, name, method):.1f})")
        cells += [f"{found.cells[name, m].accuracies.mean():.1f}" for m in OURS_ONLY]
        rows.append(tuple(cells))
    head = "|".join(["set", *BOTH.values(), *OURS_ONLY.values()])
    return {"table 3": section_table(head, rows)}


def draw(found: Results) -> bytes:
    """Return the picture: our accuracies against the printed ones, as PNG."""
    figure, panels = canvas(4.2)
    panel = panels[0, 0]
    styles = {"pairwise-lda": (PEER, "s"), "algorithm-1": (OURS, "o")}
    styles["algorithm-2"] = ("#e8a33d", "^")
    for method, (color, mark) in styles.items():
        printed = [printed_figure(3, name, method) for name in found.datasets]
        ours = [found.cells[name, method].accuracies.mean() for name in found.datasets]
        panel.plot(printed, ours, mark, color=color, label=BOTH[method])
    for name in ("D1", "D2"):
        place = printed_figure(3, name, "algorithm-1")
        ours = found.cells[name, "algorithm-1"].accuracies.mean()
        panel.annotate(name, (place, ours), xytext=(7, -4), textcoords="offset points")
    panel.axline((60, 60), slope=1, color="0.3", linewidth=0.9)
    panel.set(xlabel="accuracy in % as printed", ylabel="accuracy in %, ours")
    panel.legend(frameon=False, fontsize=9)
    return png(figure)


def main() -> int:
    """Write the table of the page, and its picture."""
    found = results()
    publish("paper", parts(found), {"paper.png": draw(found)})
    return 0


if __name__ == "__main__":
    sys.exit(main())
