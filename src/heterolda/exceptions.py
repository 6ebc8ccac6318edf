"""Warnings that users may want to filter by name."""


class SmallClassWarning(UserWarning):
    """A class has too few samples for its covariance to be trusted unregularised."""


class TrivialRuleWarning(UserWarning):
    """For some pair no hyperplane beats always choosing the likelier class."""
