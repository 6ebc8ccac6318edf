"""The printed tables of the paper, quoted as they stand, and their slips.

K. S. Gyamfi, J. Brusey, A. Hunt and E. Gaura (2017), "Linear classifier design under
heteroscedasticity in Linear Discriminant Analysis", Expert Systems with Applications
79, 44-52, Tables 1 to 4. The paper prints the best figure of each row in bold, ties
included, so that the bold figures follow from the numbers. `slips` says where the
tables cannot mean what they print; the figures here are as printed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = [
    "ACCURACY",
    "BAYES_ERROR",
    "CHARACTERISTICS",
    "METHODS",
    "SECONDS",
    "VARIANTS",
    "Characteristics",
    "printed",
    "slips",
]


class Characteristics(NamedTuple):
    """A row of Table 1, as printed.

    Attributes
    ----------
    label : str
        Letter of the set in the other tables.
    title : str
        Name of the set.
    n, d, k : int
        Numbers of points, features and classes.
    """

    label: str
    title: str
    n: int
    d: int
    k: int


# Table 1. Row (j) stands under the name of the set that the results belong to.
CHARACTERISTICS = {
    "D1": Characteristics("(a)", "D1", 2000, 8, 2),
    "D2": Characteristics("(b)", "D2", 2000, 4, 2),
    "liver": Characteristics("(c)", "Liver", 345, 6, 2),
    "shuttle": Characteristics("(d)", "Shuttle", 58000, 9, 7),
    "vowels": Characteristics("(e)", "Vowels", 990, 10, 11),
    "zernike": Characteristics("(f)", "Zernike Moments", 2000, 47, 10),
    "segmentation": Characteristics("(g)", "Image Segmentation (Statlog)", 2310, 19, 7),
    "spambase": Characteristics("(h)", "Spambase", 4601, 37, 2),
    "wine_white": Characteristics("(i)", "Wine Quality (White)", 4898, 11, 7),
    "pendigits": Characteristics("(j)", "Pen Digits", 5620, 64, 10),
    "satellite": Characteristics("(k)", "Satellite (Statlog)", 6435, 36, 6),
    "letters": Characteristics("(l)", "Letters", 20000, 16, 26),
}

# Columns of Tables 3 and 4; Table 2 has the first five.
METHODS = ("LDA", "C-HLD", "R-HLD-1", "R-HLD-2", "GLD", "LNS", "SVM")

# Table 2, headed "Average Bayes Error (%)".
BAYES_ERROR: dict[str, tuple[float, ...]] = {
    "D1": (0.0397, 0.0382, 0.0383, 0.0361, 0.0360),
    "D2": (0.0774, 0.0749, 0.0749, 0.0740, 0.0739),
    "liver": (0.9981, 0.9838, 0.9838, 0.9838, 0.9838),
    "shuttle": (0.0001, 0.0001, 0.0001, 0.0001, 0.0001),
    "vowels": (0.0339, 0.0326, 0.0326, 0.0326, 0.0326),
    "zernike": (0.0054, 0.0051, 0.0048, 0.0048, 0.0050),
    "segmentation": (0.0037, 0.0029, 0.0029, 0.0029, 0.0029),
    "spambase": (0.0253, 0.0228, 0.0228, 0.0228, 0.0228),
    "wine_white": (0.0162, 0.0201, 0.0156, 0.0155, 0.0154),
    "pendigits": (0.0002, 0.0002, 0.0002, 0.0002, 0.0002),
    "satellite": (0.0046, 0.0039, 0.0039, 0.0039, 0.0039),
    "letters": (0.0007, 0.0007, 0.0007, 0.0007, 0.0007),
}

# Table 3, "Average Classification Accuracy (%)".
ACCURACY: dict[str, tuple[float, ...]] = {
    "D1": (76.00, 77.18, 77.00, 78.48, 78.65, 78.57, 77.47),
    "D2": (76.87, 77.93, 77.93, 78.17, 78.37, 78.00, 77.70),
    "liver": (67.83, 63.19, 62.32, 62.03, 63.77, 68.12, 68.70),
    "shuttle": (94.10, 96.60, 96.74, 96.73, 96.59, 97.91, 84.39),
    "vowels": (73.64, 74.14, 74.44, 74.44, 74.14, 75.66, 76.77),
    "zernike": (84.00, 83.90, 84.10, 84.15, 84.80, 84.00, 81.90),
    "segmentation": (94.33, 94.59, 94.59, 94.63, 94.59, 94.89, 96.15),
    "spambase": (88.76, 88.29, 88.26, 88.15, 88.26, 90.28, 85.68),
    "wine_white": (53.41, 46.59, 53.37, 53.33, 53.55, 54.14, 51.88),
    "pendigits": (96.74, 96.99, 96.97, 96.98, 97.01, 97.41, 97.84),
    "satellite": (85.69, 86.06, 86.06, 86.03, 86.08, 86.65, 86.85),
    "letters": (81.67, 81.87, 81.83, 81.78, 81.88, 82.25, 85.39),
}

# Table 4, "Average Training Time (s)".
SECONDS: dict[str, tuple[float, ...]] = {
    "D1": (0.001, 0.161, 0.140, 0.139, 0.002, 0.181, 23.192),
    "D2": (0.001, 0.142, 0.121, 0.121, 0.002, 0.060, 0.721),
    "liver": (0.001, 0.155, 0.1415, 0.1337, 0.003, 0.028, 2.673),
    "shuttle": (0.037, 3.531, 3.023, 3.012, 0.089, 43.32, 4623.138),
    "vowels": (0.036, 11.099, 9.409, 9.751, 0.167, 2.075, 1.173),
    "zernike": (0.387, 123.662, 123.649, 121.906, 1.955, 110.694, 23.126),
    "segmentation": (0.128, 37.320, 30.876, 37.875, 0.488, 2.143, 21.775),
    "spambase": (0.101, 10.437, 7.729, 7.474, 0.753, 36.83, 804.574),
    "wine_white": (0.017, 4.257, 3.691, 3.750, 0.080, 5.928, 914.257),
    "pendigits": (0.638, 10.099, 9.358, 9.171, 0.915, 168.19, 409.38),
    "satellite": (0.304, 18.067, 17.842, 17.912, 0.858, 13.919, 311.202),
    "letters": (0.835, 73.050, 64.022, 65.414, 3.245, 37.202, 109.232),
}

# Sets that are not in Table 1 and yet belong beside one of its rows.
VARIANTS = {"D2-0.53": "D2"}

# By table and set; "" stands for all sets.
_SLIPS: dict[int, dict[str, str]] = {
    2: {
        "": (
            "The paper's Table 2 is headed % but holds 1000 / n times the mean error, "
            "as a fraction: its ten folds are summed and the sum is divided by the "
            "number of points n. The second line of a set has this factor too."
        ),
        "D1": (
            "D1 has n = 3000 points by the paper's text and 2000 by its Table 1; its "
            "figures here are those of n = 6000, half of what 3000 gives."
        ),
        "D2": (
            "D2 has n = 6000 points by the paper's text and 2000 by its Table 1; its "
            "figures here are those of n = 3000 and of other parameters than printed."
        ),
    },
    3: {
        "D1": (
            "D1 is drawn anew in each trial. On some draws Algorithm 1 (GLD, and LNS "
            "which starts from it) does not converge in its 20 iterations and ends "
            "near LDA's rule; GLD-global reaches the optimum on all of them."
        ),
        "D2": (
            "D2 is drawn with the parameters that the paper prints. They give higher "
            "accuracies than it reports; a shift of the means of about 0.53 instead of "
            "0.75 gives the reported ones (D2-0.53)."
        ),
    },
    4: {
        "": (
            "The paper prints seconds; its ratios here are quotients of printed "
            "figures. For (a) to (c) its LDA time is printed as 0.001 s, so that these "
            "ratios may be a third less or twice as large."
        ),
    },
}
_SLIPS_EVERYWHERE = {
    "D2-0.53": (
        "D2-0.53 is D2 with the shift of the means that the paper's accuracies "
        "point to; it stands beside the paper's (b)."
    ),
    "spambase": "Spambase has 57 features; the paper's Table 1 prints 37.",
    "pendigits": (
        "The paper's row (j) prints the size of optdigits (5620 x 64), but its results "
        "are those of pendigits (10992 x 16) and stand beside them."
    ),
}


def slips(table: int, datasets: Sequence[str]) -> list[str]:
    """What to know about the paper's figures when comparing with them.

    Parameters
    ----------
    table : {2, 3, 4}
        Number of the table.
    datasets : sequence of str
        The sets that are compared.

    Returns
    -------
    list of str
        One or two sentences each; none if none of the sets is in the paper.
    """
    if not any(VARIANTS.get(name, name) in CHARACTERISTICS for name in datasets):
        return []
    notes = _SLIPS[table] | _SLIPS_EVERYWHERE
    return [text for name, text in notes.items() if name == "" or name in datasets]


def printed(table: int, dataset: str, method: str) -> float | None:
    """A figure of the paper's Tables 2 to 4.

    Parameters
    ----------
    table : {2, 3, 4}
        Number of the table.
    dataset, method : str
        Names of the set and the method.

    Returns
    -------
    float or None
        The figure as printed; None where the paper has none.

    Examples
    --------
    >>> printed(3, "letters", "GLD")
    81.88
    """
    rows = {2: BAYES_ERROR, 3: ACCURACY, 4: SECONDS}[table]
    row = rows.get(VARIANTS.get(dataset, dataset), ())
    return dict(zip(METHODS, row, strict=False)).get(method)
