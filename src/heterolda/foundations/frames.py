"""Data frames, for who has pandas."""

from __future__ import annotations

from typing import Any


def import_pandas(method: str) -> Any:
    """The module; ImportError says which method needs it."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError(f"{method} needs pandas: pip install pandas") from error
    return pandas
