"""Measure on a GPU, and write the page.

python -m benchmarks.gpu [--smoke] [--results FILE] [--page] [--only CASE]

Without options it measures, keeps the results in docs/benchmarks_gpu.json and writes
docs/benchmarks_gpu.md. With --results it keeps them in that file, as they come, and
writes no page: so a page can be made from what was measured on another machine. With
--page it measures nothing and writes the page from the results. --smoke runs everything
with tiny data by PyTorch on the processor, and prints the page. --only runs one case by
the first library, such as "fits" or "predictions", and prints what it measures.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import sklearn

import heterolda
from benchmarks.gpu import cases
from benchmarks.gpu.libraries import Library, first_library, second_library
from benchmarks.gpu.measuring import FULL, SMOKE, Bench, first_line
from benchmarks.pages import write
from heterolda import kernels

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
RESULTS, PAGE = "benchmarks_gpu.json", "benchmarks_gpu.md"
LIBRARIES = ("numpy", "scipy", "scikit-learn")

CASES = (
    cases.fits,
    cases.predictions,
    cases.peers_on_the_device,
    cases.small_data,
    cases.huge_fit,
    cases.processors,
)
# With CuPy beside PyTorch; and what may take long, or bring the device down.
OF_BOTH = cases.fits, cases.predictions
LAST = (cases.large_lda,)


def about(lib: Library, other: Library | None, command: str) -> dict[str, Any]:
    """What results depend on."""
    more = {} if other is None else other.about()
    return {
        "command": command,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "heterolda": heterolda.__version__,
        "kernels": kernels.in_use(),
        "processors": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "architecture": platform.machine(),
        "python": platform.python_version(),
        "libraries": {name: version(name) for name in LIBRARIES},
        "library": lib.name,
        **{"device": "the processor"},
        **lib.about(),
        **more,
    }


def measure(bench: Bench, lib: Library, other: Library | None, only: str) -> None:
    """Run everything, or one case; what fails is said."""
    runs = [(case, lib) for case in CASES]
    runs += [(case, other) for case in OF_BOTH if other is not None]
    runs += [(case, lib) for case in LAST]
    if only:
        runs = [(getattr(cases, only), lib)]
    for case, library in runs:
        bench.say(f"{case.__name__}, {library.name}")
        try:
            case(bench, library)
        except Exception as error:  # the others are worth having
            name = f"{case.__name__}, {library.name}"
            known = {"table": "failed", "key": name, "library": library.name}
            bench.keep(known | {"error": first_line(error)})
        library.free()


def main(arguments: list[str] | None = None) -> int:
    """Measure, write the page, or both."""
    parser = argparse.ArgumentParser(
        "benchmarks.gpu", description=__doc__.partition("\n")[0]
    )
    add = parser.add_argument
    add("--smoke", action="store_true", help="tiny data, by PyTorch on the processor")
    add("--results", type=Path, metavar="FILE", help="file of the results; no page")
    add("--page", action="store_true", help="measure nothing, write the page")
    add("--only", default="", metavar="CASE", help="one case; no page")
    options = parser.parse_args(arguments)
    path = options.results or DOCS / RESULTS
    if (options.smoke or options.only) and options.results is None:
        path = Path("build/gpu_smoke.json")
    if not options.page:
        lib = first_library(options.smoke)
        if lib is None:
            parser.error("neither PyTorch nor CuPy is installed")
        other = second_library(lib)
        os.environ["SCIPY_ARRAY_API"] = "1"
        command = "python -m benchmarks.gpu" + " --smoke" * options.smoke
        bench = Bench(
            path, about(lib, other, command), SMOKE if options.smoke else FULL
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        with (
            warnings.catch_warnings(action="ignore"),
            sklearn.config_context(array_api_dispatch=True),
        ):
            measure(bench, lib, other, options.only)
    if (options.results is None and not options.only) or options.page:
        from benchmarks.gpu.report import draw, page

        record = json.loads(path.read_text(encoding="utf-8"))
        if options.smoke:
            print(page(record))
            return 0
        picture = {"images/benchmarks_gpu.png": draw(record)}
        write(DOCS, {PAGE: page(record)} | picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
