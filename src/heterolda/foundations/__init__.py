"""What every other folder may use, and what knows nothing of classifiers."""
