"""All cases, in groups."""

from __future__ import annotations

from hostile import (
    classes,
    covariances,
    formats,
    magnitudes,
    misfits,
    optima,
    streams,
)
from hostile.case import Case

GROUPS: dict[str, list[Case]] = {
    "Offsets, units and magnitudes": magnitudes.CASES,
    "Constant, dependent and ill-conditioned features": covariances.CASES,
    "Classes, labels, weights and priors": classes.CASES,
    "Data that the Gaussian model does not fit": misfits.CASES,
    "Optima that are hard to find": optima.CASES,
    "Types and layouts": formats.CASES,
    "Chunks, statistics and threads": streams.CASES,
}
CASES = [case for group in GROUPS.values() for case in group]
