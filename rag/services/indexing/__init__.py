"""Search indexes of builds, derived from the database and kept equal to it."""
