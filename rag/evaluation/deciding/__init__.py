"""The better of two runs by the fewest labels: which hits are judged, and when it is decided."""
