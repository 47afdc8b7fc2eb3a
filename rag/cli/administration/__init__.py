"""Verbs that look after a home: its tools, tokens, backups and benchmarks."""
