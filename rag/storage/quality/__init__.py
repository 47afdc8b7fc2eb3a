"""What judges said of hits, and the answers of runs."""
