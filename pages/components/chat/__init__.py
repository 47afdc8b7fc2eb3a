"""The conversation and its answers."""
