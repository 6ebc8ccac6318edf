"""Fitted models for other days and other programs: model files, ONNX and C.

The names below are public; all else in this folder is internal. Importing it tells
skl2onnx, where that is installed, how to convert the estimators, alone and in
pipelines. It does not import skl2onnx.
"""

from heterolda.export.c import CHeader, export_c
from heterolda.export.model_file import load, save
from heterolda.export.onnx import register_on_import, to_onnx

__all__ = ["CHeader", "export_c", "load", "save", "to_onnx"]

register_on_import()
