"""Labels made from what some runs retrieved: what they leave open, and what can still be said."""
