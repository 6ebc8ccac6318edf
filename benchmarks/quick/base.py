"""The commit that changes are compared with, built beside the working tree."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BASE = ROOT / "benchmarks" / "base"  # the file with the hash of the commit
BUILDS = ROOT / "build" / "base"


def base_tree(commit: str) -> Path:
    """Return the folder with the files of a commit and its compiled kernels.

    It stays until another commit is the base.
    """
    folder = BUILDS / commit
    if folder.exists():
        return folder
    files = _files(commit)
    shutil.rmtree(BUILDS, ignore_errors=True)
    partial = BUILDS / "partial"
    with tarfile.open(fileobj=io.BytesIO(files)) as archive:
        archive.extractall(partial, filter="data")
    build = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
    subprocess.run(build, cwd=partial, check=True, stdout=sys.stderr)
    return partial.rename(folder)


def _files(commit: str) -> bytes:
    """Return the files of a commit as a tar archive."""
    git = shutil.which("git")
    if git is None:
        sys.exit("git is needed to read the base commit: install it")
    command = [git, "archive", "--format=tar", commit]
    run = subprocess.run(command, cwd=ROOT, capture_output=True)
    if run.returncode:
        sys.exit(
            f"the history of {ROOT} lacks the base commit {commit}, named in "
            f"{BASE.relative_to(ROOT)}: run 'git fetch --unshallow' in a shallow "
            "clone; a source archive has no history, so clone the repository instead"
        )
    return run.stdout


def has_kernels(tree: Path) -> bool:
    """Return whether the kernels of a tree are compiled."""
    return any((tree / "src" / "heterolda" / "kernels").glob("_compiled*"))
