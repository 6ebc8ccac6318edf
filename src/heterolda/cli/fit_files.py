"""Fits to files, with all rows in memory or batch by batch, and what they say."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from heterolda.cli.fit_settings import FitSettings
from heterolda.cli.messages import note, print_result
from heterolda.cli.progress import StatusLine
from heterolda.cli.traps import training_traps
from heterolda.data.gathering import gather, read_all
from heterolda.data.reading import open_files
from heterolda.data.table import Table
from heterolda.estimators.bounded_error import linear_form
from heterolda.estimators.fit_record import FitRecord, Judgement
from heterolda.estimators.held_out import (
    FOLDS,
    NotJudgedError,
    held_out,
    held_out_parts,
    right_in_folds,
)
from heterolda.export import save
from heterolda.foundations.arrays import Array
from heterolda.foundations.wording import count
from heterolda.inspection.model_facts import ModelFacts, discriminant_of
from heterolda.inspection.model_text import describe_fit
from heterolda.inspection.sentences import observed_error
from heterolda.solvers.fisher import PooledLDA
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.moments import RangeError
from heterolda.statistics.rows import Rows, check_frequencies, coded_labels
from heterolda.statistics.samples import IN_ALL, as_frequencies

# Rows that --recommended is fitted to; of more, a random sample is taken.
MOST_ROWS = 100_000
# Numbers, rows times features, up to which models are fitted again unasked.
MOST_NUMBERS = 2_000_000


@dataclass(frozen=True)
class Fitted:
    """A model, and the rows that it was fitted to as far as they are in memory."""

    model: Any
    n_rows: int
    rows: Rows  # all rows, or a sample in proportion
    first: Array  # the first rows
    is_whole: bool = True  # whether the rows are all
    folds: Sequence[ClassStatistics] = ()  # statistics of each fold
    sample: Any = None  # that of the statistics
    n_incomplete: int = 0

    @property
    def size(self) -> int:
        """Number of rows times features."""
        return self.n_rows * int(self.model.n_features_in_)


def fit_and_report(
    settings: FitSettings, table: Table, name: str, out: Path | None, cv: int | None
) -> None:
    """Fit, print what came of it, and save the model last: if all went well.

    Accuracy is found with `cv` folds if these are asked for; with none if zero.
    """
    judgement, lines = None, []
    fit = _fit_rows if settings.needs_memory(cv) else _fit_batches
    with StatusLine() as status:
        fitted = fit(settings, table, status, FOLDS if cv is None else cv)
        _tell_traps(table, fitted)
        try:
            if cv != 0:
                judgement = judge(settings, fitted, cv, status)
        except NotJudgedError as error:
            if cv is not None:
                raise
            cross = "" if settings.confidence else ", or ask for --cv 10"
            lines.append(
                f"Held-out accuracy is unknown: {error}. Evaluate the model on other "
                f"rows{cross}."
            )
    facts = ModelFacts(linear_form(fitted.model))
    record = FitRecord(
        target=str(table.target),
        data=Path(name).name,
        date=datetime.now(UTC).date().isoformat(),
        n_rows=facts.n_rows,
        judgement=judgement,
        categories=table.categories,
        marks=tuple(dict.fromkeys(table.format.na)),
        n_columns=_columns_without_names(table),
    )
    facts.model.fit_record_ = fitted.model.fit_record_ = record
    # Of fewer rows than features these options make another LDA than the one compared.
    options = "" if facts.has_few_rows else " (--solver fisher --shrinkage 1)"
    lines = [*facts.accuracy_lines(lda=f"LDA{options}"), *lines]
    remedy = "try --shrinkage cv, or fewer features"
    lines = [*describe_fit(facts, name, str(table.target), lines, remedy), ""]
    if out is not None:
        save(fitted.model, out)
        lines.append(f"The model is in {out}.")
    else:
        lines.append("The model was not saved: add --out FILE to save it.")
    print_result(lines)


def _tell_traps(table: Table, fitted: Fitted) -> None:
    """Print notes on the rows."""
    names = [str(name) for name in fitted.model.feature_names_in_]
    rows = fitted.rows
    note(*training_traps(table, names, fitted.first, rows.X, rows.codes))
    if fitted.n_incomplete:
        note(
            f"{fitted.n_incomplete:,} of {count(fitted.n_rows, 'row')} have missing "
            "values; EM uses those they have, which is valid if values are missing at "
            "random given the observed ones"
        )


def _fit_rows(
    settings: FitSettings, table: Table, status: StatusLine, n_folds: int
) -> Fitted:
    """Fit a model to rows in memory, all of them or a random sample."""
    most = MOST_ROWS if settings.recommended else None
    reading = status.doing("reading the data into memory")
    rows, done = read_all(table, reading, most, settings.seed)
    rows = _with_frequencies(rows)
    model = settings.estimator(np.unique(rows.labels))
    names = np.array(done.file.table.features, dtype=object)
    n = done.n_read - done.n_dropped
    is_whole = len(rows.codes) == n
    if is_whole:
        note("these settings need all rows at once and keep them in memory")
    else:
        sample = f"{len(rows.codes):,} of {n:,} rows"
        note(f"the model is fitted to a random sample of {sample}")
    try:
        model.fit(rows.X, rows.labels, sample_weight=rows.weights)
    except RangeError as error:
        column = f"column {names[error.feature]!r}"
        raise ValueError(f"the values of {column} {error.problem}") from error
    for estimator in (model, discriminant_of(model)):
        estimator.feature_names_in_ = names
        if hasattr(estimator, "statistics_"):
            estimator.statistics_.feature_names = names
    n_incomplete = int(np.isnan(rows.X).any(axis=1).sum())
    return Fitted(model, n, rows, done.first, is_whole, n_incomplete=n_incomplete)


def _fit_batches(
    settings: FitSettings, table: Table, status: StatusLine, n_folds: int
) -> Fitted:
    """Fit a model to statistics of all rows, gathered for each fold."""
    found = gather(table, status.doing("reading the data"), n_folds=n_folds)
    statistics, sample = as_frequencies(found.statistics, found.sample)
    factor = statistics.weights.sum() / found.statistics.weights.sum()
    folds = found.folds
    if sample is not found.sample:
        folds = [part.scaled(factor) for part in folds]
    model = settings.estimator(statistics.classes)._fit_sampled(statistics, sample)
    is_whole = bool(np.isclose(sample.weight.sum(), statistics.weights.sum()))
    some = sample if is_whole else sample.take(slice(IN_ALL))
    rows = some.rows(statistics.classes)
    fitted = Fitted(model, found.n_rows, rows, found.first, is_whole, folds, sample)
    if not found.n_incomplete:
        return fitted
    # The sample is filled in: rows as they are, if not too many, are read again.
    if fitted.size <= MOST_NUMBERS:
        rows = _with_frequencies(read_all(table)[0])
    n = found.n_incomplete
    return Fitted(model, found.n_rows, rows, found.first, n_incomplete=n)


def _with_frequencies(rows: Rows) -> Rows:
    weights = check_frequencies(rows.weights, len(rows.codes))
    return Rows(rows.X, rows.codes, weights, rows.classes)


def judge(
    settings: FitSettings, fitted: Fitted, n_folds: int | None, status: StatusLine
) -> Judgement:
    """Compare a fit with LDA by cross-validation, with so many folds if asked for.

    Warnings about fits without some rows are left out, as they do not concern the
    model.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if n_folds is None:
            _check_cheap(settings, fitted)
            if settings.recommended:
                return _own_estimate(fitted)
        if not fitted.is_whole and fitted.sample is not None:
            return held_out_parts(fitted.model, list(fitted.folds), fitted.sample)
        X, y, weight = fitted.rows.X, fitted.rows.labels, fitted.rows.weights
        judgement, right = held_out(
            fitted.model,
            X,
            y,
            weight,
            n_folds or FOLDS,
            status.doing("cross-validating"),
        )
        if hasattr(fitted.model, "bound_"):
            mask = y == fitted.model.bound_.label
            of_rows = fitted.rows.frequencies[mask]
            wrong = float(of_rows @ ~right[0, mask] / of_rows.sum())
            said = observed_error(fitted.model.bound_, wrong, of_rows.sum())
            note(f"by {judgement.method}, {said}")
        return judgement


