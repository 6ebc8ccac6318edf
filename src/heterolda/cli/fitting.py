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
from heterolda.estimators import pair_problem, recipes
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


def estimator_of(settings: Any, parameters: dict[str, Any], class_weight: Any) -> Any:
    """Return the estimator. Labels are text still, as the classes are not known."""
    if settings.recommended:
        shrinkage = parameters["shrinkage"]
        return recipes.recommended(
            priors=parameters["priors"],
            shrinkage="cv" if shrinkage is None else shrinkage,
            n_jobs=-1,
        )
    max_error = parameters["max_error"]
    if settings.confidence is not None:
        parameters = parameters | {"max_error": None}
    model = GaussianLinearDiscriminant(**parameters)
    if settings.confidence is not None:
        return BoundedErrorClassifier(  # type: ignore[no-untyped-call]
            model,
            max_error=max_error,
            confidence=settings.confidence,
            random_state=settings.seed,
        )
    if settings.refine:
        return LocalNeighborhoodSearch(  # type: ignore[no-untyped-call]
            model,
            voting=settings.voting or "auto",
            class_weight=class_weight,
            n_jobs=-1,
        )
    return model.set_params(voting=settings.voting or model.voting)


def check_parameters(model: Any) -> None:
    """Refuse values that estimators refuse, before a file is read.

    The classes are those that options name; others are made up if there are too few.
    """
    params = model.get_params()
    priors = params.get("priors", params.get("estimator__priors"))
    if isinstance(priors, dict) and len(priors) < 2:
        return  # others are lacking, but which ones only the data say
    labels = list(_labels_in(*params.values()))
    classes = np.array([*labels, *(f"class {k}" for k in range(2 - len(labels)))])
    tried = labelled(model, classes)
    inner = getattr(tried, "estimator", tried)
    for estimator in (tried, inner):
        estimator._validate_params()
    if isinstance(inner, SmoothedLinearDiscriminant):
        inner = GaussianLinearDiscriminant(priors=inner.priors)
    pair_problem.check_parameters(inner, classes)
    if isinstance(tried, BoundedErrorClassifier):
        tried._check_bound(classes)


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
    is_whole: bool  # whether the rows are all
    n_incomplete: int
    folds: Sequence[Any] = ()  # statistics of each fold
    sample: Any = None  # that of the statistics

    @property
    def is_large(self) -> bool:
        """Return whether so many numbers are fitted again only if requested."""
        return self.n_rows * int(self.model.n_features_in_) > MOST_NUMBERS


def fit_and_report(
    model: Any, table: Table, name: str, out: Path | None, cv: int | None, seed: int
) -> None:
    """Fit, print what came of it, and save the model last: if all went well.

    Accuracy is found with `cv` folds if these are asked for; with none if zero.
    """
    judgement, unknown = None, []
    with StatusLine() as status:
        adds_up = isinstance(model, GaussianLinearDiscriminant)
        if adds_up and model.shrinkage != "cv":
            fitted = _fit_batches(model, table, status, cv)
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
    names = np.array(done.file.features, dtype=object)
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
    return _Fitted(model, n, rows, done.first, is_whole, n_incomplete)


def _fit_batches(
    model: Any, table: Table, status: StatusLine, cv: int | None
) -> _Fitted:
    """Fit a model to statistics of all rows, gathered for each fold."""
    n_folds = FOLDS if cv is None else cv
    gathered = gather(table, status.doing("reading the data"), n_folds=n_folds)
    stats, sample = as_frequencies(gathered.statistics, gathered.sample)
    factor = stats.weights.sum() / gathered.statistics.weights.sum()
    folds = [part.scaled(factor) for part in gathered.folds]
    model = labelled(model, stats.classes)._fit_sampled(stats, sample)
    is_whole = bool(np.isclose(sample.weight.sum(), stats.weights.sum()))
    rows = (sample if is_whole else sample.take(slice(IN_ALL))).rows(stats.classes)
    fitted = _Fitted(
        model,
        gathered.n_rows,
        rows,
        gathered.first,
        is_whole,
        gathered.n_incomplete,
        folds,
        sample,
    )
    # EM's moments do not add up, and the sample is filled in: read rows as they are.
    if gathered.n_incomplete and cv != 0 and not (cv is None and fitted.is_large):
        rows = _with_frequencies(read_all(table)[0])
        fitted = replace(fitted, rows=rows, is_whole=True)
    return fitted


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
        if not fitted.is_whole and fitted.folds:
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
