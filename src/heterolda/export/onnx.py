"""ONNX graphs of fitted estimators, by converters for skl2onnx."""

from __future__ import annotations

import os
from json import dumps
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from heterolda.estimators.fit_record import feature_meanings
from heterolda.estimators.placement import host_of
from heterolda.estimators.projection import HeteroscedasticProjection
from heterolda.export.onnx_graph import (
    convert,
    convert_projection,
    label_values,
    no_label,
    projection_shapes,
)
from heterolda.export.rules import EXPORTED, incomplete_rows
from heterolda.foundations.files import written_whole

_OPTIONS = {
    "zipmap": [True, False, "columns"],
    "nocl": [True, False],
    "output_class_labels": [False, True],
}


def to_onnx(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    dtype: str = "float32",
    *,
    target_opset: int = 15,
    options: dict[Any, Any] | None = None,
) -> Any:
    """Convert a fitted classifier, projection or pipeline to ONNX.

    This calls skl2onnx with settings that suit most uses: the input is ``X`` with any
    number of rows, and the outputs are the labels and one array of probabilities, or
    the components of a projection. If the columns of ``X`` have names, the graph's
    metadata describe them under "features", as a list in JSON.

    For a row with NaN or infinity, the probabilities are NaN and the label is not a
    class: the empty string, or -2^63 for integers. The metadata say so under "missing".
    This also holds for a discriminant with ``missing="em"``; if the same features are
    always missing, convert ``model.for_features(...)``.

    Parameters
    ----------
    model : estimator
        A GaussianLinearDiscriminant, a SmoothedLinearDiscriminant, a
        LocalNeighborhoodSearch, a BoundedErrorClassifier of a discriminant, a
        HeteroscedasticProjection or a Pipeline, which may have steps of scikit-learn.
        Labels are strings or integers; booleans and whole floats become integers.
    path : str, path-like or None, default=None
        File to write, whole or not at all. If None, no file is written.
    dtype : {"float32", "float64"}, default="float32"
        Type of the features and of the probabilities or components.
    target_opset : int, default=15
        Version of the operators, at least 13.
    options : dict or None, default=None
        Options of skl2onnx for classifiers: "zipmap", "nocl" and
        "output_class_labels". If None, ``{"zipmap": False}``.

    Returns
    -------
    onnx.ModelProto
        The graph.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from heterolda import GaussianLinearDiscriminant
    >>> from heterolda.export import to_onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GaussianLinearDiscriminant().fit(X, y)
    >>> graph = to_onnx(model)
    >>> from onnxruntime import InferenceSession
    >>> session = InferenceSession(graph.SerializeToString())
    >>> label, probability = session.run(None, {"X": X[:2].astype("float32")})
    >>> label.tolist(), probability.shape
    ([0, 0], (2, 3))
    """
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
    if options is None and is_classifier(model):
        options = {"zipmap": False}
    kind = FloatTensorType if dtype == "float32" else DoubleTensorType
    graph = convert_sklearn(
        model,
        name=type(model).__name__,
        initial_types=[("X", kind([None, model.n_features_in_]))],
        options=options,
        target_opset=target_opset,
    )
    meanings = feature_meanings(model)
    if meanings is not None:
        graph.metadata_props.add(key="features", value=dumps(meanings))
    last = model[-1] if isinstance(model, Pipeline) else model
    if isinstance(last, EXPORTED):
        graph.metadata_props.add(key="missing", value=_of_incomplete_rows(graph, last))
    if path is not None:
        with written_whole(path) as file:
            file.write(graph.SerializeToString())
    return graph


def _of_incomplete_rows(graph: Any, model: Any) -> str:
    """Return what the graph of a classifier does with rows that are not complete."""
    from onnx import TensorProto

    labels = label_values(model.classes_)
    kind = graph.graph.output[0].type.tensor_type.elem_type
    if labels.dtype.kind == "O" and kind != TensorProto.STRING:  # the option "nocl"
        labels = np.arange(len(labels))
    return (
        "A row with NaN or infinity has no class: its probabilities are NaN, and its "
        f"label is {dumps(no_label(labels))}. {incomplete_rows(model)}"
    ).rstrip()


def register() -> None:
    """Register the converters of the classifiers and the projection with skl2onnx.

    `to_onnx` does so; call it before skl2onnx's own functions are to convert them.
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
            convert,
            options=_OPTIONS,
        )
    update_registered_converter(
        HeteroscedasticProjection,
        f"Heterolda{HeteroscedasticProjection.__name__}",
        projection_shapes,
        convert_projection,
    )
