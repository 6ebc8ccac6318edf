"""Saving and exporting fitted models: model files, ONNX and C.

Importing this package registers converters for the estimators with skl2onnx, if that is
installed, without importing it.
"""

from heterolda.export.c import CHeader, export_c
from heterolda.export.model_file import load, save
from heterolda.export.onnx import register_on_import, to_onnx

__all__ = ["CHeader", "export_c", "load", "save", "to_onnx"]

register_on_import()
