"""The programmatic interfaces: REST under ``/api``, MCP under ``/mcp``, and health.

The web framework is imported when the first request comes: the dashboard starts without it.
"""
