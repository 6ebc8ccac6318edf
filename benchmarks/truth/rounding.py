"""Certificates where rounding decides, judged with fifty digits.

In the pairs of tests/helpers/near_singular.py one class hardly varies in a direction,
or two features agree to seven digits.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from benchmarks.pages import Record

SEED, PAIRS = 0, 2092


def cell(seed: int, n: int) -> Record:
    """Count the claims and the wrong ones of fits to n pairs."""
    from helpers.near_singular import fitted, problems, violations

    counts = Counter(pairs=n, claims=0, wrong=0)
    for problem in problems(seed, n):
        model, _ = fitted(problem)
        counts["claims"] += bool(np.isfinite(model.gap_[0]))
        counts["wrong"] += bool(violations(problem, model))
    return dict(counts)


def measure() -> Record:
    """Return the counts of all pairs."""
    return cell(SEED, PAIRS)


def parts(record: Record) -> dict[str, str]:
    """Return the sentence of the page."""
    text = (
        "**Of {pairs:,} such pairs, {claims:,} have a certificate; {wrong} of these are "
        "wrong.** The others have none, and a `PrecisionWarning`."
    )
    return {"rounding": text.format(**record)}
