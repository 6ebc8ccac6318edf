"""Inputs that break classifiers: a table of them, and what must come out.

`inputs` makes the data, `table` says what is right, `runs` fits, predicts and checks.
`python -m hostile` tries everything and writes the tables of docs/trust.md.
"""
