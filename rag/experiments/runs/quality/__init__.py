"""Answers of runs and their measures, and models that judge."""
