"""Fits to files, with all rows in memory or batch by batch, and what they say."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from heterolda.cli.messages import StatusLine, note, print_result
from heterolda.cli.models import labelled
from heterolda.cli.traps import training_traps
from heterolda.data.gathering import gather, read_all
from heterolda.data.reading import open_files
from heterolda.data.table import Table
from heterolda.estimators import recipes
from heterolda.estimators.bounded_error import BoundedErrorClassifier, linear_form
from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.fit_record import FitRecord, Judgement
from heterolda.estimators.held_out import (
    FOLDS,
    NotJudgedError,
    held_out,
    held_out_parts,
    right_in_folds,
)
from heterolda.estimators.local_search import LocalNeighborhoodSearch
from heterolda.estimators.smoothed import SmoothedLinearDiscriminant
from heterolda.export import save
from heterolda.foundations.arrays import Array
from heterolda.foundations.threads import no_warnings
from heterolda.foundations.wording import count
from heterolda.inspection.model_facts import ModelFacts, discriminant_of
from heterolda.inspection.model_text import describe_fit
from heterolda.inspection.sentences import observed_error
from heterolda.solvers.fisher import PooledLDA
from heterolda.statistics.class_statistics import ClassStatistics
from heterolda.statistics.moments import RangeError
from heterolda.statistics.rows import Rows, check_frequencies
from heterolda.statistics.samples import IN_ALL, as_frequencies

# Rows that --recommended is fitted to; of more, a random sample is taken.
MOST_ROWS = 100_000
# Numbers, rows times features, up to which models are fitted again unasked.
MOST_NUMBERS = 2_000_000


def estimator_of(
    settings: dict[str, Any],
    recommended: bool,
    confidence: float | None,
    refine: bool,
    voting: str | None,
    class_weight: Any,
) -> Any:
    """Return the estimator. Labels are text still, as the classes are not known."""
    if recommended:
        return recipes.recommended(
            priors=settings["priors"],
            shrinkage="cv" if settings["shrinkage"] is None else settings["shrinkage"],
            n_jobs=-1,
        )
    if confidence is not None:
        bound = {"max_error": settings.pop("max_error"), "confidence": confidence}
        bound["random_state"] = settings["random_state"]
        start = GaussianLinearDiscriminant(**settings)
        return BoundedErrorClassifier(start, **bound)  # type: ignore[no-untyped-call]
    start = GaussianLinearDiscriminant(**settings)
    if not refine:
        return start.set_params(voting=voting or start.voting)
    return LocalNeighborhoodSearch(  # type: ignore[no-untyped-call]
        start, voting=voting or "auto", class_weight=class_weight, n_jobs=-1
    )


def try_out(model: Any) -> None:
    """Refuse values that estimators refuse, before a file is read.

    A discriminant is fitted to made-up classes with the labels that options name.
    """
    params = model.get_params()
    priors = params.get("priors", params.get("estimator__priors"))
    if isinstance(priors, dict) and len(priors) < 2:
        return  # others are lacking, but which ones only the data say
    labels = list(_labels_in(*params.values()))
    labels += [f"class {k}" for k in range(2 - len(labels))]
    tried = labelled(model, np.array(labels))
    with no_warnings():
        tried._validate_params()
        inner = getattr(tried, "estimator", tried)
        if not isinstance(inner, GaussianLinearDiscriminant):
            inner = GaussianLinearDiscriminant(priors=priors)
        inner._validate_params()  # type: ignore[no-untyped-call]
        if inner.shrinkage == "cv":
            inner.shrinkage = None
        n = len(labels)
        moments = np.full(n, 99), np.arange(n)[:, None], np.ones((n, 1, 1))
        inner.fit_statistics(ClassStatistics.from_moments(labels, *moments))
        if isinstance(tried, BoundedErrorClassifier):
            tried._check_bound(np.array(labels))


def _labels_in(*given: Any) -> dict[str, None]:
    """Return the labels that dictionaries, and those within them, name."""
    labels: dict[str, None] = {}
    for one in given:
        if isinstance(one, dict):
            labels |= dict.fromkeys(one) | _labels_in(*one.values())
    return labels


@dataclass(frozen=True)
class _Fitted:
    """A model, and the rows that it was fitted to as far as they are in memory."""

    model: Any
    n_rows: int
    rows: Rows  # all rows, or a sample in proportion
    first: Array  # the first rows
    is_whole: bool = True  # whether the rows are all
    folds: Sequence[Any] = ()  # statistics of each fold
    sample: Any = None  # that of the statistics
    n_incomplete: int = 0

    @property
    def is_large(self) -> bool:
        """Whether models are fitted to so many numbers again only if asked to."""
        return self.n_rows * int(self.model.n_features_in_) > MOST_NUMBERS


def fit_and_report(
    model: Any, table: Table, name: str, out: Path | None, cv: int | None, seed: int
) -> None:
    """Fit, print what came of it, and save the model last: if all went well.

    Accuracy is found with `cv` folds if these are asked for; with none if zero.
    """
    judgement, unknown = None, []
    with StatusLine() as status:
        by_sums = isinstance(model, GaussianLinearDiscriminant)
        by_sums = by_sums and model.shrinkage != "cv"
        if by_sums and not (table.missing == "em" and cv):  # EM's moments do not add up
            n_folds = FOLDS if cv is None else cv
            fitted = _fit_batches(model, table, status, n_folds)
        else:
            fitted = _fit_rows(model, table, status, seed)
        model, rows = fitted.model, fitted.rows
        names = [str(feature) for feature in model.feature_names_in_]
        note(*training_traps(table, names, fitted.first, rows.X, rows.codes))
        if fitted.n_incomplete:
            rows_text = f"{fitted.n_incomplete:,} of {count(fitted.n_rows, 'row')}"
            note(
                f"{rows_text} have missing values; EM uses those they have, which is "
                "valid if values are missing at random given the observed ones"
            )
        try:
            if cv != 0:
                judgement = _judge(fitted, cv, status)
        except NotJudgedError as error:
            if cv is not None:
                raise
            cross = "" if hasattr(model, "bound_") else ", or ask for --cv 10"
            unknown = [
                f"Held-out accuracy is unknown: {error}. Evaluate the model on other "
                f"rows{cross}."
            ]
    n_columns = None
    if not table.format.header:
        file = next(open_files(table))
        n_columns = len(file.schema.names) if file.is_text else None
    facts = ModelFacts(linear_form(model))
    facts.model.fit_record_ = model.fit_record_ = FitRecord(
        target=str(table.target),
        data=Path(name).name,
        date=datetime.now(UTC).date().isoformat(),
        n_rows=facts.n_rows,
        judgement=judgement,
        categories=table.categories,
        marks=tuple(dict.fromkeys(table.format.na)),
        n_columns=n_columns,
    )
    # Of fewer rows than features these options make another LDA than the one compared.
    options = "" if facts.has_few_rows else " (--solver fisher --shrinkage 1)"
    accuracy = [*facts.accuracy_lines(lda=f"LDA{options}"), *unknown]
    lines = describe_fit(facts, name, str(table.target), accuracy)
    end = "The model was not saved: add --out FILE to save it."
    if out is not None:
        save(model, out)
        end = f"The model is in {out}."
    print_result([*lines, "", end])


def _fit_rows(model: Any, table: Table, status: StatusLine, seed: int) -> _Fitted:
    """Fit a model to rows in memory, all of them or a random sample."""
    most = MOST_ROWS if isinstance(model, SmoothedLinearDiscriminant) else None
    reading = status.doing("reading the data into memory")
    read, done = read_all(table, reading, most, seed)
    rows = _with_frequencies(read)
    model = labelled(model, np.unique(rows.labels))
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
    return _Fitted(model, n, rows, done.first, is_whole, n_incomplete=n_incomplete)


def _fit_batches(model: Any, table: Table, status: StatusLine, n_folds: int) -> _Fitted:
    """Fit a model to statistics of all rows, gathered for each fold."""
    gathered = gather(table, status.doing("reading the data"), n_folds=n_folds)
    stats, sample = as_frequencies(gathered.statistics, gathered.sample)
    folds = gathered.folds
    if sample is not gathered.sample:
        factor = stats.weights.sum() / gathered.statistics.weights.sum()
        folds = [part.scaled(factor) for part in folds]
    model = labelled(model, stats.classes)._fit_sampled(stats, sample)
    is_whole = bool(np.isclose(sample.weight.sum(), stats.weights.sum()))
    some = sample if is_whole else sample.take(slice(IN_ALL))
    rows = some.rows(stats.classes)
    n, first = gathered.n_rows, gathered.first
    fitted = _Fitted(model, n, rows, first, is_whole, folds, sample)
    if not gathered.n_incomplete:
        return fitted
    # The sample is filled in: rows as they are, if not too many, are read again.
    if not fitted.is_large:
        rows = _with_frequencies(read_all(table)[0])
    return _Fitted(model, n, rows, first, n_incomplete=gathered.n_incomplete)


def _with_frequencies(rows: Rows) -> Rows:
    return replace(rows, weights=check_frequencies(rows.weights, len(rows.codes)))


def _judge(fitted: _Fitted, n_folds: int | None, status: StatusLine) -> Judgement:
    """Compare a fit with LDA by cross-validation, with so many folds if asked for.

    Unless they are, refuse what takes long, or judges another model. Warnings about
    fits without some rows are left out, as they do not concern the model.
    """
    model, rows = fitted.model, fitted.rows
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if n_folds is None:
            if hasattr(model, "bound_"):
                raise NotJudgedError(
                    "fits to fewer rows set fewer aside and are stricter than this one"
                )
            if fitted.is_large and fitted.n_incomplete:
                raise NotJudgedError(
                    "refitting so many rows with missing values takes too long"
                )
            if fitted.is_large and isinstance(model, LocalNeighborhoodSearch):
                raise NotJudgedError("the search takes too long on so many rows")
            if isinstance(model, SmoothedLinearDiscriminant):
                return _own_estimate(model, rows)
        if not fitted.is_whole and fitted.sample is not None:
            return held_out_parts(model, list(fitted.folds), fitted.sample)
        show = status.doing("cross-validating")
        judgement, right = held_out(
            model, rows.X, rows.labels, rows.weights, n_folds or FOLDS, show
        )
    if hasattr(model, "bound_"):
        mask = rows.labels == model.bound_.label
        weights = rows.frequencies[mask]
        wrong = float(weights @ ~right[0, mask] / weights.sum())
        said = observed_error(model.bound_, wrong, weights.sum())
        note(f"by {judgement.method}, {said}")
    return judgement


def _own_estimate(model: Any, rows: Rows) -> Judgement:
    """Return what a model found by cross-validation of its own, and LDA's accuracy.

    Which rows it decided right is not known, so the standard error is that of unpaired
    accuracies: an upper bound, since both tend to err on the same rows.
    """
    error = model.held_out_error_
    if not np.isfinite(error):
        raise NotJudgedError("the classes are too small for cross-validation")

    def fit(X: Any, y: Any, weight: Any) -> list[PooledLDA]:
        stats = ClassStatistics.from_data(X, y, sample_weight=weight)
        return [PooledLDA(stats, model.priors)]

    (right,) = right_in_folds(fit, rows.X, rows.labels, rows.weights, FOLDS)
    lda_accuracy = float(np.average(right, weights=rows.weights))
    n = float(rows.frequencies.sum())
    variance = (error * (1 - error) + lda_accuracy * (1 - lda_accuracy)) / n
    method = "cross-validation"
    return Judgement(method, n, 1 - error, lda_accuracy, float(np.sqrt(variance)))
