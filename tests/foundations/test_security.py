"""Check what SECURITY.md promises: files are data, and are written whole."""

import os
import re
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import heterolda
from heterolda import ClassStatistics
from heterolda.foundations.files import written_whole

PACKAGE = Path(heterolda.__file__).parent


def test_arrays_are_never_loaded_with_pickle():
    """Ruff's rules (S) forbid the other ways to execute what a file says."""
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"np\.load\(|joblib\.load|allow_pickle=True", text), path


class Trap:
    """Writes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_statistics_with_a_pickle_in_them_are_refused(tmp_path, rng):
    good, bad, sprung = (tmp_path / name for name in ("good.npz", "bad.npz", "sprung"))
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 4
    ClassStatistics.from_data(X, y).save(good)
    content = dict(np.load(good))
    content["classes"] = np.array([Trap(sprung)], object)
    np.savez(bad, **content)
    with pytest.raises(ValueError, match=r"bad\.npz.* is not a readable file"):
        ClassStatistics.load(bad)
    assert not sprung.exists()
    np.load(bad, allow_pickle=True)["classes"]  # it was a trap
    assert sprung.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="files have no such modes there")
def test_files_written_at_once_leave_the_umask_as_it_was(tmp_path):
    before = os.umask(0o027)
    try:

        def write(number):
            for k in range(20):
                with written_whole(tmp_path / f"{number}-{k}") as file:
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
            with written_whole(old):
                (temporary,) = tmp_path.glob(".0-0.*")
                assert stat.S_IMODE(temporary.stat().st_mode) == mode & ~0o027
            assert stat.S_IMODE(old.stat().st_mode) == mode
    finally:
        os.umask(before)
