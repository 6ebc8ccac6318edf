"""Convert fitted estimators to ONNX graphs, with converters for skl2onnx.

Graphs have standard operators of opset 13 or newer. Scores and components have the
precision of the input, except that scores of transformed features are in double.
Probabilities and votes are also in double, by the formulas of
:mod:`heterolda.estimators.votes` and :mod:`heterolda.kernels.coupling`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from json import dumps
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import check_is_fitted

from heterolda.estimators.base import host_of
from heterolda.estimators.fit_record import feature_meanings
from heterolda.estimators.projection import HeteroscedasticProjection
from heterolda.export.rules import EXPORTED, Description, describe, in_single
from heterolda.foundations.files import PATH, atomic_write
from heterolda.foundations.validation import check_type
from heterolda.kernels.coupling import MAX_LOG_ODDS, MIN_LOG_ODDS
from heterolda.statistics.power import FARTHEST, PowerTransformation

_COLUMNS = np.array([1])  # the axis


def to_onnx(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    dtype: str = "float32",
) -> Any:
    """Convert a fitted classifier, projection or pipeline to ONNX.

    This calls skl2onnx with settings that suit most uses: the input is ``X`` with any
    number of rows, and the outputs are the labels and one array of probabilities (sums
    of votes for more than two classes that vote), or the components of a projection. If
    the columns of ``X`` have names, the graph's metadata describe them under
    "features", as a list in JSON. For other settings, call
    `heterolda.export.onnx.register` and then skl2onnx itself.

    For a row with NaN or infinity, the probabilities are NaN and the label is not a
    class: the empty string, or -2^63 for integers. This also holds for a discriminant
    with ``missing="em"``; if the same features are always missing, convert
    ``model.for_features(...)``.

    Parameters
    ----------
    model : estimator
        A GaussianLinearDiscriminant, a SmoothedLinearDiscriminant, a
        LocalNeighborhoodSearch, a BoundedErrorClassifier of a discriminant, a
        HeteroscedasticProjection or a Pipeline, which may have scikit-learn steps.
        Labels are strings or integers; booleans and whole floats become integers.
    path : str, path-like or None, default=None
        File to write, whole or not at all. If None, no file is written.
    dtype : {"float32", "float64"}, default="float32"
        Type of the features and of the probabilities or components.

    Returns
    -------
    onnx.ModelProto
        The graph.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from heterolda import GaussianLinearDiscriminant, to_onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GaussianLinearDiscriminant().fit(X, y)
    >>> graph = to_onnx(model)
    >>> from onnxruntime import InferenceSession
    >>> session = InferenceSession(graph.SerializeToString())
    >>> label, probability = session.run(None, {"X": X[:2].astype("float32")})
    >>> label.tolist(), probability.shape
    ([0, 0], (2, 3))
    """
    check_type("model", model, BaseEstimator, "a fitted estimator")
    check_type("path", path, (*PATH, type(None)), "a path or None")
    if dtype not in ("float32", "float64"):
        raise ValueError(f"dtype must be 'float32' or 'float64', got {dtype!r}")
    try:
        from skl2onnx import convert_sklearn
        from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType
    except ImportError as error:
        message = "export to ONNX needs skl2onnx: pip install skl2onnx"
        raise ImportError(message) from error
    register()
    check_is_fitted(model := host_of(model))
    kind = FloatTensorType if dtype == "float32" else DoubleTensorType
    graph = convert_sklearn(
        model,
        name=type(model).__name__,
        initial_types=[("X", kind([None, model.n_features_in_]))],
        options={"zipmap": False} if is_classifier(model) else None,
        target_opset=15,
    )
    meanings = feature_meanings(model)
    if meanings is not None:
        graph.metadata_props.add(key="features", value=dumps(meanings))
    if path is not None:
        with atomic_write(path) as file:
            file.write(graph.SerializeToString())
    return graph


def register() -> None:
    """Register the converters of the classifiers and the projection with skl2onnx.

    `to_onnx` calls it. Call it yourself before you use skl2onnx's functions.
    """
    from skl2onnx import update_registered_converter
    from skl2onnx.common.shape_calculator import (
        calculate_linear_classifier_output_shapes,
    )

    for classifier in EXPORTED:
        update_registered_converter(
            classifier,
            f"Heterolda{classifier.__name__}",
            calculate_linear_classifier_output_shapes,
            _convert,
            options={"zipmap": [True, False, "columns"], "nocl": [False]},
        )
    update_registered_converter(
        HeteroscedasticProjection,
        f"Heterolda{HeteroscedasticProjection.__name__}",
        _projection_shapes,
        _convert_projection,
    )


@dataclass(frozen=True)
class _Node:
    """The output of a node; arithmetic on it adds nodes to the graph."""

    graph: _Graph
    name: str

    def __add__(self, other: Any) -> _Node:
        return self.graph("Add", self, other)

    def __sub__(self, other: Any) -> _Node:
        return self.graph("Sub", self, other)

    def __mul__(self, other: Any) -> _Node:
        return self.graph("Mul", self, other)

    def __truediv__(self, other: Any) -> _Node:
        return self.graph("Div", self, other)

    def __matmul__(self, other: Any) -> _Node:
        return self.graph("MatMul", self, other)

    def __neg__(self) -> _Node:
        return self.graph("Neg", self)

    def clip(self, low: Any, high: Any) -> _Node:
        return self.graph("Min", self.graph("Max", self, low), high)

    def sum(self, axis: int = 1, keepdims: int = 1) -> _Node:
        return self.graph("ReduceSum", self, np.array([axis]), keepdims=keepdims)

    def exp(self) -> _Node:
        return self.graph("Exp", self)

    def astype(self, kind: Any) -> _Node:
        from onnx.helper import np_dtype_to_tensor_dtype

        to = np_dtype_to_tensor_dtype(np.dtype(kind))
        return self.graph("Cast", self, to=to)

    def largest(self) -> tuple[_Node, _Node]:
        """Return the largest value of each row, and the first column that has it."""
        column = self.graph("ArgMax", self, axis=1)
        return self.graph("GatherElements", self, column, axis=1), column


@dataclass(frozen=True)
class _Graph:
    """Adds nodes to a graph; inputs that are numbers or arrays become constants."""

    scope: Any
    container: Any

    def __call__(
        self, op: str, *inputs: Any, output: str | None = None, **attributes: Any
    ) -> _Node:
        """Add a node; its output gets a new name unless `output` names it."""
        names = [x.name if isinstance(x, _Node) else self._constant(x) for x in inputs]
        output = output or self.scope.get_unique_variable_name(op.lower())
        name = self.scope.get_unique_operator_name(op)
        self.container.add_node(op, names, [output], name=name, **attributes)
        return _Node(self, output)

    def features(self, operator: Any) -> tuple[_Node, np.dtype[Any]]:
        """Return the input of an operator, and its precision: single or double."""
        from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

        given = operator.inputs[0]
        x = _Node(self, given.full_name)
        double = isinstance(given.type, DoubleTensorType)
        kind = np.dtype(np.float64 if double else np.float32)
        real = double or isinstance(given.type, FloatTensorType)
        return x if real else x.astype(kind), kind

    def _constant(self, given: NDArray[Any] | float) -> str:
        from onnx.helper import np_dtype_to_tensor_dtype

        value = np.atleast_1d(given)
        name: str = self.scope.get_unique_variable_name("constant")
        kind = np_dtype_to_tensor_dtype(value.dtype)
        content = value.ravel().tolist()
        if value.dtype.kind == "O":
            content = [text.encode() for text in content]
        self.container.add_initializer(name, kind, list(value.shape), content)
        return name


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the graph of a classifier, as skl2onnx requires."""
    rules = describe(operator.raw_operator)
    labels = _label_values(rules.classes)
    graph = _Graph(scope, container)
    x, kind = graph.features(operator)
    scores = _scores(graph, rules, x, kind == np.float64).astype(np.float64)
    # Zero, or NaN if a score of the row is not finite: the row then has no class.
    zero = (scores * 0.0).sum()
    invalid = graph("IsNaN", zero)
    winner, p = _decide(graph, rules, graph("Where", invalid, 0.0, scores), kind)
    label, probabilities = (output.full_name for output in operator.outputs)
    winners = graph("Gather", labels, graph("Squeeze", winner, _COLUMNS))
    none = np.array(["" if labels.dtype == object else -(2**63)], labels.dtype)
    graph("Where", graph("Squeeze", invalid, _COLUMNS), none, winners, output=label)
    graph("Add", p, zero.astype(kind), output=probabilities)


