"""Build sdist and wheel twice and compare them: python build_twice.py FOLDER [FOLDER].

One folder: build there, then again from the unpacked sdist, elsewhere and under other
conditions. Two folders: only compare what was built before. Both builds need the same
date: SOURCE_DATE_EPOCH, by default that of the last commit.
"""

import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def date():
    """Return SOURCE_DATE_EPOCH, or the time of the last commit, or none."""
    if "SOURCE_DATE_EPOCH" in os.environ:
        return os.environ["SOURCE_DATE_EPOCH"]
    asked = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True
    )
    return asked.stdout.strip() or "1700000000"


def build(source, folder, *options, umask=0o022, **environment):
    """Build with the packages that are installed here; return the files that came."""
    command = [sys.executable, "-m", "build", "--no-isolation", *options]
    done = subprocess.run(
        [*command, "--outdir", folder, source],
        capture_output=True,
        text=True,
        env=os.environ | {"SOURCE_DATE_EPOCH": date()} | environment,
        umask=umask if os.name == "posix" else -1,
    )
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    return sorted(Path(folder).iterdir())


def build_again(folder, *options, **environment):
    """Build from the sdist in a folder, as unlike the first time as can be."""
    (sdist,) = Path(folder).glob("*.tar.gz")
    with tempfile.TemporaryDirectory(prefix="elsewhere") as scratch:
        with tarfile.open(sdist) as archive:
            archive.extractall(scratch, filter="data")
        (source,) = Path(scratch).iterdir()
        unlike = {"TZ": "Asia/Tokyo", "LC_ALL": "C", "PYTHONHASHSEED": "7"}
        again = Path(scratch, "again")
        build(source, again, *options, umask=0o077, **(unlike | environment))
        return hashes(again)


def hashes(folder):
    """Return the SHA-256 of each file in a folder."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(Path(folder).iterdir())
    }


def main(folder, other=None):
    """Print the hashes; return 1 if they differ."""
    if other is None:
        build(ROOT, folder)
    first, second = (
        hashes(folder),
        build_again(folder) if other is None else hashes(other),
    )
    for name in sorted(first | second):
        alike = "twice" if first.get(name) == second.get(name) else "ONCE ONLY"
        print(first.get(name), name, alike)
    return int(first != second)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
