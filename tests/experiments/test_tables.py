"""Tables 2 to 4 against figures computed here in another way; ranks; file errors."""

import re
from statistics import mean, median, stdev

import numpy as np
import pytest
from scipy import stats

from helpers.study import METHODS, SIZES, WITH_ERROR, make_rows, write_run
from heterolda.experiments import paper
from heterolda.experiments.ranks import compare_ranks, critical_difference
from heterolda.experiments.results import read_results
from heterolda.experiments.tables import make_table, render_table


@pytest.fixture
def rows(rng):
    return make_rows(rng)


@pytest.fixture
def read(tmp_path):
    """Results of some rows."""
    return lambda rows: read_results(write_run(tmp_path / "run", rows))


def figures(results, table):
    """The figures of each data set and method that has any, by headings of lines."""
    found = {}
    for dataset, lines in make_table(results, table).rows.items():
        for line in lines:
            for method, value in line.figures.items():
                found.setdefault((dataset, method), {})[line.heading] = value
    return found


def of(rows, *key):
    return [row for row in rows if tuple(row[: len(key)]) == key]


def test_the_papers_figures_are_quoted():
    """One figure of each table; all tables name the same data sets."""
    for table, dataset, method, figure in [
        (2, "zernike", "r-hld-2", 0.0048),
        (3, "wine_white", "c-hld", 46.59),
        (4, "shuttle", "svm", 4623.138),
        (2, "D1", "algorithm-2", None),  # Table 2 has no such column
        (3, "iris", "pairwise-lda", None),
        (3, "D2-0.53", "algorithm-1", 78.37),
    ]:
        assert paper.printed_figure(table, dataset, method) == figure
    for number, columns in ((1, 5), (2, 5), (3, 7), (4, 7)):
        table = paper.TABLES[number]
        assert list(table) == list(paper.TABLES[1])
        assert {len(row) for row in table.values()} == {columns}


def test_table_2_has_percentages_and_the_papers_factor(rows, read):
    table = figures(read(rows), 2)
    assert set(table) == {(d, m) for d in SIZES for m in WITH_ERROR}
    for (dataset, method), record in table.items():
        p_e = mean(float(row[7]) for row in of(rows, dataset, method))
        scaled = 1000 / SIZES[dataset] * p_e
        assert record["ours, %"] == pytest.approx(100 * p_e)
        printed = paper.printed_figure(2, dataset, method)
        if dataset in paper.TABLES[2]:
            assert record["ours x 10/n"] == pytest.approx(scaled)
        assert record.get("paper") == printed
        if printed is not None:
            assert record["difference"] == pytest.approx(scaled - printed)


def test_table_3_has_means_and_deviations_of_trials(rows, read):
    table = figures(read(rows), 3)
    assert set(table) == {(d, m) for d in SIZES for m in METHODS}
    for (dataset, method), record in table.items():
        trials = []
        for trial in sorted({row[2] for row in of(rows, dataset, method)}):
            folds = of(rows, dataset, method, trial)
            trials.append(100 * sum(r[6] for r in folds) / sum(r[5] for r in folds))
        assert record["ours"] == pytest.approx(mean(trials))
        assert ("std. dev." in record) == (len(trials) > 1)
        if len(trials) > 1:
            assert record["std. dev."] == pytest.approx(stdev(trials))
    record = table["liver", "algorithm-1"]
    assert record["difference"] == pytest.approx(record["ours"] - 63.77)


def test_table_4_is_the_median_of_ratios_of_the_same_fold(rows, read):
    table = figures(read(rows), 4)
    for (dataset, method), record in table.items():
        lda = {(r[2], r[3]): float(r[8]) for r in of(rows, dataset, "pairwise-lda")}
        ratios = [float(r[8]) / lda[r[2], r[3]] for r in of(rows, dataset, method)]
        assert record["ours"] == pytest.approx(median(ratios))
    record = table["liver", "svm"]
    assert record["paper"] == pytest.approx(2.673 / 0.001)
    assert record["ours / paper"] == pytest.approx(record["ours"] / 2673)
    assert table["D2", "pairwise-lda"]["ours"] == 1
    # Without pairwise LDA, times compare with the first method.
    for peer, others in (("c-hld", METHODS[1:]), ("gld", METHODS[5:])):
        results = read([row for row in rows if row[1] in others])
        record = figures(results, 4)["D2", peer]
        assert record["ours"] == 1
        assert ("paper" in record) == (peer == "c-hld")
        assert f"as a ratio to {peer}" in render_table(results, 4)


@pytest.mark.parametrize(("table", "choose", "digits"), [(2, min, 3), (3, max, 2)])
def test_best_figures_are_marked_in_every_format(rows, read, table, choose, digits):
    for row in rows:  # ties in the printed digits are all best
        if row[1] in ("c-hld", "algorithm-1"):
            row[6], row[7] = row[5], repr(0.001 + 1e-8 * (row[1] == "algorithm-1"))
    results = read(rows)
    text, markdown = (render_table(results, table, f) for f in ("text", "markdown"))
    made = make_table(results, table)
    for dataset, (main, *others) in made.rows.items():
        goal = choose(main.figures.values())
        assert {"c-hld", "algorithm-1"} <= made.best[dataset]
        assert f" {goal:.{digits}f}*" in text
        assert f"| **{goal:.{digits}f}** |" in markdown
        for line in others:
            if line.heading == "difference":
                for value in line.figures.values():
                    assert f"| {value:+.{digits + (table == 2)}f} |" in markdown


