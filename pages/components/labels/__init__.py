"""Question sets, and labels made where passages are seen."""
