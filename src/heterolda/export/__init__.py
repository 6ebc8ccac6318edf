"""Saving and exporting fitted models: model files, ONNX and C."""

from heterolda.export.c import CHeader, export_c
from heterolda.export.model_file import load, save
from heterolda.export.onnx import to_onnx

__all__ = ["CHeader", "export_c", "load", "save", "to_onnx"]
