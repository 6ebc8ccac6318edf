"""The accuracy page says what made-up rows say, by naive computations of it."""

import dataclasses
import itertools
import math
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import wilcoxon

from benchmarks.accuracy import __main__ as command
from benchmarks.accuracy import report, tables
from benchmarks.accuracy.__main__ import main
from benchmarks.accuracy.calibration import calibration_error, perfect_error
from benchmarks.accuracy.comparisons import (
    CONTENDERS,
    LOSS,
    Comparisons,
    covers,
    joined,
    p_value,
)
from benchmarks.accuracy.methods import METHODS, PEERS, RECOMMENDED
from benchmarks.accuracy.picture import pictures
from benchmarks.accuracy.report import pages
from benchmarks.accuracy.sets import SET_ASIDE, SETS
from benchmarks.accuracy.study import Score, packed, shuffles
from benchmarks.accuracy.verdicts import verdicts
from helpers.pages import ordered
from heterolda.experiments.folder import RunFolder
from heterolda.experiments.results import Results

FEW_SETS = (
    "liver",
    "shuttle",
    "wine",
    "haberman",
    "htru2",
    "biomed",
    "ecoli",
    "twonorm",
)
FEW_METHODS = (RECOMMENDED, "GLD", "LDA", "ridge", "SVC-tuned+power", "QDA")
TIMED = "OvO-LinearSVC-tuned"


def made(hits, sets=FEW_SETS, methods=FEW_METHODS, folds=2, trials=5, **changes):
    """Results with so many hits of 100 test rows, by set, method, trial and fold."""
    rows, plan = [], {}
    for dataset, method in itertools.product(sets, methods):
        n = min(trials, shuffles(dataset, method))
        if n:
            plan.setdefault(dataset, {})[method] = n
        for trial, fold in itertools.product(range(n), range(folds)):
            key = dataset, method, trial, fold
            values = {"log_loss": math.nan, "n_warnings": 0, "forecasts": ""} | {
                name: change(*key) for name, change in changes.items()
            }
            claimed, seconds = (0.3, 1.0) if method == RECOMMENDED else (math.nan, 2.0)
            figures = hits(*key), claimed, seconds, 0.1, math.nan
            rows.append(Score(*key, 100 * (folds - 1), 100, *figures, **values))
    run = {"folds": folds, "seed": 0, "plan": plan, "versions": {"numpy": "0.1"}}
    return Results(Path("made"), tuple(rows), run)


def drawn(low=60, seed=0):
    """Hits at random, few different ones, so that there are ties."""
    random = np.random.default_rng(seed)
    return lambda *key: int(random.integers(low, low + 12))


def page(c):
    """Both pages as one text."""
    return "\n".join(pages(c).values())


def without(results, wanted):
    """The results without the rows that a function picks."""
    rows = tuple(row for row in results.rows if not wanted(row))
    return dataclasses.replace(results, rows=rows)


def totals(results, dataset, method):
    """Hits of each whole shuffle, by a loop."""
    found = {}
    for row in results.rows:
        if (row.dataset, row.method) == (dataset, method):
            found.setdefault(row.trial, []).append(row.n_correct)
    folds = results.run["folds"]
    return {trial: sum(hits) for trial, hits in found.items() if len(hits) == folds}


def gap(results, dataset, first, second):
    """Points of one method above another on the shuffles of both; None without any."""
    ours, theirs = (totals(results, dataset, m) for m in (first, second))
    both = ours.keys() & theirs.keys()
    if not both:
        return None
    n = 100 * results.run["folds"] * len(both)
    return Fraction(100 * sum(ours[t] - theirs[t] for t in both), n)


@pytest.fixture(scope="module")
def patchy():
    """Some results missing: cells, and folds of shuffles."""
    results = made(drawn())
    return without(
        results,
        lambda r: (
            (r.dataset, r.method) in {("wine", "ridge"), ("htru2", RECOMMENDED)}
            or (r.method, r.trial, r.fold) == ("LDA", 1, 0)
        ),
    )


