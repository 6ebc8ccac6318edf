"""The graphs of estimators, from standard operators of opset 13 or newer.

Scores and components are computed in the format of the input, but scores of transformed
features in double precision. What follows from scores is little; it is in double, too,
by the formulas of
:mod:`heterolda.estimators.posterior` and :mod:`heterolda.estimators.votes`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heterolda.export.rules import Description, describe, in_single
from heterolda.kernels.coupling import LEAST_LOG_ODDS, MOST_LOG_ODDS
from heterolda.statistics.power import FARTHEST, PowerTransformation

_OLDEST_OPSET = 13


def convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the graph of a classifier, as skl2onnx asks for it."""
    if container.target_opset < _OLDEST_OPSET:
        raise ValueError(
            f"target_opset must be at least {_OLDEST_OPSET} for "
            f"{type(operator.raw_operator).__name__}, got {container.target_opset}"
        )
    rules = describe(operator.raw_operator)
    nocl = scope.get_options(operator.raw_operator, {"nocl": False})["nocl"]
    labels = np.arange(len(rules.classes)) if nocl else label_values(rules.classes)
    graph = _Graph(scope, container)
    x, kind = graph.features(operator)
    double = kind == np.float64
    scores = graph.cast(_scores(graph, rules, x, double), np.dtype(np.float64))
    # Zero, or NaN where a score is not finite: such rows have no class.
    nothing = graph("Mul", scores, np.zeros(1))
    nothing = graph("ReduceSum", nothing, np.array([1]), keepdims=1)
    lost = graph("IsNaN", nothing)
    winner, p = _decide(graph, rules, graph("Where", lost, np.zeros(1), scores))
    label, probabilities = (output.full_name for output in operator.outputs)
    known = graph("Gather", labels, graph("Squeeze", winner, np.array([1])))
    none = np.array([no_label(labels)], labels.dtype)
    graph("Where", graph("Squeeze", lost, np.array([1])), none, known, output=label)
    if not double:
        p, nothing = graph.cast(p, kind), graph.cast(nothing, kind)
    final = _with_largest_at(graph, p, winner, kind)
    graph("Add", final, nothing, output=probabilities)


def no_label(labels: NDArray[Any]) -> str | int:
    """Return what stands in rows without a class: the empty string or -2^63.

    If that is a label, then the next that is not.
    """
    text = labels.dtype.kind == "O"
    wanted = ("?" * n if text else n - 2**63 for n in count())
    return next(one for one in wanted if one not in labels.tolist())


def convert_projection(scope: Any, operator: Any, container: Any) -> None:
    """Add the graph of a projection: it centers rows before it multiplies them."""
    model = operator.raw_operator
    model._check_ready()
    graph = _Graph(scope, container)
    x, kind = graph.features(operator)
    output = operator.outputs[0].full_name
    if kind == np.float64:
        graph("MatMul", graph("Sub", x, model.mean_), model.scalings_, output=output)
        return
    coef = model.scalings_.T
    center, coef32, offset = in_single(model.mean_, coef, -coef @ model.mean_)
    components = graph("MatMul", graph("Sub", x, center), coef32.T)
    graph("Add", components, offset, output=output)


def projection_shapes(operator: Any) -> None:
    """Say what the graph of a projection returns, as skl2onnx asks for it."""
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    given = operator.inputs[0].type
    double = isinstance(given, DoubleTensorType)
    kind = DoubleTensorType if double else FloatTensorType
    operator.raw_operator._check_ready()
    n = operator.raw_operator.scalings_.shape[1]
    operator.outputs[0].type = kind([given.shape[0], n])


