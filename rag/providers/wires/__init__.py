"""Wire formats of the services: requests, replies and the mapping of failures to errors."""
