"""Estimators that users import from `heterolda`.

All other names in this folder are private.
"""
