"""Providers, tools, and where data is kept."""
