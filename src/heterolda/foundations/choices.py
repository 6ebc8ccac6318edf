"""The words that parameters may be: one list for the library and the command line.

Nothing is imported here, so that a command can print its help at once.
"""

SOLVER_NAMES = ("global", "fixed-point", "c-hld", "r-hld-1", "r-hld-2", "fisher")
CRITERIA = ("bayes", "minimax", "neyman-pearson")
MULTICLASS = ("ovo", "ova")
# The last is for searches only, which have rules that know no covariances.
VOTINGS = ("weighted", "majority", "coupled")
STRATEGIES = ("paper", "smooth")
# What NaN in rows is; files can leave such rows out besides.
GAPS = ("error", "em")
MISSING = ("error", "drop", "em")
PROJECTIONS = ("error", "chernoff", "fisher")
