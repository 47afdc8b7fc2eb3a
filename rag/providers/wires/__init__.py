"""How each service is spoken to: requests, replies, and what its failures are called here."""
