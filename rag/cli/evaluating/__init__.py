"""Verbs that measure recipes, and those that hand runs to others."""
