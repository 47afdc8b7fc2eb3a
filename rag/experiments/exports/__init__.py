"""Recipes as code or configuration for other search engines."""
