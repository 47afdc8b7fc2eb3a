"""Answers to review, past interactions, and operation metrics."""
