"""Fewer training errors: searches on arrays, without estimators."""
