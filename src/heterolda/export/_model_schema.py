"""What a model file of version 1 says of a fitted model: one table for both directions.

Keys are written in the order of the tables. Lengths are numbers or the names of sizes,
which `Labels`, `Count` and `_Multiclass` learn from the file.
"""

from __future__ import annotations

from typing import Any

from heterolda.discriminant import GaussianLinearDiscriminant
from heterolda.export._labels import Labels
from heterolda.export._parameters import Parameter
from heterolda.export._schema import (
    Boolean,
    Choice,
    Count,
    Floats,
    Integers,
    Kind,
    List,
    Number,
    Numbers,
    Optional,
    OrInfinity,
    Place,
    Record,
    Text,
)
from heterolda.hyperplanes import Status
from heterolda.local_search import LocalNeighborhoodSearch

DISCRIMINANT = GaussianLinearDiscriminant.__name__
SEARCH = LocalNeighborhoodSearch.__name__
VOTING = Text(["weighted", "majority", "coupled"])


class _Multiclass(Text):
    """How classes are compared, from which the number of rules follows."""

    def read(self, value: Any, at: Place) -> str:
        multiclass, k = super().read(value, at), at.sizes["classes"]
        at.sizes["rules"] = k if multiclass == "ova" else k * (k - 1) // 2
        return multiclass


class _Estimator(Record):
    """A fitted estimator, with what only this one has."""

    first = "classes", "features", "committee"

    def __init__(self, parameters: Record, **own: Kind) -> None:
        self.own = own
        super().__init__(
            estimator=Text(),
            parameters=parameters,
            classes=Labels(),
            features=Record(
                count=Count("features"), names=Optional(List(Text(), "features"))
            ),
            rules=_RULES,
            committee=_COMMITTEE,
            **own,
        )


class _Model(Kind):
    """Any of some estimators, by their names."""

    def __init__(self, options: dict[str, _Estimator]) -> None:
        self.options = options

    def write(self, value: dict[str, Any]) -> Any:
        return self.options[value["estimator"]].write(value)

    def read(self, value: Any, at: Place) -> dict[str, Any]:
        name = value.get("estimator") if isinstance(value, dict) else None
        name = Text(self.options).read(name, at / "estimator")
        # The start of a search has sizes of its own.
        return self.options[name].read(value, Place(at.name))


class IfFitted(Optional):
    """An attribute that not every fitted model has: null stands for its absence."""


def _parameters(cls: Any) -> dict[str, Kind]:
    names = cls().get_params(deep=False)
    return {name: Parameter(name) for name in names if name != "estimator"}


_RULES = Record(
    pairs=Integers("rules", 2, low=-1),
    status=List(
        Choice({s.name.lower().replace("_", "-"): int(s) for s in Status}), "rules"
    ),
    intercept=Floats("rules"),
    coef=Floats("rules", "features"),
    error=Floats("rules", low=0, high=1),
    gap=Floats("rules", nan=True),
    n_iter=Integers("rules", low=0),
    means=Floats("rules", 2),
    deviations=Floats("rules", 2, low=0),
)
_COMMITTEE = Record(
    multiclass=_Multiclass(["ovo", "ova"]),
    voting=Optional(VOTING),
    sharpness=Number(1e-9, 1e9),
    log_odds=Optional(
        Record(offset=Floats(2, "rules", low=0), slope=Floats(2, "rules", low=0))
    ),
)
_OF_DISCRIMINANT = Record(**_parameters(GaussianLinearDiscriminant))
_DISCRIMINANT = _Estimator(
    _OF_DISCRIMINANT,
    priors=Floats("classes", low=0, high=1),
    error_rates=Floats("rules", 2, low=0, high=1),
    risk=Floats("rules", low=0),
    shrinkage=Optional(
        Record(to_pooled=Floats("classes", low=0, high=1), to_diagonal=Number(0, 1))
    ),
    fitted_with=Record(
        **{
            name: Parameter(name)
            for name in ("solver", "shrinkage", "criterion", "costs")
        }
    ),
    statistics=IfFitted(
        Record(
            named=Boolean(),
            weights=Floats("classes"),
            means=Floats("classes", "features"),
            scatters=Floats("classes", "features", "features"),
        )
    ),
)
_OF_SEARCH = Record(
    **_parameters(LocalNeighborhoodSearch)
    | {"anchor": OrInfinity(Parameter("anchor"))},
    estimator=Optional(
        Record(
            name=Text(),
            frozen=Boolean(),
            is_start=Boolean(),
            parameters=Optional(_OF_DISCRIMINANT),
        )
    ),
)
_CANDIDATE: dict[str, Kind] = {
    "loss": Text(["error", "logistic", "none"]),
    "bandwidth": Number(0, nan=True),
    "anchor": OrInfinity(Number(0)),
    "voting": VOTING,
    "error": Number(0, nan=True),
}
_SEARCH = _Estimator(
    _OF_SEARCH,
    start=IfFitted(
        Record(frozen=Boolean(), model=_Model({DISCRIMINANT: _DISCRIMINANT}))
    ),
    n_errors=Numbers("rules", low=0),
    n_errors_start=Numbers("rules", low=0),
    n_errors_held_out=IfFitted(Numbers("rules", low=0)),
    selection=IfFitted(Record(**_CANDIDATE, candidates=List(Record(**_CANDIDATE)))),
    history=List(Floats(None, low=0), "rules"),
)
MODEL = _Model({DISCRIMINANT: _DISCRIMINANT, SEARCH: _SEARCH})
