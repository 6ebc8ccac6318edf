"""Times of the working tree compared with those of a base commit, in two minutes."""
