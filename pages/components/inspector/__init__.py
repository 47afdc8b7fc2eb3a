"""One retrieval, looked into."""
