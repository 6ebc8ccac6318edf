"""Models for other programs and other days."""

from heterolda.export.model_file import load, save

__all__ = ["load", "save"]
