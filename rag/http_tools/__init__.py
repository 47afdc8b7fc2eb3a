"""Services that are asked over HTTP, and whose results join those of the documents."""

from rag.http_tools.calling import ToolOutcome, call
from rag.http_tools.definition import HttpTool
from rag.http_tools.results import ToolResult

__all__ = ["HttpTool", "ToolOutcome", "ToolResult", "call"]
