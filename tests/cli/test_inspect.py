"""heterolda inspect and export: rules in words, a page, and files that run."""

import re

import numpy as np
import pandas as pd
import pytest

import heterolda
from helpers.browsing import overflow, requests, set_scheme
from helpers.cli import make_frame, names, rows_of, succeed
from heterolda import (
    ClassStatistics,
    GaussianLinearDiscriminant,
    LocalNeighborhoodSearch,
    SmoothedLinearDiscriminant,
)

# Few rows of drawn classes: sometimes Fisher's rule is better by chance.
pytestmark = pytest.mark.filterwarnings(
    "ignore::heterolda.exceptions.ModelMisfitWarning"
)

FEATURES = names(12)


@pytest.fixture(scope="module")
def frame():
    return make_frame(np.random.default_rng(0), 800, d=12)


@pytest.fixture(scope="module")
def model(frame):
    return GaussianLinearDiscriminant().fit(frame[FEATURES], frame["kind"])


@pytest.fixture(scope="module")
def path(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.json"
    heterolda.save(model, path)
    return path


def pooled_deviations(frame, kinds):
    parts = [frame.loc[frame["kind"] == kind, FEATURES] for kind in kinds]
    squares = sum(((part - part.mean()) ** 2).sum() for part in parts)
    return np.sqrt(squares / sum(len(part) - 1 for part in parts)).to_numpy()


def test_a_rule_in_words(frame, model, path):
    shown = succeed("inspect", path, "--pair", "west,north")
    k = model.pairs_.tolist().index([1, 3])
    deviations = pooled_deviations(frame, ["north", "west"])
    weights = np.abs(model.coef_[k]) * deviations
    weights /= weights.sum()
    order = np.argsort(-weights)
    threshold = f"exceeds {-model.intercept_[k]:.6g}, otherwise north"
    assert threshold in " ".join(shown.split())
    missed = r"([\d.]+) % of north would be taken for west and ([\d.]+) % of"
    words = " ".join(shown.split())  # lines are wrapped
    rates = [float(rate) for rate in re.search(missed, words).groups()]
    np.testing.assert_allclose(rates, 100 * model.error_rates_[k], atol=0.051)
    lines = re.findall(
        r"^  (x\d+) +([\d.]+) % +(\S+) +(\S+) +(north|west)$", shown, re.MULTILINE
    )
    assert [line[0] for line in lines] == [FEATURES[j] for j in order[:10]]
    for (_, share, coef, deviation, side), j in zip(lines, order, strict=False):
        assert float(share) == pytest.approx(100 * weights[j], abs=0.051)
        assert float(coef) == pytest.approx(model.coef_[k, j], rel=1e-5)
        assert float(deviation) == pytest.approx(deviations[j], rel=1e-3)
        assert side == ("west" if model.coef_[k, j] > 0 else "north")
    rest = float(re.findall(r"and 2 more features with ([\d.]+) %", shown)[-1])
    assert rest == pytest.approx(100 * weights[order[10:]].sum(), abs=0.06)
    assert "1 of 6 rules" in shown


OTHERS = {
    "refined": LocalNeighborhoodSearch(),
    "transformed": SmoothedLinearDiscriminant(0.5),
    "against the rest": GaussianLinearDiscriminant(multiclass="ovr"),
    "minimax": GaussianLinearDiscriminant(criterion="minimax"),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_every_kind_of_model_has_words(kind, frame, tmp_path):
    X, path = frame[FEATURES[:3]], tmp_path / "m.json"
    model = OTHERS[kind].fit(np.exp(X) if kind == "transformed" else X, frame["kind"])
    for statistics in (False, True):
        heterolda.save(model, path, include_statistics=statistics)
        shown = succeed("inspect", path)
        assert ("no class statistics" in shown) == (not statistics)
        assert shown.count("The answer is") >= 3
    if kind == "transformed":
        words = " ".join(shown.split())
        assert "Width of the smoothed rows: 0.5." in words
        assert "Powers change 3 of 3 features. Errors of the pairs: " in words
        assert "refer to the transformed features" in words
        for name, power in zip(FEATURES, model.transformation_.lambdas_, strict=False):
            assert re.search(rf"^  {name} .* {power:g}$", shown, re.MULTILINE), name
        succeed("inspect", path, "--html", tmp_path / "m.html")
        page = (tmp_path / "m.html").read_text(encoding="utf-8")
        assert page.count("<img") >= 5
        message = succeed("export", path, "--out", tmp_path / "rule.h")
        assert "link with -lm" in message


@pytest.mark.filterwarnings("ignore::heterolda.exceptions.TrivialRuleWarning")
def test_rules_without_a_hyperplane_and_with_one_feature(tmp_path):
    moments = [0, 1], [190, 10], [[0], [0.1]], [[[1]], [[0.5]]]
    statistics = ClassStatistics.from_moments(*moments)
    model = GaussianLinearDiscriminant().fit_statistics(statistics)
    assert model.trivial_[0]
    path, page = tmp_path / "m.json", tmp_path / "m.html"
    heterolda.save(model, path)
    assert "The answer is always 0" in succeed("inspect", path)
    succeed("inspect", path, "--html", page)
    text = page.read_text(encoding="utf-8")
    assert "The answer is always 0" in text
    assert "Map of the classes" not in text


@pytest.fixture(scope="module")
def page(frame, tmp_path_factory):
    """A card with names that must be escaped."""
    odd = {"x0": "<script>alert(1)</script>", "x1": "a & b $x"}
    model = GaussianLinearDiscriminant().fit(
        frame[FEATURES].rename(columns=odd), frame["kind"].replace("west", "<b>west")
    )
    folder = tmp_path_factory.mktemp("card")
    heterolda.save(model, folder / "model.json")
    for name in ("card.html", "again.html"):
        card = "--rules", "1", "--html", folder / name
        succeed("inspect", folder / "model.json", *card)
    return folder / "card.html"


def test_the_card_needs_nothing_else_and_is_the_same_every_time(page):
    text = page.read_text(encoding="utf-8")
    assert "://" not in text
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)" in text
    assert "<b>" not in text
    assert "a &amp; b $x" in text
    assert re.search(r"<th[^>]*>1 % of .+ missed</th><td>1\.0&nbsp;%</td>", text)
    assert (page.parent / "again.html").read_bytes() == page.read_bytes()


def test_fewer_rows_than_features(tmp_path):
    """The card shows twenty of them, and no error under the model."""
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], 8)
    data = pd.DataFrame(rng.normal(size=(24, 3000)), columns=names(3000))
    data["x1000"] += 60 * (y == "b")
    path, page = tmp_path / "m.json", tmp_path / "m.html"
    heterolda.save(GaussianLinearDiscriminant().fit(data, y), path)
    succeed("inspect", path, "--html", page)
    card = re.sub("<[^>]*>|&nbsp;", " ", page.read_text(encoding="utf-8"))
    for text in (card, succeed("inspect", path)):
        assert "With fewer rows than features" in " ".join(text.split())
        assert "exactly normal" not in text
    assert len(re.findall(r"(x\d+)\s+[\d.]+ %\s+[-\d.e]+ ", card)) == 60
    assert page.stat().st_size < 30_000
    shown = succeed("export", path, "-o", tmp_path / "m.h")
    assert "x19 and 2980 more" in shown


