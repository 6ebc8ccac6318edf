"""Models and data in words and pictures."""