def _convert_projection(scope: Any, operator: Any, container: Any) -> None:
    """Add the graph of a projection, which centers rows and multiplies them."""
    model = operator.raw_operator
    model._check_ready()
    graph = _Graph(scope, container)
    x, kind = graph.features(operator)
    output = operator.outputs[0].full_name
    if kind == np.float64:
        graph("MatMul", x - model.mean_, model.scalings_, output=output)
        return
    coef = model.scalings_.T
    center, coef32, offset = in_single(model.mean_, coef, -coef @ model.mean_)
    graph("Add", (x - center) @ coef32.T, offset, output=output)


def _projection_shapes(operator: Any) -> None:
    """Set the output type of a projection, as skl2onnx requires."""
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    given = operator.inputs[0].type
    double = isinstance(given, DoubleTensorType)
    kind = DoubleTensorType if double else FloatTensorType
    operator.raw_operator._check_ready()
    n = operator.raw_operator.scalings_.shape[1]
    operator.outputs[0].type = kind([given.shape[0], n])


def _label_values(classes: NDArray[Any]) -> NDArray[Any]:
    """Return labels as strings or 64-bit integers, the only kinds in ONNX."""
    values = classes.tolist()
    if all(isinstance(value, str) for value in values) and "" not in values:
        return np.array(values, dtype=object)
    are_whole = all(isinstance(v, int | float) and v == int(v) for v in values)
    if not are_whole or not all(-(2**63) < v < 2**63 for v in values):
        raise ValueError(
            f"classes_ has labels {values} that ONNX cannot represent, or that mean no "
            "class: fit with nonempty text or 64-bit integers"
        )
    return np.array([int(value) for value in values], dtype=np.int64)


