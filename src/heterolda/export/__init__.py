"""Save fitted models to files, and export them to ONNX and C."""

from heterolda.foundations import lazy_names

_MODULES = {
    "c": ["CHeader", "to_c"],
    "model_file": ["load", "save"],
    "onnx": ["to_onnx"],
}
__all__ = sorted(name for names in _MODULES.values() for name in names)
__getattr__ = lazy_names(__name__, _MODULES)
