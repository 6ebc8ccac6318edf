"""Certificates where rounding decides, judged with fifty digits.

In the pairs of tests/helpers/near_singular.py one class hardly varies in a direction,
or two features agree to seven digits.
"""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from benchmarks.pages import Record

SEEDS, PAIRS = 16, 131


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
    """Return the sums over the seeds, in as many processes as there are processors."""
    with ProcessPoolExecutor() as pool:
        cells = pool.map(cell, range(SEEDS), [PAIRS] * SEEDS)
        total = Counter(wrong=0)
        for one in cells:
            total.update(one)
        return dict(total)


def parts(record: Record) -> dict[str, str]:
    """Return the sentence of the page."""
    text = (
        "**Of {pairs:,} such pairs, {claims:,} have a certificate; {wrong} of them are "
        "wrong.** The others have none, and a `PrecisionWarning`."
    )
    return {"rounding": text.format(**record)}
