"""The dashboard: layout and words. What is retrieved, measured and answered comes from ``rag``."""
