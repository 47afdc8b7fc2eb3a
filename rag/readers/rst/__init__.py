"""reStructuredText, read by docutils."""
