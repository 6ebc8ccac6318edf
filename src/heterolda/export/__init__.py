"""Fitted classifiers for other days and other programs: model files, ONNX and C.

Importing this module tells skl2onnx, where it is installed, how to convert the
classifiers, alone and in pipelines. It does not import skl2onnx.
"""

from heterolda.export.c import CHeader, export_c
from heterolda.export.model_file import load, save
from heterolda.export.onnx import register_on_import, to_onnx

__all__ = ["CHeader", "export_c", "load", "save", "to_onnx"]

register_on_import()
