"""The first table of docs/trust.md: each promise, its inputs, and what holds it."""

from __future__ import annotations

from benchmarks.pages import read_record, section_table
from benchmarks.truth.error_bound import CASES


def parts() -> dict[str, str]:
    """Return the table, with the figures of all stored results."""
    truth, hostile = read_record("truth"), read_record("hostile")["rows"]
    certificate = read_record("certificate").values()
    bound, digits = truth["error bound"], truth["fifty digits"].values()
    near = truth["rounding"]
    cells = truth["intervals"]["cells"]
    samples = sum(one["draws"] for one in cells)
    lowest = min(one["held"] / one["draws"] for one in cells)
    proven = sum(tally["proven"] for tally in certificate)
    claims = sum(tally["problems"] for tally in certificate)
    excess = max(row["excess"] for row in digits)
    fits = sum(bound[name]["draws"] for name in CASES)
    trials = sum(row["trials"] for row in hostile.values())
    wrong = sum(len(row["wrong"]) for row in hostile.values())
    rows = [
        (
            "The reported optimum is the optimum of the fitted Gaussians.",
            "two classes; conditions up to 1e12, priors down to 1e-9, singular "
            "covariances",
            "`pytest tests/solvers/test_truth.py`: [fifty digits](#fifty-digits); "
            "`test_differential.py`: all angles in the plane, by brute force",
            f"{sum(row['problems'] for row in digits)} problems; excess at most "
            f"{excess:.0e} of the error",
        ),
        (
            "No rule has an error below `model_error_ * (1 - gap_)`.",
            "two classes; conditions up to 1e8, priors down to 1e-6",
            "`python -m benchmarks.certificate`: [an independent "
            "verifier](#the-certificate)",
            f"{proven:,} of {claims:,} claims proven",
        ),
        (
            "A finite `gap_` holds after rounding, and the reported error is within "
            "1e-6; otherwise `gap_` is NaN, with a `PrecisionWarning`.",
            "one class hardly varies in a direction, or two features agree to seven "
            "digits",
            "`python -m benchmarks.truth rounding`: [rounding](#rounding)",
            f"{near['claims']:,} claims for {near['pairs']:,} pairs, {near['wrong']} "
            "wrong",
        ),
        (
            "`BoundedErrorClassifier` keeps its bound on new rows, with 95 % "
            "confidence.",
            "independent rows, in an order unrelated to their values; any "
            "distribution, any classifier, the default seed",
            '`python -m benchmarks.truth "error bound"`: [known error '
            "rates](#the-error-bound)",
            f"{fits:,} fits in {bound['cells']:,} cells; cells that break it: "
            f"{len(bound['violations'])}",
        ),
        (
            "The 95 % interval of `evaluate` holds the error on new rows in 92 of 100 "
            "samples, and with groups in 90.",
            "independent rows, from 60 on; rows of new groups, from 20 groups on",
            "`python -m benchmarks.truth intervals`: [new rows](#intervals)",
            f"{samples:,} samples in {len(cells)} cells; the lowest share is "
            f"{100 * lowest:.1f} %",
        ),
        (
            "An input gets the right answer or a clear error.",
            "offsets, constant and repeated columns, single rows, types, weights",
            "`make hostile`: [hostile inputs](#hostile-inputs)",
            f"{len(hostile)} inputs, {trials:,} runs, {wrong} wrong",
        ),
        (
            "Results do not depend on what should not matter.",
            "affine maps, order of columns and classes, scale of weights, merging, "
            "duplicated features",
            "`pytest tests/estimators/test_properties.py`",
            "drawn anew for every `--seed`",
        ),
        (
            "Compiled code and NumPy agree.",
            "random and hostile arrays",
            "`pytest tests/kernels`",
            "every kernel",
        ),
    ]
    head = "promise|for which inputs|held by|figures"
    return {"promises": section_table(head, rows)}