def test_ranks_are_those_of_common_shuffles(patchy):
    c = Comparisons(patchy)
    ranks = c.ranks(list(FEW_METHODS), c.datasets)
    for dataset, row in zip(c.datasets, ranks, strict=True):
        for method, rank in zip(FEW_METHODS, row, strict=True):
            gaps = [gap(patchy, dataset, method, m) for m in FEW_METHODS if m != method]
            gaps = [x for x in gaps if x is not None]
            better, equal = sum(x < 0 for x in gaps), sum(x == 0 for x in gaps)
            there = totals(patchy, dataset, method)
            assert_allclose(rank, 1 + better + equal / 2 if there else math.nan)
    assert np.sum(ranks % 1 == 0.5) > 0  # there are ties
    means = c.mean_ranks(c.datasets)
    assert list(means.values()) == sorted(means.values())
    assert set(means) == {RECOMMENDED, "LDA", "ridge", "SVC-tuned+power"}


def test_peers_are_compared_on_the_sets_that_both_have(patchy):
    c = Comparisons(patchy)
    found = c.rivals(c.datasets)
    assert set(found) == {"LDA", "ridge", "SVC-tuned+power"}
    ranks = c.ranks(CONTENDERS, c.datasets)
    for peer, a in found.items():
        gaps = {d: gap(patchy, d, RECOMMENDED, peer) for d in c.datasets}
        both = [d for d, x in gaps.items() if x is not None]
        d = np.array([float(gaps[name]) for name in both])
        assert (a.sets, a.won, a.tied, a.lost) == (
            *(len(both), sum(d > 0), sum(d == 0), sum(d < 0)),
        )
        assert_allclose(a.points, d.mean())
        place = [c.datasets.index(name) for name in both]
        for k, method in enumerate((RECOMMENDED, peer)):
            own = [c.mean(name, method) for name in both]
            assert_allclose(a.means[k], np.mean(own))
            column = ranks[place, CONTENDERS.index(method)]
            assert_allclose(a.ranks[k], column.mean())
    assert found["ridge"].sets == 6  # neither wine nor htru2
    text = page(c)
    assert "Missing, without a whole shuffle: " in text
    assert "wine (ridge)" in text


def test_accuracy_is_that_of_whole_shuffles(patchy):
    c = Comparisons(patchy)
    hits = totals(patchy, "liver", "LDA")
    assert sorted(hits) == [0, 2, 3, 4]
    assert c.n_shuffles("liver", "LDA") == 4
    assert_allclose(c.mean("liver", "LDA"), np.mean(list(hits.values())) / 2)
    assert f"| {c.mean('liver', 'LDA'):.1f} [4] |" in page(c)


def test_standard_errors_are_corrected_for_shared_rows():
    results = made(drawn(), folds=4)
    c = Comparisons(results)
    for dataset in ("liver", "shuttle"):
        hits = {(r.method, r.trial, r.fold): r.n_correct for r in results.rows
                if r.dataset == dataset}  # fmt: skip
        d = [x - hits["LDA", t, f] for (m, t, f), x in hits.items() if m == RECOMMENDED]
        assert len(d) == 4 * shuffles(dataset, "LDA")
        variance = sum((x - sum(d) / len(d)) ** 2 for x in d) / (len(d) - 1)
        expected = math.sqrt(variance * (1 / len(d) + 100 / 300))
        assert_allclose(c.standard_error(dataset, "LDA"), expected)
        lead = c.lead(dataset, ["LDA"])
        assert_allclose(lead.points, float(gap(results, dataset, RECOMMENDED, "LDA")))
        assert lead.is_loss == (-lead.points > 2 * expected)


def test_the_best_peer_is_the_closest_one(patchy):
    c = Comparisons(patchy)
    for dataset, lead in c.leads(list(FEW_METHODS[2:5])).items():
        gaps = {m: gap(patchy, dataset, RECOMMENDED, m) for m in FEW_METHODS[2:5]}
        gaps = {m: x for m, x in gaps.items() if x is not None}
        assert_allclose(lead.points, float(min(gaps.values())))
        assert gaps[lead.peer] == min(gaps.values())
    assert "htru2" not in c.leads(PEERS)


@pytest.mark.parametrize("n", [1, 5, 13, 40])
def test_the_paired_test_is_scipys(n):
    d = np.random.default_rng(n).normal(0.3, 1, n)
    for sign, side in ((1, "greater"), (-1, "less")):
        expected = wilcoxon(d, alternative=side, method="exact").pvalue
        assert_allclose(p_value(sign * d), expected, rtol=1e-9)


