"""Studies of accuracy on rows held out: one runner, one file of results."""
