"""Diagnosis of a question set: why questions fail, and what the fixes are worth."""
