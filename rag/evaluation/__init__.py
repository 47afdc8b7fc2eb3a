"""Measuring retrieval: labels, metrics, runs and what follows from them."""
