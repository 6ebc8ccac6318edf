"""Tests of scikit-learn that our classifier is not meant to pass, and why."""

LEFT_OUT: dict[str, dict[str, str]] = {}
