"""Fitted classifiers for use elsewhere: ONNX and C.

Importing this module tells skl2onnx, where it is installed, how to convert the
classifiers, alone and in pipelines. It does not import skl2onnx.
"""

from heterolda.export.c import CHeader, export_c
from heterolda.export.onnx import register_on_import, to_onnx

__all__ = ["CHeader", "export_c", "to_onnx"]

register_on_import()
