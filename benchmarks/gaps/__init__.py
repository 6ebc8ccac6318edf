"""Accuracy on rows with gaps: EM beside dropping rows and imputing values."""
