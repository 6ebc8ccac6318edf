"""The paper's study as docs/paper.md shows it: its table, and a picture.

python -m benchmarks.reproduction

The results are in docs/reproduction; `heterolda reproduce` made them.
"""

from __future__ import annotations

from benchmarks.pages import DOCS, OURS, PEER, canvas, png, publish, section_table
from heterolda.experiments import Results, read_results
from heterolda.experiments.paper import printed_figure

FOLDER = DOCS / "reproduction"
# Methods of the study, and their names on the page.
BOTH = {"pairwise-lda": "pairwise LDA", "algorithm-1": "Algorithm 1"}
BOTH |= {"algorithm-2": "Algorithm 2", "svm": "SVM"}
OURS_ONLY = {"gld": "GLD", "lda": "LDA"}


def parts(results: Results) -> dict[str, str]:
    """Return the parts of the page."""
    rows = []
    for name in results.datasets:
        cells = [name]
        for method in BOTH:
            ours = results.cells[name, method].accuracies.mean()
            cells.append(f"{ours:.1f} ({printed_figure(3, name, method):.1f})")
        cells += [f"{results.cells[name, m].accuracies.mean():.1f}" for m in OURS_ONLY]
        rows.append(tuple(cells))
    head = "|".join(["set", *BOTH.values(), *OURS_ONLY.values()])
    return {"table 3": section_table(head, rows)}


def draw(results: Results) -> bytes:
    """Return the picture: our accuracies against the printed ones, as PNG."""
    figure, panels = canvas(4.2)
    panel = panels[0, 0]
    styles = {"pairwise-lda": (PEER, "s"), "algorithm-1": (OURS, "o")}
    styles["algorithm-2"] = ("#e8a33d", "^")
    for method, (color, mark) in styles.items():
        printed = [printed_figure(3, name, method) for name in results.datasets]
        ours = [
            results.cells[name, method].accuracies.mean() for name in results.datasets
        ]
        panel.plot(printed, ours, mark, color=color, label=BOTH[method])
    for name in ("D1", "D2"):
        place = printed_figure(3, name, "algorithm-1")
        ours = results.cells[name, "algorithm-1"].accuracies.mean()
        panel.annotate(name, (place, ours), xytext=(7, -4), textcoords="offset points")
    panel.axline((60, 60), slope=1, color="0.3", linewidth=0.9)
    panel.set(xlabel="accuracy in % as printed", ylabel="accuracy in %, ours")
    panel.legend(frameon=False, fontsize=9)
    return png(figure)


if __name__ == "__main__":
    study = read_results(FOLDER)
    publish("paper", parts(study), {"paper.png": draw(study)})
