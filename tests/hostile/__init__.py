"""Inputs that break classifiers: a table of them, and what must come out.

`inputs` makes the data, `table` says what is right, `runs` fits and predicts, `checks`
compares. `python -m hostile` tries everything and writes docs/hostile.md.
"""
