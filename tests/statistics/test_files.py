"""Files of class statistics: all that is saved comes back, and nothing else is read."""

import io

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from heterolda import ClassStatistics

of = ClassStatistics.from_data


@pytest.mark.parametrize("labels", [[3, 1], [False, True], [1.0, 2.0], ["é", "日本"]])
def test_save_and_load(make_classes, tmp_path, labels):
    X, y = make_classes(n_classes=2)
    stats = of(X, np.array(labels)[y])
    stats.save(tmp_path / "stats.npz")
    assert [p.name for p in tmp_path.iterdir()] == ["stats.npz"]
    file = io.BytesIO()
    stats.save(file)
    for source in (tmp_path / "stats.npz", io.BytesIO(file.getvalue())):
        again = ClassStatistics.load(source)
        assert again.classes.dtype == stats.classes.dtype
        for name in ("classes", "weights", "means", "scatters"):
            assert_array_equal(getattr(again, name), getattr(stats, name))
        assert again.feature_names is None
    with pytest.raises(ValueError, match=r"\(an open file\) is not a readable file"):
        ClassStatistics.load(io.BytesIO(file.getvalue()[:-40]))


def test_object_labels_and_feature_names_are_kept(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2, 3, 5], "b": [2.0, 1, 7, 3]})
    stats = of(frame, np.array(["x", "x", "y", "y"], dtype=object))
    stats.save(tmp_path / "s.npz")
    again = ClassStatistics.load(tmp_path / "s.npz")
    assert again.classes.dtype == object
    assert list(again.feature_names) == ["a", "b"]
    assert list((stats + again).feature_names) == ["a", "b"]


def test_an_interrupted_save_leaves_the_old_file(tmp_path, monkeypatch):
    stats = of([[1.0], [2.0]], [0, 0])
    path = tmp_path / "s.npz"
    stats.save(path)
    content = path.read_bytes()

    def interrupted(file, **arguments):
        file.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez", interrupted)
    with pytest.raises(KeyboardInterrupt):
        stats.save(path)
    assert path.read_bytes() == content
    assert [p.name for p in tmp_path.iterdir()] == ["s.npz"]


def test_what_cannot_be_saved(tmp_path):
    """Labels that are not text, and statistics that would reveal rows."""
    stats = of(np.arange(9.0)[:, None], [0] * 4 + [1] * 5)
    with pytest.raises(ValueError, match=r"\[0\] have fewer rows than min_count=5"):
        stats.save(tmp_path / "a.npz", min_count=5)
    with pytest.raises(ValueError, match=r"^min_count must be a number"):
        stats.save(tmp_path / "a.npz", min_count="many")
    with pytest.raises(FileNotFoundError, match="absent"):
        stats.save(tmp_path / "absent" / "s.npz")
    # A class of weight 0 has no row to protect; one of weight 0.5 has.
    small = of(np.eye(3), [0, 1, 2], [0.0, 0.5, 1.0])
    with pytest.raises(ValueError, match=r"^classes \[1, 2\] have fewer rows than"):
        small.save(tmp_path / "b.npz", min_count=2)
    other = stats.with_entries(np.arange(2), np.array([(1, 2), "b"], object))
    with pytest.raises(ValueError, match=r"^classes must be .* got \[\(1, 2\), 'b'\]$"):
        other.save(tmp_path / "s.npz")
    assert not list(tmp_path.iterdir())
    for one, least in ((stats, 4), (small, 0)):
        one.save(tmp_path / "a.npz", min_count=least)
        assert_array_equal(
            ClassStatistics.load(tmp_path / "a.npz").weights, one.weights
        )


def test_load_refuses_damaged_content(tmp_path, make_classes, rng):
    X, y = make_classes(n_classes=3)
    of(X, y).save(tmp_path / "good.npz")
    good = dict(np.load(tmp_path / "good.npz"))
    skew = good["scatters"].copy()
    skew[0, 0, 1] += 1e3
    unfit = "its arrays do not fit together"
    path = tmp_path / "bad.npz"
    for change, reason in (
        ({"means": None}, ""),
        ({"weights": np.ones(4)}, ""),
        ({"means": np.array([["a"]])}, ""),
        ({"classes": np.array([{"a": 1}], dtype=object)}, ""),
        ({"classes": good["classes"][::-1]}, unfit),
        ({"weights": -good["weights"]}, unfit),
        ({"feature_names": np.array(["a", "b"])}, unfit),
        ({"classes_are_objects": np.array([], bool)}, unfit),
        ({"format": np.array([1, 2])}, "its format is not an integer"),
        ({"format": np.array("1")}, "its format is not an integer"),
        ({"format": np.array(2)}, "it has format 2, and this release reads only form"),
        ({"scatters": skew}, "covariances: the matrix of class 0 is not symmetric"),
        ({"scatters": -good["scatters"]}, "covariances: the matrix of class 0 has"),
        ({"scatters": good["scatters"][:2]}, ""),
        ({"weights": good["weights"] * np.nan}, "weights contains NaN"),
        ({"means": good["means"] * np.nan}, "means contains NaN"),
        ({"scatters": good["scatters"] * np.nan}, "scatters contains NaN"),
    ):
        content = {k: v for k, v in (good | change).items() if v is not None}
        np.savez(path, **content)
        with pytest.raises(ValueError, match="is not a readable file") as caught:
            ClassStatistics.load(path)
        message = f"path '{path}' is not a readable file of class statistics: {reason}"
        assert str(caught.value).startswith(message)
        assert reason != unfit or str(caught.value) == message
    whole = bytearray((tmp_path / "good.npz").read_bytes())
    for content in (whole[:-40], b"", b"\x80junk"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="not a readable file of class statistics"):
            ClassStatistics.load(path)
    for _ in range(300):  # one changed byte: refused, or harmless
        damaged = bytearray(whole)
        damaged[rng.integers(len(whole))] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        try:
            loaded = ClassStatistics.load(path)
        except ValueError:  # and nothing else
            continue
        assert_array_equal(loaded.scatters, good["scatters"])
    with pytest.raises(FileNotFoundError):
        ClassStatistics.load(tmp_path / "absent.npz")
