"""A pytest plugin: our discriminant in the place of scikit-learn's plain classifiers.

It is for processes of their own, see `test_sklearn_modules.py`: `pytest -p
ecosystem.stand_in --pyargs sklearn.tests.test_pipeline`.
"""

import importlib
import inspect
import re

import pytest

from ecosystem.left_out import LEFT_OUT
from heterolda import GaussianLinearDiscriminant

# Where test modules import the classifiers from, and where ensembles get their own.
PLACES = {
    "sklearn.linear_model": (
        "LogisticRegression",
        "Perceptron",
        "RidgeClassifier",
        "SGDClassifier",
    ),
    "sklearn.svm": ("LinearSVC", "SVC"),
    "sklearn.tree": ("DecisionTreeClassifier",),
    "sklearn.naive_bayes": ("GaussianNB", "MultinomialNB"),
    "sklearn.neighbors": ("KNeighborsClassifier",),
    "sklearn.discriminant_analysis": ("LinearDiscriminantAnalysis",),
    "sklearn.ensemble._weight_boosting": ("DecisionTreeClassifier",),
    "sklearn.ensemble._bagging": ("DecisionTreeClassifier",),
    "sklearn.ensemble._stacking": ("LogisticRegression",),
    "sklearn.calibration": ("LinearSVC",),
}
# What brings a classifier along without its name.
_BY_DEFAULT = "AdaBoostClassifier", "BaggingClassifier", "StackingClassifier"
# Tests that take seconds, and differ from others in what is not ours.
_SLOW = re.compile(
    r"parallel|n_jobs|joblib|csr_matrix|coo|log_proba|consistent_predict|with_parameter"
    r"|chain_.*(sparse|svc|independent)|stacking.*multilabel|pairwise|sanity|metric1"
    r"|calibration_multiclass"
)


class _Lenient(type):
    """Classes that are called with the parameters of others."""

    def __call__(cls, *args, **kwargs):
        if set(kwargs) != set(GaussianLinearDiscriminant().get_params()):  # no clone
            kwargs = {k: v for k, v in kwargs.items() if k == "random_state"}
        return super().__call__(**kwargs)


def _stand_in(name):
    """Our discriminant under the name of another classifier."""
    about = {"__module__": __name__, "__doc__": f"It stands for {name}."}
    return _Lenient(name, (GaussianLinearDiscriminant,), about)


NAMES = sorted({name for names in PLACES.values() for name in names})
globals().update({name: _stand_in(name) for name in NAMES})  # for pickles


def pytest_configure():
    """Put the stand-ins in place, before any test module is imported."""
    modules = {place: importlib.import_module(place) for place in PLACES}
    for place, names in PLACES.items():
        for name in names:
            setattr(modules[place], name, globals()[name])


def pytest_collection_modifyitems(config, items):
    """Keep the tests in which a stand-in may be; those left out are to fail."""
    word = re.compile(rf"\b({'|'.join([*NAMES, *_BY_DEFAULT])})\b")
    idle = [
        item
        for item in items
        if _SLOW.search(item.name) or not word.search(_text(item))
    ]
    config.hook.pytest_deselected(items=idle)
    items[:] = [item for item in items if item not in idle]
    for module in {item.module.__name__ for item in items}:
        for start, reason in LEFT_OUT.get(module, {}).items():
            found = [item for item in items if _is(item, module, start)]
            if not found:
                raise pytest.UsageError(f"{module} has no test {start}: delete it")
            for item in found:
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True))


def _text(item):
    """The body of a test, its name and its parameters."""
    body = inspect.getsource(item.function).partition("def ")[2]
    callspec = getattr(item, "callspec", None)
    return f"{body} {item.name} {callspec and callspec.params}"


def _is(item, module, start):
    """Whether an entry is about a test: it has the first part of its name."""
    whole = start if "[" in start else f"{start}["
    return item.module.__name__ == module and f"{item.name}[".startswith(whole)
