"""Builds the sample knowledge base from the texts in ``data/source``."""
