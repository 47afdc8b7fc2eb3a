"""Judgements of hits, preferences between answers, and the answers of runs."""
