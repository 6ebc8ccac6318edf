"""Files of class statistics: any content is rejected, or is statistics to fit with."""

from __future__ import annotations

import io
import warnings
import zipfile

import numpy as np

from fuzz.changes import change_bytes
from fuzz.reader import Reader, is_worded
from heterolda import ClassStatistics, GaussianLinearDiscriminant

_SHAPES = [(), (0,), (1,), (2,), (4,), (2, 2), (4, 2), (2, 4, 4), (0, 3, 3), (4, 2, 2)]
_TYPES = ["f8", "f4", "i8", "u1", "?", "c16", "S3", "U3", "M8[s]", "V8", "f2", "g"]
_NUMBERS = [np.nan, np.inf, -np.inf, -1.0, 0.0, 1e308, -1e308, 5e-324, 1e160, 1e-160]


def check(data):
    """Return whether a file holds statistics; if so, they fit, and are saved again."""
    try:
        read = ClassStatistics.load(io.BytesIO(data))
    except ValueError as error:
        if not is_worded(error):
            raise
        return False
    for values in (read.weights, read.means, read.scatters):
        assert np.isfinite(values).all()
    again = ClassStatistics.load(io.BytesIO(_saved(read)))
    # Squares of numbers below 1e-150 have too few digits for a relative bound.
    norms = np.sqrt(read.squares) + 1e-150
    most = 0.0 if read.factors is None else 1e-12
    bounds = most * (norms[:, :, None] * norms[:, None])
    assert (np.abs(read.scatters - again.scatters) <= bounds).all()
    assert read.classes.tolist() == again.classes.tolist()
    if read.n_features > 50:
        return True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = GaussianLinearDiscriminant().fit_statistics(read)
            assert np.isfinite(model.predict_proba(read.means)).all()
            read + again  # may be too large for float64
    except ValueError as error:
        if not is_worded(error):
            raise
    return True


def _saved(stats):
    file = io.BytesIO()
    stats.save(file)
    return file.getvalue()


def seeds():
    """Return files of several kinds of labels, the last with factors of rows."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 12)
    X = rng.normal(size=(48, 2)) * (1 + y[:, None]) + 2 * y[:, None]
    labels = y, np.array(list("abcd"))[y], y % 2 == 0, y * 1.0
    stats = [ClassStatistics.from_data(X, kind) for kind in labels]
    text, names = stats[1], np.array(["width", "height"], dtype=object)
    moments = text.weights, text.means, text.scatters
    stats.append(ClassStatistics(text.classes.astype(object), *moments, names))
    few = [rng.normal(size=(2, 5)), rng.normal(size=(1, 5))]
    moments = np.array([3.0, 2.0]), rng.normal(size=(2, 5)), few
    stats.append(ClassStatistics(np.array([0, 1]), *moments))
    return [_saved(one) for one in stats]


def change(data, rng):
    """Return another content: other bytes, or other arrays in a good archive."""
    try:
        with np.load(io.BytesIO(data)) as archive:
            arrays = {key: np.asarray(archive[key]) for key in archive.files}
    except Exception:  # it is no archive any more, or claims too much memory
        arrays = {}
    if rng.random() < 0.3 or not arrays:
        return change_bytes(data, rng)
    members = {f"{key}.npy": _npy(array) for key, array in arrays.items()}
    for _ in range(rng.choice([1, 1, 2, 3])):
        key = rng.choice(list(arrays))
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                members[f"{key}.npy"] = _another(arrays[key], arrays, rng)
        except Exception:  # not every type turns into every other
            members.pop(f"{key}.npy", None)
    file = io.BytesIO()
    packing = rng.choice([zipfile.ZIP_STORED] * 3 + [zipfile.ZIP_DEFLATED])
    with zipfile.ZipFile(file, "w", packing) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def _npy(array):
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asanyarray(array), allow_pickle=True)
    return file.getvalue()


def _another(array, arrays, rng):
    """Return the content of another array, or of a damaged one."""
    kind = rng.randrange(8)
    if kind == 0:
        return _npy(np.zeros(rng.choice(_SHAPES), rng.choice(_TYPES)))
    if kind == 1:
        return _npy(np.array([None, {"a": 1}, "text"], dtype=object))
    if kind == 2:
        return _npy(arrays[rng.choice(list(arrays))])
    if kind == 3 and array.dtype.kind == "f" and array.size:
        changed = array.copy()
        changed.flat[rng.randrange(array.size)] = rng.choice(_NUMBERS)
        return _npy(changed)
    if kind == 4 and array.ndim:
        axis = rng.randrange(array.ndim)
        return _npy(np.repeat(array, rng.choice([0, 2, 20]), axis=axis))
    if kind == 5:  # the header claims another shape, without the numbers
        shape = rng.choice([(10**4,), (10**5, 10**5), (2, 9**19), (-1,)])
        header = {"descr": "<f8", "fortran_order": False, "shape": shape}
        file = io.BytesIO()
        np.lib.format.write_array_header_1_0(file, header)
        return file.getvalue() + _npy(array)[-64:]
    if kind == 6:
        return change_bytes(_npy(array), rng)
    return _npy(array.astype(rng.choice(_TYPES)))


READER = Reader("statistics", ".npz", seeds, change, check)
