"""The examination of documents: editions, copies, contradictions and pages that nobody can read."""
