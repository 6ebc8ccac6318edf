"""Fit models to files, with all rows in memory or batch by batch, and describe them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from heterolda.cli.messages import StatusLine, note, print_result
from heterolda.cli.models import labeled
from heterolda.cli.traps import training_traps
from heterolda.data.gathering import columns_in_errors, draw_rows, gather, read_all
from heterolda.data.reading import open_files
from heterolda.data.table import Table
from heterolda.estimators.bounded_error import BoundedErrorClassifier, linear_form
from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.fit_record import FitRecord, Judgement
from heterolda.estimators.held_out import (
    FOLDS,
    NoAccuracyError,
    held_out,
    held_out_parts,
)
from heterolda.estimators.local_search import LocalNeighborhoodSearch
from heterolda.estimators.smoothed import SmoothedLinearDiscriminant
from heterolda.exceptions import SmallClassWarning
from heterolda.export import save
from heterolda.foundations.wording import count
from heterolda.inspection.model_facts import ModelFacts, discriminant_of
from heterolda.inspection.model_text import describe_fit
from heterolda.statistics.rows import Rows, check_frequencies
from heterolda.statistics.samples import RowSample, as_frequencies

# Rows times features up to which slow models are refitted to estimate their accuracy.
MAX_NUMBERS = 2_000_000


def estimator_of(settings: Any, missing: str) -> Any:
    """Return the estimator; labels in its parameters are still text."""
    is_bounded = settings.confidence is not None
    shared = {
        "priors": settings.priors,
        "class_weight": settings.class_weight,
        "shrinkage": settings.shrinkage,
        "criterion": settings.criterion,
        "costs": settings.costs,
        "missing": "em" if missing == "em" else "error",
        "max_error": None if is_bounded else settings.max_error,
    }
    model: Any
    if settings.method == "smoothed":
        model = SmoothedLinearDiscriminant(**shared)  # type: ignore[no-untyped-call]
    else:
        model = GaussianLinearDiscriminant(
            **shared,
            solver=settings.solver,
            multiclass=settings.multiclass,
            voting=settings.voting,
            random_state=settings.seed,
        )
    model._validate_params()
    if is_bounded:
        model = BoundedErrorClassifier(  # type: ignore[no-untyped-call]
            model,
            max_error=settings.max_error,
            confidence=settings.confidence,
            random_state=settings.seed,
        )
        model._validate_params()
    if settings.method == "search":
        model = LocalNeighborhoodSearch(model, n_jobs=-1)  # type: ignore[no-untyped-call]
    return model


def fit_and_report(
    model: Any, table: Table, name: str, out: Path | None, cv: int | None, seed: int
) -> None:
    """Fit a model, evaluate it with `cv` folds, perhaps save it, and describe it."""
    is_discriminant = isinstance(model, GaussianLinearDiscriminant)
    judgement, no_accuracy = None, []
    with StatusLine() as status:
        # The result has a note on this.
        warnings.filterwarnings("ignore", ".*samples per feature", SmallClassWarning)
        if isinstance(model, SmoothedLinearDiscriminant):
            fitted = _fit_drawn(model, table, status, seed)
        elif is_discriminant and model.shrinkage != "cv":
            fitted = _fit_batches(model, table, status, cv, seed)
        else:
            fitted = _fit_rows(model, table, status)
        if fitted.n_incomplete:
            rows_text = f"{fitted.n_incomplete:,} of {count(fitted.n_rows, 'row')}"
            note(
                f"{rows_text} with missing values: EM uses the observed values, which "
                "is valid if the others are missing at random given these"
            )
        if cv != 0 and not hasattr(fitted.model, "bound_"):
            try:
                judgement = _compare_with_lda(fitted, table, cv, status)
            except NoAccuracyError as error:
                if cv is not None:
                    raise
                no_accuracy = [
                    f"Held-out accuracy is unknown: {error}. Evaluate the model on "
                    "other rows, or choose the number of folds with --cv."
                ]
    model, n_columns = fitted.model, None
    if not table.format.header and (file := next(open_files(table))).is_text:
        n_columns = len(file.schema.names)
    model.fit_record_ = FitRecord(
        target=str(table.target),
        data=Path(name).name,
        date=datetime.now(UTC).date().isoformat(),
        n_rows=fitted.weight,
        judgement=judgement,
        categories=table.categories,
        marks=tuple(dict.fromkeys(table.format.na)),
        n_columns=n_columns,
    )
    facts = ModelFacts(linear_form(model))
    # With fewer rows than features these options give a different LDA.
    lda = " (--method gaussian --solver fisher --shrinkage 1)"
    options = "" if facts.has_few_rows else lda
    accuracy = [*facts.accuracy_lines(lda=f"LDA{options}"), *no_accuracy]
    lines = describe_fit(facts, name, accuracy)
    end = "The model was not saved: add --out FILE to save it."
    if out is not None:
        save(model, out)
        end = f"The model is in {out}."
    print_result([*lines, "", end])


@dataclass(frozen=True)
class _Fitted:
    """A model and the rows of the fit, or their statistics and a sample."""

    model: Any
    n_rows: int  # of the table
    n_incomplete: int
    weight: float  # of the rows of the fit
    rows: Rows | None = None  # all rows or, if there are very many, some of them
    folds: Sequence[Any] = ()  # statistics of the folds
    sample: RowSample | None = None


def _fit_drawn(model: Any, table: Table, status: StatusLine, seed: int) -> _Fitted:
    """Fit a model to rows drawn from a table, and to the moments of all."""
    drawn = draw_rows(table, status.doing("reading the data"), seed)
    reading = drawn.reading
    rows = drawn.sample.in_proportion().as_rows()
    rows = replace(rows, weights=check_frequencies(rows.weights, len(rows.codes)))
    note(*training_traps(reading, rows))
    if len(rows.codes) < drawn.sample.n_rows:
        sample = f"{len(rows.codes):,} of {drawn.sample.n_rows:,} rows"
        note(
            f"rules and probabilities come from a random sample of {sample}, means and "
            "covariances from all: the data are read twice"
        )
    model = labeled(model, rows.classes)
    with columns_in_errors(reading.file.name, drawn.names):
        model._fit_drawn(drawn)
    n_incomplete = int(np.isnan(rows.X).any(axis=1).sum())
    weight = float(model.statistics_.weights.sum())
    return _Fitted(model, reading.n_rows, n_incomplete, weight, rows)


def _fit_rows(model: Any, table: Table, status: StatusLine) -> _Fitted:
    """Fit a model to all rows in memory."""
    show = status.doing("reading the data into memory")
    rows, reading = read_all(table, show)
    rows = replace(rows, weights=check_frequencies(rows.weights, len(rows.codes)))
    names = np.array(reading.file.features, dtype=object)
    note(*training_traps(reading, rows))
    note("these settings need all rows at once and keep them in memory")
    model = labeled(model, np.unique(rows.labels))
    with columns_in_errors(reading.file.name, names):
        model.fit(rows.X, rows.labels, sample_weight=rows.weights)
    for fitted in (model, discriminant_of(model)):
        if fitted is not None:
            fitted.feature_names_in_ = names
        if hasattr(fitted, "statistics_"):
            fitted.statistics_.feature_names = names
    n_incomplete = int(np.isnan(rows.X).any(axis=1).sum())
    weight = float(rows.frequencies.sum())
    return _Fitted(model, reading.n_rows, n_incomplete, weight, rows)


def _fit_batches(
    model: Any, table: Table, status: StatusLine, cv: int | None, seed: int
) -> _Fitted:
    """Fit a model to statistics of all rows, gathered for each fold."""
    n_folds = FOLDS if cv is None else cv
    show = status.doing("reading the data")
    gathered = gather(table, show, n_folds=n_folds, random_state=seed)
    stats, sample = as_frequencies(gathered.statistics, gathered.sample)
    is_whole = bool(np.isclose(sample.weight.sum(), stats.weights.sum()))
    checked = sample if is_whole else sample.in_proportion()
    rows = checked.rows(stats.classes)
    note(*training_traps(gathered.reading, rows))
    model = labeled(model, stats.classes)._fit_sampled(stats, sample)
    weight = float(stats.weights.sum())
    numbers = gathered.reading.n_rows, gathered.n_incomplete, weight
    if gathered.n_incomplete:  # EM's moments are not sums, and the sample is filled in
        return _Fitted(model, *numbers)
    if is_whole:
        return _Fitted(model, *numbers, rows)
    factor = weight / gathered.statistics.weights.sum()
    folds = [part.scaled(factor) for part in gathered.folds]
    return _Fitted(model, *numbers, folds=folds, sample=sample)


def _compare_with_lda(
    fitted: _Fitted, table: Table, n_folds: int | None, status: StatusLine
) -> Judgement:
    """Compare a fit with LDA by cross-validation, by default only if that is quick."""
    model, rows = fitted.model, fitted.rows
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # from refits without some rows
        if n_folds is None:
            is_slow = fitted.n_incomplete or isinstance(model, LocalNeighborhoodSearch)
            if is_slow and fitted.n_rows * model.n_features_in_ > MAX_NUMBERS:
                raise NoAccuracyError("refitting to this many rows takes too long")
        if fitted.sample is not None:
            return held_out_parts(model, list(fitted.folds), fitted.sample)
        if rows is None:
            rows = read_all(table)[0]
        weights = check_frequencies(rows.weights, len(rows.codes))
        show = status.doing("cross-validating")
        return held_out(model, rows.X, rows.labels, weights, n_folds or FOLDS, show)[0]
