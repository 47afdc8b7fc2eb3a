"""Results as typed JSON: Pydantic models with a schema, which read the results they stand for."""
