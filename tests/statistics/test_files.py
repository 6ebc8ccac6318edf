"""Files of class statistics: all that is saved comes back, and nothing else is read."""

import io

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from heterolda import ClassStatistics
from heterolda.foundations import files

of = ClassStatistics.from_data


@pytest.mark.parametrize("labels", [[3, 1], [False, True], [1.0, 2.0], ["é", "日本"]])
def test_save_and_load(make_classes, tmp_path, labels):
    X, y = make_classes(n_classes=2)
    labels = np.array(labels)[y]
    if labels.dtype.kind == "i":
        X = pd.DataFrame(X, columns=list("abc"))
    elif labels.dtype.kind == "U":
        X[::5, 1], labels = np.nan, labels.astype(object)
    stats = of(X, labels, missing="em")
    stats.save(tmp_path / "stats.npz")
    stats.save(file := io.BytesIO())
    for source in (tmp_path / "stats.npz", io.BytesIO(file.getvalue())):
        again = ClassStatistics.load(source)
        assert again.estimated_by == ("EM" if labels.dtype.kind == "O" else None)
        assert again.classes.tolist() == stats.classes.tolist()
        for name in ("weights", "means", "scatters", "feature_names"):
            assert_array_equal(getattr(again, name), getattr(stats, name))


def test_saving_is_all_or_nothing(tmp_path, monkeypatch):
    path = tmp_path / "s.npz"
    stats = of(np.arange(9.0)[:, None], [0] * 4 + [1] * 5)
    stats.save(path, min_count=4)
    content = path.read_bytes()

    def interrupted(file, **arguments):
        file.write(b"half")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(np, "savez", interrupted)
        with pytest.raises(KeyboardInterrupt):
            stats.save(path)
    # Statistics of few rows would reveal them; labels must be text or numbers.
    with pytest.raises(ValueError, match=r"\[0\] have fewer rows than min_count=5"):
        stats.save(path, min_count=5)
    other = stats.with_entries(np.arange(2), np.array([(1, 2), "b"], object))
    with pytest.raises(ValueError, match=r"^classes must be .* got \[\(1, 2\), 'b'\]$"):
        other.save(path)
    assert path.read_bytes() == content
    assert [p.name for p in tmp_path.iterdir()] == ["s.npz"]


def test_damaged_files_are_rejected(tmp_path, make_classes, rng, monkeypatch):
    X, y = make_classes(n_classes=3)
    path = tmp_path / "s.npz"
    of(rng.normal(size=(20, 120)), np.arange(20) % 2).save(path)
    factors = dict(np.load(path))["factors"]
    of(X, y).save(path)
    whole, good = bytearray(path.read_bytes()), dict(np.load(path))
    skew = good["scatters"].copy()
    skew[0, 0, 1] += 1e3
    wide = {"scatters": None, "means": np.zeros((3, 120))}
    wide |= {"n_factors": np.array([len(factors), 0, 0])}
    for change, reason in (
        ({"means": None}, "it lacks 'means'"),
        ({"weights": np.ones(4)}, "must describe the same classes"),
        ({"classes": np.array([{"a": 1}], dtype=object)}, "holds Python objects"),
        ({"classes": good["classes"][::-1]}, "do not fit together"),
        ({"classes": np.array([1, 2, 2**31], "u4").view("U1")}, "beyond Unicode"),
        ({"weights": -good["weights"]}, "do not fit together"),
        ({"weights": np.array([1e308, 1e308, 1.0])}, "do not fit together"),
        ({"given": np.array([True])}, "do not fit together"),
        ({"given": np.array(1)}, "do not fit together"),
        ({"estimated_by": np.array(1)}, "do not fit together"),
        ({"feature_names": np.array(["a", "b"])}, "do not fit together"),
        ({"means": skew[0, :, :0], "scatters": skew[:, :0, :0]}, "do not fit"),
        ({"weights": np.full(3, np.nan)}, "weights contains NaN"),
        ({"means": good["means"] * np.nan}, "means contains NaN"),
        ({"format": np.array(2)}, "its format is not 1"),
        ({"scatters": skew}, "class 0 is not symmetric"),
        ({"scatters": good["scatters"] * np.nan}, "scatters contains NaN"),
        ({"scatters": good["scatters"] * 1e-310}, "feature 0 .* underflow"),
        ({"scatters": good["scatters"] * [[1, 1, 1e-310]]}, "is not symmetric"),
        (wide | {"factors": factors * 1e200}, "feature 0 .* overflow"),
        (wide | {"factors": factors * np.nan}, "factors contains NaN"),
        (wide | {"factors": factors[:, :9]}, "do not fit together"),
        (wide | {"factors": factors[1:]}, "do not fit together"),
        (wide | {"factors": factors, "n_factors": np.ones(3)}, "do not fit together"),
        (wide | {"factors": factors, "n_factors": good["format"]}, "do not fit"),
    ):
        content = {k: v for k, v in (good | change).items() if v is not None}
        np.savez(path, **content)
        with pytest.raises(ValueError, match=f"is not a readable file .*{reason}"):
            ClassStatistics.load(path)
    np.savez_compressed(path, **good, more=np.zeros(10**5))
    monkeypatch.setattr(files, "_MAX_BYTES", 0)
    with pytest.raises(ValueError, match="its arrays are far larger than the file"):
        ClassStatistics.load(path)
    for _ in range(100):  # one changed byte: rejected, or harmless
        damaged = bytearray(whole)
        damaged[rng.integers(len(whole))] ^= 1 << rng.integers(8)
        try:
            loaded = ClassStatistics.load(io.BytesIO(damaged))
        except ValueError:  # and nothing else
            continue
        assert_array_equal(loaded.scatters, good["scatters"])
