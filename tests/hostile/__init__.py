"""Inputs that break classifiers: the cases, what must come out, and the page.

A case is data, and a judge of what comes out. Each is tried with every contender of
ours in every way in which it takes data, and with scikit-learn's discriminants.
"""
