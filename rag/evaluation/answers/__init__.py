"""Metrics of answers: groundedness, relevance, citations, correctness and refusals."""
