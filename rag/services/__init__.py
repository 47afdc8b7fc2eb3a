"""Objects that live as long as the process: database, files, indexes, models, caches, jobs."""
