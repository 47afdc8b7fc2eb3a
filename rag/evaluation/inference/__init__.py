"""What statistics of questions rest on: their clusters, and means of bounded figures."""
