"""Files of class statistics: any content is refused, or is statistics to fit with."""

from __future__ import annotations

import io
import struct
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
    """Whether a file holds statistics. If so, they fit or say why not, and are saved.

    Parameters
    ----------
    data : bytes
        The content of a file. Any error but a clear ValueError is a defect.

    Returns
    -------
    bool
        Whether it was read.
    """
    try:
        read = ClassStatistics.load(io.BytesIO(data))
    except ValueError as error:
        if not is_worded(error):
            raise
        return False
    for values in (read.weights, read.means, read.scatters):
        assert np.isfinite(values).all()
    again = io.BytesIO()
    read.save(again)
    other = ClassStatistics.load(io.BytesIO(again.getvalue()))
    norms, most = np.sqrt(read.squares), 0.0 if read.factors is None else 1e-12
    # Numbers below the least normal one have too few digits for a relative bound.
    least = np.finfo(np.float64).tiny
    bounds = most * (norms[:, :, None] * norms[:, None] + least)
    assert (np.abs(read.scatters - other.scatters) <= bounds).all()
    assert read.classes.tolist() == other.classes.tolist()
    if read.n_features > 50:
        return True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = GaussianLinearDiscriminant().fit_statistics(read)
            assert np.isfinite(model.predict_proba(read.means)).all()
            read + other  # may be too large for float64
    except ValueError as error:
        if not is_worded(error):
            raise
    return True


def seeds():
    """Files of several kinds of labels, the last with factors of rows."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 12)
    X = rng.normal(size=(48, 2)) * (1 + y[:, None]) + 2 * y[:, None]
    found = []
    for labels in (y, np.array(list("abcd"))[y], y % 2 == 0, y * 1.0):
        one = ClassStatistics.from_data(X, labels)
        names = np.array(["width", "height"], dtype=object)
        named = ClassStatistics(
            one.classes.astype(object), one.weights, one.means, one.scatters, names
        )
        for item in (one, named) if labels.dtype.kind == "U" else (one,):
            file = io.BytesIO()
            item.save(file)
            found.append(file.getvalue())
    few = [rng.normal(size=(2, 5)), rng.normal(size=(1, 5))]
    moments = np.array([3.0, 2.0]), rng.normal(size=(2, 5))
    file = io.BytesIO()
    ClassStatistics(np.array([0, 1]), *moments, few).save(file)
    return [*found, file.getvalue()]


def change(data, rng):
    """Another content: other bytes, or other arrays in a good archive."""
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
                content = _another(arrays[key], arrays, rng)
        except Exception:  # not every type turns into every other
            content = None
        if content is None:
            members.pop(f"{key}.npy", None)
        else:
            members[f"{key}.npy"] = content
    if rng.random() < 0.05:
        members[rng.choice(["extra.npy", "../up.npy", "format", "é.npy"])] = b"\x93NUM"
    return _archive(members, rng)


def _npy(array):
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asanyarray(array), allow_pickle=True)
    return file.getvalue()


def _another(array, arrays, rng):
    """The content of another array, of a damaged one, or None."""
    kind = rng.randrange(9)
    if kind == 0:
        return None
    if kind == 1:
        return _npy(np.zeros(rng.choice(_SHAPES), rng.choice(_TYPES)))
    if kind == 2:
        return _npy(np.array([None, {"a": 1}, "text"], dtype=object))
    if kind == 3:
        return _npy(arrays[rng.choice(list(arrays))])
    if kind == 4 and array.dtype.kind == "f" and array.size:
        changed = array.copy()
        for _ in range(rng.choice([1, 2, 9])):
            changed.flat[rng.randrange(array.size)] = rng.choice(_NUMBERS)
        return _npy(changed)
    if kind == 5 and array.ndim:
        axis = rng.randrange(array.ndim)
        return _npy(np.repeat(array, rng.choice([0, 2, 20]), axis=axis))
    if kind == 6:
        return _declared(_npy(array), rng)
    if kind == 7:
        return change_bytes(_npy(array), rng)
    return _npy(array.astype(rng.choice(_TYPES)))


def _declared(content, rng):
    """An array whose header claims another shape or type than it has."""
    shape = rng.choice(["(10**4,)", "(100000, 100000)", "(2, 9**19)", "(-1,)", "(4, 1"])
    kind = rng.choice(["<f8", "|O", "<U99999", "|V0", "f8,f8", ">f8", "no"])
    order = rng.choice(["True", "False"])
    text = f"{{'descr': {kind!r}, 'fortran_order': {order}, 'shape': {shape}, }}"
    head = text.encode().ljust(118 + rng.choice([0, 0, 10_000])) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + content[-64:]


def _archive(members, rng):
    """A zip file, packed or not, now and then with much in little room."""
    packed = rng.choice([zipfile.ZIP_STORED] * 3 + [zipfile.ZIP_DEFLATED])
    file = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w", packed) as archive:
        warnings.simplefilter("ignore")
        for name, content in members.items():
            archive.writestr(name, content)
        if rng.random() < 0.01:
            _add_bomb(archive, rng.choice(list(members)), rng.choice([9, 40, 200]))
    return file.getvalue()


def _add_bomb(archive, name, n_blocks):
    """Add megabytes of zeros, which pack well; without memory of the fuzzer's own."""
    head = io.BytesIO()
    block = bytes(1 << 20)
    np.lib.format.write_array_header_1_0(
        head, {"descr": "<f8", "fortran_order": False, "shape": (n_blocks << 17,)}
    )
    info = zipfile.ZipInfo(name)
    info.compress_type = zipfile.ZIP_DEFLATED
    with archive.open(info, "w") as file:
        file.write(head.getvalue())
        for _ in range(n_blocks):
            file.write(block)


READER = Reader("statistics", ".npz", seeds, change, check)
