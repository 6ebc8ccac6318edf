"""Libraries of arrays and devices that tests run on, where they are installed."""

import shutil
from importlib.util import find_spec

import pytest
import sklearn

from heterolda.foundations.arrays import Device, device_of


def _torch(where):
    def make():
        import torch

        return device_of(torch.zeros(1, device=where), always=True)

    return make


def _strict():
    import array_api_strict

    return device_of(array_api_strict.zeros(1), always=True)


def _cupy():
    import cupy

    return device_of(cupy.zeros(1), always=True)


# Importing torch to ask takes seconds.
_HAS_GPU = shutil.which("nvidia-smi") is not None

# Functions that make a `Device`, of libraries that are here; those of a GPU are marked.
DEVICES = [
    pytest.param(make, id=name, marks=[pytest.mark.gpu] * needs_gpu)
    for name, package, make, needs_gpu in (
        ("torch", "torch", _torch("cpu"), False),
        ("strict", "array_api_strict", _strict, False),
        ("cuda", "torch", _torch("cuda"), True),
        ("cupy", "cupy", _cupy, True),
    )
    if find_spec(package) is not None and (_HAS_GPU or not needs_gpu)
]


@pytest.fixture
def dispatch(monkeypatch):
    """scikit-learn's switch for arrays of other libraries."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    try:
        with sklearn.config_context(array_api_dispatch=True):
            pass
    except ImportError as error:  # of older versions of SciPy and scikit-learn
        pytest.skip(str(error))
    with sklearn.config_context(array_api_dispatch=True):
        yield


@pytest.fixture(params=DEVICES)
def device(request, dispatch) -> Device:
    """Each library that is here, with the switch on."""
    return request.param()
