"""Question sets, their labels, and where both come from."""
