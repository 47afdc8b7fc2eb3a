"""Existing stores that come in as documents with their own vectors."""