def _scores(graph: _Graph, rules: Description, x: _Node, double: bool) -> _Node:
    """Return scores in the precision of x, or in double for transformed features."""
    if rules.powers:
        x, double = _transformed(graph, rules.powers, x.astype(np.float64)), True
    if double:
        return x @ rules.coef.T + rules.intercept
    center, coef, offset = rules.in_single()
    return (x - center) @ coef.T + offset


def _transformed(graph: _Graph, given: PowerTransformation, x: _Node) -> _Node:
    """Return features transformed as by `PowerTransformation.apply`."""
    z = ((x - given.center) / given.scale).clip(-FARTHEST, FARTHEST)
    size = graph("Log", graph("Abs", z) + 1.0)
    sides = []
    for power in (2 - given.lambdas, given.lambdas):
        flat = power == 0
        bent = ((size * power).exp() - 1.0) / np.where(flat, 1.0, power)
        sides.append(graph("Where", flat, size, bent) if flat.any() else bent)
    bent = graph("Where", graph("Less", z, 0.0), -sides[0], sides[1])
    return bent + x * 0.0  # not finite if x is not


def _decide(
    graph: _Graph, rules: Description, scores: _Node, kind: np.dtype[Any]
) -> tuple[_Node, _Node]:
    """Return the columns of the winning classes, and probabilities, from scores."""
    positive = graph("Greater", scores, 0.0)
    log_odds = _log_odds(graph, rules, scores, positive)
    odds = log_odds.exp()
    if rules.kind == "one-vs-rest":
        p = graph("Reciprocal", (-log_odds).exp() + 1.0)
        return log_odds.largest()[1], (p / p.sum()).astype(kind)
    if rules.kind == "binary":
        both = graph("Concat", odds, (-log_odds).exp(), axis=1)
        return positive.astype(np.int64), graph("Reciprocal", both + 1.0).astype(kind)
    # For each class, its columns among the first, then second, classes of the pairs.
    n = len(rules.classes)
    first, second = np.triu_indices(n, 1)
    columns = np.concatenate([first, second])
    members = np.array([np.flatnonzero(columns == k) for k in range(n)])

    def by_class(first: _Node, second: _Node) -> _Node:
        """Sum, for each class, the values of its side over its pairs."""
        each = graph("Gather", graph("Concat", first, second, axis=1), members, axis=1)
        return each.sum(axis=2, keepdims=0)

    if rules.kind == "votes":
        # Exact ties go to the larger sum of scores.
        weights = rules.vote_weights
        lost = graph("Where", positive, 0.0, weights)
        votes = by_class(lost, graph("Where", positive, weights, 0.0))
        tied = graph("Equal", votes, votes.largest()[0])
        sums = graph("Where", tied, by_class(-scores, scores), -np.inf)
        return sums.largest()[1], votes.astype(kind)
    q = graph("Reciprocal", by_class(odds, (-log_odds).exp()) + 1.0)
    q = q / q.sum()
    both = graph("Gather", q, first, axis=1) + graph("Gather", q, second, axis=1)
    share = graph("Reciprocal", odds + 1.0)
    p = by_class(both * share, both * (odds * share))
    p = (p / p.sum()).astype(kind)
    return p.largest()[1], p


def _log_odds(
    graph: _Graph, rules: Description, scores: _Node, positive: _Node
) -> _Node:
    """Return log-odds as a function of the score, see `Curve`."""
    curve = rules.curve
    s = scores.clip(curve.low, curve.high)
    ratio = graph("Max", scores * (1 / curve.low), scores * (1 / curve.high), 1.0)
    # Doublings of a score beyond its limit, linear between powers of two.
    floor_log2 = graph("Floor", graph("Log", ratio) * (1 / np.log(2)))
    times = floor_log2 + (ratio / (floor_log2 * np.log(2)).exp() - 1.0)
    below, above = (
        s * (s * curve.bend + curve.slope[side])
        + sign * curve.offset[side]
        + times * (sign * curve.step[side])
        for side, sign in enumerate((-1, 1))
    )
    floor = graph("Max", above, 0.0) * 0.5 + MIN_LOG_ODDS
    above = graph("Min", graph("Max", above, floor), MAX_LOG_ODDS)
    return graph("Where", positive, above, below.clip(-MAX_LOG_ODDS, 0.0))
