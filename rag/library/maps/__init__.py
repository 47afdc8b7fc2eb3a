"""Maps of all passages of a build, drawn by a job."""
