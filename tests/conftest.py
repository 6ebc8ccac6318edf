"""Fixtures that all tests share."""

import os
import shutil
import signal
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from helpers.browsing import open_browser
from helpers.devices import device, dispatch  # noqa: F401 (fixtures)

# Tests interrupt processes that they have started. One that was itself started in the
# background may ignore interrupts, and its children with it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Where no kernels could be built, the tests run without and expect no word about it.
(PACKAGE,) = find_spec("heterolda").submodule_search_locations
if not list(Path(PACKAGE, "kernels").glob("_compiled.*")):
    os.environ.setdefault("HETEROLDA_KERNELS", "numpy")

# What hypothesis draws is the same in every run of the same tests, until --seed asks
# for something else. It tries constants of the modules that are imported so far, too,
# so no test may rely on a particular draw.
FIXED = {"deadline": None, "database": None, "max_examples": 25}
settings.register_profile("fixed", derandomize=True, **FIXED)
settings.register_profile("seeded", **FIXED)


def pytest_addoption(parser):
    parser.addoption("--seed", type=int, default=0, help="seed of all that is drawn")


def pytest_configure(config):
    seed = config.getoption("--seed")
    settings.load_profile("seeded" if seed else "fixed")
    if seed and config.getoption("hypothesis_seed", None) is None:
        config.option.hypothesis_seed = str(seed)


# Tests of the folders that all answers depend on; `make coverage` runs them.
COVERED = {
    *("statistics", "solvers", "subspaces", "tradeoff", "search", "estimators"),
    "ecosystem",
}


# Pages whose examples need PyTorch or a compiler, or take seconds.
SLOW_PAGES = {
    *("deploy.md", "few_rows.md", "missing.md", "projection.md", "report.md"),
    *("scale.md", "tutorial.md"),
}

# They take a minute or more: whoever begins with them does not end with one of them.
LONG = {"test_site.py"}


def pytest_collection_modifyitems(items):
    """Sort tests into tiers, and the longest files to the front."""
    items.sort(key=lambda item: item.path.name not in LONG)
    missing = pytest.mark.skip(reason="gcc is not installed")
    for item in items:
        of_arrays = "dispatch" in getattr(item, "fixturenames", ())
        if needs_much(item):
            item.add_marker("check")
        tiers = {mark.name for mark in item.iter_markers()}
        place = item.path.relative_to(item.config.rootpath).parts[:2]
        if (
            place[0] == "tests"
            and place[1] in COVERED
            and (of_arrays or "check" not in tiers)
            and "no_cover" not in tiers
        ):
            item.add_marker("covered")
        if item.path.name == "scale.md" and find_spec("torch") is None:
            item.add_marker(pytest.mark.skip(reason="torch is not installed"))
        if item.path.name == "deploy.md" and shutil.which("gcc") is None:
            item.add_marker(missing)


def needs_much(item):
    """Whether a test belongs to `make check` by its place or by what it uses."""
    if item.path.parent.name == "release":
        return True
    if item.path.name in SLOW_PAGES:
        return True
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    fixtures = set(getattr(item, "fixturenames", ()))
    return parameters.get("scheduler") == "processes" or not fixtures.isdisjoint(
        {"browser", "cluster", "data_dir", "device"}
    )


@pytest.fixture
def rng(request):
    """The one source of randomness: a test must pass for any seed."""
    return np.random.default_rng(request.config.getoption("--seed"))


@pytest.fixture(scope="session")
def data_dir():
    """Folder of the real data sets, named by HETEROLDA_DATA."""
    folder = os.environ.get("HETEROLDA_DATA")
    if not folder:
        pytest.skip("HETEROLDA_DATA does not name the folder of the real data sets")
    if not Path(folder).is_dir():
        pytest.fail(f"HETEROLDA_DATA={folder!r} is not a folder")
    return Path(folder)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Headless Chromium."""
    driver = open_browser(tmp_path_factory.mktemp("profile"))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def cluster():
    """A dask cluster of two worker processes, each with a nanny."""
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",  # any port: other tests have clusters, too
            memory_limit="2GiB",
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(params=["threads", "processes"])
def scheduler(request):
    """Where dask's tasks run: the client of the cluster is active while it lives."""
    import dask

    if request.param == "processes":
        yield request.getfixturevalue("cluster")
    else:
        with dask.config.set(scheduler="threads"):
            yield None


@pytest.fixture
def numpy_kernels(monkeypatch):
    """Run the test without the compiled kernels."""
    monkeypatch.setattr("heterolda.kernels.compiled", None)


@pytest.fixture(params=["compiled", "numpy"])
def kernels(request):
    """Run the test with the compiled kernels, and without."""
    if request.param == "numpy":
        request.getfixturevalue("numpy_kernels")


@pytest.fixture
def make_classes(rng):
    """Gaussian classes with covariances of their own, in shuffled order."""

    def make(n_classes=4, n=60, d=3, spread=1.5):
        y = np.repeat(np.arange(n_classes), n)
        shapes = rng.normal(size=(n_classes, d, d))
        centers = spread * rng.normal(size=(n_classes, d))
        X = (rng.normal(size=(len(y), 1, d)) @ shapes[y])[:, 0] + centers[y]
        order = rng.permutation(len(y))
        return X[order], y[order]

    return make
