"""The sets of the comparisons: the study's, scikit-learn's, and the folder `more`.

All of them informed the design of the smoothed discriminant. Half of the folder `more`
was set aside for its first version, but was looked at before the present one.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from heterolda.experiments.datasets import (
    CATALOG,
    VARIABLE,
    dataset_file,
    load_dataset,
    resolve_datasets,
)

# The paper gives row (j) the size of optdigits and the results of pendigits: both.
STUDY = tuple(
    resolve_datasets(["paper", "optdigits", "breast_cancer", "wine", "iris", "digits"])
)
# Rows, features and classes.
MORE = {
    "abalone_3class": (4177, 7, 3),
    "avila": (20867, 10, 12),
    "dry_bean": (13611, 16, 7),
    "haberman": (306, 3, 2),
    "htru2": (17898, 8, 2),
    "libras": (360, 90, 15),
    "mammographic": (961, 5, 2),
    "page_blocks": (5473, 10, 5),
    "plant_margin": (1600, 64, 100),
    "semeion": (1593, 256, 10),
    "spectf": (349, 44, 2),
    "steel_plates": (1941, 27, 7),
    "vertebral_2c": (310, 6, 2),
    "vertebral_3c": (310, 6, 3),
    "waveform": (5000, 21, 3),
    "waveform_noise": (5000, 40, 3),
    "wine_red": (1599, 11, 6),
    "banknote": (1372, 4, 2),
    "biomed": (194, 4, 2),
    "body": (507, 24, 2),
    "cardiotocography_10": (2126, 21, 10),
    "cardiotocography_3": (2126, 21, 3),
    "climate_crashes": (540, 18, 2),
    "ecoli": (336, 7, 8),
    "eeg_eye_state": (14980, 14, 2),
    "german_credit": (1000, 24, 2),
    "new_thyroid": (215, 5, 3),
    "oil_spill": (937, 48, 2),
    "qsar_biodegradation": (1055, 41, 2),
    "ringnorm": (7400, 20, 2),
    "seeds": (210, 7, 3),
    "twonorm": (7400, 20, 2),
    "wall_following_24": (5456, 24, 4),
    "wall_following_4": (5456, 4, 4),
}
SIZES = {name: (row.n, row.d, row.k) for name, row in CATALOG.items()} | MORE
SETS = (*STUDY, *MORE)


@cache
def load(name: str, seed: int = 0) -> tuple[Any, Any]:
    """Return rows and labels; the seed is for sets that are drawn."""
    if name in CATALOG:
        return load_dataset(name, random_state=seed)
    X, labels = read(f"more/{name}.csv.gz")
    classes, y = np.unique(labels, return_inverse=True)
    if (*X.shape, len(classes)) != SIZES[name]:
        raise ValueError(
            f"the file {name}.csv.gz is not the data set {name}: it should have "
            "{} rows, {} features and {} classes".format(*SIZES[name])
        )
    return X, y


def read(name: str) -> tuple[Any, Any]:
    """Return rows and labels of a file of the data, whose last column is `target`."""
    import pandas as pd

    path = dataset_file("", None)
    if path is None or not (path.parent / name).is_file():
        raise FileNotFoundError(
            f"the file {name} is missing: {VARIABLE} must name the folder of the "
            "study's files, with the folders 'more' and 'wide' in it"
        )
    table = pd.read_csv(path.parent / name)
    return table.drop(columns="target").to_numpy(float), table["target"].to_numpy()
