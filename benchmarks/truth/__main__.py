"""Measure what is promised for every use, and write docs/trust.md.

PYTHONPATH=tests python -m benchmarks.truth [STUDY ...] [--report]

The studies are "fifty digits", "rounding", "error bound", "intervals" and "in use".
Results are kept in benchmarks/results/truth.json. --report measures nothing.

A study is a module with `measure`, which returns a record, `parts`, which makes the
tables of the record, and `cell`, a small part of `measure` for a test.
"""

from __future__ import annotations

import argparse

from benchmarks.pages import origin, publish, read_record, record_origin, write_record
from benchmarks.timing import circumstances
from benchmarks.truth import (
    error_bound,
    fifty_digits,
    in_use,
    intervals,
    promises,
    rounding,
)

STUDIES = {
    "fifty digits": fifty_digits,
    "rounding": rounding,
    "error bound": error_bound,
    "intervals": intervals,
    "in use": in_use,
}


def parts() -> dict[str, str]:
    """Return the parts of the page."""
    made, record = promises.parts(), read_record("truth")
    for name, study in STUDIES.items():
        made |= study.parts(record[name])
        made[f"{name}, machine"] = origin(name, name.capitalize())
    return made


def main() -> None:
    """Measure, unless `--report` is given, keep the record, and write the page."""
    parser = argparse.ArgumentParser("benchmarks.truth")
    parser.add_argument("studies", nargs="*", metavar="STUDY", help="by default, all")
    parser.add_argument("--report", action="store_true", help="measure nothing")
    arguments = parser.parse_args()
    unknown = set(arguments.studies) - STUDIES.keys()
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; use {', '.join(STUDIES)}")
    for name in () if arguments.report else arguments.studies or STUDIES:
        result = STUDIES[name].measure()
        write_record("truth", read_record("truth") | {name: result})
        record_origin(name, circumstances())
    publish("trust", parts())


if __name__ == "__main__":
    main()
