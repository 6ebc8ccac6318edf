"""Tables 2 to 4 against figures computed here in another way; ranks; file errors."""

import re
from statistics import mean, median, stdev

import numpy as np
import pytest
from scipy import stats

from helpers.study import (
    METHODS,
    SIZES,
    WITH_ERROR,
    make_rows,
    write_run,
)
from heterolda.experiments import paper
from heterolda.experiments.ranks import compare_ranks, critical_difference
from heterolda.experiments.results import read_results
from heterolda.experiments.tables import make_table, render_table


@pytest.fixture
def rows(rng):
    return make_rows(rng)


@pytest.fixture
def results(tmp_path, rows):
    return read_results(write_run(tmp_path / "run", rows))


def figures(results, table):
    """The figures of each data set and method that has any, by the keys of lines."""
    found = {}
    for row in make_table(results, table).rows:
        for key, values in row.figures.items():
            for method, value in values.items():
                found.setdefault((row.dataset, method), {})[key] = value
    return found


def rows_of(results, table):
    return {row.dataset: row for row in make_table(results, table).rows}


def of(rows, dataset, method):
    return [row for row in rows if row[:2] == [dataset, method]]


def trial_accuracies(rows, dataset, method):
    found = of(rows, dataset, method)
    trials = sorted({row[2] for row in found})
    return [
        100
        * sum(row[6] for row in found if row[2] == trial)
        / sum(row[5] for row in found if row[2] == trial)
        for trial in trials
    ]


def test_the_papers_figures_are_quoted():
    """Spot checks of each printed table, by the paper's rows."""
    assert paper.printed_figure(2, "liver", "GLD") == 0.9838
    assert paper.printed_figure(2, "zernike", "R-HLD-2") == 0.0048
    assert paper.printed_figure(3, "wine_white", "C-HLD") == 46.59
    assert paper.printed_figure(3, "pendigits", "SVM") == 97.84
    assert paper.printed_figure(4, "shuttle", "SVM") == 4623.138
    assert paper.printed_figure(4, "liver", "R-HLD-1") == 0.1415
    assert paper.printed_figure(2, "D1", "LNS") is None  # Table 2 has no such column
    assert paper.printed_figure(3, "iris", "LDA") is None
    assert paper.printed_figure(3, "letters", "GLD-global") is None
    assert paper.printed_figure(3, "D2-0.53", "GLD") == 78.37
    for number, columns in ((1, 5), (2, 5), (3, 7), (4, 7)):
        table = paper.TABLES[number]
        assert list(table) == list(paper.TABLES[1])
        assert {len(row) for row in table.values()} == {columns}


def test_table_2_has_percentages_and_the_papers_factor(rows, results):
    table = figures(results, 2)
    assert set(table) == {(d, m) for d in SIZES for m in WITH_ERROR}
    for (dataset, method), record in table.items():
        p_e = mean(float(row[7]) for row in of(rows, dataset, method))
        n = SIZES[dataset]
        assert record["percent"] == pytest.approx(100 * p_e)
        assert record["factor"] == pytest.approx(1000 / n * p_e)
        if dataset in paper.TABLES[2] and method != "GLD-global":
            printed = paper.printed_figure(2, dataset, method)
            assert record["paper"] == printed
            assert record["difference"] == pytest.approx(1000 / n * p_e - printed)
        else:
            assert record.keys().isdisjoint({"paper", "difference"})


def test_table_3_has_means_and_deviations_of_trials(rows, results):
    table = figures(results, 3)
    assert set(table) == {(d, m) for d in SIZES for m in METHODS}
    for (dataset, method), record in table.items():
        trials = trial_accuracies(rows, dataset, method)
        assert record["accuracy"] == pytest.approx(mean(trials))
        if len(trials) > 1:
            assert record["deviation"] == pytest.approx(stdev(trials))
        else:
            assert "deviation" not in record
    gld = table["liver", "GLD"]
    assert gld["difference"] == pytest.approx(gld["accuracy"] - 63.77)


def test_table_4_is_the_median_of_ratios_of_the_same_fold(rows, results):
    table = figures(results, 4)
    for (dataset, method), record in table.items():
        lda = {(r[2], r[3]): float(r[8]) for r in of(rows, dataset, "LDA")}
        ratios = [float(r[8]) / lda[r[2], r[3]] for r in of(rows, dataset, method)]
        assert record["ratio"] == pytest.approx(median(ratios))
        if dataset == "liver" and method == "SVM":
            assert record["paper"] == pytest.approx(2.673 / 0.001)
            assert record["quotient"] == pytest.approx(record["ratio"] / 2673)
    assert table["D2", "LDA"]["ratio"] == 1