def test_figures_of_fewer_folds_are_marked_and_never_best(rows, read):
    cut = ["liver", "algorithm-2", 2]
    rows = [row for row in rows if not (row[:3] == cut and row[3] > 1)]
    rows = [row for row in rows if row[:2] != ["iris", "svm"]]
    for row in of(rows, *cut[:2]):
        row[6] = row[5]  # without a fault, but not on all folds
    results = read(rows)
    text = " ".join(render_table(results, 3).split())
    assert "algorithm-2 on liver (12 of 15), svm on wine_white (5 of 15)." in text
    assert "100.00†" in text
    made = make_table(results, 3)
    assert made.rows["liver"][0].figures["algorithm-2"] == 100
    assert "algorithm-2" not in made.best["liver"]
    *_, entry = next(row for row in made.body(str) if row[0] == "iris")[:7]
    assert entry == "–"


def test_a_wide_table_is_split_into_panels(rows, read):
    more = [
        [row[0], f"another-method-{k}", *row[2:]]
        for row in rows
        for k in range(6)
        if row[1] == "pairwise-lda"
    ]
    results = read(rows + more)
    text = render_table(results, 3)
    assert text.count("another-method-5") == 1
    assert len(re.findall(r"^iris +ours", text, re.MULTILINE)) == 3
    assert max(map(len, text.splitlines())) <= 120
    with pytest.raises(ValueError, match=r"table must be one of \[2, 3, 4\], got 5"):
        render_table(results, 5, "text")
    with pytest.raises(ValueError, match=r"format must be one of .*, got 'latex'"):
        render_table(results, 2, "latex")


def test_a_corrupt_line_is_named(tmp_path, rows):
    run = write_run(tmp_path / "run", rows)
    good = (run / "results.csv").read_text()
    for line, message in [
        ("D1,lda,0,0,90,10", "it has 6 fields instead of 11"),
        ("D1,lda,0,0,90,ten,9,,0.1,0.1,", "'ten'"),
        ("D1,lda,0,0,90,10,11,,0.1,0.1,", "out of range"),
        ("D1,lda,0,0,90,10,9,,-1,0.1,", "out of range"),
        ("D1,lda,0,0,90,10,9,1.5,0.1,0.1,", "out of range"),
        (",lda,0,0,90,10,9,,0.1,0.1,", "names no data set"),
        ("D2,gld,0,0,4800,1200,9,,0.1,0.1,", "the same fold is on an earlier line"),
    ]:
        (run / "results.csv").write_text(f"{good}{line}\n")
        place = f"results.csv, line {len(rows) + 2}: .*"
        with pytest.raises(ValueError, match=place + message):
            read_results(run)
    (run / "results.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match=r"results.csv: not a text file"):
        read_results(run)
    with pytest.raises(FileNotFoundError, match=r"'.*nowhere' does not exist"):
        read_results(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match=r"run.json does not exist: name a"):
        read_results(tmp_path)


# Demsar (2006), Table 6: ranks of C4.5, C4.5+m, C4.5+cf and C4.5+m+cf on 14 data sets.
DEMSAR = np.array(
    """
    4 3 2 1;  1 2 3 4;  4 1 2 3;  4 1 3 2;  4 2 3 1;  1 2.5 4 2.5;  3 2 4 1;
    2.5 2.5 4 1;  4 3 2 1;  2.5 2.5 2.5 2.5;  4 2.5 1 2.5;  3 2 4 1;  4 1 2 3;  3 1 4 2
    """.replace(";", " ").split(),
    dtype=float,
).reshape(14, 4)


def test_friedman_and_nemenyi_agree_with_demsar():
    names = ["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"]
    found = compare_ranks(names, -DEMSAR, alpha=0.10)
    assert found.methods == ["C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5"]
    np.testing.assert_allclose(found.ranks, [1.964, 2.000, 2.893, 3.143], atol=5e-4)
    # The paper's 9.28 has no correction for ties: (t^3 - t) sums to 3 * 6 + 60.
    uncorrected = found.chi_square * (1 - 78 / (14 * 4 * 15))
    assert uncorrected == pytest.approx(9.28, abs=0.01)
    assert found.p_value == pytest.approx(stats.chi2.sf(found.chi_square, 3))
    assert found.critical_difference == pytest.approx(1.12, abs=0.005)
    # C4.5 is worse than both variants with m; C4.5+cf differs from neither.
    assert found.cliques == [(0, 2), (2, 3)]


def test_critical_values_are_those_of_demsars_table_5():
    for alpha, values in {
        0.05: [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164],
        0.10: [1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920],
    }.items():
        for k, q in enumerate(values, start=2):
            found = critical_difference(k, 10, alpha) / np.sqrt(k * (k + 1) / 60)
            assert found == pytest.approx(q, abs=1.1e-3)


def test_comparisons_of_equals_of_two_and_of_too_few():
    tied = compare_ranks(list("abc"), np.ones((4, 3)))
    assert (tied.chi_square, tied.p_value, tied.cliques) == (0.0, 1.0, [(0, 2)])
    assert np.isnan(compare_ranks(list("ab"), -DEMSAR[:, :2]).p_value)
    with pytest.raises(ValueError, match="2 data sets and 2 methods, got 1 and"):
        compare_ranks(list("abcd"), DEMSAR[:1])
