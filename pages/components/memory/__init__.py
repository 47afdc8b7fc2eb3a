"""Past interactions: found, corrected, forgotten, and whether they help."""