def test_without_lda_there_are_no_ratios(tmp_path, rows):
    rows = [row for row in rows if row[1] != "LDA"]
    run = write_run(tmp_path / "run", rows)
    assert figures(read_results(run), 4) == {}
    text = render_table(read_results(run), 4, "text")
    shown = " ".join(text.split())
    assert "No results: Pairwise LDA on D2, Pairwise LDA on liver" in shown


@pytest.mark.parametrize("table", [2, 3, 4])
def test_best_figures_are_marked_in_every_format(rows, results, table):
    key = {2: "percent", 3: "accuracy", 4: "ratio"}[table]
    digits = {2: 3, 3: 2, 4: None}[table]
    found = rows_of(results, table)
    for row in found.values():
        values = row.figures[key]
        goal = max(values.values()) if table == 3 else min(values.values())
        assert {m for m, v in values.items() if v == goal} <= row.best
        if digits is None:
            continue
        printed = f"{goal:.{digits}f}"
        mark = "†?"
        assert re.search(rf" {printed}\*{mark}", render_table(results, table, "text"))
        markdown = render_table(results, table, "markdown")
        assert re.search(rf"\| \*\*{printed}\*\*{mark} \|", markdown)
        assert rf"\textbf{{{printed}}}" in render_table(results, table, "latex")
    # The paper's own bold figure, here the best of the methods that the run has.
    assert any(row.paper_best for row in found.values())


def test_ties_in_the_printed_digits_are_all_best(tmp_path, rows):
    for row in rows:
        if row[1] in ("C-HLD", "GLD"):
            row[7] = repr(0.001 + 1e-8 * (row[1] == "GLD"))
    table = make_table(read_results(write_run(tmp_path / "run", rows)), 2)
    for row in table.rows:
        assert {"C-HLD", "GLD"} <= row.best
        assert "GLD-global" not in row.best


def test_incomplete_results_are_marked_and_never_best(tmp_path, rows):
    rows = [row for row in rows if not (row[:3] == ["liver", "LNS", 2] and row[3] > 1)]
    rows = [row for row in rows if row[:2] != ["iris", "SVM"]]
    for row in rows:
        if row[:2] == ["liver", "LNS"]:
            row[6] = row[5]  # without a fault, but not on all folds
    results = read_results(write_run(tmp_path / "run", rows))
    text = " ".join(render_table(results, 3, "text").split())
    assert "‡ Algorithms 1 + 2 on liver: incomplete, 12 of 15 folds." in text
    assert "– No results: SVM on iris." in text
    row = rows_of(results, 3)["liver"]
    assert (row.figures["accuracy"]["LNS"], row.marks["LNS"]) == (100, "‡")
    assert "LNS" not in row.best
    assert "100.00‡" in text


def test_text_fits_a_terminal_and_latex_is_balanced(results):
    for table in (2, 3, 4):
        text = render_table(results, table, "text")
        assert max(map(len, text.splitlines())) <= 100
        latex = render_table(results, table, "latex")
        assert latex.count("{") == latex.count("}")
        widths = {
            line.count("&") for line in latex.splitlines() if line.endswith("\\\\")
        }
        assert len(widths) == 1
        assert not re.search(r"(?<!\\)[_%#]", latex)


def test_a_wide_table_is_split_into_panels(tmp_path, rows):
    more = [
        [row[0], f"another-method-{k}", *row[2:]]
        for row in rows
        for k in range(6)
        if row[1] == "LDA"
    ]
    text = render_table(
        read_results(write_run(tmp_path / "run", rows + more)), 3, "text"
    )
    assert max(map(len, text.splitlines())) <= 100
    assert text.count("another-method-5") == 1 + text.count("on D2: another-method-5")


