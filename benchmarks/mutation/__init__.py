"""Mutation testing: ``make mutation``."""
