"""The composition root: the workspace, its knowledge bases, and their results as JSON."""
