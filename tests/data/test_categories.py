"""Categories: how their levels are read, counted and merged."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from heterolda.data.category_counts import with_categories
from heterolda.data.decoding import level_of
from heterolda.data.formats import Format
from heterolda.data.reading import Pass
from heterolda.data.table import Table
from heterolda.estimators.fit_record import Category
from heterolda.exceptions import SimilarLabelsWarning


def test_a_level_is_the_same_however_it_is_written():
    for same, level in [
        ([1, 1.0, "1", " 1.0 ", "1.", Decimal("1.00")], "1"),
        ([2.5, "2.5"], "2.5"),
        ([True, "true", "True ", "TRUE"], "true"),
        ([-3, -3.0, "-3.0"], "-3"),
        ([0.0, "0.0", 0], "0"),
        ([None, float("nan"), "", "  "], ""),
    ]:
        assert {level_of(value) for value in same} == {level}
    # These may be codes, and numbers only by accident.
    assert [level_of(v) for v in ("007", "1e5", "1.50")] == ["007", "1e5", "1.50"]


def test_levels_are_counted_by_weight():
    city = [*["Paris"] * 60, *["Lyon"] * 45, *["Nice"] * 30, *["Metz"] * 9, "Brest"]
    n = len(city)
    frame = pd.DataFrame({"city": city, "one": "a", "y": np.arange(n) % 4})
    frame["w"] = 1.0
    frame = pd.concat([frame, frame.iloc[[0] * 400].assign(w=0.0)], ignore_index=True)
    for weight, expected in (
        (None, Category("city", "Paris", ("Lyon", "Nice"), ("Brest", "Metz"), "other")),
        ("w", Category("city", "Lyon", ("Nice", "Paris"), ("Brest", "Metz"), None)),
    ):
        frame.loc[frame["city"] == "Lyon", "w"] = 2.0
        frame.loc[frame["city"] == "Metz", "w"] = 0.5
        columns = ["city", "one"]
        rows = pa.Table.from_pandas(frame)
        table = Table([rows[:90], rows[90:]], "y", columns, (), weight)
        with pytest.warns(UserWarning, match=r"left out 'one': nearly all rows"):
            encoded = with_categories(table, columns)
        assert encoded.categories == (expected,)
        assert encoded.columns == ("city",)


def test_levels_are_zeros_and_ones_and_missing_ones_nan():
    table = pa.table(
        {"city": ["Nice", "Metz", "?", "Oslo", None, "Paris"], "x": [1] * 6}
    )
    city = Category("city", "Paris", ("Nice",), ("Metz",), "other")
    text = Format(na=("?",))
    reading = Pass(Table(table, missing="em", categories=(city,), format=text))
    (rows,) = reading
    gap = [np.nan, np.nan]
    expected = [[1, 0], [0, 1], gap, [0, 1], gap, [0, 0]]
    np.testing.assert_array_equal(rows.X, np.c_[expected, np.ones(6)])
    assert "'city': 1 row with values" in reading.unseen_notes()[0]


def test_categories_are_features_named_once():
    table = Table(pa.table({"city": ["a", "b"], "x": [1, 2], "y": [0, 1]}), "y", ["x"])
    for names in (["y"], ["city"], ["x", "x"]):
        with pytest.raises(ValueError, match=f"each once, got {names[0]!r}"):
            with_categories(table, names)


def test_levels_that_look_alike():
    city = ["Saint Malo", "saint  malo", "Lyon", "Nice"] * 20
    table = pa.table({"city": city, "x": range(80), "y": ["a", "b"] * 40})
    words = "'city' has .* alike.* categories: 'Saint Malo' and 'saint  malo'[.] If"
    with pytest.warns(SimilarLabelsWarning, match=words):
        assert with_categories(Table(table, "y"), ["city"]).categorical == ("city",)
