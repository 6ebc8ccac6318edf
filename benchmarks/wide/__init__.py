"""Accuracy on wide data: ours beside LDA, regularised linear rules and centroids."""
