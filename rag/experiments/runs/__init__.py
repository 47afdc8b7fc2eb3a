"""Evaluations that are kept, compared, reported and carried away."""
