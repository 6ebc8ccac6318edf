"""Accuracy against the linear classifiers that a user would pick instead."""
