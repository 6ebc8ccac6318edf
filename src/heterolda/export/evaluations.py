"""Evaluations in model files."""

from __future__ import annotations

from typing import Any

from heterolda.export.schema import (
    Kind,
    Place,
    array,
    choice,
    label,
    labels,
    list_of,
    number,
    optional,
    record,
    text,
)
from heterolda.inspection.evaluation import Evaluation
from heterolda.inspection.losses import DECIDES_BY, N_BINS, Losses

_SHARES = array("options", low=0, high=1, missing=True)
_LOSSES = {
    # The model, perhaps LDA, and the constant rule.
    "names": list_of(text, "options", make=tuple),
    "error": array("options", low=0, high=1),
    "value": array("options", low=0),
    "value_error": array("options", low=0),
    "class_rate": _SHARES,
    "class_low": _SHARES,
    "log_loss": array("options", low=0, missing=True),
    "brier_score": array("options", low=0, missing=True),
    "difference": array("options", "options"),
    "standard_error": array("options", "options", low=0),
    "critical": number(0),
    "decides_by": choice(*DECIDES_BY),
    "max_error": number(0, 1, missing=True),
}
_INTERVALS = array("classes", 2, low=0, high=1)
_EVALUATION = {
    "method": text,
    "n_rows": number(0),
    "n_groups": number(0),
    "classes": labels,
    "confusion": array("classes", "classes", low=0),
    "error_interval": array(2, low=0, high=1),
    "recall_interval": _INTERVALS,
    "precision_interval": _INTERVALS,
    "reliability": array(3, N_BINS, low=0),
    "losses": record(_LOSSES, Losses),
    "constant": label,
    "bounded": optional(label),
    "notes": list_of(text, make=tuple),
}
_KIND = record(_EVALUATION)


def _read(value: Any, at: Place) -> Evaluation:
    at = Place(at.name)  # its classes need not be those of the model
    given = _KIND.read(value, at)
    if len(given["losses"].names) not in (2, 3):
        raise (at / "losses.names").error("have 2 or 3 entries", given["losses"].names)
    if given["bounded"] not in (None, *given["classes"].tolist()):
        raise (at / "bounded").error("be one of the classes", given["bounded"])
    return Evaluation(**given | {"n_groups": int(given["n_groups"])})


evaluation = Kind(_KIND.words, _read, _KIND.write)
