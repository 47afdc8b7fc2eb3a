"""Verbs that ask, and those for what was asked and answered."""
