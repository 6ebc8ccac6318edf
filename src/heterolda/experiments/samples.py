"""The data sets of the study as files, to try things with."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

from sklearn import datasets as bundled

from heterolda.experiments.datasets import load
from heterolda.foundations.files import written_whole

__all__ = ["LABELS", "write_sample"]

# Column of the labels.
LABELS = "class"


def write_sample(
    name: str,
    path: str | os.PathLike[str] | None = None,
    data_dir: str | os.PathLike[str] | None = None,
) -> Path:
    """Write a data set to a CSV file, the labels last in a column ``class``.

    Parameters
    ----------
    name : str
        A name of the catalogue.
    path : str or path-like or None, default=None
        The file; ``<name>.csv`` by default.
    data_dir : path-like or None, default=None
        As for :func:`heterolda.experiments.datasets.load`.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from heterolda.experiments.samples import write_sample
    >>> path = write_sample("wine", pathlib.Path(tempfile.mkdtemp()) / "wine.csv")
    >>> path.read_text().splitlines()[1]
    '14.23,1.71,2.43,15.6,127.0,2.8,3.06,0.28,2.29,5.64,1.04,3.92,1065.0,class_0'
    """
    X, y = load(name, data_dir)
    columns = [f"x{j + 1}" for j in range(X.shape[1])]
    labels = y.tolist()
    # The sets that scikit-learn has come with names.
    loader = getattr(bundled, f"load_{name}", None)
    if loader is not None:
        bunch = loader()
        columns = [str(column) for column in bunch.feature_names]
        labels = [str(bunch.target_names[k]) for k in labels]
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*columns, LABELS])
    writer.writerows(
        [*row, label] for row, label in zip(X.tolist(), labels, strict=True)
    )
    target = Path(f"{name}.csv") if path is None else Path(path)
    with written_whole(target) as file:
        file.write(text.getvalue().encode())
    return target
