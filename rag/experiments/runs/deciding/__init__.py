"""Decisions between two runs: their stored draw, their labels, and their verdicts."""
