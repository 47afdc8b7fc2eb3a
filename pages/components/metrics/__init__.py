"""The figures of one run."""
