"""Features of a database on a server for the machines that share it."""
