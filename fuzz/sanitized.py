"""Test and fuzz compiled kernels that watch every access to memory.

python -m fuzz.sanitized [SECONDS]

They are built with AddressSanitizer and UndefinedBehaviorSanitizer into build/sanitize.
The run ends at the first finding, with a report.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILT = ROOT / "build" / "sanitize"


def build() -> None:
    """Compile the kernels into a copy of the package."""
    command = [sys.executable, "setup.py", "--quiet", "build"]
    command += ["--build-base", str(BUILT), "--build-lib", str(BUILT / "lib")]
    settings = os.environ | {"HETEROLDA_SANITIZE": "1"}
    subprocess.run(command, cwd=ROOT, env=settings, check=True)
    place = "import sys; from heterolda.kernels import compiled; "
    place += "sys.exit(not compiled.__file__.startswith(sys.argv[1]))"
    if run("-c", place, str(BUILT)):
        raise RuntimeError("these kernels are not those that are imported")


def environment() -> dict[str, str]:
    """Return the environment of a process that loads the sanitizers first."""
    compiler = os.environ.get("CC", "gcc").split()[0]
    libraries = [
        subprocess.run(
            [compiler, f"-print-file-name={name}"],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout.strip()
        for name in ("libasan.so", "libstdc++.so")
    ]
    return os.environ | {
        "LD_PRELOAD": " ".join(libraries),
        # Python keeps some memory until its end.
        "ASAN_OPTIONS": "detect_leaks=0:quarantine_size_mb=64:"
        "allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "PYTHONMALLOC": "malloc",
        "PYTHONPATH": str(BUILT / "lib"),
        "HETEROLDA_KERNELS": "compiled",
    }


def run(*arguments: str) -> int:
    """Run Python with the sanitized kernels; return its status."""
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment()).returncode


def fuzz(seconds: str) -> int:
    """Call the kernels with arguments of all kinds."""
    return run("-m", "fuzz", seconds, "--reader", "kernels")


def main(arguments: list[str]) -> int:
    """Build, test and fuzz; return 0 if nothing was found."""
    build()
    tests = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not check"]
    return run(*tests, "tests/kernels") or fuzz(arguments[0] if arguments else "60")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
