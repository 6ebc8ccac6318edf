"""What a model knows of its rows: categories, and the bound on an error."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from heterolda import BoundedErrorClassifier, GaussianLinearDiscriminant
from heterolda.estimators.bounded_error import linear_form
from heterolda.estimators.fit_record import (
    Category,
    encoded,
    feature_meanings,
    fewer_rows_than_features,
    raw_columns,
)
from heterolda.inspection import FitRecord

CITY = Category("city", "Paris", ("Lyon", "Nice"), ("Metz",), "other")
SEX = Category("sex", "f", ("m",))


def test_categories_are_features_of_zeros_and_ones_and_back():
    names = ["age", "city=Lyon", "city=Nice", "city=other", "sex=m"]
    assert [name for _, name in encoded(["age", "city", "sex"], [CITY, SEX])] == names
    assert raw_columns(names, [CITY, SEX]) == ("age", "city", "sex")
    assert raw_columns(names[:2], []) == ("age", "city=Lyon")
    with pytest.raises(ValueError, match="not those of the categories"):
        raw_columns(names[:3] + names[4:], [CITY, SEX])
    assert CITY.place_of == {"Paris": -1, "Lyon": 0, "Nice": 1, "Metz": 2}
    assert (CITY.place_of_unseen, SEX.place_of_unseen) == (2, -1)
    assert (CITY.unseen_count_as, SEX.unseen_count_as) == ("city=other", "'f'")
    model = GaussianLinearDiscriminant()
    assert feature_meanings(model) is None
    model.feature_names_in_, model.n_features_in_ = np.array(names), 5
    model.fit_record_ = FitRecord("y", "x.csv", "2026", 4, categories=(CITY, SEX))
    assert feature_meanings(model) == [
        "age",
        '1 if city is "Lyon", else 0',
        '1 if city is "Nice", else 0',
        '0 if city is one of "Lyon", "Nice", "Paris", else 1',
        '1 if sex is "m", else 0',
    ]
    assert fewer_rows_than_features(model, None)


def test_a_bounded_discriminant_is_a_discriminant_with_another_threshold(make_classes):
    X, y = make_classes(2)
    model = BoundedErrorClassifier(max_error={0: 0.2}, confidence=0.9).fit(X, y)
    model.fit_record_ = FitRecord("y", "x.csv", "2026", 120)
    model.evaluation_ = "an evaluation"
    form = linear_form(model)
    assert linear_form(form) is form
    assert form.fit_record_ is model.fit_record_
    assert form.evaluation_ is model.evaluation_
    assert np.array_equal(form.predict(X), model.predict(X))
    model.set_params(estimator=LogisticRegression()).fit(X, y)
    with pytest.raises(
        TypeError, match="around a GaussianLinearDiscriminant, not a sub"
    ):
        linear_form(model)
