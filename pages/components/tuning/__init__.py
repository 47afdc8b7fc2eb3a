"""Components that predict the effect of another recipe."""