def test_unknown_tables_and_formats_are_refused(results):
    with pytest.raises(ValueError, match=r"table must be one of \[2, 3, 4\], got 5"):
        render_table(results, 5, "text")
    with pytest.raises(
        ValueError, match=r"format must be one of .*'latex'.*, got 'pdf'"
    ):
        render_table(results, 2, "pdf")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("D1,LDA,0,0,90,10", "it has 6 fields instead of 11"),
        ("D1,LDA,0,0,90,ten,9,,0.1,0.1,", "n_test is 'ten', not a number"),
        ("D1,LDA,0,0,90,10,11,,0.1,0.1,", "11 of 10 points are correct"),
        ("D1,LDA,0,0,90,10,9,,-1,0.1,", "a time is negative or not finite"),
        ("D1,LDA,0,0,90,10,9,1.5,0.1,0.1,", "bayes_error is 1.5, not a fraction"),
        ("D1,LDA,-1,0,90,10,9,,0.1,0.1,", "a count is negative"),
        (",LDA,0,0,90,10,9,,0.1,0.1,", "names no data set"),
        ("D2,LDA,0,0,4800,1200,9,,0.1,0.1,", "the same fold stands on an earlier line"),
    ],
)
def test_a_corrupt_line_is_named(tmp_path, rows, line, message):
    run = write_run(tmp_path / "run", rows)
    with open(run / "results.csv", "a", encoding="utf-8") as file:
        file.write(f"{line}\n")
    with pytest.raises(
        ValueError, match=rf"results.csv, line {len(rows) + 2}: .*{message}"
    ):
        read_results(run)


def test_foreign_and_missing_files_are_refused(tmp_path, rows):
    with pytest.raises(FileNotFoundError, match=r"'.*nowhere' does not exist"):
        read_results(tmp_path / "nowhere")
    with pytest.raises(
        FileNotFoundError, match=r"run.json does not exist: name a folder"
    ):
        read_results(tmp_path)
    run = write_run(tmp_path / "run", rows)
    (run / "results.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match=r"results.csv: not a text file"):
        read_results(run)


# Demsar (2006), Table 6: ranks of C4.5, C4.5+m, C4.5+cf and C4.5+m+cf on 14 data sets.
DEMSAR = np.array(
    [
        [4, 3, 2, 1],
        [1, 2, 3, 4],
        [4, 1, 2, 3],
        [4, 1, 3, 2],
        [4, 2, 3, 1],
        [1, 2.5, 4, 2.5],
        [3, 2, 4, 1],
        [2.5, 2.5, 4, 1],
        [4, 3, 2, 1],
        [2.5, 2.5, 2.5, 2.5],
        [4, 2.5, 1, 2.5],
        [3, 2, 4, 1],
        [4, 1, 2, 3],
        [3, 1, 4, 2],
    ]
)
NAMES = ["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"]


def test_friedman_and_nemenyi_agree_with_demsar():
    found = compare_ranks(NAMES, -DEMSAR, alpha=0.10)
    assert found.methods == ["C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5"]
    np.testing.assert_allclose(found.ranks, [1.964, 2.000, 2.893, 3.143], atol=5e-4)
    # The paper's 9.28 has no correction for ties: (t^3 - t) sums to 3 * 6 + 60.
    uncorrected = found.chi_square * (1 - 78 / (14 * 4 * 15))
    assert uncorrected == pytest.approx(9.28, abs=0.01)
    assert found.critical_difference == pytest.approx(1.12, abs=0.005)
    # C4.5 is worse than both variants with m; C4.5+cf cannot be told from either.
    assert found.cliques == [(0, 2), (2, 3)]


@pytest.mark.parametrize(
    ("alpha", "values"),
    [
        (0.05, [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]),
        (0.10, [1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920]),
    ],
)
def test_critical_values_are_those_of_demsars_table_5(alpha, values):
    for k, q in enumerate(values, start=2):
        found = critical_difference(k, 10, alpha) / np.sqrt(k * (k + 1) / 60)
        assert found == pytest.approx(q, abs=1.1e-3)


def test_comparison_agrees_with_scipy(rng):
    scores = rng.normal(size=(9, 5)) + np.arange(5)
    found = compare_ranks(list("abcde"), scores)
    statistic, p_value = stats.friedmanchisquare(*scores.T)
    assert (found.chi_square, found.p_value) == pytest.approx((statistic, p_value))
    assert found.ranks.sum() == pytest.approx(15)
    assert (
        found.methods[0] == "abcde"[np.argmin(stats.rankdata(-scores, axis=1).sum(0))]
    )
    for first, last in found.cliques:
        assert found.ranks[last] - found.ranks[first] < found.critical_difference
    tied = compare_ranks(list("abc"), np.ones((4, 3)))
    assert (tied.chi_square, tied.p_value, tied.cliques) == (0.0, 1.0, [(0, 2)])
    assert np.isnan(compare_ranks(list("ab"), scores[:, :2]).p_value)
    with pytest.raises(
        ValueError, match="at least 2 data sets and 2 methods, got 1 and"
    ):
        compare_ranks(list("abcde"), scores[:1])
