"""The working recipe and its widgets, the same on every page."""