def test_the_card_in_a_browser(page, browser):
    browser.get(page.as_uri())
    assert browser.title == "model.json: model card"
    sizes = browser.execute_script(
        "return [...document.images].map((i) => [i.naturalWidth, i.clientWidth])"
    )
    assert len(sizes) == 5
    assert np.min(sizes) > 200
    assert browser.get_log("browser") == []
    asked = requests(browser, page.as_uri())
    assert [url for url in asked if not url.startswith("data:")] == [page.as_uri()]

    def brightness(key):
        style = f"return getComputedStyle(document.body).{key}"
        color = browser.execute_script(style)
        return np.mean([int(v) for v in re.findall(r"\d+", color)[:3]])

    for scheme in ("light", "dark"):
        set_scheme(browser, scheme)
        assert (brightness("backgroundColor") > 200) == (scheme == "light")
        assert abs(brightness("backgroundColor") - brightness("color")) > 150
    assert overflow(browser, 390) == 0


def test_an_export_says_how_it_is_used(frame, path, tmp_path):
    """That it decides as the model does is a test of categories, and of exports."""
    shown = succeed("export", path, "--out", tmp_path / "rule.h", "--dtype", "double")
    assert "int rule_predict(const double *x)" in shown
    assert f"in this order: {', '.join(FEATURES)}" in shown
    assert "answers: 0 is east, 1 is north" in shown
    assert "double" in (tmp_path / "rule.h").read_text()
    out = tmp_path / "rule.onnx"
    shown = succeed("export", path, "--out", out, "--dtype", "float64")
    assert "input X of float64, outputs label and probabilities" in shown


def test_data_sets_can_be_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert succeed("datasets", "--write", "iris") == "iris.csv\n"
    rows = rows_of((tmp_path / "iris.csv").read_text())
    assert rows[0][-1] == "class"
    assert {row[-1] for row in rows[1:]} == {"setosa", "versicolor", "virginica"}
    succeed("datasets", "--write", "D2", "--out", tmp_path / "d2.csv")
    assert len(rows_of((tmp_path / "d2.csv").read_text())) == 6001
