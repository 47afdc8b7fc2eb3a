"""Experiments with recipes: runs, sweeps, diagnoses, explanations, other systems, exports."""
