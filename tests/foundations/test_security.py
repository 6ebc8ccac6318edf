"""Check what SECURITY.md promises: files are data, and are written whole."""

import os
import re
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import heterolda
from heterolda.foundations.files import atomic_write

PACKAGE = Path(heterolda.__file__).parent


def test_arrays_are_never_loaded_with_pickle():
    """Ruff's rules (S) forbid the other ways to execute what a file says."""
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"np\.load\(|joblib\.load|allow_pickle=True", text), path


@pytest.mark.skipif(sys.platform == "win32", reason="files have no such modes there")
def test_files_written_at_once_leave_the_umask_as_it_was(tmp_path):
    before = os.umask(0o027)
    try:

        def write(number):
            for k in range(20):
                with atomic_write(tmp_path / f"{number}-{k}") as file:
                    file.write(b"x")

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(write, range(8)))
        modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
        assert modes == {0o640}
        assert len(list(tmp_path.iterdir())) == 160
        assert os.umask(0o027) == 0o027
        old = tmp_path / "0-0"
        for mode in (0o600, 0o666):
            old.chmod(mode)
            with atomic_write(old):
                (temporary,) = tmp_path.glob(".0-0.*")
                assert stat.S_IMODE(temporary.stat().st_mode) == mode & ~0o027
            assert stat.S_IMODE(old.stat().st_mode) == mode
    finally:
        os.umask(before)
