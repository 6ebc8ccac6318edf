"""``python -m heterolda.cli``."""

from heterolda.cli import main

main()
