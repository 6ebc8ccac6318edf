"""Libraries of arrays and devices that tests run on, where they are installed."""

import shutil
from importlib import import_module
from importlib.util import find_spec

import pytest
import sklearn

from heterolda.foundations.arrays import Device, device_of

# Importing torch to ask takes seconds.
_HAS_GPU = shutil.which("nvidia-smi") is not None
# Packages and devices by name; those of a GPU are marked.
DEVICES = [
    pytest.param((package, where), id=name, marks=[pytest.mark.gpu] * needs_gpu)
    for name, package, where, needs_gpu in (
        ("torch", "torch", {"device": "cpu"}, False),
        ("strict", "array_api_strict", {}, False),
        ("cuda", "torch", {"device": "cuda"}, True),
        ("cupy", "cupy", {}, True),
    )
    if find_spec(package) is not None and (_HAS_GPU or not needs_gpu)
]


@pytest.fixture
def dispatch(monkeypatch):
    """scikit-learn's switch for arrays of other libraries."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    try:
        context = sklearn.config_context(array_api_dispatch=True)
        context.__enter__()
    except ImportError as error:  # of older versions of SciPy and scikit-learn
        pytest.skip(str(error))
    yield
    context.__exit__(None, None, None)


@pytest.fixture(params=DEVICES)
def device(request, dispatch) -> Device:
    """Yield each installed library, with array API dispatch switched on."""
    package, where = request.param
    return device_of(import_module(package).zeros(1, **where), always=True)
