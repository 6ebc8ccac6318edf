"""``python -m heterolda``, the command line."""

from heterolda.cli import main

main()
