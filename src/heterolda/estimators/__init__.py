"""What users import: the discriminant, the local search, votes, probabilities."""
