"""Counts, means and covariances of classes, and their shrinkage."""

from heterolda.statistics.class_statistics import ClassStatistics

__all__ = ["ClassStatistics"]