def test_the_paired_test_is_exact_with_ties():
    d = np.array([0.5, -0.5, 0.5, 1, 2, -1, 0, 0, 3])
    left = d[d != 0]
    ranks = [sum(abs(left) < abs(x)) + (sum(abs(left) == abs(x)) + 1) / 2 for x in left]
    sums = [
        sum(r for r, sign in zip(ranks, signs, strict=True) if sign)
        for signs in itertools.product([0, 1], repeat=len(left))
    ]
    own = sum(r for r, x in zip(ranks, left, strict=True) if x > 0)
    assert_allclose(p_value(d), np.mean(np.array(sums) >= own))
    assert p_value(np.zeros(4)) == 1


def test_the_calibration_error_is_that_of_ten_bins():
    random = np.random.default_rng(0)
    top = random.uniform(0.5, 1, 97)
    hits = random.random(97) < top - 0.1
    order = sorted(range(97), key=lambda k: top[k])
    error = 0.0
    for k in range(10):
        rows = order[97 * k // 10 : 97 * (k + 1) // 10]
        assert len(rows) in (9, 10)
        gap = np.mean([top[r] for r in rows]) - np.mean([hits[r] for r in rows])
        error += abs(gap) * len(rows) / 97
    assert_allclose(calibration_error(top, hits), error)
    perfect = np.mean(
        [calibration_error(top, random.random(97) < top) for _ in range(400)]
    )
    assert_allclose(perfect_error(top), perfect, rtol=0.1)
    assert calibration_error(np.array([0.75, 0.75]), np.array([True, False])) == 0.25


def test_forecasts_of_all_folds_and_shuffles_are_one():
    """Each fold alone would have a large error, and their mean would too."""
    top = np.linspace(0.6, 1, 100)

    def forecasts(dataset, method, trial, fold):
        return packed(top, np.full(100, fold == 0)) if method == RECOMMENDED else ""

    c = Comparisons(made(drawn(), forecasts=forecasts))
    both = np.concatenate([top, top])
    hits = np.repeat([True, False], 100)
    error = c.calibration_errors["shuttle", RECOMMENDED]
    assert_allclose(error, calibration_error(both, hits), atol=1e-4)
    assert c.calibration_errors["liver", RECOMMENDED] == pytest.approx(error, abs=1e-3)
    assert set(c.perfect_errors) == set(FEW_SETS)
    (row,) = [x for k, x in verdicts(c).items() if "calibration" in k]
    assert all(cell.startswith("**not met**") for cell in row)
    assert f"| shuttle | {c.perfect_errors['shuttle']:.3f} | 0.300 |" in page(c)


def test_log_loss_is_ranked_among_those_that_have_any():
    losses = {RECOMMENDED: 0.2, "LDA": 0.3, "GLD": 0.1}
    c = Comparisons(made(drawn(), log_loss=lambda d, m, *_: losses.get(m, math.nan)))
    assert c.mean_ranks(c.datasets, LOSS) == {RECOMMENDED: 1, "LDA": 2}
    assert_allclose(c.mean("wine", "LDA", LOSS), 0.3)
    (row,) = [x for k, x in verdicts(c).items() if "log loss" in k]
    assert row == ["met so far: 1.00; LDA has 2.00"] * 3


@pytest.mark.parametrize(
    ("loss", "spread", "met"), [(1, 0, True), (2, 0, False), (2, 20, True)]
)
def test_a_loss_must_be_large_and_clear(loss, spread, met):
    def hits(dataset, method, trial, fold):
        behind = loss if (dataset, method) == ("wine", RECOMMENDED) else 0
        return 80 - behind + (spread * (-1) ** fold if behind else 0)

    c = Comparisons(made(hits))
    (row,) = [x for k, x in verdicts(c).items() if "untuned" in k]
    cell = row[list(c.halves).index("study and scikit-learn")]
    assert cell.startswith("met" if met else "**not met**")
    assert "wine" in cell
    assert bool(c.loss("wine")) == (not spread)


def test_the_page_of_the_full_protocol_decides(monkeypatch):
    """Ours is best everywhere but on two small sets that are set aside."""

    def hits(dataset, method, trial, fold):
        if method == RECOMMENDED:
            return 70 if dataset in ("biomed", "ecoli") else 90
        return {"SVC": 80, "QDA": 95}.get(method, 60)

    monkeypatch.setitem(report.REASONS, "ecoli", "classes of two rows")
    c = Comparisons(made(hits, SETS, METHODS, trials=1))
    assert not c.missing(list(METHODS))
    for one in pages(c).values():
        ordered(one)
    text = page(c)
    assert "so far" not in text
    assert "issing" not in text
    assert "not decided" in text  # the probabilities
    assert "| 1.12; SVC has 1.88" in text.replace("met: ", "")
    assert "and first by mean rank (1.1; the best peer, SVC, has 1.9)" in text
    assert "picked after the fact, is ahead on 2 of 51 sets" in text
    assert "errors on 2: biomed (-10.0), ecoli (-10.0)." in text
    assert "| ecoli † | -10.00 ± 0.00 | SVC | -10.00 ± 0.00 | SVC | classes of" in text
    assert "| SVC | 15/0/2, +7.65, .001/1 |" in text  # (1 + 17 + 136) / 2^17
    assert "Left out, because they fail or take too long: plant_margin" in text
    found = verdicts(c)
    assert [row[0][:3] for row in found.values()][:4] == ["met"] * 4
    times, claims = list(found.values())[-2:]
    assert "0.5" in times[0]
    right = np.mean([hits(d, RECOMMENDED, 0, 0) for d in SET_ASIDE])
    assert f"met: {right - 70:+.2f} ± " in claims[0]
    assert "## What it expects of itself" in text
    diagrams = c.rank_diagrams()
    assert diagrams["set aside"].n_datasets == 17
    assert diagrams["all"].methods[:2] == [RECOMMENDED, "SVC"]
    assert len(diagrams["all"].methods) == 11


def test_nothing_of_what_is_set_aside_is_on_a_development_page(monkeypatch):
    """Whatever happens there, the page and the pictures stay the same."""
    monkeypatch.setattr(
        tables, "published", lambda: {name: {"lda_R": "1"} for name in SETS}
    )
    forecasts = {"forecasts": lambda *key: packed([0.9, 0.8], [True, False])}
    hits, published = drawn(seed=1), made(drawn(seed=2), trials=1)
    results = made(hits, **forecasts)
    other = tuple(
        dataclasses.replace(
            row, n_correct=1, fit_seconds=9.0, n_warnings=7, log_loss=9.0, forecasts=""
        )
        if row.dataset in SET_ASIDE
        else row
        for row in results.rows
    )
    assert other != results.rows
    other = dataclasses.replace(results, rows=other)
    gone = without(results, lambda r: r.dataset in SET_ASIDE)
    pages = []
    for found, beside in ((results, published), (other, published), (gone, None)):
        c = Comparisons(found, True, beside)
        text = page(c)
        assert not [name for name in SET_ASIDE if name in text]
        if beside:
            assert "## Beside published figures" in text
            pages.append((text, pictures(c)))
    assert pages[0] == pages[1]
    assert page(Comparisons(results)) != page(Comparisons(other))


def test_published_figures_stand_beside_ours(monkeypatch):
    figures = {
        "set": "wine", "row_of_the_study": "wine", "lda_R": "80.1", "glm_R": "",
        "pda_caret": "81.2", "rda_R": "99", "qda_caret": "70", "best_of_183": "99.5",
    }  # fmt: skip
    monkeypatch.setattr(tables, "published", lambda: {"wine": figures, "liver": {}})
    ours = made(lambda *key: 83, ("wine", "liver"), (RECOMMENDED,), 4, 1)
    ours = without(ours, lambda r: (r.dataset, r.fold) == ("liver", 3))
    text = page(Comparisons(made(drawn()), published=ours))
    assert "| wine | 83.0 | +1.8 | 81.2 | pda_caret | 80.1 | 70.0 | 99.5 |" in text
    assert "above it on 1 of 1 sets, by +1.8 points" in text


def test_times_of_different_folders_do_not_compare():
    ours, peers = made(drawn(), methods=[RECOMMENDED]), made(drawn(), methods=[TIMED])
    apart, one = (
        Comparisons(joined([ours, peers])),
        Comparisons(made(drawn(), methods=[RECOMMENDED, TIMED])),
    )
    assert math.isnan(apart.time_ratio("wine", RECOMMENDED))
    assert one.time_ratio("wine", RECOMMENDED) == 0.5
    for c, word in ((apart, "not decided"), (one, "met so far: ratio at worst")):
        (row,) = [x for k, x in verdicts(c).items() if "time" in k]
        assert all(cell.startswith(word) for cell in row)


def test_versions_of_all_folders_are_named():
    ours, peers = (
        made(drawn(), methods=["GLD"]),
        made(drawn(), methods=["ridge", "LDA"]),
    )
    assert "\n- Versions: numpy 0.1.\n" in page(Comparisons(joined([ours, peers])))
    peers.run["versions"] = {"numpy": "0.2"}
    text = page(Comparisons(joined([ours, peers])))
    assert "\n- Versions of LDA, ridge: numpy 0.2.\n" in text
    assert "\n- Versions of GLD: numpy 0.1.\n" in text


def test_what_is_set_aside_may_have_peers_alone():
    results = made(drawn())
    peers = without(
        results, lambda r: r.dataset in SET_ASIDE and r.method in ("GLD", RECOMMENDED)
    )
    c = Comparisons(peers)
    text = page(c)
    assert "Over 5 sets it is " in text
    assert "On the 3 sets that were set aside" not in text
    assert [row[0] for row in verdicts(c).values()] == ["not decided"] * 9
    assert pictures(c)


def test_folders_can_be_joined():
    """Ours beside peers that were computed elsewhere, some shuffles only."""
    ours = made(lambda *key: 99, ["wine"], [RECOMMENDED], trials=1)
    parts = [ours, made(drawn())]
    assert Comparisons(joined(parts)).n_shuffles("wine", RECOMMENDED) == 5
    both = Comparisons(joined(parts, 1))
    assert {row.trial for row in both.rows} == {0}
    assert both.mean("wine", RECOMMENDED) == 99
    assert both.mean("wine", "LDA") < 99
    ours.run["seed"] = 1
    with pytest.raises(ValueError, match="do not compare"):
        joined(parts)


@pytest.fixture
def folder(tmp_path):
    """Results in a folder, and those of the published protocol in it."""
    studies = {
        "": made(drawn()),
        "published": made(drawn(), ["wine"], [RECOMMENDED], 4, 1),
    }
    for name, results in studies.items():
        run = results.run | {"command": "made", "machine": {}}
        with RunFolder(tmp_path / "out" / name, run, Score) as out:
            out.append(list(results.rows))
    return tmp_path / "out"


def test_the_report_alone_computes_nothing(folder, tmp_path, monkeypatch, capsys):
    before = (folder / "results.csv").read_bytes()
    figures = {"wine": {"set": "wine", "lda_R": "50"}}
    monkeypatch.setattr(tables, "published", lambda: figures)
    assert main(["--report", "--out", str(folder), "--page", str(tmp_path)]) == 0
    assert (folder / "results.csv").read_bytes() == before
    text = (tmp_path / "accuracy.md").read_text(encoding="utf-8")
    assert "| wine | 6" in text.partition("## Beside published figures")[2]
    for image in re.findall(r"\(images/(.*?)\)", text):
        assert (tmp_path / "images" / image).read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "selection",
    [
        "--datasets wine",
        "--methods ours",
        "--trials 1",
        "--folds 3",
        "--development",
        "",
    ],
)
def test_a_selection_must_say_where_its_page_goes(
    selection, folder, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(command, "DOCS", tmp_path / "docs")
    with pytest.raises(SystemExit):
        main([*selection.split(), "--report", "--out", str(folder)])
    assert "name its --page" in capsys.readouterr().err
    assert not (tmp_path / "docs").exists()
    assert covers(made(drawn(), SETS, METHODS).run["plan"])


@pytest.mark.parametrize(
    ("sets", "methods"),
    [
        (["wine"], [RECOMMENDED]),
        (["wine"], [RECOMMENDED, "LDA"]),
        (FEW_SETS, ["GLD", "ridge"]),
        (["ecoli"], FEW_METHODS),
    ],
)
@pytest.mark.parametrize("development", [False, True])
def test_little_is_enough_for_a_page(sets, methods, development):
    results = made(drawn(), sets, methods)
    for some in (results, dataclasses.replace(results, rows=())):
        c = Comparisons(some, development)
        assert page(c).startswith("# Accuracy\n")
        assert all(data.startswith(b"\x89PNG") for data in pictures(c).values())
