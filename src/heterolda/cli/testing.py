"""Evaluate models on the rows of files, held out of the fit or new."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from heterolda.cli.options import Testing
from heterolda.data.gathering import read_all
from heterolda.data.reading import Pass
from heterolda.data.table import Table
from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.foundations.arrays import Array
from heterolda.foundations.threads import Progress, silent
from heterolda.inspection.evaluation import MODEL, Aim, Evaluation
from heterolda.inspection.held_out import Answers, Constant
from heterolda.inspection.losses import Sums
from heterolda.inspection.splits import FOLDS, Splits, blocks_in_time
from heterolda.solvers.fisher import PooledLDA
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.rows import Rows


def split_arguments(
    rows: Rows, table: Table, testing: Testing, seed: int = 0
) -> tuple[Rows, dict[str, Any]]:
    """Return rows, and those to test if there are any, and how to split them."""
    cv: Any = testing.cv or FOLDS
    if testing.test is not None:
        others = read_all(test_table(table, testing.test))[0]
        n, m = len(rows.codes), len(others.codes)
        pair = np.arange(n), np.arange(n, n + m)
        cv = Splits(f"rows of {testing.test}", pairs=[pair])
        rows = _joined(rows, others)
    elif table.in_time and rows.held_by is not None:
        cv = blocks_in_time(rows.held_by, cv)
    groups = None if table.in_time else rows.held_by
    return rows, {"groups": groups, "cv": cv, "random_state": seed}


def test_table(table: Table, path: str) -> Table:
    """Return the table of rows to test, which has the columns of that of the fit."""
    return replace(table, source=[path], name=None)


def _joined(first: Rows, second: Rows) -> Rows:
    """Return the rows of two tables."""
    labels = np.concatenate([first.labels, second.labels])
    classes, codes = np.unique(labels, return_inverse=True)
    weights = held_by = None
    if first.weights is not None:
        weights = np.concatenate([first.frequencies, second.frequencies])
    if first.held_by is not None and second.held_by is not None:
        held_by = np.concatenate([first.held_by, second.held_by])
    X = np.concatenate([first.X, second.X])
    return Rows(X, codes, weights, classes, held_by)


def evaluate_table(
    model: Any,
    table: Table,
    progress: Progress = silent,
    statistics: ClassStatistics | None = None,
    method: str = "rows of a file",
) -> tuple[Evaluation, Pass, Array]:
    """Evaluate a fitted model on a table, and return sums of features by class, too.

    `statistics` are those of the rows of the fit, from which LDA follows; by default
    those of a discriminant.
    """
    classes = model.classes_
    if statistics is None and isinstance(model, GaussianLinearDiscriminant):
        statistics = getattr(model, "statistics_", None)
    bounds = getattr(model, "bounds_", [])
    aim = Aim.of(model, classes)
    if len(bounds) == 1:
        bound = bounds[0]
        aim = Aim.of_bound({bound.label: bound.max_error}, classes)
    rivals: dict[str, Any] = {}
    last = model[-1] if isinstance(model, Pipeline) else model
    powers = last._rules[2]
    shares = getattr(last, "priors_", np.full(len(classes), 1 / len(classes)))
    if statistics is not None:
        shares = statistics.weights / statistics.weights.sum()
        if table.missing != "em":
            rivals["LDA"] = PooledLDA(statistics)
    rivals["constant"] = Constant.of(classes, shares, aim.constant_costs)
    sums = Sums(classes, [MODEL, *rivals], aim.costs)
    totals = np.zeros((len(classes), model.n_features_in_))
    batches = Pass(table, progress, classes=classes)
    for rows in batches:
        batches.n_incomplete += int(np.isnan(rows.X).any(axis=1).sum())
        answers = [Answers.of(rows.codes, model.predict_proba(rows.X))]
        for rival in rivals.values():
            answers.append(Answers.of_rows(rival, rows.X, rows.codes, classes))
        sums.add(rows.codes, answers, rows.weights, rows.held_by)
        X = rows.X if powers is None else powers.apply(rows.X)
        np.add.at(totals, rows.codes, rows.frequencies[:, None] * X)
    if not sums.weight:
        raise ValueError("the data have no rows")
    return Evaluation.of(sums, aim, method), batches, totals
