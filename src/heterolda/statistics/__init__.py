"""What is known of the classes: counts, means and covariances, and their shrinkage."""

from heterolda.statistics.class_statistics import ClassStatistics

__all__ = ["ClassStatistics"]
