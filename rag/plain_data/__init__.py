"""Results as plain data, for whoever writes JSON."""
