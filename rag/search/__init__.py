"""What one search runs on: documents, threshold, further knowledge bases and tools."""
