"""A passage in its document."""
