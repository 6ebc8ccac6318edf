"""Arrays of other libraries: where they are, and the way to NumPy and back."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from heterolda.foundations.arrays import device_of, to_host, xp_of
from heterolda.foundations.validation import check_priors


def test_arrays_go_there_and_back(device):
    for values in (
        np.arange(6.0).reshape(2, 3),
        *(np.float32([1, 2]), np.arange(3), np.array([True, False])),
        np.broadcast_to(1.5, (2, 2)),
    ):
        there = device.put(values)
        assert device_of(there) == device
        assert xp_of(there) is device.xp
        np.testing.assert_array_equal(to_host(there), values)
        assert to_host(there).dtype == values.dtype
    assert device.put(np.array(["a", "b"])).dtype.kind == "U"
    priors = check_priors(device.put(np.array([1.0, 3.0])), np.arange(2), np.ones(2))
    np.testing.assert_array_equal(priors, [0.25, 0.75])


def test_numpy_and_what_it_takes_are_on_no_device(dispatch):
    for X in (np.ones(2), [1, 2], csr_array(np.eye(2)), np.float64(3)):
        assert device_of(X) is None


@pytest.mark.check
def test_other_libraries_are_told_apart_only_under_dispatch():
    torch = pytest.importorskip("torch")
    pytest.importorskip("sklearn.externals.array_api_compat")
    assert device_of(torch.ones(2)) is None
    assert device_of(torch.ones(2), always=True).library == "torch"

    class Far(torch.Tensor):
        device = "cuda:0"

    Far.__module__ = "torch"
    with pytest.raises(TypeError, match=r"array_api_dispatch=True.*numpy.asarray"):
        device_of(torch.ones(2).as_subclass(Far))
