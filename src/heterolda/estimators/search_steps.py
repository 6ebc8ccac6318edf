"""The steps of a local search over all pairs of classes."""

from __future__ import annotations

from functools import partial

import numpy as np
from joblib import effective_n_jobs
from sklearn.frozen import FrozenEstimator

from heterolda.estimators.discriminant import GaussianLinearDiscriminant
from heterolda.estimators.pair_search import refine_pair
from heterolda.estimators.progress import Progress
from heterolda.estimators.search_in_passes import refine_in_passes
from heterolda.estimators.smooth_pairs import refine_rows
from heterolda.estimators.smooth_search import Choice, cross_validate
from heterolda.estimators.starts import Start, fit_start, fit_start_to_statistics
from heterolda.estimators.warn import warn_of_interruption
from heterolda.foundations.validation import check_class_weight
from heterolda.search.algorithm2 import paper_search
from heterolda.search.exact import exact_search
from heterolda.search.passes import Pairing
from heterolda.search.selection import NONE, list_candidates
from heterolda.solvers.hyperplanes import Hyperplanes


class SearchSteps:
    """What :class:`LocalNeighborhoodSearch` does, step by step."""

    def _given_start(self):
        """The classifier to start from, frozen if it is fitted already."""
        given = self.estimator
        estimator = GaussianLinearDiscriminant() if given is None else given
        if self.prefit and not isinstance(estimator, FrozenEstimator):
            estimator = FrozenEstimator(estimator)
        return estimator

    def _fit_start(self, data) -> Start:
        """The rules to start from."""
        return fit_start(self._given_start(), data, self.n_jobs)

    def _progress(self, classes, pairs):
        """What the search reports to."""
        labels = [tuple(classes[pair].tolist()) for pair in pairs]
        max_reports = self.max_iter if self.strategy == "paper" else None
        return Progress(self, labels, max_reports, self.verbose)

    def _fit_in_passes(self, rows):
        """Fit the start to class statistics, and refine it by passes over the rows."""
        if self.strategy != "paper" or self.early_stopping:
            setting = "early_stopping"
            if self.strategy != "paper":
                setting = f"strategy={self.strategy!r}"
            raise ValueError(
                f"{setting} needs all rows in memory: rows of files or of a lazy "
                'collection are searched with strategy="paper" and without '
                "early_stopping"
            )
        statistics = rows.statistics
        classes, totals = statistics.classes, statistics.weights
        costs = check_class_weight(self.class_weight, classes, totals)
        pairs = np.column_stack(np.triu_indices(len(classes), 1))
        progress = self._progress(classes, pairs)
        progress.begin(None, None)
        start = fit_start_to_statistics(self._given_start(), statistics, costs)
        totals = totals if costs is None else totals * costs
        pairing = Pairing(classes, pairs, costs, totals, rows.weighted)
        refined = refine_in_passes(
            rows,
            pairing,
            np.column_stack([start.intercept, -start.coef]),
            progress,
            step=self.step,
            max_iter=self.max_iter,
            patience=self.patience,
        )
        self.n_features_in_ = statistics.n_features
        if statistics.feature_names is not None:
            self.feature_names_in_ = statistics.feature_names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self._keep(classes, start, refined, counted=pairing.counts)
        self._end(progress, None, None)
        return self

    def _end(self, progress, X, y):
        """All is fitted."""
        progress.end(X, y)
        if progress.stop.is_set():
            warn_of_interruption(progress.n_done, len(self.pairs_))

    def _keep(
        self, classes, start, refined, *, counted, held_out=False, choice=None, units=1
    ):
        """Write the fitted attributes."""
        kind = np.int64 if counted else np.float64
        self.classes_ = classes
        self.estimator_ = start.estimator
        self.pairs_ = pairs = np.column_stack(np.triu_indices(len(classes), 1))
        self.coef_ = np.array([-r.rule[1:] for r in refined])
        self.intercept_ = np.array([r.rule[0] for r in refined])
        self.n_errors_start_ = np.array([r.errors_start for r in refined], kind)
        self.n_errors_ = np.array([r.errors for r in refined], kind)
        self.n_iter_ = np.array([len(r.history) for r in refined])
        self.history_ = [r.history for r in refined]
        for name in ("n_errors_held_out_", "selection_"):
            if hasattr(self, name):
                delattr(self, name)  # of an earlier fit
        if held_out:
            wrong = [r.errors_held_out for r in refined]
            self.n_errors_held_out_ = np.array(wrong, kind)
        if choice is None:
            choice = Choice(NONE, self._votings(start)[0])
        else:
            self.selection_ = choice.record()
        error = choice.error if start.error is None else start.error
        if error is None:
            error = np.array([r.error_rate for r in refined])
        planes = self._planes(refined, error)
        units = np.broadcast_to(np.asarray(units, dtype=np.float64), len(pairs))
        self._committee = choice.committee(planes, pairs, units)

    def _refine_pairs(self, data, held_out, start, pairs, seed, progress):
        """Refine all pairs, in threads; the main thread waits for an interrupt."""
        n_jobs = effective_n_jobs(self.n_jobs)
        options = {
            "step": self.step,
            "max_iter": self.max_iter,
            "patience": self.patience,
            "threads": max(1, n_jobs // len(pairs)),
            "copy": self.copy,
        }

        def refine(k):
            i, j = pairs[k]
            search = partial(paper_search, **options)
            if self.strategy == "exact":
                rng = np.random.default_rng([seed, k])
                restarts = {"rng": rng, "n_restarts": self.n_restarts}
                search = partial(exact_search, **options, **restarts)
            task, report = progress.begin_pair(k)
            held = None if held_out is None else held_out.pair(i, j)
            v = np.append(start.intercept[k], -start.coef[k])
            refined = refine_pair(
                data.pair(i, j), held, v, partial(search, report=report)
            )
            progress.end_pair(k, task, refined)
            return refined

        return progress.run(refine, n_jobs)

    def _choose(self, data, start, pairs, random_state, progress):
        """The smooth refinement to take, by cross-validation."""
        candidates = list_candidates(self.loss, self.bandwidth, self.anchor)
        votings = self._votings(start)[: len(pairs)]  # one pair needs no vote
        run = partial(progress.run_all, n_jobs=effective_n_jobs(self.n_jobs))
        try:
            choice = cross_validate(
                data, self._fit_start, pairs, candidates, votings, random_state, run
            )
            progress.tell_choice(choice.record())
        except KeyboardInterrupt:
            progress.stop.set()
            choice = Choice(NONE, votings[0])
        return choice

    def _refine_smoothly(self, data, start, pairs, candidate, progress):
        """Refine all pairs by one candidate; the rules and their units."""

        def refine(k):
            task, report = progress.begin_pair(k)
            refined, unit = refine_rows(
                data.pair(*pairs[k]),
                start.coef[k],
                start.intercept[k],
                candidate,
                report,
            )
            progress.end_pair(k, task, refined)
            return refined, unit

        results = progress.run(refine, effective_n_jobs(self.n_jobs))
        return [r for r, _ in results], np.array([unit for _, unit in results])

    def _votings(self, start):
        """Ways of voting to choose from; where nothing is chosen, the first."""
        if self.voting != "auto":
            return [self.voting]
        return [getattr(start.estimator, "voting", "weighted"), "coupled"]

    def _planes(self, refined, error):
        """The record of the rules."""
        return Hyperplanes.from_projections(
            self.coef_,
            self.intercept_,
            error,
            n_iter=self.n_iter_,
            means=np.array([r.means for r in refined]),
            deviations=np.array([r.deviations for r in refined]),
        )
