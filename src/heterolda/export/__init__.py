"""Save fitted models to files, and export them to ONNX and C."""

from typing import TYPE_CHECKING

from heterolda.foundations import lazy_names

if TYPE_CHECKING:
    from heterolda.export.c import CHeader, export_c
    from heterolda.export.model_file import load, save
    from heterolda.export.onnx import to_onnx

__all__ = ["CHeader", "export_c", "load", "save", "to_onnx"]

__getattr__ = lazy_names(
    __name__,
    {
        "c": ["CHeader", "export_c"],
        "model_file": ["load", "save"],
        "onnx": ["to_onnx"],
    },
)
