"""Other points of the optimal curve than that of least error."""
