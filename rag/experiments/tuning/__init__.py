"""Many recipes measured at once: sweeps, curves and calibration."""
