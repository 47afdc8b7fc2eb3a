"""People and their roles, links, tokens, the audit log, and stored responses to requests."""
