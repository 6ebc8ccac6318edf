"""Errors and notes about files, for which commands have options that help."""

from __future__ import annotations

from collections.abc import Iterable

from heterolda.exceptions import ParameterError, ReadingWarning, Setting


class _AdvisesOptions(Exception):
    """A message for those who call the library, and another for those at a shell.

    A command says `problem`, `lead`, the `options` to add, and `advice` after them.
    """

    def __init__(
        self,
        problem: str,
        *remedy: str | Setting,
        options: Iterable[Setting] = (),
        lead: str = ". Add ",
        advice: str = "",
    ) -> None:
        super().__init__(problem, *remedy)
        self.problem, self.lead, self.advice = problem, lead, advice
        self.options = tuple(options)


class ReadingError(_AdvisesOptions, ParameterError):
    """A file is not as it should be."""


class ReadingNote(_AdvisesOptions, ReadingWarning):
    """A file may not be what it was taken for."""
