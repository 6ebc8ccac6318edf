"""Accuracy after dimension reduction: ours, LDA, PCA, HLDA, SAVE and NCA."""