class _Graph:
    """Adds nodes to a graph; arrays among their inputs become constants."""

    def __init__(self, scope: Any, container: Any) -> None:
        self.scope = scope
        self.container = container

    def __call__(
        self, op: str, *inputs: Any, output: str | None = None, **attributes: Any
    ) -> str:
        """Add a node with one output and return its name."""
        output = output or self.scope.get_unique_variable_name(op.lower())
        self._add(op, inputs, [output], attributes)
        return output

    def features(self, operator: Any) -> tuple[str, np.dtype[Any]]:
        """Return the input of an operator, and its precision: single or double."""
        from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

        X = operator.inputs[0]
        double = isinstance(X.type, DoubleTensorType)
        kind = np.dtype(np.float64 if double else np.float32)
        known = isinstance(X.type, DoubleTensorType | FloatTensorType)
        return X.full_name if known else self.cast(X.full_name, kind), kind

    def largest(self, values: str) -> tuple[str, str]:
        """Return the largest of each row and its column, the first of equals."""
        names = [self.scope.get_unique_variable_name(n) for n in ("largest", "column")]
        self._add("TopK", (values, np.array([1])), names, {"axis": 1})
        return names[0], names[1]

    def cast(self, values: str, kind: np.dtype[Any]) -> str:
        """Return the values in another format."""
        from onnx.helper import np_dtype_to_tensor_dtype

        return self("Cast", values, to=np_dtype_to_tensor_dtype(kind))

    def normalized(self, p: str) -> str:
        """Return rows that sum to one."""
        return self("Div", p, self("ReduceSum", p, np.array([1]), keepdims=1))

    def _add(
        self, op: str, inputs: Sequence[Any], outputs: list[str], attributes: Any
    ) -> None:
        names = [x if isinstance(x, str) else self._constant(x) for x in inputs]
        name = self.scope.get_unique_operator_name(op)
        self.container.add_node(op, names, outputs, name=name, **attributes)

    def _constant(self, value: NDArray[Any]) -> str:
        from onnx.helper import np_dtype_to_tensor_dtype

        name: str = self.scope.get_unique_variable_name("constant")
        kind = np_dtype_to_tensor_dtype(value.dtype)
        content = value.ravel().tolist()
        if value.dtype.kind == "O":
            content = [text.encode() for text in content]
        self.container.add_initializer(name, kind, list(value.shape), content)
        return name


def label_values(classes: NDArray[Any]) -> NDArray[Any]:
    """Return labels as strings or 64-bit integers, the only kinds that ONNX knows."""
    values = classes.tolist()
    if all(isinstance(value, str) for value in values):
        return np.array(values, dtype=object)
    whole = all(isinstance(v, int | float) and v == int(v) for v in values)
    if not whole or not all(-(2**63) <= v < 2**63 for v in values):
        raise ValueError(
            f"classes_ has labels {values} that ONNX cannot hold: fit with strings, or "
            "with integers of at most 64 bits"
        )
    return np.array([int(value) for value in values], dtype=np.int64)


def _scores(graph: _Graph, rules: Description, x: str, double: bool) -> str:
    """Return scores in the format of x; those of transformed features in double."""
    if rules.powers:
        x = x if double else graph.cast(x, np.dtype(np.float64))
        x, double = _transformed(graph, rules.powers, x), True
    if double:
        return graph("Add", graph("MatMul", x, rules.coef.T), rules.intercept)
    center, coef, offset = rules.centered()
    if center.any():
        x = graph("Sub", x, center)
    return graph("Add", graph("MatMul", x, coef.T), offset)


def _transformed(graph: _Graph, given: PowerTransformation, x: str) -> str:
    """Return features by `PowerTransformation.apply`."""
    one, far = np.ones(1), np.array([FARTHEST])
    z = graph("Div", graph("Sub", x, given.centre), given.scale)
    z = graph("Min", graph("Max", z, -far), far)
    size = graph("Log", graph("Add", graph("Abs", z), one))
    sides = []
    for power in (2 - given.lambdas, given.lambdas):
        flat, divisor = power == 0, np.where(power == 0, 1.0, power)
        grown = graph("Exp", graph("Mul", size, power))
        bent = graph("Div", graph("Sub", grown, one), divisor)
        sides.append(graph("Where", flat, size, bent) if flat.any() else bent)
    negative = graph("Less", z, np.zeros(1))
    bent = graph("Where", negative, graph("Neg", sides[0]), sides[1])
    return graph("Add", bent, graph("Mul", x, np.zeros(1)))  # not finite if x is not


def _decide(graph: _Graph, rules: Description, scores: str) -> tuple[str, str]:
    """Return columns of the winning classes and their probabilities, from scores."""
    positive = graph("Greater", scores, np.zeros(1))
    log_odds = _log_odds(graph, rules, scores, positive)
    if rules.kind == "one-vs-all":
        against = graph("Exp", graph("Neg", log_odds))
        winner = graph.largest(log_odds)[1]
        return winner, _tempered(graph, rules, _share(graph, against))
    members = _members(rules.pairs)
    odds = [graph("Exp", side) for side in (log_odds, graph("Neg", log_odds))]
    p = _tempered(graph, rules, _share(graph, _by_class(graph, odds, members)))
    if rules.kind == "binary":
        return graph.cast(positive, np.dtype(np.int64)), p
    return _count(graph, rules, scores, positive, members), p


