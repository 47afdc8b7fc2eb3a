"""Guided tours: keeping a stop, and drawing it."""
