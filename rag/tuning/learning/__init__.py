"""Learning fusions from labels, and passports that say what they are worth on unseen data."""