def _log_odds(graph: _Graph, rules: Description, scores: str, positive: str) -> str:
    """Return log-odds as a function of the score, see `Curve`."""
    curve, one = rules.curve, np.ones(1)
    s = graph("Min", graph("Max", scores, curve.low), curve.high)
    bent = graph("Mul", s, curve.bend)
    beyond = (graph("Mul", scores, 1 / limit) for limit in (curve.low, curve.high))
    ratio = graph("Max", *beyond, one)
    # How often a score doubles beyond its limit, linear between powers of two.
    whole = graph("Floor", graph("Mul", graph("Log", ratio), one / np.log(2)))
    power = graph("Exp", graph("Mul", whole, one * np.log(2)))
    times = graph("Add", whole, graph("Sub", graph("Div", ratio, power), one))
    sides = []
    for side, sign in enumerate((-1, 1)):
        line = graph("Mul", s, graph("Add", bent, curve.slope[side]))
        line = graph("Add", line, sign * curve.offset[side])
        sides.append(graph("Add", line, graph("Mul", times, sign * curve.step[side])))
    below = graph("Min", graph("Max", sides[0], -MOST_LOG_ODDS * one), 0 * one)
    half = graph("Mul", graph("Max", sides[1], 0 * one), 0.5 * one)
    above = graph("Max", sides[1], graph("Add", half, LEAST_LOG_ODDS * one))
    return graph("Where", positive, graph("Min", above, MOST_LOG_ODDS * one), below)


def _members(pairs: NDArray[np.intp]) -> NDArray[np.int64]:
    """Return the columns of each class, of pairs as first, then as second."""
    columns = pairs.T.ravel()
    return np.array([np.flatnonzero(columns == k) for k in range(pairs.max() + 1)])


def _by_class(graph: _Graph, sides: Sequence[str], members: NDArray[np.int64]) -> str:
    """Return sums over the pairs of each class of what its side holds."""
    columns = graph("Concat", *sides, axis=1)
    each = graph("Gather", columns, members, axis=1)
    return graph("ReduceSum", each, np.array([2]), keepdims=0)


def _share(graph: _Graph, against: str) -> str:
    """Return probabilities from odds against."""
    return graph("Reciprocal", graph("Add", against, np.ones(1)))


def _tempered(graph: _Graph, rules: Description, p: str) -> str:
    """Return probabilities that sum to one, after `votes.tempered`."""
    if rules.temperature == 1:
        return graph.normalized(p)
    relative = graph("Div", p, graph.largest(p)[0])
    raised = graph("Pow", relative, np.array([1 / rules.temperature]))
    least = np.array([np.finfo(np.float64).tiny])
    return graph.normalized(graph("Max", raised, least))


def _count(
    graph: _Graph,
    rules: Description,
    scores: str,
    positive: str,
    members: NDArray[np.int64],
) -> str:
    """Return the class of most votes; exact ties go to the larger sum of scores."""
    weights, none = rules.vote_weights, np.zeros(1)
    first = graph("Where", positive, none, weights)
    second = graph("Where", positive, weights, none)
    votes = _by_class(graph, [first, second], members)
    confidence = _by_class(graph, [graph("Neg", scores), scores], members)
    tied = graph("Equal", votes, graph.largest(votes)[0])
    last = np.array([-np.inf])
    return graph.largest(graph("Where", tied, confidence, last))[1]


def _with_largest_at(graph: _Graph, p: str, winner: str, kind: np.dtype[Any]) -> str:
    """Return probabilities with the largest at the winner, as the votes have them.

    In single precision this also parts what became equal by rounding.
    """
    highest, leader = graph.largest(p)
    p = graph(
        "ScatterElements", p, leader, graph("GatherElements", p, winner, axis=1), axis=1
    )
    p = graph("ScatterElements", p, winner, highest, axis=1)
    held = graph("Equal", graph.largest(p)[1], winner)
    # Three quarters of a unit in the last place of 1 step to the next number from any.
    step = np.array([0.75 * np.finfo(kind).eps], dtype=kind)
    above = graph("Add", highest, graph("Mul", highest, step))
    raised = graph("Where", held, highest, above)
    return graph("ScatterElements", p, winner, raised, axis=1)
