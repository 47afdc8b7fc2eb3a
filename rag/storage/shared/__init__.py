"""What a database on a server has for the machines that share it."""
