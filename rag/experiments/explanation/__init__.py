"""Explanations of a passage's rank, and of the changes that would move it."""
