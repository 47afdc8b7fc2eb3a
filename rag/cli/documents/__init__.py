"""Verbs that bring documents and question sets in, and look after them."""
