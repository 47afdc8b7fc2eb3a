"""Services that are asked over HTTP, and whose results join those of the documents."""

from rag.providers.http_tools.calling import ToolOutcome, answer_of, call
from rag.providers.http_tools.definition import HttpTool, Path, ToolResult

__all__ = ["HttpTool", "Path", "ToolOutcome", "ToolResult", "answer_of", "call"]
