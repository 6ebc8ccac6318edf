"""How a search over pairs gets on, for the user and for scikit-learn's callbacks."""

from __future__ import annotations

import signal
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from threading import Event, Lock, current_thread, main_thread
from typing import Any

from heterolda.search.algorithm2 import Reporter
from heterolda.search.pair_search import PairResult


class SearchProgress:
    """Progress of a search over pairs of classes, which may run in several threads.

    Where the estimator has callbacks, each pair is a task and each report of its search
    a subtask, `max_reports` of them at most. `labels` has the two labels of
    each pair. `verbose` 1 prints each pair, 2 each report, too.
    """

    def __init__(
        self,
        estimator: Any,
        labels: list[tuple[Any, Any]],
        max_reports: int,
        verbose: int,
    ):
        self.estimator = estimator
        self.labels = labels
        self.max_reports = max_reports
        self.verbose = verbose
        self.stop = Event()
        self._lock = Lock()
        self.n_done = 0
        self._root: Any = None
        if hasattr(estimator, "_skl_callbacks"):
            self._root = estimator._init_callback_context(
                max_subtasks=len(labels), sequential_subtasks=False
            )

    def begin(self, X: Any, y: Any) -> None:
        """The fit begins."""
        if self._root is not None:
            self._root.call_on_fit_task_begin(estimator=self.estimator, X=X, y=y)

    def begin_pair(self, k: int) -> tuple[Any, Reporter]:
        """The search of a pair begins; returns its task and what it reports to."""
        task = None
        if self._root is not None:
            with self._lock:
                task = self._root.subcontext(
                    task_name="pair", task_id=k, max_subtasks=self.max_reports
                )
                task.call_on_fit_task_begin(estimator=self.estimator)

        def report(n_iter: int, errors: float, fewest: float) -> None:
            enough = False
            with self._lock:
                if self.verbose > 1:
                    print(
                        f"{self._name(k)}: iteration {n_iter}, {errors:g} errors, "
                        f"fewest {fewest:g}"
                    )
                if task is not None:
                    step = task.subcontext(task_name="iterations")
                    step.call_on_fit_task_begin(estimator=self.estimator)
                    enough = step.call_on_fit_task_end(estimator=self.estimator)
            if enough or self.stop.is_set():
                raise KeyboardInterrupt

        return task, report

    def end_pair(self, k: int, task: Any, result: PairResult) -> None:
        """The search of a pair has ended."""
        with self._lock:
            self.n_done += not self.stop.is_set()
            if self.verbose:
                print(
                    f"[{self.n_done}/{len(self.labels)}] {self._name(k)}: "
                    f"{result.errors_start:g} -> {result.errors:g} errors "
                    f"in {len(result.history)} iterations"
                )
            if task is not None:
                task.call_on_fit_task_end(estimator=self.estimator)

    def search_pairs(
        self, search: Callable[[int, Reporter], PairResult], n_jobs: int
    ) -> list[PairResult]:
        """Search all pairs in threads; `search` takes a pair and what to report to."""

        def work(k: int) -> PairResult:
            task, report = self.begin_pair(k)
            result = search(k, report)
            self.end_pair(k, task, result)
            return result

        return self.run(work, n_jobs)

    def run(self, work: Callable[[int], Any], n_jobs: int) -> list[Any]:
        """Do the work of all pairs in threads; an interrupt waits for a report.

        A single thread is this one, unless somebody else handles interrupts.
        """
        n_threads = min(n_jobs, len(self.labels))
        here = current_thread() is main_thread()  # no interrupt comes to others
        handler = signal.getsignal(signal.SIGINT) if here else None
        usual = handler is signal.default_int_handler
        if usual:
            signal.signal(signal.SIGINT, lambda *_: self.stop.set())
        try:
            if n_threads == 1 and (usual or handler is None):
                return [work(k) for k in range(len(self.labels))]
            return self._run_in_pool(work, n_threads)
        finally:
            if usual:
                signal.signal(signal.SIGINT, signal.default_int_handler)

    def _run_in_pool(self, work: Callable[[int], Any], n_threads: int) -> list[Any]:
        """Do the work in other threads while this one waits."""
        with ThreadPoolExecutor(n_threads) as pool:
            futures = [pool.submit(work, k) for k in range(len(self.labels))]
            try:
                if wait(futures, return_when=FIRST_EXCEPTION).not_done:
                    self.stop.set()  # one has failed
            except KeyboardInterrupt:
                self.stop.set()
            return [future.result() for future in futures]

    def end(self, X: Any, y: Any) -> None:
        """The fit has ended; the estimator is ready."""
        if self._root is not None:
            self._root.call_on_fit_task_end(
                estimator=self.estimator, X=X, y=y, reconstruction_attributes={}
            )

    def _name(self, k: int) -> str:
        first, second = self.labels[k]
        return f"{first!r} and {second!r}"
