"""Inputs of a search: documents, threshold, other knowledge bases and tools."""