def _check_cheap(settings: FitSettings, fitted: Fitted) -> None:
    """Refuse what takes long, or judges another model, unless it is asked for."""
    if settings.confidence is not None:
        raise NotJudgedError(
            "fits to fewer rows set fewer aside and are stricter than this one"
        )
    if fitted.size > MOST_NUMBERS:
        if fitted.n_incomplete:
            raise NotJudgedError(
                "refitting so many rows with missing values takes too long"
            )
        if settings.refine:
            raise NotJudgedError("the search takes too long on so many rows")


def _own_estimate(fitted: Fitted) -> Judgement:
    """Return what a model found by cross-validation of its own, and LDA's accuracy.

    Which rows it decided right is not known, so the standard error is that of unpaired
    accuracies: an upper bound, since both tend to err on the same rows.
    """
    error = fitted.model.held_out_error_
    if not np.isfinite(error):
        raise NotJudgedError("the classes are too small for cross-validation")
    priors = fitted.model.priors

    def fit(X: Any, y: Any, weight: Any) -> list[PooledLDA]:
        classes, codes = coded_labels(y)
        stats = ClassStatistics.from_rows(Rows(X, codes, weight, classes))
        return [PooledLDA(stats, priors)]

    rows = fitted.rows
    (right,) = right_in_folds(fit, rows.X, rows.labels, rows.weights, FOLDS)
    lda_accuracy = float(np.average(right, weights=rows.weights))
    n = float(rows.frequencies.sum())
    variance = (error * (1 - error) + lda_accuracy * (1 - lda_accuracy)) / n
    method = "cross-validation"
    return Judgement(method, n, 1 - error, lda_accuracy, float(np.sqrt(variance)))


def _columns_without_names(table: Table) -> int | None:
    """Return the number of columns of files without header; None if they have one."""
    if table.format.header:
        return None
    file = next(open_files(table))
    return len(file.schema.names) if file.is_text else None
