"""Kinds of the records in a model file."""

from __future__ import annotations

from heterolda.estimators.error_bound import ErrorBound
from heterolda.estimators.fit_record import Category, FitRecord
from heterolda.export.curves import log_odds
from heterolda.export.schema import (
    TINY,
    array,
    choice,
    count,
    label,
    list_of,
    number,
    optional,
    record,
    text,
)
from heterolda.foundations.wording import VOTINGS
from heterolda.solvers.rules import Rules, Status
from heterolda.statistics.power import MAX_POWER, MIN_POWER, PowerTransformation
from heterolda.statistics.shrinkage import Shrinkage

_TEXTS = list_of(text, make=tuple)
_CATEGORY = {
    "column": text,
    "reference": text,
    "levels": _TEXTS,
    "merged": _TEXTS,
    "other": optional(text),
}
fit_record = record(
    {
        "target": text,
        "data": text,
        "date": text,
        "n_rows": number(0),
        "categories": list_of(record(_CATEGORY, Category), make=tuple),
        "marks": _TEXTS,
        "n_columns": optional(count()),
    },
    FitRecord,
)
rules = record(
    {
        "status": array("rules", low=min(Status), high=max(Status), dtype=int),
        "intercept": array("rules"),
        "coef": array("rules", "features"),
        "error": array("rules", low=0, high=1),
        "gap": array("rules", missing=True),
        "n_iter": array("rules", low=0, high=2**53, dtype=int),
        "means": array("rules", 2),
        "deviations": array("rules", 2, low=0),
    },
    Rules,
)
votes = record(
    {
        # Null for two classes or one-vs-rest rules.
        "voting": optional(choice(*VOTINGS)),
        "log_odds": log_odds,
    }
)
shrinkage = record(
    {"to_pooled": array("classes", low=0, high=1), "to_diagonal": number(0, 1)},
    Shrinkage,
)
powers = record(
    {
        "center": array("features"),
        "scale": array("features", low=TINY),
        "lambdas": array("features", low=MIN_POWER, high=MAX_POWER),
    },
    PowerTransformation,
)
bound = record(
    {
        "label": label,
        "max_error": number(0, 1),
        "confidence": number(0, 1),
        "n_rows": count(),
        "rank": count(),
    },
    ErrorBound,
)
