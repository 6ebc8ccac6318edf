"""Searches for rules with fewer training errors, on arrays."""
